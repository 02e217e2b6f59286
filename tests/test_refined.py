"""Hidden refinements: against all trees, refinements and states; reductions; learning."""

import itertools
import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from sklearn.base import clone

from sklearn_shag import EMSHAG, LexicalizedSHAG, ProductParser, RefinedSHAG
from sklearn_shag.encoding import encode_sentences, encode_trees
from sklearn_shag.inspection import approximate_dfa, top_refinements
from sklearn_shag.learning._derivations import expect_uses, fold_trees, token_posteriors, tree_logs
from sklearn_shag.learning._refined import (
    _fold_treebank,
    estimate_refined,
    expect_all_uses,
    split_refinements,
)
from sklearn_shag.operators import (
    Operators,
    RefinedGrammar,
    RefinedOperators,
    complete_grammar,
    extend,
    refined_automaton,
    start_unrefined,
    unfold,
)
from sklearn_shag.parsing import Potentials, chart
from sklearn_shag.treebank import DependencyTree, arcs_left_by
from tests.loops import compiled, over
from tests.oracles import (
    Uses,
    enumerate_uses,
    of_sentence,
    projective_trees,
    random_factors,
    tree_value,
)
from tests.test_chart import assert_same_uses, uses_of
from tests.test_crossing import make_trees

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def random_refined(seed, n_symbols, n_states, k, unseen=0.3):
    """A grammar of random positive numbers; some pairs of symbols have no block."""
    rng = np.random.default_rng(seed)
    vectors = n_symbols, 2, n_states, k
    blocks = np.full((n_symbols, 2, n_symbols), -1)
    seen = np.argwhere(rng.uniform(size=blocks.shape) >= unseen)
    blocks[tuple(seen.T)] = rng.permutation(len(seen))
    common, roots = rng.uniform(0.1, 1, size=(2, n_symbols, k))
    refined = RefinedOperators(
        rng.uniform(0.1, 1, vectors),
        rng.uniform(0.1, 1, vectors),
        rng.uniform(0.1, 1, (len(seen), k, n_states, n_states, k)),
        blocks,
        rng.uniform(0.1, 1, vectors),
        common / common.sum(axis=1, keepdims=True),
        roots / roots.sum(),
    )
    automata = Operators(
        *rng.uniform(0.1, 1, size=(2, n_symbols + 1, 2, n_states)),
        rng.uniform(0.1, 1, size=(n_symbols + 1, 2, n_symbols, n_states, n_states)),
    )
    return RefinedGrammar(refined, complete_grammar(automata, rng.uniform(0.1, 1, n_symbols)))


def unfold_slowly(grammar):
    """Operators over pairs of a symbol and a refinement, entry by entry (theory, eqs. 49-50).

    The last symbol, and the last head before the root, are the unknown one.
    """
    refined, unrefined = grammar
    n_symbols, k = refined.roots.shape
    n, n_states = n_symbols * k, refined.A.shape[2]
    alpha_1, alpha_inf = np.zeros((2, n + 2, 2, n_states))
    A = np.zeros((n + 2, 2, n + 1, n_states, n_states))
    for d, s in itertools.product(range(2), range(n_symbols + 1)):
        for h in range(k if s < n_symbols else 1):
            head = s * k + h
            if s == n_symbols:
                alpha_1[head, d] = unrefined.alpha_1[s, d]
                alpha_inf[head, d] = unrefined.alpha_inf[s, d]
            else:
                alpha_1[head, d] = refined.alpha_1[s, d, :, h]
                alpha_inf[head, d] = refined.alpha_inf[s, d, :, h]
            for m, g in itertools.product(range(n_symbols), range(k)):
                for before, after in itertools.product(range(n_states), repeat=2):
                    if s < n_symbols and refined.blocks[s, d, m] >= 0:
                        move = refined.A[refined.blocks[s, d, m], g, before, after, h]
                    else:
                        move = unrefined.A[s, d, m, after, before] * refined.common[m, g]
                        move *= 1.0 if s == n_symbols else refined.backoff[s, d, before, h]
                    A[head, d, m * k + g, after, before] = move
            A[head, d, -1] = A[head, d, :-1].sum(axis=0)
    alpha_1[-1, 1, 0] = alpha_inf[-1, 1, 0] = 1.0
    A[-1, 1, :-1, 0, 0] = refined.roots.ravel()
    A[-1, 1, -1, 0, 0] = 1.0
    return Operators(alpha_1, alpha_inf, A)


