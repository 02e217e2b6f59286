"""Grammars with words, and parsers that are made of parsers."""

from _mistakes._replay import Mistake, raises, warns, works

HIDDEN = "[('a', SpectralSHAG(2)), ('b', DeterministicSHAG())]"
WORDS = (r"X\[0\]", r"needs words too", r"read_conllu")

MISTAKES = [
    Mistake("LexicalizedSHAG().fit(tags, y)", raises(TypeError, *WORDS)),
    Mistake("LexicalizedSHAG().fit(trees).predict(tags)", raises(TypeError, *WORDS)),
    Mistake(
        "LexicalizedSHAG(word='lemmas').fit(trees)", raises(ValueError, r"'lemmas'", r"form, lemma")
    ),
    Mistake(
        "LexicalizedSHAG(word='lemma').fit([DependencyTree(['dog'], [0], upos=['NOUN'])])",
        raises(ValueError, r"X\[0\]", r"no column 'lemma'", r"only form"),
    ),
    Mistake("LexicalizedSHAG('sibling').fit(trees)", raises(ValueError, r"'automaton'", r"'fcp'")),
    Mistake(
        "LexicalizedSHAG(SpectralSHAG()).fit(trees)", raises(ValueError, r"'automaton'", r"'fcp'")
    ),
    Mistake(
        "make_pipeline(TokenFeature('form'), LexicalizedSHAG()).fit(trees)",
        raises(ValueError, r"are its words", r"no tags", r"'form'"),
    ),
    Mistake(
        "LexicalizedSHAG().fit(trees).predict(read_conllu('lower_case.conllu'))",
        warns(r"100 ?%", r"'noun'"),
    ),
    Mistake(
        "LexicalizedSHAG().fit([tree.with_heads(None) for tree in trees])",
        raises(ValueError, r"X\[0\] has no heads"),
    ),
    Mistake("LexicalizedSHAG().predict(trees)", raises(ValueError, r"not fitted")),
    Mistake("ProductParser()", raises(TypeError, r"missing 1 required.*'estimators'", by="line")),
    Mistake(
        "ProductParser([]).fit(trees)", raises(ValueError, r"estimators is empty", r"a name and")
    ),
    Mistake(
        "ProductParser([SpectralSHAG(2)]).fit(trees)",
        raises(TypeError, r"estimators\[0\]", r"pair of a name and a parser"),
    ),
    Mistake(
        "ProductParser(SpectralSHAG(2)).fit(trees)", raises(ValueError, r"'estimators'.*'list'")
    ),
    Mistake(
        "ProductParser([('a', SpectralSHAG(2)), ('b', LogisticRegression())]).fit(trees)",
        raises(TypeError, r"'b'", r"parser of this package", r"LogisticRegression"),
    ),
    Mistake(
        "ProductParser([('a', SpectralSHAG(2)), ('b', DeterministicSHAG)]).fit(trees)",
        raises(TypeError, r"'b' must be a parser", r"instance of a class"),
    ),
    Mistake(
        "ProductParser([('a', SpectralSHAG(2)), ('b', SpectralSHAG(3))]).fit(trees)",
        raises(ValueError, r"'a' and 'b' have states", r"AveragedParser"),
    ),
    Mistake(
        f"ProductParser({HIDDEN}, weights=[1]).fit(trees)", raises(ValueError, r"weights.*of 2")
    ),
    Mistake(f"ProductParser({HIDDEN}).predict(trees)", raises(ValueError, r"not fitted")),
    Mistake(
        "ProductParser([('a', SpectralSHAG(2)), ('w', LexicalizedSHAG())]).fit(trees)"
        ".predict(tags)",
        raises(TypeError, *WORDS),
    ),
    Mistake(
        f"ProductParser({HIDDEN}).set_params(c__n_states=2)",
        raises(ValueError, r"invalid parameter 'c'"),
    ),
    Mistake(f"AveragedParser({HIDDEN}).fit(tags)", raises(ValueError, r"X\[0\] has no heads")),
    Mistake(
        f"AveragedParser({HIDDEN}, weights='equal').fit(trees)",
        raises(ValueError, r"'weights'", "array"),
    ),
    Mistake(
        f"AveragedParser({HIDDEN}, weights=[0, 0]).fit(trees)", raises(ValueError, r"not all zero")
    ),
    Mistake(
        f"AveragedParser({HIDDEN}, decoder='viterbi').fit(trees)",
        raises(ValueError, r"'decoder'", "mbr"),
    ),
    Mistake(
        "AveragedParser([('a', SpectralSHAG(2)), ('b', 'drop')]).fit(trees)",
        raises(TypeError, r"'b' must be a parser.*got str", r"leave out"),
    ),
    Mistake(
        "AveragedParser([('a', FrozenEstimator(SpectralSHAG(2)))]).fit(trees)",
        raises(ValueError, r"SpectralSHAG instance is not fitted yet", r"Call 'fit'"),
    ),
    Mistake(
        "AveragedParser([('a', GridSearchCV(SpectralSHAG(), {'n_states': [1]}))]).fit(trees)",
        raises(TypeError, r"'a'", r"got GridSearchCV", r"best_estimator_"),
    ),
    Mistake(
        "AveragedParser([('a', SpectralSHAG(0))]).fit(trees)",
        raises(ValueError, r"'n_states' parameter of SpectralSHAG"),
    ),
    Mistake(f"AveragedParser({HIDDEN}, [1, 2])", raises(TypeError, r"positional", by="line")),
    Mistake(
        f"AveragedParser({HIDDEN}, weights={{'a': 1, 'b': 2}}).fit(trees)",
        raises(ValueError, r"weights must be numbers", r"'a': 1"),
    ),
    Mistake(
        f"AveragedParser({HIDDEN}).fit(trees).set_params(weights=[1]).predict(trees)",
        raises(ValueError, r"one number for each of 2 estimators"),
    ),
    Mistake(
        "AveragedParser([('a', make_pipeline(TokenFeature(), SpectralSHAG(2)))]).fit(tags, y)",
        raises(TypeError, r"X\[0\]", r"DependencyTree"),
    ),
    Mistake(
        f"inspect_marginals(AveragedParser({HIDDEN}).fit(trees), trees)",
        raises(TypeError, r"AveragedParser", r"each of its estimators_"),
    ),
    Mistake(f"AveragedParser({HIDDEN}).fit(trees).predict(trees)", works("len(result) == 60")),
    Mistake(
        "AveragedParser.of_seeds(SpectralSHAG())",
        raises(ValueError, r"has no random_state: copies of it would be the same"),
    ),
    Mistake(
        "AveragedParser.of_seeds(FrozenEstimator(CRFParser()))",
        raises(ValueError, r"has no random_state: copies of it would be the same"),
    ),
    Mistake("AveragedParser.of_seeds(CRFParser(), 0)", raises(ValueError, r"n_estimators == 0")),
    Mistake(
        "AveragedParser.of_seeds(CRFParser(), random_state=None)",
        raises(TypeError, r"random_state must be.*int"),
    ),
    Mistake(
        f"ProductParser({HIDDEN}, weights=[0.5, 1]).fit(trees)",
        raises(ValueError, r"weight of 'a' must be 1, got 0\.5: the power"),
    ),
    Mistake(
        f"ProductParser([('one', model), ('b', AveragedParser({HIDDEN}))]).fit(trees)",
        raises(TypeError, r"'b' must be a grammar, got"),
    ),
    Mistake(
        f"ProductParser([('one', DeterministicSHAG()), ('b', ProductParser({HIDDEN}))]).fit(trees)",
        raises(TypeError, r"'b' must be a grammar, got"),
    ),
    Mistake(
        f"AveragedParser({HIDDEN}, weights=DMV()).fit(trees)",
        raises(ValueError, r"numbers or a MixtureSHAG whose helpers have the names"),
    ),
    Mistake(
        "DistilledParser(RefinedSHAG(), CRFParser()).fit(trees)",
        raises((TypeError, ValueError), r"parser must be a BiaffineParser or a CRF"),
    ),
    Mistake(
        "DistilledParser(CRFParser(), LogisticRegression()).fit(trees)",
        raises(TypeError, r"must be a parser of this package"),
    ),
    Mistake(
        "DistilledParser(CRFParser(), CRFParser()).fit([t.with_heads(None) for t in trees])",
        raises(ValueError, r"60 of 60 sentences have none"),
    ),
    Mistake(
        "DistilledParser(CRFParser(), CRFParser(), weight=0).fit(trees)",
        raises(ValueError, r"'weight'"),
    ),
    Mistake(
        "DistilledParser(CRFParser(), CRFParser(), targets='arcs').fit(trees)",
        raises(ValueError, r"'targets'"),
    ),
    Mistake(
        "make_parser_pipeline(FeatureUnion([('a', TokenFeature())]), SpectralSHAG()).fit(trees)",
        raises(TypeError, r"'featureunion' is a FeatureUnion, which puts"),
    ),
    Mistake(
        "make_parser_pipeline(TokenFeature(), TokenFeature()).fit(trees)",
        raises(TypeError, r"must be a parser of this package, got a TokenFeature"),
    ),
    Mistake(
        "make_parser_pipeline(TokenFeature(), SpectralSHAG()).parse(trees)",
        raises(ValueError, r"not fitted"),
    ),
    *(
        Mistake(f"AveragedParser({members}).fit(trees)", raises(ValueError, words, by="tool"))
        for members, words in (
            ("[('weights', model)]", r"names conflict with constructor arguments: \['weights'\]"),
            ("[('a__b', model)]", r"names must not contain __: got \['a__b'\]"),
            ("[('a', model), ('a', model)]", r"Names provided are not unique: \['a', 'a'\]"),
            ("[('a', model)], decoder='viterbi'", r"The 'decoder' parameter of AveragedParser"),
        )
    ),
]
