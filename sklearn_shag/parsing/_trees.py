"""Heads that trees keep or can have: made projective, kept by `parse`, put into trees."""

from __future__ import annotations

from itertools import chain, compress, repeat
from typing import Literal, NamedTuple

import numpy as np

from sklearn_shag.encoding import check_allowed, name_sentence
from sklearn_shag.parsing._decoders import eisner, maximum_arborescence
from sklearn_shag.parsing._forest import list_best, list_corrected, list_heads, split_columns
from sklearn_shag.treebank import (
    MISSING,
    DependencyTree,
    Heads,
    allowed_arcs,
    arcs_left_by,
    keep_given,
    known_heads,
    lift,
    list_known_heads,
    unspecified_relation,
    with_tags,
    with_valid_heads,
)
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import StrOptions, validate_params
from sklearn_shag.utils._typing import BoolArray, IntArray


class ProjectiveHeads(NamedTuple):
    """Heads of the sentences that a chart can learn from.

    A chart sums over projective trees with one root only, so other heads have no probability.

    Attributes
    ----------
    heads : list of int ndarrays of shape (n_tokens_i,)
        The heads of the kept sentences, in order: 1-based, 0 for the root, -1 where they are not
        known.
    kept : bool ndarray of shape (n_sentences,)
        Which sentences were kept.
    lifted : bool ndarray of shape (n_sentences,)
        Which of them have changed heads.

    See Also
    --------
    projectivize : Computes them.

    Examples
    --------
    >>> from sklearn_shag.parsing import projectivize
    >>> projectivize([[2, 0], [0, 0]]).kept        # the second has two roots
    array([ True, False])
    """

    heads: list[IntArray]
    kept: BoolArray
    lifted: BoolArray


def has_projective_completion(heads: Heads) -> BoolArray:
    """Tell for each sentence whether a projective tree with one root has all its known heads.

    Parameters
    ----------
    heads : sequence of length n_sentences
        As for :func:`~sklearn_shag.treebank.allowed_arcs`.

    Returns
    -------
    possible : bool ndarray of shape (n_sentences,)
        For fully annotated trees, whether they are projective and have one root.

    Raises
    ------
    ValueError
        If the heads of a sentence are neither a tree nor part of one.
    TypeError
        If `heads` is not a sequence.

    See Also
    --------
    projectivize : Keeps these sentences, and lifts others.

    Notes
    -----
    It is not enough that no known arcs cross. In the third sentence below, token 4 depends on
    token 2, and token 1 on token 4. So the head of token 2 must lie within the arc from 4 to 1, but
    all tokens there depend on token 2.

    Examples
    --------
    >>> from sklearn_shag.parsing import has_projective_completion
    >>> has_projective_completion([[-1, 0, -1], [3, 4, -1, -1], [4, -1, -1, 2]])
    array([ True, False, False])
    """
    return np.array([has_tree(arcs) for arcs in allowed_arcs(heads)], dtype=bool)


@validate_params({"nonprojective": [StrOptions({"lift", "drop"})]})
def projectivize(
    heads: Heads, *, nonprojective: Literal["lift", "drop"] = "lift"
) -> ProjectiveHeads:
    """Make heads projective so that a chart can learn from them, and drop impossible sentences.

    Parameters
    ----------
    heads : sequence of length n_sentences
        As for :func:`~sklearn_shag.treebank.allowed_arcs`.
    nonprojective : {"lift", "drop"}, default="lift"
        What to do with fully annotated trees that have one root and crossing arcs: lift them (see
        :func:`~sklearn_shag.treebank.lift`) or drop them.

    Returns
    -------
    projective : ProjectiveHeads
        Without fully annotated trees with several roots, and without partial trees that no
        projective tree with one root completes.

    Raises
    ------
    ValueError
        If the heads of a sentence are neither a tree nor part of one.
    TypeError
        If `heads` is not a sequence.

    See Also
    --------
    has_projective_completion : Tells which sentences need no change.
    sklearn_shag.treebank.lift : Lifts a single tree.

    Examples
    --------
    >>> from sklearn_shag.parsing import projectivize
    >>> found = projectivize([[2, 0], [3, 4, 0, 3], [3, 4, -1, -1], [0, 0]])
    >>> found.heads
    [array([2, 0]), array([3, 3, 0, 3])]
    >>> found.kept, found.lifted
    (array([ True,  True, False, False]), array([False,  True, False, False]))
    """
    return keep_learnable(list_known_heads(heads), nonprojective)


