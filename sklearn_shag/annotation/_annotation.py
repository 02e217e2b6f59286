"""A file that is being annotated: its sentences with guesses, and changes of them."""

import re
from contextlib import suppress

import numpy as np

from sklearn_shag.annotation._boundaries import (
    join_sentences,
    join_words,
    split_sentence,
    split_word,
)
from sklearn_shag.annotation._draft import ConflictError, Draft
from sklearn_shag.treebank import (
    ASKED,
    CHECKED,
    find_comment,
    find_given,
    find_guesses,
    join_text,
    name_comment,
)

NOTE, _YES = "note", ("yes", "true", "1")
_OF_SENTENCE = {"id", "version", "checked", NOTE}  # answers that no parser reads
_LIKELY = re.compile(r"(?:^|\|)Likely=([^|]*)")  # in MISC, from the command check
_OF_WORDS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")


class NoSentenceError(Exception):
    """There is no sentence with the index that is asked for."""


class Annotation:
    """A file that is being annotated, with a parser that guesses what nobody has said.

    Its methods take and return what the interface does, as Python has JSON.

    Parameters
    ----------
    store : Store
    guesser : Guesser
    by : str
        The order of the list: "order", "sentences" or "heads-in-sentences".
    """

    def __init__(self, store, guesser, by="order"):
        self.store, self.guesser, self._by = store, guesser, by
        self._shown, self._errors, self._ahead = None, {}, []

    def list_sentences(self, asked=()):
        """List all sentences, with numbers of wrong heads that are expected, as soon as known."""
        rows = []
        for index, sentence in enumerate(self.store.sentences):
            tree, text = sentence.tree, sentence.tree._stored()
            rows.append(
                {
                    "index": index,
                    "id": sentence.id,
                    "sent_id": tree.sent_id,
                    "text": tree.text or " ".join(tree.forms),
                    "checked": find_comment(text, CHECKED) in _YES,
                    "marked": f"{ASKED}=Yes" in text or "Likely=" in text,
                    "expected_errors": self._errors.get(sentence[:2]),
                }
            )
        if self._by != "order" and all(row["expected_errors"] is not None for row in rows):
            sizes = [len(each.tree) for each in self.store.sentences]
            words = np.ones(len(sizes)) if self._by == "heads-in-sentences" else sizes
            rows.sort(key=lambda row: -row["expected_errors"] / words[row["index"]])
        return rows

    def answer(self, index, asked):
        """Change a sentence by the answers of an annotator, and describe it.

        Parameters
        ----------
        index : int
        asked : dict
            As for :meth:`Draft.answer`, and id, version, checked and note.

        Returns
        -------
        content : dict
            As from :meth:`describe`, with "freed".

        Raises
        ------
        ConflictError
            If the sentence has another id or version.
        ValueError
            As for :meth:`Draft.answer`, or CoNLL-U cannot hold a value.
        """
        sentence = self._find(index, asked)
        draft = Draft(self._show(sentence)[0])
        freed, tree = draft.answer(asked), sentence.tree
        of_words, has_changed = None, asked.keys() - _OF_SENTENCE
        if has_changed or asked.get("checked"):
            of_words = draft.complete(self.guesser)
            if asked.get("checked"):
                draft.answer({"confirm": range(1, len(tree) + 1)})
            tree = draft.write()
        if "checked" in asked:
            tree = _with_comment(tree, CHECKED, _YES[0] * asked["checked"])
        if NOTE in asked:
            tree = _with_comment(tree, NOTE, asked[NOTE])
        self.store.replace(index, 1, [tree])
        if has_changed and not asked.get("checked"):  # nothing else is known than was parsed
            self._keep(self.store.sentences[index], tree, of_words)
        return self.describe(index) | {"freed": freed}

    def split(self, index, asked):
        """Split a sentence before a word, or a word before a character."""
        sentence = self._find(index, asked)
        tree = self._show(sentence)[0]
        word = asked.get("word", 0)
        if "character" in asked:
            parts = [split_word(Draft(tree), word, asked["character"])]
        else:
            parts = split_sentence(Draft(tree), word, f"-split{self.store.version + 1}")
        return self._replace(index, 1, parts)

    def join(self, index, asked):
        """Join a sentence with the next one, or a word with the next one."""
        draft = Draft(self._show(self._find(index, asked))[0])
        if "word" in asked:
            return self._replace(index, 1, [join_words(draft, asked["word"])])
        if index + 1 == len(self.store.sentences):
            raise ConflictError("There is no next sentence.")
        other = self._show(self.store.sentences[index + 1])[0]
        return self._replace(index, 2, [join_sentences(draft, Draft(other))])

    def undo(self, index, asked):
        """Undo the last change of all, or of a sentence."""
        sentence_id = None if index is None else self._find(index, asked).id
        return self.describe(self.store.undo(sentence_id))

    def redo(self, asked):
        """Make the change again that was undone last."""
        return self.describe(self.store.redo())

    def look_ahead(self, asked=()):
        """Let the parser look at a sentence that it has not seen; return whether there was one."""
        if not self._ahead:
            unseen = [each for each in self.store.sentences if each[:2] not in self._errors]
            self._ahead = unseen[::-1]
        if self._ahead:
            sentence = self._ahead.pop()
            self._errors[sentence[:2]] = float(len(sentence.tree))  # if it cannot be parsed
            with suppress(ValueError):
                self._expect(sentence, Draft(sentence.tree).complete(self.guesser))
        return bool(self._ahead)

    def _find(self, index, asked):
        """Find a sentence by its index; a request may name the id and version it expects."""
        if index >= len(self.store.sentences):
            raise NoSentenceError(f"There is no sentence {index}.")
        sentence, expected = self.store.sentences[index], dict(asked)
        for name in ("id", "version"):
            if expected.get(name, getattr(sentence, name)) != getattr(sentence, name):
                raise ConflictError(f"Sentence {index} has another {name} by now.")
        return sentence

    def _show(self, sentence):
        """Complete a sentence by the parser, unless it was shown last."""
        if self._shown is None or self._shown[0] is not sentence:
            draft = Draft(sentence.tree)
            of_words = draft.complete(self.guesser)
            self._keep(sentence, draft.write(), of_words)
        return self._shown[1:]

    def _keep(self, sentence, tree, of_words):
        """Keep a completed sentence, to show it."""
        self._shown = sentence, tree, of_words
        self._expect(sentence, of_words)

    def _expect(self, sentence, of_words):
        """Note how many heads of a sentence are expected to be wrong."""
        self._errors[sentence[:2]] = sum(1 - share for share in of_words["probability"])

    def _replace(self, index, n, drafts):
        """Complete drafts, which take the place of n sentences, and describe the first."""
        trees = []
        for draft in drafts:
            draft.complete(self.guesser)
            tree = draft.write()
            text = re.sub(r"[ \t\n]+", " ", join_text([tree])).strip()
            trees.append(tree.with_text(text) if tree.text else tree)
        self.store.replace(index, n, trees)
        return self.describe(index)

    def describe(self, index, asked=()):
        """Describe a sentence with its guesses."""
        sentence = self._find(index, asked)
        tree, of_words = self._show(sentence)
        content, guesses, given = tree.to_dict(), find_guesses(tree), find_given(tree)
        given["deprel"] = ~guesses["deprel"]
        columns = {name: content[name] for name in _OF_WORDS} | of_words
        columns["known"] = (~guesses["head"]).tolist()
        columns["marked"] = [f"{ASKED}=Yes" in misc.split("|") for misc in tree.misc]
        columns["likely"] = [next(iter(_LIKELY.findall(misc)), None) for misc in tree.misc]
        tokens = []
        for k, values in enumerate(zip(*columns.values(), strict=True)):
            token = {"id": k + 1} | dict(zip(columns, values, strict=True))
            token["given"] = [name for name in given if given[name][k]]
            tokens.append(token)
        stored = tree._stored()
        return {
            "index": index,
            "id": sentence.id,
            "version": sentence.version,
            "sent_id": tree.sent_id,
            "text": tree.text,
            "checked": find_comment(stored, CHECKED) in _YES,
            "note": find_comment(stored, NOTE),
            "tokens": tokens,
            "multiword_tokens": content["multiword_tokens"],
            "empty_nodes": content["empty_nodes"],
        }


def _with_comment(tree, name, value):
    """Set a comment; without a value, remove it."""
    if value:
        return tree._with_comment(name, value)
    return tree.with_comments([each for each in tree.comments if name_comment(each)[0] != name])
