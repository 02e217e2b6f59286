"""SyntaxStatistics, counts of readability, stylometry and learner studies."""

from __future__ import annotations

from collections import Counter
from typing import Self

import numpy as np

from sklearn_shag.documents._features import (
    Documents,
    StatelessTransformer,
    iter_documents,
    require_heads,
)
from sklearn_shag.utils._heads import UNKNOWN, follow_heads
from sklearn_shag.utils._typing import FloatArray, ObjectArray

UPOS_TAGS = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
)
# What is divided by what
RATIOS = {
    "sentence_length": ("words", "sentences"),
    "depth": ("depth", "sentences"),
    "dependency_length": ("distance", "arcs"),
    "left_arcs": ("left", "arcs"),
    "clauses": ("clauses", "sentences"),
    "subordination": ("subordinate", "clauses"),
    "passives": ("passives", "clauses"),
    "modifiers_per_noun": ("modifiers", "nouns"),
    "type_token_ratio": ("types", "words"),
}
NAMES = ("sentences", "tokens", *RATIOS, *(f"upos_{tag}" for tag in UPOS_TAGS))
SUBORDINATE = frozenset(("csubj", "ccomp", "xcomp", "advcl", "acl"))
PREDICATES, NOUNS = frozenset(("VERB", "AUX")), frozenset(("NOUN", "PROPN"))
OF_NOUNS = frozenset(("amod", "nmod", "nummod", "acl", "compound"))
PASSIVE = frozenset(("nsubj:pass", "csubj:pass", "aux:pass"))


class SyntaxStatistics(StatelessTransformer):
    """Measure the syntax of documents, as studies of readability, style and learners do.

    It takes trees in Universal Dependencies with UPOS, and makes a table with a row for each
    document. *Words* are the tokens whose UPOS is not PUNCT. Where there is nothing to divide by,
    as in an empty document, a statistic is 0. The columns:

    - ``sentences``, ``tokens``: their numbers.
    - ``sentence_length``: words per sentence [1]_.
    - ``depth``: the most arcs from the artificial root to a token, the mean over sentences [2]_.
    - ``dependency_length``: the distance between head and modifier in tokens, the mean over all
      words but roots [3]_.
    - ``left_arcs``: the share of these words that stand before their head [4]_.
    - ``clauses``: clauses per sentence [5]_. A clause is headed by a root, or by a word whose
      relation is csubj, ccomp, xcomp, advcl, acl or parataxis. It may also be headed by a verb or
      auxiliary (UPOS) that is conj of the head of a clause. Subtypes count as the relations.
    - ``subordination``: the share of clauses that are csubj, ccomp, xcomp, advcl or acl [5]_.
    - ``passives``: words per clause with a modifier nsubj:pass, csubj:pass or aux:pass [6]_.
    - ``modifiers_per_noun``: modifiers amod, nmod, nummod, acl and compound of nouns and names, per
      noun or name [7]_.
    - ``type_token_ratio``: distinct words, in small letters, per word [8]_.
    - ``upos_ADJ`` to ``upos_X``: the share of each UPOS among the tokens [6]_.

    See Also
    --------
    TextParser : Makes documents of texts.
    DependencyVectorizer : Counts arcs, relations, paths and words.

    References
    ----------
    .. [1] R. Flesch. *A new readability yardstick.* Journal of Applied Psychology 32(3), 1948.
    .. [2] D. Brunato, A. Cimino, F. Dell'Orletta, G. Venturi and S. Montemagni. *Profiling-UD: a
       tool for linguistic profiling of texts.* LREC, 2020.
    .. [3] H. Liu. *Dependency distance as a metric of language comprehension difficulty.* Journal
       of Cognitive Science 9(2), 2008.
    .. [4] H. Liu. *Dependency direction as a means of word-order typology: a method based on
       dependency treebanks.* Lingua 120(6), 2010.
    .. [5] X. Lu. *Automatic analysis of syntactic complexity in second language writing.*
       International Journal of Corpus Linguistics 15(4), 2010.
    .. [6] D. Biber. *Variation across Speech and Writing.* Cambridge University Press, 1988.
    .. [7] D. McNamara, A. Graesser, P. McCarthy and Z. Cai. *Automated Evaluation of Text and
       Discourse with Coh-Metrix.* Cambridge University Press, 2014.
    .. [8] M. Templin. *Certain Language Skills in Children.* University of Minnesota Press, 1957.

    Examples
    --------
    >>> from sklearn_shag import SyntaxStatistics
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> statistics = SyntaxStatistics().set_output(transform="pandas")
    >>> table = statistics.fit_transform([trees[:100], trees[100:300]])
    >>> table[["sentences", "sentence_length", "left_arcs"]].round(2)
       sentences  sentence_length  left_arcs
    0      100.0            11.29       0.68
    1      200.0            10.69       0.68
    """

    _parameter_constraints = {}

    def fit(self, X: Documents, y: object = None) -> Self:
        """Do nothing: statistics are not learned.

        Parameters
        ----------
        X : iterable of DependencyTree, or of lists of DependencyTree
            Not used.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The estimator itself.
        """
        return self

    def transform(self, X: Documents) -> FloatArray:
        """Measure documents.

        Parameters
        ----------
        X : iterable of DependencyTree, or of lists of DependencyTree
            Trees with UPOS, heads and relations, or documents of such trees, as those of
            :class:`TextParser`.

        Returns
        -------
        table : ndarray of shape (n_documents, 28), or data frame after :meth:`set_output`
            The statistics.

        Raises
        ------
        TypeError
            If X holds anything but trees.
        ValueError
            If a tree lacks UPOS, relations or some heads.
        """
        rows = [_measure(_count_document(*document)) for document in iter_documents(X)]
        return np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))

    def get_feature_names_out(self, input_features: object = None) -> ObjectArray:
        """List the names of the statistics.

        Parameters
        ----------
        input_features : object, default=None
            Not used.

        Returns
        -------
        names : ndarray of str, shape (28,)
            The columns of the table.
        """
        return np.array(NAMES, dtype=object)


