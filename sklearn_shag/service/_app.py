"""The WSGI application: its addresses, their answers, and refusals."""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from io import StringIO
from itertools import starmap
from numbers import Real
from time import monotonic
from typing import Any
from wsgiref.types import WSGIApplication

from sklearn_shag.service._formats import (
    INPUTS,
    OUTPUTS,
    list_best_trees,
    write_document,
    write_json,
)
from sklearn_shag.service._models import TASKS, name_models, open_served
from sklearn_shag.service._requests import read_body, read_fields
from sklearn_shag.treebank import join_text
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._messages import printable
from sklearn_shag.utils._parallel import call_recorded
from sklearn_shag.utils._param_validation import COUNT, Interval, validate_params
from sklearn_shag.utils._typing import FilePath

# By default: bytes of the body of a request; tokens of a sentence, as the time grows with their
# cube; seconds that an answer may take.
MAX_REQUEST_BYTES, MAX_SENTENCE_TOKENS, ANSWERING = 2**22, 500, 120.0
_TURN, _MOST_TREES = 50, 20  # sentences of a request that are parsed at once; trees of a sentence
# The page, by its addresses: no other file is ever read.
PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/tree.js": ("tree.js", "text/javascript; charset=utf-8"),
}
_READING = "GET, HEAD, OPTIONS"  # methods
_NUMBER = re.compile(r"(?<=/)[0-9]+(?=/|$)")  # in an address
# Of all answers. Editors that are web pages may ask, too.
HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Content-Security-Policy": "default-src 'self'",
    "X-Content-Type-Options": "nosniff",
}
# Statuses of errors, with what is said instead of their messages.
STATUSES = {
    TimeoutError: (503, "It takes too long; send less text."),
    OverflowError: (413, None),
    ValueError: (400, None),
    RecursionError: (400, None),
    Exception: (500, "The server failed; its log says why."),
}


@cache
def _start_worker(process_id):
    """Start the thread of a process that parses: one that is forked has none."""
    return ThreadPoolExecutor(1, "parser")


class ParserApp:
    """A WSGI application that parses, in one thread for all requests.

    It parses some sentences of each request in turn, so that short texts need not wait for long
    ones.
    """

    headers, statuses = HEADERS, STATUSES

    def __init__(self, models, confidence, max_bytes, answering):
        self.models, self.confidence = models, confidence
        self.max_bytes, self.answering = max_bytes, answering
        # By their addresses, methods and what answers, or the answer itself.
        forms = "GET, HEAD, POST, OPTIONS"
        self.routes = {
            "/models": (forms, self.list_models),
            "/process": (forms, self.process),
            "/trees": ("POST, OPTIONS", self.list_trees),
            "/health": (_READING, _say("The models are ready.", 200)),
        }
        self._add_files("page", PAGE)

    def _add_files(self, folder, page):
        """Add the files of a page to the routes."""
        for address, (name, kind) in page.items():
            content = files(__package__).joinpath(folder, name).read_bytes()
            self.routes[address] = _READING, (200, {"Content-Type": kind}, content)

    def __call__(self, environ, start_response):
        """Answer a request, or refuse it with a line of text."""
        try:
            status, headers, body = self.reply_to(environ)
        except Exception as error:
            kinds = (kind for kind in self.statuses if isinstance(error, kind))
            status, reason = self.statuses[next(kinds)]
            if status == 500:
                traceback.print_exc(file=environ["wsgi.errors"])
            status, headers, body = _say(reason or printable(error), status)
        headers = self.headers | headers | {"Content-Length": str(len(body))}
        start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def reply_to(self, environ):
        """Return a status, headers and a body."""
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        path = _NUMBER.sub("N", path.replace("N", "n"))  # no route has another N
        if path not in self.routes:
            return _say(f"There is only {', '.join(self.routes)}.", 404)
        methods, answer = self.routes[path]
        if method == "OPTIONS":
            allowed = {"Access-Control-Allow-Methods": methods, "Allow": methods}
            return _say(methods, 200, allowed | {"Access-Control-Allow-Headers": "Content-Type"})
        if method not in methods.split(", "):
            return _say(f"The methods of {path} are {methods}.", 405, {"Allow": methods})
        return answer if isinstance(answer, tuple) else answer(environ)

    def list_models(self, environ):
        """Answer with the tasks of each model."""
        self._read_fields(environ)
        tasks = {name: model.tasks for name, model in self.models.items()}
        return _as_json({"models": tasks, "default_model": next(iter(tasks))})

    def process(self, environ):
        """Answer a request of UDPipe's protocol."""
        fields = self._read_fields(environ)
        if "data" not in fields:
            raise ValueError("No data.")
        tasks = {task: fields[task] for task in TASKS if task in fields}
        name, model = self._find_model(fields.get("model"), tasks)
        text, output = fields["data"], fields.get("output") or "conllu"
        form, is_json = INPUTS.get(fields.get("input") or "conllu"), output == "jsonl"
        if form is None or output not in OUTPUTS:
            raise ValueError(
                f"The input may be {', '.join(INPUTS)}, and the output {', '.join(OUTPUTS)}."
            )
        # Trees keep line ends, and forms of web pages have CRLF. Nothing is read yet.
        sentences = form.trees([StringIO(text.replace("\r\n", "\n"))])
        if "tokenizer" in tasks:  # clients send the input, too
            sentences = model.split(text, tasks["tokenizer"].split(";"))
        # JSON has probabilities beside the trees.
        confidence = self.confidence and {"jsonl": "all"}.get(output, True)
        rows = self._take_turns(sentences, partial(model.analyse, tasks.keys(), confidence))
        if is_json and "tokenizer" in tasks:
            result = write_document(rows, text)
        elif output == "plaintext":
            result = join_text([tree for tree, _ in rows])
        else:
            result = "".join(starmap(OUTPUTS[output], rows))
        return _as_json({"model": name, "acknowledgements": [], "result": result})

    def list_trees(self, environ):
        """Answer the best trees of the sentences of a text."""
        asked = json.loads(read_body(environ, self.max_bytes))
        if not isinstance(asked, dict) or not isinstance(asked.get("text"), str):
            raise ValueError('The body must be JSON, such as {"text": "It sleeps.", "k": 1}.')
        _refuse_unknown(asked, ("model", "text", "k"))
        k = asked.get("k", 1)
        if type(k) is not int or not 1 <= k <= _MOST_TREES:
            raise ValueError(f"k must be a whole number from 1 to {_MOST_TREES}.")
        _, model = self._find_model(asked.get("model"), {"tokenizer": ""})
        found = self._take_turns(model.split(asked["text"]), partial(model.find_trees, "all", k))
        return _as_json(list(map(list_best_trees, found)))

    def _read_fields(self, environ):
        fields = read_fields(environ, read_body(environ, self.max_bytes))
        _refuse_unknown(fields, ("data", "model", "input", "output", *TASKS))
        return fields

    def _find_model(self, name, tasks):
        """Find a model by its name, by default the first one, and check that it can do the tasks.

        Parameters
        ----------
        name : object
            As it stands in a request.
        tasks : dict of str to str
            Their options.
        """
        name = str(name or next(iter(self.models)))
        if name not in self.models:
            raise ValueError(f"There is no model {name}, only {', '.join(self.models)}.")
        model = self.models[name]
        for task, options in tasks.items():
            if task not in model.tasks or not TASKS[task].issuperset(options.split(";")):
                raise ValueError(f"The model {name} has no {task} {options}".rstrip() + ".")
        return name, model

    def _take_turns(self, sentences, analyse):
        """Yield the analyses of sentences, of which some are made in each turn."""
        chunks, end = in_chunks(sentences, _TURN), monotonic() + self.answering
        work = call_recorded, partial(_analyse_next, analyse), chunks
        found = True
        while found:
            future = _start_worker(os.getpid()).submit(*work)
            found, _ = future.result(max(end - monotonic(), 0))  # warnings quote texts
            yield from found


