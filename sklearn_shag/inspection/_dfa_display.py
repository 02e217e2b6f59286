"""Deterministic automata as pictures."""

from __future__ import annotations

from itertools import product
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.automata import SymbolSequences
from sklearn_shag.inspection._dfa import ApproximateDFA, approximate_dfa, name_pair, name_prefixes
from sklearn_shag.inspection._display import Display, cut_word, text_width
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._param_validation import Interval, validate_params

_RADIUS, _SPACE, _ROW, _BORDER, _LINE = 0.27, 2.2, 1.6, 1.2, 0.13  # inches
_FONT = 7
# Bends of arrows, relative to their length, the best first. Two arrows between a pair of states
# bend to different sides; a single one may be straight, or bend to either side.
_BENDS = (0.12, 0.22, 0.32, 0.05, 0.42, 0.52)
_BENDS_OF_ONE = (
    0.0,
    *(side * bend for bend, side in product((0.12, 0.22, 0.32, 0.42, 0.52), (1, -1))),
)
_MAX_ROWS = 4  # of a layer; further states make another one
# Places of a label along its arrow, the best first.
_PLACES = (0.4, 0.5, 0.33, 0.6, 0.27, 0.67, 0.2, 0.75, 0.45, 0.55, 0.3, 0.64, 0.24, 0.71, 0.16, 0.8)
# The curve of a loop above a state, and the places of its label, from the middle of the state.
_LOOP = np.array([(-0.6, 1.0), (-1.92, 3.2), (1.92, 3.2), (0.6, 1.0)]) * _RADIUS / np.hypot(0.6, 1)
_ABOVE = np.array([(0.0, 0.85), (0.0, 1.0), (0.0, 0.7), (0.0, 1.15)])
_GREY = "#8a8f98"
_SHOWN, _LETTERS = 3, 14  # symbols at an arrow, and letters of each, at most


