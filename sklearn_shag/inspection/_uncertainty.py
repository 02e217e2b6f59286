"""What a parser is least sure of: arcs and sentences to annotate next."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.special import entr
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import check_sentences, describe_sentence
from sklearn_shag.inspection._grammars import largest_first, open_parser, table_text
from sklearn_shag.parsing import find_impossible, head_probabilities
from sklearn_shag.treebank import DependencyTree, Sentences, allowed_arcs, list_known_heads
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import Interval, validate_params
from sklearn_shag.utils._typing import FloatArray, IntArray

_N_ROWS = {"n": [None, Interval(Integral, 1, None, closed="left")]}


class UncertainArcs(NamedTuple):
    """Predicted arcs, the least certain first, in columns.

    Printed, it is a table.

    Attributes
    ----------
    sentences : int ndarray of shape (n_arcs,)
        The sentence of each, its place in X, from 0.
    tokens : int ndarray of shape (n_arcs,)
        The token whose head is in question, from 1.
    heads : int ndarray of shape (n_arcs,)
        The predicted head, from 1, 0 for the root.
    probabilities : ndarray of shape (n_arcs,)
        How probable it is, given the known heads of the sentence.
    margins : ndarray of shape (n_arcs,)
        How much more probable than any other head of the token. It may be negative, since the heads
        have to be those of one tree.
    entropies : ndarray of shape (n_arcs,)
        Of the probabilities of all heads of the token, in nats.

    See Also
    --------
    least_certain_arcs : Makes it.

    Examples
    --------
    By the probability of the predicted head, in place of its margin:

    >>> import numpy as np
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import UncertainArcs, least_certain_arcs
    >>> trees = load_english().data
    >>> model = DeterministicSHAG(smoothing=1).fit(trees[:300])
    >>> arcs = least_certain_arcs(model, [tree.with_heads(None) for tree in trees[300:]])
    >>> order = np.argsort(arcs.probabilities)[:2]
    >>> print(UncertainArcs(*(column[order] for column in arcs)))
    sentences  tokens  heads  probabilities  margins  entropies
           70      30     22          0.225    0.001      1.966
           70      13     12          0.240    0.013      1.809
    """

    sentences: IntArray
    tokens: IntArray
    heads: IntArray
    probabilities: FloatArray
    margins: FloatArray
    entropies: FloatArray

    __str__ = table_text


class UncertainSentences(NamedTuple):
    """Sentences, those with the largest share of expected errors first, in columns.

    Printed, it is a table.

    Attributes
    ----------
    sentences : int ndarray of shape (n_listed,)
        Places in X, from 0.
    n_unknown : int ndarray of shape (n_listed,)
        How many heads are not known.
    expected_errors : ndarray of shape (n_listed,)
        How many of these the parser expects to predict wrong: the sum of what the probabilities of
        the predicted heads lack to 1.
    error_rates : ndarray of shape (n_listed,)
        The same by unknown head.

    See Also
    --------
    least_certain_sentences : Makes it.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import least_certain_sentences
    >>> model = DeterministicSHAG(smoothing=1).fit(load_english().data)
    >>> found = least_certain_sentences(model, [["DET", "NOUN"], ["NOUN", "VERB", "ADP", "NOUN"]])
    >>> found.sentences
    array([1, 0])
    """

    sentences: IntArray
    n_unknown: IntArray
    expected_errors: FloatArray
    error_rates: FloatArray

    __str__ = table_text


@validate_params(_N_ROWS)
def least_certain_arcs(
    estimator: BaseEstimator, X: Sentences, n: int | None = None
) -> UncertainArcs:
    """List the predicted arcs that a parser is least sure of: the heads to annotate next.

    Parameters
    ----------
    estimator : estimator
        A fitted parser of this package, a pipeline that ends in one, or a search of either.
    X : sequence of length n_sentences
        As for :meth:`~sklearn_shag.BaseSHAG.predict`. Heads that trees of X have are taken for
        true: they are not listed, and the others are predicted given them.
    n : None or int, default=None
        How many to list, at most. None lists all.

    Returns
    -------
    arcs : UncertainArcs
        Sorted by the margin between the predicted head and the most probable other one, the
        smallest first; of equal ones the first in X is the first.

    Raises
    ------
    TypeError
        If the estimator is no parser.
    ValueError
        If X is not valid, all heads in it are known, or no projective tree with one root has the
        known heads of a sentence and the decoder is not "mst". The message names it.

    See Also
    --------
    least_certain_sentences : The sentences to annotate next, as a whole.
    sklearn_shag.treebank.DependencyTree.with_heads : Puts in what was annotated.

    Notes
    -----
    This is margin sampling (Scheffer et al., 2001). On treebanks of English, French, Tamil and
    Afrikaans :class:`~sklearn_shag.CRFParser` learned from heads with small margins as fast as from
    those with small probabilities, or faster.

    References
    ----------
    Scheffer, Decomain and Wrobel (2001), Active hidden Markov models for information extraction.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import least_certain_arcs
    >>> trees = load_english().data
    >>> model = DeterministicSHAG(smoothing=1).fit(trees[:300])
    >>> raw = [tree.with_heads(None) for tree in trees[300:]]
    >>> arcs = least_certain_arcs(model, raw, n=3)
    >>> print(arcs)
    sentences  tokens  heads  probabilities  margins  entropies
           85      12      2          0.252   -0.161      1.296
           70       2     14          0.279   -0.120      1.491
           14      13      9          0.352   -0.040      1.199
    """
    rest = _predict_rest(estimator, X)
    probabilities = np.concatenate(rest.probabilities)
    lengths = [of_sentence.size for of_sentence in rest.probabilities]
    doubts = [_doubts(*each) for each in zip(rest.marginals, rest.heads, strict=True)]
    margins, entropies = np.concatenate(doubts, axis=1)
    columns = (
        np.repeat(rest.sentences, lengths),
        np.concatenate([np.arange(length) + 1 for length in lengths]),
        np.concatenate(rest.heads),
        probabilities,
        margins,
        entropies,
    )
    unknown = np.concatenate(rest.unknown)
    arcs = UncertainArcs(*(column[unknown] for column in columns))
    return largest_first(arcs, -arcs.margins, n)


@validate_params(_N_ROWS)
def least_certain_sentences(
    estimator: BaseEstimator, X: Sentences, n: int | None = None
) -> UncertainSentences:
    """List the sentences that a parser is least sure of: those to annotate next.

    Parameters
    ----------
    estimator : estimator
        A fitted parser of this package, a pipeline that ends in one, or a search of either.
    X : sequence of length n_sentences
        As for :func:`least_certain_arcs`. Sentences whose heads are all known are not listed.
    n : None or int, default=None
        How many to list, at most. None lists all.

    Returns
    -------
    sentences : UncertainSentences
        Sorted by the expected share of wrong heads, the largest first; of equal ones the first in
        X is the first.

    Raises
    ------
    TypeError, ValueError
        As :func:`least_certain_arcs`.

    See Also
    --------
    least_certain_arcs : Single heads to annotate next.

    Notes
    -----
    An annotator's work grows with the number of heads, so what counts is what is gained by head.
    The number of expected errors favours long sentences, and the probability of the whole tree
    does so even more: it falls by a factor with every token, whatever the parser is sure of.

    Examples
    --------
    >>> from sklearn_shag import DeterministicSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import least_certain_sentences
    >>> trees = load_english().data
    >>> model = DeterministicSHAG(smoothing=1).fit(trees[:300])
    >>> raw = [tree.with_heads(None) for tree in trees[300:]]
    >>> print(least_certain_sentences(model, raw, n=3))
    sentences  n_unknown  expected_errors  error_rates
           44         15            5.137        0.342
           47         17            5.772        0.340
            1          7            2.368        0.338
    """
    rest = _predict_rest(estimator, X)
    n_unknown = np.array([np.count_nonzero(unknown) for unknown in rest.unknown])
    # Heads that are known have the probability 1.
    lacking = np.array([np.sum(1.0 - probabilities) for probabilities in rest.probabilities])
    rates = lacking / n_unknown
    return largest_first(UncertainSentences(rest.sentences, n_unknown, lacking, rates), rates, n)


class _Rest(NamedTuple):
    """The sentences that have unknown heads, and lists of what is predicted of each."""

    sentences: np.ndarray
    unknown: list
    heads: list
    marginals: list
    probabilities: list


def _predict_rest(estimator, X):
    transform, parser = open_parser(estimator)
    sentences, _ = check_sentences(X)
    known = list_known_heads(
        [
            sentence if isinstance(sentence, DependencyTree) else np.full(len(sentence), UNKNOWN)
            for sentence in sentences
        ]
    )
    chosen = np.array([s for s, heads in enumerate(known) if UNKNOWN in heads], dtype=np.int64)
    if not chosen.size:
        raise ValueError(
            f"All heads of the {len(sentences)} sentences in X are known, so there is nothing to "
            f"annotate. Give -1 (in a file _) for those that are in question; "
            f"tree.with_heads(None) takes all away."
        )
    known = [known[s] for s in chosen]
    part, allowed = transform([sentences[s] for s in chosen]), allowed_arcs(known)
    impossible = find_impossible(allowed, parser.decoder != "mst")
    if impossible is not None:
        raise ValueError(
            f"{describe_sentence(sentences, chosen[impossible])} has heads that no projective tree "
            f"with one root has, so the parser cannot predict the others. Leave the sentence out, "
            f"or give -1 (in a file _) for some, or take decoder='mst', which lets arcs cross."
        )
    heads = list(parser.predict(part, allowed=allowed))
    marginals = list(parser.predict_marginals(part, allowed=allowed))
    unknown = [of_sentence == UNKNOWN for of_sentence in known]
    return _Rest(chosen, unknown, heads, marginals, head_probabilities(marginals, heads))


def _doubts(marginals, heads):
    """The margins and the entropies of the tokens of a sentence."""
    tokens = np.arange(heads.size)
    others = marginals.copy()
    others[tokens, heads] = 0.0
    return marginals[tokens, heads] - others.max(axis=1), entr(marginals).sum(axis=1)
