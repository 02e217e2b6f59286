"""Parsers made of parsers: named members, their parameters, their fits."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch

from sklearn_shag._parser import Parser
from sklearn_shag.encoding import (
    MemberCodes,
    ask_vectors,
    check_sentences,
    check_trees,
    require_whole,
)
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._arrays import is_collection
from sklearn_shag.utils._estimators import BaseComposition, name_members, open_member, weight_name
from sklearn_shag.utils._parallel import delayed, progress, run_parallel
from sklearn_shag.utils._param_validation import (
    LARGEST_NUMBER,
    VisualBlock,
    check_sample_weight,
    fit_members_context,
)
from sklearn_shag.utils._typing import ArrayLike


class ComposedParser(BaseComposition, Parser):
    """Parser made of named parsers, in the manner of scikit-learn's voting estimators.

    A subclass has the parameters `estimators` and `weights` beside those of Parser. It may
    refuse more in `_check_members`.
    """

    _parameter_constraints = {
        **Parser._parameter_constraints,
        "estimators": [list],
        "weights": ["array-like", None],
    }

    named_estimators_: Bunch

    def __init__(
        self,
        *,
        estimators: list[tuple[str, Any]],
        weights: ArrayLike | None,
        decoder: str,
        max_tokens: int | None,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        Parser.__init__(
            self, decoder=decoder, max_tokens=max_tokens, n_jobs=n_jobs, verbose=verbose
        )
        self.estimators = estimators
        self.weights = weights

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members."""
        return list(self.named_estimators_.values())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters, by default those of the members too.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include members by name, and their parameters as ``name__parameter``.

        Returns
        -------
        params : dict
            Parameter values by name.
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including those of members and whole members.

        Parameters
        ----------
        **params : dict
            New values, by the names that :meth:`get_params` returns: ``name__parameter`` sets a
            parameter of a member, ``name`` replaces the whole member.

        Returns
        -------
        self : object
            The estimator itself.
        """
        return self._set_params("estimators", **params)

    def _check_members(self):
        """Check the given members, and list them as OpenMember."""
        if not self.estimators:
            raise ValueError("estimators is empty: give at least one pair of a name and a parser.")
        for k, pair in enumerate(self.estimators):
            if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
                raise TypeError(
                    f"estimators[{k}] must be a pair of a name and a parser, got {pair!r:.80}"
                )
        self._validate_names([name for name, _ in self.estimators])
        return [check_member(*pair) for pair in self.estimators]

    def _member_weights(self, n_members):
        """Check the weights, which set_params may have changed since fit, and make them an array.

        It is of shape (n_members,); None gives ones.
        """
        if self.weights is None:
            return np.ones(n_members)
        try:
            weights = np.array(self.weights, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"weights must be numbers, got {self.weights!r}: {error}") from None
        if weights.shape != (n_members,):
            raise ValueError(
                f"weights must be one number for each of {n_members} estimators, got "
                f"{self.weights!r}"
            )
        with np.errstate(over="ignore"):
            total = weights.sum()
        if not total <= LARGEST_NUMBER or weights.min() < 0 or total == 0:
            raise ValueError(
                f"weights must be finite, none of them negative, not all zero, and sum to at most "
                f"{LARGEST_NUMBER:g}, got {self.weights!r}"
            )
        return weights

    def _sk_visual_block_(self):
        names, members = zip(*self.estimators, strict=True)
        return VisualBlock("parallel", members, names=names)


class Ensemble(ComposedParser):
    """Composed parser whose members learn independently."""

    @property
    def _needs_whole_trees(self):
        names = (open_member(each).parser._needs_whole_trees for each in self._list_unfrozen())
        return next(filter(None, names), None)

    @property
    def _takes_heads_of_trees(self):
        return any(map(_takes_heads_of_trees, self._list_unfrozen()))

    @fit_members_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit copies of all members; those that are frozen stay as they are.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of n_tokens_i symbols (str), in a form that
            all members accept.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root) or is a DependencyTree with
            heads. None uses the heads of the trees in X; members that learn from raw text then
            get none.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out. In a pipeline, the last step gets the weights.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, a sentence has no tokens, heads are missing or not a tree, weights are
            negative or all zero, or a parameter, also of a member, is invalid. Also if heads are
            unknown (-1) and a member needs whole trees.
        TypeError
            If symbols are not strings, or a member is not a parser.
        sklearn.exceptions.NotFittedError
            If a frozen member is not fitted.
        """
        self._check_parsing()
        self._check_members()
        self._member_weights(len(self.estimators))
        # Errors of the data come before any work, even in data that members ignore.
        y = list(y) if is_collection(y) else y
        learner = self._needs_whole_trees
        if y is None and not self._takes_heads_of_trees:
            sentences, _ = check_sentences(X)
        else:
            sentences, heads = check_trees(X, y, partial=learner is None)
        weights = check_sample_weight(sample_weight, sentences)
        if learner is not None:
            require_whole(sentences, np.concatenate(heads), weights > 0, y, learner=learner)
        if sample_weight is not None:
            sample_weight = weights
        for source in collect_sources(self._list_unfrozen()):
            ask_vectors(source, sentences, self.verbose)
        vars(self).update(self._learn_members(self.estimators, sentences, y, sample_weight))
        return self

    def _list_unfrozen(self):
        """List the members that `fit` fits copies of."""
        return [each for _, each in self.estimators if not isinstance(each, FrozenEstimator)]

    def _learn_members(self, estimators, sentences, y, sample_weight):
        """Fit copies of members, and return the learned attributes by name."""
        names, members = zip(*estimators, strict=True)
        tasks = [
            delayed(fit_member)(member, sentences, _choose_y(member, sentences, y), sample_weight)
            for member in members
        ]
        with progress("Learning", len(tasks), "estimators", self.verbose) as advance:
            fitted = run_parallel(tasks, self.n_jobs, advance)
        return {"named_estimators_": name_members(zip(names, fitted, strict=True))}

    def _encode(self, sentences, symbols, indptr):
        """Encode sentences by each member with a weight; return MemberCodes."""
        codes, asked = [None] * len(self.estimators_), self._list_weighted()
        for source in self._list_sources():
            ask_vectors(source, sentences)
        tasks = [delayed(_encode_member)(member, sentences, indptr) for member in asked]
        for member, found in zip(asked, run_parallel(tasks, self.n_jobs), strict=True):
            codes[member.place] = found
        return MemberCodes(codes)

    def _list_sources(self):
        members = getattr(self, "named_estimators_", dict(self.estimators))
        return collect_sources(members.values())

    def _list_weighted(self):
        """List each fitted member with a weight as WeightedMember."""
        members = self.estimators_
        weights = self._member_weights(len(members)).tolist()
        rows = enumerate(zip(weights, members, strict=True))
        return [WeightedMember(k, w, *open_member(member)) for k, (w, member) in rows if w]

    @property
    def _kinds(self):
        return set().union(*(member.parser._kinds for member in self._list_weighted()))


