"""Heads as a chart can learn from them: parts of projective trees with one root."""

from itertools import compress
from typing import Literal, NamedTuple

import numpy as np

from sklearn_shag.parsing._parse import has_tree
from sklearn_shag.treebank import Heads, allowed_arcs, arcs_left_by, lift, list_known_heads
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import StrOptions, validate_params
from sklearn_shag.utils._typing import BoolArray, IntArray


class ProjectiveHeads(NamedTuple):
    """Heads of the sentences that a chart can learn from.

    The chart sums over projective trees with one root: other heads have no probability there.

    Attributes
    ----------
    heads : list of int ndarrays of shape (n_tokens_i,)
        Of the sentences that are kept, in their order: 1-based, 0 for the root, -1 where they are
        not known.
    kept : bool ndarray of shape (n_sentences,)
        Which sentences these are.
    lifted : bool ndarray of shape (n_sentences,)
        Which of them have other heads than they had.

    See Also
    --------
    projectivize : Makes them.

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
    """Tell of which sentences some projective tree with one root has all known heads.

    Parameters
    ----------
    heads : sequence of length n_sentences
        As for :func:`~sklearn_shag.treebank.allowed_arcs`.

    Returns
    -------
    possible : bool ndarray of shape (n_sentences,)
        Of whole trees, whether they are projective and have one root.

    Raises
    ------
    ValueError
        If the heads of a sentence are neither a tree nor part of one.
    TypeError
        If `heads` is no sequence.

    See Also
    --------
    projectivize : Keeps these, and lifts others.

    Notes
    -----
    It is not enough that no known arcs cross. In the third sentence below, token 4 depends on
    token 2, and token 1 on token 4. So the head of token 2 is below the arc from 4 to 1, and all
    that can be there depends on token 2.

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
    """Make heads such that a chart can learn from them, and leave out what cannot be made so.

    Parameters
    ----------
    heads : sequence of length n_sentences
        As for :func:`~sklearn_shag.treebank.allowed_arcs`.
    nonprojective : {"lift", "drop"}, default="lift"
        What becomes of whole trees with one root whose arcs cross: they are lifted, see
        :func:`~sklearn_shag.treebank.lift`, or left out.

    Returns
    -------
    projective : ProjectiveHeads
        Without whole trees with several roots, and without partial ones that no projective tree
        with one root completes.

    Raises
    ------
    ValueError
        If the heads of a sentence are neither a tree nor part of one.
    TypeError
        If `heads` is no sequence.

    See Also
    --------
    has_projective_completion : Which sentences need no change.
    sklearn_shag.treebank.lift : Of one tree.

    Examples
    --------
    >>> from sklearn_shag.parsing import projectivize
    >>> found = projectivize([[2, 0], [3, 4, 0, 3], [3, 4, -1, -1], [0, 0]])
    >>> found.heads
    [array([2, 0]), array([3, 3, 0, 3])]
    >>> found.kept, found.lifted
    (array([ True,  True, False, False]), array([False,  True, False, False]))
    """
    known = list_known_heads(heads)
    kept = np.array([has_tree(arcs) for arcs in arcs_left_by(known)], dtype=bool)
    lifted = np.zeros(kept.size, dtype=bool)
    for s in np.flatnonzero(~kept) if nonprojective == "lift" else ():
        if known[s].min() > UNKNOWN and np.count_nonzero(known[s] == 0) == 1:
            known[s] = lift(known[s])
            kept[s] = lifted[s] = True
    return ProjectiveHeads(list(compress(known, kept)), kept, lifted)
