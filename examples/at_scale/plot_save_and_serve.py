"""
Saving and serving a model
==========================

A model is learned once and used elsewhere: it is written to a file, loaded by another process, and
asked to parse one text at a time. The figure shows the response time by the length of the
sentence, and the gain from parsing many sentences at once.
"""

# %%
# A file
# ------
# :func:`~sklearn_shag.save_model` writes arrays and text, but no pickle, so opening an untrusted
# file runs no code from it.

import http.client
import json
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from threading import Thread

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_shag import SpectralSHAG, load_model, save_model
from sklearn_shag.datasets import load_english, load_parser

train, test = train_test_split(load_english().data, test_size=0.25, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "english.npz"
    save_model(SpectralSHAG().fit(train), path)
    print(f"{path.name}, {path.stat().st_size / 1024:.0f} KiB")
    model = load_model(path)
print(f"UAS {model.score(test):.3f}")

# %%
# A server
# --------
# Python's own HTTP server is enough to show the pattern: load first, parse in the handler, and
# answer invalid requests with the error message. The parser is the English one that comes with the
# package; it takes plain text. Each request has a thread, and all threads share one model, which
# does not change when it parses. A server should parse something before requests arrive, since the
# first call of a process loads compiled code. :ref:`service` has more on memory, limits and several
# processes.

parser = load_parser("english")
parser.parse_text("It is ready.")


class ParserHandler(BaseHTTPRequestHandler):
    """Take a text, return its sentences as JSON."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            trees = parser.parse_text(body.decode())
            status, answer = 200, [tree.to_dict() for tree in trees]
        except ValueError as error:  # also of what is no UTF-8
            status, answer = 400, str(error)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args):
        """Keep quiet."""


def ask(address, text):
    """Return the status and the answer of the server."""
    connection = http.client.HTTPConnection(*address)
    connection.request("POST", "/", text.encode())
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


with ThreadingHTTPServer(("127.0.0.1", 0), ParserHandler) as server:
    Thread(target=server.serve_forever, daemon=True).start()
    status, sentences = ask(server.server_address, "The cat sat on my mat. It didn't mind.")
    for sentence in sentences:
        columns = (sentence[name] for name in ("form", "head", "deprel"))
        print(status, list(zip(*columns, strict=True)))
    print(*ask(server.server_address, " "))
    server.shutdown()

# %%
# Response time
# -------------
# The tags of the treebank are cut into forty sentences of equal length, which are parsed one by one
# and all at once. Each time is the best of five, in CPU time, so other processes do
# not count. Short sentences are several times faster together, since each call has a fixed
# cost; from some twenty tokens on, the sums over trees cost more than the call.


def best_time(call, *args):
    """Return the milliseconds of the fastest of five calls."""
    laps = []
    for _ in range(5):
        started = time.thread_time()
        call(*args)
        laps.append(1000 * (time.thread_time() - started))
    return min(laps)


tags = list(chain.from_iterable(tree.symbols for tree in train + test))
lengths = [5, 10, 15, 20, 30, 40, 50]
one_by_one, at_once = [], []
for length in lengths:
    sentences = [tags[length * k : length * (k + 1)] for k in range(40)]
    one_by_one.append(np.mean([best_time(model.predict, [sentence]) for sentence in sentences]))
    at_once.append(best_time(model.predict, sentences) / len(sentences))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(lengths, one_by_one, marker="o", label="one sentence a call")
axes.plot(lengths, at_once, marker="s", label="forty sentences a call")
axes.set(xlabel="tokens", ylabel="milliseconds a sentence", ylim=(0, None))
axes.legend()
plt.show()
