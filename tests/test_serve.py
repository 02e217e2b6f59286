"""The web service: requests as the clients of UDPipe send them, refusals, and many at once."""

import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.policy import HTTP
from pathlib import Path
from threading import Thread
from urllib.parse import quote, urlencode
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from sklearn_shag import service
from sklearn_shag.cli._main import main
from sklearn_shag.datasets import load_parser
from sklearn_shag.service import AppServer, make_app
from sklearn_shag.service._app import ParserApp
from sklearn_shag.service._models import open_served
from sklearn_shag.treebank import DependencyTree, iter_jsonl, read_conllu

ALL = {"tokenizer": "", "tagger": "", "parser": ""}
TEXT = "Dogs bark. She didn't see it."


@pytest.fixture(scope="module")
def parser():
    return load_parser()


@pytest.fixture(scope="module")
def served(parser):
    return open_served(parser, 500)


@pytest.fixture
def serve(served):
    """Start a server in this process, and return its address."""
    started = []

    def start(confidence=False, max_bytes=2**22, answering=120.0, **models):
        app = ParserApp(models or {"english": served}, confidence, max_bytes, answering)
        server = AppServer(app, "127.0.0.1", 0, 16)
        thread = Thread(target=server.run)
        thread.start()
        started.append((server, thread))
        return f"http://127.0.0.1:{server.port}"

    yield start
    for server, thread in started:
        server.stop()
        thread.join()


