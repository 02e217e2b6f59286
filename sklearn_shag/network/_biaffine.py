"""A network that scores arcs, trained for the probability of trees."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from inspect import signature
from typing import Any, Literal, Self

import numpy as np

from sklearn_shag.conditional import ArcLabeller, ArcParser, Examples, find_places
from sklearn_shag.encoding import (
    ask_vectors,
    check_sentences,
    collect_labels,
    encode_labels,
    read_column,
)
from sklearn_shag.network._estimators import NetworkStart, TagLearner
from sklearn_shag.network._network import make_network
from sklearn_shag.network._reading import label_scores, read_sentences
from sklearn_shag.network._tagger import Tagger
from sklearn_shag.network._tags import LEARNED, NetworkTagging, encode_tags, read_tags
from sklearn_shag.parsing import score_by_arcs
from sklearn_shag.treebank import Dictionary, Heads, Sentences
from sklearn_shag.utils._param_validation import StrOptions, fit_context
from sklearn_shag.utils._typing import ArrayLike, RandomSeed


class BiaffineParser(TagLearner, ArcParser):
    """Neural parser with recurrent layers and biaffine arc scores.

    Tokens are embedded by their columns and read in both directions by simple recurrent units. Each
    arc is then scored from its two ends and the distance between them. The probability of a tree
    given its sentence is proportional to the exponential of the sum of its arc scores.

    Parameters
    ----------
    columns : "auto" or sequence of str, default="auto"
        Columns that the parser reads for each token, as for :class:`CRFParser`. "feats" are read
        feature by feature; "letters" are all n-grams of two to five letters of the lower-cased
        form, hashed. If tags are learned, "auto" means form, prefix, suffix, shape and letters.
    hidden_layer_sizes : sequence of int, default=(100, 100)
        Number of units per direction in each recurrent layer.
    tags : None, str or sequence of str, default=None
        One or more columns to learn as well, "upos", "xpos", "feats" or "lemma", for
        :meth:`predict_tags`. :meth:`parse` writes them into its trees, replacing existing values,
        and also the symbols if these are the tags, or forms because there are no tags. The first of
        several columns is learned along with the trees, which improves them. The others would make
        the trees worse, so a separate :class:`Tagger` learns and predicts all columns.
    labels : bool, default=True
        Whether relations are learned.
    dropout : "auto" or float, default="auto"
        Probability that an entry of a layer is set to 0 in training. "auto" means 0.2 for fewer
        than 100,000 training tokens and 0.1 otherwise.
    batch_size : "auto" or int, default="auto"
        Approximate number of tokens per step, including a root for each sentence. "auto" means 150
        for fewer than 5,000 training tokens, 300 for fewer than 10,000, 500 for fewer than 100,000,
        and 1000 otherwise.
    max_iter : "auto" or int, default="auto"
        Number of passes over the training sentences. "auto" means 30, 20, 16 or 8, with the same
        limits.
    learning_rate_init : float, default=5e-3
        Learning rate of Adam after the first few steps; it then falls to a fiftieth.
    alpha : float, default=0.0
        Strength of the L2 penalty, divided by the number of tokens in a batch.
    min_count : int, default=2
        Forms, lemmas, affixes and values of feats that were seen less often count as unknown.
    embeddings : None, mapping, pair of words and vectors, KeyedVectors, callable, object with \
            `transform`, or pair of vectors of words and one of the last two, default=None
        Pretrained word vectors, for example learned from raw text. They are a mapping from words to
        vectors, a list of words and an array of shape (n_words, n_dimensions), or an object with
        the interface of gensim's. :func:`~sklearn_shag.features.read_vectors` reads them from
        files. The method :meth:`~sklearn_shag.features.TransformerVectors.to_table` makes some.

        Training does not change them, so they also help with words it has not seen. A word without
        a vector is looked up in lower case. If `letters` are read, their n-grams start from a
        regression on the vectors, so that words without one profit too. Model files hold the
        vectors, but store None for this parameter.

        A callable, or the method `transform` of an object such as
        :class:`~sklearn_shag.features.TransformerVectors`, gives vectors in context. It takes a
        list of sentences, as in X. For each it returns an array of shape (n_tokens, n_dimensions)
        of finite numbers up to 65,504. `fit` asks for each sentence once, a thousand at a time. It
        keeps the vectors in half precision, using a temporary file above 2**30 bytes, and scales
        each dimension to mean 0 and the same deviation. Model files hold what was learned from the
        vectors but not the callable: pass it to :func:`~sklearn_shag.load_model`.
    augment : bool, default=True
        Whether to learn from altered copies of some sentences too: without the final mark, with
        other quotation marks and apostrophes, in capitals, or all in small letters. It has no
        effect unless tags are learned, from words alone and without vectors in context.
    dictionary : None or Dictionary, default=None
        The tags, features and lemmas that words may have, as for :class:`Tagger`, if tags are
        learned.
    trees : {"auto", "projective", "all"}, default="auto"
        The trees that have a probability: projective ones, or all with one root, whose arcs may
        cross. "auto" takes projective trees if less than 1 % of the arcs of the training trees are
        not projective (see :func:`~sklearn_shag.treebank.nonprojective_arcs`), and all trees if
        more than 3 % are not. Between, both are learned from nine tenths of the trees, and the
        better one on the others is taken, so that `fit` takes three times as long.
    nonprojective : {"lift", "drop"}, default="lift"
        What sums over projective trees do with training trees that have crossing arcs: lift arcs to
        the head's head, the shortest first (see :func:`~sklearn_shag.treebank.lift`), or leave the
        sentence out. Partially annotated trees are never lifted.
    early_stopping : bool, default=False
        Whether to set sentences aside, keep the weights with the best attachment score on them, and
        stop when it has not improved `n_iter_no_change` times.
    validation_fraction : float, default=0.1
        Fraction of the sentences held out for early stopping.
    n_iter_no_change : int, default=2
        See `early_stopping`.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the previous fit. It then keeps the columns,
        values, word vectors, relations and tags of that fit, whatever the parameters now say.
        Layers and `tags` must be the same. Adam starts afresh, and `tagger_` is unchanged.
    calibrate : bool, default=True
        Whether to learn a correction that makes probabilities match frequencies: of the heads with
        probability 0.8, four in five are right. It uses trees that the parser was not trained on:
        those set aside for `early_stopping`, or one sentence in 50 if there are 100,000 tokens or
        more. Otherwise each half of the trees is parsed by a model trained on the other half, which
        doubles the time of `fit`. Predicted trees do not change. Fewer than 20 sentences are too
        few; `warm_start` leaves the correction as it is.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        What the predicted tree maximises: the sum of log marginals (eq. 14 of the paper), the sum
        of marginals (the expected number of right arcs), or the probability. The tree is of the
        kind that `trees` says. "mst" is like "mbr", but in any case among all trees.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the order of sentences, random replacement and dropout, and the
        choice of the sentences set aside.
    max_tokens : None or int, default=None
        Longest sentence, in tokens, that may be parsed; longer ones are an error. Time grows with
        the cube of the length and memory with its square: 1,000 tokens take seconds and up to
        0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers for parsing chunks of sentences, and for training. Training uses at
        most two, each for half of a batch. The result does not depend on it.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 shows
        them for all work.

    Attributes
    ----------
    columns_ : tuple of str
        The columns that are read for each token, with each affix length and each feature.
    vocabulary_ : dict of list of str
        The known values of each column.
    labels_ : ndarray of shape (n_labels,), dtype object
        The relations in the training trees, sorted; empty if the trees had none.
    tag_values_ : dict of list of str
        The values of the column that is learned along with trees, as in :class:`Tagger`; empty if
        there is none.
    tags_ : ndarray of shape (n_tags,), dtype object
        The same values; empty if none are learned.
    tag_column_ : None or str
        The column that these values belong to.
    tag_factors_ : dict of list of float
        What the relation of a token adds to the scores of the values of `tag_values_`, as in
        :class:`Tagger`, whose own factors count if there is a `tagger_`.
    tagger_ : None or Tagger
        The tagger that predicts several columns.
    embeddings_name_ : None or str
        The repr of the source of vectors in context; None if there is none.
    weights_ : NetworkWeights
        The sizes of layers and all parameters.
    temperatures_, uniform_shares_ : ndarrays of shape (2,)
        How the probabilities of heads and of their labels are corrected; 1 and 0 mean no
        correction.
    unique_relations_ : tuple of str
        Relations that a head has at most once, unless :meth:`parse` is told otherwise: nsubj and
        obj. Empty if held-out trees have neither, if LAS on them falls by more than 0.1 plus one
        standard error, with fewer than 20 training trees, and without `calibrate`.
    loss_curve_ : list of float
        Mean of ``-log P(known heads | sentence)`` in each iteration, measured before each step is
        taken.
    n_iter_ : int
        Number of iterations.
    validation_scores_ : list of float
        Attachment scores on the sentences set aside, if `early_stopping`.
    trees_ : str
        "projective" or "all": the trees that have a probability.
    nonprojective_share_ : float
        Share of the known arcs of the training trees that are not projective.
    trees_scores_ : list of float
        Attachment scores with projective and with all trees, if "auto" tried both.
    n_lifted_, n_left_out_ : int
        Number of training trees that were lifted, and number left out because no tree of this kind
        with one root has their heads.

    See Also
    --------
    CRFParser : A linear model for the same objective, which can be inspected.
    Tagger : The same network without arcs, for parsers that read tags.
    sklearn_shag.parsing.tree_loss : The objective, for other models.

    Notes
    -----
    The loss of a sentence is log Z - log Z(known) plus the cross-entropies of the labels of known
    arcs and of known tags. Unknown heads (-1) are summed over. Adam follows the exact gradient,
    with clipping; prediction uses an average of the weights over all steps.

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
    >>> parser = BiaffineParser(hidden_layer_sizes=[50], max_iter=10, random_state=0)
    >>> round(parser.fit(trees[:150]).score(trees[300:]), 1)
    0.8
    """

    _parameter_constraints = {
        **TagLearner._parameter_constraints,
        **ArcParser._parameter_constraints,
        "tags": [None, StrOptions(set(LEARNED)), list, tuple],
        "labels": ["boolean"],
    }

    tagger_: Tagger | None = None

    def __init__(
        self,
        columns: Literal["auto"] | Sequence[str] = "auto",
        *,
        hidden_layer_sizes: Sequence[int] = (100, 100),
        tags: str | Sequence[str] | None = None,
        labels: bool = True,
        dropout: Literal["auto"] | float = "auto",
        batch_size: Literal["auto"] | int = "auto",
        max_iter: Literal["auto"] | int = "auto",
        learning_rate_init: float = 5e-3,
        alpha: float = 0.0,
        min_count: int = 2,
        embeddings: Any = None,
        augment: bool = True,
        dictionary: Dictionary | None = None,
        trees: Literal["auto", "projective", "all"] = "auto",
        nonprojective: Literal["lift", "drop"] = "lift",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 2,
        warm_start: bool = False,
        calibrate: bool = True,
        decoder: Literal["mbr", "max_marginal", "viterbi", "mst"] = "mbr",
        random_state: RandomSeed = None,
        max_tokens: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        TagLearner.__init__(
            self,
            columns=columns,
            hidden_layer_sizes=hidden_layer_sizes,
            dropout=dropout,
            batch_size=batch_size,
            max_iter=max_iter,
            learning_rate_init=learning_rate_init,
            alpha=alpha,
            min_count=min_count,
            embeddings=embeddings,
            augment=augment,
            dictionary=dictionary,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        ArcParser.__init__(
            self,
            trees=trees,
            nonprojective=nonprojective,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            calibrate=calibrate,
            decoder=decoder,
            max_tokens=max_tokens,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.tags = tags
        self.labels = labels

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of symbols; these are words if only form,
            prefix, suffix, shape and letters are read.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 where unknown), or is a
            DependencyTree with heads. None takes the heads of the trees in X. Sentences without
            known heads are left out.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Multiplies the loss of each sentence; 0 leaves it out, with its words.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty or has nothing to learn from, heads are missing, columns have no values or
            are to be learned, weights are negative or all zero, or a parameter is invalid. The
            message names the sentence.
        TypeError
            If symbols are not strings, or columns are requested but X has plain symbols.

        Warns
        -----
        UserWarning
            If sentences are left out because no tree with one root, projective unless `trees_` is
            "all", has their heads.
        """
        self._check_sizes()
        has_tagger = len(self._list_tag_columns()) > len(self._learned_along())
        sources = self._list_sources()
        X = check_sentences(X)[0] if has_tagger or sources else X  # X may be an iterator
        for source in sources:
            ask_vectors(source, X, self.verbose)
        fitted = copy(self)._fit(X, y, sample_weight)  # self changes only if both fits succeed
        if not has_tagger:
            fitted.tagger_ = None
        elif not self._goes_on:
            fitted.tagger_ = self._make_tagger().fit(X, sample_weight=sample_weight)
        vars(self).update(vars(fitted))
        return self

    def _learned_along(self):
        """List the one tag column learned along with trees, or none; lemmas never are."""
        return [name for name in self._list_tag_columns() if name != "lemma"][:1]

    def _make_tagger(self):
        """Make the Tagger of all tag columns; learning more than one would make trees worse."""
        given = self.get_params(deep=False)
        shared = given.keys() & signature(Tagger).parameters.keys() - {"columns", "tags"}
        columns = {} if self.columns == "auto" else {"columns": self.columns}
        tagger = Tagger(
            self._list_tag_columns(), **columns, **{name: given[name] for name in shared}
        )
        # Within a search, bars of the search are still shown: there is no place for others.
        if hasattr(self, "_skl_callbacks") and not hasattr(self, "_parent_callback_ctx"):
            tagger.set_callbacks(*self._skl_callbacks)
        return tagger

    def _start(self, trees, chosen, rng):
        if self._goes_on:
            opened = self._network()
            self._check_unchanged(
                "hidden_layer_sizes", opened.network.sizes.hidden, tuple(self.hidden_layer_sizes)
            )
            learner = self if self.tagger_ is None else self.tagger_
            both = map(_as_parameter, (learner.tag_values_, self._list_tag_columns()))
            self._check_unchanged("tags", *both)
            return NetworkStart(
                opened.columns,
                self.vocabulary_,
                self.labels_,
                self.tag_values_,
                opened.network.sizes,
                self.weights_,
                self.tag_factors_,
            )
        sentences = trees.sentences.take(chosen)
        labels = [trees.labels[s] for s in chosen] if self.labels else []
        columns = self._learned_along()
        tags = [read_tags(columns, sentence) for sentence in sentences]
        return self._new_start(sentences, collect_labels(labels), columns, tags, rng, labels)

    def _encode_examples(self, trees, start, rng):
        tags = [read_tags(start.tag_values, sentence) for sentence in trees.sentences]
        lessons = trees.sentences.lessons
        examples = Examples(
            codes=None,
            indptr=trees.indptr,
            heads=trees.heads,
            labels=encode_labels(trees.labels, start.labels),
            tags=encode_tags(start.tag_values, tags, trees.heads.size),
            weights=trees.weights,
            lessons=lessons,
            places=find_places(lessons, start.labels, start.tag_values),
            trees=trees.trees,
        )
        return self._encode_words(examples, start, trees.sentences, rng)

    def _score_learned(self, start, trees, values, batch):
        network = make_network(start.sizes, values, start.weights.vectors, start.weights.moments)
        return _score_reading(read_sentences(network, batch), batch, trees)

    def _learn_weights(self, start, examples, chosen, validate, rng):
        weights, history = self._train(
            start, examples, chosen, rng, validate, self.n_iter_no_change
        )
        return weights, self._list_learned(start) | history

    def _predict_column(self, X, column):  # relations have a say in tags
        return [np.array(read_column(tree, column), dtype=object) for tree in self.parse(X)]

    def _score(self, batch, rung=0):
        if rung:
            return None
        opened, labeller, tagging = self._network(), None, None
        network = opened.network
        reading = read_sentences(network, batch, with_scores=True)
        if self._has_labels:
            labeller = NetworkLabeller(self, batch, network, reading)
        if self.tagger_ is not None:
            own = opened.tag_values, reading.tag_scores
            tagging = NetworkTagging(self._own_tagger(), batch._replace(codes=None), others=own)
        elif self.tag_values_:
            tagging = NetworkTagging(self, batch, reading)
        return _score_reading(
            reading,
            batch,
            self.trees_,
            labeller=labeller,
            tagging=tagging,
            calibration=self._of_heads,
        )


class NetworkLabeller(ArcLabeller):
    """Labels by the network of a BiaffineParser, from its Reading of a chunk."""

    def __init__(self, parser, batch, network, reading):
        super().__init__(parser, batch)
        self._network, self._reading = network, reading

    def scores(self, heads):
        return label_scores(
            self._network,
            self._parser.weights_.label_mask,
            self._reading,
            self._batch.indptr,
            heads,
        )


def _as_parameter(columns):
    return tuple(columns) if len(columns) > 1 else next(iter(columns), None)


def _score_reading(reading, batch, trees, **others):
    arcs = reading.arcs if np.isfinite(reading.arcs).all() else np.nan_to_num(reading.arcs)
    return score_by_arcs(batch.indptr, arcs.astype(np.float64), trees, **others)
