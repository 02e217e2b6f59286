"""Columns of sentences: names, checks of values, and warnings of missing or unknown symbols."""

import re
from collections import Counter
from itertools import chain
from typing import NamedTuple

from sklearn_shag.utils._arrays import is_collection
from sklearn_shag.utils._heads import UNKNOWN, check_tree
from sklearn_shag.utils._messages import join_first, shorten, warn

MISSING = "_"  # CoNLL-U's sign for a column without a value
UNKNOWN_FEATS = ""  # in memory, features that are not known, since "_" says that there are none
# Advice where all forms are missing: some treebanks come without the text, which is not free.
WITHHELD = "If the treebank withholds its forms, run its script, which puts the text in."
# Every text has rare tags and errors: a smaller share of the tokens is no reason to warn.
LARGEST_MEANINGLESS_SHARE = 0.05
N_EXAMPLES = 3
_SEPARATORS = re.compile(r"[\t\n\r]")


class Column(NamedTuple):
    """A column of sentences: its names, its place in files, its kind and its score."""

    name: str  # in `DependencyTree.column` and in parameters of estimators
    attribute: str  # of trees, and a parameter of their constructor
    place: int | None  # in CoNLL-U; None for a column that no file has
    kind: str  # tags have few values; features and words have many, also rare ones
    score: str | None = None  # name in the official evaluation; None if it is not learned


COLUMNS = (
    Column("form", "forms", 1, "word"),
    Column("lemma", "lemmas", 2, "word", "Lemmas"),
    Column("upos", "upos", 3, "tag", "UPOS"),
    Column("xpos", "xpos", 4, "tag", "XPOS"),
    Column("feats", "feats", 5, "features", "UFeats"),
    Column("deprel", "deprels", 7, "relation"),
    Column("symbol", "symbols", None, "symbol"),
)
ATTRIBUTES = {column.name: column.attribute for column in COLUMNS}
PLACES = {column.attribute: column.place for column in COLUMNS if column.place is not None}


def columns_of(*kinds):
    """List the columns of the given kinds, kind by kind."""
    return [column for kind in kinds for column in COLUMNS if column.kind == kind]


# Columns that can be learned.
LEARNED = tuple(each.name for each in columns_of("tag", "features", "word") if each.score)


def check_column_name(name):
    """Split the name of a column into attribute and morphological feature.

    Parameters
    ----------
    name : str
        As in :meth:`DependencyTree.column`.

    Returns
    -------
    attribute : str
        The attribute of the tree that holds the column.

    feature : str or None
        The morphological feature in "feats.Feature".

    Raises
    ------
    ValueError
        If there is no column of that name.
    """
    column, dot, feature = name.partition(".") if isinstance(name, str) else ("", "", "")
    if column not in ATTRIBUTES or (dot and (column != "feats" or not feature)):
        raise ValueError(
            f"unknown column {shorten(name)}; choose from {', '.join(ATTRIBUTES)}, or a "
            "morphological feature such as 'feats.Case'"
        )
    return ATTRIBUTES[column], feature or None


def join_columns(tree, names, separator="|"):
    """Join columns token by token.

    Parameters
    ----------
    tree : DependencyTree

    names : sequence of str
        As in :meth:`DependencyTree.column`.

    separator : str, default="|"

    Returns
    -------
    symbols : tuple of str, length n_tokens

    Raises
    ------
    ValueError
        As in :meth:`DependencyTree.column`.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree
    >>> from sklearn_shag.treebank._columns import join_columns
    >>> join_columns(DependencyTree(["bark"], upos=["VERB"], xpos=["VBP"]), ["upos", "xpos"])
    ('VERB|VBP',)
    """
    columns = [tree.column(name) for name in names]
    if len(columns) == 1:
        return columns[0]
    return tuple(map(separator.join, zip(*columns, strict=True)))


def get_feature(feats, feature):
    """Return the value of a morphological feature in "Case=Nom|Number=Sing", "_" without it."""
    pairs = (pair.partition("=") for pair in feats.split("|"))
    return next((value for name, _, value in pairs if name == feature), MISSING)


def unspecified_relation(head):
    """Return the default relation to a head: "root", "_" for an unknown head, otherwise "dep"."""
    return {0: "root", UNKNOWN: "_"}.get(head, "dep")


def as_tuple(name, values):
    """Convert the values of a column, one per token, to a tuple."""
    if not is_collection(values):
        raise TypeError(
            f"{name} must be a sequence of str, one per token, got the {type(values).__name__} "
            f"{shorten(values)}"
        )
    return tuple(values)


def check_strings(name, values, n_tokens):
    """Check that `values` holds a str for each token, and return it as a tuple."""
    column = as_tuple(name, values)
    if len(column) != n_tokens:
        raise ValueError(f"{name} has length {len(column)}, but the sentence has {n_tokens} tokens")
    if set(map(type, column)) <= {str}:  # the usual case, checked fast
        return column
    for token, value in enumerate(column, start=1):
        if not isinstance(value, str):
            raise TypeError(
                f"{name} must be a sequence of str, got {shorten(value)} for token {token}"
            )
    return tuple(map(str, column))  # numpy's strings become Python's


