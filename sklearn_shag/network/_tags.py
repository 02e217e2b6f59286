"""Columns that networks learn: tags, features, and lemmas as edits of forms."""

from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain
from unicodedata import normalize

import numpy as np

from sklearn_shag.encoding import encode_labels, read_column
from sklearn_shag.treebank import MISSING, columns_of, compose_words

# Columns that can be learned.
LEARNED = tuple(each.name for each in columns_of("tag", "features", "word") if each.score)
KEPT, LOWERED, WHOLE = "kept", "lower", "whole"


def list_known_columns(trees):
    """List the columns to be learned in which any tree has a value."""
    found = set()
    for tree in trees:
        others = [name for name in LEARNED if name not in found]
        found |= {name for name in others if set(read_column(tree, name)) != {MISSING}}
    return [name for name in LEARNED if name in found]


@lru_cache(maxsize=2**17)
def edit_script(form, lemma):
    """Return the edits from a form to its lemma: letters removed and added at each end.

    The longest common part stays, of the form as it is or in lower case.

    Parameters
    ----------
    form, lemma : str

    Returns
    -------
    script : str
        Parts with tabs between them, which neither forms nor lemmas contain.
    """
    found = []
    for case, source in ((LOWERED, form.lower()), (KEPT, form)):
        common = SequenceMatcher(None, source, lemma, autojunk=False).find_longest_match()
        n_behind = len(source) - common.a - common.size
        added = lemma[: common.b], lemma[common.b + common.size :]
        script = [case, str(common.a), added[0], str(n_behind), added[1]]
        found.append((common.size, "\t".join(script)))
    size, script = max(found, key=lambda each: each[0])  # the first of two
    return script if size else f"{WHOLE}\t{lemma}"


def apply_script(script, form):
    """Make the lemma of a form; None if the form has too few letters.

    Parameters
    ----------
    script : str
        From :func:`edit_script`.
    form : str

    Returns
    -------
    lemma : str or None
    """
    case, *edits = script.split("\t")
    if case == WHOLE:
        return edits[0]
    source = form.lower() if case == LOWERED else form
    begin, end = int(edits[0]), len(source) - int(edits[2])
    return edits[1] + source[begin:end] + edits[3] if begin < end else None


def read_tags(columns, sentence):
    """List the values of the learned columns of a sentence.

    Parameters
    ----------
    columns : iterable of str
    sentence : DependencyTree or sequence of str

    Returns
    -------
    tags : tuple of tuples of str
        The values of each column, edit scripts for lemmas; ``_`` if a token has no value.
    """
    tags = []
    for name in columns:
        values = read_column(sentence, name)
        if name == "lemma" and set(values) != {MISSING}:
            pairs = zip(compose_words(sentence.forms), values, strict=True)
            values = (v if v == MISSING else edit_script(form, v) for form, v in pairs)
        tags.append(tuple(values))
    return tuple(tags)


def collect_tags(columns, tags, min_count):
    """List the values of each column that are to be learned.

    Parameters
    ----------
    columns : sequence of str
    tags : list
        The values of each sentence, from :func:`read_tags`.
    min_count : int
        Least count of a known edit script.

    Returns
    -------
    values : dict of list of str
        Sorted. ``_`` is a value of feats, for tokens without features, and of no other column.

    Raises
    ------
    ValueError
        If a column has no values.
    """
    values = {}
    for k, name in enumerate(columns):
        counts = Counter(value for of_sentence in tags for value in of_sentence[k])
        if not counts.keys() - {MISSING}:
            raise ValueError(
                f"tags={name!r} is to be learned, but no tree of X has values in that column."
            )
        least = min_count if name == "lemma" else 1
        known = {value for value, count in counts.items() if count >= least}
        known = known if name == "feats" else known - {MISSING}
        values[name] = sorted(known or counts.keys() - {MISSING})
    return values


