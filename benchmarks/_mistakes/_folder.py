"""A folder of files as users have them, good ones and others."""

import gzip
import json
import os
import shutil
import zipfile
from pathlib import Path

import joblib
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_shag import (
    AveragedParser,
    BiaffineParser,
    CRFParser,
    DeterministicSHAG,
    SpectralSHAG,
    save_model,
)
from sklearn_shag.service import make_app
from sklearn_shag.treebank import TokenFeature, write_conllu

N_TRAIN, N_TEST = 60, 10


class Folder:
    """A folder that can tell what has changed in it, and take it back."""

    def __init__(self, path):
        self.path = Path(path)
        paths = sorted(self.path.rglob("*"))
        self._contents = {path: None if path.is_dir() else path.read_bytes() for path in paths}
        self._snapshot = self._original = self._states()

    def take_snapshot(self):
        """Remember what is there now as what changes are told from."""
        self._snapshot = self._states()

    def changes(self):
        """List the files that were written, made or removed since the snapshot."""
        states = self._states()
        return [
            os.path.relpath(path, self.path)
            for path in sorted(states.keys() | self._snapshot.keys())
            if states.get(path) != self._snapshot.get(path)  # empty folders do not count
        ]

    def restore(self):
        """Bring everything back to how it was in the beginning: what was made or changed."""
        states = self._states()
        if states != self._original:
            others = dict(states.items() - self._original.items())
            for path in map(Path, sorted(others, reverse=True)):  # what is in a folder before it
                path.rmdir() if path.is_dir() else path.unlink()
            for path, content in self._contents.items():
                if not path.exists():
                    path.mkdir() if content is None else path.write_bytes(content)
            self._original = self._states()
        self._snapshot = self._original

    def _states(self):
        """Return what the system says of files: to read them takes longer than most mistakes."""
        states = {}
        for folder, folders, names in os.walk(self.path):
            states |= dict.fromkeys(os.path.join(folder, name) for name in folders)
            for name in names:
                path = os.path.join(folder, name)
                status = os.stat(path)
                states[path] = status.st_ino, status.st_size, status.st_mtime_ns
        return states


def fill(folder, trees):
    """Write the files that the mistakes speak of.

    Parameters
    ----------
    folder : Path
    trees : list of DependencyTree
    """
    train, test = trees[:N_TRAIN], trees[N_TRAIN : N_TRAIN + N_TEST]
    write_conllu(train, folder / "train.conllu")
    write_conllu(test, folder / "test.conllu")
    text = (folder / "train.conllu").read_text(encoding="utf-8")
    _write_columns(folder, text)
    _write_heads(folder, text)
    _write_other_formats(folder, text)
    _write_broken(folder, text)
    _write_models(folder, train)
    (folder / "treebank").mkdir()
    for name in ("train", "test"):
        shutil.copy(folder / f"{name}.conllu", folder / "treebank" / f"en-ud-{name}.conllu")
    (folder / "nothing").mkdir()
    (folder / "home").mkdir()
    shutil.copy(folder / "test.conllu", folder / "home" / "test.conllu")


def _change_column(text, column, change):
    """Replace the values of a column (1 to 10) by what `change` makes of them."""
    lines = []
    for line in text.split("\n"):
        columns = line.split("\t")
        if len(columns) == 10:
            columns[column - 1] = change(columns)
        lines.append("\t".join(columns))
    return "\n".join(lines)


def _write(folder, files, encoding="utf-8"):
    for name, text in files.items():
        (folder / name).write_bytes(text.encode(encoding))


def _write_columns(folder, text):
    """Tags that are missing, or not those that a model knows."""
    blank = {column: _change_column(text, column, lambda _: "_") for column in (4, 5)}
    _write(
        folder,
        {
            "untagged.conllu": _change_column(blank[4], 5, lambda _: "_"),
            "no_upos.conllu": blank[4],
            "no_xpos.conllu": blank[5],
            "half_tagged.conllu": _change_column(
                text, 4, lambda columns: "_" if int(columns[0]) % 2 else columns[3]
            ),
            "lower_case.conllu": _change_column(text, 4, lambda columns: columns[3].lower()),
            "stanford_tags.conllu": _change_column(text, 4, lambda columns: columns[4]),
            "french_xpos.conllu": _change_column(text, 5, lambda columns: f"FR{columns[3]}"),
        },
    )


