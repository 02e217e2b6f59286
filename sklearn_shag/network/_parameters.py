"""The parameters of the network: one flat vector, seen as the arrays of its layers."""

from collections.abc import Mapping
from math import prod, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_shag.encoding import FIRST, LETTERS, N_ROWS, TAGS, VECTOR
from sklearn_shag.utils._arrays import check_range, check_shape, is_collection
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._typing import BoolArray, IntArray

# Token vectors of a group of columns, the vectors of heads and modifiers, those for labels.
EMBEDDED, ARC, LABEL = 64, 100, 50
# The shortest distance of each bucket but the first; each side has its own.
BUCKETS = (2, 3, 4, 5, 7, 11, 21)
N_BUCKETS = 2 * (len(BUCKETS) + 1)
LABEL_DEVIATION = 0.02  # of the label tensor, at the start


class Group(NamedTuple):
    """Columns of tokens whose embeddings are added up."""

    columns: tuple  # their places among those that are read
    n_codes: tuple  # of each of them
    deviation: float  # of the embeddings, at the start
    replaced: float  # how often a value becomes unknown, in training
    width: int = EMBEDDED
    fixed: bool = False  # whether the embeddings were learned elsewhere, and are no parameters
    spelled: bool = False  # whether they are those of n-grams, of which each word has several
    in_context: bool = False  # whether they are given for tokens, and not by columns


class Sizes(NamedTuple):
    """What the shapes of all arrays follow from."""

    groups: tuple
    hidden: tuple  # units per direction of each recurrent layer
    n_labels: int
    n_tags: tuple  # of each column that is learned
    arc: int = ARC
    label: int = LABEL


N_ENDS = 4  # what may end at a character, for splitters
# Of networks that read no vectors of words, or none in context, as all did that were saved before
# these were read.
NO_VECTORS = np.zeros((0, 0), dtype=np.float32)
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
    vectors : float32 ndarray of shape (n_codes, n_dimensions)
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
    vectors: NDArray[np.float32]
    moments: NDArray[np.float32] = NO_MOMENTS


class Linear(NamedTuple):
    """A linear map, ``x @ weight + bias``."""

    weight: np.ndarray  # (n_inputs, n_outputs)
    bias: np.ndarray  # (n_outputs,)


class ArcWeights(NamedTuple):
    """What makes scores of arcs of the vectors d of modifiers and h of heads."""

    bilinear: np.ndarray  # (arc, arc), U of d @ U @ h
    head: np.ndarray  # (arc,)
    near_head: np.ndarray  # (arc, N_BUCKETS)
    near_modifier: np.ndarray  # (arc, N_BUCKETS)


class LabelWeights(NamedTuple):
    """What makes scores of labels of the vectors of the modifier and the head of an arc."""

    tensor: np.ndarray  # (label * label, n_labels)
    linear: np.ndarray  # (2 * label, n_labels), modifiers first
    bias: np.ndarray  # (n_labels,)


class Parameters(NamedTuple):
    """All of them; their shapes and gradients look the same."""

    embeddings: tuple  # of each group the tables of its columns, one below the other, if learned
    layers: tuple  # Linear, of each layer its candidates, forget and output gates
    vectors: Linear  # of arcs for heads and modifiers, of labels for modifiers and heads
    arcs: ArcWeights
    labels: LabelWeights
    tags: Linear  # those of all columns side by side


def parameter_shapes(sizes):
    """Say which shapes arrays have; without labels or tags they are empty."""
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
    """Of the vectors of a token for arcs, and for labels."""
    return sizes.arc, sizes.label if sizes.n_labels else 0


def count_parameters(sizes):
    """Count the numbers in all arrays."""
    return sum(map(prod, _iter_leaves(parameter_shapes(sizes))))


def view_parameters(sizes, flat):
    """See a flat vector, (n_parameters,), as Parameters, which are views."""
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
    """Draw the parameters that training starts from, as a flat vector of single precision."""
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


# By the kinds of columns in a group: the standard deviation of its embeddings at first, and how
# often a value is replaced in training. Affixes are groups of their own where there are no tags.
TAG_GROUP, WORD_GROUP = (1.0, 0.02), (0.3, 0.2)
FORM_GROUP, AFFIX_GROUP = (0.3, 0.3), (0.5, 0.05)
# N-grams that training never has are to say nothing.
LETTER_GROUP = (0.0, 0.05)
# Of vectors that were learned elsewhere the standard deviation is made that.
VECTOR_GROUP = (0.3, 0.2)
CONTEXT_GROUP = (0.3, 0.0)


