"""Parsers that learn from raw text too, by the annotation of another parser, the teacher."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state

from sklearn_shag._parser import Parser
from sklearn_shag.conditional import ArcParser, Lesson
from sklearn_shag.encoding import check_sentences, check_trees, take_entries
from sklearn_shag.ensembles._averaged import AveragedParser, without_calibration
from sklearn_shag.ensembles._base import check_member, fit_member
from sklearn_shag.ensembles._pipeline import ParserMethods, of_parser
from sklearn_shag.network import LEARNED, BiaffineParser
from sklearn_shag.parsing import (
    TREES,
    ask,
    keep_learnable,
    list_answers,
    list_best_rows,
    list_marginals,
    make_trees,
)
from sklearn_shag.treebank import ATTRIBUTES, DependencyTree, Heads, Sentences, with_tags
from sklearn_shag.utils._arrays import in_chunks, make_room
from sklearn_shag.utils._estimators import BaseEstimator, linked, open_member
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._param_validation import (
    LARGEST_NUMBER,
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_members_context,
)
from sklearn_shag.utils._typing import ArrayLike

N_TEACHERS = 3  # of an average that teaches by default
TEACHER_CHUNK = 1000  # sentences that the teacher parses at once


@linked
class DistilledParser(ParserMethods, MetaEstimatorMixin, BaseEstimator):
    """Parser that also learns from raw text, which another parser, the teacher, annotates.

    The teacher learns from the sentences with known heads. It parses those without, and the student
    learns from both. So a single network becomes as good as the average of several, and what a
    transformer knows comes into a parser that reads no vectors at all. In partially annotated
    sentences, the teacher completes what is known.

    Parameters
    ----------
    parser : BiaffineParser or CRFParser
        The student, which is cloned.
    teacher : None or estimator, default=None
        Any parser of this package, or a pipeline that ends in one, which is cloned. A teacher in a
        :class:`~sklearn.frozen.FrozenEstimator` stays as it is. None takes the average of three
        copies of the student with different seeds.
    weight : float, default=1.0
        Weight of a raw sentence, compared to one with known heads.
    targets : {"marginals", "trees"}, default="marginals"
        Whether the student learns the probabilities of arcs, and if it is a network those of
        relations and of the tags learned along with trees, or the best tree alone. Of teachers
        whose operators are signed, such as SpectralSHAG, it always learns the arcs of the best
        tree, since their probabilities are those of no distribution over trees.

    Attributes
    ----------
    parser_ : estimator
        The fitted student; it is what parses.
    teacher_ : estimator
        The fitted teacher.

    See Also
    --------
    AveragedParser : The average of several parsers, which is a good teacher.
    sklearn.semi_supervised.SelfTrainingClassifier : The same idea for classifiers.

    Notes
    -----
    The loss of a sentence of the teacher is the cross-entropy of the two distributions over its
    trees. It is log Z of the student minus the mean of the scores of arcs, weighted by the
    marginals of the teacher. These must be marginals of a distribution over the trees of the
    student, or the loss would have no lower bound. So they are taken before they are corrected, and
    a student of projective trees learns the best trees, lifted, of a teacher that sums over all.

    References
    ----------
    Hinton, Vinyals and Dean (2015), Distilling the knowledge in a neural network.

    Examples
    --------
    >>> from sklearn_shag import BiaffineParser, CRFParser, DistilledParser
    >>> from sklearn_shag.datasets import load_english
    >>> trees = load_english().data
    >>> raw = [tree.with_heads(None) for tree in trees[50:150]]
    >>> parser = BiaffineParser(["upos"], hidden_layer_sizes=[50], max_iter=8, random_state=0)
    >>> model = DistilledParser(parser, CRFParser(["upos", "form"])).fit([*trees[:50], *raw])
    >>> model.parse(trees[200:201])[0].heads[:4]
    array([2, 4, 4, 0])
    """

    parser_: Any
    teacher_: Any

    _parameter_constraints = {
        "parser": [HasMethods(["fit", "predict"])],
        "teacher": [None, HasMethods(["fit", "predict"])],
        "weight": [Interval(Real, 0, LARGEST_NUMBER, closed="right")],
        "targets": [StrOptions({"marginals", "trees"})],
    }

    def __init__(
        self,
        parser: Any,
        teacher: Any = None,
        *,
        weight: float = 1.0,
        targets: Literal["marginals", "trees"] = "marginals",
    ) -> None:
        self.parser = parser
        self.teacher = teacher
        self.weight = weight
        self.targets = targets

    @fit_members_context
    def fit(
        self, X: Sentences, y: Heads | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the teacher to annotated sentences, then the student to all.

        Parameters
        ----------
        X : sequence of length n_sentences
            ``X[i]`` is a DependencyTree, which may have no heads, or a sequence of symbols.
        y : None or sequence of length n_sentences, default=None
            ``y[i]`` holds n_tokens_i heads (1-based, 0 for the root, -1 where unknown), or is a
            DependencyTree with heads. None takes the heads of the trees in X.
        sample_weight : None or array-like of shape (n_sentences,), default=None
            Weight of each sentence; 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If no head is known, or as for the `fit` of teacher and student.
        TypeError
            If the student is no parser that can learn from a teacher.
        """
        if not isinstance(self.parser, ArcParser):
            raise TypeError(
                f"parser must be a BiaffineParser or a CRFParser, got "
                f"{type(self.parser).__name__}. In a pipeline, put the DistilledParser at the end."
            )
        if self.teacher is not None:
            check_member("teacher", self.teacher)
        sentences, symbols = check_sentences(X)
        y = None if y is None else list(y)
        is_frozen = isinstance(self.teacher, FrozenEstimator)
        if is_frozen and y is None and all(getattr(x, "heads", None) is None for x in sentences):
            y = [[UNKNOWN] * len(each) for each in symbols]  # it has learned from other trees
        sentences, heads = check_trees(sentences, y)
        weights = check_sample_weight(sample_weight, sentences)
        known = np.flatnonzero([own.max() > UNKNOWN for own in heads])
        of_known = take_entries(y, known)
        given = sentences.take(known), of_known, None if sample_weight is None else weights[known]
        self.teacher_ = self.teacher if is_frozen else fit_member(self._make_teacher(), *given)
        # Partial trees that the teacher finds impossible stay as they are.
        kind = min(open_member(self.teacher_).parser._kinds, key=TREES.index)
        possible = keep_learnable(heads, "drop", kind).kept
        taught = [s for s, own in enumerate(heads) if own.min() == UNKNOWN and possible[s]]
        lessons = self._add_lessons(sentences, heads, y, taught)
        of_raw = np.array([own.max() == UNKNOWN for own in heads])
        self.parser_ = clone(self.parser).fit(
            *lessons, weights * np.where(of_raw, self.weight, 1.0)
        )
        return self

    def _make_teacher(self):
        """Make the teacher, whose probabilities are not corrected."""
        if self.teacher is not None:
            return without_calibration(self.teacher)
        student = without_calibration(self.parser).set_params(n_jobs=None)
        seed = check_random_state(self.parser.random_state).randint(2**31 - N_TEACHERS)
        return AveragedParser.of_seeds(
            student, N_TEACHERS, random_state=seed, calibrate=False, n_jobs=self.parser.n_jobs
        )

    def _add_lessons(self, sentences, heads, y, taught):
        """Let the teacher complete the sentences `taught`; return X with its lessons, and y."""
        transform, teacher = open_member(self.teacher_)
        kind = max(teacher._kinds, key=TREES.index)
        kinds = ["labels"]
        if isinstance(self.parser, BiaffineParser):
            kinds += self.parser._learned_along()
        shelf = _Shelf([heads[s].size for s in taught])
        X, of_y, lessons = list(sentences), y and list(y), [None] * len(sentences)
        for part in in_chunks(taught, TEACHER_CHUNK):
            own = [_with_known(X[s], heads[s], y and y[s]) for s in part]
            answers = _ask_teacher(teacher, transform(own), kinds)
            for s, tree, (found, arcs, shares) in zip(part, own, answers, strict=True):
                if self.targets == "trees":
                    arcs, shares = None, {}
                known = {name for name in LEARNED if getattr(tree, ATTRIBUTES[name])}
                shares = {kind: pair for kind, pair in shares.items() if kind not in known}
                lessons[s] = shelf.keep(heads[s], arcs, shares, kind)
                tree = _complete(tree, found, known)
                X[s] = tree if isinstance(X[s], DependencyTree) else X[s]
                if y is not None:
                    of_y[s] = tree
        X, _ = check_sentences(X)
        X.lessons = lessons
        return X, of_y

    @property
    def _opened(self):
        """The student, for everything that the opened parser does."""
        return getattr(self, "parser_", self.parser)

    predict = of_parser(Parser.predict)
    score = of_parser(Parser.score)

    def __sklearn_tags__(self) -> Tags:
        return self.parser.__sklearn_tags__()


