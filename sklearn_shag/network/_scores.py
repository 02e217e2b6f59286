"""What the network says of tokens: scores of arcs and of their labels, forward and backward."""

from itertools import pairwise

import numpy as np

from sklearn_shag.network._layers import multiply
from sklearn_shag.network._parameters import BUCKETS, N_BUCKETS
from sklearn_shag.parsing import arc_begins
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel


def score_all_arcs(weights, heads, modifiers, begins, alone=None):
    """Score the arcs of sentences.

    With the vectors d of the modifier m and h of the head::

        s(h, m) = d @ U @ h + u @ h + V[bucket(h, m)] @ h + W[bucket(h, m)] @ d

    They are in the layout of marginals, (n_arcs,); the root is the first row of its sentence.
    """
    products = multiply(modifiers, weights.bilinear, alone)
    products += weights.head
    near_heads = multiply(heads, weights.near_head, alone)
    near_modifiers = multiply(modifiers, weights.near_modifier, alone)
    arcs = arc_begins(begins - np.arange(begins.size))
    scores = np.empty_like(heads, shape=arcs[-1])
    for s, (begin, end) in enumerate(pairwise(begins.tolist())):
        of_sentence = scores[arcs[s] : arcs[s + 1]].reshape(end - begin - 1, end - begin)
        np.matmul(products[begin + 1 : end], heads[begin:end].T, out=of_sentence)
    _add_near(near_heads, near_modifiers, begins, arcs, scores)
    return scores, (heads, modifiers, begins, arcs, products)


def score_all_arcs_backward(weights, cache, d_scores, d_weights):
    """Take the derivatives by parameters and by the vectors of heads and modifiers."""
    heads, modifiers, begins, arcs, products = cache
    d_heads, d_products = np.empty_like(heads), np.zeros_like(products)
    for s, (begin, end) in enumerate(pairwise(begins.tolist())):
        of_sentence = d_scores[arcs[s] : arcs[s + 1]].reshape(end - begin - 1, end - begin)
        np.matmul(of_sentence, heads[begin:end], out=d_products[begin + 1 : end])
        np.matmul(of_sentence.T, products[begin + 1 : end], out=d_heads[begin:end])
    d_near_heads = np.zeros_like(heads, shape=(len(heads), N_BUCKETS))
    d_near_modifiers = np.zeros_like(d_near_heads)
    _add_near_backward(d_scores, begins, arcs, d_near_heads, d_near_modifiers)
    np.matmul(modifiers.T, d_products, out=d_weights.bilinear)
    d_products.sum(axis=0, out=d_weights.head)
    np.matmul(heads.T, d_near_heads, out=d_weights.near_head)
    np.matmul(modifiers.T, d_near_modifiers, out=d_weights.near_modifier)
    d_heads += d_near_heads @ weights.near_head.T
    d_modifiers = d_products @ weights.bilinear.T
    d_modifiers += d_near_modifiers @ weights.near_modifier.T
    return d_heads, d_modifiers


@inlined_kernel
def _bucket(head, modifier):
    bucket, distance = 0, abs(head - modifier)
    for shortest in BUCKETS:
        bucket += distance >= shortest
    return 2 * bucket + (head < modifier)


@table_kernel
def _add_near(near_heads, near_modifiers, begins, arcs, scores):
    for s in range(begins.size - 1):
        begin, n = begins[s], begins[s + 1] - begins[s]
        place = arcs[s]
        for m in range(1, n):
            for h in range(n):
                bucket = _bucket(h, m)
                scores[place] += near_heads[begin + h, bucket] + near_modifiers[begin + m, bucket]
                place += 1


@table_kernel
def _add_near_backward(d_scores, begins, arcs, d_near_heads, d_near_modifiers):
    for s in range(begins.size - 1):
        begin, n = begins[s], begins[s + 1] - begins[s]
        place = arcs[s]
        for m in range(1, n):
            for h in range(n):
                bucket = _bucket(h, m)
                d_near_heads[begin + h, bucket] += d_scores[place]
                d_near_modifiers[begin + m, bucket] += d_scores[place]
                place += 1


def score_labels(weights, modifiers, heads, arcs):
    """Score the labels of arcs: a row each of modifiers, none twice, and of heads."""
    of_modifiers, of_heads = arcs
    d, h = modifiers[of_modifiers], heads[of_heads]
    products = (d[:, :, None] * h[:, None, :]).reshape(len(d), len(weights.tensor))
    scores = products @ weights.tensor
    scores += np.hstack([d, h]) @ weights.linear
    scores += weights.bias
    return scores, (arcs, len(modifiers), d, h, products)


def score_labels_backward(weights, cache, d_scores, d_weights):
    """Take the derivatives by parameters and by the vectors of modifiers and heads."""
    (of_modifiers, of_heads), n_rows, d, h, products = cache
    label = d.shape[1]
    np.matmul(products.T, d_scores, out=d_weights.tensor)
    np.matmul(np.hstack([d, h]).T, d_scores, out=d_weights.linear)
    d_scores.sum(axis=0, out=d_weights.bias)
    d_products = (d_scores @ weights.tensor.T).reshape(len(d), label, label)
    d_both = d_scores @ weights.linear.T
    d_d = np.matmul(d_products, h[:, :, None])[:, :, 0] + d_both[:, :label]
    d_h = np.matmul(d[:, None, :], d_products)[:, 0] + d_both[:, label:]
    d_modifiers = np.zeros_like(d, shape=(n_rows, label))
    d_heads = np.zeros_like(d_modifiers)
    d_modifiers[of_modifiers] = d_d
    np.add.at(d_heads, of_heads, d_h)
    return d_modifiers, d_heads
