"""Figures of the pages, drawn by the package itself when the site is built.

They go to ``generated/figures``: a parse of words, a parse over a tree, an automaton, the
architecture, and accuracy over training time, which a benchmark has measured and saved.
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from sklearn.model_selection import train_test_split

from sklearn_shag import SpectralSHAG
from sklearn_shag.datasets import load_english, load_parser
from sklearn_shag.inspection import AutomatonDisplay, DependencyTreeDisplay

INK, SHADE, ACCENT = "#2b3440", "#eef2f7", "#d8e6f5"
# Boxes of the architecture: what it is, where it lives, and its place (column, row).
BOXES = {
    "trees": ("trees", "treebank/", 0, 1),
    "codes": ("codes", "encoding/", 1, 1),
    "statistics": ("sequences,\nstatistics", "sequences/", 2, 1),
    "learner": ("learner", "learning/", 3, 1),
    "operators": ("operators", "operators/", 4, 1),
    "sentences": ("sentences", "treebank/", 0, 0),
    "new codes": ("codes", "encoding/", 1, 0),
    "chart": ("chart", "parsing/", 3, 0),
    "heads": ("marginals,\nheads", "parsing/", 4, 0),
}
ARROWS = [
    ("trees", "codes"),
    ("codes", "statistics"),
    ("statistics", "learner"),
    ("learner", "operators"),
    ("sentences", "new codes"),
    ("new codes", "chart"),
    ("operators", "chart"),
    ("chart", "heads"),
]
# What estimators read, and their marks in the order of the measurements.
READS = {
    "tags": "#9fb3c8",
    "tags, forms": "#f2c14e",
    "all columns": "#d1495b",
    "forms": "#66a182",
}
MARKERS = "os^Dv*PX<>h"
WIDTH, HEIGHT, STEP, ROW = 1.5, 0.9, 2.0, 1.9


def draw_trees(folder):
    """A sentence of the bundled treebank that is parsed with one wrong arc: alone, and compared."""
    train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)
    model = SpectralSHAG().fit(train)
    one_error = (
        tree
        for tree, heads in zip(test, model.predict(test), strict=True)
        if 8 <= len(tree) <= 10 and (tree.heads != heads).sum() == 1
    )
    tree = next(one_error)
    (folder / "parse.svg").write_text(model.parse([tree])[0].to_svg(), encoding="utf-8")
    display = DependencyTreeDisplay.from_estimator(model, tree)
    _save(display.figure_, folder / "tree.svg")


def draw_text(folder):
    """What the bundled parser makes of plain text: beside the command, and on cards."""
    texts = {
        "text": "She read the book on Tuesday.",
        "text_card": "The tide comes in.",
        "lesson": "We saw the man with the dog.",
    }
    for name, text in texts.items():
        (tree,) = load_parser("english").parse_text(text)
        (folder / f"{name}.svg").write_text(tree.to_svg(), encoding="utf-8")
    (tree,) = load_parser("english").parse_text("The door was shut.")
    drawn = tree.to_svg(highlight=lambda token: token.deprel in ("nsubj:pass", "aux:pass"))
    (folder / "passive.svg").write_text(drawn, encoding="utf-8")


def draw_automaton(folder):
    """What the states of nouns tell apart, left of them."""
    trees = load_english().data
    model = SpectralSHAG().fit(trees)
    display = AutomatonDisplay.from_estimator(
        model, trees, head="NOUN", direction="left", n_clusters=4
    )
    _save(display.figure_, folder / "automaton.svg")


def draw_architecture(folder):
    """The way of trees to operators, and of sentences through the chart."""
    figure, axes = plt.subplots(figsize=(9.4, 3.2))
    for what, where, column, row in BOXES.values():
        x, y = column * STEP, row * ROW
        color = ACCENT if what == "operators" else SHADE
        box = FancyBboxPatch(
            (x, y), WIDTH, HEIGHT, boxstyle="round,pad=0.05", facecolor=color, edgecolor=INK
        )
        axes.add_patch(box)
        axes.text(x + WIDTH / 2, y + 0.56, what, ha="center", va="center", fontsize=11, color=INK)
        axes.text(
            x + WIDTH / 2, y + 0.12, where, ha="center", va="center", fontsize=9, family="monospace"
        )
    for source, target in ARROWS:
        axes.add_patch(_arrow(*BOXES[source][2:], *BOXES[target][2:]))
    axes.text(-0.5, ROW + HEIGHT / 2, "fit", ha="right", va="center", fontsize=12, weight="bold")
    axes.text(-0.5, HEIGHT / 2, "predict", ha="right", va="center", fontsize=12, weight="bold")
    axes.set(xlim=(-1.6, 4 * STEP + WIDTH + 0.1), ylim=(-0.1, ROW + HEIGHT + 0.1))
    axes.set_aspect("equal")
    axes.axis("off")
    _save(figure, folder / "architecture.svg")


def draw_choice(folder):
    """Accuracy over training time on five treebanks, by what an estimator reads."""
    results = Path(__file__).parents[2] / "benchmarks" / "results"
    rows = json.loads((results / "choosing.json").read_text())["tables"]["estimators"]
    treebanks = list(dict.fromkeys(row["treebank"] for row in rows))
    estimators = list(dict.fromkeys(row["estimator"] for row in rows))
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
    handles = {}
    for place, treebank in zip(axes.flat, treebanks, strict=False):
        for row in rows:
            if row["treebank"] == treebank:
                color, marker = READS[row["reads"]], MARKERS[estimators.index(row["estimator"])]
                style = {"color": color, "marker": marker, "s": 60, "edgecolor": INK}
                x, y = row["training (CPU s)"], row["UAS"]
                handles[row["estimator"]] = place.scatter(x, y, **style)
        place.set(xscale="log", title=treebank.removeprefix("UD_"))
        place.grid(color=SHADE)
    for place in axes[:, 0]:
        place.set_ylabel("UAS, test set")
    for place in (axes[1, 0], axes[1, 1], axes[0, 2]):
        place.set_xlabel("CPU seconds of training")
    axes[1, 2].axis("off")
    axes[1, 2].legend(handles.values(), handles, loc="center", frameon=False)
    _save(figure, folder / "choosing.svg")


def _save(figure, path):
    """Write a figure that is the same whenever it is drawn."""
    with matplotlib.rc_context({"svg.hashsalt": "sklearn_shag"}):
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def _arrow(column, row, to_column, to_row):
    """An arrow to the right or, to another row, from the lower side of a box to the upper one."""
    if row == to_row:
        start = (column * STEP + WIDTH + 0.06, row * ROW + HEIGHT / 2)
        end = (to_column * STEP - 0.06, to_row * ROW + HEIGHT / 2)
    else:
        start = (column * STEP + WIDTH / 2, row * ROW - 0.06)
        end = (to_column * STEP + WIDTH / 2, to_row * ROW + HEIGHT + 0.06)
    return FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=14, color=INK)


def draw(app):
    """Draw all figures."""
    folder = Path(app.srcdir) / "generated" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for draw_figure in (draw_trees, draw_text, draw_automaton, draw_architecture, draw_choice):
        draw_figure(folder)


def setup(app):
    """Draw before pages are read."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}
