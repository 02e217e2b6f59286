"""DependencyTree: checks, immutability, equality, columns and drawings."""

import copy
import json
import pickle
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given

from sklearn_shag.treebank import DependencyTree
from tests.fuzz.treebanks import heads_lists
from tests.loops import over

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def tree():
    return DependencyTree(
        ["The", "dog", "barks", "."],
        [2, 3, 0, 3],
        lemmas=["the", "dog", "bark", "."],
        upos=["DET", "NOUN", "VERB", "PUNCT"],
        xpos=["DT", "NN", "VBZ", "."],
        feats=["Definite=Def|PronType=Art", "Number=Sing", "Number=Sing|Tense=Pres", "_"],
        deprels=["det", "nsubj", "root", "punct"],
    )


class TestConstructor:
    def test_symbols_default_to_upos_then_forms(self):
        given = {"upos": ["X"], "symbols": ["Y"]}, {"upos": ["X"]}, {}
        symbols = [DependencyTree(["a"], **columns).symbols for columns in given]
        assert symbols == [("Y",), ("X",), ("a",)]

    @over("dtype", [float, object, np.uint8, np.int32, np.float32])
    def test_heads_are_whole_numbers_of_any_type(self, dtype):
        given = np.array([2, 0, 2], dtype=dtype)
        heads = DependencyTree(["a", "b", "c"], given).heads
        assert (heads.dtype, heads.tolist()) == (np.intp, [2, 0, 2])
        assert given.flags.writeable


class TestEquality:
    def test_equal_trees(self, tree):
        same = pickle.loads(pickle.dumps(tree))
        assert same is not tree
        assert same == tree
        assert {same, tree} == {tree}  # the same hash, too
        assert copy.deepcopy([tree]) == [tree]

    def test_every_column_counts(self, tree):
        names = ("forms", "heads", "lemmas", "upos", "xpos", "feats", "deprels", "symbols")
        columns = {name: getattr(tree, name) for name in names}
        assert DependencyTree(**columns) == tree
        changes = [
            *({name: list("wxyz")} for name in names if name != "heads"),
            *({name: None} for name in names[1:-1]),
            {"heads": [0, 1, 1, 1]},
        ]
        assert tree not in [DependencyTree(**columns | change) for change in changes]

    def test_other_types(self, tree):
        assert tree != ["The", "dog", "barks", "."]
        assert (tree == 1) is False


class TestColumns:
    @over(
        ("name", "expected"),
        [
            ("form", ("The", "dog", "barks", ".")),
            ("lemma", ("the", "dog", "bark", ".")),
            ("upos", ("DET", "NOUN", "VERB", "PUNCT")),
            ("xpos", ("DT", "NN", "VBZ", ".")),
            ("feats", ("Definite=Def|PronType=Art", "Number=Sing", "Number=Sing|Tense=Pres", "_")),
            ("deprel", ("det", "nsubj", "root", "punct")),
            ("symbol", ("DET", "NOUN", "VERB", "PUNCT")),
            ("feats.Number", ("_", "Sing", "Sing", "_")),
            ("feats.Tense", ("_", "_", "Pres", "_")),
            ("feats.Num", ("_",) * 4),
        ],
    )
    def test_values(self, tree, name, expected):
        assert tree.column(name) == expected


class TestChangedTrees:
    def test_with_heads(self, tree):
        changed = tree.with_heads(np.array([0, 1, 1, 1]))
        assert (changed.heads.tolist(), changed.deprels) == ([0, 1, 1, 1], None)
        assert (changed.forms, changed.feats) == (tree.forms, tree.feats)
        assert tree.heads.tolist() == [2, 3, 0, 3]

    def test_with_symbols(self, tree):
        changed = tree.with_symbols(list("wxyz"))
        assert (changed.symbols, changed.upos) == (tuple("wxyz"), tree.upos)
        assert changed.with_symbols(tree.upos) == tree


class TestRepr:
    def test_long(self):
        tree = DependencyTree(["word"] * 30, range(30))
        assert repr(tree) == (
            "DependencyTree('word word word word word word word word word word word wo...', "
            "heads=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...])"
        )


DOG = DependencyTree(
    ["The", "dog", "barks", "."],
    [2, 3, 0, 3],
    upos=["DET", "NOUN", "VERB", "PUNCT"],
    deprels=["det", "nsubj", "root", "punct"],
)
DRAWINGS = {
    "dependents on both sides": (
        DOG,
        """
    ,-- The  DET    det
,-- dog      NOUN   nsubj
barks        VERB   root
`-- .        PUNCT  punct
""",
    ),
    # The line from "hearing" to "it" is interrupted at "scheduled", so there are numbers.
    "crossing arcs": (
        DependencyTree(
            ["A", "hearing", "is", "scheduled", "on", "it", "today"],
            [2, 3, 0, 3, 6, 2, 4],
            symbols=["D", "N", "V", "V", "P", "N", "R"],
        ),
        """
    ,-- A       D  1 <- 2
,-- hearing     N  2 <- 3
is              V  3 <- 0
`-- scheduled   V  4 <- 3
    |   ,-- on  P  5 <- 6
    `-- it      N  6 <- 2
    `-- today   R  7 <- 4
""",
    ),
    "no heads": (
        DOG.with_heads(None),
        """
The    DET
dog    NOUN
barks  VERB
.      PUNCT
""",
    ),
    # Two wide characters fill four columns of a terminal, a combining accent none.
    "wide and combining characters": (
        DependencyTree(["\u732b\u306f", "e\u0301"], symbols=["X", "Y"]),
        "\n\u732b\u306f  X\ne\u0301     Y\n",
    ),
}


