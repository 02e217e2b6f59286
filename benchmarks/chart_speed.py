"""The chart against torch-struct, against a product of matrices, and its growth and memory.

Usage: python benchmarks/chart_speed.py [--output RESULTS.json]

Everything runs on one thread, on random sentences and random grammars. Contestants take turns in
one process, and what counts are ratios of their least CPU time. torch-struct is optional (pip
install torch, then pip install --no-deps torch-struct). Takes a few minutes.
"""

import itertools
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from _measure import Report, make_dgemm, measured, minima, read_arguments
from threadpoolctl import threadpool_limits

from sklearn_shag.operators import Operators
from sklearn_shag.parsing import Potentials, pack_grammar
from sklearn_shag.parsing._chart import sum_up_sentences

N_SYMBOLS = 17  # as many as there are universal parts of speech
STATES = (1, 4, 8, 10, 16)
SINGLE = (100, 200, 400)
IN_CHUNKS = (15, 20, 25, 30, 40, 50)
BATCHES = (1, 8, 32, 128, 512)
STATUS = Path("/proc/self/status")


def random_grammar(n_states, seed=0):
    """A grammar of probabilistic automata: in every state, stopping and moving on sum to 1."""
    rng = np.random.default_rng(seed)
    leading = (N_SYMBOLS + 2, 2)
    alpha_1, alpha_inf = rng.uniform(0.05, 1.0, size=(2, *leading, n_states))
    A = rng.uniform(0.05, 1.0, size=(*leading, N_SYMBOLS + 1, n_states, n_states))
    total = alpha_inf + A.sum(axis=(2, 3))
    alpha_1 /= alpha_1.sum(axis=-1, keepdims=True)
    return Operators(alpha_1, alpha_inf / total, A / total[:, :, None, None, :])


def random_codes(n_sentences, n_tokens):
    return np.random.default_rng(1).integers(N_SYMBOLS, size=(n_sentences, n_tokens))


def marginals(n_states, codes):
    """A function that computes the arc marginals of sentences of equal length."""
    n_sentences, n_tokens = codes.shape
    sentences = Potentials(n_tokens * np.arange(n_sentences + 1), codes.ravel())
    grammar = pack_grammar(random_grammar(n_states))  # once, as a fitted model
    return lambda: sum_up_sentences(grammar, sentences)


def operations(n_states, n_tokens):
    """Multiplications and additions of one sentence; doc/speed.rst tells how they arise."""
    return 4 * n_states * n_tokens**3 + 6 * n_states**2 * n_tokens**2


def peer(torch, torch_struct, codes, dtype, multiroot):
    """The same for torch-struct, with the arc scores of the grammar of one state.

    Its heads are rows and its roots the diagonal. Its inside pass writes to the scores, which it
    can only where they require a gradient.
    """
    A, places = random_grammar(1).A[..., 0, 0], np.arange(codes.shape[1])
    direction = (places > places[:, None]).astype(int)
    scores = np.log(A[codes[:, :, None], direction, codes[:, None, :]])
    scores[:, places, places] = np.log(A[-1, 1, codes])
    scores = torch.tensor(scores, dtype=dtype, requires_grad=True)
    return lambda: torch_struct.DependencyCRF(scores, multiroot=multiroot).marginals


def check_peer(torch, torch_struct):
    """Make sure that both compute the same."""
    codes = random_codes(1, 10)
    theirs = peer(torch, torch_struct, codes, torch.float64, False)()[0].detach().numpy()
    off_diagonal = theirs * (1 - np.eye(10))
    expected = np.column_stack([theirs.diagonal(), off_diagonal.T])
    np.testing.assert_allclose(marginals(1, codes)().arcs.reshape(10, 11), expected, atol=1e-8)


