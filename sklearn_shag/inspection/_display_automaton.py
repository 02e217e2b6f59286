"""Deterministic automata drawn with states in a circle."""

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.inspection._dfa import ApproximateDFA, approximate_dfa
from sklearn_shag.inspection._display import cut, import_pyplot, make_canvas, text_width
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._param_validation import Interval, validate_params

_RADIUS, _SPACE, _BORDER, _LINE = 0.27, 2.1, 1.2, 0.13  # inches
_FONT = 7
_SHOWN = 3  # symbols at an arrow, prefixes of a state
_BEND = 0.2  # of an arrow that goes clockwise, relative to its length
# Where along an arrow its label may stand; the first is best.
_PLACES = (0.4, 0.5, 0.33, 0.6, 0.27, 0.67, 0.75)
_DISTANCES = (0.85, 1.0, 0.7, 1.15)  # inches, of the label of a loop


class AutomatonDisplay:
    """Deterministic automaton near that of a head and a direction.

    It is recommended to make it by :meth:`from_estimator`.

    Parameters
    ----------
    dfa : ApproximateDFA
        What :func:`approximate_dfa` returns.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Set by :meth:`plot`.
    figure_ : matplotlib.figure.Figure
        Set by :meth:`plot`.
    states_ : list of matplotlib.patches.Circle
        A circle for each state. Set by :meth:`plot`.
    labels_ : dict of (int, int) to matplotlib.text.Text
        What stands at the arrow from one state to another, for each arrow. Set by :meth:`plot`.

    See Also
    --------
    approximate_dfa : How the automaton is made.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import AutomatonDisplay
    >>> trees = load_english().data
    >>> model = SpectralSHAG(9).fit(trees)
    >>> display = AutomatonDisplay.from_estimator(model, "NOUN", "left", trees, n_clusters=3)
    >>> display.labels_[2, 1].get_text()
    'ADP 0.31'
    """

    ax_: Any
    figure_: Any
    states_: list[Any]
    labels_: dict[tuple[int, int], Any]

    def __init__(self, dfa: ApproximateDFA) -> None:
        self.dfa = dfa

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        head: str,
        direction: Literal["left", "right"],
        X: Sentences,
        y: Heads | None = None,
        *,
        n_clusters: int = 10,
        min_count: int = 10,
        min_probability: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Approximate an automaton by a deterministic one and draw it.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator of this package that has `operators_`.
        head : str
            A symbol that it knows.
        direction : {"left", "right"}
            Which of its automata.
        X : sequence of length n_sentences
            As for :func:`approximate_dfa`.
        y : None or sequence of length n_sentences, default=None
            The heads; None takes those of the trees in X.
        n_clusters : int, default=10
            At most so many clusters of prefixes.
        min_count : int, default=10
            Prefixes of fewer sequences are not clustered.
        min_probability : float in [0, 1], default=0.05
            As for :meth:`plot`.
        ax : None or matplotlib axes, default=None
            As for :meth:`plot`.

        Returns
        -------
        display : AutomatonDisplay
            Drawn, with what it was drawn from.

        Raises
        ------
        sklearn.exceptions.NotFittedError, TypeError, ValueError
            As :func:`approximate_dfa`.
        """
        clusters = {"n_clusters": n_clusters, "min_count": min_count}
        dfa = approximate_dfa(estimator, head, direction, X, y, **clusters)
        return cls(dfa).plot(ax=ax, min_probability=min_probability)

    @validate_params({"min_probability": [Interval(Real, 0, 1, closed="both")]})
    def plot(self, ax: Any = None, *, min_probability: float = 0.05) -> Self:
        """Draw states in a circle, clockwise from the initial one, which is on the left.

        A state shows its number and its probability to stop, by which it is filled. An arrow shows
        the symbols that lead from one state to the other, with their probabilities, the three most
        probable ones, and how many more there are. Below stands of which prefixes states were made.

        Parameters
        ----------
        ax : None or matplotlib axes, default=None
            Where to draw; everything is scaled to its size. None makes a figure that is as
            large as the automaton needs.
        min_probability : float in [0, 1], default=0.05
            Transitions that are rarer are not drawn.

        Returns
        -------
        display : AutomatonDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `min_probability` is out of range.
        """
        plt = import_pyplot(type(self).__name__)
        n_states = len(self.dfa.states.visits)
        ring = _SPACE / (2 * np.sin(np.pi / n_states)) if n_states > 1 else 0.0
        side = 2 * (ring + _BORDER)
        below = _LINE * 1.3 * (n_states + 1)
        self.ax_, scale = make_canvas(plt, ax, max(side, 4.5), side + below)
        self.figure_ = self.ax_.figure
        middle = np.array([max(side, 4.5) / 2, below + side / 2])
        outwards = _directions(n_states)
        centres = middle + ring * outwards
        self._draw_states(plt, centres, scale)
        self._draw_arrows(centres, outwards, min_probability, scale)
        self._describe(middle[0], below + side, min_probability, scale)
        return self

    def _draw_states(self, plt, centres, scale):
        self.states_ = []
        stops = self.dfa.states.stop_probabilities
        for state, (centre, stop) in enumerate(zip(centres, stops, strict=True)):
            color = plt.get_cmap("Blues")(0.7 * stop)  # dark enough to read black on it
            style = {"facecolor": color, "edgecolor": "black", "linewidth": scale, "zorder": 3}
            self.states_.append(self.ax_.add_patch(plt.Circle(centre, _RADIUS, **style)))
            text = {"ha": "center", "va": "center", "fontsize": 8 * scale, "zorder": 4}
            self.ax_.text(*centre, f"{state}\n{stop:.2f}", **text)

    def _draw_arrows(self, centres, outwards, min_probability, scale):
        from matplotlib.patches import FancyArrowPatch

        style = {"arrowstyle": "-|>", "color": "#8a8f98", "linewidth": scale}
        style["mutation_scale"] = 9 * scale
        start = centres[0] + 2.4 * _RADIUS * np.array([-1.0, 0.0])
        self.ax_.add_patch(FancyArrowPatch(start, centres[0] - [_RADIUS, 0.0], **style))
        taken = [(*(centre - _RADIUS), *(centre + _RADIUS)) for centre in centres]
        self.labels_ = {}
        for (source, target), lines in self._labels(min_probability).items():
            if source == target:
                path, places = _loop(centres[source], outwards[source])
            else:
                # Inwards, so that it misses the states between; its reverse is straight.
                is_clockwise = (target - source) % len(centres) <= len(centres) / 2
                bend = _BEND if is_clockwise else 0.0
                path, places = _curve(centres[source], centres[target], bend)
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
        """The lines of text at each arrow."""
        found = {}
        for source, symbol, target, _, probability in zip(*self.dfa.transitions, strict=True):
            if probability >= min_probability:
                line = f"{cut(symbol, 14)} {probability:.2f}"
                found.setdefault((int(source), int(target)), []).append(line)
        return {
            pair: lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"+{len(lines) - _SHOWN}"]
            for pair, lines in found.items()
        }

    def _describe(self, middle, top, min_probability, scale):
        dfa = self.dfa
        title = f"{dfa.head}, {dfa.direction}: transitions with p >= {min_probability:g}"
        style = {"fontsize": 8 * scale, "parse_math": False, "va": "top"}
        self.ax_.text(middle, top - 0.1, title, ha="center", **style)
        for state, prefixes in enumerate(dfa.states.prefixes):
            examples = ", ".join(" ".join(prefix) or "(none)" for prefix in prefixes[:_SHOWN])
            more = ", ..." if len(prefixes) > _SHOWN else ""
            height = _LINE * 1.3 * (len(dfa.states.prefixes) - state + 0.5)
            self.ax_.text(0.15, height, cut(f"{state}: after {examples}{more}", 60), **style)


def _directions(n_states):
    """Unit vectors from the middle to each state; a single one is in the middle, and its up."""
    if n_states == 1:
        return np.array([[0.0, 1.0]])
    angles = np.pi - 2 * np.pi * np.arange(n_states) / n_states
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _curve(start, end, bend):
    """A bent arrow between two states, and points on it for its label."""
    from matplotlib.path import Path

    along = end - start
    control = (start + end) / 2 + bend * np.array([along[1], -along[0]])
    first, last = (
        point + _RADIUS * (control - point) / np.linalg.norm(control - point)
        for point in (start, end)
    )
    t = np.array(_PLACES)[:, None]
    places = (1 - t) ** 2 * first + 2 * t * (1 - t) * control + t**2 * last
    return Path([first, control, last], [Path.MOVETO, Path.CURVE3, Path.CURVE3]), places


def _loop(centre, outwards):
    """An arrow from a state to itself, away from the circle, and points beyond it."""
    from matplotlib.path import Path

    across = np.array([-outwards[1], outwards[0]])
    sides = [(outwards + side * across) / np.hypot(1, side) for side in (0.6, -0.6)]
    near, far = ([centre + r * side for side in sides] for r in (_RADIUS, 3.2 * _RADIUS))
    path = Path([near[0], *far, near[1]], [Path.MOVETO, *[Path.CURVE4] * 3])
    return path, centre + np.array(_DISTANCES)[:, None] * outwards


def _free_place(places, size, taken):
    """The first of some places where a box overlaps the least with those that are there."""
    boxes = np.concatenate([places - size / 2, places + size / 2], axis=1)
    others = np.array(taken)
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    best = int(np.argmin(np.prod(np.clip(high - low, 0.0, None), axis=-1).sum(axis=1)))
    return places[best], tuple(boxes[best])
