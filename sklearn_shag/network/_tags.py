"""Columns that networks learn and find: tags, features, and lemmas as edits of forms."""

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
from scipy.special import softmax

from sklearn_shag.encoding import encode_labels, places_of, read_column
from sklearn_shag.network._reading import read_sentences
from sklearn_shag.parsing import Tagging, fit_together
from sklearn_shag.treebank import (
    LEARNED,
    MISSING,
    OF_ENTRIES,
    UNKNOWN_FEATS,
    compose_words,
    list_graphemes,
)

NO_VALUES = {MISSING, UNKNOWN_FEATS}
KEPT, LOWERED, TITLED, WHOLE = "kept", "lower", "title", "whole"
IN_CASE = {LOWERED: str.lower, KEPT: str, TITLED: str.capitalize}
# A pattern of how a form is edited to its lemma.
SCRIPT = rf"{WHOLE}\t[^\t\n\r]+|(?:{'|'.join(IN_CASE)})(?:\t[0-9]{{1,9}}\t[^\t\n\r]*){{2}}"
UNSEEN = -1  # code of values of a dictionary that no training token has
GIVEN = "given"  # begins a script with the lemmas of a token's entries in a dictionary
# How much the factor between a value and the relation of its token counts beside log P(value), and
# what is added to counts. On the development sets of five treebanks, strengths of 0.2 to 0.4 are
# about equally good.
STRENGTH, SMOOTHING = 0.3, 0.5


def list_known_columns(trees):
    """List the columns to be learned in which any tree has a value."""
    found = set()
    for tree in trees:
        others = [name for name in LEARNED if name not in found]
        found |= {name for name in others if set(read_column(tree, name)) - NO_VALUES}
    return [name for name in LEARNED if name in found]


@lru_cache(maxsize=2**17)
def edit_script(form, lemma):
    """Return the edits from a form to its lemma: letters removed and added at each end.

    The longest common part stays, of the form in lower case, as it is, or in lower case with a
    capital. Letters are graphemes.

    Parameters
    ----------
    form, lemma : str

    Returns
    -------
    script : str
        Parts with tabs between them, which neither forms nor lemmas contain.
    """
    found, wanted = [], list_graphemes(lemma)
    for case, write in IN_CASE.items():
        letters = list_graphemes(write(form))
        common = SequenceMatcher(None, letters, wanted, autojunk=False).find_longest_match()
        n_behind = len(letters) - common.a - common.size
        added = "".join(wanted[: common.b]), "".join(wanted[common.b + common.size :])
        script = [case, str(common.a), added[0], str(n_behind), added[1]]
        found.append((common.size, "\t".join(script)))
    size, script = max(found, key=lambda each: each[0])  # the first of two
    return script if size else f"{WHOLE}\t{lemma}"


@lru_cache(maxsize=2**17)
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
    if case in (WHOLE, GIVEN):
        return edits[0]
    letters = list_graphemes(IN_CASE[case](form))
    begin, end = int(edits[0]), len(letters) - int(edits[2])
    return edits[1] + "".join(letters[begin:end]) + edits[3] if begin < end else None


def edit_copies(scripts, codes, places, forms):
    """Find the edits from altered copies of forms to the lemmas of their originals.

    Parameters
    ----------
    scripts : sequence of str
        The known edit scripts, sorted.
    codes : int ndarray of shape (n_tokens,)
        Those of the originals among them, negative where they are not known.
    places : int ndarray of shape (n_tokens,)
        The place of the original of each token among all forms, its own if it is no copy.
    forms : sequence of str of length n_tokens

    Returns
    -------
    codes : int ndarray of shape (n_tokens,)
        Those of all forms, UNSEEN where they are not known.
    """
    originals = zip(codes.tolist(), places.tolist(), strict=True)
    lemmas = [apply_script(scripts[code], forms[t]) or forms[t] for code, t in originals]
    edits = list(map(edit_script, forms, lemmas))
    return np.where(codes < 0, UNSEEN, encode_labels([edits], scripts))


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
        if not counts.keys() - NO_VALUES:
            raise ValueError(
                f"tags={name!r} is to be learned, but no tree of X has values in that column."
            )
        least = min_count if name == "lemma" else 1
        known = {value for value, count in counts.items() if count >= least}
        known -= {UNKNOWN_FEATS if name == "feats" else MISSING}
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


