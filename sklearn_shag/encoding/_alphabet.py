"""What the codes of symbols, of heads, and of a head with a direction stand for."""

from typing import NamedTuple

LEFT, RIGHT = 0, 1


class Alphabet(NamedTuple):
    """The codes over so many known symbols, which have those from 0 on.

    Heads and modifiers have the same codes, so an unknown symbol has one code, whichever it is.

    Attributes
    ----------
    n_symbols : int
    """

    n_symbols: int

    @property
    def unknown_modifier(self):
        """The code of a modifier that is not known."""
        return self.n_symbols

    @property
    def unknown_head(self):
        """The code of a head that is not known; what is learned for it is the pool of all heads."""
        return self.n_symbols

    @property
    def root(self):
        """The code of the root symbol, the last head; it is never a modifier."""
        return self.n_symbols + 1

    @property
    def n_modifiers(self):
        """How many codes modifiers have."""
        return self.n_symbols + 1

    @property
    def n_heads(self):
        """How many codes heads have."""
        return self.n_symbols + 2

    @property
    def n_learned(self):
        """How many heads have automata that are learned: all but the root symbol."""
        return self.n_symbols + 1

    @property
    def n_pairs(self):
        """How many pairs of a learned head and a direction there are."""
        return 2 * (self.n_symbols + 1)

    @property
    def boundary(self):
        """The code of START and of STOP, beside a modifier in its trigrams."""
        return self.n_symbols

    def further(self, symbol):
        """The code of a symbol in the trigrams of modifiers that it does not stand beside."""
        return self.n_symbols + 1 + symbol

    @property
    def n_contexts(self):
        """How many codes there are of what trigrams have beside or further from the modifier."""
        return 2 * self.n_symbols + 1


def pair_of(head, direction):
    """Number a pair of head and direction; both may be arrays."""
    return 2 * head + direction


def split_pair(pair):
    """Say which head and direction have this number: the inverse of :func:`pair_of`."""
    return divmod(pair, 2)
