"""Tokens: the words of a tree as objects, which are views of it."""

from __future__ import annotations

from sklearn_shag.treebank._columns import MISSING
from sklearn_shag.utils._heads import UNKNOWN


class Token:
    """A word of a tree, a view that holds nothing of its own.

    :attr:`DependencyTree.tokens` makes them. Tokens are equal if they are the same word of the same
    tree.

    Attributes
    ----------
    index : int
        Its position in the sentence, from 1.
    form : str
        The word.
    lemma, upos, xpos, deprel : str or None
        The other columns; None for each that the tree does not have.
    deps : str
        The column DEPS, its place in the enhanced graph, such as "2:nsubj|5:nsubj"; "_" if it is
        empty.
    feats, misc : dict of str to str
        The values in these columns by their names; empty if there are none.
    head : Token or None
        The head; None for a root, and where the head is not known.
    children : tuple of Token
        The modifiers, in the order of the sentence.
    subtree : tuple of Token
        The phrase that it heads, itself included, in the order of the sentence.
    text : str
        The word as it is in the text, where it may be part of a longer token: "du" for both words
        of French "du".
    span : tuple of int or None
        Begin and end of `text` in the original text, as in :attr:`DependencyTree.spans`.

    See Also
    --------
    DependencyTree.tokens : All tokens of a tree.
    DependencyTree.root : The root of a tree.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree
    >>> forms, relations = ["The", "dog", "barks"], ["det", "nsubj", "root"]
    >>> tree = DependencyTree(forms, [2, 3, 0], deprels=relations)
    >>> tree.root
    Token(3, 'barks')
    >>> for token in tree.root.children:
    ...     print(token.deprel, [word.form for word in token.subtree])
    nsubj ['The', 'dog']
    """

    __slots__ = ("_kept", "_tree", "index")

    index: int

    @property
    def form(self) -> str:
        """The word."""
        return self._tree.forms[self.index - 1]

    @property
    def lemma(self) -> str | None:
        """The lemma, or None if the tree has no lemmas."""
        return self._cell("lemmas")

    @property
    def upos(self) -> str | None:
        """The universal tag, or None if the tree has none."""
        return self._cell("upos")

    @property
    def xpos(self) -> str | None:
        """The tag of the language, or None if the tree has none."""
        return self._cell("xpos")

    @property
    def deprel(self) -> str | None:
        """The relation to the head, or None if the tree has no relations."""
        return self._cell("deprels")

    @property
    def deps(self) -> str:
        """The column DEPS, its place in the enhanced graph, or "_" if it is empty."""
        return self._cell("deps")

    @property
    def feats(self) -> dict[str, str]:
        """The morphological features by their names."""
        return split_pairs(self._cell("feats"))

    @property
    def misc(self) -> dict[str, str]:
        """The values of the column MISC by their names."""
        return split_pairs(self._cell("misc"))

    @property
    def head(self) -> Token | None:
        """The head, or None for a root and where it is not known."""
        head = int(self._tree._structure()[0][self.index - 1])
        return None if head in (0, UNKNOWN) else self._view(head)

    @property
    def children(self) -> tuple[Token, ...]:
        """The modifiers."""
        return tuple(map(self._view, self._tree.children(self.index)))

    @property
    def subtree(self) -> tuple[Token, ...]:
        """The phrase that it heads, itself included."""
        return tuple(map(self._view, self._tree.subtree(self.index)))

    @property
    def text(self) -> str:
        """The word as it is in the text, where it may be part of a longer token."""
        ranges, k = self._kept_once("multiword_tokens"), self.index
        return next((form for first, last, form, _ in ranges if first <= k <= last), self.form)

    @property
    def span(self) -> tuple[int, int] | None:
        """Begin and end in the original text, or None if MISC does not tell."""
        return self._cell("spans")

    def _cell(self, name):
        values = self._kept_once(name)
        return values and values[self.index - 1]

    def _kept_once(self, name):
        """Return an attribute of the tree, read once and kept for all tokens of the sentence."""
        if name not in self._kept:
            self._kept[name] = getattr(self._tree, name)
        return self._kept[name]

    def _view(self, index):
        return make_view(self._tree, index, self._kept)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and self._tree is other._tree and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self._tree), self.index))

    def __repr__(self) -> str:
        return f"Token({self.index}, {self.form!r})"


def make_view(tree, index, kept):
    """Make the view of a token of a tree; `kept` holds the columns that have been read."""
    token = object.__new__(Token)
    token._tree, token.index, token._kept = tree, index, kept
    return token


def split_pairs(cell):
    """Split a cell such as "Case=Nom|Number=Sing" into a dict."""
    pairs = [] if cell in (None, MISSING) else cell.split("|")
    return dict(pair.partition("=")[::2] for pair in pairs)
