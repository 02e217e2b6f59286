"""Products of grammars: against the dense product of operators, and against all trees."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag import EMSHAG, DeterministicSHAG, LexicalizedSHAG, ProductParser, SpectralSHAG
from sklearn_shag.ensembles._product import as_memory
from sklearn_shag.operators import Operators, product
from sklearn_shag.parsing import chart
from sklearn_shag.treebank import DependencyTree
from tests.log_chart import sum_up
from tests.loops import over
from tests.oracles import projective_trees, repaired, sum_trees

N_SYMBOLS = 3
SYMBOLS = np.array(["A", "B", "C"], dtype=object)
FIT = [["A", "B", "C"]], [[2, 0, 2]]


def with_operators(estimator, operators):
    """Fit an estimator, and give it other operators."""
    model = clone(estimator).fit(*FIT)
    model.operators_ = operators
    return model


def random_deterministic(automaton, seed):
    """A grammar with random positive numbers where the automaton has probabilities."""
    rng = np.random.default_rng(seed)
    n = {"single": 1, "first": 2, "sibling": N_SYMBOLS + 1}[automaton]
    heads = N_SYMBOLS + 2, 2
    A = np.zeros((*heads, N_SYMBOLS + 1, n, n))
    for a in range(N_SYMBOLS):
        target = {"single": 0, "first": 1, "sibling": a + 1}[automaton]
        A[:, :, a, target] = rng.uniform(0.1, 1.0, size=(*heads, n))
    A[:, :, -1] = A[:, :, :-1].sum(axis=2)
    alpha_1 = np.zeros((*heads, n))
    alpha_1[..., 0] = rng.uniform(0.5, 1.0, size=heads)
    operators = Operators(alpha_1, rng.uniform(0.1, 1.0, size=(*heads, n)), A)
    operators.A[-1] = operators.alpha_inf[-1] = 0.0
    operators.A[-1, 1, :, 0, 0], operators.alpha_inf[-1, :, 0] = rng.uniform(0.1, 1.0, 4), 1.0
    return with_operators(DeterministicSHAG(automaton), operators)


def random_hidden(random_grammar, seed, n_states=3, signed=False):
    grammar = random_grammar(seed, N_SYMBOLS, n_states, signed)
    return with_operators(SpectralSHAG(2), grammar)


def frozen_product(members, **options):
    named = [(f"m{k}", FrozenEstimator(member)) for k, member in enumerate(members)]
    return ProductParser(named, **options).fit(*FIT)


def random_sentences(seed, lengths=(1, 2, 3, 4, 7, 12, 30)):
    """Sentences of known symbols and one that no member knows."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(N_SYMBOLS + 1, size=n) for n in lengths]
    return [np.append(SYMBOLS, "unknown")[c].tolist() for c in codes], codes


