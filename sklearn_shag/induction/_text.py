"""Text to learn grammars from: sentences, known heads, and rules for arcs."""

from itertools import product
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from sklearn_shag.conditional import KnownTrees, count_known_labels, prepare_trees
from sklearn_shag.encoding import LEFT, RIGHT, Alphabet, all_arcs, encode_sentences, observed_arcs
from sklearn_shag.induction._valence import EncodedText
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import COUNT, LARGEST_NUMBER, Interval, StrOptions

ROOT_WORD = "<root>"
_OF_NOUNS = ("NOUN", "ADJ", "DET", "NUM", "ADP")
# The rules of Naseem et al. (2010), in the conventions of Universal Dependencies.
UD_RULES = (
    (ROOT_WORD, "VERB"),
    *(("VERB", modifier) for modifier in ("VERB", "NOUN", "PROPN", "PRON", "ADV", "AUX")),
    ("ADJ", "ADV"),
    *product(("NOUN", "PROPN"), (*_OF_NOUNS, "PROPN")),
)
_SIDES = {"left": LEFT, "right": RIGHT}


def score_rules(rules, strength, symbols):
    """Tabulate the scores that rules add to arcs.

    Parameters
    ----------
    rules : "ud" or iterable of tuples of str
        Head and modifier, and a direction if it matters: "left" or "right" of the head.
    strength : float
        Added to the score of each arc that follows a rule.
    symbols : sequence of str
        Known symbols, in the order of their codes.

    Returns
    -------
    table : ndarray of shape (n_symbols + 2, 2, n_symbols + 1)
        Scores by head, direction and modifier; 0 where no rule applies.

    Raises
    ------
    ValueError
        If a rule has another form, or none of them is about known symbols.
    """
    rules = UD_RULES if isinstance(rules, str) else [_check_rule(rule) for rule in rules]
    alphabet = Alphabet(len(symbols))
    code_of = {symbol: code for code, symbol in enumerate(symbols)} | {ROOT_WORD: alphabet.root}
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
        and rule[1] != ROOT_WORD
    )
    if not is_rule:
        raise ValueError(
            f"A rule is a pair of symbols, the head ('{ROOT_WORD}' for the root) and the modifier, "
            f"or these with 'left' or 'right', the side of the modifier; got {rule!r}."
        )
    return tuple(rule)


def score_by_rules(table, arcs, codes, indptr):
    """Score all arcs of sentences by the table of rules, in the layout of marginals."""
    return table[arcs.symbols(codes, indptr, Alphabet(table.shape[0] - 2).root)]


class PreparedText(NamedTuple):
    """Checked and encoded sentences to learn from."""

    symbols: np.ndarray  # (n_symbols,), dtype object: known ones, sorted
    text: EncodedText  # equal sentences are merged
    merged: KnownTrees  # the merged sentences
    separate: KnownTrees  # all sentences


class RawTextMixin:
    """Base class of learners from raw text: their parameters, text and learned attributes."""

    _parameter_constraints = {
        "max_length": [None, *COUNT],
        "tol": [Interval(Real, 0, LARGEST_NUMBER, closed="both")],
        "nonprojective": [StrOptions({"lift", "drop"})],
    }

    _needs_whole_trees = None  # unknown heads are summed over
    _takes_heads_of_trees = False

    loss_curve_: list[float]
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        max_length: int | None,
        max_iter: int,
        tol: float,
        nonprojective: Literal["lift", "drop"],
        **parser: Any,
    ) -> None:
        super().__init__(**parser)
        self.max_length = max_length
        self.max_iter = max_iter
        self.tol = tol
        self.nonprojective = nonprojective

    def _prepare_text(self, X, y, sample_weight, rules=None, rule_strength=0.0, symbols=None):
        """Check sentences and known heads as users give them, and encode them.

        Parameters
        ----------
        X : sequence of length n_sentences
            Sentences or trees, whose heads are ignored.
        y : None or sequence of length n_sentences
            The known heads, -1 for others; None if none are known.
        sample_weight : None or array-like of shape (n_sentences,)
        rules, rule_strength
            As for :func:`score_rules`; no rules by default.
        symbols : None or list of str, default=None
            Known symbols, sorted; None takes all that occur.

        Returns
        -------
        raw : PreparedText

        Raises
        ------
        ValueError, TypeError
            As :func:`prepare_trees` and :func:`score_rules`; or if all sentences are too long.

        Warns
        -----
        UserWarning
            If sentences are left out since no projective tree with one root has their known heads.
        """
        separate = prepare_trees(
            X, y, sample_weight, self.nonprojective, raw=True, max_length=self.max_length
        )
        known = sorted(set().union(*separate.symbols)) if symbols is None else symbols
        encode_sentences(separate.symbols, known)  # warns of unknown ones, once
        merged = separate.merge()
        codes, indptr = encode_sentences(merged.symbols, known, check=False)
        arcs = None
        if rules is not None or np.any(merged.heads != UNKNOWN):
            every = all_arcs(indptr)
            arcs = np.where(observed_arcs(merged.heads, every, indptr), 0.0, -np.inf)
            if rules is not None:
                table = score_rules(rules, rule_strength, known)
                arcs += score_by_rules(table, every, codes, indptr)
        text = EncodedText(codes, merged.heads, indptr, merged.weights, arcs)
        return PreparedText(np.array(known, dtype=object), text, merged, separate)

    def _take_over(self, raw, grammars, found, labels=None, **learned):
        """Set the learned attributes: the grammar, its fallback, labels, and others by name."""
        vars(self).update(
            symbols_=raw.symbols,
            **labels or count_known_labels(raw.separate, raw.symbols),
            operators_=grammars[0],
            fallback_operators_=grammars[1],
            **learned,
            loss_curve_=np.negative(found.objectives).tolist(),
            n_iter_=len(found.objectives) - 1,
            converged_=found.converged,
        )
        return self


def check_root_symbols(root_symbols, symbols):
    """Check that one of `root_symbols` at least is known; None allows any symbol."""
    if root_symbols is not None and not set(root_symbols) & set(symbols):
        raise ValueError(
            f"None of root_symbols={root_symbols!r} is a symbol of X, which are "
            f"{', '.join(map(repr, list(symbols)[:10]))}, ... Name some of these."
        )
    return root_symbols
