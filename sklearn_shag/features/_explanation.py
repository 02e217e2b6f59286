"""Why an arc won: the weights of its features beside those of another."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.features._columns import name_of
from sklearn_shag.features._hashing import bucket_of, hash_tokens, list_features, new_space
from sklearn_shag.features._templates import BETWEEN, BIAS, HEAD


class FeatureWeight(NamedTuple):
    """What a feature adds to the score of an arc, and to that of its rival.

    The score of an arc is the sum of the weights of all its features.

    Attributes
    ----------
    template : str
        With "distance" behind it where that counts too.
    values : str
        What the feature of the arc is: ``"h.upos=NOUN m.upos=DET left 2"`` is a noun that heads a
        determiner left of it, at the distance of two tokens.
    weight : float
        What it adds to the score of the arc.
    rival_values, rival_weight : str, float
        The same of the rival.

    See Also
    --------
    sklearn_shag.CRFParser.explain : Lists them.

    Examples
    --------
    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> parser = CRFParser(["upos"], random_state=0).fit(trees)
    >>> features = parser.explain(trees[0], 1, n_features=None)
    >>> [feature.template for feature in features if not feature.values.startswith("h.")][:2]
    ['bias distance', 'm.upos distance']
    """

    template: str
    values: str
    weight: float
    rival_values: str
    rival_weight: float


def compare_heads(weights, templates, columns, codes, modifier, head, rival):
    """Compare the features of two arcs to a token.

    Parameters
    ----------
    weights : ndarray of shape (n_features, 1)
    templates : Templates
    columns : Columns
    codes : ndarray of shape (n_tokens, n_columns)
        Of one sentence.
    modifier, head, rival : int

    Returns
    -------
    features : list of FeatureWeight
        Those that tell the arcs apart most come first.
    """
    sides = [
        (
            _describe(templates, columns, codes, modifier, h),
            _weigh(weights[:, 0], templates, codes, modifier, h),
        )
        for h in (head, rival)
    ]
    (values, of_arc), (rival_values, of_rival) = sides
    features = [
        FeatureWeight(*each)
        for each in zip(
            [text + suffix for text in templates.texts for suffix in ("", " distance")],
            values,
            of_arc.tolist(),
            rival_values,
            of_rival.tolist(),
            strict=True,
        )
    ]
    return sorted(features, key=lambda each: -abs(each.weight - each.rival_weight))


def _weigh(weights, templates, codes, modifier, head):
    """The weight of each feature; of those with values between the sum over tokens there."""
    space, n_of_arcs = new_space(templates, len(codes), 1), templates.n_of_arcs
    hash_tokens(codes, 0, len(codes), templates.atoms, space.hashes)
    n = list_features(space, n_of_arcs, head, modifier, weights.size)
    found = weights[space.places[:n]].astype(float)
    n_between = abs(modifier - head) - 1
    between = found[2 * n_of_arcs :].reshape(len(templates.texts) - n_of_arcs, n_between, 2)
    return np.concatenate([found[: 2 * n_of_arcs], between.sum(axis=1).ravel()])


def _describe(templates, columns, codes, modifier, head):
    """Say what each feature of an arc is."""
    direction = "right" if modifier > head else "left"
    distance = f"{direction} {bucket_of(abs(modifier - head))}"
    texts = []
    for t, template in enumerate(templates.texts):
        parts = [] if template == BIAS else template.split()
        values = []
        for part, (_, side, offset, column) in zip(
            parts, templates.atoms[templates.atoms[:, 0] == t], strict=True
        ):
            places = [(head if side == HEAD else modifier) + offset]
            if side == BETWEEN:
                places = range(min(head, modifier) + 1, max(head, modifier))
            names = [name_of(columns, codes, place, column) for place in places]
            values.append(f"{part}={','.join(names)}")
        texts += [" ".join([*values, direction]), " ".join([*values, distance])]
    return texts
