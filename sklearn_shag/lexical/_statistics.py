"""Counts of words after heads, and probabilities backed off from these counts."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_shag.encoding import Alphabet, pair_of
from sklearn_shag.sequences import LabelCounts, extract_sequences, join_names, merge_labels
from sklearn_shag.utils._arrays import check_codes, check_indptr, check_positive, check_shapes
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray


class Lexicon(NamedTuple):
    """The codes of words: a word is known together with its tag, not by its form alone.

    Known words have the codes from 0 on, sorted by tag and form. Then each tag has one code for all
    its unknown words, and the last code is for words with an unknown tag.

    Attributes
    ----------
    tags : int ndarray of shape (n_words,)
        The code of the tag of each known word, ascending.
    n_tags : int
    """

    tags: IntArray
    n_tags: int

    @property
    def n_words(self):
        """Number of known words."""
        return self.tags.size

    @property
    def n_codes(self):
        """Number of codes of modifiers that are counted: all but the code of an unknown tag."""
        return self.tags.size + self.n_tags

    @property
    def stop(self):
        """Code of STOP among outcomes, none of which has an unknown tag."""
        return self.n_codes

    @property
    def root(self):
        """Code of the root symbol as a head, after the code of an unknown tag."""
        return self.n_codes + 1

    @property
    def all_tags(self):
        """Tag of every code of a head, (n_codes + 2,), as a code of heads in an Alphabet."""
        return np.concatenate([self.tags, np.arange(Alphabet(self.n_tags).n_heads)])

    def encode(self, tags, words, code_of):
        """Look up the codes of words.

        Parameters
        ----------
        tags : int ndarray of shape (n_tokens,)
            The code of each tag, ``n_tags`` if it is unknown.
        words : iterable of str, n_tokens of them
        code_of : dict
            The code of each known (tag, word).

        Returns
        -------
        codes : int ndarray of shape (n_tokens,)
        """
        pairs = zip(tags.tolist(), words, strict=True)
        codes = np.fromiter((code_of.get(pair, -1) for pair in pairs), np.int64, tags.size)
        return np.where(codes < 0, self.n_words + tags, codes)


class LexicalStatistics(NamedTuple):
    """Counts of each word, or STOP, in each context: all that is learned of words.

    The context of a modifier is its head's code in the :class:`Lexicon`, the direction, and the
    class of the modifier before it. Its number is ``(2 * head + direction) * n_classes + class``.

    Attributes
    ----------
    tags : int ndarray of shape (n_words,)
        The tag of each known word, ascending.
    classes : int ndarray of shape (n_tags + 1,)
        The class of a modifier with each tag, and last with an unknown tag.
    indptr, outcomes : int ndarrays of shapes (n_contexts + 1,) and (n_pairs,)
        The outcomes of context c are ``outcomes[indptr[c]:indptr[c + 1]]``, ascending.
    counts : float ndarray of shape (n_pairs,)
        Count of each outcome in its context; positive.
    """

    tags: IntArray
    classes: IntArray
    indptr: IntArray
    outcomes: IntArray
    counts: FloatArray

    @property
    def lexicon(self):
        """The Lexicon of the known words."""
        return Lexicon(self.tags, self.classes.size - 1)

    @property
    def n_classes(self):
        """Number of classes of the modifier before, the start included."""
        return int(self.classes.max(initial=0)) + 1


def check_words(statistics, name, symbols, words):
    """Check the codes of LexicalStatistics, and their order, which look-ups rely on."""
    lexicon, n_pairs = statistics.lexicon, statistics.counts.size
    check_codes(statistics, name, tags=symbols.size - 1, classes=3)
    n_contexts = pair_of(lexicon.root + 1, 0) * statistics.n_classes
    check_shapes(
        statistics,
        ((words.size,), (symbols.size + 1,), (n_contexts + 1,), (n_pairs,), (n_pairs,)),
        name,
    )
    known = list(zip(statistics.tags.tolist(), words.tolist(), strict=True))
    if known != sorted(set(known)):
        raise ValueError(f"{name}.tags and the words are not sorted, or hold a word twice.")
    check_indptr(statistics.indptr, n_pairs, f"{name}.indptr", "pairs")
    check_codes(statistics, name, outcomes=lexicon.stop)
    contexts = np.repeat(np.arange(n_contexts), np.diff(statistics.indptr))
    if np.any(np.diff(contexts * (lexicon.stop + 1) + statistics.outcomes) <= 0):
        raise ValueError(f"{name}.outcomes do not ascend in each context.")
    check_positive(statistics.counts, f"{name}.counts")


def number_words(pairs, n_tags):
    """Give codes to words.

    Parameters
    ----------
    pairs : set of (int, str)
        Tags and words.
    n_tags : int

    Returns
    -------
    lexicon : Lexicon
    words : ndarray of shape (n_words,), dtype object
        In the order of their codes.
    code_of : dict
        The code of each pair.
    """
    known = sorted(pairs)
    lexicon = Lexicon(np.array([tag for tag, _ in known], dtype=np.int64), n_tags)
    words = np.array([word for _, word in known], dtype=object)
    return lexicon, words, {pair: code for code, pair in enumerate(known)}


def count_words(codes, trees, lexicon, classes):
    """Count the modifiers, and STOP, of every context.

    Parameters
    ----------
    codes : int ndarray of shape (n_tokens,)
        Codes of the words in the lexicon.
    trees : EncodedTrees
    lexicon : Lexicon
    classes : int ndarray of shape (n_tags + 1,)
        As of :class:`LexicalStatistics`.

    Returns
    -------
    statistics : LexicalStatistics
    """
    n_tokens, n_classes = codes.size, classes.max() + 1
    tokens = extract_sequences(
        np.arange(n_tokens), trees.heads, trees.indptr, n_tokens, trees.weights
    )
    lengths = np.diff(tokens.indptr)
    heads = np.append(codes, [lexicon.root, lexicon.root])[tokens.heads]
    # The class before each modifier, 0 before the first, and the class of the last modifier.
    outcomes = codes[tokens.modifiers]
    left_behind = classes[lexicon.all_tags[outcomes]]
    before = np.append(0, left_behind[:-1])
    before[tokens.indptr[:-1][lengths > 0]] = 0
    last = np.zeros(lengths.size, dtype=np.int64)
    last[lengths > 0] = left_behind[tokens.indptr[1:][lengths > 0] - 1]
    is_root = heads == lexicon.root
    before[np.repeat(is_root, lengths)] = 0  # the root symbol has one class
    pairs = pair_of(heads, tokens.directions)
    contexts = [
        np.repeat(pairs, lengths) * n_classes + before,
        (pairs * n_classes + last)[~is_root],
    ]
    outcomes = [outcomes, np.full(contexts[1].size, lexicon.stop)]
    weights = [np.repeat(tokens.weights, lengths), tokens.weights[~is_root]]
    return _sum_pairs(lexicon, classes, *map(np.concatenate, (contexts, outcomes, weights)))


def _sum_pairs(lexicon, classes, contexts, outcomes, counts):
    """Return LexicalStatistics of pairs of context and outcome, equal ones added up."""
    n_contexts = pair_of(lexicon.root + 1, 0) * (classes.max() + 1)
    counted = _sum_entries(contexts, outcomes, counts, (n_contexts, lexicon.stop + 1))
    indptr = counted.indptr.astype(np.int64)
    return LexicalStatistics(lexicon.tags, classes, indptr, _entry_columns(counted), counted.data)


class CountedWords(NamedTuple):
    """Counts of a treebank, with all its words known."""

    symbols: ObjectArray  # sorted: the tags
    labels: ObjectArray  # sorted
    label_counts: LabelCounts
    words: ObjectArray  # sorted by tag, then by form
    statistics: LexicalStatistics


def merge_words(parts):
    """Add up the counts of several treebanks.

    Parameters
    ----------
    parts : list of CountedWords
        With words of the same column, and automata with the same classes.

    Returns
    -------
    counted : CountedWords
    """
    symbols = join_names(part.symbols for part in parts)
    own_tags = [np.searchsorted(symbols, part.symbols) for part in parts]
    own_words = [
        list(zip(tags[part.statistics.tags].tolist(), part.words.tolist(), strict=True))
        for tags, part in zip(own_tags, parts, strict=True)
    ]
    lexicon, words, code_of = number_words(set().union(*own_words), symbols.size)
    classes, recoded = np.empty(symbols.size + 1, dtype=np.int64), []
    for tags, pairs, part in zip(own_tags, own_words, parts, strict=True):
        classes[np.append(tags, symbols.size)] = part.statistics.classes
        of_words, others = [code_of[pair] for pair in pairs], [lexicon.stop, lexicon.root]
        codes = np.concatenate([of_words, lexicon.n_words + tags, others]).astype(np.int64)
        recoded.append(_recode_pairs(part.statistics, codes))
    statistics = _sum_pairs(lexicon, classes, *map(np.concatenate, zip(*recoded, strict=True)))
    return CountedWords(symbols, *merge_labels(parts, own_tags, symbols.size), words, statistics)


def forget_rare_words(counted, min_count):
    """Make words unknown that were seen, with their tag, less than `min_count` times.

    Parameters
    ----------
    counted : CountedWords
    min_count : float

    Returns
    -------
    counted : CountedWords
    """
    _, _, _, words, statistics = counted
    before = statistics.lexicon
    # Each token is a modifier once.
    counts = np.bincount(statistics.outcomes, statistics.counts, before.stop + 1)
    kept = counts[: before.n_words] >= min_count
    if kept.all():
        return counted
    lexicon = Lexicon(before.tags[kept], before.n_tags)
    codes = before.all_tags + lexicon.n_words  # of the unknown word of each tag, stop and root
    codes[: before.n_words][kept] = np.arange(lexicon.n_words)
    recoded = _sum_pairs(lexicon, statistics.classes, *_recode_pairs(statistics, codes))
    return counted._replace(words=words[kept], statistics=recoded)


def _recode_pairs(statistics, codes):
    """Return the contexts, outcomes and counts of all pairs, with new codes of words and tags.

    `codes` has the new code for every old one, for STOP, which as a head is the unknown tag, and
    for the root symbol.
    """
    heads, states = np.divmod(_entry_rows(statistics), 2 * statistics.n_classes)
    contexts = codes[heads] * 2 * statistics.n_classes + states
    return contexts, codes[statistics.outcomes], statistics.counts


# Limit of 1 - lambda, for counts far above the constant: nothing becomes impossible, and no lambda
# differs in double precision.
SMALLEST_REST = 1e-30


class Frequencies(NamedTuple):
    """Relative frequencies of pairs that were seen, times the lambda of their context."""

    indptr: np.ndarray  # (n_rows + 1,)
    columns: np.ndarray  # (n_pairs,), ascending in each row
    values: np.ndarray  # (n_pairs,)


class BackOff(NamedTuple):
    """Tables of backed-off probabilities, laid out for the kernel.

    A context is a head, a direction and a class, numbered in this order; a rest is the 1 - lambda
    of a context. Coarse contexts have the heads of :class:`~sklearn_shag.encoding.Alphabet`, fine
    contexts have known words as heads.
    """

    tags: np.ndarray  # (n_codes + 2,): of each code of the lexicon, last the root symbol
    classes: np.ndarray  # (n_tags + 1,): the class of a modifier with each tag
    coarse: np.ndarray  # (n_coarse, n_tags + 1): P_A in coarse contexts; STOP is last
    going_on: np.ndarray  # (n_coarse,): P_A of all tags together
    coarse_words: Frequencies  # of modifiers (rows) in coarse contexts (columns)
    coarse_word_rests: np.ndarray  # (n_coarse, n_tags), of each context with the modifier's tag
    fine: Frequencies  # of tags and STOP in fine contexts
    fine_rests: np.ndarray  # (n_fine,)
    fine_words: Frequencies  # of modifiers in fine contexts
    fine_word_rests: np.ndarray  # one for each pair in `fine`
    words: np.ndarray  # (n_codes,): P_B of each modifier given nothing but its tag


def back_off_words(statistics, constant):
    """Estimate the probabilities of words in every context.

    Parameters
    ----------
    statistics : LexicalStatistics
    constant : float
        Of a context seen f times with u distinct outcomes, lambda is ``f / (f + constant * u)``.

    Returns
    -------
    tables : BackOff
    """
    return BackOff(
        statistics.lexicon.all_tags,
        statistics.classes,
        *_coarse_tables(statistics, constant),
        *_fine_tables(statistics, constant),
        _word_probabilities(statistics, constant),
    )


def _coarse_tables(statistics, constant):
    """Return P_A given a head's tag, its sum over tags, and frequencies and rests of P_B."""
    lexicon, n_states = statistics.lexicon, 2 * statistics.n_classes
    n_tags, tags = lexicon.n_tags, lexicon.all_tags
    n_contexts = Alphabet(n_tags).n_heads * n_states
    # Each context counts for the tag of its head, and for the pool of all heads.
    heads, states = np.divmod(_entry_rows(statistics), n_states)
    of_tokens = heads != lexicon.root
    contexts = np.concatenate([tags[heads], np.full(of_tokens.sum(), n_tags)]) * n_states
    contexts += np.concatenate([states, states[of_tokens]])
    outcomes = np.concatenate([statistics.outcomes, statistics.outcomes[of_tokens]])
    counts = np.concatenate([statistics.counts, statistics.counts[of_tokens]])

    of_tags = _sum_entries(contexts, tags[outcomes], counts, (n_contexts, n_tags + 1))
    frequencies, rests = _discount_counts(of_tags, _entry_rows(of_tags), n_contexts, constant)
    p_tags = np.full(of_tags.shape, 1.0 / (n_tags + 1))
    p_tags[-n_states:] = np.append(np.full(n_tags, 1.0 / n_tags), 0.0)  # the root does not stop
    p_tags *= rests[:, None]
    p_tags[_entry_rows(of_tags), frequencies.columns] += frequencies.values

    is_word = outcomes != lexicon.stop
    of_words = _sum_entries(
        outcomes[is_word], contexts[is_word], counts[is_word], (lexicon.n_codes, n_contexts)
    )
    groups = _entry_columns(of_words) * n_tags + tags[_entry_rows(of_words)]
    words, word_rests = _discount_counts(of_words, groups, n_contexts * n_tags, constant)
    going_on = p_tags[:, :n_tags].sum(axis=1)
    return p_tags, going_on, words, word_rests.reshape(n_contexts, n_tags)


