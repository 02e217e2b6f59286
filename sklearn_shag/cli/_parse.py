"""The command parse: text in, trees out, piece by piece and in order."""

import os
import warnings
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import chain, islice, repeat, starmap
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from sklearn_shag.cli._evaluate import require_some
from sklearn_shag.cli._models import check_output, open_model, verbosity
from sklearn_shag.encoding import asked_once
from sklearn_shag.network import RawText
from sklearn_shag.parsing import allow_kept_heads, head_probabilities, kept_relations
from sklearn_shag.treebank import (
    CONLLU,
    HORIZONTAL,
    ConlluError,
    TextFormat,
    format_trees,
    list_sources,
    set_comment,
)
from sklearn_shag.utils._estimators import OpenMember, find_splitter, open_member
from sklearn_shag.utils._io import STANDARD, write_text
from sklearn_shag.utils._messages import warn
from sklearn_shag.utils._parallel import count_workers, map_in_processes, progress


class ParsedPiece(NamedTuple):
    """What becomes of a piece of text."""

    texts: list[list[bytes]]  # of the trees of each sentence
    errors: list[ConlluError]  # of sentences that are written as they are, or of where it ends
    warned: list[tuple[type, str]]
    n_read: int


class PieceParser(NamedTuple):
    """Parses pieces of text; each worker has one."""

    opened: OpenMember
    form: TextFormat | RawText
    keep_heads: bool
    unique_relations: list
    confidence: bool
    several: Callable | None  # lists trees of sentences and what is allowed; None for one of each
    skips: bool  # sentences that are not valid or cannot be parsed; else it ends before them

    def __call__(self, piece):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            sentences = list(self.form.sentences(piece))
            results = self._parse_sentences(piece.path, sentences)
        texts, errors = [], []
        for (line, text, tree), result in zip(sentences, results, strict=True):
            if isinstance(result, ConlluError):
                errors.append(result)
                if not self.skips:
                    break
                result = self._unparsed(text, tree)
            if self.form == HORIZONTAL:
                result = [_name_sentence(piece.path, line, tree) + text for text in result]
            texts.append(result)
        shown = [(each.category, str(each.message)) for each in warned]
        return ParsedPiece(texts, errors, shown, piece.n_read)

    def _parse_sentences(self, path, sentences):
        """The texts of the parses of each, or what is wrong."""
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
        options = {"keep_heads": self.keep_heads, "unique_relations": self.unique_relations}
        allowed = None
        if self.keep_heads:
            projective = parser._projective or self.several is not None
            allowed = allow_kept_heads(trees, None, projective)
        with asked_once(parser._list_sources(), trees):
            parsed = parser.parse(trees, **options)
            answers = [[tree] for tree in parsed]
            if self.several:
                answers = self._list_answers(parser, trees, allowed, parsed)
            if self.confidence or self.several:
                answers = self._add_confidence(parser, trees, allowed, answers)
        return [[text.encode() for text in format_trees(of_sentence)] for of_sentence in answers]

    def _list_answers(self, parser, trees, allowed, parsed):
        """List several trees of each sentence, with the tags and all else of the parsed one."""
        heads = self.several(parser, trees, allowed)
        copies = [tree for tree, rows in zip(trees, heads, strict=True) for _ in rows]
        labels, rows = repeat(None, len(copies)), [row for rows in heads for row in rows]
        if parser._has_labels:
            labels = parser.predict_labels(copies, rows, unique_relations=self.unique_relations)
        if self.keep_heads:
            labels = map(kept_relations, copies, rows, labels)
        labels = iter(labels)
        return [
            [tree.with_heads(row, next(labels)) for row in rows]
            for tree, rows in zip(parsed, heads, strict=True)
        ]

    def _add_confidence(self, parser, trees, allowed, answers):
        """Add the log probability of each tree, and if asked for, in MISC, that of each arc."""
        places = np.repeat(np.arange(len(trees)), list(map(len, answers)))
        heads = [tree.heads for of_sentence in answers for tree in of_sentence]
        logs = parser._condition(parser._batch(trees, allowed), heads, places)
        scores = iter(np.minimum(logs, 0.0).tolist())
        answers = [
            [tree._with_comment("score", f"{next(scores):.4f}") for tree in of_sentence]
            for of_sentence in answers
        ]
        if not self.confidence:
            return answers
        marginals = parser.predict_marginals(trees, allowed=allowed)
        return [
            [_add_probabilities(tree, of_sentence) for tree in its_trees]
            for its_trees, of_sentence in zip(answers, marginals, strict=True)
        ]

    def _parse_alone(self, path, line, tree):
        try:
            return self._parse([tree])[0]
        except ValueError as error:
            return ConlluError(path, line, str(error).replace("X[0]", "the sentence", 1))

    def _unparsed(self, text, tree):
        """The text of a sentence that is passed on; of what is no sentence nothing is left."""
        if self.form == CONLLU:
            return [text + CONLLU.boundary]
        return [] if isinstance(tree, ConlluError) else ["".join(format_trees([tree])).encode()]


def parse(options):
    """Parse treebanks with a saved model.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `input`, `output`, `decoder`, `keep_heads`, `confidence`,
        `k_best`, `sample`, `seed`, `unique_relations`, `on_error`, `max_tokens` and `n_jobs`.

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
        splitter = find_splitter(model)
        if splitter is None:
            raise ValueError(
                f"{options.model} has not learned to split text; give a model of train --text."
            )
        form = RawText(splitter)
    # The bar below is that of all pieces.
    opened.parser.set_params(verbose=0, max_tokens=options.max_tokens)
    if options.decoder is not None:
        opened.parser.set_params(decoder=options.decoder)
    opened.parser._check_ready()  # what is wrong with options is no fault of a sentence
    skips = options.on_error == "skip"
    several = None
    if options.k_best or options.sample:
        number, seed = options.k_best or options.sample, options.seed
        several = partial(_best if options.k_best else _drawn, number, seed)
    groups = [tuple(group.split("+")) for group in options.unique_relations.split(",") if group]
    work = PieceParser(opened, form, options.keep_heads, groups, options.confidence, several, skips)
    pieces = form.pieces(files)
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
            texts = parsed.texts
            if options.input == "text":  # pieces are parsed side by side
                texts = starmap(_number, enumerate(texts, start=n_sentences + 1))
            write(b"".join(chain.from_iterable(texts)))
            n_sentences += len(parsed.texts)
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


def _number(number, texts):
    """Number a sentence, of which there may be several trees."""
    return [set_comment(text.decode(), "sent_id", number).encode() for text in texts]


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


def _add_probabilities(tree, marginals):
    (probabilities,) = head_probabilities([marginals], [tree.heads])
    return tree.with_misc("Confidence", [f"{probability:.4f}" for probability in probabilities])


def _best(k, seed, parser, trees, allowed):
    return parser.k_best(trees, k, allowed=allowed, random_state=seed)[0]


def _drawn(n_samples, seed, parser, trees, allowed):
    return parser.sample_trees(trees, n_samples, seed, allowed=allowed)
