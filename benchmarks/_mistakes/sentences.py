"""X that is not a sequence of sentences."""

from _mistakes._replay import Mistake, raises, warns, works

ONE_SENTENCE = (r"X must be", r"sequence of sentences", r"list")

# As advice it would turn what is missing, or is a word, into a symbol.
NO_STR = r"^(?!.*\bstr\(symbol\))"

MISTAKES = [
    Mistake("SpectralSHAG().fit('DET NOUN VERB')", raises(TypeError, *ONE_SENTENCE)),
    Mistake("SpectralSHAG().fit(trees[0])", raises(TypeError, *ONE_SENTENCE, r"\[sentence\]")),
    Mistake("SpectralSHAG().fit(None)", raises(TypeError, r"X must be", r"None")),
    Mistake("SpectralSHAG().fit(7)", raises(TypeError, r"X must be", r"int")),
    Mistake("SpectralSHAG().fit([])", raises(ValueError, r"X holds no sentences", "at least one")),
    Mistake("SpectralSHAG().fit('train.conllu')", raises(TypeError, r"X must be", "read_conllu")),
    Mistake(
        "SpectralSHAG().fit(Path('train.conllu'))", raises(TypeError, r"X must be", "read_conllu")
    ),
    Mistake("SpectralSHAG().fit(load_english())", raises(TypeError, r"Treebank", r"\.data")),
    Mistake("SpectralSHAG().fit({'X': tags, 'y': y})", raises(TypeError, r"X must be", r"dict")),
    Mistake(
        "SpectralSHAG().fit({'X': tags, 'y': y}, y)",
        raises(TypeError, r"dict", r"(list of|sequence of) sentences"),
    ),
    Mistake(
        "SpectralSHAG().fit(DataFrame({'tag': ['DET', 'NOUN'], 'head': [2, 0]}))",
        raises(TypeError, r"DataFrame", r"column|list of sentences"),
    ),
    Mistake(
        "model.predict(DataFrame({'tag': ['DET']}))",
        raises(TypeError, r"X\[0\] is the string 'DET'", r"put it in a list"),
    ),
    Mistake("model.predict('DET NOUN VERB')", raises(TypeError, *ONE_SENTENCE)),
    Mistake("model.predict(['DET', 'NOUN'])", raises(TypeError, r"X\[0\]", "string", r"\[X\]")),
    Mistake("model.predict(['DET NOUN VERB'])", raises(TypeError, r"X\[0\]", r"split\(\)")),
    Mistake("model.predict([['DET NOUN VERB']])", warns(r"100 ?%", r"'DET NOUN VERB'")),
    Mistake("model.predict(tags[0])", raises(TypeError, r"X\[0\]", "string", r"\[X\]")),
    Mistake("model.predict(trees[0])", raises(TypeError, *ONE_SENTENCE, r"\[sentence\]")),
    Mistake("model.predict([])", works("len(result) == 0")),
    Mistake("model.predict([[]])", raises(ValueError, r"X\[0\] has no tokens", "remove")),
    Mistake("model.predict([tags[0], []])", raises(ValueError, r"X\[1\] has no tokens")),
    Mistake("model.predict([None])", raises(TypeError, r"X\[0\]", "NoneType")),
    Mistake("model.predict([3, 4])", raises(TypeError, r"X\[0\]", "int")),
    Mistake("model.predict([[3, 4]])", raises(TypeError, r"X\[0\].*position 0 is 3", r"string")),
    Mistake(
        "model.predict([[b'DET', b'NOUN']])",
        raises(TypeError, r"X\[0\]", r"b'DET'", "decode", NO_STR),
    ),
    Mistake(
        "model.predict([['DET', None]])",
        raises(TypeError, r"X\[0\]", r"position 1 is None", NO_STR),
    ),
    Mistake(
        "model.predict([['DET', np.nan]])",
        raises(TypeError, r"X\[0\]", r"position 1 is nan", NO_STR),
    ),
    Mistake("model.predict([['DET', '']])", raises(ValueError, r"X\[0\]", r"position 1", "empty")),
    Mistake("model.predict([tags])", raises(TypeError, r"X\[0\]", r"list", r"nest|deep|level")),
    Mistake(
        "SpectralSHAG().fit(list(zip(tags, y)))",
        raises(TypeError, r"X\[0\]", r"list", r"nest|deep|level|pair"),
    ),
    Mistake("model.predict(np.zeros((3, 4)))", raises(TypeError, r"X\[0\].*position 0 is 0\.0")),
    Mistake("model.predict(np.zeros((2, 3, 4)))", raises(TypeError, r"X\[0\].*2 dimensions")),
    Mistake("model.predict(np.array([['DET', 'NOUN']]))", works("result[0].size == 2")),
    Mistake("model.predict(np.array(['DET', 'NOUN']))", raises(TypeError, r"X\[0\]", "string")),
    Mistake("model.predict(np.array('DET NOUN'))", raises(TypeError, r"X", "sentences")),
    Mistake("model.predict(tree for tree in trees)", works("len(result) == len(trees)")),
    Mistake("model.predict([(tag for tag in tags[0])])", raises(TypeError, r"X\[0\]", "generator")),
    Mistake(
        "model.predict([set(tags[0])])",
        raises(TypeError, r"X\[0\].* type set", r"sequence of symbols"),
    ),
    Mistake(
        "model.predict([dict(enumerate(tags[0]))])",
        raises(TypeError, r"X\[0\].* type dict", r"sequence of symbols"),
    ),
    Mistake("model.predict([list(zip(words[0], tags[0]))])", raises(TypeError, r"X\[0\]", "tuple")),
    Mistake("model.predict(docs)", raises(TypeError, r"X\[0\]", r"Doc|Token", NO_STR)),
    Mistake(
        "model.predict([[token.pos_ for token in doc] for doc in docs])",
        works("len(result) == len(docs)"),
    ),
    Mistake("SpectralSHAG().fit(trees, trees)", works("result.symbols_.size > 5")),
    Mistake("SpectralSHAG().fit(y, tags)", raises(TypeError, r"X\[0\]", r"int", r"strings")),
    Mistake("SpectralSHAG().fit()", raises(TypeError, r"missing 1 required.*'X'", by="line")),
    Mistake("model.parse('DET NOUN')", raises(TypeError, *ONE_SENTENCE)),
    Mistake("model.parse(tree for tree in trees)", works("len(result) == len(trees)")),
    Mistake("model.predict_marginals(tags[0])", raises(TypeError, r"X\[0\]", r"\[X\]")),
    Mistake("model.log_likelihood('DET')", raises(TypeError, *ONE_SENTENCE)),
]
