"""The network: scores of arcs, labels and tags from columns of tokens, and the derivatives."""

from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.conditional import mask_scores
from sklearn_shag.network._layers import (
    SILENCE,
    embed_tokens,
    embed_tokens_backward,
    linear,
    linear_backward,
    rectify,
    rectify_backward,
    recur,
    recur_backward,
    score_all_arcs,
    score_all_arcs_backward,
    score_labels,
    score_labels_backward,
    with_roots,
)
from sklearn_shag.network._parameters import (
    Parameters,
    Sizes,
    sizes_of,
    vector_sizes,
    view_parameters,
)
from sklearn_shag.parsing import encode_combinations, fit_together
from sklearn_shag.utils._parallel import one_thread

# Rows of tokens that prediction reads at once; their arrays fit into the cache.
PART = 2048


class Network(NamedTuple):
    """A network: sizes and parameters, with views of its tables and columns of tags."""

    sizes: Sizes
    parameters: Parameters
    tables: list  # for each group the vectors of its values, learned or given
    tags: list  # for each learned column the slice of its tags among all tags
    combinations: dict = {}  # codes of the combinations of tags that may be predicted, by column


class NetworkScores(NamedTuple):
    """Scores of arcs, labels and tags of sentences."""

    arcs: np.ndarray  # (n_arcs,), in the layout of marginals
    labels: np.ndarray  # (n_given, n_labels), of the arcs that were given
    tags: np.ndarray  # (n_rows, n_tags), of all columns side by side, roots included


class TokenVectors(NamedTuple):
    """Vectors of the tokens of sentences, the root first in each."""

    encoded: np.ndarray  # (n_rows, n_hidden)
    heads: np.ndarray  # (n_rows, arc)
    modifiers: np.ndarray  # (n_rows, arc)
    label_modifiers: np.ndarray  # (n_rows, label)
    label_heads: np.ndarray  # (n_rows, label)


def make_network(sizes, flat, vectors=None, moments=None):
    """Make the Network whose parameters are a flat vector, with given vectors and moments.

    `vectors` are vectors of words, and `moments` standardise vectors in context.
    """
    parameters = view_parameters(sizes, flat)
    vectors = None if vectors is None else vectors.astype(np.float32)
    tables = [
        moments if group.in_context else vectors if group.fixed else table
        for group, table in zip(sizes.groups, parameters.embeddings, strict=True)
    ]
    ends = accumulate(sizes.n_tags)
    tags = [slice(end - n, end) for end, n in zip(ends, sizes.n_tags, strict=True)]
    return Network(sizes, parameters, tables, tags)


def open_network(weights, vocabulary, labels=None, tag_values=None, combinations=()):
    """Make the Network of NetworkWeights, with known values as for :func:`sizes_of`."""
    sizes = sizes_of(weights, vocabulary, labels, tag_values)
    values = weights.values.astype(np.float32)
    network = make_network(sizes, values, weights.vectors, weights.moments)
    return network._replace(combinations=encode_combinations(tag_values or {}, combinations))


def encode_tokens(network, tokens, noise, alone=None):
    """Compute the TokenVectors of tokens."""
    parameters, groups = network.parameters, network.sizes.groups
    x, rows = embed_tokens(network.tables, groups, noise.replace(tokens, groups))
    factors, caches = [noise.drop(x)], []
    for layer in parameters.layers:
        x, of_layer = recur(layer, x, tokens.begins, alone)
        caches.append(of_layer)
        factors.append(noise.drop(x))
    y, of_vectors = linear(parameters.vectors, x, alone)
    rectify(y)
    factors.append(noise.drop(y))
    arc, label = vector_sizes(network.sizes)
    cuts = 0, arc, 2 * arc, 2 * arc + label, 2 * (arc + label)
    parts = (y[:, begin:end] for begin, end in pairwise(cuts))
    vectors = TokenVectors(x, *map(np.ascontiguousarray, parts))
    return vectors, (rows, factors, caches, of_vectors, y)


def encode_tokens_backward(network, cache, d_vectors, gradient):
    """Overwrite the derivatives by the parameters of :func:`encode_tokens`."""
    rows, factors, caches, of_vectors, y = cache
    parameters = network.parameters
    *of_layers, of_last = factors
    d_y = np.hstack(d_vectors[1:])
    d_y *= of_last
    rectify_backward(y, d_y)
    d_x = linear_backward(parameters.vectors, of_vectors, d_y, gradient.vectors)
    d_x += d_vectors.encoded
    for k in reversed(range(len(caches))):
        d_x *= of_layers[k + 1]
        d_x = recur_backward(parameters.layers[k], caches[k], d_x, gradient.layers[k])
    d_x *= of_layers[0]
    embed_tokens_backward(rows, d_x, gradient.embeddings)


