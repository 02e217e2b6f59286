"""What tests do not see: small changes of the source, sampled, and those that all tests pass.

Usage: python benchmarks/mutants.py [--number N] [--seed N] [--modules PREFIX...] [--json FILE]

Needs cosmic-ray (pip install cosmic-ray), which makes the changes. They are made in a copy of the
last commit, and met by the tests of the changed module, in the order of TESTS until one fails;
kernels run as plain Python where they are what is changed. Locations are drawn with equal chances,
and then a change there. What is no change of behaviour is not drawn: annotations, decorators that
compile, and operators that no one takes for each other (+ for <<). Survivors are printed as
differences, to be explained.
"""

import argparse
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from difflib import unified_diff
from pathlib import Path

import pytest

PACKAGE = "sklearn_shag"
SECONDS = 150  # of CPU that one test may take; a mutant for which it takes more does not end
NO_END = 77  # status of a process that was ended for that
# The tests of a module: those of the first prefix that fits, the quick ones first.
TESTS = {
    "treebank/_drawing": ("tree", "pictures", "displays"),
    "treebank/_token_feature": ("token_feature",),
    **dict.fromkeys(
        ("treebank/_graphemes", "treebank/_text"), ("splitter", "horizontal", "mistakes")
    ),
    **dict.fromkeys(("network/_splitter", "network/_characters"), ("splitter",)),
    "network/_augmentation": ("augmentation", "splitter"),
    "treebank/": (
        *("conllu", "tree", "tree_structure", "partial_trees", "horizontal", "token_feature"),
        *("sources", "displays", "punctuation", "unknown_symbols", "tagger", "conversions"),
        *("pictures", "splitter", "json_lines", "annotation_loop", "mistakes", "tokens"),
    ),
    "operators/_refined": ("refined", "operators"),
    "operators/": ("operators", "branching", "sequences", "automata_algebra", "chart"),
    "parsing/_decoders": ("arborescence", "viterbi"),
    "parsing/_viterbi": ("viterbi", "product", "answers"),
    "parsing/_fast": ("fast_chart", "lexicalized", "chart"),
    "parsing/_refined": ("refined",),
    "parsing/_losses": ("tree_values", "tree_loss", "all_trees"),
    "parsing/_chart": ("fast_chart", "chart"),
    "parsing/_arc_sums": ("arc_sums", "allowed"),
    "parsing/_arborescence": ("all_trees", "crossing"),
    "parsing/_samples": ("answers",),
    "parsing/_calibration": ("calibration", "tags"),
    "parsing/_forest": ("answers", "averaged", "allowed", "fast_chart"),
    "parsing/_potentials": ("tree_values", "fast_chart", "chart", "lexicalized"),
    "parsing/": ("viterbi", "chart", "product", "fast_chart", "partial"),
    "features/_vectors": ("vectors",),
    "": ("model_files", "persistence", "fuzz_models", "mistakes"),
}
# Pairs of operators that a programmer may take for each other.
ALIKE = [
    *({"Add", "Sub"}, {"Mul", "Div"}, {"Mul", "Add"}, {"FloorDiv", "Div"}, {"Pow", "Mul"}),
    *({"Mod", "FloorDiv"}, {"BitAnd", "BitOr"}, {"LShift", "RShift"}, {"Lt", "LtE"}, {"Gt", "GtE"}),
    *({"Lt", "Gt"}, {"LtE", "GtE"}, {"Eq", "NotEq"}, {"Is", "IsNot"}, {"Eq", "GtE"}, {"Eq", "LtE"}),
]
# What the copies of the process share, since to import it takes longer than most tests.
SHARED = ["numpy", "scipy.optimize", "numba", "sklearn.model_selection", "sklearn.utils.validation"]
SHARED += ["hypothesis", "conllu", "networkx", "joblib", "numpydoc.docscrape"]


def main():
    args = _parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ".", folder], check=True)
        mutants = sample(list_mutants(Path(folder, PACKAGE), args.modules), args.number, args.seed)
        for module in SHARED:
            importlib.import_module(module)
        check_tests(mutants, Path(folder), args.trust)
        results, start = [], time.monotonic()
        known = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
        known = {tuple(result["mutant"]): result for result in known}
        for index, mutant in enumerate(mutants):
            results.append(result := known.get(mutant) or try_mutant(mutant, Path(folder)))
            n_left = f"{index + 1}/{len(mutants)}, {time.monotonic() - start:.0f} s"
            print(f"{result['outcome']:9} {result['seconds']:4.0f} s  {mutant[:3]}  ({n_left})")
            if result["outcome"] == "survived":
                print(result["diff"])
            if args.json:
                args.json.write_text(json.dumps(results, indent=1))
    counts = Counter(result["outcome"] for result in results)
    print(f"Of {len(results)} mutants (seed {args.seed}): {dict(counts)}")


