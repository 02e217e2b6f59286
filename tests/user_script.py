"""A script as users write it, with everything that is public.

The tests run it, and type checkers check it against the installed package (`.ci/types`):
`assert_type` says what they have to know of a result.
"""

import io
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, assert_type
from wsgiref.types import WSGIApplication
from wsgiref.util import setup_testing_defaults

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

import sklearn_shag
from sklearn_shag import (
    DMV,
    EMSHAG,
    AveragedParser,
    BaseSHAG,
    BiaffineParser,
    ConcaveParser,
    CRFParser,
    DependencyVectorizer,
    DeterministicSHAG,
    DistilledParser,
    DummyParser,
    EMAutomaton,
    LexicalizedSHAG,
    MixtureSHAG,
    ModelFileError,
    ParserPipeline,
    ProductParser,
    RefinedSHAG,
    SpectralAutomaton,
    SpectralSHAG,
    Splitter,
    SyntaxStatistics,
    Tagger,
    TextParser,
    load_model,
    make_parser_pipeline,
    read_card,
    save_model,
)
from sklearn_shag.automata import HMM, NGrams
from sklearn_shag.datasets import (
    fetch_treebank,
    get_data_home,
    load_english,
    load_parser,
    make_sequences,
    make_treebank,
)
from sklearn_shag.features import (
    DEFAULT_TEMPLATES,
    FeatureUse,
    FeatureWeight,
    LinearWeights,
    TransformerVectors,
    read_vectors,
)
from sklearn_shag.inspection import (
    ApproximateDFA,
    ArcCalibrationDisplay,
    ArcMarginalsDisplay,
    ArcTable,
    AutomatonDisplay,
    AutomatonGains,
    AutomatonRanks,
    CalibrationBins,
    DependencyTreeDisplay,
    DFAStates,
    DFATransitions,
    MarginalReport,
    RefinementTable,
    SuspiciousArcs,
    UncertainArcs,
    UncertainSentences,
    approximate_dfa,
    arc_table,
    automaton_gains,
    automaton_ranks,
    expected_calibration_error,
    inspect_marginals,
    least_certain_arcs,
    least_certain_sentences,
    suspicious_arcs,
    top_modifiers,
    top_refinements,
)
from sklearn_shag.learning import fallback_grammar, learn_grammar
from sklearn_shag.metrics import (
    AttachmentBreakdown,
    LabeledBreakdown,
    RawTextScore,
    ScoreInterval,
    ScoreReport,
    attachment_breakdown,
    content_labeled_attachment_score,
    exact_match_score,
    exact_match_scorer,
    is_punctuation,
    label_accuracy_score,
    labeled_attachment_score,
    labeled_breakdown,
    las_scorer,
    neutral_edge_direction_score,
    raw_text_scores,
    score_report,
    uas_scorer,
    undirected_attachment_score,
    unlabeled_attachment_score,
)
from sklearn_shag.network import NetworkWeights
from sklearn_shag.operators import (
    Operators,
    RefinedGrammar,
    RefinedOperators,
    are_equivalent,
    branching_radius,
    change_basis,
    complete_grammar,
    exact_moments,
    from_att,
    join_automata,
    l2_distance,
    log_values,
    mixture,
    operators_from_counts,
    product,
    sample_derivations,
    sequence_values,
    to_att,
    to_dot,
    total_mass,
    unfold,
)
from sklearn_shag.parsing import (
    ChartResults,
    InsideOutside,
    Potentials,
    ProjectiveHeads,
    best_trees,
    chart,
    eisner,
    has_projective_completion,
    inside_outside,
    maximum_arborescence,
    projectivize,
    tree_loss,
    tree_values,
)
from sklearn_shag.sequences import (
    LEFT,
    RIGHT,
    HeadModifierSequences,
    LabelCounts,
    Moments,
    PrefixTree,
    SequenceStatistics,
    TreebankStatistics,
    assemble_trees,
    build_prefix_trees,
    collapse_sequences,
    collect_statistics,
    count_treebank,
    extract_sequences,
    merge_statistics,
    pair_moments,
)
from sklearn_shag.service import make_app
from sklearn_shag.treebank import (
    ConlluError,
    DependencyTree,
    Dictionary,
    EmptyNode,
    MultiwordToken,
    Token,
    TokenFeature,
    UnknownSymbolWarning,
    allowed_arcs,
    from_spacy,
    from_token_list,
    heads,
    is_projective,
    iter_conllu,
    iter_horizontal,
    iter_jsonl,
    join_text,
    lift,
    nonprojective_arcs,
    read_conllu,
    read_dictionary,
    read_horizontal,
    read_jsonl,
    remove_punctuation,
    to_dataframe,
    to_html,
    to_spacy,
    to_token_list,
    write_conllu,
)

CONLLU = """\
1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\tTense=Pres\t0\troot\t_\t_
"""


