"""Parameters with wrong names or values, and methods in the wrong order."""

from _mistakes._replay import Mistake, raises, tool_raises, tool_warns, works

NOT_FITTED = (r"not fitted", r"'fit'")


def before_fit(call):
    return Mistake(f"SpectralSHAG().{call}", raises(ValueError, *NOT_FITTED))


MISTAKES = [
    Mistake("SpectralSHAG(0).fit(trees)", raises(ValueError, r"'n_states'", r"\[1, inf\)", "0")),
    Mistake("SpectralSHAG('8').fit(trees)", raises(ValueError, r"'n_states'", r"int", r"'8'")),
    Mistake("SpectralSHAG(2.5).fit(trees)", raises(ValueError, r"'n_states'", r"int", r"2\.5")),
    Mistake("SpectralSHAG(None).fit(trees)", raises(ValueError, r"'n_states'", r"int", r"None")),
    Mistake("SpectralSHAG(n_states=[2, 4]).fit(trees)", raises(ValueError, r"'n_states'", "int")),
    Mistake("SpectralSHAG(200).fit(trees)", works("result.operators_.A.shape[-1] < 60")),
    Mistake("SpectralSHAG(smoothing=-1).fit(trees)", raises(ValueError, r"'smoothing'", r"-1")),
    Mistake("SpectralSHAG(smoothing='5').fit(trees)", raises(ValueError, r"'smoothing'", "float")),
    Mistake("SpectralSHAG(smoothing=np.nan).fit(trees)", raises(ValueError, r"'smoothing'", "nan")),
    Mistake("SpectralSHAG(smoothing=np.inf).fit(trees)", raises(ValueError, r"'smoothing'", "inf")),
    Mistake(
        "SpectralSHAG(mixing=1).fit(trees)", raises(ValueError, r"'mixing'", r"\[0\.0, 1\.0\)")
    ),
    Mistake(
        "SpectralSHAG(scaling=2).fit(trees)", raises(ValueError, r"'scaling'", r"\[0\.0, 1\.0\]")
    ),
    Mistake("SpectralSHAG(alpha=None).fit(trees)", raises(ValueError, r"'alpha'", r"float")),
    Mistake(
        "SpectralSHAG(decoder='mrb').fit(trees)",
        raises(ValueError, r"'decoder'", r"'mbr'", r"'max_marginal'"),
    ),
    Mistake(
        "CRFParser(trees='mst').fit(trees)",
        raises(ValueError, r"'trees'", r"'auto'", r"'projective'", r"'all'"),
    ),
    Mistake(
        "SpectralSHAG(decoder='viterbi').fit(trees)",
        raises(ValueError, r"viterbi", r"deterministic", r"Use decoder='mbr'"),
    ),
    Mistake(
        "SpectralSHAG(2).fit(trees).set_params(decoder='viterbi').predict(trees)",
        raises(ValueError, r"viterbi", r"Use decoder='mbr'"),
    ),
    Mistake(
        "model.set_params(decoder='MBR').predict(trees)", raises(ValueError, r"'decoder'", r"'mbr'")
    ),
    Mistake("SpectralSHAG(n_jobs='2').fit(trees)", raises(ValueError, r"'n_jobs'", r"int", "'2'")),
    Mistake("SpectralSHAG(n_jobs=0).fit(trees)", raises(ValueError, r"n_jobs", r"0")),
    Mistake("model.set_params(n_jobs=0).predict(trees)", raises(ValueError, r"n_jobs", r"0")),
    Mistake("model.set_params(n_jobs='2').predict(trees)", raises(ValueError, r"n_jobs", r"'2'")),
    Mistake("SpectralSHAG(n_jobs=1.5).fit(trees)", raises(ValueError, r"'n_jobs'", r"1\.5")),
    Mistake("SpectralSHAG(verbose='yes').fit(trees)", raises(ValueError, r"'verbose'", r"'yes'")),
    Mistake(
        "SpectralSHAG(nstates=8)", raises(TypeError, r"unexpected.*argument 'nstates'", by="line")
    ),
    Mistake("SpectralSHAG(8, 5.0)", raises(TypeError, r"positional argument", by="line")),
    Mistake(
        "SpectralSHAG.predict(trees)", raises(TypeError, r"missing 1 required.*'X'", by="line")
    ),
    Mistake(
        "SpectralSHAG().set_params(n_state=8)",
        raises(ValueError, r"Invalid parameter 'n_state'", r"'n_states'"),
    ),
    Mistake(
        "make_pipeline(TokenFeature(), SpectralSHAG()).set_params(n_states=8)",
        tool_raises(ValueError, r"Invalid parameter 'n_states'", r"Valid parameters"),
    ),
    Mistake(
        "GridSearchCV(SpectralSHAG(), {'states': [2, 4]}).fit(trees)",
        raises(ValueError, r"Invalid parameter 'states'", r"'n_states'"),
    ),
    Mistake(
        "GridSearchCV(make_pipeline(TokenFeature(), SpectralSHAG()), {'n_states': [2]}).fit(trees)",
        raises(ValueError, r"Invalid parameter 'n_states'", r"Valid parameters"),
    ),
    Mistake(
        "GridSearchCV(SpectralSHAG(), {'n_states': [0, 2]}, cv=2).fit(trees).best_params_",
        tool_warns(r"2 fits failed", r"'n_states' parameter", warning="Warning"),
    ),
    Mistake("EMSHAG(init='moment').fit(trees)", raises(ValueError, r"'init'", r"'moments'")),
    Mistake("EMSHAG(init='kmeans').fit(trees)", raises(ValueError, r"'init'", r"'moments'")),
    Mistake("EMSHAG(init=model).fit(trees)", raises(ValueError, r"'init'", r"'moments'")),
    Mistake("EMSHAG(max_iter=-1).fit(trees)", raises(ValueError, r"'max_iter'", r"-1")),
    Mistake("EMSHAG(tol=-1).fit(trees)", raises(ValueError, r"'tol'", r"-1")),
    Mistake("EMSHAG(n_init=0).fit(trees)", raises(ValueError, r"'n_init'", r"0")),
    Mistake("EMSHAG(random_state='0').fit(trees)", raises(ValueError, r"'random_state'", r"'0'")),
    Mistake("EMSHAG(2, early_stopping=1.5).fit(trees)", raises(ValueError, r"'early_stopping'")),
    Mistake("EMSHAG(2, decoder='viterbi').fit(trees)", raises(ValueError, r"Use decoder='mbr'")),
    Mistake(
        "EMSHAG(2, max_iter=1, random_state=0).fit(trees)",
        tool_warns(r"converge", r"max_iter", warning="ConvergenceWarning", nan=False),
    ),
    Mistake("EMSHAG(2).partial_fit(trees)", raises(AttributeError, r"'partial_fit'", by="line")),
    Mistake("DeterministicSHAG(8).fit(trees)", raises(ValueError, r"'automaton'", r"'first'")),
    Mistake(
        "DeterministicSHAG('second').fit(trees)", raises(ValueError, r"'automaton'", "'first'")
    ),
    before_fit("predict(trees)"),
    before_fit("predict_marginals(trees)"),
    before_fit("parse(trees)"),
    before_fit("score(trees)"),
    before_fit("score_samples(trees)"),
    before_fit("log_likelihood(trees)"),
    before_fit("sample(3)"),
    Mistake("clone(model).predict(trees)", raises(ValueError, *NOT_FITTED)),
    Mistake("inspect_marginals(SpectralSHAG(), trees)", raises(ValueError, *NOT_FITTED)),
    Mistake("save_model(SpectralSHAG(), 'new.npz')", raises(ValueError, *NOT_FITTED)),
    Mistake("model.sample(0)", raises(ValueError, r"n_samples == 0, must be >= 1")),
    Mistake("model.sample('3')", raises(TypeError, r"n_samples must be.*int, not str")),
    Mistake("model.sample(2.5)", raises(TypeError, r"n_samples must be.*int, not float")),
    Mistake("model.sample(3, max_length=0)", raises(ValueError, r"max_length == 0, must be >= 1")),
    Mistake("model.sample(3, random_state='a')", raises(ValueError, r"'a'.*seed")),
    Mistake(
        "inspect_marginals(LogisticRegression().fit([[0], [1]], [0, 1]), trees)",
        raises(TypeError, r"LogisticRegression", r"of this package"),
    ),
    Mistake(
        "approximate_dfa(model, trees, head='noun', direction='left')",
        raises(ValueError, r"'noun'", r"none of the \d+ symbols", r"NOUN"),
    ),
    Mistake(
        "approximate_dfa(model, trees, head='NOUN', direction=LEFT)",
        raises(ValueError, r"'direction'", r"'left'", r"0"),
    ),
    Mistake(
        "approximate_dfa(model, trees, head='NOUN', direction='left', n_clusters=0)",
        raises(ValueError, r"'n_clusters'", r"\[1, inf\)", r"0"),
    ),
    Mistake(
        "approximate_dfa(model, trees[:1], head='NOUN', direction='left', min_count=100)",
        raises(
            ValueError,
            r"X has \d sequences of the automaton 'NOUN, left'",
            r"min_count=100",
            r"more trees",
        ),
    ),
    Mistake(
        "approximate_dfa(model, tags, head='NOUN', direction='left')",
        raises(ValueError, r"X\[0\] has no heads", r"as y"),
    ),
    Mistake(
        "approximate_dfa(SpectralSHAG(), trees, head='NOUN', direction='left')",
        raises(ValueError, *NOT_FITTED),
    ),
    Mistake(
        "approximate_dfa(model, trees, head='NOUN', direction='left', min_count=2).run('DET')",
        raises(TypeError, r"prefix", r"'DET'", r"\['DET'\]"),
    ),
    Mistake("top_modifiers('NOUN')", raises(TypeError, r"estimator", r"str")),
    Mistake("top_modifiers(model, head='NN')", raises(ValueError, r"'NN'", r"none of", r"NOUN")),
    Mistake(
        "automaton_ranks(DeterministicSHAG().fit(trees))",
        raises(TypeError, r"SpectralSHAG", r"singular_values_", r"DeterministicSHAG"),
    ),
    Mistake("automaton_gains(model, trees)", raises(TypeError, r"baseline")),
    Mistake(
        "automaton_gains(model, trees, baseline=trees)",
        raises(TypeError, r"baseline", r"fitted parser", r"list"),
    ),
    Mistake("model.partial_fit(tags)", raises(ValueError, r"X\[0\] has no heads", r"as y")),
    Mistake("model.partial_fit([])", raises(ValueError, r"no sentences")),
    Mistake("model.partial_fit(tags, y[:3])", raises(ValueError, r"60 sentences", r"3")),
    Mistake("model.fit_statistics(trees)", raises(TypeError, r"count_treebank", r"list")),
    Mistake("model.fit_statistics(model.statistics_.statistics)", raises(TypeError, r"Treebank")),
    Mistake("merge_statistics([])", raises(ValueError, r"at least one|no statistics|empty")),
    Mistake("merge_statistics([trees])", raises(TypeError, r"count_treebank|TreebankStatistics")),
    Mistake(
        "model.partial_fit(trees).set_params(automaton='none').partial_fit(trees)",
        raises(ValueError, r"The 'automaton' parameter of DeterministicSHAG"),
    ),
    Mistake(
        "SpectralSHAG(0).fit_statistics(model.statistics_)",
        raises(ValueError, r"The 'n_states' parameter of SpectralSHAG"),
    ),
    Mistake(
        "EMSHAG(2, init=start).fit(trees)",
        raises(ValueError, r"for \d+ symbols and n_states=2 it must be"),
        before="start = SpectralSHAG(3).fit(trees).operators_",
    ),
    Mistake(
        "EMSHAG(1, init=start._replace(alpha_1=-start.alpha_1)).fit(trees)",
        raises(ValueError, r"negative entries"),
        before="start = DeterministicSHAG('single').fit(trees).operators_",
    ),
    Mistake(
        "EMSHAG(1, init=start._replace(A=0 * start.A)).fit(trees)",
        raises(ValueError, r"modifiers of the head .*: the start gives a training sequence"),
        before="start = DeterministicSHAG('single').fit(trees).operators_",
    ),
    *(
        Mistake(f"TokenFeature({parameter}).fit(trees)", raises(ValueError, words))
        for parameter, words in (
            ("feature='pos'", r"unknown column 'pos'"),
            ("joined_with=['xpos', 3]", r"unknown column 3"),
            ("joined_with=3", r"'joined_with' parameter of TokenFeature"),
            ("separator=None", r"'separator' parameter of TokenFeature"),
            ("min_count=0", r"'min_count' parameter of TokenFeature"),
            ("rare_symbol=''", r"'rare_symbol' parameter of TokenFeature must not be empty"),
        )
    ),
    Mistake(
        "CRFParser(early_stopping=True).fit(trees[:1])",
        raises(ValueError, r"early_stopping sets sentences aside, but X holds a single"),
    ),
    Mistake("model.iter_parse(trees, chunk_size=0)", raises(ValueError, r"chunk_size")),
    Mistake("model.iter_parse({'NOUN'})", raises(TypeError, r"X is a set")),
    Mistake("model.set_params(max_tokens=0).predict(trees)", raises(ValueError, r"'max_tokens'")),
    *[
        # Whatever the length of what was learned from.
        Mistake(
            f"short.{method}({given})",
            must,
            before="short = DeterministicSHAG(smoothing=1, max_tokens=12).fit(trees); "
            "fine = [tree for tree in trees if len(tree) <= 12]; "
            "long = next(tree for tree in trees if len(tree) == 13)",
        )
        for method in ("predict", "parse", "predict_marginals", "log_likelihood")
        for given, must in (
            ("fine", works("len(result) == len(fine)")),
            ("[*fine[:2], long]", raises(ValueError, r"X\[2\] has 13 tokens, .* max_tokens=12")),
        )
    ],
    Mistake(
        "suspicious_arcs(CRFParser(['upos']), trees[:4])",
        raises(ValueError, r"At least 5 sentences are needed.* got 4\."),
    ),
    # What was right is not checked again: what is equal to it, or cannot be kept, all the same.
    *(
        Mistake(
            f"model.set_params({name}={value}).predict(trees)",
            raises(ValueError, rf"The '{name}' parameter of DeterministicSHAG must"),
            before="model.set_params(n_jobs=1).predict(trees)",
        )
        for name, value in (("n_jobs", 1.0), ("n_jobs", [1]), ("decoder", ["mbr"]))
    ),
]
