"""The component `sklearn_shag` of spaCy's pipelines."""

from bisect import bisect
from contextlib import suppress
from importlib.metadata import version
from itertools import chain, compress, count, groupby, islice, takewhile, tee
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sklearn_shag.datasets import PARSERS
from sklearn_shag.documents._features import TextParser
from sklearn_shag.model_files import load_model
from sklearn_shag.treebank import DependencyTree, TextPiece, group_pieces, to_spacy
from sklearn_shag.utils._estimators import PACKAGE, find_splitter, open_member
from sklearn_shag.utils._messages import warn

SETTINGS = {"model": "english", "confidence": False, "unique_relations": "auto", "n_jobs": None}
ASSIGNED = [
    *(f"token.{name}" for name in ("pos", "tag", "morph", "lemma", "dep", "head", "sent_start")),
    "token._.head_probability",
]
NOMINAL = {"NOUN", "PRON", "PROPN"}
# Relations of words that are parts of the noun phrase of their head, and of dummy subjects.
PARTS = {
    "amod",
    "compound",
    "det",
    "expl",
    "fixed",
    "flat",
    "goeswith",
    "nmod:poss",
    "nummod",
}
CHUNK = 50_000  # characters of documents that are split together
NAMED = "sklearn_shag "  # how the bytes begin that name a parser


def __getattr__(name):
    """Register the component: spaCy asks for it, and nobody else imports spaCy."""
    if name != "make_component":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spacy import Language

    return Language.factory("sklearn_shag", default_config=SETTINGS, assigns=ASSIGNED, func=_make)


def _make(
    nlp,
    name: str,
    model: str,
    confidence: bool,
    unique_relations: str | list[str],
    n_jobs: int | None,
):
    from spacy.tokens import Token

    Token.set_extension("head_probability", default=None, force=True)
    nlp.vocab.get_noun_chunks = find_noun_chunks
    return ParserComponent(
        model, confidence=confidence, unique_relations=unique_relations, n_jobs=n_jobs
    )


class ParserComponent:
    """Parser of documents of spaCy, whose tokens stay as they are.

    Parameters
    ----------
    model : str
        The name of a parser, or the path of a model file, which is read when it is needed first:
        in a pipeline that was saved, the model itself takes its place.
    **options : dict
        Options of `iter_parse`: `confidence`, `unique_relations` and `n_jobs`.
    """

    def __init__(self, model, **options):
        self.model, self.options, self._file = model, options, None

    @property
    def parser(self):
        """The model, opened."""
        if isinstance(self.model, str) and self.model not in PARSERS:
            self.from_disk(self.model)
        return TextParser(self.model)._opened_parser()

    @property
    def labels(self):
        """The relations of arcs, as spaCy has them."""
        with suppress(FileNotFoundError):
            return tuple(sorted({*open_member(self.parser).parser.labels_, "ROOT"} - {"root"}))
        return ()  # spaCy asks while it loads a pipeline, before its model is there

    def __call__(self, doc):
        """Parse a document."""
        return next(self.pipe([doc]))

    def pipe(self, stream, *, batch_size=1000):
        """Parse documents, many at once."""
        split, documents = tee(self._split(stream, batch_size))
        trees = chain.from_iterable(trees for _, trees in split)
        parsed = self.parser.iter_parse(trees, chunk_size=batch_size, **self.options)
        for doc, trees in documents:
            yield _annotate(doc, list(islice(parsed, len(trees))))

    def _split(self, stream, batch_size):
        """Yield pairs of each document and its sentences, as trees without heads."""
        from spacy.util import minibatch

        splitter = find_splitter(self.parser)
        batches = minibatch(stream, batch_size)
        # Of long documents, fewer are in memory at once.
        for docs in chain.from_iterable(group_pieces(batch, CHUNK) for batch in batches):
            # A model that does not split text needs documents that are split.
            are_whole = [splitter and not doc.has_annotation("SENT_START") for doc in docs]
            pieces = [TextPiece("", 0, 0, doc.text) for doc in compress(docs, are_whole)]
            split = splitter and splitter._split_pieces(pieces, count(1))
            for doc, is_whole in zip(docs, are_whole, strict=True):
                words = [token for token in doc if not token.is_space]
                if is_whole:
                    begins = [tree.spans[0][0] for tree in next(split)]
                else:
                    begins = words and [sentence[0].idx for sentence in doc.sents]
                groups = groupby(words, key=lambda word: bisect(begins, word.idx))
                yield doc, [_make_tree(group) for _, group in groups]

    def to_bytes(self, *, exclude=()):
        """Return the file of the model, or name and version of one that comes with the package."""
        if self.model in PARSERS:
            return f"{NAMED}{version(PACKAGE)} {self.model}".encode()
        return self._file or Path(self.model).read_bytes()

    def from_bytes(self, bytes_data, *, exclude=()):
        """Take the model in the bytes of `to_bytes`."""
        with TemporaryDirectory() as folder:
            Path(folder, "model").write_bytes(bytes_data)
            return self.from_disk(Path(folder, "model"))

    def to_disk(self, path, *, exclude=()):
        """Write a file of the bytes of `to_bytes`."""
        Path(path).write_bytes(self.to_bytes())

    def from_disk(self, path, *, exclude=()):
        """Take the model of a file, which may be any model file."""
        data = Path(path).read_bytes()
        if data.startswith(NAMED.encode()):
            saved_by, self.model = data.decode().removeprefix(NAMED).split()
            if saved_by != version(PACKAGE):
                warn(
                    f"This pipeline was saved with the parser {self.model!r} of sklearn_shag "
                    f"{saved_by}; that of version {version(PACKAGE)} takes its place.",
                    UserWarning,
                )
        else:
            self.model, self._file = load_model(path), data
        return self


