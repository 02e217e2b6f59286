"""Columns of tokens: which a parser reads, what it knows of each, and both as whole numbers."""

from collections import Counter
from itertools import chain
from typing import NamedTuple

import numpy as np

from sklearn_shag.treebank import MISSING, DependencyTree, check_column_name, check_share

# With the tags of neighbours fine ones are too rare to learn from: UPOS is worth more than XPOS,
# by 0.3 points of attachment in English to 2 in Tamil, where there are words too.
TAGS = ("symbol", "upos", "xpos")
# Of these a value that was seen less than `min_count` times counts as one that never was.
_OPEN = ("form", "lemma", "feats", "prefix", "suffix")
_READ = ("upos", "xpos", "feats", "form", "lemma")  # from files, in the order of columns_
# How many letters affixes have, if their names do not tell: beside tags, and without.
AFFIXES = {"prefix": ((2,), (1, 2, 3)), "suffix": ((3,), (1, 2, 3, 4))}
LONGEST_SHAPE = 12
# What forms alone tell. Where a parser reads nothing else, plain sequences of str hold words.
OF_WORDS = ("form", *AFFIXES, "shape")
# "For now ." has no features, and is no reason to refuse a text: they are missing from longer ones.
LONGEST_WITHOUT_FEATS = 20

# Codes that every column has; its values follow.
UNKNOWN, ROOT, OUTSIDE, FIRST = range(4)


class Columns(NamedTuple):
    """What is known of the columns that a parser reads.

    Attributes
    ----------
    names : tuple of str
    code_of : list of dict
        For each column the code of each known value.
    """

    names: tuple
    code_of: list


def make_columns(vocabulary):
    """Number the known values of columns.

    Parameters
    ----------
    vocabulary : dict of list of str
        The known values of each column.

    Returns
    -------
    columns : Columns
    """
    code_of = [
        {value: code for code, value in enumerate(values, start=FIRST)}
        for values in vocabulary.values()
    ]
    return Columns(tuple(vocabulary), code_of)


def choose_columns(columns, sentences):
    """Say which columns a parser reads.

    Parameters
    ----------
    columns : "auto" or sequence of str
    sentences : list
        Of training.

    Returns
    -------
    names : tuple of str
        Affixes each with its length.

    Raises
    ------
    ValueError, TypeError
        If `columns` names none, one twice, or one that there is not; or sentences lack it.
    """
    if isinstance(columns, str) and columns == "auto":
        columns = _find_columns(sentences)
    beside_tags = any(name in TAGS for name in columns)
    names = []
    for name in columns:
        check_name(name)
        kind, _, length = name.partition(".")
        lengths = AFFIXES[kind][0 if beside_tags else 1] if kind in AFFIXES and not length else ()
        names += [f"{kind}.{n}" for n in lengths] or [name]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"columns must name at least one column, and none twice; got {names}.")
    return tuple(names)


def split_features(names, sentences):
    """Put a column for each morphological feature of sentences in the place of "feats"."""
    feats = set().union(*(getattr(s, "feats", None) or () for s in sentences)) - {MISSING}
    found = {pair.partition("=")[0] for value in feats for pair in value.split("|")}
    split = []
    for name in names:
        split += [f"feats.{feature}" for feature in sorted(found)] if name == "feats" else [name]
    return tuple(dict.fromkeys(split))


def _find_columns(sentences):
    """What there is in sentences that says something."""
    if not all(isinstance(sentence, DependencyTree) for sentence in sentences):
        return ("symbol",)
    found = [name for name in _READ if _has_values(name, sentences)]
    same = any(all(s.symbols == _column(s, name) for s in sentences) for name in found)
    suffix = ["suffix"] if "form" in found else []
    return (*([] if same else ["symbol"]), *found, *suffix)


def _has_values(name, sentences):
    """Tell whether any token has a value in a column, or in that which it is made of."""
    kind = name.partition(".")[0]
    source = kind if kind in ("symbol", *_READ) else "form"
    for sentence in sentences:
        values = _column(sentence, source) if isinstance(sentence, DependencyTree) else sentence
        if set(values) != {MISSING}:
            return True
    return False


def _column(tree, name):
    """A column as the tree has it, without values if it does not."""
    attribute, _ = check_column_name(name)
    if getattr(tree, attribute) is None:
        return (MISSING,) * len(tree)
    return tree.column(name)


def check_name(name, parameter="columns"):
    """Refuse a name that no column has."""
    kind, _, length = name.partition(".") if isinstance(name, str) else ("", "", "")
    if kind in AFFIXES and length.isdecimal() and int(length) > 0:
        return
    if name in (*AFFIXES, "shape"):
        return
    try:
        attribute, _ = check_column_name(name)
    except ValueError:
        attribute = None
    if attribute in (None, "deprels"):
        raise ValueError(
            f"{parameter}: {name!r} is no column of tokens that a parser can read. Choose from "
            f"{', '.join(TAGS)}, feats, feats.Case and the like, form, lemma, prefix, suffix, "
            f"shape; prefix.2 has two letters."
        )