def weigh_relations(values, tags, relations):
    """Weigh the values of columns by the relations of their tokens.

    Parameters
    ----------
    values : dict of list of str
        The known values of each column.
    tags : list
        The values of each sentence, from :func:`read_tags` with the same columns.
    relations : list of sequences of str
        Those of the tokens of each sentence; empty if none are learned.

    Returns
    -------
    factors : dict of list of float
        For each relation a number for each value of one column after the other: STRENGTH times
        log P(relation, value) / (P(relation) P(value)).
    """
    if not (values and relations):
        return {}
    names = sorted(set(chain(*relations)) - {MISSING})
    of_tokens = encode_labels(relations, names)
    codes, tables = encode_tags(values, tags, of_tokens.size), [np.zeros((len(names), 0))]
    for own, known in zip(codes.T, values.values(), strict=True):
        counts = np.zeros((len(names) + 1, len(known) + 1))  # the last ones are of what is unknown
        np.add.at(counts, (of_tokens, own), 1)
        counts = counts[:-1, :-1]
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        ratios = (counts + SMOOTHING) / (expected + SMOOTHING)
        tables.append(np.round(STRENGTH * np.log(ratios), 3))
    return dict(zip(names, np.hstack(tables).tolist(), strict=True))


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


def look_up_tags(values, codes, combinations, entries, scores):
    """Look up the values of the learned columns of tokens.

    Parameters
    ----------
    values : dict of str ndarrays
        The known values of each column.
    codes : int ndarray of shape (n_tokens, n_columns)
        The best of these for each token.
    combinations : dict of int ndarrays
        From :func:`encode_combinations`, or empty.
    entries : sequence of length n_tokens
        Of each token its entries in a dictionary, of which it gets the most probable one, or None.
        May be empty.
    scores : list of ndarrays of shape (n_tokens, n_values)
        Of the values of each column, up to a constant for each token.

    Returns
    -------
    found : dict of str ndarrays of shape (n_tokens,)
        Lemmas are edit scripts, or those of entries, with GIVEN before them.
    """
    found = {name: own[codes[:, k]] for k, (name, own) in enumerate(values.items())}
    columns = {k: name for k, name in enumerate(values) if name != "lemma"}
    names, scripts = tuple(columns.values()), {}
    tags = zip(*(found[n].tolist() for n in names), strict=True) if names else repeat(())
    for t, (own, row) in enumerate(zip(entries, tags, strict=False)):
        if own is None:
            continue
        script = _lemma_script(names, own, row)
        # The best tags of all are also the best of the entries if one of these has them.
        if script is None:
            best = _take_columns(names, own[0])
            if len(own) > 1 or MISSING in best.values():
                given = columns, [of_column[t] for of_column in scores], values, combinations
                _, best = max((_score_entry(entry, *given) for entry in own), key=itemgetter(0))
            for name, value in best.items():
                found[name][t] = value
            script = _lemma_script(names, own, tuple(best.values()))
        if script:
            scripts[t] = script
    if "lemma" in found and scripts:
        found["lemma"][list(scripts)] = list(scripts.values())
    return found


class TagFactors(NamedTuple):
    """What the relation of a token adds to the scores of values of learned columns."""

    rows: dict  # of int, by relation
    # For each column (n_relations + 1, n_values); the last row, of other relations, is 0.
    tables: list

    def place(self, values, among):
        """Return the factors of the same values among others, both dicts of sorted arrays."""
        columns = zip(self.tables, values.values(), among.values(), strict=True)
        others = np.zeros((len(self.rows) + 1, 1), dtype=np.float32)
        return self._replace(tables=[place_values(*column, others) for column in columns])


def open_factors(factors, values):
    """Return the TagFactors of factors as in :func:`weigh_relations`, with the same values."""
    sizes = list(map(len, values.values()))
    table = np.array([*factors.values(), np.zeros(sum(sizes))], dtype=np.float32)
    rows = dict(zip(factors, range(len(factors)), strict=True))
    return TagFactors(rows, np.split(table, np.cumsum(sizes)[:-1], axis=1))


