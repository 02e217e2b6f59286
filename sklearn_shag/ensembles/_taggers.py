"""Taggers of the members of an average: equal ones learn once, and no half of the trees any."""

from copy import copy

import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_shag.network import BiaffineParser, Tagger
from sklearn_shag.treebank import DependencyTree, TreeTransformer
from sklearn_shag.utils._estimators import Pipeline
from sklearn_shag.utils._parallel import delayed, run_parallel


class FoldTagger(TreeTransformer):
    """Step in place of a Tagger, which tags the folds of trees but does not learn from all.

    Parameters
    ----------
    tagger : Tagger

    Attributes
    ----------
    trees_ : dict of DependencyTree
        The tagged trees, by the trees of :meth:`fit`. Equal ones have the tags of one fold.
    """

    def __init__(self, tagger):
        self.tagger = tagger

    def fit(self, X, y=None):
        """Tag the folds of X."""
        self.tagger._validate_params()
        tagged = self.tagger._tag_folds(X, np.ones(len(X)))
        self.trees_ = dict(zip(map(_as_key, X), tagged, strict=True))
        return self

    def transform(self, X):
        """List the tagged trees of sentences from :meth:`fit`."""
        return [self.trees_[_as_key(sentence)] for sentence in X]


def _as_key(sentence):
    return sentence if isinstance(sentence, DependencyTree) else tuple(sentence)


def take_taggers(members):
    """Take taggers out of pairs of a name and a member, copies that are not fitted.

    Parsers and folds learn the same without them.

    Returns
    -------
    taken : dict of Tagger
        By the name of the member.
    """
    taken = {}
    for name, member in members:
        if isinstance(member, Pipeline) and isinstance(member.steps[0][1], Tagger):
            step, taken[name] = member.steps[0]
            member.steps[0] = step, FoldTagger(taken[name])
        elif isinstance(member, BiaffineParser) and isinstance(member.tags, list | tuple):
            along = member._learned_along()
            if 0 < len(along) < len(member.tags):
                taken[name] = member._make_tagger().set_params(tags=member.tags)
                member.set_params(tags=along[0])
    return taken


def put_taggers(taken, copies, fitted, sentences, sample_weight, n_jobs):
    """Fit the taggers from :func:`take_taggers`, equal ones once, and put them where they belong.

    Parameters
    ----------
    taken : dict of Tagger
    copies : list of (str, estimator) pairs
        The members that taggers were taken from. In them trees are now tagged as in folds.
    fitted : dict of estimator
        Members fitted to the sentences; they get the taggers.
    sentences : CheckedSentences
    sample_weight : ndarray of shape (n_sentences,) or None
        Pipelines give it to their parsers alone.
    n_jobs : int or None
    """
    keys, tasks = {}, {}
    for name, tagger in taken.items():
        weights = None if isinstance(fitted[name], Pipeline) else sample_weight
        keys[name] = _describe(tagger), weights is None
        tasks.setdefault(keys[name], delayed(tagger.fit)(sentences, sample_weight=weights))
    learned = dict(zip(tasks, run_parallel(tasks.values(), n_jobs), strict=True))
    for name, own in ((name, each) for name, each in copies if name in taken):
        tagger, member = copy(learned[keys[name]]), fitted[name]
        tagger.set_params(**taken[name].get_params(deep=False))
        if isinstance(member, Pipeline):
            step, folds = member.steps[0]
            own.steps[0], member.steps[0] = (step, FrozenEstimator(folds)), (step, tagger)
        else:
            member.set_params(tags=tagger.tags)
            member.tagger_ = tagger.set_params(embeddings=member.embeddings)


def _describe(tagger):
    """Describe what a tagger learns by its parameters; it is like no other without a seed."""
    params = tagger.get_params() | {"cv": None, "embeddings": id(tagger.embeddings)}
    return id(tagger) if tagger.random_state is None else repr(sorted(params.items()))