def read_column(sentence, name, index):
    """Read a column of a sentence.

    Parameters
    ----------
    sentence : DependencyTree or sequence of str
    name : str
        From :func:`choose_columns`.
    index : int
        Of the sentence, for messages.

    Returns
    -------
    values : sequence of str, length n_tokens
        Forms and affixes in lower case. ``_`` where there is nothing.

    Raises
    ------
    TypeError
        If a column is wanted of plain symbols.
    """
    if not isinstance(sentence, DependencyTree):
        if name == "symbol":
            return sentence
        raise TypeError(
            f"X[{index}] is a {type(sentence).__name__} of symbols, but the column {name!r} is "
            f"wanted too: pass DependencyTrees, as read_conllu reads them, or choose "
            f'columns=["symbol"], or columns of words alone, such as ["form", "suffix"].'
        )
    kind, _, detail = name.partition(".")
    if kind == "form":
        return [form.lower() for form in sentence.forms]
    if kind == "prefix":
        return [form.lower()[: int(detail)] for form in sentence.forms]
    if kind == "suffix":
        return [form.lower()[-int(detail) :] for form in sentence.forms]
    if kind == "shape":
        return list(map(_shape, sentence.forms))
    values = _column(sentence, name)
    if kind != "lemma":
        return values
    pairs = zip(values, sentence.forms, strict=True)
    return [form.lower() if lemma == MISSING else lemma for lemma, form in pairs]


def _shape(form):
    """Of a form: first letter a capital, any digit, neither letter nor digit, and the length."""
    marks = (
        "X" if form[0].isupper() else "x",
        "9" if any(map(str.isdigit, form)) else "",
        "" if any(map(str.isalnum, form)) else ".",
    )
    return "".join(marks) + str(min(len(form), LONGEST_SHAPE))


def list_values(names, sentences, min_count):
    """List what there is to know of columns.

    Parameters
    ----------
    names : tuple of str
    sentences : list
    min_count : int
        Values of columns of words that were seen less often stay unknown.

    Returns
    -------
    vocabulary : dict of list of str
        Of each column its values, sorted.
    """
    vocabulary, sentences = {}, as_words(names, sentences)
    for name in names:
        counts = Counter(chain.from_iterable(_read_all(sentences, name)))
        if not _has_values(name, sentences):
            if name == "symbol":  # refused as every parser of symbols does
                check_share(counts.total(), counts.total(), [list(counts.elements())], [])
            raise ValueError(
                f"All values of the column {name!r} of X ({counts.total()} tokens) are "
                f"{MISSING!r}: it says nothing. Leave it out of columns, or tag the text first."
            )
        least = min_count if name.partition(".")[0] in _OPEN else 1
        vocabulary[name] = sorted(value for value, count in counts.items() if count >= least)
    return vocabulary


def as_words(names, sentences):
    """Make trees of plain sequences where nothing but words is read; they are their forms."""
    if any(name.partition(".")[0] not in OF_WORDS for name in names):
        return sentences
    return [
        sentence if isinstance(sentence, DependencyTree) else _tree_of(sentence, index)
        for index, sentence in enumerate(sentences)
    ]


def _tree_of(words, index):
    try:
        return DependencyTree(words)
    except ValueError as error:  # CoNLL-U cannot hold them
        raise ValueError(f"X[{index}]: {error}.") from None


def _read_all(sentences, name):
    return (read_column(sentence, name, index) for index, sentence in enumerate(sentences))


def encode_columns(columns, sentences, indptr):
    """Replace the values of columns by their codes.

    Parameters
    ----------
    columns : Columns
    sentences : list
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    codes : int ndarray of shape (n_tokens, n_columns)

    Raises
    ------
    ValueError
        If a column that had values in training has none.
    TypeError
        If a column is wanted of plain symbols.

    Warns
    -----
    UnknownSymbolWarning
        If more than 5 % of the tokens have unknown tags.
    """
    codes = np.empty((indptr[-1], len(columns.names)), dtype=np.int32)
    sentences = as_words(columns.names, sentences)
    for k, (name, code_of) in enumerate(zip(columns.names, columns.code_of, strict=True)):
        values = list(_read_all(sentences, name))
        flat = chain.from_iterable(values)
        codes[:, k] = [code_of.get(value, UNKNOWN) for value in flat]
        _require_values(name, sentences, len(codes))
        if name in TAGS:
            n_unknown = np.count_nonzero(
                np.isin(codes[:, k], (UNKNOWN, code_of.get(MISSING, UNKNOWN)))
            )
            check_share(n_unknown, len(codes), values, list(code_of))
    return codes


def _require_values(name, sentences, n_tokens):
    """Refuse a text without values in a column that had some in training."""
    may_have_none = name.startswith("feats") and n_tokens <= LONGEST_WITHOUT_FEATS
    if not may_have_none and not _has_values(name, sentences):
        raise ValueError(
            f"All values of the column {name!r} of X ({n_tokens} tokens) are {MISSING!r}, but not "
            f"in training: what was learned of it cannot be used. Fill the column, or train a "
            f"parser without it."
        )


def name_of(columns, codes, position, column):
    """Say what the value of a column is at a position of a sentence, 0 for the root."""
    if position == 0:
        return "<root>"
    if not 0 < position <= len(codes):
        return "<outside>"
    code = codes[position - 1, column]
    return "<unknown>" if code == UNKNOWN else list(columns.code_of[column])[code - FIRST]