def read_and_write(folder: Path) -> None:
    """Trees, from files and to files."""
    trees = read_conllu(io.StringIO(CONLLU))
    tree = DependencyTree.from_conllu(trees[0].to_conllu())
    assert_type(tree, DependencyTree)
    assert_type(tree.sent_id, str | None)
    assert_type(tree.comments, tuple[str, ...])
    assert_type(tree.multiword_tokens, tuple[MultiwordToken, ...])
    assert_type(tree.empty_nodes, tuple[EmptyNode, ...])
    assert_type(tree.to_dict()["form"], Any)
    assert_type(DependencyTree.from_dict(tree.to_dict()), DependencyTree)
    rows = json.dumps(tree.to_dict())
    assert_type(read_jsonl(io.StringIO(rows), on_error="warn"), list[DependencyTree])
    assert_type(iter_jsonl(io.StringIO(rows), ("upos", "xpos")), Iterator[DependencyTree])
    assert_type(from_token_list(to_token_list(tree)), DependencyTree)
    print(to_dataframe, from_spacy, to_spacy, tree.misc, tree.deps)
    print(tree.with_sent_id("a").with_text("b").with_comments(["# c"]).with_deps(tree.deps))
    print(tree.with_heads(tree.heads, keep_deps=True), tree.tokens[0].deps)
    assert_type(trees, list[DependencyTree])
    words = read_dictionary(io.StringIO("dogs\tNOUN\t_\tNumber=Plur\tdog\n"))
    assert_type(words, Dictionary)
    assert list(words.to_lines()) == ["dogs\tNOUN\t_\tNumber=Plur\tdog"]
    path = folder / "trees.conllu"
    write_conllu((tree for tree in trees), path)
    with open(path, encoding="utf-8") as file:
        assert read_conllu(file, symbols="xpos", on_error="warn") == read_conllu(
            [str(path)], symbols=["xpos"], on_error="skip"
        )
    assert_type(read_horizontal([io.StringIO("Dogs bark\n")]), list[DependencyTree])
    assert_type(iter_horizontal(io.StringIO("Dogs bark\n")), Iterator[DependencyTree])
    assert_type(iter_conllu(load_english().filename), Iterator[DependencyTree])
    (folder / "words.vec").write_text("1 2\ndogs 0.5 1\n")
    vectors = read_vectors(folder / "words.vec", words={"Dogs"}, limit=10)
    assert_type(vectors, tuple[list[str], NDArray[np.float32]])
    source = TransformerVectors(folder, layers=[3, 4], batch_size=100, n_jobs=2, memory="kept")
    BiaffineParser(embeddings=(vectors, source))
    try:
        read_conllu(io.StringIO("Dogs bark\n"))
    except ConlluError as error:
        assert_type(error.line, int)
        assert_type(error.path, str)

    assert_type(tree.forms, tuple[str, ...])
    assert_type(tree.symbols, tuple[str, ...])
    assert_type(tree.upos, tuple[str, ...] | None)
    assert_type(tree.deprels, tuple[str, ...] | None)
    assert_type(tree.heads, NDArray[np.intp] | None)
    assert tree.heads is not None
    print(tree, repr(tree), len(tree), tree.is_projective, tree.heads.tolist())
    for column in (tree.lemmas, tree.xpos, tree.feats):
        assert_type(column, tuple[str, ...] | None)
    assert_type(tree.column("feats.Number"), tuple[str, ...])
    changed = tree.with_heads([0, 1], deprels=["root", "obj"]).with_symbols(["N", "V"])
    assert_type(changed, DependencyTree)
    assert changed != tree
    assert DependencyTree(["Dogs", "bark"], np.array([2, 0]), upos=("NOUN", "VERB")) != tree
    y = heads(trees)
    assert_type(y, list[NDArray[np.intp]])
    partial = tree.with_heads([2, -1])
    assert_type(allowed_arcs([partial, [0, -1]]), list[NDArray[np.bool_]])
    assert_type(is_projective(partial), bool)
    assert_type(lift([3, 4, 0, 3]), NDArray[np.int64])
    assert_type(nonprojective_arcs([3, 4, 0, 3]), tuple[int, ...])
    assert_type(has_projective_completion([partial, [0, -1]]), NDArray[np.bool_])
    found = projectivize([tree, [3, 4, 0, 3]], nonprojective="drop")
    assert_type(found, ProjectiveHeads)
    assert_type(found.heads, list[NDArray[np.int64]])
    for tokens in (tree.children(2), tree.descendants(0), tree.subtree(2), tree.path(1, 2)):
        assert_type(tokens, tuple[int, ...])
    assert_type(tree.depth(1), int)
    assert_type(tree.crossing_arcs(), tuple[tuple[int, int], ...])
    assert tree.to_networkx().number_of_edges() == len(tree)
    assert_type(tree.to_svg(highlight=[1], colors=True, compact=True), str)
    assert_type(to_html(trees, highlight=lambda token: token.upos == "VERB"), str)
    assert_type(tree.document, str | None)
    assert_type(tree.root, Token)
    for token in tree.tokens:
        assert_type(token.head, Token | None)
        assert_type(token.feats, dict[str, str])
        assert_type([child.form for child in token.children], list[str])
    print(tree.to_displacy()["arcs"])