def refine_codes(codes, n_symbols, k):
    """All codes over pairs that stand for these symbols; the unknown one has one refinement."""
    ranges = [range(k) if code < n_symbols else [0] for code in codes]
    for refinements in itertools.product(*ranges):
        yield [code * k + g for code, g in zip(codes, refinements, strict=True)]


def enumerate_refined(grammar, codes, **factors):
    """Z and expected uses by all trees, refinements and paths of states."""
    operators, of_each = unfold_slowly(grammar), []
    for refined in refine_codes(codes, *grammar.refined.roots.shape):
        uses = enumerate_uses(operators, refined, **factors)
        z = uses.sign * np.exp(uses.log_abs_z)
        of_each.append([z * part for part in (1.0, *uses[2:5], *uses.counts)])
    z, *parts = map(sum, zip(*of_each, strict=True))
    with np.errstate(all="ignore"):
        arcs, of_arcs, of_stops, *counts = (part / z for part in parts)
        return Uses(np.sign(z), np.log(z), arcs, of_arcs, of_stops, counts)


@over("n_symbols, n_states, k, n_classes", [(2, 1, 1, 1), (2, 2, 2, 2), (1, 3, 3, 1), (2, 1, 3, 3)])
def test_chart_agrees_with_the_enumeration(n_symbols, n_states, k, n_classes):
    grammar, counts = random_refined(n_states, n_symbols, n_states, k), []
    rng = np.random.default_rng(k)
    # The last symbol is unknown.
    factors = random_factors(rng, [1, 2, 3, 4 if k < 3 else 3], n_symbols + 1, n_classes, 0.1)
    found = chart(grammar, Potentials(**factors), counts=True)
    for s in range(4):
        expected = enumerate_refined(grammar, **of_sentence(factors, factors["indptr"], s))
        assert_same_uses(uses_of(found, factors, s), expected, rtol=1e-11, atol=1e-11)
        if expected.sign:
            counts.append(expected.counts)
    counts = list(map(sum, zip(*counts, strict=True)))
    of_starts, of_stops, of_moves = (part[: n_symbols * k] for part in counts)
    shape = n_symbols, k, 2, n_states
    assert_allclose(np.moveaxis(found.counts.alpha_1, 3, 1), of_starts.reshape(shape), atol=1e-10)
    assert_allclose(np.moveaxis(found.counts.alpha_inf, 3, 1), of_stops.reshape(shape), atol=1e-10)
    for (s, d, m), block in np.ndenumerate(grammar.refined.blocks):
        if block >= 0:
            moves = of_moves[s * k : (s + 1) * k, d, m * k : (m + 1) * k]
            assert_allclose(found.counts.A[block], moves.transpose(1, 3, 2, 0), atol=1e-10)
    roots = counts[2][-1, 1, :-1].sum(axis=(1, 2))[: n_symbols * k]
    assert_allclose(found.counts.roots.ravel(), roots, atol=1e-10)


@compiled
@over("n_states", [1, 2])
def test_symbols_may_have_fewer_refinements_than_others(n_states):
    """Last or first, those that there are none of make no difference, but shorter rows if last."""
    full = random_refined(n_states, 2, n_states, 19)
    refined = full.refined
    modifiers = np.nonzero(refined.blocks >= 0)[2][np.argsort(refined.blocks[refined.blocks >= 0])]
    is_used = np.arange(19) < np.array([[3], [10]])
    grammar = full._replace(
        refined=refined._replace(
            A=refined.A * is_used[modifiers][:, :, None, None, None],
            common=refined.common * is_used,
            roots=refined.roots * is_used,
        )
    )
    reverse = {
        name: getattr(grammar.refined, name)[..., ::-1]
        for name in ("alpha_1", "alpha_inf", "backoff", "common", "roots")
    }
    moves = grammar.refined.A[:, ::-1, ..., ::-1]
    other = grammar._replace(refined=grammar.refined._replace(A=moves, **reverse))
    rng = np.random.default_rng(0)
    potentials = Potentials(**random_factors(rng, [1, 2, 3, 5, 8, 8], 3, 2, 0.1))
    one, two = (chart(each, potentials, counts=True) for each in (grammar, other))
    assert_array_equal(one.sign, two.sign)
    assert one.sign.max() == 1
    for name in ("log_abs_z", "arcs", "arc_memory", "stop_memory"):
        assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-11, atol=1e-12)
    assert_allclose(one.counts.A, two.counts.A[:, ::-1, ..., ::-1], rtol=1e-10, atol=1e-12)
    for name in ("alpha_1", "alpha_inf", "common", "roots"):
        values, reversed_values = getattr(one.counts, name), getattr(two.counts, name)[..., ::-1]
        assert_allclose(values, reversed_values, rtol=1e-10, atol=1e-12)


