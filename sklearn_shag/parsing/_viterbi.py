"""The best derivations, one or several: the chart of (max, +), for a chunk and in public.

A derivation is a row of choices from the root down. Those of the best one are read off the chart.
The others leave a better one at some step, for the next best choice there, and go on with the best
choices (Lawler, 1972): since the chart knows what follows a choice, their values are known before
they are followed. Nothing is ever derived twice, so that k derivations take k times the time to
read one off, and the chart is filled once.
"""

from typing import NamedTuple

import numpy as np

from sklearn_shag.encoding import LEFT, RIGHT
from sklearn_shag.operators import Operators
from sklearn_shag.parsing._arborescence_draws import best_all_trees
from sklearn_shag.parsing._chart import CHUNK_COST, check_grammar, cut_chunks, join_in_order
from sklearn_shag.parsing._decoders import push_entry
from sklearn_shag.parsing._potentials import Potentials, as_factors, classes_of, take_potentials
from sklearn_shag.utils._arrays import log_of
from sklearn_shag.utils._kernel import (
    inlined_kernel,
    inner_table_kernel,
    merged_kernel,
    table_kernel,
)
from sklearn_shag.utils._parallel import delayed, run_parallel
from sklearn_shag.utils._simd import LANES, larger_sum, load, store, weight
from sklearn_shag.utils._typing import FloatArray, IntArray


class LogSentence(NamedTuple):
    """Codes and log factors of one sentence of N tokens, each a slice of Factors."""

    codes: np.ndarray  # (N,)
    arcs: np.ndarray  # (N * (N + 1),) or (0,)
    memory: np.ndarray  # (N,) or (0,)
    arc_memory: np.ndarray  # (N * (N + 1), n_classes) or (0, 1)
    stop_memory: np.ndarray  # (N, 2, n_classes) or (0, 2, 1)


class Derivations(NamedTuple):
    """Scores of the best derivations of the parts of a sentence, by the tokens that they span.

    Axis 0 is the side; the first token comes next, the last one at the end.
    """

    complete: np.ndarray  # (2, N, n_states, n_classes, N), halves of the head at one end
    incomplete: np.ndarray  # (2, N, n_states, N), which end with the arc to the other end
    closed: np.ndarray  # (2, N, N), complete ones with STOP
    awaiting: np.ndarray  # (n_states, n_classes, N), before arcs between one token and others
    emitted: np.ndarray  # (n_states,), after one of them


# Choices: the root; the last state and class of a half; its last modifier; and the state, class and
# end of the half that an arc was added to. Choices are numbered, see _best_choice.
ROOT_STEP, END_STEP, MODIFIER_STEP, BEFORE_STEP = map(np.int64, range(4))
ANY = np.inf, np.int64(-1)  # the limit of a first choice


class Step(NamedTuple):
    """A step of a derivation: one thing to choose, of a half or an arc."""

    kind: int
    side: int
    head: int
    end: int  # the last token of the half, or the modifier
    state: int
    last: int  # the class of the last modifier


class Ranking(NamedTuple):
    """The k best derivations of a sentence, and for each step the next best one from there on."""

    choices: np.ndarray  # (k, n_steps)
    others: np.ndarray  # (k, n_steps), the choice by which the other leaves
    values: np.ndarray  # (k, n_steps), of the part of the other that is chosen there
    totals: np.ndarray  # (k, n_steps), of the other in all; -inf where there is none, or no more
    leave: np.ndarray  # (k,), at which step the best of them leaves


def log_factors(factors):
    """Return Factors with logarithms of memory factors; arcs are logarithms already."""
    return factors._replace(
        arc_memory=log_of(factors.arc_memory), stop_memory=log_of(factors.stop_memory)
    )


def best_derivations(grammar, factors, which, heads, scores):
    """Find the best trees of sentences of a chunk.

    Parameters
    ----------
    grammar : LogGrammar
    factors : Factors
        From :func:`log_factors`.
    which : int array
        The sentences to parse.
    heads : int array of shape (k, n_tokens)
        Set to the heads of the k best trees of each, with one root, the best first: of equal ones
        the first met, and some tree also where none is possible.
    scores : array of shape (k, n_sentences)
        Set to the score of each tree, -inf where there are no more.
    """
    n = np.diff(factors.indptr)[which].max(initial=0)
    n_states = grammar.alpha_1.shape[2]
    n_classes = classes_of.py_func(factors)
    width = n + LANES - 1  # the last vectors of a row end behind it
    best = Derivations(
        np.full((2, n, n_states, n_classes, width), -np.inf),
        np.full((2, n, n_states, width), -np.inf),
        np.full((2, n, width), -np.inf),
        np.full((n_states, n_classes, width), -np.inf),
        np.full(n_states, -np.inf),
    )
    agenda = np.empty((2 * n, 3), dtype=np.int64)  # side, head and last token of a half
    k, n_steps = len(heads), 4 * n  # the root, an end for each half, and two steps for each arc
    ranking = Ranking(
        *np.empty((2, k, n_steps), dtype=np.int64),
        *np.empty((2, k, n_steps)),
        np.empty(k, dtype=np.int64),
    )
    _find_all(grammar, factors, which, best, agenda, ranking, heads, scores)


