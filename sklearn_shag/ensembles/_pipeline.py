"""Pipelines that parse."""

from collections.abc import Iterator, Sequence
from typing import Any, Self, TextIO

from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._parser import Parser
from sklearn_shag.treebank import DependencyTree, Heads, Sentences
from sklearn_shag.utils._estimators import find_splitter, open_member
from sklearn_shag.utils._typing import (
    Allowed,
    FilePath,
    FloatArray,
    ObjectArray,
    RandomSeed,
    UniqueRelations,
)


class ParserPipeline(Pipeline):
    """Pipeline that ends in a parser and has its methods.

    In every other respect it is a :class:`~sklearn.pipeline.Pipeline`. Sentences go through the
    steps before the parser, which may change their symbols or tags.

    Parameters
    ----------
    steps : list of (str, estimator) pairs
        Transformers of sentences, such as :class:`~sklearn_shag.treebank.TokenFeature` and
        :class:`~sklearn_shag.Tagger`, and a parser at the end. A :class:`~sklearn_shag.Splitter`
        as the first step splits text into sentences, for :meth:`parse_text`.
    transform_input : None or list of str, default=None
        As for :class:`~sklearn.pipeline.Pipeline`.
    memory : None, str or object with the joblib.Memory interface, default=None
        Where fitted transformers are cached.
    verbose : bool, default=False
        Whether to print the time of each step.

    See Also
    --------
    make_parser_pipeline : Makes one without naming the steps.

    Examples
    --------
    >>> from sklearn_shag import ParserPipeline, SpectralSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import TokenFeature
    >>> trees = load_english().data
    >>> steps = [("feature", TokenFeature("upos", "xpos")), ("parser", SpectralSHAG(4))]
    >>> model = ParserPipeline(steps).fit(trees)
    >>> model.parse(trees[:1])[0].heads.tolist() == model.predict(trees[:1])[0].tolist()
    True
    """

    def __init__(
        self,
        steps: list[tuple[str, Any]],
        *,
        transform_input: list[str] | None = None,
        memory: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)

    def fit(self, X: Sentences, y: Heads | None = None, **params: Any) -> Self:
        """Fit the transformers one after the other, then the parser.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        y : None or sequence of length n_sentences, default=None
            Heads, as accepted by the parser; None uses those of the trees in X.
        **params : dict
            As for :class:`~sklearn.pipeline.Pipeline`.

        Returns
        -------
        self : object
            The fitted pipeline.
        """
        return super().fit(X, y, **params)

    def _validate_steps(self):
        super()._validate_steps()
        for name, step in self.steps[:-1]:
            if isinstance(step, FeatureUnion):
                raise TypeError(
                    f"The step {name!r} is a FeatureUnion, which puts columns of numbers side by "
                    f"side, but sentences are not such columns. To join columns of tokens, give "
                    f'all of them to one step: TokenFeature("upos", "xpos").'
                )
        parser = open_member(self.steps[-1][1]).parser
        if not isinstance(parser, Parser):
            raise TypeError(
                f"The last step of a ParserPipeline must be a parser of this package, got a "
                f"{type(parser).__name__}; for others there is sklearn.pipeline.Pipeline."
            )

    def _open(self, X):
        check_is_fitted(self)
        transform, parser = open_member(self)
        return parser, transform(X)

    def parse(
        self,
        X: Sentences,
        *,
        allowed: Allowed | None = None,
        keep_heads: bool = False,
        unique_relations: UniqueRelations = (),
    ) -> list[DependencyTree]:
        """Parse sentences into trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used, as for :meth:`SpectralSHAG.predict`.
        keep_heads : bool, default=False
            Whether to keep the heads of the trees in X, as for :meth:`SpectralSHAG.parse`.
        unique_relations : sequence of str or tuple of str, default=()
            Relations that each head may have at most once, as for
            :meth:`SpectralSHAG.predict_labels`.

        Returns
        -------
        trees : list of DependencyTree
            The parser's trees for the output of the steps before it.
        """
        if hasattr(X, "__len__") and not len(X):  # no step has anything to do
            return open_member(self).parser.parse(X)
        parser, X = self._open(X)
        options = {"keep_heads": keep_heads, "unique_relations": unique_relations}
        return parser.parse(X, allowed=allowed, **options)

    parse_iter = Parser.parse_iter

    def parse_text(self, text: str) -> list[DependencyTree]:
        """Split a text into sentences and words, and parse them.

        Parameters
        ----------
        text : str
            As for :meth:`Splitter.split`.

        Returns
        -------
        trees : list of DependencyTree
            One for each sentence of the text, as from :meth:`parse`.

        Raises
        ------
        NotFittedError
            If the pipeline is not fitted.
        AttributeError
            If no step is a :class:`~sklearn_shag.Splitter`.
        ValueError, TypeError
            As for :meth:`Splitter.split`.

        Examples
        --------
        >>> from sklearn_shag import BiaffineParser, Splitter, make_parser_pipeline
        >>> from sklearn_shag.datasets import load_english
        >>> parser = BiaffineParser(tags="upos", hidden_layer_sizes=[50], random_state=0)
        >>> model = make_parser_pipeline(Splitter(random_state=0), parser)
        >>> for tree in model.fit(load_english().data).parse_text("The cat sat. It slept."):
        ...     print(tree.upos)
        ('DET', 'NOUN', 'VERB', 'PUNCT')
        ('PRON', 'VERB', 'PUNCT')
        """
        return self.parse(self._splitter().split(text))

    def parse_text_iter(
        self,
        path_or_file: FilePath | TextIO | Sequence[FilePath | TextIO],
        *,
        chunk_size: int = 1000,
    ) -> Iterator[DependencyTree]:
        """Split and parse the text of files of any size.

        Parameters
        ----------
        path_or_file : str, os.PathLike, text file, or list or tuple of them
            As for :meth:`Splitter.split_iter`.
        chunk_size : int, default=1000
            Number of sentences to parse at once.

        Returns
        -------
        trees : iterator of DependencyTree
            The same trees as from :meth:`parse_text`.

        Raises
        ------
        NotFittedError, AttributeError, ValueError, TypeError
            As for :meth:`parse_text`.
        ConlluError, OSError
            As for :meth:`Splitter.split_iter`.
        """
        return self.parse_iter(self._splitter().split_iter(path_or_file), chunk_size=chunk_size)

    def _splitter(self):
        check_is_fitted(self)
        splitter = find_splitter(self)
        if splitter is None:
            raise AttributeError(
                "This pipeline has no step that splits text. Put one in front and fit again: "
                "make_parser_pipeline(Splitter(), ...)."
            )
        return splitter

    def predict_marginals(self, X: Sentences, *, allowed: Allowed | None = None) -> ObjectArray:
        """Compute the probability of each token as the head of each other token.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used, as for :meth:`SpectralSHAG.predict`.

        Returns
        -------
        marginals : object ndarray of shape (n_sentences,)
            ``marginals[i]`` has shape (n_tokens_i, n_tokens_i + 1): in row m, column 0 is the
            probability that token m + 1 is the root, and column h that token h is its head.
        """
        parser, X = self._open(X)
        return parser.predict_marginals(X, allowed=allowed)

    def sample_trees(
        self,
        X: Sentences,
        n_samples: int = 1,
        random_state: RandomSeed = None,
        *,
        allowed: Allowed | None = None,
    ) -> ObjectArray:
        """Draw trees of sentences according to their probability given the sentence.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        n_samples : int, default=1
            Number of trees to draw for each sentence.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used, as for :meth:`EMSHAG.sample_trees`.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_samples, n_tokens_i).
        """
        parser, X = self._open(X)
        return parser.sample_trees(X, n_samples, random_state, allowed=allowed)

    def k_best(
        self,
        X: Sentences,
        k: int,
        *,
        allowed: Allowed | None = None,
        n_samples: int = 1000,
        random_state: RandomSeed = None,
    ) -> tuple[ObjectArray, ObjectArray]:
        """List the most probable trees of sentences, the best first.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        k : int
            Number of trees to list for each sentence.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used, as for :meth:`EMSHAG.k_best`.
        n_samples : int, default=1000
            Number of trees to draw for parsers whose best trees cannot be found exactly.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.

        Returns
        -------
        heads : object ndarray of shape (n_sentences,)
            ``heads[i]`` is an int ndarray of shape (n_found_i, n_tokens_i).
        log_probabilities : object ndarray of shape (n_sentences,)
            ``log_probabilities[i]`` is an ndarray of shape (n_found_i,), in decreasing order, in
            nats.
        """
        parser, X = self._open(X)
        draws = {"n_samples": n_samples, "random_state": random_state}
        return parser.k_best(X, k, allowed=allowed, **draws)

    def predict_tree_proba(
        self, X: Sentences, heads: Heads | None = None, *, allowed: Allowed | None = None
    ) -> FloatArray:
        """Compute the probability of predicted or given whole trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        heads : None or sequence of length n_sentences, default=None
            As for :meth:`SpectralSHAG.predict_tree_proba`; None predicts them.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used.

        Returns
        -------
        probabilities : ndarray of shape (n_sentences,)
            Probabilities in [0, 1].
        """
        parser, X = self._open(X)
        return parser.predict_tree_proba(X, heads, allowed=allowed)

    def predict_labels(
        self,
        X: Sentences,
        heads: Heads | None = None,
        *,
        allowed: Allowed | None = None,
        unique_relations: UniqueRelations = (),
    ) -> ObjectArray:
        """Label the arcs of predicted or given trees with their relations.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        heads : None or sequence of length n_sentences, default=None
            As for :meth:`SpectralSHAG.predict_labels`; None predicts them.
        allowed : None or sequence of length n_sentences, default=None
            Which arcs may be used, if heads are predicted.
        unique_relations : sequence of str or tuple of str, default=()
            As for :meth:`SpectralSHAG.predict_labels`.

        Returns
        -------
        labels : object ndarray of shape (n_sentences,)
            ``labels[i]`` is an ndarray of str of shape (n_tokens_i,), dtype object.
        """
        parser, X = self._open(X)
        return parser.predict_labels(X, heads, allowed=allowed, unique_relations=unique_relations)

    def predict_label_proba(self, X: Sentences, heads: Heads | None = None) -> ObjectArray:
        """Compute the probability of each relation for the arcs of predicted or given trees.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        heads : None or sequence of length n_sentences, default=None
            As for :meth:`SpectralSHAG.predict_labels`; None predicts them.

        Returns
        -------
        probabilities : object ndarray of shape (n_sentences,)
            ``probabilities[i]`` has shape (n_tokens_i, n_labels).
        """
        parser, X = self._open(X)
        return parser.predict_label_proba(X, heads)

    def conditional_log_likelihood(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences, as accepted by the first step.
        y : None or sequence of length n_sentences, default=None
            Heads, -1 if unknown; None uses those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            In nats.
        """
        parser, X = self._open(X)
        return parser.conditional_log_likelihood(X, y)


def make_parser_pipeline(
    *steps: Any, memory: Any = None, transform_input: list[str] | None = None, verbose: bool = False
) -> ParserPipeline:
    """Make a pipeline from transformers of sentences and a parser.

    Parameters
    ----------
    *steps : estimators
        The steps in order. Each is named after its class in lower case, as by
        :func:`~sklearn.pipeline.make_pipeline`.
    memory : None, str or object with the joblib.Memory interface, default=None
        Where fitted transformers are cached.
    transform_input : None or list of str, default=None
        As for :class:`~sklearn.pipeline.Pipeline`.
    verbose : bool, default=False
        Whether to print the time of each step.

    Returns
    -------
    pipeline : ParserPipeline
        The pipeline, not fitted.

    See Also
    --------
    ParserPipeline : The class of the pipeline, which takes named steps.

    Examples
    --------
    >>> from sklearn_shag import SpectralSHAG, make_parser_pipeline
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import TokenFeature
    >>> trees = load_english().data
    >>> model = make_parser_pipeline(TokenFeature("upos", "xpos"), SpectralSHAG(4)).fit(trees)
    >>> print(model.parse([trees[0]])[0])  # doctest: +ELLIPSIS
    ,-- The ...
    >>> model.predict_marginals(trees[:1])[0].shape == (len(trees[0]), len(trees[0]) + 1)
    True
    """
    named = make_pipeline(*steps).steps
    return ParserPipeline(named, memory=memory, transform_input=transform_input, verbose=verbose)