def keep_learnable(known, nonprojective, trees="projective"):
    """Keep heads that sums over `trees` can learn from, as :func:`projectivize` does.

    With trees="all", these are heads of trees with one root, whether or not their arcs cross.
    """
    projective = trees == "projective"
    kept = np.array([has_tree(arcs, projective) for arcs in arcs_left_by(known)], dtype=bool)
    lifted = np.zeros(kept.size, dtype=bool)
    if projective and nonprojective == "lift":
        for s in np.flatnonzero(~kept):
            if known[s].min() > UNKNOWN and np.count_nonzero(known[s] == 0) == 1:
                known[s] = lift(known[s])
                kept[s] = lifted[s] = True
    return ProjectiveHeads(list(compress(known, kept)), kept, lifted)


def head_probabilities(marginals, heads):
    """Look up the probabilities of given heads.

    Parameters
    ----------
    marginals : sequence of ndarrays of shape (n_tokens_i, n_tokens_i + 1)
    heads : sequence of int ndarrays of shape (n_tokens_i,)

    Returns
    -------
    probabilities : list of ndarrays of shape (n_tokens_i,)
    """
    return [
        of_sentence[np.arange(found.size), found]
        for of_sentence, found in zip(marginals, heads, strict=True)
    ]


def has_tree(allowed, projective=True):
    """Tell whether allowed arcs of a sentence make a tree with one root, by default projective."""
    _, score = (eisner if projective else maximum_arborescence)(np.where(allowed, 0.0, -np.inf))
    return score > -np.inf


def allow_arcs(sentences, allowed, keep_heads, projective):
    """List the arcs that trees of sentences may have, and find sentences where they only cross.

    Parameters
    ----------
    sentences : list
        Trees, whole or partial, or sequences of symbols, which have no heads.
    allowed : None or sequence of length n_sentences
        As users give it; not None if heads are not kept.
    keep_heads : bool
        Whether tokens with known heads may have no other head.
    projective : bool
        Whether sums are over projective trees.

    Returns
    -------
    allowed : list of bool ndarrays of shape (n_tokens_i, n_tokens_i + 1)
    crossing : None or bool ndarray of shape (n_sentences,)
        Sentences that have a tree of these arcs, but no projective one, where it should be
        projective; None if there are none.

    Raises
    ------
    ValueError
        If a sentence has no tree with one root of these arcs, whether or not they cross.
    """
    if allowed is not None:
        allowed = check_allowed(allowed, list(map(len, sentences)))
    if keep_heads:
        kept = arcs_left_by(list(map(known_heads, sentences)))
        allowed = kept if allowed is None else list(map(np.logical_and, allowed, kept))
    crossing = np.array([not has_tree(arcs, projective) for arcs in allowed], dtype=bool)
    for s in np.flatnonzero(crossing):
        if not (projective and has_tree(allowed[s], projective=False)):
            _refuse_arcs(sentences, s, keep_heads)
    return allowed, crossing if crossing.any() else None


def _refuse_arcs(sentences, s, keep_heads):
    """Raise a ValueError for a sentence whose arcs make no tree with one root."""
    name = name_sentence(sentences[s], s)
    roots = np.flatnonzero(known_heads(sentences[s]) == 0) + 1
    if keep_heads and roots.size > 1:
        raise ValueError(
            f"{name} has heads that no tree with one root has: the tokens "
            f"{' and '.join(map(str, roots))} are roots. Correct them, or give -1 (in a file _) "
            f"for those that may change."
        )
    raise ValueError(
        f"{name} has no tree with one root {'that keeps its heads and ' if keep_heads else ''}"
        f"whose arcs are all allowed: allow more of them in allowed[{s}]"
        f"{', or keep fewer heads' if keep_heads else ''}."
    )


