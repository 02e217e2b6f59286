"""Symbols that a model does not know: other tags, no tags, words; and TokenFeature."""

from _mistakes._replay import Mistake, raises, tool_raises, warns, works

LOWER_CASE = (r"100 ?%", r"'noun'")
TAG_FIRST = (r"'_'", r"tag")

MISTAKES = [
    Mistake("model.predict(words)", warns(r"\d ?%", r"'the'")),
    Mistake("model.predict([['the', 'dog', 'barks']])", warns(r"100 ?%", r"'dog'")),
    Mistake("model.predict([[tag.lower() for tag in tags[0]]])", warns(*LOWER_CASE)),
    Mistake("model.predict(read_conllu('test.conllu', symbols='xpos'))", warns(r"\d ?%")),
    Mistake("model.predict(read_conllu('stanford_tags.conllu'))", warns(r"\d ?%", r"'\w+'")),
    Mistake("model.predict(read_conllu('lower_case.conllu'))", warns(*LOWER_CASE)),
    Mistake("model.predict(read_conllu('half_tagged.conllu'))", warns(r"\d ?%", r"'_'")),
    Mistake("model.predict(read_conllu('untagged.conllu'))", raises(ValueError, *TAG_FIRST)),
    Mistake("model.predict([['_', '_', '_']])", raises(ValueError, *TAG_FIRST)),
    Mistake("model.parse(words)", warns(r"\d ?%")),
    Mistake("model.predict_marginals(words)", warns(r"\d ?%")),
    Mistake("model.score(read_conllu('lower_case.conllu'))", warns(*LOWER_CASE)),
    Mistake("model.score_samples(read_conllu('lower_case.conllu'))", warns(*LOWER_CASE)),
    Mistake("model.log_likelihood(read_conllu('lower_case.conllu'))", warns(*LOWER_CASE)),
    Mistake("inspect_marginals(model, read_conllu('lower_case.conllu'))", warns(*LOWER_CASE)),
    Mistake("model.predict([*tags, ['X', *tags[0]]])", works("len(result) == 61")),
    Mistake(
        "model.fit(trees).predict([DependencyTree(['The', 'dog'])])",
        warns(r"100 ?%", r"'dog'"),
    ),
    Mistake(
        "DeterministicSHAG().fit(read_conllu('untagged.conllu'))", raises(ValueError, *TAG_FIRST)
    ),
    Mistake(
        "DeterministicSHAG().fit(read_conllu('no_xpos.conllu', symbols='xpos'))",
        raises(ValueError, *TAG_FIRST),
    ),
    Mistake(
        "make_pipeline(TokenFeature('upos', 'xpos'), DeterministicSHAG())"
        ".fit(read_conllu('no_xpos.conllu'))",
        warns(r"'_'", r"column 'xpos'"),
    ),
    # Symbols are opaque once they are joined; NOUN|_ says as much as NOUN.
    Mistake(
        "DeterministicSHAG().fit(read_conllu('no_xpos.conllu', symbols=['upos', 'xpos']))",
        works("result.score(read_conllu('no_xpos.conllu', ['upos', 'xpos'])) > 0.5"),
    ),
    Mistake(
        "SpectralSHAG(2).fit(read_conllu('half_tagged.conllu'))",
        warns(r"\d ?%", r"'_'", r"^(?!.*training trees)", r"tag the text first"),
    ),
    Mistake("EMSHAG(2).fit(read_conllu('untagged.conllu'))", raises(ValueError, *TAG_FIRST)),
    Mistake(
        "DeterministicSHAG().partial_fit(read_conllu('untagged.conllu'))",
        raises(ValueError, *TAG_FIRST),
    ),
    Mistake(
        "load_model('xpos.npz').predict(read_conllu('no_xpos.conllu'))",
        raises(ValueError, *TAG_FIRST),
    ),
    Mistake("load_model('xpos.npz').predict(read_conllu('french_xpos.conllu'))", warns(r"100 ?%")),
    Mistake("load_model('xpos.npz').score(read_conllu('french_xpos.conllu'))", warns(r"100 ?%")),
    Mistake("load_model('both.npz').predict(read_conllu('no_xpos.conllu'))", warns(r"100 ?%")),
    Mistake("load_model('rare.npz').predict(read_conllu('french_xpos.conllu'))", warns(r"100 ?%")),
    Mistake(
        "load_model('rare.npz').predict(read_conllu('no_xpos.conllu'))",
        warns(r"100 ?%", *TAG_FIRST),
    ),
    Mistake(
        "make_pipeline(TokenFeature(min_count=10**6), DeterministicSHAG()).fit(trees)",
        raises(ValueError, r"min_count", r"1000000", r"symbol"),
    ),
    Mistake("TokenFeature('pos').fit(trees)", raises(ValueError, r"'pos'", r"upos, xpos")),
    Mistake("TokenFeature('upos,xpos').fit(trees)", raises(ValueError, r"'upos,xpos'", "choose")),
    Mistake("TokenFeature(['upos', 'xpos']).fit(trees)", raises(ValueError, r"feature", r"str")),
    Mistake("TokenFeature('upos', 'pos').fit(trees)", raises(ValueError, r"'pos'", r"upos, xpos")),
    Mistake("TokenFeature('Case').fit(trees)", raises(ValueError, r"'Case'", r"'feats\.Case'")),
    Mistake("TokenFeature(min_count=0).fit(trees)", raises(ValueError, r"min_count", r"\b1\b")),
    Mistake("TokenFeature(min_count='2').fit(trees)", raises(ValueError, r"min_count", r"int")),
    Mistake("TokenFeature(rare_symbol=0).fit(trees)", raises(ValueError, r"rare_symbol", r"str")),
    Mistake("TokenFeature().transform(trees)", raises(ValueError, r"not fitted", r"'fit'")),
    Mistake(
        "TokenFeature().fit(tags)", raises(TypeError, r"X\[0\]", r"columns .* TokenFeature joins")
    ),
    Mistake("TokenFeature().fit([])", raises(ValueError, r"X is empty", r"at least one")),
    Mistake("TokenFeature().fit(trees[0])", raises(TypeError, r"X must be a sequence")),
    Mistake("TokenFeature().fit('train.conllu')", raises(TypeError, r"X must be a sequence")),
    Mistake(
        "TokenFeature('xpos').fit([DependencyTree(['dog'], [0], upos=['NOUN'])])",
        raises(ValueError, r"X\[0\]", r"no column 'xpos'", r"upos"),
    ),
    Mistake(
        "make_pipeline(TokenFeature(), SpectralSHAG()).fit(tags, y)",
        raises(TypeError, r"X\[0\]", r"columns .* TokenFeature joins"),
    ),
    Mistake(
        "make_pipeline(SpectralSHAG(), TokenFeature()).fit(trees)",
        tool_raises(TypeError, r"transform", r"SpectralSHAG"),
    ),
]
