"""Parsers trained for trees, and taggers: columns, tags, vectors of words, layers, text."""

import gzip

from _mistakes._replay import Mistake, raises, stops, usage, warns, works

PARSER = "BiaffineParser(hidden_layer_sizes=[4], max_iter=1, random_state=0"
TAGGER = "Tagger(hidden_layer_sizes=[4], max_iter=1, cv=2, random_state=0"
TRAIN = "train train.conllu -o new.npz --model biaffine"
FEW = "trees[:20]"

# Vectors in context: good ones, and such as are wrong for one sentence.
VECTORS = (
    "vectors = lambda X: [np.ones((len(s), 2)) for s in X]; "
    "wrong = lambda X, change: [change(v) if k == 2 else v for k, v in enumerate(vectors(X))]; "
    "failing = lambda X: {}['no vectors']"
)
FED = "fed, bare = (DependencyTree(['b'], [0], upos=['X'], feats=[f]) for f in ('X=Y', '_'))"

UNTAGGED = (
    "untagged = [DependencyTree(['Unheard'] * 3, upos=['_'] * 3)]; "
    "part = [DependencyTree(tree.forms, upos=tree.upos) for tree in trees]"
)
# A text that is long enough to miss features in.
FULL = """
def full(n=30, forms=None, **columns):
    values = {"upos": ["A"] * n, "xpos": ["B"] * n, "lemmas": ["c"] * n, "feats": ["D=e"] * n}
    return DependencyTree(forms or ["f"] * n, [0, *[1] * (n - 1)], **(values | columns))

"""
READ = "from sklearn_shag.features import read_vectors"
NO_UTF8 = "not valid UTF-8; convert it, or, if it is a binary file"

