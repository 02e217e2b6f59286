"""Numbers of all magnitudes: grammars, weights of sentences, parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.base import clone

from sklearn_shag import DMV, EMSHAG, BiaffineParser, DeterministicSHAG, SpectralSHAG
from sklearn_shag.operators import Operators, log_values, sample_derivations, sequence_values
from sklearn_shag.parsing import Potentials, chart
from sklearn_shag.sequences import extract_sequences
from sklearn_shag.utils._heads import find_head_error
from tests.estimators import assert_same_model, same
from tests.fuzz import estimators, grammars
from tests.fuzz._run import make_input
from tests.loops import assert_all_close, compiled, over


@pytest.fixture(scope="module")
def trees(english):
    return [tree for tree in english if len(tree) < 15][:40]


def times(operators, **factors):
    return operators._replace(
        **{name: getattr(operators, name) * factor for name, factor in factors.items()}
    )


# Grammars


@compiled
@over("module, name", [(grammars, "grammars"), (estimators, "learning")])
@over("first", [0, 100])
def test_the_first_inputs_of_the_fuzzer(module, name, first):
    """Of what ``python -m tests.fuzz grammars learning`` tries, and some others."""
    for number in range(first, first + 20):
        case = make_input(module.TARGETS[name], 0, number)
        if name == "learning" or case.codes.size <= 60:
            module.TARGETS[name].run(case)


@over("magnitude", [1e-100, 1e100])
@over(("name", "n_uses"), [("alpha_1", 5), ("alpha_inf", 5), ("A", 2)])
def test_values_of_sequences_of_any_magnitude(random_grammar, name, n_uses, magnitude):
    operators = random_grammar(0, signed=False)
    operators = Operators(*(np.ceil(8 * part) for part in operators))  # times 5e-324 a double
    tree = extract_sequences(np.array([0, 1]), np.array([2, 0]), np.array([0, 2]), 3)
    plain, huge = (
        log_values(each, tree) for each in (operators, times(operators, **{name: magnitude}))
    )
    assert_allclose(huge.sum(), plain.sum() + n_uses * np.log(magnitude), rtol=1e-12)


def test_the_logarithm_of_what_is_impossible():
    ones = np.ones((2, 2, 1))
    empty_alone = Operators(ones, ones, np.zeros((2, 2, 1, 1, 1)))
    tree = extract_sequences(np.array([0]), np.array([0]), np.array([0, 1]), 0)
    assert log_values(empty_alone, tree).tolist() == [-np.inf, 0.0, 0.0]  # that of the root first


def test_values_beyond_doubles_are_infinite():
    ones = np.ones((3, 2, 1))
    operators = Operators(1e100 * ones, 1e100 * ones, np.full((3, 2, 2, 1, 1), 1e100))
    tree = extract_sequences(np.zeros(2, dtype=int), np.array([2, 0]), np.array([0, 2]), 1)
    modifiers = np.diff(tree.indptr)
    values, logs = sequence_values(operators, tree), log_values(operators, tree)
    assert_allclose(logs, (200 + 100 * modifiers) * np.log(10), rtol=1e-12)
    assert_allclose(values[modifiers == 0], 1e200)
    assert values[modifiers > 0].max() < np.inf
    forest = extract_sequences(np.zeros(3, dtype=int), np.array([3, 3, 0]), np.array([0, 3]), 1)
    assert sequence_values(operators, forest).max() == np.inf


@over("magnitude", [1e-90, 1e90])
@over("names", [["alpha_1"], ["alpha_inf"], ["alpha_1", "alpha_inf"]])
def test_samples_do_not_depend_on_the_magnitude_of_vectors(english, names, magnitude):
    operators = DeterministicSHAG(smoothing=1).fit(english).operators_
    scaled = times(operators, **dict.fromkeys(names, magnitude))
    plain, found = (sample_derivations(each, 5, 0, max_length=100) for each in (operators, scaled))
    assert same(plain, found)


# Weights and parameters


@over("weight", [2.0**-300, 2.0**290])
@over(
    "model",
    [
        DeterministicSHAG(),
        SpectralSHAG.published(3),
        EMSHAG(2, max_iter=3, tol=0, random_state=0),
        DMV(prior=0, rules=None, max_iter=3, tol=0, max_length=None),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@compiled
def test_what_depends_on_no_scale_of_weights(trees, model, weight):
    plain = clone(model).fit(trees)
    scaled = clone(model).fit(trees, sample_weight=np.full(len(trees), weight))
    assert_all_close(scaled.operators_, plain.operators_, rtol=1e-9, atol=1e-12)


@over("model", [DeterministicSHAG(), SpectralSHAG.published(3)])
def test_weights_whose_inverses_overflow(trees, model):
    plain = clone(model).fit(trees)
    scaled = clone(model).fit(trees, sample_weight=np.full(len(trees), 2.0**-1070))
    assert_same_model(plain.operators_, scaled.operators_)  # sums of such weights are exact


def test_uses_of_any_weight(random_grammar):
    operators, potentials = random_grammar(0), Potentials(np.array([0, 3]), np.array([0, 1, 2]))
    plain = chart(operators, potentials, counts=True).counts
    for weight in (2.0**300, -(2.0**-300)):
        found = chart(operators, potentials, counts=True, sample_weight=[weight]).counts
        assert_equal(found, times(plain, **dict.fromkeys(Operators._fields, weight)))


@compiled
@over(
    ("name", "parameter", "value"),
    [
        ("lexicalized", "backoff", 10**299),
        ("lexicalized", "min_count", 10**299),
        ("EM from moments", "smoothing", 10**299),
        ("spectral", "smoothing", 10**299),
        ("spectral", "context", 10**30),
    ],
)
def test_whole_numbers_that_no_machine_word_holds(trees, name, parameter, value):
    model = clone(estimators.SUITE[name]).set_params(**{parameter: value}).fit(trees)
    assert len(model.predict(trees)) == len(trees)


@compiled
@over(("name", "parameter"), [("CRF", "learning_rate_init"), ("network", "learning_rate_init")])
def test_steps_that_leave_the_range_of_numbers(trees, name, parameter):
    model = clone(estimators.SUITE[name]).set_params(n_jobs=2, **{parameter: 10**299})
    with pytest.raises(ValueError, match=f"left the range of numbers.*Lower {parameter}=1000"):
        model.fit(trees)


@compiled
def test_networks_whose_scores_are_not_finite_give_trees(trees):
    model = BiaffineParser(["upos"], hidden_layer_sizes=[8], max_iter=1, random_state=0).fit(trees)
    huge = model.weights_.values * np.float32(1e30)
    model.weights_ = model.weights_._replace(values=huge)
    for tree, heads in zip(trees, model.predict(trees), strict=True):
        assert find_head_error(heads.tolist()) is None
        assert len(heads) == len(tree)
    for marginals in model.predict_marginals(trees):
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-9)


@compiled
def test_what_is_impossible_has_no_use_however_large_its_derivative():
    grammars.TARGETS["grammars"].run(make_input(grammars.TARGETS["grammars"], 20, 2036))
