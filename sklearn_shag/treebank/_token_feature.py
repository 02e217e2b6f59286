"""TokenFeature, the step of a pipeline that makes symbols from columns of trees."""

from collections import Counter
from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.utils import InputTags, Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_shag.treebank._columns import (
    LARGEST_MEANINGLESS_SHARE,
    MISSING,
    UnknownSymbolWarning,
    check_column_name,
    join_columns,
    warn_of_tokens,
)
from sklearn_shag.treebank._tree import DependencyTree, Trees, require_tree
from sklearn_shag.utils._arrays import object_array, unpack_column
from sklearn_shag.utils._estimators import BaseEstimator, TransformerMixin, linked
from sklearn_shag.utils._messages import shorten, warn
from sklearn_shag.utils._param_validation import COUNT, _get_output_config, fit_context
from sklearn_shag.utils._typing import ObjectArray, StrArray


@linked
class TreeTransformer(TransformerMixin, BaseEstimator):
    """Base class of transformers of trees."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars", None}, default=None
            With "pandas" or "polars" a data frame, with the index of X, or its order of rows.
            Trees are a column of it. None changes nothing.

        Returns
        -------
        self : object
            The estimator itself.
        """
        return super().set_output(transform=transform)

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """Name the column of trees, for data frames.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (1,)
            The name "trees".
        """
        return np.array(["trees"], dtype=object)

    def _as_output(self, trees):
        """Return a list of trees as it is, or as the column that scikit-learn puts into a frame."""
        is_list = _get_output_config("transform", self)["dense"] == "default"
        return trees if is_list else object_array(trees)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(two_d_array=False, string=True)
        return tags


