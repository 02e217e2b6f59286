"""Relations of arcs: parsers that know none, scores of what has none."""

from _mistakes._replay import Mistake, raises, tool_raises, works

LAS = "labeled_attachment_score"
BARE = "bare = [tree.with_heads(tree.heads) for tree in trees]"
FIT_BARE = f"{BARE}; silent = DeterministicSHAG().fit(bare)"

MISTAKES = [
    Mistake("model.predict_labels(trees)", works("len(result) == 60")),
    Mistake("model.predict_labels(tags, trees)", works("len(result) == 60")),
    Mistake("model.predict_labels(trees[0])", raises(TypeError, r"X must be", r"\[sentence\]")),
    Mistake("model.predict_labels(trees, y[:-1])", raises(ValueError, r"60 sentences", r"59")),
    Mistake("model.predict_labels(trees, y[::-1])", raises(ValueError, r"y\[0\]", r"tokens")),
    Mistake(
        "model.predict_labels(tags, model.predict_marginals(tags))",
        raises(ValueError, r"y\[0\]", r"flat", r"whole numbers"),
    ),
    Mistake(
        "model.predict_labels(trees, y, allowed=[None] * 60)",
        raises(ValueError, r"Give y", r"allowed", r"not both"),
    ),
    Mistake("DeterministicSHAG().predict_labels(trees)", raises(ValueError, r"not fitted")),
    Mistake(
        "silent.predict_labels(trees)",
        raises(ValueError, r"knows no relations", r"fit", r"deprels"),
        before=FIT_BARE,
    ),
    Mistake(
        "AveragedParser([('a', DeterministicSHAG())]).fit(tags, y).predict_labels(tags)",
        raises(ValueError, r"AveragedParser knows no relations", r"fit"),
    ),
    Mistake(f"{LAS}(trees, model.parse(trees))", works("0.5 < result < 1")),
    Mistake(
        f"{LAS}(trees, model.predict(trees))",
        raises(TypeError, r"y_pred\[0\]", r"relations", r"DependencyTree"),
    ),
    Mistake(f"{LAS}(y, y)", raises(TypeError, r"y_true\[0\]", r"relations", r"DependencyTree")),
    Mistake(f"{LAS}(model, trees)", raises(TypeError, r"y_true", r"scorer")),
    Mistake(
        f"{LAS}(trees, bare)",
        raises(ValueError, r"y_pred\[0\] has no relations", r"60 of 60", r"fitted on"),
        before=BARE,
    ),
    Mistake(
        f"{LAS}(bare, trees)",
        raises(ValueError, r"No relation of y_true is known", r"deprels"),
        before=BARE,
    ),
    Mistake(f"{LAS}(trees, trees[1:])", raises(ValueError, r"same number of sentences")),
    Mistake(
        f"{LAS}(trees, trees, ignore=lambda symbol: True)",
        raises(ValueError, r"No token", r"ignore"),
    ),
    Mistake("labeled_breakdown(trees, trees, by='deprel')", raises(ValueError, r"'relation'")),
    Mistake("las_scorer(trees, model)", raises(TypeError, r"estimator", r"list")),
    Mistake("las_scorer(model, tags)", raises(TypeError, r"y_true\[0\]", r"DependencyTree")),
    Mistake("las_scorer(model, tags, y)", raises(ValueError, r"No relation of y_true")),
    Mistake("las_scorer(model, tags, trees)", works("0.5 < result < 1")),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, cv=3, scoring=las_scorer)",
        works("len(result) == 3 and (result > 0.3).all()"),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), bare, cv=3, scoring=las_scorer, error_score='raise')",
        tool_raises(ValueError, r"y_pred\[0\] has no relations"),
        before=BARE,
    ),
    Mistake(
        "model.predict_labels(trees, unique_relations='nsubj')",
        raises(TypeError, r"must be 'auto' or a list, got 'nsubj'"),
    ),
    Mistake(
        "model.parse(trees, unique_relations=[3])",
        raises(TypeError, r"holds 3, which names no relations"),
    ),
    Mistake(
        "model.predict_labels(trees, unique_relations=[bases])",
        raises(ValueError, r"holds all relations that this parser knows"),
        before="bases = tuple(label.partition(':')[0] for label in model.labels_)",
    ),
    Mistake(
        "content_labeled_attachment_score(*[[DependencyTree(['a'], [0], deprels=['mine'])]] * 2)",
        raises(ValueError, r"one between content words", r"Use labeled_attachment_sc"),
    ),
]
