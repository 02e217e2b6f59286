"""The base class of displays: late import of matplotlib, and axes in inches."""

from typing import Any

from sklearn_shag.utils._messages import import_optional


class Display:
    """Base class of displays, each of which is drawn by its method `plot`."""

    ax_: Any
    figure_: Any
    _scale: float

    def _import_pyplot(self):
        """Import matplotlib.pyplot, or raise an error that says how to install it."""
        return import_optional("matplotlib.pyplot", "plot", f"{type(self).__name__}.plot")

    def _make_axes(self, ax, figsize, **options):
        """Set `ax_` and `figure_` to the given axes, or to those of a new figure; return the axes.

        A figure leaves room for the labels of its axes with ``layout="constrained"``.
        """
        if ax is None:
            _, ax = self._import_pyplot().subplots(figsize=figsize, **options)
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _make_canvas(self, ax, width, height):
        """Set `ax_` and `figure_`: axes whose unit is an inch at the natural size of the drawing.

        Texts and lines are then as much larger or smaller as the axes are.

        Parameters
        ----------
        ax : matplotlib axes or None
            None makes a figure of that size.
        width, height : float
            Inches.
        """
        ax = self._make_axes(
            ax,
            figsize=(width, height),
            gridspec_kw={"left": 0, "right": 1, "bottom": 0, "top": 1},
        )
        ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.set_axis_off()
        box = ax.get_window_extent()
        self._scale = min(box.width / width, box.height / height) / ax.figure.dpi

    def _add_text(self, x, y, text, size, **style):
        """Write a text on the canvas as it is, without formulas; `size` is in points."""
        return self.ax_.text(x, y, text, fontsize=size * self._scale, parse_math=False, **style)

    def _add_arrow(self, points, linewidth=1.0, **style):
        """Draw an arrow on the canvas: a line of two points, or the curve of three or four."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        kind = (Path.LINETO, Path.CURVE3, Path.CURVE4)[len(points) - 2]
        path = Path(points, [Path.MOVETO, *[kind] * (len(points) - 1)])
        arrow = FancyArrowPatch(
            path=path,
            arrowstyle="-|>",
            linewidth=linewidth * self._scale,
            mutation_scale=9 * self._scale,
            **style,
        )
        return self.ax_.add_patch(arrow)


def text_width(text, size):
    """Return the width in inches of one line of text, given the font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def cut_word(text, n_letters):
    """Shorten a word to at most `n_letters`, with an ellipsis at its end if it was longer."""
    return text if len(text) <= n_letters else f"{text[: n_letters - 1]}\N{HORIZONTAL ELLIPSIS}"
