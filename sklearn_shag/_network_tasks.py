"""What a network makes of a chunk of sentences: potentials, trees, labels, tags."""

from functools import partial

import numpy as np

from sklearn_shag._base_conditional import best_labels
from sklearn_shag.network import label_scores, read
from sklearn_shag.parsing import Rung, packed_unit_grammar, potentials_of_arcs
from sklearn_shag.utils._collections import object_array
from sklearn_shag.utils._parallel import one_blas_thread

__all__ = ["label_batch", "look_up", "parse_batch", "read_batch", "rungs_of", "tag_batch"]


def rungs_of(network):
    """List the one way to parse by a network."""
    return [Rung(packed_unit_grammar(), partial(_potentials, network))]


def _potentials(network, batch):
    return _potentials_of(read_batch(network, batch), batch)


def _potentials_of(reading, batch):
    return potentials_of_arcs(batch.indptr, reading.arcs.astype(np.float64))


def read_batch(network, batch):
    """Read a chunk.

    Raises
    ------
    ValueError
        If its scores are not finite.
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        reading = read(network, batch.codes, batch.indptr)
    _check_finite(reading.arcs)
    return reading


def _check_finite(scores):
    if not np.isfinite(scores).all():
        raise ValueError(
            "The scores that the network gives these sentences are not finite: its weights are too "
            "large for numbers of single precision. Fit it anew, with a smaller learning_rate_init."
        )


def parse_batch(network, label_mask, decode, batch):
    """List heads, labels and tags of sentences, which the network reads once."""
    reading = read_batch(network, batch)
    potentials = _potentials_of(reading, batch)
    # There is a single rung, which has mass for every sentence, so it is asked for all of them.
    heads = decode([Rung(packed_unit_grammar(), lambda _: potentials)])(batch)
    labels = label_batch(network, label_mask, reading, batch, np.concatenate(heads))
    labels, tags = (np.split(codes, batch.indptr[1:-1]) for codes in (labels, reading.tags))
    return list(zip(heads, labels, tags, strict=True))


def label_batch(network, label_mask, reading, batch, heads):
    """Label given arcs of what was read, by -1 if no labels are known."""
    if not label_mask.size:
        return np.full(heads.size, -1)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        scores = label_scores(network, reading, batch.indptr, heads)
    _check_finite(scores)
    return best_labels(scores, heads, label_mask)


def tag_batch(network, batch):
    """List the tags of sentences."""
    return np.split(read_batch(network, batch).tags, batch.indptr[1:-1])


def look_up(names, codes):
    """List the names of the codes of each sentence."""
    return object_array([names[of_sentence] for of_sentence in codes])
