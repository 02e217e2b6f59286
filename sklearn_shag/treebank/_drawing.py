"""Drawings of a dependency tree: as text for terminals and as SVG for notebooks."""

import re
import unicodedata
from html import escape
from itertools import accumulate, pairwise

import numpy as np

from sklearn_shag.utils._heads import UNKNOWN, follow_heads, is_projective
from sklearn_shag.utils._messages import import_optional, printable

_INDENT = 4  # columns of text for each level of depth: the width of "`-- "

# Sizes in the SVG, in pixels.
_FORM_SIZE, _SYMBOL_SIZE, _LABEL_SIZE = 14, 11, 10
_GAP, _MARGIN, _LEVEL_HEIGHT = 18, 14, 24
_COMPACT_GAP, _COMPACT_HEIGHT = 6, 15
_MARK, _BLACK, _PLAIN, _LABEL = "#ffe08a", "#1a1d21", "#5a6270", "#2f5d9b"
# Colours of relations, all of them dark enough on white.
_COLORS = ("#1b6ca8", "#b3261e", "#1e7b34", "#7b3fa0", "#a65000", "#00757a", "#a1317a", "#5b5b00")
# Compiled at its first use, since that takes longer than importing this module.
_FORBIDDEN_IN_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


class TreeLayout:
    """Where arcs run above a row of words, in any unit of length.

    An arc lies above all arcs that it spans, and the arrow to a root above all arcs.

    Parameters
    ----------
    centres : list of numbers
        The middle of each word, of :func:`place_words`.
    arcs : sequence of (int, int)
        Positions of head and dependent; the head of a root is 0.

    Attributes
    ----------
    n_levels : int
        The height of the drawing above the words, in levels.
    """

    def __init__(self, centres, arcs):
        self.centres = centres
        self._levels = _level_arcs([arc for arc in arcs if arc[0]])
        self.n_levels = 1 + max(self._levels.values(), default=0)

    def level(self, head, token):
        """Return the height of an arc, in levels."""
        return self._levels.get((head, token), self.n_levels)

    def curve(self, head, token, baseline, step, aside):
        """Return the four points of the cubic curve of an arc, from its head to its dependent.

        The arrow to a root runs straight up and down again.

        Parameters
        ----------
        head, token : int
        baseline : number
            Where arcs begin and end.
        step : number
            The distance of levels; negative if coordinates grow downwards.
        aside : number
            How far from the middle of its head an arc begins, so that it does not hide the arrow
            to the head.
        """
        start = end = self.centres[token - 1]
        if head:
            start = self.centres[head - 1] + (aside if token > head else -aside)
        # The highest point of a cubic curve lies at three quarters of the height of its controls.
        control = baseline + step * self.level(head, token) * 4 / 3
        return (start, baseline), (start, control), (end, control), (end, baseline)


def place_words(widths, margin):
    """Place words in a row.

    Parameters
    ----------
    widths : iterable of numbers
        The width of each word, with the gap to the next one.
    margin : number
        The space at both ends of the row.

    Returns
    -------
    centres : list of numbers
        The middle of each word.
    width : number
        The width of the drawing.
    """
    edges = list(accumulate(widths, initial=margin))
    return [(left + right) / 2 for left, right in pairwise(edges)], edges[-1] + margin


def known_arcs(heads):
    """List the known arcs of a tree as pairs of head and dependent; the head of a root is 0."""
    return [(int(head), token) for token, head in enumerate(heads, start=1) if head != UNKNOWN]


def _level_arcs(arcs):
    """Find the height of each arc: one level more than the arcs that it spans."""
    arcs = sorted(arcs, key=lambda arc: abs(arc[0] - arc[1]))
    starts, ends = np.sort(np.reshape(arcs, (-1, 2)), axis=1).T
    levels = np.zeros(len(arcs), dtype=int)
    for k in range(len(arcs)):  # arcs inside are shorter, so they have their levels
        inside = (starts[k] <= starts[:k]) & (ends[:k] <= ends[k])
        levels[k] = 1 + levels[:k].max(initial=0, where=inside)
    return dict(zip(arcs, levels.tolist(), strict=True))


