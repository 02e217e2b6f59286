"""Charts and their factors, losses and values of trees, known heads."""

from _mistakes._replay import Mistake, raises, warns, works

MODEL = (r"Operators, got DeterministicSHAG", r"operators_")
SENTENCES = (r"must be Potentials, got list", r"Potentials\(indptr")
PAIR = "Potentials([0, 2], [0, 5]"
FORBIDDEN = "np.zeros((8, 9), dtype=bool)"
IMPOSSIBLE = (r"heads\[0\] is impossible", r"leave.*out|-1")

MISTAKES = [
    # What is not a grammar, and what are not its sentences.
    Mistake("chart(model, potentials)", raises(TypeError, *MODEL)),
    Mistake("best_trees(model, potentials)", raises(TypeError, *MODEL)),
    Mistake("tree_values(model, potentials, [[2, 0], [2, 0, 2]])", raises(TypeError, *MODEL)),
    Mistake("inside_outside(model, [0, 5])", raises(TypeError, *MODEL)),
    Mistake(
        "chart(potentials, grammar)", raises(TypeError, r"got Potentials", r"grammar comes first")
    ),
    Mistake("chart(potentials)", raises(TypeError, r"missing 1 required.*'potentials'", by="line")),
    Mistake("chart(model.statistics_, potentials)", raises(TypeError, r"got TreebankStatistics")),
    Mistake("chart('grammar', potentials)", raises(TypeError, r"Operators, got str")),
    Mistake("chart(None, potentials)", raises(ValueError, r"codes", r"grammar", r"leave.*out")),
    Mistake("chart(grammar, trees)", raises(TypeError, *SENTENCES)),
    Mistake("chart(grammar, tags)", raises(TypeError, *SENTENCES)),
    Mistake("chart(grammar, None)", raises(TypeError, r"must be Potentials, got NoneType")),
    Mistake("best_trees(None, arcs)", raises(TypeError, r"must be Potentials, got ndarray")),
    Mistake(
        "chart(grammar._replace(A=grammar.A[:, :, :-1]), potentials)",
        raises(ValueError, r"V \+ 1 matrices", r"got the shapes"),
    ),
    Mistake(
        "inside_outside(grammar._replace(alpha_1=grammar.alpha_1[:-1]), [0])",
        raises(ValueError, r"\(V \+ 2, 2\)", r"got the shapes"),
    ),
    Mistake(
        "chart(grammar._replace(A=grammar.A * np.nan), potentials)",
        raises(ValueError, r"not finite"),
    ),
    Mistake(
        "best_trees(SpectralSHAG(2).fit(trees).operators_, potentials)",
        raises(ValueError, r"negative value -\d", r"decode marginals"),
    ),
    # Trees whose arcs may cross.
    Mistake(
        "chart(grammar, potentials, trees='all')",
        raises(ValueError, r"arcs alone", r"leave grammar.*out", r"projective"),
    ),
    Mistake(
        "tree_loss(np.zeros(6), [[0, 1]], trees='nonprojective')",
        raises(ValueError, r"'projective' or 'all'", r"'nonprojective'"),
    ),
    # Codes.
    Mistake("chart(grammar, Potentials([0, 2]))", raises(ValueError, r"codes is None")),
    Mistake(
        "chart(grammar, Potentials([0, 2], ['DET', 'NOUN']))",
        raises(ValueError, r"codes.*whole numbers", r"symbols_", r"'DET'"),
    ),
    Mistake(
        "chart(grammar, Potentials([0, 2], [0, 99]))",
        raises(ValueError, r"codes\[1\].*0 to 15.*99"),
    ),
    Mistake("chart(grammar, Potentials([0, 2], [0, 5, 7]))", raises(ValueError, r"\(2,\).*\(3,\)")),
    Mistake(
        "chart(grammar, Potentials([2, 3], [0, 5]))", raises(ValueError, r"indptr.*begin with 0")
    ),
    Mistake(
        "chart(grammar, Potentials([0, 2, 2], [0, 5]))", raises(ValueError, r"indptr.*at least 1")
    ),
    Mistake("chart(grammar, Potentials(2, [0, 5]))", raises(ValueError, r"indptr", r"got 2")),
    Mistake("inside_outside(grammar, [])", raises(ValueError, r"at least one")),
    Mistake("inside_outside(grammar, ['DET'])", raises(ValueError, r"codes.*whole.*symbols_")),
    Mistake("inside_outside(grammar, [0.5, 1.5])", raises(ValueError, r"codes.*whole numbers")),
    Mistake("inside_outside(grammar, trees[0])", raises(ValueError, r"codes", r"DependencyTree")),
    Mistake(
        "inside_outside(grammar, [[0, 5]])",
        raises(ValueError, r"codes must be a flat array", r"\[\[0, 5\]\]"),
    ),
    # Factors.
    Mistake(
        f"chart(grammar, {PAIR}, arcs=np.zeros((2, 3))))",
        raises(ValueError, r"\(6,\).*\(2, 3\)", r"flatten"),
    ),
    Mistake(
        f"chart(grammar, {PAIR}, arcs=np.zeros(4)))",
        raises(ValueError, r"\(6,\).*\(4,\)", r"N \+ 1"),
    ),
    Mistake(
        f"chart(grammar, {PAIR}, arcs=[np.zeros(2), np.zeros(4)]))",
        raises(ValueError, r"arcs must be an array of numbers"),
    ),
    Mistake(
        f"chart(grammar, {PAIR}, arcs=[np.nan] * 6))",
        raises(ValueError, r"arcs of sentence 0.*NaN"),
    ),
    Mistake(
        f"chart(grammar, {PAIR}, arcs=[np.inf] * 6))", raises(ValueError, r"sentence 0.*\+inf")
    ),
    Mistake(
        f"chart(grammar, {PAIR}, memory=[0, 2], arc_memory=np.ones((6, 2))))",
        raises(ValueError, r"memory\[1\] must be from 0 to 1", r"got 2"),
    ),
    Mistake(
        f"chart(grammar, {PAIR}, arc_memory=-np.ones((6, 1))))",
        raises(ValueError, r"arc_memory of sentence 0.*negative"),
    ),
    Mistake(
        f"chart(grammar, {PAIR}, stop_memory=np.ones((2, 2))))",
        raises(ValueError, r"stop_memory.*\(n_tokens, 2, n_classes\)"),
    ),
    Mistake("chart(None, Potentials([0, 2]), counts=True)", raises(ValueError, r"need a grammar")),
    Mistake(
        "chart(grammar, potentials, sample_weight=[1.0])",
        raises(ValueError, r"sample_weight must be 2"),
    ),
    Mistake(
        "chart(grammar, potentials, sample_weight='balanced')",
        raises(ValueError, r"sample_weight", r"'balanced'"),
    ),
    Mistake("chart(grammar, potentials, n_jobs=0)", raises(ValueError, r"n_jobs.*got 0")),
    Mistake("best_trees(grammar, potentials, n_jobs='2')", raises(ValueError, r"n_jobs.*got '2'")),
    # No tree is possible, and the result says so.
    Mistake(f"chart(grammar, {PAIR}, arcs=[-np.inf] * 6)).sign", works("result.tolist() == [0]")),
    Mistake(
        "best_trees(None, Potentials([0, 2], arcs=[-np.inf] * 6))", works("result[1] == -np.inf")
    ),
    # Values of trees, and the loss of them.
    Mistake("tree_values(grammar, potentials, y)", raises(ValueError, r"of 2 sentences.*of 60")),
    Mistake(
        "tree_values(grammar, potentials, trees[:2])", raises(ValueError, r"heads\[0\] holds 8")
    ),
    Mistake(
        "tree_values(grammar, potentials, [2, 0])", raises(ValueError, r"heads\[0\]", r"in a list")
    ),
    Mistake(
        "tree_values(grammar, potentials, [[2, 0], [2, 0, -1]])",
        raises(ValueError, r"heads\[1\] has unknown heads", r"-1", r"token 3"),
    ),
    Mistake(
        "tree_values(grammar, potentials, None)", raises(TypeError, r"heads.*got a single NoneType")
    ),
    Mistake("tree_loss(arcs)", raises(TypeError, r"missing 1 required.*'heads'", by="line")),
    Mistake("tree_loss(arcs, [[2, 0], [2, 0, 2]])", works("(result[0] > 0).all()")),
    Mistake("tree_loss(arcs, [[2, 0]])", raises(ValueError, r"\(6,\).*\(18,\)")),
    Mistake("tree_loss(arcs, [2, 0])", raises(ValueError, r"heads\[0\]", r"in a list")),
    Mistake("tree_loss(arcs, None)", raises(TypeError, r"heads.*got a single NoneType")),
    Mistake("tree_loss(None, [[2, 0]])", raises(ValueError, r"arcs must have the shape")),
    Mistake("tree_loss(arcs[:6].reshape(2, 3), [[2, 0]])", raises(ValueError, r"arcs", r"flatten")),
    Mistake("tree_loss([[2, 0]], arcs)", raises(ValueError, r"heads\[0\].*whole numbers")),
    Mistake("tree_loss(np.zeros(72), trees[:1])", raises(ValueError, r"heads\[0\] must be a flat")),
    Mistake("tree_loss(np.zeros(72), heads(trees[:1]))", works("result[0][0] > 0")),
    Mistake(
        "tree_loss(arcs[:6], [[2, 1]])", raises(ValueError, r"heads\[0\] is not a tree", r"root")
    ),
    Mistake("tree_loss(arcs[:6], [[0, 0]])", raises(ValueError, *IMPOSSIBLE)),
    Mistake("tree_loss(np.zeros(20), [[3, 4, 0, 3]])", raises(ValueError, *IMPOSSIBLE)),
    Mistake("tree_loss(arcs[:6], [[3, 0]])", raises(ValueError, r"heads\[0\]", r"outside 0\.\.2")),
    Mistake("tree_loss(arcs[:6], [[None, 0]])", raises(ValueError, r"heads\[0\].*whole numbers")),
    Mistake("tree_loss(np.full(6, np.nan), [[2, 0]])", raises(ValueError, r"sentence 0.*NaN")),
    Mistake("tree_loss(arcs[:6], [[2, 0]], sample_weight=[-1])", raises(ValueError, r"negative")),
    Mistake("tree_loss(arcs[:6], [[2, 0]], n_jobs=0)", raises(ValueError, r"n_jobs.*got 0")),
    Mistake(
        "eisner(model.predict_marginals(trees[:3]))",
        raises(ValueError, r"scores.*one sentence.*numbers"),
    ),
    Mistake(
        "eisner(np.zeros((3, 3)))", raises(ValueError, r"\(n_tokens, n_tokens \+ 1\)", r"\(3, 3\)")
    ),
    Mistake("eisner([[np.nan, 0, 0], [0, 0, 0]])", raises(ValueError, r"head 0 of token 1 is nan")),
    Mistake("eisner([[np.inf, 0, 0], [0, 0, 0]])", raises(ValueError, r"head 0 of token 1 is inf")),
    Mistake("eisner(None)", raises(ValueError, r"scores", r"\(n_tokens, n_tokens \+ 1\)")),
    Mistake(
        "maximum_arborescence(np.zeros((3, 3)))",
        raises(ValueError, r"\(n_tokens, n_tokens \+ 1\)", r"\(3, 3\)"),
    ),
    # Known heads and forbidden arcs.
    Mistake(
        "model.predict(tags[:1], allowed=True)", raises(ValueError, r"list with a boolean array")
    ),
    Mistake(
        "model.predict(tags[:1], allowed=np.ones((8, 9), dtype=bool))",
        raises(ValueError, r"a list with a boolean array, or None, for each of 1 sentences"),
    ),
    Mistake("model.predict(tags[:2], allowed=[None])", raises(ValueError, r"each of 2 sentences")),
    Mistake(
        "model.predict(tags[:1], allowed=[np.ones((8, 8), dtype=bool)])",
        raises(ValueError, r"allowed\[0\]", r"\(8, 9\)", r"column 0 for the root"),
    ),
    Mistake(
        "model.predict(tags[:1], allowed=[np.ones((8, 9))])",
        raises(ValueError, r"allowed\[0\].*boolean", r"float64"),
    ),
    Mistake(
        "model.predict(tags[:1], allowed=y[:1])",
        raises(ValueError, r"allowed\[0\].*boolean.*\(8,\)"),
    ),
    Mistake(
        "model.predict(tags[:1], [None])", raises(TypeError, r"positional argument", by="line")
    ),
    Mistake(
        f"model.predict(tags[:1], allowed=[{FORBIDDEN}])",
        raises(ValueError, r"X\[0\] .*has no tree with one root", r"allow more"),
    ),
    Mistake(
        f"model.predict_marginals(tags[:1], allowed=[{FORBIDDEN}])",
        raises(ValueError, r"X\[0\] .*has no tree with one root", r"allow more"),
    ),
    Mistake(
        f"model.parse(tags[:1], allowed=[{FORBIDDEN}])",
        raises(ValueError, r"X\[0\] .*has no tree with one root", r"allow more"),
    ),
    Mistake(
        "model.predict([['NOUN'] * 4], allowed=[np.eye(5, dtype=bool)[[3, 4, 0, 3]]])",
        works("result[0].tolist() == [3, 4, 0, 3]"),
    ),
    Mistake(
        "make_pipeline(TokenFeature(), model).fit(trees).predict(trees[:1], allowed=[None])",
        works("result[0].size == 8"),
    ),
    Mistake(
        "model.score(trees[:1], allowed=[None])",
        raises(TypeError, r"unexpected keyword argument 'allowed'", by="line"),
    ),
    Mistake(
        "model.conditional_log_likelihood(tags)",
        raises(ValueError, r"X\[0\] has no heads", r"as y"),
    ),
    Mistake("model.conditional_log_likelihood(words, y)", warns(r"100 ?%", r"'the'")),
    Mistake(
        "model.conditional_log_likelihood(trees[:1], [[2, 3, 0]])",
        raises(ValueError, r"y\[0\] holds 3 heads", r"8 tokens"),
    ),
    Mistake(
        "SpectralSHAG().conditional_log_likelihood(trees)",
        raises(ValueError, r"not fitted"),
    ),
    Mistake(
        "inside_outside(grammar, [0], arc_scores=-np.ones((2, 2)))",
        raises(ValueError, r"arc_scores must not be negative"),
    ),
    Mistake(
        "inside_outside(grammar._replace(A=grammar.A * 1e-200 + 1e-250), [0, 1])",
        raises(ValueError, r"leave the range of doubles.*Rescale"),
    ),
    *(
        Mistake(f"tree_loss(np.zeros(22), {heads})", raises(ValueError, words))
        for heads, words in (
            ("[[0], [2, 1, 0, 3]]", r"heads\[1\] is not a tree.*a cycle"),
            ("[[0], [3, 4, -1, -1]]", r"heads\[1\] is impossible"),
            ("[[0], [1, -1, -1, -1]]", r"heads\[1\] is not a tree.*a cycle"),
            ("[[0], [-2, 0, 1, 1]]", r"heads\[1\] is not a tree.*head -2 is outside"),
            ("[[0], [0.5, 0, 1, 1]]", r"heads\[1\] must be a flat sequence of whole numbers"),
            ("[]", r"no sentences"),
        )
    ),
    Mistake("heads(set(trees))", raises(TypeError, r"has no order|sequence")),
    Mistake("count_treebank(set(trees))", raises(TypeError, r"has no order")),
    Mistake("model.fit(frozenset(trees))", raises(TypeError, r"X is a frozenset, wh")),
    Mistake("model.parse(dict.fromkeys(trees).keys())", raises(TypeError, r"X is a dict_keys, wh")),
    Mistake("model.fit(trees, {(2, 0), (0,)})", raises(TypeError, r"y is a set, which has")),
    Mistake("chart(grammar, Potentials([0, [1, 2]], [0, 5]))", raises(ValueError, r"indptr")),
    Mistake("projectivize(y, nonprojective='raise')", raises(ValueError, r"'nonprojective'")),
]