def load_treebanks(folder: Path) -> None:
    """Treebanks: bundled, generated, downloaded."""
    english = load_english()
    assert_type(english.data, list[DependencyTree])
    assert_type(english.target, list[NDArray[np.intp]])
    assert_type(english.DESCR, str)
    assert_type(english.filename, str)
    trees, y = load_english(symbols=("upos", "xpos"), return_X_y=True)
    assert_type(trees, list[DependencyTree])
    assert_type(y, list[NDArray[np.intp]])

    assert_type(make_treebank(3, 2, random_state=0), list[DependencyTree])
    assert_type(make_sequences(3, 2, random_state=0), list[list[int]])
    made, known = make_sequences(3, random_state=0, return_operators=True)
    assert_type(made, list[list[int]])
    assert_type(EMAutomaton.from_operators(known), EMAutomaton)
    drawn, grammar = make_treebank(3, random_state=np.random.RandomState(0), return_operators=True)
    assert_type(drawn, list[DependencyTree])
    assert_type(grammar, Operators)

    assert_type(get_data_home(), Path)
    treebank = get_data_home(folder) / "UD_Doggish-Bark"
    treebank.mkdir()
    for split in ("train", "dev", "test"):
        write_conllu(english.data[:3], treebank / f"doggish-ud-{split}.conllu")
    fetched = fetch_treebank("UD_Doggish-Bark", data_home=folder, download_if_missing=False)
    assert_type(fetched.train, list[DependencyTree])
    assert_type(fetched.dev, list[DependencyTree])
    assert_type(fetched.test, list[DependencyTree])
    assert_type(fetched.folder, Path)
    assert fetched.name == treebank.name


