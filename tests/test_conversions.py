"""All that CoNLL-U has of a sentence: it is there, can be set, and survives other libraries."""

import inspect
import json
from itertools import chain, islice

import conllu
import pytest
from conllu.parser import DEFAULT_FIELDS
from numpy.testing import assert_array_equal

from sklearn_shag.datasets import load_parser
from sklearn_shag.encoding import read_column
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.network import LEARNED
from sklearn_shag.treebank import (
    DependencyTree,
    EmptyNode,
    MultiwordToken,
    from_spacy,
    from_token_list,
    iter_conllu,
    join_text,
    to_dataframe,
    to_spacy,
    to_token_list,
    with_tags,
)
from sklearn_shag.treebank._columns import COLUMNS, PLACES, columns_of
from tests.loops import over
from tests.test_conllu import files_of_treebanks

KINDS = ("symbol", "tag", "features", "word", "relation")
TEXT = """# sent_id = weekly-1
# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC
# a remark
# text = Vámonos al mar = sol
0.1	Nosotros	nosotros	PRON	_	_	_	_	2:nsubj	_
1-2	Vámonos	_	_	_	_	_	_	_	Typo=Yes
1	Vamos	ir	VERB	V	Mood=Imp|Number=Plur	0	root	0:root	_
2	nos	nosotros	PRON	P	Case=Acc	1	obj	1:obj	A=b=c|D
3-4	al	_	_	_	_	_	_	_	_
3	a	a	ADP	_	_	5	case	5:case	_
4	el	el	DET	_	_	5	det	5:det	_
5	mar	mar	NOUN	_	_	1	obl	1:obl:a	SpaceAfter=No
5.1	e	_	_	_	_	_	_	1:dep	X=Y
5.2	f	_	_	_	_	_	_	1:dep	_

"""


@pytest.fixture
def tree():
    return DependencyTree.from_conllu(TEXT)


def test_everything_can_be_set(tree):
    """Each setter gives what its attribute has; together they make the whole of a bare sentence."""
    made = DependencyTree(
        tree.forms,
        tree.heads,
        lemmas=tree.lemmas,
        upos=tree.upos,
        xpos=tree.xpos,
        feats=tree.feats,
        deprels=tree.deprels,
    )
    made = made.with_comments(tree.comments).with_deps(tree.deps)
    made = made.with_multiword_tokens(tree.multiword_tokens).with_empty_nodes(tree.empty_nodes)
    made = made.with_misc("A", [None, "b=c", None, None, None])
    made = made.with_misc("SpaceAfter", [*[None] * 4, "No"])
    assert made.to_conllu() == TEXT.replace("A=b=c|D", "A=b=c")
    assert made == tree
    other = tree.with_sent_id("x").with_text("y")
    assert (other.sent_id, other.text) == ("x", "y")
    assert other.comments == ("# sent_id = x", *tree.comments[1:3], "# text = y")
    assert other.with_sent_id("weekly-1").with_text(tree.text).to_conllu() == TEXT
    assert DependencyTree(["Bark"]).with_text("Bark").comments == ("# text = Bark",)
    assert tree.with_misc("SpaceAfter", [None] * 5).misc[4] == "_"
    assert tree.to_conllu() == TEXT  # and it has not changed


def test_other_heads_have_no_enhanced_graph(tree):
    moved = tree.with_heads([2, 0, 5, 5, 2])
    assert (moved.deps, moved.empty_nodes) == (("_",) * 5, ())
    rest = moved.comments, moved.multiword_tokens
    assert rest == (tree.comments, tree.multiword_tokens)
    assert moved.with_deps(["0:root"] * 5).deps == ("0:root",) * 5
    assert_array_equal(DependencyTree.from_conllu(moved.to_conllu()).heads, moved.heads)
    assert moved.with_heads(tree.heads, tree.deprels, keep_deps=True).to_conllu() == (
        tree.with_heads(tree.heads, tree.deprels).to_conllu()  # what was dropped does not come back
    )
    kept = tree.with_heads([2, 0, 5, 5, 2], keep_deps=True)
    assert (kept, kept.deps, kept.empty_nodes) == (moved, tree.deps, tree.empty_nodes)
    assert kept.with_heads(tree.heads, tree.deprels, keep_deps=True).to_conllu() == TEXT
    assert DependencyTree(["a"]).with_heads([0], keep_deps=True).deps == ("_",)


