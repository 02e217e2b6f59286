"""Objects made of fitted parsers and kept for many calls, and parsers behind pipelines."""

from functools import partial
from operator import is_not
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

# Objects made of each parser, while it lives, by the function that makes them. They are not its
# attributes, since prediction must not change a parser that is copied and pickled.
_KEPT = WeakKeyDictionary()


def keep(parser, parts, make):
    """Return ``make(*parts)``, kept for a parser as long as its parts are the same objects."""
    made = _KEPT.setdefault(parser, {})
    kept = made.get(make)
    if kept is None or any(map(is_not, kept[0], parts)):
        kept = made[make] = parts, make(*parts)
    return kept[1]


def check_same_symbols(estimator, symbols, what):
    """Refuse with a ValueError symbols from which `warm_start` cannot go on.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    symbols : ndarray
        The symbols of the next fit.
    what : str
        What continues, for the message.
    """
    if not np.array_equal(symbols, estimator.symbols_):
        raise ValueError(
            f"warm_start=True continues with the {what} of the previous fit, which had other "
            f"symbols. Fit the same symbols, or set warm_start=False."
        )


class OpenMember(NamedTuple):
    """The parser of a member, outside its pipeline, and the transform of its sentences."""

    transform: Any  # takes sentences, returns the parser's input
    parser: Any


def open_member(member):
    """Find the parser of a member, which may be frozen, or the last step of a pipeline.

    Parameters
    ----------
    member : estimator

    Returns
    -------
    opened : OpenMember
    """
    steps, parser = _list_steps(member)
    return OpenMember(partial(_transform_sentences, steps), parser)


def find_splitter(member):
    """Find the step that splits text, None if a pipeline has none."""
    steps, _ = _list_steps(member)
    return next((step for step in steps if hasattr(step, "iter_split_text")), None)


def _list_steps(member):
    steps = []
    while isinstance(member, FrozenEstimator | Pipeline):
        if isinstance(member, FrozenEstimator):
            member = member.estimator
        else:
            steps += [step for _, step in member.steps[:-1] if step not in (None, "passthrough")]
            member = member.steps[-1][1]
    return steps, member


def open_parser(estimator, method, advice=""):
    """Find the parser in an estimator, and the transform of its sentences.

    Parameters
    ----------
    estimator : estimator
        A parser of this package, a pipeline that ends in one, or a search of either.
    method : str
        A method that the parser must have.
    advice : str
        The end of the message.

    Returns
    -------
    opened : OpenMember

    Raises
    ------
    TypeError
        If it is anything else.
    """
    opened = open_member(getattr(estimator, "best_estimator_", estimator))
    if not hasattr(opened.parser, method):
        raise TypeError(
            f"estimator must be a fitted parser of this package, a pipeline that ends in one, or a "
            f"search over either, got a {type(opened.parser).__name__}, which has no {method}."
            f"{advice}"
        )
    return opened


def _transform_sentences(steps, sentences):
    for step in steps:
        sentences = step.transform(sentences)
    return sentences