@table_kernel
def _find_all(grammar, factors, which, best, agenda, ranking, heads, scores):
    """Find the best derivations of sentences, one by one, with the same tables for all."""
    indptr, begins = factors.indptr, factors.begins
    for s in which:
        sentence = LogSentence(
            factors.codes[indptr[s] : indptr[s + 1]],
            factors.arcs[begins[s] : begins[s + 1]],
            factors.memory[indptr[s] : indptr[s + 1]],
            factors.arc_memory[begins[s] : begins[s + 1]],
            factors.stop_memory[indptr[s] : indptr[s + 1]],
        )
        for i in range(sentence.codes.size - 1, -1, -1):
            _derive_right_halves(grammar, sentence, i, best)
            _derive_left_halves(grammar, sentence, i, best)
        of_sentence = heads[:, indptr[s] : indptr[s + 1]]
        _rank_derivations(grammar, sentence, best, agenda, ranking, of_sentence, scores[:, s])


@merged_kernel
def _derive_right_halves(grammar, sentence, i, best):
    """Derive the right halves of head i, through every token from it on."""
    complete, closed, n = best.complete[RIGHT, i], best.closed[RIGHT], sentence.codes.size
    closed_left = best.closed[LEFT]
    _begin_half(grammar, sentence, RIGHT, i, best)
    for m in range(i + 1, n + 1):
        closed[i, m - 1] = _best_end(grammar, sentence, RIGHT, i, m - 1, best, ANY)[0]
        if m == n:
            break
        # g[m'] = max_j C[j] + closed[j + 1, m']
        for q in range(complete.shape[0]):
            for c in range(complete.shape[1]):
                _raise_row(best.awaiting[q, c], closed_left[m], complete[q, c], m - 1, m, n)
        _emit_arc(grammar, sentence, RIGHT, i, m, best)
        # C[j'] = max_m I[m] + closed[m, j']
        last = _class_of(sentence, m)
        for q in range(complete.shape[0]):
            _raise_row(complete[q, last], closed[m], best.emitted, q, m, n)


@merged_kernel
def _derive_left_halves(grammar, sentence, i, best):
    """Derive the left halves through token i, of every head from it on."""
    complete, closed, n = best.complete[LEFT, i], best.closed[LEFT], sentence.codes.size
    closed_right = best.closed[RIGHT, i]
    _begin_half(grammar, sentence, LEFT, i, best)
    # g[j] = max_k closed[i, k] + C[k + 1, j]
    for k in range(i, n - 1):
        behind = best.complete[LEFT, k + 1]
        for q in range(complete.shape[0]):
            for c in range(complete.shape[1]):
                _raise_row(best.awaiting[q, c], behind[q, c], closed_right, k, k + 1, n)
    for j in range(i + 1, n):
        _emit_arc(grammar, sentence, LEFT, j, i, best)
    # C[j] = max_m closed[i, m] + I[m, j]
    for m in range(i, n):
        closed[i, m] = _best_end(grammar, sentence, LEFT, m, i, best, ANY)[0]
        incomplete, last = best.incomplete[LEFT, m], _class_of(sentence, m)
        for q in range(complete.shape[0]):
            _raise_row(complete[q, last], incomplete[q], closed[i], m, m + 1, n)


@inlined_kernel
def _raise_row(row, other, scores, k, begin, end):
    # row = max(row, other + scores[k])
    if scores[k] > -np.inf:
        score = weight(scores, (k,))
        for j in range(begin, end, LANES):
            store(row, (j,), larger_sum(load(other, (j,)), score, load(row, (j,))))


