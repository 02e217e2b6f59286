"""A linear conditional random field of dependency trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Literal, NamedTuple, Self

import numpy as np

from sklearn_shag.conditional._base import ArcLabeller, ArcParser, mask_scores
from sklearn_shag.conditional._passes import run_passes
from sklearn_shag.encoding import (
    Columns,
    all_arcs,
    arcs_of_heads,
    check_heads,
    check_sentences,
    choose_columns,
    collect_labels,
    encode_columns,
    list_values,
    make_columns,
)
from sklearn_shag.features import (
    DEFAULT_TEMPLATES,
    FeatureUse,
    FeatureWeight,
    LinearTrainer,
    LinearWeights,
    Templates,
    compare_heads,
    compile_templates,
    labels_to_learn,
    score_arcs,
    top_features,
    trees_to_learn,
)
from sklearn_shag.parsing import score_by_arcs
from sklearn_shag.treebank import Heads, Sentence, Sentences
from sklearn_shag.utils._estimators import keep
from sklearn_shag.utils._parallel import progress
from sklearn_shag.utils._param_validation import COUNT, LARGEST_NUMBER, Interval, fit_context
from sklearn_shag.utils._typing import ArrayLike, RandomSeed

# Gradients by the scores of arcs and of labels are skipped if they are nearer to 0.
SMALLEST_OF_ARCS, SMALLEST_OF_LABELS = 2e-3, 1e-3
# Factors of the learning rate of labels, and of their fewer features: each feature has a weight for
# every label.
FASTER, FEWER = 2.0, 8


class CRFParser(ArcParser):
    """Linear conditional random field for dependency trees.

    The probability of a tree given its sentence is proportional to the exponential of the sum of
    its arc scores. The score of an arc is a sum of weights of hashed features: head, modifier and
    their neighbours, direction and distance. Like linear chains for tagging, it trains in seconds,
    is exact, and can be inspected.

    Parameters
    ----------
    columns : "auto" or sequence of str, default="auto"
        Columns that the parser reads for each token: "symbol", "upos", "xpos", "feats" or one
        feature such as "feats.Case", "form" (in lower case), "lemma", "prefix", "suffix" and
        "shape" (capital, digits, length). "suffix.4" has four letters. Without a number, if tags
        are read too, "prefix" has 2 letters and "suffix" 3. Otherwise they have 1 to 3 and 1 to 4
        letters. "auto" takes upos, xpos, feats, form and lemma if any training value is not ``_``,
        suffix, and symbol only if it equals none of them. For plain sequences it takes symbol
        alone.
    templates : None or sequence of str, default=None
        The features, for example ``"h.tag m.tag m+1.tag"``: head, modifier, and the token after the
        modifier. Values come from the head ``h``, the modifier ``m``, their neighbours, or each
        token ``between`` them. "tag" is the first of symbol, upos and xpos that is read; "prefix"
        and "suffix" stand for each length in turn; "bias" has no values. Each template is used once
        with the direction of the arc and once with its distance as well. Templates whose columns
        are not read are dropped. None means :data:`~sklearn_shag.features.DEFAULT_TEMPLATES`.
    max_iter : int, default=3
        Number of passes over the training sentences.
    n_features : int, default=2**21
        Number of arc weights. Features share a weight if their hashes collide.
    learning_rate_init : float, default=0.05
        Learning rate of AdaGrad, before division by the roots of sums of squared gradients.
    alpha : float, default=0.0
        Strength of the L2 penalty, relative to the summed loss of a batch. Since weights are
        averaged over few passes, it hardly changes the trees.
    batch_size : int, default=100
        Approximate number of tokens per step of AdaGrad.
    min_count : int, default=2
        Forms, lemmas, affixes and values of feats that were seen less often count as unknown.
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
        Whether `fit` continues from the weights of the previous `fit`, with its columns and values.
        AdaGrad starts afresh.
    calibrate : bool, default=True
        Whether to learn a correction that makes probabilities match frequencies: of the heads with
        probability 0.8, four in five are right. It uses trees that the parser was not trained on:
        those set aside for `early_stopping`, or one sentence in 50 if there are 100,000 tokens or
        more. Otherwise, each half of the trees is parsed by a model trained on the other half,
        which doubles the time of `fit`. Predicted trees do not change. Fewer than 20 sentences are
        too few; `warm_start` leaves the correction as it is.
    decoder : {"mbr", "max_marginal", "viterbi", "mst"}, default="mbr"
        How trees are chosen. "mbr" maximises the sum of log marginals (eq. 14 of the paper),
        "max_marginal" the sum of marginals (the expected number of correct arcs), "viterbi" the
        probability. The tree is of the kind that `trees` says. "mst" is like "mbr", but in any case
        among all trees.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of sentences and the choice of those set aside.
    max_tokens : None or int, default=None
        Maximum number of tokens in a sentence to parse; longer ones raise an error. Time grows with
        the cube of the length, memory with its square: 1,000 tokens take seconds and up to 0.8 GB.
    n_jobs : int or None, default=None
        Number of joblib workers. Parsing is split over chunks of sentences.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 always
        shows them.

    Attributes
    ----------
    columns_ : tuple of str
        The columns that are read for each token, each affix with its length.
    vocabulary_ : dict of list of str
        The known values of each column.
    templates_ : tuple of str
        The templates that are used.
    labels_ : ndarray of shape (n_labels,), dtype object
        Known relations of arcs (str), sorted; empty if the training trees had none.
    weights_ : LinearWeights
        The weights of arcs and labels, as a named tuple of arrays of shape (n_features, 1) and
        (n_features // 8, n_labels), and which labels go with roots.
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
    sklearn_shag.parsing.tree_loss : The objective, for other models.

    Notes
    -----
    AdaGrad follows the exact gradient of log Z - log Z(known), which is the difference of arc
    marginals (eq. 26); weights are averaged over all steps. Unknown heads (-1) are summed over.
    Relations are classified using the same features, with a softmax for each arc of the training
    trees.

    References
    ----------
    McDonald, Crammer and Pereira (2005), Online large-margin training of dependency parsers.

    Koo, Globerson, Carreras and Collins (2007), Structured prediction models via the matrix-tree
    theorem.

    Duchi, Hazan and Singer (2011), Adaptive subgradient methods for online learning and stochastic
    optimization.

    Examples
    --------
    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> parser = CRFParser(n_features=2**14, random_state=0).fit(trees[:300])
    >>> round(parser.score(trees[300:]), 1)
    0.8
    """

    _parameter_constraints = {
        **ArcParser._parameter_constraints,
        "templates": [None, list, tuple],
        "max_iter": COUNT,
        "n_features": [Interval(Integral, 8, 2**31, closed="both")],
        "learning_rate_init": [Interval(Real, 0, LARGEST_NUMBER, closed="right")],
        "alpha": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "batch_size": COUNT,
        "min_count": COUNT,
        "random_state": ["random_state"],
    }

    templates_: tuple[str, ...]
    weights_: LinearWeights

    def __init__(
        self,
        columns: Literal["auto"] | Sequence[str] = "auto",
        *,
        templates: Sequence[str] | None = None,
        max_iter: int = 3,
        n_features: int = 2**21,
        learning_rate_init: float = 0.05,
        alpha: float = 0.0,
        batch_size: int = 100,
        min_count: int = 2,
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
        super().__init__(
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
        self.columns = columns
        self.templates = templates
        self.max_iter = max_iter
        self.n_features = n_features
        self.learning_rate_init = learning_rate_init
        self.alpha = alpha
        self.batch_size = batch_size
        self.min_count = min_count
        self.random_state = random_state

    @fit_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree or a sequence of symbols.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 if unknown) or is a
            DependencyTree with heads. None uses the heads of the trees in X. Sentences without
            known heads are left out.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Multiplies the loss of each sentence; 0 leaves out the sentence and its words. Step
            sizes suit weights of about 1: much smaller ones hardly learn.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty or has nothing to learn from, heads are missing, columns have no values,
            weights are negative or all zero, or a parameter is invalid. The message names the
            sentence.
        TypeError
            If symbols or templates are not strings, or columns are requested for plain symbols.

        Warns
        -----
        UserWarning
            If sentences are left out because no tree with one root, projective unless `trees_` is
            "all", has their heads.
        """
        return self._fit(X, y, sample_weight)

    def _start(self, trees, chosen, rng):
        if self._goes_on:
            self._check_unchanged("n_features", self.weights_.arcs.shape[0], self.n_features)
            columns, templates = self._compiled()
            return LinearStart(columns, self.vocabulary_, templates, self.labels_, self.weights_)
        sentences = [trees.sentences[s] for s in chosen]
        vocabulary = list_values(choose_columns(self.columns, sentences), sentences, self.min_count)
        templates = DEFAULT_TEMPLATES if self.templates is None else self.templates
        labels = collect_labels([trees.labels[s] for s in chosen])
        weights = LinearWeights(
            np.zeros((self.n_features, 1), dtype=np.float32),
            np.zeros((self.n_features // FEWER, labels.size), dtype=np.float32),
            np.zeros((2, labels.size), dtype=bool),
        )
        columns, templates = _compile_features(vocabulary, templates)
        return LinearStart(columns, vocabulary, templates, labels, weights)

    def _score_learned(self, start, trees, weights, batch):
        return score_by_arcs(batch.indptr, _score_all(weights, start.templates, batch), trees)

    def _learn_weights(self, start, examples, chosen, validate, rng):
        """Learn the weights of arcs, and then the weights of labels."""
        (arcs, of_labels, mask), templates = start.weights, start.templates
        rate, alpha = float(self.learning_rate_init), float(self.alpha)
        with (
            progress("Training", 2 * self.max_iter, "iterations", self.verbose) as advance,
            self._watch(2 * self.max_iter) as passes,
        ):
            run = partial(
                run_passes,
                examples=examples,
                chosen=chosen,
                max_iter=self.max_iter,
                batch_size=self.batch_size,
                rng=rng,
                advice=f"learning_rate_init={self.learning_rate_init}",
                advance=advance,
                passes=passes,
            )
            trainer = LinearTrainer(arcs, templates, rate, SMALLEST_OF_ARCS, trees_to_learn, alpha)
            arcs, history = run(trainer, validate=validate, patience=self.n_iter_no_change)
            if of_labels.size:
                trainer = LinearTrainer(
                    of_labels, templates, FASTER * rate, SMALLEST_OF_LABELS, labels_to_learn, alpha
                )
                of_labels, _ = run(trainer)
        return LinearWeights(arcs, of_labels, mask), {
            "templates_": templates.texts,
            "stopped": passes.stops,
            **history,
        }

    def _compiled(self):
        """Return the Columns that are read, and Templates for kernels."""
        return keep(self, (self.vocabulary_, self.templates_), _compile_features)

    def _encode(self, sentences, symbols, indptr):
        return encode_columns(self._compiled()[0], sentences, indptr)

    def _score(self, batch, rung=0):
        if rung:
            return None
        arcs = _score_all(self.weights_.arcs, self._compiled()[1], batch)
        labeller = LinearLabeller(self, batch) if self._has_labels else None
        return score_by_arcs(
            batch.indptr, arcs, self.trees_, labeller=labeller, calibration=self._of_heads
        )

    def explain(
        self,
        sentence: Sentence,
        modifier: int,
        *,
        head: int | None = None,
        rival: int | None = None,
        n_features: int | None = 10,
    ) -> list[FeatureWeight]:
        """Explain why a token got its head rather than another.

        Parameters
        ----------
        sentence : DependencyTree or sequence of str
            The sentence; its heads, if any, are ignored.
        modifier : int
            The token, counted from 1.
        head : None or int, default=None
            Its head, 0 for the root; None for the predicted one.
        rival : None or int, default=None
            The head to compare with; None for the one with the next best score.
        n_features : None or int, default=10
            Number of features to list; None for all.

        Returns
        -------
        features : list of FeatureWeight
            The features that distinguish the two arcs most, as named tuples of a template, the
            values of both arcs, and their weights. The score of an arc is the sum of its weights
            over all features.

        Raises
        ------
        ValueError
            If the token or a head is outside the sentence, or both heads are the same.

        Examples
        --------
        >>> from sklearn_shag import CRFParser
        >>> from sklearn_shag.datasets import load_english
        >>> trees = load_english().data
        >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:100])
        >>> print(trees[0])  # doctest: +ELLIPSIS
        ,-- The ...
        >>> best, *_ = parser.explain(trees[0], 1)
        >>> best.weight > best.rival_weight
        True
        """
        batch = self._batch([sentence])
        n = len(batch.codes)
        if not (isinstance(modifier, Integral) and 1 <= modifier <= n):
            raise ValueError(f"modifier must be a token, 1 to {n}, got {modifier!r}.")
        for name, value in (("head", head), ("rival", rival)):
            is_head = isinstance(value, Integral) and 0 <= value <= n and value != modifier
            if value is not None and not is_head:
                raise ValueError(
                    f"{name} must be the root, 0, or a token from 1 to {n} other than {modifier}, "
                    f"got {value!r}."
                )
        if n == 1:
            raise ValueError("The only token of a sentence has no head but the root, so no rival.")
        if head is None:
            head = int(self.predict([sentence])[0][modifier - 1])
        if rival is None:
            scores = self.score_arcs([sentence])[0][modifier - 1]
            scores[head] = -np.inf
            rival = int(scores.argmax())
        if head == rival:
            raise ValueError(f"head and rival are both {head}: there is nothing to compare.")
        columns, templates = self._compiled()
        return compare_heads(
            self.weights_.arcs, templates, columns, batch.codes, modifier, head, rival
        )[:n_features]

    def top_features(
        self,
        X: Sentences,
        y: Heads | None = None,
        *,
        label: str | None = None,
        n_features: int | None = 10,
    ) -> list[FeatureUse]:
        """List the features with the largest weights for the arcs of trees, or for one label.

        Weights belong to hashes, so features have names only where they occur in X.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            The heads, -1 if unknown; None uses those of the trees in X.
        label : None or str, default=None
            One of `labels_`; None for the weights of arcs themselves.
        n_features : None or int, default=10
            Number of features to list; None for all.

        Returns
        -------
        features : list of FeatureUse
            The features with the largest weights first, as named tuples of a template, its values,
            the weight, and how often it occurs in the arcs of X.

        Raises
        ------
        ValueError
            If X is not valid, or the label is not in `labels_`.

        Examples
        --------
        >>> from sklearn_shag import CRFParser
        >>> from sklearn_shag.datasets import load_english
        >>> trees = load_english().data
        >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0).fit(trees[:100])
        >>> for feature in parser.top_features(trees, label="det", n_features=2):
        ...     print(feature.values, feature.count)
        m.upos=DET left 612
        h.upos=NOUN m.upos=DET left 604
        """
        self._check_ready()
        sentences, _ = check_sentences(X)
        batch, heads = self._batch(sentences), check_heads(sentences, y, partial=True)
        if label is None:
            weights = self.weights_.arcs[:, 0]
        elif label in self.labels_:
            weights = self.weights_.labels[:, np.flatnonzero(self.labels_ == label)[0]]
        else:
            known = ", ".join(self.labels_) or "none, since the trees of training had none"
            raise ValueError(f"label={label!r} is none of the relations learned: {known}.")
        columns, templates = self._compiled()
        arcs = arcs_of_heads(batch.indptr, heads)
        return top_features(weights, templates, columns, batch, arcs, n_features)


class LinearLabeller(ArcLabeller):
    """Labels by the weights of a CRFParser."""

    def scores(self, heads):
        weights, (_, templates) = self._parser.weights_, self._parser._compiled()
        arcs = arcs_of_heads(self._batch.indptr, heads)
        scores = score_arcs(weights.labels, templates, self._batch, arcs)
        return mask_scores(scores, heads, weights.label_mask)


class LinearStart(NamedTuple):
    """Columns, templates, labels and weights at the start of the training of a CRFParser."""

    columns: Columns
    vocabulary: dict
    templates: Templates
    labels: np.ndarray
    weights: LinearWeights


def _compile_features(vocabulary, templates):
    columns = make_columns(vocabulary)
    return columns, compile_templates(templates, columns.names)


def _score_all(weights, templates, batch):
    """Score all arcs of sentences, in the layout of marginals."""
    return score_arcs(weights, templates, batch, all_arcs(batch.indptr)).ravel()
