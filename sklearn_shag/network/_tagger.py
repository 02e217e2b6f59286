"""The network without arcs: a transformer that tags words, for parsers that see tags."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.conditional import without_heads
from sklearn_shag.encoding import ask_vectors, check_sentences, read_column
from sklearn_shag.network._augmentation import respell_lemmas
from sklearn_shag.network._estimators import TagLearner
from sklearn_shag.network._tags import (
    LEARNED,
    NO_VALUES,
    collect_lemmas,
    encode_tags,
    join_tags,
    read_tags,
)
from sklearn_shag.treebank import (
    MISSING,
    DependencyTree,
    Dictionary,
    Sentences,
    TreeTransformer,
    with_tags,
)
from sklearn_shag.utils._arrays import unpack_column
from sklearn_shag.utils._parallel import delayed, progress, run_parallel
from sklearn_shag.utils._param_validation import StrOptions, check_sample_weight, fit_context
from sklearn_shag.utils._typing import ArrayLike, RandomSeed


class Tagger(TreeTransformer, TagLearner):
    """Tag words for parsers that read tags.

    It is the step before the parser in a pipeline. The parser then learns from predicted tags and
    can parse text without tags. The network is that of :class:`BiaffineParser`, without arcs.

    Parameters
    ----------
    tags : str or sequence of str, default="upos"
        One or more columns to learn: "upos", "xpos", "feats" or "lemma". Features are learned as
        whole values of their column. A known form gets the lemma that it had most often in training
        with the same value of the first column. Lemmas of other forms are made by removing and
        adding letters at both ends of the form, which is learned.
    columns : "auto" or sequence of str, default="auto"
        Columns to read for each token, as for :class:`BiaffineParser`, except tags, features and
        columns to be learned. "auto" means form, prefix, suffix, shape and letters.
    hidden_layer_sizes : sequence of int, default=(100, 100)
        Number of units per direction in each recurrent layer.
    dropout : "auto" or float, default="auto"
        Probability that an entry of a layer is set to 0 in training. "auto" means 0.2 for fewer
        than 100,000 training tokens and 0.1 otherwise.
    batch_size : "auto" or int, default="auto"
        Approximate number of tokens per step, as for :class:`BiaffineParser`.
    max_iter : "auto" or int, default="auto"
        Number of passes over the training sentences, as for :class:`BiaffineParser`.
    learning_rate_init : float, default=5e-3
        Learning rate of Adam after the first few steps; it then falls to a fiftieth.
    alpha : float, default=0.0
        Strength of the L2 penalty, divided by the number of tokens in a batch.
    min_count : int, default=2
        Forms, lemmas and affixes that were seen less often count as unknown.
    embeddings : None, mapping, pair of words and vectors, KeyedVectors, callable, object with \
            `transform`, or pair of vectors of words and one of the last two, default=None
        Pretrained vectors of words or vectors in context, as for :class:`BiaffineParser`.
    augment : bool, default=True
        Whether to learn from altered copies of some sentences too, as :class:`BiaffineParser` does.
    dictionary : None or Dictionary, default=None
        The tags, features and lemmas that words may have, from
        :func:`~sklearn_shag.treebank.read_dictionary`. A word in it gets the most probable of its
        entries; other words have any tags. Predictions use the dictionary that is set when they
        are made, and model files hold it. Probabilities of tags are those without it.
    cv : int, cross-validation generator or iterable, default=5
        The folds of :meth:`fit_transform`, whose taggers take half as many passes if `max_iter` is
        "auto". If it is an int, they are drawn at random.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, the order of sentences, random replacement and dropout, and the
        folds.
    n_jobs : int or None, default=None
        Number of joblib workers for the folds of :meth:`fit_transform`, for tagging chunks of
        sentences, and for training, which uses at most two. The result does not depend on it.
    verbose : int, default=0
        1 shows progress bars on standard error for work that takes more than two seconds; 2 shows
        them for all work.

    Attributes
    ----------
    tag_values_ : dict of list of str
        The training values of each learned column, sorted. For lemmas these are edits of forms,
        with tabs between their parts: "lower" or "kept" case, how many letters to remove at the
        beginning and what to put there, and the same for the end; or "whole" and the lemma.
    tags_ : ndarray of shape (n_tags,), dtype object
        The values of the first column.
    tag_column_ : str
        The first column.
    tag_combinations_ : list of list of str
        The combinations of values, without lemmas, that training tokens have, of which a token gets
        the most probable one. Empty for a single column.
    tag_factors_ : dict of list of float
        For each relation of the training trees a number for each value of one column after the
        other: 0.3 times the logarithm of how much more often training tokens have both than by
        chance. A :class:`BiaffineParser`, which finds relations, adds it to the scores of values.
    lemmas_ : dict of str to str
        The known lemmas, by the form and the value of the first column, with a tab between them.
        Empty if none are learned.
    vocabulary_ : dict of list of str
        The known values of each column, with each affix length.
    embeddings_name_ : None or str
        The repr of the source of vectors in context; None if there is none.
    weights_ : NetworkWeights
        The sizes of layers and all parameters.
    loss_curve_ : list of float
        Mean of ``-log P(known tags | sentence)`` in each iteration, measured before each step is
        taken.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    BiaffineParser : Learns tags along with trees, and is the more accurate parser.
    sklearn_shag.treebank.TokenFeature : Takes symbols from an existing column.

    Notes
    -----
    ``fit_transform(X)`` differs from ``fit(X).transform(X)``, as it does for
    :class:`~sklearn.preprocessing.TargetEncoder`: each fold is tagged by a tagger trained on the
    other folds. A tagger makes hardly any errors in its training text. A parser that has seen
    wrong tags in training finds about the same trees, but its probabilities are better calibrated.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_shag import SpectralSHAG, Tagger
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> tagger = Tagger("upos", hidden_layer_sizes=[50], max_iter=8, cv=2, random_state=0)
    >>> parser = make_pipeline(tagger, SpectralSHAG(8)).fit(trees[:200])
    >>> round(parser.score(trees[300:]), 1)
    0.7
    >>> tagger.transform([["we", "closed", "the", "window", "."]])[0].upos
    ('PRON', 'VERB', 'DET', 'NOUN', 'PUNCT')
    """

    _parameter_constraints = {
        **TagLearner._parameter_constraints,
        "tags": [StrOptions(set(LEARNED)), list, tuple],
        "cv": ["cv_object"],
    }

    lemmas_: dict[str, str]
    tag_combinations_: list[list[str]] = []

    def __init__(
        self,
        tags: str | Sequence[str] = "upos",
        columns: Literal["auto"] | Sequence[str] = "auto",
        *,
        hidden_layer_sizes: Sequence[int] = (100, 100),
        dropout: Literal["auto"] | float = "auto",
        batch_size: Literal["auto"] | int = "auto",
        max_iter: Literal["auto"] | int = "auto",
        learning_rate_init: float = 5e-3,
        alpha: float = 0.0,
        min_count: int = 2,
        embeddings: Any = None,
        augment: bool = True,
        dictionary: Dictionary | None = None,
        cv: Any = 5,
        random_state: RandomSeed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
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
        self.tags = tags
        self.cv = cv

    @fit_context
    def fit(self, X: Sentences, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of length n_sentences
            DependencyTrees with tags, ``_`` where they are not known. They need no heads. Sentences
            without known tags are left out.
        y : object, default=None
            Not used; the tags are those of the trees.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Multiplies the loss of each sentence; 0 leaves it out, with its words.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is empty, there are no tags to learn, columns have no values or are tags, weights
            are negative or all zero, or a parameter is invalid.
        TypeError
            If forms are not strings.
        """
        self._check_sizes()
        columns = self._list_tag_columns()
        sentences, _ = check_sentences(X)
        weights = check_sample_weight(sample_weight, sentences)
        for source in self._list_sources():
            ask_vectors(source, sentences, self.verbose)
        known = {}
        for s, weight in enumerate(weights.tolist()):
            tags = read_tags(columns, sentences[s]) if weight else ()
            if set(chain(*tags)) - NO_VALUES:
                known[s] = sentences[s].forms, sentences[s].lemmas or (), tags, weight
        # Results must not depend on the order of the sentences, to the last bit.
        chosen = sorted(known, key=known.__getitem__)
        sentences, tags = sentences.take(chosen), [known[s][2] for s in chosen]
        weights = weights[chosen]
        rng = check_random_state(self.random_state)
        start = self._new_start(
            sentences, None, columns, tags, rng, [read_column(each, "deprel") for each in sentences]
        )
        indptr = np.cumsum([0, *map(len, sentences)])
        examples = without_heads(
            None, indptr, encode_tags(start.tag_values, tags, indptr[-1]), weights
        )
        examples = self._encode_words(examples, start, sentences, rng)
        learned = self._learn_tags(start, examples, rng)
        lemmas = collect_lemmas(columns, sentences, tags, weights) if "lemma" in columns else {}
        lemmas = respell_lemmas(lemmas) if self._makes_copies(start) else lemmas
        learned |= self._list_learned(start) | {"lemmas_": lemmas}
        vars(self).update(tag_combinations_=join_tags(start.tag_values, tags), **learned)
        return self

    @fit_context
    def fit_transform(
        self, X: Sentences, y: object = None, sample_weight: ArrayLike | None = None
    ) -> list[DependencyTree]:
        """Learn weights, and tag each fold with a tagger trained on the other folds.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : object, default=None
            Not used.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            As for :meth:`fit`.

        Returns
        -------
        trees : list of DependencyTree
            As :meth:`transform` returns them.

        Raises
        ------
        ValueError
            As for :meth:`fit`; or if there are fewer sentences than folds, or the folds of `cv` do
            not hold each sentence once.
        """
        sentences, _ = check_sentences(X)
        tagged = self._tag_folds(sentences, check_sample_weight(sample_weight, sentences))
        self.fit(sentences, sample_weight=sample_weight)
        return self._as_output(tagged)

    def _tag_folds(self, sentences, weights):
        """Tag each fold with a tagger of the others, by default trained in half as many passes."""
        rng = check_random_state(self.random_state)
        folds = self._folds(sentences, rng)
        for source in self._list_sources():
            ask_vectors(source, sentences, self.verbose)
        params = self.get_params(deep=False) | {"n_jobs": None, "verbose": 0}
        if self.max_iter == "auto":
            n_passes = self._choose_schedule(sum(map(len, sentences)))["max_iter"]
            params["max_iter"] = (n_passes + 1) // 2
        tasks = [
            delayed(_tag_fold)(
                # Parameters are not copied, as clone would: vectors of words may be large.
                type(self)(**params | {"random_state": rng.randint(2**31)}),
                sentences.take(train),
                weights[train],
                sentences.take(test),
                f"fold {k} of {len(folds)}",
            )
            for k, (train, test) in enumerate(folds, start=1)
        ]
        with progress("Cross-fitting", len(tasks), "folds", self.verbose) as advance:
            tagged = run_parallel(tasks, self.n_jobs, advance)
        trees = {}
        for (_, test), of_fold in zip(folds, tagged, strict=True):
            trees.update(zip(test, of_fold, strict=True))
        return [trees[s] for s in range(len(sentences))]

    def _folds(self, sentences, rng):
        # Long to import, and no command line needs it.
        from sklearn.model_selection import KFold, check_cv

        cv, n = self.cv, len(sentences)
        if isinstance(cv, Integral):
            if n < cv:
                raise ValueError(
                    f"fit_transform tags {cv} folds, but X holds {n} sentences. Give more of them, "
                    f"lower cv={cv}, or use fit and transform."
                )
            cv = KFold(cv, shuffle=True, random_state=rng.randint(2**31))
        folds = list(check_cv(cv).split(sentences))
        tests = [s for _, test in folds for s in test]
        if sorted(tests) != list(range(n)):
            raise ValueError(
                f"The folds of cv={self.cv!r} do not hold each sentence of X once, so some would "
                f"have no tags. Use an int, or folds such as those of KFold."
            )
        return folds

    def transform(self, X: Sentences) -> list[DependencyTree]:
        """Tag sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, whose tags are ignored, or a sequence of words, which
            become the forms of a tree.

        Returns
        -------
        trees : list of DependencyTree
            The sentences with predicted values in the learned columns, and those of the first
            column as symbols. Everything else is kept, also by
            :func:`~sklearn_shag.treebank.write_conllu`.

        Raises
        ------
        NotFittedError
            If the tagger is not fitted.
        ValueError, TypeError
            If a sentence has no words, or X does not hold sentences.
        """
        check_is_fitted(self)
        sentences, _ = check_sentences(X, allow_empty=True)
        return self._as_output(
            list(map(_with_symbols, sentences, self._predict_columns(sentences)))
        )

    def score(
        self, X: Sentences, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Compute the share of right tags.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : object, default=None
            Not used; the tags are those of the trees.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            How often each sentence counts.

        Returns
        -------
        score : float
            Share of right tags among the tokens with a known tag, in [0, 1]. If several columns are
            learned, all known values of a token have to be right.

        Raises
        ------
        ValueError
            If no tag is known.
        """
        check_is_fitted(self)
        sentences, _ = check_sentences(X)
        weights = check_sample_weight(sample_weight, sentences)
        weights = np.repeat(weights, list(map(len, sentences)))
        found, is_known, is_right = self._predict_columns(sentences), False, True
        for name in self.tag_values_:
            true = [value for sentence in sentences for value in read_column(sentence, name)]
            known = np.array(true, dtype=object) != MISSING
            known |= name == "feats" and known.any()  # tokens without features have a known value
            is_known = is_known | known
            is_right &= ~known | (np.concatenate([each[name] for each in found]) == true)
        weights = weights * is_known
        if not weights.any():
            raise ValueError(
                f"X has no known tags in the column {' or '.join(self.tag_values_)} to compare "
                f"with, or its sentences have zero weight."
            )
        return float(weights @ is_right / weights.sum())


def _tag_fold(tagger, train, weights, test, name):
    try:
        return unpack_column(tagger.fit(train, sample_weight=weights).transform(test))
    except ValueError as error:
        raise ValueError(f"In X without {name}, which is to be tagged: {error}") from error


def _with_symbols(sentence, tags):
    tree = sentence if isinstance(sentence, DependencyTree) else DependencyTree(sentence)
    return with_tags(tree, tags).with_symbols(next(iter(tags.values())))
