"""Suggest, mark, check: guesses never become gold, and errors of annotation are found."""

import json
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_shag import CRFParser, load_model, save_model
from sklearn_shag.cli import main
from sklearn_shag.inspection import suspicious_arcs
from sklearn_shag.inspection._suspicious import (
    LEAST_VALUE,
    _condition_heads,
    _count_crossed,
    assign_folds,
)
from sklearn_shag.metrics import labeled_attachment_score
from sklearn_shag.treebank import (
    UNKNOWN_FEATS,
    DependencyTree,
    check_marks,
    clear_marks,
    find_guesses,
    forget_guesses,
    forget_heads,
    mark_guesses,
    read_conllu,
    with_tags,
    words_guessed,
    write_conllu,
)
from tests.loops import over
from tests.oracles import crosses, is_tree, random_tree
from tests.test_cli import assert_valid
from tests.test_streaming import read_at_once

SETTINGS = ("--model", "crf", "--max-iter", "1", "--set", "n_features=4096", "--set-aside", "0")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch, small_networks):
    monkeypatch.chdir(tmp_path)

    def call(command):
        assert main(command.split()) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def files(tmp_path, english):
    """A treebank, partial trees, and raw sentences of tokens."""
    write_conllu(english[:60], tmp_path / "own.conllu")
    partial = [tree.with_heads([tree.heads[0], *[-1] * (len(tree) - 1)]) for tree in english[60:80]]
    write_conllu(partial, tmp_path / "partial.conllu")
    lines = "".join(f"{' '.join(tree.forms)}\n" for tree in english[80:100])
    (tmp_path / "raw.txt").write_text(lines, encoding="utf-8")
    return tmp_path


LEARNED = {}  # models and what is left of them without cards, by their files and options


def learn(run, *names, options=""):
    """Learn a model.npz from files, unless that was learned before."""
    key = names, *(Path(name).read_bytes() for name in names), options
    if key not in LEARNED:
        run(f"train {' '.join(names)} -o model.npz {' '.join(SETTINGS)} {options}")
        save_model(load_model("model.npz"), "bare.npz")  # the card names files
        LEARNED[key] = [Path(name).read_bytes() for name in ("model.npz", "bare.npz")]
    Path("model.npz").write_bytes(LEARNED[key][0])
    return LEARNED[key][1]


def sort_misc(text):
    """As udapi writes it: MISC sorted, from behind here, so that the order does change."""
    rows = (line.split("\t") for line in text.split("\n"))
    rows = (
        [*row[:9], "|".join(sorted(row[9].split("|"))[::-1])] if row[9:] else row for row in rows
    )
    return "\n".join(map("\t".join, rows))


def test_raw_text_that_comes_back_untouched_changes_no_bit(run, files):
    before, edited = learn(run, "own.conllu", options="--tags upos"), {}
    for by in ("arcs", "heads-in-sentences", "sentences", "trees"):
        run(f"suggest model.npz raw.txt --input horizontal --by {by} -n 9 -o next.conllu")
        text = (files / "next.conllu").read_text(encoding="utf-8")
        assert "Guessed=upos|Predicted=Yes" in text
        assert "# sent_id = raw-" in text
        assert "# predicted" not in text
        edited[text] = True
    edited[sort_misc(text)] = True
    edited[re.sub(r"Guessed=\S+?\|Predicted=Yes", "Old=Yes", text)] = False  # confirmed
    assert len(edited) > 4
    for text, is_same in edited.items():
        (files / "next.conllu").write_text(text, encoding="utf-8")
        after = learn(run, "own.conllu", "next.conllu", options="--tags upos")
        assert (after == before) == is_same


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_text_that_comes_back_untouched_changes_no_bit(run, files):
    """A splitter learns no boundaries that nobody has confirmed, though a head is."""
    options = "--text --tags upos"
    before = learn(run, "own.conllu", options=options)
    run("suggest model.npz raw.txt --input lines -n 3 -o next.conllu")
    assert "# predicted = words\n" in (files / "next.conllu").read_text(encoding="utf-8")
    assert_valid(files / "next.conllu")
    assert learn(run, "own.conllu", "next.conllu", options=options) == before
    splitter = load_model("model.npz")[0]
    first = read_conllu("next.conllu")[0]
    confirmed = first.with_misc("Predicted", [None] + ["Yes"] * (len(first) - 1))
    assert words_guessed(confirmed)
    assert forget_guesses(confirmed).upos == ("_",) * len(first)
    write_conllu([confirmed], "next.conllu")
    assert learn(run, "own.conllu", "next.conllu", options=options) != before
    again = load_model("model.npz")[0]
    assert [a.tobytes() for a in again.weights_] == [a.tobytes() for a in splitter.weights_]


