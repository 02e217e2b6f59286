"""Columns of tokens: the choice of columns, their known values, and integer codes."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, compress, repeat
from operator import or_
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding._batch import take_entries
from sklearn_shag.encoding._context import ContextVectors
from sklearn_shag.encoding._letters import Spellings, spell_words
from sklearn_shag.encoding._sentences import CheckedSentences
from sklearn_shag.treebank import (
    ATTRIBUTES,
    MISSING,
    WITHHELD,
    DependencyTree,
    UnknownSymbolWarning,
    check_column_name,
    check_share,
    columns_of,
    compose_words,
)
from sklearn_shag.utils._messages import shorten, warn

# In order of preference. With words and the tags of neighbours, fine tags are too rare: UPOS is
# better than XPOS by 0.3 points of attachment in English to 2 in Tamil.
TAGS = tuple(column.name for column in columns_of("symbol", "tag"))
_READ = [column.name for column in columns_of("tag", "features", "word")]  # as in columns_
# Letters of affixes whose names have no number: beside tags, and without tags.
AFFIXES = {"prefix": ((2,), (1, 2, 3)), "suffix": ((3,), (1, 2, 3, 4))}
# Columns in which values seen less than `min_count` times are unknown.
_OPEN = (*(column.name for column in columns_of("features", "word")), *AFFIXES)
LONGEST_SHAPE = 12
# Not a column of files: the word of a token among the words with given vectors.
VECTOR = "vector"
# Columns made from words. If no others are read, tokens of plain sequences are words.
OF_WORDS = ("form", *AFFIXES, "shape")
# All n-grams of forms, for networks only; the codes are indices into spellings.
LETTERS = "letters"
# Texts of up to this many tokens may lack features, as "For now .", or words, as a line "_". Longer
# texts without any are refused.
LONGEST_SILENCE = 20

# Arrays are faster than lists for more tokens than this.
FEW_TOKENS = 60
# The source of single features: the column feats, taken apart.
FEATURES = "feats."
# White space between letters, which single words hardly contain.
_SPACED = re.compile(r"[^\W\d_]\s+[^\W\d_]")
# Codes that every column has; its values follow.
UNKNOWN_CODE, ROOT_CODE, OUTSIDE_CODE, FIRST_CODE = range(4)


class Columns(NamedTuple):
    """Columns that a parser reads, with the codes of their known values.

    Attributes
    ----------
    names : tuple of str
    code_of : list of dict
        For each column the code of each known value.
    readers : list of ColumnReader
        One for each column.
    """

    names: tuple
    code_of: list
    readers: list


class Codes(NamedTuple):
    """Codes of columns with the spellings of words, if LETTERS is read, or vectors in context."""

    columns: np.ndarray  # (n_tokens, n_columns)
    spellings: Spellings | None = None  # by the codes of LETTERS
    context: ContextVectors | None = None
    places: np.ndarray | None = None  # (n_tokens,), the row of each token in `context`

    def take(self, tokens):
        """Return the Codes of the tokens at places."""
        return self._replace(columns=self.columns[tokens], places=take_entries(self.places, tokens))


class ColumnReader(NamedTuple):
    """Source of a column in files, and the function that derives its values from there."""

    source: str
    derive: Callable  # takes a list of values of that column and returns a list


class ColumnValues(NamedTuple):
    """A column as it was read: its distinct values, some of which may be equal, by token."""

    values: list  # ``_`` where there is nothing
    places: list | np.ndarray  # (n_tokens,), the index of the value of each token
    says_something: bool  # whether the file has any value but ``_``


class CodedTags(NamedTuple):
    """A column of tags, with the codes that are known."""

    name: str
    code_of: dict
    read: ColumnValues
    silent: list  # of bool, for each value: whether it is unknown, or nothing


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
    return Columns(
        names=tuple(vocabulary),
        code_of=list(map(number_values, vocabulary.values())),
        readers=list(map(_make_reader, vocabulary)),
    )


def number_values(values):
    """Return the code of each known value of a column, from FIRST_CODE on, in their order."""
    return {value: code for code, value in enumerate(values, start=FIRST_CODE)}


def choose_columns(columns, sentences, letters=False):
    """Choose the columns that a parser reads.

    Parameters
    ----------
    columns : "auto" or sequence of str
    sentences : list
        The training sentences.
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
    """Replace "feats" by a column for each morphological feature of sentences.

    If there are no features, "feats" stays, and is later refused as a column without values.
    """
    feats = set().union(*(getattr(s, "feats", None) or () for s in sentences)) - {MISSING}
    found = {pair.partition("=")[0] for value in feats for pair in value.split("|")}
    columns = [f"feats.{feature}" for feature in sorted(found)] or ["feats"]
    split = chain.from_iterable(columns if name == "feats" else [name] for name in names)
    return tuple(dict.fromkeys(split))