def test_unfolded_grammar_is_that_of_the_definition():
    grammar = random_refined(0, 3, 2, 4)
    for one, other in zip(unfold(grammar), unfold_slowly(grammar), strict=True):
        assert_allclose(one, other, rtol=1e-13)


def test_forbidden_arcs_have_no_mass_and_sentences_without_a_tree_neither():
    grammar = random_refined(0, 2, 2, 2)
    arcs = np.zeros((3, 4))
    arcs[[0, 2], 0] = -np.inf
    found = chart(grammar, Potentials(np.array([0, 3]), np.array([0, 1, 0]), arcs.ravel()))
    marginals = found.arcs.reshape(3, 4)
    assert_allclose(marginals.sum(axis=1), 1)
    assert_allclose(marginals[:, 0], [0, 1, 0])
    assert_array_equal(marginals[[0, 2], 0], 0)
    arcs[1, 0] = -np.inf
    found = chart(grammar, Potentials(np.array([0, 3]), np.array([0, 1, 0]), arcs.ravel()))
    assert found.sign[0] == 0
    assert np.isnan(found.arcs).all()


@compiled
def test_long_sentences_are_scaled_by_the_grammar_without_refinements():
    """Stops of 1e-9 make Z of 120 tokens about 1e-2160."""
    grammar, n = random_refined(0, 2, 2, 2), 120
    small = grammar.refined._replace(alpha_inf=grammar.refined.alpha_inf * 1e-9)
    rest = grammar.unrefined._replace(alpha_inf=grammar.unrefined.alpha_inf * 1e-9)
    sentence = Potentials(np.array([0, n]), np.arange(n) % 2)
    expected, shift = chart(grammar, sentence), 2 * n * np.log(1e-9)
    for arcs in (None, np.full(n * (n + 1), -900.0), np.full(n * (n + 1), 900.0)):
        found = chart(RefinedGrammar(small, rest), sentence._replace(arcs=arcs))
        of_arcs = 0.0 if arcs is None else n * arcs[0]
        assert_allclose(found.log_abs_z, expected.log_abs_z + shift + of_arcs, rtol=1e-11)
        assert_allclose(found.arcs, expected.arcs, atol=1e-10)


random_trees = partial(make_trees, longest=6, symbols="ABC")


def fold(trees, y=None):
    encoded = encode_trees(trees, y)
    arrays = encoded.codes, encoded.heads, encoded.indptr
    return encoded, fold_trees(*arrays, encoded.symbols.size)


def naive_log(grammar, codes, heads):
    n_symbols, k = grammar.refined.roots.shape
    operators = unfold_slowly(grammar)
    root = operators.A.shape[0] - 1
    return np.log(
        sum(
            tree_value(operators, [root, *refined], heads)
            for refined in refine_codes(codes, n_symbols, k)
        )
    )


def test_logs_of_trees_agree_with_the_enumeration_of_refinements():
    trees = [tree for tree in random_trees(30, 0) if len(tree) < 6]
    grammar = random_refined(1, 2, 2, 2)  # C is unknown
    codes = [["ABC".index(symbol) for symbol in tree.symbols] for tree in trees]
    indptr = np.cumsum([0, *map(len, trees)])
    heads = np.concatenate([tree.heads for tree in trees])
    graph = fold_trees(np.concatenate(codes), heads, indptr, 3)
    expected = [naive_log(grammar, c, t.heads) for c, t in zip(codes, trees, strict=True)]
    assert_allclose(tree_logs(graph, extend(grammar, graph.pairs)), expected, rtol=1e-11)


