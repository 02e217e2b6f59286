"""Training in passes over sentences, some of which may be set aside to say when to stop."""

import numpy as np

from sklearn_shag.parsing import Batch, parse_heads


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
            "from. Give more of them, or early_stopping=False."
        )
    order = rng.permutation(n_sentences)
    n_held_out = min(max(round(fraction * n_sentences), 1), n_sentences - 1)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def attachment_score(rungs, codes, indptr, trees, held_out):
    """Compute the attachment score on some trees.

    Parameters
    ----------
    rungs : list of Rung
    codes : int ndarray of shape (n_tokens, n_columns)
    indptr : int ndarray of shape (n_held_out + 1,)
    trees : KnownTrees
    held_out : int ndarray of shape (n_held_out,)
        Which of the trees.

    Returns
    -------
    score : float
    """
    heads = np.concatenate(parse_heads(rungs, Batch([], codes, indptr, None), decoder="mbr"))
    true = np.concatenate([trees.given[slice(*trees.indptr[[s, s + 1]])] for s in held_out])
    weighted = np.repeat(trees.weights[held_out], np.diff(indptr)) * (true >= 0)
    return float(weighted @ (heads == true) / weighted.sum())


def repeat_passes(learn, average, validate, max_iter, n_iter_no_change):
    """Go over sentences until that does not help, or `max_iter` times.

    Parameters
    ----------
    learn : callable
        Goes over the sentences once and returns the mean loss.
    average : callable
        Returns what has been learned so far.
    validate : None or callable
        Takes what has been learned and returns a score; None if no sentences are set aside.
    max_iter, n_iter_no_change : int

    Returns
    -------
    learned : object
        With the best score, if there are scores.
    history : dict
        The fitted attributes that tell of training.
    """
    best, losses, scores, since = None, [], [], 0
    while len(losses) < max_iter and since < n_iter_no_change:
        losses.append(learn())
        if validate is not None:
            learned = average()
            scores.append(validate(learned))
            since += 1
            if scores[-1] > max(scores[:-1], default=-1.0):
                best, since = learned, 0
    history = {"loss_curve_": losses, "validation_scores_": scores, "n_iter_": len(losses)}
    return average() if validate is None else best, history