def _find_columns(sentences):
    """List the columns with values in sentences, for ``columns="auto"``."""
    if not all(isinstance(sentence, DependencyTree) for sentence in sentences):
        return ("symbol",)
    found = [n for n in _READ if any(set(read_column(s, n)) != {MISSING} for s in sentences)]
    same = any(all(s.symbols == read_column(s, name) for s in sentences) for name in found)
    suffix = ["suffix"] if "form" in found else []
    if not suffix:
        warn(f"All forms of X are {MISSING!r}: no words are read. {WITHHELD}", UnknownSymbolWarning)
    return (*([] if same else ["symbol"]), *found, *suffix)


def read_column(sentence, name):
    """Return the values of a column of a sentence, ``_`` for each token if it has none."""
    values = getattr(sentence, ATTRIBUTES[name], None)
    return (MISSING,) * len(sentence) if values is None else values


def check_name(name, parameter="columns"):
    """Raise a ValueError if no column has this name."""
    kind, _, length = name.partition(".") if isinstance(name, str) else ("", "", "")
    is_affix = kind in AFFIXES and length.isdecimal() and int(length) > 0
    with suppress(ValueError):
        if is_affix or name in (*AFFIXES, "shape") or check_column_name(name)[0] != "deprels":
            return
    raise ValueError(
        f"{parameter}: {name!r} is not a column of tokens that a parser can read. Choose from "
        f"{', '.join(TAGS)}, feats, feats.Case and the like, form, lemma, prefix, suffix, "
        f"shape, and letters for a network; prefix.2 has two letters."
    )