def _make_tree(words):
    """Make a tree without heads of tokens, which may have space within."""
    return DependencyTree([" ".join(word.text.split()) for word in words])


def _annotate(doc, trees):
    """Copy trees to the tokens of a document that are no space."""
    if not trees:
        return doc
    parsed = to_spacy(trees, doc.vocab)
    names = [*filter(parsed.has_annotation, ("POS", "TAG", "MORPH", "LEMMA")), "DEP", "HEAD"]
    values, everywhere = doc.to_array(names), np.arange(len(doc))
    places = np.flatnonzero(doc.to_array("IS_SPACE") == 0)
    # Space is a modifier of the word before it, or of the first one.
    heads = places[np.maximum(np.searchsorted(places, everywhere) - 1, 0)]
    values[:, -2] = doc.vocab.strings.add("dep")
    values[places] = parsed.to_array(names)
    heads[places] = places[[token.head.i for token in parsed]]
    values[:, -1] = (heads - everywhere).astype(values.dtype)
    values[heads == everywhere, -2] = doc.vocab.strings.add("ROOT")
    for place, misc in zip(places.tolist(), chain(*(tree.misc for tree in trees)), strict=True):
        if "Confidence" in misc:
            doc[place]._.head_probability = float(misc.removeprefix("Confidence="))
    return doc.from_array(names, values)


def find_noun_chunks(doclike):
    """Yield the begin, end and label of each noun phrase in UD trees, as spaCy asks for them.

    It is a noun, name or pronoun with its determiners, adjectives, numbers and possessors, and with
    the other words of its name or compound. None is within another.
    """
    from spacy.errors import Errors

    if not doclike.doc.has_annotation("DEP"):
        raise ValueError(Errors.E029)
    label = doclike.doc.vocab.strings.add("NP")
    for word in doclike:
        if word.pos_ in NOMINAL and not any(map(_is_part, (word, *word.ancestors))):
            before = takewhile(_is_part, reversed([*word.lefts]))
            begin = min([word.i, *(part.left_edge.i for part in before)])
            behind = takewhile(_is_part, word.rights)
            yield begin, max([word.i, *(part.right_edge.i for part in behind)]) + 1, label


def _is_part(word):
    """Tell whether a word is a part of the noun phrase of its head, or is no phrase itself."""
    return not PARTS.isdisjoint((word.dep_, word.dep_.partition(":")[0]))