@inlined_kernel
def _begin_half(grammar, sentence, side, i, best):
    """Set the half of token i without modifiers, and all others with the first token i to -inf."""
    for q in range(best.awaiting.shape[0]):
        for c in range(best.awaiting.shape[1]):
            for j in range(i, sentence.codes.size):
                best.awaiting[q, c, j] = best.complete[side, i, q, c, j] = -np.inf
        best.complete[side, i, q, 0, i] = grammar.alpha_1[sentence.codes[i], side, q]


@inlined_kernel
def _emit_arc(grammar, sentence, side, head, modifier, best):
    # I = arc + max_q A + max_c arc memory + g
    low, high = min(head, modifier), max(head, modifier)
    matrix = grammar.A[sentence.codes[head], side, sentence.codes[modifier]]
    arc_score = _arc_score(sentence, head, modifier)
    for q in range(best.emitted.size):
        best.emitted[q] = -np.inf
    for q in range(best.emitted.size):
        before = -np.inf
        for c in range(best.awaiting.shape[1]):
            memory = _arc_memory(sentence, head, modifier, c)
            before = max(before, best.awaiting[q, c, high] + memory)
        before += arc_score
        if before > -np.inf:
            for p in range(best.emitted.size):
                best.emitted[p] = max(best.emitted[p], matrix[q, p] + before)
    for q in range(best.emitted.size):
        best.incomplete[side, low, q, high] = best.emitted[q]


@inlined_kernel
def _class_of(sentence, token):
    return sentence.memory[token] if sentence.memory.size else 0


@inlined_kernel
def _arc_score(sentence, head, modifier):
    """Return the log factor of an arc; head -1 is the root symbol."""
    row = modifier * (sentence.codes.size + 1)
    return sentence.arcs[row + head + 1] if sentence.arcs.size else 0.0


@inlined_kernel
def _arc_memory(sentence, head, modifier, c):
    row = modifier * (sentence.codes.size + 1)
    return sentence.arc_memory[row + head + 1, c] if sentence.arc_memory.size else 0.0


@inlined_kernel
def _is_after(value, choice, limit):
    """Tell whether a choice ranks after a limit: by lower value or, if equal, higher number."""
    return value < limit[0] or (value == limit[0] and choice > limit[1])


@inlined_kernel
def _best_root(grammar, sentence, best, limit):
    """Find the single root: max_m w(m) + closed[0, m] + closed[m, N - 1]."""
    last = sentence.codes.size - 1
    best_score, root = -np.inf, np.int64(0)
    for m in range(last + 1):
        score = grammar.root[sentence.codes[m]] + _arc_score(sentence, -1, m)
        score += _arc_memory(sentence, -1, m, 0)
        score += best.closed[LEFT, 0, m] + best.closed[RIGHT, m, last]
        if score > best_score and _is_after(score, m, limit):
            best_score, root = score, m
    return best_score, root


@inlined_kernel
def _best_end(grammar, sentence, side, head, end, best, limit):
    """Find the last state and class of a half: max_(q, c) alpha_inf + stop memory + C."""
    low, high, n_classes = min(head, end), max(head, end), best.awaiting.shape[1]
    best_score, choice = -np.inf, np.int64(0)
    for q in range(best.awaiting.shape[0]):
        for c in range(n_classes):
            score = grammar.alpha_inf[sentence.codes[head], side, q]
            if sentence.stop_memory.size:
                score += sentence.stop_memory[head, side, c]
            score += best.complete[side, low, q, c, high]
            if score > best_score and _is_after(score, q * n_classes + c, limit):
                best_score, choice = score, q * n_classes + c
    return best_score, choice


@inlined_kernel
def _best_modifier(sentence, step, best, limit):
    """Find the last modifier of a half: max_m I[h, m] + closed[m, end], of its class."""
    _, side, head, end, state, last = step
    best_score, modifier = -np.inf, end
    first, stop = (head + 1, end + 1) if side == RIGHT else (end, head)
    for m in range(first, stop):
        if _class_of(sentence, m) == last:
            score = best.incomplete[side, min(head, m), state, max(head, m)]
            score += best.closed[side, min(m, end), max(m, end)]
            if score > best_score and _is_after(score, m, limit):
                best_score, modifier = score, m
    return best_score, modifier


