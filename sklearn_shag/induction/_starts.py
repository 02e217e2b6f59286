"""Starts of EM on raw text."""

import numpy as np

from sklearn_shag.encoding import RIGHT, Alphabet
from sklearn_shag.induction._concave import learn_concave
from sklearn_shag.induction._valence import (
    ValenceModel,
    begin_in_first,
    estimate_model,
    gather_counts,
    normalise_outcomes,
    pool_counts,
)
from sklearn_shag.learning import check_start
from sklearn_shag.operators import Operators
from sklearn_shag.utils._arrays import divide_by_sum

# Share of random noise in a start with hidden states: EM would never leave zeros.
SPREAD = 0.05
# Smallest probability taken from a concave model: negligible, but not impossible.
FLOOR = 1e-100


def make_start(init, text, symbols, form, *, root_symbols=None, rng=None):
    """Make the distributions to start from.

    Parameters
    ----------
    init : {"harmonic", "uniform", "random", "concave"} or Operators
        See :class:`~sklearn_shag.DMV`.
    text : EncodedText
    symbols : sequence of str
    form : ValenceForm
        Tied or untied.
    root_symbols : None or collection of str
        As for :func:`learn_concave`.
    rng : RandomState
        Draws "random".

    Returns
    -------
    distributions : ValenceModel
    """
    n_symbols = len(symbols)
    if isinstance(init, Operators):
        return from_operators(init, n_symbols, form)
    if init == "harmonic":
        return _make_harmonic(text, n_symbols, form)
    start = _make_uniform(n_symbols, form)
    if init == "random":
        return start._replace(
            roots=rng.dirichlet(np.ones(n_symbols)),
            stops=rng.dirichlet(np.ones(2), size=start.stops.shape[:-1]),
            moves=rng.dirichlet(np.ones(n_symbols), size=start.moves.shape[:3])[..., None],
        )
    if init == "concave":
        probabilities = learn_concave(text, symbols, root_symbols).parameters
        # Tokens choose independently there: a tree may need arcs that no token has chosen.
        probabilities = np.maximum(probabilities, FLOOR)
        moves = probabilities[:-1, :, None, :, None]
        return start._replace(
            roots=probabilities[-1, RIGHT], moves=np.broadcast_to(moves, start.moves.shape)
        )
    return start


def _make_uniform(n_symbols, form):
    n_heads, n_states = Alphabet(n_symbols).n_learned, 2
    n_conditions = 1 if form.tied else n_states
    return ValenceModel(
        np.full(n_symbols, 1.0 / n_symbols),
        begin_in_first((n_heads, 2, n_states)),
        np.full((n_heads, 2, n_states, 2), 0.5),
        np.full((n_heads, 2, n_conditions, n_symbols, 1), 1.0 / n_symbols),
    )


def from_operators(operators, n_symbols, form):
    """Convert the automata of a grammar to distributions.

    Parameters
    ----------
    operators : Operators
    n_symbols : int
    form : ValenceForm

    Returns
    -------
    distributions : ValenceModel

    Raises
    ------
    ValueError
        If the automata have another form, other symbols or states, or negative entries.
    """
    check_start(operators, n_symbols, form.n_states)
    known = operators.alpha_1[:n_symbols], operators.A[:n_symbols]
    if not form.hidden and (np.any(known[0][..., 1]) or np.any(known[1][..., 0, :])):
        raise ValueError(
            "The operators to start from are not those of a grammar that tells the first modifier "
            "apart: it begins in state 0 and goes on in state 1. Take operators_ of another DMV or "
            "of DeterministicSHAG('first')."
        )
    return estimate_model(
        gather_counts(operators, form), form._replace(prior=0.0, inference="map")
    ).means


def _make_harmonic(text, n_symbols, form):
    """Estimate distributions from independent heads, the nearer the likelier (theory, eq. 45)."""
    counts = ValenceModel(*map(np.zeros_like, _make_uniform(n_symbols, form)))
    lengths = np.diff(text.indptr)
    for n_tokens in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == n_tokens)
        codes = text.codes[text.indptr[chosen][:, None] + np.arange(n_tokens)]
        _add_harmonic(counts, codes, text.weights[chosen])
    counts.starts[..., 0] = 1.0
    return estimate_model(pool_counts(counts), form._replace(inference="map")).means


def _add_harmonic(counts, codes, weights):
    """Add the expected counts of sentences of equal length; codes are (n_sentences, n_tokens)."""
    n_tokens = codes.shape[1]
    positions = np.arange(n_tokens)
    closeness = 1.0 / np.maximum(np.abs(positions[:, None] - positions), 1)
    np.fill_diagonal(closeness, 0.0)
    closeness = divide_by_sum(closeness, 1)
    closeness *= 1.0 - 1.0 / n_tokens  # [m, h]; the root gets the rest
    of_tokens = np.broadcast_to(weights[:, None], codes.shape)
    np.add.at(counts.roots, codes, of_tokens / n_tokens)
    for direction, sides in enumerate((np.tril, np.triu)):
        on_side = sides(closeness.T, -1 if direction == 0 else 1)  # [h, m] with m < h, or m > h
        none, expected = np.prod(1.0 - on_side, axis=1), on_side.sum(axis=1)
        stops = np.array([[none, 1.0 - none], [1.0 - none, expected - (1.0 - none)]])
        outcomes = np.maximum(np.moveaxis(stops, -1, 0), 0.0)  # of each token, by state
        np.add.at(counts.stops, (codes, direction), weights[:, None, None, None] * outcomes)
        h, m = np.nonzero(on_side)
        place = codes[:, h], direction, slice(None), codes[:, m], 0  # under all conditions
        np.add.at(counts.moves, place, (weights[:, None] * on_side[h, m])[..., None])


def split_states(distributions, form, rng):
    """Split the states of a model with valence, to start EM for hidden states.

    Parameters
    ----------
    distributions : ValenceModel
        Tied or untied.
    form : ValenceForm
        Hidden.
    rng : RandomState
        Draws the noise that tells states apart.

    Returns
    -------
    distributions : ValenceModel
        State 0 is the state before the first modifier; the others are copies of the state after it.
        Noise is mixed into each distribution.
    """
    roots, starts, stops, moves = distributions
    n_states, n_symbols = form.n_states, roots.size
    before = np.minimum(np.arange(n_states), 1)  # the old state of each new one
    into = np.where(before > 0, 1.0 / max(n_states - 1, 1), 0.0)
    moves = np.broadcast_to(moves, (*moves.shape[:2], 2, n_symbols, 1))[:, :, before]
    whole = ValenceModel(
        roots, starts[:, :, before] * (before == 0), stops[:, :, before], moves * into
    )
    of_heads = zip(whole[1:], (1, 1, 2), strict=True)
    return ValenceModel(roots, *(_add_noise(part, n_axes, rng) for part, n_axes in of_heads))


def _add_noise(part, n_axes, rng):
    noise = normalise_outcomes(rng.uniform(size=part.shape), n_axes)
    return (1.0 - SPREAD) * part + SPREAD * noise
