"""The command parse: text in, trees out, piece by piece and in order."""

import os
import re
import warnings
from contextlib import closing
from itertools import chain, count, islice
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from sklearn_shag.cli._evaluate import require_some
from sklearn_shag.cli._models import check_output, open_model, verbosity
from sklearn_shag.encoding import asked_once
from sklearn_shag.network import Splitter
from sklearn_shag.parsing import allow_kept_heads, head_probabilities
from sklearn_shag.treebank import (
    CONLLU,
    HORIZONTAL,
    MAX_SENTENCE_BYTES,
    ConlluError,
    TextFormat,
    format_trees,
    iter_pieces,
    iter_text,
    list_sources,
)
from sklearn_shag.utils._estimators import OpenMember, find_splitter, open_member
from sklearn_shag.utils._io import STANDARD, write_text
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import count_workers, map_in_processes, progress

_SENT_ID = re.compile(rb"^# sent_id = \d+$", flags=re.MULTILINE)


class ParsedPiece(NamedTuple):
    """What becomes of a piece of text."""

    text: bytes
    n_sentences: int
    errors: list[ConlluError]  # of sentences that are written as they are, or of where it ends
    warned: list[tuple[type, str]]
    n_read: int


class PieceParser(NamedTuple):
    """Parses pieces of text; each worker has one."""

    opened: OpenMember
    form: TextFormat | Splitter
    keep_heads: bool
    confidence: bool
    skips: bool  # sentences that are not valid or cannot be parsed; else it ends before them

    def __call__(self, piece):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            sentences = list(piece.sentences(self.form, MAX_SENTENCE_BYTES))
            results = self._parse_sentences(piece.path, sentences)
        texts, errors = [], []
        for (line, text, tree), result in zip(sentences, results, strict=True):
            if isinstance(result, ConlluError):
                errors.append(result)
                if not self.skips:
                    break
                result = self._unparsed(text, tree)
            if result and self.form == HORIZONTAL:
                result = _name_sentence(piece.path, line, tree) + result
            texts.append(result)
        shown = [(each.category, str(each.message)) for each in warned]
        return ParsedPiece(b"".join(texts), len(texts), errors, shown, piece.n_read)

    def _parse_sentences(self, path, sentences):
        """The text of each parse, or what is wrong."""
        results = [tree for _, _, tree in sentences]
        places = [k for k, result in enumerate(results) if not isinstance(result, ConlluError)]
        try:
            parsed = self._parse([results[k] for k in places])
        except ValueError:  # which of them it is, is found by parsing each alone
            parsed = [self._parse_alone(path, sentences[k][0], results[k]) for k in places]
        for k, result in zip(places, parsed, strict=True):
            results[k] = result
        return results

    def _parse(self, trees):
        if not trees:
            return []
        transform, parser = self.opened
        # Of what steps before the parser change, tags are written, and symbols are not.
        trees = transform(trees)
        with asked_once(parser._list_sources(), trees):
            parsed = parser.parse(trees, keep_heads=self.keep_heads)
            if self.confidence:
                parsed = _add_confidence(parser, trees, parsed, self.keep_heads)
        return [text.encode() for text in format_trees(parsed)]

    def _parse_alone(self, path, line, tree):
        try:
            return self._parse([tree])[0]
        except ValueError as error:
            return ConlluError(path, line, str(error).replace("X[0]", "the sentence", 1))

    def _unparsed(self, text, tree):
        """A sentence that is passed on; of lines that are no sentence nothing is left."""
        if self.form == CONLLU:
            return text + CONLLU.boundary
        return b"" if isinstance(tree, ConlluError) else "".join(format_trees([tree])).encode()


def parse(options):
    """Parse treebanks with a saved model.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `input`, `output`, `decoder`, `keep_heads`, `confidence`,
        `on_error`, `max_tokens` and `n_jobs`.

    Raises
    ------
    ValueError
        If the file holds no parser, there is nothing to parse, or a sentence is not valid or cannot
        be parsed; those before it have been written to standard output.
    """
    form = CONLLU if options.input == "conllu" else HORIZONTAL
    files = list_sources(options.file, form.suffix)
    check_output(options.output, [options.model, *files])
    model = open_model(options, files)
    opened = open_member(model)
    if options.input == "text":
        form = find_splitter(model)
        if form is None:
            raise ValueError(
                f"{options.model} has not learned to split text; give a model of train --text."
            )
    # The bar below is that of all pieces.
    opened.parser.set_params(verbose=0, max_tokens=options.max_tokens)
    if options.decoder is not None:
        opened.parser.set_params(decoder=options.decoder)
    opened.parser._check_ready()  # what is wrong with options is no fault of a sentence
    skips = options.on_error == "skip"
    work = PieceParser(opened, form, options.keep_heads, options.confidence, skips)
    pieces = iter_text(files) if options.input == "text" else _read_pieces(files, form)
    sizes = [os.path.getsize(path) for path in files if path != STANDARD]
    n_bytes = sum(sizes) if len(sizes) == len(files) else None
    n_sentences, n_skipped, shown, began = 0, 0, set(), perf_counter()
    with (
        write_text(options.output, streamed=True) as write,
        progress("Parsing", n_bytes, "B", verbosity()) as advance,
        closing(_parse_pieces(work, pieces)) as results,  # workers end before an error is shown
    ):
        for parsed in results:
            for category, message in parsed.warned:  # the first of its kind
                if category not in shown:
                    shown.add(category)
                    warn(message, category)
            text = parsed.text
            if options.input == "text":  # pieces are parsed side by side
                numbers = count(n_sentences + 1)
                text = _SENT_ID.sub(lambda _, n=numbers: b"# sent_id = %d" % next(n), text)
            write(text)
            n_sentences += parsed.n_sentences
            n_skipped += len(parsed.errors)
            advance(parsed.n_read, f"{n_sentences / (perf_counter() - began):,.0f} sentences/s")
            if parsed.errors and not work.skips:
                raise parsed.errors[0]
            if parsed.errors and n_skipped == len(parsed.errors):
                warn(f"{parsed.errors[0]}; the sentence is passed on as it is", UserWarning)
        if not n_sentences:
            require_some([], files)
    if n_skipped:
        warn(f"{n_skipped} of {n_sentences} sentences were passed on without a parse", UserWarning)


def _read_pieces(files, form):
    for path in files:
        yield from iter_pieces(path, form.boundary, longest=MAX_SENTENCE_BYTES)


def _name_sentence(path, line, tree):
    """The comments that each sentence must have; it is named by its file and line."""
    name = "stdin" if path == STANDARD else Path(path).name.partition(".")[0]
    return f"# sent_id = {name}-{line}\n# text = {' '.join(tree.forms)}\n".encode()


def _parse_pieces(work, pieces):
    """Parse by as many processes as the parser may have workers, if there are several pieces."""
    first = list(islice(pieces, 2))
    n_workers = count_workers(work.opened.parser.n_jobs) if len(first) > 1 else 1
    if n_workers > 1:
        work.opened.parser.set_params(n_jobs=1)
    return map_in_processes(work, chain(first, pieces), n_workers)


def _add_confidence(parser, trees, parsed, keep_heads):
    """Put the probability of each arc into MISC, given the heads that were kept."""
    allowed = allow_kept_heads(trees, None, parser._projective) if keep_heads else None
    marginals = parser.predict_marginals(trees, allowed=allowed)
    probabilities = head_probabilities(marginals, [tree.heads for tree in parsed])
    return [
        tree.with_misc("Confidence", [f"{probability:.4f}" for probability in of_sentence])
        for tree, of_sentence in zip(parsed, probabilities, strict=True)
    ]