def test_uses_are_derivatives_of_the_likelihood():
    encoded, graph = fold(random_trees(30, 2))
    refined = extend(random_refined(2, 3, 2, 3, unseen=0), graph.pairs)
    parts = {name: getattr(refined, name)[:3] for name in ("alpha_1", "alpha_inf", "roots")}
    refined = refined._replace(**parts)
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(encoded.weights))
    uses, log_likelihood = expect_uses(graph, refined, weights)
    assert_allclose(log_likelihood, weights @ tree_logs(graph, refined))
    rng = np.random.default_rng(1)
    for name in ("alpha_1", "alpha_inf", "A", "roots"):
        values = getattr(refined, name)
        direction = rng.normal(size=values.shape)
        moved = [
            expect_uses(graph, refined._replace(**{name: values * np.exp(e * direction)}), weights)[
                1
            ]
            for e in (1e-5, -1e-5)
        ]
        assert_allclose(
            np.sum(getattr(uses, name) * direction), np.diff(moved)[0] / -2e-5, rtol=1e-7
        )


@compiled
def test_without_smoothing_the_likelihood_never_falls():
    encoded, graph = fold(random_trees(30, 3))
    unrefined = EMSHAG(2, init="moments", smoothing=1).fit(random_trees(30, 3)).operators_
    refined, previous = start_unrefined(unrefined, graph.pairs), -np.inf
    uses, _ = expect_uses(graph, refined, encoded.weights)
    for sizes in map(np.array, ([2, 2, 1], [3, 2, 2])):
        refined, previous = (
            split_refinements(refined, uses, graph.pairs, sizes, np.random.RandomState(0)),
            -np.inf,
        )
        for _ in range(20):
            uses, log_likelihood = expect_uses(graph, refined, encoded.weights)
            assert log_likelihood >= previous - 1e-9
            previous = log_likelihood
            refined = estimate_refined(uses, unrefined, graph.pairs)


def hide(trees, chosen):
    """Hide the head of the first token of some trees."""
    return [
        tree.with_heads([-1, *tree.heads[1:]]) if s in chosen else tree
        for s, tree in enumerate(trees)
    ]


@compiled
def test_partial_trees_that_have_one_completion_are_as_good_as_whole_ones():
    """Of two tokens the first is the root, or below the second one: what this one has tells."""
    trees = [*random_trees(30, 3), *(t for t in random_trees(60, 4) if len(t) == 2)]
    grammar = random_refined(3, 3, 2, 3, unseen=0)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(trees))
    found = []
    for X in (trees, hide(trees, range(30, len(trees)))):
        treebank = _fold_treebank(
            encode_trees(X, sample_weight=weights, partial=True), fold(trees)[0].heads, 1
        )
        refined = extend(grammar, treebank.graph.pairs)
        parts = ("alpha_1", "alpha_inf", "backoff", "common", "roots")
        refined = refined._replace(
            **{name: getattr(refined, name)[:3] for name in parts}, blocks=refined.blocks[:3, :, :3]
        )
        found.append(expect_all_uses(treebank, grammar.unrefined, refined))
    (one, log_one, _), (other, log_other, _) = found
    assert_allclose(log_other, log_one, rtol=1e-11)
    for part, expected in zip(other, one, strict=True):
        assert_allclose(part, expected, rtol=1e-10, atol=1e-12)


