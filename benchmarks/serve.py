"""The web service under load: speed, memory, and answers that are those of the command parse.

    python benchmarks/serve.py [--requests 10000] [--threads 8] [--idle 20] [--server gunicorn]

A server of the bundled parser gets short texts of the bundled treebank from several threads of
another process, each request on a connection of its own. Each answer is compared with the output of
`parse --input text` for its text. The command `serve` also gets requests that must be refused:
bodies of 6 MB, bad UTF-8 and wrong parameters. Some clients leave without an answer, and beside all
these are connections that are idle or send a byte a second. The memory of the server, or of the
worker that grows most, is compared with that at the start (Linux only).
"""

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import PIPE, STDOUT
from threading import Event, Thread
from urllib.parse import urlencode

from sklearn_shag.datasets import load_english

COMMAND = [sys.executable, "-m", "sklearn_shag"]
GUNICORN = [sys.executable, "-m", "gunicorn", "sklearn_shag.service:make_app(['english'])"]
GUNICORN += ["--workers=2", "--threads=8", "--preload", "--bind=127.0.0.1:0", "--timeout=130"]
FORM = "application/x-www-form-urlencoded"
N_TEXTS = 100


def make_texts():
    """Texts of one to three sentences."""
    sentences = [" ".join(tree.forms) for tree in load_english().data]
    return [" ".join(sentences[k : k + 1 + k % 3]) for k in range(N_TEXTS)]


def parse_one_by_one(texts):
    """What the command parse writes for each text, as a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{k:03}.txt") for k in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        command = [*COMMAND, "parse", "english", "--input", "text", *map(str, files)]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    documents = re.split(r"^# newdoc id = \d+\n", out, flags=re.MULTILINE)[1:]
    # Of one file, on standard input, sentences are named by their numbers alone.
    return [re.sub(r"^# sent_id = \d+-", "# sent_id = ", d, flags=re.MULTILINE) for d in documents]


def ask(address, body):
    """Send a form, and return status, answer and the seconds it took."""
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(f"{address}/process", body, timeout=120) as answer:
            status, text = answer.status, json.loads(answer.read())["result"]
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, None
    return status, text, time.perf_counter() - began


def leave(address, body):
    """Send a form, and close the connection."""
    host, port = address.removeprefix("http://").split(":")
    head = f"POST /process HTTP/1.1\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
    return 0, None, 0.0


def list_workers(pid):
    """The processes that parse: the children of a process, or itself."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return (children.exists() and children.read_text().split()) or [str(pid)]


def read_memory(pid):
    """MiB of a process that are in memory, 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else 0.0


def drip(connections, stop):
    """Send a byte on every second connection each second, which never completes a request."""
    for connection in connections[::2]:
        connection.sendall(b"POST /process HTTP/1.1\r\nContent-Length: 4000\r\n\r\n")
    while not stop.wait(1.0):
        for connection in connections[::2]:
            with suppress(OSError):  # the server has given it up
                connection.sendall(b"d")


def make_requests(texts, expected, n_requests, is_mixed):
    """Yield functions to call, with bodies, statuses and answers; every fiftieth is hard."""
    tasks = {"tokenizer": "", "tagger": "", "parser": ""}
    bodies = [urlencode(tasks | {"data": text}).encode() for text in texts]
    hard = [
        (ask, b"data=" + 6_000_000 * b"x", 413),
        (ask, b"tokenizer&data=%ff\xff", 400),
        (ask, bodies[0] + b"&format=conllu", 400),
        (leave, bodies[0], 0),
    ]
    for k in range(n_requests):
        if is_mixed and k % 50 == 49:
            yield *hard[k // 50 % len(hard)], None
        else:
            place = k % len(texts)
            yield ask, bodies[place], 200, expected[place]


def load(process, address, requests, n_threads):
    """Send requests, and print their number, time and memory."""
    seconds, wrong, refused = [], 0, 0
    ask(address, b"tokenizer&tagger&parser&data=It+is+ready.")
    workers = list_workers(process.pid)
    start = {worker: read_memory(worker) for worker in workers}
    began = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as threads:
        answers = threads.map(lambda request: request[0](address, request[1]), requests)
        for (_, _, status, text), found in zip(requests, answers, strict=True):
            wrong += found[:2] != (status, text)
            refused += status != 200
            if status == 200:
                seconds.append(found[2])
    wall = time.perf_counter() - began
    seconds.sort()
    growth = max(read_memory(worker) - start[worker] for worker in workers)
    print(
        f"{len(requests):,} requests, of which {refused} are refused or left, and {wrong} have a "
        f"wrong answer; {len(requests) / wall:.0f} a second, "
        f"median {1000 * seconds[len(seconds) // 2]:.1f} ms, 99 % under "
        f"{1000 * seconds[len(seconds) * 99 // 100]:.1f} ms; {growth:+.0f} MiB from "
        f"{max(start.values()):.0f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--idle", type=int, default=20)
    parser.add_argument("--server", choices=["serve", "gunicorn"], default="serve")
    options = parser.parse_args()
    is_mixed = options.server == "serve"
    command = [*COMMAND, "serve", "english", "--port", "0"] if is_mixed else GUNICORN
    texts = make_texts()
    requests = [*make_requests(texts, parse_one_by_one(texts), options.requests, is_mixed)]
    with (
        subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.terminate)
        line = next(filter(re.compile("https?://").search, process.stdout))
        address = re.search(r"http://[\d.:]+", line)[0]
        host, port = address.removeprefix("http://").split(":")
        n_open = options.idle if is_mixed else 0
        connections = [
            stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(n_open)
        ]
        stop = Event()
        stack.callback(stop.set)
        Thread(target=drip, args=(connections, stop)).start()
        load(process, address, requests, options.threads)
        stop.set()
        process.terminate()
        rest = process.stdout.read()
        print(f"exit status {process.wait()}")
        if is_mixed:
            print(rest, end="")  # nothing is expected


if __name__ == "__main__":
    main()
