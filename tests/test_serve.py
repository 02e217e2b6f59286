"""The web service: requests as the clients of UDPipe send them, refusals, and many at once."""

import http.client
import io
import json
import os
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.policy import HTTP
from pathlib import Path
from threading import Thread
from unittest.mock import Mock
from urllib.parse import quote, urlencode, urlsplit
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from sklearn_shag import service
from sklearn_shag.cli._main import main
from sklearn_shag.service import AppServer
from sklearn_shag.service._app import ParserApp
from sklearn_shag.service._models import open_served
from sklearn_shag.treebank import DependencyTree, iter_jsonl, read_conllu
from tests.processes import run_gunicorn, starting

ALL = {"tokenizer": "", "tagger": "", "parser": ""}
TEXT = "Dogs bark. She didn't see it."
DOGS = ["Dogs bark .", "It rains ."]
FORM = "application/x-www-form-urlencoded"
NO_FORMATS = ["generic_tokenizer", "epe", "matxin", "../x"]


@pytest.fixture(scope="module")
def served(bundled):
    return open_served(bundled, 500)


@contextmanager
def serving(app):
    """A server of an application in this process, by its address."""
    server = AppServer(app, "127.0.0.1", 0, 16)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()
        thread.join()


@pytest.fixture
def serve(served):
    """Start a server in this process, and return its address."""
    with ExitStack() as started:

        def start(confidence=False, answering=120.0, **models):
            app = ParserApp(models or {"english": served}, confidence, 2**22, answering)
            return started.enter_context(serving(app))

        yield start


def see(address, fields=None, **options):
    """Send a request, a form unless there are other data; return status, headers and body."""
    data = None if fields is None else urlencode(fields).encode()
    request = urllib.request.Request(address, **({"data": data} | options))
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def ask(address, fields=None, **options):
    """Send a request, and return status and answer, or what is said against it."""
    status, _, body = see(address, fields, **options)
    return status, json.loads(body) if status == 200 else body.decode()


def connect(address, data=b""):
    """Open a connection, and send bytes."""
    connection = socket.create_connection(("127.0.0.1", urlsplit(address).port), timeout=120)
    connection.sendall(data)
    return connection


def send(address, data):
    """Send bytes, and return all that comes back."""
    with connect(address, data) as connection:
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


def refuse(address, fields=None, *, status=400, **options):
    """Check that a request is refused with one line, and return it."""
    code, reason = ask(address, fields, **options)
    assert code == status, (code, reason)
    assert reason.count("\n") == 1
    assert reason.endswith("\n")
    return reason