def take_apart(tree):
    """All that a tree has beside its columns, by going through what is written line by line."""
    lines = tree.to_conllu().removesuffix("\n\n").split("\n")
    comments = [line for line in lines if line.startswith("#")]
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    words = [row for row in rows if not {"-", "."} & {*row[0]}]
    ranges = [(*row[0].split("-"), row[1], row[9]) for row in rows if "-" in row[0]]
    nodes = [row for row in rows if "." in row[0]]
    pairs = [comment[1:].partition("=") for comment in reversed(comments) if "=" in comment]
    values = {name.strip(): value.strip() or None for name, _, value in pairs}  # the first counts
    return {
        "comments": tuple(comments),
        "sent_id": values.get("sent_id"),
        "text": values.get("text"),
        "misc": tuple(row[9] for row in words),
        "deps": tuple(row[8] for row in words),
        "multiword_tokens": tuple(MultiwordToken(int(a), int(b), *rest) for a, b, *rest in ranges),
        "empty_nodes": tuple(EmptyNode(int(row[0].split(".")[0]), tuple(row[1:])) for row in nodes),
    }


WORD = "{}\tw\t_\t_\t_\t_\t_\t_\t{}\t{}"
ODD = {
    "no comments": [WORD.format(1, "_", "_")],
    "comments between words": [
        "# text = w w",
        WORD.format(1, "0:root", "A=#"),
        "# sent_id = late",
        "#",
        WORD.format(2, "1:dep", "TokenRange=0:1"),
        "# text = again",
    ],
    "comments without values": [
        "# sent_id =",
        "# sent_id = x",
        "#text=a = b",
        "# 1\t2-3\t4.5",
        "# =",
        WORD.format(1, "_", "#"),
    ],
    "signs of other lines": [
        "# sent_id = 1-2\t# text = 3.1\t4",
        "1-1\t#\t_\t_\t_\tTypo=Yes\t_\t_\t_\tTokenRange=3:4",
        WORD.format(1, "1.1:dep|0:root", "x-y|1.2"),
        "1.1\t1-2\t#\t_\t_\t_\t_\t_\t_\t\u2028",
        "1.2\t_\t_\t_\t_\t_\t_\t_\t_\t_",
        WORD.format(2, "_", "\x0b#"),
    ],
}


@over("lines", ODD.values())
def test_what_is_read_alone_is_what_is_written_of_odd_sentences(lines):
    tree = DependencyTree.from_conllu("\n".join(lines))
    copies = [tree.with_sent_id("y"), tree.with_text("z"), tree.with_misc("A", ["b"] * len(tree))]
    copies += [tree.with_comments([]), tree.with_deps(["0:root"] * len(tree))]
    heads = list(range(len(tree)))
    copies += [each.with_heads(heads) for each in [tree, *copies]]
    for each in [tree, *copies, *(copy.with_sent_id("again") for copy in copies)]:
        found = {name: getattr(each, name) for name in take_apart(each)}
        assert found == take_apart(each)
        assert DependencyTree.from_conllu(each.to_conllu()).to_dict() == each.to_dict()


def test_what_is_read_alone_is_what_is_written(english, tree):
    others = (islice(iter_conllu(path), 200) for path in files_of_treebanks("dev"))
    trees = [tree, *english, *chain.from_iterable(others)]
    built = (DependencyTree(each.forms, each.heads, deprels=each.deprels) for each in trees[:20])
    bare = DependencyTree(["Bark"])
    for each in [*trees, *built, bare, bare.with_misc("A", ["b"])]:
        for copy in (each, each.with_heads(each.heads, each.deprels), each.with_heads(None)):
            assert {name: getattr(copy, name) for name in take_apart(copy)} == take_apart(copy)


