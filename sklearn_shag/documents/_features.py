"""TextParser, from texts to trees, and DependencyVectorizer, from trees to counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import lru_cache, partial
from itertools import chain, combinations
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.datasets import PARSERS, find_model
from sklearn_shag.ensembles import ParserPipeline
from sklearn_shag.model_files import load_model
from sklearn_shag.treebank import (
    DependencyTree,
    Token,
    TreeTransformer,
    join_columns,
    require_trees,
)
from sklearn_shag.utils._arrays import is_collection, object_array, unpack_column
from sklearn_shag.utils._heads import UNKNOWN, list_way_up
from sklearn_shag.utils._messages import printable, shorten
from sklearn_shag.utils._param_validation import (
    COUNT,
    N_JOBS,
    HasMethods,
    StrOptions,
    fit_context,
    is_pandas_na,
    is_scalar_nan,
)
from sklearn_shag.utils._typing import (
    FilePath,
    FloatArray,
    IntArray,
    ObjectArray,
    StrArray,
    Symbols,
)

# X of transformers: each sample is a tree, or the trees of a document
Documents: TypeAlias = Iterable[DependencyTree | Iterable[DependencyTree]] | ObjectArray
Counts: TypeAlias = csr_matrix | IntArray | FloatArray
FEATURE_KINDS = ("arcs", "relations", "paths", "words")
COUNTING = ("min_df", "max_df", "max_features", "vocabulary", "binary", "dtype")
ROOT_FORM = "ROOT"
CONTENT_TAGS = frozenset(("ADJ", "ADV", "NOUN", "NUM", "PROPN", "VERB"))


class StatelessTransformer(TreeTransformer):
    """Base class of transformers that learn nothing, so that they need no fit."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class TextParser(StatelessTransformer):
    """Parse texts into trees, as the first step of a pipeline.

    It takes texts as scikit-learn's vectorizers do, and makes a list of trees of each. A
    :class:`DependencyVectorizer` or :class:`SyntaxStatistics` behind it makes numbers of them. It
    learns nothing: the parser is already trained.

    Parameters
    ----------
    parser : str, os.PathLike, ParserPipeline or FrozenEstimator, default="english"
        A name for :func:`~sklearn_shag.datasets.load_parser`, the path of a model file, or a fitted
        pipeline that begins with a :class:`Splitter`, which is used as it is, also by copies that
        :func:`~sklearn.base.clone` makes. A file is loaded again if it has changed. A search over
        several parsers needs names, paths, or pipelines in a
        :class:`~sklearn.frozen.FrozenEstimator`, since it copies the values of parameters.
    lines : bool, default=False
        Whether each line of a text is one sentence, as for :meth:`ParserPipeline.parse_text`.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a text that is refused, such as one with NUL: raise an error, or warn and
        return no trees for it.
    missing : {"error", "empty"}, default="error"
        What to do with None, NaN and pandas.NA in place of a text: refuse them, with an error or
        as `on_error` says, or return no trees for them, as for an empty text.
    n_jobs : int or None, default=None
        Number of processes, each of which parses whole groups of texts.

    See Also
    --------
    ParserPipeline.parse_texts : The same as a method.
    DependencyVectorizer : Counts arcs, relations, paths and words of trees.
    SyntaxStatistics : Measures of style and difficulty.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_shag import DependencyVectorizer, TextParser
    >>> pipeline = make_pipeline(TextParser(), DependencyVectorizer("arcs"))
    >>> pipeline.fit_transform(["Dogs chase cats.", "It rains."]).shape
    (2, 5)
    """

    _parameter_constraints = {
        "parser": [str, os.PathLike, HasMethods("parse_texts")],
        "lines": ["boolean"],
        "on_error": [StrOptions({"raise", "skip"})],
        "missing": [StrOptions({"error", "empty"})],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        parser: FilePath | ParserPipeline | FrozenEstimator = "english",
        *,
        lines: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        missing: Literal["error", "empty"] = "error",
        n_jobs: int | None = None,
    ) -> None:
        self.parser = parser
        self.lines = lines
        self.on_error = on_error
        self.missing = missing
        self.n_jobs = n_jobs

    @fit_context
    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Check the parameters, and that the parser can be loaded.

        Parameters
        ----------
        X : iterable of str
            Not used.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        OSError, ValueError
            If there is no such parser.
        NotFittedError, AttributeError
            If the parser is not fitted, or does not split text.
        """
        self._opened_parser()._splitter()
        return self

    def transform(self, X: Iterable[str]) -> ObjectArray:
        """Parse texts.

        Parameters
        ----------
        X : iterable of str
            Texts, such as a list or a column of a data frame.

        Returns
        -------
        documents : ndarray of object, shape (n_texts,)
            For each text the list of its trees, in order, as :meth:`ParserPipeline.parse_texts`
            makes them. That of an empty text is empty. After ``set_output(transform="pandas")``
            they are the column of a data frame with the index of X.

        Raises
        ------
        TypeError, ValueError
            If X is a single text or a whole data frame, or a text is refused or missing.
        """
        if hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
            raise TypeError("X must hold texts, got columns. Pass one: frame['text'], or X[:, 0].")
        parsed = self._opened_parser().parse_texts(
            self._fill_missing(X), lines=self.lines, on_error=self.on_error, n_jobs=self.n_jobs
        )
        return object_array(parsed)

    def _fill_missing(self, X):
        """Return texts without missing ones, which become empty or are refused."""
        if not is_collection(X):
            return X
        texts = list(X)
        for row, text in enumerate(texts):
            is_missing = not isinstance(text, str) and (  # as data frames have it
                text is None or is_scalar_nan(text) or is_pandas_na(text)
            )
            if is_missing and self.missing == "empty":
                texts[row] = ""
            elif is_missing and self.on_error == "raise":
                raise ValueError(
                    f"Row {row} of X, counted from 0, has no text but {text!r}. Fill such "
                    f'rows with X.fillna(""), or set missing="empty".'
                )
        return texts

    def _opened_parser(self):
        if not isinstance(self.parser, str | os.PathLike):
            return self.parser
        path = find_model(os.fspath(self.parser))
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"There is no model file {printable(path)}, and no parser has this name; the names "
                f"are: {', '.join(PARSERS)}."
            )
        return _open_file(path, os.stat(path).st_mtime_ns)

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Name the column of documents, for the names of pipelines.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (1,)
            The name "documents".
        """
        return np.array(["documents"], dtype=object)

    def __sklearn_clone__(self) -> Self:
        # The parser is fitted, and the usual clone of it would not be.
        return deepcopy(self, {id(self.parser): self.parser})


