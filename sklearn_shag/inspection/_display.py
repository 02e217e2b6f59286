"""What displays share: matplotlib, imported when something is drawn, and axes in inches."""

from typing import Any

from sklearn_shag.utils._messages import import_optional


class Display:
    """Base class of displays, each of which is drawn by its method `plot`."""

    ax_: Any
    figure_: Any

    def _import_pyplot(self):
        """Import matplotlib.pyplot, or say who needs it and how to get it."""
        return import_optional("matplotlib.pyplot", "plot", f"{type(self).__name__}.plot")

    def _make_axes(self, ax, *n_axes, figsize):
        """Take axes that are given, or make those of a figure that leaves room for their labels."""
        plt = self._import_pyplot()
        if ax is None:
            _, ax = plt.subplots(*n_axes, figsize=figsize, layout="constrained")
        return ax

    def _make_canvas(self, plt, ax, width, height):
        """Set `ax_` and `figure_`: axes whose unit is an inch where the drawing has its own size.

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
            How large font sizes and lines are in these axes, relative to the own size.
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
    """Width in inches of one line of text, of a font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def cut(text, n_letters):
    """Cut a word that is longer than most, and tell so by dots."""
    return text if len(text) <= n_letters else f"{text[: n_letters - 1]}\N{HORIZONTAL ELLIPSIS}"
