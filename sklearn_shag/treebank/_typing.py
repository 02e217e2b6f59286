"""Types of sentences and their heads as users give them, for annotations."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from sklearn_shag.treebank._tree import DependencyTree
from sklearn_shag.utils._typing import IntArrayLike, ObjectArray, StrArray

# X of an estimator
Sentence: TypeAlias = DependencyTree | Sequence[str] | StrArray | ObjectArray
Sentences: TypeAlias = Iterable[Sentence]
# X of a transformer, which walks through it twice
Trees: TypeAlias = Collection[DependencyTree]
# y of either
SentenceHeads: TypeAlias = DependencyTree | IntArrayLike | ObjectArray
Heads: TypeAlias = Iterable[SentenceHeads]
