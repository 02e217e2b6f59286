"""Altered copies of sentences to learn from: text as it is differs from what treebanks hold."""

from itertools import chain, islice, pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.network._tags import edit_copies
from sklearn_shag.treebank import SENTENCE, TOKEN, compose_words, marks_punctuation

QUOTES, CAPITALS, SMALL, UNFINISHED = "quotes", "capitals", "small letters", "unfinished"
# Shares of sentences of which a copy is made. Those that the change would leave as they are, such
# as sentences without any quotation mark, have none.
SHARES = {UNFINISHED: 0.1, QUOTES: 0.1, CAPITALS: 0.02, SMALL: 0.02}
# The same for splitters, which lose more by them on plain text.
RUN_ON, SIGNED = "run on", "signed"
SHARES_OF_TEXT = {UNFINISHED: 0.04, QUOTES: 0.05, CAPITALS: 0.01, SMALL: 0.01}
SHARES_OF_TEXT |= {RUN_ON: 0.005, SIGNED: 0.02}
# Signs that surround something, and such as stand between, often without a space.
_PAIRS = "''\u2018\u2019\u201c\u201d\"\"()[]<>**__\u00ab\u00bb"
_BETWEEN = ("\u2026", "...", "\u2014", "\u2013", "--", ">", "/", "|", "=")
SURROUNDING = [*zip(_PAIRS[::2], _PAIRS[1::2], strict=True), *(("", sign) for sign in _BETWEEN)]

# Signs that stand for each other, some of which only open or only close a quotation: straight,
# curly, low, reversed and angle ones, accents, primes, letters, and signs of full width.
APOSTROPHES = "'\u2019\u2018`\u00b4\u02bc\u201b\u2032\uff07"
QUOTATION_MARKS = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02'
_OPENING, _CLOSING = "\u2018\u201b`\u201e\u00ab", "\u201d\u00bb"
# What opens in each style, and what closes; usual styles come twice. An apostrophe closes.
_OF_APOSTROPHES = "'\u2019\u2018\u2018``\u00b4\u02bc", "'\u2019\u2019\u2019`'\u00b4\u02bc"
_OF_QUOTATION_MARKS = '"\u201c\u201c\u201e\u201d\u00ab', '"\u201d\u201d\u201c\u201d\u00bb'


def respell(text, kind, rng):
    """Write a text in other signs, as many as before.

    Parameters
    ----------
    text : str
    kind : {"quotes", "capitals", "small letters"}
        Other quotation marks and apostrophes, drawn once for the text; or other letters. Those
        whose other form is not a single character stay as they are.
    rng : RandomState or Generator

    Returns
    -------
    text : str
        It may be the same.
    """
    if kind == QUOTES:
        styles = (list(zip(*each, strict=True)) for each in (_OF_APOSTROPHES, _OF_QUOTATION_MARKS))
        drawn = (each[rng.choice(len(each))] for each in styles)
        return "".join(_replace_marks(text, *drawn))
    change = str.upper if kind == CAPITALS else str.lower
    return "".join(new if len(new := change(sign)) == 1 else sign for sign in text)


def _replace_marks(text, apostrophes, quotation_marks):
    """Yield the characters of a text with the marks of a style, given as what opens and closes."""
    is_open = False
    for sign in text:
        if sign in APOSTROPHES:
            yield apostrophes[sign not in _OPENING]
        elif sign in QUOTATION_MARKS:
            is_open = sign in _OPENING or (sign not in _CLOSING and not is_open)
            yield quotation_marks[not is_open]
        else:
            yield sign


def respell_lemmas(lemmas):
    """Return known lemmas, and the same for other quotation marks and apostrophes in their forms.

    Parameters
    ----------
    lemmas : dict of str to str
        By the form, a tab and a tag.

    Returns
    -------
    lemmas : dict of str to str
    """
    others = {}
    for key, lemma in lemmas.items():
        form, _, tag = key.partition("\t")
        for signs in (APOSTROPHES, QUOTATION_MARKS):
            if set(signs) & set(form):
                for sign in signs:
                    other = form.translate(dict.fromkeys(map(ord, signs), sign))
                    others.setdefault(f"{other}\t{tag}", lemma)
    return others | lemmas