def _write_heads(folder, text):
    """Heads that are missing or not a tree."""
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    first, second, rest = plain.split("\n\n", maxsplit=2)
    changes = {
        "no_heads.conllu": lambda columns: "_",
        "partial.conllu": lambda columns: "_" if columns[0] == "1" else columns[6],
        "zero_based.conllu": lambda columns: str(int(columns[6]) - 1),
        "one_off.conllu": lambda columns: str(int(columns[6]) + 1),
        "cycle.conllu": lambda columns: {"1": "2", "2": "1"}.get(columns[0], columns[6]),
        "self_root.conllu": lambda columns: columns[0] if columns[6] == "0" else columns[6],
        "words_as_heads.conllu": lambda columns: columns[1],
        "float_heads.conllu": lambda columns: f"{columns[6]}.0",
    }
    _write(folder, {name: _change_column(plain, 7, change) for name, change in changes.items()})
    _write(
        folder,
        {
            "some_heads.conllu": "\n\n".join(
                [_change_column(first, 7, lambda _: "_"), second, rest]
            ),
            "glued.conllu": plain.replace("\n\n", "\n"),
            "ids_from_0.conllu": _change_column(plain, 1, lambda columns: str(int(columns[0]) - 1)),
            "other_order.conllu": "\n\n".join([second, first, rest]),
            "other_words.conllu": plain.replace("mussels", "muscles", 1),
            "fewer.conllu": f"{first}\n\n{second}\n\n",
            "predicted.conllu": _change_column(
                plain, 7, lambda columns: "0" if columns[0] == "1" else "1"
            ),
        },
    )


def _write_other_formats(folder, text):
    """What people have that is not CoNLL-U."""
    words = [line.split("\t") for line in text.split("\n") if line and line[0] != "#"]
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    # CoNLL-2009 has lemma, tag, features, head and relation twice, and predicates.
    wide = [
        "\t".join([*w[:2], *np.repeat(np.array(w)[[2, 4, 5, 6, 7]], 2), "_", "_"]) for w in words
    ]
    _write(
        folder,
        {
            "empty.conllu": "",
            "blank.conllu": "\n\n  \n",
            "comments.conllu": "# text = nothing but this\n\n",
            "plain.txt": "The tide comes in twice a day.\nWhere did you buy these mussels?\n",
            "tagged.txt": "The_DT tide_NN comes_VBZ in_RP twice_RB a_DT day_NN ._.\n",
            "penn.mrg": "( (S (NP-SBJ (DT The) (NN tide)) (VP (VBZ comes)) (. .)) )\n",
            "conll2009.txt": "\n".join(wide) + "\n\n",
            "conllx.conll": plain,
            "conll2003.txt": "".join(f"{w[1]} {w[4]} O O\n" for w in words[:8]) + "\n",
            "three_columns.tsv": "".join(f"{w[1]}\t{w[3]}\t{w[6]}\n" for w in words[:8]) + "\n",
            "spaces.conllu": plain.replace("\t", "    "),
            "table.csv": "id,form,upos,head\n1,The,DET,2\n2,tide,NOUN,3\n",
            "old_mac.conllu": plain.replace("\n", "\r"),
            "spacy.json": json.dumps([{"id": 0, "paragraphs": [{"raw": "The tide"}]}]),
            "page.conllu": "<!DOCTYPE html>\n<html><body>Not found</body></html>\n",
            "lfs.conllu": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
            "windows.conllu": "\ufeff" + text.replace("\n", "\r\n"),
            "no_last_line_end.conllu": text.rstrip("\n"),
        },
    )
    accented = plain.replace("tide", "marée")
    (folder / "latin1.conllu").write_bytes(accented.encode("latin-1"))
    (folder / "utf16.conllu").write_bytes(accented.encode("utf-16"))


def _write_broken(folder, text):
    """Files that are compressed in a way that their name does not tell, or damaged."""
    compressed = gzip.compress(text.encode())
    contents = {
        "packed.conllu.gz": compressed,
        "packed.conllu": compressed,
        "not_packed.conllu.gz": text.encode(),
        "truncated.conllu.gz": compressed[: len(compressed) // 2],
        "binary.conllu": bytes(range(256)) * 4,
        "missing_column.conllu": text.replace("\tDET\t", "\t\t", 1).encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / "treebank.zip", "w") as archive:
        archive.writestr("train.conllu", text)


def _write_models(folder, trees):
    members = [
        ("network", BiaffineParser(hidden_layer_sizes=[8], max_iter=1)),
        ("linear", CRFParser(n_features=2**12, max_iter=1)),
    ]
    models = {
        # What trains it compiles its kernels here: the command would say so, once.
        "ensemble.npz": AveragedParser(members),
        "model.npz": make_pipeline(TokenFeature(), SpectralSHAG(2)),
        "xpos.npz": make_pipeline(TokenFeature("xpos"), DeterministicSHAG()),
        "both.npz": make_pipeline(TokenFeature("upos", "xpos"), DeterministicSHAG()),
        "rare.npz": make_pipeline(TokenFeature("xpos", min_count=5), DeterministicSHAG()),
        "feature.npz": TokenFeature(),
        "estimator.npz": DeterministicSHAG(),
    }
    for name, model in models.items():
        save_model(model.fit(trees), folder / name)
    make_app({"ensemble": models["ensemble.npz"]})  # compiles what serve and annotate would
    joblib.dump(models["estimator.npz"], folder / "model.pkl")
    np.savez(folder / "arrays.npz", A=np.zeros(3))
    content = (folder / "model.npz").read_bytes()
    (folder / "truncated.npz").write_bytes(content[: len(content) // 2])