@compiled
def test_partial_trees_teach(trees):
    """What is nowhere in whole trees becomes known; what no tree can have is left out."""
    rng = np.random.default_rng(0)
    halves = [
        tree.with_heads(np.where(rng.uniform(size=len(tree)) < 0.5, -1, tree.heads))
        for tree in trees[20:]
    ]
    halves += [
        DependencyTree(["NOUN", "NEW"], [-1, 0]),
        DependencyTree(["NOUN", "NONE"], [-1, -1]),
    ]
    impossible = DependencyTree(["DET", "NOUN", "VERB", "ADV"], [3, 4, -1, -1])
    model = RefinedSHAG(2, 4, max_iter=5, smoothing=1, random_state=0).fit([*trees[:20], *halves])
    assert {"NEW", "NONE"} & {*model.symbols_} == {"NEW"}
    whole = clone(model).fit(trees[:20])
    assert model.score(trees[20:]) > whole.score(trees[20:])
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    with pytest.warns(UserWarning, match="1 of 21 sentences are left out"):
        assert_array_equal(
            clone(model).fit([*trees[:20], impossible]).loss_curve_, whole.loss_curve_
        )


def test_posteriors_of_tokens_agree_with_the_enumeration():
    grammar = random_refined(5, 2, 2, 2)  # C is unknown
    for tree in (tree for tree in random_trees(30, 0) if len(tree) < 6):
        codes = np.array(["ABC".index(symbol) for symbol in tree.symbols])
        arrays = codes, np.array(tree.heads), np.array([0, codes.size])
        graph = fold_trees(*arrays, 3, by_token=True)
        found = token_posteriors(graph, extend(grammar, graph.pairs))
        operators, expected = unfold_slowly(grammar), np.zeros((codes.size, 2))
        for refined in refine_codes(codes, 2, 2):
            value = tree_value(operators, [operators.A.shape[0] - 1, *refined], tree.heads)
            expected[np.arange(codes.size), np.array(refined) - 2 * codes] += value
        expected /= expected.sum(axis=1, keepdims=True)
        assert_allclose(found, expected, atol=1e-12)


def total_masses(grammar):
    """What leaves each state of each refined head, to stop or to go on; and what starts."""
    operators = unfold(grammar)
    leaving = operators.alpha_inf + operators.A[:, :, :-1].sum(axis=(2, 3))
    return operators.alpha_1[:-1].sum(axis=-1), leaving[:-1]


@pytest.fixture(scope="module")
def model(trees):
    return RefinedSHAG(3, 5, max_iter=4, random_state=0).fit(trees)


@compiled
def test_what_is_learned_are_probabilities(model):
    for refined in (*model.stages_, model.refined_operators_):
        starts, leaving = total_masses(RefinedGrammar(refined, model.operators_))
        assert_allclose(starts, 1)
        assert_allclose(leaving, 1)
        assert_allclose(refined.roots.sum(), 1)
        assert_allclose(refined.common.sum(axis=1), 1)
    sizes = dict(
        zip(model.symbols_, (model.refined_operators_.common > 0).sum(axis=1), strict=True)
    )
    assert (sizes["NOUN"], sizes["VERB"], sizes["DET"], sizes["PUNCT"]) == (5, 5, 4, 4)


@compiled
def test_one_refinement_is_the_grammar_without(model, trees):
    em = EMSHAG(3, init="moments", smoothing=1, random_state=0).fit(trees)
    one = model.truncate(1).set_params(prune=0)
    assert_allclose(one.score_samples(trees), em.score_samples(trees), rtol=1e-12)
    assert_allclose(one.log_likelihood(trees), em.log_likelihood(trees), rtol=1e-12)
    for found, expected in zip(
        one.predict_marginals(trees[:20]), em.predict_marginals(trees[:20]), strict=True
    ):
        assert_allclose(found, expected, atol=1e-12)


@compiled
def test_stages_are_those_of_fits_with_fewer_refinements(model, trees):
    assert [stage.roots.shape[1] for stage in model.stages_] == [1, 2, 4]
    four = RefinedSHAG(3, 4, max_iter=4, random_state=0).fit(trees)
    assert_equal(model.truncate(4).refined_operators_, four.refined_operators_)


@compiled
def test_pruning_leaves_trees_and_no_likelihood_depends_on_it(model, trees):
    exact = model.truncate(5).set_params(prune=0)
    pruned = model.truncate(5).set_params(prune=0.3)
    X = trees[:30]
    assert_array_equal(exact.conditional_log_likelihood(X), pruned.conditional_log_likelihood(X))
    n_zero = 0
    for one, other in zip(exact.predict_marginals(X), pruned.predict_marginals(X), strict=True):
        assert_allclose(other.sum(axis=1), 1)
        n_zero += np.sum(other == 0) - np.sum(one == 0)
    assert n_zero > 0
    known = [tree.heads for tree in X]
    allowed = [np.eye(len(heads) + 1, dtype=bool)[heads] for heads in known]
    assert_equal(list(pruned.predict(X, allowed=allowed)), known)