def list_mutants(package, prefixes):
    """All mutants by location: module, line, operator's name and occurrence."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    locations = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        module = str(path.relative_to(package))
        if not module.startswith(tuple(prefixes)) or module.endswith("__init__.py"):
            continue
        tree = get_ast(path.read_text())
        lines = path.read_text().splitlines()
        for name in filter(_is_likely, operator_names()):
            operator = get_operator(name)()
            positions = (
                where for node in ast_nodes(tree) for where in operator.mutation_positions(node)
            )
            for occurrence, ((line, column), _) in enumerate(positions):
                if not re.match(r"\s*(def|@)|.*\) -> |\s+\w+: [^=]*( \||,$)", lines[line - 1]):
                    locations[module, line, column].append((module, line, name, occurrence))
    return locations


def _is_likely(name):
    match = re.fullmatch(r"core/Replace(?:Binary|Comparison)Operator_(\w+)_(\w+)", name)
    if match:
        return set(match.groups()) in ALIKE
    return name not in ("core/VariableReplacer", "core/VariableInserter", "core/RemoveDecorator")


def sample(locations, number, seed):
    """Draw locations, and a mutant at each."""
    rng = random.Random(seed)
    chosen = rng.sample(sorted(locations), min(number, len(locations)))
    return [rng.choice(locations[location]) for location in sorted(chosen)]


def check_tests(mutants, folder, trust):
    """Tests must pass without a change; then kernels are compiled, too."""
    modules = {
        (find_tests(mutant[0]), _is_interpreted(mutant[0], folder)): mutant[0] for mutant in mutants
    }
    for (_, interpreted), module in modules.items():
        if not (interpreted and trust):
            outcome = _run_tests(module, folder, None)
            print(f"Tests of {module} as it is: {outcome}")
            if outcome != "survived":
                sys.exit(1)


def _is_interpreted(module, folder):
    """To compile all kernels again for a change of one would take minutes."""
    source = (folder / PACKAGE / module).read_text()
    return "_kernel" in source or "_simd" in source


def try_mutant(mutant, folder):
    """Change the source, run the tests, and put the source back."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    module, _, name, occurrence = mutant
    path = folder / PACKAGE / module
    source = path.read_text()
    mutated = mutate_code(source, get_operator(name)(), occurrence)
    diff = unified_diff(source.splitlines(), mutated.splitlines(), module, module, "", "", 2, "")
    start = time.monotonic()
    path.write_text(mutated)
    try:
        outcome = _run_tests(module, folder, SECONDS)
    finally:
        path.write_text(source)
    seconds = time.monotonic() - start
    return {"mutant": mutant, "outcome": outcome, "seconds": seconds, "diff": "\n".join(diff)}


def find_tests(module):
    return next(tests for prefix, tests in TESTS.items() if module.startswith(prefix))


def _run_tests(module, folder, seconds):
    files = [f"tests/test_{name}.py" for name in find_tests(module)]
    cache = folder / "caches" / re.sub(r"\W", "_", module)
    options = ["-q", "-x", "--ff", "-o", f"cache_dir={cache}", "-o", "addopts="]
    # What was imported before the fork has its assertions as they are.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    process = os.fork()
    if not process:
        status = 9
        try:
            status = _test([*options, "-m", "not exhaustive", *files], folder, module, seconds)
        finally:  # whatever happens, what is after the fork is for the other process
            traceback.print_exc()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    # 2 and 4: modules of tests, or what they share, cannot be imported.
    outcomes = {0: "survived", 1: "killed", 2: "killed", 4: "killed", NO_END: "no end"}
    return outcomes.get(status, f"status {status}")


class _Limit:
    """A pytest plugin that ends the process when a test takes too long."""

    def __init__(self, seconds):
        self._seconds = seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        return (yield)


def _test(arguments, folder, module, seconds):
    """In a process of its own, which has imported nothing of the package."""
    import numba

    signal.signal(signal.SIGPROF, lambda *_: os._exit(NO_END))
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)
    sys.dont_write_bytecode = True
    if _is_interpreted(module, folder):
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.DISABLE_JIT = True
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    return int(pytest.main(arguments, plugins=[_Limit(seconds)] if seconds else []))


def _parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--modules",
        nargs="+",
        default=["treebank/", "operators/", "parsing/", "model_files/"],
        help="beginnings of their paths",
    )
    parser.add_argument(
        "--trust", action="store_true", help="that tests of plain kernels pass as they are"
    )
    parser.add_argument("--json", type=Path, help="file for the results, which goes on")
    return parser.parse_args()


if __name__ == "__main__":
    main()
