"""Sentences that are annotated and their history, in a database that outlives any end."""

import hashlib
import os
import secrets
import sqlite3
from contextlib import ExitStack
from itertools import count, repeat
from threading import Lock
from typing import NamedTuple

from sklearn_shag.annotation._draft import ConflictError
from sklearn_shag.treebank import DependencyTree, read_conllu, write_conllu
from sklearn_shag.utils._io import read_bytes
from sklearn_shag.utils._messages import printable

JOURNAL = ".journal"  # ending of the database beside the output
_BEGIN = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS sentences (id PRIMARY KEY, place, version, lines);
CREATE TABLE IF NOT EXISTS sources (path, digest);
CREATE TABLE IF NOT EXISTS outputs (digest, version);
CREATE TABLE IF NOT EXISTS addresses (port, key);
BEGIN EXCLUSIVE;
COMMIT;
"""


class AnnotatedSentence(NamedTuple):
    """A sentence of a file that is annotated."""

    id: int  # stays the same where others are split or joined before it
    version: int  # no two states of a sentence have the same
    tree: DependencyTree  # with marks of what is only guessed


class Store:
    """The sentences of a file that is annotated; each change is on the disk before it counts.

    Parameters
    ----------
    path : str
        The file that is written. The database beside it holds all sentences and changes.
    sources : list of str
        The files that it is made from.
    read : callable
        Takes nothing, and returns the trees of the sources.

    Attributes
    ----------
    sentences : list of AnnotatedSentence
    version : int
        The number of the last change.
    port, key : int, str
        Of the page in the run before, which may still be open; 0 and a new key in the first run.

    Raises
    ------
    ValueError
        If there are no sentences, the file exists and was made from others, another program has
        changed it while the database holds more than it, or another run has opened the database.
    """

    def __init__(self, path, sources, read):
        self.path = os.path.realpath(path)
        self._lock, self._saved = Lock(), None
        self._done, self._undone = [], []  # pairs of sentences and those that took their place
        journal = self.path + JOURNAL
        with ExitStack() as failed:  # leaves no new database
            if not os.path.exists(journal):
                os.close(os.open(journal, os.O_CREAT, 0o600))  # the key is nobody else's
                failed.callback(os.remove, journal)
            # One thread after the other uses it.
            self._db = sqlite3.connect(journal, timeout=1, check_same_thread=False)
            failed.callback(self._db.close)
            self._fill_tables([os.path.realpath(source) for source in sources], read)
            failed.pop_all()
        rows = self._select("SELECT id, version, lines FROM sentences ORDER BY place")
        self.sentences = [
            AnnotatedSentence(number, version, DependencyTree.from_conllu(lines))
            for number, version, lines in rows
        ]
        self.version = max(each.version for each in self.sentences)
        addresses = self._select("SELECT port, key FROM addresses")
        self.port, self.key = addresses[0] if addresses else (0, secrets.token_urlsafe())

    def _fill_tables(self, sources, read):
        """Open the database, and put new sentences into it."""
        try:
            self._db.executescript(_BEGIN)
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{printable(self.path)}{JOURNAL} cannot be opened: {error}. If annotate is "
                f"running for this file already, go on there, or end it first."
            ) from None
        with self._db:
            trees = self._read_new(sources, read)
            if trees:
                # The first version is no id, and none that the file had before it was edited.
                n = len(trees) + (self._select("SELECT max(version) FROM sentences")[0][0] or 0)
                self._db.execute("DELETE FROM sentences")
                self._insert(map(AnnotatedSentence, count(), repeat(n), trees), 0)
                self._db.execute("INSERT INTO outputs VALUES (?, ?)", (_digest_trees(trees), n))

    def _select(self, query):
        return self._db.execute(query).fetchall()

    def _insert(self, sentences, at):
        """Put sentences into the database, from a place on."""
        rows = [(s.id, at + k, s.version, s.tree.to_conllu()) for k, s in enumerate(sentences)]
        self._db.executemany("INSERT INTO sentences VALUES (?, ?, ?, ?)", rows)

    def _read_new(self, sources, read):
        """Read new sentences for the database: all, or the file if it was edited since."""
        shown, exists = printable(self.path), os.path.exists(self.path)
        others = [path for path in sources if path != self.path]
        digests = [(path, hashlib.sha256(read_bytes(path)).hexdigest()) for path in others]
        outputs = dict(self._select("SELECT digest, version FROM outputs"))
        if not outputs and exists and sources != [self.path]:
            raise ValueError(
                f"{shown} exists, and no {JOURNAL} beside it says that annotate made it from these "
                f"files. Name another file to write, or go on with this one: give it as input, too."
            )
        if not outputs:
            self._db.executemany("INSERT INTO sources VALUES (?, ?)", digests)
            trees = list(read())
            if not trees:
                raise ValueError(f"There are no sentences in {', '.join(sources)}.")
            return trees
        if self._select("SELECT path, digest FROM sources") != digests:
            raise ValueError(
                f"{shown} was made from other files than these, or they have changed since; name "
                f"another file to write."
            )
        trees = read_conllu(self.path) if exists else []
        if not exists or _digest_trees(trees) in outputs:
            return []
        if self._select("SELECT max(version) FROM sentences")[0][0] not in outputs.values():
            raise ValueError(
                f"{shown} has been changed by another program, while {JOURNAL} beside it holds "
                f"answers that are not in it. Move one of the two away."
            )
        return trees

    def replace(self, at, n, trees):
        """Replace n sentences by trees, of which the first ones keep their ids."""
        before = self.sentences[at : at + n]
        ids = [each.id for each in before] + [self.version + 1]
        after = [AnnotatedSentence(*pair) for pair in zip(ids, [0, 0], trees, strict=False)]
        self._done.append((before, self._exchange(before, after)))
        self._undone.clear()

    def undo(self, sentence_id=None):
        """Undo the last change of all or of a sentence; return the index of its first sentence."""
        own = [
            pair for pair in self._done if sentence_id is None or sentence_id in _ids_of(pair[1])
        ]
        if not own:
            raise ConflictError("There is nothing to undo.")
        (before, after), place = own[-1], self._done.index(own[-1])
        if any(_ids_of(after) & _ids_of(old) for old, _ in self._done[place + 1 :]):
            raise ConflictError("Its other part has changed since; undo that first.")
        self._exchange(after, before)
        self._undone.append(self._done.pop(place))
        return self.find(before[0].id)

    def redo(self):
        """Make the change again that was undone last; return the index of its first sentence."""
        if not self._undone:
            raise ConflictError("There is nothing to do again.")
        before, after = self._undone[-1]
        self._exchange(before, after)
        self._done.append(self._undone.pop())
        return self.find(after[0].id)

    def find(self, sentence_id):
        """Find the index of a sentence."""
        return next(k for k, each in enumerate(self.sentences) if each.id == sentence_id)

    def keep_address(self, port):
        """Keep the port and the key for the next run."""
        with self._lock, self._db:
            self._db.execute("DELETE FROM addresses")
            self._db.execute("INSERT INTO addresses VALUES (?, ?)", (port, self.key))

    def save(self):
        """Write the file, if a sentence has changed since."""
        with self._lock:
            version, trees = self.version, [each.tree for each in self.sentences]
        if version == self._saved:
            return
        digest = _digest_trees(trees)
        self._note_output(digest, 0)  # since the process may end before it knows that all is there
        write_conllu(trees, self.path)
        self._note_output(digest, version)
        self._saved = version

    def _note_output(self, digest, version):
        with self._lock, self._db:
            self._db.execute("INSERT INTO outputs VALUES (?, ?)", (digest, version))

    def close(self):
        """Write the file, and close the database."""
        try:
            self.save()
        except sqlite3.Error as error:
            raise OSError(
                f"{printable(self.path)} is not written: {error}. {JOURNAL} beside it holds all "
                f"answers, and the same command goes on from there."
            ) from None
        self._db.close()

    def _exchange(self, before, after):
        """Put sentences in the place of others, once they are on the disk; return them."""
        at, version, more = self.find(before[0].id), self.version + 1, len(after) - len(before)
        after = [each._replace(version=version) for each in after]
        old = [(each.id,) for each in before]
        with self._lock:
            with self._db:
                self._db.executemany("DELETE FROM sentences WHERE id = ?", old)
                self._db.execute(
                    "UPDATE sentences SET place = place + ?1 WHERE place > ?2 AND ?1", (more, at)
                )
                self._insert(after, at)
            self.sentences[at : at + len(before)], self.version = after, version
        return after


def _ids_of(sentences):
    return {each.id for each in sentences}


def _digest_trees(trees):
    return hashlib.sha256("".join(map(DependencyTree.to_conllu, trees)).encode()).hexdigest()
