"""Tags that were predicted: how they come into trees."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Never, NoReturn, Self, TypeAlias

from sklearn_shag.treebank._columns import (
    ATTRIBUTES,
    MISSING,
    as_tuple,
    check_column,
    check_column_name,
    check_heads,
    check_misc,
    check_strings,
    get_feature,
    unspecified_relation,
)
from sklearn_shag.treebank._drawing import draw_svg, draw_text, make_displacy
from sklearn_shag.treebank._structure import TreeStructure
from sklearn_shag.utils._collections import is_collection
from sklearn_shag.utils._heads import UNKNOWN, is_projective
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import IndexArray, IntArrayLike, ObjectArray, StrArray

# Neither a comment nor a range nor an empty node; up to HEAD, and what is replaced with it.
_HEAD = re.compile(r"^([0-9]+(?:\t[^\t]+){5}\t)[^\t]+\t[^\t]+\t[^\t]+", flags=re.MULTILINE)
# Likewise, up to MISC, and MISC.
_MISC = re.compile(r"^([0-9]+(?:\t[^\t]+){8}\t)(.+)$", flags=re.MULTILINE)


def format_columns(tree):
    """Make the lines of a tree from its columns, without heads."""
    missing = (MISSING,) * len(tree)
    columns = [tree.forms, tree.lemmas, tree.upos, tree.xpos, tree.feats, *[None] * 4]
    ids = map(str, range(1, len(tree) + 1))
    rows = zip(ids, *(column or missing for column in columns), strict=True)
    return "\n".join(map("\t".join, rows))


def replace_heads(text, heads, deprels):
    """Replace HEAD and DEPREL of the words, and drop DEPS.

    Parameters
    ----------
    text : str
        The lines of a sentence.
    heads : int ndarray of shape (n_tokens,) or None
    deprels : sequence of str, length n_tokens, or None

    Returns
    -------
    text : str
    """
    pieces = _HEAD.split(text)  # each second one is the beginning of a word's line
    if heads is None:
        heads = deprels = [MISSING] * (len(pieces) // 2)
    else:
        heads = heads.tolist()
        deprels = deprels or list(map(unspecified_relation, heads))
        heads = [MISSING if head == UNKNOWN else head for head in heads]
    pieces[1::2] = map("{}{}\t{}\t_".format, pieces[1::2], heads, deprels)
    return "".join(pieces)


def replace_column(text, number, values):
    """Replace one of the columns between ID and HEAD, which follow the numbers from 0 to 4."""
    word = re.compile(rf"^([0-9]+(?:\t[^\t]+){{{number}}}\t)[^\t]+", flags=re.MULTILINE)
    pieces = word.split(text)  # each second one is the beginning of a word's line
    pieces[1::2] = map("{}{}".format, pieces[1::2], values)
    return "".join(pieces)


def replace_misc(text, name, values):
    """Give each word ``name=value`` in MISC, in place of what it has there of that name.

    Parameters
    ----------
    text : str
        The lines of a sentence.
    name : str
    values : sequence of str, length n_tokens

    Returns
    -------
    text : str
    """
    key, values = f"{name}=", iter(values)

    def replace(match):
        items = [] if match[2] == MISSING else match[2].split("|")
        items = [item for item in items if not item.startswith(key)]
        return match[1] + "|".join([*items, key + next(values)])

    return _MISC.sub(replace, text)


_MAX_REPR_TEXT = 60
_MAX_REPR_HEADS = 12


class DependencyTree(TreeStructure):
    """An immutable sentence with its dependency tree.

    A sentence may have several roots and crossing arcs. Without `heads` it is an unlabelled
    sentence; where only some of them are known, the tree is partial. Trees are equal, and have the
    same hash, when all columns, the heads and the symbols are equal; comments and whatever else the
    file held do not count.

    Parameters
    ----------
    forms : sequence of str, length n_tokens
        The words.

    heads : sequence of int, length n_tokens, default=None
        The head of each token, 1-based, 0 for the root, -1 where it is not known.

    lemmas, upos, xpos, feats, deprels : sequence of str, length n_tokens, default=None
        The other columns of CoNLL-U; `feats` as written there, ``"Case=Nom|Number=Sing"`` or
        ``"_"``.

    symbols : sequence of str, length n_tokens, default=None
        What the grammar sees. By default `upos`, and `forms` if there are none.

    Attributes
    ----------
    forms, symbols : tuple of str, length n_tokens
        The words, and what the grammar sees of them.

    lemmas, upos, xpos, feats, deprels : tuple of str, length n_tokens, or None
        The other columns; None if the tree does not have it.

    heads : read-only ndarray of int, shape (n_tokens,), or None
        The head of each token, 1-based, 0 for the root; None for an unlabelled sentence.

    Raises
    ------
    TypeError
        If a column is not a sequence of str.
    ValueError
        If there is no token; if a column has another length than `forms`, or holds an empty
        string, a tab or a line end (which CoNLL-U cannot hold); if `heads` is not a tree, or the
        known ones are not part of one: they have a cycle, or two roots.

    See Also
    --------
    read_conllu : Trees from a file.
    TokenFeature : Choose the symbols in a pipeline.

    Notes
    -----
    A tree has a length but is deliberately neither indexable nor iterable: numpy would otherwise
    turn a list of trees of the same length into a two-dimensional array of tokens, and with it
    every tool that passes X through :func:`numpy.asarray`.

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
    __slots__ = (*ATTRIBUTES.values(), "heads", "_source", "_reparsed")

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
        state = {
            "forms": forms,
            "lemmas": lemmas,
            "upos": upos,
            "xpos": xpos,
            "feats": feats,
            "deprels": deprels,
        }
        n_tokens = len(forms)
        if not n_tokens:
            raise ValueError("a DependencyTree needs at least one token, got no forms")
        for name, values in state.items():
            state[name] = check_column(name, values, n_tokens)
        if symbols is None:
            symbols = state["upos"] or state["forms"]
        state["symbols"] = check_strings("symbols", symbols, n_tokens)
        state["heads"] = check_heads(heads, state["forms"])
        _set_state(self, {**state, "_source": None, "_reparsed": False})

    @property
    def is_projective(self) -> bool:
        """Whether no two arcs cross, of those that are known.

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
            "form", "lemma", "upos", "xpos", "feats", "deprel" or "symbol"; or "feats.Case" for
            the value of one morphological feature (here Case), which is "_" for a token that
            lacks it.

        Returns
        -------
        values : tuple of str, length n_tokens
            Those of the file, "_" where it has none.

        Raises
        ------
        ValueError
            If there is no such column, or this tree does not have it.

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
        if feature is None:
            return values
        return tuple(get_feature(feats, feature) for feats in values)

    def with_heads(
        self, heads: IntArrayLike | None, deprels: Sequence[str] | None = None
    ) -> "DependencyTree":
        """Make a tree of the same sentence with other heads.

        Everything else stays, also the comments, multiword tokens, empty nodes and MISC values of
        the file that the tree was read from.

        Parameters
        ----------
        heads : sequence of int, length n_tokens, or None
            The new heads, -1 where they are not known; None for an unlabelled sentence.

        deprels : sequence of str, length n_tokens, default=None
            The relations to the new heads. The old ones are dropped in any case.

        Returns
        -------
        tree : DependencyTree
            A new one; this one stays as it is.

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
        changes = {
            "heads": check_heads(heads, self.forms),
            "deprels": check_column("deprels", deprels, len(self)),
            "_reparsed": True,
        }
        return make_tree({**_get_state(self), **changes})

    def with_symbols(self, symbols: Sequence[str]) -> "DependencyTree":
        """Make a tree of the same sentence with other symbols.

        Parameters
        ----------
        symbols : sequence of str, length n_tokens
            What the grammar is to see. No column of the file changes.

        Returns
        -------
        tree : DependencyTree
            A new one, unless the symbols are those that it has; this one stays as it is.

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
        symbols = check_strings("symbols", symbols, len(self))
        return make_tree({**_get_state(self), "symbols": symbols})

    def with_misc(self, name: str, values: Sequence[str]) -> "DependencyTree":
        """Make a tree of the same sentence with more in the column MISC of its file.

        Parameters
        ----------
        name : str
            That of the values.
        values : sequence of str, length n_tokens
            :func:`write_conllu` adds ``name=value`` to MISC, in place of what it has of this name.

        Returns
        -------
        tree : DependencyTree
            A new one, which equals this one; this one stays as it is.

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
        source = replace_misc(self._source or format_columns(self), name, values)
        changes = {"_source": source, "_reparsed": self._reparsed or self._source is None}
        return make_tree({**_get_state(self), **changes})

    def to_svg(self) -> str:
        """Draw the tree with arcs above the words, as notebooks show it.

        Returns
        -------
        svg : str
            One self-contained SVG element with a background of its own: for a file, or for a page.
            Heads that are not known have no arcs.

        Examples
        --------
        >>> from sklearn_shag.treebank import DependencyTree
        >>> DependencyTree(["Dogs", "bark"], [2, 0]).to_svg()[:42]
        '<svg xmlns="http://www.w3.org/2000/svg" wi'
        """
        return draw_svg(self.forms, self.symbols, _heads_as_list(self), self.deprels)

    def to_displacy(self) -> dict[str, list[dict[str, Any]]]:
        """Make what spaCy's displaCy draws with ``style="dep", manual=True``.

        Returns
        -------
        parse : dict
            ``"words"`` is a list with ``"text"`` and ``"tag"``, the symbol, of each token;
            ``"arcs"`` one with ``"start"``, ``"end"``, ``"label"`` and ``"dir"`` of each known arc
            but those to roots. Positions count from 0 there. A label is the relation, or empty.

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
        return _key(self) == _key(other)

    def __hash__(self) -> int:
        return hash(_key(self))

    def __repr__(self) -> str:
        text = " ".join(self.forms)
        if len(text) > _MAX_REPR_TEXT:
            text = text[: _MAX_REPR_TEXT - 3] + "..."
        if self.heads is None:
            return f"DependencyTree({text!r}, heads=None)"
        heads = ", ".join(map(str, self.heads[:_MAX_REPR_HEADS]))
        if len(self) > _MAX_REPR_HEADS:
            heads += ", ..."
        return f"DependencyTree({text!r}, heads=[{heads}])"

    def __str__(self) -> str:
        """Draw the tree with one token a row; a partial tree, or crossing arcs, with numbers."""
        return draw_text(self.forms, self.symbols, _heads_as_list(self), self.deprels)

    def _repr_svg_(self) -> str:
        """Draw the tree with arcs above the words, for notebooks."""
        return self.to_svg()

    def __setattr__(self, name: str, value: Never) -> NoReturn:
        raise AttributeError(
            f"a DependencyTree is immutable: {name!r} cannot be set; with_heads and with_symbols "
            "make changed trees"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a DependencyTree is immutable: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return make_tree, (_get_state(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def heads(X: Iterable[DependencyTree]) -> list[IndexArray]:
    """Collect the heads of trees: the y of a tool of scikit-learn that asks for one.

    Parameters
    ----------
    X : iterable of DependencyTree, length n_sentences
        Trees that all have heads.

    Returns
    -------
    y : list of read-only int ndarrays of shape (n_tokens_i,)
        The head of each token, 1-based, 0 for the root, -1 where it is not known.

    Raises
    ------
    ValueError
        If a sentence is not a tree with heads. The message names the first.
    TypeError
        If X is a single tree, or no sequence.

    See Also
    --------
    DependencyTree : Has the heads of one sentence as an attribute.
    sklearn_shag.metrics.uas_scorer : A scorer that needs no y.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, heads
    >>> heads([DependencyTree(["Dogs", "bark"], [2, 0]), DependencyTree(["Stop"], [0])])
    [array([2, 0]), array([0])]
    """
    if not is_collection(X):
        raise TypeError(
            f"X must be a sequence of trees, got a single {type(X).__name__}. Of one tree make a "
            f"list: [tree]."
        )
    sentences = list(X)
    missing = [
        index
        for index, sentence in enumerate(sentences)
        if not isinstance(sentence, DependencyTree) or sentence.heads is None
    ]
    if missing:
        raise ValueError(
            f"X[{missing[0]}] has no heads ({len(missing)} of {len(sentences)} sentences have "
            f"none). Take DependencyTrees that have heads, or, where there is a y, pass the heads "
            f"of all sentences as y."
        )
    return [tree.heads for tree in sentences]


def fill_unknown(trees):
    """Say of unlabelled trees among others that their heads are not known (-1).

    Parameters
    ----------
    trees : sequence
        Of trees, or of whatever else stands for a sentence or its heads.

    Returns
    -------
    trees : sequence
        As they are if all are unlabelled, which is a mistake more often than not, and whatever
        is no sequence.
    """
    if not is_collection(trees):
        return trees
    trees = list(trees)
    unlabelled = [isinstance(tree, DependencyTree) and tree.heads is None for tree in trees]
    if all(unlabelled):
        return trees
    return [
        tree.with_heads([UNKNOWN] * len(tree), tree.deprels) if is_unlabelled else tree
        for tree, is_unlabelled in zip(trees, unlabelled, strict=True)
    ]


def make_tree(state):
    """Make a tree from the values of all its slots, which must be valid.

    Parameters
    ----------
    state : dict
        The value of each slot.

    Returns
    -------
    tree : DependencyTree
    """
    tree = object.__new__(DependencyTree)
    _set_state(tree, state)
    return tree


def _set_state(tree, state):
    if state["heads"] is not None:
        state["heads"].setflags(write=False)  # pickle does not remember that an array is read-only
    for name, value in state.items():
        object.__setattr__(tree, name, value)


def _get_state(tree):
    return {name: getattr(tree, name) for name in DependencyTree.__slots__}


def _key(tree):
    columns = tuple(getattr(tree, attribute) for attribute in ATTRIBUTES.values())
    return columns, None if tree.heads is None else tree.heads.tobytes()


def _heads_as_list(tree):
    return None if tree.heads is None else tree.heads.tolist()


def with_tags(tree, name, tags):
    """Make a tree of the same sentence with other tags.

    Parameters
    ----------
    tree : DependencyTree
    name : {"upos", "xpos"}
        Their column.
    tags : sequence of str, length n_tokens

    Returns
    -------
    tree : DependencyTree
        Its symbols are the tags where they were those of the column before; also the forms of a
        tree without UPOS, which stand for it, give way to that. All else stays, as with
        :meth:`DependencyTree.with_heads`.
    """
    state = {slot: getattr(tree, slot) for slot in tree.__slots__}
    old, tags = state[name], check_column(name, tags, len(tree))
    if old is None and name == "upos":
        old = tree.forms
    if tree.symbols == old:
        state["symbols"] = tags
    if tree._source is not None:
        state["_source"] = replace_column(tree._source, list(ATTRIBUTES).index(name), tags)
    return make_tree(state | {name: tags})


# X of an estimator
Sentence: TypeAlias = DependencyTree | Sequence[str] | StrArray | ObjectArray
Sentences: TypeAlias = Iterable[Sentence]
# X of a transformer, which walks through it twice
Trees: TypeAlias = Collection[DependencyTree]
# y of either
SentenceHeads: TypeAlias = DependencyTree | IntArrayLike | ObjectArray
Heads: TypeAlias = Iterable[SentenceHeads]