@inlined_kernel
def _best_before(grammar, sentence, step, best, limit):
    """Find the half before an arc: max_(q, c, k) A + memory + C[h, k] + closed[k + 1, m]."""
    _, side, head, modifier, state, _ = step
    n, n_classes = sentence.codes.size, best.awaiting.shape[1]
    matrix = grammar.A[sentence.codes[head], side, sentence.codes[modifier]]
    best_score, choice = -np.inf, head + side - 1  # so that nothing is before
    for q in range(best.awaiting.shape[0]):
        for c in range(n_classes):
            added = matrix[q, state] + _arc_memory(sentence, head, modifier, c)
            for k in range(min(head, modifier), max(head, modifier)):
                near, far = _split_ends(side, k)
                score = best.complete[side, min(head, near), q, c, max(head, near)]
                score += best.closed[1 - side, min(far, modifier), max(far, modifier)]
                number = (q * n_classes + c) * n + k
                if score + added > best_score and _is_after(score + added, number, limit):
                    best_score, choice = score + added, number
    return best_score, choice


@inlined_kernel
def _split_ends(side, k):
    """Return the ends of a head's half and of its modifier's inner half, split behind token k."""
    return (k, k + 1) if side == RIGHT else (k + 1, k)


@inner_table_kernel
def _best_choice(grammar, sentence, step, best, limit):
    """Return value and number of the best choice that ranks after a limit (value, number)."""
    if step.kind == ROOT_STEP:
        return _best_root(grammar, sentence, best, limit)
    if step.kind == END_STEP:
        return _best_end(grammar, sentence, step.side, step.head, step.end, best, limit)
    if step.kind == MODIFIER_STEP:
        return _best_modifier(sentence, step, best, limit)
    return _best_before(grammar, sentence, step, best, limit)


@inner_table_kernel
def _rank_derivations(grammar, sentence, best, agenda, ranking, heads, scores):
    """Find the best derivations of a sentence: each leaves one before it at some step."""
    n_steps = 4 * heads.shape[1] - 1
    scores[:] = -np.inf
    scores[0], root = _best_root(grammar, sentence, best, ANY)
    ranking.choices[0, 0] = root
    _follow_to_end(grammar, sentence, best, agenda, ranking, 0, 0, scores[0], scores[0], heads[0])
    for rank in range(1, scores.size):
        parent = 0
        for other in range(1, rank):
            total = ranking.totals[other, ranking.leave[other]]
            if total > ranking.totals[parent, ranking.leave[parent]]:
                parent = other
        step = ranking.leave[parent]
        scores[rank] = ranking.totals[parent, step]
        if scores[rank] == -np.inf:
            break
        for t in range(step):
            ranking.choices[rank, t] = ranking.choices[parent, t]
        ranking.choices[rank, step] = ranking.others[parent, step]
        ranking.totals[parent, step] = -np.inf  # what else leaves there, leaves the new one
        for t in range(n_steps):
            if ranking.totals[parent, t] > ranking.totals[parent, ranking.leave[parent]]:
                ranking.leave[parent] = t
        value = ranking.values[parent, step]
        _follow_to_end(
            *(grammar, sentence, best, agenda, ranking, rank, step, value),
            *(scores[rank], heads[rank]),
        )


@inner_table_kernel
def _follow_to_end(grammar, sentence, best, agenda, ranking, rank, n_before, value, total, heads):
    """Follow a derivation to its end, and note the next best choice at each new step.

    Where nothing is possible the first choice will do: any sequence of choices makes a tree. The
    choice of the step `n_before` is given, like those before it, and its value.
    """
    n_classes, is_last = best.awaiting.shape[1], rank + 1 == ranking.choices.shape[0]
    step, size, t = Step(ROOT_STEP, RIGHT, np.int64(0), np.int64(0), np.int64(0), np.int64(0)), 0, 0
    ranking.leave[rank] = n_before
    while True:
        if t > n_before:
            value, ranking.choices[rank, t] = _best_choice(grammar, sentence, step, best, ANY)
        choice = ranking.choices[rank, t]
        ranking.totals[rank, t] = -np.inf
        if t >= n_before and not is_last:
            limit = value, choice
            other_value, other = _best_choice(grammar, sentence, step, best, limit)
            ranking.others[rank, t], ranking.values[rank, t] = other, other_value
            if other_value > -np.inf:
                ranking.totals[rank, t] = total - (value - other_value)
            if ranking.totals[rank, t] > ranking.totals[rank, ranking.leave[rank]]:
                ranking.leave[rank] = t
        t += 1
        _, side, head, end, state, last = step
        if step.kind == ROOT_STEP:
            heads[choice] = 0
            push_entry(agenda, 0, LEFT, choice, 0)
            push_entry(agenda, 1, RIGHT, choice, heads.size - 1)
            size, end = 2, head
        elif step.kind == END_STEP:
            state, last = choice // n_classes, choice % n_classes
        elif step.kind == MODIFIER_STEP:
            heads[choice] = head + 1
            push_entry(agenda, size, side, choice, end)
            size += 1
            step = Step(BEFORE_STEP, side, head, choice, state, last)
            continue
        else:
            near, far = _split_ends(side, choice % heads.size)
            push_entry(agenda, size, 1 - side, end, far)
            size, end, choice = size + 1, near, choice // heads.size
            state, last = choice // n_classes, choice % n_classes
        if end != head:
            step = Step(MODIFIER_STEP, side, head, end, state, last)
        elif size:
            size -= 1
            step = Step(END_STEP, agenda[size, 0], agenda[size, 1], agenda[size, 2], state, last)
        else:
            break


