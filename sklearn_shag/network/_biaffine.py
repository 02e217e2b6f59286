"""A network that scores arcs, trained for the probability of trees."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax

from sklearn_shag.conditional import ArcParser
from sklearn_shag.encoding import asked_once, check_sentences, collect_labels
from sklearn_shag.network._estimators import Start, TagLearner
from sklearn_shag.network._network import label_scores, make_network, read
from sklearn_shag.network._tagger import Tagger
from sklearn_shag.network._tags import LEARNED, collect_tags, encode_tags, read_tags
from sklearn_shag.parsing import score_by_arcs
from sklearn_shag.treebank import Heads, Sentences
from sklearn_shag.utils._param_validation import StrOptions, fit_context
from sklearn_shag.utils._typing import ArrayLike, RandomSeed


class BiaffineParser(TagLearner, ArcParser):
    """Network with recurrent layers and biaffine scores of arcs.

    Tokens are embedded by their columns and read in both directions by simple recurrent units;
    every arc then has a score of its two ends and their distance. The probability of a tree given
    its sentence is proportional to the exponential of the sum of the scores of its arcs.

    Parameters
    ----------
    columns : "auto" or sequence of str, default="auto"
        What the parser reads of each token, as for :class:`CRFParser`; feats are read feature by
        feature, and "letters" are all n-grams of two to five letters of the form, in lower case,
        hashed. If tags are learned, "auto" takes form, prefix, suffix, shape and letters.
    hidden_layer_sizes : sequence of int, default=(100, 100)
        Of each recurrent layer the number of units per direction.
    tags : None, str or sequence of str, default=None
        A column to be learned along, "upos", "xpos", "feats" or "lemma", or several of them, for
        :meth:`predict_tags`. :meth:`parse` fills them in, in place of what is there, and of symbols
        if these are the tags, or forms for want of tags. The first of several columns is learned
        along with trees, which gain by it; by the others they would lose, so a :class:`Tagger` of
        its own learns all of them, and is what fills them in.
    labels : bool, default=True
        Whether relations are learned.
    dropout : None or float, default=None
        How often an entry of a layer is 0 in training. None takes 0.2 of less than 100,000 training
        tokens, else 0.1.
    batch_size : "auto" or int, default="auto"
        About how many tokens a step sees, a root for each sentence included. "auto" takes 150 of
        less than 5,000 training tokens, 300 of less than 10,000, 500 of less than 100,000, else
        1000.
    max_iter : None or int, default=None
        How often training goes over the sentences. None takes 30, 20, 16 or 8 by the same
        limits.
    learning_rate_init : float, default=5e-3
        Of Adam, after some first steps; from there it falls to a fiftieth.
    alpha : float, default=0.0
        Strength of the L2 penalty, divided by the number of tokens of a batch.
    min_count : int, default=2
        Forms, lemmas, affixes and values of feats that were seen less often count as unknown.
    embeddings : None, mapping, pair of words and vectors, KeyedVectors, callable, object with \
            `transform`, or pair of vectors of words and one of the last two, default=None
        Vectors of words that were learned elsewhere, from raw text for example: a mapping from
        words to vectors, a list of words and an array of shape (n_words, n_dimensions), or an
        object that is used like those of gensim. :func:`~sklearn_shag.features.read_vectors` reads
        files of them. Training leaves them as they are, so that words it has not seen are read
        too. A word that there is none for is looked up in lower case. Model files hold the
        vectors, but for this parameter None.

        A callable, or the method `transform` of an object such as
        :class:`~sklearn_shag.features.TransformerVectors`, gives vectors in context: it takes a
        list of sentences, as they are in X, and returns for each an array of shape (n_tokens,
        n_dimensions), of finite numbers up to 65,504. `fit` asks for each sentence once, a
        thousand at a time, keeps the vectors in half precision, more than 2**30 bytes in a
        temporary file, and gives each dimension the mean 0 and the same deviation. Model files
        hold what was learned from them, and not the callable: give it to
        :func:`~sklearn_shag.load_model`.
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
        Whether `fit` continues from the weights of the last one, with its columns, values, vectors
        of words, relations and tags, whatever the parameters say of them now; but layers and `tags`
        must be the same. The steps of Adam begin anew, and `tagger_` stays as it is.
    calibrate : bool, default=True
        Whether to learn a correction under which probabilities mean what they say: of the heads
        with the probability 0.8 four in five are right. It is learned on trees that were not
        learned from: those set aside for `early_stopping`; of 100,000 tokens or more one sentence
        in 50; else those of each half of the trees, parsed by what is learned from the other
        half, which doubles the time of `fit`. Trees are the same. Less than 20 sentences are too
        few; `warm_start` leaves it as it is.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen: by the largest sum of log marginals (eq. 14 of the paper), the largest
        sum of marginals (the expected number of right arcs), the largest probability, or as by
        "mbr" of all trees, with arcs that may cross.
    random_state : int, RandomState instance or None, default=None
        Of initial weights, the order of sentences, what is replaced or dropped, and the sentences
        that are set aside.
    max_tokens : None or int, default=None
        Sentences to parse may have so many tokens; longer ones are errors. Time grows with the
        cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers, for parsing over chunks of sentences, and for training, which has
        work for two: each takes half of a batch. What is learned is the same.
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
    tag_values_ : dict of list of str
        The values of the column that is learned along with trees, as :class:`Tagger` has them;
        empty without any.
    tags_ : ndarray of shape (n_tags,), dtype object
        The same values; empty if none are learned.
    tag_column_ : None or str
        The column that they are of.
    tagger_ : None or Tagger
        What fills in several columns.
    embeddings_ : None or str
        What vectors in context were learned from, as it shows itself; None without any.
    weights_ : NetworkWeights
        The sizes of layers and all parameters.
    temperatures_, uniform_shares_ : ndarrays of shape (2,)
        How probabilities of heads and of their labels are corrected: 1 and 0 is not at all.
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
    Tagger : The same network without arcs, for parsers that see tags.
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
        dropout: float | None = None,
        batch_size: Literal["auto"] | int = "auto",
        max_iter: int | None = None,
        learning_rate_init: float = 5e-3,
        alpha: float = 0.0,
        min_count: int = 2,
        embeddings: Any = None,
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
        self.embeddings = embeddings
        self.nonprojective = nonprojective
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.calibrate = calibrate
        self.decoder = decoder
        self.random_state = random_state
        self.max_tokens = max_tokens
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
            ``X[i]`` is a DependencyTree, or a sequence of symbols; of words if nothing but form,
            prefix, suffix, shape and letters is read.
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
        self._check_sizes()
        has_tagger = len(self._list_tag_columns()) > len(self._learned_along())
        sources = self._list_sources()
        X = check_sentences(X)[0] if has_tagger or sources else X  # which may be read only once
        with asked_once(sources, X, self.verbose):
            fitted = copy(self)._fit(X, y, sample_weight)  # of two fits both count, or none does
            if not has_tagger:
                fitted.tagger_ = None
            elif not (self.warm_start and hasattr(self, "weights_")):
                fitted.tagger_ = self._make_tagger().fit(X, sample_weight=sample_weight)
        vars(self).update(vars(fitted))
        return self

    def _learned_along(self):
        """The column that is learned along with trees, if any: no lemmas, which are looked up."""
        return [name for name in self._list_tag_columns() if name != "lemma"][:1]

    def _make_tagger(self):
        """Make what learns several columns: along with trees these would lose points."""
        given = self.get_params(deep=False)
        shared = given.keys() & signature(Tagger).parameters.keys() - {"columns", "tags"}
        columns = {} if self.columns == "auto" else {"columns": self.columns}
        return Tagger(self._list_tag_columns(), **columns, **{name: given[name] for name in shared})

    def _start(self, trees, chosen, rng):
        if self.warm_start and hasattr(self, "weights_"):
            columns, sizes, _ = self._kept()
            layers = tuple(self.hidden_layer_sizes)
            self._check_unchanged("hidden_layer_sizes", sizes.hidden, layers)
            learner = self if self.tagger_ is None else self.tagger_
            both = map(_as_parameter, (learner.tag_values_, self._list_tag_columns()))
            self._check_unchanged("tags", *both)
            parts = self.vocabulary_, self.labels_, self.tag_values_, sizes
            return Start(columns, *parts, *self.weights_[1:])
        sentences = [trees.sentences[s] for s in chosen]
        labels = [trees.labels[s] for s in chosen] if self.labels else []
        columns = self._learned_along()
        tags = [read_tags(columns, sentence) for sentence in sentences]
        tag_values = collect_tags(columns, tags, self.min_count)
        return self._new_start(sentences, collect_labels(labels), tag_values, rng)

    def _encode_trees(self, trees, start):
        n_dimensions = start.moments.shape[1]
        return self._encode_columns(start.columns, n_dimensions, trees.sentences, trees.indptr)

    def _encode_tags(self, trees, start):
        tags = [read_tags(start.tag_values, sentence) for sentence in trees.sentences]
        return encode_tags(start.tag_values, tags, trees.heads.size)

    def _score_learned(self, start, values, batch):
        network = make_network(start.sizes, values, start.vectors, start.moments)
        return _score_reading(read(network, batch), batch)

    def _learn(self, start, examples, chosen, validate, rng):
        return self._train(start, examples, chosen, rng, validate, self.n_iter_no_change)

    def _score(self, batch, rung=0):
        if rung:
            return None
        reading = read(self._kept()[2], batch, with_scores=True)
        labellers = self._labellers(batch, reading=reading)
        scored = _score_reading(reading, batch, *labellers)._replace(calibration=self._of_heads)
        if not self.tag_values_:
            return scored
        tag_proba = partial(_tag_proba, reading)
        return scored._replace(tags=lambda: reading.tags[:, 0], tag_proba=tag_proba)

    def _own_tagger(self):
        """What learned several columns, if any; it asks for the vectors that the parser reads."""
        if self.tagger_ is None or self.tagger_.embeddings is self.embeddings:
            return self.tagger_
        return copy(self.tagger_).set_params(embeddings=self.embeddings)

    def _predict_columns(self, X):
        return (self._own_tagger() or super())._predict_columns(X)

    def _predict_parts(self, sentences, allowed, groups=None):
        if self.tagger_ is None:
            return super()._predict_parts(sentences, allowed, groups)
        with asked_once(self._list_sources() if self.embeddings_ else [], sentences):
            heads, labels, _ = super()._predict_parts(sentences, allowed, groups)
            return heads, labels, self._predict_columns(sentences)

    def _score_labels(self, batch, heads, reading=None):
        network, mask = self._kept()[2], self.weights_.label_mask
        reading = read(network, batch) if reading is None else reading
        return label_scores(network, mask, reading, batch.indptr, heads)


def _as_parameter(columns):
    return tuple(columns) if len(columns) > 1 else next(iter(columns), None)


def _tag_proba(reading):
    return softmax(np.nan_to_num(reading.tag_scores.astype(np.float64)), axis=1)


def _score_reading(reading, batch, *labellers):
    arcs = reading.arcs if np.isfinite(reading.arcs).all() else np.nan_to_num(reading.arcs)
    return score_by_arcs(batch.indptr, arcs.astype(np.float64), *labellers)
