"""Raw text: heads that are looked at or not, rules and starts that do not fit."""

from _mistakes._replay import Mistake, raises, tool_warns, warns, works

HIDDEN = "RefinedSHAG(2, 2, max_iter=1, tol=1e6)"

CROSSING = (
    "crossing, fine = DependencyTree(list('ABAB'), [3, 4, -1, 0]), DependencyTree(['A'], [0]); "
    "whole = DependencyTree(list('ABAB'), [3, 4, 0, 3])"
)

MISTAKES = [
    # Heads of X are not looked at: by design, and said in bold.
    Mistake("DMV(tol=1).fit(trees).labels_.size", works("result == 0")),
    Mistake("DMV(tol=1).fit(trees, trees).labels_.size", works("result > 0")),
    Mistake("DMV(tol=1).fit(tags)", works("hasattr(result, 'operators_')")),
    Mistake(
        "DMV(tol=1).fit(trees).predict_labels(trees)",
        raises(ValueError, r"knows no relations", r"as y"),
    ),
    Mistake("DMV(tol=1).fit(tags, y[:-1])", raises(ValueError, r"60 sentences", r"59")),
    Mistake("DMV(tol=1, max_length=1).fit(trees)", raises(ValueError, r"max_length=1", r"Raise")),
    Mistake(
        "DMV(max_iter=1).fit(trees)",
        warns(r"not converged", r"max_iter=1", warning="ConvergenceWarning"),
    ),
    Mistake(
        "DMV(EMSHAG(2, init='moments', tol=1).fit(trees).operators_, max_length=None).fit(trees)",
        raises(ValueError, r"first modifier apart"),
    ),
    Mistake(
        "DMV(rules=[('V', 'N')]).fit(trees)", raises(ValueError, r"None of the 1 rules", r"'ADJ'")
    ),
    Mistake("DMV(rules=['VN']).fit(trees)", raises(ValueError, r"A rule is a pair", r"'VN'")),
    Mistake("DMV(rules='VERB NOUN').fit(trees)", raises(ValueError, r"'rules' parameter")),
    Mistake("DMV(rules=('VERB', 'NOUN')).fit(trees)", raises(ValueError, r"A rule is a pair")),
    Mistake(
        "DMV('concave', root_symbols=['V']).fit(trees)",
        raises(ValueError, r"root_symbols=\['V'\]", r"'ADJ'"),
    ),
    Mistake("DMV('concave', root_symbols='VERB').fit(trees)", raises(ValueError, r"root_symbols")),
    Mistake("DMV(init='k&m').fit(trees)", raises(ValueError, r"'init' parameter", r"harmonic")),
    Mistake(
        "DMV(SpectralSHAG(2).fit(trees).operators_).fit(trees)",
        raises(ValueError, r"operators to start from", r"for 14 symbols and n_states=2"),
    ),
    Mistake(
        "DMV(init=model.operators_).fit(['A B'.split()])", raises(ValueError, r"for 2 symbols")
    ),
    Mistake(
        "DMV(n_states=2, algorithm='viterbi').fit(trees)",
        raises(ValueError, r"viterbi", r"n_states=None"),
    ),
    Mistake(
        "DMV(prior=0, prior_inference='variational').fit(trees)", raises(ValueError, r"positive")
    ),
    Mistake("DMV().predict(trees)", raises(ValueError, r"not fitted")),
    # Helpers are fitted before, on trees of their own.
    Mistake(
        "MixtureSHAG([('fr', DeterministicSHAG())]).fit(tags)",
        raises(ValueError, r"helper 'fr' is not frozen", r"fit it first", r"FrozenEstimator"),
    ),
    Mistake(
        "MixtureSHAG([('fr', FrozenEstimator(DMV()))]).fit(tags)",
        raises(ValueError, r"DMV instance is not fitted yet", r"Call 'fit'"),
    ),
    Mistake(
        "MixtureSHAG([('fr', FrozenEstimator(SpectralSHAG(2).fit(trees)))]).fit(tags)",
        raises(ValueError, r"negative operators", r"EMSHAG"),
    ),
    Mistake(
        "MixtureSHAG([('fr', FrozenEstimator(model))], weights='mean').fit(tags)",
        raises(ValueError, r"'weights' parameter", r"uniform"),
    ),
    Mistake(
        "MixtureSHAG([('fr', FrozenEstimator(model))], weights=[1, 2]).fit(tags)",
        raises(ValueError, r"weights.*of 1"),
    ),
    Mistake("DummyParser('middle').fit(trees)", raises(ValueError, r"'strategy'", r"right")),
    Mistake("DummyParser().fit(tags[0])", raises(TypeError, r"X\[0\]", r"string")),
    Mistake(
        "remove_punctuation(trees[0])", raises(TypeError, r"single DependencyTree", r"\[tree\]")
    ),
    Mistake("remove_punctuation(tags)", raises(TypeError, r"trees\[0\]", r"DependencyTree")),
    Mistake(
        "undirected_attachment_score(y, y, max_length='10')",
        raises(ValueError, r"max_length", r"'10'"),
    ),
    *(
        Mistake(f"DMV({params}).fit([['A', 'A'], ['A']])", raises(ValueError, words))
        for params, words in (
            ("n_states=2, algorithm='viterbi'", r"need known states: set n_states=None"),
            ("prior_inference='variational', prior=0", r"set prior to a positive number"),
            ("n_states=2, decoder='viterbi'", r"only for deterministic automata"),
            ("rules=[('X', 'Y')]", r"None of the 1 rules is about symbols of X, which are 'A'"),
            ("rules=['AB']", r"A rule is a pair of symbols.*got 'AB'"),
            ("rules=[('A', 'B', 'up')]", r"A rule is a pair"),
            ("rules=[('A', '<root>')]", r"A rule is a pair"),
            ("rules=[('A', 3)]", r"A rule is a pair"),
            ("rule_strength=np.inf", r"The 'rule_strength' parameter"),
            ("n_states=1", r"The 'n_states' parameter"),
            ("max_length=0", r"The 'max_length' parameter"),
            ("init='concave', root_symbols=['X']", r"None of root_symbols=\['X'\] is a symbol"),
        )
    ),
    *(
        Mistake(f"MixtureSHAG([('helper', {helper})]).fit(trees)", raises(error, words))
        for helper, error, words in (
            ("FrozenEstimator(EMSHAG())", ValueError, r"not fitted yet"),
            ("model", ValueError, r"'helper' is not frozen.*FrozenEstimator\(helper\)"),
            ("FrozenEstimator(LexicalizedSHAG().fit(trees))", TypeError, r"got LexicalizedSHAG"),
            ("FrozenEstimator(make_pipeline(model))", TypeError, r"got Pipeline.*goes around"),
            ("make_pipeline(model)", ValueError, r"'helper' is not frozen"),
        )
    ),
    *(
        Mistake(call.format(HIDDEN), raises(error, words), before=f"fitted = {HIDDEN}.fit(trees)")
        for call, error, words in (
            ("fitted.truncate(3)", ValueError, r"Choose one with 1, 2"),
            (
                "fitted.set_params(warm_start=True, n_refinements=1).fit(trees)",
                ValueError,
                r"n_states=2 and n_refinements=2 or more",
            ),
            (
                "fitted.set_params(warm_start=True).fit([['A', 'B']], [[2, 0]])",
                ValueError,
                r"which had other symbols",
            ),
            (
                "{}.fit([DependencyTree(['NOUN', 'NEW'], [-1, 0])] * 2)",
                ValueError,
                r"None of 2 sentences has all its heads",
            ),
            (
                "approximate_dfa(fitted, trees, head='NOUN', direction='left', refinement=5)",
                ValueError,
                r"NOUN has the refinements 0 to 1; got refinement=5",
            ),
            (
                "approximate_dfa(model, trees, head='NOUN', direction='left', refinement=0)",
                TypeError,
                r"must be a RefinedSHAG",
            ),
            (
                "top_refinements(fitted, [DependencyTree(['VERB'], [0])], symbol='NOUN')",
                ValueError,
                r"No token of X has the symbol 'NOUN'",
            ),
            (
                "top_refinements(fitted, trees, symbol='NOUN', n=0)",
                ValueError,
                r"The 'n' parameter of top_refinements",
            ),
            ("top_refinements(model, trees, symbol='NOUN')", TypeError, r"must be a RefinedSHAG"),
        )
    ),
    Mistake(
        "ConcaveParser(max_iter=1, tol=1e-6).fit(trees)",
        tool_warns(r"converge", r"max_iter", warning="ConvergenceWarning", nan=False),
    ),
    Mistake(
        "DMV(init=start, prior=0).fit(text)",
        raises(ValueError, r"X\[2\] \('A'\) has no tree .* nor have 0 other"),
        before="text = [['A', 'B'], ['B'], ['A']]; start = DMV(tol=1e6).fit(text).operators_; "
        "start.A[-1, 1, 0] = 0.0",
    ),
    Mistake(
        "MixtureSHAG([('hard', FrozenEstimator(hard))]).fit([['b', 'a'], ['a']])",
        raises(ValueError, r"No sentence of X has a tree"),
        before="hard = DeterministicSHAG().fit([['a', 'b'], ['b']], [[2, 0], [0]])",
    ),
    *(
        Mistake(f"DMV({given}).fit([{first}, fine], [{first}, fine])", must, before=CROSSING)
        for given, first, must in (
            (
                "tol=1e6",
                "crossing",
                warns(
                    r"1 of 2 sentences are left out",
                    warning="UserWarning",
                    check="result.symbols_.tolist() == ['A']",
                ),
            ),
            (
                "tol=1e6, nonprojective='drop'",
                "whole",
                warns(r"1 of 2 sentences are left out", warning="UserWarning"),
            ),
            ("tol=1e6", "whole", works("result.symbols_.size == 2")),
        )
    ),
    Mistake(
        "MixtureSHAG([('h', FrozenEstimator(model))], tol=1e6).fit([['NN', 'VBZ'], ['VBZ', 'RB']])",
        warns(r"symbols that say nothing"),
    ),
]
