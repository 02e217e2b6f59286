"""Pipelines that parse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from itertools import chain, count, islice, starmap
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar, Unpack, overload

from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_shag._parser import OneTree, Parser, TreeLists
from sklearn_shag.conditional import ArcParser, CRFParser
from sklearn_shag.learning import GenerativeMixin
from sklearn_shag.network import TagLearner
from sklearn_shag.treebank import (
    DependencyTree,
    Heads,
    Sentences,
    TextPiece,
    check_text,
    group_pieces,
)
from sklearn_shag.utils._arrays import answer_each, is_collection
from sklearn_shag.utils._estimators import Pipeline, find_splitter, linked, open_member
from sklearn_shag.utils._messages import shorten, warn
from sklearn_shag.utils._parallel import count_workers, map_in_processes
from sklearn_shag.utils._param_validation import check_whole_number
from sklearn_shag.utils._typing import Files

Options = ParamSpec("Options")
Result = TypeVar("Result")


def of_parser(
    method: Callable[Concatenate[Any, Options], Result],
) -> Callable[Concatenate[Any, Options], Result]:
    """Let a pipeline have a method of its parser, if that has it, with its signature."""

    @available_if(lambda self: hasattr(open_member(self).parser, method.__name__))
    @wraps(method)
    def forwarded(self, *args, **options):
        check_is_fitted(self)
        transform, parser = open_member(self)
        given = [options.pop(name) for name in ("X", "sentence") if name in options] + list(args)
        if method.__name__ == "explain":
            given[:1] = transform(given[:1])
        elif method.__name__ != "sample":  # which takes no sentences
            given[:1] = map(transform, given[:1])
        return getattr(parser, method.__name__)(*given, **options)

    return forwarded


class ParserMethods:
    """The methods of a parser inside another estimator, but for `predict` and `score`."""

    parse = of_parser(Parser.parse)
    iter_parse = Parser.iter_parse
    predict_marginals = of_parser(Parser.predict_marginals)
    predict_tree_proba = of_parser(Parser.predict_tree_proba)
    predict_labels = of_parser(Parser.predict_labels)
    predict_label_proba = of_parser(Parser.predict_label_proba)
    predict_tags = of_parser(TagLearner.predict_tags)
    k_best_heads = of_parser(Parser.k_best_heads)
    sample_heads = of_parser(Parser.sample_heads)
    conditional_log_likelihood = of_parser(Parser.conditional_log_likelihood)
    log_likelihood = of_parser(GenerativeMixin.log_likelihood)
    score_arcs = of_parser(ArcParser.score_arcs)

    sample = of_parser(GenerativeMixin.sample)
    explain = of_parser(CRFParser.explain)


@linked
class ParserPipeline(ParserMethods, Pipeline):
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

    @overload
    def parse_text(
        self, text: str, *, lines: bool = False, **options: Unpack[OneTree]
    ) -> list[DependencyTree]: ...

    @overload
    def parse_text(
        self, text: str, *, lines: bool = False, **options: Unpack[TreeLists]
    ) -> list[list[DependencyTree]]: ...

    def parse_text(self, text: str, *, lines: bool = False, **options: Any) -> list[Any]:
        """Split a text into sentences and words, and parse them.

        Parameters
        ----------
        text : str
            As for :meth:`Splitter.split_text`.
        lines : bool, default=False
            Whether each line is one sentence, as for :meth:`Splitter.split_text`.
        **options : dict
            As for :meth:`parse`: `unique_relations`, `confidence`, `n_best`, `n_samples` and
            `random_state`.

        Returns
        -------
        trees : list of DependencyTree, or list of lists of DependencyTree
            What :meth:`parse` returns for the sentences of the text.

        Raises
        ------
        NotFittedError
            If the pipeline is not fitted.
        AttributeError
            If no step is a :class:`~sklearn_shag.Splitter`.
        ValueError, TypeError
            As for :meth:`Splitter.split_text`.

        Examples
        --------
        >>> from sklearn_shag import BiaffineParser, Splitter, make_parser_pipeline
        >>> from sklearn_shag.datasets import load_english
        >>> parser = BiaffineParser(
        ...     tags="upos", hidden_layer_sizes=[50], max_iter=8, calibrate=False, random_state=0
        ... )
        >>> model = make_parser_pipeline(Splitter(max_iter=4, random_state=0), parser)
        >>> model = model.fit(load_english().data[:100])
        >>> for tree in model.parse_text("The window closed. We waited."):
        ...     print(tree.upos)
        ('DET', 'NOUN', 'VERB', 'PUNCT')
        ('PRON', 'VERB', 'PUNCT')
        """
        return self.parse(self._splitter().split_text(text, lines=lines), **options)

    def iter_parse_text(
        self, path_or_file: Files, *, lines: bool = False, **options: Any
    ) -> Iterator[Any]:
        """Split and parse the text of files of any size.

        Parameters
        ----------
        path_or_file : str, os.PathLike, text file, or list or tuple of them
            As for :meth:`Splitter.iter_split_text`.
        lines : bool, default=False
            As for :meth:`parse_text`.
        **options : dict
            As for :meth:`iter_parse`, such as `chunk_size`, `n_jobs` and `confidence`.

        Returns
        -------
        trees : iterator of DependencyTree, or iterator of lists of DependencyTree
            The same trees as from :meth:`parse_text`.

        Raises
        ------
        NotFittedError, AttributeError, ValueError, TypeError
            As for :meth:`parse_text`.
        ConlluError, OSError
            As for :meth:`Splitter.iter_split_text`.
        """
        sentences = self._splitter().iter_split_text(path_or_file, lines=lines)
        return self.iter_parse(sentences, **options)

    def parse_texts(
        self,
        texts: Iterable[str],
        ids: Iterable[str | int] | None = None,
        *,
        lines: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        n_jobs: int | None = None,
        **options: Unpack[OneTree],
    ) -> list[list[DependencyTree]]:
        """Split and parse many texts together, which is faster than one by one.

        Parameters
        ----------
        texts : iterable of str
            Such as a list, or a column of a data frame.
        ids : None or iterable of str or int, default=None
            As for :meth:`iter_parse_texts`.
        lines : bool, default=False
            As for :meth:`parse_text`.
        on_error : {"raise", "skip"}, default="raise"
            As for :meth:`iter_parse_texts`, but with "skip" the trees of a text that is refused
            are an empty list.
        n_jobs : int or None, default=None
            As for :meth:`iter_parse_texts`.
        **options : dict
            As for :meth:`iter_parse_texts`.

        Returns
        -------
        documents : list of lists of DependencyTree
            For each text the trees that :meth:`parse_text` returns for it, in order. That of an
            empty text is empty.

        Raises
        ------
        NotFittedError, AttributeError, ValueError, TypeError
            As for :meth:`iter_parse_texts`.

        Examples
        --------
        >>> from sklearn_shag.datasets import load_parser
        >>> documents = load_parser().parse_texts(["Dogs bark. Cats sleep.", "", "It rains."])
        >>> [len(trees) for trees in documents]
        [2, 0, 1]
        >>> documents[0][1].document, documents[0][1].sent_id
        ('0', '0-2')
        """
        found = self._iter_documents(texts, ids, lines, on_error, n_jobs, **options)
        return [[] if isinstance(trees, Exception) else trees for _, trees in found]

    def iter_parse_texts(
        self,
        texts: Iterable[str],
        ids: Iterable[str | int] | None = None,
        *,
        lines: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        chunk_size: int = 50_000,
        n_jobs: int | None = None,
        **options: Unpack[OneTree],
    ) -> Iterator[tuple[str | int, list[DependencyTree]]]:
        """Split and parse any number of texts, of which a few are in memory at once.

        Parameters
        ----------
        texts : iterable of str
            May be a generator.
        ids : None or iterable of str or int, default=None
            A name for each text. None counts them from 0.
        lines : bool, default=False
            As for :meth:`parse_text`.
        on_error : {"raise", "skip"}, default="raise"
            What to do with a text that is refused, such as one with NUL: raise an error that names
            its id, or leave it out with a `UserWarning` that does.
        chunk_size : int, default=50_000
            About how many characters are parsed at once. It does not affect the result.
        n_jobs : int or None, default=None
            Number of processes, each of which splits and parses whole chunks; -1 for all cores.
        **options : dict
            As for :meth:`parse`: `unique_relations` and `confidence`.

        Returns
        -------
        documents : iterator of pairs of id and list of DependencyTree
            For each text its id and its trees, as from :meth:`parse_text`. Each tree knows its
            `document`; its `sent_id` is the id of the text and its number, and the first has the
            comment "newdoc".

        Raises
        ------
        NotFittedError
            If the pipeline is not fitted.
        AttributeError
            If no step is a :class:`~sklearn_shag.Splitter`.
        ValueError, TypeError
            As for :meth:`Splitter.split_text`, when a chunk with such a text is parsed. If there
            are more ids than texts, or fewer, or an id is empty or has several lines.

        Examples
        --------
        >>> from sklearn_shag.datasets import load_parser
        >>> texts = {"dogs": "Dogs bark.", "cats": "Cats sleep. They purr."}
        >>> for name, trees in load_parser().iter_parse_texts(texts.values(), texts):
        ...     print(name, [tree.forms[0] for tree in trees], trees[-1].sent_id)
        dogs ['Dogs'] dogs-1
        cats ['Cats', 'They'] cats-2
        """
        found = self._iter_documents(texts, ids, lines, on_error, n_jobs, chunk_size, **options)
        return ((name, trees) for name, trees in found if not isinstance(trees, Exception))

    def _iter_documents(self, texts, ids, lines, on_error, n_jobs, chunk_size=50_000, **options):
        """Iterate over pairs of an id and the trees of its text, or the error of that."""
        if not is_collection(texts):
            raise TypeError(f"texts must be an iterable of str, got {shorten(texts)}: pass [text].")
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {shorten(on_error)}.")
        check_whole_number(chunk_size, "chunk_size")
        self._splitter()
        self.parse([], **options)  # refuses options that are wrong
        pairs = zip(count() if ids is None else ids, texts, strict=ids is not None)
        chunks = group_pieces(starmap(_make_piece, pairs), chunk_size)
        parse = partial(_parse_documents, self, lines, options)
        found = chain.from_iterable(map_in_processes(parse, chunks, count_workers(n_jobs)))
        return map(partial(_report_refused, on_error), found)

    def _splitter(self):
        check_is_fitted(self)
        splitter = find_splitter(self)
        if splitter is None:
            raise AttributeError(
                "This pipeline has no step that splits text. Put one in front and fit again: "
                "make_parser_pipeline(Splitter(), ...)."
            )
        return splitter


def _make_piece(name, text):
    if not str(name) or len(str(name).splitlines()) > 1:
        raise ValueError(f"The id of a text must be one line, got {shorten(name)}.")
    return TextPiece("", 0, 0, text, document=name)


def _parse_documents(pipeline, lines, options, pieces):
    """Return pairs of the id of each text and its trees, or its error."""
    found = answer_each(partial(_parse_together, pipeline, lines, options), pieces)
    return [(piece.document, trees) for piece, trees in zip(pieces, found, strict=True)]


def _parse_together(pipeline, lines, options, pieces):
    """Return the trees of each of several texts."""
    for piece in pieces:
        check_text(piece.text)
    split = list(map(list, find_splitter(pipeline)._split_pieces(pieces, None, lines)))
    trees = iter(pipeline.parse(list(chain.from_iterable(split)), **options))
    return [list(islice(trees, len(sentences))) for sentences in split]


def _report_refused(on_error, document):
    """Return a pair of id and trees; raise the error in place of trees, or warn of it."""
    name, trees = document
    if isinstance(trees, Exception):
        message = f"The text with the id {shorten(name)} is refused: {trees}"
        if on_error == "raise":
            raise (TypeError if isinstance(trees, TypeError) else ValueError)(message) from trees
        warn(f"{message} It is left out.", UserWarning)
    return document


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
    return ParserPipeline(
        make_pipeline(*steps).steps,
        memory=memory,
        transform_input=transform_input,
        verbose=verbose,
    )
