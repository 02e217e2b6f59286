"""The dependency model with valence, learned from raw text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag.automata import warn_of_limit
from sklearn_shag.encoding import RIGHT, all_arcs, name_sentence
from sklearn_shag.induction._starts import from_operators, make_start, split_states
from sklearn_shag.induction._text import (
    RawTextMixin,
    check_root_symbols,
    score_by_rules,
    score_rules,
)
from sklearn_shag.induction._valence import ValenceForm, count_uses, improve_model, to_grammar
from sklearn_shag.learning import BaseSHAG, fallback_from_uses
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import chart
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._estimators import check_same_symbols
from sklearn_shag.utils._parallel import progress
from sklearn_shag.utils._param_validation import (
    LARGEST_COUNT,
    LARGEST_NUMBER,
    Interval,
    Options,
    StrOptions,
    fit_context,
)
from sklearn_shag.utils._typing import ArrayLike, RandomSeed


class DMV(RawTextMixin, BaseSHAG):
    """Dependency model with valence, learned from raw text by expectation maximisation.

    On each side, a head either stops or takes another modifier, drawn from one distribution. The
    probabilities of stopping differ before and after the first modifier. Without `y`, **heads of
    the trees in X are ignored**: the model is learned from the sentences alone. Pass known heads as
    `y`.

    Parameters
    ----------
    init : {"harmonic", "uniform", "random", "concave"} or Operators, default="harmonic"
        Where EM starts, which determines where it ends:

        - "harmonic": expected counts if each token chooses its head independently, preferring near
          ones by the inverse of their distance (Klein and Manning);
        - "uniform": all modifiers equally probable, and stop probabilities of 1/2;
        - "random": random probabilities;
        - "concave": the modifier distributions of :class:`ConcaveParser`, and stop probabilities of
          1/2;
        - a grammar as in `operators_`, from another DMV or ``DeterministicSHAG("first")``, over the
          symbols of the sentences that are not too long. Its zeros stay zero if `prior` is 0.
    algorithm : {"em", "viterbi"}, default="em"
        Whether to use expected counts over all trees of each sentence, or the counts of its best
        tree. With ``init="uniform"`` the first counts are always expected ones, because all trees
        are equally good at that point.
    tied : bool, default=True
        Whether modifiers have the same distribution before and after the first one. False is the
        extended model, with the automata of ``DeterministicSHAG("first")``.
    n_states : None or int, default=None
        Number of hidden states of each automaton. Once the model has been learned, its states are
        split at random and EM continues. None means no hidden states.
    rules : None, "ud", or list or tuple of tuples of str, default=None
        Arcs to prefer: head and modifier, followed by "left" or "right" if the rule holds on one
        side only; ``"<root>"`` is the root. "ud" is a dozen rules for the universal tags.
    rule_strength : float, default=2.0
        What an arc that follows a rule adds to the logarithm of the value of a tree; from -1e9 to
        1e9.
    predict_with_rules : bool, default=False
        Whether rules also apply in predictions, not only in training.
    root_symbols : None or list or tuple of str, default=None
        For ``init="concave"``, as for :class:`ConcaveParser`.
    prior : float, default=0.1
        Pseudo-counts of each outcome of each distribution; not sequences of the pool, unlike the
        `smoothing` of other grammars.
    prior_inference : {"map", "variational"}, default="map"
        How the prior is used: "map" takes the mode under Dirichlet distributions with parameters
        1 + `prior`; "variational" takes their mean field approximation with parameters `prior`,
        which must then be positive.
    max_length : None or int, default=10
        Longer sentences are left out of training. None keeps all sentences.
    max_iter : int, default=100
        Maximum number of iterations; with hidden states, up to this many more.
    tol : float, default=1e-4
        EM has converged when an iteration raises the objective by no more than this per sentence,
        in nats.
    warm_start : bool, default=False
        Whether EM starts from the operators of the previous `fit`, if there was one, instead of
        from `init`. The symbols must be the same.
    nonprojective : {"lift", "drop"}, default="lift"
        What to do with sentences whose heads are all known and whose arcs cross, as for
        :class:`CRFParser`.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), and "viterbi",
        without hidden states, the probability. "mst" is like "mbr", but its trees may have crossing
        arcs.
    random_state : int, RandomState instance or None, default=None
        Seeds the random starts and the differences between split states.
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
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Symbols (str) of the training sentences, sorted; the code of each is its position.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty unless `y` has trees with relations.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    operators_ : Operators
        `alpha_1` and `alpha_inf` have shape (n_symbols + 2, 2, n), `A` has shape (n_symbols + 2, 2,
        n_symbols + 1, n, n), with n = 2, before the first modifier and after it, or `n_states`.
        Heads ``n_symbols`` and ``n_symbols + 1`` are the unknown head and the root symbol; symbol
        ``n_symbols`` is the unknown modifier.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which `operators_` gives no mass.
    loss_curve_ : list of float
        What EM lowers, in nats, after 0, 1, ..., `n_iter_` iterations: minus the log likelihood of
        the training sentences, with each tree weighted by `rules`, minus the logarithm of the
        prior. With "viterbi" it is that of their best trees; with "variational" it is a bound. If
        there are hidden states, the values are from the iterations that learn them.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether EM converged within `max_iter` iterations.

    See Also
    --------
    ConcaveParser : A model with one optimum, where "concave" starts.
    DummyParser : The chain of tokens, which may be better than this model.
    DeterministicSHAG : The same automata, learned from trees.
    CRFParser : The better learner if some heads are known.

    Notes
    -----
    **Do not select models by likelihood.** Of several starts, the one with the highest likelihood
    is usually not the one with the best trees. Knowledge helps: rules, or the operators of another
    language to start from. Without it, induction is worse than the chain of tokens on some
    treebanks. The user guide has the figures.

    See theory, eqs. 41 to 45. Figures in the literature are for sentences of at most ten words
    without punctuation; see :func:`~sklearn_shag.treebank.remove_punctuation`. Each iteration
    visits sentences with equal symbols and known heads only once.

    References
    ----------
    Klein and Manning (2004), Corpus-based induction of syntactic structure.

    Headden, Johnson and McClosky (2009), Improving unsupervised dependency parsing with richer
    contexts and smoothing.

    Gimpel and Smith (2012), Concavity and initialization for unsupervised dependency parsing.

    Cohen and Smith (2010), Viterbi training for PCFGs.

    Naseem, Chen, Barzilay and Johnson (2010), Using universal linguistic knowledge to guide grammar
    induction.

    Examples
    --------
    >>> from sklearn_shag import DMV
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import remove_punctuation
    >>> trees = remove_punctuation(load_english().data)
    >>> model = DMV("uniform", rules="ud").fit(trees)          # heads of trees are not looked at
    >>> round(model.score(trees), 2)
    0.68
    """

    _parameter_constraints = {
        **BaseSHAG._parameter_constraints,
        **RawTextMixin._parameter_constraints,
        "init": [StrOptions({"harmonic", "uniform", "random", "concave"}), Operators],
        "algorithm": [StrOptions({"em", "viterbi"})],
        "tied": ["boolean"],
        "n_states": [None, Interval(Integral, 2, LARGEST_COUNT, closed="both")],
        "rules": [None, StrOptions({"ud"}), list, tuple],
        "rule_strength": [Interval(Real, -1e9, 1e9, closed="both")],
        "predict_with_rules": ["boolean"],
        "root_symbols": [None, list, tuple],
        # Of smaller ones there is no digamma function.
        "prior": [Options(Real, {0}), Interval(Real, 1e-300, LARGEST_NUMBER, closed="both")],
        "prior_inference": [StrOptions({"map", "variational"})],
        "max_iter": [Interval(Integral, 0, LARGEST_COUNT, closed="both")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    _parsing_parameters = (
        *BaseSHAG._parsing_parameters,
        *("rules", "rule_strength", "predict_with_rules"),
    )

    def __init__(
        self,
        init: Literal["harmonic", "uniform", "random", "concave"] | Operators = "harmonic",
        *,
        algorithm: Literal["em", "viterbi"] = "em",
        tied: bool = True,
        n_states: int | None = None,
        rules: Literal["ud"] | Sequence[Sequence[str]] | None = None,
        rule_strength: float = 2.0,
        predict_with_rules: bool = False,
        root_symbols: Sequence[str] | None = None,
        prior: float = 0.1,
        prior_inference: Literal["map", "variational"] = "map",
        max_length: int | None = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        nonprojective: Literal["lift", "drop"] = "lift",
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "mbr",
        random_state: RandomSeed = None,
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
        self.init = init
        self.algorithm = algorithm
        self.tied = tied
        self.n_states = n_states
        self.rules = rules
        self.rule_strength = rule_strength
        self.predict_with_rules = predict_with_rules
        self.root_symbols = root_symbols
        self.prior = prior
        self.prior_inference = prior_inference
        self.warm_start = warm_start
        self.random_state = random_state

    @property
    def _deterministic(self):
        return self.n_states is None

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn a grammar from sentences and from known heads, if any.

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
            negative or all zero, or parameters are invalid or incompatible. Also if no tree of a
            sentence is possible under the start, no rule applies to symbols of X, or `warm_start`
            is used with other symbols. The message names the sentence.
        TypeError
            If symbols are not strings.

        Warns
        -----
        UserWarning
            If sentences are left out because no projective tree with one root has their heads.
        sklearn.exceptions.ConvergenceWarning
            If EM has not converged.
        """
        self._check_parsing()
        self._check_combination()
        raw = self._prepare_text(X, y, sample_weight, self.rules, self.rule_strength)
        found = self._climb(raw)
        if not found.converged:
            warn_of_limit(self.max_iter, "; scores need not improve")
        counts = found.expected.counts
        fallback = fallback_from_uses(count_uses(counts), counts.A[-1, RIGHT, :-1, 0, 0])
        return self._take_over(raw, (to_grammar(found.parameters, self._form()), fallback), found)

    def _check_combination(self):
        """Refuse parameters that contradict each other."""
        if self.n_states is not None and self.algorithm == "viterbi":
            raise ValueError(
                f"algorithm='viterbi' learns from the best trees, which need known states: set "
                f"n_states=None, not {self.n_states}, or algorithm='em'."
            )
        if self.prior_inference == "variational" and self.prior == 0:
            raise ValueError(
                "prior_inference='variational' needs a prior: set prior to a positive number."
            )

    def _climb(self, raw):
        """Run EM on text from the start, and return its EMResult."""
        n_runs = 1 if self.n_states is None else 2
        with progress("EM", n_runs * (self.max_iter + 1), "iterations", self.verbose) as advance:
            run = partial(
                improve_model,
                raw.text,
                max_iter=self.max_iter,
                tol=self.tol,
                n_jobs=self.n_jobs,
                advance=advance,
            )
            start, first_converged = self._find_start(raw, run)
            found = self._run(run, start)
        return found._replace(converged=first_converged and found.converged)

    @property
    def _is_warm(self):
        return self.warm_start and hasattr(self, "operators_")

    def _form(self, split=True):
        """Return the form of the automata; without `split`, the form before states are hidden."""
        hidden = split and self.n_states is not None
        n_states = self.n_states if hidden else 2
        return ValenceForm(n_states, self.tied, hidden, self.prior, self.prior_inference)

    def _run(self, run, start, *, split=True):
        viterbi = self.algorithm == "viterbi"
        # A uniform start makes all trees equally good: Viterbi would count the first one alone.
        by_all_first = viterbi and self.init == "uniform" and not self._is_warm
        return run(start, self._form(split), viterbi=viterbi, by_all_first=by_all_first)

    def _find_start(self, raw, run):
        """Return the start, and whether EM before states are hidden, if they are, has converged."""
        rng, form = check_random_state(self.random_state), self._form(split=self._is_warm)
        if self._is_warm:
            check_same_symbols(self, raw.symbols, "grammar")
            start = from_operators(self.operators_, raw.symbols.size, form)
        else:
            roots = check_root_symbols(self.root_symbols, raw.symbols)
            start = make_start(self.init, raw.text, raw.symbols, form, root_symbols=roots, rng=rng)
        self._check_possible(raw, to_grammar(start, form))
        if self._is_warm or self.n_states is None:
            return start, True
        found = self._run(run, start, split=False)
        return split_states(found.parameters, self._form(), rng), found.converged

    def _check_possible(self, raw, grammar):
        """Refuse sentences that have no tree under the start."""
        found = chart(grammar, raw.text.potentials, marginals=False, n_jobs=self.n_jobs)
        impossible = np.flatnonzero(found.sign <= 0)
        if impossible.size:
            s = impossible[0]
            raise ValueError(
                f"{name_sentence(raw.merged.sentences[s], raw.merged.kept[s])} has no tree with "
                f"its known heads that is possible under init, nor have {impossible.size - 1} "
                f"other sentences. Start from operators without zeros, or set "
                f"init to a name."
            )

    def _score_jointly(self, batch, rung=0):
        return super()._score(batch, rung)

    def _score(self, batch, rung=0):
        scored = super()._score(batch, rung)
        if scored is None or self.rules is None or not self.predict_with_rules:
            return scored
        table = score_rules(self.rules, self.rule_strength, self.symbols_)
        arcs = score_by_rules(table, all_arcs(batch.indptr), batch.codes, batch.indptr)
        return scored._replace(potentials=scored.potentials._replace(arcs=arcs))