def place_values(numbers, own, among, others):
    """Place the numbers of values, (n_rows, n_values), among other values; both are sorted arrays.

    Those that have none get `others`, (n_rows, 1).
    """
    is_known = np.isin(own, among)
    placed = np.repeat(others, len(among), axis=1)
    placed[:, np.searchsorted(among, own[is_known])] = numbers[:, is_known]
    return placed


def mix_first(scores, others):
    """Take the means of the scores of the first column and of others of it."""
    first, *rest = scores
    return [(first + others) / 2, *rest]


class TagLookup:
    """The values of the learned columns of tokens, looked up part by part.

    Parameters
    ----------
    values, combinations, entries
        As for :func:`look_up_tags`, with the entries of all tokens.
    factors : TagFactors
        Of these values.
    relations : sequence of str of length n_tokens, default=()
        Those of all tokens; without them, factors do not count.
    others : None or ndarray of shape (n_tokens, n_values), default=None
        Scores of the values of the first column by another network, for :func:`mix_first`.
    """

    def __init__(self, values, combinations, entries, factors, relations=(), others=None):
        self.values, self.combinations, self.parts = values, combinations, []
        self._others = others
        self._entries, self._factors = iter(entries), factors
        self._rows = map(factors.rows.get, relations, repeat(-1))

    def add(self, scores):
        """Look up the values of the next tokens by their scores, and return them by column."""
        n_tokens = len(scores[0])
        if self._others is not None:
            others, self._others = np.split(self._others, [n_tokens])
            scores = mix_first(scores, others)
        if rows := list(islice(self._rows, n_tokens)):
            scores = [
                own + of_all[rows] for own, of_all in zip(scores, self._factors.tables, strict=True)
            ]
        codes = np.stack([own.argmax(axis=1) for own in scores], axis=1)
        if self.combinations:
            fit_together(codes, scores, self.combinations)
        entries = list(islice(self._entries, n_tokens))
        found = look_up_tags(self.values, codes, self.combinations, entries, scores)
        self.parts.append(found)
        return found

    def join(self):
        """Return the values of all tokens by column."""
        return join_values(self.parts)


