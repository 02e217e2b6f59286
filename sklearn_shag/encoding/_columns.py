"""Columns of tokens: which a parser reads, what it knows of each, and both as whole numbers."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import chain, compress, repeat
from operator import or_
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding._context import ContextVectors
from sklearn_shag.encoding._letters import Spellings, spell_words
from sklearn_shag.encoding._sentences import CheckedSentences
from sklearn_shag.treebank import (
    ATTRIBUTES,
    MISSING,
    DependencyTree,
    check_column_name,
    check_share,
    columns_of,
)
from sklearn_shag.utils._messages import shorten, warn

# With the tags of neighbours fine ones are too rare to learn from: UPOS is worth more than XPOS,
# by 0.3 points of attachment in English to 2 in Tamil, where there are words too.
TAGS = tuple(column.name for column in columns_of("symbol", "tag"))
_READ = [column.name for column in columns_of("tag", "features", "word")]  # as in columns_
# How many letters affixes have, if their names do not tell: beside tags, and without.
AFFIXES = {"prefix": ((2,), (1, 2, 3)), "suffix": ((3,), (1, 2, 3, 4))}
# Of these a value that was seen less than `min_count` times counts as one that never was.
_OPEN = (*(column.name for column in columns_of("features", "word")), *AFFIXES)
LONGEST_SHAPE = 12
# Not read from files: which of the words a token is whose vectors were learned elsewhere.
VECTOR = "vector"
# What words alone tell. Where nothing else is read, tokens of plain sequences are words.
OF_WORDS = ("form", *AFFIXES, "shape")
# The n-grams of forms, all of them, for networks alone: their codes are places among spellings.
LETTERS = "letters"
# "For now ." has no features, a line may be the word "_", and neither is a reason to refuse a text:
# features, or words, are missing from longer ones.
LONGEST_SILENCE = 20

# Arrays are faster than lists from so many tokens on.
FEW_TOKENS = 60
# The source of single features: the column feats, taken apart.
FEATURES = "feats."
# What a single word hardly has.
_SPACED = re.compile(r"[^\W\d_]\s+[^\W\d_]")
# Codes that every column has; its values follow.
UNKNOWN, ROOT, OUTSIDE, FIRST = range(4)


class Columns(NamedTuple):
    """What is known of the columns that a parser reads.

    Attributes
    ----------
    names : tuple of str
    code_of : list of dict
        For each column the code of each known value.
    readers : list of Reader
        How each is read.
    """

    names: tuple
    code_of: list
    readers: list


class Codes(NamedTuple):
    """Codes of columns, one of which is LETTERS, or beside which there are vectors in context."""

    columns: np.ndarray  # (n_tokens, n_columns)
    spellings: Spellings | None = None  # of no word those below FIRST
    context: ContextVectors | None = None
    places: np.ndarray | None = None  # (n_tokens,), which of its rows

    _by_token = ("columns", "places")


class ColumnReader(NamedTuple):
    """How a column is read: from which one of a file, and what its values are made into."""

    source: str
    derive: Callable  # takes a list of values of that column and returns a list


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
    code_of = list(map(number_values, vocabulary.values()))
    return Columns(tuple(vocabulary), code_of, list(map(_make_reader, vocabulary)))


def number_values(values):
    """Number the known values of a column, in their order."""
    return {value: code for code, value in enumerate(values, start=FIRST)}


def choose_columns(columns, sentences, letters=False):
    """Say which columns a parser reads.

    Parameters
    ----------
    columns : "auto" or sequence of str
    sentences : list
        Of training.
    letters : bool, default=False
        Whether it can read letters.

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
        if not (letters and name == LETTERS):
            check_name(name)
        kind, _, length = name.partition(".")
        lengths = AFFIXES[kind][0 if beside_tags else 1] if kind in AFFIXES and not length else ()
        names += [f"{kind}.{n}" for n in lengths] or [name]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"columns must name at least one column, and none twice; got {names}.")
    return tuple(names)


