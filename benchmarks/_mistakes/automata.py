"""Automata of sequences, and operators with their algebra and their text."""

from _mistakes._replay import Mistake, raises, works

STRINGS = "[['a', 'b'], ['b', 'a'], ['a']]"
FIT = "SpectralAutomaton(2).fit({})"
MODEL = f"SpectralAutomaton(2).fit({STRINGS})"
HMM = (
    "EMAutomaton.from_hmm(**dict(dict(startprob=[1, 0], transmat=np.full((2, 2), 0.5), "
    "emissionprob=np.full((2, 3), 1 / 3)), {}))"
)
COIN = "Operators(np.ones(1), np.full(1, 0.5), np.full((1, 1, 1), 0.5))"
TWO = COIN.replace("(1, 1, 1)", "(2, 1, 1)")  # symbols
ALGEBRA = ("to_dot({})", "to_att({})", "total_mass({})", "change_basis({}, np.eye(1))")
ALGEBRA += (f"l2_distance({{}}, {COIN})", f"l2_distance({COIN}, {{}})", f"product({{}}, {COIN})")
ALGEBRA += (f"are_equivalent({COIN}, {{}})", f"mixture({COIN}, {{}}, 0.5)")


def refused(X, error, *words):
    """Fitting an automaton to what are no sequences of symbols."""
    return Mistake(FIT.format(X), raises(error, *words))


def no_hmm(change, *words):
    return Mistake(HMM.format(change), raises(ValueError, *words))


def no_text(arguments, *words):
    return Mistake(f"from_att({arguments})", raises(ValueError, *words))


MANY_SYMBOLS = """
def count(name, n=15_000):
    zeros = np.zeros(2 * n + 3, dtype=int)
    symbols = np.array([f"{name}{k}" for k in range(n)], dtype=object)
    counted = np.ones(n), np.ones((n + 1, 2)), zeros, *[zeros[:0]] * 3, np.zeros(0)
    labels = LabelCounts(*[zeros[:0]] * 4, np.zeros(0))
    return TreebankStatistics(symbols, SequenceStatistics(*counted), symbols[:0], labels)
"""