class TokenFeature(TreeTransformer):
    """Make the symbols of trees from one or more columns.

    Use it before the parser in a pipeline: symbols are all that a grammar sees of the tokens.

    Parameters
    ----------
    feature : str, default="upos"
        A column as in :meth:`DependencyTree.column`: "form", "lemma", "upos", "xpos", "feats",
        "deprel", "symbol", or one morphological feature such as "feats.Case".

    joined_with : str or sequence of str, default=None
        Further columns, joined to the first: ``TokenFeature("upos", "xpos")`` gives symbols like
        ``VERB|VBD``.

    separator : str, default="|"
        What stands between joined columns.

    min_count : int, default=1
        Symbols that are less frequent in `fit`, or never seen, are replaced by `rare_symbol`. With
        1 nothing is replaced.

    rare_symbol : str or None, default="<rare>"
        What replaces a rare symbol; with None, the token's value of `feature` alone replaces it.

    Attributes
    ----------
    symbols_ : ndarray of str, shape (n_symbols,)
        The symbols seen at least `min_count` times, sorted.

    rare_share_ : float
        The share of tokens in `fit` with rarer symbols. If `transform` replaces more than twice
        that share plus 5 % of the tokens, it issues an :class:`UnknownSymbolWarning`.

    See Also
    --------
    DependencyTree.with_symbols : Set any symbols.
    sklearn_shag.Tagger : Learns to tag, and uses the tags as symbols.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, TokenFeature
    >>> trees = [
    ...     DependencyTree(["dogs", "bark"], upos=["NOUN", "VERB"], xpos=["NNS", "VBP"]),
    ...     DependencyTree(["dogs", "barked"], upos=["NOUN", "VERB"], xpos=["NNS", "VBD"]),
    ... ]
    >>> feature = TokenFeature("upos", "xpos", min_count=2, rare_symbol=None).fit(trees)
    >>> feature.symbols_
    array(['NOUN|NNS'], dtype='<U8')
    >>> feature.transform(trees)[0].symbols
    ('NOUN|NNS', 'VERB')
    """

    _parameter_constraints = {
        "feature": [str],
        "joined_with": [None, str, list, tuple],
        "separator": [str],
        "min_count": COUNT,
        "rare_symbol": [None, str],
    }

    symbols_: StrArray
    rare_share_: float

    def __init__(
        self,
        feature: str = "upos",
        joined_with: str | Sequence[str] | None = None,
        *,
        separator: str = "|",
        min_count: int = 1,
        rare_symbol: str | None = "<rare>",
    ) -> None:
        self.feature = feature
        self.joined_with = joined_with
        self.separator = separator
        self.min_count = min_count
        self.rare_symbol = rare_symbol

    @fit_context
    def fit(self, X: Trees, y: object = None) -> Self:
        """Count the symbols.

        Parameters
        ----------
        X : iterable of DependencyTree, length n_sentences
            Trees that have all the columns. They are read only once, so X can be an iterator, such
            as :func:`~sklearn_shag.treebank.iter_conllu` returns.

        y : object, default=None
            Ignored.

        Returns
        -------
        self : TokenFeature
            The fitted transformer.

        Raises
        ------
        TypeError
            If X holds anything but :class:`DependencyTree`.
        ValueError
            If X is empty, a tree lacks one of the columns, or all symbols are rarer than
            `min_count`, so that `rare_symbol` would replace all of them.

        Warns
        -----
        UnknownSymbolWarning
            If one of several columns is "_" throughout.
        """
        if self.rare_symbol == "":
            raise ValueError("The 'rare_symbol' parameter of TokenFeature must not be empty.")
        X = _check_collection(X, "__iter__")
        counts = Counter()
        silent = dict.fromkeys(self._names())  # columns without values
        for tree, symbols in self._join(X):
            counts.update(symbols)
            silent = [name for name in silent if {*tree.column(name)} == {MISSING}]
        if not counts:
            raise ValueError("X is empty: at least one DependencyTree is needed")
        if len(self._names()) > 1:  # a single one is refused later, by the encoding
            for name in silent:
                warn(
                    f"The column {name!r} is {MISSING!r} throughout and says nothing. Tag the text "
                    f"first, or leave the column out.",
                    UnknownSymbolWarning,
                )
        kept = sorted(symbol for symbol, count in counts.items() if count >= self.min_count)
        if not kept and self.rare_symbol is not None:
            raise ValueError(
                f"No symbol occurs min_count={self.min_count} times in X, so that "
                f"{self.rare_symbol!r} would be the only symbol; the most frequent one occurs "
                f"{max(counts.values())} times. Lower min_count."
            )
        n_rare = sum(count for count in counts.values() if count < self.min_count)
        # At once: a fit that is interrupted leaves the estimator as it was.
        vars(self).update(
            symbols_=np.array(kept, dtype=np.str_), rare_share_=n_rare / counts.total()
        )
        return self

    def transform(self, X: Trees) -> list[DependencyTree]:
        """Replace the symbols.

        Parameters
        ----------
        X : sequence of DependencyTree, length n_sentences
            The trees, which are not changed.

        Returns
        -------
        trees : list of DependencyTree, length n_sentences
            The same sentences with new symbols.

        Raises
        ------
        NotFittedError
            Before `fit`.
        TypeError, ValueError
            As in `fit`.
        """
        check_is_fitted(self)
        X = _check_collection(X, "__len__")  # `fit` would have used up an iterator
        joined = list(self._join(X))
        if self.min_count > 1:
            kept = frozenset(self.symbols_.tolist())
            self._check_rare([symbols for _, symbols in joined], kept)
            joined = [(tree, self._replace_rare(tree, symbols, kept)) for tree, symbols in joined]
        return self._as_output([tree.with_symbols(symbols) for tree, symbols in joined])

    def _names(self):
        others = self.joined_with or ()
        return (self.feature, *([others] if isinstance(others, str) else others))

    def _join(self, X):
        """Yield each tree with its joined columns."""
        names = self._names()
        for name in names:
            check_column_name(name)
        for index, tree in enumerate(X):
            require_tree(tree, f"X[{index}]", "columns of tokens, which TokenFeature joins, are")
            try:
                yield tree, join_columns(tree, names, self.separator)
            except ValueError as error:
                raise ValueError(f"X[{index}]: {error}") from None

    def _check_rare(self, all_symbols, kept):
        rare = [symbol for symbols in all_symbols for symbol in symbols if symbol not in kept]
        n_tokens = sum(map(len, all_symbols))
        if len(rare) > (2 * self.rare_share_ + LARGEST_MEANINGLESS_SHARE) * n_tokens:
            most_frequent = Counter(rare).most_common(1)[0][0]
            warn_of_tokens(
                len(rare),
                n_tokens,
                f"have symbols that are rare or absent in the training trees, where they make up "
                f"{100 * self.rare_share_:.0f} %, such as {shorten(most_frequent)}. "
                f"Tag the text as the training trees were.",
            )

    def _replace_rare(self, tree, symbols, kept):
        alone = tree.column(self.feature)
        replacements = alone if self.rare_symbol is None else [self.rare_symbol] * len(tree)
        return [
            symbol if symbol in kept else replacement
            for symbol, replacement in zip(symbols, replacements, strict=True)
        ]


def _check_collection(X, method):
    """Check that X has the given method, `__iter__` or `__len__`, and return its trees."""
    X = unpack_column(X)
    if isinstance(X, str | DependencyTree) or hasattr(X, "columns") or not hasattr(X, method):
        raise TypeError(
            f"X must be a sequence of DependencyTree, got {type(X).__name__}. Pass a list of "
            f"trees, such as the result of sklearn_shag.treebank.read_conllu(path)."
        )
    return X