class WeightedMember(NamedTuple):
    """A fitted member of an ensemble, opened as by open_member."""

    place: int  # among all members
    weight: float
    transform: Any  # takes sentences, returns the parser's input
    parser: Parser


def collect_sources(members):
    """List the sources of vectors in context of members that get the sentences unchanged."""
    opened = (m.estimator if isinstance(m, FrozenEstimator) else m for m in members)
    return [s for member in opened if isinstance(member, Parser) for s in member._list_sources()]


def _encode_member(member, sentences, indptr):
    member.parser._check_ready()
    return member.parser._encode(*check_sentences(member.transform(sentences)), indptr)


def check_member(name, member):
    opened = open_member(member)
    if not isinstance(opened.parser, Parser):
        raise TypeError(
            f"The estimator {name!r} must be a parser of this package, or a pipeline with one at "
            f"its end, got {type(opened.parser).__name__}. Give an instance of a class; leave out "
            f"unwanted members, or give them the weight 0. For a search, give its best_estimator_, "
            f"or search over the parameters of the whole, such as {name}__decoder."
        )
    return opened


def _takes_heads_of_trees(member):
    return open_member(member).parser._takes_heads_of_trees


def _choose_y(member, sentences, y):
    """Choose the `y` to fit a member with."""
    if y is not None:
        return y
    # Steps of a pipeline may lose heads and relations, so trees are passed as y as well, but not to
    # composed parsers, some of whose members may learn without heads.
    is_composed = isinstance(member, ComposedParser)
    return sentences if _takes_heads_of_trees(member) and not is_composed else None


def fit_member(member, sentences, y, sample_weight):
    """Fit a copy of a member; frozen members are not copied."""
    weights = {} if sample_weight is None else {weight_name(member): sample_weight}
    # Weights go to the parser, even if members request other routing of scikit-learn.
    with config_context(enable_metadata_routing=False):
        return clone(member).fit(sentences, y, **weights)