def test_partial_trees_come_back_as_they_were(run, files, english):
    before = learn(run, "own.conllu", "partial.conllu")
    run("suggest model.npz partial.conllu --by sentences -n 1000 -o next.conllu")
    assert all(-1 not in tree.heads for tree in read_conllu("next.conllu"))
    assert learn(run, "own.conllu", "next.conllu") == before
    run("parse model.npz next.conllu --keep-heads -o kept.conllu")
    run("parse model.npz partial.conllu --keep-heads -o expected.conllu")
    assert read_conllu("kept.conllu") == read_conllu("expected.conllu")
    run("suggest model.npz partial.conllu --ignore-heads --by sentences -n 1000 -o all.conllu")
    assert all("Predicted=Yes" in misc for t in read_conllu("all.conllu") for misc in t.misc)
    assert_valid(files / "all.conllu")


FULL = dict.fromkeys(("head", "deprel", "upos", "xpos", "feats", "lemma"))


def guess(tree, **words):
    """Mark words, by columns, as guesses."""
    return mark_guesses(
        tree, {name: np.isin(range(len(tree)), words.get(name, [])) for name in FULL}
    )


def test_what_annotators_confirm(english):
    """Values are known but where they are marked, and all of them in sentences that are checked."""
    tree = english[3]
    n = len(tree)
    marked = guess(tree, head=range(n), deprel=range(1, n), upos=[0, 2], feats=[2])
    assert forget_guesses(marked) is None
    assert [m.partition("Predicted")[0] for m in marked.misc[:3]] == [
        "GivenDeprel=Yes|Guessed=upos|",
        "",
        "Guessed=upos,feats|",
    ]
    one = marked.with_misc("Predicted", [None, *["Yes"] * (n - 1)])
    known = forget_guesses(one)
    assert known.heads.tolist() == [tree.heads[0], *[-1] * (n - 1)]
    assert known.deprels == (tree.deprels[0], *["_"] * (n - 1))
    assert known.upos == ("_", tree.upos[1], "_", *tree.upos[3:])
    assert known.feats == (*tree.feats[:2], UNKNOWN_FEATS, *tree.feats[3:])
    assert forget_guesses(DependencyTree.from_conllu(sort_misc(one.to_conllu()))) == known
    assert forget_guesses(tree) is tree
    other = tree.with_misc("Note", ["NotPredicted=Yes"] * n)
    assert forget_guesses(other) is other
    older = one.with_misc("Guessed", [None] * n).with_comments(["# predicted = upos,words"])
    assert forget_guesses(older).upos == ("_",) * n
    assert words_guessed(older)
    assert not words_guessed(one)
    assert forget_guesses(mark_guesses(older, find_guesses(older))).upos == ("_",) * n
    others = one.with_comments(["# predicted = by hand"])
    assert mark_guesses(others, find_guesses(others)).comments == others.comments


