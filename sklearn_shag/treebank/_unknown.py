"""Symbols that say nothing to a grammar: the one place that warns of them."""

from collections import Counter
from itertools import chain

from sklearn_shag.utils._messages import shorten
from sklearn_shag.utils._warnings import warn

MISSING = "_"  # CoNLL-U's sign for a column without a value
# A smaller share of the tokens is what every text has: rare tags, and errors.
LARGEST_SHARE = 0.05
N_EXAMPLES = 3


class UnknownSymbolWarning(UserWarning):
    """Many tokens have symbols that say nothing to a grammar.

    Either the trees that it was learned from do not have them, or they are ``_``, as CoNLL-U
    writes a tag that is missing. It is issued once a call where these are more than 5 % of
    the tokens; what is predicted is then hardly better than a guess. As a rule the text has tags of
    another kind than the training trees, or none. :class:`TokenFeature` issues it for
    each of several columns that is ``_`` throughout.

    See Also
    --------
    sklearn_shag.treebank.TokenFeature : Choose the columns that make up the symbols.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.treebank import UnknownSymbolWarning
    >>> model = DeterministicSHAG().fit([["DET", "NOUN", "VERB"]], [[2, 3, 0]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     heads = model.predict([["DT", "NN", "VERB"]])
    >>> caught[0].category.__name__
    'UnknownSymbolWarning'
    >>> print(caught[0].message)
    67 % of the tokens (2 of 3) have symbols that say nothing to the grammar: 'DT' (1), 'NN' (1).
    It knows 'DET', 'NOUN', 'VERB'. Tag the text as the training trees were, or choose the same
    columns.
    """


def check_share(n_meaningless, n_tokens, symbols, known):
    """Warn of symbols that say nothing to a grammar, and refuse sentences without any others.

    Parameters
    ----------
    n_meaningless : int
        How many of the symbols are ``_`` or not known.
    n_tokens : int
        How many there are.
    symbols : list of sequences of str
        The symbols of each sentence.
    known : sequence of str
        What the grammar knows.

    Raises
    ------
    ValueError
        If all symbols are ``_``.
    """
    if n_meaningless <= LARGEST_SHARE * n_tokens:
        return
    counts = Counter(chain.from_iterable(symbols))
    if counts[MISSING] == n_tokens:
        raise ValueError(
            f"All symbols of X ({n_tokens} tokens) are {MISSING!r}: the column that they come from "
            f"has no values. Tag the text first, or choose a column that has values."
        )
    known = [symbol for symbol in known if symbol != MISSING]
    for symbol in known:
        del counts[symbol]
    if set(counts) == {MISSING}:
        problem = (
            f"have the symbol {MISSING!r}, which stands for a missing value and says nothing to "
            f"the grammar. Tag the text first, or choose a column that has values."
        )
    else:
        examples = [f"{shorten(symbol)} ({count})" for symbol, count in counts.most_common()]
        problem = (
            f"have symbols that say nothing to the grammar: {_join(examples)}. It knows "
            f"{_join(list(map(shorten, known)))}. Tag the text as the training trees were, or "
            f"choose the same columns."
        )
    warn_of_tokens(n_meaningless, n_tokens, problem)


def warn_of_tokens(n_concerned, n_tokens, problem):
    """Warn that so many of the tokens have a problem."""
    share = f"{100 * n_concerned / n_tokens:.0f} % of the tokens ({n_concerned} of {n_tokens})"
    warn(f"{share} {problem}", UnknownSymbolWarning)


def _join(names):
    return ", ".join(names[:N_EXAMPLES] + ["..."] * (len(names) > N_EXAMPLES))
