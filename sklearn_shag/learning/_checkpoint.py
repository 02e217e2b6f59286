"""What it takes to go on with EM as if it had never stopped."""

import hashlib
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_shag.utils._typing import BoolArray, ByteArray, IntArray

# The seed of a run that began with the operators of an earlier fit: nothing can begin it again.
NO_SEED = -1


class Checkpoint(NamedTuple):
    """How far a run of EM has come, and which one it is.

    Attributes
    ----------
    digest : uint8 ndarray of shape (32,)
        Of the data and the parameters, but for the number of iterations.
    seed : int64 ndarray of shape ()
        Of all that was left to chance.
    max_iter : int64 ndarray of shape ()
        How many iterations there might have been, over all fits.
    converged : bool ndarray of shape (n,)
        Which parts have converged.
    """

    digest: ByteArray
    seed: IntArray
    max_iter: IntArray
    converged: BoolArray


def make_checkpoint(digest, seed, max_iter, converged):
    seed, max_iter = np.array(seed, np.int64), np.array(max_iter, np.int64)
    return Checkpoint(digest, seed, max_iter, np.array(converged, dtype=bool))


def digest_of(*values):
    """Compute a digest of arrays, text and numbers, and of tuples and lists of them."""
    digest = hashlib.sha256()
    _update(digest, values)
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _update(digest, value):
    if isinstance(value, tuple | list):
        digest.update(f"{len(value)} values".encode())
        for each in value:
            _update(digest, each)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
    else:
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        digest.update(f"{value!r},".encode())


def find_checkpoint(model, digest):
    """Take the checkpoint of an estimator if its last fit was of the same data and parameters."""
    if not (model.warm_start and hasattr(model, "checkpoint_")):
        return None
    return model.checkpoint_ if np.array_equal(model.checkpoint_.digest, digest) else None


def draw_seed(random_state, is_used):
    """Draw the seed of a run, with which it can begin again: a number that is given is that.

    Where nothing is left to chance, it is 0.
    """
    if not is_used:
        return 0
    if isinstance(random_state, Integral):
        return int(random_state)
    return check_random_state(random_state).randint(2**31)
