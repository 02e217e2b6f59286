"""A network that scores arcs, trained for the probability of trees."""

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Literal, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag._base import keep, object_array
from sklearn_shag._base_conditional import ArcParser, prepare_trees
from sklearn_shag._column_groups import list_sizes
from sklearn_shag._early_stopping import attachment_score, repeat_passes, set_aside
from sklearn_shag.encoding import EncodedSentences, collect_labels, encode_labels
from sklearn_shag.features import (
    TAGS,
    Columns,
    choose_columns,
    cut_into_batches,
    encode_columns,
    list_values,
    make_columns,
    split_features,
)
from sklearn_shag.network import (
    Examples,
    NetworkWeights,
    Sizes,
    Trainer,
    initial_parameters,
    make_network,
    predict_arcs,
    predict_labels,
    predict_tags,
)
from sklearn_shag.parsing import Rung, over_chunks, packed_unit_grammar, potentials_of_arcs
from sklearn_shag.treebank import MISSING, Heads, Sentences
from sklearn_shag.utils._parallel import one_blas_thread
from sklearn_shag.utils._param_validation import Interval, StrOptions, fit_context
from sklearn_shag.utils._progress import progress
from sklearn_shag.utils._typing import ArrayLike, ObjectArray, RandomSeed

# What to do with how many training tokens: tokens of a batch, and passes.
SCHEDULE = ((10_000, 300, 20), (100_000, 500, 10), (np.inf, 1000, 8))
# Of tokens that carry nothing else.
WITHOUT_TAGS = ("form", "prefix", "suffix", "shape")


