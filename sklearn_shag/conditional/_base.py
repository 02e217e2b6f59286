"""Parsers of the probability of trees given their sentences, and the trees they learn from."""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import accumulate, compress
from numbers import Integral, Real
from typing import NamedTuple

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
    take_sentences,
)
from sklearn_shag.parsing import (
    MIN_SENTENCES,
    ask,
    learn_calibrations,
    list_marginals,
    projectivize,
)
from sklearn_shag.sequences import count_labels
from sklearn_shag.treebank import PLACES, Heads, Sentences
from sklearn_shag.utils._arrays import is_collection, object_array
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._param_validation import Interval, StrOptions, check_sample_weight
from sklearn_shag.utils._typing import FloatArray, ObjectArray

# From so many tokens on trees are set aside to calibrate on: to fit to each half would double the
# time, and of so many the few that are not learned from are hardly missed.
MANY_TOKENS, SET_ASIDE = 100_000, 0.02


class ConditionalParser(Parser):
    """Parser of the probability of trees given their sentences; sentences have no probability."""

    _needs_whole_trees = None  # what is not known is summed over

    def score_samples(self, X: Sentences, y: Heads | None = None) -> FloatArray:
        """Compute the log probability of trees, given their sentences.

        Parameters
        ----------
        X : sequence of length n_sentences
            As for :meth:`fit`.
        y : None or sequence of length n_sentences, default=None
            Heads; None uses those of the trees in X.

        Returns
        -------
        log_probabilities : ndarray of shape (n_sentences,)
            The same as from :meth:`conditional_log_likelihood`.
        """
        return self.conditional_log_likelihood(X, y)


