"""DummyParser: a baseline that ignores words, and that any parser has to beat."""

from __future__ import annotations

from typing import Literal, Self
from zlib import crc32

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag._parser import Parser
from sklearn_shag.encoding import check_heads, check_sentences
from sklearn_shag.parsing import score_by_arcs
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._param_validation import StrOptions, check_sample_weight, fit_context
from sklearn_shag.utils._typing import ArrayLike, RandomSeed

# The score of an arc of the chain above that of any other, in nats: almost certain.
CERTAIN = 50.0


class DummyParser(Parser):
    """Baseline parser that ignores the words of a sentence.

    Its trees are the same for all sentences of the same length, or random. Any useful parser has to
    be better.

    Parameters
    ----------
    strategy : {"right", "left", "random"}, default="right"
        Which trees it predicts:

        - "right": every token depends on the next one, and the last is the root (attach-right);
        - "left": every token depends on the previous one, and the first is the root;
        - "random": the best projective tree for random arc scores, always the same for the same
          sentence.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="viterbi"
        How trees are chosen, as for other parsers; chains do not depend on it. The default differs
        from theirs because a random tree is, by definition, the best one for its scores.
    random_state : int, RandomState instance or None, default=None
        Seeds the random trees, in `fit`.
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
    seed_ : int
        Seed of the random trees.

    See Also
    --------
    DMV : Learns trees from raw text, and is not always better.
    DeterministicSHAG : The simplest parser that learns from trees.

    Notes
    -----
    The arcs `allowed` in :meth:`predict` take precedence: among the allowed trees, the one with the
    most arcs of the chain, or with the best scores, is predicted.

    Examples
    --------
    >>> from sklearn_shag import DummyParser
    >>> sentences = [["DET", "NOUN", "VERB", "ADV"]]
    >>> DummyParser("right").fit(sentences).predict(sentences)[0]
    array([2, 3, 4, 0])
    >>> DummyParser("left").fit(sentences).predict(sentences)[0]
    array([0, 1, 2, 3])
    """

    _parameter_constraints = {
        **Parser._parameter_constraints,
        "strategy": [StrOptions({"right", "left", "random"})],
        "random_state": ["random_state"],
    }
    _parsing_parameters = (*Parser._parsing_parameters, "strategy")

    _needs_whole_trees = None
    _takes_heads_of_trees = False
    _deterministic = True

    seed_: int

    def __init__(
        self,
        strategy: Literal["right", "left", "random"] = "right",
        *,
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "viterbi",
        random_state: RandomSeed = None,
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(decoder=decoder, max_tokens=max_tokens, n_jobs=n_jobs, verbose=verbose)
        self.strategy = strategy
        self.random_state = random_state

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Check sentences and draw a seed, without learning anything.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, with or without heads, or a sequence of symbols.
        y : None or sequence of length n_sentences, default=None
            Heads, -1 if unknown. They are checked but otherwise ignored.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weights; they are checked but otherwise ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, a sentence has no tokens, given heads cannot be part of a tree, weights
            are negative or all zero, or a parameter is invalid.
        TypeError
            If symbols are not strings.
        """
        self._check_parsing()
        sentences, _ = check_sentences(X)
        if y is not None:
            check_heads(sentences, y, partial=True)
        check_sample_weight(sample_weight, sentences)
        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return self

    def _encode(self, sentences, symbols, indptr):
        # One number per sentence, repeated for each token.
        numbers = [crc32("\t".join(sentence).encode()) for sentence in symbols]
        return np.repeat(numbers, np.diff(indptr))

    def _score(self, batch, rung=0):
        if rung:
            return None
        numbers, lengths = batch.codes[batch.indptr[:-1]], np.diff(batch.indptr)
        arcs = [self._score_sentence(*each).ravel() for each in zip(numbers, lengths, strict=True)]
        return score_by_arcs(batch.indptr, np.concatenate(arcs))

    def _score_sentence(self, number, n_tokens):
        """Score the arcs of a sentence, (n_tokens, n_tokens + 1), by its number and length."""
        if self.strategy == "random":
            return np.random.default_rng([self.seed_, number]).gumbel(size=(n_tokens, n_tokens + 1))
        tokens = np.arange(1, n_tokens + 1)
        heads = tokens - 1 if self.strategy == "left" else (tokens + 1) % (n_tokens + 1)
        return CERTAIN * (heads[:, None] == np.arange(n_tokens + 1))
