"""Symbols that a model does not know: other tags, no tags, words; and TokenFeature."""

from _mistakes._replay import Mistake, Must, raises, tool_raises, warns, works

LOWER_CASE = (r"100 ?%", r"'noun'")
TAG_FIRST = (r"'_'", r"tag")

HUNDRED = """
hundred = [DependencyTree(["DET", "NOUN", "VERB", "NOUN"], [2, 3, 0, 3])] * 25
model = DeterministicSHAG().fit(hundred)
def replaced(n, symbol):
    flat = [name for tree in hundred for name in tree.symbols]
    flat[:n] = [symbol] * n
    return [flat[k : k + 4] for k in range(0, 100, 4)]
"""
OF_WORDS = "parser = BiaffineParser(['form', 'suffix'], hidden_layer_sizes=[4], max_iter=1).fit({})"
NOT_SPLIT = r"text is not split into tokens.* as in '{}'. A token is a word or a punctuation mark"
RARE = (
    "train = DependencyTree(['dogs'] * 98 + ['bark', 'meow']); "
    "rare = TokenFeature('form', min_count=2).fit([train])"
)

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
    # More than five in a hundred tokens.
    *(
        Mistake(f"model.predict(replaced({n}, {symbol!r}))", must, before=HUNDRED)
        for symbol, words in (
            (
                "NN",
                r"have symbols that say nothing to the grammar: 'NN' \({n}\)\. It knows 'DET', "
                r"'NOUN', 'VERB'\. Tag the text as the training trees were",
            ),
            (
                "_",
                r"have the symbol '_', which stands for a missing value and says nothing to the "
                r"grammar\. Tag the text first",
            ),
        )
        for n, must in (
            (0, works("len(result) == 25")),
            (5, works("len(result) == 25")),
            *(
                (n, warns(rf"^{n} % of the tokens \({n} of 100\) {words.format(n=n)}"))
                for n in (6, 99)
            ),
        )
    ),
    Mistake(
        "model.predict([*replaced(20, '_')[:-1], ['NN'] * 4])",
        warns(
            r"^24 % of the tokens \(24 of 100\) have symbols .* to the grammar: '_' \(20\), "
            r"'NN' \(4\)\. It knows 'DET', 'NOUN', 'VERB'"
        ),
        before=HUNDRED,
    ),
    Mistake(
        "DeterministicSHAG().fit([list('abcd')], [[0, 1, 1, 1]]).predict([list('ABBCDD')])",
        warns(
            r"to the grammar: 'B' \(2\), 'D' \(2\), 'A' \(1\), \.\.\.\. "
            r"It knows 'a', 'b', 'c', \.\.\."
        ),
    ),
    # A word with letters on both sides of a space, or with a full stop at the end.
    *(
        Mistake(f"parser.parse({text})", must, before=OF_WORDS.format("trees"))
        for text, must in (
            ("[['The cat sat.']]", warns(NOT_SPLIT.format("the cat sat."), warning="UserWarning")),
            (
                "[['The', 'cat', 'sat.'], ['It', 'slept.'], ['Yes', '.']]",
                warns(NOT_SPLIT.format("sat."), warning="UserWarning"),
            ),
            ("all_trees[60:]", works("len(result) > 100")),
            ("[['Mr.', 'Smith', 'sat', '.']]", works("len(result) == 1")),
            ("[['It', 'sat.'], ['Yes', '.']]", works("len(result) == 2")),
        )
    ),
    # A language that writes spaces within words.
    Mistake(
        "parser.parse([['Mm mm', 'quux quux']])",
        works("len(result) == 1"),
        before=OF_WORDS.format(
            "[DependencyTree([f'{f} {f}' for f in t.forms], t.heads) for t in trees]"
        ),
    ),
    # Two in a hundred tokens are rare in training: up to nine are in another text.
    Mistake(
        "rare.transform([DependencyTree(['dogs'] * 91 + ['neigh'] * 9)])",
        works("len(result) == 1 and rare.rare_share_ == 0.02"),
        before=RARE,
    ),
    Mistake(
        "rare.transform([DependencyTree(['dogs'] * 90 + ['neigh'] * 10)])",
        warns(
            r"^10 % of the tokens \(10 of 100\) have symbols that are rare",
            r"where they make up 2 %",
            r"'neigh'",
        ),
        before=RARE,
    ),
    *(
        Mistake(
            f"TokenFeature({columns}).fit([DependencyTree(['a', 'b'], upos=['A', 'B'], "
            "xpos=['_', 'C'], lemmas=['_', '_'], deprels=['_', '_'])])",
            must,
        )
        for columns, must in (
            ("'upos', 'deprel'", warns(r"^The column 'deprel' is '_' throughout")),
            (
                "'upos', ['lemma', 'deprel']",
                Must(
                    (
                        r"^The column 'lemma' is '_' throughout",
                        r"\nThe column 'deprel' is '_' thro",
                    ),
                    warning="UnknownSymbolWarning",
                    times=2,
                ),
            ),
            ("'upos', 'xpos'", works()),
        )
    ),
]