@over(
    ("mark", "value"),
    [
        *[(f"# checked = {value}", True) for value in ("yes", "Yes", "true", "1")],
        *[(f"#  Checked={value} ", False) for value in ("no", "False", "0", "maybe")],
        *[(f"predicted={value}", False) for value in ("Yes", "TRUE", " 1", "perhaps")],
        *[(f" Predicted = {value}", True) for value in ("no", "false", "0")],
    ],
)
def test_marks_as_people_write_them(english, mark, value):
    tree = english[3]
    marked = guess(tree, head=[0])
    if mark.startswith("#"):
        marked = marked.with_comments([mark])
    else:
        marked = DependencyTree.from_conllu(marked.to_conllu().replace("Predicted=Yes", mark))
    assert (forget_heads(marked).heads[0] != -1) == value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_marks(marked, "file", 10)
    is_clear = "maybe" not in mark and "perhaps" not in mark
    line = 10 if mark.startswith("#") else 10 + len(tree.comments)
    told = [str(each.message).partition(": The mark")[0] for each in caught]
    assert told == [] if is_clear else [f"file:{line}"]
    assert clear_marks(marked, ["head"]).misc == tree.misc


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_what_is_given_is_kept(run, files, english):
    """Only what a file lacks is predicted, and marked as guessed by `suggest` alone."""
    rng = np.random.default_rng(5)
    learn(run, "own.conllu", options="--tags upos,xpos,feats,lemma")
    lacking = []
    for s, tree in enumerate(english[60:80]):
        hidden = {n: rng.uniform(size=len(tree)) < 0.4 for n in ("head", "upos", "xpos", "lemma")}
        hidden["feats"] = np.full(len(tree), s % 2 == 0)
        tags = {
            n: tuple(np.where(hidden[n], "_", tree.column(n))) for n in hidden.keys() - {"head"}
        }
        hidden["head"][tree.heads == 0] = False  # another root would not have its relation
        tree = with_tags(
            tree.with_heads(np.where(hidden["head"], -1, tree.heads), tree.deprels), tags
        )
        lacking.append((tree, hidden))
    trees = [tree for tree, _ in lacking]
    text = "".join(tree.to_conllu() for tree in trees).replace("\n", "\r\n")
    (files / "given.conllu").write_bytes(text.encode())
    run("suggest model.npz given.conllu --by sentences -n 1000 -o next.conllu")
    run("parse model.npz given.conllu --keep-heads -o kept.conllu")
    run("parse model.npz next.conllu -o new.conllu")
    for name in ("next", "kept", "new"):
        written = (files / f"{name}.conllu").read_bytes()
        assert written.count(b"\r\n") == written.count(b"\n") > 0
        marks = written.count(b"Guessed="), written.count(b"Predicted=")
        assert (min(marks) > 0) if name == "next" else marks == (0, 0)
    for name in ("next", "kept"):
        for own, (tree, hidden) in zip(read_conllu(f"{name}.conllu"), lacking, strict=True):
            guesses, content, true = find_guesses(own), own.to_dict(), tree.to_dict()
            for column, unknown in hidden.items():
                values = content[column]
                assert_array_equal(np.array(values)[~unknown], np.array(true[column])[~unknown])
                if name == "next" and column != "head":
                    assert_array_equal(guesses[column], unknown)
                if column in ("upos", "xpos"):
                    assert "_" not in values
            assert forget_heads(own).deprels == own.deprels == tree.deprels
    again = read_conllu("next.conllu")
    assert [forget_guesses(tree) or tree for tree in again] != again


def test_training_on_guesses_alone(run, files, capsys):
    learn(run, "own.conllu", options="--tags upos")
    run("suggest model.npz raw.txt --input horizontal --by sentences -n 9 -o next.conllu")
    assert main(["train", "next.conllu", "-o", "other.npz", *SETTINGS]) == 1
    error = capsys.readouterr().err
    assert re.search("nobody has confirmed a head.*# checked = yes", error)
    out = run(f"train own.conllu next.conllu -o other.npz {' '.join(SETTINGS)} --set-aside 60")
    assert "It learned from 59 of 69 sentences: 9 not confirmed, 1 set aside." in out


def test_heads_in_sentences(run, files):
    """All uncertain heads of the sentences with most of them, which one by one are in others."""
    learn(run, "own.conllu", options="--tags upos")
    options = "raw.txt --input horizontal --json"
    ask = f"suggest model.npz {options} -n"
    every = json.loads(run(f"{ask} 9999"))["suggestions"]
    doubtful, doubts = [row for row in every if row["probability"] < 0.9], Counter()
    for row in doubtful:
        doubts[row["sentence"]] += 1 - row["probability"]
    found = json.loads(run(f"{ask} 2 --by heads-in-sentences"))["suggestions"]
    best = [s for s, _ in doubts.most_common(2)]
    assert found == [row for s in best for row in doubtful if row["sentence"] == s]


