"""Recipes of the command `train`, made from its options, and the models that they make."""

from dataclasses import dataclass, fields, replace
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_shag.cli._models import open_context
from sklearn_shag.cli._options import N_VECTORS
from sklearn_shag.conditional import CRFParser
from sklearn_shag.ensembles import (
    AveragedParser,
    DistilledParser,
    ParserPipeline,
    make_parser_pipeline,
)
from sklearn_shag.features import read_vectors
from sklearn_shag.learning import EMSHAG, DeterministicSHAG, RefinedSHAG, SpectralSHAG
from sklearn_shag.lexical import LexicalizedSHAG
from sklearn_shag.model_files import load_model
from sklearn_shag.network import LEARNED, BiaffineParser, Splitter, Tagger
from sklearn_shag.treebank import TokenFeature, read_dictionary
from sklearn_shag.utils._estimators import find_params, open_member, set_in_parts

# Models of columns see more than symbols; networks read vectors of words, too.
OF_COLUMNS = ("crf", "biaffine", "ensemble")
NETWORKS = ("biaffine", "ensemble")
LEARNERS = {
    "spectral": SpectralSHAG(),
    "em": EMSHAG(init="moments", max_iter=100),
    "refined": RefinedSHAG(),
    "single": DeterministicSHAG("single"),
    "first": DeterministicSHAG("first"),
    "sibling": DeterministicSHAG("sibling"),
    "words": LexicalizedSHAG(),
    "crf": CRFParser(),
    "biaffine": BiaffineParser(),
}
# Options of new models, which --continue refuses.
OF_NEW = (
    "model",
    "symbols",
    "columns",
    "tags",
    "embeddings",
    "context_for",
    "dictionary",
    "raw_text",
    "teacher",
    "helpers",
    "min_count",
    "text",
    "pattern",
)
N_NETWORKS = 3  # of an ensemble, beside a linear model


def choose_model(options):
    """Choose the kind of a new model by the other options, if none names it.

    `doc/guide/comparison.rst` has the figures.

    Returns
    -------
    kind : str or None
        None goes on with a model.
    reason : str or None
        None if there is no choice.
    """
    if options.model is not None or options.continue_ is not None:
        return options.model, None
    if options.raw_text is not None:
        return "biaffine", "a student is about as good as its teacher, and faster"
    if options.symbols is not None:
        return "spectral", "the fastest one that reads symbols"
    network, grammar = (LEARNERS[name].get_params() for name in ("biaffine", "spectral"))
    own = [name for name, _ in options.set if name in grammar.keys() - network.keys()]
    if own:
        return "spectral", f"it has the parameter {own[0]}"
    return "ensemble", "the most accurate one; biaffine learns in a third of the time"