def list_sizes(vocabulary, hidden, n_labels, n_tags, n_dimensions=0, n_in_context=0):
    """Group columns, and say how large everything in a network is.

    Parameters
    ----------
    vocabulary : dict of list of str
        The known values of each column.
    hidden : sequence of int
        Units per direction of each recurrent layer.
    n_labels : int or None
        None if arcs are not scored either.
    n_tags : sequence of int
        Of each column that is learned.
    n_dimensions : int, default=0
        Of the vectors of words that were learned elsewhere.
    n_in_context : int, default=0
        The same of vectors in context.

    Returns
    -------
    sizes : Sizes
    """
    tagged = any(name in TAGS or name.startswith("feats") for name in vocabulary)
    members = {}
    for k, (name, values) in enumerate(vocabulary.items()):
        group = _group_of(name, tagged)
        n_codes = N_ROWS if name == LETTERS else FIRST + len(values)
        members.setdefault(group, []).append((k, n_codes))
    groups = [
        Group(*zip(*of_group, strict=True), *settings, spelled=kind == LETTERS)
        for (kind, settings), of_group in members.items()
    ]
    if VECTOR in vocabulary:  # a group of its own, and the last one
        groups[-1] = groups[-1]._replace(width=n_dimensions, fixed=True)
    if n_in_context:
        groups.append(Group((), (), *CONTEXT_GROUP, n_in_context, fixed=True, in_context=True))
    arc = 0 if n_labels is None else ARC
    return Sizes(tuple(groups), tuple(map(int, hidden)), n_labels or 0, tuple(n_tags), arc=arc)


def sizes_of(weights, vocabulary, labels=None, tag_values=None):
    """Say how large everything is in the network of some weights, whose values may be missing.

    Parameters
    ----------
    weights : NetworkWeights
    vocabulary : dict
        The known values of each column that is read.
    labels : None or ndarray
        Known relations; None if arcs are not scored.
    tag_values : None or dict
        The values of each column that is learned; None for splitters.

    Returns
    -------
    sizes : Sizes
    """
    n_labels = None if labels is None else labels.size
    n_tags = (N_ENDS,) if tag_values is None else map(len, tag_values.values())
    dimensions = weights.vectors.shape[1], weights.moments.shape[1]
    return list_sizes(vocabulary, weights.hidden_layer_sizes, n_labels, n_tags, *dimensions)


def _group_of(name, tagged):
    """Name the group of a column, and say how it is trained."""
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


def check_network_weights(weights, name, vocabulary, tag_values=None, labels=None, embeddings=None):
    """Check that all parameters are where sizes say; taggers have no labels, and splitters no tags.

    `embeddings` names what vectors in context come from, if they are read.
    """
    n_codes = FIRST + len(vocabulary[VECTOR]) if VECTOR in vocabulary else 0
    check_shape(weights.vectors, (n_codes, None if n_codes else 0), f"{name}.vectors")
    check_shape(weights.moments, (2, 0 if embeddings is None else None), f"{name}.moments")
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
    table : float32 ndarray of shape (3 + n_words, n_dimensions)
        Zeros for what is no word, as the vectors of the unknown; the others scaled to the deviation
        of embeddings that are learned, whatever they come from.
    """
    words, vectors = read_embeddings(embeddings)
    table = np.zeros((FIRST + len(words), vectors.shape[1]), dtype=np.float32)
    deviation, _ = VECTOR_GROUP
    table[FIRST:] = vectors * (deviation / (vectors.std(dtype=np.float64) or 1.0))
    return words, table


def read_embeddings(embeddings):
    """Check vectors of words.

    Parameters
    ----------
    embeddings : mapping of str to array-like, pair of words and vectors, or KeyedVectors
        Those of gensim list their words in `index_to_key`, and look up one in brackets.

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
    """Say how vectors in context are standardised.

    Parameters
    ----------
    vectors : ContextVectors or None
        Of the sentences of training.

    Returns
    -------
    moments : float32 ndarray of shape (2, n_dimensions)
        Those of :class:`NetworkWeights`.
    """
    if vectors is None:
        return NO_MOMENTS
    mean, deviation = vectors.moments(vectors.places)
    wanted, _ = CONTEXT_GROUP
    factors = np.divide(wanted, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return np.array([mean, factors], dtype=np.float32)