@compiled
def test_known_heads_that_cross_are_kept_whatever_is_pruned(model):
    tree = DependencyTree(["DET", "NOUN", "VERB", "ADV"], [3, 4, 0, 3])  # 3 -> 1 and 4 -> 2
    other = model.truncate(5).set_params(decoder="mst", prune=0.9)
    assert_array_equal(other.parse([tree], keep_heads=True)[0].heads, tree.heads)
    (marginals,) = other.predict_marginals([tree], allowed=arcs_left_by([tree.heads]))
    assert_allclose(marginals[np.arange(4), tree.heads], 1)


@compiled
@pytest.mark.filterwarnings("ignore::sklearn_shag.treebank.UnknownSymbolWarning")
def test_unknown_symbols_are_missing_observations(model):
    """An unknown root may be any, with the automata of the pool."""
    unrefined = model.operators_
    stops = (unrefined.alpha_1 * unrefined.alpha_inf)[-2].sum(axis=1).prod()
    assert_allclose(np.exp(model.score_samples([["???"]], [[0]])), stops)
    assert_array_equal(model.predict([["???", "NOUN", "???"]])[0].shape, (3,))


@compiled
def test_what_takes_few_modifiers_has_few_refinements(english):
    """Four, if a token has less than a fifth of the modifiers that it has on average."""
    model = RefinedSHAG(1, 8, max_iter=2, tol=0, random_state=0).fit(english)
    symbols = [symbol for tree in english for symbol in tree.symbols]
    taking = [tree.symbols[h - 1] for tree in english for h in tree.heads if h]
    few = 0.2 * len(taking) / len(symbols)
    expected = [4 if taking.count(s) < few * symbols.count(s) else 8 for s in model.symbols_]
    assert set(expected) == {4, 8}
    assert_array_equal((model.refined_operators_.common > 0).sum(axis=1), expected)


@compiled
def test_iterations_end_when_one_changes_little(english):
    """Not when one lowers the likelihood, as smoothed ones do after the second split."""
    settings = {"smoothing": 4.0, "mixing": 0.3, "max_iter": 200, "random_state": 0}
    one, two = (RefinedSHAG(1, n, tol=1e-4, **settings).fit(english[:40]) for n in (2, 4))
    assert two.loss_curve_[: one.n_iter_ + 1] == one.loss_curve_
    changes = -np.diff(two.loss_curve_) / 40
    assert changes[one.n_iter_ + 1] < -1e-4
    for of_stage in np.split(changes, [one.n_iter_]):
        assert (np.abs(of_stage[1:-1]) > 1e-4).all()
        assert np.abs(of_stage[-1]) <= 1e-4


@compiled
def test_warm_start_goes_on(trees):
    model = RefinedSHAG(2, 2, max_iter=3, warm_start=True, random_state=0).fit(trees)
    first = model.loss_curve_
    model.fit(trees)
    assert_allclose(model.loss_curve_[0], first[-1], rtol=1e-12)
    model.set_params(n_refinements=4).fit(trees)
    assert [stage.roots.shape[1] for stage in model.stages_] == [1, 2]


@compiled
def test_more_runs_keep_the_best(trees):
    few = RefinedSHAG(2, 2, max_iter=3, random_state=0).fit(trees)
    more = RefinedSHAG(2, 2, max_iter=3, n_init=3, random_state=0).fit(trees)
    assert more.loss_curve_[-1] <= few.loss_curve_[-1]


@compiled
def test_drawn_trees_are_those_of_the_grammar(model):
    drawn = model.sample(2000, random_state=0)
    assert np.isfinite(model.score_samples(drawn)).all()
    roots = [tree.symbols[list(tree.heads).index(0)] for tree in drawn]
    expected = model.refined_operators_.roots.sum(axis=1)
    for symbol, share in zip(model.symbols_, expected, strict=True):
        deviation = np.sqrt(max(share * (1 - share), 1e-3) / 2000)
        assert abs(roots.count(symbol) / 2000 - share) < 5 * deviation


