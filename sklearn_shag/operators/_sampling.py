"""Derivations drawn from a grammar, head outwards."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators._operators import (
    Operators,
    check_axes,
    pair_automaton,
    remaining_mass,
    root_masses,
)
from sklearn_shag.operators._values import branching_radius
from sklearn_shag.sequences import assemble_trees, breadth_first_sequences
from sklearn_shag.utils._typing import IntArray, RandomSeed

MAX_REJECTED = 1000


def draw_outcome(masses, rng):
    """Draw an outcome by its mass; estimated masses below zero stand for zero."""
    cumulative = np.cumsum(np.maximum(masses, 0.0))
    return int(np.searchsorted(cumulative, rng.uniform() * cumulative[-1], side="right"))


class _SequenceSampler:
    """Draws sequences of one automaton of a grammar, head outwards."""

    def __init__(self, operators, head, direction):
        automaton = pair_automaton(operators, head, direction)
        self.alpha_1, self.alpha_inf, self.A = automaton
        self.mass = remaining_mass(automaton)

    def draw(self, rng, max_length):
        """Draw one sequence; after `max_length` modifiers, too many for a sentence, it ends."""
        state, modifiers = self.alpha_1, []
        while len(modifiers) < max_length:
            moved = self.A @ state
            outcome = draw_outcome(np.append(moved @ self.mass, self.alpha_inf @ state), rng)
            if outcome >= moved.shape[0]:
                break
            modifiers.append(outcome)
            state = moved[outcome] / np.abs(moved[outcome]).max()
        return modifiers


def sample_derivations(
    operators: Operators,
    n_samples: int = 1,
    random_state: RandomSeed = None,
    *,
    max_length: int = 200,
) -> tuple[IntArray, IntArray, IntArray]:
    """Draw derivations from a grammar.

    Parameters
    ----------
    operators : Operators
        The operators of a grammar; see the Notes of :class:`Operators`. Negative masses count as
        zero.
    n_samples : int, default=1
        Number of sentences.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws: the same int gives the same sentences.
    max_length : int, default=200
        Longer sentences are redrawn, so that the draws are from the grammar restricted to sentences
        of at most this many tokens.

    Returns
    -------
    codes : int ndarray of shape (n_tokens,)
        Symbol codes of all sentences, one after the other.
    heads : int ndarray of shape (n_tokens,)
        Head positions within the sentence, 1-based, 0 for the root.
    indptr : int ndarray of shape (n_sentences + 1,)
        Sentence s is ``codes[indptr[s]:indptr[s + 1]]``.

    Raises
    ------
    ValueError
        If 1000 sentences in a row are longer than `max_length`; the message says whether sentences
        of the grammar end at all. Also if no symbol has any mass as the root.

    See Also
    --------
    branching_radius : Tells whether sentences of a grammar end.
    sklearn_shag.BaseSHAG.sample : Draws trees.
    sklearn_shag.datasets.make_treebank : Draws a grammar, and trees from it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.operators import Operators, sample_derivations
    >>> A = np.zeros((3, 2, 2, 1, 1))
    >>> A[2, 1, 0] = 1.0                     # the root is symbol 0, which takes no modifiers
    >>> grammar = Operators(np.ones((3, 2, 1)), np.ones((3, 2, 1)), A)
    >>> sample_derivations(grammar, 2, random_state=0)
    (array([0, 0]), array([0, 0]), array([0, 1, 2]))
    """
    check_axes(operators)
    masses, sampler = root_masses(operators), partial(_SequenceSampler, operators)
    rng, explain = check_random_state(random_state), partial(_explain_length, operators)
    return draw_derivations(masses, sampler, n_samples, max_length, rng, explain)


def _explain_length(operators):
    """Return a sentence on the reason why sentences are too long, and the remedy."""
    radius = branching_radius(operators)
    what = f"The branching radius of the grammar (operators.branching_radius) is {radius:.3g}"
    if radius < 1.0:
        return f"{what}, below 1: its sentences end, but most are longer. Raise max_length."
    if np.isinf(radius) and min(part.min() for part in operators) < 0:
        return (
            f"{what}: noise in signed operators keeps sums over sequences from converging. Learn "
            f"fewer states, or with more smoothing."
        )
    return (
        f"{what}, not below 1: its sentences are long without bound, or never end. Raising "
        f"max_length helps little; use a grammar whose heads take fewer modifiers."
    )


def draw_derivations(
    root_masses,
    make_sampler,
    n_sentences,
    max_length,
    rng,
    explain=lambda: "Raise max_length, or use a grammar whose heads take fewer modifiers.",
):
    """Draw derivations as :func:`sample_derivations`, with any sampler of sequences.

    Parameters
    ----------
    root_masses : ndarray
        Of each symbol as the root.
    make_sampler : callable
        Takes a head and a direction. What it returns has a method ``draw(rng, max_length)``, which
        lists the modifiers of one sequence, head outwards, and may stop after `max_length`.
    n_sentences, max_length, rng
        As for :func:`sample_derivations`.
    explain : callable
        Says why sentences keep growing beyond `max_length`, and what to do; called if they do.

    Returns
    -------
    codes, heads, indptr : int ndarrays
        As of :func:`sample_derivations`.
    """
    if not np.any(root_masses > 0):
        raise ValueError("The grammar gives no symbol any mass as the root: nothing can be drawn.")
    sampler = cache(make_sampler)
    drawn = [
        _draw_sentence(root_masses, sampler, max_length, rng, explain) for _ in range(n_sentences)
    ]
    modifiers = np.array([token for tokens, _ in drawn for token in tokens], dtype=np.int64)
    indptr = np.cumsum([0, *(len(tokens) for tokens, _ in drawn)])
    sequence_indptr = np.cumsum([0, *(length for _, lengths in drawn for length in lengths)])
    sequences = breadth_first_sequences(modifiers, sequence_indptr, indptr, root_masses.size)
    return *assemble_trees(sequences, indptr), indptr


def _draw_sentence(root_masses, sampler, max_length, rng, explain):
    """Draw a derivation: tokens breadth-first, and lengths of sequences."""
    for _ in range(MAX_REJECTED):
        tokens, lengths = [draw_outcome(root_masses, rng)], [1]
        for head in tokens:  # grows while it is read
            for direction in (LEFT, RIGHT):
                modifiers = sampler(head, direction).draw(rng, max_length)
                tokens.extend(modifiers)
                lengths.append(len(modifiers))
            if len(tokens) > max_length:
                break
        else:
            return tokens, lengths
    raise ValueError(
        f"{MAX_REJECTED} sentences in a row grew beyond max_length={max_length} tokens. {explain()}"
    )
