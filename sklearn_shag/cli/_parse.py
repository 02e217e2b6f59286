"""The command `parse`, which reads, parses and writes files piece by piece, in order."""

import os
import re
import warnings
from contextlib import closing
from functools import partial
from itertools import chain, islice, starmap
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from sklearn_shag.cli._models import check_output, choose_verbosity, list_given, open_model
from sklearn_shag.network import SplitterFormat
from sklearn_shag.treebank import (
    CONLLU,
    HORIZONTAL,
    ConlluError,
    forget_guesses,
    list_sources,
    set_comment,
)
from sklearn_shag.utils._arrays import in_chunks
from sklearn_shag.utils._estimators import OpenMember, find_splitter, open_member
from sklearn_shag.utils._io import STANDARD, write_text
from sklearn_shag.utils._messages import printable, warn
from sklearn_shag.utils._parallel import count_workers, map_in_processes, progress

PART = 250  # sentences of a piece whose trees are in memory at once
FEWEST = 4  # pieces that processes are started for: they take as long to start as to parse


class ParsedPiece(NamedTuple):
    """The parses of a piece of text, with errors, warnings and the bytes read."""

    texts: list[list[bytes]]  # of the trees of each sentence
    errors: list[ConlluError]  # of skipped sentences, or of the one that ends parsing
    warned: list[tuple[type, str]]
    n_read: int
    path: str
    begins_file: bool  # of text; a piece may end within the first line


