"""The application with the routes by which annotators change sentences."""

import json
import os
import re
import secrets
import sqlite3
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from time import monotonic
from urllib.parse import parse_qsl, urlencode

from sklearn_shag.annotation import ConflictError, NoSentenceError
from sklearn_shag.service._app import (
    ANSWERING,
    HEADERS,
    MAX_REQUEST_BYTES,
    PAGE,
    STATUSES,
    ParserApp,
    _as_json,
    _refuse_unknown,
    _say,
    _start_worker,
)
from sklearn_shag.service._requests import read_body
from sklearn_shag.treebank import LEARNED
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._parallel import call_recorded

# The page, by its addresses; it has the style sheet and the trees of the service, too.
_STYLE, _SCRIPT = PAGE["/style.css"][1], PAGE["/tree.js"][1]
ANNOTATION_PAGE = {
    "/": ("annotate.html", PAGE["/"][1]),
    "/annotate.css": ("annotate.css", _STYLE),
    "/annotate.js": ("annotate.js", _SCRIPT),
    "/answers.js": ("answers.js", _SCRIPT),
    "/chooser.js": ("chooser.js", _SCRIPT),
    "/keys.js": ("keys.js", _SCRIPT),
    "/list.js": ("list.js", _SCRIPT),
    "/sentence.js": ("sentence.js", _SCRIPT),
    "/view.js": ("view.js", _SCRIPT),
}
_SAVED = 3.0  # seconds from a change to the file
# What requests may bring, and what it holds.
_KINDS = (
    dict.fromkeys(("deprels", *LEARNED), (dict, str))
    | {
        "heads": (dict, int),
        "confirm": (list, int),
        "unknown": (list, int),
        "checked": (bool, bool),
        "note": (str, str),
    }
    | dict.fromkeys(("id", "version", "word", "character"), (int, int))
)


class AnnotationApp(ParserApp):
    """The application of a service, on one computer, with routes to annotate a file.

    Parameters
    ----------
    models : dict of str to ServedModel
    annotation : Annotation
    key : str
        What each request must bring.
    """

    headers = {name: HEADERS[name] for name in HEADERS if not name.startswith("Access-Control")}
    statuses = {
        ConflictError: (409, None),
        NoSentenceError: (404, None),
        sqlite3.OperationalError: (507, "The change cannot be written; the disk may be full."),
    } | STATUSES

    def __init__(self, models, annotation, key):
        super().__init__(models, False, MAX_REQUEST_BYTES, ANSWERING)
        self._annotation, self.key = annotation, key
        self._add_files("annotation_page", ANNOTATION_PAGE)
        self._ends, self._behind = Event(), Thread(target=self._look_ahead, daemon=True)
        self.routes |= {
            "/values": ("GET, HEAD", partial(self._annotate, annotation.guesser.list_values)),
            "/sentences": ("GET, HEAD", partial(self._annotate, annotation.list_sentences)),
            "/sentences/N": ("GET, HEAD, PUT", self._read_or_change),
            "/sentences/N/split": ("POST", partial(self._annotate, annotation.split)),
            "/sentences/N/join": ("POST", partial(self._annotate, annotation.join)),
            "/sentences/N/undo": ("POST", partial(self._annotate, annotation.undo)),
            "/undo": ("POST", partial(self._annotate, partial(annotation.undo, None))),
            "/redo": ("POST", partial(self._annotate, annotation.redo)),
        }

    def start(self):
        """Begin to look at all sentences, and to write the file after changes."""
        self._behind.start()

    def close(self):
        """Write the file for the last time."""
        self._ends.set()
        self._behind.join()
        self._annotation.store.close()

    def reply_to(self, environ):
        """Return a status, headers and a body."""
        fields = dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
        given = fields.pop("key", environ.get("HTTP_X_KEY", ""))
        is_page = environ.get("PATH_INFO") in PAGE | ANNOTATION_PAGE
        if not (is_page or secrets.compare_digest(given.encode(), self.key.encode())):
            return _say("The request must bring the key, which the command has printed.", 403)
        if environ["REQUEST_METHOD"] == "OPTIONS":
            return _say("Pages from elsewhere cannot ask here.", 405)
        return super().reply_to(environ | {"QUERY_STRING": urlencode(fields)})

    def _read_or_change(self, environ):
        """Answer with a sentence, which PUT changes before."""
        acts = {"PUT": self._annotation.answer}
        return self._annotate(
            acts.get(environ["REQUEST_METHOD"], self._annotation.describe), environ
        )

    def _annotate(self, act, environ):
        """Answer a request for a sentence, in the thread that parses."""
        asked = json.loads(read_body(environ, self.max_bytes) or b"{}")
        _check_answers(asked)
        numbers = map(int, re.findall(r"(?<=/)[0-9]+", environ["PATH_INFO"]))
        return _as_json(_run_in_worker(partial(act, *numbers), asked))

    def _look_ahead(self):
        """Look at sentences that nobody has asked for, and write the file, until the end."""
        pause, written = 0.0, monotonic()
        while not self._ends.wait(pause):
            pause = 0.0 if _run_in_worker(self._annotation.look_ahead, ()) else 1.0
            if monotonic() > written + _SAVED:
                with suppress(OSError, sqlite3.Error):  # the database has all; the end tells
                    self._annotation.store.save()
                written = monotonic()


def _run_in_worker(act, asked):
    """Act in the thread that parses."""
    content, _ = _start_worker(os.getpid()).submit(call_recorded, act, asked).result()
    return content


def _check_answers(asked):
    """Refuse a body that is not as the interface says."""
    if not isinstance(asked, dict):
        raise ValueError('The body must be a JSON object, such as {"heads": {"3": 5}}.')
    _refuse_unknown(asked, _KINDS)
    for name, value in asked.items():
        container, kind = _KINDS[name]
        fits, items = type(value) is container, []
        if fits and container is dict:
            fits, items = all(map(str.isdecimal, value)), value.values()
        elif fits and container is list:
            items = value
        if not (fits and all(type(item) is kind for item in items)):
            raise ValueError(f"{name} cannot be {shorten(value)}.")