def parse(folder: Path) -> None:
    """Estimators on their own."""
    train, test = load_english().data[:100], load_english().data[300:320]
    model = SpectralSHAG(6).fit(train)
    assert_type(model, SpectralSHAG)
    predicted = model.predict(test)
    assert_type(predicted, NDArray[np.object_])
    assert_type(model.predict_marginals([["DET", "NOUN"], ("VERB",)]), NDArray[np.object_])
    assert_type(next(model.iter_parse(iter(test))), Any)
    assert_type(model.parse([np.array(["DET", "NOUN"])]), list[DependencyTree])
    known = np.array([[False, False, True], [True, False, False]])
    parsed = model.parse([["DET", "NOUN"], ["NOUN"]], allowed=[known, None], keep_heads=True)
    assert_type(parsed, list[DependencyTree])
    assert_type(model.conditional_log_likelihood(parsed), NDArray[np.float64])
    assert_type(model.predict_labels(test), NDArray[np.object_])
    assert_type(model.labels_, NDArray[np.object_])
    assert_type(model.label_counts_, LabelCounts)
    assert_type(model.sample(2, random_state=0, max_length=30), list[DependencyTree])
    assert_type(model.score(test, predicted, sample_weight=[1.0] * len(test)), float)
    assert_type(model.score_samples(test, heads(test)), NDArray[np.float64])
    assert_type(model.log_likelihood(test), NDArray[np.float64])
    assert_type(model.symbols_, NDArray[np.object_])
    assert_type(model.operators_, Operators)
    assert_type(model.fallback_operators_, Operators)
    assert_type(model.singular_values_, NDArray[np.float64])
    assert_type(model.effective_rank_, NDArray[np.float64])
    assert_type(model.statistics_, TreebankStatistics)
    assert_type(model.n_states, int)

    save_model(model, folder / "model.npz", card={"note": "of a script"})
    assert_type(read_card(folder / "model.npz"), dict[str, Any])
    try:
        load_model(folder / "model.npz", max_bytes=100)
    except (ModelFileError, OSError) as error:
        assert_type(error, ModelFileError | OSError)
    loaded = load_model(str(folder / "model.npz"))
    assert np.array_equal(loaded.predict(test)[0], predicted[0])
    assert_type(loaded.operators_, Any)
    assert isinstance(loaded, SpectralSHAG)
    assert_type(loaded.operators_, Operators | Any)

    report = inspect_marginals(model, test)
    assert_type(report, MarginalReport)
    assert_type(report.z_sign, NDArray[np.int64])
    assert_type(report.negative_share, NDArray[np.float64])
    assert_type(report.negative_mass, NDArray[np.float64])
    marginals = model.predict_marginals(test)
    assert_type(expected_calibration_error(test, marginals, model.predict(test)), float)
    assert_type(expected_calibration_error([[2, 0]], [np.eye(2, 3)], n_bins=2), float)
    arcs = least_certain_arcs(model, [["DET", "NOUN", "VERB"]], n=2)
    assert_type(arcs, UncertainArcs)
    assert_type(arcs.tokens, NDArray[np.int64])
    listed = least_certain_sentences(model, [["DET", "NOUN", "VERB"]])
    assert_type(listed, UncertainSentences)
    assert_type(listed.error_rates, NDArray[np.float64])
    found = suspicious_arcs(CRFParser(["upos"]), load_english().data[:40], cv=2, n_jobs=2)
    assert_type(found, SuspiciousArcs)
    assert_type(found.tokens, NDArray[np.int64])
    assert_type(found.scores, NDArray[np.float64])

    X, y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"]], [[2, 3, 0], [2, 0]]
    assert_type(SpectralSHAG.published(4), SpectralSHAG)
    baseline = DeterministicSHAG("sibling", smoothing=1, decoder="viterbi")
    assert_type(baseline.fit(X, y), DeterministicSHAG)
    assert_type(baseline.partial_fit(train, sample_weight=np.ones(len(train))), DeterministicSHAG)
    counted = merge_statistics([count_treebank(X, y), count_treebank(train)])
    assert_type(counted, TreebankStatistics)
    assert_type(counted.labels, NDArray[np.object_])
    assert_type(counted.label_counts.counts, NDArray[np.float64])
    assert_type(baseline.fit_statistics(counted), DeterministicSHAG)

    words = LexicalizedSHAG("first", "form", backoff=2, min_count=2, punctuation=["PUNCT"])
    assert_type(words.fit(train, sample_weight=np.ones(len(train))), LexicalizedSHAG)
    assert_type(words.words_, NDArray[np.object_])

    em = EMSHAG(2, init="moments", tol=0.1, random_state=0).fit(train)
    assert_type(em, EMSHAG)
    assert_type(em.loss_curve_, list[float])
    assert_type(em.n_iter_, int)
    assert_type(em.converged_, bool)
    grammar = em.operators_
    assert_type(EMSHAG(2, init=grammar, tol=0.1, max_iter=100).fit(train), EMSHAG)

    refined = RefinedSHAG(2, 2, max_iter=2, random_state=0).fit(train)
    assert_type(refined, RefinedSHAG)
    assert_type(refined.truncate(1), RefinedSHAG)
    assert_type(refined.refined_operators_, RefinedOperators)
    assert_type(refined.stages_, list[RefinedOperators])
    unfolded = unfold(RefinedGrammar(refined.refined_operators_, refined.operators_))
    assert_type(unfolded, Operators)
    typical = top_refinements(refined, train, symbol="NOUN", n=2)
    assert_type(typical, RefinementTable)
    assert_type(typical.shares, NDArray[np.float64])

    tags = [tree.symbols for tree in train]
    strings: list[list[str | None]] = [["DET"], [None, "PRON"]]
    automaton = SpectralAutomaton(2, prefixes=strings, suffixes=[["VERB"]], mixing=0.1).fit(tags)
    assert_type(automaton, SpectralAutomaton)
    assert_type(automaton.truncate(1), SpectralAutomaton)
    assert_type(automaton.ngrams_, NGrams)
    assert_type(automaton.operators_, Operators)
    assert_type(automaton.score_samples(tags), NDArray[np.float64])
    assert_type(automaton.score(tags), float)
    assert_type(automaton.perplexity(tags), float)
    assert_type(automaton.predict_proba([["DET"]]), NDArray[np.float64])
    assert_type(automaton.transform([["DET"]]), NDArray[np.float64])
    em_automaton = EMAutomaton(2, tol=1.0, random_state=0).fit(tags)
    assert_type(em_automaton, EMAutomaton)
    assert_type(em_automaton.aic(tags), float)
    assert_type(em_automaton.state_probabilities(tags), list[NDArray[np.float64]])
    markov = EMAutomaton.from_hmm([1.0], [[0.5]], [[0.5, 0.5]])
    assert_type(markov, EMAutomaton)
    assert_type(markov.to_hmm(), HMM)
    assert_type(em_automaton.sample(2, random_state=0), list[list[Any]])
    paths, logs = em_automaton.state_paths(tags)
    assert_type(paths, list[NDArray[np.int64]])
    assert_type(logs, NDArray[np.float64])
    assert_type(EMAutomaton.from_hmmlearn(markov.to_hmmlearn(SimpleNamespace()), 0.5), EMAutomaton)
    text = to_att(em_automaton.operators_, em_automaton.symbols_.tolist())
    assert_type(text, str)
    read, symbols = from_att(text)
    assert_type(read, Operators)
    assert_type(to_dot(read, symbols), str)
    assert_type(l2_distance(read, em_automaton.operators_), float)
    assert_type(are_equivalent(read, em_automaton.operators_, tol=1e-6), bool)

    average = AveragedParser([("spectral", model), ("em", FrozenEstimator(em))], weights=[2, 1])
    assert_type(average.fit(train), AveragedParser)
    assert_type(AveragedParser.of_seeds(em, 2, n_jobs=2), AveragedParser)
    assert_type(average.set_params(spectral__n_states=4, decoder="max_marginal"), AveragedParser)
    assert_type(average.get_params(), dict[str, Any])
    assert_type(average.estimators_, list[Any])
    assert average.named_estimators_["em"].predict(test)[0].size == len(test[0])
    product = ProductParser([("hidden", em), ("words", words)]).fit(train)
    assert_type(product, ProductParser)
    assert_type(product.parse(test), list[DependencyTree])
    assert_type(average.predict_tree_proba(test), NDArray[np.float64])

    models: list[BaseSHAG] = [model, baseline, em]
    print(sklearn_shag.__version__, [round(each.score(test), 2) for each in models])


