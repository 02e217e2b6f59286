"""Altered copies of sentences to learn from: text as it is differs from what treebanks hold."""

from itertools import islice

import numpy as np

from sklearn_shag.treebank import marks_punctuation

QUOTES, CAPITALS, SMALL, UNFINISHED = "quotes", "capitals", "small letters", "unfinished"
# Shares of sentences of which a copy is made. Those that the change would leave as they are, such
# as sentences without any quotation mark, have none.
SHARES = {UNFINISHED: 0.1, QUOTES: 0.1, CAPITALS: 0.02, SMALL: 0.02}

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
            for sign in signs if set(signs) & set(form) else ():
                other = form.translate(dict.fromkeys(map(ord, signs), sign))
                others.setdefault(f"{other}\t{tag}", lemma)
    return others | lemmas


def add_copies(examples, sentences, rng):
    """Add altered copies of some sentences, drawn at random, behind all of them.

    Parameters
    ----------
    examples : Examples
        Without codes.
    sentences : list of DependencyTree or sequences of str
        Words.
    rng : RandomState

    Returns
    -------
    examples : Examples
        Copies have the heads, labels, tags and weights of their originals.
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
    weights = np.append(examples.weights, examples.weights[copied])
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
