"""The concave model of dependencies: every token chooses its head independently of the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Literal, Self

import numpy as np

from sklearn_shag._parser import Parser
from sklearn_shag.automata import Expected, climb_to_the_end, warn_of_limit
from sklearn_shag.encoding import RIGHT, Alphabet, all_arcs, observed_arcs
from sklearn_shag.induction._text import RawTextMixin, check_root_symbols
from sklearn_shag.induction._valence import normalise_outcomes
from sklearn_shag.learning import OperatorMixin, fallback_from_uses
from sklearn_shag.operators import Operators, complete_grammar
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._arrays import TINY
from sklearn_shag.utils._param_validation import Interval, fit_context
from sklearn_shag.utils._typing import ArrayLike


def learn_concave(text, symbols, root_symbols=None, *, max_iter=100, tol=0.0, start=None):
    """Learn how probable each symbol is given its head and the direction, by EM.

    Parameters
    ----------
    text : EncodedText
    symbols : sequence of str
    root_symbols : None or collection of str
        In sentences that have some of these no other token may be the root.
    max_iter : int
    tol : float
        EM ends when an iteration raises the log likelihood by no more than this per sentence.
    start : None or ndarray of shape (n_symbols + 2, 2, n_symbols)
        Probabilities to start from; None for uniform ones. The optimum does not depend on them.

    Returns
    -------
    ended : EMResult
        Its parameters are probabilities of shape (n_symbols + 2, 2, n_symbols): by head (also the
        unknown one, the pool, and the root symbol), direction and modifier.
    """
    n_symbols = len(symbols)
    shape = (Alphabet(n_symbols).n_heads, 2, n_symbols)
    arcs = all_arcs(text.indptr)
    tokens = arcs.tokens(text.indptr)
    chosen = np.flatnonzero(
        (arcs.modifiers != arcs.heads)
        & observed_arcs(text.heads, arcs, text.indptr)
        & _roots_left(text, symbols, root_symbols, arcs.heads, tokens)
    )
    of_arcs = arcs.symbols(text.codes, text.indptr, Alphabet(n_symbols).root)
    places = np.ravel_multi_index([part[chosen] for part in of_arcs], shape)
    weights = np.repeat(text.weights, np.diff(text.indptr))
    expect = partial(_expect_heads, places, tokens[chosen], weights)
    start = np.full(shape, 1.0 / n_symbols) if start is None else start
    return climb_to_the_end(
        start,
        expect,
        partial(normalise_outcomes, n_axes=1),
        max_iter=max_iter,
        tol=tol,
        n_samples=text.weights.sum(),
    )


def _roots_left(text, symbols, root_symbols, heads, tokens):
    """Mask of arcs (n_arcs,): root symbols alone may be roots in sentences that have any."""
    if root_symbols is None:
        return np.ones(tokens.size, dtype=bool)
    may = np.isin(np.asarray(symbols, dtype=object), list(root_symbols))[text.codes]
    may &= text.heads <= 0  # known roots, and unknown heads
    some = np.logical_or.reduceat(may, text.indptr[:-1])
    refused = ~may & np.repeat(some, np.diff(text.indptr)) & (text.heads != 0)
    return (heads > 0) | ~refused[tokens]


def _expect_heads(places, tokens, weights, probabilities):
    """The E step: expected counts of arcs; each token chooses its head (theory, eq. 46)."""
    of_arcs = probabilities.ravel()[places]
    # Where the weights of sentences are tiny beside others, their probabilities become 0.
    of_tokens = np.maximum(np.bincount(tokens, of_arcs, weights.size), TINY)
    shares = of_arcs / of_tokens[tokens] * weights[tokens]
    counts = np.bincount(places, shares, probabilities.size).reshape(probabilities.shape)
    counts[-2] = counts[:-2].sum(axis=0)  # the unknown head: counts of all heads
    log_likelihood = float(weights @ np.log(of_tokens))
    return Expected(counts, log_likelihood, log_likelihood)


def as_grammar(probabilities):
    """Make the operators of a one-state grammar with probabilities of modifiers and free stops."""
    ones = np.ones((probabilities.shape[0] - 1, 2, 1))
    automata = Operators(ones, ones, probabilities[:-1, :, :, None, None])
    return complete_grammar(automata, probabilities[-1, RIGHT])


class ConcaveParser(RawTextMixin, OperatorMixin, Parser):
    """Parser learned from raw text by a concave model, with the same result for any start of EM.

    Each token chooses its head independently, as words choose their source words in IBM Model 1, by
    the probability of its symbol given that of the head and the direction. Predictions are the best
    projective trees. Without `y`, **heads of the trees in X are ignored**.

    Parameters
    ----------
    root_symbols : None or list or tuple of str, default=None
        Symbols that roots must have in training, for example ``("VERB", "AUX")``. Sentences without
        these symbols are not restricted. None allows any symbol.
    max_length : None or int, default=10
        Longer sentences are left out of training. None keeps all sentences.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=0.0
        EM has converged when an iteration raises the log likelihood by no more than this per
        sentence, in nats.
    nonprojective : {"lift", "drop"}, default="lift"
        What to do with sentences whose heads are all known and whose arcs cross, as for
        :class:`CRFParser`.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="viterbi"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), and "viterbi" the
        product of probabilities. "mst" is like "mbr", but its trees may have crossing arcs. The
        default is the model's own best tree, the most probable choice of all heads together; "mbr"
        was 1 to 7 points better on UD English EWT, French Sequoia and Turkish IMST.
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
        Symbols (str) of the training sentences, sorted; the code of each is its position.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty unless `y` has trees with relations.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    operators_ : Operators
        A one-state grammar: `A` has shape (n_symbols + 2, 2, n_symbols + 1, 1, 1) and holds the
        probabilities of modifiers given head and direction. Stopping is free: `alpha_inf` is 1.
    fallback_operators_ : Operators
        A grammar without zeros, for sentences to which `operators_` gives no mass.
    loss_curve_ : list of float
        Minus the log likelihood, in nats, of the training sentences after 0, 1, ..., `n_iter_`
        iterations. The log likelihood is the sum over tokens of the logarithm of the summed
        probabilities of the token given each head that it may have.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether EM converged within `max_iter` iterations.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        In `fit`, if `tol` is positive and EM has not converged.

    See Also
    --------
    DMV : Starts from it with ``init="concave"``, and is usually better.

    Notes
    -----
    See theory, eq. 46. In training, heads are independent: nothing forces them to form a tree.
    Sentences have no probability and cannot be drawn; :meth:`conditional_log_likelihood` scores
    trees by the product of their arcs.

    References
    ----------
    Gimpel and Smith (2012), Concavity and initialization for unsupervised dependency parsing.

    Examples
    --------
    >>> from sklearn_shag import ConcaveParser
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import remove_punctuation
    >>> trees = remove_punctuation(load_english().data)
    >>> model = ConcaveParser(root_symbols=("VERB", "AUX")).fit(trees)
    >>> round(model.score(trees), 2)
    0.3
    """

    _parameter_constraints = {
        **Parser._parameter_constraints,
        **RawTextMixin._parameter_constraints,
        "root_symbols": [None, list, tuple],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    _deterministic = True

    def __init__(
        self,
        root_symbols: Sequence[str] | None = None,
        *,
        max_length: int | None = 10,
        max_iter: int = 100,
        tol: float = 0.0,
        nonprojective: Literal["lift", "drop"] = "lift",
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "viterbi",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            max_length=max_length,
            max_iter=max_iter,
            tol=tol,
            nonprojective=nonprojective,
            decoder=decoder,
            max_tokens=max_tokens,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.root_symbols = root_symbols

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the probabilities of symbols given their heads, from sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, **whose heads are ignored**, or a sequence of n_tokens_i
            symbols (str).
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 if unknown) or is a
            DependencyTree with heads. None if no heads are known.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, all sentences are too long, heads cannot be part of a tree, none of
            `root_symbols` occurs, weights are negative or all zero, or a parameter is invalid. The
            message names the sentence.
        TypeError
            If symbols are not strings.

        Warns
        -----
        UserWarning
            If sentences are left out because no projective tree with one root has their heads.
        sklearn.exceptions.ConvergenceWarning
            If `tol` is positive and EM has not converged.
        """
        self._check_parsing()
        raw = self._prepare_text(X, y, sample_weight)
        roots = check_root_symbols(self.root_symbols, raw.symbols)
        found = learn_concave(raw.text, raw.symbols, roots, max_iter=self.max_iter, tol=self.tol)
        if self.tol > 0 and not found.converged:
            warn_of_limit(self.max_iter)
        uses = found.expected.counts[:-1]  # STOP is free: it has no uses
        uses = np.concatenate([uses, np.zeros_like(uses[:, :, :1])], axis=2)
        fallback = fallback_from_uses(uses, found.expected.counts[-1].sum(axis=0))
        return self._take_over(raw, (as_grammar(found.parameters), fallback), found)