@compiled
def test_product_with_words_is_the_product_of_values(english, trees):
    hidden, words = RefinedSHAG(2, 2, max_iter=2, prune=0, random_state=0), LexicalizedSHAG()
    product = ProductParser([("hidden", hidden), ("words", words)]).fit(trees)
    one, other = product.estimators_
    X = [tree for tree in english if len(tree) < 5 and one.score_samples([tree]) > -np.inf][:3]
    assert X
    found = product.conditional_log_likelihood(X)
    for tree, value in zip(X, found, strict=True):
        candidates = [tree.with_heads(heads) for heads in projective_trees(len(tree))]
        logs = one.score_samples(candidates) + other.score_samples(candidates)
        total = np.logaddexp.reduce(logs)
        mine = one.score_samples([tree]) + other.score_samples([tree])
        assert_allclose(value, mine[0] - total, rtol=1e-9)


@compiled
def test_automaton_of_a_refinement(model, trees):
    """Over symbols, whatever their refinements; its sequences are those of tokens that have it."""
    grammar = RefinedGrammar(model.refined_operators_, model.operators_)
    noun = list(model.symbols_).index("NOUN")
    alpha_1, alpha_inf, A = (part[noun * 5 + 2, 0] for part in unfold(grammar))
    of_symbols = [*A[:-1].reshape(-1, 5, 3, 3).sum(axis=1), A[-1]]
    found = refined_automaton(grammar, noun, 0, 2)
    for part, expected in zip(found, (alpha_1, alpha_inf, of_symbols), strict=True):
        assert_allclose(part, expected, rtol=1e-12)
    whole = approximate_dfa(model, trees, head="NOUN", direction="left", min_count=1)
    sentences = [tree.symbols for tree in trees]
    codes, indptr = encode_sentences(sentences, model.symbols_)
    heads = np.concatenate([tree.heads for tree in trees])
    best = model._token_posteriors(codes, heads, indptr).argmax(axis=1)[codes == noun]
    for g in np.unique(best):
        found = approximate_dfa(
            model, trees, head="NOUN", direction="left", min_count=1, refinement=int(g)
        )
        assert (found.head, found.n_sequences) == (f"NOUN.{g}", np.sum(best == g))
    assert best.size == whole.n_sequences


@compiled
def test_typical_relations_sum_to_the_counts_of_the_trees(model, trees):
    table = top_refinements(model, trees, symbol="NOUN", n=1000, n_words=1000, n_examples=2)
    n_nouns = sum(tree.symbols.count("NOUN") for tree in trees)
    arcs = [
        (symbol, ["root", *tree.symbols][head], m < head)
        for tree in trees
        for m, (symbol, head) in enumerate(zip(tree.symbols, tree.heads, strict=True), start=1)
    ]
    n_left = arcs.count(("DET", "NOUN", True))
    n_root = arcs.count(("NOUN", "root", False))
    masses = table.shares * table.counts
    of_left = (table.relations == "modifier on the left") & (table.others == "DET")
    assert_allclose(masses[of_left].sum(), n_left / n_nouns)
    assert_allclose(masses[table.relations == "head"].sum(), n_root / n_nouns)
    names, places = np.unique(table.refinements, return_index=True)
    assert len(names) == 5
    assert_allclose(table.shares[places].sum(), 1)
    gains = table.counts * np.log(np.maximum(table.ratios, 1e-300))
    is_example, is_word = table.relations == "example", table.relations == "word"
    forms = [
        f for tree in trees for f, s in zip(tree.forms, tree.symbols, strict=True) if s == "NOUN"
    ]
    assert_allclose(
        masses[is_word & (table.others == forms[0])].sum(), forms.count(forms[0]) / n_nouns
    )
    assert np.sum(is_example) == 10
    assert all(re.search(r"\[\w+\]", text) for text in table.others[is_example])
    of_first = (table.refinements == table.refinements[0]) & ~is_example & ~is_word
    assert (np.diff(gains[of_first]) <= 1e-12).all()
