"""The official evaluation from raw text, where both sides may have different words."""

import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain, takewhile
from math import inf
from operator import eq
from typing import NamedTuple

from sklearn_shag.encoding import read_column
from sklearn_shag.metrics._labeled import CONTENT_RELATIONS, drop_subtype
from sklearn_shag.treebank import (
    MISSING,
    DependencyTree,
    columns_of,
    list_tokens,
    remove_invisible,
    require_trees,
)
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import shorten

FUNCTIONAL = frozenset({"aux", "case", "cc", "clf", "cop", "det", "mark"})
# fmt: off
UNIVERSAL_FEATURES = frozenset({
    "Abbr", "Animacy", "Aspect", "Case", "Definite", "Degree", "Evident", "Foreign", "Gender",
    "Mood", "Number", "NumType", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex",
    "Tense", "VerbForm", "Voice",
})
# fmt: on
_TAGS = {column.score: (column.name,) for column in columns_of("tag", "features")}
# Score -> columns of aligned words that must be equal; the last three count content words only.
SCORED_COLUMNS = {
    "Words": (),
    **_TAGS,
    "AllTags": tuple(chain(*_TAGS.values())),
    "Lemmas": ("lemma",),
    "UAS": ("head",),
    "LAS": ("head", "label"),
    "CLAS": ("head", "label"),
    "MLAS": ("head", "label", "upos", "feats", "functional"),
    "BLEX": ("head", "label", "lemma"),
}
OF_CONTENT = ("CLAS", "MLAS", "BLEX")
ROOT_PLACE, NOT_ALIGNED = -1, -2
BEHIND_ALL = inf, inf
N_SHOWN = 20  # characters from the first difference on


class RawTextScore(NamedTuple):
    """Precision, recall and F1 of what was predicted from a text.

    The number of predicted items may differ from the number of true ones.

    Attributes
    ----------
    precision : float
        The share of predicted items that are right.
    recall : float
        The share of true items that were predicted.
    f1 : float
        Their harmonic mean.

    See Also
    --------
    raw_text_scores : Computes these scores.

    Examples
    --------
    >>> from sklearn_shag.metrics import raw_text_scores
    >>> from sklearn_shag.treebank import DependencyTree
    >>> tree = DependencyTree(["Dogs", "bark"], [2, 0])
    >>> raw_text_scores([tree], [tree])["Tokens"]
    RawTextScore(precision=1.0, recall=1.0, f1=1.0)
    """

    precision: float
    recall: float
    f1: float


class TextSide(NamedTuple):
    """The true or the predicted side: text without spaces, spans of characters, and words."""

    characters: str
    sentences: list  # spans: begin and end
    tokens: list  # spans
    spans: list  # the span of the token of each word, and one behind all words
    is_multiword: list  # whether the token of each word, or behind all, has a line of its own
    forms: list  # of words, in lower case
    # Lists with a value for each word; heads, if any, are places of words, or ROOT_PLACE.
    columns: dict


