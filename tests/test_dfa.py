"""Deterministic automata made of learned ones, against known automata and plain loops."""

import itertools
from collections import Counter

import networkx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.base import clone

from sklearn_shag import EMSHAG, DeterministicSHAG, EMAutomaton, SpectralAutomaton, SpectralSHAG
from sklearn_shag.inspection import approximate_dfa
from sklearn_shag.inspection._dfa import _merge_states
from sklearn_shag.operators import Operators, change_basis
from sklearn_shag.treebank import DependencyTree
from tests.loops import over
from tests.oracles import tree_sequences

SYMBOLS = "abc"


def stars(sequences):
    """A tree for each sequence: its symbols left of a head H, head outwards."""
    return [
        DependencyTree([*sequence[::-1], "H"], [*[len(sequence) + 1] * len(sequence), 0])
        for sequence in sequences
    ]


def with_automaton(automaton, trees):
    """A model with a given automaton of H, left, over the symbols H, a, b, c."""
    model = DeterministicSHAG().fit([*trees, *stars([SYMBOLS])])
    shape, n_states = model.operators_.A.shape[:3], automaton.alpha_1.size
    ones = np.ones((*shape[:2], n_states))  # all others stop at once
    grammar = Operators(ones / n_states, ones, np.zeros((*shape, n_states, n_states)))
    grammar.alpha_1[0, 0], grammar.alpha_inf[0, 0] = automaton.alpha_1, automaton.alpha_inf
    grammar.A[0, 0, 1:4] = automaton.A
    model.operators_ = grammar
    return model


def random_dfa(rng, n_states):
    """Targets of states and symbols, -1 for none, all states reachable from state 0."""
    while True:
        targets = rng.integers(-1, n_states, size=(n_states, len(SYMBOLS)))
        reached = {0}
        for _ in range(n_states):
            reached |= {int(t) for s in reached for t in targets[s] if t >= 0}
        if len(reached) == n_states:
            return targets


def operators_of(targets, rng):
    """A probabilistic automaton with these moves, and a chance to stop everywhere."""
    n_states = len(targets)
    A = np.zeros((len(SYMBOLS), n_states, n_states))
    for (state, symbol), target in np.ndenumerate(targets):
        if target >= 0:
            A[symbol, target, state] = rng.uniform(0.05, 0.3)
    return Operators(np.eye(n_states)[0], 1.0 - A.sum(axis=(0, 1)), A)


def path(targets, sequence):
    state = 0
    for symbol in sequence:
        if state >= 0:
            state = int(targets[state, SYMBOLS.index(symbol)])
    return state


def approximate(automaton, trees, **options):
    """The deterministic automaton of H, left, of a model that has this one."""
    options = {"head": "H", "direction": "left", "min_count": 1} | options
    return approximate_dfa(with_automaton(automaton, trees), trees, **options)


def words(targets, longest):
    """All sequences up to a length that have a path."""
    for length in range(longest + 1):
        for word in itertools.product(SYMBOLS, repeat=length):
            if path(targets, word) >= 0:
                yield word


@over("seed", range(8))
@over("kind", ["own basis", "rotated", "another basis"])
def test_a_known_automaton_comes_back(seed, kind):
    rng, n_states = np.random.default_rng(seed), 2 + seed % 4
    targets = random_dfa(rng, n_states)
    automaton = operators_of(targets, rng)
    if kind != "own basis":
        basis = rng.normal(size=(n_states, n_states))
        basis = np.linalg.qr(basis)[0] if kind == "rotated" else basis
        automaton = change_basis(automaton, basis)
    dfa = approximate(automaton, stars(words(targets, n_states + 1)), n_clusters=n_states)
    pairs = {(path(targets, w), dfa.run(w)) for w in words(targets, n_states + 1)}
    name = dict(pairs)
    expected = [
        (name[state], SYMBOLS[symbol], name[target])
        for (state, symbol), target in np.ndenumerate(targets)
        if target >= 0
    ]
    assert dfa.n_clusters == len(dfa.states.visits) == n_states
    assert dfa.coverage == 1.0
    assert len(pairs) == n_states  # each state is one, and another than all others
    assert sorted(zip(*dfa.transitions[:3], strict=True)) == sorted(expected)