def split_features(names, sentences):
    """Put a column for each morphological feature of sentences in the place of "feats".

    Where there is none "feats" stays, to be refused as a column that says nothing.
    """
    feats = set().union(*(getattr(s, "feats", None) or () for s in sentences)) - {MISSING}
    found = {pair.partition("=")[0] for value in feats for pair in value.split("|")}
    split = []
    for name in names:
        split += [f"feats.{f}" for f in sorted(found)] if name == "feats" and found else [name]
    return tuple(dict.fromkeys(split))


def _find_columns(sentences):
    """What there is in sentences that says something."""
    if not all(isinstance(sentence, DependencyTree) for sentence in sentences):
        return ("symbol",)
    found = [n for n in _READ if any(set(read_column(s, n)) != {MISSING} for s in sentences)]
    same = any(all(s.symbols == read_column(s, name) for s in sentences) for name in found)
    suffix = ["suffix"] if "form" in found else []
    return (*([] if same else ["symbol"]), *found, *suffix)


def read_column(sentence, name):
    """A column of a file as a sentence has it, without values if it does not."""
    values = getattr(sentence, ATTRIBUTES[name], None)
    return (MISSING,) * len(sentence) if values is None else values


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
            f"{parameter}: {name!r} is not a column of tokens that a parser can read. Choose from "
            f"{', '.join(TAGS)}, feats, feats.Case and the like, form, lemma, prefix, suffix, "
            f"shape, and letters for a network; prefix.2 has two letters."
        )


def _read_columns(names, readers, sentences):
    """List of each column its distinct values, and of each token which of them it has.

    Columns are made of those of a file, which are read once: affixes of forms, features of feats.
    Sentences that were checked keep what was read, for others who read the same columns.

    Parameters
    ----------
    names : tuple of str
        From :func:`choose_columns`.
    readers : list of Reader
        Of these.
    sentences : list

    Returns
    -------
    columns : list of tuples
        values : list of str
            Forms and affixes in lower case. ``_`` where there is nothing. Some may be equal.
        places : list of int, or int ndarray, of length n_tokens
        says_something : bool
            Whether there is anything but ``_`` in the file.

    Raises
    ------
    TypeError
        If sequences of str are among `sentences`, and columns neither are all made of words nor
        are the symbol alone.
    """
    if {reader.source for reader in readers} not in ({"symbol"}, {"form"}):
        _require_trees(names, sentences)
    read = getattr(sentences, "token_columns", {})
    files = getattr(sentences, "file_columns", {})
    for name, (source, derive) in zip(names, readers, strict=True):
        if name not in read:
            if source not in files:
                files[source] = _read_source(source, sentences)
            distinct, places, says_something = files[source]
            read[name] = derive(distinct), places, says_something
    return [read[name] for name in names]


def _read_source(source, sentences):
    """Tell the values of a column of a file apart."""
    tokens = [
        _read_tree_column(sentence, source) if isinstance(sentence, DependencyTree) else sentence
        for sentence in sentences
    ]
    place_of = {}
    places = [place_of.setdefault(value, len(place_of)) for value in chain.from_iterable(tokens)]
    distinct = list(place_of)
    own = {lemma for lemma, _ in distinct} if source == "lemma" else place_of.keys()
    if source == FEATURES:
        # The first of two values of a feature is the one that counts.
        pairs = (reversed(feats.split("|")) for feats in distinct)
        split = (map(str.partition, of_value, repeat("=")) for of_value in pairs)
        distinct = [{name: value for name, _, value in of_value} for of_value in split]
    if len(places) > FEW_TOKENS:
        places = np.array(places)
    return distinct, places, own != {MISSING}


def _make_reader(name):
    """Say from which column of a file a column is made, and how."""
    kind, _, detail = name.partition(".")
    if kind in ("form", LETTERS):
        return ColumnReader("form", lambda forms: list(map(str.lower, forms)))
    if kind in AFFIXES:
        part = slice(int(detail)) if kind == "prefix" else slice(-int(detail), None)
        return ColumnReader("form", lambda forms: [form.lower()[part] for form in forms])
    if kind == "shape":
        return ColumnReader("form", _list_shapes)
    if kind == VECTOR:
        return ColumnReader("form", list)
    if kind == "lemma":  # beside its form
        return ColumnReader(
            "lemma", lambda pairs: [form.lower() if own == MISSING else own for own, form in pairs]
        )
    _, feature = check_column_name(name)
    if feature is None:
        return ColumnReader(kind, list)
    return ColumnReader(FEATURES, lambda parsed: [feats.get(feature, MISSING) for feats in parsed])