def add_copies(examples, sentences, tag_values, rng):
    """Add altered copies of some sentences, drawn at random, behind all of them.

    Parameters
    ----------
    examples : Examples
        Without codes.
    sentences : list of DependencyTree or sequences of str
        Words.
    tag_values : dict of list of str
        The known values of each learned column.
    rng : RandomState

    Returns
    -------
    examples : Examples
        Copies have the heads, labels, tags and weights of their originals. Lemmas stay as well:
        their edits begin at the altered words.
    words : list of lists of str
        The words of all sentences.
    """
    words, copied = [list(getattr(sentence, "forms", sentence)) for sentence in sentences], []
    indptr = examples.indptr
    for kind, share in SHARES.items():
        for s in np.flatnonzero(rng.uniform(size=len(sentences)) < share).tolist():
            altered = _alter(words[s], examples.heads[indptr[s] : indptr[s + 1]], kind, rng)
            if altered != words[s]:
                copied.append(s)
                words.append(altered)
    ends = np.cumsum([0, *map(len, words)])
    begins = np.append(indptr[:-1], indptr[copied])
    places = np.arange(ends[-1]) + np.repeat(begins - ends[:-1], np.diff(ends))
    parts = {name: getattr(examples, name)[places] for name in ("heads", "labels", "tags")}
    if "lemma" in tag_values:
        edits = parts["tags"][:, list(tag_values).index("lemma")]
        edits[:] = edit_copies(
            tag_values["lemma"], edits, places, compose_words(list(chain(*words)))
        )
    weights = np.append(examples.weights, examples.weights[copied])
    if examples.lessons:  # copies may be shorter; they have the one tree of the teacher
        parts["lessons"] = [*examples.lessons, *[None] * len(copied)]
    copied = np.array(copied, dtype=np.int64)
    return examples._replace(indptr=ends, weights=weights, copied=copied, **parts), words


def _alter(words, heads, kind, rng):
    """Alter the words of a sentence; heads (n_tokens,), -1 where unknown, say which may go."""
    if kind == UNFINISHED:
        n = len(words)
        while n > 1 and marks_punctuation(words[n - 1]) and n not in heads[:n]:
            n -= 1
        return words[:n]
    signs = iter(respell("".join(words), kind, rng))
    return ["".join(islice(signs, len(word))) for word in words]


class SpacedToken(NamedTuple):
    """A token of a text, with the white space before it, and the kind of end at each character."""

    text: str
    ends: tuple

    def glue(self):
        """Return the token without white space before it."""
        form = self.text.lstrip()
        return SpacedToken(form, self.ends[len(self.text) - len(form) :])


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
    cuts = pairwise([0, *(np.flatnonzero(ends >= TOKEN) + 1).tolist()])
    tokens = [SpacedToken(text[a:b], tuple(ends[a:b].tolist())) for a, b in cuts]
    cuts = pairwise([0, *(k for k, each in enumerate(tokens, 1) if each.ends[-1] == SENTENCE)])
    sentences = [[tokens[a].glue(), *tokens[a + 1 : b]] for a, b in cuts]
    added = []
    for kind, share in SHARES_OF_TEXT.items():
        for s in np.flatnonzero(rng.uniform(size=len(sentences)) < share).tolist():
            altered = _alter_tokens(sentences[s], sentences[s + 1 : s + 2], kind, rng)
            if altered != sentences[s]:
                added += [SpacedToken("\n\n", (0, 0)), *altered]
    text += "".join(token.text for token in added)
    return text, np.array([*ends.tolist(), *chain(*(token.ends for token in added))], dtype=np.int8)


def _alter_tokens(tokens, following, kind, rng):
    """Alter the SpacedTokens of a sentence; `following` holds those of the next one, if any."""
    if kind == SIGNED:
        return _put_signs(tokens, rng) if len(tokens) > 1 else tokens
    is_mark = [marks_punctuation(token.text.strip()) for token in tokens]
    if kind == RUN_ON:
        return [*tokens, *following[0]] if following and is_mark[-1] else tokens
    if kind == UNFINISHED:
        n = next((n for n in range(len(tokens), 1, -1) if not is_mark[n - 1]), 1)
        last = tokens[n - 1]
        return [*tokens[: n - 1], last._replace(ends=(*last.ends[:-1], SENTENCE))]
    signs = iter(respell("".join(token.text for token in tokens), kind, rng))
    return [each._replace(text="".join(islice(signs, len(each.text)))) for each in tokens]


def _put_signs(tokens, rng):
    """Put signs before one to three SpacedTokens of a sentence, not the last, and behind them."""
    first, n = rng.randint(len(tokens) - 1), rng.randint(1, 4)
    last = min(first + n, len(tokens) - 1)
    inner, behind = tokens[first:last], tokens[last:]
    opening, closing = SURROUNDING[rng.randint(len(SURROUNDING))]
    space = [SpacedToken(" ", (0,))] if inner[0].text[0] == " " else []
    if rng.randint(2):  # no space outside
        space, behind = [], [behind[0].glue(), *behind[1:]]
    if opening:
        inner = [*space, _make_token(opening), inner[0].glue(), *inner[1:]]
    return [*tokens[:first], *inner, _make_token(closing), *behind]


def _make_token(sign):
    return SpacedToken(sign, (*[0] * (len(sign) - 1), TOKEN))
