"""The formats of sentences in requests, and of trees in answers."""

import json
import re
from functools import partial

from sklearn_shag.treebank import CONLLU, HORIZONTAL, VERTICAL, describe_tree

write_json = partial(json.dumps, ensure_ascii=False)
INPUTS = {"conllu": CONLLU, "horizontal": HORIZONTAL, "vertical": VERTICAL}
_OF_TOKENS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "probability")
# What splitters write into MISC of the white space around tokens, but for SpaceAfter=No.
_SPACES = re.compile(
    r"(?<=\t)(SpaceAfter=No\|)?(?:Spaces\w+=[^|\t\n]*\|)+(?=TokenRange=\d+:\d+$)",
    flags=re.MULTILINE,
)


def normalize_spaces(tree):
    """Drop white space from MISC of a tree that a splitter made, but for SpaceAfter=No."""
    return tree._with_source(_SPACES.sub(r"\1", tree._written()))


def _write_object(name, sentences, text):
    return write_json({"id": name, "sentences": sentences, "text": text}) + "\n"


# Functions of a tree and a dict of its probabilities.
OUTPUTS = {
    "conllu": lambda tree, _: tree.to_conllu(),
    "horizontal": lambda tree, _: " ".join(f.replace(" ", "\xa0") for f in tree.forms) + "\n",
    "vertical": lambda tree, _: "\n".join([*tree.forms, "", ""]),
    "plaintext": None,  # of all trees together, in which the first may tell how the text ends
    "jsonl": lambda tree, proba: _write_object(
        tree.sent_id, [describe_tree(tree, proba)], tree.text
    ),
}


def write_document(rows, text):
    """Write the trees of a text, with their probabilities, as the line of JSON of a document.

    The text is written as it is read: without a byte order mark, and with "\\n" as line end.
    """
    sentences = [{"sent_id": tree.sent_id, **describe_tree(tree, proba)} for tree, proba in rows]
    return _write_object(None, sentences, text.removeprefix("\ufeff").replace("\r\n", "\n"))


def list_best_trees(pairs):
    """Describe the best trees of a sentence for JSON, the best first.

    Parameters
    ----------
    pairs : list of pairs of a DependencyTree and a dict of its probabilities

    Returns
    -------
    content : dict
    """
    trees = []
    for tree, probabilities in pairs:
        content = tree.to_dict()
        content |= {"id": range(1, len(tree) + 1), "probability": probabilities["head_proba"]}
        rows = zip(*(content[name] for name in _OF_TOKENS), strict=True)
        tokens = [dict(zip(_OF_TOKENS, row, strict=True)) for row in rows]
        trees.append({"tokens": tokens, "score": probabilities["score"]})
    return {
        "text": content["text"],
        "multiword_tokens": content["multiword_tokens"],
        "trees": trees,
    }
