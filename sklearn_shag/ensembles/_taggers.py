"""Taggers of the members of an average, which learn once, apart from their parsers."""

from copy import copy

import numpy as np
from sklearn.preprocessing import FunctionTransformer

from sklearn_shag.network import BiaffineParser, Tagger
from sklearn_shag.treebank import DependencyTree
from sklearn_shag.utils._estimators import Pipeline
from sklearn_shag.utils._parallel import delayed, run_parallel


def learn_taggers(members, sentences, sample_weight, n_jobs):
    """Take the taggers out of members, and fit them; equal ones are fitted once.

    Parsers learn the same without them: networks only the tags that are learned along with trees,
    and pipelines from tags of folds, which halves of the trees have too.

    Parameters
    ----------
    members : dict of estimator
        By name; copies, which are not fitted but changed.
    sentences : CheckedSentences
    sample_weight : ndarray of shape (n_sentences,) or None
        Pipelines give it to their parsers alone.
    n_jobs : int or None

    Returns
    -------
    taggers : dict of Tagger
        By the name of the member.
    """
    taken, tasks = {}, {}
    for name, member in members.items():
        weights = None if isinstance(member, Pipeline) else sample_weight
        if isinstance(member, Pipeline) and isinstance(member.steps[0][1], Tagger):
            tagger = member.steps[0][1]
            tasks[name] = delayed(tagger._tag_folds)(sentences, np.ones(len(sentences)))
        elif isinstance(member, BiaffineParser) and len(member._list_tag_columns()) > 1:
            tagger = member._make_tagger().set_params(tags=member.tags)
            member.set_params(tags=member._learned_along()[0])
        else:
            continue
        tagger._validate_params()
        params = tagger.get_params() | {"cv": None, "embeddings": id(tagger.embeddings)}
        key = id(tagger) if tagger.random_state is None else repr(params), weights is None
        taken[name] = tagger, key
        tasks.setdefault(key, delayed(tagger.fit)(sentences, sample_weight=weights))
    done = dict(zip(tasks, run_parallel(tasks.values(), n_jobs), strict=True))
    for name in taken.keys() & done.keys():
        tagged = dict(zip(map(_as_key, sentences), done[name], strict=True))
        step = FunctionTransformer(lambda X, tagged=tagged: [tagged[_as_key(x)] for x in X])
        members[name].steps[0] = members[name].steps[0][0], step
    return {
        name: copy(done[key]).set_params(**tagger.get_params(deep=False))
        for name, (tagger, key) in taken.items()
    }


def put_tagger(member, tagger):
    """Put a tagger from :func:`learn_taggers` into the fitted member that it was taken from."""
    if isinstance(member, Pipeline):
        member.steps[0] = member.steps[0][0], tagger
    else:
        member.set_params(tags=tagger.tags)
        member.tagger_ = tagger.set_params(embeddings=member.embeddings)


def _as_key(sentence):
    return sentence if isinstance(sentence, DependencyTree) else tuple(sentence)
