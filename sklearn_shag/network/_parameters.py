"""The parameters of the network: one flat vector, seen as the arrays of its layers."""

from collections.abc import Mapping
from math import prod, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from sklearn_shag.encoding import FIRST_CODE, LETTERS, N_LETTER_ROWS, TAGS, VECTOR, spell_words
from sklearn_shag.utils._arrays import check_range, check_shape, is_collection
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import BoolArray, IntArray

# Dimensions of embeddings of a group of columns, of vectors for arcs, and of vectors for labels.
EMBEDDED, ARC, LABEL = 64, 100, 50
# The shortest distance of each bucket but the first; each side has its own.
BUCKETS = (2, 3, 4, 5, 7, 11, 21)
N_BUCKETS = 2 * (len(BUCKETS) + 1)
LABEL_DEVIATION = 0.02  # standard deviation of the initial label tensor


class Group(NamedTuple):
    """Columns of tokens whose embeddings are added up."""

    columns: tuple  # their positions among the columns that are read
    n_codes: tuple  # the number of codes of each column
    deviation: float  # standard deviation of initial embeddings
    replaced: float  # probability that a value is made unknown in training
    width: int = EMBEDDED
    fixed: bool = False  # whether the embeddings are given, and no parameters
    spelled: bool = False  # whether each value is a word with embeddings of n-grams
    in_context: bool = False  # whether vectors are given for tokens, not for values


class Sizes(NamedTuple):
    """Sizes of a network, which determine the shapes of its parameters."""

    groups: tuple
    hidden: tuple  # units per direction of each recurrent layer
    n_labels: int
    n_tags: tuple  # the number of tags of each learned column
    arc: int = ARC
    label: int = LABEL


# Of networks without given vectors.
NO_VECTORS = np.zeros((0, 0), dtype=np.float16)
NO_MOMENTS = np.zeros((2, 0), dtype=np.float32)


class NetworkWeights(NamedTuple):
    """Sizes and learned parameters of a network.

    The shapes of its layers follow from these sizes and from the columns, labels and tags it knows.

    Attributes
    ----------
    hidden_layer_sizes : int ndarray of shape (n_layers,)
        Units per direction of each recurrent layer.
    values : float16 ndarray of shape (n_parameters,)
        The parameters of all layers, one after the other, in half precision. This halves the size
        of files; scores are computed in single precision and are as good.
    label_mask : bool ndarray of shape (2, n_labels)
        Which relations training has between tokens, and which at roots; others are not predicted
        there.
    vectors : float16 ndarray of shape (n_codes, n_dimensions)
        The given word vectors, which training does not change, after rows that stand for no word.
        Empty if none were given.
    moments : float32 ndarray of shape (2, n_dimensions)
        For given vectors in context, the mean of each dimension over the training tokens, and the
        factor for differences from the mean. It has no dimensions if none were given.

    See Also
    --------
    sklearn_shag.BiaffineParser : Learns these weights.

    Examples
    --------
    >>> from sklearn_shag import BiaffineParser
    >>> parser = BiaffineParser(hidden_layer_sizes=[5], max_iter=1).fit([["DET", "NOUN"]], [[2, 0]])
    >>> parser.weights_.hidden_layer_sizes
    array([5])
    """

    hidden_layer_sizes: IntArray
    values: NDArray[np.float16]
    label_mask: BoolArray
    vectors: NDArray[np.float16]
    moments: NDArray[np.float32] = NO_MOMENTS


class Linear(NamedTuple):
    """A linear map, ``x @ weight + bias``."""

    weight: np.ndarray  # (n_inputs, n_outputs)
    bias: np.ndarray  # (n_outputs,)


class ArcWeights(NamedTuple):
    """Weights of the score of an arc from the vectors d of its modifier and h of its head."""

    bilinear: np.ndarray  # (arc, arc), U of d @ U @ h
    head: np.ndarray  # (arc,)
    near_head: np.ndarray  # (arc, N_BUCKETS)
    near_modifier: np.ndarray  # (arc, N_BUCKETS)


class LabelWeights(NamedTuple):
    """Weights of the scores of labels from the vectors of the modifier and head of an arc."""

    tensor: np.ndarray  # (label * label, n_labels)
    linear: np.ndarray  # (2 * label, n_labels), modifiers first
    bias: np.ndarray  # (n_labels,)


