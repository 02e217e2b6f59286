"""Heads that are missing or not a tree, and trees that are made wrongly."""

from _mistakes._replay import Mistake, Must, raises, works
from sklearn_shag.treebank import ConlluError

FLAT = (r"y\[0\]", r"whole numbers")

MISTAKES = [
    *[
        Mistake(
            f"DependencyTree(**{ {'forms': ['a', 'b'], name: ['a', value]} })",
            raises(ValueError, rf"{name} has .* for token 2"),
        )
        for name in ("forms", "lemmas", "upos", "xpos", "feats", "deprels")
        for value in ("", "a\tb", "a\n", "\r")
    ],
    *[
        Mistake(line.format(name), raises(AttributeError, "immutable"))
        for name in ("forms", "heads", "symbols", "_source", "new")
        for line in ("trees[0].{} = None", "del trees[0].{}")
    ],
    *[
        Mistake(f"{tree}.heads[0] = 1", raises(ValueError, "read-only"))
        for tree in (
            "trees[0]",
            "clone(trees[0], safe=False)",  # a deep copy
            "pickle.loads(pickle.dumps(trees[0], protocol=0))",
            "trees[0].with_heads([0] + [1] * (len(trees[0]) - 1))",
            "trees[0].with_symbols(iter(trees[0].xpos))",
        )
    ],
    *[
        # No convention fits: there is nothing to convert.
        Mistake(
            f"DependencyTree(['w'] * {len(heads)}, {heads})",
            raises(ValueError, r"^(?!.*convert).*is not a tree"),
        )
        for heads in ([0, 3, 2], [0, 1, 5], [2, 1], [3, 3, 2, 1], [0, 2])
    ],
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
    *(
        Mistake(f"{function}({heads})", raises(ValueError, words))
        for function, heads in (("lift", "{}"), ("is_projective", "{}"), ("allowed_arcs", "[{}]"))
        for heads, words in (
            (heads.format("[2, 1]"), r"is not a tree: at token 1"),
            (heads.format("[0, 3]"), r"token 2, head 3 is outside"),
            (heads.format("[[0]]"), r"flat sequence of whole numbers"),
            (heads.format("[]"), r"holds no heads"),
        )
    ),
    Mistake("lift(DependencyTree(['a']))", raises(ValueError, r"head of token 1 is not known")),
    Mistake("allowed_arcs(trees[0])", raises(TypeError, r"got DependencyTree.*\[heads\]")),
    *(
        Mistake(f"DependencyTree(['a', 'b']).with_misc({arguments})", raises(error, words))
        for arguments, error, words in (
            ("'Ref', ['a']", ValueError, r"Ref has length 1, but the sentence has 2 tokens"),
            ("'Ref', ['a', 'b|c']", ValueError, r"Ref has 'b\|c' for token 2: in MISC, '\|' sep"),
            ("'Ref', ['a', '']", ValueError, r"Ref has '' for token 2"),
            (r"'Ref', ['a\tb', 'c']", ValueError, r"Ref has 'a\\tb' for token 1"),
            ("'A=B', ['a', 'b']", ValueError, r"name='A=B' is not valid in MISC"),
            ("'A|B', ['a', 'b']", ValueError, r"name='A\|B' is not valid in MISC"),
            ("'', ['a', 'b']", ValueError, r"name='' is not valid in MISC"),
            ("3, ['a', 'b']", ValueError, r"name=3 is not valid in MISC"),
            ("'A', [0.5, 0.25]", TypeError, r"A must be a sequence of str"),
        )
    ),
    *(
        Mistake(f"DependencyTree(list('abcde')).{change}", raises(ValueError, words))
        for change, words in (
            ("with_comments(['no sign'])", r"begins with '#', got 'no sign'"),
            (r"with_comments(['# a\n# b'])", r"A comment is a line"),
            ("with_deps(['0:root'])", r"deps"),
            (r"with_deps(['a\tb'] * 5)", r"CoNLL-U can hold neither"),
            ("with_multiword_tokens([MultiwordToken(2, 6, 'x')])", r"from 1 to 5"),
            (
                "with_multiword_tokens([MultiwordToken(1, 2, 'x'), MultiwordToken(2, 3, 'y')])",
                r"from 3 to 5",
            ),
            (r"with_multiword_tokens([MultiwordToken(1, 2, 'x\ty')])", r"CoNLL-U can hold"),
            ("with_empty_nodes([EmptyNode(6, ('_',) * 9)])", r"follow a word from 0 to 5"),
            ("with_empty_nodes([EmptyNode(1, ('_',) * 8)])", r"columns"),
            ("from_conllu('')", r"holds 0 sentences"),
            ("from_conllu(trees[0].to_conllu() * 2)", r"holds 2 sentences, not one"),
        )
    ),
    *(
        Mistake(f"{call}.fit_transform({X})", raises(error, words))
        for call in ("DependencyVectorizer()", "SyntaxStatistics()")
        for X, error, words in (
            ("'text'", TypeError, r"list of trees"),
            ("3", TypeError, r"list of trees"),
            ("[['text']]", TypeError, r"X\[0\]\[0\] is a "),
            ("[[trees[:2]]]", TypeError, r"X\[0\]\[0\] is a "),
            ("[None]", TypeError, r"X\[0\]\[0\] is a "),
            ("[trees[1], trees[0].with_heads(None)]", ValueError, r"X\[1\]: .* has no heads"),
            (
                "[trees[1], trees[0].with_heads(y[0])]",
                ValueError,
                r"X\[1\]: .* has no heads or relations",
            ),
        )
    ),
    *(
        Mistake(f"DependencyVectorizer({options}).fit(trees[:3])", raises(ValueError, words))
        for options, words in (
            ("kind='trees'", r"kind must be one or more of"),
            ("kind=[]", r"kind"),
            ("nodes='word'", r"column"),
            ("max_length=0", r"'max_length'"),
            ("paths='up'", r"'paths'"),
            ("min_df=-1", r"'min_df'"),
            ("binary=2", r"'binary'"),
            ("max_features=0", r"'max_features'"),
        )
    ),
    Mistake("DependencyVectorizer().transform(trees)", raises(ValueError, r"not fitted")),
    Mistake("DependencyVectorizer().get_feature_names_out()", raises(ValueError, r"not fitted")),
    Mistake("TextParser('missing.npz').fit([])", raises(OSError, r"missing\.npz")),
    Mistake(
        "DependencyTreeDisplay.from_predictions(trees[0], trees[0].with_heads([-1] * 8))",
        raises(ValueError, r"heads\[0\] \(.*unknown heads"),
    ),
    Mistake(
        "TextParser(missing='empty').fit_transform([b'It rains.'])", raises(TypeError, r"bytes")
    ),
    Mistake(
        "DependencyVectorizer().inverse_transform(np.ones((1, 2)))",
        raises(ValueError, r"not fitted"),
    ),
    Mistake("TextParser(3).fit([])", raises(ValueError, r"'parser'")),
    Mistake("TextParser(model).fit([])", raises(ValueError, r"implementing 'parse_texts'")),
    Mistake("TextParser(clone(english)).fit([])", raises(ValueError, r"not fitted")),
    *(
        Mistake(f"english.parse_texts({arguments})", raises(error, words))
        for arguments, error, words in (
            ("'Dogs bark.'", TypeError, r"text"),
            ("['a'], ['']", ValueError, r"The id of a text must be one line"),
            (r"['a'], ['x\ny']", ValueError, r"The id of a text must be one line"),
            ("['a'], on_error='ignore'", ValueError, r"on_error must be 'raise' or 'skip'"),
            ("['a'], n_best=0", ValueError, r"n_best == 0"),
            ("['a'], n_jobs=0", ValueError, r"n_jobs"),
        )
    ),
    Mistake("write_conllu(trees[0], 'out.conllu')", raises(TypeError, r"write \[tree\]")),
    *(
        Mistake(
            f"write_conllu({given}, trees)", raises(TypeError, r"write_conllu\(trees, path_or_f")
        )
        for given in ("'out.conllu'", "io.StringIO()", "None")
    ),
    Mistake(
        "write_conllu(trees, io.BytesIO())", raises(TypeError, r"binary mode; open it as text")
    ),
    Mistake(
        "write_conllu(trees, open('train.conllu'))",
        raises(OSError, r"open for reading; .*mode='w'"),
    ),
    Mistake(
        "write_conllu([DependencyTree(['é'])], io.TextIOWrapper(io.BytesIO(), 'ascii'))",
        raises(ValueError, r"encoding ascii, which lacks the character 'é'"),
    ),
    Mistake(
        "TextParser().fit_transform(np.array([['a', 'b']]))", raises(TypeError, r"column|\[text\]")
    ),
    Mistake("trees[0]._repr_html_()", works("'overflow-x: auto' in result")),
    Mistake(
        "list(english[0].iter_split_text('nul.txt'))",
        raises(ValueError, r"nul\.txt:2: NUL is not a character of a text"),
        before=r"Path('nul.txt').write_text('x' * 2000 + '\n\0b')",
    ),
    Mistake("DependencyTree(['a', 'b'], [-1, 1]).root", raises(ValueError, r"not known")),
    Mistake("DependencyTree(['a']).root", raises(ValueError, r"no heads")),
    *(
        Mistake(
            "read_horizontal('own.txt')",
            raises(ConlluError, words),
            before=f"Path('own.txt').write_bytes({content!r})",
        )
        for content, words in (
            (b"a b\n\nc\td\n", r"own\.txt:3: the line holds a tab, as in CoNLL-U"),
            (b"a\rb\r", r"own\.txt:1: the line holds '.*', the line end of old Macs"),
            (b"a\nb \xff\n", r"own\.txt:2: a character is not valid UTF-8"),
            ("\ufeffa\n\ufeffb\n".encode(), r"own\.txt:2: the line begins with a byte order mark"),
            (b"\xff\xfea\0", r"own\.txt:1: this is text in UTF-16"),
        )
    ),
    Mistake(
        "read_horizontal('treebank')",
        raises(FileNotFoundError, r"holds no \.txt or \.txt\.gz file"),
    ),
    Mistake(
        "english.parse_texts(['Dogs bark.', 'a\\0b'], ['zero', 'one'])",
        raises(ValueError, r"id 'one' is refused: .*'\\x00' at 1"),
    ),
    Mistake(
        "english.parse_texts(['a', None])",
        raises(TypeError, r"id 1 is refused: text must be a str, got None"),
    ),
    *(
        Mistake(
            call,
            Must((r"left out",), warning="UserWarning", times=2, check=check),
            before="texts = ['Dogs bark.', 'a\\0b', 'It rains.', None]; parser = english",
        )
        for call, check in (
            ("dict(parser.iter_parse_texts(texts, on_error='skip'))", "list(result) == [0, 2]"),
            (
                "parser.parse_texts(texts, on_error='skip')",
                "list(map(len, result)) == [1, 0, 1, 0]",
            ),
        )
    ),
]