class _Shelf:
    """Lessons, whose numbers are in one array of each kind, in a file if they are many."""

    def __init__(self, lengths):
        self.n_kept, lengths = 0, np.array(lengths, dtype=np.int64)
        self.of_tokens = np.cumsum([0, *lengths])
        self.of_arcs = np.cumsum([0, *lengths * (lengths + 1)])
        self.kept = {}

    def keep(self, heads, arcs, shares, trees):
        """Make the Lesson of the next sentence; arcs and shares are as _ask_teacher yields them."""
        if arcs is not None:
            arcs = self._put("arcs", self.of_arcs, arcs.ravel(), np.float32)
        names = {kind: values for kind, (values, _) in shares.items()}
        own = ((kind, proba, self.of_tokens) for kind, (_, proba) in shares.items())
        shares = {kind: self._put(kind, ends, proba, np.float16) for kind, proba, ends in own}
        self.n_kept += 1
        return Lesson(heads, arcs, shares, names, trees)

    def _put(self, kind, ends, values, dtype):
        if kind not in self.kept:
            self.kept[kind] = make_room((ends[-1], *values.shape[1:]), dtype)
        place = self.kept[kind][ends[self.n_kept] : ends[self.n_kept + 1]]
        place[:] = values
        return place


def _ask_teacher(teacher, sentences, kinds):
    """Parse sentences, some of whose heads may be known, to teach another parser.

    Yields
    ------
    tree : DependencyTree
    arcs : ndarray of shape (n_tokens, n_tokens + 1) or None
        Probabilities given the known heads, not corrected; None if operators are signed.
    shares : dict
        The kinds of `kinds` that the teacher knows: "labels", given the heads of the tree, and
        columns. Each is a pair of values and their probabilities, (n_tokens, n_values).
    """
    batch = teacher._batch(sentences, keep_heads=True)
    groups = teacher._group_labels("auto")
    decoder = "mbr" if teacher.decoder == "mst" else teacher.decoder  # of the trees it sums over
    want = partial(_list_lessons, partial(list_best_rows, decoder), groups, kinds)
    answers = ask(teacher, want, batch)
    for sentence, (answer, arcs, shares) in zip(batch.sentences, answers, strict=True):
        yield make_trees(sentence, answer, keep_heads=True)[0], arcs, shares


