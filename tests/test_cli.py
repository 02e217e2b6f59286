"""The command line: it agrees with the library, and its errors are one line."""

import gc
import hashlib
import io
import json
import locale
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import warnings
import webbrowser
from itertools import chain, groupby
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

import sklearn_shag
from sklearn_shag import (
    EMSHAG,
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    DistilledParser,
    LexicalizedSHAG,
    SpectralSHAG,
    Tagger,
    load_model,
    make_parser_pipeline,
    read_card,
    save_model,
)
from sklearn_shag.cli import (
    _annotate,
    _demo,
    _main,
    _models,
    _recipe,
    _serve,
    _train,
    _training_data,
    main,
)
from sklearn_shag.cli._evaluate import iter_sentences
from sklearn_shag.cli._recipe import Recipe, choose_model
from sklearn_shag.cli._training_data import list_split
from sklearn_shag.features import TransformerVectors
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.metrics import (
    exact_match_score,
    is_punctuation,
    labeled_attachment_score,
    score_report,
    unlabeled_attachment_score,
)
from sklearn_shag.treebank import (
    DependencyTree,
    MultiwordToken,
    TokenFeature,
    iter_pieces,
    read_conllu,
    read_horizontal,
    write_conllu,
)
from sklearn_shag.treebank import _pieces as _reading
from sklearn_shag.utils import _parallel as _progress
from tests.encoders import write_encoder
from tests.estimators import learned, parameters
from tests.files import write_files
from tests.loops import over

COMMANDS = [
    "demo",
    "train",
    "parse",
    "suggest",
    "check",
    "evaluate",
    "draw",
    "info",
    "compile",
    "serve",
    "annotate",
]


def stop_servers(monkeypatch):
    """Let the commands serve and annotate end at once."""
    for command in (_serve, _annotate):
        monkeypatch.setattr(command, "AppServer", Mock(return_value=Mock(port=1)))
    monkeypatch.setattr(signal, "signal", Mock())
    monkeypatch.setattr(webbrowser, "open", Mock())


@pytest.fixture(scope="module")
def files(tmp_path_factory, english):
    """A folder of treebank files and models, which no test changes."""
    folder = tmp_path_factory.mktemp("files")
    train, test = english[:80], english[80:110]
    columns = ["form", "suffix"]
    tagger = Tagger("upos", columns, hidden_layer_sizes=[4], max_iter=1, cv=2, random_state=0)
    models = {
        "model": make_pipeline(TokenFeature("upos"), SpectralSHAG(3)),
        "linear": CRFParser(["upos"], n_features=2**12, random_state=0),
        "tagging": make_pipeline(tagger, DeterministicSHAG()),
    }
    for name, model in models.items():
        save_model(model.fit(train), folder / f"{name}.npz")
    treebanks = {
        "xx_small-ud-train.conllu": train,
        "xx_small-ud-test.conllu": test,
        "packed.conllu.gz": test,
        "few.conllu": english[:20],
        "parsed.conllu": models["model"][-1].parse(test),
        "partial.conllu": [t.with_heads([t.heads[0], *[-1] * (len(t) - 1)]) for t in test],
    }
    for name, trees in treebanks.items():
        write_conllu(trees, folder / name)
    write_files(folder, {"tokens.txt": "Dogs bark .\n"})
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
def run(run_command):
    """Run a command that succeeds; give what it prints."""

    def run(*arguments):
        status, out, err = run_command(*arguments)
        assert (status, err) == (0, [])
        return out

    return run


