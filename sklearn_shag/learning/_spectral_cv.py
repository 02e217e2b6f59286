"""Cross-validation of the spectral learner, with one decomposition for all numbers of states."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from sklearn_shag.encoding import check_sentences, encode_trees
from sklearn_shag.learning._automata import fallback_grammar
from sklearn_shag.learning._base import BaseSHAG, Learned
from sklearn_shag.learning._spectral import SpectralSHAG
from sklearn_shag.sequences import count_trees
from sklearn_shag.treebank import Heads, Sentences, UnknownSymbolWarning
from sklearn_shag.utils._arrays import is_collection
from sklearn_shag.utils._parallel import delayed, progress, run_parallel
from sklearn_shag.utils._param_validation import (
    check_sample_weight,
    fit_context,
    validate_parameter_constraints,
)
from sklearn_shag.utils._typing import ArrayLike, FloatArray, IntArray

# Parameters of the learner that all candidates have in common.
FIXED = ("context", "shrinkage", "scaling", "alpha", "mixing")


class SpectralSHAGCV(BaseSHAG):
    """Spectral grammar whose number of states and smoothing are chosen by cross-validation.

    The result is the same as that of a grid search over :class:`SpectralSHAG`. However, trees are
    counted only once in each fold, and each smoothing needs only one singular value decomposition:
    operators with fewer states are leading blocks of those with the most states.

    Parameters
    ----------
    n_states_grid : array-like of int, default=tuple(range(1, 17))
        The numbers of hidden states to try.
    smoothing_grid : array-like of float, default=(0.0, 1.0, 5.0, 20.0)
        The strengths of smoothing to try; see :class:`SpectralSHAG`.
    context, shrinkage, scaling, alpha, mixing : float
        The same for all candidates; see :class:`SpectralSHAG`.
    cv : int, cross-validation generator or iterable, default=None
        How to split the sentences, as in :class:`~sklearn.model_selection.GridSearchCV`: None for
        5 folds, an int for that number of folds; neither shuffles.
    scoring : callable or None, default=None
        The score to maximise: a callable ``scorer(estimator, X, y)``, such as
        :func:`~sklearn_shag.metrics.exact_match_scorer`, or None for the unlabelled attachment
        score. Names of scikit-learn's scorers are refused: none of them understands heads.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen; see :class:`SpectralSHAG`.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Cross-validation is split over folds and smoothings, parsing over
        chunks of sentences.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    n_states_ : int
        The chosen number of states.
    smoothing_ : float
        The chosen smoothing.
    best_score_ : float
        Their mean score over the folds. Ties go to the fewest states, then to the smoothing listed
        first.
    scores_ : ndarray of shape (len(n_states_grid), len(smoothing_grid), n_splits)
        The score of every candidate on every fold.
    cv_results_ : dict of arrays
        The same scores in the format of ``GridSearchCV.cv_results_``, without times.
    n_splits_ : int
        Number of folds.
    symbols_ : ndarray of shape (n_symbols,), dtype object
        Known symbols (str), sorted; the code of each is its position.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    label_counts_ : LabelCounts
        How often each relation occurred, by the symbols at both ends of the arc and its direction.
    operators_ : Operators
        The grammar learned from all trees with the chosen parameters; see :class:`SpectralSHAG`.
    fallback_operators_ : Operators
        A one-state grammar without zeros, for sentences to which `operators_` gives no mass.

    See Also
    --------
    SpectralSHAG : The learner itself.

    Notes
    -----
    With one SVD for all ranks, learning costs little more than for the largest rank alone. Parsing
    costs as much as in a grid search: every candidate parses every fold.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAGCV
    >>> from sklearn_shag.datasets import load_english
    >>> search = SpectralSHAGCV([1, 2, 4], smoothing_grid=[0, 5], cv=3).fit(load_english().data)
    >>> search.n_states_
    4
    >>> search.scores_.mean(axis=2).round(2)
    array([[0.75, 0.75],
           [0.79, 0.79],
           [0.82, 0.82]])
    """

    _parameter_constraints = {
        **BaseSHAG._parameter_constraints,
        "n_states_grid": ["array-like"],
        "smoothing_grid": ["array-like"],
        **{name: SpectralSHAG._parameter_constraints[name] for name in FIXED},
        "cv": ["cv_object"],
        # scikit-learn's named scorers want one class or number a sample, not heads.
        "scoring": [None, callable],
    }

    n_states_: int
    smoothing_: float
    best_score_: float
    scores_: FloatArray
    cv_results_: dict[str, Any]
    n_splits_: int

    def __init__(
        self,
        n_states_grid: Sequence[int] | IntArray = tuple(range(1, 17)),
        *,
        smoothing_grid: Sequence[float] | FloatArray = (0.0, 1.0, 5.0, 20.0),
        context: float = 0.5,
        shrinkage: float = 30.0,
        scaling: float = 0.5,
        alpha: float = 1e-3,
        mixing: float = 0.1,
        cv: Any = None,
        scoring: Callable[..., float] | None = None,
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_states_grid = n_states_grid
        self.smoothing_grid = smoothing_grid
        self.context = context
        self.shrinkage = shrinkage
        self.scaling = scaling
        self.alpha = alpha
        self.mixing = mixing
        self.cv = cv
        self.scoring = scoring
        self.decoder = decoder
        self.max_tokens = max_tokens
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context
    def fit(
        self,
        X: Sentences,
        y: Heads | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameters by cross-validation, then learn from all trees with them.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of n_tokens_i symbols (str).
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root) or is a DependencyTree with
            heads. None uses the heads of the trees in X.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence, in learning and in scores. A callable `scoring` gets the
            weights of a fold as ``sample_weight``.
        groups : None or array-like of shape (n_sentences,), default=None
            Passed to the splitter, for example the document of each sentence.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            As for :meth:`SpectralSHAG.fit`; if a candidate is not a valid parameter, `scoring` is
            a str, or a score is not finite.
        TypeError
            If symbols are not strings.
        """
        # Its import takes half as long as the whole package, and no command needs it.
        from sklearn.model_selection import ParameterGrid, check_cv

        self._check_parsing()
        grids = {"n_states": self.n_states_grid, "smoothing": self.smoothing_grid}
        for name, values in grids.items():
            places = {f"{name}_grid[{k}]": value for k, value in enumerate(values)}
            constraints = dict.fromkeys(places, SpectralSHAG._parameter_constraints[name])
            validate_parameter_constraints(constraints, places, type(self).__name__)
        grid = ParameterGrid(grids)
        models = [self._model(**params) for params in grid]
        sentences, _ = check_sentences(X)
        y = list(y) if is_collection(y) else y
        # Errors of the data come before any work, and number sentences as the caller does.
        everything = encode_trees(sentences, y, sample_weight, learner=type(self).__name__)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, sentences)

        splits = list(check_cv(self.cv).split(sentences, y, groups))
        with warnings.catch_warnings():
            # Warned of above, for all sentences.
            warnings.simplefilter("ignore", UnknownSymbolWarning)
            scores = self._score_splits(models, splits, (sentences, y, sample_weight))
        if not np.isfinite(scores).all():
            worst = grid[int(np.argmin(np.isfinite(scores).all(axis=1)))]
            raise ValueError(f"scoring={self.scoring!r} is not a finite number for {worst}.")
        results = format_results(list(grid), scores)
        best = int(results["rank_test_score"].argmin())
        statistics = count_trees(everything)
        learned = self._model(**grid[best])._learn_operators(statistics, None, None)
        self._become_fitted(
            statistics,
            Learned(learned.operators),
            fallback_grammar(statistics.statistics),
            cv_results_=results,
            n_splits_=len(splits),
            scores_=scores.reshape(len(self.n_states_grid), len(self.smoothing_grid), -1),
            n_states_=grid[best]["n_states"],
            smoothing_=grid[best]["smoothing"],
            best_score_=float(results["mean_test_score"][best]),
        )
        return self

    def score(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score the predicted trees in the same way as the folds.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            The true heads; None uses those of the trees in X.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence.

        Returns
        -------
        score : float
            The value of `scoring`, by default the unlabelled attachment score.
        """
        if self.scoring is None:
            return super().score(X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._make_scorer(self)(self, X, y, **weights)

    def _make_scorer(self, estimator):
        from sklearn.metrics import check_scoring  # slow to import

        return check_scoring(estimator, scoring=self.scoring)

    def _model(self, n_states, smoothing):
        fixed = {name: getattr(self, name) for name in (*FIXED, "decoder", "n_jobs")}
        return SpectralSHAG(n_states, smoothing=smoothing, **fixed)

    def _score_splits(self, models, splits, data):
        """Score models, in the order of their grid, on every split; rows are models."""
        scorer = self._make_scorer(models[0])
        counts = (delayed(_count_part)(data, train) for train, _ in splits)
        trained = run_parallel(counts, self.n_jobs)
        tasks = [
            delayed(_score_ranks)(
                models[k :: len(self.smoothing_grid)],
                statistics,
                scorer,
                _take_sentences(data, test),
            )
            for statistics, (_, test) in zip(trained, splits, strict=True)
            for k in range(len(self.smoothing_grid))
        ]
        with progress("Cross-validation", len(tasks), "decompositions", self.verbose) as advance:
            columns = run_parallel(tasks, self.n_jobs, lambda _: advance())
        # From (split, smoothing, rank) to the order of the grid: rank, then smoothing.
        shape = (len(splits), len(self.smoothing_grid), len(self.n_states_grid))
        return np.reshape(columns, shape).transpose(2, 1, 0).reshape(len(models), len(splits))


def _count_part(data, chosen):
    return count_trees(encode_trees(*_take_sentences(data, chosen)))


def _take_sentences(data, chosen):
    """Take chosen sentences from all parts of data, which are sequences or None."""
    return [None if part is None else [part[i] for i in chosen] for part in data]


def _score_ranks(models, statistics, scorer, test):
    """Score models that differ only in their number of states."""
    largest = max(models, key=lambda model: model.n_states)
    automata = largest._decompose(statistics)
    fallback = fallback_grammar(statistics.statistics)
    X, y, sample_weight = test
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    scores = []
    for model in map(clone, models):  # models are shared with the threads of other splits
        model._become_fitted(statistics, model._cut(automata, statistics), fallback)
        scores.append(scorer(model, X, y, **weights))
    return scores


def format_results(candidates, scores):
    """Tabulate scores, (n_candidates, n_splits), in the form of scikit-learn's `cv_results_`."""
    mean = np.average(scores, axis=1)
    return {
        **{
            f"param_{name}": np.ma.array([params[name] for params in candidates])
            for name in candidates[0]
        },
        "params": candidates,
        **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
    }