class Parameters(NamedTuple):
    """All parameters of a network, or their shapes, or the derivatives by them."""

    embeddings: tuple  # for each group one table with the rows of all its columns
    layers: tuple  # a Linear for each layer: candidates, forget and output gates
    vectors: Linear  # for arcs heads, modifiers; for labels modifiers, heads
    arcs: ArcWeights
    labels: LabelWeights
    tags: Linear  # the tags of all columns side by side


def parameter_shapes(sizes):
    """Return the shapes of all parameters; without labels or tags, their arrays are empty."""
    embeddings = tuple(
        (0 if each.fixed else sum(each.n_codes), each.width) for each in sizes.groups
    )
    width, layers = sum(group.width for group in sizes.groups), []
    for hidden in sizes.hidden:
        layers.append(Linear((width, 6 * hidden), (6 * hidden,)))
        width = 2 * hidden
    arc, label = vector_sizes(sizes)
    return Parameters(
        embeddings,
        tuple(layers),
        Linear((width, 2 * (arc + label)), (2 * (arc + label),)),
        ArcWeights((arc, arc), (arc,), (arc, N_BUCKETS), (arc, N_BUCKETS)),
        LabelWeights((label**2, sizes.n_labels), (2 * label, sizes.n_labels), (sizes.n_labels,)),
        Linear((width, sum(sizes.n_tags)), (sum(sizes.n_tags),)),
    )


def vector_sizes(sizes):
    """Return the dimensions of the vectors of a token for arcs and for labels."""
    return sizes.arc, sizes.label if sizes.n_labels else 0


def count_parameters(sizes):
    """Count the numbers in all parameters of a network."""
    return sum(map(prod, _iter_leaves(parameter_shapes(sizes))))


def view_parameters(sizes, flat):
    """Return Parameters whose arrays are views of a flat vector, (n_parameters,)."""
    shapes = parameter_shapes(sizes)
    ends = np.cumsum([prod(shape) for shape in _iter_leaves(shapes)])
    return _view_parts(shapes, iter(np.split(flat, ends[:-1])))


def _view_parts(shape, pieces):
    if isinstance(shape[0], int):
        return next(pieces).reshape(shape)
    parts = (_view_parts(part, pieces) for part in shape)
    return shape._make(parts) if hasattr(shape, "_make") else tuple(parts)


def _iter_leaves(shapes):
    if isinstance(shapes[0], int):
        yield shapes
    else:
        for part in shapes:
            yield from _iter_leaves(part)


def initial_parameters(sizes, rng):
    """Draw the initial parameters, a flat vector of single precision."""
    flat = np.zeros(count_parameters(sizes), dtype=np.float32)
    parameters = view_parameters(sizes, flat)

    def draw(array, deviation):
        array[...] = rng.normal(0.0, deviation, array.shape)

    def glorot(array, n_inputs, n_outputs):
        draw(array, sqrt(2 / (n_inputs + n_outputs)))

    for table, group in zip(parameters.embeddings, sizes.groups, strict=True):
        draw(table, group.deviation)
    for layer, hidden in zip(parameters.layers, sizes.hidden, strict=True):
        draw(layer.weight, 1 / sqrt(len(layer.weight)))
        layer.bias[2 * hidden : 4 * hidden] = 1.0  # forget little at first
    weight, (arc, label) = parameters.vectors.weight, vector_sizes(sizes)
    for part in np.split(weight, np.cumsum([arc, arc, label]), axis=1):
        if part.size:
            glorot(part, *part.shape)
    parameters.arcs.bilinear[...] = np.linalg.qr(rng.normal(size=(arc, arc)))[0]
    if label:
        draw(parameters.labels.tensor, LABEL_DEVIATION)
        glorot(parameters.labels.linear, 2 * label, sizes.n_labels)
    for part in np.split(parameters.tags.weight, np.cumsum(sizes.n_tags)[:-1], axis=1):
        glorot(part, *part.shape)
    return flat


# Words whose spelling is learned from their given vectors, and of the ridge regression its penalty,
# its iterations, and the factor of its results, as chosen on development sets.
N_SPELLED, SPELLING_PENALTY, SPELLING_ITERATIONS, SPELLED = 50_000, 0.3, 30, 2.0


