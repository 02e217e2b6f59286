"""Scores of what does not match, weights, and the datasets."""

from _mistakes._replay import Mistake, raises, warns, works

UAS = "unlabeled_attachment_score"

OF_HEADS = [UAS, "undirected_attachment_score", "neutral_edge_direction_score", "exact_match_score"]

DOGS = "dogs = DependencyTree(['Dogs', 'bark'], [2, 0])"

MISTAKES = [
    Mistake(f"{UAS}(y, y[:-1])", raises(ValueError, r"same number of sentences", r"60 and 59")),
    Mistake(
        f"{UAS}(y, [[-1] * len(heads) for heads in y])",
        raises(ValueError, r"y_pred\[0\]", r"-1", r"token 1", r"only true heads"),
    ),
    Mistake(
        f"{UAS}([[-1] * len(heads) for heads in y], y)",
        raises(ValueError, r"No head of y_true is known", r"-1"),
    ),
    Mistake(f"{UAS}(y, y[::-1])", raises(ValueError, r"y_pred\[0\] has", r"y_true\[0\] has 8")),
    Mistake(f"{UAS}(y[0], y[0])", raises(ValueError, r"y_true\[0\]", r"sequence of whole numbers")),
    Mistake(f"{UAS}(trees[0], trees[0])", raises(TypeError, r"y_true", r"list|sequence")),
    Mistake(f"{UAS}(tags, y)", raises(ValueError, r"y_true\[0\]", r"whole numbers")),
    Mistake(f"{UAS}([['2', '0']], [[2, 0]])", raises(ValueError, r"y_true\[0\]", r"whole numbers")),
    Mistake(f"{UAS}([[2.5, 0.]], [[2, 0]])", raises(ValueError, r"y_true\[0\]", r"whole numbers")),
    Mistake(
        f"{UAS}([[2, 0]], [[np.nan, 0]])", raises(ValueError, r"y_pred\[0\]", r"whole numbers")
    ),
    Mistake(f"{UAS}([[2, 0]], [[[2], [0]]])", raises(ValueError, r"y_pred\[0\]", r"flat")),
    Mistake(f"{UAS}([], [])", raises(ValueError, r"at least one")),
    Mistake(f"{UAS}(None, y)", raises(TypeError, r"y_true", r"None")),
    *[
        Mistake(f"{score}({given})", raises(ValueError, said))
        for score in OF_HEADS
        for given, said in (
            ("[[3, 0]], [[2, 0]]", r"has the head 3 for token 1, but 2 tokens"),
            ("[[2, 0]], [[3, 0]]", r"has the head 3 for token 1, but 2 tokens"),
            *(
                (
                    f"[[0]], [[0]], max_length={n}",
                    r"max_length must be None or a whole number from 1",
                )
                for n in ("0", "-1", "2.5", "'10'")
            ),
        )
    ],
    Mistake(f"{UAS}(y)", raises(TypeError, r"missing 1 required.*'y_pred'", by="line")),
    Mistake(
        f"{UAS}([tree.with_heads(None) for tree in trees], y)",
        raises(ValueError, r"y_true\[0\] is a tree without heads"),
    ),
    Mistake(
        f"{UAS}(trees, model.predict_marginals(trees))",
        raises(ValueError, r"y_pred\[0\]", r"flat", r"whole numbers"),
    ),
    Mistake(f"{UAS}(iter(y), iter(y))", works("result == 1.0")),
    Mistake(
        f"{UAS}(y, y, ignore=is_punctuation)",
        raises(TypeError, r"y_true\[0\]", r"symbols", r"DependencyTree"),
    ),
    Mistake(
        f"{UAS}(trees, trees, ignore=['PUNCT'])",
        raises((TypeError, ValueError), r"ignore", r"mask|callable|predicate"),
    ),
    Mistake(
        f"{UAS}(trees, trees, ignore='PUNCT')",
        raises((TypeError, ValueError), r"ignore", r"mask|callable|predicate"),
    ),
    Mistake(
        f"{UAS}(trees, trees, ignore=True)", raises((TypeError, ValueError), r"ignore", "mask")
    ),
    Mistake(
        f"{UAS}(y, y, ignore=[[0, 1]] * 60)", raises(ValueError, r"ignore\[0\]", r"bool mask", r"8")
    ),
    Mistake(f"{UAS}(y, y, sample_weight=[1, 2])", raises(ValueError, r"sample_weight|2.*60|60.*2")),
    Mistake(
        f"{UAS}(y, y, sample_weight=[-1.0] * 60)", raises(ValueError, r"negative.*sample_weight")
    ),
    Mistake(f"{UAS}(y, y, sample_weight='balanced')", raises(ValueError, r"sample_weight")),
    Mistake(f"{UAS}(y, y, sample_weight=[np.nan] * 60)", raises(ValueError, r"sample_weight.*NaN")),
    Mistake("exact_match_score(y, y[:-1])", raises(ValueError, r"same number of sentences")),
    Mistake(
        "exact_match_score(trees[0], trees[0])", raises(TypeError, r"y_true", r"list|sequence")
    ),
    Mistake("attachment_breakdown(y, y)", raises(TypeError, r"y_true\[0\]", r"DependencyTree")),
    Mistake(
        "attachment_breakdown(trees, y, by='heads')",
        raises(ValueError, r"by", r"'head'", r"'modifier'"),
    ),
    Mistake(
        f"{UAS}(*2 * [read_conllu('untagged.conllu')], ignore=is_punctuation)",
        raises(ValueError, r"ignore", r"'_'|no token|all tokens"),
    ),
    Mistake(
        f"{UAS}(trees, trees, ignore=lambda symbol: True)",
        warns(r"no token", r"ignore", warning="UndefinedMetricWarning", check="result == 0.0"),
    ),
    Mistake("is_punctuation('_')", works("result is False")),
    Mistake("is_punctuation(tags[0])", raises(TypeError, r"symbol", r"str")),
    Mistake("model.score(tags)", raises(ValueError, r"X\[0\] has no heads", r"as y")),
    Mistake("model.score(tags, y[:3])", raises(ValueError, r"60 sentences.*3")),
    Mistake("model.score(y, tags)", raises(TypeError, r"X\[0\]", r"strings")),
    Mistake("model.score(trees, sample_weight=[1.0])", raises(ValueError, r"sample_weight|1.*60")),
    Mistake("model.score_samples(tags)", raises(ValueError, r"X\[0\] has no heads")),
    Mistake(
        "SpectralSHAG().fit(trees, None, [1.0] * 3)", raises(ValueError, r"sample_weight|3.*60")
    ),
    Mistake(
        "SpectralSHAG().fit(trees, [1.0] * 60)", raises(ValueError, r"y\[0\]", r"whole numbers")
    ),
    Mistake(
        "SpectralSHAG().fit(trees, sample_weight=[-1.0] * 60)",
        raises(ValueError, r"negative.*sample_weight"),
    ),
    Mistake(
        "SpectralSHAG().fit(trees, sample_weight=[0.0] * 60)", raises(ValueError, r"weight.*zero")
    ),
    Mistake(
        "SpectralSHAG().fit(trees, sample_weight=[np.nan] * 60)", raises(ValueError, r"weight.*NaN")
    ),
    Mistake(
        "SpectralSHAG().fit(trees, sample_weight='balanced')", raises(ValueError, "sample_weight")
    ),
    Mistake(
        "SpectralSHAG().fit(trees, sample_weight=['1'] * 59)", raises(ValueError, "sample_weight")
    ),
    Mistake(
        "SpectralSHAG().fit(trees, sample_weight=np.ones((60, 2)))",
        raises(ValueError, r"sample weight.*1D"),
    ),
    Mistake("EMSHAG(2).fit(trees, sample_weight=[1.0] * 59)", raises(ValueError, r"sample_weight")),
    Mistake(
        "fetch_treebank('English-EWT')", raises(ValueError, r"'UD_English-EWT'", r"'English-EWT'")
    ),
    *[
        Mistake(f"fetch_treebank({name!r})", raises(ValueError, r"like 'UD_English-EWT'"))
        for name in (
            "en_ewt",
            "UD_English",
            "UD_English-EWT\n",
            "../UD_English-EWT",
            "UD_English-../..",
        )
    ],
    *[
        Mistake(
            f"fetch_treebank('UD_English-EWT', version={version!r})",
            raises(ValueError, r"version must be a str such as '2\.16', got"),
        )
        for version in ("r2.16", "2.16\n")
    ],
    Mistake(
        "fetch_treebank('UD_Englsh-EWT', progressbar=False)",
        # Without network, or without what downloads.
        raises((OSError, ImportError), r"UD_Englsh-EWT.*Check the name.*network|pip install"),
    ),
    Mistake(
        "fetch_treebank('UD_Test-Tiny', data_home='.', download_if_missing=False)",
        raises(
            OSError,
            r"UD_Test-Tiny is not in .*; allow its d",
            r"\bud-treebanks-v2\.16/UD_Test-Tiny",
        ),
        before="Path('UD_Test-Tiny').mkdir()",
    ),
    *[
        Mistake(
            f"fetch_treebank({name!r}, data_home='.')",
            must,
            before="import sys; from unittest import mock; "
            "mock.patch.dict(sys.modules, pooch=None).start(); Path('UD_Test-Tiny').mkdir(); "
            "write_conllu(trees[:1], 'UD_Test-Tiny/te_tiny-ud-train.conllu')",
        )
        for name, must in (
            ("UD_Test-Tiny", works("len(result.train) == 1")),
            (
                "UD_Test-Other",
                raises(ImportError, r"needs pooch: pip install 'sklearn-shag\[fetch\]'"),
            ),
        )
    ],
    Mistake(
        "fetch_treebank('UD_English-EWT', download_if_missing=False)",
        raises(OSError, r"is not in .*home", r"download"),
    ),
    Mistake(
        "fetch_treebank('UD_English-EWT', version='2.99.1')",
        raises(ValueError, r"version must be a str such as"),
    ),
    Mistake(
        "fetch_treebank('UD_English-EWT', version=2.16)", raises((TypeError, ValueError), "'2.16'")
    ),
    Mistake("fetch_treebank(None)", raises((TypeError, ValueError), r"name", r"'UD_English-EWT'")),
    Mistake(
        "fetch_treebank('UD_English-EWT', data_home='train.conllu')",
        raises(OSError, r"train\.conllu", r"folder|directory"),
    ),
    Mistake(
        "fetch_treebank('UD_English-EWT', symbols='pos', data_home='treebanks')",
        raises(ValueError, r"'pos'", r"upos, xpos"),
        before="import shutil; shutil.copytree('treebank', 'treebanks/UD_English-EWT')",
    ),
    Mistake("make_treebank(0)", raises(ValueError, r"'n_samples'", r"\[1, inf\)")),
    Mistake("make_treebank('100')", raises(ValueError, r"'n_samples'", r"int")),
    Mistake("make_treebank(10, 0)", raises(ValueError, r"'n_states'", r"0")),
    Mistake("make_treebank(10, n_symbols=0)", raises(ValueError, r"'n_symbols'", r"0")),
    Mistake("make_treebank(10, mean_length=0.5)", raises(ValueError, r"'mean_length'", r"0\.5")),
    Mistake(
        "make_treebank(10, mean_length=np.inf)", raises(ValueError, r"'?mean_length'?", r"inf")
    ),
    # As documented: the mean length is that before longer sentences are drawn anew.
    Mistake(
        "make_treebank(10, mean_length=500, max_length=3)", works("max(map(len, result)) <= 3")
    ),
    Mistake("make_treebank(10, random_state='x')", raises(ValueError, r"'random_state'", r"'x'")),
    Mistake("load_english('xpos')", raises(TypeError, r"positional argument", by="line")),
    Mistake("load_english(symbols='pos')", raises(ValueError, r"'pos'", r"upos, xpos")),
    Mistake(
        "DeterministicSHAG().fit(trees[:2], sample_weight=[1e101, 1.0])",
        raises(ValueError, r"sample_weight sums to .* Divide all weights"),
    ),
    Mistake(
        "DMV(max_length=None).fit(trees[:2], sample_weight=[1.7e308] * 2)",
        raises(ValueError, r"sample_weight sums to .* Divide all weights"),
    ),
    Mistake(
        "model.score(trees[:2], sample_weight=[1e101, 1.0])",
        raises(ValueError, r"sample_weight sums to"),
    ),
    *(
        Mistake(f"score_report({arguments})", raises(error, words))
        for arguments, error, words in (
            ("[], []", ValueError, r"y_true holds no sentences"),
            ("test, []", ValueError, r"y_pred holds 0 trees, fewer than the other side"),
            ("test[:3], test", ValueError, r"y_true holds 3 trees, fewer than the other side"),
            ("test, [['a']]", TypeError, r"y_pred\[0\] must be a DependencyTree, got \['a'\]"),
            ("test[:1], [DependencyTree(['a'], [0])]", ValueError, r"y_pred\[0\] has 1 tokens but"),
            ("test, test, by='tail'", ValueError, r"by must be 'head' or 'modifier', got 'tail'"),
            ("test, test, n_resamples=0", ValueError, r"n_resamples must be at least 1"),
            ("test, test, confidence_level=95", ValueError, r"between 0 and 1; got 1000 and 95"),
            ("test, test, ignore=lambda symbol: True", ValueError, r"No token is left to score"),
        )
    ),
    *(
        Mistake(f"raw_text_scores({arguments})", raises(error, words), before=DOGS)
        for arguments, error, words in (
            (
                "[dogs], [DependencyTree(['Dogs', 'bite'], [2, 0])]",
                ValueError,
                r"after 5 char.*'ite'",
            ),
            ("[dogs], [dogs, dogs]", ValueError, r"after 8 characters.*'' is 'Dogsbark'"),
            ("[], [dogs]", ValueError, r"y_true holds no sentences"),
            (
                "[dogs], [dogs.with_heads(None), dogs]",
                ValueError,
                r"y_pred has words without heads",
            ),
            ("[dogs.with_heads([-1, 0])], [dogs]", ValueError, r"y_true has words without heads"),
            ("[['Dogs']], [dogs]", TypeError, r"y_true\[0\] is a list"),
        )
    ),
    Mistake(
        "remove_punctuation([DependencyTree(['a'], [0], symbols=['_'])])",
        raises(ValueError, r"All symbols of the trees are '_'"),
    ),
    # Heads, weights and masks of scores.
    *(
        Mistake(f"unlabeled_attachment_score({given})", raises(ValueError, words))
        for given, words in (
            ("[[0]], [[0], [0]]", r"same number of sentences, at least one; got 1 and 2"),
            ("[], []", r"at least one; got 0 and 0"),
            ("[[0], [2, 0]], [[0], [0]]", r"y_pred\[1\] has 1 tokens but y_true\[1\] has 2"),
            ("[[0], []], [[0], []]", r"y_true\[1\] holds no heads; remove empty"),
            ("[[0], [0]], [[0], []]", r"y_pred\[1\] holds no heads; remove empty"),
            ("[[0], [0.5]], [[0], [0]]", r"y_true\[1\] must be .* whole numbers.*; got \[0\.5\]"),
            ("[[0], ['0']], [[0], [0]]", r"y_true\[1\] must be .* whole numbers.*; got \['0'\]"),
            ("[[0], None], [[0], [0]]", r"y_true\[1\] must be .* whole numbers.*; got None$"),
            (
                "[2, 0], [2, 0]",
                r"y_true\[0\] must be .* whole numbers.*; got 2\. .*a list: \[heads\]",
            ),
            ("[[0], [0]], [[0], '0']", r"y_pred\[1\] must be .* whole numbers.*; got '0'"),
            ("[[0], [[0]]], [[0], [0]]", r"y_true\[1\] must be a flat"),
            ("[[0], [2, 0]], [[0], [[2], 0]]", r"y_pred\[1\] must be a flat"),
            ("[[0], DependencyTree(['a'])], [[0], [0]]", r"y_true\[1\] is a tree without heads"),
            ("[[0], [0]], [[0], DependencyTree(['a'])]", r"y_pred\[1\] is a tree without heads"),
            ("y[:2], y[:2], sample_weight=[1]", r"sample_weight.shape == \(1,\), expected \(2,\)"),
            ("y[:2], y[:2], sample_weight=[[1, 1]]", r"must be 1D array or scalar"),
            (
                "y[:2], y[:2], sample_weight=[1, -1]",
                r"Negative values in data passed to `sample_weight`",
            ),
            ("y[:2], y[:2], sample_weight=[1, np.nan]", r"sample_weight contains NaN"),
            (
                "[[0], [2, 0]], [[0], [2, 0]], ignore=[[True]]",
                r"ignore holds 1 masks for 2 sentences.*such as is_punctuation",
            ),
            (
                "[[0], [2, 0]], [[0], [2, 0]], ignore=[[True], [True]]",
                r"ignore\[1\] must be a bool mask of shape \(2,\), got bool of sh",
            ),
            (
                "[[0], [2, 0]], [[0], [2, 0]], ignore=[[True], [1, 0]]",
                r"ignore\[1\] must be a bool mask of shape \(2,\), got int64",
            ),
        )
    ),
    *(
        Mistake(f"unlabeled_attachment_score({given})", raises(TypeError, words))
        for given, words in (
            ("None, [[0]]", r"y_true must be a list of trees, .* got a single NoneType\.$"),
            ("[[0]], 'heads'", r"y_pred must be a list of trees, .* got a single str\.$"),
            (
                "DependencyTree(['a'], [0]), [[0]]",
                r"y_true must be a list of trees, .* got a single DependencyTree\.$",
            ),
            ("[[0]], np.array(0)", r"y_pred must be a list of trees, .* got a single ndarray\.$"),
            ("DeterministicSHAG(), [[0]]", r"single DeterministicSHAG\. Pass uas_scorer.*scoring="),
            ("[[0]], [[0]], ignore=True", r"ignore must be None, .*, got a .*: True"),
            ("[[0]], [[0]], ignore='PUNCT'", r"ignore must be None, .*, got a .*: 'PUNCT'"),
        )
    ),
    Mistake("is_punctuation(None)", raises(TypeError, r"symbol must be a str, got a ")),
    Mistake("load_english(return_X_y=True)", works("len(result) == 2")),
    *[
        Mistake(
            f"{score}([DependencyTree(['a', 'b'], [0, 1], deprels=['root', 'obj'])] * 2, "
            "[DependencyTree(['a', 'b'], [0, 1], deprels=['root', 'obj'])] * 2, max_length=1)",
            raises(ValueError, r"left to score\. Change .*max_length"),
        )
        for score in (
            "labeled_attachment_score",
            "content_labeled_attachment_score",
            "label_accuracy_score",
        )
    ],
    Mistake("uas_scorer(model, trees[0])", raises(TypeError, r"sequence of trees, got a single")),
    *(
        Mistake(
            call,
            raises(ValueError, words),
            before="unknown = [tree.with_heads([-1] * len(tree)) for tree in trees]",
        )
        for call, words in (
            ("model.score(unknown)", r"No head of y_true is known: all \d+ tokens have -1"),
            ("uas_scorer(model, unknown)", r"No head of y_true is known: all \d+ tokens have -1"),
            ("automaton_gains(model, unknown, baseline=model)", r"No true head is known: all are"),
        )
    ),
]
