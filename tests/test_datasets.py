"""The bundled treebank, generated treebanks, and treebanks downloaded from a local server."""

import functools
import gc
import hashlib
import io
import json
import re
import socket
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock
from wsgiref.util import request_uri

import numpy as np
import pytest
from sklearn.utils import Bunch

from sklearn_shag import DeterministicSHAG, load_model, make_parser_pipeline, save_model
from sklearn_shag.cli._main import main
from sklearn_shag.datasets import (
    _universal_dependencies,
    fetch_treebank,
    get_data_home,
    load_english,
    load_parser,
    make_treebank,
)
from sklearn_shag.datasets._parsers import PARSERS, NamedParser
from sklearn_shag.treebank import TokenFeature, write_conllu
from tests.files import write_files
from tests.loops import over
from tests.test_cli import assert_valid
from tests.test_serve import serving

RIGHT = 1


class TestLoadEnglish:
    def test_description_counts(self, english):
        text = " ".join(load_english().DESCR.split())
        n_tokens = sum(map(len, english))
        assert f"{len(english)} English sentences ({n_tokens} tokens)" in text
        assert f"The mean length is {n_tokens / len(english):.1f} tokens" in text
        n_crossing = sum(not tree.is_projective for tree in english)
        number = ["No", "One", "Two", "Three", "Four", "Five"][n_crossing]
        assert f"{number} trees are non-projective" in text

    def test_return_x_y(self, english):
        X, y = load_english(return_X_y=True)
        assert english == X
        assert all(np.array_equal(heads, tree.heads) for heads, tree in zip(y, X, strict=True))
        table = dict(re.findall(r"^ *(Sentences|Tokens) +(\d+)$", load_english.__doc__, re.M))
        assert table == {"Sentences": str(len(english)), "Tokens": str(sum(map(len, english)))}

    def test_official_validator(self):
        assert_valid(load_english().filename, level=3)


def expected_lengths(operators, n_symbols):
    """Expected sizes of the subtree of each symbol: one, and those of its children."""
    # Of each head and direction the states that are passed, summed over all positions.
    A = operators.A[:n_symbols, :, :n_symbols]
    moves = np.eye(A.shape[-1]) - A.sum(axis=2)
    passed = np.linalg.solve(moves, operators.alpha_1[:n_symbols, ..., None])
    children = np.einsum("hdsij,hdjk->hs", A, passed)
    return np.linalg.solve(np.eye(n_symbols) - children, np.ones(n_symbols))


