"""Raw text: heads that are looked at or not, rules and starts that do not fit."""

from _mistakes._replay import Mistake, raises, warns, works

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
]