def _measure(counts):
    """List the statistics of a document, given its counts."""
    pairs = [*RATIOS.values(), *((tag, "tokens") for tag in UPOS_TAGS)]
    shares = (counts[a] / counts[b] if counts[b] else 0.0 for a, b in pairs)
    return [counts["sentences"], counts["tokens"], *shares]


def _count_document(number, trees):
    """Count the parts of the statistics of a document."""
    counts, types = Counter(sentences=len(trees)), set()
    for tree in trees:
        heads, deprels = require_heads(tree, number)
        if UNKNOWN in heads:
            raise ValueError(f"X[{number}]: {tree!r} has heads that are not known. Parse it first.")
        tags = tree.column("upos")
        relations = [deprel.partition(":")[0] for deprel in deprels]
        words = [k for k, tag in enumerate(tags) if tag != "PUNCT"]
        arcs = [heads[k] - k - 1 for k in words if heads[k]]
        clauses = _list_clauses(heads, relations, tags)
        counts.update(tags)
        counts.update(
            tokens=len(tree),
            words=len(words),
            depth=int(follow_heads(heads)[0].max()),
            arcs=len(arcs),
            distance=sum(map(abs, arcs)),
            left=sum(arc > 0 for arc in arcs),
            clauses=len(clauses),
            subordinate=sum(relations[k] in SUBORDINATE for k in clauses),
            passives=len({h for h, r in zip(heads, deprels, strict=True) if r in PASSIVE}),
            nouns=sum(tag in NOUNS for tag in tags),
            modifiers=sum(
                h and tags[h - 1] in NOUNS and r in OF_NOUNS
                for h, r in zip(heads, relations, strict=True)
            ),
        )
        types.update(tree.forms[k].lower() for k in words)
    counts["types"] = len(types)
    return counts


def _list_clauses(heads, relations, tags):
    """List the places of the words that head clauses."""
    rows = list(zip(heads, relations, tags, strict=True))
    found = [k for k, (h, r, _) in enumerate(rows) if not h or r in SUBORDINATE or r == "parataxis"]
    for clause in found:  # it grows by their conjuncts
        found += [
            k
            for k, (h, r, t) in enumerate(rows)
            if h == clause + 1 and r == "conj" and t in PREDICATES
        ]
    return found
