"""N-grams of the letters of words, which unseen words share with known ones."""

from dataclasses import dataclass

import numpy as np

from sklearn_shag.utils._kernel import inlined_kernel, table_kernel

SHORTEST_NGRAM, LONGEST_NGRAM = 2, 5  # n-grams, with a sign before and one after each word
N_LETTER_ROWS = 2**14  # number of hashes; n-grams with the same hash count as equal

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_MULTIPLIERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Spellings:
    """Hashed n-grams of words; a selection of sentences keeps all of them.

    Attributes
    ----------
    begins : int ndarray of shape (n_words + 1,)
        The n-grams of word k are ``rows[begins[k]:begins[k + 1]]``.
    rows : uint16 ndarray of shape (n_ngrams,)
        The hash of each, below N_LETTER_ROWS.
    """

    begins: np.ndarray
    rows: np.ndarray


def spell_words(words, n_before=0):
    """List the n-grams of words.

    Parameters
    ----------
    words : list of str
    n_before : int, default=0
        Number of entries without n-grams before the first word.

    Returns
    -------
    spellings : Spellings
    """
    lengths = np.fromiter(map(len, words), np.int64, len(words)) + 2
    ends = np.concatenate([[0], np.cumsum(lengths)])
    text = "".join(f"<{word}>" for word in words)
    signs = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    sizes = sum(np.maximum(lengths - n + 1, 0) for n in range(SHORTEST_NGRAM, LONGEST_NGRAM + 1))
    begins = np.concatenate([np.zeros(n_before + 1, dtype=np.int64), np.cumsum(sizes)])
    rows = np.empty(begins[-1], dtype=np.uint16)
    _hash_ngrams(signs, ends, rows)
    return Spellings(begins, rows)


@inlined_kernel
def find_bucket(number, begins):
    """Return the bucket of a number; `begins` are the least numbers of all but the first."""
    bucket = 0
    for begin in begins:
        bucket += number >= begin
    return bucket


@inlined_kernel
def mix(x):
    """Hash a number so that each bit depends on all (the last steps of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLIERS[0]
    x = (x ^ (x >> np.uint64(27))) * _MULTIPLIERS[1]
    return x ^ (x >> np.uint64(31))


@table_kernel
def _hash_ngrams(signs, ends, rows):
    place = 0
    for word in range(ends.size - 1):
        for first in range(ends[word], ends[word + 1]):
            key = np.uint64(0)
            for last in range(first, min(first + LONGEST_NGRAM, ends[word + 1])):
                key = mix(key + np.uint64(signs[last]) * GOLDEN)
                if last - first + 1 >= SHORTEST_NGRAM:
                    rows[place] = (key >> np.uint64(32)) % np.uint64(N_LETTER_ROWS)
                    place += 1