def _fine_tables(statistics, constant):
    """Return frequencies and rests of P_A and of P_B in contexts of a known head word."""
    lexicon, contexts = statistics.lexicon, _entry_rows(statistics)
    n_contexts = lexicon.n_words * 2 * statistics.n_classes
    fine = contexts < n_contexts
    contexts, outcomes, counts = contexts[fine], statistics.outcomes[fine], statistics.counts[fine]
    tags, width = lexicon.all_tags, lexicon.n_tags + 1
    of_tags = _sum_entries(contexts, tags[outcomes], counts, (n_contexts, width))
    frequencies, rests = _discount_counts(of_tags, _entry_rows(of_tags), n_contexts, constant)

    is_word = outcomes != lexicon.stop
    of_words = _sum_entries(
        contexts[is_word], outcomes[is_word], counts[is_word], (n_contexts, lexicon.n_codes)
    )
    pairs = _entry_rows(of_tags) * width + _entry_columns(of_tags)
    groups = np.searchsorted(pairs, _entry_rows(of_words) * width + tags[_entry_columns(of_words)])
    return frequencies, rests, *_discount_counts(of_words, groups, pairs.size, constant)


def _word_probabilities(statistics, constant):
    """Return P_B of every modifier given its tag, backed off to the uniform distribution."""
    lexicon = statistics.lexicon
    tags, n_tags = lexicon.all_tags[: lexicon.n_codes], lexicon.n_tags
    counts = np.bincount(statistics.outcomes, statistics.counts, lexicon.stop + 1)[: lexicon.stop]
    seen = np.flatnonzero(counts)
    alone = csr_array((counts[seen], (tags[seen], seen)), shape=(n_tags, lexicon.n_codes))
    frequencies, rests = _discount_counts(alone, _entry_rows(alone), n_tags, constant)
    probabilities = (rests / np.bincount(tags))[tags]
    probabilities[frequencies.columns] += frequencies.values
    return probabilities


def _sum_entries(rows, columns, counts, shape):
    summed = csr_array((counts, (rows, columns)), shape=shape)
    summed.sum_duplicates()
    return summed


def _entry_rows(matrix):
    """Return the row of each entry of a sparse matrix."""
    return np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))


def _entry_columns(matrix):
    """Return the column of each entry of a sparse matrix, in int64, for products."""
    return matrix.indices.astype(np.int64)


def _discount_counts(matrix, groups, n_groups, constant):
    """Return Frequencies of counts in groups of entries, times lambda, and all 1 - lambda."""
    totals = np.bincount(groups, matrix.data, n_groups)
    n_distinct = np.bincount(groups, minlength=n_groups)
    with np.errstate(over="ignore"):  # tiny constants give infinity, as intended
        coarser = constant * np.maximum(n_distinct, 1)
        rests = np.maximum(1.0 / (1.0 + totals / coarser), SMALLEST_REST)
    values = matrix.data / (totals + coarser)[groups]
    return Frequencies(matrix.indptr.astype(np.int64), _entry_columns(matrix), values), rests