class AutomatonDisplay(Display):
    """Picture of a deterministic approximation of a learned automaton.

    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    dfa : ApproximateDFA
        The automaton that :func:`approximate_dfa` returns.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    states_ : dict of int to matplotlib.patches.Circle
        A circle for each state that is drawn. Set by :meth:`plot`.
    labels_ : dict of (int, int) to matplotlib.text.Text
        The label of each arrow, by its two states. Set by :meth:`plot`.

    See Also
    --------
    approximate_dfa : Computes the automaton.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import AutomatonDisplay
    >>> trees = load_english().data
    >>> model = SpectralSHAG(9).fit(trees)
    >>> display = AutomatonDisplay.from_estimator(
    ...     model, trees, head="NOUN", direction="left", n_clusters=3
    ... )
    >>> display.labels_[2, 1].get_text()
    'ADP 0.31'
    """

    states_: dict[int, Any]
    labels_: dict[tuple[int, int], Any]

    def __init__(self, dfa: ApproximateDFA) -> None:
        self.dfa = dfa

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Sentences | SymbolSequences,
        y: Heads | None = None,
        *,
        head: str | None = None,
        direction: Literal["left", "right"] | None = None,
        n_clusters: int = 10,
        min_count: int = 10,
        min_probability: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Approximate an automaton by a deterministic one and draw it.

        Parameters
        ----------
        estimator : estimator
            As for :func:`approximate_dfa`: a grammar, or a model of sequences.
        X : sequence of length n_sentences
            As for :func:`approximate_dfa`.
        y : None or sequence of length n_sentences, default=None
            The heads; None takes those of the trees in X.
        head : None or str, default=None
            As for :func:`approximate_dfa`: a symbol that the grammar knows.
        direction : {"left", "right"} or None, default=None
            Which automaton of the head.
        n_clusters : int, default=10
            Largest number of clusters of prefixes.
        min_count : int, default=10
            Prefixes of fewer sequences are not clustered.
        min_probability : float in [0, 1], default=0.05
            As for :meth:`plot`.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : AutomatonDisplay
            The display, already drawn.

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            As for :func:`approximate_dfa`.
        """
        dfa = approximate_dfa(
            estimator,
            X,
            y,
            head=head,
            direction=direction,
            n_clusters=n_clusters,
            min_count=min_count,
        )
        return cls(dfa).plot(ax=ax, min_probability=min_probability)

    @validate_params({"min_probability": [Interval(Real, 0, 1, closed="both")]})
    def plot(self, ax: Any = None, *, min_probability: float = 0.05) -> Self:
        """Draw states in layers, with the initial state on the left and the most distant right.

        A state shows its number and its probability of stopping, which also sets its colour. An
        arrow shows the three most probable symbols that lead from one state to the other, with
        their probabilities, and how many more there are. A list below gives the prefixes that were
        merged into each state. States without a drawn path from the initial one are left out.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Axes to draw in; everything is scaled to their size. None makes a figure that is as
            large as the automaton needs.
        min_probability : float in [0, 1], default=0.05
            Transitions with smaller probabilities are not drawn.

        Returns
        -------
        display : AutomatonDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `min_probability` is out of range.
        """
        labels = self.dfa._label_arrows(min_probability, _LETTERS)
        layers = _layer_states(labels)
        n_states = sum(map(len, layers))
        spaces = np.array([_SPACE, _ROW]) * max(1.0, 0.85 + 0.1 * len(labels) / n_states)
        extent = spaces * [len(layers) - 1, max(map(len, layers)) - 1] + 2 * _BORDER
        width, height = max(extent[0], 4.8), extent[1]
        below = _LINE * 1.3 * (n_states + 1)
        self._make_canvas(ax, width, height + below + 0.15)
        centres = {}
        for k, layer in enumerate(layers):
            for row, state in enumerate(layer):
                place = k - (len(layers) - 1) / 2, (len(layer) - 1) / 2 - row
                centres[state] = [width / 2, below + height / 2] + spaces * place
        self._draw_states(centres)
        lowest = {layer[-1] for layer in layers if len(layer) > 1}
        self._draw_arrows(labels, centres, lowest)
        self._describe(width / 2, below + height + 0.15, min_probability)
        return self

    def _draw_states(self, centres):
        from matplotlib import colormaps
        from matplotlib.patches import Circle

        self.states_ = {}
        for state, centre in centres.items():
            stop = self.dfa.states.stop_probabilities[state]
            color = colormaps["Blues"](0.55 * stop)  # pale enough to read black on it
            circle = Circle(
                centre,
                _RADIUS,
                zorder=3,
                facecolor=color,
                edgecolor="black",
                linewidth=self._scale,
            )
            self.states_[state] = self.ax_.add_patch(circle)
            self._add_text(*centre, f"{state}\n{stop:.2f}", 8, ha="center", va="center", zorder=4)

    def _draw_arrows(self, labels, centres, lowest):
        from matplotlib.bezier import BezierSegment

        self._add_arrow(centres[0] - _RADIUS * np.array([[2.4, 0.0], [1.0, 0.0]]), color=_GREY)
        taken = [(*(centre - _RADIUS), *(centre + _RADIUS)) for centre in centres.values()]
        self.labels_ = {}
        for (source, target), lines in labels.items():
            if source not in centres:
                continue
            if source == target:
                up = -1.0 if source in lowest else 1.0
                points, places = centres[source] + up * _LOOP, centres[source] + up * _ABOVE
            else:
                others = [centres[state] for state in centres if state not in (source, target)]
                bends = _BENDS if (target, source) in labels else _BENDS_OF_ONE
                points = _make_curve(centres[source], centres[target], others, bends)
                places = BezierSegment(points)(_PLACES)
            self._add_arrow(points, color=_GREY)
            if len(lines) > _SHOWN:
                lines = [*lines[:_SHOWN], f"+{len(lines) - _SHOWN}"]
            size = [max(text_width(line, _FONT) for line in lines) + 0.04, _LINE * len(lines)]
            place, box = _free_place(places, np.array(size), taken)
            taken.append(box)
            self.labels_[source, target] = self._add_text(
                *place,
                "\n".join(lines),
                _FONT,
                ha="center",
                va="center",
                linespacing=1.0,
                zorder=5,
                bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0},
            )

    def _describe(self, middle, top, min_probability):
        dfa = self.dfa
        name = name_pair(dfa.head, dfa.direction)
        title = (
            f"{name}: transitions with p >= {min_probability:g}\n"
            f"In a state: its number, and the probability to stop there"
        )
        self._add_text(middle, top - 0.1, title, 8, ha="center", va="top")
        for row, state in enumerate(sorted(self.states_)):
            height = _LINE * 1.3 * (len(self.states_) - row + 0.5)
            line = cut_word(f"{state}: after {name_prefixes(dfa.states.prefixes[state])}", 60)
            self._add_text(0.15, height, line, 8, va="top")


def _layer_states(arrows):
    """List states in layers by the number of arrows from the initial state to them.

    Parameters
    ----------
    arrows : iterable of (source, target)
        Within a layer, targets of the same source keep this order.
    """
    layers, last, seen = [], [0], {0}
    while last:
        layers += [last[k : k + _MAX_ROWS] for k in range(0, len(last), _MAX_ROWS)]
        reached = [target for state in last for source, target in arrows if source == state]
        last = [state for state in dict.fromkeys(reached) if state not in seen]
        seen.update(last)
    return layers


def _make_curve(start, end, others, bends):
    """Return the three points of an arrow between two states, on a curve that misses others."""
    from matplotlib.bezier import BezierSegment

    along = end - start
    for bend in bends:
        control = (start + end) / 2 + bend * np.array([along[1], -along[0]])
        points = BezierSegment([start, control, end])(np.linspace(0, 1, 33))
        distances = np.linalg.norm(points[:, None] - np.reshape(others, (-1, 2)), axis=-1)
        if distances.min(initial=np.inf) > 1.2 * _RADIUS:
            break
    first, last = (
        point + _RADIUS * (control - point) / np.linalg.norm(control - point)
        for point in (start, end)
    )
    return first, control, last


def _free_place(places, size, taken):
    """Return the place where a box overlaps least with the taken boxes, and the box there."""
    boxes = np.concatenate([places - size / 2, places + size / 2], axis=1)
    others = np.array(taken)
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    best = int(np.argmin(np.prod(np.clip(high - low, 0.0, None), axis=-1).sum(axis=1)))
    return places[best], tuple(boxes[best])
