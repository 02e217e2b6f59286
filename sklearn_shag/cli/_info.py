"""The command `info`, and what `train` knows of treebanks: their parts, names and licences."""

import hashlib
import os
import re
import time
from pathlib import Path

from sklearn_shag import __version__
from sklearn_shag.cli._evaluate import print_json
from sklearn_shag.cli._models import choose_verbosity
from sklearn_shag.datasets import PARSERS, TREEBANK_NAME, find_files, find_treebank, open_parser
from sklearn_shag.model_files import load_model, read_card
from sklearn_shag.treebank import list_sources
from sklearn_shag.utils._estimators import find_splitter
from sklearn_shag.utils._io import STANDARD, expand_user, read_bytes
from sklearn_shag.utils._messages import printable

RELEASE = re.compile(r"ud-treebanks-v(\d+\.\d+)/[^/]+$|-r(\d+\.\d+)$")  # ends of folders' paths
LICENCE = re.compile(r"^License:\s*(.+)$", re.MULTILINE)  # in the README of a treebank
LONGEST = 200  # of what is kept of a licence


def list_parts(name):
    """List the files to learn from that a FILE stands for, and the test set of a named treebank.

    A treebank of Universal Dependencies is named if no file or folder has that name. It is taken
    from the folder of downloads, and downloaded if it is not there.
    """
    if not re.fullmatch(TREEBANK_NAME, name) or os.path.exists(name):
        return list_sources(name), []
    folder = find_treebank(name, progressbar=bool(choose_verbosity()))
    parts = [[*map(str, find_files(folder, f"-ud-{split}"))] for split in ("train", "test")]
    if not parts[0]:
        raise ValueError(f"{name} has no training set; name the files to learn from in {folder}.")
    return parts


def make_card(files, options, **known):
    """Make the card of a model learned from files, of all that is known of them.

    Parameters
    ----------
    files : list of str
    options : argparse.Namespace
        With `note`, `continue_` and `teacher`.
    **known : object
        What else the card says.

    Returns
    -------
    card : dict
    """
    treebanks = {each["name"]: each for each in map(_describe_treebank, files)}
    today = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    card = {"treebanks": [*treebanks.values()]} | known
    card |= {"date": time.strftime("%Y-%m-%d", today), "version": __version__}
    if options.note is not None:
        card["note"] = options.note
    for name, path in {"continues": options.continue_, "teacher": options.teacher}.items():
        if path not in (None, STANDARD):
            card[name] = read_card(path, max_bytes=None)
    return card


def _describe_treebank(file):
    """Describe the treebank of a file, by its folder if that is one of Universal Dependencies."""
    path = Path(expand_user(file)).resolve()
    folder = path.parent
    named = re.match(TREEBANK_NAME, folder.name)
    if file == STANDARD or not named:
        return {"name": "standard input" if file == STANDARD else path.name.partition(".")[0]}
    about = {"name": re.sub(r"-(r\d+\.\d+|master)$", "", folder.name)}
    if release := RELEASE.search(folder.as_posix()):
        about["release"] = release[1] or release[2]
    texts = [
        each.read_text(encoding="utf-8", errors="replace").strip()
        for name in ("README*", "LICENSE*")
        for each in sorted(folder.glob(name))
    ]
    found = [match[1] for match in map(LICENCE.search, texts) if match]
    found += [text.partition("\n\n")[0] for text in texts[-1:]]  # its first paragraph
    if found:
        about["licence"] = printable(" ".join(found[0].split()), LONGEST)
    return about


def info(options):
    """Print what a model is, and what is known of its making.

    Parameters
    ----------
    options : argparse.Namespace
        With `model` and `json`.

    Raises
    ------
    ValueError
        If the file is not a saved model, or is standard input.
    """
    if options.model == STANDARD:
        raise ValueError("The command info reads a model more than once; name a file.")
    if options.model in PARSERS and not os.path.exists(options.model):
        _, _, licence, card = PARSERS[options.model]
        with open_parser(options.model) as path:
            _print_file(path, {"licence": licence} | card, options.json)
    else:
        _print_file(options.model, {}, options.json)


def _print_file(path, known, as_json):
    data, model = read_bytes(path), load_model(path)
    about = {
        "model": " ".join(str(model).split()),
        "splits text": "no" if find_splitter(model) is None else "yes",
        **known,
        **read_card(path),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    if as_json:
        print_json(about)
        return
    for name, value in about.items():
        for each in value if isinstance(value, list) else [value]:
            print(f"{printable(name, 50):<14}{printable(_show(each))}")
    if "treebanks" not in about:
        print("The file does not say what the model was learned from.")


def _show(value):
    """Write a value of a card on a line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_show(each)}" for name, each in value.items())
    return "; ".join(map(_show, value)) if isinstance(value, list) else str(value)
