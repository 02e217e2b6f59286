"""Mixtures of grammars of other languages, weighted by raw text."""

from __future__ import annotations

from functools import partial, reduce
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.automata import Expected, climb_to_the_end, warn_of_limit
from sklearn_shag.conditional import count_known_labels
from sklearn_shag.encoding import LEFT, RIGHT, encode_sentences
from sklearn_shag.ensembles import ComposedParser
from sklearn_shag.induction._text import RawTextMixin
from sklearn_shag.learning import BaseSHAG
from sklearn_shag.operators import Operators, complete_grammar, direct_sum, root_masses
from sklearn_shag.parsing import chart
from sklearn_shag.sequences import TreebankStatistics, merge_labels
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._estimators import name_members
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import progress
from sklearn_shag.utils._param_validation import Interval, StrOptions, fit_context
from sklearn_shag.utils._typing import ArrayLike, FloatArray


def align_grammar(operators, codes, shares):
    """Write a grammar over other symbols, some of which it may not know.

    A symbol that it does not know gets its share of the mass of all symbols, and the known symbols
    keep the rest. So no sum over symbols changes, and a grammar that knows fewer symbols has no
    advantage.

    Parameters
    ----------
    operators : Operators
        Of a grammar.
    codes : int ndarray of shape (n_symbols,)
        Codes of the new symbols in the grammar.
    shares : ndarray of shape (n_symbols,)
        How frequent each symbol is in text, positive; their sum is 1.

    Returns
    -------
    operators : Operators
        Of the grammar over the new symbols.
    """
    unknown = operators.A.shape[2] - 1
    missing = codes == unknown
    factors = np.where(missing, shares, 1.0 - shares[missing].sum())
    heads = np.append(codes, unknown)
    alpha_1, alpha_inf, A = (part[heads] for part in operators)
    roots = root_masses(operators)
    return complete_grammar(
        Operators(alpha_1, alpha_inf, A[:, :, codes] * factors[:, None, None]),
        np.append(roots, roots.sum())[codes] * factors,
    )


def mix_grammars(grammars, weights):
    """Mix grammars: sequences of a head and direction have the weighted mean of their values.

    Parameters
    ----------
    grammars : list of Operators
        Grammars over the same symbols, as from :func:`align_grammar`.
    weights : ndarray of shape (n_grammars, n_symbols + 2, 2)
        Weight of each grammar by head and direction.

    Returns
    -------
    operators : Operators
        Of the grammar: the direct sum, with the states of all (theory, eq. 47). Roots have the mean
        of their distributions.
    """
    parts = [
        Operators(w[:-1, :, None] * g.alpha_1[:-1], g.alpha_inf[:-1], g.A[:-1, :, :-1])
        for w, g in zip(weights, grammars, strict=True)
    ]
    roots = weights[:, -1, RIGHT] @ _roots_of(grammars)[:, :-1]
    return complete_grammar(reduce(direct_sum, parts), roots)


def _roots_of(grammars):
    """Probabilities of root symbols and, last, of an unknown one: (n_grammars, n_symbols + 1)."""
    return np.stack([grammar.A[-1, RIGHT, :, 0, 0] for grammar in grammars])


def _expect_sequences(grammars, text, n_jobs, weights):
    """The E step (theory, eq. 48): expected sequences of each grammar, head and direction."""
    found = chart(
        mix_grammars(grammars, weights),
        text.potentials,
        marginals=False,
        counts=True,
        sample_weight=text.weights,
        n_jobs=n_jobs,
    )
    ends = np.cumsum([grammar.alpha_1.shape[-1] for grammar in grammars])
    starts = np.split(found.counts.alpha_1, ends[:-1], axis=-1)
    uses = np.stack([each.sum(axis=-1) for each in starts])
    # The root has one state for all grammars: its symbol tells which of them it may come from.
    joint = weights[:, -1, RIGHT, None] * _roots_of(grammars)
    total = joint.sum(axis=0)
    emitted = found.counts.A[-1, RIGHT, :, 0, 0]
    uses[:, -1, LEFT] = 0.0
    shares = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    uses[:, -1, RIGHT] = shares @ emitted
    counted = text.weights > 0
    scores = np.where(found.sign > 0, found.log_abs_z, -np.inf)
    log_likelihood = float(text.weights[counted] @ scores[counted])
    return Expected(uses, log_likelihood, log_likelihood)


