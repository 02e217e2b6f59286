"""Drafts of sentences that annotators change: rows refer to each other, and have no numbers."""

import numpy as np

from sklearn_shag.treebank import (
    ATTRIBUTES,
    LEARNED,
    MISSING,
    PLACES,
    DependencyTree,
    check_column,
    find_given,
    find_guesses,
    mark_guesses,
    unspecified_relation,
)

FORM, UPOS, MISC, _ID, _HEAD, _DEPREL, _DEPS = 1, 3, 9, 0, 6, 7, 8  # places of columns


class ConflictError(Exception):
    """A change that the present state of sentences does not allow."""


class Row:
    """A word, an empty node or a multiword token of a draft.

    Attributes
    ----------
    cells : list of str
        Its columns. ID, HEAD and DEPS are as they were read, and are written anew.
    head : Row or None
        None if it is not known.
    arcs : list of pairs (Row or None, str)
        Heads and relations in the enhanced graph. None stands for the head in the tree: the arc
        was equal to that of the tree, and follows it.
    first, last : Row or None
        The words at the ends of a multiword token; None for other rows.
    guesses : set of str
        The columns that are only guessed.
    """

    def __init__(self, cells):
        self.cells, self.arcs, self.guesses = cells, [], set()
        self.head = self.first = self.last = None

    def refer(self, rows):
        """Set all fields that refer to other rows, which are given by their IDs."""
        first, dash, last = self.cells[_ID].partition("-")
        if dash:
            self.first, self.last = rows[first], rows[last]
        self.head, own = rows.get(self.cells[_HEAD]), ":".join(self.cells[_HEAD : _DEPREL + 1])
        arcs = [arc.partition(":") for arc in self.cells[_DEPS].split("|") if arc != MISSING]
        if all(head in rows and colon for head, colon, _ in arcs):  # else they stay as they are
            for head, _, relation in arcs:
                is_own = f"{head}:{relation}" == own
                self.arcs.append((None if is_own else rows[head], relation))

    def is_word(self):
        """Tell whether it is neither an empty node nor a multiword token."""
        return self.cells[_ID].isdecimal()

    def is_known(self):
        """Tell whether an annotator has given or confirmed the head."""
        return "head" not in self.guesses

    def forget(self):
        """Make head and relation unknown."""
        self.guesses |= {"head", "deprel"}

    def replace(self, old, new):
        """Refer to another row in place of one that is no longer there."""
        rows = {old: new}
        self.head = rows.get(self.head, self.head)
        self.first, self.last = rows.get(self.first, self.first), rows.get(self.last, self.last)
        self.arcs = [(rows.get(head, head), relation) for head, relation in self.arcs]

    def write(self, numbers, known_only):
        """Write the line of the row by the numbers of the rows of its sentence."""
        cells = [*self.cells]
        cells[_ID] = numbers.get(self) or f"{numbers[self.first]}-{numbers[self.last]}"
        cells[_HEAD] = numbers.get(self.head, MISSING)
        for place, column in ((_HEAD, "head"), (_DEPREL, "deprel")):
            if known_only and column in self.guesses:
                cells[place] = MISSING
        if self.arcs and not known_only:
            cells[_DEPS] = "|".join(self._write_arcs(numbers, f"{cells[_HEAD]}:{cells[_DEPREL]}"))
        return "\t".join(cells)

    def _write_arcs(self, numbers, own):
        """List arcs of the enhanced graph as they are written, without arcs between sentences."""
        arcs = [own for head, _ in self.arcs if head is None]
        for head, relation in self.arcs:
            if head in numbers and head is not self:
                arcs.append(f"{numbers[head]}:{relation}")
        if not (arcs or self.is_word()):
            raise ConflictError("An empty node would have no arc of the enhanced graph.")
        old = self.cells[_DEPS].split("|")
        return old if sorted(arcs) == sorted(old) else sorted({*arcs} or {own}, key=_order_arc)


def _order_arc(arc):
    head, _, relation = arc.partition(":")
    return [int(number) for number in head.split(".")], relation


TOP = Row(["0", *[MISSING] * MISC])


