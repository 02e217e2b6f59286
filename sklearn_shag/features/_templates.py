"""Templates of features, in a readable table and as arrays for kernels."""

import re
from itertools import product
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import AFFIXES, TAGS, check_name
from sklearn_shag.utils._arrays import is_collection
from sklearn_shag.utils._messages import shorten

BIAS = "bias"
HEAD, MODIFIER, BETWEEN = range(3)
# The column "tag" stands for this one if there are no tags: it adds 7 points of attachment.
INSTEAD_OF_TAGS = "suffix.3"
_SIDES = {"h": HEAD, "m": MODIFIER, "between": BETWEEN}
_ATOM = re.compile(r"(h|m|between)([+-]\d{1,9})?\.(\S+)")

# Tags of head, modifier and neighbours as in McDonald, Crammer and Pereira (2005), then words.
DEFAULT_TEMPLATES = (
    BIAS,
    "h.tag",
    "m.tag",
    "h.tag m.tag",
    "h.tag m.tag h-1.tag",
    "h.tag m.tag h+1.tag",
    "h.tag m.tag m-1.tag",
    "h.tag m.tag m+1.tag",
    "h.tag m.tag h-1.tag m-1.tag",
    "h.tag m.tag h+1.tag m-1.tag",
    "h.tag m.tag h-1.tag m+1.tag",
    "h.tag m.tag h+1.tag m+1.tag",
    "h.tag m.tag m-1.tag m+1.tag",
    "h.tag m.tag h-1.tag h+1.tag",
    "h.tag m.tag h-2.tag h-1.tag",
    "h.tag m.tag h+1.tag h+2.tag",
    "h.tag m.tag m-2.tag m-1.tag",
    "h.tag m.tag m+1.tag m+2.tag",
    "h.xpos",
    "m.xpos",
    "h.xpos m.xpos",
    "h.tag m.xpos",
    "h.xpos m.tag",
    "h.xpos m.xpos h-1.xpos",
    "h.xpos m.xpos h+1.xpos",
    "h.xpos m.xpos m-1.xpos",
    "h.xpos m.xpos m+1.xpos",
    "h.tag h.feats m.tag m.feats",
    "h.tag h.feats m.tag",
    "h.tag m.tag m.feats",
    "h.form",
    "m.form",
    "h.tag m.form",
    "h.form m.tag m.feats",
    "h.tag m.lemma",
    "h.lemma m.tag",
    "h.lemma m.lemma",
    "h.tag h.feats m.lemma",
    "h.suffix",
    "m.suffix",
    "h.tag m.suffix",
    "h.suffix m.tag",
    "h.suffix m.suffix",
    "h.shape m.shape",
)


class Templates(NamedTuple):
    """Templates as kernels take them.

    Attributes
    ----------
    texts : tuple of str
        Templates with values between head and modifier come last.
    atoms : int ndarray of shape (n_atoms, 4)
        For each value of each template: the number of the template, the side of the arc, the offset
        to the right in tokens, and the column.
    n_of_arcs : int
        Number of templates without values between head and modifier.
    """

    texts: tuple
    atoms: np.ndarray
    n_of_arcs: int


def compile_templates(templates, names):
    """Translate templates for kernels; leave out templates with columns that are not read.

    Parameters
    ----------
    templates : sequence of str
    names : tuple of str
        The columns that a parser reads. In templates "tag" is the first of symbol, upos and xpos
        among them, and "prefix" and "suffix" stand for each length in turn.

    Returns
    -------
    templates : Templates

    Raises
    ------
    TypeError, ValueError
        If a template is not well formed, or none is left.
    """
    if not is_collection(templates) or not all(isinstance(text, str) for text in templates):
        raise TypeError(
            f"templates must be a sequence of strings such as 'h.tag m.tag', got "
            f"{shorten(templates)}."
        )
    tag = next((name for name in (*TAGS, INSTEAD_OF_TAGS) if name in names), "tag")
    compiled = {}
    for text in templates:
        atoms = _parse_template(text)
        for chosen in _choose_affixes(atoms, names):
            columns = [{"tag": tag, **chosen}.get(column, column) for _, _, column in atoms]
            if all(column in names for column in columns):
                places = [
                    (side, offset, names.index(column))
                    for (side, offset, _), column in zip(atoms, columns, strict=True)
                ]
                shown = " ".join(_show_atom(*place, names) for place in places) or BIAS
                compiled[shown] = places
    if not compiled:
        raise ValueError(
            f"No template is left: none uses only the available columns, {', '.join(names)}. Give "
            f"other templates or columns."
        )
    between = {text for text in compiled if any(side == BETWEEN for side, *_ in compiled[text])}
    texts = sorted(compiled, key=between.__contains__)
    atoms = [(number, *place) for number, text in enumerate(texts) for place in compiled[text]]
    return Templates(
        tuple(texts), np.array(atoms, dtype=np.int64).reshape(-1, 4), len(texts) - len(between)
    )


def _choose_affixes(atoms, names):
    """List all choices of columns for the affixes without a length in a template."""
    kinds = [kind for kind in AFFIXES if any(column == kind for _, _, column in atoms)]
    lengths = ([name for name in names if name.partition(".")[0] == kind] for kind in kinds)
    return [dict(zip(kinds, chosen, strict=True)) for chosen in product(*lengths)]


def _parse_template(text):
    """List side, offset and column of the atoms of a template."""
    if text == BIAS:
        return []
    atoms = []
    for part in text.split():
        match = _ATOM.fullmatch(part)
        if match is None:
            raise ValueError(
                f"templates: {part!r} in {text!r} is no value of a token. Write h, m or between "
                f"for the head, the modifier or each token between them, then an offset for a "
                f"neighbour if it is not the token itself, then a column: 'h.tag', 'm-1.form'."
            )
        side, offset, column = match.groups()
        if column != "tag":
            check_name(column, "templates")
        if side == "between" and offset:
            raise ValueError(f"templates: {part!r} in {text!r}: between takes no offset.")
        atoms.append((_SIDES[side], int(offset or 0), column))
    if not atoms:
        raise ValueError(f"templates: an empty one. The template without values is {BIAS!r}.")
    return atoms


def _show_atom(side, offset, column, names):
    name = {number: name for name, number in _SIDES.items()}[side]
    return f"{name}{offset:+d}.{names[column]}" if offset else f"{name}.{names[column]}"
