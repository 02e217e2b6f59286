"""scikit-learn's tools: where they fail before the package is reached, the guide has a word."""

from _mistakes._replay import Mistake, raises, tool_raises, tool_warns, works

SCORING = r"scoring=.?.?accuracy"
THREE = "len(result) == 3 and (result > 0.4).all()"

MISTAKES = [
    Mistake("cross_val_score(SpectralSHAG(2), trees, cv=3)", works(THREE)),
    Mistake("cross_val_score(SpectralSHAG(2), tags, y, cv=3)", works(THREE)),
    Mistake(
        "cross_val_score(SpectralSHAG(2), tags, cv=3)",
        tool_raises(ValueError, r"fits failed", r"has no heads", r"as y"),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, cv=3, scoring='accuracy')",
        tool_warns(r"Scoring failed", r"y_true", guide=SCORING),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, y, cv=3, scoring='accuracy')",
        tool_warns(r"Scoring failed", guide=SCORING),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, y, cv=3, scoring='f1')",
        tool_warns(r"Scoring failed", guide=SCORING),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, cv=3, scoring='accuracy', error_score='raise')",
        tool_raises(TypeError, r"y_true", guide=SCORING),
    ),
    Mistake("cross_val_score(SpectralSHAG(2), trees, cv=3, scoring=uas_scorer)", works(THREE)),
    Mistake("cross_val_score(SpectralSHAG(2), tags, y, cv=3, scoring=uas_scorer)", works(THREE)),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, cv=3, "
        "scoring=make_scorer(unlabeled_attachment_score))",
        tool_warns(r"Scoring failed", r"y_true", guide=r"make_scorer"),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, scoring='uas')",
        tool_raises(ValueError, r"'scoring'", r"uas"),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, cv=3, scoring=unlabeled_attachment_score)",
        tool_warns(r"Scoring failed", r"y_true.*SpectralSHAG|estimator", guide=r"uas_scorer"),
    ),
    Mistake("uas_scorer(trees, model)", raises(TypeError, r"estimator", r"list")),
    Mistake("uas_scorer(model, tags)", raises(ValueError, r"X\[0\] has no heads")),
    Mistake("uas_scorer(SpectralSHAG(), trees)", raises(ValueError, r"not fitted")),
    Mistake(
        "GridSearchCV(SpectralSHAG(), {'n_states': [1, 2]}, cv=2, scoring='accuracy').fit(trees)",
        tool_warns(r"Scoring failed", r"y_true", guide=SCORING),
    ),
    Mistake(
        "GridSearchCV(SpectralSHAG(), {'n_states': [1, 2]}, cv=2, scoring=uas_scorer).fit(trees)",
        works("result.best_score_ > 0.4"),
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), [*trees, trees[0].with_heads(None)], cv=3)",
        tool_warns(r"fits failed", r"has no heads", warning="Warning"),
    ),
    Mistake(
        "cross_validate(SpectralSHAG(2), trees, cv=3, scoring=['accuracy', 'f1'])",
        tool_warns(r"Scoring failed", guide=SCORING),
    ),
    Mistake(
        "learning_curve(SpectralSHAG(2), trees, cv=2)",
        tool_raises(TypeError, r"'y'", guide=r"learning_curve.*heads\(trees\)"),
    ),
    Mistake(
        "learning_curve(SpectralSHAG(2), trees, heads(trees), cv=2, train_sizes=[0.5, 1.0])",
        works("result[2].shape == (2, 2)"),
    ),
    Mistake(
        "learning_curve(SpectralSHAG(2), trees, None, cv=2, train_sizes=[0.5, 1.0])",
        works("result[2].shape == (2, 2)"),
    ),
    Mistake(
        "validation_curve(SpectralSHAG(), trees, param_name='n_states', param_range=[1, 2])",
        tool_raises(TypeError, r"'y'", guide=r"validation_curve.*heads\(trees\)"),
    ),
    Mistake(
        "validation_curve("
        "SpectralSHAG(), trees, heads(trees), param_name='n_states', param_range=[1, 2], cv=2)",
        works("result[1].shape == (2, 2)"),
    ),
    Mistake("heads(tags)", raises((TypeError, ValueError), r"\[0\]", r"DependencyTree")),
    Mistake("heads(trees[0])", raises(TypeError, r"DependencyTree", r"list|\[tree\]|sequence")),
    Mistake(
        "heads([tree.with_heads(None) for tree in trees])", raises(ValueError, r"\[0\].*no heads")
    ),
    Mistake(
        "cross_val_score(SpectralSHAG(2), trees, y, cv=StratifiedKFold(3))",
        tool_raises(ValueError, guide=r"stratif"),
    ),
    Mistake("train_test_split(trees, stratify=y)", tool_raises(ValueError, guide=r"stratif")),
    Mistake("train_test_split(trees, test_size=0.2)", works("len(result[0]) == 48")),
    Mistake(
        "BaggingClassifier(SpectralSHAG(2)).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"bagging"),
    ),
    Mistake(
        "BaggingRegressor(SpectralSHAG(2)).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"bagging"),
    ),
    Mistake(
        "VotingClassifier([('a', SpectralSHAG(2))]).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"voting"),
    ),
    Mistake(
        "VotingRegressor([('a', SpectralSHAG(2))]).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"voting"),
    ),
    Mistake(
        "StackingClassifier([('a', SpectralSHAG(2))]).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"stacking|voting"),
    ),
    Mistake(
        "OneVsRestClassifier(SpectralSHAG(2)).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"classifier"),
    ),
    Mistake(
        "CalibratedClassifierCV(SpectralSHAG(2)).fit(trees, y)",
        tool_raises((TypeError, ValueError), guide=r"classifier"),
    ),
    Mistake(
        "permutation_importance(model, trees, y)",
        tool_raises((TypeError, ValueError), guide=r"permutation.importance"),
    ),
    Mistake("cross_val_predict(SpectralSHAG(2), trees, cv=3)", works("len(result) == len(trees)")),
    Mistake(
        "cross_val_predict(SpectralSHAG(2), trees, cv=3, method='predict_proba')",
        tool_raises(AttributeError, r"predict_proba"),
    ),
    Mistake(
        "cross_val_predict(SpectralSHAG(2), trees, cv=3, method='predict_marginals')",
        tool_raises(ValueError, r"'predict'", r"'predict_marginals'"),
    ),
    Mistake(
        "make_pipeline(StandardScaler(), SpectralSHAG(2)).fit(trees)",
        tool_raises((TypeError, ValueError), r"DependencyTree", guide=r"StandardScaler|scalers"),
    ),
    Mistake(
        "make_pipeline(CountVectorizer(), SpectralSHAG(2)).fit(trees)",
        tool_raises(AttributeError, r"DependencyTree", guide=r"vectori[sz]er"),
    ),
    Mistake(
        "make_pipeline(TokenFeature(), SpectralSHAG(2)).fit(trees).predict_marginals(trees)",
        raises(AttributeError, r"'Pipeline'.*'predict_marginals'", by="line"),
    ),
    Mistake(
        "make_pipeline(TokenFeature(), SpectralSHAG(2)).fit(trees).parse(trees)",
        raises(AttributeError, r"'Pipeline'.*'parse'", by="line"),
    ),
    Mistake(
        "SpectralSHAG(2).fit(trees).predict_proba(trees)",
        raises(AttributeError, r"'predict_proba'", by="line"),
    ),
    Mistake(
        "accuracy_score(y, model.predict(trees))",
        tool_raises((TypeError, ValueError), guide=r"accuracy"),
    ),
    Mistake(
        "accuracy_score(y[:1] * 2, list(model.predict(trees[:1] * 2)))",
        tool_raises((TypeError, ValueError), guide=r"accuracy"),
    ),
    Mistake("pickle.loads(pickle.dumps(model)).predict(tags)", works("len(result) == 60")),
    Mistake(
        "joblib.dump(model, 'new.pkl'); result = joblib.load('new.pkl').predict(tags)", works()
    ),
    Mistake("clone(model).get_params() == model.get_params()", works("result")),
    Mistake(
        "check_estimator(SpectralSHAG())",
        tool_warns(r"Can't test", guide=r"check_estimator", warning="Warning"),
    ),
    Mistake(
        "check_estimator(SpectralSHAG)",
        tool_raises(TypeError, r"instance", guide=r"check_estimator"),
    ),
    Mistake(
        "SpectralSHAG().set_output(transform='pandas')",
        raises(AttributeError, "set_output", by="line"),
    ),
    Mistake("SpectralSHAG().fit_predict(trees)", raises(AttributeError, "fit_predict", by="line")),
    Mistake(
        "SpectralSHAG().set_fit_request(sample_weight=True)",
        tool_raises(RuntimeError, r"enable_metadata_routing"),
    ),
    Mistake(
        "approximate_dfa(AveragedParser([('one', model)]).fit(trees), trees, head='NOUN', "
        "direction='left')",
        raises(TypeError, r"got a AveragedParser|got an AveragedParser"),
    ),
    Mistake(
        "approximate_dfa(LexicalizedSHAG().fit(trees), trees, head='NOUN', direction='left')",
        raises(TypeError, r"got a LexicalizedSHAG"),
    ),
    Mistake(
        "top_modifiers(model, head='NN')",
        raises(ValueError, r"head='NN' is none of the \d+ symbols"),
    ),
    Mistake("arc_table(SpectralSHAG())", raises(ValueError, r"not fitted")),
    Mistake(
        "arc_table(ProductParser([('one', model)]).fit(trees))",
        raises(TypeError, r"got a ProductParser.*one of its estimators_"),
    ),
    Mistake(
        "DependencyTreeDisplay.from_estimator(model, trees[:2])",
        raises(TypeError, r"must be a single DependencyTree, got a list"),
    ),
    Mistake(
        "DependencyTreeDisplay.from_estimator(TokenFeature(), trees[0])",
        raises(TypeError, r"predicts heads; got a TokenFeature"),
    ),
    Mistake(
        "DependencyTreeDisplay.from_predictions(trees[0], [2, 0, 4])", raises(ValueError, r"heads")
    ),
]
