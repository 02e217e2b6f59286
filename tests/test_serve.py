"""The command serve: requests as the clients of UDPipe send them, refusals, and many at once."""

import io
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.policy import HTTP
from threading import Thread
from urllib.parse import quote, urlencode

import pytest

from sklearn_shag.cli import _serve
from sklearn_shag.cli._main import main
from sklearn_shag.cli._serve import ParserServer
from sklearn_shag.datasets import load_parser
from sklearn_shag.treebank import DependencyTree, read_conllu
from sklearn_shag.utils._estimators import open_member

ALL = {"tokenizer": "", "tagger": "", "parser": ""}
TEXT = "Dogs bark. She didn't see it."


@pytest.fixture(scope="module")
def parser():
    parser = load_parser()
    open_member(parser).parser.set_params(max_tokens=_serve.MAX_TOKENS)  # as the command does
    return parser


@pytest.fixture
def serve(parser):
    """Start a server in this process, and return its address."""
    started = []

    def start(confidence=False, **models):
        known = ["tokenizer", "tagger", "parser"]
        models = models or {"english": (parser, known)}
        server = ParserServer(("127.0.0.1", 0), models, confidence)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        started.append((server, thread))
        return "http://{}:{}".format(*server.server_address)

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        while server.handlers:
            server.service_actions(stops=True)
            time.sleep(0.01)
        server.server_close()


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
    assert header.startswith(b"HTTP/1.0 200 OK\r\n")
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


def test_formats(serve):
    address = serve() + "/process"
    sentences = read(ask(address, ALL | {"data": "no mark\nand more", "tokenizer": "presegmented"}))
    assert [tree.text for tree in sentences] == ["no mark", "and more"]
    given = {"input": "horizontal", "tagger": "", "parser": "", "data": "Dogs bark .\nIt rains .\n"}
    sentences = read(ask(address, given))
    assert [len(tree) for tree in sentences] == [3, 3]
    assert sentences[0].upos[2] == "PUNCT"


def test_what_is_refused(serve, parser, english):
    server = serve(tagless=(parser, ["parser"]), english=(parser, ["tokenizer", "parser"]))
    address, given = f"{server}/process", {"data": "x"}
    assert "x" not in refuse(f"{server}/x?secret", status=404)
    refuse(f"{server}/models/x", status=404)
    assert "data" in refuse(address)
    for model in ("../x", "/etc/passwd", "english.npz", "tagless\n", "x" * 1000):
        assert "There is no model" in refuse(address, given | {"model": model})
    assert "no parameter" in refuse(address, given | {"modell": "english"})
    assert "no parameter" in refuse(f"{server}/models?x=")
    assert "no tagger" in refuse(address, given | {"tagger": "", "model": "english"})
    assert "no tokenizer" in refuse(address, given | {"tokenizer": ""})
    english_text = given | {"model": "english", "tokenizer": "normalized_spaces"}
    assert "no tokenizer normalized_spaces" in refuse(address, english_text)
    for name in ("generic_tokenizer", "vertical", "epe", "matxin", "../x"):
        assert "conllu or horizontal" in refuse(address, given | {"input": name})
    assert "output conllu" in refuse(address, given | {"output": "horizontal"})
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
        b"GET http://[/process HTTP/1.1\r\n\r\n",
    ):
        header, _, reason = send(server, request).partition(b"\r\n\r\n")
        assert header.startswith(b"HTTP/1.0 400 "), header
        assert reason.count(b"\n") == 1
    assert send(server, b"PUT /process HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.0 501 ")
    assert send(server, b"GET /" + b"x" * 70_000).startswith(b"HTTP/1.0 414 ")
    many = b"".join(b"a%d: b\r\n" % k for k in range(200))
    assert send(server, b"GET /models HTTP/1.0\r\n" + many + b"\r\n").startswith(b"HTTP/1.0 431 ")
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
    answer = send(
        address.removesuffix("/process"), b"POST / HTTP/1.1\r\nContent-Length: 9%d\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.0 400 ")