def raw_text_scores(
    y_true: Iterable[DependencyTree], y_pred: Iterable[DependencyTree]
) -> dict[str, RawTextScore]:
    """Compute the scores of the official evaluation of parsing from raw text.

    Sentences and tokens are right if they consist of the true characters. Words of multiword tokens
    are aligned by the longest common subsequence of their forms, all others by their characters.
    All further scores are shares of words that are aligned and have the true values.

    Parameters
    ----------
    y_true : iterable of DependencyTree
        The true trees, with all heads or none.
    y_pred : iterable of DependencyTree
        Trees of the same text with all heads or none, however the text was split.

    Returns
    -------
    scores : dict of RawTextScore
        The keys are the official names: Tokens, Sentences, Words, UPOS, XPOS, UFeats, AllTags,
        Lemmas, UAS, LAS, CLAS, MLAS, BLEX. Relations are compared without subtypes, and only
        universal features are compared. If one side has no heads, the scores from UAS on are
        missing, and so are those of tags, features and lemmas of which one side has no values. Of
        what a :class:`~sklearn_shag.Splitter` returns, the first three are scored.

    Raises
    ------
    ValueError
        If the two texts differ by more than spaces and invisible characters, such as soft hyphens,
        or only some heads of one side are known.
    TypeError
        If an argument does not hold trees.

    See Also
    --------
    labeled_attachment_score : Scores trees of the same words.

    References
    ----------
    Zeman et al. (2018), CoNLL 2018 shared task: Multilingual parsing from raw text to Universal
    Dependencies.

    Examples
    --------
    >>> from sklearn_shag.metrics import raw_text_scores
    >>> from sklearn_shag.treebank import DependencyTree
    >>> true = DependencyTree(["Dogs", "do", "n't", "bark"], [4, 4, 4, 0])
    >>> parsed = DependencyTree(["Dogs", "don't", "bark"], [3, 3, 0])
    >>> scores = raw_text_scores([true], [parsed])
    >>> round(scores["Words"].f1, 3), round(scores["UAS"].recall, 3)
    (0.571, 0.5)
    >>> list(raw_text_scores([true], [parsed.with_heads(None)]))
    ['Tokens', 'Sentences', 'Words']
    """
    true, predicted = _read_side(y_true, "y_true"), _read_side(y_pred, "y_pred")
    _check_characters(true.characters, predicted.characters)
    pairs, names = list(_align_words(true, predicted)), _list_scores(true, predicted)
    if "UAS" in names:
        _map_heads(true.columns, {k: k for k in range(len(true.forms))})
        _map_heads(predicted.columns, {own: other for other, own in pairs})
    for other, own in pairs:
        if true.columns["lemma"][other] == MISSING:  # whatever was predicted is right
            predicted.columns["lemma"][own] = MISSING
    scores = {
        "Tokens": _score_spans(true.tokens, predicted.tokens),
        "Sentences": _score_spans(true.sentences, predicted.sentences),
    }
    for name in names:
        counted = [
            [
                name not in OF_CONTENT or label in CONTENT_RELATIONS
                for label in side.columns["label"]
            ]
            for side in (true, predicted)
        ]
        both = [(true.columns[each], predicted.columns[each]) for each in SCORED_COLUMNS[name]]
        n_right = sum(
            counted[0][other] and all(one[other] == two[own] for one, two in both)
            for other, own in pairs
        )
        scores[name] = _make_score(n_right, *map(sum, counted))
    return scores


def _read_side(trees, name):
    trees = list(trees)
    require_trees(trees, name, "multiword tokens are")
    if not trees:
        raise ValueError(f"{name} holds no sentences.")
    given = [tree.heads for tree in trees]
    if any(h is not None for h in given) and any(h is None or UNKNOWN in h for h in given):
        raise ValueError(f"{name} has words without heads; give trees with all heads, or none.")
    texts, sentences, tokens, spans, is_multiword, heads, n = [], [], [], [], [], [], 0
    for tree in trees:
        begin, first = n, len(spans)
        for token in list_tokens(tree):
            text = _without_spaces(token.form)
            texts.append(text)
            tokens.append((n, n + len(text)))
            spans += [tokens[-1]] * len(token.words)
            is_multiword += [token.has_line and text != ""] * len(token.words)
            n += len(text)
        own = [] if tree.heads is None else tree.heads.tolist()
        heads += [first + head - 1 if head else ROOT_PLACE for head in own]
        sentences.append((begin, n))
    columns = {
        name: [value for tree in trees for value in read_column(tree, name)]
        for name in ("upos", "xpos", "lemma", "feats", "deprel")
    }
    columns |= {
        "head": heads,
        "label": list(map(drop_subtype, columns["deprel"])),
        "feats": list(map(_keep_universal, columns["feats"])),
    }
    return TextSide(
        "".join(texts),
        sentences,
        tokens,
        spans=[*spans, BEHIND_ALL],
        is_multiword=[*is_multiword, False],
        forms=[form.lower() for tree in trees for form in tree.forms],
        columns=columns,
    )


def _list_scores(*sides):
    """List the names of scores: without heads, those of columns with values on both sides."""

    def is_known(column):
        return all(set(side.columns[column]) - {"", MISSING} for side in sides)

    has_heads = is_known("head")
    return [
        name for name, columns in SCORED_COLUMNS.items() if has_heads or all(map(is_known, columns))
    ]


def _without_spaces(text):
    return "".join(sign for sign in remove_invisible(text) if unicodedata.category(sign) != "Zs")


