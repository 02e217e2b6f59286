"""The chart in logarithms: an oracle for sentences of any length and value (theory, eqs. 14-26).

The package's chart is in plain doubles. Here numbers of either sign are complex logarithms: that of
-1 is pi times i. If no number is negative they are real ones, which take half of the time. Sums of
products are written down as they are made, so that their derivatives are found without other
equations.

A sentence has positions 0..N; position 0 is the root symbol. Both directions share all tables and
sums: a token has a *place* in each, N - position to the left and its position to the right, so that
modifiers lie behind their heads. Tables are addressed by direction, width and place: a half of the
width w and the head at p ends with the place p + w. The memory of an automaton is the class of its
last modifier, 0 at the start:

- ``complete[d, w, p, j]``, vector C_j: the automaton of the head has emitted every modifier up to
  p + w, the last of them of class j;
- ``facing[d, w, p]`` and ``ending[d, w, p]``, numbers: halves after STOP, whatever the class, in
  two orders. The first are those with the head p that lie before it, of the other direction; the
  second those that end with p;
- ``awaiting[d, w, p, j]``, vector g_j: everything between p and p + w is built, the modifier p + w
  is not yet emitted;
- ``incomplete[d, w, p, j]``, vector I_j: it has just been emitted, and is of class j.
"""

from typing import NamedTuple

import numpy as np

from tests.oracles import LEFT, RIGHT, Uses

DIRECTIONS = np.array([[LEFT], [RIGHT]])


class Table:
    """Logarithms of numbers, and their expected uses: the derivatives of log Z by them."""

    def __init__(self, numbers, dtype):
        self.logs = np.log(np.asarray(numbers, dtype=dtype))
        self.uses = np.zeros_like(self.logs)


class Factor(NamedTuple):
    """Numbers of a table, and the axes of terms along which they are the same."""

    table: Table
    place: tuple
    same: tuple = ()


class Sum(NamedTuple):
    """Products of factors that are summed along some axes, and where the sums go."""

    table: Table
    place: tuple
    axes: tuple
    factors: tuple[Factor, ...]

    def terms(self):
        return sum(np.expand_dims(f.table.logs[f.place], f.same) for f in self.factors)

    def fill(self):
        terms = self.terms()
        largest = np.nan_to_num(terms.real.max(axis=self.axes, keepdims=True), neginf=0.0)
        total = np.exp(terms - largest).sum(axis=self.axes)
        self.table.logs[self.place] = np.log(total) + largest.squeeze(self.axes)

    def differentiate(self):
        total = self.table.logs[self.place].copy()
        total[total.real == -np.inf] = np.inf  # terms of nothing have no share
        shares = np.exp(self.terms() - np.expand_dims(total, self.axes))
        uses = shares * np.expand_dims(self.table.uses[self.place], self.axes)
        for table, place, same in self.factors:
            if all(isinstance(part, slice | int) for part in place):
                table.uses[place] += uses.sum(axis=same)
            else:  # some places may be there twice
                np.add.at(table.uses, place, uses.sum(axis=same))


@np.errstate(divide="ignore", invalid="ignore")  # the logarithm of 0, and 0 / 0
def sum_up(operators, codes, arcs=None, memory=None, arc_memory=None, stop_memory=None):
    """Z and the expected uses of everything, as :func:`tests.oracles.enumerate_uses`."""
    n, n_states = len(codes) + 1, operators.alpha_1.shape[2]
    n_classes = max([np.shape(f)[-1] for f in (arc_memory, stop_memory) if f is not None] or [1])
    classes = np.zeros(n, dtype=int)
    scores, stop_scores = np.zeros((n, n, n_classes)), np.ones((n, 2, n_classes))
    scores[:, 1:] = 1.0  # the root symbol is no modifier
    if arc_memory is not None:
        scores[:, 1:] = np.swapaxes(arc_memory, 0, 1)
    if stop_memory is not None:
        stop_scores[1:] = stop_memory
    if memory is not None and n_classes > 1:
        classes[1:] = memory
    numbers = [*operators, scores, stop_scores, np.eye(n_classes)[classes]]
    dtype = float if all(np.all(each >= 0) for each in numbers) else complex
    starts, ends, moves, of_arcs, of_stops, of_classes = (Table(each, dtype) for each in numbers)
    if arcs is not None:
        of_arcs.logs[:, 1:] += arcs.T[..., None]
    complete, awaiting, incomplete = (
        Table(np.zeros((2, n, n, n_classes, n_states)), dtype) for _ in range(3)
    )
    facing, ending = (Table(np.zeros((2, n, n)), dtype) for _ in range(2))
    codes = np.array([len(operators.A) - 1, *codes])
    positions, sums = np.stack([np.arange(n)[::-1], np.arange(n)]), []

    def fill(*of_sum):
        sums.append(Sum(*of_sum))
        sums[-1].fill()

    for width in range(n):
        places = np.arange(n - width)
        here, behind = np.s_[:, width, : n - width], np.s_[:, width - 1 :: -1, width:]
        heads, modifiers = positions[:, : n - width], positions[:, width:]
        of_heads = codes[heads], DIRECTIONS
        if width == 0:  # C_0[h, b] = alpha_1                                            (eq. 15)
            fill(complete, np.s_[:, 0, :, 0], (), [Factor(starts, of_heads)])
        else:
            # g_j[h, m] = sum_b closed[m, b] C_j[h, b]                                   (eq. 16)
            narrower = Factor(complete, np.s_[:, :width, : n - width])
            fill(awaiting, here, 1, [Factor(facing, behind, (3, 4)), narrower])
            # I[h, m] = A[h, m] sum_j score(h, m, j) g_j[h, m]                           (eq. 17)
            # The root symbol is among the modifiers, with scores of 0: its code may be any.
            of_moves = *of_heads, np.where(modifiers, codes[modifiers], 0)
            factors = (
                Factor(moves, of_moves, (2, 4)),
                Factor(of_arcs, (heads, modifiers), (2, 3, 5)),
                Factor(awaiting, here, (2, 3)),
                Factor(of_classes, (modifiers,), (3, 4, 5)),
            )
            fill(incomplete, here, (4, 5), factors)
            # C_j[h, b] = sum_m closed[m, b] I_j[h, m]                                   (eq. 18)
            emitted = Factor(incomplete, np.s_[:, 1 : width + 1, : n - width])
            fill(complete, here, 1, [Factor(ending, behind, (3, 4)), emitted])
            complete.logs[RIGHT, width : n - 1, 0] = -np.inf  # a root takes no other
        # closed[h, b] = sum_j stop(h, j) alpha_inf . C_j[h, b]                          (eq. 14)
        of_scores = Factor(of_stops, (heads, DIRECTIONS), 3)
        factors = Factor(ends, of_heads, 2), of_scores, Factor(complete, here)
        fill(facing, (1 - DIRECTIONS, width, n - 1 - places), (2, 3), factors)
        fill(ending, (DIRECTIONS, width, width + places), (2, 3), factors)
    log_z = ending.logs[RIGHT, -1, -1]
    ending.uses[RIGHT, -1, -1] = 1.0
    for each in reversed(sums):
        each.differentiate()
    sign = np.sign(np.cos(log_z.imag)) * (log_z.real > -np.inf)
    tables = of_arcs, of_stops, starts, ends, moves
    arcs, stops, *counts = (each.uses.real / abs(sign) for each in tables)  # NaN where Z is 0
    arcs = arcs[:, 1:].swapaxes(0, 1)
    return Uses(sign, log_z.real, arcs.sum(axis=2), arcs, stops[1:], counts)