MISTAKES = [
    Mistake("CRFParser(learning_rate=0.1)", raises(TypeError, r"learning_rate", by="line")),
    Mistake("CRFParser(alpha=-1).fit(trees)", raises(ValueError, r"'alpha'", r"\[0")),
    Mistake(
        "linear.top_features(raw)",
        raises(ValueError, r"X\[0\] has no heads"),
        before="raw = [tree.with_heads(None) for tree in trees]",
    ),
    Mistake(
        "linear.top_features(trees, label='subject')",
        raises(ValueError, r"'subject'", r"nsubj"),
    ),
    Mistake("CRFParser(calibrate='yes').fit(trees)", raises(ValueError, r"'calibrate'", r"bool")),
    Mistake("model.predict_label_proba(tags)", works("len(result) == 60")),
    Mistake(
        "DeterministicSHAG().fit(tags, y).predict_label_proba(tags)",
        raises(ValueError, r"no relations", r"deprels"),
    ),
    # A fifth of the tokens have no XPOS, and all of them UPOS.
    Mistake(
        "CRFParser(n_features=2**12, max_iter=1).fit(fifth).predict(fifth)",
        works("len(result) == 60"),
        before="fifth = [DependencyTree.from_conllu("
        "re.sub(r'(?m)^(\\d*5(\\t[^\\t]*){3}\\t)[^\\t]*', r'\\1_', tree.to_conllu())"
        ") for tree in trees]",
    ),
    Mistake(f"BiaffineParser(100).fit({FEW})", raises(ValueError, r"'columns'", r"'auto'")),
    Mistake(
        f"BiaffineParser('upos').fit({FEW})", raises(ValueError, r"'columns'", r"'auto'", r"list")
    ),
    Mistake(
        f"BiaffineParser(['pos']).fit({FEW})", raises(ValueError, r"'pos'", r"upos", r"suffix")
    ),
    Mistake(
        f"BiaffineParser(hidden_layer_sizes=100).fit({FEW})",
        raises(ValueError, r"'hidden_layer_sizes'", r"100"),
    ),
    Mistake(
        f"BiaffineParser(hidden_layer_sizes=[]).fit({FEW})",
        raises(ValueError, r"hidden_layer_sizes", r"at least one"),
    ),
    Mistake(
        f"BiaffineParser(hidden_layer_sizes=[100, 0]).fit({FEW})",
        raises(ValueError, r"hidden_layer_sizes", r"positive"),
    ),
    Mistake(f"BiaffineParser(dropout=1).fit({FEW})", raises(ValueError, r"'dropout'", r"\[0")),
    Mistake(f"BiaffineParser(max_iter=0).fit({FEW})", raises(ValueError, r"'max_iter'", r"\[1")),
    Mistake(
        f"BiaffineParser(learning_rate_init=1e30, max_iter=3).fit({FEW})",
        raises(ValueError, r"range of numbers", r"Lower learning_rate_init"),
    ),
    Mistake(f"{PARSER}).fit(trees, tags)", raises(ValueError, r"y\[0\]")),
    Mistake(f"{PARSER}).fit(tags)", raises(ValueError, r"heads|y")),
    Mistake(f"{PARSER}).fit({FEW}).predict(tags)", raises(TypeError, r"DependencyTrees")),
    Mistake(
        f"{PARSER}, tags='upos', columns=['upos', 'form']).fit({FEW})",
        raises(ValueError, r"to be learned from words alone", r"upos", r"tags=None"),
    ),
    Mistake(
        f"{PARSER}, tags='pos').fit({FEW})", raises(ValueError, r"'tags'", r"'upos'", r"'xpos'")
    ),
    Mistake(f"{PARSER}, tags=True).fit({FEW})", raises(ValueError, r"'tags'", r"'upos'")),
    Mistake(
        f"{PARSER}, tags=['upos', 'deprel']).fit({FEW})",
        raises(ValueError, r"tags must name columns", r"upos, xpos, feats, lemma"),
    ),
    Mistake(
        f"{PARSER}, tags='upos').fit({FEW}).predict_tags(test, column='lemma')",
        raises(ValueError, r"has learned the columns upos, and not 'lemma'"),
    ),
    Mistake(
        f"{PARSER}, tags=['upos', 'lemma'], columns=['form', 'lemma']).fit({FEW})",
        raises(ValueError, r"to be learned from words alone", r"lemma"),
    ),
    Mistake(
        f"{PARSER}, tags='upos').fit(read_conllu('untagged.conllu'))",
        raises(ValueError, r"tags='upos'", r"no tree of X has values"),
    ),
    Mistake(
        f"{PARSER}).fit({FEW}).predict_tags(test)", raises(ValueError, r"learned no tags", r"upos")
    ),
    Mistake(
        f"{PARSER}, tags='upos').fit({FEW}).parse([['She', 'sleeps', '.']])[0].upos",
        works("len(result) == 3"),
    ),
    Mistake(
        f"{PARSER}, tags='upos').fit({FEW}).parse(['She sleeps .'])",
        raises(TypeError, r"X\[0\]", r"str"),
    ),
    Mistake(
        f"{PARSER}, labels=False).fit({FEW}).predict_labels(test)",
        raises(ValueError, r"knows no relations"),
    ),
    Mistake(
        f"{PARSER}, embeddings='vectors.txt').fit({FEW})",
        raises(ValueError, r"embeddings", r"mapping from words to vectors", r"read_vectors"),
    ),
    Mistake(
        f"{PARSER}, embeddings=np.ones((5, 3))).fit({FEW})",
        raises(ValueError, r"embeddings", r"pair of words and an array"),
    ),
    Mistake(
        f"{PARSER}, embeddings={{'dogs': [1.0], 'cats': [1.0, 2.0]}}).fit({FEW})",
        raises(ValueError, r"embeddings", r"all of one size"),
    ),
    Mistake(
        f"{PARSER}, embeddings=lambda X: [np.ones(3) for _ in X]).fit({FEW})",
        raises(ValueError, r"embeddings", r"X\[0\]", r"shape \(n_tokens, n_dimensions\)"),
    ),
    Mistake(
        f"{PARSER}, embeddings=lambda X: X[0].vector).fit({FEW})",
        raises(ValueError, r"embeddings", r"failed on X\[0\] to X", r"no attribute 'vector'"),
    ),
    Mistake(
        f"{PARSER}, embeddings=TransformerVectors('none')).fit({FEW})",
        raises(ValueError, r"embeddings", r"none has no config\.json"),
        before="from sklearn_shag.features import TransformerVectors",
    ),
    Mistake(f"{PARSER}, decoder='viterbi').fit({FEW}).predict(test)", works("len(result) == 10")),
    Mistake(
        f"{PARSER}).fit({FEW}).log_likelihood(test)",
        raises(AttributeError, r"log_likelihood", by="line"),
    ),
    Mistake(f"{PARSER}).fit({FEW}).sample(3)", raises(AttributeError, r"sample", by="line")),
    Mistake(
        f"{PARSER}, warm_start=True).fit({FEW}).set_params(hidden_layer_sizes=[5]).fit({FEW})",
        raises(ValueError, r"warm_start", r"hidden_layer_sizes=\[5\]"),
    ),
    Mistake(f"{TAGGER}).fit(tags)", raises(ValueError, r"tags='upos'", r"no tree of X")),
    Mistake(f"{TAGGER}).fit_transform(trees[:1])", raises(ValueError, r"folds|splits|cv")),
    Mistake(f"{TAGGER}, columns=['upos']).fit({FEW})", raises(ValueError, r"from words alone")),
    Mistake(f"{TAGGER}, columns='form').fit({FEW})", raises(ValueError, r"'columns'", r"list")),
    Mistake(
        f"make_pipeline({TAGGER}), SpectralSHAG(2)).fit({FEW}).predict([['She', 'sleeps']])",
        works("len(result[0]) == 2"),
    ),
    Mistake(f"{TRAIN} --set n_states=4", stops(r"'n_states'", r"BiaffineParser", r"'max_iter'")),
    Mistake(f"{TRAIN} --symbols upos", stops(r"--symbols upos", r"--columns for crf and biaffine")),
    Mistake(f"{TRAIN} --columns pos", stops(r"'pos'", r"upos")),
    Mistake(f"{TRAIN} --tags pos", stops(r"--tags pos", r"upos")),
    Mistake(f"{TRAIN} --tags upos,upos", stops(r"--tags upos,upos", r"none twice")),
    Mistake(f"{TRAIN} --embeddings none.vec", stops(r"none\.vec")),
    Mistake(f"{TRAIN} --context none", stops(r"none has no config\.json")),
    Mistake("parse model.npz test.conllu --context none", stops(r"none has no config\.json")),
    Mistake(f"{TRAIN} --context-for training", stops(r"--context-for training needs .* --context")),
    Mistake(f"{TRAIN} --context-for parsing", stops(r"--context-for parsing needs .* --context")),
    Mistake(f"{TRAIN} --embeddings test.conllu", stops(r"test\.conllu:1", r"finite numbers")),
    Mistake(f"{TRAIN} --tags upos --columns upos", stops(r"from words alone", r"upos")),
    Mistake(
        "parse model.npz test.conllu --input horizontal",
        stops(r"test\.conllu", r"no column .upos., only form"),
    ),
    Mistake(f"{TRAIN} --text --tags pos", stops(r"--tags pos", r"upos")),
    Mistake("parse model.npz plain.txt --input text", stops(r"not learned to split", r"--text")),
    Mistake("parse klingon plain.txt --input text", stops(r"klingon", r"no (such )?file")),
    Mistake("parse english latin1.conllu --input text", stops(r"latin1\.conllu:\d+", r"UTF-8")),
    Mistake(
        "parse english plain.txt --input text --context none",
        stops(r"--context none", r"english reads no vectors", r"leave"),
    ),
    Mistake("demo 'It sleeps.' --treebank treebank", stops(r"--treebank", r"leave one")),
    Mistake("demo 'It sleeps.' --grammars", stops(r"--grammars", r"leave one")),
    Mistake("load_parser('klingon')", raises(ValueError, r"english", r"fetch_treebank")),
    Mistake("english.parse_text(['It sleeps.'])", raises(TypeError, r"text must be a str")),
    Mistake("english.parse_text(b'It sleeps.')", raises(TypeError, r"decode")),
    Mistake("english.parse_text('')", works("result == []")),
    Mistake("english.parse('It sleeps.')", raises(TypeError, r"single str")),
    Mistake("english.parse_text('It sleeps.')", works("result[0].upos[0] == 'PRON'")),
    Mistake("Splitter().split_text('It sleeps.')", raises(ValueError, r"not fitted")),
    Mistake("Splitter().fit(tags)", raises(TypeError, r"X\[0\]", r"DependencyTree")),
    Mistake(
        r"Splitter().fit([DependencyTree(['\u200b']).with_comments(['# text = \u200b'])])",
        raises(ValueError, r"invisible", r"no text"),
    ),
    Mistake(
        "Splitter(patterns=['(']).fit(trees)",
        raises(ValueError, r"patterns must hold regular expressions"),
    ),
    Mistake(
        "Splitter(hidden_layer_sizes=[2], max_iter=1).fit([DependencyTree(['Cats', 'sleep'])] * 3)",
        warns(r"SpaceAfter=No", warning="UserWarning"),
    ),
    Mistake(
        "make_parser_pipeline(TokenFeature(), model).fit(trees).parse_text('It sleeps.')",
        raises(AttributeError, r"make_parser_pipeline\(Splitter\(\)"),
    ),
    *(
        Mistake(
            f"{PARSER}, embeddings=lambda X: {found}).fit({FEW})",
            raises((TypeError, ValueError), words),
            before=VECTORS,
        )
        for found, words in (
            ("vectors(X)[1:]", r"returned 19 for the 20 sentences"),
            ("wrong(X, lambda v: v[1:])", r"shape .* for X\[2\] \('"),
            ("wrong(X, lambda v: v[:, 1:])", r"shape .* for X\[2\] \('"),
            ("wrong(X, lambda v: v[0])", r"shape .* for X\[2\] \('"),
            ("wrong(X, lambda v: v * np.nan)", r"not finite, or larger than 65,504 for X\[2\]"),
            ("wrong(X, lambda v: v * 1e5)", r"not finite, or larger than 65,504 for X\[2\]"),
            ("wrong(X, lambda v: [['a']])", r"an array of <U1 for X\[2\] \('"),
            ("wrong(X, lambda v: [[1.0], [1.0, 2.0]])", r"different lengths for X\[2\] \('"),
            ("wrong(X, lambda v: None)", r"for X\[2\] \('"),
            ("[np.ones((len(s), 0)) for s in X]", r"shape \(\d+, 0\)"),
            ("None", r"failed on .*TypeError"),
            ("failing(X)", r"embeddings, .* failed on X\[0\] to X\[19\]: KeyError: 'no vectors'"),
        )
    ),
    Mistake(
        f"{PARSER}, embeddings=TransformerVectors(3)).fit({FEW})",
        raises((TypeError, ValueError), r"embeddings.*folder"),
        before="from sklearn_shag.features import TransformerVectors",
    ),
    Mistake(
        "load_model('ensemble.npz', embeddings={'a': [1.0]})",
        raises(TypeError, r"function from sentences"),
    ),
    Mistake(
        "load_model('ensemble.npz', embeddings=lambda sentences: [])",
        raises(ValueError, r"reads no vectors in context"),
    ),
    Mistake("Splitter(max_tokens=0).fit(trees)", raises(ValueError, r"'max_tokens'", r"\[1")),
    Mistake(
        f"make_parser_pipeline({PARSER})).fit({FEW}).parse_text('It sleeps.')",
        raises(AttributeError, r"Splitter", by="line"),
    ),
    Mistake("parse model.npz test.conllu --input vertical", usage(r"'vertical'", r"horizontal")),
    Mistake(
        "Tagger(cv=4, max_iter=1, random_state=0).fit_transform([test[0], *[blank] * 3])",
        raises(ValueError, r"In X without fold \d of 4, which is to be tagged: "),
        before="blank = DependencyTree(['b'], upos=['_'])",
    ),
    Mistake(
        "CRFParser(['upos', 'feats.X'], max_iter=1).fit([fed] * 3).predict([bare] * 30)",
        raises(ValueError, r"column 'feats\.X'"),
        before=FED,
    ),
    *(
        Mistake(f"CRFParser({given}).fit(trees)", raises(ValueError, words))
        for given, words in (
            ("[]", r"at least one column, and none twice"),
            ("['upos', 'upos']", r"none twice"),
            ("['upos', 'suffix', 'suffix.3']", r"none twice"),
            ("['deprel']", r"columns: 'deprel' is not a column of tokens that a parser can read"),
            ("['word']", r"'word' is not a column"),
            ("[3]", r"3 is not a column"),
            ("['suffix.0']", r"'suffix\.0' is not a column"),
            ("['suffix.²']", r"is not a column"),
            ("['feats.']", r"'feats\.' is not a column"),
            ("['upos', 'feats.Nothing']", r"All values of the column 'feats\.Nothing'"),
            (
                "['upos'], templates=['h.tag', 'x.tag']",
                r"templates: 'x\.tag' in 'x\.tag' is no value of a token",
            ),
            ("['upos'], templates=['h.tag m']", r"'m' in 'h\.tag m' is no value"),
            (
                "['upos'], templates=['h.nonsense']",
                r"templates: 'nonsense' is not a column of tokens",
            ),
            ("['upos'], templates=['m.deprel']", r"templates: 'deprel' is not a column"),
            (
                "['upos'], templates=['between+1.tag']",
                r"'between\+1\.tag' .*between takes no offset",
            ),
            ("['upos'], templates=['']", r"templates: an empty one"),
            (
                "['upos'], templates=['m.form']",
                r"No template is left: .* upos\. Give other templates",
            ),
            ("['upos'], templates=[]", r"No template is left"),
            ("['upos'], templates=['h.suffix.0']", r"'suffix\.0' is not a column"),
        )
    ),
    *(
        Mistake(f"BiaffineParser({given}).fit(trees)", raises(ValueError, words))
        for given, words in (
            (
                "['form', 'upos'], tags='upos'",
                r"tags='upos' is to be learned from words alone, but col",
            ),
            (
                "['feats', 'form'], tags='upos'",
                r"tags='upos' is to be learned from words alone, but col",
            ),
            (
                "['feats.Case'], tags='upos'",
                r"tags='upos' is to be learned from words alone, but col",
            ),
            ("embeddings={}", r"0 words need vectors"),
            ("embeddings={'a': [1.0], 'b': [1.0, 2.0]}", r"all of one size"),
            ("embeddings={'a': [1.0], 'b': 'x'}", r"arrays of numbers"),
            (
                "embeddings={'a': [1.0], 'b': [np.nan]}",
                r"vector of 'b' holds numbers that are not finite",
            ),
            ("embeddings={1: [1.0]}", r"1 is a int, but words are str"),
            ("embeddings=(['a', 'a'], np.ones((2, 3)))", r"a word comes twice"),
            (
                "embeddings=(['a'], np.ones((2, 3)))",
                r"1 words need vectors of shape \(1, n_dimensions\)",
            ),
            ("embeddings=(['a'], np.ones(1))", r"got \(1,\)"),
            ("embeddings=(['a', 'b'],)", r"a pair of words and an array"),
            ("embeddings=({'a', 'b'}, np.ones((2, 3)))", r"a pair of words and an array"),
            ("embeddings='vectors.txt'", r"mapping from words to vectors"),
            ("embeddings=3", r"embeddings"),
        )
    ),
    *(
        Mistake(f"Tagger({given}).fit(trees)", raises(ValueError, words))
        for given, words in (
            ("('upos', 'upos')", r"none twice"),
            ("('deprel',)", r"must name columns to be learned"),
            ("['upos', 'form']", r"must name columns to be learned"),
            ("(1,)", r"must name columns to be learned"),
            (
                "('upos', 'lemma'), ('form', 'lemma')",
                r"is to be learned from words alone, but columns names le",
            ),
        )
    ),
    *(
        Mistake(f"Tagger(cv={given}).fit_transform(trees)", raises(ValueError, words))
        for given, words in (
            (
                "61",
                r"tags 61 folds, but X holds 60 sentences.*lower cv=61, or use fit and transform",
            ),
            ("[([0, 1], [2, 3])]", r"The folds of cv=\[.*KFold"),
            ("[]", r"The folds of cv=\[\] do not hold"),
            ("1", r"'cv' parameter of Tagger"),
            ("'five'", r"'cv' parameter of Tagger"),
        )
    ),
    *(
        Mistake(
            f"linear.explain({given})",
            raises(ValueError, words),
        )
        for given, words in (
            ("tags[0], 0", r"modifier must be a token, 1 to 8, got 0"),
            ("tags[0], 9", r"modifier must be a token, 1 to 8, got 9"),
            ("tags[0], '1'", r"got '1'"),
            ("tags[0], 1, head=1", r"head must be the root, 0, or a token from 1 to 8 other"),
            ("tags[0], 1, head=9", r"got 9"),
            ("tags[0], 1, head=-1", r"got -1"),
            ("tags[0], 1, rival=9", r"rival must be"),
            ("tags[0], 1, head=2, rival=2", r"head and rival are both 2"),
            ("['NOUN'], 1", r"only token of a sentence has no head but the root"),
        )
    ),
    Mistake(
        "CRFParser(templates=['bias', 3]).fit(trees)",
        raises((TypeError, ValueError), r"templates", r"'bias', 3"),
    ),
    Mistake(
        f"BiaffineParser(max_iter=3).fit({FEW}, sample_weight=[1e30] * 20)",
        raises(ValueError, r"range of numbers.*or the weights of sentences"),
    ),
    *(
        Mistake(
            f"CRFParser().fit(trees, sample_weight={weights})",
            raises(ValueError, r"left the range .* or the weights of sentences"),
        )
        for weights in ("[1e20] * 60", "[1e20] + [1] * 59")
    ),
    *(
        Mistake(
            f"{kind}(['symbol', 'form'], {smaller}, max_iter=1).fit({FEW}).predict(tags)",
            raises(TypeError, r"X\[0\] is a list of str, but the columns symbol, form"),
        )
        for kind, smaller in (
            ("BiaffineParser", "hidden_layer_sizes=[4]"),
            ("CRFParser", "n_features=2**12"),
        )
    ),
    Mistake(
        "CRFParser().fit([DependencyTree(list('abcd'), [3, 4, -1, -1], upos=list('ABCD'))])",
        raises(ValueError, r"no sentence to learn from: of 1, 1 have known heads but no projectiv"),
    ),
    Mistake(
        "CRFParser().fit([['A', 'B']], [[-1, -1]])",
        raises(ValueError, r"no sentence to learn from: of 1, 0 have known heads"),
    ),
    *(
        Mistake(call, raises(ValueError, words), before=UNTAGGED)
        for call, words in (
            (f"{TAGGER}).fit(untagged)", r"no tree of X has values"),
            (f"{TAGGER}).fit(trees).score(untagged)", r"no known tags"),
            (
                f"{TAGGER}, tags=('upos', 'xpos')).fit(part)",
                r"tags='xpos' is to be learned, but no",
            ),
            (
                f"{TAGGER}, tags=('upos', 'lemma')).fit(trees).score(untagged)",
                r"no known tags in the column upos or lemma",
            ),
            (
                f"{TAGGER}, tags='feats').fit(trees).score(untagged)",
                r"no known tags in the column feats",
            ),
        )
    ),
    # Columns that the text to parse lacks.
    *(
        Mistake(
            f"{call}([full(xpos=None, lemmas=None, feats=None, forms=['_'] * 30)])",
            raises(ValueError, rf"of the column '{column}.* run its script"),
            before=f"{FULL}parser = CRFParser(['upos', '{column}'], max_iter=1).fit([full()])",
        )
        for column in ("form", "suffix", "shape")
        for call in ("parser.predict", f"CRFParser(['{column}']).fit")
    ),
    *(
        Mistake(
            f"parser.predict([full({name}={values}, symbols=['A'] * 30)])",
            raises(ValueError, rf"All values of the column '{column}' of X"),
            before=f"{FULL}parser = CRFParser(n_features=2**12, max_iter=1).fit([full()])",
        )
        for name, column in (
            ("upos", "upos"),
            ("xpos", "xpos"),
            ("lemmas", "lemma"),
            ("feats", "feats"),
        )
        for values in ("['_'] * 30", "None")
    ),
    *(
        Mistake(
            f"parser.predict([full({name}={['_'] * 29 + [value]})])",
            works("len(result) == 1"),
            before=f"{FULL}parser = CRFParser(n_features=2**12, max_iter=1).fit([full()])",
        )
        for name, value in (("lemmas", "c"), ("feats", "D=e"))
    ),
    Mistake(
        "CRFParser(['upos', 'form'], max_iter=1).fit([full()]).predict([full(upos=['Z'] * 30)])",
        warns(r"100 % of the tokens"),
        before=FULL,
    ),
    # Files of vectors of words.
    *(
        Mistake(
            "read_vectors('own.vec')",
            raises(ValueError, words),
            before=f"{READ}; Path('own.vec').write_bytes({content!r})",
        )
        for content, words in (
            (b"the 0.5 x\nof 1\n", r"own\.vec:1: a word and a vector of size 1 are expected"),
            (b"the 0.5 1\nof 1 x\n", r"own\.vec:2: the vector of 'of' must be .* got \['x'\]"),
            (b"the 0.5 1\nof 1  2\n", r"own\.vec:2: a word and a vector of size 2"),
            (b"2 2\nthe 0.5 nan\n", r"own\.vec:2: .* finite numbers, got \['nan'\]"),
            (b"2 2\nthe -inf 1\n", r"own\.vec:2: .* finite numbers, got \['-inf'\]"),
            (b"the 1e39 1\n", r"own\.vec:1: .* finite numbers, got \['1e39', '1'\]"),
            (
                b"the 0.5 1\nof 1\n",
                r"own\.vec:2: a word and a vector of size 2 are expected, got 'of 1'",
            ),
            (b"the 0.5 1\n\nof 1 2 3\n", r"own\.vec:3: a word and a vector of size 2"),
            (b"1 3\nthe 0.5 1\n", r"own\.vec:2: a word and a vector of size 3"),
            (b"1 1\nthe 0.5 1\n", r"own\.vec:2: a word and a vector of size 1"),
            (b"some text\n", r"own\.vec:1: the vector of 'some' must be .* got \['text'\]"),
            (b"text\n", r"own\.vec:1: a word and a vector of size 1 are expected, got 'text'"),
            (b"", r"own\.vec has no vectors; is it the right file"),
            (b"\n\n", r"own\.vec has no vectors; is"),
            (b"0 100\n", r"own\.vec has no vectors; is"),
            (b"2 2\nthe \x01\x00\x80\x3f\x00\x00\x80\x3f\n", r"own\.vec:2: this is a binary file"),
            (b"2 2\nthe \xcd\xcc\x8c\x3f\xcd\xcc\x8c\x3f\n", rf"own\.vec:2: this is {NO_UTF8}"),
            ("the 1\ncafé 1\n".encode("latin-1"), rf"own\.vec:2: this is {NO_UTF8}"),
            (
                gzip.compress(b"the 0.5\nof 0.5\n")[:-9],
                r"own\.vec:\d: cannot be decompressed further",
            ),
            (b"PK\x03\x04", r"own\.vec:1: this is a zip archive"),
        )
    ),
    Mistake(
        "read_vectors('long.vec')",
        raises(ValueError, r"long\.vec:90001: the vector of 'word90000'"),
        before=f"{READ}; lines = [f'word{{k}} 0.123456789' for k in range(100_000)]; "
        "lines[90_000] += 'x'; Path('long.vec').write_text('\\n'.join(lines))",
    ),
    *(
        Mistake(
            f"read_vectors('own.vec', {given})",
            raises((TypeError, ValueError), words),
            before=f"{READ}; Path('own.vec').write_text('the 1\\ndogs 2\\ndog 3\\ncats 4')",
        )
        for given, words in (
            ("words=['birds', 'fish']", r"vec has no vectors of the words that are asked for; is"),
            ("words=[]", r"has no vectors of the words that are asked for; is"),
            ("words=['cats'], limit=3", r"that are asked for in its first 3 lines"),
            ("limit=0", r"'limit' parameter"),
            ("limit=2.0", r"'limit' parameter"),
            ("words=3", r"'words' parameter"),
            ("words='cats'", r"words must be a list or a set of str, or the like, got 'cats'"),
            ("words=[DependencyTree(['cats'])]", r"got \[DependencyTree\(.*form for tree in trees"),
        )
    ),
    *(
        Mistake(
            f"train train.conllu -o new.npz --embeddings own.vec --model {model}",
            stops(r"--embeddings: vectors are for networks, --model biaffine or ensemble", words),
        )
        for model, words in (
            ("crf", r"--model crf reads none\."),
            ("spectral", r"--model spectral reads none\."),
        )
    ),
    Mistake(
        "train train.conllu -o new.npz --embeddings own.vec --continue model.npz",
        stops(r"leave out --embeddings"),
    ),
    Mistake(
        f"{TRAIN} --embeddings own.vec",
        stops(r"own\.vec:2: a word and a vector of size 2"),
        before="Path('own.vec').write_text('the 1 2\\nof 1')",
    ),
    Mistake(
        "CRFParser(['xpos', 'form'], n_features=2**12, max_iter=1).fit(fifth)",
        warns(r"have the symbol '_' in the column 'xpos', which stands for a missing"),
        before="fifth = [DependencyTree.from_conllu("
        "re.sub(r'(?m)^(\\d*5(\\t[^\\t]*){3}\\t)[^\\t]*', r'\\1_', tree.to_conllu())"
        ") for tree in trees]",
    ),
    Mistake(
        "CRFParser(max_iter=1).fit([DependencyTree(['_', '_'], [2, 0], upos=['A', 'B'])])",
        warns(r"All forms of X are '_'.* run its script", check="result.columns_ == ('upos',)"),
    ),
    Mistake(
        "CRFParser(n_features=2**12, max_iter=1).fit([*trees, impossible])",
        warns(
            r"1 of 61 sentences are left out",
            warning="UserWarning",
            check="(result.n_lifted_, result.n_left_out_) == (0, 1) "
            "and 'A' not in result.vocabulary_['upos']",
        ),
        before="impossible = DependencyTree(list('abcd'), [3, 4, -1, -1], upos=list('ABCD'))",
    ),
]
