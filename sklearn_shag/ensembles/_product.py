"""Products of grammars: one with hidden states, and any number of deterministic ones."""

from __future__ import annotations

from itertools import compress, product
from typing import Any, Literal

import numpy as np

from sklearn_shag.encoding import RIGHT, all_arcs
from sklearn_shag.ensembles._base import Ensemble
from sklearn_shag.learning import GenerativeMixin
from sklearn_shag.operators import Operators
from sklearn_shag.parsing import Potentials, Scored, grammar_of_arcs, pack_grammar
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._typing import ArrayLike, ObjectArray


def as_memory(operators, codes, indptr):
    """Put a deterministic grammar of one or two states, "single" or "first", into factors.

    Parameters
    ----------
    operators : Operators
        A grammar whose automata start in state 0 and go to the last state with every modifier.
    codes : int ndarray of shape (n_tokens,)
    indptr : int ndarray of shape (n_sentences + 1,)

    Returns
    -------
    potentials : Potentials
        Memory alone. With the grammar that gives every tree the value 1, they give trees the same
        values as the operators.

    Raises
    ------
    ValueError
        If the automata have another form.
    """
    alpha_1, alpha_inf, A = operators
    n_states = alpha_1.shape[-1]
    if n_states > 2 or np.any(alpha_1[..., 1:]) or np.any(A[:-1, ..., :-1, :]):
        raise ValueError(
            f"Automata with {n_states} states, or others than before the first modifier and after "
            f"it, remember more than that: they are no factors of such a memory."
        )
    uses = A[..., -1, :].copy()
    with np.errstate(over="ignore"):  # as in `root_masses`
        uses[-1, RIGHT, :, 0] = A[-1, RIGHT] @ alpha_1[-1, RIGHT] @ alpha_inf[-1, RIGHT]
    of_arcs = all_arcs(indptr).symbols(codes, indptr, alpha_1.shape[0] - 1)
    return Potentials(
        indptr,
        np.zeros_like(codes),
        None,
        np.full(codes.size, n_states - 1),
        uses[of_arcs],
        alpha_inf[codes] * alpha_1[codes, :, :1],
    )


def multiply_potentials(members, weights):
    """Multiply the potentials of deterministic grammars over the same sentences.

    A class of the product is a tuple of classes, one of each member: all zeros before the first
    modifier, and behind a modifier nonzero for each member with two classes.

    Parameters
    ----------
    members : list of Potentials
        Potentials as from :func:`as_memory`.
    weights : sequence of float
        Powers of the factors of the members; not negative.

    Returns
    -------
    potentials : Potentials
        The product, up to a factor for each sentence if a weight is not 1.
    """
    sizes = [part.arc_memory.shape[1] for part in members]
    behind = product(*(range(int(size > 1), size) for size in sizes))
    classes = [(0,) * len(sizes), *(each for each in behind if any(each))]
    place = np.zeros(sizes, dtype=np.int64)
    place[tuple(np.transpose(classes))] = np.arange(len(classes))
    memory = place[tuple(part.memory for part in members)]
    arcs, arc_memory, stop_memory = None, 1.0, 1.0
    for part, weight, chosen in zip(members, weights, np.transpose(classes), strict=True):
        of_arcs, of_stops = part.arc_memory, part.stop_memory
        if weight != 1:
            # Powers can underflow, so the largest of each row is divided out. For arcs it goes into
            # log scores; for stops it is dropped, since every tree has one of each row.
            of_arcs, logs = _raise_to_power(of_arcs, weight)
            of_stops, _ = _raise_to_power(of_stops, weight)
            arcs = logs if arcs is None else arcs + logs
        if part.arcs is not None:
            logs = weight * part.arcs
            arcs = logs if arcs is None else arcs + logs
        # Not by indexing: kernels need the memory layout that `take` returns.
        arc_memory = arc_memory * of_arcs.take(chosen, axis=-1)
        stop_memory = stop_memory * of_stops.take(chosen, axis=-1)
    indptr, no_codes = members[0].indptr, np.zeros_like(memory)
    return Potentials(indptr, no_codes, arcs, memory, arc_memory, stop_memory)


def _raise_to_power(factors, weight):
    """Raise factors to a power, divided by the largest in each row; return its logarithm too."""
    logs = weight * log_of(factors) if weight else np.zeros_like(factors)
    # Arcs without mass are not forbidden: where no tree has mass, other members decide.
    largest = logs.max(axis=-1)
    largest[largest == -np.inf] = 0.0
    return np.exp(logs - largest[..., None]), largest


