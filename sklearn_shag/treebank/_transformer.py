"""What transformers of trees have in common."""

from typing import Literal, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags


class TreeTransformer(TransformerMixin, BaseEstimator):
    """Transformer from trees to trees."""

    def set_output(self, *, transform: Literal["default"] | None = None) -> Self:
        """Accept the default output; trees are no table.

        Parameters
        ----------
        transform : {"default", None}, default=None
            What scikit-learn's other transformers would put into a data frame.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        ValueError
            If a data frame is asked for.
        """
        if transform not in (None, "default"):
            raise ValueError(
                f"set_output(transform={transform!r}): a {type(self).__name__} returns a list of "
                f"trees, which has no place in a data frame. Use transform='default'."
            )
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