def sequences_of(trees, head, direction):
    side = ["left", "right"].index(direction)
    for tree in trees:
        for position, found, modifiers in tree_sequences(tree.heads.tolist()):
            if position and (tree.symbols[position - 1], found) == (head, side):
                yield tuple(tree.symbols[m - 1] for m in modifiers)


@pytest.mark.parametrize(
    "model", [DeterministicSHAG(), SpectralSHAG(6), EMSHAG(2, init="moments", max_iter=3, tol=1)]
)
def test_deterministic_and_true_to_the_prefixes_and_counts(model, english):
    model = clone(model).fit(english)
    for head, direction, n_clusters in (("NOUN", "left", 12), ("VERB", "right", 5)):
        dfa = approximate_dfa(
            model, english, head=head, direction=direction, n_clusters=n_clusters, min_count=4
        )
        states, moves = dfa.states, dfa.transitions
        n_states = len(states.visits)
        assert n_states <= dfa.n_clusters <= n_clusters
        assert len(set(zip(moves.sources, moves.symbols, strict=True))) == len(moves.symbols)
        # Each frequent prefix has a path to the state that was made of it.
        sequences = list(sequences_of(english, head, direction))
        begun = Counter(s[:k] for s in sequences for k in range(len(s) + 1))
        prefixes = [prefix for own in states.prefixes for prefix in own]
        assert len(prefixes) == len(set(prefixes))
        assert set(prefixes) <= {prefix for prefix in begun if begun[prefix] >= 4}
        assert {prefix for prefix in prefixes if prefix[:-1] not in prefixes} <= {()}
        for state, own in enumerate(states.prefixes):
            assert {dfa.run(prefix) for prefix in own} == {state}
            assert [begun[p] for p in own] == sorted((begun[p] for p in own), reverse=True)
        # Uses, counted one sequence after the other.
        visits, stops, taken = Counter(), Counter(), Counter()
        for sequence in sequences:
            for k in range(len(sequence) + 1):
                state = dfa.run(sequence[:k])
                if state is None:
                    break
                visits[state] += 1
                if k == len(sequence):
                    stops[state] += 1
                elif dfa.run(sequence[: k + 1]) is not None:
                    taken[state, sequence[k]] += 1
        uses = np.transpose([states.visits, states.stops]).tolist()
        assert uses == [[visits[s], stops[s]] for s in range(n_states)]
        counts = zip(moves.sources, moves.symbols, moves.counts, strict=True)
        assert {(int(s), x): int(c) for s, x, c in counts} == taken
        assert_allclose(states.stop_probabilities, states.stops / states.visits, rtol=1e-15)
        assert_allclose(moves.probabilities, moves.counts / states.visits[moves.sources])
        assert dfa.n_sequences == len(sequences)
        assert dfa.coverage == sum(stops.values()) / len(sequences)


def test_a_merge_that_demands_another():
    # a leads from 0 to 1 and 2, so these are one, and then their targets by b, 3 and 4, too.
    parent, symbol = np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])
    assert_equal(_merge_states(np.array([0, 1, 2, 3, 4]), parent, symbol), [0, 1, 1, 2, 2])


def one_state(value):
    return Operators(np.ones(1), np.ones(1), np.full((3, 1, 1), value))


def test_equal_directions_are_one_state_and_opposite_ones_two():
    trees = stars(["", "a", "aa", "aaa", "b"])
    for value, states in ((0.1, [0, 0, 0, 0]), (-0.1, [0, 1, 0, 1])):
        dfa = approximate(one_state(value), trees)
        assert [dfa.run(list("a" * k)) for k in range(4)] == states
        assert dfa.n_clusters == len(dfa.states.visits) == len(set(states))


def test_what_cannot_be_generated_has_no_state():
    targets = np.array([[1, -1, -1], [-1, -1, -1]])  # a, and no more
    trees = stars(["", "a", "ab", "abc", "b", "c"])
    dfa = approximate(operators_of(targets, np.random.default_rng(0)), trees)
    assert [dfa.run(list(word)) for word in ("a", "ab", "b", "c")] == [1, None, None, None]
    assert (dfa.n_sequences, dfa.coverage) == (6, 2 / 6)
    # What rounding leaves of terms that cancel is no direction.
    A = np.zeros((3, 2, 2))
    A[0] = [[1.0, -1.0], [0.0, 0.0]]
    noise = Operators(np.array([0.1 + 0.2, 0.3]), np.ones(2), A)
    assert (A[0] @ noise.alpha_1)[0] != 0
    assert approximate(noise, trees).run(["a"]) is None


