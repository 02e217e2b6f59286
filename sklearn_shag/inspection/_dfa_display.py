"""Deterministic automata as pictures."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.automata import SymbolSequences
from sklearn_shag.inspection._dfa import ApproximateDFA, approximate_dfa, name_pair, name_prefixes
from sklearn_shag.inspection._display import Display, cut_word, text_width
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._arrays import rows_of
from sklearn_shag.utils._param_validation import Interval, validate_params

_RADIUS, _SPACE, _ROW, _BORDER, _LINE = 0.27, 2.2, 1.6, 1.2, 0.13  # inches
_FONT = 7
# Bends of arrows, relative to their length, the best first. Two arrows between a pair of states
# bend to different sides; a single one may be straight, or bend to either side.
_BENDS = (0.12, 0.22, 0.32, 0.05, 0.42, 0.52)
_BENDS_OF_ONE = (0.0, *(side * bend for bend in (0.12, 0.22, 0.32, 0.42, 0.52) for side in (1, -1)))
_MAX_ROWS = 4  # of a layer; further states make another one
# Places of a label along its arrow, the best first.
_PLACES = (0.4, 0.5, 0.33, 0.6, 0.27, 0.67, 0.2, 0.75, 0.45, 0.55, 0.3, 0.64, 0.24, 0.71, 0.16, 0.8)
_DISTANCES = (0.85, 1.0, 0.7, 1.15)  # inches, of the label of a loop
_SHOWN = 3  # symbols at an arrow


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
        options = {"n_clusters": n_clusters, "min_count": min_count}
        dfa = approximate_dfa(estimator, X, y, head=head, direction=direction, **options)
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
        plt = self._import_pyplot()
        labels = self._labels(min_probability)
        layers = _layer_states(labels)
        n_rows = max(map(len, layers))
        n_states = sum(map(len, layers))
        space, row_space = np.array([_SPACE, _ROW]) * max(1.0, 0.85 + 0.1 * len(labels) / n_states)
        width = max(space * (len(layers) - 1) + 2 * _BORDER, 4.8)
        height = row_space * (n_rows - 1) + 2 * _BORDER
        below = _LINE * 1.3 * (n_states + 1)
        scale = self._make_canvas(plt, ax, width, height + below + 0.15)
        left = (width - space * (len(layers) - 1)) / 2
        centres = {}
        for k, layer in enumerate(layers):
            top = below + height / 2 + row_space * (len(layer) - 1) / 2
            for row, state in enumerate(layer):
                centres[state] = np.array([left + space * k, top - row_space * row])
        self._draw_states(plt, centres, scale)
        lowest = {layer[-1] for layer in layers if len(layer) > 1}
        self._draw_arrows(labels, centres, lowest, scale)
        self._describe(width / 2, below + height + 0.15, min_probability, scale)
        return self

    def _draw_states(self, plt, centres, scale):
        self.states_ = {}
        stops = self.dfa.states.stop_probabilities
        for state, centre in centres.items():
            stop = stops[state]
            color = plt.get_cmap("Blues")(0.55 * stop)  # pale enough to read black on it
            style = {"facecolor": color, "edgecolor": "black", "linewidth": scale, "zorder": 3}
            self.states_[state] = self.ax_.add_patch(plt.Circle(centre, _RADIUS, **style))
            text = {"ha": "center", "va": "center", "fontsize": 8 * scale, "zorder": 4}
            self.ax_.text(*centre, f"{state}\n{stop:.2f}", **text)

    def _draw_arrows(self, labels, centres, lowest, scale):
        from matplotlib.patches import FancyArrowPatch

        style = {"arrowstyle": "-|>", "color": "#8a8f98", "linewidth": scale}
        style["mutation_scale"] = 9 * scale
        start = centres[0] + 2.4 * _RADIUS * np.array([-1.0, 0.0])
        self.ax_.add_patch(FancyArrowPatch(start, centres[0] - [_RADIUS, 0.0], **style))
        taken = [(*(centre - _RADIUS), *(centre + _RADIUS)) for centre in centres.values()]
        self.labels_ = {}
        for (source, target), lines in labels.items():
            if source not in centres:
                continue
            if source == target:
                path, places = _make_loop(centres[source], -1.0 if source in lowest else 1.0)
            else:
                others = [centres[state] for state in centres if state not in (source, target)]
                bends = _BENDS if (target, source) in labels else _BENDS_OF_ONE
                path, places = _make_curve(centres[source], centres[target], others, bends)
            self.ax_.add_patch(FancyArrowPatch(path=path, **style))
            size = [max(text_width(line, _FONT) for line in lines) + 0.04, _LINE * len(lines)]
            place, box = _free_place(places, np.array(size), taken)
            taken.append(box)
            text = {"ha": "center", "va": "center", "fontsize": _FONT * scale, "zorder": 5}
            text["bbox"] = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0}
            self.labels_[source, target] = self.ax_.text(
                *place, "\n".join(lines), parse_math=False, linespacing=1.0, **text
            )

    def _labels(self, min_probability):
        """Return the lines of text at each arrow, by source and target."""
        found = {}
        for source, symbol, target, _, probability in rows_of(self.dfa.transitions):
            if probability >= min_probability:
                line = f"{cut_word(symbol, 14)} {probability:.2f}"
                found.setdefault((source, target), []).append(line)
        return {
            pair: lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"+{len(lines) - _SHOWN}"]
            for pair, lines in found.items()
        }

    def _describe(self, middle, top, min_probability, scale):
        dfa = self.dfa
        name = name_pair(dfa.head, dfa.direction)
        title = (
            f"{name}: transitions with p >= {min_probability:g}\n"
            f"In a state: its number, and the probability to stop there"
        )
        style = {"fontsize": 8 * scale, "parse_math": False, "va": "top"}
        self.ax_.text(middle, top - 0.1, title, ha="center", **style)
        for row, state in enumerate(sorted(self.states_)):
            height = _LINE * 1.3 * (len(self.states_) - row + 0.5)
            line = cut_word(f"{state}: after {name_prefixes(dfa.states.prefixes[state])}", 60)
            self.ax_.text(0.15, height, line, **style)


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
    """Return an arrow between two states that misses others, and places for its label."""
    from matplotlib.path import Path

    along = end - start
    for bend in bends:
        control = (start + end) / 2 + bend * np.array([along[1], -along[0]])
        points = _on_curve(start, control, end, np.linspace(0, 1, 33))
        distances = np.linalg.norm(points[:, None] - np.reshape(others, (-1, 2)), axis=-1)
        if distances.min(initial=np.inf) > 1.2 * _RADIUS:
            break
    first, last = (
        point + _RADIUS * (control - point) / np.linalg.norm(control - point)
        for point in (start, end)
    )
    path = Path([first, control, last], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    return path, _on_curve(first, control, last, np.array(_PLACES))


def _on_curve(start, control, end, t):
    t = t[:, None]
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end


def _make_loop(centre, up):
    """Return an arrow from a state to itself, above it if `up` is 1, and places for its label."""
    from matplotlib.path import Path

    outwards = np.array([0.0, up])
    across = np.array([-outwards[1], outwards[0]])
    sides = [(outwards + side * across) / np.hypot(1, side) for side in (0.6, -0.6)]
    near, far = ([centre + r * side for side in sides] for r in (_RADIUS, 3.2 * _RADIUS))
    path = Path([near[0], *far, near[1]], [Path.MOVETO, *[Path.CURVE4] * 3])
    return path, centre + np.array(_DISTANCES)[:, None] * outwards


def _free_place(places, size, taken):
    """Return the place where a box overlaps least with the taken boxes, and the box there."""
    boxes = np.concatenate([places - size / 2, places + size / 2], axis=1)
    others = np.array(taken)
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    best = int(np.argmin(np.prod(np.clip(high - low, 0.0, None), axis=-1).sum(axis=1)))
    return places[best], tuple(boxes[best])