class Draft:
    """A sentence that is being changed.

    Parameters
    ----------
    tree : DependencyTree
        With marks of guesses, as `suggest` writes them.

    Attributes
    ----------
    lines : list of str and Row
        Comments, words, empty nodes and multiword tokens, in their order.
    """

    def __init__(self, tree):
        self._line_end, self.lines = tree._line_end, tree._written().split("\n")
        for k, line in enumerate(self.lines):
            if not line.startswith("#"):
                self.lines[k] = Row(line.split("\t"))
        rows = {row.cells[_ID]: row for row in (TOP, *self.rows)}
        for row in self.rows:
            row.refer(rows)
        guesses = find_guesses(tree)
        for k, word in enumerate(self.words):
            word.guesses |= {name for name in guesses if guesses[name][k]}
        self.settle()

    @property
    def rows(self):
        """The lines that are no comments."""
        return [line for line in self.lines if isinstance(line, Row)]

    @property
    def words(self):
        """The rows of words."""
        return list(filter(Row.is_word, self.rows))

    def find(self, number, least=1):
        """Find a word by its number, from `least` on; 0 is the TOP."""
        rows = [TOP, *self.words]
        if not least <= int(number) < len(rows):
            raise ValueError(f"There is no word {number} in a sentence of {len(rows) - 1}.")
        return rows[int(number)]

    def answer(self, answers):
        """Change what an annotator has answered.

        Parameters
        ----------
        answers : dict
            With any of heads, deprels, upos, xpos, lemma, feats (dicts by the number of a word, a
            str), confirm and unknown (lists of numbers).

        Returns
        -------
        freed : list of int
            Words whose heads were known, and are unknown now, since they do not fit to new ones.

        Raises
        ------
        ValueError
            If there is no such word, or the answers are no part of a tree.
        """
        for number in answers.get("unknown", ()):
            self.find(number).forget()
        sure = set(map(self.find, answers.get("confirm", ())))
        for word in sure:
            word.guesses.clear()
        for number, head in answers.get("heads", {}).items():
            word, head = self.find(number), self.find(head, 0)
            word.guesses |= {"deprel"} if head is not word.head else set()
            word.head = head
            sure.add(word)
        for column in LEARNED:
            self._set_values(column, answers.get(column, {}))
        related = self._set_values("deprel", answers.get("deprels", {}))
        for word in related:
            relation = word.cells[_DEPREL]
            if (word.head is TOP) != (relation.partition(":")[0] == unspecified_relation(0)):
                raise ValueError(f"{word.cells[FORM]} cannot be {relation} of its head.")
        freed = self.settle({*sure, *related})
        return [k for k, word in enumerate(self.words, start=1) if word in freed]

    def _set_values(self, column, values):
        """Set values that an annotator gives by numbers of words, and return these words."""
        check_column(column, list(values.values()), len(values))
        words = list(map(self.find, values))
        for word, value in zip(words, values.values(), strict=True):
            word.cells[PLACES[ATTRIBUTES[column]]] = value
            word.guesses.discard(column)
        return words

    def settle(self, sure=frozenset()):
        """Make heads unknown that do not fit to those of others.

        Parameters
        ----------
        sure : set of Row
            Words whose heads are known from now on.

        Returns
        -------
        freed : set of Row
            Words whose heads were known until now.
        """
        words, freed = self.words, set()
        here = {TOP, *words}
        for word in words:
            if word in sure:
                word.guesses.discard("head")
            elif word.head not in here:
                word.forget()
        for word in sure:
            cycle = _find_cycle(word)
            if cycle and cycle <= sure:
                raise ValueError("The heads that are given make a cycle.")
            freed |= _forget_heads(cycle - sure)
        roots = [word for word in words if word.head is TOP and word.is_known()]
        roots.sort(key=sure.__contains__, reverse=True)
        if not sure.isdisjoint(roots[1:]):
            raise ValueError("Only one word can have the head 0.")
        return freed | _forget_heads(roots[1:])

    def complete(self, guesser):
        """Let a Guesser guess all that is not known; return its dict of words."""
        known = self.write(known_only=True)
        found, columns, of_words = guesser.guess(known)
        given, rows = find_given(known), [TOP, *self.words]
        relations = found.deprels or tuple(map(unspecified_relation, found.heads.tolist()))
        for word, head, relation in zip(rows[1:], found.heads, relations, strict=True):
            word.head = rows[head]
            # A given relation gives way if it is that of a root, and the word is none.
            word.guesses |= {"deprel"} if relation != word.cells[_DEPREL] else set()
            word.cells[_DEPREL] = relation
        for column in given.keys() & columns:
            values = zip(rows[1:], found.column(column), given[column], strict=True)
            for word, value, is_given in values:
                word.cells[PLACES[ATTRIBUTES[column]]] = value
                word.guesses |= set() if is_given else {column}
        return of_words

    def write(self, known_only=False):
        """Write the sentence as a tree with marks of guesses, by default with these."""
        numbers, word, node = {TOP: "0"}, 0, 0
        for row in self.rows:
            if row.is_word():
                word, node = word + 1, 0
                numbers[row] = str(word)
            elif row.last is None:
                node += 1
                numbers[row] = f"{word}.{node}"
        rows = (row.write(numbers, known_only) for row in self.rows)
        lines = [line if isinstance(line, str) else next(rows) for line in self.lines]
        tree = DependencyTree.from_conllu(self._line_end.join([*lines, ""]))
        words = self.words
        guesses = {
            column: np.array([column in word.guesses for word in words])
            for column in ("head", "deprel", *LEARNED)
        }
        return mark_guesses(tree, guesses)


def _find_cycle(word):
    """Find the words of a cycle of known heads through a word; an empty set if there is none."""
    way = [word]
    while way[-1].is_known() and way[-1].head not in (TOP, *way):
        way.append(way[-1].head)
    is_cycle = way[-1].is_known() and way[-1].head is word
    return set(way * is_cycle)


def _forget_heads(words):
    for word in words:
        word.forget()
    return set(words)