def assert_dense(model, operators):
    """Marginals are those of the chart of dense operators, but for negative ones."""
    sentences, codes = random_sentences(0)
    for sentence, found in zip(codes, model.predict_marginals(sentences), strict=True):
        expected = repaired(sum_up(operators, sentence).arcs)
        assert_allclose(found, expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
class TestDenseProduct:
    """The memory of the chart against operators of all states of all members."""

    @over("signed", [False, True])
    @over("automata", [["single"], ["first"], ["first", "single", "first"]])
    @over("n_states", [1, 3, 9])
    def test_of_hidden_states_and_memories(self, random_grammar, automata, signed, n_states):
        hidden = random_hidden(random_grammar, 1, n_states, signed)
        others = [random_deterministic(automaton, k) for k, automaton in enumerate(automata)]
        model = frozen_product([*others[:1], hidden, *others[1:]])
        operators = [member.operators_ for member in (hidden, *others)]
        assert_dense(model, reduce(product, operators))

    @pytest.mark.parametrize("automata", [["first", "sibling"], ["sibling"], ["first", "first"]])
    def test_of_deterministic_members_alone(self, automata):
        members = [random_deterministic(automaton, k) for k, automaton in enumerate(automata)]
        dense = reduce(product, [member.operators_ for member in members])
        assert_dense(frozen_product(members), dense)

    @pytest.mark.parametrize("weights", [[1, 0.5], [1, 2], [1, 0]])
    def test_weights_are_powers(self, random_grammar, weights):
        hidden, other = random_hidden(random_grammar, 2), random_deterministic("first", 0)
        model = frozen_product([hidden, other], weights=weights)
        # The unknown symbol is a power of a sum: that of the symbols is not the same.
        power = Operators(*(part ** weights[1] for part in other.operators_))
        power.alpha_1[..., 1] = power.A[:-1, ..., 0, :] = power.A[-1, ..., 1] = 0.0
        power.A[-1, ..., 1, :] = 0.0
        dense = product(hidden.operators_, power)
        assert_dense(model, dense)


@over("automaton", ["single", "first"])
@over("changed", [None, *Operators._fields])
def test_operators_as_memory_have_their_values(automaton, changed):
    """Not up to a factor: log Z too, whatever the magnitude of what each head has."""
    operators = random_deterministic(automaton, 5).operators_
    if changed is not None:
        part = getattr(operators, changed)
        powers = 10.0 ** np.linspace(-20, 20, len(part)).reshape(-1, *[1] * (part.ndim - 1))
        operators = operators._replace(**{changed: part * powers})
    _, codes = random_sentences(2)
    indptr = np.cumsum([0, *map(len, codes)])
    potentials = as_memory(operators, np.concatenate(codes), indptr)
    found = chart(None, potentials._replace(codes=None))
    expected = [sum_up(operators, each).log_abs_z for each in codes]
    assert_allclose(found.log_abs_z, expected, rtol=1e-12)


def test_other_operators_are_no_memory(random_grammar):
    for operators in (random_grammar(0, n_states=2), random_deterministic("sibling", 0).operators_):
        with pytest.raises(ValueError, match="remember more than that"):
            as_memory(operators, np.zeros(2, dtype=np.int64), np.array([0, 2]))


def test_memories_multiply_without_classes_that_cannot_be(members, english):
    """Start, and what follows one of three kinds of modifiers: not 2 x 4."""
    model = frozen_product([members["first"], members["fcp"]])
    batch = model._batch(english[:3])
    assert model._score(batch).potentials.arc_memory.shape[1] == 4


@pytest.fixture(scope="module")
def members(english):
    """Fitted on the bundled treebank."""
    models = {
        "hidden": SpectralSHAG(3),
        "em": EMSHAG(2, init="moments", smoothing=1, max_iter=50),
        "first": DeterministicSHAG(smoothing=5),
        "sibling": DeterministicSHAG("sibling", smoothing=5),
        "fcp": LexicalizedSHAG(),
        "words": LexicalizedSHAG("first", min_count=3),
    }
    few = [tree for tree in english[:200] if "ADP" not in tree.symbols]
    fitted = {name: model.fit(english[:200]) for name, model in models.items()}
    return fitted | {"few": DeterministicSHAG(smoothing=5).fit(few)}  # knows other symbols


def strange(tree, position):
    """A tree with a word and with a tag that nobody knows."""
    forms, tags = list(tree.forms), list(tree.upos)
    forms[position] = "qwertz"
    tags[-1] = "NONE"
    return DependencyTree(forms, tree.heads, upos=tags)


@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
class TestAllTrees:
    """The chart of a product against the values of all trees under its members."""

    @pytest.fixture
    def short(self, english):
        trees = [tree for tree in english[200:] if len(tree) in (3, 4, 5)][:6]
        return [*trees, *(strange(tree, 0) for tree in trees[:3])]

    @over(
        ("names", "weights"),
        [
            (["fcp", "em", "first", "words"], None),
            (["fcp", "em"], [0.3, 1]),
            (["first", "words", "fcp"], [2, 0.5, 1]),
            (["sibling", "fcp"], [1.5, 0.5]),
            (["fcp"], [8]),
            (["few", "fcp"], None),
        ],
    )
    def test_conditional_probabilities_and_marginals(self, members, short, names, weights):
        model, n_parsed = frozen_product([members[n] for n in names], weights=weights), 0
        for tree in short:
            if "sibling" in names and "NONE" in tree.symbols:
                continue  # the sum of powers over what the tag may stand for, no power of a sum
            heads = projective_trees(len(tree))
            same = [tree] * len(heads)
            values = sum(
                weight * members[name].score_samples(same, heads)
                for name, weight in zip(names, weights or [1] * len(names), strict=True)
            )
            if values.max() == -np.inf:
                continue  # other grammars parse it: see below
            n_parsed += 1
            logs = values - np.logaddexp.reduce(values)
            assert_allclose(model.conditional_log_likelihood(same, heads), logs, atol=1e-9)
            _, expected = sum_trees(heads, np.exp(logs))
            assert_allclose(model.predict_marginals([tree])[0], expected, atol=1e-9)
        assert n_parsed > 5

    def test_best_tree_of_deterministic_members(self, members, short):
        names = ["first", "words", "fcp"]
        model = frozen_product([members[name] for name in names], decoder="viterbi")
        for tree in short:
            heads = projective_trees(len(tree))
            same = [tree] * len(heads)
            values = sum(members[name].score_samples(same, heads) for name in names)
            assert tuple(model.predict([tree])[0]) == heads[int(np.argmax(values))]


def test_large_powers_do_not_vanish(members, english):
    """P ** 40 is 0 in double precision for many words."""
    model = frozen_product([members["fcp"]], weights=[40.0], decoder="viterbi")
    best = clone(members["fcp"]).set_params(decoder="viterbi").fit(english[:200])
    found, expected = (
        best.score_samples(english[200:], parser.predict(english[200:])) for parser in (model, best)
    )
    assert_allclose(found, expected, rtol=1e-12)  # of equally good trees, another may be met first


def test_only_sentences_without_mass_are_parsed_so(members, english):
    """Each is parsed as if the others were not there."""
    hidden, first = (clone(members[name]).fit(english[:200]) for name in ("em", "first"))
    for model, symbol in (hidden, "PRON"), (first, "ADP"):
        code = int(np.flatnonzero(model.symbols_ == symbol)[0])
        model.operators_.A[:, :, code] = 0.0  # nowhere
    fallbacks = []
    for member in hidden, first:
        other = DeterministicSHAG("single").fit(english[:200])
        other.operators_ = member.fallback_operators_
        fallbacks.append(other)
    words = members["fcp"]
    model = frozen_product([hidden, first, words])
    parsers = {
        "all": model,
        "deterministic": frozen_product([first, words]),
        "fallback": frozen_product([*fallbacks, words]),
    }
    used = dict.fromkeys(parsers, 0)
    for tree, heads in zip(english[200:], model.predict(english[200:]), strict=True):
        way = "fallback" if "ADP" in tree.symbols else "deterministic"
        way = way if way == "fallback" or "PRON" in tree.symbols else "all"
        used[way] += 1
        assert_array_equal(heads, parsers[way].predict([tree])[0])
    assert min(used.values()) > 5
