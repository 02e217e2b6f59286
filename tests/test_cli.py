"""The command line: it agrees with the library, and its errors are one line."""

import contextlib
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline

import sklearn_shag
from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG, load_model, save_model
from sklearn_shag._cli import main
from sklearn_shag.metrics import exact_match_score, is_punctuation, unlabeled_attachment_score
from sklearn_shag.treebank import DependencyTree, TokenFeature, read_conllu, write_conllu

COMMANDS = ["demo", "train", "parse", "evaluate"]


@pytest.fixture(scope="module")
def files(tmp_path_factory, english):
    """A folder of treebank files and models, which no test changes."""
    folder = tmp_path_factory.mktemp("files")
    write_conllu(english[:80], folder / "xx_small-ud-train.conllu")
    write_conllu(english[80:110], folder / "xx_small-ud-test.conllu")
    write_conllu(english[80:110], folder / "packed.conllu.gz")
    model = make_pipeline(TokenFeature("upos"), SpectralSHAG(3)).fit(english[:80])
    save_model(model, folder / "model.npz")
    write_conllu(model[-1].parse(english[80:110]), folder / "parsed.conllu")
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


def assert_one_line(err, command):
    assert err.count("\n") == 1, err
    assert err.endswith("\n")
    assert err.startswith(f"sklearn_shag {command}: error: ")
    assert len(err) > len(f"sklearn_shag {command}: error: \n") + 10
    assert "Traceback" not in err


def environment(**variables):
    """Of a child process: the package of these tests, and a buffered standard output."""
    folder = str(Path(sklearn_shag.__file__).parents[1])
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": path, **variables}


def start(*arguments, env=None, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "sklearn_shag", *map(str, arguments)],
        stderr=subprocess.PIPE,
        env=env or environment(),
        **options,
    )


