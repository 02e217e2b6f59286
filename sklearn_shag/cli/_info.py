"""The command `info`; parts, names and licences of treebanks for the command `train`."""

import hashlib
import os
import re
import time
from pathlib import Path

from sklearn_shag import __version__
from sklearn_shag.cli._evaluate import print_json
from sklearn_shag.cli._models import choose_verbosity, find_model
from sklearn_shag.datasets import PARSERS, TREEBANK_NAME, find_files, find_treebank
from sklearn_shag.model_files import load_model, read_card
from sklearn_shag.treebank import list_sources
from sklearn_shag.utils._io import STANDARD, expand_user, read_bytes
from sklearn_shag.utils._messages import printable

RELEASE = re.compile(r"(?:ud-treebanks-v|UD_\w+-\w+-r)(\d+\.\d+)")  # in a folder's name
# Where licences are in the files of a treebank, the surest first: a line, and a first paragraph.
LICENCES = {"README*": r"(?m)^License:\s*(.+)$", "LICENSE*": r"(?s)(\S.*?)(?:\n\s*\n|\Z)"}


def list_parts(name):
    """List the files to learn from that a FILE stands for, and the test set of a named treebank.

    A treebank of Universal Dependencies is named if no file or folder has that name. It is taken
    from the folder of downloads, and downloaded if it is not there.
    """
    if not re.fullmatch(TREEBANK_NAME, name) or os.path.exists(name):
        return list_sources(name), []
    folder = find_treebank(name, progressbar=bool(choose_verbosity()))
    train, test = (find_files(folder, f"-ud-{split}") for split in ("train", "test"))
    if not train:
        raise ValueError(f"{name} has no training set; name files of {folder} to learn from.")
    return [*map(str, train)], test


def make_card(files, options, **known):
    """Make the card of a model that was learned from files.

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
    card = {
        "treebanks": [*treebanks.values()],
        **known,
        "version": __version__,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    for name, path in {"continues": options.continue_, "teacher": options.teacher}.items():
        if path not in (None, STANDARD):
            card[name] = read_card(path)
    return card if options.note is None else card | {"note": options.note}


def _describe_treebank(file):
    """Describe the treebank of a file, by its folder if that is one of Universal Dependencies."""
    folder = Path(expand_user(file)).resolve().parent
    named = re.match(TREEBANK_NAME, folder.name)
    if file == STANDARD or named is None:
        return {"name": os.path.basename(file)}
    about = {"name": named[0]}
    release = RELEASE.search(f"{folder.parent.name}/{folder.name}")
    if release is not None:
        about["release"] = release[1]
    for names, pattern in LICENCES.items():
        for place in sorted(folder.glob(names)):
            found = re.search(pattern, place.read_text(encoding="utf-8", errors="replace"))
            if found is not None:
                about.setdefault("licence", printable(" ".join(found[1].split()), 200))
    return about


def info(options):
    """Print what a model is and what is known of its making, as a JSON object.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`.
    """
    path = find_model(options.model)
    print_json(
        {
            "model": " ".join(str(load_model(path)).split()),
            **find_card(options.model),
            "sha256": hashlib.sha256(read_bytes(path)).hexdigest(),
        }
    )


def find_card(name):
    """Find the card of a model, given as for :func:`find_model`."""
    path = find_model(name)
    return (PARSERS[name].card if path != name else {}) | read_card(path)


def tell_languages(name):
    """Tell in a sentence the languages of the treebanks that a model learned from."""
    card = {} if name == STANDARD else find_card(name)
    found = re.findall(r"UD_(\w+?)-", str(card.get("treebanks")))
    languages = " and ".join(dict.fromkeys(found)).replace("_", " ")
    return f"It learned from {languages or 'a language that its file does not name'}"
