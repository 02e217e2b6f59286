"""The command serve under load: speed, memory, and answers that are those of the command parse.

    python benchmarks/serve.py [--requests 10000] [--threads 8] [--idle 200]

The server of the bundled parser gets short texts of the bundled treebank from several threads of
another process, each request on a connection of its own, first alone, then beside connections that
are idle or send a byte a second. Each answer is compared with the output of `parse --input text`
for its text. The server's memory is read after a tenth of the requests and at the end (Linux only).
"""

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlencode

from sklearn_shag.datasets import load_english

COMMAND = [sys.executable, "-m", "sklearn_shag"]
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


def ask(address, text):
    """Send a text, and return the answer and the seconds it took."""
    fields = {"tokenizer": "", "tagger": "", "parser": "", "data": text}
    began = time.perf_counter()
    with urllib.request.urlopen(f"{address}/process", urlencode(fields).encode()) as answer:
        return json.loads(answer.read())["result"], time.perf_counter() - began


def read_memory(pid):
    """MiB of a process that are in memory, 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else 0.0


def drip(connections, stop):
    """Send a byte on every second connection each second, which never completes a request."""
    for connection in connections:
        connection.sendall(b"POST /process HTTP/1.1\r\nContent-Length: 4000\r\n\r\n")
    while not stop.wait(1.0):
        for connection in connections[::2]:
            with suppress(OSError):  # the server has given it up
                connection.sendall(b"d")


def load(process, address, texts, expected, n_requests, n_threads):
    """Send requests, and print their number, time and memory."""
    memory, seconds, wrong = [], [], 0
    began = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as threads:
        places = [k % len(texts) for k in range(n_requests)]
        answers = threads.map(lambda k: ask(address, texts[k]), places)
        for number, (place, (result, took)) in enumerate(zip(places, answers, strict=True)):
            wrong += result != expected[place]
            seconds.append(took)
            if number in (n_requests // 10, n_requests - 1):
                memory.append(read_memory(process.pid))
    wall = time.perf_counter() - began
    seconds.sort()
    print(
        f"{len(seconds):,} answers, {wrong} of them wrong; {n_requests / wall:.0f} a second, "
        f"median {1000 * seconds[len(seconds) // 2]:.1f} ms, 99 % under "
        f"{1000 * seconds[len(seconds) * 99 // 100]:.1f} ms; {memory[0]:.0f} MiB after a tenth, "
        f"{memory[-1]:.0f} at the end ({100 * (memory[-1] / max(memory[0], 1) - 1):+.1f} %)",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--idle", type=int, default=200)
    options = parser.parse_args()
    texts = make_texts()
    expected = parse_one_by_one(texts)
    command = [*COMMAND, "serve", "english", "--port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.terminate)
        address = process.stdout.readline().partition(": ")[2].strip()
        load(process, address, texts, expected, options.requests, options.threads)
        print(f"beside {options.idle} connections that are idle or slow:", flush=True)
        host, port = address.removeprefix("http://").split(":")
        connections = [
            stack.enter_context(socket.create_connection((host, int(port))))
            for _ in range(options.idle)
        ]
        stop = Event()
        stack.callback(stop.set)
        Thread(target=drip, args=(connections[: options.idle // 2], stop)).start()
        load(process, address, texts, expected, max(options.requests // 10, 10), options.threads)
        stop.set()
        process.terminate()
        print(f"exit status {process.wait()}")


if __name__ == "__main__":
    main()