MISTAKES = [
    refused("'abc'", TypeError, r"X must be a sequence of sequences"),
    refused("['abc']", TypeError, r"X\[0\] is 'abc' .* Take its letters, list\(text\)"),
    refused("[1, 2]", TypeError, r"X\[0\] is 1 of type int, not a sequence"),
    refused("[]", ValueError, r"X holds no sequences"),
    refused("[[], []]", ValueError, r"All sequences of X are empty"),
    refused("[['a'], ['b', 1]]", TypeError, r"X\[1\]: the symbol at position 1 is 1 of type int"),
    refused("[[1], [2**63]]", ValueError, r"symbols\[1\] must be from -9\d+ to 9\d+, got 92233"),
    refused("[[1.0]]", TypeError, r"X\[0\]: the symbol at position 0 is 1.0 of type float"),
    refused("[[1, np.nan]]", TypeError, r"position 1 is nan of type float"),
    refused("[[True]]", TypeError, r"is True of type bool"),
    refused("[[None]]", TypeError, r"is None of type NoneType"),
    refused("[{'a'}]", TypeError, r"X\[0\] is a set, which has no order|not a sequence"),
    refused("{'a': 1}", TypeError, r"got a dict"),
    refused("np.zeros((2, 2))", TypeError, r"is 0.0 of type float"),
    refused("[[1], [2], [2]], [2, 1]", ValueError, r"3 sequences.* 2 values.* X = np.split"),
    Mistake(f"{MODEL}.predict([[1]])", raises(TypeError, r"X holds integers, but")),
    Mistake(f"{MODEL}.score([])", raises(ValueError, r"X holds no sequences")),
    Mistake(f"{MODEL}.perplexity([])", raises(ValueError, r"X holds no sequences")),
    Mistake("SpectralAutomaton().predict([['a']])", raises(ValueError, r"not fitted")),
    Mistake("EMAutomaton().predict([['a']])", raises(ValueError, r"not fitted")),
    Mistake("SpectralAutomaton().truncate(2)", raises(ValueError, r"not fitted")),
    Mistake("EMAutomaton().to_hmm()", raises(ValueError, r"not fitted")),
    Mistake("EMAutomaton().sample()", raises(ValueError, r"not fitted")),
    Mistake(f"SpectralAutomaton(0).fit({STRINGS})", raises(ValueError, r"'n_states'")),
    Mistake(f"{MODEL}.truncate(7)", raises(ValueError, r"n_states == 7, must be <= 2")),
    *(
        Mistake(call.format(X=STRINGS), raises(ValueError, words))
        for call, words in (
            ("EMAutomaton(2, tol=np.inf).fit({X})", r"tol"),
            ("EMAutomaton(2, tol=1e3, warm_start=True).fit({X}).fit([['x']])", r"warm_start=True"),
            ("EMAutomaton(3, init=EMAutomaton(2, tol=1e3).fit({X}).operators_).fit({X})", r"init"),
            ("EMAutomaton(2, tol=1e-3).fit([list('abbb'), list('aab')]).to_hmm()", r"next state"),
            (
                "SpectralAutomaton(1, mixing=1.0, smoothing=0.0).fit([['a']]).sample(max_length=0)",
                r"grew beyond max_length=0",
            ),
        )
    ),
    Mistake(
        "EMAutomaton.from_hmmlearn(None, 0.1)",
        raises(TypeError, r"hmm must be a fitted CategoricalHMM"),
    ),
    *(
        Mistake(f"SpectralAutomaton({params}).fit({STRINGS})", raises(error, words))
        for params, error, words in (
            ("prefixes=['ab']", TypeError, r"prefixes\[0\] is 'ab' of type str, not a sequence"),
            ("suffixes=[['a'], 1]", TypeError, r"suffixes\[1\] is 1 of type int"),
            ("suffixes=[[None, 'a']]", ValueError, r"the last of a suffix"),
            ("prefixes=[['a', None]]", ValueError, r"the first item of a prefix"),
            ("prefixes='ab'", ValueError, r"The 'prefixes' parameter"),
        )
    ),
    no_hmm("", r"never end"),
    no_hmm("transmat=np.ones((3, 2))", r"transmat must have the shape"),
    no_hmm("emissionprob=np.full((2, 4), 0.5), endprob=0.5", r"The sum of emissionprob"),
    no_hmm("emissionprob=np.full((2, 3), 0.2), endprob=0.5", r"The sum of emissionprob"),
    no_hmm("startprob=[1.5, -0.5], endprob=0.5", r"startprob"),
    no_hmm("startprob='abc'", r"startprob must be an array of numbers"),
    no_hmm("endprob=0.5, symbols=['a']", r"symbols must have the shape"),
    no_hmm("endprob=0.5, symbols=list('acb')", r"symbols must be sorted, each once"),
    no_hmm("endprob=0.5, symbols=list('aab')", r"symbols must be sorted, each once"),
    *(
        Mistake(call.format(MODEL), raises(TypeError, r"got SpectralAutomaton.* \.operators_"))
        for call in ALGEBRA
    ),
    no_text(r"'0 1 a a 0.5\n1'", r"Line 1 .*'0 1 a a 0.5': it has more than one label"),
    no_text(r"'0 1 a\n1 2 b 0.5 x y'", r"Line 2 .*: it has more than one label"),
    no_text("'0 1 a x'", r"Line 1 .*: could not convert string to float"),
    no_text("'0 1 a nan'", r"Line 1 .*: its weight holds values that are not finite"),
    no_text(r"'0 1 c\n1', symbols=['a', 'b']", r"symbols that `symbols` does not have: .*'c'"),
    no_text("''", r"No path leads"),
    no_text(r"'0 1 a\n2 0.5'", r"No path leads"),
    no_text(r"'0 1 a\n1', semiring='tropical'", r"semiring"),
    *(
        Mistake(f"to_att({COIN}, [{name!r}])", raises(ValueError, r"cannot be written"))
        for name in ("", "a b", "0", "<eps>", "a\tb")
    ),
    Mistake(
        "total_mass(Operators(np.ones(1), np.ones(1), np.full((2, 1, 1), -0.75)))",
        raises(ValueError, r"spectral radius 1\.5, which must be below 1\."),
    ),
    Mistake(
        f"product({COIN}, {TWO})",
        raises(ValueError, r"A product needs models over the same heads and symbols"),
    ),
    Mistake(
        f"mixture({COIN}, {TWO}, 0.5)",
        raises(ValueError, r"A mixture needs models over the same heads and symbols"),
    ),
    Mistake(f"{MODEL}.get_feature_names_out()", works("result.size == 2")),
    # Flat arrays that kernels trust.
    *(
        Mistake(f"extract_sequences({arguments})", raises(ValueError, words))
        for arguments, words in (
            ("[0, 1, 2], [2, -1, 0], [0, 3], 3", r"heads\[1\] must be from 0"),
            ("[0, 1, 2], [2, 4, 0], [0, 3], 3", r"heads\[1\] must be from 0 to 3, got 4"),
            ("[0, 1, 2], [2, 1, 0], [0, 3], 3", r"sentence 0 are not a tree: array\(\[2, 1, 0\]"),
            ("[0, 1, 2], [2, 3, 1], [0, 3], 3", r"sentence 0 are not a tree"),
            ("[0] * 6, [2, 3, 0, 0, 3, 2], [0, 3, 6], 3", r"sentence 1 are not a tree"),
            ("[0, 1, 2], [2], [0, 3], 3", r"heads must have the shape \(n_codes,\) = \(3,\)"),
            ("[0, 1, 2], [[2, 3, 0]], [0, 3], 3", r"heads must be a flat array of whole numbers"),
            ("[0, 1, 2], [2.0, 3.0, 0.0], [0, 3], 3", r"heads must be a flat array of whole"),
            ("[0, 4, 2], [2, 3, 0], [0, 3], 3", r"codes\[1\] must be from 0 to 3"),
            ("[0, -1, 2], [2, 3, 0], [0, 3], 3", r"codes\[1\] must be from 0 to 3"),
            ("[0, 1, 2], [2, 3, 0], [0, 10**9], 3", r"indptr must grow .* number of codes, 3"),
            ("[0, 1, 2], [2, 3, 0], [-(10**9), 3], 3", r"indptr must grow"),
            ("[0, 1, 2], [2, 3, 0], [0, 5, 3], 3", r"indptr must grow"),
            ("[0, 1, 2], [2, 3, 0], [], 3", r"indptr must grow"),
            ("[0, 1, 2], [2, 3, 0], [0, 1, 3], 3", r"heads\[0\] must be from 0 to 1, got 2"),
            (
                "[0, 1, 2], [2, 3, 0], [0, 3], 3, [1.0, 2.0]",
                r"sample_weight must have the shape \(n_sentences,\) = \(1,\), got \(2,\)",
            ),
        )
    ),
    Mistake(
        "collect_statistics(extract_sequences([0, 1, 2], [2, 3, 0], [0, 3], 2), 2)",
        raises(ValueError, r"sequences\.modifiers\[0\] must be from 0 to 1, got 2"),
    ),
    *(
        Mistake(
            f"assemble_trees(made._replace(indptr=np.array({of_sequences})), {indptr})",
            raises(ValueError, words),
            before="made = extract_sequences([0, 1, 2], [2, 3, 0], [0, 3], 3)",
        )
        for indptr, of_sequences, words in (
            ([0, 10**9], "made.indptr", r"indptr must grow from 0 to the number of modifiers, 3"),
            ([-(10**9), 3], "made.indptr", r"indptr must grow"),
            ([0, 1, 3], "made.indptr", r"n_sentences \+ 1,\) = \(9,\), got \(8,\)"),
            ([0, 3], [0, 1, 2, 2, 10**9, 3, 3, 3], r"sequences.indptr must grow"),
            # Tokens that have themselves.
            ([0, 3], [0, 0, 2, 2, 3, 3, 3, 3], r"not those of whole sentences"),
            ([0, 3], [0, 1, 1, 1, 1, 1, 2, 3], r"not those of whole sentences"),
        )
    ),
    Mistake(
        "collect_statistics(HeadModifierSequences(*[np.zeros(0, dtype=int)] * 5), 100_000)",
        raises(ValueError, r"too many"),
    ),
    Mistake(
        "merge_statistics(count(name) for name in 'ab')",
        raises(ValueError, r"30000 symbols are too many to count their trigrams"),
        before=MANY_SYMBOLS,
    ),
    Mistake(
        "merge_statistics([count('a')]).symbols",
        works("len(result) == 15_000"),
        before=MANY_SYMBOLS,
    ),
    # Sums that do not exist.
    *(
        Mistake(
            f"total_mass(Operators(ones, ones, np.array([{matrix}, {matrix}]) / 2))",
            raises(ValueError, rf"spectral radius {radius}, which must be below 1\."),
            before=f"ones = np.ones({n})",
        )
        for n, matrix, radius in (
            (1, [[1.0]], "1"),
            (1, [[-1.5]], r"1\.5"),
            (2, [[0.0, -2.0], [2.0, 0.0]], "2"),
            (2, [[0.5, 0.0], [0.0, -1.25]], r"1\.25"),
        )
    ),
    *(
        Mistake(
            f"{function}({pair})",
            raises(ValueError, r"L2 distance does not exist"),
            before=f"one = {TWO}; bad = Operators(np.ones({n}), np.full({n}, 0.5), {A})",
        )
        for function in ("l2_distance", "are_equivalent")
        for pair in ("bad, one", "one, bad", "bad, bad")
        for n, A in (
            (1, "np.full((2, 1, 1), 0.5**0.5)"),  # squares sum to 1 per symbol
            (1, "np.full((2, 1, 1), 0.9)"),
            (1, "np.full((2, 1, 1), 1e200)"),
            (2, "np.array([[[0.0, -1.0], [1.0, 0.0]], np.eye(2)])"),
        )
    ),
    no_text(r"'0 0 0 1.0\n0 1.0', semiring='real'", r"cycles without symbols sum to infinity"),
    Mistake(
        "to_att(Operators(np.ones(1), np.ones(1), np.full((1, 1, 1), -0.5)))",
        raises(ValueError, r'must be from 0\.0 to inf, or use semiring="real", got -'),
    ),
    Mistake(
        "from_att(to_att(Operators(np.zeros(1), np.ones(1), np.full((1, 1, 1), 0.5))))",
        raises(ValueError, r"No path"),
    ),
    Mistake(f"to_dot({COIN}, ['a', 'b'])", raises(ValueError, r"symbols must have the shape")),
    Mistake(
        "sample_derivations(Operators(ones, ones, np.zeros((3, 2, 2, 1, 1))), 1, 0, max_length=5)",
        raises(ValueError, r"no symbol any mass as the root"),
        before="ones = np.ones((3, 2, 1))",
    ),
    Mistake(
        "sample_derivations(Operators(ones, signed, many), 1, 0, max_length=5)",
        raises(ValueError, r"1000 sentences in a row"),
        before="ones = np.ones((4, 2, 1)); signed = np.r_[-ones[:3], ones[3:]]; "
        "many = np.full((4, 2, 3, 1, 1), 1e90)",
    ),
]
