"""The component of spaCy's pipelines."""

import importlib
import re
import textwrap
from pathlib import Path
from unittest import mock

import pytest

import sklearn_shag
from sklearn_shag import BiaffineParser, read_card, save_model
from sklearn_shag.parsing import head_probabilities
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


def own_component(**config):
    """The component of a pipeline that has no other."""
    ((_, component),) = make(**config).pipeline
    return component


def words_of(doc):
    return [token for token in doc if not token.is_space]


def test_all_columns_are_those_of_the_parser(bundled):
    nlp = make(model="english")
    doc = nlp(TEXT)
    assert doc.text == TEXT
    assert [t.text for t in doc] == [t.text for t in nlp.make_doc(TEXT)]
    sentences = [[t.text for t in words_of(sentence)] for sentence in doc.sents]
    assert [len(sentence) for sentence in sentences] == [3, 7, 3]
    trees = bundled.parse([DependencyTree(forms) for forms in sentences])
    for sentence, tree in zip(doc.sents, trees, strict=True):
        words = words_of(sentence)
        places = {token.i: k for k, token in enumerate(words, start=1)}
        heads = [0 if t.head.i == t.i else places[t.head.i] for t in words]
        assert heads == tree.heads.tolist()
        relations = [r if h else "ROOT" for r, h in zip(tree.deprels, tree.heads, strict=True)]
        found = [(t.dep_, t.pos_, t.tag_, t.lemma_, str(t.morph) or "_") for t in words]
        columns = relations, tree.upos, tree.xpos, tree.lemmas, tree.feats
        assert found == list(zip(*columns, strict=True))
    for name in ("DEP", "HEAD", "SENT_START"):
        assert doc.has_annotation(name, require_complete=True)
    assert set(nlp.pipe_labels["sklearn_shag"]) > {"ROOT", "nsubj", "obl:agent"}
    assert "root" not in nlp.pipe_labels["sklearn_shag"]


def test_the_example_of_the_guide():
    page = Path(__file__).parents[1] / "doc" / "guide" / "documents.rst"
    blocks = re.findall(r"code-block:: python\n\n((?: .*\n|\n)+)", page.read_text("utf-8"))
    (block,) = [block for block in blocks if "add_pipe" in block]
    found = {}
    exec(textwrap.dedent(block), found)
    assert found["pairs"] == [("sleep", "that"), ("chase", "cat")]
    assert f"# {', '.join(found['phrases'])}\n" in block


def test_sentences_begin_where_the_splitter_says(bundled):
    text = "no capitals here. and yes!  it (is) so.\n\nmore"
    sentences = [s.text.strip() for s in make()(text).sents]
    assert sentences == [tree.text for tree in bundled.parse_text(text)]


def test_sentences_of_the_document_stay():
    text = "Dogs bark. Loudly! It rains"
    sentences = [s.text for s in make("sentencizer")(text).sents]
    assert sentences == ["Dogs bark.", "Loudly!", "It rains"]
    doc = spacy.blank("en").make_doc(text)
    for token in doc:
        token.is_sent_start = token.i == 2  # in the middle of a sentence, and nowhere else
    assert [len(s) for s in own_component()(doc).sents] == [2, len(doc) - 2]


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
    with pytest.warns(UserWarning, match="not split into tokens"):  # of one token with spaces
        assert own_component()(doc) is doc
    assert [[t.text for t in s] for s in doc.sents] == [["New York\nCity", "is", "big", "."]]
    assert [(e.text, e.label_) for e in doc.ents] == [("New York\nCity", "GPE")]


def test_many_documents_and_processes_of_spacy(tmp_path):
    nlp, texts = make(), [TEXT, "", "It rains."]
    alone = [nlp(text).to_json() for text in texts]
    for options in ({}, {"batch_size": 2}, {"n_process": 2}):
        docs = nlp.pipe(3 * texts, **options)
        assert [doc.to_json() for doc in docs] == 3 * alone
    nlp.to_disk(tmp_path / "nlp")
    assert spacy.load(tmp_path / "nlp")(TEXT).to_json() == alone[0]
    docs = own_component(n_jobs=2).pipe(map(nlp.make_doc, 3 * texts), batch_size=2)
    assert [doc.to_json() for doc in docs] == 3 * alone


def test_no_more_documents_wait_than_a_batch_has(monkeypatch, bundled):
    nlp, taken = make(), []
    texts = (taken.append(k) or nlp.make_doc(f"It has {k} legs.") for k in range(9))
    ((_, component),) = nlp.pipeline
    for done, _ in enumerate(component.pipe(texts, batch_size=2)):
        assert len(taken) <= done + 4
    # Of long documents, fewer than a batch are split at once.
    monkeypatch.setattr("sklearn_shag.documents._spacy.CHUNK", 100)
    kind = type(bundled.steps[0][1])
    with mock.patch.object(
        kind, "_find_ends", autospec=True, side_effect=kind._find_ends
    ) as called:
        assert len(list(nlp.pipe([TEXT] * 20))) == 20
    sizes = [len(call.args[1]) for call in called.call_args_list]
    assert len(sizes) > 5
    assert max(sizes) < 100 + 2 * len(TEXT)


