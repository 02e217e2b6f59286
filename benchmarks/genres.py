"""The genre of documents from their words and their syntax: `python benchmarks/genres.py`.

The documents of the development set of UD English EWT are parsed from their text by the bundled
parser, which has not learned from them. Their genre, one of five, begins their id. Logistic
regression is scored by five folds, repeated ten times, on counts of words, of arcs, and of both:
the same folds for all. Parsing learns nothing from the documents, so it is done once.

Usage: SKLEARN_SHAG_DATA=FOLDER python benchmarks/genres.py [--save]
"""

import argparse
import time
import warnings
from itertools import groupby

import numpy as np
from _measure import save_results, show_table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline, make_union

from sklearn_shag import DependencyVectorizer, SyntaxStatistics, TextParser
from sklearn_shag.datasets import fetch_treebank

WORDS = DependencyVectorizer("words", nodes="lemma")
ARCS = DependencyVectorizer("arcs")


def main():
    pass


if __name__ == "__main__":
    main()