def test_as_a_dictionary_and_a_table(tree, english):
    content = json.loads(json.dumps(tree.to_dict()))
    assert (content["head"], content["misc"]) == ([0, 1, 5, 5, 1], list(tree.misc))
    token = {"first": 1, "last": 2, "form": "Vámonos", "misc": "Typo=Yes"}
    assert content["multiword_tokens"][0] == token
    assert content["empty_nodes"][1]["deps"] == "1:dep"
    partial = tree.with_heads([0, -1, -1, -1, -1])
    assert partial.to_dict()["head"] == [0, None, None, None, None]
    pytest.importorskip("pandas")
    table = to_dataframe([partial, *english])
    assert len(table) == 5 + sum(map(len, english))
    assert table["head"].isna().sum() == 4
    first = table[table["sentence"] == 0]
    assert list(first["form"]) == list(tree.forms)
    assert first[["sent_id", "id"]].to_numpy().tolist() == [["weekly-1", k] for k in range(1, 6)]


def test_through_conllu(tree, english):
    for each in [tree, *english]:
        tokens = to_token_list(each)
        found = from_token_list(tokens)
        assert tokens.serialize() == found.to_conllu() == each.to_conllu()
        assert found == each
    assert from_token_list(conllu.parse(TEXT)[0]) == tree


def test_through_spacy(english):
    """Words, spaces, lemmas, tags, features, trees; what is lost is the rest."""
    pytest.importorskip("spacy")

    def kept(tree):
        columns = tree.forms, tree.lemmas, tree.upos, tree.xpos, tree.heads.tolist(), tree.deprels
        glued = ["SpaceAfter=No" in misc for misc in tree.misc]
        return *columns, [set(feats.split("|")) for feats in tree.feats], glued

    for one, other in zip(from_spacy(to_spacy(english)), english, strict=True):
        assert kept(one) == kept(other)
        assert {*one.misc} <= {"SpaceAfter=No", "_"}
        assert one.text == other.text or other.text is None
    texts = load_parser().parse_texts(["Dogs bark.", "Yes. ", "No."])
    for trees in (texts[0], texts[1], [*texts[0], *texts[2]]):
        assert to_spacy(trees).text == join_text(trees)
    bare = from_spacy(to_spacy([DependencyTree(["Dogs", "bark"]), DependencyTree(["Yes"])]))
    assert [tree.forms for tree in bare] == [("Dogs", "bark"), ("Yes",)]
    assert bare[0].heads is None
    with pytest.raises(ValueError, match=r"trees\[0\] has heads that are not known"):
        to_spacy([english[0].with_heads([-1] * len(english[0]))])


def test_the_table_of_columns_agrees_with_files_trees_and_scores():
    """What it says once is what conllu, the constructor and the official evaluation say."""
    places = {column.name: column.place for column in COLUMNS}
    assert {name for name, place in places.items() if place is None} == {"symbol"}
    others = ["id", "head", "deps", "misc"]
    in_files = [name for name in DEFAULT_FIELDS if name not in others]
    assert {n: DEFAULT_FIELDS.index(n) for n in in_files} | {"symbol": None} == places
    parameters = list(inspect.signature(DependencyTree).parameters)
    assert {*parameters} == {column.attribute for column in COLUMNS} | {"heads"}
    # The constructor takes them in this order.
    assert [name for name in parameters if name not in ("heads", "symbols")] == list(PLACES)
    scores = raw_text_scores([DependencyTree(["Bark"], [0])], [DependencyTree(["Bark"], [0])])
    assert {column.score for column in COLUMNS if column.score} <= scores.keys()
    assert tuple(c.name for c in columns_of(*KINDS) if c.score) == LEARNED
    assert {column.name for column in columns_of(*KINDS)} == {*places}


def test_a_column_of_the_table_is_read_written_and_found():
    """Each comes from its place in a file, goes to it, and has its name in `column` and dicts."""
    cells = [{"id": "1", "head": "0"}.get(name, f"{name}-1") for name in DEFAULT_FIELDS]
    text = "\t".join(cells) + "\n\n"
    read = DependencyTree.from_conllu(text)
    given = {c.attribute: [cells[c.place]] for c in COLUMNS if c.place is not None}
    built = DependencyTree(heads=[0], **given)
    assert built == read
    for column in COLUMNS:
        value = cells[3 if column.place is None else column.place]
        assert read.column(column.name) == getattr(read, column.attribute) == (value,)
        assert read_column(read, column.name) == (value,)
    assert built.with_deps([cells[8]]).to_conllu() == text.replace("misc-1", "_")
    for column in columns_of("tag", "features", "word"):
        if column.name != "form":
            changed = with_tags(read, {column.name: ["new"]})
            assert changed.to_conllu() == text.replace(cells[column.place], "new")