class TestText:
    @over("name", DRAWINGS)
    def test_drawings(self, name):
        tree, drawing = DRAWINGS[name]
        assert f"\n{tree}\n" == drawing

    def test_very_deep(self):
        """Deeper than Python's recursion limit."""
        *others, last = str(DependencyTree(["x"] * 2000, range(2000))).split("\n")
        assert len(others) == 1999
        assert last.lstrip() == "`-- x  x"

    @given(heads_lists())
    def test_heads_can_be_read_from_the_drawing(self, heads):
        tree = DependencyTree(["w"] * len(heads), heads)
        lines = str(tree).split("\n")
        if tree.is_projective:
            assert read_branches(lines) == heads
        else:
            assert [int(line.split(" <- ")[1]) for line in lines] == heads


def read_branches(lines):
    """Follow every branch from its arm along the vertical line to the head."""
    heads = []
    for row, line in enumerate(lines):
        column = line.index("w") - 4
        if column < 0:
            heads.append(0)
            continue
        assert line[column + 1 : column + 4] == "-- "
        cells = "".join(each[column : column + 1] or " " for each in lines)
        down, up = re.match(r"[|,]+w", cells[row:]), re.match(r"[|`]+w", cells[row::-1])
        assert bool(down) != bool(up)
        heads.append(row + down.end() if down else row + 2 - up.end())
    return heads


class TestSvg:
    @staticmethod
    def texts(tree):
        root = ElementTree.fromstring(tree._repr_svg_())
        return [element.text for element in root.iter(f"{SVG}text")]

    @staticmethod
    def arcs(tree):
        """(start x, y of the highest point, end x) of each arc; y grows downwards."""
        root = ElementTree.fromstring(tree._repr_svg_())
        paths = [path.get("d") for path in root.iter(f"{SVG}path")]
        curves = [path for path in paths if "C" in path]
        arrows = [path for path in paths if "h7z" in path]
        assert len(curves) == len(arrows)
        for curve in curves:
            x0, y0, _, y1, _, y2, x3, y3 = map(float, curve[1:].replace("C", " ").split())
            assert y3 < y0 < float(arrows[0].split("l")[0].split()[1])  # no arc begins in a word
            yield x0, (y0 + 3 * y1 + 3 * y2 + y3) / 8, x3  # Bezier's curve at 1/2

    def test_escaped(self):
        forms = ["<b>", "a&b", "\x00\x0b", "\ud800"]
        tree = DependencyTree(forms, [0, 1, 1, 1], deprels=['"', "'", ">", "<"])
        shown = ["<b>", "a&b", "\ufffd\ufffd", "\ufffd"] * 2  # form and symbol
        assert sorted(self.texts(tree)) == sorted([*shown, *"\"'><"])

    @given(heads_lists())
    def test_any_tree_fits_into_the_drawing(self, heads):
        tree = DependencyTree(["word"] * len(heads), heads)
        root = ElementTree.fromstring(tree._repr_svg_())
        starts, tops, ends = zip(*self.arcs(tree), strict=True)
        assert min(*starts, *ends) >= 0
        assert max(*starts, *ends) <= float(root.get("width"))
        assert 0 <= min(tops) < 24
        lowest = [float(text.get("y")) for text in root.iter(f"{SVG}text")]
        height = float(root.get("height"))
        assert min(lowest) > 0
        assert height - 24 < max(lowest) < height - 4


class TestDisplacy:
    def test_words_and_arcs(self):
        assert json.loads(json.dumps(DOG.to_displacy())) == {  # plain numbers, not numpy's
            "words": [
                {"text": "The", "tag": "DET"},
                {"text": "dog", "tag": "NOUN"},
                {"text": "barks", "tag": "VERB"},
                {"text": ".", "tag": "PUNCT"},
            ],
            "arcs": [
                {"start": 0, "end": 1, "label": "det", "dir": "left"},
                {"start": 1, "end": 2, "label": "nsubj", "dir": "left"},
                {"start": 2, "end": 3, "label": "punct", "dir": "right"},
            ],
        }

    def test_without_relations(self):
        (arc,) = DependencyTree(["dogs", "bark"], [0, 1]).to_displacy()["arcs"]
        assert arc == {"start": 0, "end": 1, "label": "", "dir": "right"}
