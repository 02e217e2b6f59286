"""The component of spaCy's pipelines."""

import importlib

import pytest

from sklearn_shag import BiaffineParser, save_model
from sklearn_shag.datasets import load_parser
from sklearn_shag.treebank import DependencyTree
from tests.test_packaging import CONFIG

spacy = pytest.importorskip("spacy")
TEXT = "Dogs bark. She didn't see  the cats.\n\nIt rains!"


@pytest.fixture(scope="module", autouse=True)
def component():
    """The entry point of the package, as spaCy loads it."""
    name, _, target = CONFIG["options.entry_points"]["spacy_factories"].strip().partition(" = ")
    assert name == "sklearn_shag"
    module, _, factory = target.partition(":")
    return getattr(importlib.import_module(module), factory)


def make(*before, **config):
    """An English pipeline with the component behind others."""
    nlp = spacy.blank("en")
    for each in before:
        nlp.add_pipe(each)
    nlp.add_pipe("sklearn_shag", config=config)
    return nlp


def words_of(doc):
    return [token for token in doc if not token.is_space]


def test_all_columns_are_those_of_the_parser():
    nlp = make(model="english")
    doc = nlp(TEXT)
    assert doc.text == TEXT
    assert [t.text for t in doc] == [t.text for t in nlp.make_doc(TEXT)]
    sentences = [[t.text for t in words_of(sentence)] for sentence in doc.sents]
    assert [len(sentence) for sentence in sentences] == [3, 7, 3]
    trees = load_parser().parse([DependencyTree(forms) for forms in sentences])
    for sentence, tree in zip(doc.sents, trees, strict=True):
        words = words_of(sentence)
        places = {token.i: k for k, token in enumerate(words, start=1)}
        heads = [0 if t.head.i == t.i else places[t.head.i] for t in words]
        assert heads == tree.heads.tolist()
        relations = [r if h else "ROOT" for r, h in zip(tree.deprels, tree.heads, strict=True)]
        assert [t.dep_ for t in words] == relations
        assert tuple(t.pos_ for t in words) == tree.upos
        assert tuple(t.tag_ for t in words) == tree.xpos
        assert tuple(t.lemma_ for t in words) == tree.lemmas
        assert tuple(str(t.morph) or "_" for t in words) == tree.feats
    for name in ("DEP", "HEAD", "SENT_START"):
        assert doc.has_annotation(name, require_complete=True)


def test_sentences_begin_where_the_splitter_says():
    text = "no capitals here. and yes!  it (is) so.\n\nmore"
    sentences = [s.text.strip() for s in make()(text).sents]
    assert sentences == [tree.text for tree in load_parser().parse_text(text)]


def test_sentences_of_the_document_stay():
    text = "Dogs bark. Loudly! It rains"
    before = [s.text for s in spacy_sentences(text)]
    doc = make("sentencizer")(text)
    assert [s.text for s in doc.sents] == before == ["Dogs bark.", "Loudly!", "It rains"]
    doc = spacy.blank("en").make_doc(text)
    for token in doc:
        token.is_sent_start = token.i == 2  # in the middle of a sentence, and nowhere else
    ((_, component),) = make().pipeline
    assert [len(s) for s in component(doc).sents] == [2, len(doc) - 2]


def spacy_sentences(text):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp(text).sents


@pytest.mark.parametrize("text", ["", " ", "\n\n  ", "x", " \n Hi there. \n ", "Hi.\n\n\n", "\tHi"])
def test_space_is_a_modifier_of_words(text):
    nlp = make("sentencizer")
    for doc in (make()(text), nlp(text)):
        assert doc.text == text
        words = words_of(doc)
        if words:
            assert len(list(doc.sents)) == len([t for t in doc if t.dep_ == "ROOT"])
        for token in doc:
            if token.is_space and words:
                assert not token.head.is_space
                assert (token.dep_, token.pos_, token.n_lefts + token.n_rights) == ("dep", "", 0)


def test_tokens_of_others_stay():
    doc = spacy.blank("en").make_doc("New York\nCity is big.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:4])  # with a line end in it
    doc.ents = [spacy.tokens.Span(doc, 0, 1, label="GPE")]
    ((_, component),) = make().pipeline
    with pytest.warns(UserWarning, match="not split into tokens"):  # of one token with spaces
        assert component(doc) is doc
    assert [t.text for t in doc] == ["New York\nCity", "is", "big", "."]
    assert [(e.text, e.label_) for e in doc.ents] == [("New York\nCity", "GPE")]
    assert len(list(doc.sents)) == 1


def test_many_documents_and_processes_of_spacy(tmp_path):
    nlp = make()
    docs = list(nlp.pipe([TEXT, "", "It rains."] * 3))
    alone = [nlp(text) for text in (TEXT, "", "It rains.")]
    assert [doc.to_json() for doc in docs] == [doc.to_json() for doc in 3 * alone]
    nlp.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp")
    assert again(TEXT).to_json() == alone[0].to_json()


def test_a_model_that_does_not_split_needs_sentences(tmp_path, english):
    small = {"hidden_layer_sizes": [4], "max_iter": 1, "calibrate": False, "random_state": 0}
    save_model(BiaffineParser(tags="upos", **small).fit(english[:40]), tmp_path / "tags.npz")
    path = str(tmp_path / "tags.npz")
    with pytest.raises(ValueError, match="sentencizer"):
        make(model=path)("Dogs bark.")
    doc = make("sentencizer", model=path)("Dogs bark. It rains.")
    assert [len(sentence) for sentence in doc.sents] == [3, 3]
    assert all(t.pos_ for t in doc)
    assert not any(t.tag_ or t.lemma_ for t in doc)  # which it has not learned


def test_wrong_models():
    for name in ("none.npz", ""):
        with pytest.raises((OSError, ValueError)):
            make(model=name)
    module = importlib.import_module("sklearn_shag.documents._spacy")
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        module.other  # noqa: B018
