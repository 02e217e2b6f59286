"""Products of grammars: one with hidden states, and any number of deterministic ones."""

from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from sklearn_shag._base import ChartParser
from sklearn_shag._composition import Ensemble
from sklearn_shag._generative import GenerativeParser
from sklearn_shag.encoding import check_sentences
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import (
    Rung,
    as_memory,
    multiply_potentials,
    pack_grammar,
    packed_unit_grammar,
    potentials_of_codes,
)
from sklearn_shag.utils._members import open_member
from sklearn_shag.utils._typing import ArrayLike


class ProductSHAG(Ensemble, ChartParser):
    r"""Product of grammars: their log-linear combination.

    A tree is as good as the product of its probabilities under all members. One of them may have
    hidden states, all others are deterministic: what these remember is a class of the last
    modifier, which the chart keeps beside the hidden state. So the product is exact, and costs
    little more than the member with hidden states.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members, by name: grammars of this package, or pipelines with one at their end. At most
        one has hidden states, or is a ``DeterministicSHAG("sibling")``. `fit` fits copies of them;
        one in a :class:`~sklearn.frozen.FrozenEstimator` stays as it is.
    weights : None or array-like of shape (n_estimators,), default=None
        The power that each member's probabilities are raised to; None is 1 for all. That of a
        member with hidden states must be 1.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper), the largest
        sum of marginals (the expected number of right arcs), the largest product, if all members
        are deterministic, or as by "mbr" of all trees, with arcs that may cross. What members have
        for this parameter is not looked at.
    n_jobs : int or None, default=None
        Number of joblib workers, for fits over members, for parsing over chunks of sentences.
    verbose : int, default=0
        1 shows progress bars, on standard error, for work that takes more than two seconds, 2 for
        all.

    Attributes
    ----------
    named_estimators_ : Bunch
        The fitted members by name.
    estimators_ : list of estimators
        The same in their order.
    labels_ : ndarray of shape (n_labels,), dtype object
        The relations of arcs (str) that the first member knows that has a weight and knows any. It
        labels arcs.

    See Also
    --------
    AveragedSHAG : Averages parsers of any kind, also several with hidden states.
    LexicalizedSHAG : A deterministic grammar of words.

    Notes
    -----
    Theory, eq. 39; eq. 21 of the paper. Powers of a sum over hidden states are no sum over them: so
    a member with hidden states has the weight 1. Its product with k classes of memory costs (k + 1)
    / 2 times what it costs alone, and the memories of several deterministic members multiply.

    Sums of products are no probabilities: there is nothing to sample from, and sentences have no
    likelihood; trees given their sentence have one, `conditional_log_likelihood`.

    A symbol that a member does not know is a missing observation to it: its factor is the sum over
    all symbols that it may stand for. These sums are taken in each member, and multiplied.

    Where a product has no mass for a sentence, that of its deterministic members parses it; where
    they have none either, the product of the grammars that members themselves fall back to.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, eq. 21 and sec. 5.2.

    Examples
    --------
    >>> from sklearn_shag import LexicalizedSHAG, ProductSHAG, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> members = [("spectral", SpectralSHAG(6)), ("lexical", LexicalizedSHAG())]
    >>> model = ProductSHAG(members).fit(trees[:300])
    >>> [round(member.score(trees[300:]), 2) for member in model.estimators_]
    [0.82, 0.79]
    >>> round(model.score(trees[300:]), 2)
    0.83
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        *,
        weights: ArrayLike | None = None,
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "mbr",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _deterministic(self):
        return all(open_member(member).parser._deterministic for _, member in self.estimators)

    def _check_members(self):
        opened = super()._check_members()
        weights, with_states = self._member_weights(len(opened)), []
        for (name, _), (_, parser), weight in zip(self.estimators, opened, weights, strict=True):
            if not isinstance(parser, GenerativeParser):
                raise TypeError(
                    f"The estimator {name!r} must be a grammar, got {type(parser).__name__}. Of a "
                    f"product give its members; to combine parsers of any kind take AveragedSHAG."
                )
            if _has_memory_alone(parser):
                continue
            with_states.append(name)
            if weight != 1 and not parser._deterministic:
                raise ValueError(
                    f"The weight of {name!r} must be 1, got {weight:g}: the power of a sum over "
                    f"hidden states is no sum over them. Weigh the other members, or take "
                    f"AveragedSHAG, which weighs any."
                )
        if len(with_states) > 1:
            raise ValueError(
                f"{' and '.join(map(repr, with_states))} have states that are more than a class of "
                f"the last modifier; in a product only one can have them. AveragedSHAG combines "
                f"any number of such grammars."
            )
        return opened

    def _encode(self, sentences, symbols):
        """Encode sentences as each member does: a column of codes each."""
        columns = []
        for transform, parser in map(open_member, self.estimators_):
            encoded = parser._encode(*check_sentences(transform(sentences)))
            columns.append(encoded.codes)
        return encoded._replace(codes=np.column_stack(columns))

    def _label_arcs(self, batch, heads):
        place = self._labelling_member()
        parser = open_member(self.estimators_[place]).parser
        return parser._label_arcs(_take_column(batch, place), heads)

    def _rungs(self):
        parsers = [open_member(member).parser for member in self.estimators_]
        weights = self._member_weights(len(parsers))
        ladders = [parser._rungs() for parser in parsers]
        best, last = (
            [_Factor(k, ladder[place], weights[k]) for k, ladder in enumerate(ladders)]
            for place in (0, -1)
        )
        alone = [best[k] for k, parser in enumerate(parsers) if _has_memory_alone(parser)]
        rungs = [
            _make_rung(alone, best[k])
            for k, parser in enumerate(parsers)
            if not _has_memory_alone(parser)
        ]
        if alone:
            rungs.append(_make_rung(alone))
        if max(map(len, ladders)) > 1:
            rungs.append(_make_rung(last))
        return rungs


class _Factor(NamedTuple):
    """A member of a product."""

    column: int  # of the codes
    rung: Rung
    weight: float

    def batch_of(self, batch):
        """Take the member's codes."""
        return _take_column(batch, self.column)

    def memory_of(self, batch):
        """Make the potentials of a deterministic member: memory alone."""
        potentials = self.rung.make_potentials(self.batch_of(batch))
        if potentials.arc_memory is not None:
            return potentials
        return as_memory(self.rung.grammar.scaled, potentials.codes, batch.indptr)


def _take_column(batch, column):
    return batch._replace(codes=np.ascontiguousarray(batch.codes[:, column]))


def _make_rung(factors, with_states=None):
    """Make the rung of a product of deterministic members, and perhaps one with states."""
    if with_states is None:
        return Rung(packed_unit_grammar(), partial(_multiply, factors, None))
    grammar = with_states.rung.grammar
    if with_states.weight != 1:
        grammar = pack_grammar(Operators(*(part**with_states.weight for part in grammar.operators)))
    return Rung(grammar, partial(_multiply, factors, with_states))


def _multiply(factors, with_states, batch):
    """Make the potentials of a product."""
    if not factors:
        return potentials_of_codes(with_states.batch_of(batch))
    parts, weights = [factor.memory_of(batch) for factor in factors], [f.weight for f in factors]
    potentials = multiply_potentials(parts, weights)
    if with_states is None:
        return potentials
    return potentials._replace(codes=with_states.batch_of(batch).codes)


def _has_memory_alone(parser):
    """Whether a grammar is one of factors, without states of its own in the chart."""
    return parser._deterministic and getattr(parser, "automaton", None) != "sibling"