@cache
def _keep_universal(feats):
    pairs = feats.split("|")
    return "|".join(sorted(pair for pair in pairs if pair.split("=")[0] in UNIVERSAL_FEATURES))


def _map_heads(columns, aligned):
    """Replace heads by the aligned true words, and add the function words of each word."""
    labels, functional = columns["label"], [[] for _ in columns["head"]]
    true_of = dict.fromkeys(range(len(labels)), NOT_ALIGNED) | {ROOT_PLACE: ROOT_PLACE} | aligned
    for k, head in enumerate(columns["head"]):
        if head != ROOT_PLACE and labels[k] in FUNCTIONAL:
            of_word = true_of[k], labels[k], columns["upos"][k], columns["feats"][k]
            functional[head].append(of_word)
    columns["head"] = [true_of[head] for head in columns["head"]]
    columns["functional"] = functional


def _check_characters(true, predicted):
    if true != predicted:
        place = sum(takewhile(bool, map(eq, true, predicted)))
        shown = [shorten(text[place : place + N_SHOWN]) for text in (true, predicted)]
        raise ValueError(
            f"The texts of y_true and y_pred differ by more than spaces, the first time after "
            f"{place:,} characters without spaces: {shown[0]} is {shown[1]} in the prediction."
        )


def _align_words(true, predicted):
    """Yield pairs of indices of aligned words, the true and the predicted one."""
    sides, at = (true, predicted), [0, 0]
    while at[0] < len(true.forms) and at[1] < len(predicted.forms):
        spans = [side.spans[k] for side, k in zip(sides, at, strict=True)]
        multiword = [side.is_multiword[k] for side, k in zip(sides, at, strict=True)]
        if any(multiword):
            first = _skip_before(at, spans, multiword)
            at = _end_of_multiword(sides, first, spans[0 if multiword[0] else 1][1])
            yield from _align_forms(true.forms, predicted.forms, first, at)
        elif spans[0] == spans[1]:
            yield tuple(at)
            at = [at[0] + 1, at[1] + 1]
        else:
            at[0 if spans[0] <= spans[1] else 1] += 1


def _skip_before(at, spans, multiword):
    """Return the places of both sides, moved past a word that begins before a multiword token."""
    own = 0 if multiword[0] else 1
    is_before = not multiword[1 - own] and spans[1 - own][0] < spans[own][0]
    return [k + (is_before and side != own) for side, k in enumerate(at)]


def _end_of_multiword(sides, first, end):
    """Return, for each side, the first word behind all overlapping multiword tokens."""
    at = list(first)

    def is_behind(k):
        begin, own_end = sides[k].spans[at[k]]
        return begin >= end if sides[k].is_multiword[at[k]] else own_end > end

    while not (is_behind(0) and is_behind(1)):
        k = 0 if sides[0].spans[at[0]][0] <= sides[1].spans[at[1]][0] else 1
        if sides[k].is_multiword[at[k]]:
            end = max(end, sides[k].spans[at[k]][1])
        at[k] += 1
    return at


def _align_forms(true, predicted, first, last):
    """Align words by the longest common subsequence of their forms."""
    one, other = true[first[0] : last[0]], predicted[first[1] : last[1]]
    longest = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]  # behind each pair of places
    for g in reversed(range(len(one))):
        for s in reversed(range(len(other))):
            longest[g][s] = max(
                longest[g + 1][s],
                longest[g][s + 1],
                longest[g + 1][s + 1] + 1 if one[g] == other[s] else 0,
            )
    g = s = 0
    while g < len(one) and s < len(other):
        if one[g] == other[s]:
            yield first[0] + g, first[1] + s
            g, s = g + 1, s + 1
        elif longest[g][s] == longest[g + 1][s]:
            g += 1
        else:
            s += 1


def _score_spans(true, predicted):
    return _make_score(len(set(true) & set(predicted)), len(true), len(predicted))


def _make_score(n_right, n_true, n_predicted):
    total = n_true + n_predicted
    return RawTextScore(
        n_right / n_predicted if n_predicted else 0.0,
        n_right / n_true if n_true else 0.0,
        2 * n_right / total if total else 0.0,
    )
