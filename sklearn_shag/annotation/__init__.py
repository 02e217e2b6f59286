"""Files that annotators correct: each answer is known, and a parser guesses the rest anew.

    Store -> sentence -> Draft: answers, then guesses -> Store

A :class:`Store` holds the sentences of a file and their history; each change is on the disk before
it counts. A :class:`Draft` is a sentence that is being changed: answers are known, and a
:class:`Guesser` guesses the rest. An :class:`Annotation` answers what the interface asks.
"""

from sklearn_shag.annotation._annotation import Annotation, NoSentenceError
from sklearn_shag.annotation._draft import ConflictError
from sklearn_shag.annotation._guesser import Guesser
from sklearn_shag.annotation._store import Store

__all__ = []
