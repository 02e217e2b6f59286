"""Tiny random encoders of the kind of BERT, and what they say, one sentence at a time."""

import json
from itertools import chain, pairwise

import numpy as np
from scipy.special import erf, softmax

WIDTH, N_HEADS, N_LAYERS, INNER, LONGEST = 12, 3, 4, 20, 16
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
# What BERT and MPNet call the same parts.
NAMES = {
    f"attention.self.{name}": f"attention.attn.{name[0]}" for name in ("query", "key", "value")
}
NAMES |= {"attention.output.dense": "attention.attn.o", "attention.output.Layer": "attention.Layer"}
TYPES, DISTANCES = (
    "embeddings.token_type_embeddings.weight",
    "encoder.relative_attention_bias.weight",
)
# Of 16 buckets of distances in pieces, half of them for what follows: 0 to 3 have their own, and
# each other one ends where the distance has grown by the fourth root of 128 / 4.
BUCKETS = [0, 1, 2, 3, *[4] * 6, *[5] * 6]


def write_encoder(folder, words, *, kind="bert", seed=0, **config):
    """Write the three files; words are split into at most their two halves."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = sorted({piece for word in words for piece in split(word)})
    vocabulary = {piece: k for k, piece in enumerate(SPECIAL + pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Strip()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [(name, vocabulary[name]) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.enable_truncation(5)  # as published ones have it, to be switched off
    tokenizer.enable_padding()
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    described = {
        "model_type": kind,
        "hidden_act": "gelu",
        "num_hidden_layers": N_LAYERS,
        "num_attention_heads": N_HEADS,
        "layer_norm_eps": 1e-6,
        "pad_token_id": 0,
        **config,
    }
    (folder / "config.json").write_text(json.dumps(described))
    weights = random_weights(len(vocabulary), np.random.default_rng(seed))
    if kind == "mpnet":
        del weights[TYPES]
        weights = {rename(name, NAMES.items()): array for name, array in weights.items()}
        weights[DISTANCES] = np.random.default_rng(seed).normal(size=(16, N_HEADS))
    prefix = "" if kind == "bert" else f"{kind}."
    save_file(
        {prefix + name: array for name, array in weights.items()}, folder / "model.safetensors"
    )
    return folder


def rename(name, pairs):
    for old, new in pairs:
        name = name.replace(old, new)
    return name


def split(word):
    half = len(word) // 2
    return [word] if half < 2 else [word[:half], "##" + word[half:]]


def longest_pieces(word, vocabulary):
    """The longest piece first, and so on."""
    pieces, begin = [], 0
    while begin < len(word):
        ends = range(len(word), begin, -1)
        found = (("##" if begin else "") + word[begin:end] for end in ends)
        piece = next(filter(vocabulary.__contains__, found), None)
        if piece is None:
            return ["[UNK]"]
        pieces.append(piece)
        begin += len(piece.removeprefix("##"))
    return pieces


def random_weights(n_pieces, rng):
    shapes = {
        "embeddings.word_embeddings.weight": (n_pieces, WIDTH),
        "embeddings.position_embeddings.weight": (LONGEST, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
    }
    for k in range(N_LAYERS):
        name = f"encoder.layer.{k}"
        for part in ("query", "key", "value"):
            shapes[f"{name}.attention.self.{part}.weight"] = (WIDTH, WIDTH)
        shapes[f"{name}.attention.output.dense.weight"] = (WIDTH, WIDTH)
        shapes[f"{name}.attention.output.LayerNorm.weight"] = (WIDTH,)
        shapes[f"{name}.intermediate.dense.weight"] = (INNER, WIDTH)
        shapes[f"{name}.output.dense.weight"] = (WIDTH, INNER)
        shapes[f"{name}.output.LayerNorm.weight"] = (WIDTH,)
    biases = {
        name.replace("weight", "bias"): shape[:1]
        for name, shape in shapes.items()
        if "_embeddings" not in name
    }
    return {
        name: rng.normal(0, 0.5, shape).astype(np.float32)
        for name, shape in (shapes | biases).items()
    }


def expected_vectors(folder, words, layers, first_position=0):
    """Of one sentence alone, in double precision, as the papers have it.

    Words are split as above, and not by a library.
    """
    from safetensors.numpy import load_file

    loaded = load_file(folder / "model.safetensors").items()
    pairs = [("roberta.", ""), ("mpnet.", ""), *((new, old) for old, new in NAMES.items())]
    weights = {rename(name, pairs): array.astype(float) for name, array in loaded}
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    of_words = [longest_pieces(word, vocabulary) for word in words]
    pieces = ["[CLS]", *chain(*of_words), "[SEP]"]
    x = weights["embeddings.word_embeddings.weight"][[vocabulary[piece] for piece in pieces]]
    x += weights["embeddings.position_embeddings.weight"][first_position:][: len(pieces)]
    x += weights.get(TYPES, np.zeros((1, WIDTH)))[0]
    x = _norm(x, weights, "embeddings.LayerNorm")
    total = np.zeros_like(x)
    for number in range(N_LAYERS):
        x = _layer(x, weights, f"encoder.layer.{number}")
        total += x * (number + 1 in layers) / len(layers)
    ends = np.cumsum([1, *map(len, of_words)])
    return np.array([total[begin:end].mean(axis=0) for begin, end in pairwise(ends)])


def _layer(x, weights, name):
    of_heads = [
        _apply(x, weights, f"{name}.attention.self.{part}").reshape(len(x), N_HEADS, -1)
        for part in ("query", "key", "value")
    ]
    query, key, value = np.swapaxes(of_heads, 1, 2)
    logits = query @ np.swapaxes(key, 1, 2) / np.sqrt(WIDTH / N_HEADS)
    if DISTANCES in weights:
        places, others = np.indices((len(x), len(x)))
        buckets = np.array(BUCKETS)[abs(places - others)] + 8 * (others > places)
        logits += np.moveaxis(weights[DISTANCES][buckets], 2, 0)
    mixed = np.hstack(softmax(logits, axis=2) @ value)
    x = x + _apply(mixed, weights, f"{name}.attention.output.dense")
    x = _norm(x, weights, f"{name}.attention.output.LayerNorm")
    wide = _apply(x, weights, f"{name}.intermediate.dense")
    wide *= (1 + erf(wide / np.sqrt(2))) / 2
    x = x + _apply(wide, weights, f"{name}.output.dense")
    return _norm(x, weights, f"{name}.output.LayerNorm")


def _apply(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(x, weights, name):
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + 1e-6)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]