def test_sentences_are_not_asked_for_twice(run, files):
    learn(run, "own.conllu", options="--tags upos")
    run("suggest model.npz raw.txt --input horizontal --by sentences -n 5 -o next.conllu")
    text = (files / "next.conllu").read_text(encoding="utf-8")
    (files / "next.conllu").write_text(text.replace("|Predicted=Yes", ""), encoding="utf-8")
    done = {tree.sent_id for tree in read_conllu("next.conllu")}
    ask = "suggest model.npz next.conllu raw.txt --input horizontal --by sentences -n 99 --json"
    rows = json.loads(run(ask))["suggestions"]
    assert len(done) == 5
    assert {row["sent_id"] for row in rows} == {f"raw-{k}" for k in range(1, 21)} - done


ENHANCED = """# sent_id = s{k}
# text = Weg, Ana drank tea and Bo coffee.
0.1	Go	go	VERB	VBD	Tense=Past	_	_	3:advcl	_
1-2	Weg,	_	_	_	_	_	_	_	_
1	Weg	weg	ADV	RB	_	_	_	3:advmod	_
2	,	,	PUNCT	,	_	3	punct	3:punct	_
3	Ana	Ana	PROPN	NNP	Number=Sing	4	nsubj	4:nsubj	Predicted=Yes
4	drank	drink	VERB	VBD	Tense=Past	0	root	0:root	_
5	tea	tea	NOUN	NN	Number=Sing	_	_	4:obj	_
6	and	and	CCONJ	CC	_	7	cc	6.1:cc	_
6.1	drank	drink	VERB	VBD	Tense=Past	_	_	4:conj:and	CopyOf=4
7	Bo	Bo	PROPN	NNP	Number=Sing	4	conj	6.1:nsubj	_
8	coffee	coffee	NOUN	NN	Number=Sing	7	orphan	6.1:obj	SpaceAfter=No
9	.	.	PUNCT	,	_	4	punct	4:punct	_

"""
WITHOUT_DEPS = """# sent_id = without
# text = Go!
1	Go	go	VERB	VB	Tense=Pres	_	_	_	SpaceAfter=No
2	!	!	PUNCT	.	_	_	_	_	_

"""


def list_graph(text):
    """DEPS of words, and the lines of empty nodes."""
    rows = [line.split("\t") for line in text.splitlines()]
    return [(r[0], r[8]) if r[0].isdecimal() else r for r in rows if r[8:] and "-" not in r[0]]


@pytest.mark.filterwarnings("default")
def test_enhanced_graphs_of_annotators_are_kept(run, files, capsys, monkeypatch):
    """All of DEPS and empty nodes; one warning counts words with both DEPS and a guessed head."""
    learn(run, "own.conllu")
    blocks = [*(ENHANCED.format(k=k) for k in range(12)), WITHOUT_DEPS]
    text = "".join(blocks)
    (files / "in.conllu").write_text(text, encoding="utf-8")
    read_at_once(monkeypatch, 1000)  # many pieces
    for command in (
        "parse model.npz in.conllu --keep-heads",
        "parse model.npz in.conllu --keep-heads --n-jobs 2 --confidence",
        "suggest model.npz in.conllu --by sentences -n 99",
        "suggest model.npz in.conllu --by trees -n 99 --ignore-heads",
    ):
        n_guessed = 12 * (9 if "ignore" in command else 3)
        assert main([*command.split(), "-o", "out.conllu"]) == 0
        (told,) = capsys.readouterr().err.splitlines()
        assert f"words with DEPS whose heads were guessed: {n_guessed};" in told
        found = (files / "out.conllu").read_text(encoding="utf-8")
        assert list_graph(found) == list_graph(text)
        # To the validator, all sentences of a file have DEPS, or none.
        (files / "valid.conllu").write_text(found.partition("# sent_id = without")[0], "utf-8")
        assert_valid(files / "valid.conllu")
    best = ["parse", "model.npz", "in.conllu", "--keep-heads", "-o", "again.conllu"]
    assert main([*best, "--k-best", "2"]) == 0
    found = (files / "again.conllu").read_text(encoding="utf-8")
    assert list_graph(found) == list_graph("".join(2 * block for block in blocks))
    assert "words with DEPS whose heads were guessed: 36;" in capsys.readouterr().err
    assert main(["parse", "model.npz", "in.conllu", "-o", "out.conllu"]) == 0
    (told,) = capsys.readouterr().err.splitlines()
    assert "DEPS and empty nodes of 12 of 13 sentences were left out" in told
    found = list_graph((files / "out.conllu").read_text(encoding="utf-8"))
    assert found == [(f"{k}", "_") for n in [*[9] * 12, 2] for k in range(1, n + 1)]
    assert_valid(files / "out.conllu")


