"""The base class of displays: late import of matplotlib, and axes in inches."""

from typing import Any

from sklearn_shag.utils._messages import import_optional


class Display:
    """Base class of displays, each of which is drawn by its method `plot`."""

    ax_: Any
    figure_: Any

    def _import_pyplot(self):
        """Import matplotlib.pyplot, or raise an error that says how to install it."""
        return import_optional("matplotlib.pyplot", "plot", f"{type(self).__name__}.plot")

    def _make_axes(self, ax, figsize):
        """Return the given axes, or make a figure that leaves room for the labels of its axes."""
        plt = self._import_pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=figsize, layout="constrained")
        return ax

    def _make_canvas(self, plt, ax, width, height):
        """Set `ax_` and `figure_`: axes whose unit is an inch at the natural size of the drawing.

        Parameters
        ----------
        plt : matplotlib.pyplot
        ax : matplotlib axes or None
            None makes a figure of that size.
        width, height : float
            Inches.

        Returns
        -------
        scale : float
            Factor of font sizes and line widths: the size of the axes by the natural size.
        """
        if ax is None:
            whole = {"left": 0, "right": 1, "bottom": 0, "top": 1}
            _, ax = plt.subplots(figsize=(width, height), gridspec_kw=whole)
        ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        box = ax.get_window_extent()
        return min(box.width / width, box.height / height) / ax.figure.dpi


def text_width(text, size):
    """Return the width in inches of one line of text, given the font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def cut_word(text, n_letters):
    """Shorten a word to at most `n_letters`, with an ellipsis at its end if it was longer."""
    return text if len(text) <= n_letters else f"{text[: n_letters - 1]}\N{HORIZONTAL ELLIPSIS}"