def _require_trees(names, sentences):
    """Refuse plain sequences: they are either symbols or words."""
    for index, sentence in enumerate(sentences):
        if not isinstance(sentence, DependencyTree):
            raise TypeError(
                f"X[{index}] is a {type(sentence).__name__} of str, but the columns "
                f"{', '.join(names)} are needed: pass DependencyTrees, such as read_conllu "
                f'returns. Plain sequences suffice for columns=["symbol"], and for columns of '
                f"words only: {', '.join(OF_WORDS)}."
            )


def _read_tree_column(tree, source):
    """Read a column of a file, without values where the tree does not have it."""
    values = read_column(tree, "feats" if source == FEATURES else source)
    return zip(values, tree.forms, strict=True) if source == "lemma" else values


def _list_shapes(forms):
    """Of each form: first letter a capital, any digit, neither letter nor digit, and the length."""
    return [
        ("X" if form[0].isupper() else "x")
        + ("9" if any(map(str.isdigit, form)) else "")
        + ("" if any(map(str.isalnum, form)) else ".")
        + str(min(len(form), LONGEST_SHAPE))
        for form in forms
    ]


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
    vocabulary = {}
    found = _read_columns(names, list(map(_make_reader, names)), sentences)
    for name, (values, places, says_something) in zip(names, found, strict=True):
        if not says_something or set(values) == {MISSING}:  # of a file, or of what is made of it
            if name == "symbol":  # refused as every parser of symbols does
                check_share(len(places), len(places), [[MISSING] * len(places)], [])
            raise ValueError(
                f"All values of the column {name!r} of X ({len(places)} tokens) are "
                f"{MISSING!r}: it says nothing. Leave it out of columns, or tag the text first."
            )
        counts = Counter()
        for value, count in zip(values, np.bincount(places).tolist(), strict=True):
            counts[value] += count
        least = np.inf if name == LETTERS else _least_count(name, min_count)
        vocabulary[name] = sorted(value for value, count in counts.items() if count >= least)
    return vocabulary


def encode_columns(columns, sentences, indptr, check=True):
    """Replace the values of columns by their codes.

    Parameters
    ----------
    columns : Columns
    sentences : list
    indptr : int ndarray of shape (n_sentences + 1,)
    check : bool, default=True
        Whether to look for columns that say nothing, and for text that was not split.

    Returns
    -------
    codes : int ndarray of shape (n_tokens, n_columns), or Codes
        The latter if LETTERS is among the columns.

    Raises
    ------
    ValueError
        If a column that had values in training has none.
    TypeError
        If a column is wanted of plain symbols.

    Warns
    -----
    UnknownSymbolWarning
        If more than 5 % of the tokens have no tag that is known, in any of the columns with tags.
    UserWarning
        If most sentences have tokens that look like text that was not split.
    """
    n_tokens, encoded, tags, spellings = int(indptr[-1]), [], [], None
    rows = zip(*columns, _read_columns(columns.names, columns.readers, sentences), strict=True)
    for name, code_of, (source, _), (values, places, says_something) in rows:
        if name == LETTERS:
            of_values, spellings = range(FIRST, FIRST + len(values)), _spell(sentences, values)
        else:
            of_values = [code_of.get(value, UNKNOWN) for value in values]
        if name == VECTOR:  # who has learned vectors may have kept capitals, or not
            pairs = zip(of_values, values, strict=True)
            of_values = [code or code_of.get(value.lower(), UNKNOWN) for code, value in pairs]
        may_be_silent = source in ("form", "feats", FEATURES) and n_tokens <= LONGEST_SILENCE
        if check and not (says_something or may_be_silent):
            raise ValueError(
                f"All values of the column {name!r} of X ({n_tokens} tokens) are {MISSING!r}, "
                f"but not in training: what was learned from it cannot be used. Fill the column, "
                f"or train a parser without it."
            )
        if check and name in TAGS:
            silent = [code in (UNKNOWN, code_of.get(MISSING)) for code in of_values]
            tags.append((name, values, places, code_of, silent))
        elif check and name == "form":
            _check_split(code_of, values, of_values, places, indptr)
        encoded.append((of_values, places))
    if tags and all(any(silent) for *_, silent in tags):  # one column with tags says enough
        untagged = np.all([np.array(silent)[places] for *_, places, _, silent in tags], axis=0)
        name, values, places, code_of, _ = tags[0]
        name, symbols = None if name == "symbol" else name, [map(values.__getitem__, places)]
        check_share(untagged.sum(), n_tokens, symbols, list(code_of), name)
    codes = place_codes(encoded)
    return codes if spellings is None else Codes(codes, spellings)


