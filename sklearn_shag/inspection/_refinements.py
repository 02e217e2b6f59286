"""Tables of typical heads, modifiers and words of hidden refinements."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_shag.encoding import arcs_of_heads, encode_sentences, encode_trees
from sklearn_shag.inspection._grammars import (
    DIRECTIONS,
    ROOT_NAME,
    ROWS_OR_ALL,
    head_code,
    open_grammar,
)
from sklearn_shag.inspection._tables import shown_as_table, to_dataframe
from sklearn_shag.operators import RefinedGrammar, count_refinements, extend, refined_automaton
from sklearn_shag.treebank import DependencyTree, Heads, Sentences
from sklearn_shag.utils._arrays import TINY
from sklearn_shag.utils._param_validation import validate_params
from sklearn_shag.utils._typing import FloatArray, ObjectArray, StrArray

AROUND = 4  # tokens on both sides, in examples


@shown_as_table
class RefinementTable(NamedTuple):
    """Columns with typical heads, modifiers and words of the refinements of a symbol.

    It prints as a table.

    Attributes
    ----------
    refinements : ndarray of shape (n_rows,), dtype object
        The symbol and the number of the refinement, as in "VERB.3"; the most frequent first.
    shares : ndarray of shape (n_rows,)
        Share of the refinement among the tokens with this symbol.
    relations : str ndarray of shape (n_rows,)
        How the next column relates to the token: its "head on the left" or "right", a "modifier on
        the left" or "right", its "word", or an "example".
    others : ndarray of shape (n_rows,), dtype object
        The symbol of a head (``"<root>"`` for the root) or modifier; the word; or the words around
        the token, which is in brackets.
    counts : ndarray of shape (n_rows,)
        How many of them a token with the refinement has on average; for an example, the probability
        that the token has the refinement.
    ratios : ndarray of shape (n_rows,)
        The count divided by that of an average token with the symbol.

    See Also
    --------
    top_refinements : Lists what is typical of refinements.

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import top_refinements
    >>> trees = load_english().data
    >>> model = RefinedSHAG(n_refinements=4, random_state=0).fit(trees)
    >>> top_refinements(model, trees, symbol="NOUN", n=1, n_words=0, n_examples=0).shares.round(2)
    array([0.34, 0.32, 0.29, 0.05])
    """

    refinements: ObjectArray
    shares: FloatArray
    relations: StrArray
    others: ObjectArray
    counts: FloatArray
    ratios: FloatArray

    to_dataframe = to_dataframe


@validate_params(ROWS_OR_ALL)
def top_refinements(
    estimator: BaseEstimator,
    X: Sentences,
    y: Heads | None = None,
    *,
    symbol: str,
    n: int | None = 4,
    n_words: int = 2,
    n_examples: int = 1,
) -> RefinementTable:
    """List typical heads, modifiers, words and sentences of each hidden refinement of a symbol.

    Parameters
    ----------
    estimator : RefinedSHAG
        A fitted estimator, a pipeline that ends in one, or a search over either.
    X : sequence of length n_sentences
        Trees, such as those it was trained on.
    y : None or sequence of length n_sentences, default=None
        Their heads; None takes those of the trees in X.
    symbol : str
        A symbol that the estimator knows.
    n : None or int, default=4
        Largest number of heads and modifiers to list for each refinement; None lists all.
    n_words : int, default=2
        Number of words to list; if the trees have no words, symbols are listed.
    n_examples : int, default=1
        Number of tokens to list with their context: the surest first, in the shortest sentences.

    Returns
    -------
    table : RefinementTable
        For each refinement, the most frequent first, the heads and modifiers that distinguish it
        most from the symbol: by the count times the logarithm of the ratio. Words and examples
        follow.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the symbol is not known, X does not hold trees, or none has the symbol; or if `n` is not
        a positive whole number.
    TypeError
        If the estimator has no refinements.

    See Also
    --------
    sklearn_shag.operators.unfold : Makes the grammar over pairs of a symbol and a refinement.
    top_modifiers : Lists the modifiers of a head without refinements.

    Notes
    -----
    All numbers are expected values over the refinements of the tokens, given their trees (theory,
    eq. 51).

    Examples
    --------
    >>> from sklearn_shag import RefinedSHAG
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.inspection import top_refinements
    >>> trees = load_english().data
    >>> model = RefinedSHAG(n_refinements=4, random_state=0).fit(trees)
    >>> print(top_refinements(model, trees, symbol="NOUN", n=2, n_words=1))   # first, subjects
    refinements  shares  relations              others                                counts  ratios
    NOUN.1        0.343  head on the right      VERB                                   0.541   2.220
    NOUN.1        0.343  head on the right      NOUN                                   0.120   2.508
    NOUN.1        0.343  word                   ferry                                  0.008   2.330
    NOUN.1        0.343  example                Not everyone likes [audio] books .     0.963   2.805
    NOUN.2        0.323  head on the left       VERB                                   0.766   1.661
    NOUN.2        0.323  modifier on the right  NOUN                                   0.220   1.689
    NOUN.2        0.323  word                   minutes                                0.012   2.212
    NOUN.2        0.323  example                ... away is the Andromeda [galaxy] ?   0.979   3.034
    NOUN.0        0.286  modifier on the left   ADP                                    0.804   2.756
    NOUN.0        0.286  head on the left       NOUN                                   0.418   3.198
    NOUN.0        0.286  word                   team                                   0.015   3.481
    NOUN.0        0.286  example                No dogs on the [beach] !               0.999   3.495
    NOUN.3        0.048  modifier on the right  PUNCT                                  0.922  20.670
    NOUN.3        0.048  head                   <root>                                 0.544  20.824
    NOUN.3        0.048  word                   one                                    0.067   6.875
    NOUN.3        0.048  example                Any [questions] ?                      1.000  20.824
    """
    transform, grammar = open_grammar(estimator)
    _require_refinements(grammar)
    head_code(symbol, grammar.symbols_)
    sentences = list(transform(X))
    trees = encode_trees(sentences, y)
    if symbol not in trees.symbols:
        raise ValueError(f"No token of X has the symbol {symbol!r}; give trees that contain it.")
    code = int(np.searchsorted(trees.symbols, symbol))
    known = encode_sentences([trees.symbols[trees.codes]], grammar.symbols_)[0]
    posteriors = grammar._token_posteriors(known, trees.heads, trees.indptr)
    n_tokens = posteriors[trees.codes == code].sum(axis=0)
    words = [
        np.array(sentence.forms if isinstance(sentence, DependencyTree) else sentence, dtype=object)
        for sentence in sentences
    ]
    rows, masses = _count_contexts(trees, code, posteriors, np.concatenate(words))
    relations, others = map(partial(np.array, dtype=object), zip(*rows, strict=True))
    # A context that does not occur is typical of nothing.
    counts = masses / np.maximum(n_tokens, TINY)
    ratios = counts / np.maximum(masses.sum(axis=1) / n_tokens.sum(), TINY)[:, None]
    gains = counts * np.log(np.maximum(ratios, TINY))
    shares = n_tokens / n_tokens.sum()
    table = []
    for refinement in np.argsort(-n_tokens, kind="stable")[: np.count_nonzero(n_tokens)]:
        name = f"{symbol}.{refinement}", shares[refinement]
        order = np.argsort(-gains[:, refinement], kind="stable")
        is_word = relations[order] == "word"
        for row in [*order[~is_word][:n], *order[is_word][:n_words]]:
            numbers = counts[row, refinement], ratios[row, refinement]
            table.append((*name, relations[row], others[row], *numbers))
        examples = _find_examples(trees, code, posteriors[:, refinement], words, n_examples)
        table += [(*name, "example", text, p, p / shares[refinement]) for p, text in examples]
    types, columns = (object, float, str, object, float, float), zip(*table, strict=True)
    return RefinementTable(*map(np.array, columns, types))


def _require_refinements(parser):
    if not hasattr(parser, "refined_operators_"):
        raise TypeError(
            f"estimator must be a RefinedSHAG, whose symbols have refinements, got a "
            f"{type(parser).__name__}."
        )


def open_refinement(parser, head, code, direction, refinement):
    """Return the automaton of one refinement of a head, after checking that it exists."""
    _require_refinements(parser)
    grammar = RefinedGrammar(parser.refined_operators_, parser.operators_)
    pairs = np.argwhere(grammar.refined.blocks >= 0)
    size = count_refinements(extend(grammar, pairs), pairs)[code]
    if refinement >= size:
        raise ValueError(
            f"The head {head} has the refinements 0 to {size - 1}; got refinement={refinement}."
        )
    return refined_automaton(grammar, code, direction, refinement)


def _count_contexts(trees, code, posteriors, words):
    """Count expected heads, modifiers and words of each refinement of one symbol."""
    names, arcs = np.append(trees.symbols, ROOT_NAME), arcs_of_heads(trees.indptr, trees.heads)
    heads, directions, modifiers = arcs.symbols(trees.codes, trees.indptr, trees.symbols.size)
    tokens = np.arange(trees.heads.size)
    of_heads = np.array([f"head on the {side}" for side in DIRECTIONS[::-1]])[directions]
    of_heads[trees.heads == 0] = "head"
    of_modifiers = np.array([f"modifier on the {side}" for side in DIRECTIONS])[directions]
    is_head, is_symbol = heads == code, modifiers == code
    parts = (
        (tokens - arcs.modifiers + trees.heads, of_modifiers, names[modifiers], is_head),
        (tokens, of_heads, names[heads], is_symbol),
        (tokens, np.full(tokens.size, "word"), words, is_symbol),
    )
    rows, places, of_tokens = {}, [], []
    for token, relation, other, is_chosen in parts:
        pairs = zip(relation[is_chosen].tolist(), other[is_chosen].tolist(), strict=True)
        places += [rows.setdefault(pair, len(rows)) for pair in pairs]
        of_tokens.append(token[is_chosen])
    masses = np.zeros((len(rows), posteriors.shape[1]))
    np.add.at(masses, places, posteriors[np.concatenate(of_tokens)])
    return list(rows), masses


def _find_examples(trees, code, posteriors, words, n_examples):
    """Yield posterior and context of the most probable tokens, short sentences first."""
    lengths = np.diff(trees.indptr)
    sentences = np.repeat(np.arange(lengths.size), lengths)
    tokens = np.flatnonzero(trees.codes == code)
    order = np.lexsort([lengths[sentences[tokens]], -posteriors[tokens].round(1)])
    for token in tokens[order[:n_examples]]:
        sentence, place = words[sentences[token]], token - trees.indptr[sentences[token]]
        first, last = max(place - AROUND, 0), place + AROUND + 1
        text = [*sentence[first:place], f"[{sentence[place]}]", *sentence[place + 1 : last]]
        text = ["..."] * int(first > 0) + text + ["..."] * int(last < sentence.size)
        yield posteriors[token], " ".join(text)
