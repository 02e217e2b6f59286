"""Checks that heads are a dependency tree, or the known part of one."""

from numbers import Number

import numpy as np

from sklearn_shag.utils._messages import shorten

UNKNOWN = -1  # in place of a head that is not known


def as_heads(values, where):
    """Make an array of heads of whole numbers of any numeric type.

    Parameters
    ----------
    values : array-like of shape (n_tokens,)
        Integers, or floats without a fraction; no booleans, which numpy would take for 0 and 1.
    where : str
        What the message calls them.

    Returns
    -------
    heads : int64 ndarray of shape (n_tokens,), not `values` itself

    Raises
    ------
    ValueError
        If they are anything else. Whether they are a tree is another question.
    """
    try:
        # Numbers in an array of objects are numbers all the same.
        items = values.tolist() if getattr(values, "dtype", None) == np.object_ else values
        given = np.asarray(items)
        holds_booleans = not isinstance(items, np.ndarray) and any(
            isinstance(item, bool | np.bool_) for item in items
        )
    except (TypeError, ValueError):  # no sequence, or a ragged one
        given, holds_booleans = np.empty(0, dtype=object), False
    if (
        holds_booleans
        or given.ndim != 1
        or given.dtype.kind not in "iuf"
        or (given.dtype.kind == "f" and not np.all(np.isfinite(given) & (given == np.floor(given))))
    ):
        advice = ". If it is a head of a single sentence, put that in a list: [heads]."
        raise ValueError(
            f"{where} must be a flat sequence of whole numbers, the head of each token; got "
            f"{shorten(values)}{advice if isinstance(values, Number) else ''}"
        )
    return given.astype(np.int64)


def check_tree(values, where, n_tokens=None, forms=None):
    """Check that heads are a tree over a sentence, or part of one, and copy them.

    Parameters
    ----------
    values, where
        As for :func:`as_heads`.
    n_tokens : None or int, default=None
        Of the sentence; None for any but an empty one.
    forms : None or sequence of str, length n_tokens, default=None
        By which the message names a token as well.

    Returns
    -------
    heads : int64 ndarray of shape (n_tokens,), not `values` itself

    Raises
    ------
    ValueError
    """
    heads = as_heads(values, where)
    if n_tokens is None and not heads.size:
        raise ValueError(f"{where} holds no heads; remove empty sentences.")
    if n_tokens not in (None, heads.size):
        raise ValueError(f"{where} holds {heads.size} heads for a sentence of {n_tokens} tokens.")
    error = find_head_error(heads.tolist())
    if error is not None:
        token, message = error
        place = f"token {token} ({shorten(forms[token - 1])}):" if forms else f"at token {token},"
        raise ValueError(f"{where} is not a tree: {place} {message}.")
    return heads


def find_head_error(heads):
    """Find the first reason why `heads` is not a tree over its tokens, or the known part of one.

    Parameters
    ----------
    heads : sequence of int, length n_tokens
        The head of each token, 1-based, 0 for the root, -1 where it is not known.

    Returns
    -------
    error : None or tuple (token, message)
        None for a tree, which may have several roots, and for a part of a tree with one root.
        Otherwise the 1-based position of the token where the error shows, the problem and the
        remedy: how to convert the heads, if they are a tree by another convention.
    """
    error = _find_error(heads)
    if error is None:
        return None
    token, problem, remedy = error
    return token, f"{problem}; {advise_on_convention(heads) or remedy}"


def advise_on_convention(heads):
    """Say how to convert heads that are a tree by another convention; None if they are not."""
    conventions = (
        (
            [0 if head == i else head + 1 for i, head in enumerate(heads)],
            "from 0 and the root points at itself, as in spaCy",
            "[0 if head == i else head + 1 for i, head in enumerate(heads)]",
        ),
        (
            [0 if head == i else head for i, head in enumerate(heads, start=1)],
            "from 1 and the root points at itself",
            "[0 if head == i else head for i, head in enumerate(heads, start=1)]",
        ),
        (
            [head + 1 for head in heads],
            "from 0 and the root has -1",
            "[head + 1 for head in heads]",
        ),
    )
    fitting = [
        f"if heads count {convention}, convert them: {code}"
        for converted, convention, code in conventions
        if ("-1" in convention) == (UNKNOWN in heads)
        and converted.count(0) == 1
        and UNKNOWN not in converted
        and _find_error(converted) is None
    ]
    return "; ".join(fitting) or None


