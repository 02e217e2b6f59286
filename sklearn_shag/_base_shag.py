"""Split head-automata grammars: parsers whose chart needs nothing but operators."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sklearn_shag._base import GenerativeParser
from sklearn_shag.encoding import decode_trees, encode_sentences
from sklearn_shag.operators import Operators, sample_derivations
from sklearn_shag.parsing import Rung, pack_grammar, potentials_of_codes
from sklearn_shag.utils._typing import ObjectArray
from sklearn_shag.utils._warnings import warn

__all__ = ["BaseSHAG", "Learned"]


class Learned(NamedTuple):
    """What a learner has learned. It is no part of the estimator yet."""

    operators: Operators  # leading axes (n_symbols + 2, 2)
    attributes: dict[str, Any] = {}
    warnings: tuple = ()  # pairs of a message and a category


# Grammars as the charts need them, while their estimators live: to pack them takes longer than to
# parse a sentence. No attributes, since prediction must not change what is copied and pickled.
_PACKED = WeakKeyDictionary()


class BaseSHAG(GenerativeParser):
    """Split head-automata grammar: parsing, scoring and sampling, however it was learned.

    A subclass learns `symbols_`, `operators_` and `fallback_operators_`.
    """

    symbols_: ObjectArray
    operators_: Operators
    fallback_operators_: Operators

    def _become_fitted(self, statistics, learned, fallback, **others):
        """Take over what was learned.

        Warnings come first, since they may be errors, and all attributes last and at once: an
        estimator that fails, or is interrupted, is left as it was.
        """
        for message, category in learned.warnings:
            warn(message, category)
        vars(self).update(
            symbols_=statistics.symbols,
            operators_=learned.operators,
            fallback_operators_=fallback,
            **learned.attributes,
            **others,
        )

    def _rungs(self):
        operators, fallback = self.operators_, self.fallback_operators_
        kept = _PACKED.get(self)
        if kept is None or kept[0] is not operators or kept[1] is not fallback:
            packed = [
                Rung(pack_grammar(part), potentials_of_codes) for part in (operators, fallback)
            ]
            kept = _PACKED[self] = operators, fallback, packed
        return kept[2]

    def _encode(self, sentences, symbols):
        return encode_sentences(symbols, self.symbols_)

    def _draw(self, n_samples, max_length, rng):
        drawn = sample_derivations(self.operators_, n_samples, max_length, rng)
        return decode_trees(self.symbols_, *drawn)