def finish(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err.decode()


def assert_same_model(a, b):
    assert type(a) is type(b)
    assert a.get_params() == b.get_params()
    if isinstance(a, TokenFeature):
        np.testing.assert_array_equal(a.symbols_, b.symbols_)
        return
    assert a.symbols_.tolist() == b.symbols_.tolist()
    for x, y in zip(a.operators_, b.operators_, strict=True):
        np.testing.assert_array_equal(x, y)


def printed_scores(out):
    """The scores that `evaluate` prints."""
    return {
        name: float(value)
        for name, value in re.findall(r"^(UAS|exact match) +(\d+\.\d\d)$", out, flags=re.MULTILINE)
    }


class TestTrain:
    @pytest.mark.parametrize(
        ("options", "pipeline"),
        [
            ([], make_pipeline(TokenFeature("upos"), SpectralSHAG())),
            (
                ["--n-states", "2", "--smoothing", "1.5", "--n-jobs", "2"],
                make_pipeline(TokenFeature("upos"), SpectralSHAG(2, smoothing=1.5, n_jobs=2)),
            ),
            (
                ["--symbols", "upos,xpos"],
                make_pipeline(TokenFeature("upos", ["xpos"]), SpectralSHAG()),
            ),
            (
                [
                    *("--symbols", "upos,xpos,feats.Number", "--min-count", "5"),
                    *("--model", "first", "--smoothing", "0.5"),
                ],
                make_pipeline(
                    TokenFeature("upos", ["xpos", "feats.Number"], min_count=5),
                    DeterministicSHAG("first", smoothing=0.5),
                ),
            ),
            (
                ["--model", "single", "--smoothing", "0"],
                make_pipeline(TokenFeature("upos"), DeterministicSHAG("single", smoothing=0.0)),
            ),
            (
                ["--model", "sibling", "--smoothing", "3"],
                make_pipeline(TokenFeature("upos"), DeterministicSHAG("sibling", smoothing=3.0)),
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

    def test_compressed(self, run, train, tmp_path):
        packed = tmp_path / "train.conllu.gz"
        packed.write_bytes(gzip.compress(Path(train).read_bytes()))
        run("train", packed, "-o", tmp_path / "a")
        run("train", train, "-o", tmp_path / "b")
        for a, b in zip(load_model(tmp_path / "a"), load_model(tmp_path / "b"), strict=True):
            assert_same_model(a, b)

    @pytest.mark.parametrize(
        ("name", "learner"),
        [
            ("spectral", SpectralSHAG()),
            ("single", DeterministicSHAG("single")),
            ("first", DeterministicSHAG("first")),
            ("sibling", DeterministicSHAG("sibling")),
            ("em", EMSHAG(init="moments", max_iter=100)),
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

    @pytest.mark.parametrize("decoder", ["mbr", "max_marginal", "viterbi"])
    def test_decoder(self, run, train, test, tmp_path, decoder):
        run(
            *("train", train, "-o", tmp_path / "model.npz"),
            *("--model", "single", "--smoothing", "2"),
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


class TestEvaluate:
    def test_prints_the_metrics(self, run, test, files):
        gold, system = read_conllu(test), read_conllu(files / "parsed.conllu")
        out = run("evaluate", test, files / "parsed.conllu")
        assert printed_scores(out) == {
            "UAS": round(100 * unlabeled_attachment_score(gold, system), 2),
            "exact match": round(100 * exact_match_score(gold, system), 2),
        }
        assert f"30 sentences, {sum(map(len, gold))} tokens" in out
        assert 30 < printed_scores(out)["UAS"] < 99

    def test_ignore_punctuation(self, run, test, files):
        gold, system = read_conllu(test), read_conllu(files / "parsed.conllu")
        out = run("evaluate", test, files / "parsed.conllu", "--ignore-punctuation")
        uas = unlabeled_attachment_score(gold, system, ignore=is_punctuation)
        assert uas != unlabeled_attachment_score(gold, system)
        assert printed_scores(out) == {
            "UAS": round(100 * uas, 2),
            "exact match": round(100 * exact_match_score(gold, system, ignore=is_punctuation), 2),
        }

    def test_perfect(self, run, test, files):
        out = run("evaluate", test, files / "packed.conllu.gz")
        assert printed_scores(out) == {"UAS": 100.0, "exact match": 100.0}

    def test_train_parse_evaluate(self, run, train, test, tmp_path):
        run("train", train, "-o", tmp_path / "m", "--symbols", "upos,xpos", "--n-states", "4")
        run("parse", tmp_path / "m", test, "-o", tmp_path / "out.conllu")
        out = run("evaluate", test, tmp_path / "out.conllu")
        pipeline = make_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(4))
        score = pipeline.fit(read_conllu(train)).score(read_conllu(test))
        assert printed_scores(out)["UAS"] == round(100 * score, 2)


def demo_table(out):
    """Of each model the printed UAS and share of exact matches."""
    return {
        name: (float(uas), float(exact))
        for name, uas, exact, _ in re.findall(
            r"^(DET|DET\+F|SPECTRAL, \d+ states) +(\d+\.\d)% +(\d+\.\d)%( +\d+\.\d\d s){2}$",
            out,
            flags=re.MULTILINE,
        )
    }


class TestDemo:
    def test_bundled_treebank(self):
        status, out, err = finish(start("demo", stdout=subprocess.PIPE))
        out = out.decode()
        assert (status, err) == (0, "")
        assert "290 sentences to learn from, 97 to parse" in out
        table = demo_table(out)
        assert list(table) == ["DET", "DET+F", "SPECTRAL, 8 states"]
        assert all(60 < uas < 100 and 5 < exact < 100 for uas, exact in table.values())
        assert re.search(r"^parsed by SPECTRAL, 8 states:$", out, flags=re.MULTILINE)
        assert re.search(r"^[|` ]*,-- ", out, flags=re.MULTILINE)

    @pytest.mark.parametrize("options", [[], ["--n-states", "2", "--smoothing", "4"]], ids=str)
    def test_treebank(self, run, files, options):
        out = run("demo", "--treebank", files, *options)
        train = read_conllu(files / "xx_small-ud-train.conllu")
        test = read_conllu(files / "xx_small-ud-test.conllu")
        spectral = SpectralSHAG(2, smoothing=4.0) if options else SpectralSHAG(8)
        models = {
            "DET": DeterministicSHAG("single"),
            "DET+F": DeterministicSHAG("first"),
            f"SPECTRAL, {spectral.n_states} states": spectral,
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
        assert any(
            f"\n{' '.join(tree.forms)}\n" in out and out.endswith(f":\n\n{drawn}\n")
            for tree, drawn in zip(test, spectral.parse(test), strict=True)
        )

    def test_folder_without_test_file(self, fail, files, tmp_path):
        (tmp_path / "x-ud-train.conllu").write_bytes(
            (files / "xx_small-ud-train.conllu").read_bytes()
        )
        assert f"No file *test*.conllu in the folder {tmp_path}" in fail(
            "demo", "--treebank", tmp_path
        )


class TestHelp:
    @pytest.mark.parametrize("command", [None, *COMMANDS])
    def test_examples(self, capsys, command):
        with pytest.raises(SystemExit) as end:
            main([*filter(None, [command]), "--help"])
        assert end.value.code == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        examples = captured.out.split("\nexamples:\n")[1].rstrip("\n").splitlines()
        assert len(examples) >= 2
        for example in examples:
            words = example.split()
            assert words[0] == "sklearn-shag"
            assert words[1] in COMMANDS
            assert command in (None, words[1])

    @pytest.mark.parametrize("command", [None, *COMMANDS])
    def test_every_example_runs(self, capsys, monkeypatch, files, tmp_path, command):
        with pytest.raises(SystemExit):
            main([*filter(None, [command]), "--help"])
        examples = capsys.readouterr().out.split("\nexamples:\n")[1].rstrip("\n").splitlines()
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "UD_English-EWT"
        folder.mkdir()
        for name, source in {
            "train.conllu": "xx_small-ud-train.conllu",
            "test.conllu": "xx_small-ud-test.conllu",
            "test.conllu.gz": "packed.conllu.gz",
            "model.npz": "model.npz",
            "parsed.conllu": "parsed.conllu",
            "UD_English-EWT/en_ewt-ud-train.conllu": "xx_small-ud-train.conllu",
            "UD_English-EWT/en_ewt-ud-test.conllu": "xx_small-ud-test.conllu",
        }.items():
            (tmp_path / name).write_bytes((files / source).read_bytes())
        for example in examples:
            words = example.split(" > ")[0].split()[1:]
            if words != ["demo"]:  # run elsewhere
                assert main(words) == 0, example
                assert capsys.readouterr().err == ""

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

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["translate"],
            ["train", "a.conllu"],
            ["parse", "model.npz"],
            ["evaluate", "a.conllu"],
            ["train", "a.conllu", "-o", "b", "--model", "neural"],
            ["train", "a.conllu", "-o", "b", "--n-states", "many"],
            ["parse", "model.npz", "a.conllu", "--decoder", "greedy"],
        ],
        ids=str,
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
    @pytest.mark.parametrize(
        "arguments",
        [
            ["train", "{none}", "-o", "{out}"],
            ["parse", "{model}", "{none}", "-o", "{out}"],
            ["parse", "{none}", "{test}", "-o", "{out}"],
            ["evaluate", "{none}", "{test}"],
            ["evaluate", "{test}", "{none}"],
            ["demo", "--treebank", "{none}"],
        ],
        ids=" ".join,
    )
    def test_missing_file(self, fail, model, test, tmp_path, arguments):
        none = tmp_path / "none.conllu"
        places = {"none": none, "model": model, "test": test, "out": tmp_path / "out"}
        assert str(none) in fail(*(argument.format(**places) for argument in arguments))
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "arguments",
        [
            ["train", "{bad}", "-o", "{out}"],
            ["parse", "{model}", "{bad}", "-o", "{out}"],
            ["parse", "{model}", "{bad}"],
            ["evaluate", "{bad}", "{test}"],
            ["evaluate", "{test}", "{bad}"],
            ["demo", "--treebank", "{folder}"],
        ],
        ids=" ".join,
    )
    @pytest.mark.parametrize(
        ("line", "damage"),
        [
            (7, lambda columns: columns[:9]),
            (5, lambda columns: [*columns[:6], "99", *columns[7:]]),
            (4, lambda columns: ["9", *columns[1:]]),
            (3, lambda columns: [*columns[:1], "", *columns[2:]]),
        ],
        ids=["columns", "head", "ID", "form"],
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
    def test_empty_file(self, fail, test, tmp_path, empty):
        bad = tmp_path / "empty.conllu"
        bad.write_text(empty)
        fail("train", bad, "-o", tmp_path / "out")
        fail("evaluate", bad, bad)
        fail("evaluate", test, bad)
        assert [path.name for path in tmp_path.iterdir()] == ["empty.conllu"]

    def test_no_heads(self, fail, test, tmp_path):
        bad = tmp_path / "bad.conllu"
        write_conllu([tree.with_heads(None) for tree in read_conllu(test)], bad)
        assert "no heads" in fail("train", bad, "-o", tmp_path / "out")
        assert "without heads" in fail("evaluate", bad, test)
        assert "without heads" in fail("evaluate", test, bad)
        assert [path.name for path in tmp_path.iterdir()] == ["bad.conllu"]

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
            assert "feature.npz" in fail("parse", tmp_path / "feature.npz", test)

    @pytest.mark.parametrize("change", ["missing", "more", "order", "form"])
    def test_different_sentences(self, fail, test, tmp_path, change):
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
        other = tmp_path / "other.conllu"
        write_conllu(trees, other)
        for pair in ((test, other), (other, test)):
            err = fail("evaluate", *pair)
            assert "do not hold the same sentences" in err
            assert all(str(path) in err for path in pair)

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

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--symbols", "tag"], "unknown column 'tag'"),
            (["--symbols", ""], "unknown column ''"),
            (["--symbols", "upos,"], "unknown column ''"),
            (["--n-states", "0"], "n_states"),
            (["--smoothing", "-1"], "smoothing"),
            (["--smoothing", "nan"], "smoothing"),
            (["--min-count", "0"], "min_count"),
            (["--n-jobs", "0"], "n_jobs"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_bad_values(self, fail, train, tmp_path, options, message):
        out = tmp_path / "model.npz"
        out.write_bytes(b"old")
        assert message in fail("train", train, "-o", out, *options)
        assert out.read_bytes() == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]

    def test_column_that_the_file_lacks_everywhere(self, fail, tmp_path):
        """A model of "_" only is better than none; but a missing column of a tree is an error."""
        write_conllu([DependencyTree(["a", "b"], [2, 0])], tmp_path / "bare.conllu")
        assert main(["train", str(tmp_path / "bare.conllu"), "-o", str(tmp_path / "m")]) == 0
        assert load_model(tmp_path / "m")[0].symbols_.tolist() == ["_"]

    def test_status_of_the_process(self, model, tmp_path):
        """The same through the interpreter: status 1, one line, no output."""
        process = start("parse", model, tmp_path / "none.conllu", stdout=subprocess.PIPE)
        status, out, err = finish(process)
        assert (status, out) == (1, b"")
        assert_one_line(err, "parse")


class TestStandardOutput:
    def test_closed_pipes(self, test):
        """The reader has left before the few lines are written: no complaint."""
        reader, writer = os.pipe()
        os.close(reader)
        try:
            processes = [
                start(*arguments, stdout=writer)
                for arguments in (
                    ["evaluate", test, test],
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
    def test_full_disk(self, test):
        with open("/dev/full", "wb") as full:
            process = start("evaluate", test, test, stdout=full)
        status, _, err = finish(process)
        assert status == 1
        assert_one_line(err, "evaluate")
