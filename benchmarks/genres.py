"""The genre of documents from their words and their syntax.

Usage: SKLEARN_SHAG_DATA=FOLDER python benchmarks/genres.py [--output RESULTS.json]

The documents of the development set of UD English EWT are parsed from their text by the bundled
parser, which has not learned from them. Their genre, one of five, begins their id. Logistic
regression is scored by five folds, repeated ten times, on words, on arcs of UPOS, and on both, in
the same folds: "presence" is whether a document has a feature, with scikit-learn's default of C;
"frequencies" are logarithmic and divided by their length, with C=100. The columns "splits won" and
"lost" compare with words alone. Parsing learns nothing from the documents, so it is done once.
"""

import argparse
from itertools import groupby

import numpy as np
from _measure import Report, load, measured
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from threadpoolctl import threadpool_limits

from sklearn_shag import DependencyVectorizer, TextParser
from sklearn_shag.treebank import join_text


def list_features(binary):
    words = DependencyVectorizer("words", nodes="form", binary=binary)
    arcs = DependencyVectorizer("arcs", binary=binary)
    return {"words": [words], "arcs": [arcs], "words and arcs": [words, arcs]}


def make_classifier(vectorizers, binary):
    if binary:
        return make_pipeline(make_union(*vectorizers), LogisticRegression(max_iter=2000))
    frequencies = TfidfTransformer(use_idf=False, sublinear_tf=True)
    features = make_union(*(make_pipeline(each, frequencies) for each in vectorizers))
    return make_pipeline(features, LogisticRegression(C=100, max_iter=2000))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="default: in the folder results beside the script")
    report = Report("genres", parser.parse_args().output)
    trees = load("UD_English-EWT").dev
    texts = {name: join_text(group) for name, group in groupby(trees, lambda tree: tree.document)}
    genres = [name.partition("-")[0] for name in texts]
    print(len(texts), "documents,", len(set(genres)), "genres")
    folds, rows = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0), []
    with threadpool_limits(1):
        documents = TextParser().fit_transform(texts.values())
        for binary, called in ((True, "presence"), (False, "frequencies, C=100")):
            scores = {}
            for name, vectorizers in list_features(binary).items():
                classifier = make_classifier(vectorizers, binary)
                scores[name] = 100 * cross_val_score(classifier, documents, genres, cv=folds)
                gains = scores[name] - scores["words"]
                row = {"values": called, "features": name, "accuracy": scores[name].mean()}
                row |= {"above words": gains.mean()}
                rows.append(
                    row | {"splits won": int((gains > 0).sum()), "lost": int((gains < 0).sum())}
                )
            report.add("genres", rows)
            if binary:
                gain = np.mean(scores["words and arcs"] - scores["words"])
                what = "points of words and arcs above words"
                report.add("gain", [measured(what, float(gain), at_least=0.5)])


if __name__ == "__main__":
    main()
