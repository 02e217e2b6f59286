"""Heads that are missing or not a tree, and trees that are made wrongly."""

from _mistakes._replay import Mistake, raises, works

FLAT = (r"y\[0\]", r"whole numbers")

MISTAKES = [
    Mistake(
        "model.parse(conllu.parse(open('test.conllu').read()))",
        raises(TypeError, r"library conllu", r"from_token_list"),
    ),
    Mistake("DependencyTree.from_conllu(open('test.conllu').read())", raises(ValueError, r"10")),
    Mistake("trees[0].sent_id", works("isinstance(result, str)")),
    Mistake("trees[0].with_sent_id('1\\n2')", raises(ValueError, r"sent_id", r"line")),
    Mistake("to_dataframe(trees[0])", raises(TypeError, r"\[tree\]")),
    Mistake("to_html(trees[0])", raises(TypeError, r"\[tree\]")),
    Mistake("trees[0].with_heads(None).root", raises(ValueError, r"no heads", r"Parse")),
    Mistake(
        "DependencyVectorizer().fit(['The cat sat.'])",
        raises(TypeError, r"X\[0\]", r"str", r"DependencyTree"),
    ),
    Mistake("DependencyVectorizer().fit(trees[0])", raises(TypeError, r"\[tree\]")),
    Mistake("make_app([])", raises(ValueError, r"at least one model")),
    Mistake("make_app('english')", raises(ValueError, r"'models'", r"list", r"'english'")),
    Mistake("make_app(['missing.npz'])", raises(OSError, r"missing\.npz")),
    Mistake("make_app([model])", raises(TypeError, r"PathLike", r"DeterministicSHAG")),
    Mistake("make_app({'a': Tagger()})", raises(TypeError, r"got a Tagger, which has no parse")),
    Mistake("make_app(['english'], answering=0)", raises(ValueError, r"'answering'", r"0")),
    Mistake("TextParser().fit_transform('The cat sat.')", raises(TypeError, r"\[text\]")),
    Mistake("TextParser('german').fit([])", raises(FileNotFoundError, r"german.*english")),
    Mistake("SpectralSHAG().fit(tags)", raises(ValueError, r"X\[0\] has no heads", r"as y")),
    Mistake(
        "SpectralSHAG().fit([tree.with_heads(None) for tree in trees])",
        raises(ValueError, r"X\[0\] has no heads", r"60 of 60"),
    ),
    Mistake(
        "SpectralSHAG().fit([*trees, trees[0].with_heads(None)])",
        raises(ValueError, r"X\[60\] has no heads", r"1 of 61"),
    ),
    Mistake("SpectralSHAG().fit(tags, y[:-1])", raises(ValueError, r"60 sentences.*59")),
    Mistake("SpectralSHAG().fit(tags, y[::-1])", raises(ValueError, r"y\[0\] holds", r"8 tokens")),
    Mistake(
        "trees[0].children(99)", raises(ValueError, r"from 1 to \d+", r"0 for the root", r"99")
    ),
    Mistake("trees[0].depth('barks')", raises(ValueError, r"integer from 1", r"'barks'")),
    Mistake("trees[0].with_heads(None).path(1, 2)", raises(ValueError, r"no heads", r"with_heads")),
    Mistake("SpectralSHAG().fit(tags, 0)", raises(TypeError, r"\by\b", r"int")),
    Mistake("SpectralSHAG().fit(tags[:1], y[0])", raises(ValueError, r"1 sentences", r"y")),
    Mistake("SpectralSHAG().fit(trees, 'heads')", raises(TypeError, r"\by\b", r"str")),
    Mistake("SpectralSHAG().fit(tags, tags)", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [['2', '0']])", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [[2, None]])", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [[2.5, 0]])", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [[np.nan, 0]])", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [[np.inf, 0]])", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [[True, False]])", raises(ValueError, *FLAT)),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], [[[2], [0]]])", raises(ValueError, *FLAT)),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN']], [[2, 0, 2]])",
        raises(ValueError, r"y\[0\] holds 3 heads", r"2 tokens"),
    ),
    Mistake("SpectralSHAG().fit([['DET', 'NOUN']], np.array([[2, 0]]))", works()),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN']], np.array([[2], [0]]))",
        raises(ValueError, r"1 sentences", r"2"),
    ),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN', 'VERB']], [[1, 2, -1]])",
        raises(ValueError, r"y\[0\]", r"token 1", r"-1", r"head \+ 1"),
    ),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN', 'VERB']], [[2, 0, -1]])",
        raises(ValueError, r"y\[0\] \('DET NOUN VERB'\)", r"unknown", r"token 3", r"head \+ 1"),
    ),
    Mistake(
        "SpectralSHAG().fit([*trees, trees[0].with_heads([-1, *trees[0].heads[1:]])])",
        raises(ValueError, r"X\[60\]", r"unknown", r"SpectralSHAG needs whole", r"keep_heads"),
    ),
    Mistake(
        "model.parse([trees[0].with_heads([0, 0, *[1] * (len(trees[0]) - 2)])], keep_heads=True)",
        raises(ValueError, r"X\[0\]", r"tokens 1 and 2 are roots", r"-1"),
    ),
    Mistake(
        "trees[0].with_heads([-1] * len(trees[0])).depth(1)",
        raises(ValueError, r"token 1", r"not known \(-1\)", r"with_heads"),
    ),
    Mistake(
        "DependencyTree(['a', 'b', 'c'], [0, -1, 0])",
        raises(ValueError, r"token 3 \('c'\)", r"token 1", r"one root"),
    ),
    Mistake(
        "lift([2, 0, -1])",
        raises(ValueError, r"token 3", r"not known \(-1\)"),
    ),
    Mistake(
        "allowed_arcs([2, 0, -1])",
        raises(ValueError, r"heads\[0\]", r"\[heads\]"),
    ),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN', 'VERB']], [[3, 4, 1]])",
        raises(ValueError, r"y\[0\]", r"token 2", r"head 4", r"0\.\.3"),
    ),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN', 'VERB']], [[2, 1, 0]])",
        raises(ValueError, r"y\[0\]", r"cycle"),
    ),
    Mistake(
        "SpectralSHAG().fit([['DET', 'NOUN', 'VERB']], [[2, 3, 3]])",
        raises(ValueError, r"y\[0\]", r"itself", r"\b0\b"),
    ),
    Mistake(
        "SpectralSHAG().fit(tags, [[token.head.i for token in doc] for doc in docs])",
        raises(ValueError, r"y\[0\]", r"itself", r"\+ 1|1-based|from 1"),
    ),
    Mistake(
        "SpectralSHAG().fit(tags, [[token.head.i + 1 for token in doc] for doc in docs])",
        raises(ValueError, r"y\[0\]", r"itself", r"0"),
    ),
    Mistake(
        "SpectralSHAG().fit(tags, [[head - 1 for head in heads] for heads in y])",
        raises(ValueError, r"y\[0\]", r"-1"),
    ),
    Mistake(
        "SpectralSHAG().fit(tags, [[0 if t.head is t else t.head.i + 1 for t in d] for d in docs])",
        works("result.symbols_.size > 5"),
    ),
    Mistake(
        "SpectralSHAG().fit(docs)",
        raises(TypeError, r"X\[0\]", r"Doc|Token", r"string|symbols"),
    ),
    Mistake(
        "SpectralSHAG().fit(trees, model.predict(trees))",
        works("result.symbols_.size > 5"),
    ),
    Mistake(
        "DependencyTree('The dog barks', [2, 3, 0])",
        raises(TypeError, r"forms", r"str", r"split\(\)|one per token"),
    ),
    Mistake("DependencyTree(None)", raises(TypeError, r"forms", r"None")),
    Mistake("DependencyTree(word for word in words[0])", works("len(result) == 8")),
    Mistake("DependencyTree([])", raises(ValueError, r"at least one token")),
    Mistake("DependencyTree([1, 2], [2, 0])", raises(TypeError, r"forms", r"token 1")),
    Mistake("DependencyTree(['a', ''], [2, 0])", raises(ValueError, r"forms", "token 2", "empty")),
    Mistake("DependencyTree(['a b\\n'], [0])", raises(ValueError, r"forms", "token 1", "line end")),
    Mistake(
        "DependencyTree(['dog', 'barks'], ['NOUN', 'VERB'])", raises(ValueError, r"whole numbers")
    ),
    Mistake("DependencyTree(['dog', 'barks'], [2.5, 0.0])", raises(ValueError, r"whole numbers")),
    Mistake("DependencyTree(['dog', 'barks'], [2])", raises(ValueError, r"heads", r"2 tokens")),
    Mistake(
        "DependencyTree(['dog', 'barks'], [1, -1])",
        raises(ValueError, r"heads", r"token \d \('\w+'\)", r"-1|itself"),
    ),
    Mistake(
        "DependencyTree(['dog', 'barks'], [2, 2])",
        raises(ValueError, r"heads", r"itself", r"\b0\b"),
    ),
    Mistake(
        "DependencyTree(['dog', 'barks'], upos=['NOUN'])",
        raises(ValueError, r"upos has length 1", r"2 tokens"),
    ),
    Mistake(
        "DependencyTree(['dog', 'barks'], upos='NV')",
        raises(TypeError, r"upos", r"sequence of str"),
    ),
    Mistake(
        "DependencyTree(['dog', 'barks'], pos=['NOUN', 'VERB'])",
        raises(TypeError, r"unexpected keyword argument 'pos'", by="line"),
    ),
    Mistake("trees[0].upos = tags[1]", raises(AttributeError, r"immutable", r"with_symbols")),
    Mistake("trees[0].heads[0] = 3", raises(ValueError, r"read-only", by="line")),
    Mistake("trees[0][0]", raises(TypeError, r"not subscriptable", by="line")),
    Mistake("trees[0].with_heads([2, 0])", raises(ValueError, r"heads", r"8 tokens")),
    Mistake("trees[0].with_symbols(['DET'])", raises(ValueError, r"symbols has length 1", "8")),
    Mistake("trees[0].column('pos')", raises(ValueError, r"'pos'", r"upos, xpos")),
    Mistake(
        "DependencyTree(['dog'], [0]).column('xpos')",
        raises(ValueError, r"no column 'xpos'", r"only form"),
    ),
    Mistake(
        "trees[0].with_heads(None).is_projective",
        raises(ValueError, r"no heads", r"DependencyTree"),
    ),
]