def draw_text(forms, symbols, heads=None, deprels=None):
    """Draw a tree in ASCII with one token a row, in the order of the sentence.

    A token stands right of its head, at the end of a branch that starts below the first letter of
    the head; one whose head is not known (-1) stands at the margin, like a root. Lines of arcs that
    cross, or pass such a token, would run over words, so they are interrupted there, and every row
    of such a tree ends with the numbers of the token and of its head, "?" if it is not known.

    Parameters
    ----------
    forms, symbols : sequence of str, length n_tokens

    heads : list of int, length n_tokens, default=None
        Without them nothing but the columns is drawn.

    deprels : sequence of str, length n_tokens, default=None

    Returns
    -------
    text : str
        One line for each token; control characters in it are escaped.
    """
    columns = [_make_printable(forms), _make_printable(symbols)]
    if heads is not None:
        columns[0] = list(map("".join, zip(_draw_branches(heads), columns[0], strict=True)))
        if deprels is not None:
            columns.append(_make_printable(deprels))
        if UNKNOWN in heads or not is_projective(heads):
            names = ["?" if head == UNKNOWN else head for head in heads]
            columns.append([f"{token} <- {name}" for token, name in enumerate(names, start=1)])
    return join_cells(map(pad_cells, columns))


def _draw_branches(heads):
    depths = (follow_heads(heads)[0] - 1).tolist()  # 0 for roots and unknown heads
    rows = [bytearray(b" ") * (_INDENT * depth) for depth in depths]
    for head in dict.fromkeys(head for head in heads if head > 0):
        dependents = [token for token, above in enumerate(heads, start=1) if above == head]
        column, first, last = _INDENT * depths[head - 1], dependents[0], dependents[-1]
        for token in range(min(head, first), max(head, last) + 1):
            # Neither words nor arms of arcs that cross are hidden by lines that pass.
            if rows[token - 1][column : column + 1] == b" ":
                rows[token - 1][column] = ord("|")
        for token in dependents:
            rows[token - 1][column : column + 3] = b"|--"
        if first < head:
            rows[first - 1][column] = ord(",")
        if last > head:
            rows[last - 1][column] = ord("`")
    return [row.decode() for row in rows]


def _make_printable(column):
    """Escape control characters, which would move the cursor of a terminal or the words."""
    return [printable(text, max_length=None) for text in column]


def pad_cells(column, is_number=False):
    """Pad texts with spaces to the width of the widest one: behind words, before numbers."""
    width = max(map(display_width, column))
    spaces = [" " * (width - display_width(text)) for text in column]
    pairs = zip(spaces, column, strict=True) if is_number else zip(column, spaces, strict=True)
    return list(map("".join, pairs))