def _spell(sentences, values):
    """List the n-grams of the forms of sentences, which keep them if they were checked."""
    if getattr(sentences, "spellings", None) is None:
        spellings = spell_words(values, FIRST)
        if not isinstance(sentences, CheckedSentences):
            return spellings
        sentences.spellings = spellings
    return sentences.spellings


def place_codes(columns):
    """Make a table of codes, int32 (n_tokens, n_columns).

    Parameters
    ----------
    columns : iterable of pairs
        Of each column the codes of its distinct values, and which of these each token has: a list
        where there are few tokens, else an array.
    """
    codes = [
        np.array(of_values, dtype=np.int32)[places]
        if isinstance(places, np.ndarray)
        else list(map(of_values.__getitem__, places))
        for of_values, places in columns
    ]
    return np.array(codes, dtype=np.int32).T.copy()


def forget_rare(names, codes, known, min_count):
    """Encode columns as if some tokens, `known`, were all that training has seen.

    Parameters
    ----------
    names : tuple of str
    codes, known : int ndarrays of shape (n_tokens, n_columns), or Codes
    min_count : int
        As for :func:`list_values`.

    Returns
    -------
    codes : int ndarray of shape (n_tokens, n_columns), or Codes
    """
    if isinstance(codes, Codes):
        columns = forget_rare(names, codes.columns, known.columns, min_count)
        return codes._replace(columns=columns)
    codes = codes.copy()
    for k, name in enumerate(names):
        if name not in (VECTOR, LETTERS):  # of these all are known
            counts = np.bincount(known[:, k], minlength=codes[:, k].max() + 1)
            codes[counts[codes[:, k]] < _least_count(name, min_count), k] = UNKNOWN
    return codes


def _least_count(name, min_count):
    """How often a value has to be seen to be known."""
    return min_count if name.partition(".")[0] in _OPEN else 1


def _check_split(code_of, values, of_values, places, indptr):
    """Warn of text that was not split into tokens, unless the words of training look so too."""
    unknown = [code == UNKNOWN and len(v) > 1 for v, code in zip(values, of_values, strict=True)]
    if not any(unknown):
        return
    spaced = [new and bool(_SPACED.search(v)) for v, new in zip(values, unknown, strict=True)]
    stopped = [
        new and v[-1] == "." and v[-2].isalpha() for v, new in zip(values, unknown, strict=True)
    ]
    unsplit = np.zeros(indptr.size - 1, dtype=bool)
    if any(spaced) and not any(map(_SPACED.search, code_of)):
        unsplit |= np.logical_or.reduceat(np.array(spaced)[places], indptr[:-1])
    if any(stopped) and "." in code_of:
        unsplit |= np.array(stopped)[places][indptr[1:] - 1]
    if 2 * unsplit.sum() > unsplit.size:
        example = next(compress(values, map(or_, spaced, stopped)))
        warn(
            f"In {unsplit.sum()} of {unsplit.size} sentences, text is not split into tokens, as in "
            f"{shorten(example)}. A token is a word or a punctuation mark: 'It slept.' is the "
            f"sequence 'It', 'slept', '.'. Split the text first, for example with a Splitter, "
            f"spaCy or UDPipe.",
            UserWarning,
        )


def name_of(columns, codes, position, column):
    """Say what the value of a column is at a position of a sentence, 0 for the root."""
    if position == 0:
        return "<root>"
    if not 0 < position <= len(codes):
        return "<outside>"
    code = codes[position - 1, column]
    return "<unknown>" if code == UNKNOWN else list(columns.code_of[column])[code - FIRST]
