"""What a user has imported and made before a line of Python."""

import contextlib

from sklearn_shag import CRFParser, DeterministicSHAG
from sklearn_shag.datasets import load_english, load_parser

IMPORTS = """
import io, os, pickle, re
import conllu, joblib
import numpy as np
from pathlib import Path
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier, BaggingRegressor, StackingClassifier, VotingClassifier, VotingRegressor
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score, cross_validate,
    learning_curve, train_test_split, validation_curve
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn_shag import *
from sklearn_shag.datasets import *
from sklearn_shag.inspection import *
from sklearn_shag.learning import *
from sklearn_shag.metrics import *
from sklearn_shag.operators import *
from sklearn_shag.parsing import *
from sklearn_shag.sequences import *
from sklearn_shag.service import *
from sklearn_shag.treebank import *
"""


# What the functions of charts take: two sentences, of two and of three tokens.
SENTENCES = """
grammar = model.operators_
arcs = np.linspace(-1, 1, 6 + 12)
indptr, codes = np.array([0, 2, 5]), np.array([0, 5, 2, 5, 7])
potentials = Potentials(indptr, codes)
"""


class DataFrame:
    """What a pandas.DataFrame is to whoever cannot import pandas: iterating gives column names."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)
        self.shape = len(next(iter(columns.values()))), len(columns)
        self.iloc = self.loc = self.index = None

    def __iter__(self):
        return iter(self.columns)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, name):
        return self._columns[name]


class Doc:
    """A sentence as spaCy holds it: a head is a token, counted from 0, and a root its own."""

    class Token:
        def __init__(self, i, text, tag):
            self.i, self.text, self.pos_, self.head = i, text, tag, self

    def __init__(self, tree):
        rows = zip(range(len(tree)), tree.forms, tree.upos, strict=True)
        self.tokens = [self.Token(*row) for row in rows]
        for token, head in zip(self.tokens, tree.heads, strict=True):
            token.head = self.tokens[head - 1] if head else token

    def __len__(self):
        return len(self.tokens)

    def __iter__(self):
        return iter(self.tokens)


def make_names():
    """Import, load and fit what users have when they make a mistake."""
    names = {"DataFrame": DataFrame}
    exec(IMPORTS, names)
    with contextlib.suppress(ImportError):
        exec("from pandas import DataFrame", names)
    all_trees = load_english().data
    trees = all_trees[:60]
    names |= {
        "all_trees": all_trees,
        "trees": trees,
        "test": all_trees[60:70],
        "tags": [list(tree.symbols) for tree in trees],
        "words": [list(tree.forms) for tree in trees],
        "y": [tree.heads.tolist() for tree in trees],
        "docs": [Doc(tree) for tree in trees],
        "model": DeterministicSHAG().fit(trees),
        "linear": CRFParser(["symbol"], n_features=2**12, max_iter=1).fit(trees),
        "english": load_parser(),
    }
    exec(SENTENCES, names)
    return names