def check_column(name, values, n_tokens):
    """Check a column for CoNLL-U, and return it as a tuple, or None if it is None."""
    if values is None:
        return None
    column = check_strings(name, values, n_tokens)
    if not all(column) or _SEPARATORS.search(" ".join(column)):
        wrong = next(k for k, value in enumerate(column) if not value or _SEPARATORS.search(value))
        raise ValueError(
            f"{name} has {shorten(column[wrong])} for token {wrong + 1}: CoNLL-U can hold neither "
            "an empty string nor a tab or line end"
        )
    return column


def check_misc(name, values, n_tokens):
    """Check a name and its values for MISC, a str or None per token; return the values, a tuple."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\s|=]+", name):
        raise ValueError(
            f"name={shorten(name)} is not valid in MISC: it must be a str without spaces, '=' "
            "or '|', such as 'Gloss'"
        )
    values = as_tuple(name, values)
    column = check_column(name, [MISSING if v is None else v for v in values], n_tokens)
    for token, value in enumerate(column, start=1):
        if "|" in value:
            raise ValueError(
                f"{name} has {shorten(value)} for token {token}: in MISC, '|' separates values"
            )
    return values


def check_heads(heads, forms):
    """Check that `heads` is None or a whole or partial tree over `forms`, and return a copy."""
    return None if heads is None else check_tree(heads, "heads", len(forms), forms)


class UnknownSymbolWarning(UserWarning):
    """Many tokens have symbols that say nothing to a grammar.

    Either these symbols do not occur in the training trees, or they are ``_``, which CoNLL-U writes
    for a missing tag. The warning is issued once per call if more than 5 % of the tokens have such
    symbols; predictions are then hardly better than guesses. Usually the text has different tags
    from the training trees, or none. If :class:`TokenFeature` joins several columns, it issues the
    warning for each column that is ``_`` throughout.

    See Also
    --------
    sklearn_shag.treebank.TokenFeature : Choose the columns that make up the symbols.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.treebank import UnknownSymbolWarning
    >>> model = DeterministicSHAG().fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     heads = model.predict([["DT", "NN", "VERB"]])
    >>> caught[0].category.__name__
    'UnknownSymbolWarning'
    >>> print(caught[0].message)
    67 % of the tokens (2 of 3) have symbols that say nothing to the grammar: 'DT' (1), 'NN' (1).
    It knows 'DET', 'NOUN', 'VERB'. Tag the text as the training trees were, or choose the same
    columns.
    """


def check_share(n_meaningless, n_tokens, symbols, known, column=None):
    """Warn of symbols that say nothing to a grammar, and refuse sentences without any others.

    Parameters
    ----------
    n_meaningless : int
        Number of symbols that are ``_`` or not known.
    n_tokens : int
        Number of all symbols.
    symbols : list of sequences of str
        The symbols of each sentence.
    known : sequence of str
        Symbols that the grammar knows.
    column : None or str, default=None
        The column that the symbols come from, if several are read.

    Raises
    ------
    ValueError
        If all symbols are ``_``.
    """
    if n_meaningless <= LARGEST_MEANINGLESS_SHARE * n_tokens:
        return
    counts = Counter(chain.from_iterable(symbols))
    if counts[MISSING] == n_tokens:
        raise ValueError(
            f"All symbols of X ({n_tokens} tokens) are {MISSING!r}: the column that they come from "
            f"has no values. Tag the text first, or choose a column that has values."
        )
    known = [symbol for symbol in known if symbol != MISSING]
    of_column = "" if column is None else f" in the column {column!r}"
    for symbol in known:
        del counts[symbol]
    if set(counts) == {MISSING}:
        problem = (
            f"have the symbol {MISSING!r}{of_column}, which stands for a missing value and says "
            f"nothing to the grammar. Tag the text first, or choose a column that has values."
        )
    else:
        examples = [f"{shorten(symbol)} ({count})" for symbol, count in counts.most_common()]
        problem = (
            f"have symbols{of_column} that say nothing to the grammar: "
            f"{join_first(examples, N_EXAMPLES)}. It knows "
            f"{join_first(list(map(shorten, known)), N_EXAMPLES)}. Tag the text as the training "
            f"trees were, or choose the same columns."
        )
    warn_of_tokens(n_meaningless, n_tokens, problem)


def warn_of_tokens(n_concerned, n_tokens, problem):
    """Warn that `n_concerned` of `n_tokens` tokens have a problem."""
    share = f"{100 * n_concerned / n_tokens:.0f} % of the tokens ({n_concerned} of {n_tokens})"
    warn(f"{share} {problem}", UnknownSymbolWarning)
