"""Base classes of estimators with a network: its initial weights, training, and tagging."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.conditional import run_passes
from sklearn_shag.encoding import (
    LETTERS,
    OF_WORDS,
    TAGS,
    VECTOR,
    Batch,
    Codes,
    Columns,
    ask_vectors,
    check_sentences,
    choose_columns,
    encode_columns,
    list_values,
    make_columns,
    name_source,
    split_embeddings,
    split_features,
)
from sklearn_shag.network._augmentation import add_copies
from sklearn_shag.network._network import Network, open_network
from sklearn_shag.network._parameters import (
    NO_MOMENTS,
    NO_VECTORS,
    NetworkWeights,
    Sizes,
    compute_moments,
    initial_parameters,
    sizes_of,
    spell_vectors,
    tabulate_embeddings,
)
from sklearn_shag.network._tags import (
    LEARNED,
    NetworkTagging,
    collect_tags,
    open_factors,
    weigh_relations,
)
from sklearn_shag.network._training import Trainer
from sklearn_shag.parsing import Forest, Scored, ask, list_columns
from sklearn_shag.treebank import Dictionary, Sentences
from sklearn_shag.utils._arrays import object_array
from sklearn_shag.utils._estimators import BaseEstimator, WatchedMixin, keep
from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._parallel import one_thread, progress
from sklearn_shag.utils._param_validation import (
    COUNT,
    LARGEST_NUMBER,
    N_JOBS,
    HasMethods,
    Interval,
    StrOptions,
)
from sklearn_shag.utils._typing import ObjectArray, RandomSeed

# Limit of the number of training tokens; defaults of batch_size, max_iter and dropout below it.
SCHEDULE = (
    (5_000, 150, 30, 0.2),
    (10_000, 300, 20, 0.2),
    (100_000, 500, 16, 0.2),
    (np.inf, 1000, 8, 0.1),
)


class NetworkStart(NamedTuple):
    """Columns, known values, sizes and weights at the start of the training of a network."""

    columns: Columns | None  # None for splitters
    vocabulary: dict
    labels: np.ndarray | None  # None if arcs are not scored
    tag_values: dict  # by learned column
    sizes: Sizes
    weights: NetworkWeights
    tag_factors: dict = {}  # as in weigh_relations


class OpenNetwork(NamedTuple):
    """A network with the columns of its input and the values of its output."""

    columns: Columns
    network: Network
    tag_values: dict  # an array of the known values of each learned column
    factors: NamedTuple  # TagFactors of these values


class NetworkLearner(WatchedMixin, BaseEstimator):
    """Estimator with a network that is trained.

    A subclass has the parameters below and `n_jobs` and `verbose`, and learns `vocabulary_`,
    `tag_values_` and `weights_`.
    """

    _parameter_constraints = {
        "hidden_layer_sizes": [list, tuple],
        "dropout": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "batch_size": [StrOptions({"auto"}), *COUNT],
        "max_iter": [StrOptions({"auto"}), *COUNT],
        "learning_rate_init": [Interval(Real, 0, LARGEST_NUMBER, closed="right")],
        "alpha": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "min_count": COUNT,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }

    # Defaults by the number of training tokens, in rows as in SCHEDULE.
    _schedule = SCHEDULE

    vocabulary_: dict[str, list[str]]
    tag_values_: dict[str, list[str]]
    weights_: NetworkWeights

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int],
        dropout: Literal["auto"] | float,
        batch_size: Literal["auto"] | int,
        max_iter: Literal["auto"] | int,
        learning_rate_init: float,
        alpha: float,
        min_count: int,
        random_state: RandomSeed,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.dropout = dropout
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate_init = learning_rate_init
        self.alpha = alpha
        self.min_count = min_count
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_sizes(self):
        sizes = self.hidden_layer_sizes
        are_sizes = [isinstance(n, Integral) and not isinstance(n, bool) and n > 0 for n in sizes]
        if not sizes or not all(are_sizes):
            raise ValueError(
                f"hidden_layer_sizes must hold a positive whole number for each layer, at least "
                f"one, got {shorten(sizes)}."
            )

    def _begin(self, vocabulary, rng, labels, tag_values, given=(NO_VECTORS, NO_MOMENTS)):
        """Return a NetworkStart with random parameters, and with given vectors and moments."""
        mask = np.zeros((2, 0 if labels is None else labels.size), dtype=bool)
        weights = NetworkWeights(
            np.array(self.hidden_layer_sizes, dtype=np.int64), None, mask, *given
        )
        sizes = sizes_of(weights, vocabulary, labels, tag_values)
        values = initial_parameters(sizes, np.random.default_rng(rng.randint(2**31)))
        if VECTOR in vocabulary:
            spell_vectors(sizes, values, vocabulary[VECTOR], given[0])
        weights = weights._replace(values=values)
        return NetworkStart(None, vocabulary, labels, tag_values, sizes, weights)

    def _learn_tags(self, start, examples, rng):
        """Train on tags alone, without heads; return fitted attributes."""
        learned, history = self._train(start, examples, np.arange(examples.n_originals), rng)
        del history["validation_scores_"], history["stopped"]  # no sentences were set aside
        return {"vocabulary_": start.vocabulary, "weights_": learned, **history}

    def _train(self, start, examples, chosen, rng, validate=None, n_iter_no_change=1):
        """Train on chosen originals and their copies; return weights, and fitted attributes.

        `loss_curve_` holds the loss of trees, or the loss of tags if no arcs are scored.
        """
        chosen = examples.with_copies(chosen)
        n_tokens = int(np.diff(examples.indptr)[chosen].sum())
        # By all originals: for calibration, a half of them must be trained like the whole.
        schedule = self._choose_schedule(examples.indptr[examples.n_originals])
        dropout, max_iter = schedule.pop("dropout"), schedule["max_iter"]
        trainer = Trainer(
            start.sizes,
            start.weights,
            learning_rate=self.learning_rate_init,
            alpha=self.alpha,
            dropout=dropout,
            n_steps=max_iter * -(-(n_tokens + chosen.size) // schedule["batch_size"]),
            rng=np.random.default_rng(rng.randint(2**31)),
            n_jobs=self.n_jobs,
        )
        with (
            one_thread(),
            np.errstate(over="ignore", invalid="ignore"),  # each pass checks that all is finite
            progress("Training", max_iter, "iterations", self.verbose) as advance,
            self._watch(max_iter) as passes,
        ):
            values, history = run_passes(
                trainer,
                examples,
                chosen,
                **schedule,
                rng=rng,
                advice=f"learning_rate_init={self.learning_rate_init}, alpha={self.alpha}",
                advance=advance,
                passes=passes,
                roots=1,
                validate=validate,
                patience=n_iter_no_change,
            )
        largest = np.finfo(np.float16).max
        values = np.clip(values, -largest, largest).astype(np.float16)
        return start.weights._replace(values=values), history | {"stopped": passes.stops}

    def _choose_schedule(self, n_tokens):
        """Return batch_size, max_iter and dropout, with defaults by the number of tokens."""
        row = next(row for row in self._schedule if n_tokens < row[0])
        schedule = dict(zip(("batch_size", "max_iter", "dropout"), row[1:], strict=True))
        given = {name: getattr(self, name) for name in schedule}
        return schedule | {name: v for name, v in given.items() if v != "auto"}


class TagLearner(NetworkLearner):
    """Estimator with a network that reads columns of tokens, and may learn their tags.

    A subclass has the parameter `tags` too, and if arcs are scored it learns `labels_`.
    """

    _parameter_constraints = {
        **NetworkLearner._parameter_constraints,
        "columns": [StrOptions({"auto"}), list, tuple],
        "embeddings": [None, callable, HasMethods("__getitem__"), HasMethods("transform")],
        "augment": ["boolean"],
        "dictionary": [None, Dictionary],
    }

    # Model files hold the vectors of words, or moments of vectors in context, instead.
    _unsaved_params = ("embeddings",)

    tag_factors_: dict[str, list[float]] = {}
    lemmas_, tag_combinations_ = {}, []  # if none are learned
    embeddings_name_: str | None = None

    def __init__(
        self,
        *,
        columns: Literal["auto"] | Sequence[str],
        embeddings: Any,
        augment: bool,
        dictionary: Dictionary | None,
        **network: Any,
    ) -> None:
        super().__init__(**network)
        self.columns = columns
        self.embeddings = embeddings
        self.augment = augment
        self.dictionary = dictionary

    @property
    def tag_column_(self) -> str | None:
        """The column of tags that is learned, the first if several are; None if there is none."""
        return next(iter(self.tag_values_), None)

    @property
    def tags_(self) -> ObjectArray:
        """The known tags of `tag_column_`, sorted; empty if none are learned."""
        return np.array(next(iter(self.tag_values_.values()), []), dtype=object)

    def _list_tag_columns(self):
        """Return the names of the columns to be learned, from the parameter `tags`."""
        columns = (self.tags,) if isinstance(self.tags, str) else tuple(self.tags or ())
        if len(set(columns)) < len(columns) or not (set(columns) <= set(LEARNED)):
            raise ValueError(
                f"tags must name columns to be learned, none twice: {', '.join(LEARNED)}; got "
                f"{shorten(self.tags)}."
            )
        return columns

    def _new_start(self, sentences, labels, tag_columns, tags, rng, relations):
        """Return a NetworkStart for sentences with tags, and with the relations of their tokens.

        The different ones, `labels`, are None if arcs are not scored.
        """
        tag_values = collect_tags(tag_columns, tags, self.min_count)
        names = split_features(self._choose_columns(sentences), sentences)
        vocabulary = list_values(names, sentences, self.min_count)
        vectors = NO_VECTORS
        of_words, in_context = split_embeddings(self.embeddings)
        if of_words is not None:
            vocabulary[VECTOR], vectors = tabulate_embeddings(of_words)
        moments = compute_moments(in_context and ask_vectors(in_context, sentences))
        start = self._begin(vocabulary, rng, labels, tag_values, (vectors, moments))
        factors = weigh_relations(tag_values, tags, relations)
        return start._replace(columns=make_columns(vocabulary), tag_factors=factors)

    def _choose_columns(self, sentences):
        """Return the names of the columns to read; refuse columns that are to be learned."""
        columns = self.columns
        learned = self._list_tag_columns()
        if learned:
            if isinstance(columns, str):
                columns = (*OF_WORDS, LETTERS)
            not_read = (*TAGS, "feats", *learned)
            read = [name for name in columns if str(name).partition(".")[0] in not_read]
            if read:
                raise ValueError(
                    f"tags={self.tags!r} is to be learned from words alone, but columns names "
                    f"{', '.join(read)}. Leave tags and features out of columns, or set tags=None."
                )
        return choose_columns(columns, sentences, letters=True)

    def _list_learned(self, start):
        """Return the fitted attributes about tags, and `embeddings_name_`."""
        name = name_source(self._context_source()) if start.weights.moments.size else None
        return {
            "tag_values_": start.tag_values,
            "tag_factors_": start.tag_factors,
            "embeddings_name_": name,
        }

    def _network(self):
        """Return the OpenNetwork of the learned weights."""
        labels = getattr(self, "labels_", None)
        tags = self.tag_values_, self.tag_combinations_, self.tag_factors_
        return keep(self, (self.vocabulary_, labels, *tags, self.weights_), _open_learned)

    def _makes_copies(self, start):
        """Tell whether to learn from altered copies, which have nothing but words to read."""
        reads_words = {source for source, _ in start.columns.readers} == {"form"}
        in_context = start.weights.moments.size > 0
        return self.augment and reads_words and not in_context and bool(self._list_tag_columns())

    def _encode_words(self, examples, start, sentences, rng):
        """Return Examples with codes, and with altered copies if these are wanted."""
        if self._makes_copies(start):
            examples, sentences = add_copies(examples, sentences, start.tag_values, rng)
        codes = self._encode_columns(start.columns, start.weights, sentences, examples.indptr)
        return examples._replace(codes=codes)

    def _encode(self, sentences, symbols, indptr, check=True):
        return self._encode_columns(
            self._network().columns, self.weights_, sentences, indptr, check
        )

    def _encode_columns(self, columns, weights, sentences, indptr, check=True):
        """Encode sentences, with vectors in context if the network of these weights reads any."""
        codes = encode_columns(columns, sentences, indptr, check)
        n_dimensions = weights.moments.shape[1]
        if not n_dimensions:
            return codes
        vectors = ask_vectors(self._context_source(), sentences)
        if vectors.n_dimensions != n_dimensions:
            raise ValueError(
                f"embeddings, {name_source(vectors.source)}, gives vectors of "
                f"{vectors.n_dimensions} dimensions, but those in training, from "
                f"{self.embeddings_name_}, had {n_dimensions}. Give the same embeddings."
            )
        codes = codes if isinstance(codes, Codes) else Codes(codes)
        return codes._replace(context=vectors, places=vectors.places)

    def _list_sources(self):
        _, in_context = split_embeddings(self.embeddings)
        return [] if in_context is None else [in_context]

    def _context_source(self):
        """Return the source of vectors in context; raise a ValueError if it was not given."""
        source = next(iter(self._list_sources()), None)
        if source is None:
            raise ValueError(
                f"This {type(self).__name__} reads vectors in context, of "
                f"{self.weights_.moments.shape[1]} dimensions, from {self.embeddings_name_}, which "
                f"no model file holds. Give it again: load_model(path, embeddings=...), or "
                f"set_params(embeddings=...)."
            )
        return source

    def predict_tags(self, X: Sentences, column: str | None = None) -> ObjectArray:
        """Tag sentences.

        Tags of a parser are those of `parse`, which depend on the relations that it finds.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, whose tags are ignored, or a sequence of words.
        column : None or str, default=None
            Which learned column to predict; None is the first one.

        Returns
        -------
        tags : object ndarray of shape (n_sentences,)
            ``tags[i]`` is an ndarray of str of shape (n_tokens_i,), dtype object: a value of the
            column for each token, one of `tags_` for the first column.

        Raises
        ------
        ValueError
            If no tags were learned, or this column was not.
        """
        check_is_fitted(self)
        tagger = self._own_tagger()
        if not tagger.tag_values_:
            raise ValueError(
                f"This {type(self).__name__} has learned no tags. Fit it with tags="
                f'"upos" or "xpos".'
            )
        column = next(iter(tagger.tag_values_)) if column is None else column
        if column not in tagger.tag_values_:
            raise ValueError(
                f"This {type(self).__name__} has learned the columns "
                f"{', '.join(tagger.tag_values_)}, and not {shorten(column)}."
            )
        return object_array(self._predict_column(X, column))

    def _predict_column(self, X, column):
        return [found[column] for found in self._predict_columns(X)]

    def _own_tagger(self):
        """Return the estimator that predicts tags: `tagger_` with these parameters, or self."""
        tagger = getattr(self, "tagger_", None)
        if tagger is None:
            return self
        own = {name: getattr(self, name) for name in ("embeddings", "dictionary")}
        if all(getattr(tagger, name) is value for name, value in own.items()):
            return tagger
        return copy(tagger).set_params(**own)

    def _predict_columns(self, X):
        """Return a dict for each sentence, from learned columns to arrays of their values."""
        sentences, words = check_sentences(X, allow_empty=True)
        if not sentences:
            return []
        indptr = np.cumsum([0, *map(len, words)])
        batch = Batch(self._encode(sentences, words, indptr), indptr, sentences)
        return ask(self, list_columns, batch, partial(Forest, self._score_tags))

    def _score_tags(self, batch):
        return Scored(tagging=NetworkTagging(self, batch))


def _open_learned(vocabulary, labels, tag_values, combinations, factors, weights):
    tags = {name: np.array(values, dtype=object) for name, values in tag_values.items()}
    network = open_network(weights, vocabulary, labels, tag_values, combinations)
    return OpenNetwork(make_columns(vocabulary), network, tags, open_factors(factors, tags))