class BiaffineParser(ArcParser):
    """Network with recurrent layers and biaffine scores of arcs.

    Tokens are embedded by their columns and read in both directions by simple recurrent units;
    every arc then has a score of its two ends and their distance. The probability of a tree given
    its sentence is proportional to the exponential of the sum of the scores of its arcs.

    Parameters
    ----------
    columns : "auto" or sequence of str, default="auto"
        What the parser reads of each token, as for :class:`CRFParser`; feats are read feature by
        feature. If tags are learned, "auto" takes form, prefix, suffix and shape.
    hidden_layer_sizes : sequence of int, default=(100, 100)
        Of each recurrent layer the number of units per direction.
    tags : None or {"upos", "xpos"}, default=None
        A column to be learned along, for :meth:`predict_tags`.
    labels : bool, default=True
        Whether relations are learned.
    dropout : float, default=0.1
        How often an entry of a layer is 0 in training.
    batch_size : "auto" or int, default="auto"
        About how many tokens a step sees, a root for each sentence included. "auto" takes 300 of
        less than 10,000 training tokens, 500 of less than 100,000, else 1000.
    max_iter : None or int, default=None
        How often training goes over the sentences. None takes 20, 10 or 8 by the same limits.
    learning_rate_init : float, default=5e-3
        Of Adam, after some first steps; from there it falls to a fiftieth.
    alpha : float, default=0.0
        Strength of the L2 penalty, divided by the number of tokens of a batch.
    min_count : int, default=2
        Forms, lemmas, affixes and values of feats that were seen less often count as unknown.
    nonprojective : {"lift", "drop"}, default="lift"
        What becomes of training trees with crossing arcs: arcs are lifted to the head's head, the
        shortest first (see :func:`~sklearn_shag.treebank.lift`), or the sentence is left out. Trees
        that are known in part are never lifted.
    early_stopping : bool, default=False
        Whether to set sentences aside, keep the weights with the best attachment score on them, and
        stop when it has not improved `n_iter_no_change` times.
    validation_fraction : float, default=0.1
        How many, if `early_stopping`.
    n_iter_no_change : int, default=2
        See `early_stopping`.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the last one, with its columns and values. The
        steps of Adam begin anew.
    decoder : {"mbr", "max_marginal", "viterbi"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper), the largest
        sum of marginals (the expected number of right arcs), or the largest probability.
    random_state : int, RandomState instance or None, default=None
        Of initial weights, the order of sentences, what is replaced or dropped, and the sentences
        that are set aside.
    n_jobs : int or None, default=None
        Number of joblib workers, for parsing over chunks of sentences.
    verbose : int, default=0
        1 shows progress bars, on standard error, for work that takes more than two seconds, 2 for
        all.

    Attributes
    ----------
    columns_ : tuple of str
        What is read of each token, each affix with its length, and each feature.
    vocabulary_ : dict of list of str
        The known values of each column.
    labels_ : ndarray of shape (n_labels,), dtype object
        The relations of training, sorted; empty if the trees had none.
    tags_ : ndarray of shape (n_tags,), dtype object
        The tags of training, sorted; empty if none are learned.
    weights_ : NetworkWeights
        The sizes of layers and all parameters.
    loss_curve_ : list of float
        Of each iteration the mean of ``-log P(known heads | sentence)``, each before the step that
        it led to.
    n_iter_ : int
        How many iterations there were.
    validation_scores_ : list of float
        The attachment scores on the sentences that were set aside, if `early_stopping`.
    n_lifted_, n_left_out_ : int
        How many training trees were lifted, and how many were left out because no projective tree
        with one root has their heads.

    See Also
    --------
    CRFParser : A linear model for the same objective, which can be inspected.
    sklearn_shag.parsing.tree_loss : The objective, for other models.

    Notes
    -----
    The loss of a sentence is log Z - log Z(known) plus the cross-entropies of the labels of known
    arcs and of known tags. Heads that are not known (-1) are summed over. Adam takes steps along
    the exact gradient, with clipping; prediction uses an average of all weights on the way.

    References
    ----------
    Lei, Zhang, Wang, Dai and Artzi (2018), Simple recurrent units for highly parallelizable
    recurrence.

    Dozat and Manning (2017), Deep biaffine attention for neural dependency parsing.

    Examples
    --------
    >>> from sklearn_shag import BiaffineParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> parser = BiaffineParser(random_state=0).fit(trees[:300])
    >>> round(parser.score(trees[300:]), 1)
    0.9
    """

    _parameter_constraints = {
        **ArcParser._parameter_constraints,
        "columns": [StrOptions({"auto"}), list, tuple],
        "hidden_layer_sizes": [list, tuple],
        "tags": [None, StrOptions({"upos", "xpos"})],
        "labels": ["boolean"],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "nonprojective": [StrOptions({"lift", "drop"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    _deterministic = True

    columns_: tuple[str, ...]
    vocabulary_: dict[str, list[str]]
    labels_: ObjectArray
    tags_: ObjectArray
    weights_: NetworkWeights
    loss_curve_: list[float]
    n_iter_: int
    validation_scores_: list[float]
    n_lifted_: int
    n_left_out_: int

    def __init__(
        self,
        columns: Literal["auto"] | Sequence[str] = "auto",
        *,
        hidden_layer_sizes: Sequence[int] = (100, 100),
        tags: Literal["upos", "xpos"] | None = None,
        labels: bool = True,
        dropout: float = 0.1,
        batch_size: Literal["auto"] | int = "auto",
        max_iter: int | None = None,
        learning_rate_init: float = 5e-3,
        alpha: float = 0.0,
        min_count: int = 2,
        nonprojective: Literal["lift", "drop"] = "lift",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        warm_start: bool = False,
        decoder: Literal["mbr", "max_marginal", "viterbi"] = "mbr",
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.columns = columns
        self.hidden_layer_sizes = hidden_layer_sizes
        self.tags = tags
        self.labels = labels
        self.dropout = dropout
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate_init = learning_rate_init
        self.alpha = alpha
        self.min_count = min_count
        self.nonprojective = nonprojective
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.decoder = decoder
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, or a sequence of symbols.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads, 1-based, 0 for the root, -1 where they are not known,
            or is a DependencyTree with heads. None takes the heads of the trees in X. Sentences
            without known heads drop out.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Multiplies the loss of each sentence; 0 leaves it out, with its words.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty or nothing in it can be learned from, heads are missing, columns have no
            values or are to be learned, weights are negative or all zero, or a parameter is
            invalid. The message names the sentence.
        TypeError
            If symbols are no strings, or columns are wanted of plain symbols.

        Warns
        -----
        UserWarning
            If sentences are left out since no projective tree with one root has their heads.
        """
        self._check_parsing()
        self._check_sizes()
        trees = prepare_trees(X, y, sample_weight, self.nonprojective)
        rng = check_random_state(self.random_state)
        fraction = self.validation_fraction if self.early_stopping else 0
        chosen, held_out = set_aside(trees.kept.size, fraction, rng)
        start = self._start(trees, chosen, rng)
        examples = Examples(
            encode_columns(start.columns, trees.sentences, trees.indptr),
            trees.indptr,
            trees.heads,
            encode_labels(trees.labels, start.labels),
            encode_labels([_read_tags(self.tags, s) for s in trees.sentences], start.tags),
            trees.weights,
        )
        with one_blas_thread():
            values, history = self._learn(start, examples, trees, chosen, held_out, rng)
        vars(self).update(
            columns_=start.columns.names,
            vocabulary_=start.vocabulary,
            labels_=start.labels,
            tags_=start.tags,
            weights_=NetworkWeights(np.array(start.sizes.hidden), values),
            n_lifted_=trees.n_lifted,
            n_left_out_=trees.n_left_out,
            **history,
        )
        return self

    def _check_sizes(self):
        sizes = self.hidden_layer_sizes
        if not sizes or not all(isinstance(n, Integral) and n > 0 for n in sizes):
            raise ValueError(
                f"hidden_layer_sizes must hold a positive whole number for each layer, at least "
                f"one, got {sizes!r}."
            )

    def _start(self, trees, chosen, rng):
        """Where training begins: with what sentences hold, or with what was learned before."""
        if self.warm_start and hasattr(self, "weights_"):
            columns, sizes, _ = self._kept()
            if sizes.hidden != tuple(self.hidden_layer_sizes):
                raise ValueError(
                    f"warm_start continues from layers of {sizes.hidden} units, but "
                    f"hidden_layer_sizes={self.hidden_layer_sizes}. Leave them as they were."
                )
            parts = self.vocabulary_, self.labels_, self.tags_, sizes, self.weights_.values
            return Start(columns, *parts)
        sentences = [trees.sentences[s] for s in chosen]
        vocabulary = list_values(self._choose_columns(sentences), sentences, self.min_count)
        labels = [trees.labels[s] for s in chosen] if self.labels else []
        tags = [_read_tags(self.tags, sentence) for sentence in sentences]
        labels, tags = collect_labels(labels), collect_labels(tags)
        if self.tags is not None and not tags.size:
            raise ValueError(
                f"tags={self.tags!r} is to be learned, but no tree of X has values in that column."
            )
        sizes = list_sizes(vocabulary, self.hidden_layer_sizes, labels.size, tags.size)
        values = initial_parameters(sizes, np.random.default_rng(rng.randint(2**31)))
        return Start(make_columns(vocabulary), vocabulary, labels, tags, sizes, values)

    def _choose_columns(self, sentences):
        """Say which columns are read, each feature for itself."""
        columns = self.columns
        if self.tags is not None:
            if isinstance(columns, str):
                columns = WITHOUT_TAGS
            read = [name for name in columns if name in TAGS or str(name).startswith("feats")]
            if read:
                raise ValueError(
                    f"tags={self.tags!r} is to be learned from words alone, but columns names "
                    f"{', '.join(read)}. Leave tags and features out of columns, or tags=None."
                )
        return split_features(choose_columns(columns, sentences), sentences)

    def _learn(self, start, examples, trees, chosen, held_out, rng):
        n_tokens = int(np.diff(trees.indptr)[chosen].sum())
        _, batch_size, max_iter = next(row for row in SCHEDULE if n_tokens < row[0])
        batch_size = batch_size if self.batch_size == "auto" else self.batch_size
        max_iter = max_iter if self.max_iter is None else self.max_iter
        begins = trees.indptr + np.arange(trees.indptr.size)  # with a root for each sentence
        trainer = Trainer(
            start.sizes,
            start.values,
            learning_rate=self.learning_rate_init,
            alpha=self.alpha,
            dropout=self.dropout,
            n_steps=max_iter * -(-(n_tokens + chosen.size) // batch_size),
            rng=np.random.default_rng(rng.randint(2**31)),
        )

        def learn():
            batches = cut_into_batches(begins, rng.permutation(chosen), batch_size)
            losses = [trainer.learn(examples.take(batch))[0] for batch in batches]
            loss = sum(losses) / trees.weights[chosen].sum()
            if not (np.isfinite(loss) and trainer.is_finite()):
                raise ValueError(
                    f"Training has left the range of numbers; the loss is {loss}. Lower "
                    f"learning_rate_init={self.learning_rate_init}, or the weights of sentences."
                )
            advance()
            return float(loss)

        def validate(values):
            part = examples.take(held_out)
            rungs = _rungs_of(make_network(start.sizes, values))
            return attachment_score(rungs, part.codes, part.indptr, trees, held_out)

        with progress("Training", max_iter, "iterations", self.verbose) as advance:
            return repeat_passes(
                learn,
                trainer.average.copy,
                validate if held_out.size else None,
                max_iter,
                self.n_iter_no_change,
            )

    def _kept(self):
        """What is known of columns, and the network."""
        return keep(self, (self.vocabulary_, self.labels_, self.tags_, self.weights_), _prepare)

    def _encode(self, sentences, symbols):
        columns, _, _ = self._kept()
        indptr = np.cumsum([0, *map(len, symbols)])
        return EncodedSentences(encode_columns(columns, sentences, indptr), indptr)

    def _rungs(self):
        return _rungs_of(self._kept()[2])

    def _label_arcs(self, batch, heads):
        with one_blas_thread():
            return predict_labels(self._kept()[2], batch.codes, batch.indptr, heads)

    def predict_tags(self, X: Sentences) -> ObjectArray:
        """Tag sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.

        Returns
        -------
        tags : object ndarray of shape (n_sentences,)
            ``tags[i]`` is an ndarray of str of shape (n_tokens_i,), dtype object: one of `tags_`
            for each token.

        Raises
        ------
        ValueError
            If no tags were learned.
        """
        batch = self._batch(X)
        if not self.tags_.size:
            raise ValueError(
                'This BiaffineParser has learned no tags. Fit it with tags="upos" or "xpos".'
            )
        codes = over_chunks(partial(_tag, self._kept()[2]), batch, self.n_jobs, self.verbose)
        return object_array([self.tags_[of_sentence] for of_sentence in codes])


class Start(NamedTuple):
    """Where training begins."""

    columns: Columns
    vocabulary: dict
    labels: np.ndarray
    tags: np.ndarray
    sizes: Sizes
    values: np.ndarray


def _read_tags(name, sentence):
    """The tags to be learned of a sentence, ``_`` where there are none."""
    values = getattr(sentence, name, None) if name else None
    return (MISSING,) * len(sentence) if values is None else values


def _prepare(vocabulary, labels, tags, weights):
    sizes = list_sizes(vocabulary, weights.hidden_layer_sizes, labels.size, tags.size)
    return make_columns(vocabulary), sizes, make_network(sizes, weights.values)


def _rungs_of(network):
    return [Rung(packed_unit_grammar(), partial(_potentials, network))]


def _potentials(network, batch):
    with one_blas_thread():
        scores = predict_arcs(network, batch.codes, batch.indptr)
    return potentials_of_arcs(batch.indptr, scores.astype(np.float64))


def _tag(network, batch):
    with one_blas_thread():
        tags = predict_tags(network, batch.codes, batch.indptr)
    return np.split(tags, batch.indptr[1:-1])
