"""Models that are served: their tasks, and their analyses of sentences."""

import os
from collections.abc import Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from sklearn_shag.datasets import find_model, load_english
from sklearn_shag.model_files import load_model
from sklearn_shag.network import LEARNED
from sklearn_shag.parsing import parse_trees
from sklearn_shag.service._formats import normalize_spaces
from sklearn_shag.treebank import ATTRIBUTES, MISSING, DependencyTree, with_tags
from sklearn_shag.utils._estimators import OpenMember, find_splitter, open_parser
from sklearn_shag.utils._io import expand_user
from sklearn_shag.utils._parallel import call_recorded

# The tasks, with the options that each may have, separated by ";"; some clients send 1 for none.
TASKS = {
    "tokenizer": {"", "1", "normalized_spaces", "presegmented", "ranges"},
    "tagger": {"", "1"},
    "parser": {"", "1"},
}


class ServedModel(NamedTuple):
    """A model with the tasks that it has learned."""

    opened: OpenMember
    splitter: Any  # None if the model has none
    tasks: list[str]

    def split(self, text, options=()):
        """Iterate over the sentences of a text, with options of the tokenizer."""
        trees = self.splitter.iter_split_text(StringIO(text), lines="presegmented" in options)
        return map(normalize_spaces, trees) if "normalized_spaces" in options else trees

    def analyse(self, tasks, confidence, given):
        """Tag and parse sentences, as far as these are the tasks.

        Parameters
        ----------
        tasks : set of str
        confidence : bool or "all"
            As for :meth:`find_trees`.
        given : list of DependencyTree

        Returns
        -------
        found : list of pairs of a DependencyTree and a dict of its probabilities
        """
        if not tasks & {"tagger", "parser"}:
            return [(tree, {}) for tree in given]
        found = [pairs[0] for pairs in self.find_trees(confidence, None, given)]
        rows = zip(given, found, strict=True)
        if "tagger" not in tasks:
            return [(with_tags(tree, _read_tags(own)), proba) for own, (tree, proba) in rows]
        if "parser" not in tasks:
            return [(with_tags(own, _read_tags(tree)), proba) for own, (tree, proba) in rows]
        return found

    def find_trees(self, confidence, n_best, given):
        """List the best trees of sentences, with their probabilities.

        Parameters
        ----------
        confidence : bool or "all"
            Whether trees hold their probabilities; with "all" these stand beside them, in dicts.
        n_best : int or None
            How many trees of each sentence; None is one, by the decoder of the parser.
        given : list of DependencyTree

        Returns
        -------
        found : list of list of pairs of a DependencyTree and a dict
        """
        found = parse_trees(self.opened, given, confidence=confidence, n_best=n_best)
        return [pairs for pairs, *_ in found]

    def _compile(self, examples):
        """Run all code once that analyses need."""
        if self.splitter is not None:
            list(self.split("It is ready."))
        with suppress(ValueError):  # grammars with negative values have no list of best trees
            self.find_trees("all", 2, examples[:2])
        self.find_trees(False, None, examples)


def _read_tags(tree):
    """Read the columns of a tree that taggers learn, without a value where there is none."""
    return {n: getattr(tree, ATTRIBUTES[n]) or (MISSING,) * len(tree) for n in LEARNED}


def make_examples():
    """Make sentences of the kinds that have kernels of their own: many at once, and a long one."""
    trees = load_english().data
    long = {n: 20 * getattr(trees[0], n) for n in ("forms", "lemmas", "upos", "xpos", "feats")}
    return [*trees, DependencyTree(**long)]


def open_served(model, max_tokens):
    """Make a model ready for a service, with all code that it needs.

    Parameters
    ----------
    model : str, path-like or estimator
        A file or a name as for `make_app`, or a model, whose parser's parameters are set.
    max_tokens : int
        The longest sentence that is not refused.

    Returns
    -------
    served : ServedModel
    """
    if isinstance(model, str | os.PathLike):
        model = load_model(find_model(model))
    opened, splitter = open_parser(model, "parse"), find_splitter(model)
    tasks = [] if splitter is None else ["tokenizer"]
    if any(v is not None for k, v in model.get_params().items() if k.endswith("tags")):
        tasks.append("tagger")
    served = ServedModel(opened, splitter, [*tasks, "parser"])
    opened.parser.set_params(verbose=0, n_jobs=1, max_tokens=None)
    call_recorded(served._compile, make_examples())
    opened.parser.set_params(max_tokens=max_tokens)
    return served


def name_models(models):
    """Make a dict of models by their names; see `make_app`."""
    if models and isinstance(models, Mapping):
        return models
    named = {}
    for given in map(expand_user, models):
        name, equals, path = given.partition("=")
        if not equals or os.path.exists(given):
            name, path = Path(given).name.removesuffix(".npz"), given
        named[name] = path
    if not named or len(named) < len(models):
        raise ValueError("Give at least one model, and no two of one name; fr=a.npz names one.")
    return named
