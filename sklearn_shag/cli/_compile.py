"""The command `compile`: it runs the code of other commands, so that kernels are compiled."""

import io
import warnings
from contextlib import redirect_stdout, suppress
from itertools import product

from sklearn.base import clone

from sklearn_shag.automata import EMAutomaton
from sklearn_shag.cli._demo import compare_grammars
from sklearn_shag.cli._models import open_model
from sklearn_shag.cli._recipe import LEARNERS
from sklearn_shag.conditional import CRFParser
from sklearn_shag.datasets import load_english, make_sequences
from sklearn_shag.network import Splitter, Tagger
from sklearn_shag.service import make_examples
from sklearn_shag.utils._estimators import find_splitter, open_member
from sklearn_shag.utils._heads import UNKNOWN

DECODERS = ("mbr", "max_marginal", "mst", "viterbi")
WAYS = {}, {"n_best": 2, "confidence": True}, {"n_samples": 2, "random_state": 0}


def compile(options):
    """Compile the kernels that models need, and keep their code.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `dictionary` and `all`.

    Raises
    ------
    OSError
        If the folder of compiled code cannot be written.
    """
    from sklearn_shag.utils._kernel_cache import can_write, code_folder  # imports numba

    folder = code_folder()
    if not can_write(folder):
        raise OSError(f"{folder} cannot be written; set NUMBA_CACHE_DIR to a folder that can.")
    with redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        for name in options.model or ["english", "demo"]:
            if name == "demo":
                compare_grammars()
            else:
                model = open_model(
                    name, context=options.context, dictionary=options.dictionary, n_jobs=1
                )
                _parse_in_all_ways(model)
        if options.all:
            _fit_all()
    print(f"The code of {len(list(folder.iterdir()))} kernels is in {folder}")


def _fit_all():
    """Fit models of all kinds in few passes, and parse with all parsers among them."""
    drawn = make_sequences(50, random_state=0)
    EMAutomaton(max_iter=2).fit(drawn).score(drawn)
    for model in (*LEARNERS.values(), CRFParser(trees="all"), Tagger(cv=2), Splitter()):
        few = {"max_iter": 2} if hasattr(model, "max_iter") else {}
        fitted = clone(model).set_params(**few).fit(load_english().data)
        if hasattr(fitted, "parse"):
            _parse_in_all_ways(fitted)


def _parse_in_all_ways(model):
    """Parse sentences with a model in each way that a command has."""
    transform, parser = open_member(model)
    if find_splitter(model) is not None:
        model.parse_text("It sleeps.")
    trees = transform(make_examples())
    parser.set_params(max_tokens=1000).parse(trees)
    few = [tree.with_heads([*tree.heads[:1], *[UNKNOWN] * (len(tree) - 1)]) for tree in trees[:20]]
    few.append(few[0].with_heads([3, 4, *[UNKNOWN] * (len(few[0]) - 2)]))  # these cross
    for decoder, keeps, way in product(DECODERS, (False, True), WAYS):
        parser.set_params(decoder=decoder)
        with suppress(ValueError):  # nothing is compiled for what a model refuses
            parser.parse(few, keep_heads=keeps, **way)