def _find_error(heads):
    """Return the token, the problem and the remedy of heads; None for a tree."""
    n_tokens = len(heads)
    if n_tokens and not UNKNOWN <= min(heads) <= max(heads) <= n_tokens:
        is_outside = [not UNKNOWN <= head <= n_tokens for head in heads]
        token = is_outside.index(True) + 1
        return (
            token,
            f"head {shorten(heads[token - 1])} is outside 0..{n_tokens}",
            "a head is the position of a token, counted from 1, or 0 for the root",
        )
    if n_tokens and 0 not in heads and UNKNOWN not in heads:
        return 1, "no token has head 0, so the tree has no root", "give its root the head 0"
    if UNKNOWN in heads and heads.count(0) > 1:
        first = heads.index(0) + 1
        second = heads.index(0, first) + 1
        problem = f"it has head 0, and so has token {first}, but a tree has one root"
        return second, problem, "where some heads are not known (-1), give one token the head 0"
    # Follow the heads upwards from every token; a token met twice on one way up is in a cycle.
    walk_of = [0] * (n_tokens + 1)
    for start in range(1, n_tokens + 1):
        token = start
        while token > 0 and not walk_of[token]:
            walk_of[token] = start
            token = heads[token - 1]
        if token > 0 and walk_of[token] == start:
            problem = f"the head chain of token {token} comes back to it: a cycle"
            return token, problem, "correct one of its heads"
    return None


def list_way_up(heads, token, max_length=np.inf):
    """List a token and its ancestors, up to the root 0 or to a token with an unknown head.

    Parameters
    ----------
    heads : sequence of int, length n_tokens
        A tree, or the known part of one.
    token : int
        1-based.
    max_length : int, default=inf
        The largest number of ancestors.

    Returns
    -------
    way : list of int
        From the token upwards.
    """
    way = [token]
    while way[-1] and len(way) <= max_length and heads[way[-1] - 1] != UNKNOWN:
        way.append(heads[way[-1] - 1])
    return way


def follow_heads(heads):
    """Follow the heads of all tokens upwards, side by side.

    Parameters
    ----------
    heads : int array-like of shape (n_tokens,)
        A tree, or the known part of one.

    Returns
    -------
    depths : int ndarray of shape (n_tokens,)
        The number of arcs to the end, arcs to unknown heads included.
    ends : int ndarray of shape (n_tokens,)
        0 for the root, -1 where a head on the way is not known.
    """
    up = np.concatenate([[0], heads])
    ends = np.arange(1, up.size)
    depths = np.zeros(ends.size, dtype=np.int64)
    while np.any(moving := ends > 0):
        depths += moving
        ends = np.where(moving, up[ends], ends)
    return depths, ends


def is_projective(heads):
    """Tell whether no two known arcs cross; arcs from the root start left of all tokens.

    Parameters
    ----------
    heads : sequence of int, length n_tokens
        A tree, or the known part of one (see :func:`find_head_error`).

    Returns
    -------
    bool
    """
    # Scan left to right with a stack of the right ends of the open arcs: arcs that open at one
    # position do so longest first, and one that ends behind the innermost open arc crosses it.
    opening = [[] for _ in range(len(heads) + 1)]
    for token, head in enumerate(heads, start=1):
        if head >= 0:
            opening[min(head, token)].append(max(head, token))
    open_ends = []
    for position, ends in enumerate(opening):
        while open_ends and open_ends[-1] <= position:
            open_ends.pop()
        for end in sorted(ends, reverse=True):
            if open_ends and end > open_ends[-1]:
                return False
            open_ends.append(end)
    return True