@lru_cache(maxsize=4)
def _open_file(path, changed):
    return load_model(path)


class DependencyVectorizer(TreeTransformer):
    """Count arcs, relations, paths and words of trees, as CountVectorizer does words of texts.

    The result is a sparse matrix with a row for each tree or document, for classifiers, tests and
    topic models. Features have names that can be read.

    Parameters
    ----------
    kind : str or sequence of str, default="arcs"
        What to count, one or more of these. "arcs" are a head, a relation and a modifier, such as
        ``VERB -obj-> NOUN``; the head of a root is ``ROOT``. "relations", such as ``-obj->``.
        "words", such as ``NOUN``. "paths" are several arcs in a row, see `paths`.
    nodes : str, sequence of str or callable, default="upos"
        What names a word: a column as in :meth:`~sklearn_shag.treebank.DependencyTree.column`;
        several columns, joined by "|"; or a function of a
        :class:`~sklearn_shag.treebank.Token` that returns a str.
    paths : {"root", "content"}, default="content"
        Whether paths lead from the root down to each word, as ``ROOT -root-> VERB -obj-> NOUN``, or
        from each content word to the content words behind it, as
        ``NOUN <-nsubj- VERB -obj-> NOUN``. Content words are nouns, names, verbs, adjectives,
        adverbs and numerals, by their UPOS.
    max_length : int, default=3
        The most arcs of a path.
    min_df, max_df : int or float, default=1 and 1.0
        The least and most documents that have a feature, as a number or a share; others are left
        out.
    max_features : int or None, default=None
        Keep only so many features, the most frequent ones.
    vocabulary : mapping or iterable of str, or None, default=None
        The features; None learns them.
    binary : bool, default=False
        Whether to say only if a document has a feature, by 1.
    dtype : dtype, default=numpy.int64
        Of the matrix.
    sparse_output : bool, default=True
        Whether the matrix is sparse. Data frames, as after ``set_output(transform="pandas")``, need
        False.

    Attributes
    ----------
    vectorizer_ : CountVectorizer
        The vectorizer that counts.
    vocabulary_ : dict of str to int
        The column of each feature.

    See Also
    --------
    TextParser : Makes documents of texts.
    SyntaxStatistics : A few statistics in place of many counts.

    Examples
    --------
    >>> from sklearn_shag import DependencyVectorizer
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data[:2]
    >>> vectorizer = DependencyVectorizer("arcs", nodes="lemma")
    >>> vectorizer.fit_transform(trees).shape
    (2, 15)
    >>> list(vectorizer.get_feature_names_out()[:2])
    ['ROOT -root-> buy', 'ROOT -root-> come']
    """

    _parameter_constraints = {
        "kind": [str, list, tuple],
        "nodes": [str, list, tuple, callable],
        "paths": [StrOptions({"root", "content"})],
        "max_length": COUNT,
        **{name: CountVectorizer._parameter_constraints[name] for name in COUNTING},
        "sparse_output": ["boolean"],
    }

    vectorizer_: CountVectorizer
    vocabulary_: dict[str, int]

    def __init__(
        self,
        kind: Symbols = "arcs",
        *,
        nodes: Symbols | Callable[[Token], str] = "upos",
        paths: Literal["root", "content"] = "content",
        max_length: int = 3,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: DTypeLike = np.int64,
        sparse_output: bool = True,
    ) -> None:
        self.kind = kind
        self.nodes = nodes
        self.paths = paths
        self.max_length = max_length
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.sparse_output = sparse_output

    @fit_context
    def fit(self, X: Documents, y: object = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        X : iterable of DependencyTree, or of lists of DependencyTree
            Trees, or documents, such as those of :class:`TextParser`.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        TypeError
            If X holds anything but trees.
        ValueError
            If a parameter is invalid, a tree lacks heads, relations or a column, or no feature is
            left.
        """
        self._learn(X)
        return self

    @fit_context
    def fit_transform(self, X: Documents, y: object = None) -> Counts:
        """Learn the vocabulary, and count.

        Parameters
        ----------
        X : iterable of DependencyTree, or of lists of DependencyTree
            As for :meth:`fit`.
        y : object, default=None
            Not used.

        Returns
        -------
        counts : sparse matrix or ndarray of shape (n_documents, n_features)
            What :meth:`transform` returns.

        Raises
        ------
        TypeError, ValueError
            As for :meth:`fit`.
        """
        return self._as_matrix(self._learn(X))

    def _learn(self, X):
        """Learn the vocabulary, and return the counts as a sparse matrix."""
        kinds = (self.kind,) if isinstance(self.kind, str) else tuple(self.kind)
        if not kinds or not set(kinds) <= set(FEATURE_KINDS):
            raise ValueError(
                f"kind must be one or more of {', '.join(FEATURE_KINDS)}, got {self.kind!r}."
            )
        names = (self.nodes,) if isinstance(self.nodes, str) else self.nodes
        analyze = partial(_list_of_document, (kinds, names, self.paths, self.max_length))
        options = {name: getattr(self, name) for name in COUNTING}
        vectorizer = CountVectorizer(analyzer=analyze, lowercase=False, **options)
        counts = vectorizer.fit_transform(iter_documents(X))
        vars(self).update(vectorizer_=vectorizer, vocabulary_=vectorizer.vocabulary_)
        return counts

    def transform(self, X: Documents) -> Counts:
        """Count the features of documents.

        Parameters
        ----------
        X : iterable of DependencyTree, or of lists of DependencyTree
            As for :meth:`fit`.

        Returns
        -------
        counts : sparse matrix or ndarray of shape (n_documents, n_features)
            How often each document has each feature. What the vocabulary lacks is not counted. A
            data frame after ``set_output(transform="pandas")``, with the index of X.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError, ValueError
            As for :meth:`fit`.
        """
        check_is_fitted(self)
        return self._as_matrix(self.vectorizer_.transform(iter_documents(X)))

    def _as_matrix(self, counts):
        """Return counts as a sparse matrix, or as an array if that is asked for."""
        return counts if self.sparse_output else counts.toarray()

    def inverse_transform(self, X: Counts) -> list[StrArray]:
        """List the features that documents have, given their counts.

        Parameters
        ----------
        X : sparse matrix, ndarray or data frame of shape (n_documents, n_features)
            Counts, as from :meth:`transform`.

        Returns
        -------
        features : list of ndarrays of str, each of shape (n_found,)
            For each document the names of its features, in any order.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is no table of numbers.

        Examples
        --------
        >>> from sklearn_shag import DependencyVectorizer
        >>> from sklearn_shag.datasets import load_english
        >>> vectorizer = DependencyVectorizer("words")
        >>> counts = vectorizer.fit_transform(load_english().data[:2])
        >>> sorted(vectorizer.inverse_transform(counts)[0].tolist())
        ['ADP', 'ADV', 'DET', 'NOUN', 'PUNCT', 'VERB']
        """
        check_is_fitted(self)
        return self.vectorizer_.inverse_transform(X)

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """List the features.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (n_features,)
            Such as ``VERB -obj-> NOUN``.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self)
        return self.vectorizer_.get_feature_names_out()