def train_on_what_is_asked() -> None:
    """Trees given their sentences, known in part."""
    trees = load_english().data[:60]
    templates = [*DEFAULT_TEMPLATES, "h.upos between.upos m.upos"]
    parser = CRFParser(["upos", "form"], templates=templates, early_stopping=True, random_state=0)
    assert_type(parser.fit(trees, sample_weight=np.ones(len(trees))), CRFParser)
    assert_type(parser.columns_, tuple[str, ...])
    assert_type(parser.vocabulary_, dict[str, list[str]])
    assert_type(parser.weights_, LinearWeights)
    assert_type(parser.weights_.arcs, NDArray[np.float32])
    features = parser.explain(trees[0], 1, head=2, rival=0, n_features=3)
    assert_type(features, list[FeatureWeight])
    assert_type(parser.top_features(trees, label=None, n_features=3), list[FeatureUse])
    assert_type(parser.score_arcs(trees[:2]), NDArray[np.object_])
    network = BiaffineParser("auto", hidden_layer_sizes=(8,), tags=None, max_iter=1)
    assert_type(network.fit(trees), BiaffineParser)
    assert_type(network.weights_, NetworkWeights)
    assert_type(network.weights_.values, NDArray[np.float16])
    assert_type(features[0].weight + features[0].rival_weight, float)


def learn_from_raw_text() -> None:
    trees = remove_punctuation(load_english().data)
    raw = [list(tree.symbols) for tree in trees]
    model = DMV("uniform", rules="ud", tol=0.1)
    assert_type(model.fit(raw), DMV)
    rules = [("VERB", "NOUN"), ("NOUN", "DET", "left")]
    again = DMV(
        model.operators_, rules=rules, algorithm="viterbi", predict_with_rules=True, tol=0.1
    )
    assert_type(again.fit(trees, [[-1] * len(tree) for tree in trees]), DMV)
    hidden = DMV("concave", root_symbols=["VERB"], n_states=2, tol=0.1, random_state=0)
    assert_type(hidden.fit(raw).sample(1, random_state=0), list[DependencyTree])
    parser = ConcaveParser(("VERB", "AUX"), max_iter=5).fit(raw)
    assert_type(parser, ConcaveParser)
    helpers = [("near", FrozenEstimator(DMV(max_iter=5, tol=1).fit(trees, trees)))]
    mixture = MixtureSHAG(helpers, weights="em", tied=True, tol=0.1)
    assert_type(mixture.fit(raw), MixtureSHAG)
    assert_type(mixture.weights_, NDArray[np.float64])
    dummy = DummyParser("random", random_state=0)
    assert_type(dummy.fit(raw).predict(raw), NDArray[np.object_])
    assert_type(dummy.seed_, int)


def look_inside() -> None:
    """What was learned."""
    trees = load_english().data[:200]
    model, baseline = SpectralSHAG(4).fit(trees), DeterministicSHAG().fit(trees)
    dfa = approximate_dfa(model, trees, head="NOUN", direction="left", n_clusters=4, min_count=5)
    assert_type(dfa, ApproximateDFA)
    assert_type(dfa.states, DFAStates)
    assert_type(dfa.states.visits, NDArray[np.int64])
    assert_type(dfa.transitions, DFATransitions)
    assert_type(dfa.transitions.probabilities, NDArray[np.float64])
    assert_type(dfa.coverage, float)
    assert_type(dfa.run(["DET"]), int | None)
    assert_type(dfa.accepts(("ADJ", "DET")), bool)
    assert_type(dfa.to_dot(), str)
    print(dfa, dfa.to_networkx().number_of_nodes())

    gains = automaton_gains(model, trees, heads(trees), baseline=baseline)
    assert_type(gains, AutomatonGains)
    assert_type(gains.heads, NDArray[np.object_])
    assert_type(gains.directions, NDArray[np.str_])
    assert_type(gains.gains, NDArray[np.int64])
    for table in (arc_table(baseline), top_modifiers(model, head="NOUN", n=2)):
        assert_type(table, ArcTable)
        assert_type(table.counts, NDArray[np.float64])
    ranks = automaton_ranks(model)
    assert_type(ranks, AutomatonRanks)
    assert_type(ranks.singular_values, NDArray[np.float64])
    print(gains, ranks)


