"""Trees of sentences with their labels, columns and probabilities, as `parse` answers with them."""

from typing import NamedTuple

import numpy as np

from sklearn_shag.parsing._forest import list_corrected, list_heads, split_columns


class Answer(NamedTuple):
    """One or several trees of a sentence, with labels, columns, probabilities and marginals."""

    heads: list  # of each tree, (n_tokens,)
    labels: list  # of each tree, (n_tokens,), or None
    columns: dict  # the values of each learned column
    logs: list | None  # of each tree, its log probability
    marginals: np.ndarray | None  # (n_tokens, n_tokens + 1)
    label_proba: list  # of each tree, those of its labels, (n_tokens,), or None
    proba: dict  # of each learned column of tags, those of its values


def list_answers(find, groups, forest, *, with_logs=False, with_marginals=False, with_proba=False):
    """List an Answer for each sentence; `find` lists the heads of its trees, (n_trees_i, N_i)."""
    rows = find(forest)
    n_sentences = len(rows)
    labels, proba = _label_rows(forest, rows, groups, with_proba)
    logs = [None] * n_sentences
    if with_logs:
        ends = np.cumsum(list(map(len, rows)))[:-1]
        logs = [part.tolist() for part in np.split(np.minimum(forest.log_proba(rows), 0.0), ends)]
    marginals = list_corrected(forest) if with_marginals else [None] * n_sentences
    columns, of_tags = forest.columns(True) if with_proba else (forest.columns(), {})
    parts = (
        split_columns(forest.batch, columns),
        logs,
        marginals,
        proba,
        split_columns(forest.batch, of_tags),
    )
    return list(map(Answer, rows, labels, *parts))


def _label_rows(forest, rows, groups, with_proba):
    """List the labels and their probabilities of the trees of each sentence; None without them."""
    scored = forest.scored
    found, proba = ([[] for _ in rows] for _ in range(2))
    for j in range(max(map(len, rows))):
        labels = shares = [None] * len(rows)
        if scored.label_scores is not None:
            # Sentences with fewer trees have the last of them labelled again, for nothing.
            heads = np.concatenate([own[min(j, len(own) - 1)] for own in rows])
            scores = scored.label_scores(heads)
            (codes,) = forest.label_codes(heads, groups, scores=scores)
            labels = list_heads(forest.batch, scored.label_names[codes])
            if with_proba:
                shares = scored.label_proba(scores)[np.arange(codes.size), codes]
                shares = list_heads(forest.batch, shares)
        for s, its_rows in enumerate(rows):
            found[s] += [labels[s]] * (j < len(its_rows))
            proba[s] += [shares[s]] * (j < len(its_rows))
    return found, proba
