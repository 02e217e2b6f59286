"""Rules: arcs between symbols that grammars of most languages have."""

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT, Alphabet
from sklearn_shag.induction._arcs import list_arcs

ROOT = "<root>"
_OF_NOUNS = ("NOUN", "ADJ", "DET", "NUM", "ADP")
# Those of Naseem et al. (2010), in the conventions of Universal Dependencies.
UD_RULES = (
    (ROOT, "VERB"),
    *(("VERB", modifier) for modifier in ("VERB", "NOUN", "PROPN", "PRON", "ADV", "AUX")),
    ("ADJ", "ADV"),
    *((head, modifier) for head in ("NOUN", "PROPN") for modifier in (*_OF_NOUNS, "PROPN")),
)
_SIDES = {"left": LEFT, "right": RIGHT}


def score_rules(rules, strength, symbols):
    """Make a table of what rules add to the scores of arcs.

    Parameters
    ----------
    rules : "ud" or iterable of tuples of str
        Head and modifier, and a direction if it matters: "left" or "right" of the head.
    strength : float
        Added to the score of each arc that follows a rule.
    symbols : sequence of str
        Known ones.

    Returns
    -------
    table : ndarray of shape (n_symbols + 2, 2, n_symbols + 1)
        By head, direction and modifier; 0 where nothing is known.

    Raises
    ------
    ValueError
        If something is no rule, or none is about known symbols.
    """
    rules = UD_RULES if isinstance(rules, str) else [_check_rule(rule) for rule in rules]
    alphabet = Alphabet(len(symbols))
    code_of = {symbol: code for code, symbol in enumerate(symbols)} | {ROOT: alphabet.root}
    table, n_known = np.zeros((alphabet.n_heads, 2, alphabet.n_modifiers)), 0
    for head, modifier, *side in rules:
        if head in code_of and modifier in code_of:
            n_known += 1
            directions = [_SIDES[name] for name in side] or [LEFT, RIGHT]
            table[code_of[head], directions, code_of[modifier]] = strength
    if not n_known:
        raise ValueError(
            f"None of the {len(rules)} rules is about symbols of X, which are "
            f"{', '.join(map(repr, list(symbols)[:10]))}, ... Name these in rules; rules='ud' is "
            f"for the universal tags of Universal Dependencies."
        )
    return table


def _check_rule(rule):
    is_rule = (
        isinstance(rule, tuple | list)
        and len(rule) in (2, 3)
        and all(isinstance(part, str) for part in rule)
        and all(part in _SIDES for part in rule[2:])
        and rule[1] != ROOT
    )
    if not is_rule:
        raise ValueError(
            f"A rule is a pair of symbols, the head ('{ROOT}' for the root) and the modifier, or "
            f"these with 'left' or 'right', the side of the modifier; got {rule!r}."
        )
    return tuple(rule)


def score_by_rules(table, codes, indptr, cells=None):
    """Score all arcs of sentences by the table of rules, in the layout of marginals."""
    cells = cells or list_arcs(codes, indptr, table.shape[0] - 2)
    return table[cells.heads, cells.directions, cells.modifiers]
