"""Parsers of the probability of trees given their sentences, and the trees they learn from."""

from __future__ import annotations

import sys
import warnings
from copy import copy
from functools import partial
from itertools import accumulate, compress, zip_longest
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from sklearn_shag._parser import CalibratedMixin, Parser
from sklearn_shag.conditional._passes import Examples, make_validation, set_aside
from sklearn_shag.encoding import (
    Batch,
    EncodedTrees,
    check_heads,
    check_sentences,
    collect_labels,
    encode_columns,
    encode_labels,
    encode_sentences,
    forget_rare,
    list_labels,
    places_of,
    take_entries,
)
from sklearn_shag.parsing import (
    MIN_SENTENCES,
    TREES,
    Labeller,
    ask,
    keep_learnable,
    learn_calibrations,
    list_marginals,
    name_tree,
)
from sklearn_shag.sequences import count_labels
from sklearn_shag.treebank import PLACES, Sentences, nonprojective_arcs
from sklearn_shag.utils._arrays import group_equal, is_collection, object_array
from sklearn_shag.utils._estimators import WatchedMixin
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._param_validation import (
    COUNT,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from sklearn_shag.utils._typing import ObjectArray

# From this number of tokens on, this share of trees is set aside for calibration. To fit to each
# half would double the time, and of so many trees the few set aside are hardly missed.
MANY_TOKENS, SET_ASIDE = 100_000, 0.02
# Where fewer arcs are not projective, sums over projective trees are better, and where more are,
# sums over all trees. Between, both are tried on a part of the training trees.
FEW_CROSSING, MANY_CROSSING, TRIED_ON = 0.01, 0.03, 0.1


class ArcParser(WatchedMixin, CalibratedMixin, Parser):
    """Parser with a score for each arc, trained in passes over sentences.

    It knows the probability of trees given their sentences; sentences have none.

    A subclass has the parameters below, `min_count` and `random_state`. Its `_start` returns the
    start of training, from the sentences or from an earlier fit. `_learn_weights` trains from
    there, and `_score_learned` scores sentences in training.
    """

    _parameter_constraints = {
        **Parser._parameter_constraints,
        "columns": [StrOptions({"auto"}), list, tuple],
        "trees": [StrOptions({"auto", *TREES})],
        "nonprojective": [StrOptions({"lift", "drop"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": COUNT,
        "warm_start": ["boolean"],
        "calibrate": ["boolean"],
    }

    _deterministic = True
    _needs_whole_trees = None  # unknown heads are summed over

    columns_: tuple[str, ...]
    vocabulary_: dict[str, list[str]]
    labels_: ObjectArray
    validation_scores_: list[float]
    # The file of the bundled parser does not say these.
    trees_: str = "projective"
    nonprojective_share_: float = 0.0
    trees_scores_: list[float] = []
    n_lifted_: int
    n_left_out_: int

    def __init__(
        self,
        *,
        trees: Literal["auto", "projective", "all"],
        nonprojective: Literal["lift", "drop"],
        early_stopping: bool,
        validation_fraction: float,
        n_iter_no_change: int,
        warm_start: bool,
        calibrate: bool,
        decoder: str,
        max_tokens: int | None,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        super().__init__(decoder=decoder, max_tokens=max_tokens, n_jobs=n_jobs, verbose=verbose)
        self.trees = trees
        self.nonprojective = nonprojective
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.calibrate = calibrate

    @fit_context  # a copy may be fitted: its callbacks end with it
    def _fit(self, X, y, sample_weight):
        """Learn from trees, some of which may be set aside to stop early or to calibrate."""
        self._check_parsing()
        trees = self._prepare_trees(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        fraction = self.validation_fraction if self.early_stopping else 0
        # With a warm start, no trees are unseen, so the correction stays as it is.
        calibrates = self.calibrate and not self._goes_on
        annotated = trees.annotated
        n_annotated = np.diff(trees.indptr)[annotated].sum()
        if calibrates and not fraction and n_annotated >= MANY_TOKENS:
            fraction = SET_ASIDE
        held_out = annotated[set_aside(annotated.size, fraction, rng)]
        chosen = np.setdiff1d(np.arange(trees.kept.size), held_out)
        start = self._start(trees, chosen, rng)
        examples = self._encode_examples(trees, start, rng)
        validate, given = None, trees.given
        if self.early_stopping:
            validate = make_validation(
                partial(self._score_learned, start, trees.trees), trees, examples, held_out
            )
        about = trees.report()
        del trees, X, y  # unless they stay with the caller, their memory is free for training
        learned = self._learn_from(start, examples, chosen, validate, rng)
        has_halves = not learned.pop("stopped") and annotated.size >= MIN_SENTENCES
        if calibrates and (held_out.size or has_halves):
            learned |= self._calibrate(start, examples, given, learned, chosen, held_out, rng)
        elif calibrates or not self.calibrate:
            learned |= learn_calibrations([])
        vars(self).update(learned, **about)
        return self

    def _prepare_trees(self, X, y, sample_weight):
        """Choose the trees to sum over, and prepare the trees to learn from, as KnownTrees."""
        X, _ = check_sentences(X)  # it may be an iterator
        y, kind = list(y) if is_collection(y) else y, self.trees
        if self._goes_on:
            self._check_unchanged("trees", self.trees_, self.trees_ if kind == "auto" else kind)
            kind = self.trees_
        prepare = partial(prepare_trees, X, y, sample_weight, self.nonprojective)
        trees = prepare(kind)
        if trees.trees == "auto":
            scores = self._try_trees(X, y, sample_weight, trees)
            trees = prepare("all" if scores[1] > scores[0] else "projective")
            trees = trees._replace(scores=scores)
        # Standard error may be closed.
        if self.verbose and kind == "auto" and trees.share and sys.stderr is not None:
            print(tell_trees(trees.trees, trees.share, trees.scores), file=sys.stderr)
        return trees

    def _try_trees(self, X, y, sample_weight, trees):
        """Return the UAS of both kinds of trees on a tenth of KnownTrees, learned from the rest."""
        annotated = trees.annotated
        if annotated.size < MIN_SENTENCES:
            return [0.0, 0.0]
        held_out = annotated[set_aside(annotated.size, TRIED_ON, check_random_state(0))]
        chosen = np.setdiff1d(np.arange(trees.kept.size), held_out)
        own, scores = trees.kept[chosen], []
        part = X.take(own), take_entries(y, own)
        weights = None if sample_weight is None else np.asarray(sample_weight)[own]
        rest, known = X.take(trees.kept[held_out]), trees.take(held_out).given
        for kind in TREES:
            model = copy(self)
            vars(model).update(
                trees=kind, calibrate=False, warm_start=False, verbose=0, _skl_callbacks=[]
            )
            with warnings.catch_warnings(action="ignore"):  # the fit to all trees warns
                found = np.concatenate(model._fit(*part, weights).predict(rest))
            scores.append(float(np.mean((found == known)[known > UNKNOWN])))
        return scores

    @property
    def _goes_on(self):
        """Whether `fit` goes on from an earlier fit."""
        return self.warm_start and hasattr(self, "weights_")

    def _learn_from(self, start, examples, chosen, validate, rng):
        """Train on the chosen examples; return fitted attributes."""
        weights, learned = self._learn_weights(start, examples, chosen, validate, rng)
        known = examples.take(chosen)
        mask = mask_labels(known.heads, known.labels, weights.label_mask)
        return {
            "columns_": start.columns.names,
            "vocabulary_": start.vocabulary,
            "labels_": start.labels,
            "trees_": examples.trees,
            "weights_": weights._replace(label_mask=mask),
            **learned,
        }

    def _calibrate(self, start, examples, given, learned, chosen, held_out, rng):
        """Learn to correct probabilities, on trees not used in training; return attributes.

        The trees were set aside; if none were, each half is parsed by a model of the other half.
        """
        if held_out.size:
            parts = [(learned, examples, held_out)]
        else:
            halves = np.array_split(rng.permutation(chosen), 2)
            parts = (
                (*self._learn_half(start, examples, np.sort(half), rng), other)
                for half, other in (halves, halves[::-1])
            )
        answers = []
        for of_part, encoded, others in parts:
            model = copy(self)
            vars(model).update(of_part)
            part = encoded._replace(heads=given).take(others)
            batch = Batch(part.codes, part.indptr)
            labels = np.where(part.heads < 0, -1, part.labels)
            answers.append(model._answer(batch, part.heads, labels, part.weights))
        return learn_calibrations(answers)

    def _learn_half(self, start, examples, half, rng):
        """Train on half of the examples; return attributes, and examples encoded by that half."""
        codes = forget_rare(
            start.columns.names, examples.codes, examples.take(half).codes, self.min_count
        )
        examples = examples._replace(codes=codes)
        return self._learn_from(start, examples, half, None, rng), examples

    def _check_unchanged(self, name, before, now):
        """Raise a ValueError if a parameter differs from the last fit, which is continued."""
        if now != before:
            raise ValueError(
                f"warm_start continues a fit with {name}={before!r}, but now "
                f"{name}={getattr(self, name)!r}. Leave it as it was."
            )

    def _encode_examples(self, trees, start, rng):
        """Return the Examples of trees; a subclass may add tags, and copies drawn with `rng`."""
        return Examples(
            codes=encode_columns(start.columns, trees.sentences, trees.indptr),
            indptr=trees.indptr,
            heads=trees.heads,
            labels=encode_labels(trees.labels, start.labels),
            tags=None,
            weights=trees.weights,
            lessons=trees.sentences.lessons,
            trees=trees.trees,
        )

    def score_arcs(self, X: Sentences) -> ObjectArray:
        """Score all arcs of sentences.

        The probability of a tree with one root, projective unless `trees_` is "all", is
        proportional to the exponential of the sum of its arc scores.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`predict`.

        Returns
        -------
        scores : object ndarray of shape (n_sentences,)
            ``scores[i]`` has shape (n_tokens_i, n_tokens_i + 1): in row m, column 0 is the score of
            token m + 1 as the root, and column h that of token h as its head. The score of a token
            as its own head is -inf.

        Raises
        ------
        ValueError
            If X or a sentence is empty.
        TypeError
            If symbols are not strings, or columns are requested for plain symbols.

        See Also
        --------
        predict_marginals : The probabilities of arcs.
        sklearn_shag.parsing.Potentials : Takes scores, to which others may be added, in one flat
            array.

        Examples
        --------
        The tree with the highest sum is the most probable one:

        >>> import numpy as np
        >>> from sklearn_shag import CRFParser
        >>> from sklearn_shag.datasets import load_english
        >>> from sklearn_shag.parsing import Potentials, best_trees
        >>> trees = load_english().data
        >>> parser = CRFParser(["upos"], n_features=2**12, decoder="viterbi", random_state=0)
        >>> arcs = parser.fit(trees[:50]).score_arcs(trees[:1])[0]
        >>> found, _ = best_trees(None, Potentials(np.array([0, len(arcs)]), arcs=arcs.ravel()))
        >>> bool((found[0] == parser.predict(trees[:1])[0]).all())
        True
        """
        return object_array(ask(self, _list_scores, self._batch(X)))


class ArcLabeller(Labeller):
    """Labels by scores, whose probabilities are as an ArcParser has learned to correct them."""

    def __init__(self, parser, batch):
        self.names, self._parser, self._batch = parser.labels_, parser, batch

    def proba(self, scores):
        return self._parser._correct_labels(softmax(scores.astype(np.float64), axis=1))


def _list_scores(forest):
    scores = list_marginals(forest.batch, forest.scored.potentials.arcs)  # in their layout
    for of_sentence in scores:
        np.fill_diagonal(of_sentence[:, 1:], -np.inf)
    return scores


class KnownTrees(NamedTuple):
    """Sentences with some known heads, and with trees that have these heads."""

    kept: np.ndarray  # (n_kept,): indices among the given sentences
    sentences: list
    symbols: list  # of each sentence
    labels: list  # of each sentence, "_" if not known
    indptr: np.ndarray  # (n_kept + 1,)
    heads: np.ndarray  # (n_tokens,): lifted, -1 where they are not known
    given: np.ndarray  # (n_tokens,): heads before lifting
    weights: np.ndarray  # (n_kept,): positive
    n_lifted: int
    n_left_out: int
    trees: str  # the kind of these trees, "projective" or "all"; "auto" if that is open
    share: float  # of the known arcs before lifting, those that are not projective
    scores: list | tuple = ()  # of both kinds, if "auto" had to try them

    def take(self, chosen):
        """Return the KnownTrees of the sentences `chosen`, an int array, in their order."""
        indptr, tokens = places_of(self.indptr, chosen)
        return self._replace(
            kept=self.kept[chosen],
            sentences=self.sentences.take(chosen),
            symbols=[self.symbols[s] for s in chosen],
            labels=[self.labels[s] for s in chosen],
            indptr=indptr,
            heads=self.heads[tokens],
            given=self.given[tokens],
            weights=self.weights[chosen],
        )

    @property
    def annotated(self):
        """The indices of sentences with a head that no teacher has guessed."""
        return np.flatnonzero(np.maximum.reduceat(self.given, self.indptr[:-1]) > UNKNOWN)

    def report(self):
        """Return the fitted attributes that tell about these trees."""
        return {
            "n_lifted_": self.n_lifted,
            "n_left_out_": self.n_left_out,
            "nonprojective_share_": self.share,
            "trees_scores_": list(self.scores),
        }

    def merge(self):
        """Merge sentences with the same symbols and heads, adding up their weights."""
        tokens = np.split(np.column_stack([self.given, self.heads]), self.indptr[1:-1])
        keys = [
            (tuple(symbols), heads.tobytes())
            for symbols, heads in zip(self.symbols, tokens, strict=True)
        ]
        chosen, group = group_equal(keys)
        return self.take(chosen)._replace(weights=np.bincount(group, self.weights))


def prepare_trees(
    X, y, sample_weight, nonprojective, trees="projective", *, raw=False, max_length=None
):
    """Check trees and weights as users give them, and keep those to learn from.

    Parameters
    ----------
    X, y
        As for ``fit``; heads may be -1.
    sample_weight : None or array-like of shape (n_sentences,)
    nonprojective : {"lift", "drop"}
        Treatment of whole trees that are not projective. Partial trees without a projective
        completion are left out.
    trees : {"projective", "all", "auto"}, default="projective"
        With "all", no tree with one root is lifted or left out. "auto" chooses by the share of arcs
        that are not projective. Where that does not decide, trees are as with "all".
    raw : bool, default=False
        Whether to keep sentences without known heads; without `y`, no heads are known.
    max_length : None or int, default=None
        Longer sentences are left out.

    Returns
    -------
    trees : KnownTrees
        Without sentences of weight 0 and, unless `raw`, without sentences that have no known heads.

    Raises
    ------
    ValueError
        If something is not as it must be, or no sentence is left.

    Warns
    -----
    UserWarning
        If sentences are left out since no such tree with one root has their heads.
    """
    y = list(y) if is_collection(y) else y
    sentences, symbols = check_sentences(X)
    lengths = [len(sentence) for sentence in symbols]
    if raw and y is None:  # heads of trees in X do not count
        y = [[UNKNOWN] * n_tokens for n_tokens in lengths]
    given = check_heads(sentences, y, partial=True)
    labels = list_labels(sentences, given, y)
    given = np.split(given, np.cumsum(lengths)[:-1])
    weights = check_sample_weight(sample_weight, sentences)
    if max_length is not None:
        weights = _leave_out_long(np.array(lengths), weights, max_length)
    known = [s for s in np.flatnonzero(weights) if given[s].max() > UNKNOWN]
    given_heads = [given[s] for s in known]
    lessons = [sentences.lessons[s] for s in known] if len(sentences.lessons) else []
    share = _share_nonprojective(given_heads, lessons)
    if trees == "auto" and not FEW_CROSSING <= share <= MANY_CROSSING:
        trees = "all" if share > MANY_CROSSING else "projective"
    learnable = keep_learnable(given_heads, nonprojective, trees)
    heads = dict(zip(compress(known, learnable.kept), learnable.heads, strict=True))
    n_left_out = len(known) - len(heads)
    if raw:
        heads.update((s, given[s]) for s in np.flatnonzero(weights) if given[s].max() == UNKNOWN)

    def sort_key(s):
        """Return everything in a sentence that parsers may read or learn."""
        names = (name for name in PLACES if name != "deprels")
        columns = [getattr(sentences[s], name, None) or () for name in names]
        return list(symbols[s]), given[s].tolist(), weights[s], columns, list(labels[s])

    kind = name_tree(trees == "projective")
    # Results must not depend on the order of the sentences, to the last bit.
    kept = sorted(heads, key=sort_key)
    if not kept:
        raise ValueError(
            f"X holds no sentence to learn from: of {len(sentences)}, {n_left_out} have known "
            f"heads but no {kind} with one root that has them; the others have no known "
            f"heads or a weight of zero."
        )
    if n_left_out:
        warn(
            f"{n_left_out} of {len(sentences)} sentences are left out of training, since no "
            f"{kind} with one root has their heads.",
            UserWarning,
        )
    for s, lesson in enumerate(sentences.lessons):
        given[s] = given[s] if lesson is None else lesson.heads
    return KnownTrees(
        np.array(kept),
        sentences.take(kept),
        [symbols[s] for s in kept],
        [labels[s] for s in kept],
        np.array(list(accumulate((lengths[s] for s in kept), initial=0))),
        np.concatenate([heads[s] for s in kept]),
        np.concatenate([given[s] for s in kept]),
        weights[kept],
        int(learnable.lifted.sum()),
        n_left_out,
        trees,
        share,
    )


def _share_nonprojective(heads, lessons):
    """Return the share of known arcs that are not projective; guesses count if there are no others.

    Where a teacher has guessed heads, its lesson holds those that are known.
    """
    known = [own if lesson is None else lesson.heads for own, lesson in zip_longest(heads, lessons)]
    known = known if max((own.max() for own in known), default=UNKNOWN) > UNKNOWN else heads
    n_known = sum(np.count_nonzero(own > UNKNOWN) for own in known)
    return sum(len(nonprojective_arcs(own)) for own in known) / max(int(n_known), 1)


def tell_trees(trees, share, scores):
    """Tell in a sentence the chosen kind of trees, and why; arguments are as in KnownTrees."""
    why = ""
    if len(scores):
        of_projective, of_all = (f"{100 * score:.1f}" for score in scores)
        why = f" (UAS on a tenth set aside: projective {of_projective}, all {of_all})"
    return f"{100 * share:.2g} % of the arcs are not projective: sums are over {trees} trees{why}."


def _leave_out_long(lengths, weights, max_length):
    """Return the weights of sentences, 0 for sentences longer than `max_length`."""
    if not weights[lengths <= max_length].any():
        raise ValueError(
            f"All sentences of X have more than max_length={max_length} tokens, the shortest "
            f"{lengths[weights > 0].min()}: none is left to learn from. Raise max_length, or set "
            f"it to None."
        )
    return np.where(lengths <= max_length, weights, 0.0)


def count_known_labels(trees, symbols):
    """Count the relations of arcs in KnownTrees that are not merged; return attributes."""
    labels = collect_labels(trees.labels)
    codes, indptr = encode_sentences(trees.symbols, symbols, check=False)
    of_tokens = encode_labels(trees.labels, labels)
    of_tokens[codes == symbols.size] = -1  # labels of unknown symbols do not count
    encoded = EncodedTrees(
        symbols, codes, trees.given, indptr, labels, of_tokens, trees.weights, trees.kept
    )
    return {"labels_": labels, "label_counts_": count_labels(encoded)}


def mask_labels(heads, labels, before):
    """Collect the labels of arcs between tokens, and of arcs from the root.

    Parameters
    ----------
    heads, labels : int ndarrays of shape (n_tokens,)
        -1 where they are not known.
    before : bool ndarray of shape (2, n_labels)
        The mask of the previous fit.

    Returns
    -------
    mask : bool ndarray of shape (2, n_labels)
        All labels are in the row of a kind of arcs that has none.
    """
    mask = before.copy()
    known = (heads >= 0) & (labels >= 0)
    mask[(heads[known] == 0).astype(int), labels[known]] = True
    mask[~mask.any(axis=1)] = True
    return mask


def mask_scores(scores, heads, mask):
    """Set scores of labels of arcs, (n_arcs, n_labels), to -inf outside a mask of labels.

    So "root" is the relation of roots, and of nothing else, for any scores.
    """
    return np.where(mask[(heads == 0).astype(int)], scores, -np.inf)