def encode_tags(values, tags, n_tokens):
    """Replace tags by their codes, -1 where they are not known.

    Parameters
    ----------
    values : dict of list of str
    tags : list
        The values of each sentence, from :func:`read_tags` with the same columns.
    n_tokens : int
        Number of tokens of all sentences.

    Returns
    -------
    codes : int ndarray of shape (n_tokens, n_columns)
    """
    codes = np.empty((n_tokens, len(values)), dtype=np.int64)
    for k, known in enumerate(values.values()):
        codes[:, k] = encode_labels([of_sentence[k] for of_sentence in tags], known)
    return codes


def join_tags(values, tags):
    """List the combinations of tags, without lemmas, that any token has.

    Parameters
    ----------
    values : dict of list of str
        The known values of each column.
    tags : list
        The values of each sentence, from :func:`read_tags` with the same columns.

    Returns
    -------
    combinations : list of lists of str
        Sorted; none for a single column.
    """
    combined = {k: set(own) for k, (name, own) in enumerate(values.items()) if name != "lemma"}
    if len(combined) < 2:
        return []
    rows = {row for of_tree in tags for row in zip(*(of_tree[k] for k in combined), strict=True)}
    return [list(row) for row in sorted(rows) if all(map(set.__contains__, combined.values(), row))]


def collect_lemmas(columns, sentences, tags, weights):
    """Find the most frequent lemma of each form with each value of the first column.

    Parameters
    ----------
    columns : sequence of str
        Learned columns, one of which is "lemma".
    sentences : list of DependencyTree
    tags : list
        The values of each sentence, from :func:`read_tags`.
    weights : sequence of float
        Weight of each sentence.

    Returns
    -------
    lemmas : dict of str to str
        The key is the form, a tab and the value, which is empty if "lemma" is the first column.
    """
    counts = {}
    for sentence, of_sentence, weight in zip(sentences, tags, weights, strict=True):
        for form, tag, lemma in _zip_rows(columns, sentence.forms, of_sentence[0], sentence.lemmas):
            if lemma != MISSING:
                own = counts.setdefault(f"{form}\t{tag}", Counter())
                own[lemma] += weight
    return {key: min(own, key=lambda lemma: (-own[lemma], lemma)) for key, own in counts.items()}


def choose_lemmas(columns, lemmas, forms, tags, scripts):
    """Look up the lemmas of tokens; unknown ones are made by edit scripts.

    Parameters
    ----------
    columns : sequence of str
    lemmas : dict of str to str
        From :func:`collect_lemmas` with these columns.
    forms, tags, scripts : sequences of str of length n_tokens
        Tags are values of the first column. A script that does not apply leaves its form.

    Returns
    -------
    lemmas : list of str
    """
    return [
        lemmas.get(f"{form}\t{tag}")
        or normalize("NFC", apply_script(script, form) or form).strip()  # as files may hold it
        or form
        for form, tag, script in _zip_rows(columns, forms, tags, scripts)
    ]


def finish_lemmas(lemmas, sentences, found):
    """Replace edit scripts by lemmas in the values of the columns of all tokens.

    Parameters
    ----------
    lemmas : dict of str to str
        From :func:`collect_lemmas`.
    sentences : list of DependencyTree or sequences of str
    found : dict of str ndarrays of shape (n_tokens,)
        The values of each column, changed in place.

    Returns
    -------
    found : dict of str ndarrays of shape (n_tokens,)
    """
    forms = list(chain.from_iterable(getattr(each, "forms", each) for each in sentences))
    first, scripts = next(iter(found.values())), found["lemma"]
    chosen = choose_lemmas(tuple(found), lemmas, forms, first, scripts)
    found["lemma"] = np.array(chosen, dtype=object)
    return found


def _zip_rows(columns, forms, tags, others):
    tags = [""] * len(forms) if columns[0] == "lemma" else tags
    others = (MISSING,) * len(forms) if others is None else others
    return zip(compose_words(forms), tags, others, strict=True)
