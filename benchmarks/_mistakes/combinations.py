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
    Mistake("ProductSHAG()", raises(TypeError, r"missing 1 required.*'estimators'", by="line")),
    Mistake(
        "ProductSHAG([]).fit(trees)", raises(ValueError, r"estimators is empty", r"a name and")
    ),
    Mistake(
        "ProductSHAG([SpectralSHAG(2)]).fit(trees)",
        raises(TypeError, r"estimators\[0\]", r"pair of a name and a parser"),
    ),
    Mistake("ProductSHAG(SpectralSHAG(2)).fit(trees)", raises(ValueError, r"'estimators'.*'list'")),
    Mistake(
        "ProductSHAG([('a', SpectralSHAG(2)), ('b', LogisticRegression())]).fit(trees)",
        raises(TypeError, r"'b'", r"parser of this package", r"LogisticRegression"),
    ),
    Mistake(
        "ProductSHAG([('a', SpectralSHAG(2)), ('b', DeterministicSHAG)]).fit(trees)",
        raises(TypeError, r"'b' must be a parser", r"instance of a class"),
    ),
    Mistake(
        "ProductSHAG([('a', SpectralSHAG(2)), ('b', SpectralSHAG(3))]).fit(trees)",
        raises(ValueError, r"'a' and 'b' have states", r"AveragedSHAG"),
    ),
    Mistake(f"ProductSHAG({HIDDEN}, weights=[1]).fit(trees)", raises(ValueError, r"weights.*of 2")),
    Mistake(f"ProductSHAG({HIDDEN}).predict(trees)", raises(ValueError, r"not fitted")),
    Mistake(
        "ProductSHAG([('a', SpectralSHAG(2)), ('b', LexicalizedSHAG())]).fit(trees).predict(tags)",
        raises(TypeError, *WORDS),
    ),
    Mistake(
        f"ProductSHAG({HIDDEN}).set_params(c__n_states=2)",
        raises(ValueError, r"invalid parameter 'c'"),
    ),
    Mistake(f"AveragedSHAG({HIDDEN}).fit(tags)", raises(ValueError, r"X\[0\] has no heads")),
    Mistake(
        f"AveragedSHAG({HIDDEN}, weights='equal').fit(trees)",
        raises(ValueError, r"'weights'", "array"),
    ),
    Mistake(
        f"AveragedSHAG({HIDDEN}, weights=[0, 0]).fit(trees)", raises(ValueError, r"not all zero")
    ),
    Mistake(
        f"AveragedSHAG({HIDDEN}, decoder='viterbi').fit(trees)",
        raises(ValueError, r"'decoder'", "mbr"),
    ),
    Mistake(
        "AveragedSHAG([('a', SpectralSHAG(2)), ('b', 'drop')]).fit(trees)",
        raises(TypeError, r"'b' must be a parser.*got str", r"leave out"),
    ),
    Mistake(
        "AveragedSHAG([('a', FrozenEstimator(SpectralSHAG(2)))]).fit(trees)",
        raises(ValueError, r"SpectralSHAG instance is not fitted yet", r"Call 'fit'"),
    ),
    Mistake(
        "AveragedSHAG([('a', GridSearchCV(SpectralSHAG(), {'n_states': [1]}))]).fit(trees)",
        raises(TypeError, r"'a'", r"got GridSearchCV", r"best_estimator_"),
    ),
    Mistake(
        "AveragedSHAG([('a', SpectralSHAG(0))]).fit(trees)",
        raises(ValueError, r"'n_states' parameter of SpectralSHAG"),
    ),
    Mistake(f"AveragedSHAG({HIDDEN}, [1, 2])", raises(TypeError, r"positional", by="line")),
    Mistake(
        f"AveragedSHAG({HIDDEN}, weights={{'a': 1, 'b': 2}}).fit(trees)",
        raises(ValueError, r"weights must be numbers", r"'a': 1"),
    ),
    Mistake(
        f"AveragedSHAG({HIDDEN}).fit(trees).set_params(weights=[1]).predict(trees)",
        raises(ValueError, r"one number for each of 2 estimators"),
    ),
    Mistake(
        "AveragedSHAG([('a', make_pipeline(TokenFeature(), SpectralSHAG(2)))]).fit(tags, y)",
        raises(TypeError, r"X\[0\]", r"DependencyTree"),
    ),
    Mistake(
        f"inspect_marginals(AveragedSHAG({HIDDEN}).fit(trees), trees)",
        raises(TypeError, r"AveragedSHAG", r"each of its estimators_"),
    ),
    Mistake(f"AveragedSHAG({HIDDEN}).fit(trees).predict(trees)", works("len(result) == 60")),
]