def rank_trees(grammar, factors, heads, values):
    """Find the best derivations of all sentences, or their best trees where arcs may cross.

    Parameters
    ----------
    grammar : PackedGrammar or AllTrees
    factors : Factors
    heads, values : arrays of shape (k, n_tokens) and (k, n_sentences)
        Set to the heads of the k best, and the logarithms of their values; -inf where there are no
        more.
    """
    if grammar.trees == "all":
        best_all_trees(factors, heads, values)
    else:
        every = np.arange(factors.indptr.size - 1)
        best_derivations(grammar.logs, log_factors(factors), every, heads, values)


def best_trees(
    grammar: Operators | None, potentials: Potentials, *, n_jobs: int | None = None
) -> tuple[list[IntArray], FloatArray]:
    """Find the projective tree with one root that has the largest value.

    Parameters
    ----------
    grammar : Operators or None
        With entries that are not negative. None to use arcs and memories alone.
    potentials : Potentials
        The sentences.
    n_jobs : int or None, default=None
        Number of joblib workers; each takes some of the sentences.

    Returns
    -------
    heads : list of int ndarrays of shape (n_tokens_i,)
        1-based, 0 for the root. Of equally good trees, the first one found is returned.
    scores : ndarray of shape (n_sentences,)
        Logarithms of the values of the trees, in nats. -inf where no tree is possible; the heads
        are then those of some tree.

    Raises
    ------
    ValueError
        If an operator is negative or not finite, or potentials are not as described in
        :class:`Potentials`.
    TypeError
        If `grammar` or `potentials` has the wrong type.

    See Also
    --------
    tree_values : Computes the values of given trees.
    eisner : Finds the best tree of a single sentence whose arcs are independent.

    Notes
    -----
    The function finds the best derivation: a tree with the states of its automata. It belongs to
    the best tree if trees determine the states, as with deterministic operators and the classes of
    `memory`. With hidden states, the score is that of the best path through them, and another tree
    may have a larger total value.

    For N tokens, n states and k classes of memory, it takes O(n k N^3 + n (n + k) N^2) time. Each
    worker needs about 16 n (k + 1) N^2 bytes for its longest sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_shag.parsing import Potentials, best_trees
    >>> arcs = np.array([[0.0, 0.0, 2.0], [1.0, -1.0, 0.0]])
    >>> sentence = Potentials(np.array([0, 2]), arcs=arcs.ravel())
    >>> best_trees(None, sentence)
    ([array([2, 0])], array([3.]))

    Forbidden arcs are avoided:

    >>> arcs[1, 0] = -np.inf
    >>> best_trees(None, Potentials(np.array([0, 2]), arcs=arcs.ravel()))
    ([array([0, 1])], array([-1.]))
    """
    packed, potentials = check_grammar(grammar, potentials)
    for name, part in zip(Operators._fields, packed.operators, strict=True):
        if part.min() < 0:
            raise ValueError(
                f"{name} of the operators holds the negative value {part.min():.6g}, which has no "
                f"logarithm. Decode marginals: they take operators of any sign."
            )
    chunks = cut_chunks(np.diff(potentials.indptr), CHUNK_COST)
    tasks = (delayed(_find_best)(packed, take_potentials(potentials, part)) for part in chunks)
    found = join_in_order(chunks, run_parallel(tasks, n_jobs))
    return [heads for heads, _ in found], np.array([score for _, score in found])


def _find_best(grammar, potentials):
    factors = as_factors(potentials)
    heads = np.empty((1, factors.codes.size), dtype=np.int64)
    scores = np.empty((1, factors.indptr.size - 1))
    rank_trees(grammar, factors, heads, scores)
    return list(zip(np.split(heads[0], factors.indptr[1:-1]), scores[0], strict=True))
