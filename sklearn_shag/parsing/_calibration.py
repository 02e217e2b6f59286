"""What parsers learn on held-out trees: calibration, and whether relations are unique."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from sklearn_shag.encoding import places_of
from sklearn_shag.utils._arrays import TINY, log_of
from sklearn_shag.utils._kernel import table_kernel

# Fewest sentences from which a calibration is learned.
MIN_SENTENCES = 20
LARGEST_TEMPERATURE, LARGEST_SHARE = 10.0, 0.5
# A choice that one member has never seen may be certain to others: no member may forbid it, as the
# logarithm of 0 would, nor outvote all others by the logarithm of next to nothing.
SMALLEST_PROBABILITY = 1e-6
# Relations that a head has once, unless the labelled attachment score falls by more than this,
# beyond one standard error, of so many bootstrap samples, drawn so many at a time.
UNIQUE, LARGEST_LOSS, N_BOOTSTRAPPED, DRAWN = ("nsubj", "obj"), 0.001, 1000, 20


class Calibration(NamedTuple):
    """Correction of the probabilities of the choices of a token, of heads or of labels.

    With temperature T and share e, p becomes ``(1 - e) p^(1/T) / Z + e / n``, where Z makes the
    powers sum to 1 and n is the number of choices that are possible. The order of choices stays.
    """

    temperature: float
    share: float


EXACT = Calibration(1.0, 0.0)


def average_choices(known, members):
    """Average the log probabilities that members give to the choices of tokens.

    Parameters
    ----------
    known : ndarray of str of shape (n_known,)
        All choices, sorted.
    members : list of tuples
        Of each member its weight, the choices that it knows, sorted, and their probabilities,
        (n_tokens, n_choices).

    Returns
    -------
    probabilities : ndarray of shape (n_tokens, n_known)
        0 for choices that are 0 in all members. Those of a single member are unchanged.
    """
    if len(members) == 1:
        return members[0][2]
    means, possible = 0.0, False
    total = sum(weight for weight, _, _ in members)
    for weight, choices, probabilities in members:
        of_known = np.zeros((len(probabilities), known.size))
        of_known[:, np.searchsorted(known, choices)] = probabilities
        possible = possible | (of_known > 0)
        means = means + weight / total * np.log(np.maximum(of_known, SMALLEST_PROBABILITY))
    return softmax(np.where(possible, means, -np.inf), axis=1)


def encode_combinations(values, combinations):
    """Return the codes of the values of each combination by the place of their column."""
    if not combinations:
        return {}
    combined = {k: list(own) for k, (name, own) in enumerate(values.items()) if name != "lemma"}
    rows = zip(combined.items(), zip(*sorted(combinations), strict=True), strict=True)
    return {k: np.array(list(map(own.index, column))) for (k, own), column in rows}


def fit_together(codes, scores, combinations):
    """Replace unknown combinations of tags by those known with the largest sums of scores.

    Parameters
    ----------
    codes : int ndarray of shape (n_tokens, n_columns)
        Changed in place.
    scores : list of ndarrays of shape (n_tokens, n_values)
        Of each column, up to a constant for each token.
    combinations : dict of int ndarrays of shape (n_combinations,)
        From :func:`encode_combinations`; at least one.
    """
    sizes = [scores[k].shape[1] for k in combinations]
    known = np.ravel_multi_index(tuple(combinations.values()), sizes)
    found = np.ravel_multi_index(tuple(codes.T[[*combinations]]), sizes)
    nearest = known[np.minimum(np.searchsorted(known, found), known.size - 1)]
    tokens = np.flatnonzero(nearest != found)
    if tokens.size:
        sums = np.sum([scores[k][tokens][:, own] for k, own in combinations.items()], axis=0)
        best = sums.argmax(axis=1)
        for k, values in combinations.items():
            codes[tokens, k] = values[best]


class Answers(NamedTuple):
    """Probabilities of the choices of tokens, and the right choice of each token."""

    probabilities: np.ndarray  # (n_choices,), of one token after the other
    sizes: np.ndarray  # (n_tokens,): number of choices of each
    true: np.ndarray  # (n_tokens,): the right choice, -1 if unknown
    weights: np.ndarray  # (n_tokens,)


def learn_calibrations(answers):
    """Learn the attributes of a CalibratedMixin.

    Parameters
    ----------
    answers : list of tuples
        Of parsers that did not learn from these sentences: the Answers of heads and of labels, and
        the losses by unique relations, as for :func:`_is_cheap`. Without any, nothing is corrected.

    Returns
    -------
    attributes : dict
    """
    both, unique = [EXACT, EXACT], ()
    if answers:
        of_heads, of_labels, losses = zip(*answers, strict=True)
        both = [_learn_calibration(of_heads), _learn_calibration(of_labels)]
        unique = UNIQUE if _is_cheap(np.concatenate(losses)) else ()
    temperatures, shares = np.array(both).T.copy()
    return {"temperatures_": temperatures, "uniform_shares_": shares, "unique_relations_": unique}


def _is_cheap(losses):
    """Return whether unique relations cost next to no attachment score.

    Of each sentence, (n_sentences, 2), losses are the number of tokens with known heads, and how
    many fewer of these get head and relation right.
    """
    n, (known, lost), rng = len(losses), losses.sum(axis=0), np.random.default_rng(0)
    # A few samples at a time, since all together might not fit into memory.
    samples = np.concatenate(
        [
            losses[rng.integers(n, size=(DRAWN, n))].sum(axis=1)
            for _ in range(N_BOOTSTRAPPED // DRAWN)
        ]
    )
    error = np.std(samples[:, 1] / np.maximum(samples[:, 0], TINY))
    return known > 0 and lost / known <= LARGEST_LOSS + error


def _learn_calibration(answers):
    """Find the correction under which right choices are most probable (Guo et al., 2017)."""
    probabilities, sizes, true, weights = map(np.concatenate, zip(*answers, strict=True))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    known = np.flatnonzero(true >= 0)
    known = known[probabilities[indptr[known] + true[known]] > 0]
    if not weights[known].any():
        return EXACT
    indptr, choices = places_of(indptr, known)
    right, weights = indptr[:-1] + true[known], weights[known]
    logs = log_of(probabilities[choices])
    n_possible = np.add.reduceat(logs > -np.inf, indptr[:-1], dtype=float)

    def loss(parameters):  # of what calibrate makes of right choices
        temperature, share = _make_calibration(parameters)
        powers = np.exp(logs / temperature)
        corrected = (1 - share) * powers[right] / np.add.reduceat(powers, indptr[:-1])
        return -weights @ np.log(corrected + share / n_possible) / weights.sum()

    return _make_calibration(
        minimize(loss, (0.0, -3.0), method="Nelder-Mead", options={"xatol": 0.01, "fatol": 1e-6}).x
    )


def _make_calibration(parameters):
    """Return the Calibration of two unbounded real numbers."""
    temperature = np.clip(
        np.exp(min(parameters[0], 10.0)), 1 / LARGEST_TEMPERATURE, LARGEST_TEMPERATURE
    )
    return Calibration(float(temperature), float(LARGEST_SHARE * expit(parameters[1])))


@table_kernel
def calibrate(probabilities, ends, temperature, share):
    """Correct the probabilities of each token in place, see Calibration; zeros stay 0.

    The probabilities of token t are ``probabilities[ends[t]:ends[t + 1]]``.
    """
    for t in range(ends.size - 1):
        row = probabilities[ends[t] : ends[t + 1]]
        largest, total, n_possible = 0.0, 0.0, 0
        for k in range(row.size):
            largest = max(largest, row[k])
        for k in range(row.size):
            if row[k] > 0:
                row[k] = (row[k] / largest) ** (1 / temperature)
                total += row[k]
                n_possible += 1
        for k in range(row.size):
            if row[k] > 0:
                row[k] = (1 - share) * row[k] / total + share / n_possible
