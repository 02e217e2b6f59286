"""Words of tokens that consist of several, as French "du" does: what is known of them, and more."""

from collections import Counter, defaultdict
from itertools import accumulate, chain, pairwise
from os.path import commonprefix

from sklearn_shag.treebank import compose, is_spelled, list_tokens

# For unknown tokens that are not their words put together: the most letters of the ending in a
# rule, and the most of these letters that the first word keeps.
LONGEST_ENDING, MORE = 8, 3
# A token is always split that was so many times, in any capitals, and in its own never seen whole.
EVIDENCE = 3


def learn_words(trees):
    """Return `words_`, `ambiguous_` and `endings_`, learned from tokens of several words."""
    seen, n_split = defaultdict(Counter), Counter()
    for token in chain.from_iterable(map(list_tokens, trees)):
        words = tuple(map(compose, token.words)) if len(token.words) > 1 else None
        seen[form := compose(token.form)][words] += 1
        n_split[form.lower()] += words is not None
    words, ambiguous, ended = {}, {}, defaultdict(Counter)
    for form, counts in sorted(seen.items()):
        n_whole = counts.pop(None, 0)
        if not counts:
            continue
        ((chosen, _),) = counts.most_common(1)
        is_sure = not n_whole and n_split[form.lower()] >= EVIDENCE
        (words if is_sure else ambiguous)[form] = list(chosen)
        if is_spelled(form, chosen):
            continue  # the network learns where words end in such tokens
        first, *others = (word.lower() for word in chosen)
        n_same = len(commonprefix([form.lower(), first]))  # noqa: RUF071  (they are no paths)
        shortest = max(1, n_same - MORE, len(form) - LONGEST_ENDING)
        for k in range(shortest, min(n_same, len(form) - 1) + 1):
            ended[form[k:].lower()][first[k:], *others] += 1
    for form, counts in seen.items():
        if not counts and form.lower() in words:  # only seen whole in its own capitals
            ambiguous[form] = spell_words(form, words[form.lower()])
    endings = {
        letters: list(counts.most_common(1)[0][0])
        for letters, counts in sorted(ended.items())
        if counts.total() > 1  # one token is no rule
    }
    return {"words_": words, "ambiguous_": ambiguous, "endings_": endings}


def spell_words(form, words):
    """Spell the words of a token, known in other capitals, as the token is spelled."""
    if is_spelled(form, words):
        return [form[a:b] for a, b in pairwise(accumulate(map(len, words), initial=0))]
    if form.isupper() and len(form) > 1:
        return [word.upper() for word in words]
    first, *others = words
    return [first[:1].upper() + first[1:], *others] if form[0].isupper() else words


def split_by_ending(form, endings):
    """Return the words of an unknown token by its longest known ending; None without any."""
    for k in range(max(1, len(form) - LONGEST_ENDING), len(form)):
        if ending := endings.get(form[k:].lower()):
            return [form[:k] + ending[0], *ending[1:]]
    return None
