"""Training in passes over sentences, some of which may be set aside for early stopping."""

from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import Batch, places_of, take_entries
from sklearn_shag.parsing import Forest
from sklearn_shag.utils._arrays import divide_by_sum


class Lesson(NamedTuple):
    """A sentence as its teacher sees it."""

    heads: np.ndarray  # (n_tokens,), those that are known, or -1
    arcs: np.ndarray | None = None  # (n_arcs,), marginals; None for its tree alone
    # By kind, "labels" or a column, probabilities of values, (n_tokens, n_values); those of labels
    # are given the heads of its tree. Kinds that are missing are known, or as in its tree.
    shares: dict = {}
    names: dict = {}  # by kind, the values
    trees: str = "projective"  # the kind of trees that `arcs` are marginals of


class Examples(NamedTuple):
    """Encoded sentences, with known heads, labels and tags."""

    codes: np.ndarray  # (n_tokens, n_columns)
    indptr: np.ndarray  # (n_sentences + 1,)
    heads: np.ndarray  # (n_tokens,), -1 where they are not known
    labels: np.ndarray  # (n_tokens,), -1 where they or heads are not known
    tags: np.ndarray | None  # (n_tokens, n_columns), -1 where they are not known
    weights: np.ndarray  # (n_sentences,)
    # (n_copies,), the original of each of the last sentences, which are altered copies. They are
    # for training with their originals, and for nothing else.
    copied: np.ndarray = np.zeros(0, dtype=np.int64)
    lessons: list | tuple = ()  # for each sentence a Lesson or None
    # For "labels" and the number of each learned column, its kind in lessons and, for each value,
    # the place of that value there, as found by find_places.
    places: dict = {}
    trees: str = "projective"  # that sums are over, or "all"

    def take(self, chosen):
        """Return the Examples of the sentences `chosen`, an int array, in their order."""
        indptr, tokens = places_of(self.indptr, chosen)
        return self._replace(
            codes=take_entries(self.codes, tokens),
            indptr=indptr,
            heads=self.heads[tokens],
            labels=self.labels[tokens],
            tags=take_entries(self.tags, tokens),
            weights=self.weights[chosen],
            lessons=[self.lessons[s] for s in chosen] if self.lessons else (),
        )

    @property
    def n_originals(self):
        """The number of sentences that are no copies."""
        return self.indptr.size - 1 - self.copied.size

    @property
    def targets(self):
        """The marginals of arcs that are learned in place of heads, or None, of each sentence.

        Marginals of trees that have no probability here would leave the loss without a bound.
        """
        possible = (self.trees, "projective")
        return [
            lesson.arcs if lesson and lesson.trees in possible else None for lesson in self.lessons
        ]

    def shares(self, key, codes, n_values):
        """Return the codes of tokens or, from a teacher, distributions over their values.

        They are certain of what is known, and of codes if the teacher knows none of the values.
        """
        if key not in self.places:
            return codes
        kind, places = self.places[key]
        shares = np.zeros((codes.size, n_values), dtype=np.float32)
        shares[np.arange(codes.size), codes] = 1
        for s, lesson in enumerate(self.lessons):
            if lesson is not None and kind in lesson.shares:
                own = np.pad(lesson.shares[kind].astype(np.float32), ((0, 0), (0, 1)))[:, places]
                own = divide_by_sum(own, axis=1)
                guessed = own.any(axis=1) & ((lesson.heads < 0) | (key != "labels"))
                shares[self.indptr[s] : self.indptr[s + 1]][guessed] = own[guessed]
        return shares

    def with_copies(self, chosen):
        """Return the indices of chosen originals, and of their copies."""
        return np.append(chosen, self.n_originals + np.flatnonzero(np.isin(self.copied, chosen)))


def find_places(lessons, labels, tag_values):
    """Find the labels and tags of a student among its teacher's, for the field `places`."""
    names = dict(chain.from_iterable(each.names.items() for each in filter(None, lessons)))
    own = {"labels": ("labels", labels), **dict(enumerate(tag_values.items()))}
    found = {}
    for key, (kind, values) in own.items():
        if kind in names:
            places = {name: place for place, name in enumerate(names[kind])}
            found[key] = kind, np.array([places.get(value, len(places)) for value in values])
    return found


def without_heads(codes, indptr, tags, weights):
    """Make Examples whose heads and labels are not known; arrays as there."""
    unknown = np.full(indptr[-1], -1)
    return Examples(codes, indptr, unknown, unknown, tags, weights)


