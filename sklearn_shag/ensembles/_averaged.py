"""Averages of parsers: marginals of several, of any kind, decoded together."""

from __future__ import annotations

import warnings
from copy import copy
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag._parser import CalibratedMixin
from sklearn_shag.encoding import (
    check_sentences,
    check_trees,
    encode_labels,
    list_labels,
    take_entries,
)
from sklearn_shag.ensembles._base import ComposedParser, Ensemble, fit_member
from sklearn_shag.network import BiaffineParser, Tagger, TagLookup, join_values, pick_proba
from sklearn_shag.parsing import (
    MIN_SENTENCES,
    TREES,
    Labeller,
    Mixture,
    MixtureSeeds,
    Scored,
    Tagging,
    average_choices,
    encode_combinations,
    learn_calibrations,
)
from sklearn_shag.sequences import join_names
from sklearn_shag.treebank import DependencyTree
from sklearn_shag.utils._arrays import TINY, group_equal, in_chunks
from sklearn_shag.utils._estimators import (
    BaseEstimator,
    Pipeline,
    TransformerMixin,
    find_params,
    keep,
    open_member,
    set_in_parts,
)
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._param_validation import HasMethods, StrOptions, check_whole_number
from sklearn_shag.utils._typing import ArrayLike, FloatArray, ObjectArray

AVERAGED_CHUNK = 200  # sentences with tags to be averaged at once
# From this number of tokens on, calibration is learned on half of the trees: it has few parameters.
ENOUGH = 2_000