class TestMakeTreebank:
    def test_seed(self):
        trees, operators = make_treebank(30, random_state=3, return_operators=True)
        again, same = make_treebank(30, random_state=3, return_operators=True)
        assert trees == again == make_treebank(30, random_state=np.random.RandomState(3))
        assert [part.tobytes() for part in operators] == [part.tobytes() for part in same]
        other, different = make_treebank(30, random_state=4, return_operators=True)
        assert trees != other
        assert not np.allclose(operators.A, different.A, rtol=1e-3, atol=1e-3)

    @over("seed", range(2))
    @over("n_states, n_symbols, mean_length", [(1, 1, 2.0), (3, 8, 10.0)])
    def test_operators_are_proper(self, n_states, n_symbols, mean_length, seed):
        sizes = {"n_symbols": n_symbols, "mean_length": mean_length, "max_length": 10**6}
        _, operators = make_treebank(1, n_states, random_state=seed, return_operators=True, **sizes)
        alpha_1, alpha_inf, A = operators
        lead = n_symbols + 2, 2
        assert [part.shape[:-1] for part in (alpha_1, alpha_inf)] == [lead, lead]
        assert A.shape == (*lead, n_symbols + 1, n_states, n_states)
        assert min(part.min() for part in operators) >= 0.0
        # All heads but the root; the last is the unknown one.
        moves = A[:-1, :, :n_symbols]
        np.testing.assert_allclose(alpha_1[:-1].sum(axis=-1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(alpha_inf[:-1] + moves.sum(axis=(2, 3)), 1.0, rtol=1e-12)
        np.testing.assert_allclose(A[:-1, :, -1], moves.sum(axis=2), rtol=1e-12)
        roots = alpha_inf[-1, RIGHT] @ A[-1, RIGHT, :n_symbols] @ alpha_1[-1, RIGHT]
        np.testing.assert_allclose(roots.sum(), 1.0, rtol=1e-12)

    def test_names_sort_like_codes(self):
        trees = make_treebank(150, 1, n_symbols=11, random_state=0)
        symbols = {symbol for tree in trees for symbol in tree.symbols}
        assert sorted(symbols) == [f"x{k:02d}" for k in range(11)]

    @over("max_length", [1, 20])
    def test_max_length(self, max_length):
        trees = make_treebank(300, max_length=max_length, random_state=1)
        assert 0.8 * max_length <= max(len(tree) for tree in trees) <= max_length

    @over("mean_length", [1.05, 25.0])
    @over("seed", range(2))
    def test_expected_length_of_the_operators(self, mean_length, seed):
        _, operators = make_treebank(
            1,
            2,
            n_symbols=4,
            mean_length=mean_length,
            max_length=10**6,
            random_state=seed,
            return_operators=True,
        )
        root = operators.A[5, RIGHT, :4, 0, 0]
        np.testing.assert_allclose(root @ expected_lengths(operators, 4), mean_length, rtol=1e-6)


def one_sentence(form, n=1):
    return f"1\t{form}\t_\tX\tY\t_\t0\troot\t_\t_\n\n" * n


def zipped(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


TOP = "UD_Test-Tiny-r2.16"
GOOD = zipped(
    {
        f"{TOP}/": "",
        f"{TOP}/LICENSE.txt": "CC0",
        f"{TOP}/README.md": "# Tiny",
        f"{TOP}/CONTRIBUTING.md": "not needed",
        f"{TOP}/stats.xml": "<xml/>",
        f"{TOP}/te_tiny-ud-train.conllu": one_sentence("train", 30),
        f"{TOP}/te_tiny-ud-dev.conllu": one_sentence("dev", 2),
        f"{TOP}/te_tiny-ud-test.conllu": one_sentence("é", 3),
        f"{TOP}/not-to-release/te_tiny-ud-test.conllu": one_sentence("other", 9),
        f"{TOP}/not-to-release/extra.conllu": "broken",
    }
)


# The same with some bytes of the compressed data of its first file changed.
NAME = f"{TOP}/te_tiny-ud-train.conllu".encode()
DAMAGED = GOOD.replace(GOOD[GOOD.index(NAME) + len(NAME) :][:8], b"\xff" * 8, 1)


@pytest.fixture
def served(monkeypatch):
    """Serve archives by path, good ones at first; `served.requests` lists what was asked for."""
    pytest.importorskip("pooch", reason="needs pooch")
    answers = dict.fromkeys(("/UD_Test-Tiny/r2.16.zip", "/UD_Test-Tiny/r2.9.zip"), GOOD)
    requests = []
    together = threading.Barrier(4)

    def answer(environ, start_response):
        path = f"/{request_uri(environ).split('/', 3)[3]}"
        requests.append(path)
        if "together" in path:
            together.wait(30)
        body = answers.get(path)
        start_response("404 Not Found" if body is None else "200 OK", [])
        return [body or b""]

    answer.max_bytes = 0  # of a request
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    gc.disable()  # so that what a test makes stays young, and is found at once
    with serving(answer) as address:
        url = f"{address}/{{name}}/r{{version}}.zip"
        monkeypatch.setattr(_universal_dependencies, "ARCHIVE_URL", url)
        yield Bunch(answers=answers, requests=requests, address=address)
    gc.enable()
    gc.collect(0)  # sockets that requests leaves to the garbage collector after a failure


@pytest.fixture
def no_network(monkeypatch):
    """Any attempt to connect fails the test."""
    refuse = mock.Mock(side_effect=AssertionError("a connection was opened"))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def put(folder, **splits):
    write_files(folder, {f"te_tiny-ud-{split}.conllu": text for split, text in splits.items()})


def forms_of(treebank):
    parts = {name: treebank[name] for name in ("train", "dev", "test")}
    return {name: [tree.forms[0] for tree in trees] for name, trees in parts.items()}


def leftovers(home):
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


@pytest.mark.usefixtures("no_network")
class TestFolderThatIsThere:
    def test_by_name(self, tmp_path, monkeypatch):
        folder = tmp_path / "UD_Test-Tiny"
        put(folder, train=one_sentence("a", 3), test=one_sentence("b"))
        symbols = ("upos", "xpos")
        treebank = fetch_treebank("UD_Test-Tiny", data_home=tmp_path, symbols=symbols)
        assert treebank.train[0].symbols == ("X|Y",)
        assert forms_of(treebank) == {"train": ["a"] * 3, "dev": [], "test": ["b"]}
        assert treebank.keys() == {"train", "dev", "test", "name", "folder"}
        assert (treebank.name, treebank.folder) == ("UD_Test-Tiny", folder)
        assert leftovers(folder) == ["te_tiny-ud-test.conllu", "te_tiny-ud-train.conllu"]
        monkeypatch.setenv("SKLEARN_SHAG_DATA", str(tmp_path))
        assert get_data_home() == tmp_path
        assert get_data_home("other") == Path("other")

    def test_default_home(self, tmp_path, monkeypatch):
        monkeypatch.delenv("SKLEARN_SHAG_DATA", raising=False)
        for name in ("HOME", "USERPROFILE"):
            monkeypatch.setenv(name, str(tmp_path))
        assert get_data_home() == tmp_path / "sklearn_shag_data"
        assert get_data_home("~/here") == tmp_path / "here"

    def test_several_files_of_a_split_and_compressed_ones(self, tmp_path, english):
        """Where a file is there unpacked, too, that alone is read."""
        folder = tmp_path / "UD_Test-Tiny"
        folder.mkdir()
        names = ["te_c-ud-train.conllu", "te_a-ud-train.conllu", "te-ud-test.conllu.gz"]
        for tree, name in zip(english, names, strict=False):
            write_conllu([tree], folder / name)
        found = fetch_treebank("UD_Test-Tiny", data_home=tmp_path)
        assert (found.train, found.test) == ([english[1], english[0]], [english[2]])
        write_conllu(english[:1], folder / "te-ud-test.conllu")
        assert fetch_treebank("UD_Test-Tiny", data_home=tmp_path).test == english[:1]

    def test_unpacked_release(self, tmp_path):
        """The newest; a folder of its own comes first unless a version is asked for."""
        put(tmp_path / "ud-treebanks-v2.16" / "UD_Test-Tiny", train=one_sentence("new"))
        put(tmp_path / "ud-treebanks-v2.9" / "UD_Test-Tiny", train=one_sentence("old"))
        versions = None, "2.16", "2.9"
        assert self.find_forms(tmp_path, versions) == ["new", "new", "old"]
        put(tmp_path / "UD_Test-Tiny", train=one_sentence("plain"))
        assert self.find_forms(tmp_path, versions) == ["plain", "new", "old"]

    def find_forms(self, home, versions):
        found = (fetch_treebank("UD_Test-Tiny", data_home=home, version=v) for v in versions)
        return [treebank.train[0].forms[0] for treebank in found]

    def test_open_treebanks(self, treebank):
        data = treebank("UD_English-EWT")
        assert (len(data.train), len(data.dev), len(data.test)) == (12544, 2001, 2077)
        assert sorted(path.name for path in data.folder.glob("LICENSE*"))


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
class TestDownload:
    @pytest.fixture
    def home(self, tmp_path):
        return tmp_path / "home"

    def fetch(self, home, **options):
        return fetch_treebank("UD_Test-Tiny", data_home=home, progressbar=False, **options)

    def test_success(self, served, home):
        treebank = self.fetch(home)
        expected = {"train": ["train"] * 30, "dev": ["dev"] * 2, "test": ["é"] * 3}
        assert forms_of(treebank) == expected
        assert treebank.folder == home / "ud-treebanks-v2.16" / "UD_Test-Tiny"
        splits = [f"te_tiny-ud-{name}.conllu" for name in ("dev", "test", "train")]
        assert leftovers(treebank.folder) == ["LICENSE.txt", "README.md", *splits]
        folders = [path.relative_to(home) for path in home.rglob("*") if path.is_dir()]
        assert folders == [Path("ud-treebanks-v2.16"), treebank.folder.relative_to(home)]
        # The second time nothing is downloaded, and the two agree.
        assert forms_of(self.fetch(home, download_if_missing=False)) == expected
        assert served.requests == ["/UD_Test-Tiny/r2.16.zip"]

    @pytest.mark.usefixtures("served")
    def test_known_hash(self, home):
        with pytest.raises(ValueError, match="hash"):
            self.fetch(home, known_hash="0" * 64)
        assert [name for name in leftovers(home) if "Test-Tiny" in name] == []
        assert len(self.fetch(home, known_hash=hashlib.sha256(GOOD).hexdigest()).train) == 30

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (None, "404"),
            (b"<html>Not here</html>", "not a zip archive"),
            (zipped({f"{TOP}/old/a-ud-train.conllu": "x"}), r"no \.conllu files"),
            (DAMAGED, "archive"),
        ],
    )
    def test_failure(self, served, home, body, message):
        served.answers["/UD_Test-Tiny/r2.16.zip"] = body
        with pytest.raises(OSError, match=message) as error:
            self.fetch(home)
        assert f"{served.address}/UD_Test-Tiny/r2.16.zip" in str(error.value)
        assert [p for p in home.rglob("*") if p.is_file() or "Test-Tiny" in p.name] == []
        # After the failure the way is free.
        served.answers["/UD_Test-Tiny/r2.16.zip"] = GOOD
        assert len(self.fetch(home).train) == 30

    def test_at_the_same_time(self, served, home, monkeypatch):
        """Whoever is first installs it; the server answers when all four have asked."""
        monkeypatch.setattr(_universal_dependencies, "ARCHIVE_URL", f"{served.address}/together")
        served.answers["/together"] = GOOD
        with ThreadPoolExecutor(4) as executor:
            treebanks = [executor.submit(self.fetch, home) for _ in range(4)]
        assert [len(treebank.result().train) for treebank in treebanks] == [30] * 4
        assert served.requests == ["/together"] * 4
        assert [path.name for path in home.iterdir()] == ["ud-treebanks-v2.16"]

    @pytest.mark.parametrize(
        ("kind", "place"),
        [("link", "ud-treebanks-v2.16"), ("full folder", "ud-treebanks-v2.16/UD_Test-Tiny")],
    )
    def test_what_is_in_its_place_is_found_before(self, served, tmp_path, kind, place):
        home = tmp_path / "home"
        path = home / place
        if kind == "link":
            home.mkdir()
            path.symlink_to(tmp_path / "nowhere")
        else:
            (path / "mine").mkdir(parents=True)
        before = leftovers(tmp_path)
        with pytest.raises(
            OSError, match=rf"{re.escape(str(path))} is (not a folder|there already)"
        ):
            self.fetch(home)
        assert served.requests == []
        assert leftovers(tmp_path) == before

    @pytest.mark.parametrize("lies", [False, True])
    def test_size_when_unpacked(self, served, home, lies):
        body = zipped({f"{TOP}/a-ud-train.conllu": "\n" * 10**6})
        if lies:  # of the size, in both places where an archive has it
            body = body.replace((10**6).to_bytes(4, "little"), (10**4).to_bytes(4, "little"))
        served.answers["/UD_Test-Tiny/r2.16.zip"] = body
        with pytest.raises(
            OSError, match="cannot be used" if lies else "more than max_bytes=99999"
        ):
            self.fetch(home, max_bytes=99999)
        assert leftovers(home) == []

    def test_names_in_archives(self, served, home):
        """What has a name that none of a treebank has is left out."""
        content = io.BytesIO(GOOD)
        with zipfile.ZipFile(content, "a") as archive:
            for name in (
                *(f"{TOP}/a\nb.conllu", f"{TOP}/a\x1b[2J.conllu", f"{TOP}/\u202ea.conllu"),
                *("../../a.conllu", f"{TOP}/../a.conllu", f"/x/{TOP}/a.conllu"),
                *(f"{TOP}/..\\a.conllu", f"{TOP}/deep/te_tiny-ud-train.conllu", "a.conllu"),
            ):
                archive.writestr(name, one_sentence("evil"))
        served.answers["/UD_Test-Tiny/r2.16.zip"] = content.getvalue()
        folder = self.fetch(home).folder
        older = self.fetch(home, version="2.9").folder
        assert older == home / "ud-treebanks-v2.9" / "UD_Test-Tiny"
        assert leftovers(folder) == leftovers(older)
        assert not list(home.parent.glob("*.conllu"))


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
class TestLoadParser:
    """Models at addresses: downloaded once, known by their SHA-256."""

    @pytest.fixture
    def file(self, tmp_path_factory, english):
        path = tmp_path_factory.mktemp("parser") / "tiny.npz"
        model = make_parser_pipeline(TokenFeature("upos"), DeterministicSHAG()).fit(english[:30])
        save_model(model, path, card={"note": "tiny"})
        return path

    @pytest.fixture
    def load(self, served, file, tmp_path):
        served.answers["/lab/ti%20ny.npz?x=1"] = file.read_bytes()
        address = f"{served.address}/lab/ti%20ny.npz?x=1"
        return functools.partial(load_parser, address, data_home=tmp_path)

    def test_kept_and_the_same(self, load, file, served, tmp_path, english, monkeypatch):
        known_hash = hashlib.sha256(file.read_bytes()).hexdigest()
        expected = load_model(file).parse(english[30:50])
        assert load(known_hash=known_hash).parse(english[30:50]) == expected
        assert leftovers(tmp_path) == ["parsers", f"parsers/{known_hash}.npz"]
        monkeypatch.setitem(sys.modules, "pooch", None)  # what is kept needs neither
        served.answers.clear()
        assert load(known_hash=known_hash).parse(english[30:50]) == expected
        assert served.requests == ["/lab/ti%20ny.npz?x=1"]

    def test_a_kept_file_that_has_changed_is_fetched_again(self, load, file, served, tmp_path):
        known_hash = hashlib.sha256(file.read_bytes()).hexdigest()
        load(known_hash=known_hash)
        (kept,) = (tmp_path / "parsers").iterdir()
        kept.write_bytes(kept.read_bytes()[:-1] + b"x")
        load(known_hash=known_hash)
        assert kept.read_bytes() == file.read_bytes()
        assert len(served.requests) == 2

    def test_names_are_a_table(self, served, file, tmp_path, english, monkeypatch, capsys):
        """A name with an address serves load_parser and all commands."""
        served.answers["/fr.npz"] = file.read_bytes()
        known_hash = hashlib.sha256(file.read_bytes()).hexdigest()
        named = NamedParser(f"{served.address}/fr.npz", known_hash, {"licence": "CC0"})
        monkeypatch.setitem(PARSERS, "french", named)
        monkeypatch.setenv("SKLEARN_SHAG_DATA", str(tmp_path / "home"))
        monkeypatch.chdir(tmp_path)
        write_conllu(english[30:40], "test.conllu")
        assert main(["parse", "french", "test.conllu", "-o", "parsed.conllu"]) == 0
        write_conllu(load_model(file).parse(english[30:40]), "expected.conllu")
        assert Path("parsed.conllu").read_bytes() == Path("expected.conllu").read_bytes()
        capsys.readouterr()
        assert main(["info", "french"]) == 0
        about = json.loads(capsys.readouterr().out)
        assert (about["licence"], about["note"], about["sha256"]) == ("CC0", "tiny", known_hash)
        assert served.requests == ["/fr.npz"]
        Path("french").write_bytes(b"own")  # a file of that name comes first
        assert main(["parse", "french", "test.conllu"]) == 1

    def test_the_english_parser(self):
        """The table is right about the file, and agrees with the guide."""
        named = PARSERS["english"]
        file = Path(load_english().filename).with_name("english_parser.npz")
        assert hashlib.sha256(file.read_bytes()).hexdigest() == named.known_hash
        root = Path(__file__).parents[1]
        if (card := root / "doc" / "guide" / "english_parser.rst").exists():
            text = card.read_text(encoding="utf-8")
            header = re.split(r"  +", re.search(r"^treebank .*UAS.*$", text, re.M)[0])
            row = re.split(r"\s+", re.search(r"^English-EWT .*$", text, re.M)[0])
            (scores,) = named.card["scores"]
            for name in ("UAS", "LAS"):
                assert float(row[header.index(name)]) == 100 * scores[name.lower()]
            assert named.card["licence"] in text

    @pytest.mark.parametrize(
        ("text", "arcs"),
        [
            ("Dogs like bones.", ["Dogs nsubj like", "like root root", "bones obj like"]),
            (
                "The man that we met left early.",
                ["man nsubj left", "left root root", "met acl man"],
            ),
        ],
    )
    def test_the_english_parser_reads_everyday_sentences(self, text, arcs, bundled):
        """Words with rare tags, and relative clauses between a subject and its verb."""
        (tree,) = bundled.parse_text(text)
        heads = ["root", *tree.forms]
        columns = zip(tree.forms, tree.deprels, tree.heads, strict=True)
        found = [f"{form} {name.split(':')[0]} {heads[head]}" for form, name, head in columns]
        assert set(arcs) <= set(found)
