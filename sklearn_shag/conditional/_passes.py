"""Training in passes over sentences, some of which may be set aside to say when to stop."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import Batch, take_sentences
from sklearn_shag.parsing import Forest


class Examples(NamedTuple):
    """Sentences, and what is known of them."""

    codes: np.ndarray  # (n_tokens, n_columns)
    indptr: np.ndarray  # (n_sentences + 1,)
    heads: np.ndarray  # (n_tokens,), -1 where they are not known
    labels: np.ndarray  # (n_tokens,), the same, of tokens with a known head
    tags: np.ndarray | None  # (n_tokens, n_columns), the same
    weights: np.ndarray  # (n_sentences,)

    _by_token = ("codes", "heads", "labels", "tags")
    _by_sentence = ("weights",)


def set_aside(n_sentences, fraction, rng):
    """Say which sentences are for training, and which for early stopping.

    Parameters
    ----------
    n_sentences : int
    fraction : float
        Of the sentences, for early stopping; 0 for none.
    rng : RandomState

    Returns
    -------
    chosen, held_out : int ndarrays
        Sorted.

    Raises
    ------
    ValueError
        If there is a single sentence.
    """
    if not fraction:
        return np.arange(n_sentences), np.arange(0)
    if n_sentences < 2:
        raise ValueError(
            "early_stopping sets sentences aside, but X holds a single one that can be learned "
            "from. Give more sentences, or set early_stopping=False."
        )
    order = rng.permutation(n_sentences)
    n_held_out = min(max(round(fraction * n_sentences), 1), n_sentences - 1)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def make_validation(score, trees, examples, held_out):
    """Say how good what was learned is on the trees that are set aside; None if there are none.

    Parameters
    ----------
    score : callable
        Takes what was learned, and a Batch, and returns what is known of it, Scored.
    trees : KnownTrees
    examples : Examples
        The same.
    held_out : int ndarray
        Which of them are set aside.

    Returns
    -------
    validate : None or callable
        Takes what was learned, and returns the attachment score of the trees that it finds.
    """
    if not held_out.size:
        return None
    examples, heads = take_sentences(examples, held_out), take_sentences(trees, held_out).given
    weighted = np.repeat(examples.weights, np.diff(examples.indptr)) * (heads >= 0)

    def validate(learned):
        batch = Batch(examples.codes, examples.indptr)
        found = Forest(partial(score, learned), batch).best("mbr")
        return float(weighted @ (found == heads) / weighted.sum())

    return validate


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
    roots=0,
    validate=None,
    patience=1,
):
    """Go over sentences until that does not help, or `max_iter` times.

    Parameters
    ----------
    trainer : object
        Its ``learn(batch)`` takes a step for some examples and returns the sum of their losses,
        ``is_finite()`` tells whether nothing has left the range of numbers, and ``average()``
        returns what has been learned so far.
    examples : Examples
    chosen : int ndarray
        Which of them are learned from.
    max_iter, batch_size : int
        Passes, and tokens of a batch.
    rng : RandomState
    advice : str
        What to lower where the range of numbers is left, for the message.
    advance : callable
        Called after each pass.
    roots : int, default=0
        How many rows each sentence has beside its tokens.
    validate : None or callable, default=None
        Takes what has been learned and returns a score; None if no sentences are set aside.
    patience : int, default=1
        After how many passes without a better score it ends.

    Returns
    -------
    learned : object
        With the best score, if there are scores.
    history : dict
        The fitted attributes that tell of training.

    Raises
    ------
    ValueError
        If the range of numbers is left.
    """
    lengths, total = np.diff(examples.indptr) + roots, examples.weights[chosen].sum()
    best, losses, scores, since = None, [], [], 0
    while len(losses) < max_iter and since < patience:
        batches = cut_into_batches(lengths, rng.permutation(chosen), batch_size)
        loss = sum(trainer.learn(take_sentences(examples, batch)) for batch in batches) / total
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
    history = {"loss_curve_": losses, "validation_scores_": scores, "n_iter_": len(losses)}
    return trainer.average() if validate is None else best, history


def cut_into_batches(lengths, order, batch_size):
    """Cut sentences, in some order, into batches of about `batch_size` tokens, at least one each.

    Parameters
    ----------
    lengths : int ndarray of shape (n_sentences,)
    order : int ndarray
        Which sentences.
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