class ProductParser(Ensemble):
    r"""Product of grammars: their log-linear combination.

    The score of a tree is the product of its probabilities under all members. One member may have
    hidden states; all others are deterministic. They remember only a class of the last modifier,
    which the chart keeps beside the hidden state. So the product is exact and costs little more
    than the member with hidden states.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members, by name: grammars of this package, or pipelines that end in one. At most one
        may have hidden states or be a ``DeterministicSHAG("sibling")``. `fit` fits copies of them;
        a member in a :class:`~sklearn.frozen.FrozenEstimator` stays as it is.
    weights : None or array-like of shape (n_estimators,), default=None
        The power to which each member's probabilities are raised; None means 1 for all. The power
        of a member with hidden states must be 1.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), and "viterbi", if
        all members are deterministic, the product. "mst" is like "mbr", but its trees may have
        crossing arcs. The members' own values of this parameter are ignored.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Fitting is split over members, parsing over chunks of sentences.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    named_estimators_ : Bunch
        The fitted members by name.
    estimators_ : list of estimators
        The fitted members in order.
    labels_ : ndarray of shape (n_labels,), dtype object
        The relations of arcs (str) known to the first member that has positive weight and knows
        any. This member labels arcs.

    See Also
    --------
    AveragedParser : Averages parsers of any kind, including several with hidden states.
    LexicalizedSHAG : A deterministic grammar of words.

    Notes
    -----
    See theory, eq. 39, and eq. 21 of the paper. A member with hidden states must have weight 1,
    because a power of a sum over hidden states is not itself such a sum. Its product with k classes
    of memory costs (k + 1) / 2 times as much as the member alone, and the memories of several
    deterministic members multiply.

    Sums of products are not probabilities, so sentences cannot be sampled and have no likelihood.
    Trees given their sentence do have one: `conditional_log_likelihood`.

    A symbol that a member does not know is a missing observation for that member: its factor is the
    sum over all symbols that it may stand for. These sums are taken within each member and then
    multiplied.

    If the product has no mass for a sentence, the product of its deterministic members parses it.
    If that has no mass either, the product of the members' own fallback grammars is used.

    References
    ----------
    Luque, Quattoni, Balle and Carreras (2012), Spectral Learning for Non-Deterministic Dependency
    Parsing, eq. 21 and sec. 5.2.

    Examples
    --------
    >>> from sklearn_shag import LexicalizedSHAG, ProductParser, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> members = [("spectral", SpectralSHAG(6)), ("lexical", LexicalizedSHAG())]
    >>> model = ProductParser(members).fit(trees[:300])
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

    @property
    def labels_(self) -> ObjectArray:
        """The relations known to the member that labels arcs: the first that knows any."""
        parsers = (member.parser for member in self._list_weighted())
        known = (parser.labels_ for parser in parsers if parser._has_labels)
        return next(known, np.empty(0, dtype=object))

    @property
    def _deterministic(self):
        return all(open_member(member).parser._deterministic for _, member in self.estimators)

    def _check_members(self):
        opened = super()._check_members()
        weights, with_states = self._member_weights(len(opened)), []
        for (name, _), (_, parser), weight in zip(self.estimators, opened, weights, strict=True):
            if not isinstance(parser, GenerativeMixin):
                raise TypeError(
                    f"The estimator {name!r} must be a grammar, got {type(parser).__name__}. Give "
                    f"the members of a product; AveragedParser takes any parsers."
                )
            if not _has_memory_alone(parser):
                with_states.append(name)
                if weight != 1 and not parser._deterministic:
                    raise ValueError(
                        f"The weight of {name!r} must be 1, got {weight:g}: the power of a sum "
                        f"over hidden states is not such a sum. Give weights to the other members, "
                        f"or take AveragedParser, which allows any weights."
                    )
        if len(with_states) > 1:
            raise ValueError(
                f"{' and '.join(map(repr, with_states))} have states that are more than a class of "
                f"the last modifier; in a product only one can have them. AveragedParser combines "
                f"any number of such grammars."
            )
        return opened

    def _score(self, batch, rung=0):
        """Score by all members, then without the one with states, and last by their fallbacks."""
        members = self._list_weighted()
        asked = [(member.parser, batch.of_member(member.place)) for member in members]
        alone = [_has_memory_alone(parser) for parser, _ in asked]
        n_best = any(alone) + (not all(alone))
        if rung > n_best:
            return None
        known = [parser._score_jointly(own) for parser, own in asked]
        with_states = None
        if rung == n_best:
            last = [parser._score_jointly(own, 1) for parser, own in asked]
            if not any(last):
                return None
            known = [of_last or best for of_last, best in zip(last, known, strict=True)]
        factors = [(own, member.weight) for own, member in zip(known, members, strict=True)]
        if rung < n_best:
            if rung == 0 and not all(alone):
                with_states = factors[alone.index(False)]
            factors = list(compress(factors, alone))
        grammar, potentials = _multiply_members(factors, with_states, batch.indptr)
        prune = with_states[0].prune if with_states else 0.0
        labeller = next((own.labeller for own in known if own.labeller is not None), None)
        return Scored(grammar, potentials, labeller, prune=prune)


def _multiply_members(factors, with_states, indptr):
    """Make grammar and potentials of a product of deterministic members, and one with states.

    Parameters
    ----------
    factors : list of pairs of Scored and float
        Members and their weights.
    with_states : None or pair of Scored and float
    indptr : int ndarray of shape (n_sentences + 1,)
    """
    grammar, potentials = grammar_of_arcs("projective"), None
    if factors:
        parts = [_take_memory(scored, indptr) for scored, _ in factors]
        potentials = multiply_potentials(parts, [weight for _, weight in factors])
    if with_states is None:
        return grammar, potentials
    scored, weight = with_states
    grammar, of_states = scored.grammar, scored.potentials
    if weight != 1:
        grammar = pack_grammar(Operators(*(part**weight for part in grammar.operators)))
    if not factors:
        return grammar, of_states
    return grammar, potentials._replace(codes=of_states.codes)


def _take_memory(scored, indptr):
    """Return the potentials of a deterministic member, with its grammar turned into memory."""
    if scored.potentials.arc_memory is not None:
        return scored.potentials
    return as_memory(scored.grammar.operators, scored.potentials.codes, indptr)


def _has_memory_alone(parser):
    """Tell whether a grammar can be turned into factors, and so needs no states in the chart."""
    return parser._deterministic and getattr(parser, "automaton", None) != "sibling"