class PieceParser(NamedTuple):
    """A callable that parses a piece of text; each worker has a copy."""

    opened: OpenMember
    form: Any  # TextFormat or SplitterFormat
    options: dict[str, Any]  # of the method parse
    skips: bool  # whether to skip sentences without a parse, or to stop at them

    def __call__(self, piece):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results = list(self._parse_parts(piece))
        errors = [each for each in results if isinstance(each, ConlluError)]
        texts = [texts for texts in results if isinstance(texts, list)]
        shown = [(each.category, str(each.message)) for each in warned]
        begins_file = not getattr(piece, "n_characters", 0)
        return ParsedPiece(texts, errors, shown, piece.n_read, piece.path, begins_file)

    def _parse_parts(self, piece):
        """Yield the texts of each sentence, after its error if it has one that is skipped."""
        for sentences in in_chunks(self.form.sentences(piece), PART):
            results = self._parse_sentences(piece.path, sentences)
            for (line, text, tree), result in zip(sentences, results, strict=True):
                if isinstance(result, ConlluError):
                    yield result
                    if not self.skips:
                        return
                    result = self._unparsed(text, tree)
                if self.form == HORIZONTAL:
                    result = [_name_sentence(piece.path, line, tree) + text for text in result]
                yield result

    def _parse_sentences(self, path, sentences):
        """Return the parses of each sentence as texts, or its error."""
        results = [tree for _, _, tree in sentences]
        places = [k for k, result in enumerate(results) if not isinstance(result, ConlluError)]
        try:
            parsed = self._parse([results[k] for k in places])
        except ValueError:  # parsing each alone finds the sentence at fault
            parsed = [self._parse_alone(path, sentences[k][0], results[k]) for k in places]
        for k, result in zip(places, parsed, strict=True):
            results[k] = result
        return results

    def _parse(self, trees):
        if not trees:
            return []
        transform, parser = self.opened
        if self.options["keep_heads"]:
            trees = [forget_guesses(tree) or tree.with_heads(None) for tree in trees]
        # Steps before the parser change tags, which are written, and symbols, which are not.
        answers = parser.parse(transform(trees), **self.options)
        if not isinstance(answers[0], list):
            answers = [[tree] for tree in answers]
        return [[tree.to_conllu().encode() for tree in of_sentence] for of_sentence in answers]

    def _parse_alone(self, path, line, tree):
        try:
            return self._parse([tree])[0]
        except ValueError as error:
            return ConlluError(path, line, str(error).replace("X[0]", "the sentence", 1))

    def _unparsed(self, text, tree):
        """Return the text of a sentence without a parse; invalid horizontal text is dropped."""
        if self.form == CONLLU:
            return [text + CONLLU.boundary]
        return [] if isinstance(tree, ConlluError) else [tree.to_conllu().encode()]


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
        If the file holds no parser, or a sentence is not valid or cannot be parsed; those before it
        have been written to standard output.
    """
    is_text = options.input in ("text", "lines")
    files = list_files(options)
    check_output(options.output, [options.model, *files])
    model = open_model(options, files)
    opened, form = open_member(model), choose_form(options, model)
    # The progress bar below is for all pieces.
    opened.parser.set_params(verbose=0, **list_given(options, "max_tokens", "decoder"))
    opened.parser._check_ready()  # bad options are not errors of sentences
    groups = [tuple(group.split("+")) for group in options.unique_relations.split(",") if group]
    answers = {"n_best": options.k_best, "n_samples": options.sample, "random_state": options.seed}
    answers |= {"confidence": options.confidence, "keep_heads": options.keep_heads}
    answers["unique_relations"] = "auto" if groups == [("auto",)] else groups
    work = PieceParser(opened, form, answers, skips=options.on_error == "skip")
    pieces = _read_texts(form, files) if is_text and work.skips else form.pieces(files)
    n_bytes = None if STANDARD in files else sum(map(os.path.getsize, files))
    names = _name_documents(files)
    n_sentences, n_of_file, n_skipped, shown, began = 0, 0, 0, set(), perf_counter()
    with (
        write_text(options.output, streamed=True) as write,
        progress("Parsing", n_bytes, "B", choose_verbosity()) as advance,
        closing(_parse_pieces(work, pieces)) as results,  # workers end before an error is shown
    ):
        for parsed in results:
            for category, message in parsed.warned:  # only the first of each category
                if category not in shown:
                    shown.add(category)
                    warn(message, category)
            texts = parsed.texts
            if is_text:  # workers do not know the numbers
                n_of_file *= not parsed.begins_file
                number = partial(_number_trees, names.get(parsed.path))
                texts = starmap(number, enumerate(texts, start=n_of_file + 1))
            write(b"".join(chain.from_iterable(texts)))
            n_sentences += len(parsed.texts)
            n_of_file += len(parsed.texts)
            n_skipped += len(parsed.errors)
            advance(parsed.n_read, f"{n_sentences / (perf_counter() - began):,.0f} sentences/s")
            if parsed.errors and not work.skips:
                raise parsed.errors[0]
            if parsed.errors and n_skipped == len(parsed.errors):
                warn(f"{parsed.errors[0]}; the sentence is passed on as it is", UserWarning)
    if n_skipped:
        warn(f"{n_skipped} of {n_sentences} sentences were passed on without a parse", UserWarning)


def list_files(options):
    """List the files of the option `file`, by the suffix of the format in `input`."""
    return list_sources(options.file, (CONLLU if options.input == "conllu" else HORIZONTAL).suffix)


def choose_form(options, model):
    """Choose the format of the option `input`; of text, it has the splitter of the model."""
    if options.input not in ("text", "lines"):
        return CONLLU if options.input == "conllu" else HORIZONTAL
    splitter = find_splitter(model)
    if splitter is None:
        raise ValueError(
            f"{options.model} has not learned to split text; give a model of train --text."
        )
    return SplitterFormat(splitter, options.input == "lines")


def _read_texts(form, files):
    """Yield the pieces of text files; warn of files that are no text, and leave out their rest."""
    for path in files:
        try:
            yield from form.pieces([path])
        except ConlluError as error:
            warn(f"{error}; this part of the file and the rest of it are left out", UserWarning)


def _name_documents(files):
    """Name the documents in files, which are text: by their names, or by their paths if equal."""
    names = [re.sub(r"(\.txt)?(\.gz)?$", "", Path(path).name) for path in files]
    chosen = names if len(set(names)) == len(set(files)) else files
    return {path: printable(n) for path, n in zip(files, chosen, strict=True) if path != STANDARD}


def _number_trees(document, number, texts):
    """Set the sent_id of all trees of a sentence, and begin the document with the first one."""
    name = str(number) if document is None else f"{document}-{number}"
    texts = [set_comment(text.decode(), "sent_id", name).encode() for text in texts]
    if document is not None and number == 1:
        texts[0] = f"# newdoc id = {document}\n".encode() + texts[0]
    return texts


def _name_sentence(path, line, tree):
    """Return the comments sent_id, made of file and line, and text of a sentence, in bytes."""
    name = "stdin" if path == STANDARD else Path(path).name.partition(".")[0]
    return f"# sent_id = {name}-{line}\n# text = {' '.join(tree.forms)}\n".encode()


def _parse_pieces(work, pieces):
    """Yield parsed pieces, by as many processes as the parser may have if there are enough."""
    first = list(islice(pieces, FEWEST))
    n_workers = count_workers(work.opened.parser.n_jobs) if len(first) == FEWEST else 1
    return map_in_processes(work, chain(first, pieces), n_workers)
