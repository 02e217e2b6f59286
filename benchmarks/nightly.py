"""A nightly run: 2,000 documents with faults in them, killed half-way and resumed.

    python benchmarks/nightly.py UD_English-EWT/en_ewt-ud-test.conllu

The text of a treebank, so many times, is cut into documents. One of them has a NUL, one is not
UTF-8, one is empty, and one is a megabyte on a line. They are parsed as files and as JSON lines, by
one process and by two. Shown are seconds, peak memory (Linux: PSS of all processes), what the
command reports, and whether the output is complete and, after a kill, the same.
"""

import argparse
import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "sklearn_shag", "parse"]
NUL, LATIN, EMPTY, LONG = 7, 11, 13, 17  # places of the documents that are not like the others


def make_documents(treebank, n_times, n_documents, n_long):
    """The documents in bytes, as a dict by id."""
    lines = Path(treebank).read_text(encoding="utf-8").splitlines()
    texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    per_copy = n_documents // n_times
    size = -(-len(texts) // per_copy)
    parts = ["\n".join(texts[k : k + size]) + "\n" for k in range(0, len(texts), size)]
    found = {f"doc{k:05}": parts[k % per_copy].encode() for k in range(n_documents)}
    names = list(found)
    found[names[NUL]] = b"Dogs bark.\n" * 50 + b"A\0 character.\n"
    found[names[LATIN]] = b"Dogs bark.\n" * 50 + b"A caf\xe9.\n"
    found[names[EMPTY]] = b""
    found[names[LONG]] = " ".join(texts * (1 + n_long // sum(map(len, texts))))[:n_long].encode()
    return found


def write_documents(documents, folder):
    """Write files and JSON lines; return the two lists of arguments."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    with (folder / "documents.jsonl").open("wb") as stream:
        for name, text in documents.items():
            (files / f"{name}.txt").write_bytes(text)
            # A letter of Latin-1 stays as it is, since JSON itself is of letters only.
            line = json.dumps({"id": name, "text": text.decode("latin-1")}, ensure_ascii=False)
            is_latin = b"\xe9" in text and len(text) < 10_000
            whole = json.dumps({"id": name, "text": text.decode(errors="replace")})
            stream.write((line.encode("latin-1") if is_latin else whole.encode()) + b"\n")
    return [str(files), "--input", "text"], [str(folder / "documents.jsonl"), "--input", "jsonl"]


def sum_memory(pid):
    """The PSS of a process and its children, in megabytes."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            total += int(line.split()[1]) / 1024 if line.startswith("Pss:") else 0
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text().split()
            total += sum(map(sum_memory, map(int, children)))
    except OSError:  # it has ended
        pass
    return total


def run(arguments, kill_at=None):
    """Run the command, kill it once its partial file is so large; return what was measured."""
    output = Path(arguments[arguments.index("-o") + 1])
    partial = Path(f"{output}.part")
    began, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(
        [*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None:
        peak = max(peak, sum_memory(process.pid))
        if kill_at is not None and partial.exists() and partial.stat().st_size >= kill_at:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.05)
    lines = process.stderr.read().splitlines()
    return process.returncode, time.perf_counter() - began, peak, lines


def list_ids(output):
    """The ids of the documents in an output, in order."""
    is_packed = output.name.endswith(".gz")
    with gzip.open(output, "rt") if is_packed else output.open(encoding="utf-8") as stream:
        if ".jsonl" in output.name:
            return [json.loads(line)["id"] for line in stream]
        begin = "# newdoc id = ", "# empty_document = "
        return [line.partition(" = ")[2].strip() for line in stream if line.startswith(begin)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("treebank")
    parser.add_argument("--model", default="english")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--long", type=int, default=1_000_000, help="characters on a line")
    parser.add_argument("--n-jobs", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        documents = make_documents(options.treebank, options.times, options.documents, options.long)
        sources = write_documents(documents, folder)
        wanted = [each for k, each in enumerate(documents) if k not in (NUL, LATIN)]
        size = sum(map(len, documents.values())) / 1e6
        print(f"{len(documents)} documents, {size:.1f} MB", flush=True)
        for source, form in zip(sources, ("conllu", "jsonl.gz"), strict=True):
            for n_jobs in options.n_jobs:
                output = folder / f"out.{form}"
                given = [options.model, *source, "-o", str(output), "--on-error", "skip"]
                given += ["--output-format", form.partition(".")[0], "--n-jobs", str(n_jobs)]
                status, seconds, peak, lines = run(given)
                digest = hashlib.sha256(output.read_bytes()).hexdigest()
                ids = list_ids(output)
                # In CoNLL-U an empty document is noted in the one behind it.
                in_order = (ids if "jsonl" in form else sorted(ids)) == wanted
                print(
                    f"{form}, {n_jobs} processes: status {status}, {seconds:.0f} s, "
                    f"{peak:.0f} MB, {len(ids)} documents, in order: {in_order}"
                )
                print(*(f"  {line[:150]}" for line in lines[-8:]), sep="\n", flush=True)
                half = output.stat().st_size // 2
                output.unlink()
                killed, before, *_ = run(given, kill_at=half)
                status, after, *_ = run([*given, "--resume"])
                is_same = hashlib.sha256(output.read_bytes()).hexdigest() == digest
                print(
                    f"  killed ({killed}) after {before:.0f} s, resumed: status {status}, "
                    f"{after:.0f} s, the same bytes: {is_same}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