def test_unknown_symbols_end_a_path():
    trees = stars(["", "a", "a"])
    model = with_automaton(one_state(0.1), trees)
    strange = [*trees, *stars(["?", "a?", "a?a"])] + stars(["a"]) * 60
    dfa = approximate_dfa(model, strange, head="H", direction="left", min_count=1)
    assert dfa.run(["?"]) is None
    assert (dfa.n_sequences, dfa.states.stops.sum()) == (66, 63)


def test_rare_prefixes_are_counted_where_they_have_a_path():
    dfa = approximate(one_state(0.1), stars(["", "", "a", "a", "aa"]), min_count=2)
    assert dfa.states.prefixes[0] == ((), ("a",))
    assert dfa.run(list("aaaa")) == 0
    assert dfa.transitions.counts.tolist() == [4]
    assert dfa.coverage == 1.0


@pytest.mark.parametrize("learner", [SpectralAutomaton(3, mixing=0.0), EMAutomaton(3)], ids=str)
@pytest.mark.parametrize("symbols", ["ab", [3, 7]])
def test_models_of_sequences(learner, symbols):
    # An even number of a, then b: the states are the parity, and the end.
    a, b = symbols
    sequences = [[a] * (2 * (k % 3)) + [b] for k in range(60)]
    model = learner.set_params(smoothing=0.0).fit(sequences)
    found = approximate_dfa(model, sequences, n_clusters=3)
    assert (found.head, found.direction, found.coverage) == (None, None, 1.0)
    uses = found.states.visits.tolist(), found.states.stops.tolist()
    assert uses == ([120, 60, 60], [0, 0, 60])
    paths = {(a,): 1, (a, a, a): 1, (a, a, b): 2}
    assert {path: found.run(list(map(str, path))) for path in paths} == paths
    assert str(found).startswith("Sequences: 3 states of 3 clusters, paths for 100% of 60")


@pytest.fixture(scope="module")
def dfa():
    trees = stars(["", "a", "ab", "abb", "abb", "c"])
    targets = np.array([[1, -1, 2], [-1, 2, -1], [-1, 2, -1]])
    model = with_automaton(operators_of(targets, np.random.default_rng(0)), trees)
    return approximate_dfa(model, trees[1:5], head="H", direction="left", min_count=1)


class TestValue:
    def test_accepts(self, dfa):
        """A path is not enough: at its end some sequence has to stop."""
        accepted = {word: dfa.accepts(list(word)) for word in ("", "a", "abbb", "b")}
        assert accepted == {"": False, "a": True, "abbb": True, "b": False}
        assert dfa.run([]) == 0

    def test_the_graph_holds_the_tables(self, dfa):
        graph = dfa.to_networkx()
        assert isinstance(graph, networkx.MultiDiGraph)
        assert graph.graph == {"head": "H", "direction": "left", "initial": 0}
        columns = (graph.nodes[k] for k in range(len(graph)))
        names = ["visits", "stops", "stop_probability", "prefixes"]
        rows = [tuple(node[name] for name in names) for node in columns]
        assert rows == list(zip(*dfa.states, strict=True))
        edges = {
            (source, data["symbol"], target, data["count"], data["probability"])
            for source, target, data in graph.edges(data=True)
        }
        assert edges == set(zip(*dfa.transitions, strict=True))
        assert all(key == data["symbol"] for _, _, key, data in graph.edges(keys=True, data=True))

    def test_dot_joins_and_escapes_symbols(self):
        trees = [DependencyTree([s, "H"], [2, 0]) for s in ['"', "\\", "x"]]
        dfa = approximate_dfa(
            DeterministicSHAG("single").fit(trees), trees, head="H", direction="left", min_count=1
        )
        assert r'0 -> 0 [label="\" 0.17\n\\ 0.17\nx 0.17"];' in dfa.to_dot()


def test_an_automaton_that_generates_nothing():
    nothing = one_state(0.1)._replace(alpha_1=np.zeros(1))
    with pytest.raises(ValueError, match="'H, left' starts with a vector of zeros"):
        approximate(nothing, stars(["a"]))