def look_at_pictures() -> None:
    """Displays."""
    trees = load_english().data
    model = SpectralSHAG(4).fit(trees[:300])
    parse = DependencyTreeDisplay.from_estimator(model, trees[302])
    assert_type(parse, DependencyTreeDisplay)
    assert_type(parse.arcs, dict[str, list[tuple[int, int]]])
    assert_type(DependencyTreeDisplay(trees[0]).plot(ax=parse.ax_), DependencyTreeDisplay)
    DependencyTreeDisplay.from_predictions(trees[302], model.predict(trees[302:])[0])
    marginals = ArcMarginalsDisplay.from_estimator(model, ["DET", "NOUN", "VERB"], cmap="Greens")
    assert_type(marginals, ArcMarginalsDisplay)
    assert_type(marginals.plot(cmap="Reds"), ArcMarginalsDisplay)
    calibration = ArcCalibrationDisplay.from_estimator(model, trees[300:], strategy="quantile")
    assert_type(calibration, ArcCalibrationDisplay)
    assert_type(calibration.bins, CalibrationBins)
    assert_type(calibration.bins.expected_error, float)
    assert_type(calibration.plot(ax=calibration.ax_), ArcCalibrationDisplay)
    ArcCalibrationDisplay.from_predictions(trees[:2], model.predict_marginals(trees[:2]), n_bins=2)
    automaton = AutomatonDisplay.from_estimator(
        model, trees, head="NOUN", direction="left", n_clusters=4
    )
    assert_type(automaton, AutomatonDisplay)
    assert_type(automaton.dfa, ApproximateDFA)
    assert_type(automaton.plot(min_probability=0.1), AutomatonDisplay)
    tags = [tree.symbols for tree in trees]
    of_tags = SpectralAutomaton(n_states=2, mixing=0.1).fit(tags)
    AutomatonDisplay.from_estimator(of_tags, tags, n_clusters=4)


