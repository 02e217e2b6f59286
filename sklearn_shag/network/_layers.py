"""Layers, forward and backward: embeddings, recurrent units, scores of arcs and labels.

Tokens lie flat, one sentence after the other, the root first in each. A function returns its output
and a cache. Its twin, with the suffix ``_backward``, takes the cache and the derivative by the
output. It overwrites the derivative by the parameters and returns the derivative by the input.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import ROOT_CODE, UNKNOWN_CODE, Codes, Spellings, arc_begins, find_bucket
from sklearn_shag.network._parameters import BUCKETS, N_BUCKETS
from sklearn_shag.utils._kernel import inlined_kernel, table_kernel

SLOPE = 0.1  # of leaky rectified units, below zero


class Tokens(NamedTuple):
    """Tokens of sentences, the root first in each."""

    codes: np.ndarray  # (n_rows, n_columns)
    begins: np.ndarray  # (n_sentences + 1,)
    spellings: Spellings | None = None  # if letters are read
    context: np.ndarray | None = None  # (n_known, n_dimensions), if vectors in context are read
    places: np.ndarray | None = None  # (n_rows,), its row of each token, any row for roots

    def are_roots(self):
        """Tell which rows are roots."""
        of_root = np.zeros(len(self.codes), dtype=bool)
        of_root[self.begins[:-1]] = True
        return of_root

    def take(self, first, last):
        """Return the Tokens of the sentences from `first` to before `last`."""
        rows = slice(self.begins[first], self.begins[last])
        places = None if self.places is None else self.places[rows]
        begins = self.begins[first : last + 1] - rows.start
        return self._replace(codes=self.codes[rows], begins=begins, places=places)


def with_roots(codes, indptr):
    """Return Tokens with a root before each sentence; `codes` are an array or Codes."""
    codes = codes if isinstance(codes, Codes) else Codes(codes)
    begins = indptr + np.arange(indptr.size)
    shape = begins[-1], codes.columns.shape[1]
    tokens = Tokens(np.full(shape, ROOT_CODE, dtype=np.int32), begins, codes.spellings)
    of_tokens = ~tokens.are_roots()
    tokens.codes[of_tokens] = codes.columns
    if codes.context is None:
        return tokens
    places = np.zeros(begins[-1], dtype=np.int64)
    places[of_tokens] = codes.places
    return tokens._replace(context=codes.context.rows, places=places)


class Noise(NamedTuple):
    """Random noise of training: unknown values of tokens, and dropout of entries of layers."""

    dropout: float  # probability that an entry of a layer is set to 0
    rng: np.random.Generator

    def replace(self, tokens, groups):
        """Make random values of tokens unknown, by the probability of each group."""
        rates = np.empty(tokens.codes.shape[1], dtype=np.float32)
        for group in groups:
            rates[list(group.columns)] = group.replaced
        replaced = self.rng.random(tokens.codes.shape, dtype=np.float32) < rates
        replaced[tokens.begins[:-1]] = False
        return tokens._replace(codes=np.where(replaced, UNKNOWN_CODE, tokens.codes))

    def drop(self, x):
        """Set random entries to 0 and scale the others, in place; return their factors."""
        factors = (self.rng.random(x.shape, dtype=np.float32) >= self.dropout).astype(x.dtype)
        factors /= 1 - self.dropout
        x *= factors
        return factors


def embed_tokens(tables, groups, tokens):
    """Return the vectors of tokens, (n_rows, width), with the sum of embeddings of each group."""
    width = sum(table.shape[1] for table in tables)
    x = np.empty((len(tokens.codes), width), dtype=np.result_type(tables[0], np.float32))
    rows, end = [], 0
    for table, group in zip(tables, groups, strict=True):
        begin, end = end, end + table.shape[1]
        codes = tokens.codes.take(group.columns, axis=1)
        if group.in_context:
            mean, factors = table
            np.subtract(tokens.context[tokens.places], mean, out=x[:, begin:end])
            x[:, begin:end] *= factors
            x[tokens.begins[:-1], begin:end] = 0  # of roots
            rows.append(None)
        elif group.spelled:
            spellings = tokens.spellings
            rows.append((codes[:, 0], spellings.begins, spellings.rows))
            table, of_grams = _widen(table, spellings.rows)
            _sum_letters(table, codes[:, 0], spellings.begins, of_grams, x, begin)
        else:
            rows.append(codes + np.cumsum([0, *group.n_codes[:-1]]))
            _sum_embeddings(*_widen(table, rows[-1]), x, begin)
    return x, rows


def _widen(table, rows):
    """Take rows of half precision, that no loop can read, into a table of their own."""
    if table.dtype != np.float16:
        return table, rows
    if rows.size < len(table):
        return table[rows.ravel()].astype(np.float32), np.arange(rows.size).reshape(rows.shape)
    used = np.zeros(len(table), dtype=bool)  # of a long text, a tenth of the rows differ
    used[rows] = True
    return table[used].astype(np.float32), (np.cumsum(used) - 1)[rows]


def embed_tokens_backward(rows, d_x, d_tables):
    """Overwrite the derivatives by the learned tables; given tables have no rows."""
    ends = np.cumsum([table.shape[1] for table in d_tables])
    d_parts = np.split(d_x, ends[:-1], axis=1)
    for of_group, d_part, d_table in zip(rows, d_parts, d_tables, strict=True):
        if d_table.size:
            d_table.fill(0)
            if isinstance(of_group, tuple):
                _sum_letters_backward(*of_group, d_part, d_table)
            else:
                _sum_embeddings_backward(of_group, d_part, d_table)


@table_kernel
def _sum_embeddings(table, rows, x, begin):
    for i in range(rows.shape[0]):
        for d in range(table.shape[1]):
            x[i, begin + d] = table[rows[i, 0], d]
        for k in range(1, rows.shape[1]):
            row = rows[i, k]
            for d in range(table.shape[1]):
                x[i, begin + d] += table[row, d]


@table_kernel
def _sum_embeddings_backward(rows, d_x, d_table):
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            row = rows[i, k]
            for d in range(d_x.shape[1]):
                d_table[row, d] += d_x[i, d]


@table_kernel
def _sum_letters(table, words, begins, rows, x, column):
    """Set x to the sum of the n-gram vectors of each word over the root of their number."""
    for i in range(words.size):
        begin, end = begins[words[i]], begins[words[i] + 1]
        of_word = x[i, column : column + table.shape[1]]
        of_word[:] = 0
        for k in range(begin, end):
            row = rows[k]
            for d in range(of_word.size):
                of_word[d] += table[row, d]
        for d in range(of_word.size):
            of_word[d] /= np.sqrt(max(end - begin, 1))


@table_kernel
def _sum_letters_backward(words, begins, rows, d_x, d_table):
    for i in range(words.size):
        begin, end = begins[words[i]], begins[words[i] + 1]
        for d in range(d_x.shape[1]):
            d_x[i, d] /= np.sqrt(max(end - begin, 1))
        for k in range(begin, end):
            row = rows[k]
            for d in range(d_x.shape[1]):
                d_table[row, d] += d_x[i, d]


def linear(layer, x):
    """Compute ``x @ weight + bias``."""
    y = x @ layer.weight
    y += layer.bias
    return y, x


def linear_backward(layer, x, d_y, d_layer):
    """Overwrite the derivatives by weight and bias, and return the derivative by x."""
    np.matmul(x.T, d_y, out=d_layer.weight)
    d_y.sum(axis=0, out=d_layer.bias)
    return d_y @ layer.weight.T


def rectify(x):
    """Compute leaky rectified units, in place."""
    np.maximum(x, SLOPE * x, out=x)


def rectify_backward(y, d_y):
    """Multiply `d_y` in place by the slope of each unit; y has the sign of its input."""
    d_y *= np.where(y > 0, y.dtype.type(1), y.dtype.type(SLOPE))


def recur(layer, x, begins):
    """Run simple recurrent units (Lei et al. 2018) along sentences, in both directions.

    With candidates x, forget gates f and output gates r, linear maps of the input::

        c_t = f_t c_(t-1) + (1 - f_t) x_t            c_0 = 0
        h_t = r_t tanh(c_t)

    The linear map yields candidates, forget gates and output gates, side by side. In each of the
    three, the units of the forward direction come first.
    """
    y, _ = linear(layer, x)
    n = y.shape[1] // 3
    candidates, gates = y[:, :n], y[:, n:]
    # The sigmoid, by tanh, which cannot overflow.
    gates *= 0.5
    np.tanh(gates, out=gates)
    gates += 1
    gates *= 0.5
    states = np.empty_like(x, shape=candidates.shape)
    _scan(candidates, gates[:, :n], begins, states)
    tanh = np.tanh(states)
    return gates[:, n:] * tanh, (x, begins, candidates, gates, states, tanh)


def recur_backward(layer, cache, d_h, d_layer):
    """Overwrite the derivatives by weight and bias, and return the derivative by x."""
    x, begins, candidates, gates, states, tanh = cache
    n = candidates.shape[1]
    forget, output = gates[:, :n], gates[:, n:]
    d_y = np.empty_like(x, shape=(len(x), 3 * n))
    d_states = d_h * output * (1 - tanh * tanh)
    _scan_backward(candidates, forget, states, begins, d_states, d_y[:, :n], d_y[:, n : 2 * n])
    np.multiply(d_h, tanh, out=d_y[:, 2 * n :])
    d_y[:, n:] *= gates * (1 - gates)
    return linear_backward(layer, x, d_y, d_layer)


@inlined_kernel
def scan_order(begins, s, side):
    """Return the first and last row of a sentence in one direction, and the step between rows."""
    if side == 0:
        return begins[s], begins[s + 1] - 1, 1
    return begins[s + 1] - 1, begins[s], -1


@table_kernel
def _scan(candidates, forget, begins, states):
    """Compute the states c_t, with half of the units in each direction."""
    half = states.shape[1] // 2
    for s in range(begins.size - 1):
        for side in range(2):
            first, last, step = scan_order(begins, s, side)
            units = range(side * half, (side + 1) * half)
            for k in units:
                states[first, k] = (1 - forget[first, k]) * candidates[first, k]
            for t in range(first + step, last + step, step):
                for k in units:
                    x, f = candidates[t, k], forget[t, k]
                    states[t, k] = x + f * (states[t - step, k] - x)


@table_kernel
def _scan_backward(candidates, forget, states, begins, d_states, d_candidates, d_forget):
    """Overwrite the derivatives by candidates and forget gates; accumulate `d_states`."""
    half = states.shape[1] // 2
    for s in range(begins.size - 1):
        for side in range(2):
            first, last, step = scan_order(begins, s, side)
            units = range(side * half, (side + 1) * half)
            for t in range(last, first, -step):
                for k in units:
                    d, f = d_states[t, k], forget[t, k]
                    d_candidates[t, k] = d * (1 - f)
                    d_forget[t, k] = d * (states[t - step, k] - candidates[t, k])
                    d_states[t - step, k] += d * f
            for k in units:
                d = d_states[first, k]
                d_candidates[first, k] = d * (1 - forget[first, k])
                d_forget[first, k] = -d * candidates[first, k]


def score_all_arcs(weights, heads, modifiers, begins):
    """Score all arcs of sentences.

    With the vectors d of the modifier m and h of the head::

        s(h, m) = d @ U @ h + u @ h + V[bucket(h, m)] @ h + W[bucket(h, m)] @ d

    Scores are in the layout of marginals, (n_arcs,); the root is the first row of its sentence.
    In a network that scores no arcs, vectors have no dimensions.
    """
    if not heads.shape[1]:
        return np.empty_like(heads, shape=0), (heads, modifiers, *[None] * 3)
    products = modifiers @ weights.bilinear
    products += weights.head
    near_heads = heads @ weights.near_head
    near_modifiers = modifiers @ weights.near_modifier
    scores, arcs = add_up_arcs(products, heads, near_heads, near_modifiers, begins)
    return scores, (heads, modifiers, begins, arcs, products)


def add_up_arcs(products, heads, near_heads, near_modifiers, begins):
    """Score arcs from ``d @ U + u`` of modifiers, vectors of heads, and products by V and W.

    The scores are returned with the first arc of each sentence.
    """
    arcs = arc_begins(begins - np.arange(begins.size))
    scores = np.empty_like(heads, shape=arcs[-1])
    for s, (begin, end) in enumerate(pairwise(begins.tolist())):
        of_sentence = scores[arcs[s] : arcs[s + 1]].reshape(end - begin - 1, end - begin)
        np.matmul(products[begin + 1 : end], heads[begin:end].T, out=of_sentence)
    _add_near(near_heads, near_modifiers, begins, arcs, scores)
    return scores, arcs


def score_all_arcs_backward(weights, cache, d_scores, d_weights):
    """Overwrite the derivatives by weights; return the derivatives by heads and modifiers."""
    heads, modifiers, begins, arcs, products = cache
    if not heads.shape[1]:
        return heads, modifiers
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
def _find_arc_bucket(head, modifier):
    return 2 * find_bucket(abs(head - modifier), BUCKETS) + (head < modifier)


@table_kernel
def _add_near(near_heads, near_modifiers, begins, arcs, scores):
    for s in range(begins.size - 1):
        begin, n = begins[s], begins[s + 1] - begins[s]
        place = arcs[s]
        for m in range(1, n):
            for h in range(n):
                bucket = _find_arc_bucket(h, m)
                scores[place] += near_heads[begin + h, bucket] + near_modifiers[begin + m, bucket]
                place += 1


@table_kernel
def _add_near_backward(d_scores, begins, arcs, d_near_heads, d_near_modifiers):
    for s in range(begins.size - 1):
        begin, n = begins[s], begins[s + 1] - begins[s]
        place = arcs[s]
        for m in range(1, n):
            for h in range(n):
                bucket = _find_arc_bucket(h, m)
                d_near_heads[begin + h, bucket] += d_scores[place]
                d_near_modifiers[begin + m, bucket] += d_scores[place]
                place += 1


def score_labels(weights, modifiers, heads, arcs):
    """Score the labels of arcs, given by rows of modifiers, all different, and of heads."""
    of_modifiers, of_heads = arcs
    d, h = modifiers[of_modifiers], heads[of_heads]
    products = (d[:, :, None] * h[:, None, :]).reshape(len(d), len(weights.tensor))
    scores = products @ weights.tensor
    scores += np.hstack([d, h]) @ weights.linear
    scores += weights.bias
    return scores, (arcs, len(modifiers), d, h, products)


def score_labels_backward(weights, cache, d_scores, d_weights):
    """Overwrite the derivatives by weights; return the derivatives by modifiers and heads."""
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