def kept_relations(sentence, heads, labels):
    """List the relations of a tree to its known heads, and predicted ones to other heads.

    Parameters
    ----------
    sentence : DependencyTree or sequence of symbols
    heads : int ndarray of shape (n_tokens,)
        The heads of the tree where it has some.
    labels : sequence of str of length n_tokens, or None
        Predicted ones. None if the parser knows no relations; then others are unspecified.

    Returns
    -------
    deprels : sequence of str, or None if there are no relations at all
    """
    own = getattr(sentence, "deprels", None)
    if own is None:
        return labels
    known = known_heads(sentence) != UNKNOWN
    if labels is None:
        labels = map(unspecified_relation, heads.tolist())
    else:
        known &= np.not_equal(own, MISSING)
    rows = zip(own, known.tolist(), labels, strict=True)
    return [deprel if is_kept else label for deprel, is_kept, label in rows]


class Answer(NamedTuple):
    """One or several trees of a sentence, with labels, columns, probabilities and marginals."""

    heads: list  # of each tree, (n_tokens,)
    labels: list  # of each tree, and their probabilities, (n_tokens,); or twice None
    columns: dict  # the values of each learned column
    proba: dict  # those of the values of tags
    logs: list | None  # of each tree, its log probability
    marginals: np.ndarray | None  # (n_tokens, n_tokens + 1)


def list_answers(find, groups, with_logs, with_marginals, with_proba, forest):
    """List an Answer for each sentence; `find` lists the heads of its trees, (n_trees_i, N_i)."""
    rows = find(forest)
    logs = marginals = [None] * len(rows)
    if with_logs:
        ends = np.cumsum(list(map(len, rows)))[:-1]
        logs = [part.tolist() for part in np.split(np.minimum(forest.log_proba(rows), 0.0), ends)]
    labels = _label_rows(forest, rows, groups, with_proba)
    relations = [] if forest.scored.labeller is None else [own[0][0] for own in labels]
    columns, proba = forest.columns(with_proba, list(chain(*relations)))
    columns = split_columns(forest.batch, columns)
    proba = split_columns(forest.batch, proba) if proba else [{}] * len(rows)
    marginals = list_corrected(forest) if with_marginals else marginals
    return list(map(Answer, rows, labels, columns, proba, logs, marginals))


def list_samples(n_samples, forest):
    """List random trees of each sentence: their heads, (n_samples, n_tokens_i)."""
    return np.split(
        forest.samples(n_samples, forest.batch.seeds), forest.batch.indptr[1:-1], axis=1
    )


def list_derivations(k, forest):
    """List the k most probable trees of each sentence: their heads, and log probabilities."""
    heads, logs = forest.derivations(k)
    n_found = np.count_nonzero(logs > -np.inf, axis=0)
    by_sentence = np.split(heads, forest.batch.indptr[1:-1], axis=1)
    rows = zip(by_sentence, logs.T, n_found, strict=True)
    return [(of_sentence[:n].copy(), its_logs[:n].copy()) for of_sentence, its_logs, n in rows]


def list_most_probable(k, n_samples, forest):
    """List the k most probable of drawn trees: their heads, and log probabilities."""
    drawn = [
        np.unique(samples, axis=0, return_counts=True)
        for samples in list_samples(n_samples, forest)
    ]
    logs = forest.log_proba([heads for heads, _ in drawn])
    logs = np.split(logs, np.cumsum([len(heads) for heads, _ in drawn])[:-1])
    found = []
    for (heads, counts), its_logs in zip(drawn, logs, strict=True):
        if its_logs.max() == -np.inf:  # they were drawn from a later rung
            its_logs = np.log(counts / n_samples)
        order = np.argsort(-its_logs, kind="stable")[:k]
        found.append((heads[order], its_logs[order]))
    return found


def list_best_rows(decoder, forest):
    """List the heads of the best tree of each sentence, as one row."""
    return [heads[None] for heads in list_best(decoder, forest)]


def list_rows(want, forest):
    """List the heads of trees that `want` lists with their log probabilities."""
    return [heads for heads, _ in want(forest)]


def _label_rows(forest, rows, groups, with_proba):
    """List pairs of labels and their probabilities for the trees of each sentence."""
    if forest.scored.labeller is None:
        return [[(None, None)] * len(heads) for heads in rows]
    found = [[] for _ in rows]
    for j in range(max(map(len, rows))):
        # Sentences with fewer trees have the last of them labelled again, for nothing.
        heads = np.concatenate([own[min(j, len(own) - 1)] for own in rows])
        labels, proba = forest.labels(heads, groups, with_proba)
        labels = list_heads(forest.batch, labels)
        proba = list_heads(forest.batch, proba) if with_proba else repeat(None, len(rows))
        for own, its_rows, pair in zip(found, rows, zip(labels, proba, strict=True), strict=True):
            if j < len(its_rows):
                own.append(pair)
    return found