def _share_out(uses, tied):
    """The M step: share of each grammar in the uses of a head or, if it has none, of all heads."""
    if tied:
        return np.broadcast_to(_divide_uses(uses.sum(axis=(1, 2), keepdims=True)), uses.shape)
    pool = uses[:, :-1].sum(axis=1, keepdims=True)
    return _divide_uses(np.where(uses.sum(axis=0) > 0, uses, pool))


def _divide_uses(uses):
    """Divide uses by their sum over grammars, which get equal shares where it is 0."""
    total = uses.sum(axis=0)
    return np.divide(uses, total, out=np.full(uses.shape, 1.0 / len(uses)), where=total > 0)


class MixtureSHAG(RawTextMixin, ComposedParser, BaseSHAG):
    r"""Mixture of fitted grammars of helper languages, weighted by raw text.

    A language without trees is parsed by the grammars of other languages. On each side, each head
    has the automata of all helpers, and a weight for each helper. Only these weights are learned,
    from sentences. **Heads of the trees in X are ignored**.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The helpers, by name: grammars of operators, such as SpectralSHAG, EMSHAG, DeterministicSHAG
        or DMV, fitted, each in a :class:`~sklearn.frozen.FrozenEstimator`.
    weights : {"em", "uniform"} or array-like of shape (n_estimators,), default="em"
        Weights of the helpers. "em" learns them for each head and side and for the root; "uniform"
        weights all helpers equally. Numbers are used for all heads and divided by their sum.
    tied : bool, default=False
        Whether EM learns one weight of each helper for all heads, instead of one for each head.
    max_length : None or int, default=10
        Longer sentences are left out of training. None keeps all sentences.
    max_iter : int, default=100
        Maximum number of iterations of EM.
    tol : float, default=1e-4
        EM has converged when an iteration raises the log likelihood by no more than this per
        sentence, in nats.
    nonprojective : {"lift", "drop"}, default="lift"
        What to do with sentences whose heads are all known and whose arcs cross, as for
        :class:`CRFParser`.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper), and
        "max_marginal" the sum of marginals (the expected number of correct arcs). "mst" is like
        "mbr", but its trees may have crossing arcs. The helpers' own values of this parameter are
        ignored.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Learning and parsing are split over chunks of sentences. What is
        learned does not depend on it.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    named_estimators_ : Bunch
        The helpers by name.
    estimators_ : list of estimators
        The helpers in order.
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Symbols (str) that any helper knows, sorted; the code of each is its position.
    weights_ : ndarray of shape (n_estimators, n_symbols + 2, 2)
        Weight of each helper by head and direction, 0 left, 1 right. The weights of all helpers sum
        to 1. Heads ``n_symbols`` and ``n_symbols + 1`` are the unknown head and the root symbol. Of
        the root symbol, only the weights on the right count.
    labels_ : ndarray of shape (n_labels,), dtype object
        Relations of arcs (str), sorted: those of `y` if it has any, otherwise those of all helpers.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    operators_ : Operators
        `alpha_1` and `alpha_inf` have shape (n_symbols + 2, 2, n), `A` has shape (n_symbols + 2, 2,
        n_symbols + 1, n, n), with the states of all helpers, n in total.
    fallback_operators_ : Operators
        The mixture of the helpers' fallback grammars.
    loss_curve_ : list of float
        Minus the log likelihood, in nats, of the training sentences after 0, 1, ..., `n_iter_`
        iterations; EM leaves out sentences for which no helper has a tree. With given weights it
        has one entry, which can be used to compare them.
    n_iter_ : int
        Number of iterations; 0 unless weights are learned.
    converged_ : bool
        Whether EM converged within `max_iter` iterations.

    See Also
    --------
    DMV : Learns a grammar from raw text without helpers.
    AveragedParser : Averages other parsers of the same languages, with the weights of a mixture.
    sklearn_shag.operators.mixture : The mixture of two automata.

    Notes
    -----
    See theory, eqs. 47 and 48. The operators of the mixture are the direct sum of those of the
    helpers, so its chart has the states of all helpers.

    Helpers must be fitted, because raw text cannot teach them what they need trees for. They must
    be frozen, because cross-validation would otherwise discard what they have learned.

    The symbols are those that any helper knows. For a symbol that it does not know, a helper uses
    its values of unknown symbols, divided among these by their share of the text; see the theory. A
    symbol that no helper knows is a missing observation.

    Spectrally learned automata are not probabilities, so EM cannot tell which helper a sequence
    comes from: "em" refuses them, but other weights accept any. **It is usually better to average
    other parsers of the helpers** with these weights; see `weights` of :class:`AveragedParser` and
    :ref:`weighted_helpers`.

    References
    ----------
    Cohen, Das and Smith (2011), Unsupervised structure prediction with non-parallel multilingual
    guidance.

    Examples
    --------
    A grammar of the language, and one of its mirror image, in which all words are reversed:

    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn_shag import DeterministicSHAG, MixtureSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> train, test = trees[:300], trees[300:]
    >>> near = DeterministicSHAG(smoothing=1).fit(train)
    >>> heads = [[len(tree) + 1 - h if h else 0 for h in tree.heads[::-1]] for tree in train]
    >>> far = DeterministicSHAG(smoothing=1).fit([tree.symbols[::-1] for tree in train], heads)
    >>> helpers = [("near", FrozenEstimator(near)), ("far", FrozenEstimator(far))]
    >>> model = MixtureSHAG(helpers, tied=True, max_length=None).fit(test)   # looks at tags alone
    >>> model.weights_[:, 0, 0].round(2)
    array([1., 0.])
    >>> [round(parser.score(test), 2) for parser in (near, far, model)]
    [0.77, 0.27, 0.77]
    """

    _parameter_constraints = {
        **BaseSHAG._parameter_constraints,
        **ComposedParser._parameter_constraints,
        **RawTextMixin._parameter_constraints,
        "weights": [StrOptions({"em", "uniform"}), "array-like"],
        "tied": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "decoder": [StrOptions({"mbr", "max_marginal", "mst"})],
    }

    weights: Any
    weights_: FloatArray

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        *,
        weights: Literal["em", "uniform"] | ArrayLike = "em",
        tied: bool = False,
        max_length: int | None = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        nonprojective: Literal["lift", "drop"] = "lift",
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimators=estimators,
            weights=weights,
            max_length=max_length,
            max_iter=max_iter,
            tol=tol,
            nonprojective=nonprojective,
            decoder=decoder,
            max_tokens=max_tokens,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.tied = tied

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the weights of helpers from sentences and from known heads, if any.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, **whose heads are ignored**, or a sequence of n_tokens_i
            symbols (str).
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 if unknown) or is a
            DependencyTree with heads. None if no heads are known. To use the heads of trees, pass
            the trees as `y`.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, all sentences are too long, heads cannot be part of a tree, weights are
            negative or all zero, or a parameter is invalid. Also if no sentence has a tree that is
            possible under a helper, a helper is not frozen, or a helper has negative operators,
            from which EM cannot learn.
        TypeError
            If symbols are not strings, or a helper is not a grammar of operators.
        sklearn.exceptions.NotFittedError
            If a helper is not fitted.

        Warns
        -----
        UserWarning
            If sentences are left out because no projective tree with one root has their heads, or
            because helpers have no tree for them.
        UnknownSymbolWarning
            If no helper knows more than 5 % of the symbols.
        sklearn.exceptions.ConvergenceWarning
            If EM has not converged.
        """
        self._check_parsing()
        helpers = [parser for _, parser in self._check_members()]
        symbols = sorted(set().union(*(helper.symbols_ for helper in helpers)))
        raw = self._prepare_text(X, y, sample_weight, symbols=symbols)
        symbols, shares = raw.symbols, _share_symbols(raw.text, raw.symbols.size)
        coded = [(h, encode_sentences([symbols], h.symbols_, check=False)[0]) for h in helpers]
        grammars = [align_grammar(h.operators_, codes, shares) for h, codes in coded]
        fallbacks = [align_grammar(h.fallback_operators_, codes, shares) for h, codes in coded]
        found = self._mix(grammars, raw.text)
        if not found.converged:
            warn_of_limit(self.max_iter, "; scores need not improve")
        return self._take_over(
            raw,
            [mix_grammars(each, found.parameters) for each in (grammars, fallbacks)],
            found,
            labels=_learn_labels(raw.separate, symbols, helpers),
            named_estimators_=name_members(self.estimators),
            weights_=np.array(found.parameters),
        )

    def _mix(self, grammars, text):
        """Run EM from uniform weights (eq. 48), or compute the likelihood of the given weights."""
        learns, start = self._learns_weights, self._member_weights(len(grammars))
        start = np.broadcast_to(
            (start / start.sum())[:, None, None], (start.size, *grammars[0].alpha_1.shape[:2])
        )
        max_iter = self.max_iter if learns else 0
        if learns:
            text = self._drop_impossible(grammars, text, start)
        with progress("EM", max_iter + 1, "iterations", self.verbose) as advance:
            found = climb_to_the_end(
                start,
                partial(_expect_sequences, grammars, text, self.n_jobs),
                partial(_share_out, tied=self.tied),
                max_iter=max_iter,
                tol=self.tol,
                n_samples=float(text.weights.sum()),
                advance=advance,
            )
        return found._replace(converged=found.converged or not learns)

    def _drop_impossible(self, grammars, text, weights):
        """Set the weights of sentences without a tree in the mixture to 0."""
        grammar = mix_grammars(grammars, weights)
        possible = chart(grammar, text.potentials, marginals=False, n_jobs=self.n_jobs).sign > 0
        if not possible.any():
            raise ValueError(
                "No sentence of X has a tree that is possible under a helper. Fit helpers with "
                "smoothing, and on trees with the symbols of X."
            )
        if not possible.all():
            warn(
                f"{np.count_nonzero(~possible)} of {possible.size} different sentences are left "
                f"out of training, since no helper has a tree for them. Fit helpers with "
                f"smoothing, or DMV with a prior.",
                UserWarning,
            )
        return text._replace(weights=np.where(possible, text.weights, 0.0))

    @property
    def _learns_weights(self):
        return isinstance(self.weights, str) and self.weights == "em"

    def _member_weights(self, n_members):
        has_name = isinstance(self.weights, str)
        return np.ones(n_members) if has_name else super()._member_weights(n_members)

    def _check_members(self):
        opened = super()._check_members()
        for (name, member), (_, parser) in zip(self.estimators, opened, strict=True):
            if not isinstance(member, FrozenEstimator):
                raise ValueError(
                    f"The helper {name!r} is not frozen. Raw text does not teach helpers: fit it "
                    f"first, on trees of its language, and give it as FrozenEstimator(helper), "
                    f"from sklearn.frozen."
                )
            if not isinstance(parser, BaseSHAG) or parser is not member.estimator:
                raise TypeError(
                    f"The helper {name!r} must be a grammar of operators, got "
                    f"{type(member.estimator).__name__}. AveragedParser combines parsers of any "
                    f"kind, but learns no weights; a pipeline goes around the mixture."
                )
            check_is_fitted(parser)
            if self._learns_weights and min(part.min() for part in parser.operators_) < 0:
                raise ValueError(
                    f"The helper {name!r} has negative operators, as {type(parser).__name__} "
                    f"learns them: weights='em' needs probabilities. Take EMSHAG, "
                    f"DeterministicSHAG or DMV, or other weights."
                )
        self._member_weights(len(opened))
        return opened


def _share_symbols(text, n_symbols):
    """Shares of symbols among the tokens, (n_symbols,), with one pseudo-count of each symbol."""
    weights = np.repeat(text.weights, np.diff(text.indptr))
    counts = np.bincount(text.codes, weights, minlength=n_symbols + 1)[:n_symbols] + 1.0
    return counts / counts.sum()


def _learn_labels(trees, symbols, helpers):
    """Count the relations of known trees or, if these have none, merge the counts of helpers."""
    learned = count_known_labels(trees, symbols)
    helpers = [helper for helper in helpers if helper._has_labels]
    if learned["labels_"].size or not helpers:
        return learned
    parts = [TreebankStatistics(h.symbols_, None, h.labels_, h.label_counts_) for h in helpers]
    codes = [np.searchsorted(symbols, helper.symbols_) for helper in helpers]
    return dict(zip(learned, merge_labels(parts, codes, symbols.size), strict=True))
