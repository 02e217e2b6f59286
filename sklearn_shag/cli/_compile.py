"""The command `compile`, which calls what other commands call, so that kernels are compiled."""

import io
import warnings
from argparse import Namespace
from contextlib import redirect_stdout, suppress
from itertools import product
from time import perf_counter

import sklearn_shag
from sklearn_shag._parser import Parser
from sklearn_shag.automata import SequenceModel
from sklearn_shag.cli._demo import demo
from sklearn_shag.cli._models import open_model
from sklearn_shag.datasets import load_english, make_sequences
from sklearn_shag.treebank import DependencyTree
from sklearn_shag.utils._estimators import find_splitter, open_member
from sklearn_shag.utils._heads import UNKNOWN

KEPT = {"keep_heads": True, "random_state": 0}
WAYS = [{"confidence": True, "n_best": 2}, {"n_samples": 2, "random_state": 0}]
WAYS += [KEPT | way for way in WAYS]
FEW = 20  # sentences; long ones and many at once have kernels of their own
LONG = {"forms", "lemmas", "upos", "xpos", "feats"}  # columns
KINDS = ["SpectralSHAG", "EMSHAG", "RefinedSHAG", "LexicalizedSHAG", "CRFParser", "BiaffineParser", "DMV"]
KINDS += ["Splitter", "Tagger", "EMAutomaton", "SpectralAutomaton"]


def compile(options):
    """Compile the kernels that models need, and keep their code.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context` and `all`.

    Raises
    ------
    OSError
        If the folder of compiled code cannot be written.
    """
    from sklearn_shag.utils._kernel_cache import can_write, code_folder  # imports numba

    if not can_write(folder := code_folder()):
        raise OSError(f"{folder} cannot be written; set NUMBA_CACHE_DIR to a folder that can.")
    names = [*(options.model or ["english", "demo"]), *(KINDS if options.all else ())]
    for name in names:
        began = perf_counter()
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == "demo":
                demo(Namespace(text=None, treebank=None, n_jobs=None))
            elif name in KINDS:
                _fit(getattr(sklearn_shag, name)())
            else:
                _parse_in_all_ways(open_model(Namespace(**vars(options) | {"model": name}), []))
        print(f"{name}: {perf_counter() - began:.1f} s", flush=True)
    print(f"The code of {len(list(folder.iterdir()))} kernels is in {folder}")


def _fit(model):
    """Fit a model to few sentences, and parse with it if it is a parser."""
    few = {"max_iter": 2, "hidden_layer_sizes": [8], "random_state": 0}
    model.set_params(**{name: few[name] for name in few.keys() & model.get_params().keys()})
    if isinstance(model, SequenceModel):
        model.fit(sequences := make_sequences(50, random_state=0)).score(sequences)
        model.sample(2, random_state=0)
    elif isinstance(model.fit(load_english().data), Parser):
        _parse_in_all_ways(model)


def _parse_in_all_ways(model):
    """Parse sentences with a model in each way that a command has."""
    transform, parser = open_member(model)
    if find_splitter(model) is not None:
        model.parse_text("It sleeps.")
    trees = load_english().data
    long = {name: 20 * getattr(trees[0], name) for name in LONG}
    trees = transform([*trees, DependencyTree(**long)])
    few = [tree.with_heads([*tree.heads[:1], *[UNKNOWN] * (len(tree) - 1)]) for tree in trees[:FEW]]
    for decoder in ("mbr", "max_marginal", "mst", "viterbi"):
        parser.set_params(decoder=decoder)
        for sentences, way in [(trees, {}), *product((few,), WAYS)]:
            with suppress(ValueError):  # nothing is compiled for what a model refuses
                parser.parse(sentences, **way)
