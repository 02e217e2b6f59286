"""Altered copies of sentences for splitters, which read texts: tokens change with their ends."""

from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.network._augmentation import SHARES, UNFINISHED, respell
from sklearn_shag.treebank import SENTENCE, TOKEN, marks_punctuation

RUN_ON, SIGNED = "run on", "signed"
# Shares of sentences of which a copy is made, beside those for networks over words.
SHARES_OF_TEXT = {RUN_ON: 0.01, SIGNED: 0.03}
# Signs that stand before and behind a few tokens, often without a space; those that surround
# something, and such as only stand between.
SIGNS = ["''", "\u2018\u2019", "\u201c\u201d", '""', "()", "[]", "<>", "**", "__", "\u00ab\u00bb"]
SIGNS += [("", sign) for sign in ("\u2026", "...", "\u2014", "\u2013", "--", ">", "/", "|", "=")]


class TextToken(NamedTuple):
    """A token of a text, with the white space before it, and the kinds of ends at both."""

    space: str
    form: str
    ends: tuple  # for each character of the form

    def close(self, kind):
        """Return the token with another kind of end at its last character."""
        return self._replace(ends=(*self.ends[:-1], kind))


def add_altered(text, ends, rng):
    """Add altered copies of some sentences to a text, drawn at random, each as a paragraph.

    They are altered as copies for networks over words are. Some more have the next sentence right
    behind them, without a space, or have signs around a few tokens.

    Parameters
    ----------
    text : str
    ends : int8 ndarray of shape (n_characters,)
        The kind of end at each character.
    rng : RandomState

    Returns
    -------
    text : str
    ends : int8 ndarray of shape (n_characters,)
    """
    cuts = pairwise([0, *(np.flatnonzero(ends == SENTENCE) + 1).tolist()])
    sentences = [_list_text_tokens(text[begin:end], ends[begin:end]) for begin, end in cuts]
    added = []
    for kind, share in (SHARES | SHARES_OF_TEXT).items():
        for s in np.flatnonzero(rng.uniform(size=len(sentences)) < share).tolist():
            altered = _alter_tokens(sentences[s], sentences[s + 1 : s + 2], kind, rng)
            if altered != sentences[s]:
                added += [altered[0]._replace(space="\n\n"), *altered[1:]]
    text += "".join(token.space + token.form for token in added)
    kinds = [kind for token in added for kind in (*[0] * len(token.space), *token.ends)]
    return text, np.append(ends, np.array(kinds, dtype=np.int8))


def _list_text_tokens(text, ends):
    """List the TextTokens of a sentence."""
    tokens = []
    for begin, end in pairwise([0, *(np.flatnonzero(ends >= TOKEN) + 1).tolist()]):
        form = text[begin:end].lstrip()
        first = end - len(form)
        tokens.append(TextToken(text[begin:first], form, tuple(ends[first:end].tolist())))
    return tokens


def _alter_tokens(tokens, following, kind, rng):
    """Alter the TextTokens of a sentence; `following` holds those of the next one, if any."""
    if kind == RUN_ON:
        first, *others = following[0] if following else [None]
        is_closed = first and marks_punctuation(tokens[-1].form)
        return [*tokens, first._replace(space=""), *others] if is_closed else tokens
    if kind == SIGNED:
        return _put_signs(tokens, rng)
    if kind == UNFINISHED:
        n = len(tokens)
        while n > 1 and marks_punctuation(tokens[n - 1].form):
            n -= 1
        return [*tokens[: n - 1], tokens[n - 1].close(SENTENCE)]
    signs = iter(respell("".join(token.space + token.form for token in tokens), kind, rng))
    lengths = [(len(token.space), len(token.form)) for token in tokens]
    parts = [["".join(islice(signs, n)) for n in both] for both in lengths]
    return [TextToken(*part, token.ends) for part, token in zip(parts, tokens, strict=True)]


def _put_signs(tokens, rng):
    """Put signs before one to three TextTokens of a sentence, not the last, and behind them."""
    if len(tokens) == 1:
        return tokens
    first, n = rng.randint(len(tokens) - 1), rng.randint(1, 4)
    last = min(first + n, len(tokens) - 1)
    before, inner, behind = tokens[:first], tokens[first:last], tokens[last:]
    opening, closing = SIGNS[rng.randint(len(SIGNS))]
    space = inner[0].space
    if rng.randint(2):  # no space outside
        space, behind = "", [behind[0]._replace(space=""), *behind[1:]]
    if opening:
        inner = [_make_sign(space, opening), inner[0]._replace(space=""), *inner[1:]]
    return [*before, *inner, _make_sign("", closing), *behind]


def _make_sign(space, sign):
    return TextToken(space, sign, (*[0] * (len(sign) - 1), TOKEN))
