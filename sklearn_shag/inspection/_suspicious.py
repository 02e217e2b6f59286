"""Annotation errors: heads, relations and tags that parsers trained on other trees doubt."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from sklearn_shag.encoding import check_trees, read_column
from sklearn_shag.inspection._tables import largest_first, shown_as_table, to_dataframe
from sklearn_shag.parsing import ask, has_projective_completion, list_corrected, list_heads
from sklearn_shag.treebank import MISSING, DependencyTree, allowed_arcs, require_trees
from sklearn_shag.utils._estimators import open_parser, set_in_parts
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._param_validation import N_JOBS, Interval, validate_params
from sklearn_shag.utils._typing import FloatArray, IntArray, ObjectArray

N_READINGS = 2  # times that each sentence is judged, by parsers of other seeds and folds
SURE = 0.9  # heads that are as probable as this are not looked at again
JUDGED = ("deprel", "upos", "xpos", "feats")  # beside heads; lemmas are too many
# Improbable choices all count as equally improbable: annotators err towards the second best choice,
# whereas next to nothing is often what is rare and right.
LEAST_HEAD, LEAST_VALUE = 1e-3, 1e-2
# Parsers exclude arcs that cross. Those that cross one or two others are often right.
LEAST_CROSSING, FEW = 1e-2, (1, 2)
OF_ALL = 0.25  # weight of a head's odds without known heads, beside those given all other heads


@shown_as_table
class SuspiciousArcs(NamedTuple):
    """Columns of heads, relations and tags that may be errors, the most suspicious first.

    It prints as a table.

    Attributes
    ----------
    sentences : int ndarray of shape (n_found,)
        Positions in X, from 0.
    tokens : int ndarray of shape (n_found,)
        The token in its sentence, from 1.
    columns : object ndarray of shape (n_found,)
        What is suspicious: "head", "deprel", or the name of a column of tags.
    given, alternatives : object ndarrays of shape (n_found,)
        The value in X, and the most probable other one, both as str; heads are from 1, 0 for root.
    given_probabilities, probabilities : ndarrays of shape (n_found,)
        Their probabilities; of heads, given all other heads of the sentence.
    scores : ndarray of shape (n_found,)
        The log odds by which rows are sorted.

    See Also
    --------
    suspicious_arcs : Finds them.

    Examples
    --------
    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import suspicious_arcs
    >>> parser, trees = CRFParser(["upos"], n_features=2**12), load_english().data[:40]
    >>> found = suspicious_arcs(parser, trees, cv=3)
    >>> list(found._fields[:5])
    ['sentences', 'tokens', 'columns', 'given', 'alternatives']
    """

    sentences: IntArray
    tokens: IntArray
    columns: ObjectArray
    given: ObjectArray
    alternatives: ObjectArray
    given_probabilities: FloatArray
    probabilities: FloatArray
    scores: FloatArray

    to_dataframe = to_dataframe


@validate_params({"cv": [Interval(Integral, 2, None, closed="left")], "n_jobs": N_JOBS})
def suspicious_arcs(
    parser: BaseEstimator, X: Sequence[DependencyTree], *, cv: int = 5, n_jobs: int | None = None
) -> SuspiciousArcs:
    """Find annotation errors: heads, relations and tags where another choice is likely.

    Trees are judged by parsers that have not learned from them.

    Parameters
    ----------
    parser : estimator
        A parser of this package, or a pipeline that ends in one. Clones of it are fitted. Tags are
        judged if it learns them, as :class:`~sklearn_shag.BiaffineParser` may.
    X : sequence of DependencyTree
        Annotated trees. Heads that are not known are not judged.
    cv : int, default=5
        Number of folds. Sentences of one document, which begins with the comment "# newdoc", are in
        the same fold if there are at least so many documents. Otherwise sentences are shuffled.
    n_jobs : int or None, default=None
        Number of parsers that are fitted at once.

    Returns
    -------
    found : SuspiciousArcs
        At most one row for each token. Where several heads of a sentence differ from those in X
        only because of each other, there is one row.

    Raises
    ------
    TypeError
        If X holds anything but trees.
    ValueError
        If X has fewer sentences than folds, or the parser cannot learn from it.

    See Also
    --------
    least_certain_arcs : Lists heads to annotate next.

    Notes
    -----
    Each fold is parsed by two parsers of different seeds, in different folds, and probabilities are
    averaged. Those of a head are asked for twice: without known heads, and given all other heads of
    the sentence. The second ones tell an error from what only follows from it.

    Examples
    --------
    One relation of 100 trees is wrong:

    >>> from sklearn_shag import CRFParser
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import suspicious_arcs
    >>> trees = load_english().data[:60]
    >>> wrong = ["punct", *trees[0].deprels[1:]]
    >>> trees[0] = trees[0].with_heads(trees[0].heads, wrong)
    >>> parser = CRFParser(["upos"], n_features=2**12, random_state=0)
    >>> found = suspicious_arcs(parser, trees, cv=3)
    >>> row = list(zip(found.sentences, found.tokens)).index((0, 1))
    >>> row < 10, found.columns[row], found.given[row], found.alternatives[row]
    (True, 'deprel', 'punct', 'det')
    """
    sentences, heads = check_trees(X)
    require_trees(sentences, "X", "heads and relations are")
    trees = list(sentences)
    found = {name: {v for tree in trees for v in read_column(tree, name)} for name in JUDGED}
    values = {name: sorted(seen - {MISSING}) for name, seen in found.items() if seen != {MISSING}}
    folds = [(seed, *fold) for seed in range(N_READINGS) for fold in assign_folds(trees, cv, seed)]
    tasks = [delayed(_judge_fold)(parser, trees, heads, values, *fold) for fold in folds]
    # A fold has rarer symbols than all trees, and would warn of them.
    with warnings.catch_warnings(action="ignore"):
        answers = run_parallel(tasks, n_jobs)
    sums = [{} for _ in trees]
    for (_, _, held_out), judged in zip(folds, answers, strict=True):
        for s, found in zip(held_out, judged, strict=True):
            for column, table in found.items():
                sums[s][column] = sums[s].get(column, 0.0) + table / N_READINGS
    rows = [
        row
        for s, (tree, known, each) in enumerate(zip(trees, heads, sums, strict=True))
        for row in _list_rows(s, tree, known, values, each)
    ]
    types = (np.int64, np.int64, object, object, object, float, float, float)
    columns = [[row[k] for row in rows] for k in range(len(types))]
    found = SuspiciousArcs(*map(np.array, columns, types))
    return largest_first(found, found.scores)


def assign_folds(trees, cv, seed=0):
    """List positions of trees to learn from and to judge, for each fold; of documents if known."""
    from sklearn.model_selection import GroupKFold, KFold  # its import takes a while

    if len(trees) < cv:
        raise ValueError(
            f"At least {cv} sentences are needed, since each of {cv} parts is judged by parsers of "
            f"the others; got {len(trees)}."
        )
    documents = np.cumsum([any(c.startswith("# newdoc") for c in t.comments) for t in trees])
    by_document = np.unique(documents).size >= cv
    splitter = (GroupKFold if by_document else KFold)(cv, shuffle=True, random_state=seed)
    return list(splitter.split(trees, groups=documents if by_document else None))


def _judge_fold(parser, trees, heads, values, seed, rest, held_out):
    """Fit a clone to all other trees; list probabilities of choices of each tree, by column."""
    model = set_in_parts(clone(parser), "random_state", seed)
    model.fit([trees[s] for s in rest])
    transform, fitted = open_parser(model, "predict_marginals")
    part, known = transform([trees[s] for s in held_out]), [heads[s] for s in held_out]
    batch = fitted._batch(part)._replace(known=[np.maximum(each, 0) for each in known])
    judged = ask(fitted, partial(_list_evidence, getattr(fitted, "labels_", ()), values), batch)
    _condition_heads(fitted, part, known, judged)
    return judged


def _list_evidence(labels, values, forest):
    """List, for each sentence, probabilities of heads, relations and tags by column."""
    found, tables = [{"head": table} for table in list_corrected(forest)], {}
    if len(labels):
        tables["deprel"] = labels, forest.label_proba(np.concatenate(forest.batch.known))
    if (tagging := forest.scored.tagging) is not None:
        pairs = zip(tagging.values.items(), tagging.proba(), strict=True)
        tables |= {name: (own, table) for (name, own), table in pairs}
    for name in [name for name in values if name in tables]:
        own, table = tables[name]
        aligned = _align_columns(table, own, values[name])
        for each, rows in zip(found, list_heads(forest.batch, aligned), strict=True):
            each[name] = rows
    return found


def _align_columns(table, own, values):
    """Give a table a column for each of all values, with NaN for values not seen in training."""
    aligned = np.full((len(table), len(values)), np.nan)
    places = {value: k for k, value in enumerate(values)}
    known = [k for k, value in enumerate(own) if value in places]
    aligned[:, [places[own[k]] for k in known]] = table[:, known]
    return aligned


def _condition_heads(parser, sentences, known, judged):
    """Add probabilities of heads given all other heads, where the given one is unsure.

    Where no tree of the parser has the other heads, they are those without known heads.
    """
    places, rows = [], []
    for s, (heads, found) in enumerate(zip(known, judged, strict=True)):
        table, tokens = found["head"], np.arange(heads.size)
        found["given others"] = table.copy()
        for token in np.flatnonzero((heads >= 0) & (table[tokens, heads] < SURE)):
            row = np.where(tokens == token, UNKNOWN, heads)
            if not parser._projective or has_projective_completion([row])[0]:
                rows.append(row)
                places.append((s, token))
    batch = parser._batch([sentences[s] for s, _ in places], allowed_arcs(rows))
    for (s, token), table in zip(places, ask(parser, list_corrected, batch), strict=True):
        judged[s]["given others"][token] = table[token]


def _list_rows(s, tree, heads, values, found):
    """List the rows of a sentence, of suspicious choices alone: at most one of each token."""
    least = np.where(np.isin(_count_crossed(tree), FEW), LEAST_CROSSING, LEAST_HEAD)
    odds, first = _measure_odds(found["head"], heads, least)
    given, table = _measure_odds(found["given others"], heads, least), found["given others"]
    scores, others = np.where(given[0] > 0, given[0] + OF_ALL * odds, 0.0), given[1]
    if not scores.any():  # heads that differ because of each other alone: the clearest one stands
        t = odds.argmax()
        scores[t], others[t], table[t] = OF_ALL * odds[t], first[t], found["head"][t]
    judged = [("head", range(len(tree) + 1), heads, table, scores, others)]
    for column, names in values.items():
        if column in found:
            codes = {name: k for k, name in enumerate(names)}
            true = np.array([codes.get(value, -1) for value in read_column(tree, column)])
            true[(heads < 0) & (column == "deprel")] = -1
            measured = _measure_odds(found[column], true, LEAST_VALUE)
            judged.append((column, names, true, found[column], *measured))
    best = {}
    for column, names, true, table, scores, others in judged:
        for t in np.flatnonzero((true >= 0) & (scores > 0)).tolist():
            pair = [true[t], others[t]]
            row = (column, *(str(names[k]) for k in pair), *table[t, pair], scores[t])
            best[t] = max(best.get(t, row), row, key=itemgetter(-1))
    return [(s, t + 1, *row) for t, row in sorted(best.items())]


def _count_crossed(tree):
    """Count the arcs that the arc of each token crosses."""
    crossing = np.array(tree.crossing_arcs(), dtype=int).ravel()
    return np.bincount(crossing, minlength=len(tree) + 1)[1:]


def _measure_odds(table, given, least):
    """Log odds of the best other choice of each token against the given one; and this choice."""
    tokens, rest = np.arange(len(table)), np.nan_to_num(table, nan=0.0)
    of_given = table[tokens, given]
    rest[tokens, given] = 0.0
    others = rest.argmax(axis=1)
    with np.errstate(divide="ignore"):
        odds = np.log(rest[tokens, others]) - np.log(np.maximum(of_given, least))
    return np.where(np.isnan(odds), -np.inf, odds), others
