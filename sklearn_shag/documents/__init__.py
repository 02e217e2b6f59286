"""Documents: transformers from texts to trees, and from trees to counts and statistics.

The estimators are public names of the package.
"""

__all__ = []
