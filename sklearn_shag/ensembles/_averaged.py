"""Averages of parsers: marginals of several, of any kind, decoded together."""

import warnings
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_scalar

from sklearn_shag.encoding import (
    asked_once,
    check_sentences,
    check_trees,
    encode_labels,
    list_labels,
)
from sklearn_shag.ensembles._base import Ensemble
from sklearn_shag.parsing import (
    MIN_SENTENCES,
    CalibratedMixin,
    Scored,
    average_choices,
    correct,
    learn_calibrations,
    solve,
)
from sklearn_shag.sequences import join_names
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._parallel import delayed, progress, run_parallel
from sklearn_shag.utils._param_validation import StrOptions
from sklearn_shag.utils._typing import ArrayLike, ObjectArray


class AveragedSHAG(CalibratedMixin, Ensemble):
    r"""Average of parsers: soft voting for trees.

    The arc marginals of several parsers of any kind are averaged, and the best tree is found from
    the averages. The log probabilities of labels and of learned tags are averaged too. Members
    learn and parse independently: their symbols and labels may differ, one may be a pipeline that
    reads other columns, and one may have learned from other trees.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members, by name. Each is a parser of this package, or a
        :class:`~sklearn.pipeline.Pipeline` that ends in one. `fit` fits copies of them; a member in
        a :class:`~sklearn.frozen.FrozenEstimator` stays as it is.
    weights : None or array-like of shape (n_estimators,), default=None
        Weights of the members; they are divided by their sum. None weights all members equally. A
        member with weight 0 is not used.
    calibrate : bool, default=True
        Whether to learn a correction that makes probabilities match frequencies: of the heads with
        probability 0.8, four in five are right. Copies of the members are fitted to each half of
        the trees and parse the other half, which doubles the time of `fit`. The members' own values
        of this parameter are ignored, because an average of corrected probabilities is
        underconfident. Nothing is learned if members are frozen or learn without heads, or from
        fewer than 20 sentences. Predicted trees do not change.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of the logarithms of the averages, and
        "max_marginal" the sum of the averages. "mst" is like "mbr", but its trees may have crossing
        arcs. The members' own values of this parameter are ignored.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Work is split over members. With None or 1, each member uses its
        own `n_jobs`.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    named_estimators_ : Bunch
        The fitted members by name.
    estimators_ : list of estimators
        The fitted members in order.
    temperatures_, uniform_shares_ : ndarrays of shape (2,)
        How the probabilities of heads and of their labels are corrected; 1 and 0 mean no
        correction.
    labels_ : ndarray of shape (n_labels,), dtype object
        The relations of arcs (str) known to members with positive weight, sorted.
    tag_column_ : None or str
        The column of tags learned by the first member that has positive weight and has learned any.
        All members that have learned this column are averaged to predict it.
    tags_ : ndarray of shape (n_tags,), dtype object
        The tags that these members know, sorted.

    See Also
    --------
    ProductSHAG : Multiplies grammars, one of which may have hidden states.
    sklearn.ensemble.VotingClassifier : Does the same for classes.

    Notes
    -----
    Let the weights :math:`w_k` sum to 1, and let :math:`\mu_k(h, m)` be the marginals of the
    members, each repaired as in the member itself. "mbr" finds exactly the tree with the largest
    :math:`\sum_{(h, m)} \log \sum_k w_k \mu_k(h, m)`. These averages are the marginals of the
    mixture :math:`\sum_k w_k P_k(y \mid x)` of the members' distributions over the trees of a
    sentence. `conditional_log_likelihood` and `sample_trees` use this mixture. It is not a grammar:
    sentences cannot be drawn from it and have no probability.

    The label of an arc is the one with the largest :math:`\sum_k w_k \log p_k(l \mid h, m)`, over
    the members that know any labels; tags are chosen in the same way. A probability below 1e-6
    counts as 1e-6, so a label that one member does not know can be chosen if others are sure of it.

    It takes little more time than its members together.

    References
    ----------
    Goodman (1996), Parsing Algorithms and Metrics, on decoding from marginals.

    Examples
    --------
    >>> from sklearn_shag import EMSHAG, AveragedSHAG, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> train, test = trees[:300], trees[300:]
    >>> em = EMSHAG(4, init="moments", smoothing=1, max_iter=100)
    >>> model = AveragedSHAG([("spectral", SpectralSHAG(4)), ("em", em)]).fit(train)
    >>> [round(member.score(test), 3) for member in model.estimators_]
    [0.81, 0.82]
    >>> round(model.score(test), 3)
    0.835

    Parameters of members can be searched, together with the weights:

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"spectral__n_states": [2, 4], "weights": [[1, 1], [2, 1]]}
    >>> GridSearchCV(model, grid, cv=2).fit(train).best_params_
    {'spectral__n_states': 4, 'weights': [1, 1]}
    """

    _parameter_constraints = {
        **Ensemble._parameter_constraints,
        "calibrate": ["boolean"],
        "decoder": [StrOptions({"mbr", "max_marginal", "mst"})],
    }
    _report_marginals = None  # those of members are repaired before they are averaged

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        *,
        weights: ArrayLike | None = None,
        calibrate: bool = True,
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.calibrate = calibrate
        self.decoder = decoder
        self.max_tokens = max_tokens
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def of_seeds(
        cls, estimator: Any, n_estimators: int = 3, *, random_state: int = 0, **params: Any
    ) -> Self:
        """Make an average of copies of one estimator with different seeds.

        Parameters
        ----------
        estimator : estimator
            A parser, or a pipeline that ends in one. It is not modified.
        n_estimators : int, default=3
            Number of copies; the first is "seed0".
        random_state : int, default=0
            Seed of the first copy, replacing the estimator's own; each further seed is larger by 1.
            All parts of an estimator that have this parameter get the same seed.
        **params
            Further parameters of the average.

        Returns
        -------
        estimator : AveragedSHAG
            The average, not fitted.

        Raises
        ------
        ValueError
            If no part of the estimator has the parameter `random_state`, `n_estimators` is below 1,
            or `random_state` is below 0.
        TypeError
            If `n_estimators` or `random_state` is not a whole number.

        Examples
        --------
        >>> from sklearn_shag import AveragedSHAG, RefinedSHAG
        >>> AveragedSHAG.of_seeds(RefinedSHAG(n_refinements=2), 2, n_jobs=2)
        AveragedSHAG(estimators=[('seed0',
                                  RefinedSHAG(n_refinements=2, random_state=0)),
                                 ('seed1',
                                  RefinedSHAG(n_refinements=2, random_state=1))],
                     n_jobs=2)
        """
        check_scalar(n_estimators, "n_estimators", Integral, min_val=1)
        check_scalar(random_state, "random_state", Integral, min_val=0)
        names = clone(estimator).get_params()
        names = [name for name in names if name.split("__")[-1] == "random_state"]
        if not names:
            raise ValueError(
                f"This {type(estimator).__name__} has no random_state: copies of it would be the "
                f"same. Give an estimator that has one, such as BiaffineParser."
            )
        seeds = range(random_state, random_state + n_estimators)
        members = [clone(estimator).set_params(**dict.fromkeys(names, seed)) for seed in seeds]
        return cls([(f"seed{k}", member) for k, member in enumerate(members)], **params)

    def _score(self, batch, rung=0):
        if rung:
            return None
        averages, members = 0, {}
        weights = self._member_weights(len(self.estimators_))
        for k in self._asked():
            # What crosses is seen to here, whatever the decoders of members.
            of_member = batch.of_member(k)._replace(crossing=None)
            score = self._parser_at(k)._score
            members[k], marginals = solve(score, _take_corrected, of_member)
            averages = averages + weights[k] / weights.sum() * marginals
        scored = Scored(None, None, *self._labellers(batch, members=members))
        if self.tag_column_ is not None:
            tag_proba = partial(self._tag_proba, members)
            scored = scored._replace(tags=lambda: tag_proba().argmax(axis=1), tag_proba=tag_proba)
        return scored._replace(marginals=averages, calibration=self._of_heads)

    def _labelling(self):
        """The places of the members that have a weight and know labels."""
        return [k for k in self._asked() if self._parser_at(k)._has_labels]

    def _tagging(self):
        """The places of those that have learned the column of tags."""
        columns = {k: getattr(self._parser_at(k), "tag_column_", None) for k in self._asked()}
        first = next(filter(None, columns.values()), None)
        return [k for k, column in columns.items() if column and column == first]

    @property
    def labels_(self) -> ObjectArray:
        """The relations known to members with positive weight, sorted."""
        return join_names(self._parser_at(k).labels_ for k in self._labelling())

    @property
    def tag_column_(self) -> str | None:
        """The learned column of tags: that of the first member that has learned any."""
        return next((self._parser_at(k).tag_column_ for k in self._tagging()), None)

    @property
    def tags_(self) -> ObjectArray:
        """The tags known to the members that have learned this column, sorted."""
        return join_names(self._parser_at(k).tags_ for k in self._tagging())

    def _label_arcs(self, batch, heads, members=None):
        return self._average_labels(batch, heads, members).argmax(axis=1)

    def _label_proba(self, batch, heads, members=None):
        return self._correct_labels(self._average_labels(batch, heads, members))

    def _average_labels(self, batch, heads, members):
        """Average probabilities of labels; `members` have read the batch, or None."""
        places = self._labelling()
        if members is None:
            found = [self._parser_at(k)._label_proba(batch.of_member(k), heads) for k in places]
        else:
            found = [members[k].label_proba(heads) for k in places]
        return self._average(places, found, "labels_")

    def _tag_proba(self, members):
        places = self._tagging()
        return self._average(places, [members[k].tag_proba() for k in places], "tags_")

    def _average(self, places, found, names):
        """Average the logarithms of probabilities of choices, which members have in `names`."""
        if len(places) == 1:
            return found[0]
        weights = self._member_weights(len(self.estimators_))[places]
        choices = [getattr(self._parser_at(k), names) for k in places]
        members = list(zip(weights, choices, found, strict=True))
        return average_choices(getattr(self, names), members)

    def _predict_parts(self, sentences, allowed, groups=None):
        with asked_once(self._list_sources(), sentences):
            heads, labels, tags = super()._predict_parts(sentences, allowed, groups)
            return heads, labels, self._predict_columns(sentences) or tags

    def _predict_columns(self, sentences):
        """Fill in what taggers within members have learned, those of the same columns together."""
        parsers = {k: self._parser_at(k) for k in self._asked()}
        taggers = {k: p._own_tagger() for k, p in parsers.items() if hasattr(p, "_own_tagger")}
        columns = {k: tuple(tagger.tag_values_) for k, tagger in taggers.items() if tagger}
        if not columns:
            return {}
        first, *_ = columns
        places = [k for k, names in columns.items() if names == columns[first]]
        weights = self._member_weights(len(self.estimators_))[places]
        texts = [open_member(self.estimators_[k]).transform(sentences) for k in places]
        members = [taggers[k] for k in places]
        return taggers[first]._predict_together(members, weights, texts)

    def _learn(self, estimators, sentences, y, sample_weight):
        weights = np.ones(len(sentences)) if sample_weight is None else sample_weight
        counted = np.flatnonzero(weights)
        is_frozen = any(isinstance(v, FrozenEstimator) for v in self.get_params().values())
        knows_heads = y is not None or self._takes_heads_of_trees
        if not self.calibrate or is_frozen or not knows_heads:
            learned = super()._learn(estimators, sentences, y, sample_weight)
            return learned | learn_calibrations([])
        raw = [(name, _without_calibration(member)) for name, member in estimators]
        learned = super()._learn(raw, sentences, y, sample_weight)
        return learned | self._calibrate(raw, sentences, y, weights, counted)

    def _calibrate(self, estimators, sentences, y, weights, counted):
        """Learn to correct probabilities, on halves parsed by what is learned from the other."""
        _, heads = check_trees(sentences, y)
        _, symbols = check_sentences(sentences)
        labels = list_labels(sentences, np.concatenate(heads), y)
        # What is repeated must count as what weighs more, so equal sentences go together.
        parts = zip(symbols, heads, labels, strict=True)
        keys = [(tuple(symbols), heads.tolist(), list(labels)) for symbols, heads, labels in parts]
        order = sorted(counted, key=keys.__getitem__)
        is_new = [True] + [keys[s] != keys[before] for before, s in pairwise(order)]
        firsts, group = np.array(order)[is_new], np.cumsum(is_new) - 1
        if firsts.size < MIN_SENTENCES:
            return learn_calibrations([])
        summed = np.bincount(group, weights[order])
        n_tokens = sum(len(symbols[s]) for s in counted)
        for _, member in estimators:  # copies of those that were given
            _set_schedule(member, n_tokens)
        halves = np.array_split(np.random.default_rng(0).permutation(firsts.size), 2)
        answers = []
        for half, other in (halves, halves[::-1]):
            own = np.sort(np.array(order)[np.isin(group, half)])
            model = clone(self).set_params(estimators=estimators, calibrate=False, verbose=0)
            with warnings.catch_warnings():  # those of the whole are enough
                warnings.simplefilter("ignore")
                of_own = None if y is None else [y[s] for s in own]
                of_weights = None if (weights == 1).all() else weights[own]
                model.fit([sentences[s] for s in own], of_own, of_weights)
                batch = model._batch([sentences[s] for s in firsts[other]])
            true = np.concatenate([heads[s] for s in firsts[other]])
            of_other = encode_labels([labels[s] for s in firsts[other]], model.labels_)
            answers.append(model._answer(batch, true, of_other, summed[other]))
        return learn_calibrations(answers)

    def _condition(self, batch, known, places=None):
        """The logarithm of the mean of what members say; one that says -inf adds nothing."""
        asked, weights = self._asked(), self._member_weights(len(self.estimators_))
        tasks = [
            delayed(self._parser_at(k)._condition)(batch.of_member(k), known, places) for k in asked
        ]
        with progress("Parsing", len(tasks), "estimators", self.verbose) as advance:
            values = run_parallel(tasks, self.n_jobs, lambda _: advance())
        return np.logaddexp.reduce(np.log(weights[asked] / weights.sum())[:, None] + values, axis=0)

    def _draw_trees(self, batch, n_samples, rng):
        """Draw a member for each sample, by its weight, and of that the trees."""
        asked, weights = self._asked(), self._member_weights(len(self.estimators_))
        members = rng.choice(asked, n_samples, p=weights[asked] / weights.sum())
        samples = [np.empty((n_samples, n), dtype=np.int64) for n in np.diff(batch.indptr)]
        for k in np.unique(members):
            chosen, parser = members == k, self._parser_at(k)
            drawn = parser._draw_trees(batch.of_member(k), np.count_nonzero(chosen), rng)
            for of_sentence, of_member in zip(samples, drawn, strict=True):
                of_sentence[chosen] = of_member
        return samples

    def _asked(self):
        return np.flatnonzero(self._member_weights(len(self.estimators_)))


def _take_corrected(batch, scored, marginals):
    return scored, correct(batch, scored, marginals)


def _without_calibration(member):
    """Copy a member as it is to be fitted: what it says is corrected together with all else."""
    member = clone(member)
    names = [name for name in member.get_params() if name.split("__")[-1] == "calibrate"]
    return member.set_params(**dict.fromkeys(names, False))


def _set_schedule(member, n_tokens):
    """Let the networks of a member be trained as if on so many tokens."""
    for part in [member, *member.get_params().values()]:
        if hasattr(part, "_choose_schedule"):
            part.set_params(**part._choose_schedule(n_tokens))
