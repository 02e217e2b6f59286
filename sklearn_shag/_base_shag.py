"""Split head-automata grammars: parsers whose chart needs nothing but operators."""

from typing import Any, NamedTuple

from sklearn_shag._base import ChartParser
from sklearn_shag._generative import GenerativeParser
from sklearn_shag._kept import keep
from sklearn_shag.encoding import decode_trees, encode_sentences
from sklearn_shag.operators import Operators, sample_derivations
from sklearn_shag.parsing import Rung, pack_grammar, potentials_of_codes
from sklearn_shag.sequences import LabelCounts
from sklearn_shag.utils._typing import ObjectArray
from sklearn_shag.utils._warnings import warn

__all__ = ["BaseSHAG", "Learned", "OperatorParser"]


class Learned(NamedTuple):
    """What a learner has learned. It is no part of the estimator yet."""

    operators: Operators  # leading axes (n_symbols + 2, 2)
    attributes: dict[str, Any] = {}
    warnings: tuple = ()  # pairs of a message and a category


class OperatorParser(ChartParser):
    """Parser whose chart needs nothing but the operators of a grammar, and of one to fall back to.

    A subclass learns `operators_` and `fallback_operators_`, beside `symbols_` and labels.
    """

    symbols_: ObjectArray
    labels_: ObjectArray
    label_counts_: LabelCounts
    operators_: Operators
    fallback_operators_: Operators

    def _rungs(self):
        # To pack a grammar takes longer than to parse a sentence.
        return keep(self, (self.operators_, self.fallback_operators_), _pack)

    def _encode(self, sentences, symbols):
        return encode_sentences(symbols, self.symbols_)


class BaseSHAG(OperatorParser, GenerativeParser):
    """Split head-automata grammar: parsing, scoring and sampling, however it was learned.

    A subclass learns `symbols_`, `operators_` and `fallback_operators_`, and labels if it has some.

    See Also
    --------
    SpectralSHAG : Learns the operators from moments.
    EMSHAG : Learns them by expectation maximisation.
    DeterministicSHAG : Learns them without hidden states, as relative frequencies.

    Examples
    --------
    A grammar that was not learned but is known, that which the trees were drawn from:

    >>> import numpy as np
    >>> from sklearn_shag import BaseSHAG
    >>> from sklearn_shag.datasets import make_treebank
    >>> class KnownGrammar(BaseSHAG):
    ...     def __init__(self, operators, decoder="mbr", n_jobs=None, verbose=0):
    ...         self.operators, self.decoder = operators, decoder
    ...         self.n_jobs, self.verbose = n_jobs, verbose
    ...
    ...     def fit(self, X, y=None):
    ...         symbols = {symbol for tree in X for symbol in tree.symbols}
    ...         self.symbols_ = np.array(sorted(symbols), dtype=object)
    ...         self.operators_ = self.fallback_operators_ = self.operators
    ...         return self
    >>> trees, operators = make_treebank(100, n_symbols=4, random_state=0, return_operators=True)
    >>> round(KnownGrammar(operators).fit(trees).score(trees), 2)
    0.54
    """

    def _become_fitted(self, statistics, learned, fallback, **others):
        """Take over what was learned.

        Warnings come first, since they may be errors, and all attributes last and at once: an
        estimator that fails, or is interrupted, is left as it was.
        """
        for message, category in learned.warnings:
            warn(message, category)
        vars(self).update(
            symbols_=statistics.symbols,
            labels_=statistics.labels,
            label_counts_=statistics.label_counts,
            operators_=learned.operators,
            fallback_operators_=fallback,
            **learned.attributes,
            **others,
        )

    def _draw(self, n_samples, max_length, rng):
        drawn = sample_derivations(self.operators_, n_samples, max_length, rng)
        return decode_trees(self.symbols_, *drawn)


def _pack(*grammars):
    return [Rung(pack_grammar(operators), potentials_of_codes) for operators in grammars]