def iter_documents(X):
    """Yield each document of X as its number and its trees, after checking that they are trees."""
    X = unpack_column(X)
    if not is_collection(X):  # nor is a tree
        raise TypeError(f"X must be a list of trees or documents, got {shorten(X)}: pass [tree].")
    for number, each in enumerate(X):
        trees = list(each) if is_collection(each) else (each,)
        require_trees(trees, f"X[{number}]", "arcs are")
        yield number, trees


def require_heads(tree, number):
    """Refuse with a ValueError a tree without heads or without relations; return both."""
    if tree.heads is None or tree.deprels is None:
        raise ValueError(f"X[{number}]: {tree!r} has no heads or relations. Parse it first.")
    return tree.heads.tolist(), tree.deprels


def _list_of_document(options, document):
    number, trees = document
    return chain.from_iterable(_list_of_tree(tree, number, *options) for tree in trees)


def _list_of_tree(tree, number, kinds, names, paths, max_length):
    """List the features of a tree."""
    nodes = [*map(names, tree.tokens)] if callable(names) else join_columns(tree, names)
    found = [*nodes] if "words" in kinds else []
    if kinds == ("words",):
        return found
    heads, deprels = require_heads(tree, number)
    if "relations" in kinds:
        found += [f"-{r}->" for h, r in zip(heads, deprels, strict=True) if h != UNKNOWN]
    names = [ROOT_FORM, *nodes]
    if "arcs" in kinds:
        found += [
            f"{names[h]} -{r}-> {m}"
            for h, r, m in zip(heads, deprels, nodes, strict=True)
            if h != UNKNOWN
        ]
    if "paths" in kinds:
        ways = [list_way_up(heads, token, max_length) for token in range(1, len(heads) + 1)]
        if paths == "root":
            found += [_name_way((), way, names, deprels) for way in ways if way[-1] == 0]
        else:
            content = [k for k, tag in enumerate(tree.column("upos")) if tag in CONTENT_TAGS]
            for one, other in combinations(content, 2):
                found += _find_path(ways[one], ways[other], max_length, names, deprels)
    return found


def _find_path(up, down, max_length, names, deprels):
    """List the name of the path between two tokens, given their ways up, if it is short."""
    top = next((token for token in up if token and token in down), None)
    if top is None or up.index(top) + down.index(top) > max_length:
        return []
    return [_name_way(up[: up.index(top)], down[: down.index(top) + 1], names, deprels)]


def _name_way(up, down, names, deprels):
    """Name a path of arcs up, from their modifiers, and then down, from the last token up."""
    *below, top = down
    climb = [f"{names[token]} <-{deprels[token - 1]}- " for token in up]
    descent = [f" -{deprels[token - 1]}-> {names[token]}" for token in reversed(below)]
    return "".join([*climb, names[top], *descent])