def forward(network, tokens, arcs, noise):
    """Compute NetworkScores; `arcs`, to be labelled, are rows of modifiers and of heads."""
    parameters = network.parameters
    vectors, encoder = encode_tokens(network, tokens, noise)
    both = vectors.heads, vectors.modifiers
    of_arcs, arc_cache = score_all_arcs(parameters.arcs, *both, tokens.begins)
    both = vectors.label_modifiers, vectors.label_heads
    of_labels, label_cache = score_labels(parameters.labels, *both, arcs)
    of_tags, tag_cache = linear(parameters.tags, vectors.encoded)
    return NetworkScores(of_arcs, of_labels, of_tags), (encoder, arc_cache, label_cache, tag_cache)


def backward(network, cache, d_scores, gradient):
    """Overwrite the derivatives by all parameters, from the derivatives by all scores."""
    encoder, arc_cache, label_cache, tag_cache = cache
    parameters = network.parameters
    d_arcs = score_all_arcs_backward(parameters.arcs, arc_cache, d_scores.arcs, gradient.arcs)
    d_labels = score_labels_backward(
        parameters.labels, label_cache, d_scores.labels, gradient.labels
    )
    d_encoded = linear_backward(parameters.tags, tag_cache, d_scores.tags, gradient.tags)
    d_vectors = TokenVectors(d_encoded, *d_arcs, *d_labels)  # of heads and modifiers, and back
    encode_tokens_backward(network, encoder, d_vectors, gradient)


class Reading(NamedTuple):
    """Scores of arcs and tags of sentences, and vectors to label any trees over them."""

    arcs: np.ndarray  # (n_arcs,), scores in the layout of marginals
    label_modifiers: np.ndarray  # (n_rows, label)
    label_heads: np.ndarray  # (n_rows, label), the root first in each sentence
    tags: np.ndarray  # (n_tokens, n_columns), the best tag of each learned column
    tag_scores: np.ndarray  # (n_tokens, n_tags), or (n_tokens, 0) if not wanted


def read_sentences(network, batch, with_scores=False):
    """Run a network over sentences, each as if it were alone.

    Parameters
    ----------
    network : Network
    batch : Batch
        Codes of shape (n_tokens, n_columns).
    with_scores : bool, default=False
        Whether to return the scores of all tags, and not only the best tags.

    Returns
    -------
    reading : Reading
    """
    parameters, found, n_columns = network.parameters, [], len(network.sizes.n_tags)
    whole = with_roots(batch.codes, batch.indptr)
    ends, cuts = whole.begins, [0, batch.indptr.size - 1]
    if ends[-1] > PART:
        cuts = np.unique([*np.searchsorted(ends, np.arange(0, ends[-1], PART)), cuts[-1]]).tolist()
    # Weights of any size give trees: infinite scores become the largest numbers, and NaN 0.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        for first, last in pairwise(cuts):
            tokens = whole.take(first, last)
            begins = tokens.begins
            vectors, _ = encode_tokens(network, tokens, SILENCE, begins)
            both = vectors.heads, vectors.modifiers
            arcs, _ = score_all_arcs(parameters.arcs, *both, begins, begins)
            tags, _ = linear(parameters.tags, vectors.encoded, begins)
            tags = tags[~tokens.are_roots()]
            best = [tags[:, columns].argmax(axis=1) for columns in network.tags]
            best = np.array(best, dtype=np.int64).T.reshape(len(tags), n_columns)
            if network.combinations:
                scores = [tags[:, columns] for columns in network.tags]
                fit_together(best, scores, network.combinations)
            of_labels = vectors.label_modifiers, vectors.label_heads
            if not with_scores:
                tags = tags[:, :0].copy()  # a view would keep the whole array
            found.append(Reading(arcs, *of_labels, best, tags))
    return found[0] if len(found) == 1 else Reading(*map(np.concatenate, zip(*found, strict=True)))


def label_scores(network, mask, reading, indptr, heads):
    """Score the labels, (n_tokens, n_labels), of the arcs of whole trees, from a Reading.

    Labels that the mask excludes for arcs of a kind have the score -inf.
    """
    scores = np.empty_like(reading.label_heads, shape=(indptr[-1], network.sizes.n_labels))
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        for s, (begin, end) in enumerate(pairwise(indptr.tolist())):
            rows = slice(begin + s, end + s + 1)
            both = reading.label_modifiers[rows], reading.label_heads[rows]
            arcs = np.arange(1, end - begin + 1), heads[begin:end]
            scores[begin:end], _ = score_labels(network.parameters.labels, *both, arcs)
    scores = scores if np.isfinite(scores).all() else np.nan_to_num(scores)
    return mask_scores(scores, heads, mask)