def _read_columns(names, readers, sentences):
    """Read columns, with forms and affixes in lower case.

    Columns derived from one column of a file, such as affixes from forms, share its reading.
    CheckedSentences keep the columns for other readers.

    Parameters
    ----------
    names : tuple of str
        From :func:`choose_columns`.
    readers : list of ColumnReader
        The reader of each name.
    sentences : list

    Returns
    -------
    columns : list of ColumnValues

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
            read[name] = ColumnValues(derive(distinct), places, says_something)
    return [read[name] for name in names]


def _read_source(source, sentences):
    """Read a source as ColumnValues; words have composed letters, so some may be equal."""
    tokens = [
        _read_tree_column(sentence, source) if isinstance(sentence, DependencyTree) else sentence
        for sentence in sentences
    ]
    place_of = {}
    places = [place_of.setdefault(value, len(place_of)) for value in chain.from_iterable(tokens)]
    distinct = list(place_of)
    own = {lemma for lemma, _ in distinct} if source == "lemma" else place_of.keys()
    if source == FEATURES:
        # If a feature has two values, the first one counts.
        pairs = (reversed(feats.split("|")) for feats in distinct)
        split = (map(str.partition, of_value, repeat("=")) for of_value in pairs)
        distinct = [{name: value for name, _, value in of_value} for of_value in split]
    elif source == "form":
        distinct = compose_words(distinct)
    elif source == "lemma":
        distinct = list(zip(*map(compose_words, zip(*distinct, strict=True)), strict=True))
    if len(places) > FEW_TOKENS:
        places = np.array(places)
    return ColumnValues(distinct, places, own != {MISSING})


def _make_reader(name):
    """Make the ColumnReader of a column."""
    kind, _, detail = name.partition(".")
    if kind in AFFIXES:
        part = slice(int(detail)) if kind == "prefix" else slice(-int(detail), None)
        return ColumnReader("form", lambda forms: [form.lower()[part] for form in forms])
    if kind in _READERS:
        return _READERS[kind]
    _, feature = check_column_name(name)
    if feature is None:
        return ColumnReader(kind, list)
    return ColumnReader(FEATURES, lambda parsed: [feats.get(feature, MISSING) for feats in parsed])


def _require_trees(names, sentences):
    """Raise a TypeError for plain sequences, which hold only symbols or words."""
    for index, sentence in enumerate(sentences):
        if not isinstance(sentence, DependencyTree):
            raise TypeError(
                f"X[{index}] is a {type(sentence).__name__} of str, but the columns "
                f"{', '.join(names)} are needed: pass DependencyTrees, such as read_conllu "
                f'returns. Plain sequences suffice for columns=["symbol"], and for columns of '
                f"words only: {', '.join(OF_WORDS)}."
            )


def _read_tree_column(tree, source):
    """Return the values of a source for each token of a tree; lemmas come with their forms."""
    values = read_column(tree, "feats" if source == FEATURES else source)
    return zip(values, tree.forms, strict=True) if source == "lemma" else values


def _list_shapes(forms):
    """List the shapes of forms: initial capital, any digit, no letter or digit, and length."""
    return [
        ("X" if form[0].isupper() else "x")
        + ("9" if any(map(str.isdigit, form)) else "")
        + ("" if any(map(str.isalnum, form)) else ".")
        + str(min(len(form), LONGEST_SHAPE))
        for form in forms
    ]


_LOWERED = ColumnReader("form", lambda forms: list(map(str.lower, forms)))
_READERS = {
    "form": _LOWERED,
    LETTERS: _LOWERED,
    VECTOR: ColumnReader("form", list),
    "shape": ColumnReader("form", _list_shapes),
    "lemma": ColumnReader(  # beside its form
        "lemma", lambda pairs: [form.lower() if own == MISSING else own for own, form in pairs]
    ),
}


def list_values(names, sentences, min_count):
    """List the values of columns to be known after training.

    Parameters
    ----------
    names : tuple of str
    sentences : list
    min_count : int
        Values of columns of words that were seen less often stay unknown.

    Returns
    -------
    vocabulary : dict of list of str
        The known values of each column, sorted.
    """
    vocabulary = {}
    found = _read_columns(names, list(map(_make_reader, names)), sentences)
    for name, (values, places, says_something) in zip(names, found, strict=True):
        if not says_something or set(values) == {MISSING}:  # in the file, or after derivation
            if name == "symbol":  # refused as every parser of symbols does
                check_share(len(places), len(places), [[MISSING] * len(places)], [])
            raise ValueError(
                f"All values of the column {name!r} of X ({len(places)} tokens) are "
                f"{MISSING!r}: it says nothing. Leave it out of columns, or tag the text first. "
                f"{WITHHELD}"
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
    found = _read_columns(columns.names, columns.readers, sentences)
    for name, code_of, reader, read in zip(*columns, found, strict=True):
        values, places, says_something = read
        if name == LETTERS:
            of_values = range(FIRST_CODE, FIRST_CODE + len(values))
            spellings = _spell(sentences, values)
        else:
            of_values = [code_of.get(value, UNKNOWN_CODE) for value in values]
        if name == VECTOR:  # given vectors may be of words with capitals or without
            pairs = zip(of_values, values, strict=True)
            of_values = [code or code_of.get(value.lower(), UNKNOWN_CODE) for code, value in pairs]
        may_be_silent = reader.source in ("form", "feats", FEATURES) and n_tokens <= LONGEST_SILENCE
        if check and not (says_something or may_be_silent):
            raise ValueError(
                f"All values of the column {name!r} of X ({n_tokens} tokens) are {MISSING!r}, "
                f"but not in training: what was learned from it cannot be used. Fill the column, "
                f"or train a parser without it. {WITHHELD}"
            )
        if check and name in TAGS:
            silent = [code in (UNKNOWN_CODE, code_of.get(MISSING)) for code in of_values]
            tags.append(CodedTags(name, code_of, read, silent))
        elif check and name == "form":
            _check_split(code_of, values, of_values, places, indptr)
        encoded.append((of_values, places))
    if tags and all(any(column.silent) for column in tags):  # one with known tags is enough
        _check_tags(tags, n_tokens)
    codes = place_codes(encoded)
    return codes if spellings is None else Codes(codes, spellings)


def _check_tags(tags, n_tokens):
    """Warn if too many tokens have no known tag in any of these columns of CodedTags."""
    untagged = np.all([np.array(column.silent)[column.read.places] for column in tags], axis=0)
    first = tags[0]
    name = None if first.name == "symbol" else first.name
    symbols = [map(first.read.values.__getitem__, first.read.places)]
    check_share(untagged.sum(), n_tokens, symbols, list(first.code_of), name)


def _spell(sentences, values):
    """Return the Spellings of the forms of sentences; CheckedSentences keep them."""
    if getattr(sentences, "spellings", None) is None:
        spellings = spell_words(values, FIRST_CODE)
        if not isinstance(sentences, CheckedSentences):
            return spellings
        sentences.spellings = spellings
    return sentences.spellings


def place_codes(columns):
    """Make a table of codes, int32 (n_tokens, n_columns).

    Parameters
    ----------
    columns : iterable of pairs
        For each column, the codes of its distinct values, and the index of the value of each token:
        a list if there are few tokens, else an array.
    """
    codes = [
        np.array(of_values, dtype=np.int32)[places]
        if isinstance(places, np.ndarray)
        else list(map(of_values.__getitem__, places))
        for of_values, places in columns
    ]
    return np.array(codes, dtype=np.int32).T.copy()


def forget_rare(names, codes, known, min_count):
    """Recode columns as if training had seen no tokens but `known`.

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
        return codes._replace(columns=forget_rare(names, codes.columns, known.columns, min_count))
    codes = codes.copy()
    for k, name in enumerate(names):
        if name not in (VECTOR, LETTERS):  # their values are all known
            counts = np.bincount(known[:, k], minlength=codes[:, k].max() + 1)
            codes[counts[codes[:, k]] < _least_count(name, min_count), k] = UNKNOWN_CODE
    return codes


def _least_count(name, min_count):
    """Return the least count of known values of a column."""
    return min_count if name.partition(".")[0] in _OPEN else 1


def _check_split(code_of, values, of_values, places, indptr):
    """Warn if most sentences have text that is not split, unless training words look like it."""
    unknown = [
        code == UNKNOWN_CODE and len(v) > 1 for v, code in zip(values, of_values, strict=True)
    ]
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
    """Return the value of a column at a position of a sentence, 0 for the root, to be shown."""
    if position == 0:
        return "<root>"
    if not 0 < position <= len(codes):
        return "<outside>"
    code = codes[position - 1, column]
    return "<unknown>" if code == UNKNOWN_CODE else list(columns.code_of[column])[code - FIRST_CODE]
