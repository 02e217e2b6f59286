"""The command `serve`, which answers requests of UDPipe's protocol over HTTP."""

import json
import signal
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.parser import BytesParser
from functools import partial
from http.server import BaseHTTPRequestHandler
from io import StringIO
from pathlib import Path
from socket import SHUT_RD
from socketserver import TCPServer, ThreadingMixIn
from time import monotonic, sleep
from urllib.parse import parse_qsl, urlsplit

from sklearn_shag.cli._models import open_model
from sklearn_shag.network import LEARNED
from sklearn_shag.treebank import ATTRIBUTES, CONLLU, HORIZONTAL, MISSING, with_tags
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._estimators import find_splitter, open_member
from sklearn_shag.utils._messages import printable

# Bytes of the body of a request; tokens of a sentence, as the time grows with their cube;
# connections; sentences that are parsed, and bytes that are skipped, at once.
MAX_REQUEST_BYTES, MAX_TOKENS, MAX_CONNECTIONS, TURN, BYTES_AT_ONCE = 2**22, 500, 256, 50, 2**16
READING, ANSWERING = 30.0, 120.0  # seconds that a request may take to come, and its answer
# The tasks, with the options that each may have, separated by ";"; some clients send 1 for none.
TASKS = {"tokenizer": {"", "1", "ranges", "presegmented"}, "tagger": {"", "1"}, "parser": {"", "1"}}
FORMATS = {"conllu": CONLLU, "horizontal": HORIZONTAL}
STATUS = {TimeoutError: 503, LookupError: 404, OverflowError: 413}
REASONS = {500: "The server failed; its log says why.", 503: "It takes too long; send less text."}
MAX_FIELDS = 20  # of a request
_read_form = partial(parse_qsl, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)


class ParserServer(ThreadingMixIn, TCPServer):
    """A server with a thread for each connection, and one thread that parses.

    It parses some sentences of each request in turn, so that short texts need not wait for long
    ones.
    """

    allow_reuse_address, request_queue_size = True, 128

    def __init__(self, address, models, confidence):
        self.models, self.confidence = models, confidence  # pairs of a model and its tasks, by name
        self.handlers, self.worker = set(), ThreadPoolExecutor(1)
        super().__init__(address, RequestHandler)

    def process_request(self, request, client_address):
        """Start the thread of a connection, unless there are too many."""
        if len(self.handlers) < MAX_CONNECTIONS:
            return super().process_request(request, client_address)
        request.sendall(b"HTTP/1.0 503 Full\r\n\r\nThere are too many connections.\n")
        self.shutdown_request(request)

    def service_actions(self, stops=False):
        """End reading from connections whose time is up; the server does so twice a second."""
        for handler in list(self.handlers):
            if stops or monotonic() > handler.deadline:
                with suppress(OSError):  # it is closed
                    handler.connection.shutdown(SHUT_RD)

    def process(self, fields):
        """Analyse a text; a ValueError tells of wrong parameters of a request."""
        name = fields.get("model") or next(iter(self.models))
        if name not in self.models or "data" not in fields:
            raise ValueError(f"There is no model {name}." if "data" in fields else "No data.")
        (model, known), tasks = self.models[name], TASKS.keys() & fields.keys()
        for task in tasks:
            if task not in known or not TASKS[task].issuperset(fields[task].split(";")):
                raise ValueError(f"The model {name} has no {task} {fields[task]}".rstrip() + ".")
        form, output = (fields.get(key) or "conllu" for key in ("input", "output"))
        if form not in FORMATS or output != "conllu":
            raise ValueError("The input may be conllu or horizontal, and the output conllu.")
        source, lines = StringIO(fields["data"]), "presegmented" in fields.get("tokenizer", "")
        sentences = FORMATS[form].trees([source])  # does not read yet
        if "tokenizer" in tasks:  # clients send the input, too
            sentences = find_splitter(model).iter_split_text(source, lines=lines)
        chunks, end, texts = in_chunks(sentences, TURN), monotonic() + ANSWERING, []
        work = _analyse_next, open_member(model), tasks, self.confidence, chunks
        while found := self.worker.submit(*work).result(max(end - monotonic(), 0)):
            texts += [tree.to_conllu() for tree in found]
        return {"model": name, "acknowledgements": [], "result": "".join(texts)}