def join_values(parts):
    """Join columns of parts of the tokens, each a dict of arrays, to columns of all tokens."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def pick_proba(values, found, proba):
    """Pick the probabilities of the tags of tokens, which are no lemmas.

    Parameters
    ----------
    values : dict of str ndarrays
        The known values of each column.
    found : dict of str ndarrays of shape (n_tokens,)
        From :func:`look_up_tags`.
    proba : sequence of ndarrays of shape (n_tokens, n_values)
        Of the known values of each column.

    Returns
    -------
    picked : dict of ndarrays of shape (n_tokens,)
        0 for values that only a dictionary has.
    """
    picked = {}
    for (name, known), own in zip(values.items(), proba, strict=True):
        if name != "lemma":  # tables, too, say lemmas
            codes = encode_labels([found[name]], known)
            picked[name] = np.where(codes < 0, 0.0, own[np.arange(codes.size), codes])
    return picked


def _take_columns(columns, entry):
    return {name: entry[OF_ENTRIES.index(name)] for name in columns}


@lru_cache(maxsize=2**17)
def _lemma_script(columns, entries, tags):
    """Return GIVEN and the lemmas of the entries that allow tags in these columns.

    If any lemma will do, the script is empty; if no entry allows the tags, it is None.
    """
    wanted = [(_take_columns(columns, entry).values(), entry[-1]) for entry in entries]
    lemmas = [lemma for own, lemma in wanted if all(map(_allows, own, tags))]
    if not lemmas:
        return None
    return "" if MISSING in lemmas else "\t".join((GIVEN, *lemmas))


def _allows(wanted, tag):
    return wanted in (MISSING, tag)


def _score_entry(entry, columns, scores, values, combinations):
    """Return the largest sum of scores of tags that an entry allows, and these tags by column.

    A value that no training token had gets the least score, so that such entries come last.
    """
    tags = _take_columns(columns.values(), entry)
    wanted = {k: _find_code(values[n], tags[n]) for k, n in columns.items() if tags[n] != MISSING}
    if combinations:
        allowed = np.all([combinations[k] == code for k, code in wanted.items()], axis=0)
        if allowed.any():
            sums = np.sum([scores[k][codes] for k, codes in combinations.items()], axis=0)
            best = np.where(allowed, sums, -np.inf).argmax()
            chosen = {k: codes[best] for k, codes in combinations.items()}
            return sums[best], {name: values[name][chosen[k]] for k, name in columns.items()}
    total = 0.0
    for k, name in columns.items():
        code = wanted.get(k, scores[k].argmax())
        total += scores[k].min() if code == UNSEEN else scores[k][code]
        tags[name] = tags[name] if code == UNSEEN else values[name][code]
    return total, tags


def _find_code(known, value):
    """Return the place of a value among sorted known ones, or UNSEEN."""
    place = bisect_left(known, value)
    return place if place < len(known) and known[place] == value else UNSEEN


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
    for t, script in enumerate(scripts.tolist()):
        if script.startswith(GIVEN) and chosen[t] not in (known := script.split("\t")[1:]):
            chosen[t] = known[0]
    found["lemma"] = np.array(chosen, dtype=object)
    return found


def _zip_rows(columns, forms, tags, others):
    tags = [""] * len(forms) if columns[0] == "lemma" else tags
    others = (MISSING,) * len(forms) if others is None else others
    return zip(compose_words(forms), tags, others, strict=True)


class NetworkTagging(Tagging):
    """The columns that the network of a TagLearner finds.

    Parameters
    ----------
    learner : TagLearner
    batch : Batch
        Without codes, it is encoded when it is read, without checks: its parser has checked it.
    reading : Reading or None, default=None
        Of this batch, if it has been read already.
    others : None or tuple, default=None
        Values by column, and their scores, (n_tokens, n_values), of a parser of this batch. If it
        has learned the first column, its scores of that count as much as those of the learner.
    """

    def __init__(self, learner, batch, reading=None, others=None):
        opened = learner._network()
        self.values, self.combinations = opened.tag_values, learner.tag_combinations_
        self.factors, self._network = opened.factors, opened.network
        self._learner, self._batch, self._reading = learner, batch, reading
        self._others, column = None, next(iter(self.values))
        if others is not None and column in others[0]:
            values, scores = others
            lowest = scores.min(axis=1, keepdims=True)  # of values that only the learner knows
            self._others = place_values(scores, values[column], self.values[column], lowest)

    @cached_property
    def _encoded(self):
        if self._batch.codes is not None:
            return self._batch
        batch = self._batch
        codes = self._learner._encode(batch.sentences, None, batch.indptr, check=False)
        return batch._replace(codes=codes)

    def entries(self):
        dictionary = self._learner.dictionary
        if dictionary is None:
            return ()
        forms = [getattr(sentence, "forms", sentence) for sentence in self._batch.sentences]
        return list(map(dictionary.get, compose_words(list(chain.from_iterable(forms)))))

    def find(self, with_proba, relations=()):
        known = self.values, self._network.combinations
        lookup = TagLookup(*known, self.entries(), self.factors, relations, self._others)
        reading = self._reading
        if reading is None:
            reading = read_sentences(
                self._network, self._encoded, with_scores=with_proba, look_up=lookup.add
            )
        else:
            lookup.add(self._by_column(reading.tag_scores))
        found = lookup.join()
        if not with_proba:
            return found, {}
        return found, pick_proba(self.values, found, self._make_proba(reading.tag_scores))

    def proba(self, chosen=None):
        tokens = slice(None)
        if chosen is not None:
            _, tokens = places_of(self._batch.indptr, chosen)
        if self._reading is None:
            encoded = self._encoded if chosen is None else self._encoded.take(chosen)
            scores = read_sentences(self._network, encoded, with_scores=True).tag_scores
        else:
            scores = self._reading.tag_scores[tokens]
        return self._make_proba(scores.astype(np.float64), tokens)

    def _by_column(self, scores):
        return [scores[:, part] for part in self._network.tags]

    def _make_proba(self, scores, tokens=slice(None)):
        of_columns = self._by_column(np.nan_to_num(scores))
        if self._others is not None:
            of_columns = mix_first(of_columns, self._others[tokens])
        return [softmax(part, axis=1) for part in of_columns]

    def finish(self, found):
        if "lemma" not in self.values:
            return found
        return finish_lemmas(self._learner.lemmas_, self._batch.sentences, found)
