"""Treebanks that come with the package, or are drawn from random grammars."""

from collections.abc import Sequence
from importlib import resources
from numbers import Integral, Real
from typing import Literal, overload

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import Bunch, check_random_state

from sklearn_shag.encoding import Alphabet, decode_trees
from sklearn_shag.operators import Operators, complete_grammar, expected_visits, sample_derivations
from sklearn_shag.treebank import DependencyTree, read_conllu
from sklearn_shag.utils._param_validation import Interval, validate_params
from sklearn_shag.utils._typing import IndexArray, RandomSeed


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


@overload
def make_treebank(
    n_sentences: int = 1000,
    n_states: int = 3,
    *,
    n_symbols: int = 8,
    mean_length: float = 10.0,
    max_length: int = 60,
    random_state: RandomSeed = None,
    return_operators: Literal[False] = False,
) -> list[DependencyTree]: ...
@overload
def make_treebank(
    n_sentences: int = 1000,
    n_states: int = 3,
    *,
    n_symbols: int = 8,
    mean_length: float = 10.0,
    max_length: int = 60,
    random_state: RandomSeed = None,
    return_operators: Literal[True],
) -> tuple[list[DependencyTree], Operators]: ...
@validate_params(
    {
        "n_sentences": [Interval(Integral, 1, None, closed="left")],
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "n_symbols": [Interval(Integral, 1, None, closed="left")],
        "mean_length": [Interval(Real, 1, 1e6, closed="right")],
        "max_length": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "return_operators": ["boolean"],
    }
)
def make_treebank(
    n_sentences: int = 1000,
    n_states: int = 3,
    *,
    n_symbols: int = 8,
    mean_length: float = 10.0,
    max_length: int = 60,
    random_state: RandomSeed = None,
    return_operators: bool = False,
) -> list[DependencyTree] | tuple[list[DependencyTree], Operators]:
    """Draw trees from a random hidden-state grammar.

    Parameters
    ----------
    n_sentences : int, default=1000
        Number of trees.
    n_states : int, default=3
        Hidden states of the automaton of every head and direction.
    n_symbols : int, default=8
        Number of symbols that the grammar has; in few sentences some may not occur.
    mean_length : float, default=10.0
        Expected number of tokens of a sentence, above 1 and at most a million, before `max_length`
        cuts.
    max_length : int, default=60
        Longer sentences are drawn anew.
    random_state : int, RandomState instance or None, default=None
        Seeds the grammar and the draws: the same int gives the same trees.
    return_operators : bool, default=False
        Whether to return the grammar as well.

    Returns
    -------
    trees : list of DependencyTree
        Symbols are named x0, x1, ... and numbered with leading zeros, so that sorting them gives
        the codes of `operators`.
    operators : Operators
        The probabilistic grammar, of the shapes of a fitted ``operators_``; if
        `return_operators` is True.

    Raises
    ------
    ValueError
        If a parameter is invalid, or almost all sentences are longer than `max_length`.

    See Also
    --------
    load_english : Trees of a language.
    sklearn_shag.BaseSHAG.sample : Draws trees from a grammar that was learned.

    Examples
    --------
    >>> from sklearn_shag.datasets import make_treebank
    >>> trees, operators = make_treebank(5, random_state=0, return_operators=True)
    >>> len(trees), operators.A.shape
    (5, (10, 2, 9, 3, 3))
    """
    rng = check_random_state(random_state)
    automata = _random_automata(n_symbols, n_states, rng)
    roots = rng.dirichlet(np.ones(n_symbols))
    # Longer modifier sequences make longer sentences; the length grows without bound where the
    # grammar stops being tight.
    share = brentq(
        lambda share: _mean_length(_with_moves(automata, share), roots) - mean_length, 0.0, 1.0
    )
    operators = complete_grammar(_with_moves(automata, share), roots)
    width = len(str(n_symbols - 1))
    symbols = [f"x{code:0{width}d}" for code in range(n_symbols)]
    trees = decode_trees(symbols, *sample_derivations(operators, n_sentences, max_length, rng))
    return (trees, operators) if return_operators else trees


def _random_automata(n_symbols, n_states, rng):
    """Automata of all heads and directions, with few likely moves in every state."""
    lead = (Alphabet(n_symbols).n_learned, 2)
    moves = rng.dirichlet(np.full(n_symbols * n_states, 0.2), size=(*lead, n_states))
    moves = moves.reshape(*lead, n_states, n_symbols, n_states).transpose(0, 1, 3, 4, 2)
    # At least one modifier on each side, were they not made rarer to reach the mean length.
    moving = rng.uniform(0.5, 0.95, size=(*lead, n_states))
    alpha_1 = rng.dirichlet(np.ones(n_states), size=lead)
    return Operators(alpha_1, 1.0 - moving, moves * moving[:, :, None, None, :])


def _with_moves(automata, share):
    """Scale the probability of every move, leaving the rest to STOP."""
    return Operators(automata.alpha_1, 1.0 - share * (1.0 - automata.alpha_inf), share * automata.A)


def _mean_length(automata, roots):
    """Expected number of tokens of a sentence; a large number where it is infinite."""
    n_symbols = automata.A.shape[2]
    visits = expected_visits(automata)
    # children[h, a]: expected number of modifiers a of head h on both sides (theory, eq. 29)
    children = np.einsum("hdaij,hdj->ha", automata.A, visits)[:n_symbols]
    if np.abs(np.linalg.eigvals(children)).max() >= 1.0 - 1e-9:
        return 1e9
    return roots @ np.linalg.solve(np.eye(n_symbols) - children, np.ones(n_symbols))