def join_cells(columns):
    """Join columns of texts to a table with a line for each row."""
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def display_width(text):
    """Count the columns in a terminal: 0 for combining characters, 2 for East Asian wide.

    Parameters
    ----------
    text : str

    Returns
    -------
    width : int
    """
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def draw_svg(forms, symbols, heads=None, deprels=None, marked=(), colors=False, compact=False):
    """Draw a tree as arcs above the words, in one self-contained SVG element.

    An arc runs from head to dependent, where its arrow ends, and lies above all arcs that it
    spans; roots have a vertical arrow. The drawing brings its own light background: a notebook
    shows it as an image, which does not know whether the page around it is dark.

    Parameters
    ----------
    forms, symbols : sequence of str, length n_tokens

    heads : list of int, length n_tokens, default=None
        Without them there are no arcs, nor is there one to a token whose head is not known (-1).

    deprels : sequence of str, length n_tokens, default=None

    marked : collection of int, default=()
        Positions of words with a coloured background and thick arcs.

    colors : bool, default=False
        Whether relations have colours of their own.

    compact : bool, default=False
        Whether words and arcs are closer to each other.

    Returns
    -------
    svg : str
    """
    if heads is None:
        heads, deprels = [UNKNOWN] * len(forms), None
    labels = [""] * len(forms) if deprels is None else deprels
    gap, step = (_COMPACT_GAP, _COMPACT_HEIGHT) if compact else (_GAP, _LEVEL_HEIGHT)
    rows = zip((forms, symbols, labels), (_FORM_SIZE, _SYMBOL_SIZE, _LABEL_SIZE), strict=True)
    # 0.62 em is the mean width of a letter, generously.
    widths = [[0.62 * size * display_width(text) for text in row] for row, size in rows]
    boxes = [round(max(of_word)) + gap for of_word in zip(*widths, strict=True)]
    centres, width = place_words(boxes, _MARGIN)
    layout = TreeLayout(list(map(int, centres)), known_arcs(heads))  # whole pixels
    baseline = _MARGIN + step * layout.n_levels
    height = baseline + _FORM_SIZE + _SYMBOL_SIZE + 2 * _MARGIN
    arcs, texts = [], []
    words = enumerate(zip(heads, layout.centres, forms, symbols, labels, strict=True), start=1)
    for token, (head, position, form, symbol, label) in words:
        # A sum of letters, since hashes of str differ between processes.
        own = _COLORS[sum(map(ord, label.partition(":")[0])) % len(_COLORS)] if colors else None
        if token in marked:
            side = round(0.31 * _FORM_SIZE * display_width(form)) + 3
            box = f'x="{position - side}" y="{baseline + 4}" width="{2 * side}" height="19"'
            arcs.insert(0, f'<rect {box} rx="4" fill="{_MARK}"/>')
        texts += [
            _svg_text(position, baseline + 18, _FORM_SIZE, form, _BLACK),
            _svg_text(position, baseline + 34, _SYMBOL_SIZE, symbol, _PLAIN),
        ]
        if head != UNKNOWN:
            points = layout.curve(head, token, baseline, -step, aside=5)
            arcs.append(_svg_arc(points, own or _PLAIN, 2.4 if token in marked else 1.2))
            middle, top = (points[0][0] + position) / 2, baseline - step * layout.level(head, token)
            texts.append(_svg_text(middle, top + 3, _LABEL_SIZE, label, own or _LABEL))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" text-anchor="middle">',
            f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
            *arcs,
            *filter(None, texts),
            "</svg>",
        ]
    )


def make_displacy(forms, symbols, heads, deprels=None):
    """Convert a tree for displaCy with ``manual=True``, which draws no arcs to roots."""
    labels = [""] * len(forms) if deprels is None else deprels
    words = [{"text": form, "tag": tag} for form, tag in zip(forms, symbols, strict=True)]
    arcs = [
        {
            "start": min(head, token) - 1,
            "end": max(head, token) - 1,
            "label": labels[token - 1],
            "dir": "left" if token < head else "right",
        }
        for head, token in known_arcs(heads)
        if head
    ]
    return {"words": words, "arcs": arcs}


def _svg_arc(points, color, weight):
    (start, bottom), (_, control), _, (end, _) = points
    curve = f"M{start} {bottom - 2}C{start} {control:g} {end} {control:g} {end} {bottom - 6}"
    return (
        f'<path d="{curve}" fill="none" stroke="{color}" stroke-width="{weight}"/>'
        f'<path d="M{end} {bottom}l-3.5 -7h7z" fill="{color}"/>'
    )


def _svg_text(x, y, size, text, color):
    """Return a text element with a white outline, which keeps it readable on top of arcs."""
    if not text:
        return ""
    text = escape(re.sub(_FORBIDDEN_IN_XML, "\ufffd", text), quote=False)
    return (
        f'<text x="{x:g}" y="{y}" font-size="{size}" fill="{color}" stroke="#ffffff" '
        f'stroke-width="3" paint-order="stroke">{text}</text>'
    )


def new_graph(kind, **attributes):
    """Make an empty graph of networkx.

    Parameters
    ----------
    kind : str
        The name of its class, such as "DiGraph".
    **attributes
        Of the graph.

    Returns
    -------
    graph : networkx.Graph

    Raises
    ------
    ImportError
        If networkx is not installed.
    """
    return getattr(import_optional("networkx", "graph", "to_networkx"), kind)(**attributes)
