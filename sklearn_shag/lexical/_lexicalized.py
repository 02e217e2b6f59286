"""Lexicalised grammars: deterministic automata over words with tags."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress
from numbers import Real
from typing import Literal, Self

import numpy as np

from sklearn_shag._parser import Parser
from sklearn_shag.encoding import check_sentences, encode_sentences, encode_trees
from sklearn_shag.learning import GenerativeMixin
from sklearn_shag.lexical._potentials import lexical_potentials, sample_words
from sklearn_shag.lexical._statistics import (
    CountedWords,
    LexicalStatistics,
    back_off_words,
    count_words,
    forget_rare_words,
    merge_words,
    number_words,
)
from sklearn_shag.parsing import Scored, grammar_of_arcs
from sklearn_shag.sequences import add_in_pairs, count_labels
from sklearn_shag.treebank import MISSING, DependencyTree, Heads, Sentences, check_column_name
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._param_validation import LARGEST_NUMBER, Interval, StrOptions, fit_context
from sklearn_shag.utils._typing import ArrayLike, ObjectArray

# Classes of the modifier before, the states of automata.
START, COORDINATION, PUNCTUATION, OTHER = range(4)
RARE = "<rare>"


class LexicalizedSHAG(GenerativeMixin, Parser):
    """Split head-automata grammar over words with tags, with deterministic automata.

    A modifier is a word with its tag. Its probability given the head's word and tag, the direction
    and the state of the automaton is a relative frequency. It backs off to coarser contexts as in
    Collins, first to the head's tag alone.

    Parameters
    ----------
    automaton : {"single", "first", "fcp"}, default="fcp"
        The states of each automaton:

        - "single": one state; modifiers are independent of each other (LEX in the paper);
        - "first": two states, before the first modifier and after it (LEX+F);
        - "fcp": four states, before the first modifier, and after a conjunction, a punctuation
          mark or another word (LEX+FCP).
    word : str, default="form"
        The column of the trees that holds the words; see
        :meth:`DependencyTree.column <sklearn_shag.treebank.DependencyTree.column>`. Their tags are
        the symbols of the trees. Predictions also read this column.
    backoff : float, default=5.0
        How much of the probability goes to coarser contexts: a context in which f modifiers were
        seen, u of them different, keeps the share ``f / (f + backoff * u)``. Collins used 5.
        What is learned does not depend on it, so :meth:`set_params` changes it without a new fit.
    min_count : float, default=1
        Pairs of a word and its tag that were seen less often count as unknown words. As modifiers
        they count as one word; as heads they have no context of their own. With 1 and unweighted
        sentences, only words that were never seen are unknown.
    coordination : list or tuple of str, default=("CCONJ", "CC")
        The symbols of coordinating conjunctions, for ``automaton="fcp"``.
    punctuation : list or tuple of str
        The symbols of punctuation marks; by default UD's "PUNCT" and the tags of the Penn treebank.
        Name other symbols, such as those of several columns, here and in `coordination`. Otherwise
        "fcp" is no better than "first".
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), and "viterbi" the
        probability. "mst" is like "mbr", but its trees may have crossing arcs.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Parsing is split over chunks of sentences.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted: the tags.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    words_ : ndarray of shape (n_words,), dtype object
        Known words (str), sorted by tag, then by form. A word is listed once for each of its tags.
    statistics_ : LexicalStatistics
        Counts of each word in each context, as a named tuple of arrays. They hold the tag of each
        word as its position in `symbols_`, and the class that a modifier with each tag leads to.
        They also hold the count of each pair of a context and a modifier that was seen.

    See Also
    --------
    DeterministicSHAG : The same kind of grammar without words.
    ProductParser : Multiplies such a grammar with one that has hidden states.

    Notes
    -----
    See theory, eqs. 36 to 38. All sentences have a positive probability, because each mixture ends
    in a uniform distribution, over tags and STOP, or over the known words of the modifier's tag and
    one unknown word. A modifier with an unknown tag is a missing observation: its probability is
    summed over all modifiers that it may stand for.

    In Universal Dependencies, a conjunction is a left modifier of the conjunct that *follows* it,
    and conjuncts are right modifiers of the first. So on the right, where other English treebanks
    have them, hardly any modifier is a conjunction (0.05 % in English-EWT), and "fcp" separates
    punctuation from the rest. On the left, 5.6 % are conjunctions. The state after one says that
    the head is a conjunct with its conjunction: four times out of five it has no further modifiers
    on that side.

    The tables for tags take up to 128 bytes times the square of the number of symbols, and three
    times that while they are being built. The tables for words grow with the number of pairs seen.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, sec. 5.2.

    Collins (1999), Head-Driven Statistical Models for Natural Language Parsing.

    Examples
    --------
    >>> from sklearn_shag import LexicalizedSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> model = LexicalizedSHAG().fit(trees[:300])
    >>> round(model.score(trees[300:]), 2)
    0.79
    """

    _parameter_constraints = {
        **Parser._parameter_constraints,
        "automaton": [StrOptions({"single", "first", "fcp"})],
        "word": [str],
        "backoff": [Interval(Real, 0, LARGEST_NUMBER, closed="right")],
        "min_count": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "coordination": [list, tuple],
        "punctuation": [list, tuple],
    }
    _parsing_parameters = (*Parser._parsing_parameters, "word", "backoff")

    _deterministic = True

    words_: ObjectArray
    statistics_: LexicalStatistics

    def __init__(
        self,
        automaton: Literal["single", "first", "fcp"] = "fcp",
        word: str = "form",
        *,
        backoff: float = 5.0,
        min_count: float = 1,
        coordination: Sequence[str] = ("CCONJ", "CC"),
        punctuation: Sequence[str] = ("PUNCT", ",", ".", ":", "``", "''", "-LRB-", "-RRB-"),
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(decoder=decoder, max_tokens=max_tokens, n_jobs=n_jobs, verbose=verbose)
        self.automaton = automaton
        self.word = word
        self.backoff = backoff
        self.min_count = min_count
        self.coordination = coordination
        self.punctuation = punctuation

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Count words in their contexts.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree that has the column `word`.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root) or is a DependencyTree with
            heads. None uses the heads of the trees in X. Non-projective trees and trees with
            several roots count like any other.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, a tree lacks words or heads, heads are unknown (-1), words and symbols
            are the same, weights are negative or all zero, or a parameter is invalid. The message
            names the sentence.
        TypeError
            If a sentence is not a DependencyTree.
        """
        self._check_parsing()
        return self._learn_counts(self._count(X, y, sample_weight))

    def _fit_parts(self, parts):
        """Learn from an iterable of lists of trees, of which only the counts stay in memory."""
        self._check_parsing()
        return self._learn_counts(add_in_pairs(map(self._count, parts), merge_words))

    def _count(self, X, y=None, sample_weight=None):
        """Return the CountedWords of trees."""
        words = self._list_words(X := check_sentences(X)[0])
        trees = encode_trees(X, y, sample_weight, learner=type(self).__name__)
        words = list(chain.from_iterable(compress(words, trees.kept)))
        pairs = set(zip(trees.codes.tolist(), words, strict=True))
        lexicon, known, code_of = number_words(pairs, trees.symbols.size)
        codes = lexicon.encode(trees.codes, words, code_of)
        statistics = count_words(codes, trees, lexicon, self._classes(trees.symbols))
        return CountedWords(trees.symbols, trees.labels, count_labels(trees), known, statistics)

    def _learn_counts(self, counted):
        """Set fitted attributes from CountedWords, with rare words unknown; return self."""
        self._refuse_missing(counted.words)
        if (counted.words == counted.symbols[counted.statistics.tags]).all():
            raise ValueError(
                f"The symbols of X are its words: there are no tags to back off to. Give the trees "
                f"tags, or choose another column than {self.word!r}."
            )
        counted = forget_rare_words(counted, self.min_count)
        vars(self).update({f"{name}_": value for name, value in counted._asdict().items()})
        return self

    def _classes(self, symbols):
        """Return the class of modifiers with each symbol, and last with an unknown symbol."""
        if self.automaton != "fcp":
            return np.full(symbols.size + 1, int(self.automaton == "first"))
        class_of = dict.fromkeys(self.coordination, COORDINATION)
        class_of |= dict.fromkeys(self.punctuation, PUNCTUATION)
        return np.array([*(class_of.get(symbol, OTHER) for symbol in symbols), OTHER])

    def _list_words(self, sentences):
        """List the words of each sentence."""
        words = []
        for index, sentence in enumerate(sentences):
            if not isinstance(sentence, DependencyTree):
                raise TypeError(
                    f"X[{index}] is a {type(sentence).__name__} of symbols, but this grammar needs "
                    f"words too: pass DependencyTrees, as read_conllu reads them, or use a grammar "
                    f"without words, such as DeterministicSHAG."
                )
            try:
                words.append(sentence.column(self.word))
            except ValueError as error:
                raise ValueError(f"X[{index}]: word={self.word!r}: {error}") from None
        return words

    def _refuse_missing(self, words):
        if set(words) == {MISSING}:
            raise ValueError(
                f"All words of X are {MISSING!r}: the column {self.word!r} has no values. Choose "
                f"another with the parameter word."
            )

    def _encode(self, sentences, symbols, indptr):
        words = list(chain.from_iterable(self._list_words(sentences)))
        self._refuse_missing(words)
        tags, _ = encode_sentences(symbols, self.symbols_)
        code_of, _ = self._tables()
        return self.statistics_.lexicon.encode(tags, words, code_of)

    def _score(self, batch, rung=0):
        if rung:
            return None
        _, tables = self._tables()
        potentials = lexical_potentials(tables, batch.codes, batch.indptr)
        tags = self.statistics_.lexicon.all_tags[batch.codes]
        return Scored(
            grammar_of_arcs("projective"), potentials, self._labeller(batch._replace(codes=tags))
        )

    def _tables(self):
        """Return the code of each known pair of tag and word, and the BackOff tables."""
        return keep(self, (self.words_, self.statistics_, self.backoff), _tabulate_words)

    def _draw(self, n_samples, max_length, rng):
        _, tables = self._tables()
        codes, heads, indptr = sample_words(tables, n_samples, max_length, rng)
        words = np.append(self.words_, np.full(self.symbols_.size, RARE, dtype=object))[codes]
        parts = words, self.symbols_[tables.tags[codes]], heads
        sentences = zip(*(np.split(part, indptr[1:-1]) for part in parts), strict=True)
        attribute, feature = check_column_name(self.word)
        trees = []
        for forms, symbols, of_sentence in sentences:
            values = forms
            if feature is not None:
                values = [MISSING if form == MISSING else f"{feature}={form}" for form in forms]
            columns = {"forms": forms, "upos": symbols, "symbols": symbols, attribute: values}
            trees.append(DependencyTree(heads=of_sentence, **columns))
        return trees


def _tabulate_words(words, statistics, backoff):
    known = zip(statistics.tags.tolist(), words.tolist(), strict=True)
    return {pair: k for k, pair in enumerate(known)}, back_off_words(statistics, float(backoff))
