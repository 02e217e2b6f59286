"""Prediction by the network: scores of sentences, each to the last bit as if it were alone."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.conditional import mask_scores
from sklearn_shag.network._layers import add_up_arcs, embed_tokens, rectify, scan_order, with_roots
from sklearn_shag.network._network import pack_network
from sklearn_shag.network._parameters import vector_sizes
from sklearn_shag.network._products import apply_panels
from sklearn_shag.utils._kernel import table_kernel
from sklearn_shag.utils._parallel import one_thread

# Rows of tokens among which each different one is embedded once, and of these the rows that are
# read at once: their arrays fit into the cache.
ROWS_OF_TYPES, ROWS_AT_ONCE = 16_384, 1024
HEADS = 128  # tokens whose products with the tensor of labels fit into the cache
FEWEST_ROWS = 50  # rows; among fewer it takes longer to find equal ones than to read them all


class Reading(NamedTuple):
    """Scores of arcs and tags of sentences, and vectors to label any trees over them."""

    arcs: np.ndarray  # (n_arcs,), scores in the layout of marginals
    label_modifiers: np.ndarray  # (n_rows, label)
    label_heads: np.ndarray  # (n_rows, label), the root first in each sentence
    tag_scores: np.ndarray  # (n_tokens, n_tags), or (n_tokens, 0) if not wanted


def read_sentences(network, batch, with_scores=False, look_up=None):
    """Run a network over sentences, each as if it were alone.

    Parameters
    ----------
    network : Network
    batch : Batch
        Codes of shape (n_tokens, n_columns).
    with_scores : bool, default=False
        Whether to return the scores of all tags.
    look_up : None or callable, default=None
        Called for one part of the tokens after the other with a list of the scores of each learned
        column, (n_tokens, n_values).

    Returns
    -------
    reading : Reading
    """
    network = network if network.panels else network._replace(panels=pack_network(network))
    whole, found = with_roots(batch.codes, batch.indptr), []
    size = ROWS_OF_TYPES if whole.context is None else ROWS_AT_ONCE
    # Weights of any size give trees: infinite scores become the largest numbers, and NaN 0.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        for first, last in pairwise(_cut_rows(whole.begins, size)):
            tokens = whole.take(first, last)
            inputs, places = _read_types(network, tokens)
            for begin, end in pairwise(_cut_rows(tokens.begins, ROWS_AT_ONCE)):
                rows = slice(tokens.begins[begin], tokens.begins[end])
                begins = tokens.begins[begin : end + 1] - rows.start
                encoded = _encode(network, inputs, places[rows], begins)
                found.append(_score_encoded(network, encoded, begins, with_scores, look_up))
    return found[0] if len(found) == 1 else Reading(*map(np.concatenate, zip(*found, strict=True)))


def _cut_rows(begins, size):
    """List where parts of about `size` rows begin and end, as numbers of sentences."""
    starts = np.searchsorted(begins, np.arange(0, begins[-1], size))
    return np.unique([*starts, begins.size - 1]).tolist()


def _read_types(network, tokens):
    """Compute the inputs of the first layer for different tokens, and the row of each token there.

    Inputs are candidates, and the hyperbolic tangents of half the sums of gates. Vectors in context
    differ for equal tokens.
    """
    places = np.arange(len(tokens.codes))
    if places.size >= FEWEST_ROWS and tokens.context is None:
        firsts, places = number_rows(tokens.codes)
        tokens = tokens._replace(codes=tokens.codes[firsts])
    x, _ = embed_tokens(network.tables, network.sizes.groups, tokens)
    inputs = apply_panels(x, network.panels.layers[0])
    _take_gates(inputs, 2 * network.sizes.hidden[0])
    return inputs, places


def number_rows(rows):
    """Find equal rows of codes.

    Returns
    -------
    firsts : int ndarray of shape (n_different,)
        For each different row the place of one that is equal to it.
    numbers : int ndarray of shape (n_rows,)
        Of each row the number of the different row that it is equal to.
    """
    keys, n_keys = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        n_codes = int(column.max()) + 1
        if n_keys * n_codes > np.iinfo(np.int64).max:
            different, keys = np.unique(keys, return_inverse=True)
            n_keys = different.size
        keys, n_keys = keys * n_codes + column, n_keys * n_codes
    different, numbers = np.unique(keys, return_inverse=True)
    firsts = np.empty(different.size, dtype=np.int64)
    firsts[numbers] = np.arange(numbers.size)
    return firsts, numbers


def _take_gates(y, n):
    """Compute the hyperbolic tangents of the gates, in place."""
    gates = y[:, n : 3 * n]
    np.tanh(gates, out=gates)


def _encode(network, inputs, places, begins):
    """Run the recurrent layers over sentences, as :func:`recur` does; return (n_rows, n_hidden)."""
    h, sizes = None, network.sizes.hidden
    for layer, hidden in zip(network.panels.layers, sizes, strict=True):
        if h is not None:
            inputs, places = apply_panels(h, layer), np.arange(len(h))
            _take_gates(inputs, 2 * hidden)
        h = np.empty((places.size, 2 * hidden), dtype=np.float32)
        _scan_inputs(inputs, places, begins, h)
        np.tanh(h, out=h)
        _apply_gates(inputs, places, h)
    return h


# The recurrence of training, `_scan`, reads gates that its derivatives need as well. This one reads
# rows that equal tokens share, and takes sigmoids as it goes. With it, training takes 5 % longer.
@table_kernel
def _scan_inputs(inputs, places, begins, states):
    """Compute the states of recurrent units; sigmoids are (1 + tanh) / 2."""
    one, half, n = np.float32(1), np.float32(0.5), states.shape[1] // 2
    for s in range(begins.size - 1):
        for side in range(2):
            first, last, step = scan_order(begins, s, side)
            begin, end = side * n, (side + 1) * n
            before = states[first, begin:end]
            for t in range(first, last + step, step):
                # Each row has a view, so that several units are computed at once.
                row, h = inputs[places[t]], states[t, begin:end]
                x, gates = row[begin:end], row[2 * n + begin : 2 * n + end]
                for k in range(n):
                    f = half + half * gates[k]
                    h[k] = (one - f) * x[k] if t == first else x[k] + f * (before[k] - x[k])
                before = h


@table_kernel
def _apply_gates(inputs, places, h):
    half, n = np.float32(0.5), h.shape[1]
    for t in range(places.size):
        row = places[t]
        for k in range(n):
            h[t, k] *= half + half * inputs[row, 2 * n + k]


def _score_encoded(network, encoded, begins, with_scores, look_up):
    """Make the Reading of sentences from the outputs of the last layer."""
    panels, (arc, label) = network.panels, vector_sizes(network.sizes)
    y = apply_panels(encoded, panels.vectors)
    rectify(y)
    cuts = pairwise(np.cumsum([0, arc, arc, label, label]).tolist())
    heads, modifiers, *of_labels = (y[:, begin:end].copy() for begin, end in cuts)
    arcs = _score_arcs(panels, heads, modifiers, begins) if arc else np.empty(0, dtype=np.float32)
    scores = apply_panels(encoded, panels.tags)[:, : sum(network.sizes.n_tags)]
    scores = np.delete(scores, begins[:-1], axis=0)  # of roots
    if look_up is not None:
        look_up([scores[:, columns] for columns in network.tags])
    if not with_scores:
        scores = scores[:, :0].copy()  # a view would keep the whole array
    return Reading(arcs, *of_labels, scores)


def _score_arcs(panels, heads, modifiers, begins):
    """Score all arcs of sentences, as :func:`score_all_arcs` does."""
    both, arc = apply_panels(modifiers, panels.modifiers), heads.shape[1]
    near_heads, near_modifiers = apply_panels(heads, panels.near_heads), both[:, arc:].copy()
    return add_up_arcs(both[:, :arc], heads, near_heads, near_modifiers, begins)[0]


def label_scores(network, mask, reading, indptr, heads):
    """Score the labels, (n_tokens, n_labels), of the arcs of whole trees, from a Reading.

    These are the scores of :func:`score_labels` in training, which needs derivatives and may differ
    in last bits by what else is in a batch. Labels that the mask excludes for arcs of a kind have
    the score -inf.
    """
    panels = network.panels or pack_network(network)
    roots = indptr + np.arange(indptr.size)
    modifiers = np.delete(reading.label_modifiers, roots[:-1], axis=0)
    # Of each token the number of its head among all heads; arcs in the order of these numbers.
    used, numbers = np.unique(heads + np.repeat(roots[:-1], np.diff(indptr)), return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    cuts = np.searchsorted(numbers[order], np.arange(0, used.size + HEADS, HEADS))
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        scores = apply_panels(modifiers, panels.label_modifiers)[:, : network.sizes.n_labels].copy()
        for k, arcs in enumerate(np.split(order, cuts[1:-1])):
            own = used[k * HEADS : (k + 1) * HEADS]
            of_heads = apply_panels(reading.label_heads[own], panels.label_heads)
            _add_products(modifiers, arcs, numbers[arcs] - k * HEADS, of_heads, scores)
    scores = scores if np.isfinite(scores).all() else np.nan_to_num(scores)
    return mask_scores(scores, heads, mask)


@table_kernel
def _add_products(modifiers, arcs, numbers, of_heads, scores):
    """Add to the scores of arcs the part of heads; a head times the tensor is a matrix."""
    n_labels, label = scores.shape[1], modifiers.shape[1]
    for a in range(arcs.size):
        m, h = arcs[a], numbers[a]
        for k in range(n_labels):
            scores[m, k] += of_heads[h, label * n_labels + k]
        for d in range(label):
            for k in range(n_labels):
                scores[m, k] += modifiers[m, d] * of_heads[h, d * n_labels + k]