def environment():
    """Of a child process: that of this one, with a buffered standard output."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def run_process(*arguments, stdout=subprocess.PIPE, **options):
    """Run a command in a process of its own; give its status, its output and its complaints."""
    command = [sys.executable, "-m", "sklearn_shag", *map(str, arguments)]
    options |= {"stdout": stdout, "stderr": subprocess.PIPE, "env": environment(), "timeout": 60}
    done = subprocess.run(command, check=False, **options)
    # Whether kernels are in the cache depends on what ran before.
    announced = re.compile("^sklearn_shag compiles .*\n", flags=re.MULTILINE)
    return done.returncode, done.stdout, announced.sub("", done.stderr.decode(locale.getencoding()))


def assert_same_model(a, b):
    assert parameters(a) == parameters(b)
    np.testing.assert_equal(learned(a), learned(b))


def assert_valid(path, level=2):
    """What is parsed passes the official validator, as far as it speaks of all languages."""
    validator = pytest.importorskip("udtools.validator", reason="needs udtools")
    report = io.StringIO()
    state = validator.Validator(lang="en", level=level, output=report).validate_files([str(path)])
    assert state.passed(), report.getvalue()


class TestTrain:
    @over(
        ("options", "model"),
        [
            ("--model spectral", make_parser_pipeline(TokenFeature("upos"), SpectralSHAG())),
            (
                "--symbols upos,xpos",
                make_parser_pipeline(TokenFeature("upos", ["xpos"]), SpectralSHAG()),
            ),
            (
                "--set n_states=2 --set smoothing=1.5 --n-jobs 2",
                make_parser_pipeline(
                    TokenFeature("upos"), SpectralSHAG(2, smoothing=1.5, n_jobs=2)
                ),
            ),
            (
                "--symbols upos,xpos,feats.Number --min-count 5 --model first --set smoothing=0.5",
                make_parser_pipeline(
                    TokenFeature("upos", ["xpos", "feats.Number"], min_count=5),
                    DeterministicSHAG("first", smoothing=0.5),
                ),
            ),
            (
                "--model single",
                make_parser_pipeline(TokenFeature("upos"), DeterministicSHAG("single")),
            ),
            (
                "--model sibling",
                make_parser_pipeline(TokenFeature("upos"), DeterministicSHAG("sibling")),
            ),
            (
                "--model words --symbols xpos --min-count 2",
                make_parser_pipeline(TokenFeature("xpos", min_count=2), LexicalizedSHAG()),
            ),
            (
                "--model em --max-iter 5 --seed 3",
                make_parser_pipeline(
                    TokenFeature("upos"), EMSHAG(init="moments", max_iter=5, random_state=3)
                ),
            ),
            (
                "--model em",
                make_parser_pipeline(
                    TokenFeature("upos"), EMSHAG(init="moments", max_iter=100, random_state=0)
                ),
            ),
            ("--model crf", CRFParser(random_state=0)),
            ("--model crf --columns auto", CRFParser(random_state=0)),
            (
                "--model crf --columns xpos,form,suffix.2 --min-count 3",
                CRFParser(["xpos", "form", "suffix.2"], min_count=3, random_state=0),
            ),
            ("--model biaffine", BiaffineParser(random_state=0)),
            (
                "--model biaffine --tags xpos --columns form,suffix.2",
                BiaffineParser(["form", "suffix.2"], tags="xpos", random_state=0),
            ),
            (
                "--model spectral --tags upos --set n_states=3 --min-count 4",
                make_parser_pipeline(Tagger("upos", min_count=4, random_state=0), SpectralSHAG(3)),
            ),
            (
                "--model crf --tags upos",
                make_parser_pipeline(
                    Tagger("upos", random_state=0),
                    CRFParser(["upos", "form", "suffix"], random_state=0),
                ),
            ),
            (
                "--model crf --tags xpos --columns xpos,form --min-count 1",
                make_parser_pipeline(
                    Tagger("xpos", min_count=1, random_state=0),
                    CRFParser(["xpos", "form"], min_count=1, random_state=0),
                ),
            ),
        ],
    )
    def test_options_make_a_model(self, options, model):
        """To fit it is a matter of the library."""
        options = _main.make_parser("").parse_args(["train", "x", "-o", "y", *options.split()])
        kind, _ = choose_model(options)
        made, learner = Recipe.from_options(options, kind).make_model()
        assert parameters(made) == parameters(model)
        assert made is learner or made[-1] is learner

    @over(
        ("options", "model"),
        [
            ("--model spectral", make_pipeline(TokenFeature("upos"), SpectralSHAG())),
            (
                "--model crf --columns upos --set n_features=4096",
                make_pipeline(CRFParser(["upos"], n_features=4096, random_state=0)),
            ),
        ],
    )
    def test_agrees_with_the_library(self, run, train, tmp_path, options, model):
        out = run("train", train, "-o", tmp_path / "model.npz", *options.split())
        loaded = load_model(tmp_path / "model.npz")
        loaded = loaded if isinstance(loaded, Pipeline) else [loaded]
        for ours, theirs in zip(loaded, model.fit(read_conllu(train)), strict=True):
            assert_same_model(ours, theirs)
        said = (
            f"Learned {type(model[-1]).__name__} from 80 sentences with .* s; saved to "
            f"{tmp_path}/model.npz. It parses words with the columns .*"
            "Its expected score is not known: test it, or add --cv 5."
        )
        assert re.fullmatch(said, out.splitlines()[-1])
        assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]

    @pytest.mark.usefixtures("small_networks")
    def test_the_best_model_is_the_default(self, run, train, tmp_path):
        """Which it is, and why, is said."""
        path = tmp_path / "model.npz"
        out = run("train", train, "-o", path, "--tags", "upos", "--seed", "3", "--max-iter", "1")
        *networks, linear = load_model(path).named_estimators_.items()
        seeds = {name: network.random_state for name, network in networks}
        assert out.startswith("Taking --model ensemble: the most accurate one; biaffine learns in")
        assert seeds == {"network0": 3, "network1": 4, "network2": 5}
        tagger, crf = linear[1][:2]
        assert [tagger.random_state, crf.random_state, crf.max_iter] == [3, 3, 1]
        assert "from 80 sentences" in out

    def test_training_goes_on(self, run, files, test, tmp_path):
        out, old = tmp_path / "model.npz", files / "linear.npz"
        run("train", test, "-o", out, "--continue", old, "--max-iter", "2", "--seed", "5")
        expected = load_model(old).set_params(warm_start=True, max_iter=2, random_state=5)
        expected.fit(read_conllu(test))
        assert_same_model(load_model(out), expected.set_params(warm_start=False))


@pytest.mark.usefixtures("small_networks")
class TestRawText:
    """Students of `train --raw-text`, several treebanks, and what is set aside."""

    def test_an_ensemble_teaches(self, run, train, files, test, tmp_path):
        out, raw = tmp_path / "m.npz", tmp_path / "raw.txt"
        raw.write_text("Dogs bark .\nIt works .\n", encoding="utf-8")
        printed = run("train", train, "-o", out, "--tags", "upos", "--raw-text", raw, test)
        assert "Taking --model biaffine" in printed
        assert "from 76 of 80 sentences and 32 of raw text (" in printed
        for kind in ("student", "teacher", "without raw text"):
            row = rf"{kind}: UAS [\d.]+, LAS [\d.]+ +\(4 sentences set aside from .*train.conllu\)"
            assert re.search(row, printed)
        known = [tree for k, tree in enumerate(read_conllu(train), start=1) if k % 20]
        sentences = [
            *known,
            *read_horizontal(raw),
            *(t.with_heads(None) for t in read_conllu(test)),
        ]
        network = clone(_recipe.LEARNERS["biaffine"]).set_params(tags="upos", random_state=0)
        seeds = AveragedParser.of_seeds(network).estimators
        tagger = _recipe.Tagger("upos", cv=3, random_state=0)  # a small one
        linear = CRFParser(["upos", "form", "suffix"], n_features=2**12, max_iter=1, random_state=0)
        teacher = AveragedParser([*seeds, ("linear", make_parser_pipeline(tagger, linear))])
        expected = DistilledParser(network, teacher).fit(sentences).parser_
        assert_same_model(load_model(out), expected)

    def test_a_model_teaches(self, run, train, files, tmp_path):
        given = "train", train, "-o", tmp_path / "m.npz", "--teacher", files / "linear.npz"
        raw = files / "xx_small-ud-test.conllu"
        printed = run(*given, "--columns", "form", "--raw-text", raw)
        assert "teacher: UAS" in printed
        assert "without raw text" not in printed

    @pytest.mark.filterwarnings("always")
    def test_raw_text_that_hurts(self, capsys, monkeypatch, train, files, tmp_path):
        monkeypatch.setitem(_train.STANDARD_ERRORS, _train.NO_RAW_TEXT, -1e9)
        arguments = ["train", train, "-o", str(tmp_path / "m.npz"), "--columns", "form"]
        raw = str(files / "xx_small-ud-test.conllu")
        assert main([*arguments, "--raw-text", raw, "--set-aside", "2"]) == 0
        assert "a network without raw text is better" in capsys.readouterr().err

    def test_several_treebanks(self, run, train, files, tmp_path):
        out, linear = tmp_path / "m.npz", ("--model", "crf", "--columns", "upos")
        few = files / "few.conllu"
        printed = run("train", train, few, "-o", out, *linear, "--weight", "1", "0.5")
        assert "from 95 of 100 sentences in 2 files" in printed
        for path, n_sentences in ((train, 4), (few, 1)):
            assert f"({n_sentences} sentences set aside from {path})" in printed
        parts = [
            [tree for k, tree in enumerate(read_conllu(path), start=1) if k % 20]
            for path in (train, few)
        ]
        weights = np.repeat([1, 0.5], list(map(len, parts)))
        crf = clone(_recipe.LEARNERS["crf"]).set_params(columns=["upos"], random_state=0)
        expected = crf.fit([tree for part in parts for tree in part], sample_weight=weights)
        assert_same_model(load_model(out), expected)


class TestNamedTreebank:
    """`train` of a treebank by its name, and what the file of the model says of it."""

    @pytest.fixture
    def home(self, monkeypatch, tmp_path, english):
        folder = tmp_path / "home" / "ud-treebanks-v2.15" / "UD_Test-Tiny"
        folder.mkdir(parents=True)
        for name, (begin, end) in {"train": (0, 60), "dev": (60, 70), "test": (70, 100)}.items():
            write_conllu(english[begin:end], folder / f"te_tiny-ud-{name}.conllu.gz")
        about = "# Summary\nTiny.\n\nLicense: CC BY 4.0\nGenre: news\n"
        write_files(folder, {"README.md": about, "LICENSE.txt": "Not looked at.\n"})
        monkeypatch.setenv("SKLEARN_SHAG_DATA", str(folder.parent))
        monkeypatch.chdir(tmp_path)
        return folder.parent

    def test_scores_on_test(self, run, home, tmp_path, english):
        """What is printed and kept are the scores of other functions on files that are the same."""
        note, place = "Two\nlines \u2603", "30 sentences of the test set of UD_Test-Tiny"
        out = run("train", "UD_Test-Tiny", "-o", "m.npz", "--model", "spectral", "--note", note)
        expected = make_pipeline(TokenFeature("upos"), SpectralSHAG()).fit(english[:60])
        test = english[70:100]
        parsed = expected[-1].parse(test)
        uas = unlabeled_attachment_score(test, [tree.heads for tree in parsed])
        las = labeled_attachment_score(test, parsed)
        row = f"model: UAS {100 * uas:.1f}, LAS {100 * las:.1f}"
        assert f"{row:<38}({place})\n" in out
        assert "from 60 sentences with " in out
        card = read_card("m.npz")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", card["date"])
        assert card == {
            "treebanks": [{"name": "UD_Test-Tiny", "release": "2.15", "licence": "CC BY 4.0"}],
            "trees": 60,
            "tokens": sum(map(len, english[:60])),
            "version": sklearn_shag.__version__,
            "note": note,
            "scores": [{"of": "model", "on": place, "uas": uas, "las": las}],
            "date": card["date"],
        }
        printed = run("info", "m.npz")
        about, sha256 = json.loads(printed), hashlib.sha256(Path("m.npz").read_bytes()).hexdigest()
        assert about == about | card | {"sha256": sha256}
        assert about["model"].startswith(
            "ParserPipeline(steps=[('tokenfeature', TokenFeature()), ("
        )
        assert set(printed) <= {*map(chr, range(32, 127)), "\n", "\u2603"}

    @pytest.mark.usefixtures("small_networks", "home")
    def test_continued(self, run, train):
        """The card of the model that went on is part of the next; paths are not."""
        run("train", "UD_Test-Tiny", "-o", "a.npz", "--model", "biaffine")
        run("train", train, "-o", "b.npz", "--continue", "a.npz", "--max-iter", "1")
        card, treebanks = read_card("b.npz"), [{"name": "xx_small-ud-train.conllu"}]
        assert card["continues"] == read_card("a.npz")
        assert card["treebanks"] == treebanks
        assert str(Path(train).parent) not in json.dumps(card)


@pytest.mark.usefixtures("small_networks")
class TestHelpers:
    """Students of a teacher that treebanks of other languages taught."""

    @pytest.fixture
    def raw(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_models, "VECTORS", tmp_path / "cache")
        path = tmp_path / "raw.txt"
        path.write_text("Dogs bark .\nIt works .\n" * 4, encoding="utf-8")
        return path

    @pytest.fixture
    def helping(self, files, tmp_path, english):
        """The options that name helpers and a transformer."""
        folder = write_encoder(tmp_path / "encoder", [w for tree in english for w in tree.forms])
        return ["--helpers", files / "few.conllu", files / "packed.conllu.gz", "--context", folder]

    @pytest.mark.filterwarnings("ignore:on the sentences that were set aside")  # too small to gain
    @pytest.mark.parametrize("weights", [None, [2.0]])
    def test_they_teach_a_student(self, run, train, files, raw, helping, tmp_path, weights):
        out = tmp_path / "m.npz"
        own = ["--weight", *weights] if weights else []
        printed = run(
            "train", train, "-o", out, *helping, "--raw-text", raw, *own, "--tags", "upos"
        )
        assert "from 72 of 80 sentences, 50 of helpers and 8 of raw text (24 words)" in printed
        for kind in ("student", "teacher", "without helpers"):
            row = rf"{kind}: UAS [\d.]+, LAS [\d.]+ +\(8 sentences set aside from .*train.conllu\)"
            assert re.search(row, printed)
        helpers = [*read_conllu(files / "few.conllu"), *read_conllu(files / "packed.conllu.gz")]
        helpers = [t.with_heads(t.heads, [d.split(":")[0] for d in t.deprels]) for t in helpers]
        known = [tree for k, tree in enumerate(read_conllu(train), start=1) if k % 10]
        sentences, vectors = read_horizontal(raw), TransformerVectors(helping[-1])
        network = clone(_recipe.LEARNERS["biaffine"]).set_params(tags="upos", random_state=0)
        settings = {"columns": ["shape"], "calibrate": False, "embeddings": vectors}
        of_own, for_teacher = weights or [1.0], weights or [5.0]
        teacher = clone(network).set_params(**settings)
        teacher.fit([*helpers, *known], sample_weight=[1.0] * 50 + for_teacher * 72)
        network.set_params(embeddings=vectors.to_table([*sentences, *known]))
        model = DistilledParser(network, FrozenEstimator(teacher))
        model.fit([*known, *sentences], sample_weight=of_own * 72 + [1.0] * 8)
        assert_same_model(load_model(out), model.parser_.set_params(embeddings=None))
        assert load_model(out).embeddings_name_ is None  # parsing needs no transformer

    @pytest.mark.filterwarnings("always")
    def test_without_own_trees(self, capsys, raw, helping, tmp_path):
        out = tmp_path / "m.npz"
        assert main(list(map(str, ["train", "-o", out, *helping, "--raw-text", raw]))) == 0
        printed, err = capsys.readouterr()
        assert "from 0 sentences, 50 of helpers and 8 of raw text (24 words)" in printed
        assert "set aside from" not in printed
        assert "fewer than 5 own trees were set aside, so nothing could be checked" in err
        assert re.search(r"cuts a word into \d\.\d pieces, and one of the helpers into 1\.\d", err)
        model = load_model(out)
        assert model.tag_column_ == "upos"
        assert ":" not in "".join(model.labels_)

    def test_the_splitter_learns_from_helpers_of_the_script(self, tmp_path):
        """Greek and Latin helpers; those with tokens of several words are no example."""
        latin, two = DependencyTree(["Dogs", "bark"], [2, 0]), MultiwordToken(1, 2, "Dogsbark")
        greek = DependencyTree(["\u03b1\u03b2\u03b3", "x", "."], [0, 1, 1])
        helpers = [latin, greek, latin.with_multiword_tokens([two])]
        raw = tmp_path / "raw.txt"
        for text, own, expected in [
            ("", [latin], [latin, latin]),
            ("", [greek], [greek, greek]),
            ("\u03b1\u03b2 .\nok", [], [greek]),
            ("It works.", [], [latin]),
            ("\u0b85", [], [latin, greek]),
            ("\u0b85", [latin], [latin, latin]),
        ]:
            raw.write_text(text, encoding="utf-8")
            assert list_split(own, helpers, [str(raw)]) == expected
        # Tags and features of CoNLL-U are no text of the language.
        columns = raw.with_suffix(".conllu")
        write_conllu([greek], columns)
        assert list_split([], helpers, [str(columns)]) == [latin, greek]


class TestParse:
    @over(
        ("options", "answers"),
        [
            (["--confidence", "--decoder", "max_marginal"], {"confidence": True}),
            (["--keep-heads", "--confidence"], {"confidence": True, "keep_heads": True}),
            (
                ["--k-best", "3", "--confidence", "--unique-relations", "nsubj+csubj,obj"],
                {"n_best": 3, "confidence": True, "unique_relations": [("nsubj", "csubj"), "obj"]},
            ),
            (["--sample", "3", "--seed", "5"], {"n_samples": 3, "random_state": 5}),
        ],
    )
    def test_options_are_those_of_the_method(self, run, files, test, tmp_path, options, answers):
        trees = [tree for tree in read_conllu(test) if tree.is_projective][:20]
        partial = [
            tree.with_heads([-1, *tree.heads[1:]], ["_", *tree.deprels[1:]]) for tree in trees
        ]
        write_conllu(partial, tmp_path / "in.conllu")
        model = load_model(files / "linear.npz")
        if "--decoder" in options:
            model.set_params(decoder="max_marginal")
        write_conllu(np.hstack(model.parse(partial, **answers)), tmp_path / "expected.conllu")
        out = run("parse", files / "linear.npz", tmp_path / "in.conllu", *options)
        assert out.encode() == (tmp_path / "expected.conllu").read_bytes()

    def test_standard_output_is_utf_8(self, run, monkeypatch, model, tmp_path):
        """CoNLL-U is UTF-8, whatever encoding the terminal has."""
        tree = DependencyTree(["Čapek", "日本"], [2, 0], upos=["PROPN", "NOUN"])
        write_conllu([tree], tmp_path / "in.conllu")
        run("parse", model, tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
        stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["parse", model, str(tmp_path / "in.conllu")]) == 0
        assert stream.buffer.getvalue() == (tmp_path / "out.conllu").read_bytes()


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
            place, forms = [partial, str(s + 1), trees[s].sent_id], ("_", *trees[s].forms)
            arc = [str(token), forms[token], str(head), forms[head]]
            assert row == [*place, *arc, *map(cell, numbers)]
        assert run("suggest", model, partial, "-n", "1000", "--n-jobs", "2") == out
        assert run("suggest", model, partial).splitlines() == out.splitlines()[:11]

    @over("by", ["sentences", "trees"])
    def test_sentences(self, run, model, partial, by):
        trees = read_conllu(partial)
        errors = "errors" if by == "sentences" else by
        expected = least_certain_sentences(load_model(model)[-1], trees, n=4, by=errors)
        out = run("suggest", model, partial, "--by", by, "-n", "4")
        header, *rows = [line.split("\t") for line in out.splitlines()]
        assert " ".join(header) == (
            "file sentence sent_id unknown_heads expected_errors error_rate tree_probability text"
        )
        for row, s, *numbers in zip(rows, *expected, strict=True):
            place, text = [partial, str(s + 1), trees[s].sent_id], " ".join(trees[s].forms)
            assert row == [*place, *map(cell, numbers), text]

    def test_sentences_to_be_annotated(self, run, model, partial, tmp_path):
        """Those listed, with the tree that the parser gives them and the heads that they have."""
        out, trees = tmp_path / "next.conllu", read_conllu(partial)
        chosen = ("--by", "sentences", "-n", "3")
        table = run("suggest", model, partial, *chosen)
        assert run("suggest", model, partial, *chosen, "-o", out) == table
        places = sorted(int(line.split("\t")[1]) - 1 for line in table.splitlines()[1:])
        expected = load_model(model)[-1].parse([trees[s] for s in places], keep_heads=True)
        suggested = read_conllu(out)
        assert suggested == expected
        for tree, s in zip(suggested, places, strict=True):
            marks = [set(misc.split("|")) & {"Check=Yes", "Predicted=Yes"} for misc in tree.misc]
            assert [len(each) for each in marks] == [2 * (head == -1) for head in trees[s].heads]
        assert run("suggest", model, partial, *chosen, "-o", "-").encode() == out.read_bytes()


class TestEvaluate:
    @over("options", [[], ["--ignore-punctuation", "--by", "modifier"]])
    def test_agrees_with_the_library(self, run, test, files, tmp_path, options):
        """Also of heads that are not known; the draws are always the same."""
        gold, path = read_conllu(test), str(tmp_path / "partial.conllu")
        partial = [tree.with_heads([-1, *tree.heads[1:]], tree.deprels) for tree in gold]
        partial[3] = gold[3].with_heads(None)
        write_conllu(partial, path)
        system, parsed = str(files / "parsed.conllu"), read_conllu(files / "parsed.conllu")
        ignore, by = (is_punctuation, "modifier") if options else (None, "head")
        report = score_report(partial, parsed, ignore=ignore, by=by)
        arguments = "evaluate", path, system, *options
        found, out = json.loads(run(*arguments, "--json")), run(*arguments)
        n_ignored = report.n_tokens - report.n_unknown - report.n_scored
        scored = f"{n_ignored} of them punctuation and ignored" if options else "punctuation scored"
        left_out = f"{report.n_unknown} of them without true heads and left out"
        assert out.startswith(f"30 sentences, {report.n_tokens} tokens, {left_out}, {scored}\n")
        assert "95 % interval" in out
        assert "1000 resamples of the sentences" in out
        names = ("UAS", "LAS", "CLAS", "label accuracy", "exact match", "UPOS", "XPOS", "FEATS")
        names = dict(zip(report.scores, (*names, "AllTags", "Lemmas"), strict=True))
        for name, interval in report.scores.items():
            assert found.pop(name) == interval._asdict()
            score, low, high = (100 * value for value in interval)
            line = rf"^{names[name]} +{score:.2f}   {low:.2f} to {high:.2f}$"
            assert re.search(line, out, flags=re.MULTILINE)
        rows = [
            {
                "symbol": symbol,
                "left": {"correct": right[0], "total": total[0]},
                "right": {"correct": right[1], "total": total[1]},
            }
            for symbol, right, total in zip(*report.breakdown, strict=True)
        ]
        assert found == {
            "gold": [path],
            "system": [system],
            "sentences": 30,
            "tokens": report.n_tokens,
            "unknown_tokens": report.n_unknown,
            "scored_tokens": report.n_scored,
            "punctuation": "ignored" if options else "scored",
            "confidence": 0.95,
            "resamples": 1000,
            "breakdown": {"by": by, "rows": rows},
        }


class TestStandardStreams:
    def test_all_in_one_pipe(self, train, test, run, capsys, monkeypatch, tmp_path):
        """What `train` says goes to standard error where standard output is the model."""
        run("train", train, "-o", tmp_path / "model.npz", "--model", "spectral")
        expected = run("parse", tmp_path / "model.npz", test).encode()
        stream = io.TextIOWrapper(io.BytesIO())
        with monkeypatch.context() as at:
            at.setattr(sys, "stdout", stream)
            assert main(["train", train, "-o", "-", "--model", "spectral"]) == 0
        said = capsys.readouterr().err
        assert re.fullmatch(r"Learned SpectralSHAG from 80 sentences .*; saved to -.*\n", said)
        parsed = run_process("parse", "-", test, input=stream.buffer.getvalue())
        assert parsed == (0, expected, "")

    def test_model_for_a_terminal(self, capsys, train, monkeypatch):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        assert main(["train", train, "-o", "-"]) == 1
        assert "terminal" in capsys.readouterr().err


class TestWarnings:
    @pytest.mark.filterwarnings("always")
    def test_one_line_each_and_once(self, capsys, monkeypatch, train, tmp_path):
        def read(*arguments):
            for index in (1, 2, 1, 1):
                warnings.warn(f"line {index}\n  goes on", UserWarning, stacklevel=index)
            return iter_sentences(*arguments)

        monkeypatch.setattr(_training_data, "iter_sentences", read)
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
    def test_what_to_type_next(self, run):
        lines = re.findall("^  sklearn-shag (.*)$", run("demo"), flags=re.MULTILINE)
        options = [_main.make_parser().parse_args(shlex.split(line)) for line in lines]
        assert [each.command for each in options] == ["demo", "parse", "train", "demo"]
        assert options[0].text
        assert options[-1].grammars

    def test_treebank(self, run, files):
        out = run("demo", "--treebank", files)
        train, test = (
            read_conllu(files / f"xx_small-ud-{part}.conllu") for part in ("train", "test")
        )
        spectral = SpectralSHAG(8)
        em = {"init": "moments", "max_iter": 100, "smoothing": spectral.smoothing}
        expected = {}
        for name, model in {
            "DET": DeterministicSHAG("single"),
            "DET+F": DeterministicSHAG("first"),
            "SPECTRAL, 8 states": spectral,
            "EM, 8 states": EMSHAG(8, **em),
        }.items():
            heads = model.fit(train).predict(test)
            scores = unlabeled_attachment_score(test, heads), exact_match_score(test, heads)
            expected[name] = tuple(round(100 * score, 1) for score in scores)
        assert demo_table(out) == expected
        assert demo_table(run("demo", "--treebank", files, "--grammars")) == expected
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
        (parsed,) = model.parse([true])
        right = true.heads == parsed.heads
        assert not right.all(), "choose another treebank: this sentence is parsed without errors"
        marks = np.where(right, "", " *")
        left = ["the true tree", "", *str(true).split("\n")]
        drawn = [*map("".join, zip(str(parsed).split("\n"), marks, strict=True))]
        drawn = ["parsed by SPECTRAL, 1 states", "", *drawn]
        width = max(map(len, left)) + 6
        beside = [f"{a:<{width}}{b}".rstrip() for a, b in zip(left, drawn, strict=True)]
        rows = {200: beside, 30: [*left, "", *drawn]}[columns]
        assert "\n" + "\n".join(rows) + "\n" in out
        assert f"\n{right.sum()} of {len(true)} words have the right head; * marks" in out


class TestHelp:
    @pytest.mark.filterwarnings("ignore:on the sentences that were set aside")  # too small to gain
    @pytest.mark.filterwarnings("ignore:In 1 of 1 sentences, text is not split")
    @pytest.mark.parametrize("command", [None, *COMMANDS])
    @pytest.mark.usefixtures("small_networks", "quick_english")
    def test_every_example_runs(self, capsys, monkeypatch, files, tmp_path, command):
        with pytest.raises(SystemExit):
            main([*filter(None, [command]), "--help"])
        examples = capsys.readouterr().out.split("\nexamples:\n")[1].rstrip("\n").splitlines()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SKLEARN_SHAG_DATA", str(tmp_path / "data"))
        for name, source in {
            "train.conllu": "few.conllu",
            "test.conllu": "xx_small-ud-test.conllu",
            "test.conllu.gz": "packed.conllu.gz",
            "more.conllu": "xx_small-ud-test.conllu",
            "own.conllu": "xx_small-ud-train.conllu",
            "en.conllu": "few.conllu",
            "model.npz": "tagging.npz" if command == "annotate" else "model.npz",
            "linear.npz": "linear.npz",
            "tagging.npz": "tagging.npz",
            "fr.npz": "tagging.npz",
            "tokens.txt": "tokens.txt",
            "text.txt": "tokens.txt",
            "parsed.conllu": "parsed.conllu",
            "partial.conllu": "partial.conllu",
            "next.conllu": "partial.conllu",
            "data/UD_French-Sequoia/fr_sequoia-ud-train.conllu": "xx_small-ud-train.conllu",
            "data/UD_French-Sequoia/fr_sequoia-ud-test.conllu": "xx_small-ud-test.conllu",
            "UD_English-EWT/en_ewt-ud-train.conllu": "few.conllu",
            "UD_English-EWT/en_ewt-ud-test.conllu": "xx_small-ud-test.conllu",
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files / source, tmp_path / name)
        (tmp_path / "text.jsonl").write_text('{"id": "a", "text": "Dogs bark."}\n')
        write_encoder(tmp_path / "e5", ["Dogs", "bark", "."])
        monkeypatch.setattr(_models, "VECTORS", tmp_path / "vectors")
        stop_servers(monkeypatch)
        assert len(examples) >= 2
        for example in examples:
            program, *words = shlex.split(example.split(" > ")[0])
            assert program == "sklearn-shag"
            assert words[0] in ([command] if command else COMMANDS)
            if "<" in words:
                stdin = io.TextIOWrapper(io.BytesIO(Path(words.pop()).read_bytes()))
                monkeypatch.setattr(sys, "stdin", stdin)
                words.pop()
            if command not in (None, "compile"):  # run elsewhere
                assert main(words) == 0, example
                assert capsys.readouterr().err == ""

    def test_every_option_has_a_line_and_a_default(self):
        parser = _main.make_parser()
        commands = parser._subparsers._group_actions[0].choices
        assert set(commands) == set(COMMANDS)
        for action in chain.from_iterable(each._actions for each in (parser, *commands.values())):
            assert action.help or action.dest == "command", action
            if action.option_strings and action.dest not in ("help", "version"):
                assert "(default: " in action.help or action.required, action
                if "%(default)s" in action.help:
                    assert action.default is not None


class TestErrors:
    def test_the_collector_of_garbage_rests(self, run, monkeypatch, model, test):
        before, during = gc.get_threshold(), []
        monkeypatch.setattr(
            _reading,
            "iter_pieces",
            lambda *args, **kw: during.append(gc.get_threshold()) or iter_pieces(*args, **kw),
        )
        run("parse", model, test)
        assert during[0] > before
        assert main(["parse", model, "none.conllu"]) == 1
        assert gc.get_threshold() == before


class TestProgress:
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    @pytest.mark.parametrize(
        ("kind", "delay"), [(io.StringIO, 0.0), (Terminal, 0.0), (Terminal, 1e9)]
    )
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


class TestStandardOutput:
    def test_closed_pipes(self):
        """The reader has left before the few lines are written: no complaint."""
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as stdout:
            assert run_process("--help", stdout=stdout) == (0, None, "")

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_full_disk(self, test, files):
        with open("/dev/full", "wb") as full:
            status, _, err = run_process("evaluate", test, files / "parsed.conllu", stdout=full)
        assert status == 1
        assert re.fullmatch(r"python -m .* evaluate: error: .*No space left on device.*\n", err)
        assert "Errno" not in err
