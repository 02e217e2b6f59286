"""Where EM on raw text starts."""

import numpy as np

from sklearn_shag.encoding import RIGHT, Alphabet
from sklearn_shag.induction._concave import learn_concave
from sklearn_shag.induction._valence import (
    Distributions,
    begin_in_first,
    estimate,
    gather,
    normalise,
    pool,
)
from sklearn_shag.learning import check_start
from sklearn_shag.operators import Operators
from sklearn_shag.utils._arrays import divide_by_sum

# How much of a start with hidden states is spread over all outcomes, so that EM can leave zeros.
SPREAD = 0.05
# The least probability that is taken over from a concave model: nothing, but not impossible.
FLOOR = 1e-100


def make_start(init, text, symbols, form, *, root_symbols=None, rng=None):
    """Make the distributions to start from.

    Parameters
    ----------
    init : {"harmonic", "uniform", "random", "concave"} or Operators
        See :class:`~sklearn_shag.DMV`.
    text : Text
    symbols : sequence of str
    form : Form
        Tied or untied.
    root_symbols : None or collection of str
        As for :func:`learn_concave`.
    rng : RandomState
        Draws "random".

    Returns
    -------
    distributions : Distributions
    """
    n_symbols = len(symbols)
    if isinstance(init, Operators):
        return from_operators(init, n_symbols, form)
    if init == "harmonic":
        return _harmonic(text, n_symbols, form)
    start = _uniform(n_symbols, form)
    if init == "random":
        return start._replace(
            roots=rng.dirichlet(np.ones(n_symbols)),
            stops=rng.dirichlet(np.ones(2), size=start.stops.shape[:-1]),
            moves=rng.dirichlet(np.ones(n_symbols), size=start.moves.shape[:3])[..., None],
        )
    if init == "concave":
        probabilities = learn_concave(text, symbols, root_symbols).parameters
        # There each token chooses by itself: together they need choices that none of them makes.
        probabilities = np.maximum(probabilities, FLOOR)
        moves = probabilities[:-1, :, None, :, None]
        return start._replace(
            roots=probabilities[-1, RIGHT], moves=np.broadcast_to(moves, start.moves.shape)
        )
    return start


def _uniform(n_symbols, form):
    n_heads, n_states = Alphabet(n_symbols).n_learned, 2
    n_conditions = 1 if form.tied else n_states
    return Distributions(
        np.full(n_symbols, 1.0 / n_symbols),
        begin_in_first((n_heads, 2, n_states)),
        np.full((n_heads, 2, n_states, 2), 0.5),
        np.full((n_heads, 2, n_conditions, n_symbols, 1), 1.0 / n_symbols),
    )


def from_operators(operators, n_symbols, form):
    """Take over the automata of a grammar; those that are not hidden tell the first modifier apart.

    Parameters
    ----------
    operators : Operators
    n_symbols : int
    form : Form

    Returns
    -------
    distributions : Distributions

    Raises
    ------
    ValueError
        If they are of other symbols, of another number of states, negative, or not of that form.
    """
    check_start(operators, n_symbols, form.n_states)
    known = operators.alpha_1[:n_symbols], operators.A[:n_symbols]
    if not form.hidden and (np.any(known[0][..., 1]) or np.any(known[1][..., 0, :])):
        raise ValueError(
            "The operators to start from are not those of a grammar that tells the first modifier "
            "apart: it begins in state 0 and goes on in state 1. Take operators_ of another DMV or "
            "of DeterministicSHAG('first')."
        )
    counts = gather(operators, form)
    return estimate(counts, form._replace(prior=0.0, inference="map")).means


def _harmonic(text, n_symbols, form):
    """Expected counts where heads are independent, and nearer ones likelier (theory, eq. 45)."""
    counts = Distributions(*map(np.zeros_like, _uniform(n_symbols, form)))
    lengths = np.diff(text.indptr)
    for n_tokens in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == n_tokens)
        codes = text.codes[text.indptr[chosen][:, None] + np.arange(n_tokens)]
        _add_harmonic(counts, codes, text.weights[chosen])
    counts.starts[..., 0] = 1.0
    return estimate(pool(counts), form._replace(inference="map")).means


def _add_harmonic(counts, codes, weights):
    """Add those of sentences of the same length."""
    n_tokens = codes.shape[1]
    positions = np.arange(n_tokens)
    closeness = 1.0 / np.maximum(np.abs(positions[:, None] - positions), 1)
    np.fill_diagonal(closeness, 0.0)
    closeness = divide_by_sum(closeness, 1)
    closeness *= 1.0 - 1.0 / n_tokens  # [m, h]: the root has the rest
    of_tokens = np.broadcast_to(weights[:, None], codes.shape)
    np.add.at(counts.roots, codes, of_tokens / n_tokens)
    for direction, sides in enumerate((np.tril, np.triu)):  # heads left of what: m > h is below
        on_side = sides(closeness.T, -1 if direction == 0 else 1)  # [h, m] with m < h, or m > h
        none, expected = np.prod(1.0 - on_side, axis=1), on_side.sum(axis=1)
        stops = [[none, 1.0 - none], [1.0 - none, expected - (1.0 - none)]]
        for state, outcomes in enumerate(stops):
            for outcome, values in enumerate(outcomes):
                place = codes, direction, state, outcome
                np.add.at(counts.stops, place, weights[:, None] * np.maximum(values, 0.0))
        h, m = np.nonzero(on_side)
        for condition in range(counts.moves.shape[2]):
            place = codes[:, h], direction, condition, codes[:, m], 0
            np.add.at(counts.moves, place, weights[:, None] * on_side[h, m])


def split_states(distributions, form, rng):
    """Split the states of a model with valence: where hidden states start.

    Parameters
    ----------
    distributions : Distributions
        Tied or untied.
    form : Form
        Hidden.
    rng : RandomState
        Draws what tells states apart.

    Returns
    -------
    distributions : Distributions
        State 0 is that before the first modifier, and the others are all that after it. A share of
        each distribution is spread at random over all outcomes.
    """
    roots, starts, stops, moves = distributions
    n_states, n_symbols = form.n_states, roots.size
    before = np.minimum(np.arange(n_states), 1)  # the state that each was before
    into = np.where(before > 0, 1.0 / max(n_states - 1, 1), 0.0)
    moves = np.broadcast_to(moves, (*moves.shape[:2], 2, n_symbols, 1))[:, :, before]
    whole = Distributions(
        roots, starts[:, :, before] * (before == 0), stops[:, :, before], moves * into
    )
    of_heads = zip(whole[1:], (1, 1, 2), strict=True)
    return Distributions(roots, *(_spread(part, n_axes, rng) for part, n_axes in of_heads))


def _spread(part, n_axes, rng):
    noise = normalise(rng.uniform(size=part.shape), n_axes)
    return (1.0 - SPREAD) * part + SPREAD * noise
