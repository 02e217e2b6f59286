"""Treebanks that come with the package."""

from collections.abc import Sequence
from importlib import resources
from typing import Literal, overload

from sklearn.utils import Bunch

from sklearn_shag.treebank import DependencyTree, read_conllu
from sklearn_shag.utils._typing import IndexArray


class BundledTreebank(Bunch):
    """What :func:`load_english` returns."""

    data: list[DependencyTree]
    target: list[IndexArray]
    DESCR: str
    filename: str


@overload
def load_english(
    *, symbols: str | Sequence[str] = "upos", return_X_y: Literal[False] = False
) -> BundledTreebank: ...
@overload
def load_english(
    *, symbols: str | Sequence[str] = "upos", return_X_y: Literal[True]
) -> tuple[list[DependencyTree], list[IndexArray]]: ...
def load_english(
    *, symbols: str | Sequence[str] = "upos", return_X_y: bool = False
) -> BundledTreebank | tuple[list[DependencyTree], list[IndexArray]]:
    """Load a small English treebank, written and annotated for this package.

    ==============  ================================
    Sentences                                    387
    Tokens                                      4802
    Annotation      UD v2: UPOS, XPOS, feats, heads
    Licence         BSD-3-Clause
    ==============  ================================

    Parameters
    ----------
    symbols : str or sequence of str, default="upos"
        The columns that become the symbols of the trees, as for
        :func:`sklearn_shag.treebank.read_conllu`.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    treebank : sklearn.utils.Bunch
        `data`, the trees (list of DependencyTree); `target`, their heads (list of int ndarrays
        of shape (n_tokens_i,)); `DESCR`, a description; `filename`, the path of the CoNLL-U file.
    (data, target) : tuple
        If `return_X_y` is True.

    Raises
    ------
    ValueError
        If `symbols` names an unknown column.

    See Also
    --------
    fetch_treebank : The treebanks of Universal Dependencies.
    make_treebank : Trees of a known grammar.

    Examples
    --------
    >>> from sklearn_shag.datasets import load_english
    >>> tree = load_english().data[0]
    >>> tree
    DependencyTree('The tide comes in twice a day .', heads=[2, 3, 0, 3, 3, 7, 5, 3])
    >>> print(tree)
        ,-- The    DET    det
    ,-- tide       NOUN   nsubj
    comes          VERB   root
    |-- in         ADP    compound:prt
    |-- twice      ADV    advmod
    |   |   ,-- a  DET    det
    |   `-- day    NOUN   obl:tmod
    `-- .          PUNCT  punct
    """
    folder = resources.files("sklearn_shag.datasets")
    with resources.as_file(folder / "data" / "english.conllu") as path:
        trees = read_conllu(path, symbols=symbols)
    heads = [tree.heads for tree in trees]
    if return_X_y:
        return trees, heads
    description = (folder / "descr" / "english.rst").read_text(encoding="utf-8")
    return BundledTreebank(data=trees, target=heads, DESCR=description, filename=str(path))