class AveragedParser(CalibratedMixin, Ensemble):
    r"""Average of parsers: soft voting for trees.

    The arc marginals of several parsers of any kind are averaged, and the best tree is found from
    the averages. The log probabilities of labels and of learned tags are averaged too. Members
    learn and parse independently: their symbols and labels may differ, one may be a pipeline that
    reads other columns, and one may have learned from other trees. Taggers that would be equal,
    since they have the same parameters and seed, are fitted once.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members, by name. Each is a parser of this package, or a
        :class:`~sklearn.pipeline.Pipeline` that ends in one. `fit` fits copies of them; a member in
        a :class:`~sklearn.frozen.FrozenEstimator` stays as it is.
    weights : None, array-like of shape (n_estimators,) or MixtureSHAG, default=None
        Weights of the members; they are divided by their sum. None weights all members equally. A
        member with weight 0 is not used. A :class:`MixtureSHAG` learns weights from raw text, for
        frozen members of other languages: its helpers are grammars of the same languages, with the
        names of the members. A copy of it with ``tied=True`` is fitted to the symbols of X, and the
        weight of a helper becomes that of the member.
    trees : {"auto", "projective", "all"}, default="auto"
        The trees that the best one is found among: projective ones, or all with one root. Members
        of both kinds may stand together. "auto" takes all trees if members with at least half of
        the weight sum over all trees (see `trees` of :class:`BiaffineParser`).
    calibrate : bool, default=True
        Whether to learn a correction that makes probabilities match frequencies: of the heads with
        probability 0.8, four in five are right. Copies of the members are fitted to half of the
        trees and parse the other half, and with fewer than 2,000 tokens the other way round, too.
        A :class:`Tagger` in front of a member is not fitted again: its folds tag all trees without
        having seen them. This takes up to as long as the rest of `fit`. The members' own values
        of this parameter are ignored, because an average of corrected probabilities is
        underconfident. Nothing is learned if members are frozen or learn without heads, or from
        fewer than 20 sentences. Predicted trees do not change.
    decoder : {"mbr", "max_marginal", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of the logarithms of the averages, and
        "max_marginal" the sum of the averages. "mst" is like "mbr", but in any case among all
        trees. The members' own values of this parameter are ignored.
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
    shares_ : ndarray of shape (n_estimators,)
        The weights that `fit` has learned or was given, divided by their sum.
    temperatures_, uniform_shares_ : ndarrays of shape (2,)
        How the probabilities of heads and of their labels are corrected; 1 and 0 mean no
        correction.
    unique_relations_ : tuple of str
        Relations that a head has at most once, unless :meth:`parse` is told otherwise: nsubj and
        obj. Empty if held-out trees have neither, if LAS on them falls by more than 0.1 plus one
        standard error, with fewer than 20 training trees, and without `calibrate`.
    labels_ : ndarray of shape (n_labels,), dtype object
        The relations of arcs (str) known to members with positive weight, sorted.
    tag_column_ : None or str
        The column of tags learned by the first member that has positive weight and has learned any.
        All members that have learned this column are averaged to predict it.
    tags_ : ndarray of shape (n_tags,), dtype object
        The tags that these members know, sorted.

    See Also
    --------
    ProductParser : Multiplies grammars, one of which may have hidden states.
    MixtureSHAG : Mixes grammars of other languages, and learns their weights from raw text.
    sklearn.ensemble.VotingClassifier : Does the same for classes.

    Notes
    -----
    Let the weights :math:`w_k` sum to 1, and let :math:`\mu_k(h, m)` be the marginals of the
    members, each repaired as in the member itself. "mbr" finds exactly the tree with the largest
    :math:`\sum_{(h, m)} \log \sum_k w_k \mu_k(h, m)`. These averages are the marginals of the
    mixture :math:`\sum_k w_k P_k(y \mid x)` of the members' distributions over the trees of a
    sentence. `conditional_log_likelihood` and `sample_heads` use this mixture. It is not a grammar:
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
    >>> from sklearn_shag import EMSHAG, AveragedParser, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> train, test = trees[:200], trees[200:]
    >>> em = EMSHAG(4, smoothing=1, max_iter=100, random_state=0)
    >>> model = AveragedParser([("spectral", SpectralSHAG(4)), ("em", em)]).fit(train)
    >>> [round(member.score(test), 3) for member in model.estimators_]
    [0.814, 0.812]
    >>> round(model.score(test), 3)
    0.822

    Parameters of members can be searched, together with the weights:

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"spectral__n_states": [2, 4], "weights": [[1, 1], [2, 1]]}
    >>> GridSearchCV(model, grid, cv=2).fit(train).best_params_
    {'spectral__n_states': 4, 'weights': [1, 1]}

    Parsers of other languages, here English and its mirror image, parse sentences without trees.
    Grammars of the same languages find out how much each counts:

    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn_shag import CRFParser, DeterministicSHAG, MixtureSHAG
    >>> heads = [[len(tree) + 1 - h if h else 0 for h in tree.heads[::-1]] for tree in train]
    >>> symbols = [tree.symbols[::-1] for tree in train]
    >>> def learn(make):
    ...     near, far = make().fit(train), make().fit(symbols, heads)
    ...     return [("near", FrozenEstimator(near)), ("far", FrozenEstimator(far))]
    >>> grammars = learn(lambda: DeterministicSHAG(smoothing=1))
    >>> parsers = learn(lambda: CRFParser(["symbol"], n_features=2**14, random_state=0))
    >>> text = [list(tree.symbols) for tree in test]
    >>> model = AveragedParser(parsers, weights=MixtureSHAG(grammars)).fit(text)
    >>> model.shares_.round(2)
    array([1., 0.])
    >>> round(model.score(text, test), 2)
    0.81
    """

    _parameter_constraints = {
        **Ensemble._parameter_constraints,
        "weights": ["array-like", None, HasMethods("fit")],
        "trees": [StrOptions({"auto", *TREES})],
        "calibrate": ["boolean"],
        "decoder": [StrOptions({"mbr", "max_marginal", "mst"})],
    }

    shares_: FloatArray = np.empty(0)  # while the weights are not learned

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        *,
        weights: ArrayLike | Any | None = None,
        trees: Literal["auto", "projective", "all"] = "auto",
        calibrate: bool = True,
        decoder: Literal["mbr", "max_marginal", "mst"] = "mbr",
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimators=estimators,
            weights=weights,
            decoder=decoder,
            max_tokens=max_tokens,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.trees = trees
        self.calibrate = calibrate

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
        estimator : AveragedParser
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
        >>> from sklearn_shag import AveragedParser, RefinedSHAG
        >>> AveragedParser.of_seeds(RefinedSHAG(n_refinements=2), 2, n_jobs=2)
        AveragedParser(estimators=[('seed0',
                                  RefinedSHAG(n_refinements=2, random_state=0)),
                                 ('seed1',
                                  RefinedSHAG(n_refinements=2, random_state=1))],
                     n_jobs=2)
        """
        check_whole_number(n_estimators, "n_estimators")
        check_whole_number(random_state, "random_state", least=0)
        if not find_params(clone(estimator), "random_state"):
            raise ValueError(
                f"This {type(estimator).__name__} has no random_state: copies of it would be the "
                f"same. Give an estimator that has one, such as BiaffineParser."
            )
        members = [
            (f"seed{k}", set_in_parts(clone(estimator), "random_state", seed))
            for k, seed in enumerate(range(random_state, random_state + n_estimators))
        ]
        return cls(members, **params)

    _score = None  # members score, and `_forest` averages them

    def _forest(self, batch):
        members = self._list_weighted()
        weights = [member.weight for member in members]
        forests = [member.parser._forest(batch.of_member(member.place)) for member in members]
        rows = [(w, forest.scored) for w, forest in zip(weights, forests, strict=True)]
        labels = [(w, own.labeller) for w, own in rows if own.labeller is not None]
        tags = [(w, own.tagging) for w, own in rows if own.tagging is not None]
        scored = Scored(
            labeller=AverageLabeller(self, labels) if labels else None,
            tagging=_average_tagging(self, tags, batch),
            calibration=self._of_heads,
            trees=_choose_kind(self.trees, members),
        )
        return Mixture(forests, np.divide(weights, np.sum(weights)), scored, batch)

    def _list_tagging(self):
        """List the parsers of members that have learned the same column of tags as the first."""
        parsers = [member.parser for member in self._list_weighted()]
        parsers = [parser for parser in parsers if getattr(parser, "tag_column_", None)]
        return [parser for parser in parsers if parser.tag_column_ == parsers[0].tag_column_]

    @property
    def trees_(self) -> str:
        """The kind of trees, "projective" or "all", that the best one is found among."""
        return _choose_kind(self.trees, self._list_weighted())

    @property
    def labels_(self) -> ObjectArray:
        """The relations known to members with positive weight, sorted."""
        parsers = (member.parser for member in self._list_weighted())
        return join_names(parser.labels_ for parser in parsers if parser._has_labels)

    @property
    def tag_column_(self) -> str | None:
        """The learned column of tags, taken from the first member that has learned one."""
        return next((parser.tag_column_ for parser in self._list_tagging()), None)

    @property
    def tags_(self) -> ObjectArray:
        """The tags known to the members that have learned this column, sorted."""
        return join_names(parser.tags_ for parser in self._list_tagging())

    def _learn_members(self, estimators, sentences, y, sample_weight):
        weights = np.ones(len(sentences)) if sample_weight is None else sample_weight
        counted = np.flatnonzero(weights)
        is_frozen = any(isinstance(v, FrozenEstimator) for v in self.get_params().values())
        knows_heads = y is not None or self._takes_heads_of_trees
        calibrates = self.calibrate and not is_frozen and knows_heads
        copied = without_calibration if calibrates else clone
        copies = {name: copied(member) for name, member in estimators}
        taggers = learn_taggers(copies, sentences, sample_weight, self.n_jobs)
        learned = super()._learn_members(copies.items(), sentences, y, sample_weight)
        learned["shares_"] = self._learn_shares(sentences, y, sample_weight)
        fitted = learned["named_estimators_"]
        for each in taggers:
            put_tagger(fitted[each.name], each.tagger)
        if not calibrates:
            return learned | learn_calibrations([])
        for name, member in copies.items():
            own = open_member(member).parser
            if "trees" in own.get_params(deep=False):  # halves might lead to another choice
                own.set_params(trees=open_member(fitted[name]).parser.trees_)
        return learned | self._calibrate_on_halves(copies, sentences, y, weights, counted)

    def _learn_shares(self, sentences, y, sample_weight):
        """Learn the weights of members by the mixture, if any, or divide those that are given."""
        if not hasattr(self.weights, "fit"):
            weights = self._member_weights(len(self.estimators))
            return weights / weights.sum()
        tied = clone(self.weights).set_params(tied=True)
        mixture = fit_member(tied, sentences, y, sample_weight)
        shares = dict(zip(mixture.named_estimators_, mixture.weights_[:, 0, 0], strict=True))
        return np.array([shares[name] for name, _ in self.estimators])

    def _member_weights(self, n_members):
        return self.shares_ if hasattr(self.weights, "fit") else super()._member_weights(n_members)

    def _check_members(self):
        opened, mixture = super()._check_members(), self.weights
        if hasattr(mixture, "fit"):
            is_mixture = isinstance(mixture, ComposedParser) and hasattr(mixture, "tied")
            mixed = {name for name, _ in mixture.estimators} if is_mixture else set()
            if mixed != {name for name, _ in self.estimators}:
                raise ValueError(
                    f"weights must be numbers or a MixtureSHAG whose helpers have the names of the "
                    f"estimators, got {mixture!r:.80}"
                )
        return opened

    def _calibrate_on_halves(self, members, sentences, y, weights, counted):
        """Learn to correct probabilities: a half is parsed by members fitted to the other."""
        _, heads = check_trees(sentences, y)
        _, symbols = check_sentences(sentences)
        labels = list_labels(sentences, np.concatenate(heads), y)
        # Equal sentences are merged: repeating one must count as raising its weight.
        parts = zip(symbols, heads, labels, strict=True)
        keys = [(tuple(own), tuple(of_own.tolist()), tuple(its)) for own, of_own, its in parts]
        order = np.array(sorted(counted, key=keys.__getitem__))
        places, group = group_equal([keys[s] for s in order])
        firsts, summed = order[places], np.bincount(group, weights[order])
        if firsts.size < MIN_SENTENCES:
            return learn_calibrations([])
        n_tokens = sum(len(symbols[s]) for s in counted)
        for member in members.values():
            _set_schedule(member, n_tokens)
        halves = np.array_split(np.random.default_rng(0).permutation(firsts.size), 2)
        answers = []
        for half, other in (halves, halves[::-1])[: 1 if n_tokens >= ENOUGH else 2]:
            own = np.sort(order[np.isin(group, half)])
            model = clone(self).set_params(
                estimators=[*members.items()], calibrate=False, verbose=0
            )
            with warnings.catch_warnings(action="ignore"):  # the fit to all trees has warned
                of_weights = None if (weights == 1).all() else weights[own]
                model.fit(sentences.take(own), take_entries(y, own), of_weights)
                batch = model._batch(sentences.take(firsts[other]))
            true = np.concatenate([heads[s] for s in firsts[other]])
            of_other = encode_labels([labels[s] for s in firsts[other]], model.labels_)
            answers.append(model._answer(batch, true, of_other, summed[other]))
        return learn_calibrations(answers)

    def _draw_seeds(self, batch, n_samples, rng):
        """Draw a member for each sample, by weight; return MixtureSeeds for each sentence."""
        members = self._list_weighted()
        weights, places = [each.weight for each in members], [each.place for each in members]
        shares = np.divide(weights, np.sum(weights))
        chosen = np.searchsorted(places, rng.choice(places, n_samples, p=shares))
        seeds = {
            k: members[k].parser._draw_seeds(batch, np.count_nonzero(chosen == k), rng)
            for k in np.unique(chosen).tolist()
        }
        return [
            MixtureSeeds(chosen, {k: own[s] for k, own in seeds.items()})
            for s in range(batch.indptr.size - 1)
        ]


def _choose_kind(trees, members):
    """Return the kind of trees of an average, with "auto" the one that half of the weight has."""
    if trees != "auto":
        return trees
    of_all = sum(member.weight for member in members if member.parser.trees_ == "all")
    total = sum(member.weight for member in members)
    return "all" if 2 * of_all >= total else "projective"


class AverageLabeller(Labeller):
    """Labels by the averages of members, as pairs of weight and Labeller."""

    def __init__(self, parser, members):
        self._parser, self._members = parser, members
        self.names = join_names(labeller.names for _, labeller in members)

    def scores(self, heads):
        rows = [(w, each.names, each.proba(each.scores(heads))) for w, each in self._members]
        return average_choices(self.names, rows)

    def proba(self, scores):
        return self._parser._correct_labels(scores)


def _average_tagging(parser, members, batch):
    """Average the Tagging of members of a parser for a chunk, as pairs of weight and Tagging.

    Taggers, of several columns or of lemmas, replace tags that are learned along with trees. The
    members with the same columns as the first one are averaged.
    """
    taggers = [(w, each) for w, each in members if len(each.values) > 1 or "lemma" in each.values]
    members = taggers or members
    if not members:
        return None
    _, first = members[0]
    members = [(w, each) for w, each in members if list(each.values) == list(first.values)]
    return AverageTagging(parser, members, batch) if len(members) > 1 else first


class AverageTagging(Tagging):
    """The averages of members with the same columns, as pairs of weight and Tagging."""

    def __init__(self, parser, members, batch):
        parts = [part for _, each in members for part in (each.values, each.combinations)]
        self.values, self.combinations, self._codes = keep(parser, parts, _join_tags)
        self._members, self._n_sentences = members, batch.indptr.size - 1
        _, self._first = members[0]
        self.factors = self._first.factors.place(self._first.values, self.values)

    def entries(self):
        return self._first.entries()

    def find(self, with_proba, relations=()):
        lookup = TagLookup(self.values, self._codes, self.entries(), self.factors, relations)
        proba = []
        for piece in self._list_pieces():
            of_columns = self.proba(piece)
            found = lookup.add([np.log(np.maximum(p, TINY)) for p in of_columns])
            if with_proba:
                proba.append(pick_proba(self.values, found, of_columns))
        return lookup.join(), join_values(proba) if with_proba else {}

    def _list_pieces(self):
        """List places of sentences whose tags are averaged at once, or None for all."""
        if self._n_sentences <= AVERAGED_CHUNK:
            return [None]
        return list(in_chunks(range(self._n_sentences), AVERAGED_CHUNK))

    def proba(self, chosen=None):
        rows = [(weight, each.values, each.proba(chosen)) for weight, each in self._members]
        return [
            average_choices(known, [(weight, own[name], found[k]) for weight, own, found in rows])
            for k, (name, known) in enumerate(self.values.items())
        ]

    def finish(self, found):
        return self._first.finish(found)


def _join_tags(*parts):
    """Return values by column and combinations of tags that any member knows, and their codes."""
    columns, lists = parts[::2], parts[1::2]
    values = {name: join_names(own[name] for own in columns) for name in columns[0]}
    rows = set(map(tuple, chain.from_iterable(lists)))
    known = list(map(list, rows)) if all(lists) else []
    return values, known, encode_combinations(values, known)


def without_calibration(member):
    """Copy a member, with `calibrate` off in all its parts: the average alone is corrected."""
    return set_in_parts(clone(member), "calibrate", False)


def _set_schedule(member, n_tokens):
    """Set the training schedules of all networks in a member, for so many tokens."""
    for part in [member, *member.get_params().values()]:
        if hasattr(part, "_choose_schedule"):
            part.set_params(**part._choose_schedule(n_tokens))


class TakenTagger(NamedTuple):
    """A Tagger that was taken out of a member."""

    name: str  # of the member
    tagger: Tagger
    sample_weight: np.ndarray | None  # that it learns with


def learn_taggers(members, sentences, sample_weight, n_jobs):
    """Take the taggers out of members, and fit them; equal ones are fitted once.

    Parsers learn the same without them: networks only the tags that are learned along with trees,
    and pipelines from tags of folds, which halves of the trees have too.

    Parameters
    ----------
    members : dict of estimator
        By name; copies, which are not fitted but changed.
    sentences : CheckedSentences
    sample_weight : ndarray of shape (n_sentences,) or None
        Pipelines give it to their parsers alone.
    n_jobs : int or None

    Returns
    -------
    taken : list of TakenTagger
        With fitted taggers.
    """
    taken = _take_taggers(members, sample_weight)
    piped = [each for each in taken if isinstance(members[each.name], Pipeline)]
    ones = np.ones(len(sentences))
    tasks = [delayed(each.tagger._tag_folds)(sentences, ones) for each in piped]
    firsts, group = group_equal(list(map(_key_of, taken)))
    tasks += [
        delayed(each.tagger.fit)(sentences, sample_weight=each.sample_weight)
        for each in (taken[k] for k in firsts)
    ]
    done = run_parallel(tasks, n_jobs)
    keys = list(map(_as_key, sentences))
    for each, tagged in zip(piped, done[: len(piped)], strict=True):
        put_tagger(members[each.name], TaggedInFolds(dict(zip(keys, tagged, strict=True))))
    fitted = done[len(piped) :]
    return [
        each._replace(tagger=copy(fitted[k]).set_params(**each.tagger.get_params(deep=False)))
        for each, k in zip(taken, group, strict=True)
    ]


def _take_taggers(members, sample_weight):
    """Take the taggers out of members, for :func:`learn_taggers`; they are not fitted."""
    taken = []
    for name, member in members.items():
        if isinstance(member, Pipeline) and isinstance(member.steps[0][1], Tagger):
            tagger, weights = member.steps[0][1], None
        elif isinstance(member, BiaffineParser) and len(member._list_tag_columns()) > 1:
            tagger, weights = member._make_tagger().set_params(tags=member.tags), sample_weight
            member.set_params(tags=member._learned_along()[0])
        else:
            continue
        tagger._validate_params()
        taken.append(TakenTagger(name, tagger, weights))
    return taken


def _key_of(taken):
    """Return a key of a TakenTagger that is equal for taggers that would learn the same."""
    _, tagger, weights = taken
    if tagger.random_state is None:
        return id(tagger), weights is None
    large = {name: id(getattr(tagger, name)) for name in ("embeddings", "dictionary")}
    return repr(tagger.get_params() | {"cv": None} | large), weights is None


def put_tagger(member, tagger):
    """Put a tagger back into a member, or into the fitted copy of a member, that it is from."""
    if isinstance(member, Pipeline):
        member.steps[0] = member.steps[0][0], tagger
    else:
        member.set_params(tags=tagger.tags)
        member.tagger_ = tagger.set_params(embeddings=member.embeddings)


class TaggedInFolds(TransformerMixin, BaseEstimator):
    """Transformer in place of a Tagger in a pipeline: it knows the tags that folds have got."""

    def __init__(self, tagged):
        self.tagged = tagged

    def __sklearn_clone__(self):
        return self  # a copy of so many trees would be of no use

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [self.tagged[_as_key(sentence)] for sentence in X]


def _as_key(sentence):
    return sentence if isinstance(sentence, DependencyTree) else tuple(sentence)