def test_probabilities_given_all_other_heads(english):
    """They are shares of the probabilities of whole trees that differ in one head."""
    parser = CRFParser(["upos"], n_features=2**12, calibrate=False, random_state=0)
    parser.fit(english[:60])
    trees = [tree for tree in english[60:] if len(tree) == 7 and tree.is_projective][:4]
    known = [np.array(tree.heads) for tree in trees]
    judged = [{"head": np.full((7, 8), 0.1)} for _ in trees]
    _condition_heads(parser, trees, known, judged)
    for tree, found in zip(trees, judged, strict=True):
        for token in range(7):
            others, expected = np.tile(tree.heads, (8, 1)), np.zeros(8)
            others[:, token] = range(8)
            fit = [is_tree(h) and h.count(0) == 1 and not crosses(h) for h in others.tolist()]
            logs = parser.conditional_log_likelihood([tree] * sum(fit), list(others[fit]))
            expected[fit] = np.exp(logs)
            np.testing.assert_allclose(
                found["given others"][token], expected / expected.sum(), atol=1e-9
            )


def test_arcs_that_cross_are_counted():
    rng = np.random.default_rng(0)
    for _ in range(50):
        heads = np.where(rng.random(6) < 0.2, -1, random_tree(rng, 6))
        arcs = [(min(h, t), max(h, t)) if h >= 0 else (t, t) for t, h in enumerate(heads, 1)]
        expected = [sum(a < c < b < d or c < a < d < b for c, d in arcs) for a, b in arcs]
        assert _count_crossed(DependencyTree(["a"] * 6, heads)).tolist() == expected


