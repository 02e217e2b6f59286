"""The network: scores of arcs, labels and tags from columns of tokens, and the derivatives."""

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sklearn_shag.network._layers import (
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
)
from sklearn_shag.network._parameters import (
    N_BUCKETS,
    NO_MOMENTS,
    NO_VECTORS,
    Parameters,
    Sizes,
    sizes_of,
    vector_sizes,
    view_parameters,
)
from sklearn_shag.network._products import Panels, make_panels
from sklearn_shag.parsing import encode_combinations


class NetworkPanels(NamedTuple):
    """Weights of a network as prediction needs them."""

    layers: list  # sums of gates are halved, since sigmoid(x) = (1 + tanh(x / 2)) / 2
    vectors: Panels
    modifiers: Panels  # for the scores of arcs: U, and weights of distances
    near_heads: Panels
    label_modifiers: Panels
    label_heads: Panels  # (label + 1) * n_labels columns: products with the tensor, and labels
    tags: Panels


class Network(NamedTuple):
    """A network: sizes and parameters, with views of its tables and columns of tags."""

    sizes: Sizes
    parameters: Parameters
    tables: list  # for each group the vectors of its values, learned or given
    tags: list  # for each learned column the slice of its tags among all tags
    combinations: dict = {}  # codes of the combinations of tags that may be predicted, by column
    panels: NetworkPanels | None = None  # if parameters will not change


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


def make_network(sizes, flat, vectors=NO_VECTORS, moments=NO_MOMENTS):
    """Make the Network whose parameters are a flat vector, with given vectors and moments.

    `vectors` are vectors of words, and `moments` standardise vectors in context.
    """
    parameters = view_parameters(sizes, flat)
    vectors = vectors.astype(flat.dtype, copy=False)
    tables = [
        moments if group.in_context else vectors if group.fixed else table
        for group, table in zip(sizes.groups, parameters.embeddings, strict=True)
    ]
    ends = accumulate(sizes.n_tags)
    tags = [slice(end - n, end) for end, n in zip(ends, sizes.n_tags, strict=True)]
    return Network(sizes, parameters, tables, tags)


def open_network(weights, vocabulary, labels=None, tag_values=None, combinations=()):
    """Make the Network of NetworkWeights, with known values as for :func:`sizes_of`.

    Its tables stay in half precision: they are large, and few of their rows are read at once.
    """
    sizes = sizes_of(weights, vocabulary, labels, tag_values)
    network = make_network(sizes, weights.values, weights.vectors, weights.moments)
    allowed = encode_combinations(tag_values or {}, combinations)
    return network._replace(combinations=allowed, panels=pack_network(network))


def pack_network(network):
    """Lay out the parameters of a network for prediction, as NetworkPanels."""
    sizes, parameters = network.sizes, network.parameters
    layers = []
    for layer, hidden in zip(parameters.layers, sizes.hidden, strict=True):
        halves = np.repeat(np.float32([1, 0.5, 0.5]), 2 * hidden)
        layers.append(make_panels(layer.weight * halves, layer.bias * halves))
    arcs, labels, label = parameters.arcs, parameters.labels, vector_sizes(sizes)[1]
    of_arcs = np.hstack([arcs.bilinear, arcs.near_modifier])
    tensor = labels.tensor.reshape(label, label, sizes.n_labels).transpose(1, 0, 2)  # head first
    of_heads = np.hstack([tensor.reshape(label, label * sizes.n_labels), labels.linear[label:]])
    return NetworkPanels(
        layers,
        make_panels(*parameters.vectors),
        make_panels(of_arcs, np.append(arcs.head, np.zeros(N_BUCKETS))),
        make_panels(arcs.near_head),
        make_panels(labels.linear[:label], labels.bias),
        make_panels(of_heads),
        make_panels(*parameters.tags),
    )


def encode_tokens(network, tokens, noise):
    """Compute the TokenVectors of tokens."""
    parameters, groups = network.parameters, network.sizes.groups
    x, rows = embed_tokens(network.tables, groups, noise.replace(tokens, groups))
    factors, caches = [noise.drop(x)], []
    for layer in parameters.layers:
        x, of_layer = recur(layer, x, tokens.begins)
        caches.append(of_layer)
        factors.append(noise.drop(x))
    y, of_vectors = linear(parameters.vectors, x)
    rectify(y)
    factors.append(noise.drop(y))
    arc, label = vector_sizes(network.sizes)
    parts = np.split(y, np.cumsum([arc, arc, label]), axis=1)
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
    of_arcs, arc_cache = score_all_arcs(
        parameters.arcs, vectors.heads, vectors.modifiers, tokens.begins
    )
    of_labels, label_cache = score_labels(
        parameters.labels, vectors.label_modifiers, vectors.label_heads, arcs
    )
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