@pytest.mark.parametrize("part", [b"name=a", b"\r\n", b"\r\n--x", b"=&", b"%ff", b"--x\r\n\r\n"])
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "multipart/form-data", "form"])
def test_no_body_takes_long(serve, part, kind):
    begin = b'--x\r\nContent-Disposition: form-data; filename="name=b'
    body = (begin + part * (2**22 // len(part)))[: 2**22 - 7] + b"\r\n--x--"
    kind = {"form": "application/x-www-form-urlencoded"}.get(kind, kind)
    begun = time.monotonic()
    refuse(serve() + "/process", data=body, headers={"Content-Type": kind})
    assert time.monotonic() - begun < 20


def test_errors_of_the_program_are_not_shown(serve, capsys):
    class Broken:
        steps = ()

        def __getattr__(self, name):
            raise RuntimeError("secret")

    address = serve(broken=(Broken(), ["parser"])) + "/process"
    reason = refuse(address, {"data": "Dogs .\n", "input": "horizontal", "parser": ""}, status=500)
    assert "secret" not in reason
    assert "RuntimeError: secret" in capsys.readouterr().err


def test_an_answer_that_takes_too_long_is_given_up(serve, monkeypatch):
    monkeypatch.setattr(_serve, "ANSWERING", 0.05)
    address = serve() + "/process"
    assert "too long" in refuse(address, ALL | {"data": 500 * TEXT}, status=503)
    monkeypatch.undo()
    assert ask(address, ALL | {"data": TEXT})[0] == 200


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


def test_slow_and_idle_connections_do_not_stop_others(serve, monkeypatch):
    monkeypatch.setattr(_serve, "READING", 2.0)
    server = serve()
    host, port = server.removeprefix("http://").split(":")
    open_ = [socket.create_connection((host, int(port))) for _ in range(200)]
    try:
        for k, connection in enumerate(open_):  # some are idle, some have begun
            begun = b"POST /process HTTP/1.1\r\nContent-Length: 100\r\n" + b"\r\nd" * (k % 3 == 1)
            connection.sendall(begun if k % 3 else b"")
        begun = time.monotonic()
        for _ in range(20):
            assert ask(f"{server}/process", ALL | {"data": TEXT})[0] == 200
        assert time.monotonic() - begun < 10
        for connection in open_:
            connection.settimeout(120)
            while answer := connection.recv(1000):  # until the server closes it
                assert b"400" in answer or b"ends early" in answer
    finally:
        for connection in open_:
            connection.close()


def test_a_client_that_sends_byte_by_byte_is_given_up(serve, monkeypatch):
    monkeypatch.setattr(_serve, "READING", 0.5)
    host, port = serve().removeprefix("http://").split(":")
    begun = time.monotonic()
    with (
        socket.create_connection((host, int(port)), timeout=120) as connection,
        suppress(ConnectionError),
    ):
        while time.monotonic() - begun < 10:
            connection.sendall(b"x")
            time.sleep(0.1)
    assert time.monotonic() - begun < 8


def test_too_many_connections(serve, monkeypatch):
    monkeypatch.setattr(_serve, "MAX_CONNECTIONS", 3)
    server = serve()
    host, port = server.removeprefix("http://").split(":")
    open_ = [socket.create_connection((host, int(port))) for _ in range(3)]
    time.sleep(0.3)
    assert "too many connections" in refuse(f"{server}/models", status=503)
    for connection in open_:
        connection.close()
    time.sleep(0.3)
    assert ask(f"{server}/models")[0] == 200


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
        with (
            ThreadPoolExecutor(1) as threads,
            socket.create_connection((host, int(port))),  # an idle one is not waited for
        ):
            text = 2000 * f"{TEXT}\n\n"
            work = threads.submit(ask, f"{server}/process", ALL | {"data": text})
            time.sleep(0.3)
            assert not work.done()
            process.send_signal(number)
            status, answer = work.result()
            assert status == 200
            assert answer["result"].count("# sent_id = ") == 4000
        assert process.wait(120) == 0
        assert process.stderr.read() == b""


def test_wrong_models(tmp_path, capsys):
    for models in (["english", "english"], [str(tmp_path / "none.npz")]):
        assert main(["serve", *models]) == 1
        err = capsys.readouterr().err
        assert err.startswith("sklearn-shag serve: error: ")
        assert err.count("\n") == 1


def test_tasks_of_models(monkeypatch, tmp_path, english):
    """A model that reads tags has no tagger, and one of tokens no tokenizer."""
    from sklearn_shag import BiaffineParser, CRFParser, save_model

    small = {"max_iter": 1, "calibrate": False}
    crf = CRFParser(["upos"], n_features=2**12, **small).fit(english[:40])
    save_model(crf, tmp_path / "crf.npz")
    tags = BiaffineParser(tags="upos", hidden_layer_sizes=[4], **small).fit(english[:40])
    save_model(tags, tmp_path / "tags.npz")
    made = []

    class Stopped(ParserServer):
        def serve_forever(self):
            made.append(self.models)

    monkeypatch.setattr(_serve, "ParserServer", Stopped)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    files = [str(tmp_path / "crf.npz"), "english", str(tmp_path / "tags.npz")]
    options = Namespace(model=files, context=None, host="127.0.0.1", port=0, confidence=False)
    options.dictionary = None
    _serve.serve(options)
    tasks = {name: known for name, (_, known) in made[0].items()}
    expected = {"crf": ["parser"], "english": list(ALL), "tags": ["tagger", "parser"]}
    assert tasks == expected