@dataclass(frozen=True)
class Recipe:
    """What the command `train` learns: the kind of model, its settings, and what they need.

    Its fields are the options of the same names; :meth:`from_options` makes it.

    Parameters
    ----------
    model : str or None
        The kind of a new model; None goes on with the model `continue_`.
    """

    model: str | None
    continue_: str | None
    symbols: str | None
    columns: str | None
    tags: str | None
    text: bool | None
    pattern: list[str] | None
    embeddings: str | None
    context: str | None
    context_for: str | None
    dictionary: str | None
    raw_text: list[str] | None
    teacher: str | None
    helpers: list[str] | None
    cv: int | None
    min_count: int | None
    max_iter: int | None
    seed: int
    set: list[tuple[str, Any]]
    n_jobs: int | None

    @classmethod
    def from_options(cls, options, kind):
        """Make a recipe from the options of the command, and the kind of model chosen by them.

        Raises
        ------
        ValueError
            If options do not go together.
        """
        given = {field.name: getattr(options, field.name) for field in fields(cls)}
        recipe = cls(**given | {"model": kind})
        recipe._check_options()
        return recipe

    @property
    def learns_tags(self):
        """Whether columns are learned: named ones, or all with values."""
        return self.tags is not None or bool(self.text or self.helpers)

    @property
    def makes_table(self):
        """Whether the transformer is for training alone, from which a table of vectors comes."""
        return self._use_of_context == "training" and self.context is not None

    @property
    def _use_of_context(self):
        return self.context_for or ("parsing" if self.raw_text is None else "training")

    def _list_given(self, *names):
        """Return a dict of the options in `names` that are given."""
        return {name: vars(self)[name] for name in names if vars(self)[name] is not None}

    def _check_options(self):
        """Refuse options that do not go together."""
        wrong = [f"--{name.replace('_', '-')}" for name in self._list_given(*OF_NEW)]
        if self.continue_ is None:
            self._check_columns()
            self._check_sources()
            self._check_vectors()
        elif wrong:
            raise ValueError(
                f"--continue goes on with a model as it is; leave out {' and '.join(wrong)}."
            )

    def _check_columns(self):
        if self.symbols is not None and (self.learns_tags or self.model in OF_COLUMNS):
            raise ValueError(
                f"--symbols {self.symbols} is for models that read tags as symbols; leave it out "
                f"with --tags, and use --columns for {' and '.join(OF_COLUMNS)}."
            )
        learned = [] if self.tags is None else self.tags.split(",")
        if not set(learned) <= set(LEARNED) or len(set(learned)) < len(learned):
            raise ValueError(
                f"--tags {self.tags} must name columns, none twice: {', '.join(LEARNED)}."
            )
        if self.pattern and not self.text:
            raise ValueError("--pattern is for models that split text; add --text.")
        if self.dictionary is not None and not self.learns_tags:
            raise ValueError(
                "--dictionary is for models that learn tags; give --tags or --text, too."
            )

    def _check_sources(self):
        if self.teacher is not None and self.raw_text is None:
            raise ValueError("--teacher is for learning from raw text; name some with --raw-text.")
        if self.helpers and (None in (self.context, self.raw_text) or self.teacher):
            raise ValueError(
                "--helpers needs --context, a transformer that knows the languages, and "
                "--raw-text, text of the language to parse; they make the teacher, so leave out "
                "--teacher."
            )
        if self.raw_text is not None and self.model != "biaffine":
            raise ValueError(f"--raw-text is for --model biaffine; {self.model} learns from trees.")

    def _check_vectors(self):
        wanted = self._list_given("embeddings", "context", "context_for")
        if wanted and not (self.learns_tags or self.model in NETWORKS):
            raise ValueError(
                f"--{' and --'.join(wanted).replace('_', '-')}: vectors are for networks, --model "
                f"biaffine or ensemble, or with --tags for a tagger in front. --model {self.model} "
                f"reads none."
            )
        lacks_context = self.context_for is not None and self.context is None
        if lacks_context or (self.makes_table and self.embeddings is not None):
            raise ValueError(
                f"--context-for {self._use_of_context} needs a transformer, --context; for "
                f"training it gives vectors of words, so leave out --embeddings."
            )

    def make_model(self):
        """Make a model that is not fitted, or load the one to go on with.

        Returns
        -------
        model : estimator
        learner : Parser
            The parser in it that learns from trees.

        Raises
        ------
        ValueError
            If a setting is wrong, or the model cannot go on learning.
        """
        if self.continue_ is not None:
            return self._load_learner()
        model = self._make_parser()
        learner = open_member(model).parser
        learner.set_params(**dict(self.set))
        learner._validate_params()  # before anything is read
        if self.raw_text is not None:
            model = DistilledParser(model, self._provide_teacher())
        if self.text:
            splitter = Splitter(
                patterns=self.pattern or (), random_state=self.seed, n_jobs=self.n_jobs
            )
            steps = model.steps if isinstance(model, ParserPipeline) else [("parser", model)]
            model = ParserPipeline([("splitter", splitter), *steps])
        if self.dictionary is not None:
            set_in_parts(model, "dictionary", read_dictionary(self.dictionary))
        return model, learner

    def _load_learner(self):
        """Load a model for further training, and return it with the learner in it."""
        model = load_model(self.continue_, embeddings=self.open_context())
        learner = open_member(model).parser
        if "warm_start" not in learner.get_params(deep=False):
            raise ValueError(
                f"{self.continue_} holds {type(learner).__name__}, which cannot go on learning; "
                f"em, crf and biaffine can."
            )
        learner.set_params(
            warm_start=True,
            n_jobs=self.n_jobs,
            random_state=self.seed,
            **self._list_given("max_iter"),
            **dict(self.set),
        )
        learner._validate_params()
        return model, learner

    def _make_parser(self):
        """Make a parser of the kind that is wanted."""
        if self.model != "ensemble":
            return self._make_part(self.model, self.seed)
        networks = [
            (f"network{k}", self._make_part("biaffine", self.seed + k)) for k in range(N_NETWORKS)
        ]
        return AveragedParser(
            [*networks, ("linear", self._make_part("crf", self.seed))], n_jobs=self.n_jobs
        )

    def _make_part(self, kind, seed):
        """Make a parser, alone or a member of an ensemble."""
        is_member = self.model == "ensemble"
        counts = self._list_given("min_count")
        n_jobs = None if is_member else self.n_jobs  # an ensemble shares its members out
        learner = clone(LEARNERS[kind]).set_params(n_jobs=n_jobs)
        given = self._list_given("max_iter")
        if kind in OF_COLUMNS:
            given |= counts
        if "random_state" in learner.get_params():
            given["random_state"] = seed
        if self.columns not in (None, "auto"):
            given["columns"] = self.columns.split(",")
        elif self.tags is not None and kind == "crf":  # columns of text without tags
            given["columns"] = [self.tags.partition(",")[0], "form", "suffix"]
        learner.set_params(**given)
        if self.tags is not None:
            tags = self.tags.split(",") if "," in self.tags else self.tags
            if kind == "biaffine":
                return learner.set_params(tags=tags)
            # Few folds are enough for a linear model beside networks.
            folds = {"cv": 3} if is_member else {}
            tagger = Tagger(tags, random_state=seed, n_jobs=n_jobs, **folds, **counts)
            return make_parser_pipeline(tagger, learner)
        if kind in OF_COLUMNS:
            return learner
        first, *others = ["upos"] if self.symbols is None else self.symbols.split(",")
        return make_parser_pipeline(TokenFeature(first, others or None, **counts), learner)

    def _provide_teacher(self):
        """Load the teacher of a student, or make the model that is learned without raw text."""
        if self.teacher is not None:
            return FrozenEstimator(load_model(self.teacher, embeddings=self.open_context()))
        if not self.helpers:
            return replace(self, model="ensemble")._make_parser()
        # Words, letters and other columns of other languages would mislead it.
        shared = [name for name in self.tags.split(",") if name in ("upos", "feats")]
        of_all = replace(self, columns="shape", tags=",".join(shared) or None)
        return of_all._make_part("biaffine", self.seed).set_params(calibrate=False)

    def open_context(self):
        """Open the transformer that gives vectors in context, or return None if none is named."""
        # Raw text is asked for twice, and helpers by many runs; what is parsed comes once.
        return open_context(self.context, self.n_jobs, keeps=self.raw_text is not None)

    def give_vectors(self, model, sentences):
        """Set the parameters `embeddings` of a new model and its members, if vectors are wanted.

        Parameters
        ----------
        model : estimator
        sentences : iterable of DependencyTree
            Those whose words a table has; otherwise they are not read.
        """
        if self.continue_ is not None or not self._list_given("context", "embeddings"):
            return
        given = [] if self.context is None else [self.open_context()]
        if self.embeddings is not None:
            given.append(read_vectors(self.embeddings, limit=N_VECTORS))
        of_all = tuple(given) if len(given) > 1 else given[0]
        table = given[0].to_table(list(sentences)) if self.makes_table else of_all
        names = find_params(model, "embeddings")
        of_teacher = [name for name in names if "teacher__" in name]
        model.set_params(**dict.fromkeys(names, table) | dict.fromkeys(of_teacher, of_all))
