"""A treebank that comes with the package, and treebanks of random grammars."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import Literal, overload

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import Bunch, check_random_state

from sklearn_shag.automata import EMAutomaton
from sklearn_shag.encoding import Alphabet, decode_trees
from sklearn_shag.operators import Operators, complete_grammar, expected_visits, sample_derivations
from sklearn_shag.treebank import DependencyTree, read_conllu
from sklearn_shag.utils._param_validation import COUNT, Interval, StrOptions, validate_params
from sklearn_shag.utils._typing import IndexArray, RandomSeed, Symbols


class BundledTreebank(Bunch):
    """The bundled treebank and its description, as :func:`load_english` returns them."""

    data: list[DependencyTree]
    target: list[IndexArray]
    DESCR: str
    filename: str


@overload
def load_english(
    *, symbols: Symbols = "upos", return_X_y: Literal[False] = False
) -> BundledTreebank: ...
@overload
def load_english(
    *, symbols: Symbols = "upos", return_X_y: Literal[True]
) -> tuple[list[DependencyTree], list[IndexArray]]: ...
def load_english(
    *, symbols: Symbols = "upos", return_X_y: bool = False
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
        Whether to return ``(data, target)`` instead of a Bunch.

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
    make_treebank : Draws trees from a random grammar.

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
    folder = Path(__file__).parent
    trees = read_conllu(path := folder / "data" / "english.conllu", symbols=symbols)
    heads = [tree.heads for tree in trees]
    if return_X_y:
        return trees, heads
    return BundledTreebank(
        data=trees,
        target=heads,
        DESCR=(folder / "descr" / "english.rst").read_text(encoding="utf-8"),
        filename=str(path),
    )


@overload
def make_treebank(
    n_samples: int = 1000,
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
    n_samples: int = 1000,
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
        **dict.fromkeys(("n_samples", "n_states", "n_symbols", "max_length"), COUNT),
        "mean_length": [Interval(Real, 1, 1e6, closed="right")],
        "random_state": ["random_state"],
        "return_operators": ["boolean"],
    }
)
def make_treebank(
    n_samples: int = 1000,
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
    n_samples : int, default=1000
        Number of trees.
    n_states : int, default=3
        Number of hidden states of the automaton of each head and direction.
    n_symbols : int, default=8
        Number of symbols in the grammar; in a small treebank some may not occur.
    mean_length : float, default=10.0
        Expected number of tokens of a sentence, above 1 and at most a million, before sentences
        longer than `max_length` are rejected.
    max_length : int, default=60
        Longer sentences are drawn again.
    random_state : int, RandomState instance or None, default=None
        Seed of the grammar and the draws: the same int gives the same trees.
    return_operators : bool, default=False
        Whether to return the grammar as well.

    Returns
    -------
    trees : list of DependencyTree
        Symbols are named x0, x1, ... with leading zeros, so that sorting them gives the codes of
        `operators`.
    operators : Operators
        The probabilistic grammar, with the shapes of a fitted ``operators_``; if
        `return_operators` is True.

    Raises
    ------
    ValueError
        If a parameter is invalid, or almost all sentences are longer than `max_length`.

    See Also
    --------
    load_english : Loads trees of a natural language.
    sklearn_shag.BaseSHAG.sample : Draws trees from a learned grammar.

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
    drawn = sample_derivations(operators, n_samples, rng, max_length=max_length)
    trees = decode_trees([f"x{code:0{width}d}" for code in range(n_symbols)], *drawn)
    return (trees, operators) if return_operators else trees


def _random_automata(n_symbols, n_states, rng):
    """Draw automata of all heads and directions, with few likely moves in every state."""
    lead = (Alphabet(n_symbols).n_learned, 2)
    moves = rng.dirichlet(np.full(n_symbols * n_states, 0.2), size=(*lead, n_states))
    moves = moves.reshape(*lead, n_states, n_symbols, n_states).transpose(0, 1, 3, 4, 2)
    # On average at least one modifier per side, before they are made rarer for the mean length.
    moving = rng.uniform(0.5, 0.95, size=(*lead, n_states))
    alpha_1 = rng.dirichlet(np.ones(n_states), size=lead)
    return Operators(alpha_1, 1.0 - moving, moves * moving[:, :, None, None, :])


def _with_moves(automata, share):
    """Scale the probability of every move by `share`, and leave the rest to STOP."""
    return Operators(automata.alpha_1, 1.0 - share * (1.0 - automata.alpha_inf), share * automata.A)


def _mean_length(automata, roots):
    """Compute the expected number of tokens of a sentence; 1e9 if it is infinite."""
    n_symbols = automata.A.shape[2]
    # children[h, a]: expected number of modifiers a of head h on both sides (theory, eq. 29)
    children = np.einsum("hdaij,hdj->ha", automata.A, expected_visits(automata))[:n_symbols]
    if np.abs(np.linalg.eigvals(children)).max() >= 1.0 - 1e-9:
        return 1e9
    return roots @ np.linalg.solve(np.eye(n_symbols) - children, np.ones(n_symbols))


@overload
def make_sequences(
    n_samples: int = 1000,
    n_states: int = 10,
    *,
    n_symbols: int = 8,
    kind: Literal["nondeterministic", "deterministic", "hmm"] = "nondeterministic",
    density: float = 0.3,
    mean_length: float = 10.0,
    random_state: RandomSeed = None,
    return_operators: Literal[False] = False,
) -> list[list[int]]: ...
@overload
def make_sequences(
    n_samples: int = 1000,
    n_states: int = 10,
    *,
    n_symbols: int = 8,
    kind: Literal["nondeterministic", "deterministic", "hmm"] = "nondeterministic",
    density: float = 0.3,
    mean_length: float = 10.0,
    random_state: RandomSeed = None,
    return_operators: Literal[True],
) -> tuple[list[list[int]], Operators]: ...
@validate_params(
    {
        **dict.fromkeys(("n_samples", "n_states", "n_symbols"), COUNT),
        "kind": [StrOptions({"nondeterministic", "deterministic", "hmm"})],
        "density": [Interval(Real, 0, 1, closed="right")],
        "mean_length": [Interval(Real, 0, 1e6, closed="neither")],
        "random_state": ["random_state"],
        "return_operators": ["boolean"],
    }
)
def make_sequences(
    n_samples: int = 1000,
    n_states: int = 10,
    *,
    n_symbols: int = 8,
    kind: str = "nondeterministic",
    density: float = 0.3,
    mean_length: float = 10.0,
    random_state: RandomSeed = None,
    return_operators: bool = False,
) -> list[list[int]] | tuple[list[list[int]], Operators]:
    """Draw sequences from a random automaton, as in automaton-learning competitions.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of sequences.
    n_states : int, default=10
        Number of hidden states of the automaton.
    n_symbols : int, default=8
        Number of symbols; in a small sample some may not occur.
    kind : {"nondeterministic", "deterministic", "hmm"}, default="nondeterministic"
        What a state and a symbol determine about the next state: its distribution, the state
        itself, or no more than the state alone does.
    density : float, default=0.3
        Share of the symbols and of the next states that are possible in each state.
    mean_length : float, default=10.0
        Expected number of symbols in a sequence.
    random_state : int, RandomState instance or None, default=None
        Seed of the automaton and the draws: the same int gives the same sequences.
    return_operators : bool, default=False
        Whether to return the automaton as well.

    Returns
    -------
    sequences : list of lists of int
        The sequences; symbols are 0, 1, ...
    operators : Operators
        The probabilistic automaton; if `return_operators` is True.
        ``EMAutomaton.from_operators(operators)`` gives exact probabilities.

    See Also
    --------
    make_treebank : Draws trees from a random grammar.
    sklearn_shag.SpectralAutomaton : Learns automata.

    Examples
    --------
    >>> from sklearn_shag.datasets import make_sequences
    >>> make_sequences(2, n_symbols=3, mean_length=4, random_state=1)
    [[2, 2, 1, 0], [2]]
    """
    rng = check_random_state(random_state)
    shape = (n_states, n_symbols, n_states)  # before, symbol, next
    if kind == "nondeterministic":
        seen = _pick_some(rng, n_states, n_symbols, density)[:, :, None]
        moves = _draw_rows(rng, (seen & (rng.uniform(size=shape) < density)).reshape(n_states, -1))
    else:
        emissions = _draw_rows(rng, _pick_some(rng, n_states, n_symbols, density))[:, :, None]
        following = np.eye(n_states)[rng.randint(n_states, size=shape[:2])]
        if kind == "hmm":
            following = _draw_rows(rng, _pick_some(rng, n_states, n_states, density))[:, None]
        moves = emissions * following
    A = moves.reshape(shape).transpose(1, 2, 0)
    stops = rng.uniform(size=n_states)
    alpha_1 = _draw_rows(rng, _pick_some(rng, 1, n_states, density))[0]

    def automaton(log_odds):
        ends = 1.0 / (1.0 + np.exp(-log_odds) / stops)
        return Operators(alpha_1, ends, A * (1.0 - ends))

    def excess(log_odds):
        return np.log(expected_visits(automaton(log_odds)).sum() / (1.0 + mean_length))

    operators = automaton(brentq(excess, -20.0, 20.0))
    sequences = EMAutomaton.from_operators(operators).sample(
        n_samples, max_length=int(100 * mean_length) + 100, random_state=rng
    )
    return (sequences, operators) if return_operators else sequences


def _pick_some(rng, n_rows, n_columns, density):
    """Draw a mask of shape (n_rows, n_columns) with at least one entry in each row."""
    chosen = rng.uniform(size=(n_rows, n_columns)) < density
    chosen[np.arange(n_rows), rng.randint(n_columns, size=n_rows)] = True
    return chosen


def _draw_rows(rng, chosen):
    """Draw a distribution over the chosen entries of each row; without any, over a random one."""
    chosen = chosen | (_pick_some(rng, *chosen.shape, 0.0) & ~chosen.any(axis=1, keepdims=True))
    masses = rng.exponential(size=chosen.shape) * chosen
    return masses / masses.sum(axis=1, keepdims=True)
