"""DependencyTree: an immutable sentence with columns, heads, and all that its file holds."""

import io
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from numbers import Integral
from typing import Any, Never, NoReturn, Self, TypeAlias

import numpy as np

import sklearn_shag.treebank._lines as lines
from sklearn_shag.treebank._columns import (
    ATTRIBUTES,
    MISSING,
    PLACES,
    as_tuple,
    check_column,
    check_column_name,
    check_heads,
    check_misc,
    check_strings,
    get_feature,
)
from sklearn_shag.treebank._drawing import draw_svg, draw_text, known_arcs, make_displacy, new_graph
from sklearn_shag.treebank._lines import EmptyNode, MultiwordToken
from sklearn_shag.treebank._pieces import TextFormat
from sklearn_shag.treebank._sources import ConlluError
from sklearn_shag.treebank._tokens import Token, make_view
from sklearn_shag.utils._arrays import as_list
from sklearn_shag.utils._heads import UNKNOWN, is_projective, list_way_up
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import IndexArray, IntArrayLike, ObjectArray, StrArray

_MAX_REPR_TEXT = 60
# Slots of a tree that comes from no file
_OF_FILES = {"_source": None, "_reparsed": False, "_document": None, "_line_end": "\n"}
# Words that pictures highlight
Highlight: TypeAlias = Collection[int] | Callable[[Token], bool]


