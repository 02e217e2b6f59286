"""Saving and loading models."""

from _mistakes._replay import Mistake, raises, works

NOT_A_MODEL = (r"is not a saved model",)

MISTAKES = [
    Mistake(
        "make_pipeline(TokenFeature('xpos'), model).fit(trees).parse(trees)",
        raises(AttributeError, r"'Pipeline' object has no attribute 'parse'", by="line"),
    ),
    Mistake(
        "make_parser_pipeline(TokenFeature('xpos'), model).fit(trees).parse(trees)",
        works("len(result) == 60"),
    ),
    Mistake(
        "make_parser_pipeline(FeatureUnion([('a', TokenFeature('upos'))]), model).fit(trees)",
        raises(TypeError, r"FeatureUnion", r"TokenFeature\(.upos., .xpos.\)"),
    ),
    Mistake("load_model('missing.npz')", raises(OSError, r"missing\.npz", r"no (such )?file")),
    Mistake("load_model('model')", raises(OSError, r"model", r"no (such )?file")),
    Mistake("load_model('treebank')", raises(OSError, r"treebank", r"folder|directory")),
    Mistake("load_model(None)", raises((TypeError, ValueError), r"path", r"None")),
    Mistake("load_model(7)", raises((TypeError, ValueError), r"path", r"7|int")),
    Mistake("load_model(model)", raises((TypeError, ValueError), r"path", r"DeterministicSHAG")),
    Mistake("load_model(open('model.npz', 'rb'))", raises((TypeError, ValueError), r"path")),
    Mistake("load_model('train.conllu')", raises(ValueError, r"train\.conllu", *NOT_A_MODEL)),
    Mistake("load_model('packed.conllu.gz')", raises(ValueError, r"packed", *NOT_A_MODEL)),
    Mistake("load_model('empty.conllu')", raises(ValueError, r"empty\.conllu", *NOT_A_MODEL)),
    Mistake("load_model('treebank.zip')", raises(ValueError, r"treebank\.zip", *NOT_A_MODEL)),
    Mistake(
        "load_model('arrays.npz')",
        raises(
            ValueError, r"arrays\.npz .*damaged: it is an archive without a header", *NOT_A_MODEL
        ),
    ),
    Mistake(
        "load_model('model.npz', max_bytes=1000)",
        raises(OSError, r"model\.npz .*has more than 1,000 bytes; if you trust it"),
    ),
    Mistake(
        "save_model(model.set_params(decoder='x'), 'model.npz')",
        raises(ValueError, r"'decoder' parameter"),
    ),
    Mistake("load_model('truncated.npz')", raises(ValueError, r"truncated\.npz", r"damaged")),
    Mistake("load_model('model.pkl')", raises(ValueError, r"model\.pkl", r"pickle|joblib")),
    Mistake("load_model('~/model.npz')", raises(OSError, r"model\.npz", r"no (such )?file")),
    Mistake("load_model(Path('model.npz')).predict(trees)", works("len(result) == 60")),
    Mistake(
        "save_model('new.npz', model)", raises(TypeError, r"save_model\(model, |swapped|first")
    ),
    Mistake("save_model(model)", raises(TypeError, r"missing 1 required.*'path'", by="line")),
    Mistake("save_model(None, 'new.npz')", raises(TypeError, r"NoneType")),
    Mistake("save_model(trees, 'new.npz')", raises(TypeError, r"list", r"SpectralSHAG")),
    Mistake("save_model(SpectralSHAG, 'new.npz')", raises(TypeError, r"class|fitted|instance")),
    Mistake(
        "save_model(LogisticRegression(), 'new.npz')",
        raises(TypeError, r"LogisticRegression", r"joblib\.dump"),
    ),
    Mistake(
        "save_model(make_pipeline(StandardScaler(), model), 'new.npz')",
        raises(TypeError, r"StandardScaler", r"joblib\.dump"),
    ),
    Mistake(
        "save_model(GridSearchCV(model, {}, cv=2).fit(trees), 'new.npz')",
        raises(TypeError, r"GridSearchCV", r"joblib\.dump", r"best_estimator_"),
    ),
    Mistake("save_model(model, None)", raises((TypeError, ValueError), r"path", r"None")),
    Mistake("save_model(model, 'treebank')", raises(OSError, r"treebank", r"folder|directory")),
    Mistake(
        "save_model(model, 'no/such/folder/new.npz')",
        raises(OSError, r"no/such/folder", r"no (such )?(folder|directory)|does not exist"),
    ),
    Mistake(
        "save_model(model, 'train.conllu/new.npz')",
        raises(OSError, r"there is no folder .*train\.conllu", r"name another"),
    ),
    Mistake("save_model(model, '~/new.npz')", works("Path('home/new.npz').exists()")),
    Mistake("save_model(model, 'new')", works("load_model('new').predict(tags).size == 60")),
    Mistake(
        "save_model(model, 'model.npz')", works("type(load_model('model.npz')) is type(model)")
    ),
    Mistake(
        "save_model(model, 'treebank/new.npz')",
        raises(OSError, r"treebank", r"permi|may not|not writable"),
        locked="treebank",
    ),
    Mistake(
        "load_model('model.npz')",
        raises(OSError, r"model\.npz", r"permi|may not|not readable"),
        locked="model.npz",
    ),
    Mistake("save_model(model, '/dev/full')", raises(OSError, r"/dev/full", r"no space|full")),
    *(
        Mistake(f"save_model(model, 'new.npz', card={card})", raises(TypeError, words))
        for card, words in (
            ("'text'", r"card must be a dict"),
            ("['x']", r"card must be a dict"),
        )
    ),
    *(
        Mistake(f"save_model({model}, 'new.npz')", raises(TypeError, r"cannot be saved", words))
        for model, words in (
            ("None", r"use joblib\.dump, or save one of DMV, .*FrozenEstimator\."),
            ("'model'", r"The model comes first"),
            ("Path('model')", r"The model comes first"),
            ("DeterministicSHAG", r"save a fitted instance of it"),
            ("GridSearchCV(SpectralSHAG(), {})", r"best_estimator_|joblib"),
            ("model.set_params(n_jobs=np.zeros(2))", r"model/n_jobs.*; set the parameter"),
            ("model.set_params(n_jobs={1: 1})", r"model/n_jobs.*; set the parameter"),
            ("model.set_params(n_jobs={'a': len})", r"model/n_jobs.*; set the parameter"),
        )
    ),
    Mistake("save_model(model, None)", raises(TypeError, r"a str or os.PathLike, got NoneType")),
    Mistake("save_model(model, io.BytesIO())", raises(TypeError, r"os.PathLike, got BytesIO")),
    Mistake("load_model(io.BytesIO())", raises(TypeError, r"os.PathLike, got BytesIO")),
    *[
        Mistake(
            f"save_model({pipeline}, 'new.npz')",
            must,
            before="pipeline = make_pipeline(DeterministicSHAG(), memory='cache').fit(trees)",
        )
        for pipeline, must in (
            ("pipeline", raises(TypeError, r"a folder of pickles, cannot be saved")),
            ("pipeline.set_params(memory=None)", works()),
        )
    ],
    Mistake("save_model(TokenFeature(), 'new.npz')", raises(ValueError, r"not fitted")),
    Mistake(
        "save_model(make_pipeline(TokenFeature(), SpectralSHAG()), 'new.npz')",
        raises(ValueError, r"not fitted"),
    ),
]
