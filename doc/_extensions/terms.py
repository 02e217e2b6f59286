"""An index of terms: what readers search for, by whatever name, and the page that has it.

Sphinx's search reads the entries of the index first. Each page of TERMS gets its terms as main
entries, so that the search finds it above pages that only use a word. SEARCHES are some of them,
which `look.py` types into the search of the built site. Sphinx forgets the entries of unchanged
pages where it goes on from an earlier build; `sphinx-build -E -a` writes all pages anew.
"""

from docutils import nodes
from docutils.transforms import Transform
from sphinx import addnodes
from sphinx.errors import ExtensionError

# Terms of a page, with synonyms and both spellings; those of "page#label" lead to its section.
TERMS = {
    "guide/start": "install, installation, pip, conda, Windows, macOS, Linux, tutorial",
    "guide/data": "read CoNLL-U, treebank, download, Universal Dependencies, UD, corpus",
    "guide/choosing": "which model, which estimator, comparison of estimators, choose",
    "guide/text": "plain text, raw text to trees, English model, pretrained model, bundled parser",
    "guide/english_parser": "model card, intended use, bias, limitations, training data",
    "guide/text#splitting": (
        "tokenizer, tokeniser, tokenization, tokenisation, sentence splitter, sentence "
        "segmentation, sentence boundary, segmenter, NLTK, Punkt, pySBD, multiword token"
    ),
    "guide/tokens": (
        "lemmatizer, lemmatiser, lemma, lemmas, lemmatization, tagger, POS tagging, part of "
        "speech, morphology, morphological features"
    ),
    "guide/parsing": (
        "visualise, visualize, visualisation, visualization, draw, drawing, picture, SVG, k best, "
        "probabilities, marginals, parse"
    ),
    "guide/learned": "inspect, interpret, plot, explain, Graphviz",
    "guide/documents": (
        "query, queries, search trees, pattern, concordance, count, passive, passives, style, "
        "pandas, DataFrame, spaCy, Stanza, udapi, Grew"
    ),
    "guide/answers": "ambiguity, attachment, question, sum over trees",
    "guide/service": (
        "web service, server, serve, REST, HTTP, API server, WSGI, gunicorn, browser, async, "
        "asynchronous, asyncio, FastAPI"
    ),
    "guide/speed": "Docker, container, image, compile, kernel cache, start-up, slow, numba",
    "guide/cluster": "Dask, parallel, multiprocessing, many machines, n_jobs, big data",
    "guide/network": "GPU, CUDA, PyTorch, neural network, biaffine, deep learning",
    "guide/vectors": "BERT, transformer, word vectors, embeddings, word2vec, Hugging Face",
    "guide/algebra": "OpenFST, AT&T format, automata, WFSA, transducer, intersection",
    "guide/sequences": "HMM, hidden Markov model, hmmlearn, sequence model, n-gram, perplexity",
    "guide/few_trees": "low-resource, cross-lingual, transfer, zero-shot, few-shot",
    "guide/raw_text": "distillation, semi-supervised, self-training, teacher, student",
    "guide/annotate": (
        "annotate, annotation tool, correct trees, treebank editor, ConlluEditor, Arborator, UD "
        "Annotatrix, INCEpTION"
    ),
    "guide/annotate_json": "annotation API, simulated annotator",
    "guide/annotation": "active learning, annotation errors, suggest",
    "guide/induction": "unsupervised, DMV, grammar induction",
    "guide/labels": "relations, deprel, labelled, labels, LAS",
    "guide/scores": "UAS, evaluate, evaluation, metrics, accuracy, F1",
    "guide/reliability": "calibration, confidence, limits, when not to use",
    "model_files": "save, load, pickle, ONNX, security, share a model",
    "guide/crossing": "non-projective, crossing arcs, MST",
    "teaching": "lesson, course, classroom, notebook, Jupyter, exercise, offline",
}
SEARCHES = {
    "tokenizer": "guide/text",
    "lemmatizer": "guide/tokens",
    "docker": "guide/speed",
    "NLTK": "guide/text",
    "query": "guide/documents",
    "passive": "guide/documents",
    "visualise": "guide/parsing",
    "OpenFST": "guide/algebra",
    "async": "guide/service",
    "GPU": "guide/network",
    "ConlluEditor": "guide/annotate",
    "Windows": "guide/start",
}


class AddTerms(Transform):
    """Add the terms of a page to the index, before Sphinx collects it."""

    default_priority = 840  # just before the domains

    def apply(self, **_):
        document = self.document
        docname = document.settings.env.docname
        for place, terms in TERMS.items():
            page, _, label = place.partition("#")
            if page != docname:
                continue
            target = document.nameids.get(label) if label else self._first_section()["ids"][0]
            if target is None:
                raise ExtensionError(f"terms.py names {place}, but the page has no such label.")
            entries = [("single", term, target, "main", None) for term in terms.split(", ")]
            document.insert(0, addnodes.index(entries=entries))

    def _first_section(self):
        return next(self.document.findall(nodes.section))


def _check_pages(app, env, _):
    """Stop the build where the index names pages that do not exist."""
    missing = {place.partition("#")[0] for place in (*TERMS, *SEARCHES.values())} - env.found_docs
    if missing:
        raise ExtensionError(f"terms.py names the pages {sorted(missing)}, which do not exist.")


def setup(app):
    """Add the terms while pages are read."""
    app.connect("env-before-read-docs", _check_pages)
    app.add_transform(AddTerms)
    return {"parallel_read_safe": True}
