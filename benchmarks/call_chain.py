"""Print the chain of the package's own calls, from a public method to the innermost, as it ran.

For each method: the deepest stack of own Python functions from which a kernel was called, without
the kernel and its wrapper, and how many calls there were from one module of the package to another,
as a profiler saw them. Calls within a module do not count, so that it may be cut into functions
and methods as it reads best. Kernels are compiled, so what they call is not seen. Parsers parse
one sentence of 29 tokens.

    python benchmarks/call_chain.py
"""

import sys

from sklearn_shag import EMSHAG, BiaffineParser, CRFParser, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english

N_TRAINING, N_TOKENS = 100, 29
KERNELS = "sklearn_shag.utils._kernel"


class Recorder:
    """Within its block: the calls between modules, and the deepest stack that calls a kernel.

    A call belongs to the module of the next own function on the stack, whatever is between them.
    Comprehensions are no functions, though some versions of Python run them as such.
    """

    def __enter__(self):
        self.n_calls, self.deepest = 0, []
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _profile(self, frame, event, _):
        if event != "call":
            return
        if is_own(frame):
            self.n_calls += frame.f_globals["__name__"] != calling_module(frame)
        elif frame.f_globals.get("__name__") == KERNELS:
            stack = []
            while frame is not None:
                if is_own(frame):
                    module = frame.f_globals["__name__"].removeprefix("sklearn_shag.")
                    stack.append(f"{module}: {frame.f_code.co_qualname}")
                frame = frame.f_back
            if len(stack) > len(self.deepest):
                self.deepest = stack[::-1]


def is_own(frame):
    name = frame.f_globals.get("__name__", "")
    is_function = frame.f_code.co_name not in ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
    return name.startswith("sklearn_shag.") and name != KERNELS and is_function


def calling_module(frame):
    """The module of the own function that has led to a call; None if it came from outside."""
    caller = frame.f_back
    while caller is not None and not is_own(caller):
        caller = caller.f_back
    return None if caller is None else caller.f_globals["__name__"]


def show(name, call):
    call()  # compiles
    with Recorder() as recorder:
        call()
    print(f"\n{name}: {recorder.n_calls} calls between modules, {len(recorder.deepest)} deep")
    for depth, function in enumerate(recorder.deepest):
        print(f"  {'  ' * depth}{function}")


def main():
    trees = load_english().data
    train = trees[:N_TRAINING]
    sentence = next(tree for tree in trees[N_TRAINING:] if len(tree) == N_TOKENS)
    columns = ["upos", "xpos", "feats", "form", "lemma", "prefix", "suffix", "shape"]
    models = (
        DeterministicSHAG(),
        SpectralSHAG(),
        EMSHAG(init="moments", max_iter=1, tol=9),
        CRFParser(max_iter=1),
        BiaffineParser(columns, max_iter=1),
    )
    for model in models:
        name = type(model).__name__
        show(f"{name}.fit of {N_TRAINING} trees", lambda model=model: model.fit(train))
        n_columns = len(getattr(model, "vocabulary_", "s"))
        show(
            f"{name}.predict of {N_TOKENS} tokens, {n_columns} columns",
            lambda model=model: model.predict([sentence]),
        )


if __name__ == "__main__":
    main()