def test_settings(english, bundled):
    trees = bundled.parse([DependencyTree(["It", "rains", "and", "it", "snows", "."])])
    doc = make(confidence=True)("It rains and it snows.")
    given = [token._.head_probability for token in doc]
    marginals = bundled.predict_marginals(trees)
    assert given == pytest.approx(
        head_probabilities(marginals, [tree.heads for tree in trees])[0], abs=1e-4
    )
    assert make()("It rains.")[0]._.head_probability is None
    spaced = make(confidence=True)("It  rains.")
    assert [token._.head_probability is None for token in spaced] == [False, True, False, False]
    options = {"confidence": False, "unique_relations": []}
    assert own_component(**options).options == options | {"n_jobs": None}
    text = "The man the dog the cat saw bit slept."
    for unique in ("auto", [], ["nsubj", "obj"]):
        doc = make(unique_relations=unique)(text)
        (tree,) = bundled.parse([DependencyTree([t.text for t in doc])], unique_relations=unique)
        assert [t.dep_.lower() for t in doc] == list(tree.deprels)
    with pytest.raises(ValueError, match="confidence"):
        make(confidence="perhaps")


def save_small(english, path, **card):
    parser = BiaffineParser(
        tags="upos", hidden_layer_sizes=[4], max_iter=1, calibrate=False, random_state=0
    )
    save_model(parser.fit(english[:40]), path, card=card)


@pytest.mark.parametrize("used", [False, True])
def test_pipelines_hold_models_of_one_s_own(tmp_path, english, used):
    path = tmp_path / "own.npz"
    save_small(english, path, note="Mine.")
    nlp = make("sentencizer", model=str(path))
    expected = make("sentencizer", model=str(path))(TEXT).to_json()
    if used:
        nlp(TEXT)
        path.unlink()
    nlp.to_disk(tmp_path / "nlp")
    data, config = nlp.to_bytes(), nlp.config
    path.unlink(missing_ok=True)
    assert read_card(tmp_path / "nlp" / "sklearn_shag") == {"note": "Mine."}
    again = spacy.load(tmp_path / "nlp")
    assert again(TEXT).to_json() == expected
    assert type(nlp).from_config(config).from_bytes(data)(TEXT).to_json() == expected
    assert make("sentencizer").from_bytes(again.to_bytes())(TEXT).to_json() == expected
    component = own_component()
    assert component.from_bytes(again.get_pipe("sklearn_shag").to_bytes()) is component


def test_the_parser_of_the_package_is_held_by_its_name_and_version(tmp_path, monkeypatch):
    ((_, component),) = make().pipeline
    data = component.to_bytes()
    assert data.decode() == f"sklearn_shag {sklearn_shag.__version__} english"
    make().to_disk(tmp_path / "nlp")
    assert (tmp_path / "nlp" / "sklearn_shag").read_bytes() == data
    monkeypatch.setattr("sklearn_shag.documents._spacy.version", lambda package: "0.0.1")
    other = component.to_bytes()
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"sklearn_shag 0\.0\.1"):
        assert component.from_bytes(other).model == "english"


NOUN_PHRASES = {
    "The old man who came late bought a big, red car for his youngest daughter.": [
        "The old man",
        "who",
        "a big, red car",
        "his youngest daughter",
    ],
    "In the morning, John Smith's dog chased the two cats of our neighbours.": [
        "the morning",
        "John Smith's dog",
        "the two cats",
        "our neighbours",
    ],
    "There is a problem, and she is a doctor.": ["a problem", "she", "a doctor"],
}


@pytest.mark.parametrize("text", NOUN_PHRASES)
def test_noun_chunks(tmp_path, text):
    nlp = make()
    nlp.to_disk(tmp_path / "nlp")
    loaded = spacy.load(tmp_path / "nlp")
    for each in (nlp, loaded):
        chunks = [(chunk.text, chunk.label_) for chunk in each(text).noun_chunks]
        assert chunks == [(phrase, "NP") for phrase in NOUN_PHRASES[text]]
    loaded.add_pipe("merge_noun_chunks")  # refuses chunks within others
    assert set(NOUN_PHRASES[text]) <= {token.text for token in loaded(text)}
    with pytest.raises(ValueError, match="E029"):
        next(nlp.make_doc(text).noun_chunks)


def test_noun_chunks_never_overlap(english):
    nlp = make()
    for doc in nlp.pipe(" ".join(tree.forms) for tree in english):
        places = [place for chunk in doc.noun_chunks for place in range(chunk.start, chunk.end)]
        assert len(places) == len(set(places))
        assert all(chunk.root in chunk for chunk in doc.noun_chunks)
        for chunk in doc.noun_chunks:
            assert not {"acl", "acl:relcl", "case"} & {
                token.dep_ for token in chunk if token.head == chunk.root
            }


def test_a_model_that_does_not_split_needs_sentences(tmp_path, english):
    path = str(tmp_path / "tags.npz")
    save_small(english, path)
    with pytest.raises(ValueError, match="sentencizer"):
        make(model=path)("Dogs bark.")
    doc = make("sentencizer", model=path)("Dogs bark. It rains.")
    assert [len(sentence) for sentence in doc.sents] == [3, 3]
    assert all(t.pos_ for t in doc)
    assert not any(t.tag_ or t.lemma_ for t in doc)  # which it has not learned


def test_wrong_models(tmp_path):
    """A model is opened only when it is needed: that of a saved pipeline takes its place."""
    (tmp_path / "text.npz").write_text("no model")
    for name in ("none.npz", "", str(tmp_path / "text.npz")):
        with pytest.raises((OSError, ValueError)):
            make(model=name)("It rains.")