def _analyse_next(analyse, chunks):
    return analyse(next(chunks, []))


def _say(line, status, headers=()):
    """Reply with one line of text."""
    return (
        status,
        {"Content-Type": "text/plain; charset=utf-8"} | dict(headers),
        f"{line}\n".encode(),
    )


def _as_json(content):
    return (
        200,
        {"Content-Type": "application/json"},
        write_json(content).encode(),
    )


def _refuse_unknown(given, known):
    for name in sorted(given.keys() - set(known)):
        raise ValueError(f"There is no parameter {name}.")


@validate_params(
    {
        "models": [list, tuple, Mapping],
        "confidence": ["boolean"],
        "max_bytes": COUNT,
        "max_tokens": COUNT,
        "answering": [Interval(Real, 0, None, closed="neither")],
    }
)
def make_app(
    models: Sequence[FilePath] | Mapping[str, Any],
    *,
    confidence: bool = False,
    max_bytes: int = MAX_REQUEST_BYTES,
    max_tokens: int = MAX_SENTENCE_TOKENS,
    answering: float = ANSWERING,
) -> WSGIApplication:
    """Make a WSGI application that parses texts, with a page that shows their trees.

    It speaks UDPipe's protocol, and runs on any WSGI server: ``sklearn-shag serve`` runs it on
    ``waitress``. The models are loaded, and their code is compiled, before it returns.

    Parameters
    ----------
    models : sequence of str or path-like, or mapping from str
        Files of models, or "english". The name of a model is that of its file without ".npz", or
        another one in front of the file, as in "french=fr.npz". A mapping gives names to files, or
        to fitted parsers and pipelines, whose parameters `max_tokens`, `n_jobs` and `verbose` are
        then set. The first model is the default.
    confidence : bool, default=False
        Whether answers to ``/process`` hold the probability of each arc and the score of each tree,
        as with ``parse --confidence``.
    max_bytes : int, default=2**22
        The largest body of a request.
    max_tokens : int, default=500
        The longest sentence of those that are already split: time grows with the cube of its
        length.
    answering : float, default=120.0
        How many seconds an answer may take.

    Returns
    -------
    app : callable
        The application, by PEP 3333. In each process, one thread parses for all requests.

    Raises
    ------
    ValueError
        If there is no model, or two have the same name.
    TypeError
        If a model cannot parse.
    OSError, ModelFileError
        As for :func:`~sklearn_shag.load_model`.

    See Also
    --------
    sklearn_shag.load_model : Loads a model, for a service of your own.

    Examples
    --------
    >>> import json
    >>> from io import BytesIO
    >>> from wsgiref.util import setup_testing_defaults
    >>> from sklearn_shag.service import make_app
    >>> app = make_app(["english"])
    >>> body = json.dumps({"text": "It sleeps."}).encode()
    >>> request = {
    ...     "REQUEST_METHOD": "POST",
    ...     "PATH_INFO": "/trees",
    ...     "CONTENT_LENGTH": str(len(body)),
    ...     "wsgi.input": BytesIO(body),
    ... }
    >>> setup_testing_defaults(request)
    >>> (answer,) = app(request, lambda status, headers: print(status))
    200 OK
    >>> [token["deprel"] for token in json.loads(answer)[0]["trees"][0]["tokens"]]
    ['nsubj', 'root', 'punct']
    """
    served = {name: open_served(model, max_tokens) for name, model in name_models(models).items()}
    return ParserApp(served, confidence, max_bytes, answering)