def set_aside(n_sentences, fraction, rng):
    """Choose sentences that are not for training, but for early stopping.

    Parameters
    ----------
    n_sentences : int
    fraction : float
        Share of the sentences for early stopping; 0 for none.
    rng : RandomState

    Returns
    -------
    held_out : int ndarray
        Sorted.

    Raises
    ------
    ValueError
        If there is a single sentence.
    """
    if not fraction:
        return np.arange(0)
    if n_sentences < 2:
        raise ValueError(
            "early_stopping sets sentences aside, but X holds a single one that can be learned "
            "from. Give more sentences, or set early_stopping=False."
        )
    n_held_out = min(max(round(fraction * n_sentences), 1), n_sentences - 1)
    return np.sort(rng.permutation(n_sentences)[:n_held_out])


def make_validation(score, trees, examples, held_out):
    """Make a function that scores weights on trees that are set aside.

    Parameters
    ----------
    score : callable
        Takes weights and a Batch, and returns Scored.
    trees : KnownTrees
    examples : Examples
        The same trees, encoded.
    held_out : int ndarray
        Indices of the trees that are set aside.

    Returns
    -------
    validate : None or callable
        Takes weights, and returns the attachment score of their trees; None if `held_out` is empty.
    """
    if not held_out.size:
        return None
    examples, heads = examples.take(held_out), trees.take(held_out).given
    weighted = np.repeat(examples.weights, np.diff(examples.indptr)) * (heads >= 0)

    def validate(learned):
        found = Forest(partial(score, learned), Batch(examples.codes, examples.indptr)).best("mbr")
        return float(weighted @ (found == heads) / weighted.sum())

    return validate


def _watch(batches, advance):
    """Yield batches, and give long passes a chance to say how far they are."""
    for batch in batches:
        yield batch
        advance(0)


def run_passes(
    trainer,
    examples,
    chosen,
    *,
    max_iter,
    batch_size,
    rng,
    advice,
    advance,
    passes,
    roots=0,
    validate=None,
    patience=1,
):
    """Train in passes until the score does not improve any more, or `max_iter` times.

    Parameters
    ----------
    trainer : object
        Its ``learn(batch)`` takes a step for some examples and returns the sum of their losses,
        ``is_finite()`` tells whether all weights are finite, and ``average()`` returns the weights
        learned so far.
    examples : Examples
    chosen : int ndarray
        Indices of the examples to train on.
    max_iter, batch_size : int
        Passes, and tokens of a batch.
    rng : RandomState
    advice : str
        The parameters to lower if numbers are not finite, for the message.
    advance : callable
        Called after each pass, and after each batch with 0.
    passes : FitTask
        Each pass is one of its tasks. Training ends when callbacks ask for it.
    roots : int, default=0
        Number of rows of each sentence beside its tokens.
    validate : None or callable, default=None
        Takes weights and returns a score; None if no sentences are set aside.
    patience : int, default=1
        Number of passes without a better score after which training ends.

    Returns
    -------
    learned : object
        Weights, with the best score if there are scores.
    history : dict
        Fitted attributes about training.

    Raises
    ------
    ValueError
        If the loss or weights are not finite.
    """
    lengths, total = np.diff(examples.indptr) + roots, examples.weights[chosen].sum()
    best, losses, scores, since = None, [], [], 0
    while len(losses) < max_iter and since < patience and not (losses and passes.stops):
        task = passes.begin("pass")
        batches = _watch(cut_into_batches(lengths, rng.permutation(chosen), batch_size), advance)
        loss = sum(trainer.learn(examples.take(batch)) for batch in batches) / total
        if not (np.isfinite(loss) and trainer.is_finite()):
            raise ValueError(
                f"Training has left the range of numbers; the loss is {loss}. Lower {advice}, or "
                f"the weights of sentences."
            )
        losses.append(float(loss))
        advance()
        if validate is not None:
            learned = trainer.average()
            scores.append(validate(learned))
            since += 1
            if scores[-1] > max(scores[:-1], default=-1.0):
                best, since = learned, 0
        task.end(losses[-1], *scores[-1:])
    history = {"loss_curve_": losses, "validation_scores_": scores, "n_iter_": len(losses)}
    return trainer.average() if validate is None else best, history


def cut_into_batches(lengths, order, batch_size):
    """Cut sentences, in some order, into batches of about `batch_size` tokens, at least one each.

    Parameters
    ----------
    lengths : int ndarray of shape (n_sentences,)
    order : int ndarray
        Indices of sentences.
    batch_size : int

    Returns
    -------
    batches : list of int ndarrays
    """
    ends = np.cumsum(lengths[order])
    batch_size = min(batch_size, ends[-1])
    cuts = np.searchsorted(ends, np.arange(batch_size, ends[-1], batch_size)) + 1
    cuts = np.unique([0, *np.minimum(cuts, order.size), order.size])
    return [order[begin:end] for begin, end in pairwise(cuts.tolist())]