def _list_lessons(find, groups, kinds, forest):
    """List for each sentence of a forest its Answer, and arcs and shares as _ask_teacher does."""
    answers = list_answers(find, groups, False, False, False, forest)
    found, scored = {}, forest.scored
    exact = forest.exact
    arcs = [None] * len(answers) if exact is None else list_marginals(forest.batch, exact)
    if "labels" in kinds and scored.labeller is not None:
        heads = np.concatenate([answer.heads[0] for answer in answers])
        found["labels"] = scored.labeller.names, forest.label_proba(heads)
    columns = {} if scored.tagging is None else scored.tagging.values
    if any(column in kinds for column in columns):
        of_columns = zip(columns.items(), scored.tagging.proba(), strict=True)
        found |= {name: (values, own) for (name, values), own in of_columns if name in kinds}
    ends = forest.batch.indptr[1:-1]
    parts = {kind: (values, np.split(own, ends)) for kind, (values, own) in found.items()}
    return [
        (answer, own, {kind: (values, rows[s]) for kind, (values, rows) in parts.items()})
        for s, (answer, own) in enumerate(zip(answers, arcs, strict=True))
    ]


def _with_known(sentence, heads, given):
    """Make a tree of a sentence with its known heads, and their relations from `given`."""
    tree = sentence if isinstance(sentence, DependencyTree) else DependencyTree(sentence)
    given = sentence if given is None else given
    return tree.with_heads(heads, getattr(given, "deprels", None))


def _complete(tree, found, known):
    """Give a tree the heads and relations that the teacher has found, and columns not `known`."""
    columns = {name: getattr(found, ATTRIBUTES[name]) for name in LEARNED if name not in known}
    lacking = {name: values for name, values in columns.items() if values}
    tree = tree.with_heads(found.heads, found.deprels)
    return with_tags(tree, lacking) if lacking else tree
