"""The component `sklearn_shag` of spaCy's pipelines."""

from bisect import bisect
from functools import partial
from itertools import groupby

import numpy as np

from sklearn_shag.documents._features import TextParser
from sklearn_shag.treebank import DependencyTree, to_spacy
from sklearn_shag.utils._estimators import find_splitter


def __getattr__(name):
    """Register the component: spaCy asks for it, and nobody else imports spaCy."""
    if name != "make_component":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spacy import Language

    return Language.factory("sklearn_shag", default_config={"model": "english"}, func=_make)


def _make(nlp, name: str, model: str):
    return partial(_annotate, TextParser(model)._opened_parser())


def _annotate(parser, doc):
    """Parse a document of spaCy, whose tokens stay as they are."""
    tokens = [token for token in doc if not token.is_space]
    if not tokens:
        return doc
    if not doc.has_annotation("SENT_START") and (splitter := find_splitter(parser)):
        begins, place = [tree.spans[0][0] for tree in splitter.split_text(doc.text)], "idx"
    else:  # a model that does not split text needs a document that is split
        begins, place = [sentence.start for sentence in doc.sents], "i"
    groups = groupby(tokens, key=lambda token: bisect(begins, getattr(token, place)))
    trees = [DependencyTree([" ".join(t.text.split()) for t in group]) for _, group in groups]
    parsed = to_spacy(parser.parse(trees), doc.vocab)
    names = [*filter(parsed.has_annotation, ("POS", "TAG", "MORPH", "LEMMA")), "DEP", "HEAD"]
    values, places = doc.to_array(names), np.array([token.i for token in tokens])
    everywhere = np.arange(len(doc))
    # Space is a modifier of the word before it, or of the first one.
    heads = places[np.maximum(np.searchsorted(places, everywhere) - 1, 0)]
    values[:, -2] = doc.vocab.strings.add("dep")
    values[places] = parsed.to_array(names)
    heads[places] = places[[token.head.i for token in parsed]]
    values[:, -1] = (heads - everywhere).astype(values.dtype)
    values[heads == everywhere, -2] = doc.vocab.strings.add("ROOT")
    return doc.from_array(names, values)