def parse(monkeypatch, capsys, text, *options):
    """The output of the command parse for a text on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
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


@pytest.mark.usefixtures("quick_english")
def test_answers_are_those_of_the_command(serve, english, monkeypatch, capsys):
    address = serve() + "/process"
    long = "\n\n".join(" ".join(tree.forms) for tree in english[:300])  # several pieces
    for text in (TEXT, "", " \n", "Café — naïve.\r\n\r\nTwo\tlines & a=b; 100%+1.", long):
        result = parse(monkeypatch, capsys, text)
        answer = {"model": "english", "acknowledgements": [], "result": result}
        assert ask(address, ALL | {"data": text}) == (200, answer)


def test_get_form_and_multipart_are_one(serve):
    """The client of UDPipe asks for the models, and sends the default format of inputs along."""
    address = serve()
    models = {"models": {"english": ["tokenizer", "tagger", "parser"]}, "default_model": "english"}
    assert ask(f"{address}/models") == (200, models)
    address = f"{address}/process"
    fields = ALL | {"input": "conllu", "output": "conllu", "data": f"Café. {TEXT}"}
    sent = as_udpipe_client_sends(fields | {"model": "english"})
    assert ask(address, **sent) == ask(address, ALL | {"data": fields["data"]})
    fields["data"] = "Ça va? 1+1 = 2; a&b.\n\n\tYes."
    assert ask(address, **as_udpipe_client_sends(fields))[1]["model"] == "english"
    by_form = ask(address, fields)
    assert "# text = Ça va?" in by_form[1]["result"]
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


def test_only_the_tasks_that_are_asked_for_are_done(serve, bundled):
    address = serve() + "/process"

    def columns(data, *tasks):
        (tree,) = read(ask(address, {"data": data} | dict.fromkeys(tasks, "")))
        return (
            tree.forms,
            tree.upos,
            tree.lemmas,
            tree.heads if tree.heads is None else [*tree.heads],
        )

    (whole,) = bundled.parse_text("Dogs bark.")
    forms, upos, lemmas, heads = whole.forms, whole.upos, whole.lemmas, [*whole.heads]
    none = ("_",) * 3
    for tasks, expected in {
        ("tokenizer",): (forms, none, none, None),
        ("tokenizer", "tagger"): (forms, upos, lemmas, None),
        ("tokenizer", "parser"): (forms, none, none, heads),
    }.items():
        assert columns("Dogs bark.", *tasks) == expected
    # Of sentences that are split, what is not asked for stays as it is.
    own = DependencyTree(["Dogs", "bark"], [0, 1], upos=["X", "Y"], lemmas=["a", "b"])
    given = own.with_text("Dogs bark").with_sent_id("mine").with_misc("Kept", ["1", None])
    sent, (new,) = {"data": given.to_conllu()}, bundled.parse([given])
    assert ask(address, sent)[1]["result"] == given.to_conllu()
    forms = "Dogs", "bark"
    assert columns(given.to_conllu(), "parser") == (forms, own.upos, own.lemmas, [*new.heads])
    assert columns(given.to_conllu(), "tagger") == (forms, new.upos, new.lemmas, [0, 1])
    (parsed,) = read(ask(address, sent | {"parser": ""}))
    assert (parsed.sent_id, parsed.misc) == ("mine", ("Kept=1", "_"))
    assert ask(address, sent | {"tagger": "", "parser": ""})[1]["result"] == new.to_conllu()


def test_formats_of_sentences(serve):
    tasks = {"tagger": "", "parser": ""}
    found = []
    for fields, forms in [
        ({"tokenizer": "presegmented", "data": "no mark\nand more"}, ["no mark", "and more"]),
        ({"input": "horizontal", "data": "Dogs bark .\nIt rains .\n"}, DOGS),
        ({"input": "vertical", "data": "\nDogs\nbark\n.\n\n\nIt\r\nrains\r\n.\r\n"}, DOGS),
        ({"input": "vertical", "data": "in spite of\nit"}, ["in spite of it"]),
    ]:
        found.append(read(ask(f"{serve()}/process", tasks | fields)))
        assert [" ".join(tree.forms) for tree in found[-1]] == forms
    assert found[1] == found[2]
    assert [found[1][0].upos[2], found[3][0].forms[0]] == ["PUNCT", "in spite of"]


@pytest.mark.usefixtures("quick_english")
def test_formats_of_trees(serve, bundled, monkeypatch, capsys):
    text = "\ufeffDogs\nbark.\r\n\n  She  didn't see it."
    lines = "--output-format", "jsonl"
    addresses = {is_sure: f"{serve(confidence=is_sure)}/process" for is_sure in (False, True)}
    for output, expected, fields in [
        ("horizontal", "Dogs bark .\nShe did n't see it .\n", {}),
        ("vertical", "Dogs\nbark\n.\n\nShe\ndid\nn't\nsee\nit\n.\n\n", {}),
        ("plaintext", text[1:].replace("\r\n", "\n"), {}),
        ("jsonl", parse(monkeypatch, capsys, text, *lines), {}),
        ("jsonl", parse(monkeypatch, capsys, "", *lines), {"data": ""}),
        ("jsonl", parse(monkeypatch, capsys, text, *lines, "--confidence"), {"is_sure": True}),
    ]:
        address = addresses[fields.pop("is_sure", False)]
        status, answer = ask(address, ALL | {"data": text, "output": output} | fields)
        assert (status, answer["result"]) == (200, expected)
    words = {"input": "vertical", "data": "in spite of\nit", "output": "horizontal"}
    assert ask(address, words)[1]["result"] == "in\xa0spite\xa0of it\n"
    given = {"data": bundled.parse_text(TEXT)[1].to_conllu(), "output": "jsonl"}
    (line,) = ask(addresses[False], given)[1]["result"].splitlines()
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


def test_trees(serve, bundled):
    """What the page asks for: the best trees of each sentence, as `parse` finds them."""
    address = serve()
    status, sentences = show(address, text=TEXT, k=3)
    assert status == 200
    found = bundled.parse_text(TEXT, n_best=3, confidence=True)
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
    for fields, reason in [
        *[({"k": k}, "whole number from 1 to 20") for k in (0, 21, -1, 1.0, True, "2", None, [1])],
        *[({"k": 10**400}, "whole number from 1 to 20"), ({"modell": "english"}, "no parameter")],
        *[({"text": text}, "The body must be JSON") for text in (None, ["x"])],
        *[({"model": ["english"]}, "There is no model"), ({"model": "plain"}, "no tokenizer")],
        ({"text": "a\0b"}, "NUL"),
    ]:
        assert reason in show(address, **{"text": "x"} | fields)[1]
    deep = b"[" * 200_000
    for body in (b"", b"[]", b"x", b"\xff", b'{"text": "\\ud800"}', deep, b'"' + deep, b"1" * 5000):
        refuse(f"{address}/trees", data=body)
    for body in (b"{}", b'{"k": 1}'):
        assert "The body must be JSON" in refuse(f"{address}/trees", data=body)
    assert "4,194,304 bytes" in refuse(f"{address}/trees", data=b" " * (2**22 + 1), status=413)


def test_methods(serve):
    address = serve()
    assert see(f"{address}/health")[2] == b"The models are ready.\n"
    for path in ("/", "/health", "/models", f"/process?{urlencode(ALL | {'data': TEXT})}"):
        status, headers, body = see(address + path)
        again = see(address + path, method="HEAD")
        assert (again[0], again[2]) == (200, b"")
        assert again[1]["Content-Length"] == headers["Content-Length"] == str(len(body))
    for path, methods in {
        "/": "GET, HEAD, OPTIONS",
        "/health": "GET, HEAD, OPTIONS",
        "/process": "GET, HEAD, POST, OPTIONS",
        "/trees": "POST, OPTIONS",
    }.items():
        status, headers, body = see(address + path, method="OPTIONS")
        assert (status, headers["Allow"], body) == (200, methods, f"{methods}\n".encode())
        assert headers["Access-Control-Allow-Methods"] == methods
        assert headers["Access-Control-Allow-Headers"] == "Content-Type"
        for method in {"GET", "POST", "PUT", "DELETE", "TRACE"} - set(methods.split(", ")):
            status, headers, body = see(address + path, method=method)
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
    bad = urlencode({"model": f"{mark}?", "data": mark})
    good = urlencode(ALL | {"data": mark, "model": mark})
    names = "Content-Type", "X-Content-Type-Options", "Content-Security-Policy"
    refused = f"/process?{bad}", f"/{mark}", f"/models?{mark}", f"/process?{mark}=1"
    for path, is_answered in {
        "/models": True,
        f"/process?{good}": True,
        **{quote(path, safe="/?=&"): False for path in refused},
    }.items():
        status, headers, _ = see(server + path)
        kind = {True: "application/json", False: "text/plain; charset=utf-8"}[is_answered]
        given = [headers[name] for name in names]
        assert (status == 200) == is_answered
        assert given == [kind, "nosniff", "default-src 'self'"]


def test_any_server_by_the_standard(served):
    """The validator of the standard library finds nothing; bodies may have no known length."""
    app = validator(ParserApp({"english": served}, False, 100, 120.0))

    def call(body=b"", **environ):
        found = []
        given = {
            "wsgi.input": io.BytesIO(body),
            "PATH_INFO": "/process",
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
            **environ,
        }
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
    text, of_words = {"model": "english", "tokenizer": ""}, {"input": "horizontal", "parser": ""}
    no_model = r"There is no model .*, only plain, english\.\n"
    for fields, reason in [
        *[({"model": name}, no_model) for name in ("../x", "/etc/passwd", "english.npz")],
        *[({"model": name}, no_model) for name in ("english\n", "x" * 1000)],
        *[({"input": name}, r"conllu, horizontal, vertical,") for name in NO_FORMATS],
        *[({"output": name}, r"plaintext, jsonl\.") for name in NO_FORMATS],
        ({"modell": "english"}, r"no parameter"),
        ({"tagger": "", "model": "english"}, r"no tagger"),
        ({"tokenizer": ""}, r"no tokenizer"),
        (text | {"tokenizer": "ranges;joint_with_parsing"}, r"no tokenizer ranges;joint_with_p"),
        ({"parser": ""}, r"10 columns"),  # no CoNLL-U
        (text | {"data": "a\0b"}, r"NUL"),
        (of_words | {"data": "a " * 501}, r"max_tokens=500"),
    ]:
        assert re.search(reason, refuse(f"{server}/process", {"data": "x"} | fields), re.S)
    assert "data" in refuse(f"{server}/process")
    assert "no parameter" in refuse(f"{server}/models?x=")
    assert "x" not in refuse(f"{server}/x?secret", status=404)
    refuse(f"{server}/models/x", status=404)


def test_bad_encodings(serve):
    server = serve()
    parts = "multipart/form-data; boundary=x"
    part = b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n\xff\r\n--x--\r\n'
    for query, kind, body, reason in [
        ("?tokenizer&data=%ff", None, None, "utf-8"),
        ("", FORM, b"tokenizer&data=%ff", "utf-8"),
        ("", FORM, b"tokenizer&data=\xff", "utf-8"),
        ("?tokenizer", parts, part, "utf-8"),
        *[("", parts, broken, "") for broken in (b"--x", b"--x\r\n\r\n", b"nothing", b"--y--")],
        ("", "multipart/form-data", b"x", ""),
        ("", "text/plain", b'{"data": 1}', "urlencoded or multipart"),
        ("", "application/json", b'{"data": 1}', "urlencoded or multipart"),
        ("", "x", b'{"data": 1}', "urlencoded or multipart"),
    ]:
        headers = {"Content-Type": kind} if kind else {}
        assert reason in refuse(f"{server}/process{query}", data=body, headers=headers)
    for request in (
        b"GET /process?data=\xe9 HTTP/1.1\r\n\r\n",
        b"POST /process HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"\0\xff\r\n\r\n",
    ):
        assert re.match(rb"HTTP/1\.[01] 400 ", send(server, request))
    assert ask(f"{server}/models")[0] == 200


@pytest.mark.parametrize("size", [4 * 2**20 + 1, 12 * 2**20])
def test_bodies_that_are_too_large(serve, size):
    for sent in (
        as_udpipe_client_sends({"data": size * "x"}),
        {"data": b"data=" + size * b"x", "headers": {"Content-Type": FORM}},
        {"data": b"data=" + size * b"x", "headers": {"Content-Type": "text/plain"}},
    ):
        assert "4,194,304 bytes" in refuse(f"{serve()}/process", status=413, **sent)


@pytest.mark.parametrize("part", [b"name=a", b"\r\n", b"\r\n--x", b"=&", b"%ff", b"--x\r\n\r\n"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "multipart/form-data", FORM])
def test_no_body_takes_long(serve, part, kind):
    begin = b'--x\r\nContent-Disposition: form-data; filename="name=b'
    body = (begin + part * (2**20 // len(part)))[: 2**20 - 7] + b"\r\n--x--"
    begun = time.monotonic()
    refuse(serve() + "/process", data=body, headers={"Content-Type": kind})
    assert time.monotonic() - begun < 5


def test_errors_of_the_program_are_not_shown(serve, served, capsys):
    fail = Mock(side_effect=RuntimeError("secret"))
    broken = served._replace(opened=served.opened._replace(transform=fail))
    address = serve(broken=broken) + "/process"
    reason = refuse(address, {"data": "Dogs .\n", "input": "horizontal", "parser": ""}, status=500)
    assert "secret" not in reason
    assert "RuntimeError: secret" in capsys.readouterr().err


def test_an_answer_that_takes_too_long_is_given_up(serve):
    address = serve(answering=1.0) + "/process"
    assert "too long" in refuse(address, ALL | {"data": 20_000 * TEXT}, status=503)
    assert ask(address, ALL | {"data": "Dogs bark."})[0] == 200


def test_concurrent_answers_are_those_one_by_one(serve, english):
    address = serve(confidence=True) + "/process"
    fields = [ALL | {"data": " ".join(tree.forms)} for tree in english[:40]]
    serial = [ask(address, each) for each in fields]
    assert all(status == 200 for status, _ in serial)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: ask(address, each), 5 * fields))
    assert found == 5 * serial


def test_slow_and_idle_connections_do_not_stop_others(serve):
    server, begun = serve(), b"POST /process HTTP/1.1\r\nContent-Length: 100\r\n"
    with ExitStack() as stack:
        for data in 67 * [b"", begun, begun + b"\r\nd"]:  # some are idle, some have begun
            stack.enter_context(connect(server, data))
        begun = time.monotonic()
        for _ in range(20):
            assert ask(f"{server}/process", ALL | {"data": TEXT})[0] == 200
        assert time.monotonic() - begun < 10


def test_a_client_that_leaves_is_no_error(serve, capsys):
    server, query = serve(), urlencode(ALL | {"data": 50 * TEXT})
    connect(server, f"GET /process?{query} HTTP/1.1\r\n\r\n".encode()).close()
    assert ask(f"{server}/models")[0] == 200
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_finishes_what_is_under_way(number):
    with starting() as start, ExitStack() as stack:
        process = start(main, ["serve", "english", "--port", "0"])
        line = process.output.readline()
        server = re.fullmatch(r"english: (http://127\.0\.0\.1:\d+)\n", line)[1]
        form = urlencode(ALL | {"data": TEXT}).encode()
        head = (
            f"POST /process HTTP/1.1\r\nContent-Type: {FORM}\r\nContent-Length: {len(form)}\r\n\r\n"
        ).encode()
        sent = {b"": False, head + form[:-1]: False, b"GET /models HTT": False, head + form: True}
        with ThreadPoolExecutor(20) as threads:
            # All threads that answer have work, so that the rest has to wait.
            fields = ALL | {"data": 200 * f"{TEXT}\n\n"}
            long = [threads.submit(ask, f"{server}/process", fields) for _ in range(17)]
            time.sleep(0.5)
            others = [stack.enter_context(connect(server, data)) for data in sent]
            os.kill(process.pid, number)
            time.sleep(0.2)
            with pytest.raises(ConnectionRefusedError):
                connect(server)
            assert not any(work.done() for work in long)
            for connection, is_answered in zip(others, sent.values(), strict=True):
                assert (b"200 OK" in connection.makefile("rb").read()) == is_answered
            for work in long:
                assert len(read(work.result())) == 400
        process.join(120)
        assert (process.exitcode, process.output.read()) == (0, "")


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
    arguments = [
        *("told:tell", "--bind", "127.0.0.1:0"),
        *("--workers", "2", "--threads", "8", "--preload", "--chdir", str(tmp_path)),
        # Newer ones have a socket, in the home folder.
        *["--no-control-socket"] * ("control_socket" in config.Config().settings),
    ]
    with starting() as start:
        process = start(run_gunicorn, *arguments)
        line = next(line for line in process.output if "Listening at" in line)
        server = re.search(r"http://\S+", line)[0]

        def find_worker(_):
            return int(see(f"{server}/process?{urlencode(ALL | {'data': TEXT})}")[1]["Worker"])

        with ThreadPoolExecutor(8) as threads:
            workers = set()
            while len(workers) < 2:
                workers.update(threads.map(find_worker, range(50)))
            fields = ALL | {"data": 250 * f"{TEXT}\n\n"}
            long = [threads.submit(ask, f"{server}/process", fields) for _ in range(6)]
            time.sleep(0.5)
            killed = min(workers)
            os.kill(killed, signal.SIGKILL)
            answers = [work.exception() or work.result() for work in long]
            assert all(
                isinstance(answer, (OSError, http.client.HTTPException)) or len(read(answer)) == 500
                for answer in answers
            )
            assert killed not in set(threads.map(find_worker, range(50)))
            while len(workers) < 3:
                workers.update(threads.map(find_worker, range(50)))
        process.terminate()
        process.output.read()
        process.join(60)
        assert process.exitcode == 0