class RequestHandler(BaseHTTPRequestHandler):
    """The request of one connection; all refusals are one line of text."""

    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(explain)s\n"
    # For the client to take the answer; for lines that are no requests, which have answers, too.
    timeout, default_request_version = ANSWERING, "HTTP/1.0"

    def handle(self):
        """Answer the request of a connection, unless the client leaves."""
        self.deadline = monotonic() + READING
        self.server.handlers.add(self)
        with suppress(OSError):
            super().handle()
        self.server.handlers.discard(self)

    def do_GET(self):
        """Answer a request, or say why not."""
        try:
            answer = json.dumps(self._answer_request(), ensure_ascii=False).encode()
        except Exception as error:
            status = STATUS.get(type(error), 400 if isinstance(error, ValueError) else 500)
            if status == 500:
                traceback.print_exc()
            return self.send_error(status, explain=REASONS.get(status) or printable(error))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Access-Control-Allow-Origin", "*")  # for editors that are web pages
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815  (as the base class asks for)

    def _answer_request(self):
        url = urlsplit(self.path.encode("latin-1").decode())
        length = max(int(self.headers.get("Content-Length", 0)), 0)
        if length > MAX_REQUEST_BYTES:
            # Most clients send all before they read an answer.
            for left in range(min(length, 16 * MAX_REQUEST_BYTES), 0, -BYTES_AT_ONCE):
                self.rfile.read(min(left, BYTES_AT_ONCE))
            raise OverflowError(f"The body has more than {MAX_REQUEST_BYTES:,} bytes.")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ValueError("The body ends early, or takes too long.")
        fields = dict(_read_form(url.query) + _read_body(self.headers, body))
        if url.path not in ("/models", "/process"):
            raise LookupError("There is only /models and /process.")
        unknown = fields.keys() - {"data", "model", "input", "output", *TASKS}
        if unknown:
            raise ValueError(f"There is no parameter {min(unknown)}.")
        if url.path == "/process":
            return self.server.process(fields)
        tasks = {name: known for name, (_, known) in self.server.models.items()}
        return {"models": tasks, "default_model": next(iter(tasks))}

    def log_message(self, *args):
        """Log no requests: they hold texts, and a proxy logs them."""


def _read_body(headers, body):
    """List names and values of the parameters in the body of a request."""
    if not body or headers.get_content_type() == "application/x-www-form-urlencoded":
        return _read_form(body.decode())
    if body.count(b"--" + headers.get_boundary("").encode("latin-1")) > MAX_FIELDS + 1:
        raise ValueError(f"The body has more than {MAX_FIELDS} parameters.")
    kind = headers.get("Content-Type", "").encode("latin-1")
    form = BytesParser().parsebytes(b"Content-Type: " + kind + b"\r\n\r\n" + body)
    if form.get_content_type() != "multipart/form-data" or form.defects:
        raise ValueError("The body must be a form, urlencoded or multipart.")
    found = []
    for part in form.walk():
        name = part.get_param("name", header="Content-Disposition")
        if isinstance(name, str) and not part.is_multipart():
            found.append((name, part.get_payload(decode=True).decode()))
    return found


def _analyse_next(opened, tasks, confidence, chunks):
    """Tag and parse the next sentences of a text, as far as these are the tasks."""
    given = parsed = next(chunks, [])
    if given and tasks & {"tagger", "parser"}:
        parsed = opened.parser.parse(opened.transform(given), confidence=confidence)
    tree_of, tags_of = (parsed if task in tasks else given for task in ("parser", "tagger"))
    tags = ({n: getattr(t, ATTRIBUTES[n]) or (MISSING,) * len(t) for n in LEARNED} for t in tags_of)
    return tree_of if tree_of is tags_of else list(map(with_tags, tree_of, tags))


def serve(options):
    """Answer requests over HTTP until the process is told to end.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `host`, `port` and `confidence`.

    Raises
    ------
    ValueError
        If a file holds no parser, or two files have the same name.
    OSError
        If a file cannot be read, or the port is taken.
    """
    models = {}
    for path in options.model:
        model, opened, splitter = open_model(
            path, context=options.context, dictionary=options.dictionary, n_jobs=1
        )
        opened.parser.set_params(verbose=0, max_tokens=MAX_TOKENS)
        known = [] if splitter is None else ["tokenizer"]
        if any(v is not None for k, v in model.get_params().items() if k.endswith("tags")):
            known.append("tagger")
        models[Path(path).name.removesuffix(".npz")] = model, [*known, "parser"]
    if len(models) < len(options.model):
        raise ValueError("Two models have the same name; rename a file.")
    warnings.simplefilter("ignore")  # they quote texts, and each text would stay in memory
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = ParserServer((options.host, options.port), models, options.confidence)
    print(f"{', '.join(models)}: http://{options.host}:{server.server_address[1]}", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    while server.handlers:  # requests that have come are answered
        server.service_actions(stops=True)
        sleep(0.02)
    server.server_close()
