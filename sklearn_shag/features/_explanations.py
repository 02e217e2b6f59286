"""Features of arcs in words, to compare two heads or to list the largest weights."""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import name_of
from sklearn_shag.features._hashing import allocate_memory, bucket_of, hash_tokens, list_features
from sklearn_shag.features._templates import BETWEEN, BIAS, HEAD

_ALL_PLACES = 2**32  # so many that features practically never share one


class FeatureWeight(NamedTuple):
    """Contribution of a feature to the score of an arc, and to that of a rival arc.

    The score of an arc is the sum of the weights of all its features.

    Attributes
    ----------
    template : str
        The template, followed by "distance" if the feature includes the distance.
    values : str
        The feature of the arc: ``"h.upos=NOUN m.upos=DET left 2"`` is a noun that heads a
        determiner two tokens to its left.
    weight : float
        What the feature adds to the score of the arc.
    rival_values, rival_weight : str, float
        The same for the rival.

    See Also
    --------
    sklearn_shag.CRFParser.explain : Lists the features of an arc.

    Examples
    --------
    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:100])
    >>> features = parser.explain(trees[0], 1, n_features=None)
    >>> others = [f.template for f in features if not f.values.startswith("h.")]
    >>> sorted(others[:2])
    ['bias distance', 'm.upos distance']
    """

    template: str
    values: str
    weight: float
    rival_values: str
    rival_weight: float


class FeatureUse(NamedTuple):
    """A feature of arcs, with its weight and how often it occurs.

    Of features that share a weight because their hashes collide, it is the most frequent one.

    Attributes
    ----------
    template : str
        The template, followed by "distance" if the feature includes the distance.
    values : str
        As in :class:`FeatureWeight`, but with only one of the tokens between head and modifier.
    weight : float
        What the feature adds to the score of an arc, or of a label of it.
    count : int
        Number of arcs that have the feature.

    See Also
    --------
    sklearn_shag.CRFParser.top_features : Lists the features with the largest weights.

    Examples
    --------
    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:100])
    >>> feature, *_ = parser.top_features(trees, label="det")
    >>> feature.values
    'm.upos=DET left'
    """

    template: str
    values: str
    weight: float
    count: int


def top_features(weights, templates, columns, batch, arcs, n_features):
    """List the features of some arcs with the largest weights.

    Parameters
    ----------
    weights : ndarray of shape (n_features,)
    templates : Templates
    columns : Columns
    batch : Batch
    arcs : Arcs
    n_features : None or int
        Largest number of features; None for all.

    Returns
    -------
    features : list of FeatureUse
    """
    memory, n_of_arcs = allocate_memory(templates, batch.indptr, 1), templates.n_of_arcs
    found = []
    for s, (begin, end) in enumerate(pairwise(batch.indptr)):
        hash_tokens(batch.codes, begin, end - begin, templates.atoms, memory.hashes)
        known = [a for a in range(arcs.begins[s], arcs.begins[s + 1]) if arcs.heads[a] >= 0]
        for a in known:
            arc = arcs.heads[a], arcs.modifiers[a]
            n = list_features(memory, n_of_arcs, *arc, _ALL_PLACES)
            keys = memory.places[:n].copy()
            list_features(memory, n_of_arcs, *arc, weights.size)
            found.append((keys, memory.places[:n].copy(), *np.broadcast_arrays(a, np.arange(n), s)))
    keys, places, of_arcs, ranks, sentences = map(np.concatenate, zip(*found, strict=True))
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.lexsort((-counts, -weights[places[first]]))
    _, of_places = np.unique(places[first[order]], return_index=True)
    order = order[np.sort(of_places)][:n_features]
    features = []
    for count, k in zip(counts[order], first[order], strict=True):
        a, s = of_arcs[k], sentences[k]
        codes = batch.codes[batch.indptr[s] : batch.indptr[s + 1]]
        row, between = _find_row(ranks[k], n_of_arcs, arcs.heads[a], arcs.modifiers[a])
        texts = _show_values(templates, columns, codes, arcs.modifiers[a], arcs.heads[a], between)
        name, weight = _name_rows(templates)[row], float(weights[places[k]])
        features.append(FeatureUse(name, texts[row], weight, int(count)))
    return features


def _find_row(rank, n_of_arcs, head, modifier):
    """Return the row of a feature in :func:`_name_rows`, and its token between head and modifier.

    The rank is a place in the list of the kernel. Each template has two features, without and with
    the distance; a template with tokens between has two for each token.
    """
    over, n_of_tokens = rank - 2 * n_of_arcs, 2 * (abs(head - modifier) - 1)
    if over < 0:
        return rank, None
    template, of_token = divmod(over, n_of_tokens)
    token, with_distance = divmod(of_token, 2)
    return 2 * (n_of_arcs + template) + with_distance, min(head, modifier) + 1 + token


def _name_rows(templates):
    return ["".join(name) for name in product(templates.texts, ("", " distance"))]


def compare_heads(weights, templates, columns, codes, modifier, head, rival):
    """Compare the features of two arcs to a token.

    Parameters
    ----------
    weights : ndarray of shape (n_features, 1)
    templates : Templates
    columns : Columns
    codes : ndarray of shape (n_tokens, n_columns)
        Codes of one sentence.
    modifier, head, rival : int

    Returns
    -------
    features : list of FeatureWeight
        The features that tell the arcs apart most come first.
    """
    parts = [_name_rows(templates)]
    for h in (head, rival):
        parts.append(_show_values(templates, columns, codes, modifier, h))
        parts.append(_weigh_features(weights[:, 0], templates, codes, modifier, h).tolist())
    features = map(FeatureWeight._make, zip(*parts, strict=True))
    return sorted(features, key=lambda each: -abs(each.weight - each.rival_weight))


def _weigh_features(weights, templates, codes, modifier, head):
    """Return the weight of each feature, summed over tokens between head and modifier."""
    memory, n_of_arcs = allocate_memory(templates, [0, len(codes)], 1), templates.n_of_arcs
    hash_tokens(codes, 0, len(codes), templates.atoms, memory.hashes)
    n = list_features(memory, n_of_arcs, head, modifier, weights.size)
    found = weights[memory.places[:n]].astype(float)
    n_between = abs(modifier - head) - 1
    between = found[2 * n_of_arcs :].reshape(len(templates.texts) - n_of_arcs, n_between, 2)
    return np.concatenate([found[: 2 * n_of_arcs], between.sum(axis=1).ravel()])


def _show_values(templates, columns, codes, modifier, head, between=None):
    """Return the text of each feature of an arc, with all tokens between its ends or one."""
    direction = "right" if modifier > head else "left"
    distance = f"{direction} {bucket_of(abs(modifier - head))}"
    inside = range(min(head, modifier) + 1, max(head, modifier)) if between is None else [between]
    texts = []
    for t, template in enumerate(templates.texts):
        parts = [] if template == BIAS else template.split()
        values, atoms = [], templates.atoms[templates.atoms[:, 0] == t]
        for part, (_, side, offset, column) in zip(parts, atoms, strict=True):
            end = head if side == HEAD else modifier
            places = inside if side == BETWEEN else [end + offset]
            names = [name_of(columns, codes, place, column) for place in places]
            values.append(f"{part}={','.join(names)}")
        texts += [" ".join([*values, direction]), " ".join([*values, distance])]
    return texts
