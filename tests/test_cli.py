"""The command line: it agrees with the library, and its errors are one line."""

import contextlib
import gc
import gzip
import io
import json
import locale
import os
import re
import shlex
import subprocess
import sys
import warnings
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

import sklearn_shag
from sklearn_shag import (
    EMSHAG,
    AveragedParser,
    BiaffineParser,
    ConditionalSHAG,
    CRFParser,
    DeterministicSHAG,
    LexicalizedSHAG,
    SpectralSHAG,
    Splitter,
    Tagger,
    load_model,
    save_model,
)
from sklearn_shag.cli import _demo, _main, _models, main
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.metrics import (
    attachment_breakdown,
    content_labeled_attachment_score,
    exact_match_score,
    is_punctuation,
    label_accuracy_score,
    labeled_attachment_score,
    score_report,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import (
    DependencyTree,
    TokenFeature,
    allowed_arcs,
    iter_pieces,
    read_conllu,
    read_horizontal,
    write_conllu,
)
from sklearn_shag.treebank import _pieces as _reading
from sklearn_shag.utils import _parallel as _progress
from tests.estimators import learned, parameters
from tests.loops import over

MODEL = ("--model", "spectral")
SMALL_NETWORK = BiaffineParser(hidden_layer_sizes=[4], max_iter=1)
COMMANDS = ["demo", "train", "parse", "suggest", "evaluate"]


def make_networks_small(monkeypatch):
    """Let the command train networks and taggers in a moment."""
    monkeypatch.setitem(_models.LEARNERS, "biaffine", SMALL_NETWORK)
    small = partial(Tagger, hidden_layer_sizes=[4], max_iter=1, cv=2)
    monkeypatch.setattr(_models, "Tagger", small)
    small = partial(Splitter, hidden_layer_sizes=[4], max_iter=1)
    monkeypatch.setattr(_models, "Splitter", small)


@pytest.fixture(scope="module")
def files(tmp_path_factory, english):
    """A folder of treebank files and models, which no test changes."""
    folder = tmp_path_factory.mktemp("files")
    write_conllu(english[:80], folder / "xx_small-ud-train.conllu")
    write_conllu(english[80:110], folder / "xx_small-ud-test.conllu")
    write_conllu(english[80:110], folder / "packed.conllu.gz")
    model = make_pipeline(TokenFeature("upos"), SpectralSHAG(3)).fit(english[:80])
    save_model(model, folder / "model.npz")
    linear = CRFParser(["upos"], n_features=2**12, random_state=0).fit(english[:80])
    save_model(linear, folder / "linear.npz")
    write_conllu(model[-1].parse(english[80:110]), folder / "parsed.conllu")
    tagger = Tagger(hidden_layer_sizes=[4], max_iter=1, cv=2, random_state=0)
    tagging = make_pipeline(tagger, DeterministicSHAG()).fit(english[:80])
    save_model(tagging, folder / "tagging.npz")
    (folder / "tokens.txt").write_text("Dogs bark .\n", encoding="utf-8")
    partial = [
        tree.with_heads([tree.heads[0], *[-1] * (len(tree) - 1)]) for tree in english[80:110]
    ]
    write_conllu(partial, folder / "partial.conllu")
    return folder


@pytest.fixture
def train(files):
    return str(files / "xx_small-ud-train.conllu")


@pytest.fixture
def test(files):
    return str(files / "xx_small-ud-test.conllu")


@pytest.fixture
def model(files):
    return str(files / "model.npz")


@pytest.fixture
def run(capsys):
    """Run a command that succeeds; give what it prints."""

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return run


@pytest.fixture
def fail(capsys):
    """Run a command that fails; give its one line of complaint."""

    def fail(*arguments):
        assert main([str(argument) for argument in arguments]) == 1
        captured = capsys.readouterr()
        assert_one_line(captured.err, arguments[0])
        return captured.err

    return fail


@pytest.fixture
def feed(monkeypatch):
    """Let a file be standard input."""

    def feed(path):
        stream = io.TextIOWrapper(io.BytesIO(Path(path).read_bytes()))
        monkeypatch.setattr(sys, "stdin", stream)

    return feed


def assert_one_line(err, command):
    assert err.count("\n") == 1, err
    assert err.endswith("\n")
    prog = "python -m sklearn_shag" if err.startswith("python") else "sklearn-shag"
    assert err.startswith(f"{prog} {command}: error: ")
    assert "Errno" not in err
    assert len(err) > len(f"{prog} {command}: error: \n") + 10
    assert "Traceback" not in err


def environment(**variables):
    """Of a child process: the package of these tests, and a buffered standard output."""
    folder = str(Path(sklearn_shag.__file__).parents[1])
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": path, **variables}


def telling():
    """The environment of a command that warns, whatever the tests have made an error."""
    return environment(PYTHONWARNINGS="default::UserWarning")


def start(*arguments, env=None, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "sklearn_shag", *map(str, arguments)],
        stderr=subprocess.PIPE,
        env=env or environment(),
        **options,
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    # Whether kernels are in the cache depends on what ran before.
    announced = re.compile("^sklearn_shag compiles .*\n", flags=re.MULTILINE)
    return process.returncode, out, announced.sub("", err.decode(locale.getencoding()))


def assert_same_model(a, b):
    assert type(a) is type(b)
    assert a.get_params() == b.get_params()
    np.testing.assert_equal(learned(a), learned(b))


METRICS = {
    "UAS": unlabeled_attachment_score,
    "LAS": labeled_attachment_score,
    "CLAS": content_labeled_attachment_score,
    "label accuracy": label_accuracy_score,
    "exact match": exact_match_score,
}


def printed_scores(out):
    """The scores that `evaluate` prints."""
    return {
        name: float(value)
        for name, value in re.findall(
            rf"^({'|'.join(METRICS)}) +(\d+\.\d\d)   \d+\.\d\d to \d+\.\d\d$",
            out,
            flags=re.MULTILINE,
        )
    }


def assert_valid(path):
    """What is parsed passes the official validator, as far as it speaks of all languages."""
    validator = pytest.importorskip("udtools.validator", reason="needs udtools")
    report = io.StringIO()
    state = validator.Validator(lang="en", level=2, output=report).validate_files([str(path)])
    assert state.passed(), report.getvalue()


class TestTrain:
    @pytest.mark.parametrize(
        ("options", "pipeline"),
        [
            (["--model", "spectral"], make_pipeline(TokenFeature("upos"), SpectralSHAG())),
            (
                [
                    *("--model", "spectral", "--set", "n_states=2", "--set", "smoothing=1.5"),
                    *("--n-jobs", "2"),
                ],
                make_pipeline(TokenFeature("upos"), SpectralSHAG(2, smoothing=1.5, n_jobs=2)),
            ),
            (
                ["--symbols", "upos,xpos"],
                make_pipeline(TokenFeature("upos", ["xpos"]), SpectralSHAG()),
            ),
            (
                [
                    *("--symbols", "upos,xpos,feats.Number", "--min-count", "5"),
                    *("--model", "first", "--set", "smoothing=0.5"),
                ],
                make_pipeline(
                    TokenFeature("upos", ["xpos", "feats.Number"], min_count=5),
                    DeterministicSHAG("first", smoothing=0.5),
                ),
            ),
            (
                ["--model", "single", "--set", "smoothing=0"],
                make_pipeline(TokenFeature("upos"), DeterministicSHAG("single", smoothing=0.0)),
            ),
            (
                ["--model", "sibling", "--set", "smoothing=3"],
                make_pipeline(TokenFeature("upos"), DeterministicSHAG("sibling", smoothing=3.0)),
            ),
            (
                ["--model", "words", "--symbols", "xpos", "--min-count", "2"],
                make_pipeline(TokenFeature("xpos", min_count=2), LexicalizedSHAG()),
            ),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_agrees_with_the_library(self, run, train, tmp_path, options, pipeline):
        out = run("train", train, "-o", tmp_path / "model.npz", *options)
        loaded = load_model(tmp_path / "model.npz")
        pipeline.fit(read_conllu(train))
        for ours, theirs in zip(loaded, pipeline, strict=True):
            assert_same_model(ours, theirs)
        assert "from 80 sentences" in out
        assert str(tmp_path / "model.npz") in out
        assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]

    @pytest.mark.parametrize(
        ("options", "model"),
        [
            ([], CRFParser(random_state=0)),
            (["--columns", "auto"], CRFParser(random_state=0)),
            (
                ["--columns", "xpos,form,suffix.2", "--min-count", "3"],
                CRFParser(["xpos", "form", "suffix.2"], min_count=3, random_state=0),
            ),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_columns(self, run, train, test, tmp_path, options, model):
        """Of files, in training and in parsing."""
        path, parsed = tmp_path / "model.npz", tmp_path / "parsed.conllu"
        out = run("train", train, "-o", path, "--model", "crf", *options)
        assert out.startswith("Learned CRFParser(")
        loaded = load_model(path)
        assert_same_model(loaded, model.fit(read_conllu(train)))
        assert parameters(loaded) == parameters(model)
        run("parse", path, test, "-o", parsed)
        assert read_conllu(parsed) == model.parse(read_conllu(test))

    @pytest.mark.parametrize(
        ("options", "model"),
        [
            (["--model", "biaffine"], BiaffineParser(random_state=0)),
            (
                ["--model", "biaffine", "--columns", "xpos,suffix", "--min-count", "3"],
                BiaffineParser(["xpos", "suffix"], min_count=3, random_state=0),
            ),
            (
                ["--model", "biaffine", "--tags", "xpos", "--columns", "form,suffix.2"],
                BiaffineParser(["form", "suffix.2"], tags="xpos", random_state=0),
            ),
            (
                [
                    "--model",
                    "spectral",
                    "--tags",
                    "upos",
                    "--set",
                    "n_states=3",
                    "--min-count",
                    "4",
                ],
                make_pipeline(Tagger("upos", min_count=4, random_state=0), SpectralSHAG(3)),
            ),
            (
                ["--model", "crf", "--tags", "upos"],
                make_pipeline(
                    Tagger("upos", random_state=0),
                    CRFParser(["upos", "form", "suffix"], random_state=0),
                ),
            ),
            (
                ["--model", "crf", "--tags", "xpos", "--columns", "xpos,form", "--min-count", "1"],
                make_pipeline(
                    Tagger("xpos", min_count=1, random_state=0),
                    CRFParser(["xpos", "form"], min_count=1, random_state=0),
                ),
            ),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_networks_and_taggers(self, options, model):
        """What is made of options; to fit it is a matter of the library."""
        options = _main.make_parser("").parse_args(["train", "x", "-o", "y", *options])
        made, learner = _models._make_model(options)
        steps = [made] if made is learner else [step for _, step in made.steps]
        expected = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
        assert list(map(parameters, steps)) == list(map(parameters, expected))
        assert steps[-1] is learner

    def test_tokens_alone(self, run, fail, monkeypatch, train, test, tmp_path):
        """From tokens to complete CoNLL-U, by a tagger in front and by tags learned along."""
        make_networks_small(monkeypatch)
        trees = read_conllu(test)
        text = "".join(" ".join(tree.forms) + "\n\n" for tree in trees)
        tokens, gold = tmp_path / "tokens.txt", tmp_path / "gold.conllu"
        tokens.write_text(text, encoding="utf-8")
        write_conllu([DependencyTree(tree.forms) for tree in trees], gold)
        for tags, *options in (
            ("upos", "--model", "biaffine"),
            ("upos", "--model", "single"),
            ("upos,xpos,feats,lemma", "--model", "biaffine", "--max-iter", "2"),
        ):
            path, out = tmp_path / "model.npz", tmp_path / "out.conllu"
            run("train", train, "-o", path, "--tags", tags, *options)
            run("parse", path, tokens, "--input", "horizontal", "-o", out)
            parsed, model = read_conllu(out), load_model(path)
            expected = read_horizontal(tokens)
            if isinstance(model, Pipeline):
                expected = model[:-1].transform(expected)
                model = model[-1]
            # Lines count from 1, and each second one is empty.
            named = [
                tree.with_sent_id(f"tokens-{2 * k + 1}").with_text(" ".join(tree.forms))
                for k, tree in enumerate(model.parse(expected))
            ]
            write_conllu(named, tmp_path / "expected.conllu")
            assert out.read_bytes() == (tmp_path / "expected.conllu").read_bytes()
            assert_valid(out)
            assert all(tree.heads is not None and "_" not in tree.upos for tree in parsed)
            assert all("_" not in tree.deprels for tree in parsed)
            assert all(("_" in (tree.lemmas or "_")) == ("lemma" not in tags) for tree in parsed)
            assert [tree.forms for tree in parsed] == [tree.forms for tree in trees]
            of_file = [line for line in out.read_text().splitlines(True) if line[0] != "#"]
            assert run("parse", path, gold) == "".join(of_file)
        message = fail("parse", path, test, "--input", "horizontal")
        assert f"{test}:3: the line holds a tab, as in CoNLL-U" in message
        assert "--input horizontal" in fail("parse", path, tokens)

    def test_models_of_tags_do_not_parse_tokens(self, fail, model, tmp_path):
        (tmp_path / "tokens.txt").write_text("Dogs bark\n")
        message = fail("parse", model, tmp_path / "tokens.txt", "--input", "horizontal")
        assert "tokens.txt:1: the sentence: DependencyTree('Dogs bark', heads=None) has" in message
        (tmp_path / "empty.txt").write_text("\n")
        message = fail("parse", model, tmp_path / "empty.txt", "--input", "horizontal")
        assert "There are no sentences in" in message

    def test_heads_here_and_there(self, run, fail, train, test, tmp_path):
        trees = read_conllu(train)
        trees[0] = trees[0].with_heads(None)
        trees[1] = trees[1].with_heads([-1, *trees[1].heads[1:]], trees[1].deprels)
        write_conllu(trees, tmp_path / "partial.conllu")
        run("train", tmp_path / "partial.conllu", "-o", tmp_path / "m", "--model", "crf")
        assert_same_model(load_model(tmp_path / "m"), CRFParser(random_state=0).fit(trees))
        write_conllu([tree.with_heads(None) for tree in trees], tmp_path / "bare.conllu")
        err = fail("train", tmp_path / "bare.conllu", "-o", tmp_path / "m", "--model", "crf")
        assert "heads" in err

    def test_compressed(self, run, train, tmp_path):
        packed = tmp_path / "train.conllu.gz"
        packed.write_bytes(gzip.compress(Path(train).read_bytes()))
        run("train", packed, "-o", tmp_path / "a", "--model", "spectral")
        run("train", train, "-o", tmp_path / "b", "--model", "spectral")
        for a, b in zip(load_model(tmp_path / "a"), load_model(tmp_path / "b"), strict=True):
            assert_same_model(a, b)

    def test_the_best_model_is_the_default(self, run, monkeypatch, train, tmp_path):
        """Which it is, and why, is said."""
        make_networks_small(monkeypatch)
        path = tmp_path / "model.npz"
        out = run("train", train, "-o", path, "--tags", "upos", "--seed", "3", "--max-iter", "1")
        model, trees = load_model(path), read_conllu(train)
        assert out.startswith("Taking --model ensemble: the most accurate one; biaffine learns in")
        assert list(model.named_estimators_) == ["network0", "network1", "network2", "linear"]
        assert [p.random_state for p in model.estimators_[:3]] == [3, 4, 5]
        linear = model.named_estimators_["linear"]
        assert [step.random_state for step in (linear[0], linear[1])] == [3, 3]
        assert linear[1].max_iter == 1
        assert model.parse(trees[:1])[0].upos[0] in model.tags_
        assert f"from {len(trees)} sentences" in out

    def test_training_goes_on(self, run, fail, files, train, test, tmp_path):
        out, old = tmp_path / "model.npz", files / "linear.npz"
        run("train", test, "-o", out, "--continue", old, "--max-iter", "2", "--seed", "5")
        expected = load_model(old).set_params(warm_start=True, max_iter=2, random_state=5)
        expected.fit(read_conllu(test))
        assert_same_model(load_model(out), expected.set_params(warm_start=False))
        message = "goes on with a model as it is; leave out --model and --min-count."
        wrong = (*MODEL, "--min-count", "2", "--continue", old)
        assert message in fail("train", test, "-o", out, *wrong)
        message = "holds SpectralSHAG, which cannot go on learning; em, crf and biaffine can."
        assert message in fail("train", test, "-o", out, "--continue", files / "model.npz")

    @pytest.mark.parametrize(
        ("name", "learner"),
        [
            ("spectral", SpectralSHAG()),
            ("single", DeterministicSHAG("single")),
            ("first", DeterministicSHAG("first")),
            ("sibling", DeterministicSHAG("sibling")),
            ("em", EMSHAG(init="moments", max_iter=100, random_state=0)),
        ],
        ids=str,
    )
    def test_smoothing_has_the_default_of_the_estimator(self, run, train, tmp_path, name, learner):
        run("train", train, "-o", tmp_path / "model.npz", "--model", name)
        assert_same_model(load_model(tmp_path / "model.npz")[-1], learner.fit(read_conllu(train)))


class TestParse:
    def test_agrees_with_the_library(self, run, model, test, tmp_path):
        assert run("parse", model, test, "-o", tmp_path / "out.conllu") == ""
        parsed = read_conllu(tmp_path / "out.conllu")
        trees = read_conllu(test)
        expected = load_model(model).predict(trees)
        assert len(parsed) == 30
        for tree, heads, old in zip(parsed, expected, trees, strict=True):
            np.testing.assert_array_equal(tree.heads, heads)
            for column in ("forms", "lemmas", "upos", "xpos", "feats"):
                assert getattr(tree, column) == getattr(old, column)
        assert [path.name for path in tmp_path.iterdir()] == ["out.conllu"]
        assert_valid(tmp_path / "out.conllu")

    def test_writes_relations(self, run, model, test, files, tmp_path):
        """Those that the model has learned, and if it has learned none, unspecified ones."""
        run("parse", model, test, "-o", tmp_path / "out.conllu")
        parsed, features, parser = read_conllu(tmp_path / "out.conllu"), *load_model(model)
        expected = parser.predict_labels(features.transform(read_conllu(test)))
        assert [tree.deprels for tree in parsed] == [tuple(labels) for labels in expected]
        assert {"nsubj", "root", "det"} < {label for tree in parsed for label in tree.deprels}
        bare = [tree.with_heads(tree.heads, ["_"] * len(tree)) for tree in parsed]
        write_conllu(bare, tmp_path / "bare.conllu")
        run("train", tmp_path / "bare.conllu", "-o", tmp_path / "bare.npz", "--model", "spectral")
        run("parse", tmp_path / "bare.npz", test, "-o", tmp_path / "out.conllu")
        parsed = read_conllu(tmp_path / "out.conllu")
        assert {label for tree in parsed for label in tree.deprels} == {"dep", "root"}

    def test_standard_output_is_the_file(self, run, model, test, tmp_path):
        run("parse", model, test, "-o", tmp_path / "out.conllu")
        expected = (tmp_path / "out.conllu").read_bytes()
        assert run("parse", model, test).encode() == expected
        status, out, err = finish(start("parse", model, test, stdout=subprocess.PIPE))
        assert (status, out, err) == (0, expected, "")

    def test_standard_output_is_utf_8(self, run, model, tmp_path):
        """CoNLL-U is UTF-8, whatever encoding the terminal has."""
        tree = DependencyTree(["Čapek", "日本"], [2, 0], upos=["PROPN", "NOUN"])
        write_conllu([tree], tmp_path / "in.conllu")
        run("parse", model, tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
        process = start(
            "parse",
            model,
            tmp_path / "in.conllu",
            stdout=subprocess.PIPE,
            env=environment(PYTHONIOENCODING="latin-1", PYTHONUTF8="0"),
        )
        expected = (tmp_path / "out.conllu").read_bytes()
        assert finish(process) == (0, expected, "")

    def test_compressed(self, run, model, files, test, tmp_path):
        expected = run("parse", model, test)
        assert run("parse", model, files / "packed.conllu.gz") == expected
        run("parse", model, test, "-o", tmp_path / "out.conllu.gz")
        assert gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()).decode() == expected

    def test_heads_of_the_file_do_not_matter(self, run, model, test, tmp_path):
        trees = read_conllu(test)
        write_conllu([tree.with_heads(None) for tree in trees], tmp_path / "none.conllu")
        write_conllu([tree.with_heads(range(len(tree))) for tree in trees], tmp_path / "b.conllu")
        expected = run("parse", model, test)
        assert run("parse", model, tmp_path / "none.conllu") == expected
        assert run("parse", model, tmp_path / "b.conllu") == expected

    def test_heads_of_the_file_are_kept_on_demand(self, run, model, test, tmp_path):
        trees, rng = read_conllu(test), np.random.default_rng(0)
        partial = [
            tree.with_heads(
                np.where(rng.uniform(size=len(tree)) < 0.5, -1, tree.heads), tree.deprels
            )
            for tree in trees
        ]
        write_conllu(partial, tmp_path / "in.conllu")
        assert "\t_\t" in (tmp_path / "in.conllu").read_text()
        out = run("parse", model, tmp_path / "in.conllu", "--keep-heads")
        assert out == run("parse", model, tmp_path / "in.conllu", "--keep-heads", "--n-jobs", "2")
        assert read_conllu(io.StringIO(out)) == load_model(model)[-1].parse(
            partial, keep_heads=True
        )
        for tree, before in zip(read_conllu(io.StringIO(out)), partial, strict=True):
            known = before.heads != -1
            np.testing.assert_array_equal(tree.heads[known], before.heads[known])
            assert (
                np.array(tree.deprels)[known].tolist() == np.array(before.deprels)[known].tolist()
            )
        assert run("parse", model, tmp_path / "in.conllu") == run("parse", model, test)
        assert run("parse", model, test) != out

    @pytest.mark.parametrize("options", [[], ["--keep-heads"]], ids=str)
    def test_confidence(self, run, model, test, tmp_path, options):
        """What MISC held stays, and all else is as without the option."""
        trees, rng = read_conllu(test), np.random.default_rng(0)
        partial = [
            tree.with_heads(np.where(rng.uniform(size=len(tree)) < 0.5, -1, tree.heads))
            for tree in trees
        ]
        write_conllu(partial, tmp_path / "in.conllu")
        plain = run("parse", model, tmp_path / "in.conllu", *options)
        out = run("parse", model, tmp_path / "in.conllu", *options, "--confidence")
        write_conllu(read_conllu(io.StringIO(out)), tmp_path / "out.conllu")
        assert (tmp_path / "out.conllu").read_text(encoding="utf-8") == out
        assert run("parse", model, tmp_path / "out.conllu", "--confidence") == (
            run("parse", model, tmp_path / "in.conllu", "--confidence")
        )
        parser = load_model(model)[-1]
        allowed = allowed_arcs(partial) if options else None
        heads = parser.predict(partial, allowed=allowed)
        expected = [
            f"Confidence={marginals[token, head]:.4f}"
            for marginals, found in zip(
                parser.predict_marginals(partial, allowed=allowed), heads, strict=True
            )
            for token, head in enumerate(found)
        ]
        assert len(set(expected)) > 50
        scores = [float(score) for score in re.findall(r"^# score = (.*)$", out, re.MULTILINE)]
        probabilities = parser.predict_tree_proba(partial, heads, allowed=allowed)
        np.testing.assert_allclose(np.exp(scores), probabilities, atol=1e-4)
        added, n_others = iter(expected), 0
        without_scores = [line for line in out.splitlines() if not line.startswith("# score")]
        for line, before in zip(without_scores, plain.splitlines(), strict=True):
            if not re.match(r"\d+\t", line):
                assert line == before
                continue
            old, misc = before.rpartition("\t")[2], next(added)
            n_others += old != "_"
            assert line == before.removesuffix(old) + (misc if old == "_" else f"{old}|{misc}")
        assert n_others > 10
        known = np.concatenate([tree.heads for tree in partial]) != -1
        assert (set(np.array(expected)[known]) == {"Confidence=1.0000"}) == bool(options)

    @pytest.mark.parametrize("name", ["viterbi", "average", "words", "CRF", "conditional"])
    def test_confidence_of_any_model(self, run, train, test, tmp_path, name):
        trees = read_conllu(test)
        model = {
            "viterbi": DeterministicSHAG("sibling", smoothing=1, decoder="viterbi"),
            "average": AveragedParser([("one", DeterministicSHAG()), ("two", SpectralSHAG(2))]),
            "words": LexicalizedSHAG(),
            "CRF": CRFParser(n_features=2**12, random_state=0),
            "conditional": ConditionalSHAG(DeterministicSHAG(smoothing=1), max_iter=2),
        }[name].fit(read_conllu(train))
        save_model(model, tmp_path / "model.npz")
        out = run("parse", tmp_path / "model.npz", test, "--confidence")
        printed = re.findall(r"Confidence=(\d\.\d{4})$", out, flags=re.MULTILINE)
        expected = [
            marginals[np.arange(heads.size), heads]
            for marginals, heads in zip(
                model.predict_marginals(trees), model.predict(trees), strict=True
            )
        ]
        np.testing.assert_allclose(
            np.array(printed, dtype=float), np.concatenate(expected), rtol=0, atol=5.1e-5
        )

    @pytest.mark.parametrize("options", [[], ["--keep-heads"]], ids=str)
    @pytest.mark.parametrize("several", ["--k-best", "--sample"])
    def test_several_trees(self, run, train, test, tmp_path, several, options):
        """Each is written whole, with the relations and all else of its own, and its score."""
        trees = [tree for tree in read_conllu(test) if tree.is_projective][:20]
        partial = [tree.with_heads([-1, *tree.heads[1:]], tree.deprels) for tree in trees]
        write_conllu(partial, tmp_path / "in.conllu")
        run("train", train, "-o", tmp_path / "crf.npz", "--model", "crf", "--columns", "upos")
        options = [*options, "--unique-relations", "nsubj+csubj,obj"]
        out = run(
            *("parse", tmp_path / "crf.npz", tmp_path / "in.conllu"),
            *(several, "3", "--seed", "5", "--confidence", *options),
        )
        model = load_model(tmp_path / "crf.npz")
        allowed = allowed_arcs(partial) if "--keep-heads" in options else None
        if several == "--k-best":
            heads, _ = model.k_best_heads(partial, 3, allowed=allowed)
        else:
            heads = model.sample_heads(partial, 3, 5, allowed=allowed)
        found = iter(read_conllu(io.StringIO(out)))
        marginals = model.predict_marginals(partial, allowed=allowed)
        for tree, rows, of_sentence in zip(partial, heads, marginals, strict=True):
            for row in rows:
                answer = next(found)
                assert answer.heads.tolist() == row.tolist()
                assert answer.forms == tree.forms
                assert answer.sent_id == tree.sent_id
                (score,) = [c for c in answer.comments if c.startswith("# score = ")]
                expected = model.predict_tree_proba(
                    [tree], [row], allowed=None if allowed is None else allowed_arcs([tree])
                )
                assert abs(np.exp(float(score.split()[-1])) - expected[0]) < 1e-4
                relations = model.predict_labels(
                    [tree], [row], unique_relations=[("nsubj", "csubj"), "obj"]
                )[0]
                if "--keep-heads" in options:
                    relations[1:] = tree.deprels[1:]
                assert list(answer.deprels) == list(relations)
                confidence = of_sentence[np.arange(len(tree)), row]
                written = re.findall(r"Confidence=(\S+)", answer.to_conllu())
                np.testing.assert_allclose(np.array(written, dtype=float), confidence, atol=1e-4)
        assert next(found, None) is None

    def test_several_trees_of_signed_grammars_are_refused(self, run, fail, train, test, tmp_path):
        run("train", train, "-o", tmp_path / "spectral.npz", "--model", "spectral")
        err = fail("parse", tmp_path / "spectral.npz", test, "--sample", "3")
        assert "negative values, such as SpectralSHAG learns" in err

    def test_heads_that_cannot_be_kept(self, fail, model, tmp_path):
        tree = DependencyTree(["a", "b", "c", "d"], [3, 4, 0, 3], upos=["NOUN"] * 4)
        write_conllu([tree.with_heads([-1, 0, 2, 2]), tree], tmp_path / "in.conllu")
        err = fail("parse", model, tmp_path / "in.conllu", "--keep-heads")
        assert "in.conllu:6: the sentence ('a b c d') has heads that no projective tree" in err
        assert "the arcs 3 -> 1 and 4 -> 2 cross" in err

    def test_heads_that_cross_are_kept_if_arcs_may(self, run, model, tmp_path):
        tree = DependencyTree(["a", "b", "c", "d", "e"], [3, 4, 0, 3, -1], upos=["NOUN"] * 5)
        write_conllu([tree], tmp_path / "in.conllu")
        options = "--keep-heads", "--confidence", "--decoder", "mst"
        out = run("parse", model, tmp_path / "in.conllu", *options)
        (parsed,) = read_conllu(io.StringIO(out))
        assert parsed.heads.tolist()[:4] == [3, 4, 0, 3]
        assert out.count("Confidence=1.0000") == 4

    @pytest.mark.parametrize("decoder", ["mbr", "max_marginal", "viterbi", "mst"])
    def test_decoder(self, run, train, test, tmp_path, decoder):
        run(
            *("train", train, "-o", tmp_path / "model.npz"),
            *("--model", "single", "--set", "smoothing=2"),
        )
        run(
            *("parse", tmp_path / "model.npz", test, "-o", tmp_path / "out.conllu"),
            *("--decoder", decoder, "--n-jobs", "2"),
        )
        expected = DeterministicSHAG("single", smoothing=2.0, decoder=decoder)
        expected.fit(read_conllu(train))
        for tree, heads in zip(
            read_conllu(tmp_path / "out.conllu"), expected.predict(read_conllu(test)), strict=True
        ):
            np.testing.assert_array_equal(tree.heads, heads)

    def test_model_that_is_no_pipeline(self, run, train, test, tmp_path):
        """Models saved by the library can be used too."""
        model = SpectralSHAG(3).fit(read_conllu(train))
        save_model(model, tmp_path / "bare.npz")
        save_model(make_pipeline(model), tmp_path / "pipeline.npz")
        expected = run("parse", tmp_path / "pipeline.npz", test)
        assert run("parse", tmp_path / "bare.npz", test) == expected
        assert run("parse", tmp_path / "bare.npz", test, "--n-jobs", "2") == expected

    def test_model_made_of_models(self, run, train, test, tmp_path):
        """Options go to the parser, also behind the steps of a pipeline and what is frozen."""
        trees = read_conllu(train)
        fine = make_pipeline(TokenFeature("upos", "xpos"), DeterministicSHAG("single"))
        average = AveragedParser([("fine", fine), ("coarse", SpectralSHAG(2))]).fit(trees)
        save_model(average, tmp_path / "average.npz")
        frozen = make_pipeline(TokenFeature("upos"), FrozenEstimator(average)).fit(trees)
        save_model(frozen, tmp_path / "frozen.npz")
        for options in ([], ["--decoder", "max_marginal", "--n-jobs", "2"]):
            if options:
                average.set_params(decoder="max_marginal")
            expected = [tree.heads.tolist() for tree in average.parse(read_conllu(test))]
            for name in ("average.npz", "frozen.npz"):
                parsed = read_conllu(io.StringIO(run("parse", tmp_path / name, test, *options)))
                assert [tree.heads.tolist() for tree in parsed] == expected


def cell(value):
    """A number in a table of text: what four digits would show as zero, by its size."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if value == 0 or abs(value) >= 5e-5 else f"{value:.2g}"


class TestSuggest:
    @pytest.fixture
    def partial(self, files):
        return str(files / "partial.conllu")

    def test_arcs(self, run, model, partial):
        trees = read_conllu(partial)
        expected = least_certain_arcs(load_model(model)[-1], trees)
        out = run("suggest", model, partial, "-n", "1000")
        header, *rows = [line.split("\t") for line in out.splitlines()]
        assert " ".join(header) == (
            "file sentence sent_id token form head head_form probability margin entropy"
        )
        assert len(rows) == sum((tree.heads == -1).sum() for tree in trees) > 200
        for row, s, token, head, *numbers in zip(rows, *expected, strict=True):
            assert row[:2] == [partial, str(s + 1)]
            assert f"# sent_id = {row[2]}\n" in trees[s]._source
            forms = "_", *trees[s].forms
            assert row[3:7] == [str(token), forms[token], str(head), forms[head]]
            assert row[7:] == list(map(cell, numbers))
        assert run("suggest", model, partial, "-n", "1000", "--n-jobs", "2") == out
        assert run("suggest", model, partial).splitlines() == out.splitlines()[:11]

    def test_sentences(self, run, model, partial):
        trees = read_conllu(partial)
        expected = least_certain_sentences(load_model(model)[-1], trees, n=4)
        out = run("suggest", model, partial, "--by", "sentences", "-n", "4")
        header, *rows = [line.split("\t") for line in out.splitlines()]
        assert " ".join(header) == (
            "file sentence sent_id unknown_heads expected_errors error_rate tree_probability text"
        )
        for row, s, n_unknown, errors, rate, of_tree in zip(rows, *expected, strict=True):
            assert row[:2] == [partial, str(s + 1)]
            assert row[3:] == [
                *map(cell, (n_unknown, errors, rate, of_tree)),
                " ".join(trees[s].forms),
            ]

    def test_whole_trees(self, run, model, partial):
        trees = read_conllu(partial)
        expected = least_certain_sentences(load_model(model)[-1], trees, n=4, by="trees")
        out = run("suggest", model, partial, "--by", "trees", "-n", "4")
        found = [int(line.split("\t")[1]) - 1 for line in out.splitlines()[1:]]
        assert found == expected.sentences.tolist()

    @pytest.mark.parametrize("by", ["arcs", "sentences"])
    def test_json(self, run, model, partial, by):
        printed = json.loads(run("suggest", model, partial, "--json", "--by", by))
        assert (printed["files"], printed["by"]) == ([partial], by)
        table = run("suggest", model, partial, "--by", by).splitlines()
        assert list(printed["suggestions"][0]) == table[0].split("\t")
        for row, line in zip(printed["suggestions"], table[1:], strict=True):
            cells = list(map(cell, row.values()))
            assert "\t".join(cells).replace("\tNone", "\t_") == line

    def test_sentences_to_be_annotated(self, run, fail, model, partial, tmp_path):
        """Those listed, with the tree that the parser gives them and the heads that they have."""
        out, trees = tmp_path / "next.conllu", read_conllu(partial)
        chosen = ("--by", "sentences", "-n", "3")
        table = run("suggest", model, partial, *chosen)
        assert run("suggest", model, partial, *chosen, "-o", out) == table
        places = [int(line.split("\t")[1]) - 1 for line in table.splitlines()[1:]]
        expected = load_model(model)[-1].parse([trees[s] for s in places], keep_heads=True)
        write_conllu(expected, tmp_path / "expected.conllu")
        assert out.read_bytes() == (tmp_path / "expected.conllu").read_bytes()
        assert run("suggest", model, partial, *chosen, "-o", "-").encode() == out.read_bytes()
        assert "--by sentences" in fail("suggest", model, partial, "-o", out)
        assert "same file" in fail("suggest", model, partial, *chosen, "-o", partial)

    def test_letters_are_not_escaped(self, run, tmp_path, model):
        """But what a terminal acts on is, and both are read as they were."""
        forms = ["Ä", "வணக்கம்", "a\u202eb\x9b"]
        write_conllu([DependencyTree(forms, upos=["NOUN"] * 3)], tmp_path / "in.conllu")
        out = run("suggest", model, tmp_path / "in.conllu", "--json", "-n", "3")
        assert '"Ä"' in out
        assert '"வணக்கம்"' in out
        assert '"a\\u202eb\\u009b"' in out
        assert {row["form"] for row in json.loads(out)["suggestions"]} == set(forms)

    def test_several_files_and_standard_input(self, run, feed, model, partial, tmp_path):
        trees = read_conllu(partial)
        bare = DependencyTree(["a", "b"], upos=["NOUN", "NOUN"])
        write_conllu(trees[:12], tmp_path / "a.conllu")
        write_conllu([*trees[12:], bare], tmp_path / "b.conllu")
        rows = [
            line.split("\t")
            for line in run("suggest", model, tmp_path, "-n", "1000").splitlines()[1:]
        ]
        whole = run("suggest", model, partial, "-n", "1000").splitlines()[1:]
        unnamed = [row for row in rows if row[2] == "_"]
        assert {(*row[:2],) for row in unnamed} == {(str(tmp_path / "b.conllu"), "19")}
        assert [row[2:] for row in rows if row[2] != "_"] == [row.split("\t")[2:] for row in whole]
        feed(partial)
        out = run("suggest", model, "-", "-n", "1000").replace("<stdin>\t", f"{partial}\t")
        assert out.splitlines()[1:] == whole

    def test_errors(self, fail, model, test, tmp_path):
        assert "All heads of the sentences in X are known" in fail("suggest", model, test)
        assert "'n' parameter" in fail("suggest", model, test, "-n", "0")
        (tmp_path / "empty.conllu").write_text("\n")
        empty = tmp_path / "empty.conllu"
        assert f"There are no sentences in {empty}" in fail("suggest", model, empty)
        assert "can be read only once" in fail("suggest", "-", "-")


class TestEvaluate:
    def test_prints_the_metrics(self, run, test, files):
        gold, system = read_conllu(test), read_conllu(files / "parsed.conllu")
        out = run("evaluate", test, files / "parsed.conllu")
        assert printed_scores(out) == {
            name: round(100 * metric(gold, system), 2) for name, metric in METRICS.items()
        }
        assert out.startswith(f"30 sentences, {sum(map(len, gold))} tokens, punctuation scored\n")
        assert 30 < printed_scores(out)["UAS"] < 99

    def test_ignore_punctuation(self, run, test, files):
        gold, system = read_conllu(test), read_conllu(files / "parsed.conllu")
        out = run("evaluate", test, files / "parsed.conllu", "--ignore-punctuation")
        uas = unlabeled_attachment_score(gold, system, ignore=is_punctuation)
        assert uas != unlabeled_attachment_score(gold, system)
        assert printed_scores(out) == {
            name: round(100 * metric(gold, system, ignore=is_punctuation), 2)
            for name, metric in METRICS.items()
        }
        n_ignored = sum(tree.upos.count("PUNCT") for tree in gold)
        assert f" tokens, {n_ignored} of them punctuation and ignored\n" in out

    def test_perfect(self, run, test, files):
        out = run("evaluate", test, files / "packed.conllu.gz")
        assert printed_scores(out) == dict.fromkeys(METRICS, 100.0)

    @pytest.mark.parametrize("options", [[], ["--ignore-punctuation"]], ids=str)
    def test_heads_that_are_not_known(self, run, test, files, tmp_path, options):
        gold = read_conllu(test)
        partial = [tree.with_heads([-1, *tree.heads[1:]]) for tree in gold]
        partial[3] = gold[3].with_heads(None)
        write_conllu(partial, tmp_path / "partial.conllu")
        out = run("evaluate", tmp_path / "partial.conllu", files / "parsed.conllu", *options)
        counted = [
            symbol for k, tree in enumerate(gold) for symbol in (tree.symbols[1:] if k != 3 else ())
        ]
        n_unknown = sum(map(len, gold)) - len(counted)
        expected = f" tokens, {n_unknown} of them without true heads and left out, "
        n_ignored = sum(map(is_punctuation, counted))
        scored = f"{n_ignored} of them punctuation and ignored" if options else "punctuation scored"
        assert expected + scored + "\n" in out

    @pytest.mark.parametrize("options", [[], ["--ignore-punctuation"]], ids=str)
    def test_intervals_and_columns(self, run, test, files, options):
        """As the library gives them; the draws are always the same."""
        ignore = is_punctuation if options else None
        report = score_report(
            read_conllu(test), read_conllu(files / "parsed.conllu"), ignore=ignore
        )
        arguments = "evaluate", test, files / "parsed.conllu", *options
        found, out = json.loads(run(*arguments, "--json")), run(*arguments)
        names = ("UAS", "LAS", "CLAS", "label accuracy", "exact match", "UPOS", "XPOS", "FEATS")
        names = dict(zip(report.scores, (*names, "AllTags", "Lemmas"), strict=True))
        for name, interval in report.scores.items():
            assert found[name] == interval._asdict()
            score, low, high = (100 * value for value in interval)
            line = rf"^{names[name]} +{score:.2f}   {low:.2f} to {high:.2f}$"
            assert re.search(line, out, flags=re.MULTILINE)
        assert (found["confidence"], found["resamples"]) == (0.95, 1000)
        assert "95 % interval" in out
        assert "1000 resamples of the sentences" in out

    @pytest.mark.parametrize("options", [[], ["--ignore-punctuation", "--by", "modifier"]], ids=str)
    def test_json(self, run, test, files, options):
        gold, system = read_conllu(test), read_conllu(files / "parsed.conllu")
        report = json.loads(run("evaluate", test, files / "parsed.conllu", "--json", *options))
        by = "modifier" if options else "head"
        ignore = is_punctuation if options else None
        assert report["gold"] == [test]
        assert report["system"] == [str(files / "parsed.conllu")]
        assert report["punctuation"] == ("ignored" if options else "scored")
        assert (report["sentences"], report["tokens"]) == (30, sum(map(len, gold)))
        n_punctuation = sum(tree.upos.count("PUNCT") for tree in gold)
        assert report["scored_tokens"] == report["tokens"] - (n_punctuation if options else 0)
        for name, metric in METRICS.items():
            key = name.lower().replace(" ", "_")
            assert report[key]["score"] == metric(gold, system, ignore=ignore)
        expected = attachment_breakdown(gold, system, by=by, ignore=ignore)
        assert report["breakdown"]["by"] == by
        rows = report["breakdown"]["rows"]
        assert [row["symbol"] for row in rows] == expected.symbols.tolist()
        for count, array in (("correct", expected.right), ("total", expected.total)):
            assert [[row[side][count] for side in ("left", "right")] for row in rows] == (
                array.tolist()
            )

    @pytest.mark.parametrize("by", ["head", "modifier"])
    def test_breakdown(self, run, test, files, by):
        gold, system = read_conllu(test), read_conllu(files / "parsed.conllu")
        out = run("evaluate", test, files / "parsed.conllu", "--by", by)
        counted = "true head" if by == "head" else "word"
        assert f"Right heads by the symbol of the {counted}, " in out
        table = out.split("\n\n")[-1].splitlines()
        assert table[0].split() == ["symbol", "left", "right", "both"]
        expected = attachment_breakdown(gold, system, by=by)
        totals = expected.total.sum(axis=1)
        printed = {}
        for row in table[1:]:
            symbol, cells = row.split(maxsplit=1)
            printed[symbol] = re.findall(r"(?:(\d+\.\d) % of +(\d+))|-", cells)
        order = expected.symbols[np.argsort(-totals, kind="stable")]
        assert list(printed) == order.tolist()
        for symbol, right, total in zip(*expected, strict=True):
            sides = [*zip(right, total, strict=True), (right.sum(), total.sum())]
            assert printed[symbol] == [
                (f"{100 * correct / of:.1f}", f"{of:.0f}") if of else ("", "")
                for correct, of in sides
            ]

    def test_file_compared_with_itself(self, test):
        process = start("evaluate", test, test, env=telling(), stdout=subprocess.PIPE)
        status, out, err = finish(process)
        assert status == 0
        assert printed_scores(out.decode())["UAS"] == 100.0
        assert err == f"python -m sklearn_shag evaluate: warning: {test} is compared with itself\n"

    @pytest.mark.parametrize(
        ("tag", "message"),
        [
            ("PUNCT", "No token is left to score"),
            ("_", "All tags of the true trees are '_', so punctuation cannot be told from words"),
        ],
    )
    def test_no_token_to_score(self, fail, tmp_path, tag, message):
        for name, heads in (("a", [2, 0]), ("b", [0, 1])):
            tree = DependencyTree(["a", "b"], heads, upos=[tag, tag])
            write_conllu([tree], tmp_path / f"{name}.conllu")
        err = fail("evaluate", tmp_path / "a.conllu", tmp_path / "b.conllu", "--ignore-punctuation")
        assert message in err

    def test_different_words_of_a_later_sentence(self, fail, test, tmp_path, monkeypatch):
        """Numbers count within the file, and a word may be missing."""
        monkeypatch.chdir(Path(test).parent)  # a long name would be shortened
        trees, test = read_conllu(test), Path(test).name
        cut = DependencyTree(trees[20].forms[:-1], range(len(trees[20]) - 1))
        write_conllu(trees[:15], tmp_path / "a.conllu")
        write_conllu([*trees[15:20], cut, *trees[21:]], tmp_path / "b.conllu")
        err = fail("evaluate", test, tmp_path)
        last = trees[20].forms[-1]
        assert f"word {len(trees[20])} is {last!r} in sentence 21 of {test} (sent_id " in err
        assert f", and no word in sentence 6 of {tmp_path / 'b.conllu'}." in err

    def test_train_parse_evaluate(self, run, train, test, tmp_path):
        run("train", train, "-o", tmp_path / "m", "--symbols", "upos,xpos", "--set", "n_states=4")
        run("parse", tmp_path / "m", test, "-o", tmp_path / "out.conllu")
        out = run("evaluate", test, tmp_path / "out.conllu")
        pipeline = make_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(4))
        score = pipeline.fit(read_conllu(train)).score(read_conllu(test))
        assert printed_scores(out)["UAS"] == round(100 * score, 2)


class TestSeveralFiles:
    @pytest.fixture
    def parts(self, train, tmp_path):
        """The training trees in a folder of two files."""
        trees = read_conllu(train)
        folder = tmp_path / "parts"
        folder.mkdir()
        write_conllu(trees[:50], folder / "a.conllu")
        write_conllu(trees[50:], folder / "b.conllu.gz")
        return folder

    @pytest.mark.parametrize("form", ["files", "folder", "pattern", "home"])
    def test_train(self, run, train, parts, tmp_path, monkeypatch, form):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        arguments = {
            "files": [parts / "a.conllu", parts / "b.conllu.gz"],
            "folder": [parts],
            "pattern": [parts / "*.conllu*"],
            "home": ["~/parts"],
        }[form]
        output = "~/model.npz" if form == "home" else tmp_path / "model.npz"
        out = run("train", *arguments, "-o", output, "--model", "single")
        assert "from 80 sentences in 2 files" in out
        run("train", train, "-o", tmp_path / "one.npz", "--model", "single")
        for a, b in zip(
            load_model(tmp_path / "model.npz"), load_model(tmp_path / "one.npz"), strict=True
        ):
            assert_same_model(a, b)

    def test_parse_and_evaluate(self, run, model, train, parts, tmp_path):
        expected = run("parse", model, train)
        assert run("parse", model, parts / "a.conllu", parts / "b.conllu.gz") == expected
        run("parse", model, parts, "-o", tmp_path / "out.conllu")
        assert (tmp_path / "out.conllu").read_text(encoding="utf-8") == expected
        scores = run("evaluate", train, tmp_path / "out.conllu")
        assert run("evaluate", parts, tmp_path / "out.conllu") == scores

    def test_a_test_set_among_the_training_files(self, files, train, test, tmp_path):
        """As in the folder of a treebank of Universal Dependencies."""
        process = start(
            *("train", files / "xx_small-ud-*.conllu", "-o", tmp_path / "m", "--model", "single"),
            env=telling(),
            stdout=subprocess.PIPE,
        )
        status, out, err = finish(process)
        assert status == 0
        assert b"from 110 sentences in 2 files" in out
        assert err.startswith(f"python -m sklearn_shag train: warning: {test} is among the 2 files")
        assert err.count("\n") == 1
        status, _, err = finish(
            start(
                "train", test, "-o", tmp_path / "m", "--model", "spectral", stdout=subprocess.PIPE
            )
        )
        assert (status, err) == (0, "")


class TestStandardStreams:
    def test_treebank_from_standard_input(self, run, feed, train, test, model, files, tmp_path):
        expected = run("parse", model, test)
        for source in (test, files / "packed.conllu.gz"):
            feed(source)
            assert run("parse", model, "-") == expected
            assert run("parse", model, test, "-o", "-") == expected
        feed(train)
        run("train", "-", "-o", tmp_path / "a", "--model", "spectral")
        run("train", train, "-o", tmp_path / "b", "--model", "spectral")
        for a, b in zip(load_model(tmp_path / "a"), load_model(tmp_path / "b"), strict=True):
            assert_same_model(a, b)
        scores = run("evaluate", test, files / "parsed.conllu")
        feed(files / "parsed.conllu")
        assert run("evaluate", test, "-") == scores
        feed(test)
        assert run("evaluate", "-", files / "parsed.conllu") == scores

    def test_all_in_one_pipe(self, train, test, run, tmp_path):
        """What `train` says goes to standard error where standard output is the model."""
        run("train", train, "-o", tmp_path / "model.npz", "--model", "spectral")
        expected = run("parse", tmp_path / "model.npz", test).encode()
        learner = start("train", train, "-o", "-", "--model", "spectral", stdout=subprocess.PIPE)
        parser = start("parse", "-", test, stdin=learner.stdout, stdout=subprocess.PIPE)
        learner.stdout.close()
        assert finish(parser) == (0, expected, "")
        said = learner.stderr.read().decode()
        assert learner.wait(timeout=60) == 0
        learner.stderr.close()
        assert re.fullmatch(r"Learned .* from 80 sentences; saved to -\n", said)

    def test_model_for_a_terminal(self, fail, train, monkeypatch):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        assert "terminal" in fail("train", train, "-o", "-")

    def test_bad_sentence_of_standard_input(self, fail, feed, model, tmp_path):
        (tmp_path / "bad").write_text("# c\nplain text\n")
        feed(tmp_path / "bad")
        assert "<stdin>:2: 10 columns" in fail("parse", model, "-")

    def test_read_once(self, fail):
        for command in (["parse", "-", "-"], ["evaluate", "-", "-"]):
            assert "only once" in fail(*command)
        assert "only once" in fail("train", "-", "-", "-o", "model.npz")


class TestOverwriting:
    """The output is never an input, by whatever name."""

    @pytest.mark.parametrize("alias", ["same", "relative", "symbolic link", "hard link", "folder"])
    @pytest.mark.parametrize("command", ["train", "parse", "model"])
    def test_refused(self, fail, monkeypatch, train, model, tmp_path, command, alias):
        treebank, saved = tmp_path / "t" / "treebank.conllu", tmp_path / "model.npz"
        treebank.parent.mkdir()
        treebank.write_bytes(Path(train).read_bytes())
        saved.write_bytes(Path(model).read_bytes())
        target = saved if command == "model" else treebank
        output, source = target, treebank
        if alias == "relative":
            monkeypatch.chdir(tmp_path)
            output = Path(".", *target.relative_to(tmp_path).parts)
        elif alias == "symbolic link":
            output = tmp_path / "link"
            output.symlink_to(target)
        elif alias == "hard link":
            output = tmp_path / "link"
            os.link(target, output)
        elif alias == "folder":
            source = treebank.parent
        for work in ("load_model", "iter_conllu"):  # before any work
            monkeypatch.setattr(_models, work, None)
        inputs = ["train", source] if command == "train" else ["parse", saved, source]
        err = fail(*inputs, "-o", output)
        assert f"The output {output} is the same file as the input {target}" in err
        assert "-o" in err
        assert treebank.read_bytes() == Path(train).read_bytes()
        assert saved.read_bytes() == Path(model).read_bytes()

    def test_another_file_is_written_over(self, run, train, model, tmp_path):
        for name in ("out", "m"):
            (tmp_path / name).write_bytes(b"old")
        run("parse", model, train, "-o", tmp_path / "out")
        run("train", train, "-o", tmp_path / "m", "--model", "spectral")
        assert len(read_conllu(tmp_path / "out")) == 80
        assert load_model(tmp_path / "m")

    @pytest.mark.parametrize("name", ["none/out", "."])
    def test_output_is_checked_before_any_work(self, fail, monkeypatch, train, tmp_path, name):
        monkeypatch.setattr(_models, "iter_conllu", None)
        err = fail("train", train, "-o", tmp_path / name)
        assert ("there is no folder" if name != "." else "it is a folder") in err


class TestWarnings:
    @pytest.mark.filterwarnings("always")
    def test_one_line_each_and_once(self, capsys, monkeypatch, train, tmp_path):
        def read(files):
            for index in (1, 2, 1, 1):
                warnings.warn(f"line {index}\n  goes on", UserWarning, stacklevel=index)
            return read_conllu(files)

        monkeypatch.setattr(_models, "iter_conllu", read)
        assert main(["train", train, "-o", str(tmp_path / "m"), "--model", "single"]) == 0
        assert capsys.readouterr().err == (
            "sklearn-shag train: warning: line 1 goes on\n"
            "sklearn-shag train: warning: line 2 goes on\n"
        )
        with pytest.warns(UserWarning, match="shown as usual"):
            warnings.warn("shown as usual", UserWarning, stacklevel=1)


def demo_table(out):
    """Of each model the printed UAS and share of exact matches."""
    return {
        name: (float(uas), float(exact))
        for name, uas, exact, _ in re.findall(
            r"^(DET|DET\+F|(?:SPECTRAL|EM), \d+ states) +(\d+\.\d)% +(\d+\.\d)%( +\d+\.\d\d s){2}$",
            out,
            flags=re.MULTILINE,
        )
    }


class TestDemo:
    def test_bundled_treebank(self):
        status, out, err = finish(start("demo", stdout=subprocess.PIPE))
        out = out.decode()
        assert status == 0
        assert all(line.startswith("Compiling") for line in err.splitlines())
        assert "290 sentences to learn from, 97 to parse" in out
        table = demo_table(out)
        assert list(table) == ["DET", "DET+F", "SPECTRAL, 8 states", "EM, 8 states"]
        assert all(60 < uas < 100 and 5 < exact < 100 for uas, exact in table.values())
        for explained in ("DET and DET+F", "UAS:", "exact:"):
            assert len(re.findall(rf"^{re.escape(explained)} .*\.$", out, flags=re.MULTILINE)) == 1
        # 80 columns, as where there is no terminal, are enough for both trees.
        assert re.search(r"^the true tree +parsed by SPECTRAL, 8 states$", out, flags=re.MULTILINE)
        assert re.search(r"^[|` ]*,-- \S.*,-- ", out, flags=re.MULTILINE)
        assert out.endswith("\n  python -m sklearn_shag train your-treebank.conllu -o model.npz\n")

    def test_treebank(self, run, files):
        out = run("demo", "--treebank", files)
        train = read_conllu(files / "xx_small-ud-train.conllu")
        test = read_conllu(files / "xx_small-ud-test.conllu")
        spectral = SpectralSHAG(8)
        models = {
            "DET": DeterministicSHAG("single"),
            "DET+F": DeterministicSHAG("first"),
            f"SPECTRAL, {spectral.n_states} states": spectral,
            f"EM, {spectral.n_states} states": EMSHAG(
                spectral.n_states,
                init="moments",
                max_iter=100,
                smoothing=spectral.smoothing,
            ),
        }
        expected = {}
        for name, model in models.items():
            heads = model.fit(train).predict(test)
            expected[name] = (
                round(100 * unlabeled_attachment_score(test, heads), 1),
                round(100 * exact_match_score(test, heads), 1),
            )
        assert demo_table(out) == expected
        assert "80 sentences to learn from, 30 to parse" in out
        assert out.endswith(f"\n  sklearn-shag train '{files}/*train*.conllu*' -o model.npz\n")

    @pytest.mark.parametrize("columns", [30, 200])
    def test_true_tree_and_parse(self, run, files, monkeypatch, columns):
        """Wrong words are marked; the trees stand beside each other where there is room."""
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(_demo, "N_STATES", 1)
        out = run("demo", "--treebank", files)
        test = read_conllu(files / "xx_small-ud-test.conllu")
        true = next(tree for tree in test if f"\n{' '.join(tree.forms)}\n" in out)
        model = SpectralSHAG(1, smoothing=5).fit(read_conllu(files / "xx_small-ud-train.conllu"))
        parsed = model.parse([true])[0]
        right = true.heads == parsed.heads
        assert not right.all(), "choose another treebank: this sentence is parsed without errors"
        left = ["the true tree", "", *str(true).split("\n")]
        drawn = ["parsed by SPECTRAL, 1 states", ""] + [
            row + ("" if is_right else " *")
            for row, is_right in zip(str(parsed).split("\n"), right, strict=True)
        ]
        if columns == 200:
            width = max(map(len, left)) + 6
            rows = [f"{a:<{width}}{b}".rstrip() for a, b in zip(left, drawn, strict=True)]
        else:
            rows = [*left, "", *drawn]
        assert "\n" + "\n".join(rows) + "\n" in out
        n = len(true)
        assert f"\n{right.sum()} of {n} words have the right head; * marks the others.\n" in out

    def test_folder_without_test_file(self, fail, files, tmp_path):
        (tmp_path / "x-ud-train.conllu").write_bytes(
            (files / "xx_small-ud-train.conllu").read_bytes()
        )
        for folder, split in (
            (tmp_path, "test"),
            (tmp_path / "none", "train"),
            (tmp_path / "x-ud-train.conllu", "train"),
        ):
            pattern = f"{folder}/*{split}*.conllu*"
            assert f"error: No file matches the pattern {pattern}." in fail(
                "demo", "--treebank", folder
            )


class TestHelp:
    @over("command", [None, *COMMANDS])
    def test_examples(self, capsys, command):
        with pytest.raises(SystemExit) as end:
            main([*filter(None, [command]), "--help"])
        assert end.value.code == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        examples = captured.out.split("\nexamples:\n")[1].rstrip("\n").splitlines()
        assert len(examples) >= 2
        for example in examples:
            words = shlex.split(example)
            assert words[0] == "sklearn-shag"
            assert words[1] in COMMANDS
            assert command in (None, words[1])

    @pytest.mark.parametrize("command", [None, *COMMANDS])
    def test_every_example_runs(self, capsys, monkeypatch, files, feed, tmp_path, command):
        with pytest.raises(SystemExit):
            main([*filter(None, [command]), "--help"])
        examples = capsys.readouterr().out.split("\nexamples:\n")[1].rstrip("\n").splitlines()
        monkeypatch.chdir(tmp_path)
        make_networks_small(monkeypatch)
        folder = tmp_path / "UD_English-EWT"
        folder.mkdir()
        for name, source in {
            "train.conllu": "xx_small-ud-train.conllu",
            "test.conllu": "xx_small-ud-test.conllu",
            "test.conllu.gz": "packed.conllu.gz",
            "more.conllu": "xx_small-ud-test.conllu",
            "model.npz": "model.npz",
            "linear.npz": "linear.npz",
            "tagging.npz": "tagging.npz",
            "tokens.txt": "tokens.txt",
            "text.txt": "tokens.txt",
            "parsed.conllu": "parsed.conllu",
            "partial.conllu": "partial.conllu",
            "UD_English-EWT/en_ewt-ud-train.conllu": "xx_small-ud-train.conllu",
            "UD_English-EWT/en_ewt-ud-test.conllu": "xx_small-ud-test.conllu",
        }.items():
            (tmp_path / name).write_bytes((files / source).read_bytes())
        for example in examples:
            words = shlex.split(example.split(" > ")[0])[1:]
            if "<" in words:
                feed(words.pop())
                words.pop()
            if words != ["demo"]:  # run elsewhere
                assert main(words) == 0, example
                assert capsys.readouterr().err == ""

    @over("command", [None, *COMMANDS])
    def test_every_option_has_a_line_and_a_default(self, command):
        parser = _main.make_parser()
        if command is not None:
            parser = parser._subparsers._group_actions[0].choices[command]
        for action in parser._actions:
            if action.dest == "command":
                continue
            assert action.help, action
            if action.option_strings and action.dest not in ("help", "version"):
                assert "(default: " in action.help or action.required, action
                if "%(default)s" in action.help:
                    assert action.default is not None

    def test_commands_are_listed(self, capsys):
        with pytest.raises(SystemExit):
            main(["--help"])
        out = capsys.readouterr().out
        for command in COMMANDS:
            assert re.search(rf"^    {command} +\w", out, flags=re.MULTILINE)

    def test_version(self, capsys):
        with pytest.raises(SystemExit) as end:
            main(["--version"])
        assert end.value.code == 0
        assert capsys.readouterr().out == f"sklearn_shag {sklearn_shag.__version__}\n"

    @over(
        "arguments",
        [
            [],
            ["translate"],
            ["train", "a.conllu"],
            ["parse", "model.npz"],
            ["evaluate", "a.conllu"],
            ["train", "a.conllu", "-o", "b", "--model", "neural"],
            ["train", "a.conllu", "-o", "b", "--set", "n_states"],
            ["parse", "model.npz", "a.conllu", "--decoder", "greedy"],
        ],
    )
    def test_wrong_usage(self, capsys, arguments):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("usage: sklearn-shag ")
        assert "Traceback" not in captured.err


class TestErrors:
    @over(
        "arguments",
        [
            ["train", "{none}", "-o", "{out}"],
            ["parse", "{model}", "{none}", "-o", "{out}"],
            ["parse", "{none}", "{test}", "-o", "{out}"],
            ["evaluate", "{none}", "{test}"],
            ["evaluate", "{test}", "{none}"],
            ["demo", "--treebank", "{none}"],
        ],
    )
    def test_missing_file(self, fail, model, test, tmp_path, arguments):
        none = tmp_path / "none.conllu"
        places = {"none": none, "model": model, "test": test, "out": tmp_path / "out"}
        assert str(none) in fail(*(argument.format(**places) for argument in arguments))
        assert list(tmp_path.iterdir()) == []

    @over(
        "arguments",
        [
            ["train", "{bad}", "-o", "{out}"],
            ["parse", "{model}", "{bad}", "-o", "{out}"],
            ["parse", "{model}", "{bad}"],
            ["evaluate", "{bad}", "{test}"],
            ["evaluate", "{test}", "{bad}"],
            ["demo", "--treebank", "{folder}"],
        ],
    )
    @over(
        ("line", "damage"),
        [
            (7, lambda columns: columns[:9]),
            (5, lambda columns: [*columns[:6], "99", *columns[7:]]),
            (4, lambda columns: ["9", *columns[1:]]),
            (3, lambda columns: [*columns[:1], "", *columns[2:]]),
        ],
    )
    def test_malformed_conllu(self, fail, model, test, tmp_path, arguments, line, damage):
        lines = Path(test).read_text(encoding="utf-8").split("\n")
        lines[line - 1] = "\t".join(damage(lines[line - 1].split("\t")))
        bad = tmp_path / "bad-train.conllu"
        bad.write_text("\n".join(lines), encoding="utf-8")
        places = {
            "bad": bad,
            "model": model,
            "test": test,
            "out": tmp_path / "out",
            "folder": tmp_path,
        }
        err = fail(*(argument.format(**places) for argument in arguments))
        assert f"{bad}:{line}: " in err
        assert [path.name for path in tmp_path.iterdir()] == ["bad-train.conllu"]

    def test_not_utf_8(self, fail, test, tmp_path):
        bad = tmp_path / "bad.conllu"
        bad.write_bytes(Path(test).read_bytes().replace(b"The", b"T\xe9", 1))
        assert re.search(rf"{re.escape(str(bad))}:\d+: ", fail("evaluate", bad, test))

    def test_broken_gzip(self, fail, model, files, tmp_path):
        bad = tmp_path / "bad.conllu.gz"
        bad.write_bytes((files / "packed.conllu.gz").read_bytes()[:-20])
        assert f"{bad}:" in fail("parse", model, bad)

    @pytest.mark.parametrize("empty", ["", "\n\n\n"], ids=ascii)
    def test_empty_file(self, fail, feed, test, tmp_path, empty):
        bad = tmp_path / "empty.conllu"
        bad.write_text(empty)
        assert f"no sentences in {bad}." in fail("train", bad, "-o", tmp_path / "out")
        feed(bad)
        assert "no sentences in standard input." in fail("train", "-", "-o", tmp_path / "out")
        assert f"{bad} holds no sentences" in fail("evaluate", test, bad)
        assert f"{bad} holds no sentences" in fail("evaluate", bad, test)
        assert [path.name for path in tmp_path.iterdir()] == ["empty.conllu"]

    def test_no_heads(self, fail, test, tmp_path):
        bad = tmp_path / "bad.conllu"
        write_conllu([tree.with_heads(None) for tree in read_conllu(test)], bad)
        good = tmp_path / "good.conllu"
        write_conllu(read_conllu(test), good)
        err = fail("train", good, bad, "-o", tmp_path / "out", *MODEL)
        assert f"error: {bad}: 30 of 30 sentences have no heads" in err
        assert "without heads" in fail("evaluate", bad, test)
        assert "without heads" in fail("evaluate", test, bad)
        assert {path.name for path in tmp_path.iterdir()} == {"bad.conllu", "good.conllu"}

    def test_some_heads(self, fail, train, test, tmp_path):
        trees = read_conllu(test)
        partial = [trees[0].with_heads([-1, *trees[0].heads[1:]]), *trees[1:]]
        write_conllu(partial, tmp_path / "partial.conllu")
        err = fail("train", train, tmp_path / "partial.conllu", "-o", tmp_path / "out", *MODEL)
        assert f"{tmp_path / 'partial.conllu'}: 1 of 30 sentences have words without heads" in err
        assert "parse --keep-heads" in err
        err = fail("evaluate", test, tmp_path / "partial.conllu")
        assert f"sentence 1 of {tmp_path / 'partial.conllu'} (sent_id " in err
        assert "has words without heads; only whole trees can be scored" in err

    @pytest.mark.parametrize("content", ["text", "empty", "truncated", "flipped", "npz", "folder"])
    def test_wrong_model_file(self, fail, model, test, tmp_path, content):
        bad, data = tmp_path / "bad.npz", bytearray(Path(model).read_bytes())
        if content == "text":
            bad.write_bytes(Path(test).read_bytes())
        elif content == "empty":
            bad.touch()
        elif content == "truncated":
            bad.write_bytes(data[: len(data) // 2])
        elif content == "flipped":
            for position in range(200, 260):
                data[position] ^= 0xFF
            bad.write_bytes(data)
        elif content == "npz":
            np.savez(bad, x=np.arange(3))
        else:
            bad.mkdir()
        assert str(bad) in fail("parse", bad, test, "-o", tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["bad.npz"]

    def test_model_file_that_cannot_parse(self, fail, test, tmp_path):
        feature = TokenFeature().fit(read_conllu(test))
        for model in (feature, Pipeline([("feature", feature)])):
            save_model(model, tmp_path / "feature.npz")
            err = fail("parse", tmp_path / "feature.npz", test)
            assert re.search(r"feature\.npz holds a \w+, which cannot parse; give a model of", err)

    @pytest.mark.parametrize("change", ["missing", "more", "order", "form"])
    def test_different_sentences(self, fail, test, tmp_path, monkeypatch, change):
        monkeypatch.chdir(tmp_path)  # paths that are long would be cut from the message
        trees = read_conllu(test)
        if change == "missing":
            trees = trees[:-1]
        elif change == "more":
            trees = [*trees, trees[0]]
        elif change == "order":
            trees = [trees[1], trees[0], *trees[2:]]
        else:
            first = trees[0]
            trees[0] = DependencyTree(["Other", *first.forms[1:]], first.heads)
        other = "other.conllu"
        write_conllu(trees, other)
        for pair in ((test, other), (other, test)):
            err = fail("evaluate", *pair)
            assert "do not hold the same sentences" in err
            assert all(str(path) in err for path in pair)
            assert f"{test} and " in err or f" and {test} " in err
        number = {"missing": 30, "more": 31}.get(change, 1)
        assert f"sentence {number} of" in err
        name = re.search(r"sent_id = (\S+)", Path(test).read_text(encoding="utf-8"))[1]
        if change in ("order", "form"):
            assert f"sentence 1 of {test} (sent_id {name})" in err
            assert f"sentence 1 of {other}" in err
        if change == "form":
            word = read_conllu(test)[0].forms[0]
            assert "word 1 is 'Other' in sentence 1 of " in err
            assert f"and {word!r} in sentence 1 of " in err

    def test_viterbi_with_hidden_states(self, fail, model, test, tmp_path):
        err = fail("parse", model, test, "--decoder", "viterbi", "-o", tmp_path / "out")
        assert "viterbi" in err
        assert "decoder='mbr'" in err
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["none/out", "."])
    def test_output_that_cannot_be_written(self, fail, model, train, test, tmp_path, name):
        out = tmp_path / name
        assert str(out) in fail("parse", model, test, "-o", out)
        assert str(out) in fail("train", train, "-o", out)
        assert list(tmp_path.iterdir()) == []

    def test_output_in_a_file(self, fail, model, train, test):
        message = f"{train}/out cannot be written: there is no folder {train}; make it first"
        assert message in fail("parse", model, test, "-o", f"{train}/out")
        assert message in fail("train", train, "-o", f"{train}/out")

    @over(
        ("options", "message"),
        [
            (["--symbols", "tag"], "unknown column 'tag'"),
            (["--symbols", ""], "unknown column ''"),
            (["--symbols", "upos,"], "unknown column ''"),
            (["--set", "n_states=0"], "n_states"),
            (["--set", "smoothing=-1"], "smoothing"),
            (["--set", "smoothing=nan"], "smoothing"),
            (["--set", "decoder=[1]"], "decoder"),
            (["--min-count", "0"], "min_count"),
            (["--n-jobs", "0"], "n_jobs"),
            (["--set", "states=3"], "Invalid parameter 'states' for estimator SpectralSHAG"),
            (["--columns", "upos"], "Invalid parameter 'columns' for estimator SpectralSHAG"),
            (["--model", "crf", "--columns", "tag"], "columns: 'tag' is not a column"),
            (["--model", "crf", "--columns", ""], "columns: '' is not a column"),
            (
                ["--model", "crf", "--symbols", "upos"],
                "--symbols upos is for models that read tags as symbols",
            ),
            (["--model", "crf", "--set", "n_states=8"], "Invalid parameter 'n_states' for"),
            (["--model", "words", "--set", "smoothing=4"], "Invalid parameter 'smoothing' for"),
            (["--model", "crf", "--min-count", "0"], "min_count"),
            (["--model", "biaffine", "--tags", "upos", "--columns", "xpos"], "words alone"),
            (["--tags", "upos,upos"], "--tags upos,upos must name columns, none twice: upos, xpos"),
            (["--tags", "deprel"], "--tags deprel must name columns, none twice: upos, xpos"),
            (
                ["--tags", "upos", "--symbols", "xpos"],
                "--symbols xpos is for models that read tags as symbols; leave it out with --tags",
            ),
            (["--tags", "upos", "--columns", "form"], "Invalid parameter 'columns' for"),
        ],
    )
    def test_bad_values(self, fail, train, tmp_path, options, message):
        out = tmp_path / "model.npz"
        out.write_bytes(b"old")
        options = options if "--model" in options else [*MODEL, *options]
        assert message in fail("train", train, "-o", out, *options)
        assert out.read_bytes() == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]

    def test_interruption(self, capsys, monkeypatch, train):
        def interrupt(files):
            raise KeyboardInterrupt

        monkeypatch.setattr(_models, "iter_conllu", interrupt)
        assert main(["train", train, "-o", "m", "--model", "spectral"]) == 130
        assert capsys.readouterr().err == "sklearn-shag train: interrupted\n"

    def test_out_of_memory(self, fail, monkeypatch, train):
        def fill(files):
            return np.empty(2**62, dtype=np.int8)

        monkeypatch.setattr(_models, "iter_conllu", fill)
        err = fail("train", train, "-o", "m")
        assert "error: out of memory. Unable to allocate 4.00 EiB" in err

    @over("name", ["a\nb", "\x1b[2J\x07", "\u202e", "\udc80", "x" * 10_000, "\0"])
    @over(
        "arguments",
        [
            ["train", "{}", "-o", "m"],
            ["train", "{train}", "-o", "{}/m"],
            ["train", "{train}", "-o", "m", "--symbols", "{}"],
            ["parse", "{}", "{train}"],
            ["parse", "{model}", "{}"],
            ["evaluate", "{}", "{train}"],
            ["demo", "--treebank", "{}"],
        ],
    )
    def test_what_names_hold(self, fail, monkeypatch, tmp_path, model, train, name, arguments):
        monkeypatch.chdir(tmp_path)
        err = fail(*(each.format(name, model=model, train=train) for each in arguments))
        assert err[:-1].isprintable()
        assert len(err) < 600

    def test_what_arguments_hold(self, capsys):
        for arguments in (
            ["\x1b[2J"],
            ["train", "a", "-o", "b", "\x1b[2J\n"],
            ["parse", "\x07" * 999],
        ):
            with pytest.raises(SystemExit) as end:
                main(arguments)
            assert end.value.code == 2
            lines = capsys.readouterr().err.splitlines()
            assert all(line.isprintable() and len(line) < 600 for line in lines)

    def test_what_files_hold(self, run, model, tmp_path):
        form, path = "a\x1b[2J\u202e", tmp_path / "t.conllu"
        tree = DependencyTree([form, "b"], [2, 0], upos=[form, "VERB"])
        write_conllu([tree], path)
        tagged = DependencyTree([form, "b"], [-1, 0], upos=["NOUN", "VERB"])
        write_conllu([tagged], tmp_path / "partial.conllu")
        (tmp_path / "same").mkdir()
        write_conllu([tree], tmp_path / "same" / "t.conllu")
        outputs = [
            run("evaluate", path, tmp_path / "same", "--by", "modifier"),
            run("suggest", model, tmp_path / "partial.conllu"),
            run("suggest", model, tmp_path / "partial.conllu", "--by", "sentences"),
        ]
        for out in outputs:
            assert r"a\x1b[2J\u202e" in out
            assert all(line.isprintable() for line in re.split("[\n\t]", out))

    def test_column_that_the_file_lacks_everywhere(self, fail, tmp_path):
        write_conllu([DependencyTree(["a", "b"], [2, 0])], tmp_path / "bare.conllu")
        err = fail("train", tmp_path / "bare.conllu", "-o", tmp_path / "m", "--model", "spectral")
        assert "All symbols of X (2 tokens) are '_'" in err
        assert "Tag the text first, or choose a column" in err
        assert not (tmp_path / "m").exists()

    def test_the_collector_of_garbage_rests(self, run, fail, monkeypatch, model, test, tmp_path):
        before, during = gc.get_threshold(), []

        def read(*args, **kwargs):
            during.append(gc.get_threshold())
            return iter_pieces(*args, **kwargs)

        monkeypatch.setattr(_reading, "iter_pieces", read)
        run("parse", model, test)
        assert during[0] > before
        fail("parse", model, tmp_path / "none.conllu")
        assert gc.get_threshold() == before

    def test_nothing_is_searched_for_garbage_at_the_end(self):
        program = """
import atexit, gc
from sklearn_shag.cli._main import main
atexit.register(lambda: print(gc.get_freeze_count() > 10_000))
main(["parse", "none", "none"])
"""
        process = subprocess.run(
            [sys.executable, "-c", program], env=environment(), capture_output=True, text=True
        )
        assert process.stdout == "True\n"

    def test_status_of_the_process(self, model, tmp_path):
        """The same through the interpreter: status 1, one line, no output."""
        process = start("parse", model, tmp_path / "none.conllu", stdout=subprocess.PIPE)
        status, out, err = finish(process)
        assert (status, out) == (1, b"")
        assert_one_line(err, "parse")


class TestProgress:
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    @pytest.mark.parametrize("delay", [0.0, 1e9])
    @pytest.mark.parametrize("kind", [io.StringIO, Terminal])
    def test_on_a_terminal_for_what_takes_long(
        self, monkeypatch, train, test, tmp_path, kind, delay
    ):
        monkeypatch.setattr(_progress, "DELAY", delay)
        monkeypatch.setattr(sys, "stderr", kind())
        model, out = str(tmp_path / "model.npz"), str(tmp_path / "out.conllu")
        assert main(["train", train, "-o", model, "--model", "em", "--set", "n_states=2"]) == 0
        assert main(["parse", model, test, "-o", out]) == 0
        bars = re.findall(r"(\w+): 100%.*?([\d.]+k?)/\2", sys.stderr.getvalue())
        bars = [bar for bar, _ in groupby(bars)]  # on a slow machine the last line comes twice
        shown = kind is self.Terminal and delay == 0.0
        n_automata = 2 * (load_model(model)[-1].symbols_.size + 1)
        size = f"{Path(test).stat().st_size / 1000:.1f}k"
        expected = [("Reading", "1"), ("EM", str(n_automata)), ("Parsing", size)]
        assert bars == (expected if shown else [])
        assert shown or sys.stderr.getvalue() == ""
        assert load_model(model)[-1].verbose == 0

    def test_taggers_show_their_folds(self, monkeypatch, train, tmp_path):
        """In the pipeline both show what they do, and neither file says so."""
        small = partial(Tagger, hidden_layer_sizes=[4], max_iter=1, cv=2)
        monkeypatch.setattr(_models, "Tagger", small)
        monkeypatch.setattr(_progress, "DELAY", 0.0)
        monkeypatch.setattr(sys, "stderr", self.Terminal())
        model = str(tmp_path / "model.npz")
        assert main(["train", train, "-o", model, "--tags", "upos", "--model", "single"]) == 0
        bars = re.findall(r"(\S+): 100%.*?(\d+)/\2", sys.stderr.getvalue())
        bars = [bar for bar, _ in groupby(bars)]
        assert bars == [("Reading", "1"), ("Cross-fitting", "2"), ("Training", "1")]
        loaded = load_model(model)
        assert loaded[0].verbose == loaded[1].verbose == 0
        assert not loaded.verbose
        assert main(["train", train, "-o", model, "--model", "crf"]) == 0
        assert "Training: 100%" in sys.stderr.getvalue().rpartition("Reading")[2]
        assert load_model(model).verbose == 0


class TestStandardOutput:
    def test_closed_pipes(self, test, files):
        """The reader has left before the few lines are written: no complaint."""
        reader, writer = os.pipe()
        os.close(reader)
        try:
            processes = [
                start(*arguments, stdout=writer)
                for arguments in (
                    ["evaluate", test, files / "parsed.conllu"],
                    ["--help"],
                )
            ]
        finally:
            os.close(writer)
        complaints = [finish(process)[2] for process in processes]
        assert complaints == [""] * len(processes)

    def test_reader_that_stops(self, model, train, tmp_path):
        """As head does, of output that neither a pipe nor a buffer holds."""
        long = tmp_path / "long.conllu"
        write_conllu(read_conllu(train) * 5, long)
        with contextlib.ExitStack() as stack:
            process = stack.enter_context(start("parse", model, long, stdout=subprocess.PIPE))
            assert process.stdout.read(9) == b"# sent_id"
            process.stdout.close()
            assert process.stderr.read() == b""

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    @pytest.mark.parametrize("command", ["evaluate", "parse"])
    def test_full_disk(self, test, files, model, command):
        arguments = [model, test] if command == "parse" else [test, files / "parsed.conllu"]
        with open("/dev/full", "wb") as full:
            process = start(command, *arguments, stdout=full)
        status, _, err = finish(process)
        assert status == 1
        assert_one_line(err, command)
        assert "No space left on device" in err
