"""Vectors in context from a transformer: a BERT-like encoder in a folder, run by numpy."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import hash as hash_of
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import erf
from sklearn.utils import InputTags, Tags
from sklearn.utils.validation import check_memory

from sklearn_shag.encoding import SOURCE_CHUNK, check_sentences
from sklearn_shag.treebank import Sentences, compose_words
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._estimators import BaseEstimator, TransformerMixin, linked
from sklearn_shag.utils._io import expand_user
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._param_validation import COUNT, N_JOBS, HasMethods, validate_params
from sklearn_shag.utils._typing import FilePath, SingleArray

FILES = ("config.json", "tokenizer.json", "model.safetensors")
# Supported types of models, and whether their positions start after the index of padding.
MODEL_TYPES = {
    "bert": False,
    "roberta": True,
    "xlm-roberta": True,
    "camembert": True,
    "mpnet": True,
}
# What BERT and MPNet call the parts of attention: queries, keys, values, what merges the heads, and
# the normalisation after it.
OF_BERT = ("self.query", "self.key", "self.value"), "output.dense", "output.LayerNorm"
OF_MPNET = ("attn.q", "attn.k", "attn.v"), "attn.o", "LayerNorm"
ENCODED_CHUNK = 100  # sentences that are run, and kept in `memory`, together
FARTHEST = 128  # pieces; MPNet does not tell larger distances apart
_FIRST_TABLE = "embeddings.word_embeddings.weight"


class TransformerLayer(NamedTuple):
    """Linear maps and normalisations of one layer, each a weight and a bias."""

    attend: tuple  # to queries, keys and values side by side
    merge: tuple  # the results of all heads
    after_attention: tuple
    widen: tuple
    narrow: tuple
    after: tuple


class TransformerEncoder(NamedTuple):
    """Encoder with its tokenizer, weights and settings, as read from a folder."""

    tokenizer: Any
    words: np.ndarray  # (n_pieces, width)
    positions: np.ndarray  # (longest, width), plus the vector of the token type
    normalize: tuple
    layers: list
    chosen: tuple  # the layers whose mean is wanted, from 1
    n_heads: int
    epsilon: float
    distances: np.ndarray | None  # (n_buckets, n_heads), what MPNet adds to logarithms of weights


@linked
class TransformerVectors(TransformerMixin, BaseEstimator):
    """Contextual word vectors from a transformer, for the parameter `embeddings` of networks.

    It runs encoders like BERT that are published as folders with the files config.json,
    tokenizer.json and model.safetensors: BERT itself, RoBERTa, XLM-RoBERTa, CamemBERT, MPNet and
    models of the same architecture. It needs ``pip install sklearn_shag[contextual]``, but no
    deep-learning library. Nothing is learned from sentences, so it need not be fitted.

    Parameters
    ----------
    folder : str or os.PathLike
        Folder with the files; ``~`` is the home folder.
    layers : None or sequence of int, default=None
        The layers whose outputs are averaged, 1 for the first. None takes those from a third to two
        thirds of them, which know most about syntax; later layers are not computed.
    batch_size : int, default=2048
        Approximate number of word pieces that are run together.
    n_jobs : None or int, default=None
        Number of threads; None is 1 unless set by :func:`joblib.parallel_config`, -1 is all cores.
    memory : None, str or object with the joblib.Memory interface, default=None
        Where vectors are kept, so that no sentence is read twice: the path of a folder, or a
        :class:`joblib.Memory`. They are found again by the sizes and times of the files, `layers`,
        `batch_size`, and the words of a hundred sentences in a row. A thousand sentences take about
        30 MB with 384 dimensions. None keeps none. The vectors are the same in any case.

    See Also
    --------
    read_vectors : Reads word vectors that do not depend on context and cost next to nothing.
    sklearn_shag.BiaffineParser : Takes the transformer as `embeddings`.
    sklearn_shag.Tagger : Takes it as `embeddings` too.

    Notes
    -----
    The vector of a word is the mean of the vectors of its pieces, or zeros if the tokenizer makes
    no pieces of it. Sentences that are longer than the encoder can read are read in windows that
    overlap by half; a piece counts once for each window that contains it. Sentences with equal
    numbers of pieces are run together, so no padding is needed.

    References
    ----------
    Devlin, Chang, Lee and Toutanova (2019), BERT: Pre-training of deep bidirectional transformers
    for language understanding.
    Song, Tan, Qin, Lu and Liu (2020), MPNet: Masked and permuted pre-training for language
    understanding.

    Examples
    --------
    >>> from sklearn_shag import BiaffineParser
    >>> from sklearn_shag.features import TransformerVectors
    >>> BiaffineParser(tags="upos", embeddings=TransformerVectors("all-MiniLM-L6-v2"))
    BiaffineParser(embeddings=TransformerVectors(folder='all-MiniLM-L6-v2'),
                   tags='upos')
    """

    _parameter_constraints = {
        "folder": [str, PathLike],
        "layers": [None, list, tuple],
        "batch_size": COUNT,
        "n_jobs": N_JOBS,
        "memory": [None, str, HasMethods(["cache"])],
    }

    def __init__(
        self,
        folder: FilePath,
        *,
        layers: Sequence[int] | None = None,
        batch_size: int = 2048,
        n_jobs: int | None = None,
        memory: Any = None,
    ) -> None:
        self.folder = folder
        self.layers = layers
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.memory = memory

    def fit(self, X: Sentences | None = None, y: object = None) -> Self:
        """Check the parameters and the files.

        Parameters
        ----------
        X, y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        ValueError, OSError, ImportError
            As for :meth:`transform`.
        """
        self._load()
        return self

    def transform(self, X: Sentences) -> list[SingleArray]:
        """Compute the vectors of the words of sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, whose forms are read, or a sequence of words.

        Returns
        -------
        vectors : list of float32 ndarrays of shape (n_tokens_i, n_dimensions)
            An array for each sentence, with a row for each word.

        Raises
        ------
        ValueError
            If the folder holds another kind of model, or `layers` names layers it does not have.
        OSError
            If a file cannot be read.
        ImportError
            If the packages of the extra ``contextual`` are not installed.
        """
        encoder = self._load()
        encode = check_memory(self.memory).cache(
            _encode_sentences, ignore=["encoder", "forms", "batch_size", "n_jobs"]
        )
        files = (Path(expand_user(self.folder), name).stat() for name in FILES)
        known = [(each.st_size, each.st_mtime_ns) for each in files], encoder.chosen
        vectors = []
        for forms in in_chunks(_list_forms(X, allow_empty=True), ENCODED_CHUNK):
            key = hash_of((known, self.batch_size, forms))
            vectors += encode(key, encoder, forms, self.batch_size, self.n_jobs)
        return vectors

    def pieces_per_word(self, X: Sentences) -> float:
        """Compute into how many pieces the tokenizer cuts a word, in the mean.

        A language that the transformer has hardly seen is cut into many more pieces than one that
        it knows, and its vectors are of little use.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`transform`, at least one sentence.

        Returns
        -------
        n_pieces : float
            At least 0; white space, which has no pieces, counts as a word.

        Raises
        ------
        ValueError, OSError, ImportError
            As for :meth:`transform`; also if there is no sentence.

        Examples
        --------
        >>> from sklearn_shag.features import TransformerVectors
        >>> def compare(own, helpers, folder="all-MiniLM-L6-v2"):
        ...     return [TransformerVectors(folder).pieces_per_word(each) for each in (own, helpers)]
        """
        forms = _list_forms(X)
        encodings = self._load().tokenizer.encode_batch(forms, is_pretokenized=True)
        n_pieces = sum(word is not None for each in encodings for word in each.word_ids)
        return n_pieces / sum(map(len, forms))

    @validate_params({"n_components": COUNT, "min_count": COUNT})
    def to_table(
        self, sentences: Sentences, *, n_components: int = 32, min_count: int = 2
    ) -> tuple[list[str], NDArray[np.float16]]:
        """Make a table of vectors of words, so that parsing needs no transformer.

        The vector of a word is the mean of its vectors in context, reduced to the principal
        components of all of them. A network that gets the table as `embeddings` knows a part of
        what the transformer knows, and parses nearly as fast as without it.

        Parameters
        ----------
        sentences : sequence of length n_sentences
            As for :meth:`transform`: those to learn from, and as much raw text as there is.
        n_components : int, default=32
            Number of dimensions; all those of the transformer if it has fewer.
        min_count : int, default=2
            How often a word must occur; with little text, 1 is better.

        Returns
        -------
        words : list of str
            The words, the most frequent first.
        vectors : float16 ndarray of shape (n_words, n_dimensions)
            The vector of each word. Their mean, over all occurrences, is 0 in each dimension, and
            the variances of all dimensions have the mean 1.

        Raises
        ------
        ValueError, OSError, ImportError
            As for :meth:`transform`; also if no word occurs often enough.

        See Also
        --------
        sklearn_shag.features.read_vectors : Reads tables that were learned elsewhere.

        References
        ----------
        Bommasani, Davis and Cardie (2020), Interpreting pretrained contextualized representations
        via reductions to static embeddings.

        Examples
        --------
        >>> from sklearn_shag import BiaffineParser
        >>> def learn(trees, raw_sentences, transformer):
        ...     table = transformer.to_table([*trees, *raw_sentences])
        ...     return BiaffineParser(tags="upos", embeddings=table).fit(trees)
        """
        width = self._load().words.shape[1]
        forms = _list_forms(sentences)
        counts = Counter(chain.from_iterable(forms))
        words = [word for word, count in counts.most_common() if count >= min_count]
        if not words:
            raise ValueError(f"No word occurs min_count={min_count} times; give more sentences.")
        rows = {word: row for row, word in enumerate(words)}
        sums = np.zeros((len(words), width), dtype=np.float32)
        for part in in_chunks(forms, SOURCE_CHUNK):
            vectors = np.concatenate(self.transform(part))
            of_words = np.array([rows.get(word, -1) for word in chain.from_iterable(part)])
            known = np.flatnonzero(of_words >= 0)
            present, places = np.unique(of_words[known], return_inverse=True)
            shape, ones = (present.size, len(vectors)), np.ones(known.size, dtype=np.float32)
            sums[present] += csr_array((ones, (places, known)), shape) @ vectors
        weights = np.array([counts[word] for word in words])
        return words, _reduce(sums / weights[:, None], weights, n_components).astype(np.float16)

    def _load(self):
        self._validate_params()
        folder = Path(expand_user(self.folder))
        layers = None if self.layers is None else tuple(self.layers)
        for name in FILES:
            if not (folder / name).exists():
                raise FileNotFoundError(
                    f"{printable(str(folder))} has no {name}. A transformer is a folder with "
                    f"{', '.join(FILES)}."
                )
        # Paths and times, so that files that were replaced are read anew.
        return _load_encoder(folder, layers, *((folder / f).stat().st_mtime_ns for f in FILES))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags = InputTags(two_d_array=False, string=True)
        return tags


def _reduce(rows, weights, n_components):
    """Project weighted rows on their principal axes, the first axis first, with unit variance."""
    weights = weights / weights.sum()
    rows = rows - weights @ rows
    variances, axes = np.linalg.eigh(rows.T @ (weights[:, None] * rows))
    deviation = np.sqrt(variances[-n_components:].mean()) or 1.0
    return rows @ axes[:, : -n_components - 1 : -1] / deviation


def _list_forms(X, **options):
    return [
        compose_words(getattr(each, "forms", each)) for each in check_sentences(X, **options)[0]
    ]


def _encode_sentences(key, encoder, forms, batch_size, n_jobs):
    """Return the vectors of the words of each sentence; a memory keeps them by `key` alone."""
    pieces, words, groups = _cut_into_windows(encoder, forms)
    tasks = [
        (part, delayed(_encode_windows)(encoder, pieces[part]))
        for length, begins in groups.items()
        for part in _iter_batches(np.array(begins), length, batch_size)
    ]
    found = run_parallel((task for _, task in tasks), n_jobs)
    vectors = np.empty((pieces.size, encoder.words.shape[1]), dtype=np.float32)
    for (part, _), of_part in zip(tasks, found, strict=True):
        vectors[part] = of_part
    of_words = np.flatnonzero(words >= 0)
    shares = 1 / np.bincount(words[of_words])[words[of_words]]
    ends = list(accumulate(map(len, forms)))
    mean = csr_array((shares, (words[of_words], of_words)), shape=(ends[-1], pieces.size))
    return np.split(mean.astype(np.float32) @ vectors, ends[:-1])


def _cut_into_windows(encoder, forms):
    """Cut sentences into windows of pieces, which follow one another.

    Returns
    -------
    pieces : int ndarray of shape (n_pieces,)
    words : int ndarray of shape (n_pieces,)
        Index of the word of each piece, -1 if it belongs to no word.
    groups : dict of list of int
        By the length of windows, the first piece of each window.
    """
    pieces, words, groups, n_words, n_pieces = [], [], defaultdict(list), 0, 0
    encodings = encoder.tokenizer.encode_batch(forms, is_pretokenized=True)
    for encoding, sentence in zip(encodings, forms, strict=True):
        own = np.array([-1 if word is None else n_words + word for word in encoding.word_ids])
        n_words += len(sentence)
        for window in _list_windows(own, len(encoder.positions)):
            pieces.append(np.array(encoding.ids)[window])
            words.append(own[window])
            groups[window.size].append(n_pieces)
            n_pieces += window.size
    return np.concatenate(pieces), np.concatenate(words), groups


def _list_windows(words, longest):
    """List the pieces of each window; pieces of no word, at both ends, are in all windows."""
    places = np.arange(words.size)
    if words.size <= longest:
        return [places]
    of_words = np.flatnonzero(words >= 0)
    before, inner, after = np.split(places, [of_words[0], of_words[-1] + 1])
    room = longest - before.size - after.size
    begins = [*range(0, inner.size - room, room // 2), inner.size - room]
    return [np.concatenate([before, inner[k : k + room], after]) for k in begins]


def _iter_batches(begins, length, size):
    """Yield the indices of the pieces of windows of one length, (n_windows, length)."""
    n_windows = max(size // length, 1)
    for k in range(0, begins.size, n_windows):
        yield begins[k : k + n_windows, None] + np.arange(length)


def _encode_windows(encoder, pieces):
    """Encode windows of one length, (n_windows, length); return the mean of the chosen layers."""
    n_windows, length = pieces.shape
    x = encoder.words[pieces] + encoder.positions[:length]
    x = _normalize(x.reshape(pieces.size, -1), encoder.normalize, encoder.epsilon)
    total, distances = np.zeros_like(x), encoder.distances
    nearness = None if distances is None else distances[_number_distances(length, len(distances))]
    for k, layer in enumerate(encoder.layers, start=1):
        heads = _attend(_linear(x, layer.attend), n_windows, encoder.n_heads, nearness)
        x = _normalize(x + _linear(heads, layer.merge), layer.after_attention, encoder.epsilon)
        wide = _linear(x, layer.widen)
        wide *= 0.5 + 0.5 * erf(wide * np.float32(np.sqrt(0.5)))  # GELU
        x = _normalize(x + _linear(wide, layer.narrow), layer.after, encoder.epsilon)
        if k in encoder.chosen:
            total += x
    return (total / np.float32(len(encoder.chosen))).reshape(n_windows, length, -1)


def _number_distances(length, n_buckets):
    """Return the bucket of the distance from each piece to each other, (length, length).

    One half of the buckets are for pieces that do not follow, the other for those that do. In each,
    one half are for single distances, and the other are wider the farther the pieces are.
    """
    back = np.arange(length)[:, None] - np.arange(length)
    n_of_side, n_single, away = n_buckets // 2, n_buckets // 4, np.abs(back)
    share = np.log(np.maximum(away, 1) / n_single) / np.log(FARTHEST / n_single)
    wide = np.minimum(n_single + (share * (n_of_side - n_single)).astype(int), n_of_side - 1)
    return np.where(away < n_single, away, wide) + n_of_side * (back < 0)


def _attend(queries_keys_values, n_windows, n_heads, nearness=None):
    """Return the mean of values in the window of each piece, weighted by queries and keys.

    If `nearness` is given, (length, length, n_heads), it is added to the logarithms of weights.
    """
    n_rows, width = len(queries_keys_values), queries_keys_values.shape[1] // 3
    shape = n_windows, n_rows // n_windows, 3, n_heads, width // n_heads
    queries, keys, values = queries_keys_values.reshape(shape).transpose(2, 0, 3, 1, 4)
    weights = queries @ keys.swapaxes(2, 3)
    weights /= np.float32(np.sqrt(width // n_heads))
    if nearness is not None:
        weights += nearness.transpose(2, 0, 1)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ values).transpose(0, 2, 1, 3).reshape(n_rows, width)


def _linear(x, layer):
    weight, bias = layer
    y = x @ weight
    y += bias
    return y


def _normalize(x, layer, epsilon):
    """Normalise rows to mean 0 and variance 1, then scale and shift them, in place."""
    weight, bias = layer
    x -= x.mean(axis=1, keepdims=True)
    variances = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    x *= weight / np.sqrt(variances + np.float32(epsilon))[:, None]
    x += bias
    return x


@lru_cache(maxsize=1)
def _load_encoder(folder, layers, *_modified):
    """Load the encoder in a folder, up to the last chosen layer."""
    try:
        import safetensors
        import tokenizers
    except ImportError:
        raise ImportError(
            "TransformerVectors needs the packages tokenizers and safetensors: "
            "pip install sklearn_shag[contextual]"
        ) from None
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        chosen = _choose_layers(folder, config, layers)
        # Tokenizer.from_file takes only paths in UTF-8.
        described = (folder / "tokenizer.json").read_text(encoding="utf-8")
        tokenizer = tokenizers.Tokenizer.from_str(described)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        with safetensors.safe_open(str(folder / "model.safetensors"), "numpy") as file:
            return _read_encoder(file, tokenizer, config, chosen)
    except (OSError, ValueError):
        raise
    except Exception as error:  # from both libraries, or a missing setting
        raise ValueError(
            f"{printable(str(folder))} holds no encoder that can be read: {error!r}"
        ) from None


def _choose_layers(folder, config, layers):
    """Return the layers to be averaged; raise a ValueError for other types of models."""
    kind, activation = config["model_type"], config["hidden_act"]
    positions = config.get("position_embedding_type", "absolute")
    if kind not in MODEL_TYPES or activation != "gelu" or positions != "absolute":
        raise ValueError(
            f"{printable(str(folder))} holds a model of the type {shorten(kind)} with the "
            f"activation {shorten(activation)} and {shorten(positions)} positions. Only encoders "
            f"of the types {', '.join(MODEL_TYPES)} with gelu and absolute positions can be run; "
            f"for others, pass as embeddings a function that calls their own library."
        )
    n_layers = config["num_hidden_layers"]
    middle = range(max(n_layers // 3, 1), max(2 * n_layers // 3, 1) + 1)
    chosen = middle if layers is None else layers
    if not chosen or not all(isinstance(k, Integral) and 1 <= k <= n_layers for k in chosen):
        raise ValueError(
            f"layers must name some of the {n_layers} layers of {printable(str(folder))}, from 1 "
            f"on, got {shorten(layers)}."
        )
    return tuple(map(int, chosen))


def _read_encoder(file, tokenizer, config, chosen):
    """Read the weights of an encoder."""
    (first,) = (name for name in file.keys() if name.endswith(_FIRST_TABLE))  # noqa: SIM118
    prefix = first.removesuffix(_FIRST_TABLE)

    def take(name):
        return file.get_tensor(prefix + name).astype(np.float32)

    def linear(*names):
        weights = [take(f"{name}.weight").T for name in names]
        biases = [take(f"{name}.bias") for name in names]
        return np.ascontiguousarray(np.hstack(weights)), np.concatenate(biases)

    def normal(name):
        return take(f"{name}.weight"), take(f"{name}.bias")

    is_mpnet = config["model_type"] == "mpnet"
    attend, merge, after_attention = OF_MPNET if is_mpnet else OF_BERT
    layers = [
        TransformerLayer(
            linear(*(f"{name}.attention.{part}" for part in attend)),
            linear(f"{name}.attention.{merge}"),
            normal(f"{name}.attention.{after_attention}"),
            linear(f"{name}.intermediate.dense"),
            linear(f"{name}.output.dense"),
            normal(f"{name}.output.LayerNorm"),
        )
        for name in (f"encoder.layer.{k}" for k in range(max(chosen)))
    ]
    before = config["pad_token_id"] + 1 if MODEL_TYPES[config["model_type"]] else 0
    positions = take("embeddings.position_embeddings.weight")[before:]
    if not is_mpnet:
        positions += take("embeddings.token_type_embeddings.weight")[0]
    return TransformerEncoder(
        tokenizer,
        take(_FIRST_TABLE),
        positions,
        normal("embeddings.LayerNorm"),
        layers,
        chosen,
        config["num_attention_heads"],
        config["layer_norm_eps"],
        take("encoder.relative_attention_bias.weight") if is_mpnet else None,
    )
