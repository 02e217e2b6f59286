"""Integer codes of symbols, of heads, and of pairs of a head and a direction."""

from typing import NamedTuple

LEFT, RIGHT = 0, 1


class Alphabet(NamedTuple):
    """Codes of a number of known symbols, from 0 on, and of the other symbols of a grammar.

    Heads and modifiers have the same codes, so an unknown symbol has one code in both roles.

    Attributes
    ----------
    n_symbols : int
    """

    n_symbols: int

    @property
    def unknown_modifier(self):
        """Code of an unknown modifier."""
        return self.n_symbols

    @property
    def unknown_head(self):
        """Code of an unknown head, for which the pool of all heads is learned."""
        return self.n_symbols

    @property
    def root(self):
        """Code of the root symbol, the last head; it is never a modifier."""
        return self.n_symbols + 1

    @property
    def n_modifiers(self):
        """Number of codes of modifiers."""
        return self.n_symbols + 1

    @property
    def n_heads(self):
        """Number of codes of heads."""
        return self.n_symbols + 2

    @property
    def n_learned(self):
        """Number of heads with learned automata: all but the root symbol."""
        return self.n_symbols + 1

    @property
    def n_pairs(self):
        """Number of pairs of a learned head and a direction."""
        return 2 * (self.n_symbols + 1)

    @property
    def boundary(self):
        """Code of START and of STOP as the neighbour of a modifier in a trigram."""
        return self.n_symbols

    def further(self, symbol):
        """Return the code of a symbol in trigrams of modifiers that are not its neighbours."""
        return self.n_symbols + 1 + symbol

    @property
    def n_contexts(self):
        """Number of codes of symbols beside or further from the modifier in trigrams."""
        return 2 * self.n_symbols + 1


def pair_of(head, direction):
    """Return the number of a pair of head and direction; both may be arrays."""
    return 2 * head + direction


def split_pair(pair):
    """Return the head and direction with this number: the inverse of :func:`pair_of`."""
    return divmod(pair, 2)