def ask(address, fields=None, **options):
    """Send a request, a form unless there are other data, and return status and answer."""
    data = None if fields is None else urlencode(fields).encode()
    request = urllib.request.Request(address, **({"data": data} | options))
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def send(address, data):
    """Send bytes, and return all that comes back."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def refuse(address, fields=None, *, status=400, **options):
    """Check that a request is refused with one line, and return it."""
    code, reason = ask(address, fields, **options)
    assert code == status, (code, reason)
    assert reason.endswith("\n")
    assert reason.count("\n") == 1
    assert "Traceback" not in reason
    return reason


def parse(monkeypatch, capsys, text, *options):
    """The output of the command parse for a text on standard input."""
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    capsys.readouterr()
    assert main(["parse", "english", "-", "--input", "text", *options]) == 0
    return capsys.readouterr().out


def as_udpipe_client_sends(fields):
    """A body as made by udpipe2_client.py: parts of text in UTF-8, and no header before them."""
    message = MIMEMultipart("form-data", policy=HTTP)
    for name, value in fields.items():
        part = MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value, charset="utf-8")
        message.attach(part)
    _, body = message.as_bytes().split(b"\r\n\r\n", 1)
    return {"data": body, "headers": {"Content-Type": message["Content-Type"]}}


def test_answers_are_those_of_the_command(serve, english, monkeypatch, capsys):
    address = serve() + "/process"
    long = "\n\n".join(" ".join(tree.forms) for tree in english[:300])  # several pieces
    for text in (TEXT, "", " \n", "Café — naïve.\r\n\r\nTwo\tlines & a=b; 100%+1.", long):
        status, answer = ask(address, ALL | {"data": text})
        assert status == 200
        assert answer["model"] == "english"
        assert answer["acknowledgements"] == []
        assert answer["result"] == parse(monkeypatch, capsys, text)


def test_with_confidence_answers_hold_what_udpipe_lacks(serve, monkeypatch, capsys):
    _, answer = ask(serve(confidence=True) + "/process", ALL | {"data": TEXT})
    assert "Confidence=" in answer["result"]
    assert answer["result"] == parse(monkeypatch, capsys, TEXT, "--confidence")


def test_the_client_of_udpipe(serve):
    """It asks for the models, and sends the default format of inputs along."""
    address = serve()
    models = {"models": {"english": ["tokenizer", "tagger", "parser"]}, "default_model": "english"}
    assert ask(f"{address}/models") == (200, models)
    fields = {"input": "conllu", "output": "conllu", "data": f"Café.\n{TEXT}", **ALL}
    expected = ask(f"{address}/process", fields)
    assert expected[0] == 200
    assert "# text = Café." in expected[1]["result"]
    assert ask(f"{address}/process", **as_udpipe_client_sends(fields))[1]["model"] == "english"
    sent = as_udpipe_client_sends(fields | {"data": TEXT, "model": "english"})
    assert ask(f"{address}/process", **sent) == ask(f"{address}/process", ALL | {"data": TEXT})


def test_the_client_of_conllu_editor(serve):
    """What gui/parse.js takes from a field of text its server hands on, as a form."""
    options = "tokenizer=,tagger=,parser="
    form = f"data={quote(TEXT)}&" + options.replace(",", "&")
    answer = send(
        serve(),
        b"POST /process HTTP/1.1\r\nUser-Agent: Java/11\r\nHost: localhost\r\n"
        b"Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2\r\nConnection: keep-alive"
        b"\r\nContent-type: application/x-www-form-urlencoded\r\nContent-Length: "
        + f"{len(form)}\r\n\r\n{form}".encode(),
    )
    header, _, body = answer.partition(b"\r\n\r\n")
    assert header.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Access-Control-Allow-Origin: *" in header
    sentences = read_conllu(io.StringIO(json.loads(body)["result"]))
    assert [tree.text for tree in sentences] == ["Dogs bark.", "She didn't see it."]


def test_get_form_and_multipart_are_one(serve):
    address = serve() + "/process"
    fields = ALL | {"data": "Ça va? 1+1 = 2; a&b.\n\n\tYes."}
    by_form = ask(address, fields)
    assert by_form[0] == 200
    assert ask(f"{address}?{urlencode(fields)}") == by_form
    assert ask(f"{address}?tokenizer&tagger", {"data": fields["data"], "parser": "1"}) == by_form
    body = b"".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    assert ask(address, data=body + b"--x--\r\n", headers=headers) == by_form


def read(answer):
    status, answer = answer
    assert status == 200, answer
    return read_conllu(io.StringIO(answer["result"])) if answer["result"] else []


def test_only_the_tasks_that_are_asked_for_are_done(serve, parser):
    address = serve() + "/process"
    (whole,) = parser.parse_text("Dogs bark.")
    (split,) = read(ask(address, {"tokenizer": "", "data": "Dogs bark."}))
    assert split.forms == whole.forms
    assert split.heads is None
    assert set(split.upos) == {"_"}
    (tagged,) = read(ask(address, {"tokenizer": "", "tagger": "", "data": "Dogs bark."}))
    assert tagged.heads is None
    assert (tagged.upos, tagged.lemmas) == (whole.upos, whole.lemmas)
    (parsed,) = read(ask(address, {"tokenizer": "", "parser": "", "data": "Dogs bark."}))
    assert parsed.heads.tolist() == whole.heads.tolist()
    assert set(parsed.upos) == {"_"}
    # Of sentences that are split, what is not asked for stays as it is.
    own = DependencyTree(["Dogs", "bark"], [0, 1], upos=["X", "Y"], lemmas=["a", "b"])
    given = own.with_text("Dogs bark").with_sent_id("mine").with_misc("Kept", ["1", None])
    sent = {"data": given.to_conllu()}
    assert ask(address, sent)[1]["result"] == given.to_conllu()
    (parsed,) = read(ask(address, sent | {"parser": ""}))
    assert (parsed.upos, parsed.lemmas) == (own.upos, own.lemmas)
    assert parsed.heads.tolist() == parser.parse([given])[0].heads.tolist()
    assert (parsed.sent_id, parsed.misc) == ("mine", ("Kept=1", "_"))
    (tagged,) = read(ask(address, sent | {"tagger": ""}))
    assert tagged.heads.tolist() == [0, 1]
    assert tagged.upos == parser.parse([given])[0].upos
    (both,) = read(ask(address, sent | {"tagger": "", "parser": ""}))
    assert both.to_conllu() == parser.parse([given])[0].to_conllu()


def test_formats_of_sentences(serve):
    address = serve() + "/process"
    sentences = read(ask(address, ALL | {"data": "no mark\nand more", "tokenizer": "presegmented"}))
    assert [tree.text for tree in sentences] == ["no mark", "and more"]
    tasks = {"tagger": "", "parser": ""}
    given = {"input": "horizontal", "data": "Dogs bark .\nIt rains .\n", **tasks}
    sentences = read(ask(address, given))
    assert [len(tree) for tree in sentences] == [3, 3]
    assert sentences[0].upos[2] == "PUNCT"
    given = {"input": "vertical", "data": "\nDogs\nbark\n.\n\n\nIt\r\nrains\r\n.\r\n", **tasks}
    assert read(ask(address, given)) == sentences
    assert read(ask(address, given | {"data": "in spite of\nit"}))[0].forms == ("in spite of", "it")


def test_formats_of_trees(serve, parser, monkeypatch, capsys):
    address = serve() + "/process"
    text = "\ufeffDogs\nbark.\r\n\n  She  didn't see it."

    def write(output, **fields):
        status, answer = ask(address, ALL | {"data": text, "output": output} | fields)
        assert status == 200, answer
        return answer["result"]

    assert write("horizontal") == "Dogs bark .\nShe did n't see it .\n"
    assert write("vertical") == "Dogs\nbark\n.\n\nShe\ndid\nn't\nsee\nit\n.\n\n"
    words = {"input": "vertical", "data": "in spite of\nit"}
    answer = ask(address, words | {"output": "horizontal"})[1]
    assert answer["result"] == "in\xa0spite\xa0of it\n"
    assert write("plaintext") == text[1:].replace("\r\n", "\n")
    assert write("jsonl") == parse(monkeypatch, capsys, text, "--output-format", "jsonl")
    assert write("jsonl", data="") == parse(monkeypatch, capsys, "", "--output-format", "jsonl")
    sure = ask(serve(confidence=True) + "/process", ALL | {"data": text, "output": "jsonl"})
    options = "--output-format", "jsonl", "--confidence"
    assert sure[1]["result"] == parse(monkeypatch, capsys, text, *options)
    given = {"data": parser.parse_text(TEXT)[1].to_conllu(), "output": "jsonl"}
    (line,) = ask(address, given)[1]["result"].splitlines()
    (tree,) = iter_jsonl(io.StringIO(line))
    assert tree.to_conllu() == given["data"]


def test_normalized_spaces(serve):
    """MISC tells no more of white space than CoNLL-U itself knows; all else is as it was."""
    address = serve() + "/process"
    fields = ALL | {"data": " \tDogs\u00a0bark .  It|SpacesAfter=x|y\tdidn't rain.\n\nYes ."}
    whole = ask(address, fields)[1]["result"]
    assert {"SpacesBefore", "SpacesAfter"} <= set(re.findall(r"\bSpaces[A-Z]\w+", whole))
    for options in ("normalized_spaces", "presegmented;normalized_spaces;ranges"):
        found = ask(address, fields | {"tokenizer": options})[1]["result"]
        for line in found.splitlines():
            if not line.startswith("#") and line:
                assert "Spaces" not in line.split("\t")[9]
        if options == "normalized_spaces":
            misc = r"(?<=\t)(SpaceAfter=No\|)?(Spaces(After|Before)=[^|\t\n]+\|)+(?=TokenRange)"
            assert found == re.sub(misc, r"\1", whole)
            assert "# text = Dogs bark" in found.replace("\u00a0", " ")


def show(address, **fields):
    body = json.dumps(fields).encode()
    return ask(f"{address}/trees", data=body, headers={"Content-Type": "application/json"})


def test_trees(serve, parser):
    """What the page asks for: the best trees of each sentence, as `parse` finds them."""
    address = serve()
    status, sentences = show(address, text=TEXT, k=3)
    assert status == 200
    found = parser.parse_text(TEXT, n_best=3, confidence=True)
    assert [list(each) for each in sentences] == [["text", "multiword_tokens", "trees"]] * 2
    for sentence, trees in zip(sentences, found, strict=True):
        content = trees[0].to_dict()
        assert sentence["text"] == content["text"]
        assert sentence["multiword_tokens"] == content["multiword_tokens"]
        scores = [tree["score"] for tree in sentence["trees"]]
        assert scores == sorted(scores, reverse=True)
        for shown, tree in zip(sentence["trees"], trees, strict=True):
            assert f"# score = {shown['score']:.4f}" in tree.comments
            for number, token in enumerate(shown["tokens"], start=1):
                assert token.pop("id") == number
                likely = f"Confidence={token.pop('probability'):.4f}"
                assert likely in tree.misc[number - 1].split("|")
                content = tree.to_dict()
                assert token == {name: content[name][number - 1] for name in token}
                assert list(token) == ["form", "lemma", "upos", "xpos", "feats", "head", "deprel"]
    assert show(address, text=TEXT, model="english")[1] == [
        sentence | {"trees": sentence["trees"][:1]} for sentence in show(address, text=TEXT, k=3)[1]
    ]
    assert show(address, text=" \n") == (200, [])


def test_what_is_refused_of_trees(serve, served):
    address = serve(english=served, plain=served._replace(tasks=["parser"]))
    for k in (0, 21, -1, 1.0, True, "2", None, [1], 10**400):
        assert "whole number from 1 to 20" in show(address, text="x", k=k)[1]
    for fields in ({}, {"text": None}, {"text": ["x"]}, {"k": 1}):
        assert "The body must be JSON" in show(address, **fields)[1]
    assert "no parameter modell" in show(address, text="x", modell="english")[1]
    assert "There is no model" in show(address, text="x", model=["english"])[1]
    assert "no tokenizer" in show(address, text="x", model="plain")[1]
    assert "NUL" in show(address, text="a\0b")[1]
    deep = b"[" * 200_000
    for body in (b"", b"[]", b"x", b"\xff", b'{"text": "\\ud800"}', deep, b'"' + deep, b"1" * 5000):
        refuse(f"{address}/trees", data=body)
    assert "4,194,304 bytes" in refuse(f"{address}/trees", data=b" " * (2**22 + 1), status=413)


def see(address, method="GET"):
    """Send a request, and return status, headers and body."""
    request = urllib.request.Request(address, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_methods(serve):
    address = serve()
    status, headers, body = see(f"{address}/health")
    assert (status, body) == (200, b"The models are ready.\n")
    for path in ("/", "/health", "/models", f"/process?{urlencode(ALL | {'data': TEXT})}"):
        status, headers, body = see(address + path)
        again = see(address + path, "HEAD")
        assert (again[0], again[2]) == (200, b"")
        assert again[1]["Content-Length"] == headers["Content-Length"] == str(len(body))
    for path, methods in {
        "/": "GET, HEAD, OPTIONS",
        "/health": "GET, HEAD, OPTIONS",
        "/process": "GET, HEAD, POST, OPTIONS",
        "/trees": "POST, OPTIONS",
    }.items():
        status, headers, body = see(address + path, "OPTIONS")
        assert (status, headers["Allow"], body) == (200, methods, f"{methods}\n".encode())
        assert headers["Access-Control-Allow-Methods"] == methods
        assert headers["Access-Control-Allow-Headers"] == "Content-Type"
        for method in {"GET", "POST", "PUT", "DELETE", "TRACE"} - set(methods.split(", ")):
            status, headers, body = see(address + path, method)
            assert (status, headers["Allow"]) == (405, methods)
            assert body == f"The methods of {path} are {methods}.\n".encode()


def test_no_other_file_is_read(serve):
    """There are four, and nothing from a request becomes part of a path."""
    address = serve()
    folder = Path(service.__file__).parent
    for path in (
        "/index.html",
        "/page/index.html",
        "/__init__.py",
        "/../__init__.py",
        "/page/../__init__.py",
        "/%2e%2e/__init__.py",
        "/..%2f__init__.py",
        f"/{folder}/__init__.py",
        f"//{folder}/__init__.py",
        "/style.css/",
        "/style.css%00",
        "/%5c..%5c__init__.py",
    ):
        answer = send(address, f"GET {path} HTTP/1.1\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 404 "), path
        assert answer.endswith(b"/process, /trees, /health, /, /style.css, /page.js, /tree.js.\n")


def test_nothing_from_requests_is_run_by_a_browser(serve, served):
    """Whatever a browser shows as a page is a file of the package, and not made of requests."""
    mark = "<script>alert(1)</script>"
    server = serve(**{"english": served, mark: served})
    query = urlencode({"model": f"{mark}?", "data": mark})
    for path in (f"/process?{query}", f"/{mark}", f"/models?{mark}", f"/process?{mark}=1"):
        _, headers, _ = see(server + quote(path, safe="/?=&"))
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/models", f"/process?{urlencode(ALL | {'data': mark, 'model': mark})}"):
        status, headers, _ = see(server + path)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'self'"


def test_any_server_by_the_standard(served):
    """The validator of the standard library finds nothing; bodies may have no known length."""
    app = validator(ParserApp({"english": served}, False, 100, 120.0))

    def call(body=b"", **environ):
        found = []
        given = {"wsgi.input": io.BytesIO(body), "PATH_INFO": "/process"}
        given |= {"SCRIPT_NAME": "", "QUERY_STRING": ""} | environ
        setup_testing_defaults(given)
        answer = app(given, lambda status, headers, error=None: found.append(status))
        found += list(answer)
        answer.close()
        return found

    form = {"CONTENT_TYPE": "application/x-www-form-urlencoded", "REQUEST_METHOD": "POST"}
    body = b"data=%20&tokenizer"
    status, answer = call(body, **form, CONTENT_LENGTH=str(len(body)))
    assert status == "200 OK"
    assert json.loads(answer)["result"] == ""
    # As servers hand on what comes in chunks.
    assert call(body, **form, **{"wsgi.input_terminated": True}) == [status, answer]
    assert call(body, **form, CONTENT_LENGTH="19")[1] == b"The body ends early.\n"
    for size in (101, 5000):
        chunked = call(size * b"x", **form, **{"wsgi.input_terminated": True})
        known = call(size * b"x", **form, CONTENT_LENGTH=str(size))
        assert chunked == known == ["413 Request Entity Too Large", known[1]]
    assert call(body, **form)[1] == b"No data.\n"  # nothing says that there is a body


def test_what_is_refused(serve, served):
    tagless = served._replace(tasks=["tokenizer", "parser"])
    server = serve(plain=served._replace(tasks=["parser"]), english=tagless)
    address, given = f"{server}/process", {"data": "x"}
    assert "x" not in refuse(f"{server}/x?secret", status=404)
    refuse(f"{server}/models/x", status=404)
    assert "data" in refuse(address)
    for model in ("../x", "/etc/passwd", "english.npz", "english\n", "x" * 1000):
        reason = refuse(address, given | {"model": model})
        assert reason.startswith("There is no model")
        assert reason.endswith(", only plain, english.\n")
    assert "no parameter" in refuse(address, given | {"modell": "english"})
    assert "no parameter" in refuse(f"{server}/models?x=")
    assert "no tagger" in refuse(address, given | {"tagger": "", "model": "english"})
    assert "no tokenizer" in refuse(address, given | {"tokenizer": ""})
    english_text = given | {"model": "english", "tokenizer": "ranges;joint_with_parsing"}
    assert "no tokenizer ranges;joint_with_parsing" in refuse(address, english_text)
    for name in ("generic_tokenizer", "epe", "matxin", "../x"):
        assert "conllu, horizontal, vertical," in refuse(address, given | {"input": name})
        assert "plaintext, jsonl." in refuse(address, given | {"output": name})
    assert "10 columns" in refuse(address, given | {"parser": ""})  # no CoNLL-U
    text = {"model": "english", "tokenizer": ""}
    assert "NUL" in refuse(address, text | {"data": "a\0b"})
    long = "a " * 501
    reason = refuse(address, {"input": "horizontal", "parser": "", "data": long})
    assert "max_tokens=500" in reason


def test_bad_encodings(serve):
    server = serve()
    address, form = f"{server}/process", {"Content-Type": "application/x-www-form-urlencoded"}
    assert "utf-8" in refuse(f"{address}?tokenizer&data=%ff")
    assert "utf-8" in refuse(address, data=b"tokenizer&data=%ff", headers=form)
    assert "utf-8" in refuse(address, data=b"tokenizer&data=\xff", headers=form)
    parts = {"Content-Type": "multipart/form-data; boundary=x"}
    body = b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n\xff\r\n--x--\r\n'
    assert "utf-8" in refuse(f"{address}?tokenizer", data=body, headers=parts)
    for broken in (b"--x", b"--x\r\n\r\n", b"nothing", b"--y--"):
        refuse(address, data=broken, headers=parts)
    refuse(address, data=b"x", headers={"Content-Type": "multipart/form-data"})
    for kind in ("text/plain", "application/json", "x"):
        assert "urlencoded or multipart" in refuse(
            address, data=b'{"data": 1}', headers={"Content-Type": kind}
        )
    for request in (
        b"GET /process?data=\xe9 HTTP/1.1\r\n\r\n",
        b"POST /process HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"\0\xff\r\n\r\n",
    ):
        assert re.match(rb"HTTP/1\.[01] 400 ", send(server, request))
    assert ask(f"{server}/models")[0] == 200


@pytest.mark.parametrize("kind", ["form", "multipart", "plain"])
def test_bodies_that_are_too_large(serve, kind):
    address = serve() + "/process"
    for size in (4 * 2**20 + 1, 12 * 2**20):
        if kind == "multipart":
            sent = as_udpipe_client_sends({"data": size * "x"})
        else:
            types = {"form": "application/x-www-form-urlencoded", "plain": "text/plain"}
            sent = {"data": b"data=" + size * b"x", "headers": {"Content-Type": types[kind]}}
        assert "4,194,304 bytes" in refuse(address, status=413, **sent)


@pytest.mark.parametrize("part", [b"name=a", b"\r\n", b"\r\n--x", b"=&", b"%ff", b"--x\r\n\r\n"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "multipart/form-data", "form"])
def test_no_body_takes_long(serve, part, kind):
    begin = b'--x\r\nContent-Disposition: form-data; filename="name=b'
    body = (begin + part * (2**22 // len(part)))[: 2**22 - 7] + b"\r\n--x--"
    kind = {"form": "application/x-www-form-urlencoded"}.get(kind, kind)
    begun = time.monotonic()
    refuse(serve() + "/process", data=body, headers={"Content-Type": kind})
    assert time.monotonic() - begun < 20


def test_errors_of_the_program_are_not_shown(serve, served, capsys):
    def fail(sentences):
        raise RuntimeError("secret")

    broken = served._replace(opened=served.opened._replace(transform=fail))
    address = serve(broken=broken) + "/process"
    reason = refuse(address, {"data": "Dogs .\n", "input": "horizontal", "parser": ""}, status=500)
    assert "secret" not in reason
    assert "RuntimeError: secret" in capsys.readouterr().err


def test_an_answer_that_takes_too_long_is_given_up(serve):
    address = serve(answering=0.5) + "/process"
    assert "too long" in refuse(address, ALL | {"data": 5000 * TEXT}, status=503)
    assert ask(address, ALL | {"data": "Dogs bark."})[0] == 200


def test_concurrent_answers_are_those_one_by_one(serve, english):
    address = serve(confidence=True) + "/process"
    texts = [" ".join(tree.forms) for tree in english[:40]]
    fields = [ALL | {"data": text} for text in texts]
    serial = [ask(address, each) for each in fields]
    assert all(status == 200 for status, _ in serial)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: ask(address, each), 5 * fields))
    assert found == 5 * serial


def test_a_short_text_need_not_wait_for_a_long_one(serve, english):
    address = serve() + "/process"
    long = "\n\n".join(" ".join(tree.forms) for tree in 10 * english[:300])
    with ThreadPoolExecutor(1) as threads:
        begun = time.monotonic()
        work = threads.submit(ask, address, ALL | {"data": long})
        time.sleep(0.1)
        assert ask(address, ALL | {"data": TEXT})[0] == 200
        of_short = time.monotonic() - begun
        assert len(read(work.result())) >= 3000
        assert of_short < (time.monotonic() - begun) / 2


def test_slow_and_idle_connections_do_not_stop_others(serve):
    server = serve()
    host, port = server.removeprefix("http://").split(":")
    with ExitStack() as stack:
        for k in range(200):  # some are idle, some have begun
            connection = stack.enter_context(socket.create_connection((host, int(port))))
            begun = b"POST /process HTTP/1.1\r\nContent-Length: 100\r\n" + b"\r\nd" * (k % 3 == 1)
            connection.sendall(begun if k % 3 else b"")
        begun = time.monotonic()
        for _ in range(20):
            assert ask(f"{server}/process", ALL | {"data": TEXT})[0] == 200
        assert time.monotonic() - begun < 10


def test_a_client_that_leaves_is_no_error(serve, capsys):
    server = serve()
    host, port = server.removeprefix("http://").split(":")
    query = urlencode(ALL | {"data": 50 * TEXT})
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET /process?{query} HTTP/1.1\r\n\r\n".encode())
    assert ask(f"{server}/models")[0] == 200
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_finishes_what_is_under_way(number):
    command = [sys.executable, "-m", "sklearn_shag", "serve", "english", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # Processes in the background of a shell ignore SIGINT, and so would this one.
    pipes["preexec_fn"] = lambda: signal.signal(number, signal.SIG_DFL)
    with subprocess.Popen(command, **pipes) as process, ExitStack() as stack:
        stack.callback(process.kill)  # if the test fails
        line = process.stdout.readline().decode()
        server = re.fullmatch(r"english: (http://127\.0\.0\.1:\d+)\n", line)[1]
        host, port = server.removeprefix("http://").split(":")
        address = host, int(port)
        form = urlencode(ALL | {"data": TEXT}).encode()
        head = b"POST /process HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        head += f"Content-Length: {len(form)}\r\n\r\n".encode()
        sent = {b"": False, head + form[:-1]: False, b"GET /models HTT": False, head + form: True}
        with ThreadPoolExecutor(20) as threads:
            # All threads that answer have work, so that the rest has to wait.
            fields = ALL | {"data": 400 * f"{TEXT}\n\n"}
            long = [threads.submit(ask, f"{server}/process", fields) for _ in range(17)]
            time.sleep(0.5)
            others = [stack.enter_context(socket.create_connection(address)) for _ in sent]
            for connection, data in zip(others, sent, strict=True):
                connection.sendall(data)
            process.send_signal(number)
            time.sleep(0.3)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address)
            assert not any(work.done() for work in long)
            for connection, is_answered in zip(others, sent.values(), strict=True):
                connection.settimeout(120)
                answer = b"".join(iter(lambda c=connection: c.recv(1 << 16), b""))
                assert (b"200 OK" in answer) == is_answered
            for work in long:
                status, answer = work.result()
                assert status == 200
                assert answer["result"].count("# sent_id = ") == 800
        assert process.wait(120) == 0
        assert process.stderr.read() == b""


def test_workers_of_gunicorn_that_are_killed(tmp_path):
    """Threads begin after the fork; without one worker, the others go on, and it is replaced."""
    config = pytest.importorskip("gunicorn.config", reason="needs gunicorn")
    code = """
