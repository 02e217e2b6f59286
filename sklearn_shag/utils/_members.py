"""Parsers behind what scikit-learn puts around estimators."""

from functools import partial
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


class OpenMember(NamedTuple):
    """A member of a composed parser, without what is around its parser."""

    transform: Any  # takes sentences to those that the parser is to see
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
    steps = []
    while isinstance(member, FrozenEstimator | Pipeline):
        if isinstance(member, FrozenEstimator):
            member = member.estimator
        else:
            steps += [step for _, step in member.steps[:-1] if step not in (None, "passthrough")]
            member = member.steps[-1][1]
    return OpenMember(partial(_transform, steps), member)


def _transform(steps, sentences):
    for step in steps:
        sentences = step.transform(sentences)
    return sentences