def use_scikit_learn(folder: Path) -> None:
    """Pipelines and searches."""
    trees = load_english().data[:120]
    train, test = train_test_split(trees, random_state=0)
    pipeline = make_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(6))
    pipeline.fit(train)
    print(pipeline.score(test), uas_scorer(pipeline, test), exact_match_scorer(pipeline, test))
    save_model(pipeline, folder / "pipeline.npz")
    print(load_model(folder / "pipeline.npz").predict(test)[0])
    parsing = make_parser_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(6)).fit(train)
    assert_type(parsing, ParserPipeline)
    assert_type(parsing.parse(test), list[DependencyTree])
    assert_type(next(parsing.iter_parse(test, n_jobs=1, confidence=True)), Any)
    assert_type(parsing.predict_label_proba(test), NDArray[np.object_])
    assert_type(parsing.conditional_log_likelihood(test), NDArray[np.float64])
    assert_type(parsing.predict_tree_proba(test), NDArray[np.float64])
    em_parsing = make_parser_pipeline(EMSHAG(2, init="moments", tol=0.1))
    assert_type(em_parsing.fit(train).sample_heads(test, 3, 0), NDArray[np.object_])
    assert_type(em_parsing.parse(test, n_best=2), list[list[DependencyTree]])
    several = em_parsing.parse(test, n_samples=2, random_state=0, confidence=True)
    assert_type(several[0][1], DependencyTree)
    assert_type(em_parsing.k_best_heads(test, 3, n_samples=9)[1], NDArray[np.object_])
    assert_type(parsing.predict_labels(test, unique_relations=["obj"]), NDArray[np.object_])

    feature = TokenFeature("xpos", joined_with=["feats.Number"], min_count=2, rare_symbol=None)
    assert_type(feature.fit(trees), TokenFeature)
    assert_type(feature.transform(trees), list[DependencyTree])
    assert_type(feature.symbols_, NDArray[np.str_])
    assert_type(feature.rare_share_, float)
    assert_type(feature.set_output(transform="default"), TokenFeature)

    tagger = Tagger("upos", ["form", "suffix"], hidden_layer_sizes=[4], max_iter=1, cv=2)
    assert_type(tagger.fit(trees), Tagger)
    assert_type(
        tagger.fit_transform(trees, sample_weight=np.ones(len(trees))), list[DependencyTree]
    )
    assert_type(tagger.transform([["Dogs", "bark"]]), list[DependencyTree])
    assert_type(tagger.predict_tags(trees), NDArray[np.object_])
    assert_type(tagger.score(trees), float)
    make_pipeline(tagger, SpectralSHAG(2)).fit(trees)

    splitter = Splitter(hidden_layer_sizes=[4], max_iter=1)
    assert_type(splitter.fit(trees), Splitter)
    sentences = splitter.split_text("Dogs bark. Cats do not.")
    assert_type(sentences, list[DependencyTree])
    assert_type(join_text(sentences), str)
    assert_type(sentences[0].spans, tuple[tuple[int, int] | None, ...])
    assert_type(splitter.iter_split_text(io.StringIO("Dogs\nbark\n.")), Iterator[DependencyTree])
    assert_type(splitter.split_text("Dogs\nbark", lines=True), list[DependencyTree])
    assert_type(splitter.score(trees), float)
    pipeline = make_parser_pipeline(splitter, BiaffineParser(tags="upos", max_iter=1)).fit(trees)
    student = DistilledParser(BiaffineParser(max_iter=1), CRFParser(max_iter=1), weight=0.5)
    raw = [tree.with_heads(None) for tree in trees]
    assert_type(student.fit([*trees, *raw]), DistilledParser)
    assert_type(student.parse(trees), list[DependencyTree])
    several = pipeline.parse_text("Dogs\nbark\n.", lines=True, n_best=2)
    assert_type(several, list[list[DependencyTree]])
    assert_type(pipeline.iter_parse_text(io.StringIO("Dogs\nbark\n.")), Iterator[Any])
    with suppress(ValueError):
        load_parser("https://127.0.0.1/fr.npz", known_hash="0", data_home=folder)
    bundled = load_parser("english")
    assert_type(bundled, ParserPipeline)
    assert_type(bundled.parse_text("Dogs\nbark\n."), list[DependencyTree])
    texts = ["Dogs\nbark\n.", "It rains."]
    assert_type(bundled.parse_texts(texts, confidence=True), list[list[DependencyTree]])
    for name, document in bundled.iter_parse_texts(iter(texts), ["a", "b"], on_error="skip"):
        assert_type(name, str | int)
        assert_type(document, list[DependencyTree])
    frozen = TextParser(FrozenEstimator(bundled), missing="empty").set_output(transform="default")
    assert_type(frozen.transform(["It rains."]), NDArray[np.object_])
    documents = TextParser(bundled, on_error="skip").transform(texts)
    assert_type(documents, NDArray[np.object_])
    vectorizer = DependencyVectorizer(("arcs", "words"), nodes=lambda token: token.form, min_df=1)
    assert_type(vectorizer.fit(documents), DependencyVectorizer)
    print(vectorizer.transform(trees).shape, DependencyVectorizer(nodes="lemma").fit(trees))
    dense = DependencyVectorizer(sparse_output=False).set_output(transform="default").fit(trees)
    assert_type(dense.inverse_transform(dense.transform(trees)), list[NDArray[np.str_]])
    assert_type(feature.get_feature_names_out(), NDArray[np.object_])
    assert_type(vectorizer.get_feature_names_out(), NDArray[np.object_])
    assert_type(SyntaxStatistics().fit(documents).transform([trees]), NDArray[np.float64])
    # What does not exist is refused, or mypy would refuse the comments.
    with suppress(AttributeError):
        bundled.pars_text("Dogs bark.")  # type: ignore[attr-defined]
    with suppress(AttributeError):
        tagger.transfrom(trees)  # type: ignore[attr-defined]

    search = GridSearchCV(SpectralSHAG(), {"n_states": [1, 2]}, scoring=uas_scorer, cv=2)
    search.fit(trees)
    assert search.best_params_ == {"n_states": 2}
    assert_type(uas_scorer(search, trees), float)
    model = DeterministicSHAG()
    print(cross_val_score(model, trees, cv=2, scoring=exact_match_scorer).mean())

    model.fit(trees)
    y = model.predict(trees)
    assert_type(unlabeled_attachment_score(trees, y, ignore=is_punctuation), float)
    assert_type(exact_match_score(heads(trees), y, sample_weight=np.ones(len(trees))), float)
    masks = [[symbol == "DET" for symbol in tree.symbols] for tree in trees]
    words = remove_punctuation(trees)
    assert_type(words, list[DependencyTree])
    short = undirected_attachment_score(words, model.predict(words), max_length=10)
    assert_type(short, float)
    assert_type(neutral_edge_direction_score(trees, y, sample_weight=np.ones(len(trees))), float)
    breakdown = attachment_breakdown(trees, y, by="modifier")
    assert_type(breakdown, AttachmentBreakdown)
    assert_type(breakdown.symbols, NDArray[np.object_])
    assert_type(breakdown.right, NDArray[np.float64])
    assert_type(breakdown.total, NDArray[np.float64])
    parsed = model.parse(trees)
    assert_type(labeled_attachment_score(trees, parsed, ignore=is_punctuation), float)
    assert_type(content_labeled_attachment_score(trees, parsed, subtypes=True), float)
    assert_type(label_accuracy_score(trees, parsed, sample_weight=np.ones(len(trees))), float)
    assert_type(las_scorer(search, trees), float)
    assert_type(raw_text_scores(trees, parsed)["LAS"], RawTextScore)
    report = score_report(iter(trees), parsed, ignore=is_punctuation, n_resamples=10)
    assert_type(report, ScoreReport)
    assert_type(report.scores["las"], ScoreInterval)
    assert_type(report.breakdown, AttachmentBreakdown)
    table = labeled_breakdown(trees, parsed, by="length", ignore=masks)
    assert_type(table, LabeledBreakdown)
    assert_type(table.right, NDArray[np.float64])
    print(table.values.tolist(), table.predicted, table.right_heads, table.right_labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        model.predict([["DT", "NN"]])


def count_and_learn() -> None:
    """The stages of a learner, by hand."""
    codes, tree, indptr = np.array([0, 1, 1]), np.array([2, 0, 2]), np.array([0, 3])
    sequences = extract_sequences(codes, tree, indptr, n_symbols=2, sample_weight=[2.0])
    assert_type(sequences, HeadModifierSequences)
    assert_type(sequences.modifiers, NDArray[np.int64])
    assert_type(sequences.weights, NDArray[np.float64])
    assert_type(collapse_sequences(sequences), HeadModifierSequences)
    assert_type(assemble_trees(sequences, indptr), tuple[NDArray[np.int64], NDArray[np.int64]])
    assert_type(build_prefix_trees(sequences, 2), list[PrefixTree])
    statistics = collect_statistics(sequences, 2)
    assert_type(statistics, SequenceStatistics)
    assert_type(statistics.counts, NDArray[np.float64])
    moments = pair_moments(statistics, 1, LEFT, smoothing=1, context=0.5)
    assert_type(moments, Moments)
    assert_type(moments.bigrams, NDArray[np.float64])
    assert_type(moments.first, NDArray[np.int64])

    def geometric(moments: Moments) -> Operators:
        uses = moments.bigrams.sum(axis=1) / moments.bigrams.sum()
        return Operators(np.ones(1), uses[-1:], uses[:-1, None, None])

    grammar = learn_grammar(statistics, geometric)
    assert_type(grammar, Operators)
    assert_type(grammar.alpha_1, NDArray[np.float64])
    assert_type(fallback_grammar(statistics), Operators)
    assert_type(sequence_values(grammar, sequences), NDArray[np.float64])
    assert_type(log_values(grammar, sequences), NDArray[np.float64])
    rng = np.random.RandomState(0)
    codes, heads, indptr = sample_derivations(grammar, 1, rng, max_length=20)
    assert_type(branching_radius(grammar), float)
    for array in (codes, heads, indptr):
        assert_type(array, NDArray[np.int64])

    result = inside_outside(grammar, [0, 1, 1], arc_scores=np.ones((4, 4)))
    assert_type(result, InsideOutside)
    assert_type(result.sign, float)
    assert_type(result.log_abs_z, float)
    assert_type(result.marginals, NDArray[np.float64])
    assert_type(result.counts, Operators)
    assert_type(eisner(result.marginals), tuple[NDArray[np.int64], float])
    assert_type(maximum_arborescence([[0, 0, 2], [1, 0, 0]]), tuple[NDArray[np.int64], float])

    scores = np.array([0, 0, 2, 1, 0, 0], dtype=np.float64)
    sentence = Potentials(np.array([0, 2]), np.array([0, 1]), arcs=scores)
    assert_type(sentence, Potentials)
    found = best_trees(grammar, sentence, n_jobs=2)
    assert_type(found, tuple[list[NDArray[np.int64]], NDArray[np.float64]])
    values = tree_values(grammar, sentence, found[0])
    assert_type(values, tuple[NDArray[np.int8], NDArray[np.float64]])
    assert np.allclose(values[1], found[1])
    without_grammar = sentence._replace(codes=None)
    assert best_trees(None, without_grammar)[1][0] == 3.0
    assert tree_values(None, without_grammar, [(2, 0)])[0][0] == 1
    sums = chart(grammar, sentence, counts=True, sample_weight=[2.0], n_jobs=2)
    assert_type(sums, ChartResults)
    assert_type(sums.sign, NDArray[np.int8])
    assert_type(sums.log_abs_z, NDArray[np.float64])
    assert sums.arcs is not None
    assert sums.counts is not None
    losses, gradient = tree_loss(scores, [[2, 0]], trees="all", sample_weight=[1.0])
    assert_type(losses, NDArray[np.float64])
    assert gradient.shape == scores.shape


def use_operators() -> None:
    """The algebra of automata."""
    coin = Operators(np.array([1.0]), np.array([0.5]), np.array([[[0.25]], [[0.25]]]))
    assert float(total_mass(coin)) == 1.0
    assert_type(exact_moments(coin, context=0.5), Moments)
    for other in (
        change_basis(coin, np.array([[2.0]])),
        mixture(coin, coin, 0.1),
        operators_from_counts(coin),
        product(coin, coin),
        join_automata([coin] * 6, np.array([1, 2])),
    ):
        assert_type(other, Operators)
    halves = np.full((2, 2, 1), 0.5)
    automata = Operators(np.ones((2, 2, 1)), halves, np.full((2, 2, 1, 1, 1), 0.5))
    grammar = complete_grammar(automata, np.array([3.0]))
    assert grammar.A[0, RIGHT, 0, 0, 0] == 0.5


def serve() -> None:
    """The web service, for any server."""

    def start(
        status: str, headers: list[tuple[str, str]], error: object = None
    ) -> Callable[[bytes], object]:
        assert status == "200 OK"
        return print

    app = make_app({"en": "english"}, confidence=True, answering=60)
    assert_type(app, WSGIApplication)
    environ: dict[str, Any] = {"PATH_INFO": "/models"}
    setup_testing_defaults(environ)
    assert b'"default_model": "en"' in b"".join(app(environ, start))


def main() -> None:
    """Do everything, in a folder that is removed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        read_and_write(folder)
        load_treebanks(folder)
        parse(folder)
        use_scikit_learn(folder)
    train_on_what_is_asked()
    learn_from_raw_text()
    look_inside()
    look_at_pictures()
    count_and_learn()
    use_operators()
    serve()


if __name__ == "__main__":
    main()