def spell_vectors(sizes, flat, words, vectors):
    """Start the vectors of n-grams so that they add up to the given vectors of words.

    So a word without a vector has one like those of words with the same prefix or ending.

    Parameters
    ----------
    sizes : Sizes
    flat : float32 ndarray
        The initial parameters, which are changed if n-grams are read.
    words : list of str
        Of which the first ones are used, which are the most frequent ones in most files.
    vectors : ndarray of shape (3 + n_words, n_dimensions)
        As made by :func:`tabulate_embeddings`.
    """
    of_letters = next((k for k, group in enumerate(sizes.groups) if group.spelled), None)
    if of_letters is None:
        return
    table = view_parameters(sizes, flat).embeddings[of_letters]
    ngrams = spell_words(words[:N_SPELLED])
    lengths = np.diff(ngrams.begins)
    shares = np.repeat(1 / np.sqrt(lengths), lengths)  # as the network adds them up
    entries = shares, ngrams.rows.astype(np.int64), ngrams.begins
    spelled = csr_array(entries, (lengths.size, N_LETTER_ROWS))
    settings = {"damp": sqrt(SPELLING_PENALTY), "iter_lim": SPELLING_ITERATIONS}
    wanted = vectors[FIRST_CODE : FIRST_CODE + N_SPELLED, : table.shape[1]].astype(np.float64)
    for d, of_dimension in enumerate(wanted.T):  # a ridge regression
        table[:, d] = SPELLED * lsqr(spelled, of_dimension, atol=1e-4, btol=1e-4, **settings)[0]


# By kind of column: the standard deviation of initial embeddings, and the probability that a value
# is made unknown in training. Without tags, prefixes and suffixes are groups of their own.
TAG_GROUP, WORD_GROUP = (1.0, 0.02), (0.3, 0.2)
FORM_GROUP, AFFIX_GROUP = (0.3, 0.3), (0.5, 0.05)
# N-grams start from 0, so that unseen ones have no effect, unless there are vectors of words.
LETTER_GROUP = (0.0, 0.05)
# Given vectors are scaled to this standard deviation.
VECTOR_GROUP = (0.3, 0.2)
CONTEXT_GROUP = (0.3, 0.0)


def sizes_of(weights, vocabulary, labels=None, tag_values=None):
    """Group columns, and compute the Sizes of the network of some weights.

    Parameters
    ----------
    weights : NetworkWeights
        Whose values may be None.
    vocabulary : dict of list of str
        The known values of each column that is read.
    labels : None or ndarray
        Known relations; None if arcs are not scored either.
    tag_values : None or dict
        The values of each column that is learned; None if none is.

    Returns
    -------
    sizes : Sizes
    """
    tagged = any(name in TAGS or name.startswith("feats") for name in vocabulary)
    members = {}
    for k, (name, values) in enumerate(vocabulary.items()):
        group = _group_of(name, tagged)
        n_codes = N_LETTER_ROWS if name == LETTERS else FIRST_CODE + len(values)
        members.setdefault(group, []).append((k, n_codes))
    groups = [
        Group(*zip(*of_group, strict=True), *settings, spelled=kind == LETTERS)
        for (kind, settings), of_group in members.items()
    ]
    if VECTOR in vocabulary:  # a group of its own, and the last one
        groups[-1] = groups[-1]._replace(width=weights.vectors.shape[1], fixed=True)
    n_in_context = weights.moments.shape[1]
    if n_in_context:
        groups.append(Group((), (), *CONTEXT_GROUP, n_in_context, fixed=True, in_context=True))
    hidden = tuple(map(int, weights.hidden_layer_sizes))
    n_tags = tuple(map(len, (tag_values or {}).values()))
    n_labels, arc = (0, 0) if labels is None else (labels.size, ARC)
    return Sizes(tuple(groups), hidden, n_labels, n_tags, arc=arc)


def _group_of(name, tagged):
    """Return the name of the group of a column, its deviation and its rate of replacement."""
    kind = name.partition(".")[0]
    if kind in TAGS or kind == "feats":
        return "tags", TAG_GROUP
    if kind == VECTOR:
        return "vectors", VECTOR_GROUP
    if kind == LETTERS:
        return LETTERS, LETTER_GROUP
    if tagged:
        return "words", WORD_GROUP
    if kind in ("form", "lemma"):
        return "forms", FORM_GROUP
    return "suffixes" if kind == "suffix" else "prefixes", AFFIX_GROUP