import os
from sklearn_shag.service import make_app
app = make_app(["english"])
def tell(environ, start_response):
    worker = [("Worker", str(os.getpid()))]
    return app(environ, lambda status, headers: start_response(status, headers + worker))
"""
    (tmp_path / "told.py").write_text(code)
    command = [sys.executable, "-m", "gunicorn", "told:tell", "--bind", "127.0.0.1:0"]
    command += ["--workers", "2", "--threads", "8", "--preload", "--chdir", str(tmp_path)]
    # Newer ones have a socket, in the home folder.
    command += ["--no-control-socket"] * ("control_socket" in config.Config().settings)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            log = iter(process.stderr.readline, "")
            found = next(filter(None, (re.search(r"Listening at: (\S+)", line) for line in log)))
            server = found[1]

            def find_worker(_):
                return int(see(f"{server}/process?{urlencode(ALL | {'data': TEXT})}")[1]["Worker"])

            with ThreadPoolExecutor(8) as threads:
                workers = set()
                while len(workers) < 2:
                    workers.update(threads.map(find_worker, range(50)))
                fields = ALL | {"data": 500 * f"{TEXT}\n\n"}
                long = [threads.submit(ask, f"{server}/process", fields) for _ in range(6)]
                time.sleep(0.5)
                killed = min(workers)
                os.kill(killed, signal.SIGKILL)
                answers = [work.exception() or work.result() for work in long]
                assert all(
                    isinstance(answer, (OSError, http.client.HTTPException))
                    or (answer[0], answer[1]["result"].count("# sent_id")) == (200, 1000)
                    for answer in answers
                )
                assert killed not in set(threads.map(find_worker, range(50)))
                while len(workers) < 3:
                    workers.update(threads.map(find_worker, range(50)))
            process.terminate()
            process.stderr.read()
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_without_waitress(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "waitress", None)
    assert main(["serve", "english", "--port", "0"]) == 1
    message = "serve needs waitress: pip install 'sklearn-shag[service]'."
    assert capsys.readouterr().err == f"sklearn-shag serve: error: {message}\n"


def test_wrong_models(tmp_path, capsys):
    for models in (["english", "english"], [str(tmp_path / "none.npz")]):
        assert main(["serve", *models]) == 1
        err = capsys.readouterr().err
        assert err.startswith("sklearn-shag serve: error: ")
        assert err.count("\n") == 1


def test_tasks_of_models(tmp_path, english, capsys):
    """A model that reads tags has no tagger, and one of tokens no tokenizer."""
    from sklearn_shag import BiaffineParser, CRFParser, save_model

    small = {"max_iter": 1, "calibrate": False}
    crf = CRFParser(["upos"], n_features=2**12, **small).fit(english[:40])
    save_model(crf, tmp_path / "crf.npz")
    tags = BiaffineParser(tags="upos", hidden_layer_sizes=[4], **small).fit(english[:40])
    save_model(tags, tmp_path / "tags.npz")
    app = make_app([tmp_path / "crf.npz", "english", f"own={tmp_path / 'tags.npz'}"], max_tokens=9)
    tasks = {name: model.tasks for name, model in app.models.items()}
    expected = {"crf": ["parser"], "english": list(ALL), "own": ["tagger", "parser"]}
    assert tasks == expected
    mapped = make_app({"a": crf, "b": tmp_path / "crf.npz"})
    assert list(mapped.models) == ["a", "b"]
    for models in ([], {}, ["english", "english"], ["a=english", f"a={tmp_path / 'crf.npz'}"]):
        with pytest.raises(ValueError, match="at least one model, and no two of one name"):
            make_app(models)
    with pytest.raises(TypeError, match="got a Splitter, which has no parse"):
        make_app({"splitter": load_parser()[0]})
