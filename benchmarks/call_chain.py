"""Print the chain of the package's own calls, from a public method to the innermost, as it ran.

For each method: the deepest stack of own Python functions that a profiler saw, and how many calls
of own functions there were in all. Kernels are compiled, so what they call is not seen.

    python benchmarks/call_chain.py
"""

import sys

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.datasets import load_english

N_TRAINING, N_PARSED = 100, 1


class Recorder:
    """Within its block: the calls of own functions, and the deepest stack of them."""

    def __enter__(self):
        self.n_calls, self.deepest = 0, []
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _profile(self, frame, event, _):
        if event != "call" or not is_own(frame):
            return
        self.n_calls += 1
        stack = []
        while frame is not None:
            if is_own(frame):
                module = frame.f_globals["__name__"].removeprefix("sklearn_shag.")
                stack.append(f"{module}: {frame.f_code.co_qualname}")
            frame = frame.f_back
        if len(stack) > len(self.deepest):
            self.deepest = stack[::-1]


def is_own(frame):
    return frame.f_globals.get("__name__", "").startswith("sklearn_shag.")


def show(name, call):
    call()  # compiles
    with Recorder() as recorder:
        call()
    print(f"\n{name}: {recorder.n_calls} own calls, {len(recorder.deepest)} deep")
    for depth, function in enumerate(recorder.deepest):
        print(f"  {'  ' * depth}{function}")


def main():
    trees = load_english().data
    train, test = trees[:N_TRAINING], trees[N_TRAINING : N_TRAINING + N_PARSED]
    models = (DeterministicSHAG(), SpectralSHAG(), EMSHAG(init="moments", max_iter=1, tol=9))
    for model in models:
        name = type(model).__name__
        show(f"{name}.fit of {N_TRAINING} trees", lambda model=model: model.fit(train))
        show(f"{name}.predict of a sentence", lambda model=model: model.predict(test))


if __name__ == "__main__":
    main()