class DependencyTree:
    """An immutable sentence with its dependency tree.

    A sentence may have several roots and crossing arcs. Without `heads`, it is an unlabelled
    sentence; if only some heads are known, the tree is partial. Trees are equal, and have the same
    hash, if all columns, the heads and the symbols are equal. Comments and anything else from the
    file do not count.

    Parameters
    ----------
    forms : sequence of str, length n_tokens
        The words.

    heads : sequence of int, length n_tokens, default=None
        The head of each token, 1-based, 0 for the root, -1 where it is not known.

    lemmas, upos, xpos, feats, deprels : sequence of str, length n_tokens, default=None
        The other columns of CoNLL-U. `feats` are as written there, such as
        ``"Case=Nom|Number=Sing"`` or ``"_"``.

    symbols : sequence of str, length n_tokens, default=None
        What the grammar sees. By default `upos`, or `forms` if there are none.

    Attributes
    ----------
    forms, symbols : tuple of str, length n_tokens
        The words, and what the grammar sees of them.

    lemmas, upos, xpos, feats, deprels : tuple of str, length n_tokens, or None
        The other columns; None for each that the tree does not have.

    heads : read-only ndarray of int, shape (n_tokens,), or None
        The head of each token, 1-based, 0 for the root; None for an unlabelled sentence.

    Raises
    ------
    TypeError
        If a column is not a sequence of str.
    ValueError
        If there is no token. If the length of a column differs from that of `forms`, or a column
        holds an empty string, a tab or a line end, which CoNLL-U cannot hold. If `heads` is not a
        tree or part of one: it has a cycle, or two roots though some heads are unknown.

    See Also
    --------
    read_conllu : Reads trees from a file.
    TokenFeature : Chooses the symbols in a pipeline.

    Notes
    -----
    A tree has a length but is deliberately neither indexable nor iterable. Otherwise, NumPy, and
    every tool that passes X through :func:`numpy.asarray`, would turn a list of trees of the same
    length into a two-dimensional array of tokens.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(
    ...     ["The", "dog", "barks", "."], [2, 3, 0, 3], upos=["DET", "NOUN", "VERB", "PUNCT"]
    ... )
    >>> tree
    DependencyTree('The dog barks .', heads=[2, 3, 0, 3])
    >>> len(tree)
    4
    >>> print(tree)
        ,-- The  DET
    ,-- dog      NOUN
    barks        VERB
    `-- .        PUNCT
    """

    # `_source` is the block of lines that the tree was read from, None for a tree built in Python
    # that has no MISC; `_reparsed` tells that the heads in it are not those of the tree.
    # `_document` is the document that an earlier sentence has begun. `_line_end` is that of the
    # file; in `_source` it is always "\n".
    __slots__ = (
        *ATTRIBUTES.values(),
        "heads",
        "_source",
        "_reparsed",
        "_document",
        "_line_end",
    )

    forms: tuple[str, ...]
    symbols: tuple[str, ...]
    lemmas: tuple[str, ...] | None
    upos: tuple[str, ...] | None
    xpos: tuple[str, ...] | None
    feats: tuple[str, ...] | None
    deprels: tuple[str, ...] | None
    heads: IndexArray | None

    def __init__(
        self,
        forms: Sequence[str],
        heads: IntArrayLike | None = None,
        *,
        lemmas: Sequence[str] | None = None,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        deprels: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
    ) -> None:
        forms = as_tuple("forms", forms)
        n_tokens = len(forms)
        if not n_tokens:
            raise ValueError("a DependencyTree needs at least one token, got no forms")
        columns = forms, lemmas, upos, xpos, feats, deprels
        state = {
            name: check_column(name, values, n_tokens)
            for name, values in zip(PLACES, columns, strict=True)
        }
        if symbols is None:
            symbols = state["upos"] or state["forms"]
        state["symbols"] = check_strings("symbols", symbols, n_tokens)
        state["heads"] = check_heads(heads, state["forms"])
        _set_state(self, {**_OF_FILES, **state})

    @property
    def is_projective(self) -> bool:
        """Whether no two known arcs cross.

        Returns
        -------
        bool

        Raises
        ------
        ValueError
            If the sentence is unlabelled.
        """
        if self.heads is None:
            raise ValueError(f"{self!r} has no heads, so it has no arcs that could cross")
        return is_projective(self.heads.tolist())

    def column(self, name: str) -> tuple[str, ...]:
        """Get one feature of every token.

        Parameters
        ----------
        name : str
            "form", "lemma", "upos", "xpos", "feats", "deprel" or "symbol"; or, for example,
            "feats.Case" for the value of the morphological feature Case, "_" for a token without
            it.

        Returns
        -------
        values : tuple of str, length n_tokens
            The values of the file, "_" where there is none.

        Raises
        ------
        ValueError
            If the column does not exist, or this tree does not have it.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["He", "slept"], feats=["Case=Nom|Number=Sing", "Tense=Past"])
        >>> tree.column("feats.Case")
        ('Nom', '_')
        """
        attribute, feature = check_column_name(name)
        values = getattr(self, attribute)
        if values is None:
            present = [key for key, attribute in ATTRIBUTES.items() if getattr(self, attribute)]
            raise ValueError(f"{self!r} has no column {shorten(name)}, only {', '.join(present)}")
        return values if feature is None else tuple(get_feature(feats, feature) for feats in values)

    def with_heads(
        self,
        heads: IntArrayLike | None,
        deprels: Sequence[str] | None = None,
        *,
        keep_deps: bool = False,
    ) -> "DependencyTree":
        """Copy the tree with other heads.

        Everything else is kept, including the comments, multiword tokens and MISC values of the
        file that the tree was read from. By default, the enhanced graph (DEPS and empty nodes) is
        dropped, because it belongs to the old heads.

        Parameters
        ----------
        heads : sequence of int, length n_tokens, or None
            The new heads, -1 where they are not known; None for an unlabelled sentence.

        deprels : sequence of str, length n_tokens, default=None
            The relations to the new heads. The old ones are always dropped.

        keep_deps : bool, default=False
            Whether to keep the enhanced graph as it is, for example because heads were only added.

        Returns
        -------
        tree : DependencyTree
            A new tree; this one does not change.

        Raises
        ------
        ValueError
            As in the constructor.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["dogs", "bark"], deprels=["nsubj", "root"]).with_heads([0, 1])
        DependencyTree('dogs bark', heads=[0, 1])
        """
        return with_valid_heads(self, check_heads(heads, self.forms), deprels, keep_deps)

    def with_symbols(self, symbols: Sequence[str]) -> "DependencyTree":
        """Copy the tree with other symbols.

        Parameters
        ----------
        symbols : sequence of str, length n_tokens
            What the grammar will see. No column of the file changes.

        Returns
        -------
        tree : DependencyTree
            A new tree, or this one if it has these symbols already; this one does not change.

        Raises
        ------
        ValueError
            If `symbols` has another length than the sentence.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["dogs", "bark"], [2, 0]).with_symbols(["N", "V"]).symbols
        ('N', 'V')
        """
        if symbols is self.symbols:
            return self
        return _copy_with(self, symbols=check_strings("symbols", symbols, len(self)))

    def with_misc(self, name: str, values: Sequence[str | None]) -> "DependencyTree":
        """Copy the tree with more values in the column MISC.

        Parameters
        ----------
        name : str
            The name of the values.
        values : sequence of str or None, length n_tokens
            :func:`write_conllu` adds ``name=value`` to MISC, at its place by name, and replaces any
            earlier value of this name. For None it adds nothing.

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If `values` has another length than the sentence, or MISC cannot hold them.

        Examples
        --------
        >>> import sys
        >>> from sklearn_shag.treebank import DependencyTree, write_conllu
        >>> write_conllu([DependencyTree(["Bark"], [0]).with_misc("Checked", ["Yes"])], sys.stdout)
        1   Bark  _  _  _  _  0  root  _  Checked=Yes
        """
        values = check_misc(name, values, len(self))
        return self._with_source(lines.replace_misc(self._written(), name, values))

    def to_conllu(self) -> str:
        """Write the sentence as CoNLL-U.

        Returns
        -------
        text : str
            What :func:`write_conllu` writes, including the blank line at the end, with the line end
            of the file that the tree was read from.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> print(DependencyTree(["Dogs", "bark"], [2, 0]).to_conllu(), end="")
        1   Dogs  _  _  _  _  2  dep   _  _
        2   bark  _  _  _  _  0  root  _  _
        <BLANKLINE>
        """
        return f"{self._written()}\n\n".replace("\n", self._line_end)

    @classmethod
    def from_conllu(cls, text: str) -> "DependencyTree":
        """Read a sentence from text in CoNLL-U.

        Parameters
        ----------
        text : str
            One sentence.

        Returns
        -------
        tree : DependencyTree
            It keeps everything in its lines.

        Raises
        ------
        ConlluError
            If the text is not valid.
        ValueError
            If the text does not hold exactly one sentence.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["Dogs", "bark"], [2, 0], deprels=["nsubj", "root"])
        >>> DependencyTree.from_conllu(tree.to_conllu()).heads
        array([2, 0])
        """
        found = list(CONLLU.trees([io.StringIO(text)]))
        if len(found) != 1:
            raise ValueError(f"text holds {len(found)} sentences, not one: read_conllu reads many.")
        return found[0]

    def to_dict(self) -> dict[str, Any]:
        """Convert the sentence to a dict that JSON can hold, with everything from CoNLL-U.

        Returns
        -------
        content : dict
            Its keys are comments; sent_id and text, None if missing; multiword_tokens and
            empty_nodes, lists of dict; and form, lemma, upos, xpos, feats, head, deprel, deps and
            misc, lists with a value for each token. Unknown heads are None.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> content = DependencyTree(["Dogs", "bark"], [2, 0]).to_dict()
        >>> content["form"], content["head"]
        (['Dogs', 'bark'], [2, 0])
        """
        return lines.to_content(self._written())

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "DependencyTree":
        """Make a tree of a dict such as :meth:`to_dict` returns.

        Parameters
        ----------
        content : dict
            What :meth:`to_dict` describes, of which only the key form is necessary. Other keys are
            ignored.

        Returns
        -------
        tree : DependencyTree
            It has all that is in the dict, and equals the tree that :meth:`from_conllu` reads from
            the same sentence.

        Raises
        ------
        ValueError
            If there are no words, columns have different lengths, the heads are not a tree, or
            CoNLL-U cannot hold a value.
        TypeError, KeyError
            If a value has another type than :meth:`to_dict` gives it, or an empty node lacks its
            place.

        See Also
        --------
        sklearn_shag.treebank.read_jsonl : Reads such dicts from files of JSON lines.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree.from_dict({"form": ["Dogs", "bark"], "head": [2, 0]})
        DependencyTree('Dogs bark', heads=[2, 0])
        """
        text = lines.from_content(content)
        try:
            return _read_tree("", 1, text.encode())
        except ConlluError as error:
            raise ValueError(f"The dict is no sentence: {error.args[2]}") from None

    def _stored(self) -> str:
        """Return the lines of the sentence; HEAD, DEPREL and DEPS may belong to other heads."""
        return self._source or lines.format_columns(self)

    def _with_source(self, source: str) -> "DependencyTree":
        return _copy_with(self, _source=source, _reparsed=False)

    def _written(self) -> str:
        """Return the lines of the sentence in CoNLL-U, with the heads of this tree."""
        if self._source is not None and not self._reparsed:
            return self._source
        return lines.replace_heads(self._stored(), self.heads, self.deprels)

    @property
    def comments(self) -> tuple[str, ...]:
        """The comments of the sentence, each with its "#"."""
        return tuple(lines.list_comments(self._source or ""))

    @property
    def sent_id(self) -> str | None:
        """The value of the comment "# sent_id = ...", or None without it."""
        return lines.find_comment(self._source or "", "sent_id")

    @property
    def text(self) -> str | None:
        """The value of the comment "# text = ...", or None without it."""
        return lines.find_comment(self._source or "", "text")

    @property
    def document(self) -> str | None:
        """The document of the sentence, or None if it is not known.

        It is named by the comment "# newdoc id = ..." of its first sentence. The sentences behind
        it know it from the file or the text that they were read from.
        """
        return lines.find_document(self._source or "", self._document)

    @property
    def misc(self) -> tuple[str, ...]:
        """The column MISC, "_" where it is empty."""
        return lines.list_column(self._stored(), 9)

    @property
    def spans(self) -> tuple[tuple[int, int] | None, ...]:
        """The begin and end of each word in the original text, or None if MISC does not tell.

        They are read from TokenRange in MISC, which :class:`~sklearn_shag.Splitter` and UDPipe
        write. The words of a multiword token share the range of the token.
        """
        found = list(map(lines.read_range, self.misc))
        for first, last, _, misc in self.multiword_tokens:
            found[first - 1 : last] = [lines.read_range(misc)] * (last - first + 1)
        return tuple(found)

    @property
    def deps(self) -> tuple[str, ...]:
        """The column DEPS, the enhanced graph, "_" where it is empty."""
        return (MISSING,) * len(self) if self._reparsed else lines.list_column(self._stored(), 8)

    @property
    def multiword_tokens(self) -> tuple[MultiwordToken, ...]:
        """The tokens of the text that consist of several words."""
        return tuple(lines.list_multiword_tokens(self._stored()))

    @property
    def empty_nodes(self) -> tuple[EmptyNode, ...]:
        """The words that the text leaves out."""
        return () if self._reparsed else tuple(lines.list_empty_nodes(self._stored()))

    def with_comments(self, comments: Sequence[str]) -> "DependencyTree":
        """Copy the tree with other comments.

        Parameters
        ----------
        comments : sequence of str
            Lines that begin with "#".

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If a comment does not begin with "#", or has several lines.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["Bark"], [0]).with_comments(["# checked"]).comments
        ('# checked',)
        """
        comments = as_list(comments, "comments", "a sequence of str")
        return self._with_source(lines.replace_comments(self._written(), comments))

    def with_sent_id(self, sent_id: str) -> "DependencyTree":
        """Copy the tree with another name, in the comment "# sent_id = ...".

        Parameters
        ----------
        sent_id : str
            The new name.

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If it has several lines.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["Bark"], [0]).with_sent_id("dogs-1").sent_id
        'dogs-1'
        """
        return self._with_comment("sent_id", sent_id)

    def with_text(self, text: str) -> "DependencyTree":
        """Copy the tree with another text, in the comment "# text = ...".

        Parameters
        ----------
        text : str
            The text of the sentence.

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If it has several lines.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["Bark", "!"], [0, 1]).with_text("Bark!").text
        'Bark!'
        """
        return self._with_comment("text", text)

    def _with_comment(self, name: str, value: str) -> "DependencyTree":
        return self._with_source(lines.set_comment(self._written(), name, value))

    def with_deps(self, deps: Sequence[str]) -> "DependencyTree":
        """Copy the tree with another enhanced graph.

        Parameters
        ----------
        deps : sequence of str, length n_tokens
            The column DEPS, such as "2:nsubj|5:nsubj"; "_" where it is empty.

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If `deps` has another length than the sentence, or CoNLL-U cannot hold it.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["Dogs", "bark"], [2, 0]).with_deps(["2:nsubj", "0:root"]).deps
        ('2:nsubj', '0:root')
        """
        deps = check_column("deps", deps, len(self))
        return self._with_source(lines.replace_columns(self._written(), {8: deps}))

    def with_multiword_tokens(self, tokens: Sequence[MultiwordToken]) -> "DependencyTree":
        """Copy the tree with other multiword tokens.

        Parameters
        ----------
        tokens : sequence of MultiwordToken
            In the order of the text.

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If a token does not cover at least one word of the sentence, or two of them overlap.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree, MultiwordToken
        >>> tree = DependencyTree(["à", "le"]).with_multiword_tokens([MultiwordToken(1, 2, "au")])
        >>> tree.multiword_tokens
        (MultiwordToken(first=1, last=2, form='au', misc='_'),)
        """
        return self._with_source(lines.replace_tokens(self._written(), tokens, self.empty_nodes))

    def with_empty_nodes(self, nodes: Sequence[EmptyNode]) -> "DependencyTree":
        """Copy the tree with other empty nodes, words that the text leaves out.

        Parameters
        ----------
        nodes : sequence of EmptyNode
            Nodes that follow the same word must be in order.

        Returns
        -------
        tree : DependencyTree
            A new tree, equal to this one, which does not change.

        Raises
        ------
        ValueError
            If a node does not follow a word of the sentence or its beginning, or CoNLL-U cannot
            hold its columns.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree, EmptyNode
        >>> node = EmptyNode(1, ("ate", "eat", "VERB", "_", "_", "_", "_", "_", "_"))
        >>> print(DependencyTree(["Sue", "fish"]).with_empty_nodes([node]).to_conllu(), end="")
        1    Sue   _    _     _  _  _  _  _  _
        1.1  ate   eat  VERB  _  _  _  _  _  _
        2    fish  _    _     _  _  _  _  _  _
        <BLANKLINE>
        """
        return self._with_source(
            lines.replace_tokens(self._written(), self.multiword_tokens, nodes)
        )

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The words of the sentence as objects, each with its columns, its head and its children.

        They are made when they are asked for, and are views: the tree does not keep them.
        """
        kept = {}  # columns that have been read, which they share
        return tuple(make_view(self, index, kept) for index in range(1, len(self) + 1))

    @property
    def root(self) -> Token:
        """The root of the sentence, the first one if there are several.

        Returns
        -------
        token : Token

        Raises
        ------
        ValueError
            If the sentence is unlabelled, or its root is not known.
        """
        roots = self.children(0)
        if not roots:
            raise ValueError(f"The root of {self!r} is not known (-1). Parse the sentence.")
        return self.tokens[roots[0] - 1]

    def children(self, token: int) -> tuple[int, ...]:
        """List the modifiers of a token.

        Parameters
        ----------
        token : int
            Its position, from 1; 0 for the root, whose children are the roots of the sentence.

        Returns
        -------
        tokens : tuple of int
            Positions, sorted.

        Raises
        ------
        ValueError
            If the position does not exist, or the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> tree.children(3), tree.children(0)
        ((2, 4), (3,))
        """
        heads, token = self._structure(token)
        return tuple((np.flatnonzero(heads == token) + 1).tolist())

    def descendants(self, token: int) -> tuple[int, ...]:
        """List the tokens below a token: its children, their children, and so on.

        Parameters
        ----------
        token : int
            As for :meth:`children`. All tokens are below 0 if all heads are known.

        Returns
        -------
        tokens : tuple of int
            Positions, sorted, without `token` itself.

        Raises
        ------
        ValueError
            As of :meth:`children`.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> tree.descendants(3), tree.descendants(1)
        ((1, 2, 4), ())
        """
        return tuple(below for below in self.subtree(token) if below != token)

    def subtree(self, token: int) -> tuple[int, ...]:
        """List a token and its descendants, the phrase that it heads.

        Parameters
        ----------
        token : int
            As for :meth:`children`.

        Returns
        -------
        tokens : tuple of int
            Positions, sorted, with `token` itself.

        Raises
        ------
        ValueError
            As of :meth:`children`.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> [tree.forms[k - 1] for k in tree.subtree(2)]
        ['The', 'dog']
        """
        heads, token = self._structure(token)
        inside = np.zeros(heads.size + 1, dtype=bool)
        inside[token] = True
        known = heads != UNKNOWN
        # One level a round, until no token is added.
        while (added := known & inside[heads] & ~inside[1:]).any():
            inside[1:] |= added
        return tuple(np.flatnonzero(inside).tolist())

    def depth(self, token: int) -> int:
        """Count the arcs from the root to a token.

        Parameters
        ----------
        token : int
            As for :meth:`children`.

        Returns
        -------
        depth : int
            0 for the root, 1 for its children.

        Raises
        ------
        ValueError
            As of :meth:`children`, and if a head on the way is not known.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> [tree.depth(token) for token in range(5)]
        [0, 3, 2, 1, 2]
        """
        *below, top = self._way_up(token)
        if top:
            self._refuse_way(top, "its depth is not known")
        return len(below)

    def path(self, start: int, end: int) -> tuple[int, ...]:
        """List the tokens on the path from one token to another, first up and then down.

        Parameters
        ----------
        start, end : int
            As for :meth:`children`.

        Returns
        -------
        tokens : tuple of int
            All positions on the path, including both ends. The path passes 0 if the tokens are
            below different roots.

        Raises
        ------
        ValueError
            As of :meth:`children`, and if a head on the way is not known.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["The", "dog", "barks", "."], [2, 3, 0, 3])
        >>> tree.path(1, 4)
        (1, 2, 3, 4)
        """
        up, down = self._way_up(start), self._way_up(end)
        top = next((token for token in up if token in down), None)
        if top is None:
            self._refuse_way(up[-1] or down[-1], f"there is no path from {start} to {end}")
        return (*up[: up.index(top) + 1], *reversed(down[: down.index(top)]))

    def crossing_arcs(self) -> tuple[tuple[int, int], ...]:
        """List the pairs of arcs that cross.

        Returns
        -------
        pairs : tuple of pairs of int
            An arc is identified by its modifier; the earlier one comes first. Arcs from the root
            start left of all tokens. There are no pairs if and only if the tree, or the known part
            of it, is projective.

        Raises
        ------
        ValueError
            If the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> forms = ["A", "hearing", "is", "held", "on", "it", "today"]
        >>> tree = DependencyTree(forms, [2, 4, 4, 0, 6, 2, 4])        # a hearing on it
        >>> tree.crossing_arcs()
        ((4, 6), (6, 7))
        """
        heads, _ = self._structure()
        spans = [(token, *sorted([head, token])) for head, token in known_arcs(heads)]
        return tuple(
            (one, other)
            for (one, a, b), (other, c, d) in combinations(spans, 2)
            if a < c < b < d or c < a < d < b
        )

    def to_networkx(self) -> Any:
        """Convert the tree to a networkx graph.

        Returns
        -------
        graph : networkx.DiGraph
            The nodes are 0 and the positions of the tokens, with the columns that the tree has
            (`form`, `symbol`, `upos` and so on) as attributes. An edge leads from each known head
            to its modifier, with the attribute `deprel` if the tree has relations.

        Raises
        ------
        ImportError
            If networkx is not installed.
        ValueError
            If the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> graph = DependencyTree(["Dogs", "bark"], [2, 0]).to_networkx()
        >>> sorted(graph.edges), graph.nodes[1]["form"]
        ([(0, 2), (2, 1)], 'Dogs')
        """
        heads, _ = self._structure()
        columns = {name: getattr(self, attribute) for name, attribute in ATTRIBUTES.items()}
        deprels = columns.pop("deprel")
        graph = new_graph("DiGraph")
        graph.add_node(0)
        for token, head in enumerate(heads.tolist(), start=1):
            graph.add_node(
                token, **{name: values[token - 1] for name, values in columns.items() if values}
            )
            if head != UNKNOWN:
                graph.add_edge(head, token, **({"deprel": deprels[token - 1]} if deprels else {}))
        return graph

    def to_svg(
        self, *, highlight: Highlight = (), colors: bool = False, compact: bool = False
    ) -> str:
        """Draw the tree with arcs above the words, as it appears in notebooks.

        Parameters
        ----------
        highlight : collection of int, or callable, default=()
            Words with a coloured background and a thick arc: their positions, or a function that
            takes a :class:`Token` and returns whether it is one of them.
        colors : bool, default=False
            Whether relations have colours of their own.
        compact : bool, default=False
            Whether words and arcs are closer to each other, for long sentences.

        Returns
        -------
        svg : str
            One self-contained SVG element with its own background, for a file or a page. Unknown
            heads have no arcs.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["Dogs", "bark"], [2, 0]).to_svg()[:42]
        '<svg xmlns="http://www.w3.org/2000/svg" wi'
        """
        heads, marked = _heads_as_list(self), highlight
        if callable(highlight):
            marked = {token.index for token in self.tokens if highlight(token)}
        return draw_svg(self.forms, self.symbols, heads, self.deprels, marked, colors, compact)

    def to_displacy(self) -> dict[str, list[dict[str, Any]]]:
        """Convert the tree for spaCy's displaCy, called with ``style="dep", manual=True``.

        Returns
        -------
        parse : dict
            ``"words"`` lists ``"text"`` and ``"tag"`` (the symbol) of each token. ``"arcs"`` lists
            ``"start"``, ``"end"``, ``"label"`` and ``"dir"`` of each known arc, except those from
            the root. Positions count from 0. A label is the relation, or empty.

        Raises
        ------
        ValueError
            If the sentence is unlabelled.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> tree = DependencyTree(["Dogs", "bark"], [2, 0], deprels=["nsubj", "root"])
        >>> tree.to_displacy()["arcs"]
        [{'start': 0, 'end': 1, 'label': 'nsubj', 'dir': 'left'}]
        """
        heads, _ = self._structure()
        return make_displacy(self.forms, self.symbols, heads.tolist(), self.deprels)

    def __len__(self) -> int:
        return len(self.forms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyTree):
            return NotImplemented
        return _make_key(self) == _make_key(other)

    def __hash__(self) -> int:
        return hash(_make_key(self))

    def __repr__(self) -> str:
        text = " ".join(self.forms)
        if len(text) > _MAX_REPR_TEXT:
            text = text[: _MAX_REPR_TEXT - 3] + "..."
        return f"DependencyTree({text!r}, heads={shorten(_heads_as_list(self))})"

    def __str__(self) -> str:
        """Draw the tree with one token a row; a partial tree, or crossing arcs, with numbers."""
        return draw_text(self.forms, self.symbols, _heads_as_list(self), self.deprels)

    def _repr_svg_(self) -> str:
        """Draw the tree with arcs above the words, for notebooks."""
        return self.to_svg()

    def _repr_html_(self) -> str:
        """Draw the tree in a box that scrolls sideways, for notebooks that show HTML only."""
        svg = self.to_svg().replace("<svg ", '<svg style="max-width: none" ', 1)
        return f'<div style="overflow-x: auto">{svg}</div>'

    def __setattr__(self, name: str, value: Never) -> NoReturn:
        raise AttributeError(
            f"a DependencyTree is immutable: {name!r} cannot be set; with_heads and with_symbols "
            "return changed copies"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a DependencyTree is immutable: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return make_tree, (_get_state(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _structure(self, token=0):
        """Return the heads, and the token as a plain int, after checking both."""
        if self.heads is None:
            raise ValueError(
                f"{self!r} has no heads, so it has no arcs. Parse it, or give it heads with "
                f"with_heads."
            )
        n_tokens = self.heads.size
        is_number = isinstance(token, Integral) and not isinstance(token, bool)
        if not is_number or not 0 <= token <= n_tokens:
            raise ValueError(
                f"A position in {self!r} is an integer from 1 to {n_tokens}, or 0 for the root; "
                f"got {shorten(token)}."
            )
        return self.heads, int(token)

    def _way_up(self, token):
        """List a token and its ancestors, as plain ints, after checking the token."""
        heads, token = self._structure(token)
        return list_way_up(heads.tolist(), token)

    def _refuse_way(self, token, consequence):
        raise ValueError(
            f"The head of token {token} of {self!r} is not known (-1), so {consequence}. Parse the "
            f"sentence, or give it heads with with_heads."
        )


def require_trees(items, name, known):
    """Check that items are trees; `known` starts the reason in the message, as "symbols are"."""
    for index, item in enumerate(items):
        require_tree(item, f"{name}[{index}]", known)


def require_tree(item, name, known):
    """Check that an item is a tree."""
    if not isinstance(item, DependencyTree):
        raise TypeError(
            f"{name} is a {type(item).__name__}; {known} only known for a DependencyTree: read "
            f"trees with read_conllu, or construct them."
        )


def with_tags(tree, tags):
    """Copy a tree with other tags, features or lemmas, which are not checked.

    Parameters
    ----------
    tree : DependencyTree
    tags : dict of str to sequence of str, length n_tokens
        By the names of their columns: "upos", "xpos", "feats" and "lemma".

    Returns
    -------
    tree : DependencyTree
        Its symbols become the new tags if they were the old ones, or were the forms because there
        was no UPOS. All else stays, as with :meth:`DependencyTree.with_heads`.
    """
    changes = {ATTRIBUTES[name]: tuple(values) for name, values in tags.items()}
    columns = {PLACES[attribute]: values for attribute, values in changes.items()}
    for name in filter(changes.get, ("xpos", "upos")):
        old = getattr(tree, name)
        if tree.symbols == (tree.forms if old is None and name == "upos" else old):
            changes["symbols"] = changes[name]
    if tree._source is not None:
        changes["_source"] = lines.replace_columns(tree._source, columns)
    return _copy_with(tree, **changes)


def with_valid_heads(tree, heads, deprels, keep_deps=False):
    """Copy a tree with other heads, an array that is known to be valid, and relations."""
    deprels = check_column("deprels", deprels, len(tree))
    changed = _copy_with(tree, heads=heads, deprels=deprels, _reparsed=True)
    if not keep_deps or tree._source is None:
        return changed
    return changed._with_source(lines.replace_heads(tree._written(), heads, deprels, keep_deps))


def make_tree(state):
    """Make a tree from the values of all its slots, which must be valid.

    Parameters
    ----------
    state : dict
        The value of each slot, but for those that tell of files and have defaults.

    Returns
    -------
    tree : DependencyTree
    """
    tree = object.__new__(DependencyTree)
    _set_state(tree, {**_OF_FILES, **state})
    return tree


def _read_tree(path, first_line, block):
    """Make a tree of the lines of a sentence in CoNLL-U."""
    return make_tree(lines.parse_sentence(path, first_line, block))


# A quarter of its bytes are text.
CONLLU = TextFormat(
    ".conllu", b"\n\n", lines.split_sentences, _read_tree, n_chunks=8, keeps_line_end=True
)


def _set_state(tree, state):
    if state["heads"] is not None:
        state["heads"].setflags(write=False)  # pickle does not remember that an array is read-only
    for name, value in state.items():
        object.__setattr__(tree, name, value)


def _get_state(tree):
    return {name: getattr(tree, name) for name in DependencyTree.__slots__}


def _copy_with(tree, **changes):
    return make_tree({**_get_state(tree), **changes})


def _make_key(tree):
    columns = tuple(getattr(tree, attribute) for attribute in ATTRIBUTES.values())
    return columns, None if tree.heads is None else tree.heads.tobytes()


def _heads_as_list(tree):
    return None if tree.heads is None else tree.heads.tolist()


# X of an estimator
Sentence: TypeAlias = DependencyTree | Sequence[str] | StrArray | ObjectArray
Sentences: TypeAlias = Iterable[Sentence]
# X of a transformer, which walks through it twice
Trees: TypeAlias = Collection[DependencyTree]
# y of either
SentenceHeads: TypeAlias = DependencyTree | IntArrayLike | ObjectArray
Heads: TypeAlias = Iterable[SentenceHeads]