def make_trees(sentence, answer, keep_heads=False):
    """Make the trees of a sentence from an Answer.

    Parameters
    ----------
    sentence : DependencyTree or sequence of symbols
        Symbols become the forms of trees.
    answer : Answer
    keep_heads : bool, default=False
        Whether a tree keeps the relations to its known heads, and the enhanced graph.

    Returns
    -------
    trees : list of DependencyTree
    """
    trees = []
    for heads, (labels, _) in zip(answer.heads, answer.labels, strict=True):
        if keep_heads:
            labels = kept_relations(sentence, heads, labels)
        if trees:
            tree = trees[0].with_heads(heads, labels, keep_deps=keep_heads)
        elif isinstance(sentence, DependencyTree):
            tree = with_valid_heads(sentence, heads.astype(np.intp), labels, keep_heads)
        else:
            tree = DependencyTree(sentence, heads, deprels=labels)
        if answer.columns and not trees:
            tree = with_tags(tree, answer.columns)
        trees.append(tree)
    if answer.logs is not None:
        rows = zip(trees, answer.logs, strict=True)
        trees = [tree._with_comment("score", f"{log:.4f}") for tree, log in rows]
    if answer.marginals is not None:
        trees = [_with_confidence(tree, answer.marginals) for tree in trees]
    return trees


def list_probabilities(answer, trees):
    """List the probabilities in an Answer for each of its trees.

    Parameters
    ----------
    answer : Answer
        With all probabilities.
    trees : list of DependencyTree
        From :func:`make_trees`.

    Returns
    -------
    probabilities : list of dict
        A list for each of "head_proba", "deprel_proba" and learned tags, such as "upos_proba": the
        probability of each token's head, of its relation given that head, and of its tag. There are
        none of relations or tags of which some were kept.
    """
    found = []
    for tree, (labels, shares), log in zip(trees, answer.labels, answer.logs, strict=True):
        (of_heads,) = head_probabilities([answer.marginals], [tree.heads])
        tags = {n: p for n, p in answer.proba.items() if tuple(answer.columns[n]) == tree.column(n)}
        columns = {"head": of_heads} | tags
        if shares is not None and tuple(labels) == tree.deprels:
            columns["deprel"] = shares
        rounded = {f"{name}_proba": np.round(p, 4).tolist() for name, p in columns.items()}
        found.append({"score": round(log, 4) if log > -np.inf else None} | rounded)
    return found


def parse_trees(opened, trees, *, keep_heads=False, confidence=False, **options):
    """Parse trees by the parser of a model, behind its steps.

    Parameters
    ----------
    opened : OpenMember
    trees : list of DependencyTree
    keep_heads, confidence, **options
        Of the method `parse`. With the heads, all relations and tags are kept that trees have. With
        "all" as confidence, probabilities stand beside the trees, as from
        :func:`list_probabilities`, and not in their MISC.

    Yields
    ------
    found : list of pairs of a DependencyTree and a dict
        One pair for each sentence, or several as `options` say. The dicts of probabilities are
        empty if they are not wanted.
    columns : list of str
        The columns of tags that were predicted.
    answer : Answer
        Of which the trees are made.
    """
    transform, parser = opened
    # Steps before the parser change tags, which are written, and symbols, which are not. The parser
    # reads these tags even where others are given, which may be of another tag set.
    default = {"n_best": None, "n_samples": None, "random_state": None, "unique_relations": "auto"}
    rows = parser._find_answers(
        transform(trees), None, keep_heads=keep_heads, confidence=confidence, **default | options
    )
    for tree, (sentence, answer) in zip(trees, rows, strict=True):
        beside = confidence == "all"
        found = make_trees(
            sentence, answer._replace(marginals=None) if beside else answer, keep_heads
        )
        if keep_heads:
            found = [keep_given(each, tree) for each in found]
        proba = list_probabilities(answer, found) if beside else [{}] * len(found)
        columns = [*transform.list_columns(), *answer.columns]
        yield list(zip(found, proba, strict=True)), columns, answer


def _with_confidence(tree, marginals):
    (probabilities,) = head_probabilities([marginals], [tree.heads])
    return tree.with_misc("Confidence", [f"{probability:.4f}" for probability in probabilities])