def check_network_weights(
    weights, name, vocabulary, tag_values=None, labels=None, embeddings_name=None
):
    """Check the shapes of NetworkWeights; taggers have no labels, and splitters no tag values.

    `embeddings_name` is that of the source of vectors in context, None if the network reads none.
    """
    n_codes = FIRST_CODE + len(vocabulary[VECTOR]) if VECTOR in vocabulary else 0
    check_shape(weights.vectors, (n_codes, None if n_codes else 0), f"{name}.vectors")
    check_shape(weights.moments, (2, 0 if embeddings_name is None else None), f"{name}.moments")
    hidden = weights.hidden_layer_sizes
    check_shape(hidden, (None,), f"{name}.hidden_layer_sizes")
    check_range(hidden, 1, np.inf, f"{name}.hidden_layer_sizes")
    if not hidden.size:
        raise ValueError(f"{name}.hidden_layer_sizes holds no layers.")
    sizes = sizes_of(weights, vocabulary, labels, tag_values)
    check_shape(weights.values, (count_parameters(sizes),), f"{name}.values")
    check_shape(weights.label_mask, (2, sizes.n_labels), f"{name}.label_mask")


def tabulate_embeddings(embeddings):
    """Make the table of a network from vectors of words.

    Parameters
    ----------
    embeddings
        As for :func:`read_embeddings`.

    Returns
    -------
    words : list of str
    table : float16 ndarray of shape (3 + n_words, n_dimensions)
        Rows of zeros for codes that are no words, then the vectors of words, scaled to a standard
        deviation as of learned embeddings.
    """
    words, vectors = read_embeddings(embeddings)
    table = np.zeros((FIRST_CODE + len(words), vectors.shape[1]), dtype=np.float16)
    deviation, _ = VECTOR_GROUP
    table[FIRST_CODE:] = vectors * (deviation / (vectors.std(dtype=np.float64) or 1.0))
    return words, table


def read_embeddings(embeddings):
    """Check vectors of words.

    Parameters
    ----------
    embeddings : mapping of str to array-like, pair of words and vectors, or KeyedVectors
        KeyedVectors of gensim list their words in `index_to_key`, and look up one in brackets.

    Returns
    -------
    words : list of str
    vectors : float32 ndarray of shape (n_words, n_dimensions)

    Raises
    ------
    ValueError
        If there are none, words are no strings or come twice, or vectors differ in size or hold
        numbers that are not finite.
    """
    if isinstance(embeddings, Mapping) or hasattr(embeddings, "index_to_key"):
        words = list(getattr(embeddings, "index_to_key", embeddings))
        vectors = [embeddings[word] for word in words]
    elif (
        isinstance(embeddings, list | tuple)
        and len(embeddings) == 2
        and all(is_collection(part) and hasattr(part, "__getitem__") for part in embeddings)
    ):
        words, vectors = list(embeddings[0]), embeddings[1]  # no set, which has no order
    else:
        raise ValueError(
            f"embeddings must be a mapping from words to vectors, or a pair of words and an array "
            f"with their vectors, got the {type(embeddings).__name__} {shorten(embeddings)}. Read "
            f"files of vectors with sklearn_shag.features.read_vectors, and transformers with "
            f"TransformerVectors of that module."
        )
    strange = next((word for word in words if not isinstance(word, str)), None)
    if strange is not None:
        raise ValueError(
            f"embeddings: {shorten(strange)} is a {type(strange).__name__}, but words are str."
        )
    if len(set(words)) < len(words):
        raise ValueError("embeddings: a word comes twice; give each word one vector.")
    try:
        vectors = np.array(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise ValueError(
            "embeddings: vectors must be arrays of numbers, all of one size."
        ) from None
    if vectors.ndim != 2 or len(vectors) != len(words) or not vectors.size:
        raise ValueError(
            f"embeddings: {len(words)} words need vectors of shape ({len(words)}, n_dimensions), "
            f"at least one of each, got {vectors.shape}."
        )
    if not np.isfinite(vectors).all():
        worst = words[int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
        raise ValueError(
            f"embeddings: the vector of {shorten(worst)} holds numbers that are not finite."
        )
    return words, vectors


def compute_moments(vectors):
    """Compute means and factors that standardise vectors in context.

    Parameters
    ----------
    vectors : ContextVectors or None
        Vectors of the training sentences.

    Returns
    -------
    moments : float32 ndarray of shape (2, n_dimensions)
        As in :class:`NetworkWeights`.
    """
    if vectors is None:
        return NO_MOMENTS
    mean, deviation = vectors.moments(vectors.places)
    wanted, _ = CONTEXT_GROUP
    factors = np.divide(wanted, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return np.array([mean, factors], dtype=np.float32)