class ArcParser(CalibratedMixin, ConditionalParser):
    """Conditional parser that knows no more than a score for each arc, and learns it in passes.

    A subclass has the parameters below, `min_count` and `random_state`. Its `_start` says where
    training begins, with what sentences hold or with what was learned before; `_learn_weights` goes
    on from there, and `_score_learned` says what is then known of sentences.
    """

    _parameter_constraints = {
        **ConditionalParser._parameter_constraints,
        "columns": [StrOptions({"auto"}), list, tuple],
        "nonprojective": [StrOptions({"lift", "drop"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "calibrate": ["boolean"],
    }

    _deterministic = True

    columns_: tuple[str, ...]
    vocabulary_: dict[str, list[str]]
    labels_: ObjectArray
    loss_curve_: list[float]
    n_iter_: int
    validation_scores_: list[float]
    n_lifted_: int
    n_left_out_: int

    def _fit(self, X, y, sample_weight):
        """Learn from trees, some of which may be set aside to say when to stop."""
        self._check_parsing()
        trees = prepare_trees(X, y, sample_weight, self.nonprojective)
        rng = check_random_state(self.random_state)
        fraction = self.validation_fraction if self.early_stopping else 0
        # What goes on from an earlier fit has seen everything: its correction stays.
        calibrates = self.calibrate and not (self.warm_start and hasattr(self, "weights_"))
        if calibrates and not fraction and trees.indptr[-1] >= MANY_TOKENS:
            fraction = SET_ASIDE
        chosen, held_out = set_aside(trees.kept.size, fraction, rng)
        start = self._start(trees, chosen, rng)
        codes, tags = self._encode_examples(trees, start)
        labels = encode_labels(trees.labels, start.labels)
        examples = Examples(codes, trees.indptr, trees.heads, labels, tags, trees.weights)
        validate, given = None, trees.given
        if self.early_stopping:
            score = partial(self._score_learned, start)
            validate = make_validation(score, trees, examples, held_out)
        counts = {"n_lifted_": trees.n_lifted, "n_left_out_": trees.n_left_out}
        del trees  # unless they stay with the caller, their memory is free for training
        learned = self._learn_from(start, examples, chosen, validate, rng)
        if calibrates:
            learned |= self._calibrate(start, examples, given, learned, chosen, held_out, rng)
        elif not self.calibrate:
            learned |= learn_calibrations([])
        vars(self).update(learned, **counts)
        return self

    def _learn_from(self, start, examples, chosen, validate, rng):
        """Learn from some examples; return attributes."""
        weights, learned = self._learn_weights(start, examples, chosen, validate, rng)
        known = take_sentences(examples, chosen)
        mask = mask_labels(known.heads, known.labels, weights.label_mask)
        return {
            "columns_": start.columns.names,
            "vocabulary_": start.vocabulary,
            "labels_": start.labels,
            "weights_": weights._replace(label_mask=mask),
            **learned,
        }

    def _calibrate(self, start, examples, given, learned, chosen, held_out, rng):
        """Learn to correct probabilities, on trees that were not learned from; return attributes.

        These are trees that were set aside, or else those of each half, parsed by what is learned
        from the other.
        """
        if held_out.size:
            parts = [(learned, examples, held_out)]
        elif chosen.size < MIN_SENTENCES:
            parts = []
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
            part = take_sentences(encoded._replace(heads=given), others)
            batch = Batch(part.codes, part.indptr)
            answers.append(model._answer(batch, part.heads, part.labels, part.weights))
        return learn_calibrations(answers)

    def _learn_half(self, start, examples, half, rng):
        """Learn from half of the examples, encoded as if no others had been seen."""
        known = take_sentences(examples, half).codes
        codes = forget_rare(start.columns.names, examples.codes, known, self.min_count)
        examples = examples._replace(codes=codes)
        return self._learn_from(start, examples, half, None, rng), examples

    def _check_unchanged(self, name, before, now):
        """Check that a parameter which training cannot go on without is that of the last fit."""
        if now != before:
            raise ValueError(
                f"warm_start continues a fit with {name}={before!r}, but now "
                f"{name}={getattr(self, name)!r}. Leave it as it was."
            )

    def _encode_examples(self, trees, start):
        """Encode what the parser reads of trees, and tags that are learned along, or None."""
        return encode_columns(start.columns, trees.sentences, trees.indptr), None

    def _label_by(self, score_labels):
        """Say how to label the arcs of a chunk, as `_labellers` does, given scores of labels."""
        if not self._has_labels:
            return ()

        def label_proba(heads):
            return self._correct_labels(softmax(score_labels(heads).astype(np.float64), axis=1))

        return lambda heads: score_labels(heads).argmax(axis=1), label_proba, self.labels_

    def score_arcs(self, X: Sentences) -> ObjectArray:
        """Score all arcs of sentences.

        The probability of a projective tree with one root is proportional to the exponential of the
        sum of its arc scores.

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
        >>> parser = CRFParser(["upos"], decoder="viterbi", random_state=0).fit(trees)
        >>> arcs = parser.score_arcs(trees[:1])[0]
        >>> found, _ = best_trees(None, Potentials(np.array([0, len(arcs)]), arcs=arcs.ravel()))
        >>> bool((found[0] == parser.predict(trees[:1])[0]).all())
        True
        """
        return object_array(ask(self, _list_scores, self._batch(X)))


def _list_scores(forest):
    scores = list_marginals(forest.batch, forest.scored.potentials.arcs)  # in the same layout
    for of_sentence in scores:
        np.fill_diagonal(of_sentence[:, 1:], -np.inf)
    return scores


class KnownTrees(NamedTuple):
    """Sentences of which some heads are known, and which have projective trees with these heads."""

    kept: np.ndarray  # (n_kept,): which of the sentences that were given
    sentences: list
    symbols: list  # of each sentence
    labels: list  # of each sentence, "_" for those that are not known
    indptr: np.ndarray  # (n_kept + 1,)
    heads: np.ndarray  # (n_tokens,): lifted, -1 where they are not known
    given: np.ndarray  # (n_tokens,): the same, not lifted
    weights: np.ndarray  # (n_kept,): positive
    n_lifted: int
    n_left_out: int

    _by_token = ("heads", "given")
    _by_sentence = ("kept", "sentences", "symbols", "labels", "weights")

    def merge(self):
        """Make one of sentences with the same symbols and heads, of all their weight."""
        tokens = np.split(np.column_stack([self.given, self.heads]), self.indptr[1:-1])
        keys = [
            (tuple(symbols), heads.tobytes())
            for symbols, heads in zip(self.symbols, tokens, strict=True)
        ]
        first_of = {}
        groups = [first_of.setdefault(key, s) for s, key in enumerate(keys)]
        chosen, group = np.unique(groups, return_inverse=True)
        return take_sentences(self, chosen)._replace(weights=np.bincount(group, self.weights))


def prepare_trees(X, y, sample_weight, nonprojective, *, raw=False, max_length=None):
    """Check trees and weights as users give them, and make the trees projective.

    Parameters
    ----------
    X, y
        As for ``fit``; heads may be -1.
    sample_weight : None or array-like of shape (n_sentences,)
    nonprojective : {"lift", "drop"}
        What becomes of whole trees that are not projective. Of others those without a projective
        completion are left out.
    raw : bool, default=False
        Whether sentences of which nothing is known are kept too; without `y` that is all of them.
    max_length : None or int, default=None
        Longer sentences are left out.

    Returns
    -------
    trees : KnownTrees
        Without sentences of weight 0, and, unless they are wanted, those of which nothing is known.

    Raises
    ------
    ValueError
        If something is not as it must be, or no sentence is left.

    Warns
    -----
    UserWarning
        If sentences are left out since no projective tree with one root has their heads.
    """
    y = list(y) if is_collection(y) else y
    sentences, symbols = check_sentences(X)
    lengths = [len(sentence) for sentence in symbols]
    if raw and y is None:  # heads of trees in X are not looked at
        y = [[UNKNOWN] * n_tokens for n_tokens in lengths]
    given = check_heads(sentences, y, partial=True)
    labels = list_labels(sentences, given, y)
    given = np.split(given, np.cumsum(lengths)[:-1])
    weights = check_sample_weight(sample_weight, sentences)
    if max_length is not None:
        weights = _leave_out_long(np.array(lengths), weights, max_length)
    known = [s for s in np.flatnonzero(weights) if given[s].max() > UNKNOWN]
    projective = projectivize([given[s] for s in known], nonprojective=nonprojective)
    heads = dict(zip(compress(known, projective.kept), projective.heads, strict=True))
    n_left_out = len(known) - len(heads)
    if raw:
        heads.update((s, given[s]) for s in np.flatnonzero(weights) if given[s].max() == UNKNOWN)

    def sort_key(s):
        """All that parsers may read or learn of a sentence."""
        names = (name for name in PLACES if name != "deprels")
        columns = [getattr(sentences[s], name, None) or () for name in names]
        return list(symbols[s]), given[s].tolist(), weights[s], columns, list(labels[s])

    # What is learned must not depend on how the sentences were ordered, to the last bit.
    kept = sorted(heads, key=sort_key)
    if not kept:
        raise ValueError(
            f"X holds no sentence to learn from: of {len(sentences)}, {n_left_out} have known "
            f"heads but no projective tree with one root that has them; the others have no known "
            f"heads or a weight of zero."
        )
    if n_left_out:
        warn(
            f"{n_left_out} of {len(sentences)} sentences are left out of training, since no "
            f"projective tree with one root has their heads.",
            UserWarning,
        )
    return KnownTrees(
        np.array(kept),
        sentences.take(kept),
        [symbols[s] for s in kept],
        [labels[s] for s in kept],
        np.array(list(accumulate((lengths[s] for s in kept), initial=0))),
        np.concatenate([heads[s] for s in kept]),
        np.concatenate([given[s] for s in kept]),
        weights[kept],
        int(projective.lifted.sum()),
        n_left_out,
    )


def _leave_out_long(lengths, weights, max_length):
    """Let sentences that are too long weigh nothing."""
    if not weights[lengths <= max_length].any():
        shortest = lengths[weights > 0].min()
        raise ValueError(
            f"All sentences of X have more than max_length={max_length} tokens, the shortest "
            f"{shortest}: none is left to learn from. Raise max_length, or set it to None."
        )
    return np.where(lengths <= max_length, weights, 0.0)


def count_known_labels(trees, symbols):
    """Learn the relations of arcs, as grammars of symbols do; KnownTrees must not be merged."""
    labels = collect_labels(trees.labels)
    codes, indptr = encode_sentences(trees.symbols, symbols, check=False)
    of_tokens = encode_labels(trees.labels, labels)
    of_tokens[codes == symbols.size] = -1  # what is said of an unknown symbol says nothing
    encoded = EncodedTrees(
        symbols, codes, trees.given, indptr, labels, of_tokens, trees.weights, trees.kept
    )
    return {"labels_": labels, "label_counts_": count_labels(encoded)}


def mask_labels(heads, labels, before):
    """Say which labels arcs between tokens have, and which those from the root.

    Parameters
    ----------
    heads, labels : int ndarrays of shape (n_tokens,)
        -1 where they are not known.
    before : bool ndarray of shape (2, n_labels)
        What was seen before.

    Returns
    -------
    mask : bool ndarray of shape (2, n_labels)
        All of them, where arcs of a kind have none.
    """
    mask = before.copy()
    known = (heads >= 0) & (labels >= 0)
    mask[(heads[known] == 0).astype(int), labels[known]] = True
    mask[~mask.any(axis=1)] = True
    return mask


def mask_scores(scores, heads, mask):
    """Leave of the scores of labels of arcs, (n_arcs, n_labels), those within a mask.

    "root" is the relation of roots, and of nothing else: no score may say otherwise.
    """
    return np.where(mask[(heads == 0).astype(int)], scores, -np.inf)