def test_folds_are_of_documents(english):
    trees = [
        tree.with_comments(["# newdoc id = x"]) if k % 10 == 0 else tree
        for k, tree in enumerate(english[:95])
    ]
    for seed in range(2):
        folds = [fold for _, fold in assign_folds(trees, 5, seed)]
        assert sorted(np.concatenate(folds).tolist()) == list(range(95))
        documents = [set((fold // 10).tolist()) for fold in folds]
        assert sum(map(len, documents)) == 10
    assert [len(fold) for _, fold in assign_folds(english[:95], 5)] == [19] * 5


def test_planted_errors_are_found(english):
    """Wrong relations of some determiners; heads that are not known are not judged."""
    trees, planted = list(english[:150]), set()
    for s in [s for s, tree in enumerate(trees) if "det" in tree.deprels][::9]:
        tree = trees[s]
        t = tree.deprels.index("det")
        deprels = [*tree.deprels[:t], "punct", *tree.deprels[t + 1 :]]
        trees[s] = tree.with_heads(tree.heads, deprels)
        planted.add((s, t + 1))
    found = suspicious_arcs(CRFParser(["upos"], n_features=2**14), trees, cv=3)
    top = list(zip(found.sentences.tolist(), found.tokens.tolist(), strict=True))
    n_planted = len(planted)
    assert len(planted & set(top[: 2 * n_planted])) >= 0.8 * n_planted >= 8
    assert len(set(top)) == len(top)
    assert (np.diff(found.scores) <= 0).all()
    for s, t, column, given, other, p, q, score in zip(*found, strict=True):
        tree = trees[s]
        value = str(tree.heads[t - 1]) if column == "head" else tree.deprels[t - 1]
        assert value == given
        assert value != other
        assert 0 <= p <= 1
        assert 0 <= q <= 1
        if column == "deprel":
            assert score == pytest.approx(np.log(q / max(p, LEAST_VALUE)))
    bare = [tree.with_heads([-1] * 2 + list(tree.heads[2:])) for tree in trees]
    assert suspicious_arcs(CRFParser(["upos"], n_features=2**12), bare, cv=2).tokens.min() > 2


def test_check(run, files, english):
    table = run("check own.conllu -n 4 -o marked.conllu").splitlines()
    header, *rows = [line.split("\t") for line in table]
    assert header[:5] == ["file", "sentence", "sent_id", "token", "form"]
    trees = read_conllu("marked.conllu")
    assert trees == english[:60]
    marks = {
        (str(s), str(t)): re.search(r"Likely=([^|]+)", misc)[1]
        for s, tree in enumerate(trees, start=1)
        for t, misc in enumerate(tree.misc, start=1)
        if "Check=Yes" in misc.split("|")
    }
    assert marks == {(row[1], row[3]): f"{row[5]}:{row[7]}" for row in rows}
    assert json.loads(run("check own.conllu -n 4 --json"))["suspicious"][0]["sentence"] > 0


def test_cross_validation(run, files):
    options = f"own.conllu -o model.npz {' '.join(SETTINGS)} --columns upos"
    last = run(f"train {options} --cv 3").splitlines()[-1]
    found = re.search(r"Its expected score is LAS ([0-9.]+) \(([0-9.]+) to ([0-9.]+)\)\.$", last)
    score, low, high = map(float, found.groups())
    trees, right = read_conllu("own.conllu"), []
    settings = {"n_features": 4096, "max_iter": 1, "calibrate": False, "random_state": 0}
    for others, fold in assign_folds(trees, 3):
        rest = [tree for k, tree in enumerate(trees) if k not in fold]
        assert len(rest) == len(others)
        parser = CRFParser(["upos"], **settings).fit(rest)
        part = [trees[k] for k in fold]
        right.append(labeled_attachment_score(part, parser.parse(part)) * sum(map(len, part)))
    assert low <= score <= high
    assert score == pytest.approx(100 * sum(right) / sum(map(len, trees)), abs=0.05)


def test_errors_of_parsed_trees(run, files, english):
    learn(run, "own.conllu")
    write_conllu(english[100:150], files / "gold.conllu")
    run("parse model.npz gold.conllu -o parsed.conllu")
    ask = "evaluate gold.conllu parsed.conllu --errors 3 --train own.conllu"
    found = json.loads(run(f"{ask} --json"))["errors"]
    gold, parsed = read_conllu("gold.conllu"), read_conllu("parsed.conllu")
    right_heads = [x.heads == y.heads for x, y in zip(gold, parsed, strict=True)]
    right = [
        same & (np.array(x.deprels) == np.array(y.deprels))
        for same, x, y in zip(right_heads, gold, parsed, strict=True)
    ]
    n_right = [np.sum(np.concatenate(each)) for each in (right_heads, right)]
    for group in ("relation", "distance", "arcs", "word"):
        rows = [row for row in found["accuracy"] if row["group"] == group]
        sums = [sum(row[k] for row in rows) for k in ("words", "right_heads", "right_arcs")]
        assert sums == [sum(map(len, gold)), *n_right]
    known = {form for tree in read_conllu("own.conllu") for form in tree.forms}
    unknown = next(row for row in found["accuracy"] if row["value"] == "unknown")
    assert unknown["words"] == sum(form not in known for tree in gold for form in tree.forms)
    worst = sorted((np.count_nonzero(~each) for each in right), reverse=True)[:3]
    assert [row["wrong_arcs"] for row in found["worst"]] == worst
    table = run(ask)
    assert len(re.findall(r"^Sentence \d+: \d+ wrong arcs", table, flags=re.M)) == 3
    assert table.count("\n* ") == sum(worst)
