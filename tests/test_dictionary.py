"""Dictionaries: words get one of their entries, the most probable; others are free."""

import io
import itertools
import pickle
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_shag import AveragedParser, BiaffineParser, Tagger, load_model, save_model
from sklearn_shag.cli import main
from sklearn_shag.network._tags import TagLookup, look_up_tags, open_factors
from sklearn_shag.treebank import Dictionary, read_conllu, read_dictionary, write_conllu
from tests.files import write_files

COLUMNS = ("upos", "xpos", "feats", "lemma")


@pytest.fixture(scope="module")
def tagger(trees):
    return Tagger(["upos", "feats", "lemma"], max_iter=3, random_state=0).fit(trees)


def test_lines_become_entries_and_come_back():
    lines = ["saw\tNOUN\t_\tNumber=Sing\tsaw", "", "saw\tVERB\t_\t_\tsee", "e\u0301\tX\t_\t_\t_"]
    words = Dictionary(lines)
    assert words == {
        "saw": (("NOUN", "_", "Number=Sing", "saw"), ("VERB", "_", "_", "see")),
        "\xe9": (("X", "_", "_", "_"),),  # as forms of trees are looked up
    }
    assert Dictionary(words.to_lines()) == pickle.loads(pickle.dumps(words)) == words
    assert clone(Tagger(dictionary=words)).dictionary is words
    assert repr(words) == "Dictionary of 2 words"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("joint", [False, True])
def test_the_most_probable_entry_is_chosen(seed, joint):
    """Against all completions of all entries, scored one by one."""
    rng = np.random.default_rng(seed)
    columns = {"upos": ["A", "B", "C"], "feats": ["_", "x=1", "x=2", "y=1"]}
    values = {name: np.array(own, dtype=object) for name, own in columns.items()}
    scores = [rng.normal(size=(12, len(own))) for own in columns.values()]
    rows = [row for row in itertools.product(*columns.values()) if rng.random() < 0.6]
    rows = sorted({*rows, ("A", "_"), ("B", "x=1")}) if joint else []
    combinations = {
        k: np.array([columns[name].index(row[k]) for row in rows])
        for k, name in enumerate(columns)
        if joint
    }
    pool = [
        ("A", "_", "_", "l"),
        ("B", "_", "x=1", "_"),
        ("_", "_", "x=2", "_"),
        ("C", "_", "_", "m"),
    ]
    entries = [
        None if t % 3 == 0 else tuple(pool[k] for k in rng.choice(4, 2, False)) for t in range(12)
    ]

    def score(t, row):
        return sum(scores[k][t, columns[name].index(row[k])] for k, name in enumerate(columns))

    products = list(itertools.product(*columns.values()))
    everything = rows or products
    free = [max(everything, key=lambda row, t=t: score(t, row)) for t in range(12)]
    codes = np.array([[columns[n].index(row[k]) for k, n in enumerate(columns)] for row in free])
    found = look_up_tags(values, codes, combinations, entries, scores)
    lookup = TagLookup(values, combinations, entries, open_factors({}, values))
    for part in (slice(5), slice(5, 6), slice(6, None)):
        lookup.add([own[part] for own in scores])
    for name, joined in lookup.join().items():
        assert joined.tolist() == found[name].tolist()
    for t, its_entries in enumerate(entries):
        own = found["upos"][t], found["feats"][t]
        if its_entries is None:
            assert own == free[t]
            continue
        allowed = []
        for upos, _, feats, _ in its_entries:
            fit = [row for row in products if upos in ("_", row[0]) and feats in ("_", row[1])]
            allowed += [row for row in fit if row in everything] or fit
        assert own in allowed
        assert score(t, own) == pytest.approx(max(score(t, row) for row in allowed))


def test_values_that_training_lacked_are_given_but_come_last():
    values = {"upos": np.array(["A", "B"], dtype=object)}
    scores, codes = [np.array([[3.0, 1.0], [3.0, 1.0]])], np.array([[0], [0]])
    new, known = ("NEW", "_", "_", "_"), ("B", "_", "_", "_")
    found = look_up_tags(values, codes, {}, [(new,), (known, new)], scores)
    assert found["upos"].tolist() == ["NEW", "B"]


def test_words_get_their_entries_and_others_stay(tagger, trees):
    free = tagger.transform([["the", "glorked", "gromp"]])[0]
    words = ["glorked\tVERB\t_\tMood=Odd\tglork", "gromp\t_\t_\t_\tgromple"]
    held = copy(tagger).set_params(dictionary=Dictionary(words))
    found = held.transform([["the", "glorked", "gromp"]])[0]
    assert (found.upos[1], found.feats[1]) == ("VERB", "Mood=Odd")
    assert found.lemmas[1:] == ("glork", "gromple")
    assert (found.upos[::2], found.feats[::2]) == (free.upos[::2], free.feats[::2])
    assert held.transform(trees) == tagger.transform(trees)  # none of these words


def test_an_entry_of_what_is_predicted_changes_nothing(tagger, trees):
    tagged = tagger.transform(trees)
    words = [zip(t.forms, t.upos, "_" * len(t), t.feats, t.lemmas, strict=True) for t in tagged]
    lines = {"\t".join(values) for rows in words for values in rows}
    held = copy(tagger).set_params(dictionary=Dictionary(sorted(lines)))
    tags = [(tree.upos, tree.feats) for tree in tagged]
    assert [(tree.upos, tree.feats) for tree in held.transform(trees)] == tags


def test_networks_and_averages_keep_dictionaries_in_files(trees, tmp_path):
    words = read_dictionary(io.StringIO("glorked\tX\t_\tMood=Odd\tglork\n"))
    tagging = {"tags": ["upos", "feats", "lemma"], "dictionary": words}
    settings = {"hidden_layer_sizes": [8], "max_iter": 1, "calibrate": False}
    networks = [(f"n{k}", BiaffineParser(random_state=k, **settings, **tagging)) for k in range(2)]
    for model in (networks[0][1], AveragedParser(networks)):
        model.fit(trees)
        save_model(model, tmp_path / "m.npz")
        for each in (model, load_model(tmp_path / "m.npz")):
            (tree,) = each.parse([["he", "glorked"]])
            assert (tree.upos[1], tree.feats[1], tree.lemmas[1]) == ("X", "Mood=Odd", "glork")
        other = load_model(tmp_path / "m.npz", dictionary=Dictionary(["glorked\tINTJ\t_\t_\t_"]))
        assert other.parse([["he", "glorked"]])[0].upos[1] == "INTJ"


def test_commands_take_dictionaries(trees, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_conllu(trees, "t.conllu")
    write_files(
        tmp_path,
        {
            "w.tsv": "glorked\tX\t_\t_\tglork\n",
            "o.tsv": "glorked\tINTJ\t_\t_\t_\n",
            "in.txt": "he glorked\n",
        },
    )
    learn = "train t.conllu -o m.npz --model biaffine --max-iter 1 --tags upos,lemma"
    assert main([*learn.split(), "--dictionary", "w.tsv"]) == 0
    parse = "parse m.npz in.txt -o out.conllu --input horizontal"
    for options, tag in (([], "X"), (["--dictionary", "o.tsv"], "INTJ")):
        assert main([*parse.split(), *options]) == 0
        assert read_conllu("out.conllu")[0].upos[1] == tag