def compare_with_peer(report):
    try:
        import torch
        import torch_struct
    except ImportError:
        report.add("torch-struct", [{"what": "torch-struct", "is": "not installed"}])
        return []
    warnings.filterwarnings("ignore", message=".*arg_constraints", category=UserWarning)
    torch.set_num_threads(1)
    check_peer(torch, torch_struct)
    dtypes = {"double": torch.float64, "single": torch.float32}
    rows, bars = [], []
    for n_tokens in (25, 50):
        functions = {}
        for size in BATCHES:
            codes = random_codes(size, n_tokens)
            functions.update({(n, size): marginals(n, codes) for n in (1, 8)})
            for name, dtype in dtypes.items():
                for many in (True, False):
                    functions[name, many, size] = peer(torch, torch_struct, codes, dtype, many)
        times = {key: t / key[-1] for key, t in minima(functions).items()}
        # torch-struct with whichever number of roots it is faster with.
        for key in itertools.product(dtypes, BATCHES):
            times[key] = min(times[key[0], many, key[1]] for many in (True, False))
        rows += [
            {"tokens": n_tokens, "batch": b}
            | {f"torch-struct, {k}": 1e6 * times[k, b] for k in dtypes}
            | {f"n = {n}": 1e6 * times[n, b] for n in (1, 8)}
            for b in BATCHES
        ]
        best = {k: min(times[k, b] for b in BATCHES) for k in (*dtypes, 1, 8)}
        for n, at_least in ((1, 10), (8, 1)):
            label = f"times as fast as torch-struct, {n_tokens} tokens, n = {n}"
            bars += [
                measured(label, best["double"] / best[n], at_least=at_least),
                measured(f"{label}, if in single precision", best["single"] / best[n]),
            ]
    report.add("torch-struct", rows)
    return bars


def compare_with_dgemm(report):
    dgemm, dgemm_operations = make_dgemm()
    rates, times = [], []
    for n_tokens in (*IN_CHUNKS, *SINGLE):
        size = 1 if n_tokens in SINGLE else 8192 // n_tokens
        codes = random_codes(size, n_tokens)
        seconds = minima({n: marginals(n, codes) for n in STATES} | {"dgemm": dgemm})
        rates.append(dgemm_operations / seconds.pop("dgemm"))
        times.append({n: t / size for n, t in seconds.items()} | {"N": n_tokens, "size": size})
    # Its best: had a neighbour of this process slowed only dgemm, the chart would look good.
    rate = max(rates)
    for row in times:
        row["share"] = {n: 100 * operations(n, row["N"]) / row[n] / rate for n in STATES}

    def table(cell):
        return [
            {"tokens": row["N"], "sentences": row["size"]}
            | {f"n = {n}": cell(row, n) for n in STATES}
            for row in times
        ]

    report.add("percent of dgemm", table(lambda row, n: row["share"][n]))
    report.add("microseconds per sentence", table(lambda row, n: 1e6 * row[n]))
    single, chunks = (
        min(row["share"][n] for row in times if (row["size"] == 1) == alone for n in (8, 16))
        for alone in (True, False)
    )
    return [
        measured("dgemm, GFlop/s", rate / 1e9),
        measured("lowest percent of dgemm, single sentences, n = 8 and 16", single, at_least=30),
        measured("lowest percent of dgemm, chunks, n = 8 and 16", chunks, at_least=20),
    ]


def growth():
    """The exponent of time per sentence; chunks of equal size, so that no overhead flatters it."""
    lengths = np.array([50, 100, 200, 400])
    sizes = 1600 // lengths
    seconds = minima(
        {n: marginals(8, random_codes(k, n)) for n, k in zip(lengths, sizes, strict=True)}
    )
    per_sentence = np.array(list(seconds.values())) / sizes
    exponent = float(np.polyfit(np.log(lengths), np.log(per_sentence), 1)[0])
    return [measured("exponent of growth, 50 to 400 tokens, n = 8", exponent, at_most=3.1)]


def peak_memory(n_tokens):
    """Bytes that a process ever held, after the chart of one sentence with 8 states."""
    marginals(8, random_codes(1, n_tokens))()
    # getrusage would do, were it not for its memory of the parent process.
    status = STATUS.read_text().split()
    return 1024 * int(status[status.index("VmHWM:") + 1])


def memory():
    folder = str(Path(__file__).resolve().parent)
    code = f"import sys; sys.path.insert(0, {folder!r}); import chart_speed; "
    peaks = {}
    # The chart of ten tokens comes first and leaves the compiled kernels in the cache.
    for n_tokens in (10, 10, 1000) if STATUS.exists() else ():
        command = [sys.executable, "-c", code + f"print(chart_speed.peak_memory({n_tokens}))"]
        peaks[n_tokens] = int(subprocess.check_output(command))
    label = "MiB of a sentence of 1000 tokens, n = 8"
    if not peaks:
        return [measured(label, "needs Linux")]
    return [measured(label, (peaks[1000] - peaks[10]) / 2**20, at_most=1024)]


def main():
    report = Report("chart_speed", read_arguments(__doc__, takes_treebank=False).output)
    with threadpool_limits(1):
        rows = compare_with_peer(report) + compare_with_dgemm(report) + growth()
    report.add("summary", rows + memory())


if __name__ == "__main__":
    main()
