"""The command `parse`, which reads, parses and writes files piece by piece, in order."""

import json
import os
import re
from collections import Counter
from contextlib import closing
from itertools import chain, groupby, islice, tee
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from sklearn_shag import __version__
from sklearn_shag.cli._models import check_output, choose_verbosity, open_model
from sklearn_shag.network import SplitterFormat
from sklearn_shag.parsing import describe_answers
from sklearn_shag.treebank import (
    CONLLU,
    HORIZONTAL,
    ConlluError,
    describe_tree,
    forget_guesses,
    group_pieces,
    list_sources,
    read_json_lines,
    read_text_file,
    set_comment,
)
from sklearn_shag.utils._arrays import answer_each, in_chunks
from sklearn_shag.utils._estimators import OpenMember
from sklearn_shag.utils._io import PARTIAL, STANDARD, expand_user, write_resumable
from sklearn_shag.utils._messages import printable, warn
from sklearn_shag.utils._parallel import call_recorded, count_workers, map_in_processes, progress

PARSED_CHUNK = 250  # sentences of pieces whose trees are in memory at once
GROUP = 1 << 15  # characters of pieces of text that are parsed together, at least
FEWEST_ITEMS = 4  # items that processes are started for: they take as long to start as to parse
SUFFIXES = {"conllu": ".conllu", "jsonl": ".jsonl"}  # of files in folders; others end in .txt
# Options that do not change the output, or that are described by themselves.
OTHERS = {"command", "module", "program", "model", "context", "file", "output", "n_jobs", "resume"}


class PieceParser(NamedTuple):
    """A callable that parses pieces of text together; each worker has a copy.

    It returns a list with a pair for each sentence, of the place of its piece and the texts of its
    trees, before which may be a pair with its ConlluError; and a list of warnings.
    """

    opened: OpenMember
    form: Any  # TextFormat, of one piece at a time, or SplitterFormat
    options: dict[str, Any]  # of the method parse
    skips: bool  # whether to skip sentences without a parse, or to stop at them
    is_json: bool

    def __call__(self, pieces):
        return call_recorded(self._list_results, pieces)

    def _list_results(self, pieces):
        found = []
        for sentences in in_chunks(self._list_sentences(pieces), PARSED_CHUNK):
            trees = [tree for *_, tree in sentences if not isinstance(tree, ConlluError)]
            answers = iter(answer_each(self._parse, trees))
            for k, line, text, tree in sentences:
                answer = tree if isinstance(tree, ConlluError) else next(answers)
                if isinstance(answer, list):
                    found.append((k, self._write(answer)))
                    continue
                if answer is not tree:  # the sentence is valid, but cannot be parsed
                    message = str(answer).replace("X[0]", "the sentence", 1)
                    answer = ConlluError(pieces[k].path, line, message)
                found.append((k, answer))
                if not self.skips:
                    return found
                found.append((k, self._pass_on(text, tree)))
        return found

    def _list_sentences(self, pieces):
        """Yield the place of the piece, line, text, and tree or error of each sentence."""
        for k, line, text, tree in self.form.sentences(pieces):
            is_named = self.form != HORIZONTAL or isinstance(tree, ConlluError)
            yield k, line, text, tree if is_named else _name_sentence(pieces[k].path, line, tree)

    def _pass_on(self, text, tree):
        """Return the texts of a sentence without a parse."""
        if self.form == CONLLU and not self.is_json:
            return [text + CONLLU.boundary]
        return self._write([] if isinstance(tree, ConlluError) else [(tree, {})])

    def _parse(self, trees):
        """List pairs of a tree and its probabilities, for JSON, for each sentence."""
        if not trees:
            return []
        transform, parser = self.opened
        if self.options["keep_heads"]:
            trees = [forget_guesses(tree) or tree.with_heads(None) for tree in trees]
        # Steps before the parser change tags, which are written, and symbols, which are not.
        rows = parser._find_answers(transform(trees), None, **self.options)
        with_proba = self.options["confidence"] == "all"
        return describe_answers(rows, self.options["keep_heads"], with_proba)

    def _write(self, found):
        """Return the texts of the trees of a sentence; of no document, JSON is a line for all."""
        if not self.is_json:
            return [tree.to_conllu().encode() for tree, _ in found]
        rows = [describe_tree(*pair) for pair in found]
        if isinstance(self.form, SplitterFormat) or not rows:
            return list(map(_encode_json, rows))
        tree, _ = found[0]
        return [_encode_json({"id": tree.sent_id, "sentences": rows, "text": tree.text}) + b"\n"]


def _encode_json(content):
    """Return a value as JSON in bytes, on one line."""
    return json.dumps(content, ensure_ascii=False).encode()


class Output:
    """Makes the output of the sentences of pieces, in order, and says how much there was.

    Parameters
    ----------
    is_json : bool
    has_documents : bool
        Whether sentences belong to documents, each a line of JSON, and are numbered there.
    skips : bool
        Whether to go on behind errors.

    Attributes
    ----------
    counts : Counter
        Of sentences, unparsed ones, documents, refused and empty ones, and of sentences in the
        document.
    empty : list of str
        Documents that are to be noted in the next one in CoNLL-U.
    """

    def __init__(self, is_json, has_documents, skips):
        self.is_json, self.has_documents, self.skips = is_json, has_documents, skips
        self.counts, self.empty, self._text = Counter(), [], []

    def add(self, pieces, found):
        """Yield the output of pieces, of which a PieceParser has found so much."""
        by_piece = {k: list(rows) for k, rows in groupby(found, key=itemgetter(0))}
        for k, piece in enumerate(pieces):
            for _, result in by_piece.get(k, ()):
                if isinstance(result, ConlluError):
                    if not self.counts["unparsed"]:
                        self._tell_error(result, "the sentence is passed on as it is")
                    self.counts["unparsed"] += 1
                else:
                    self.counts.update(["sentences", "in_document"])
                    yield from self._add_sentence(piece, result) if self.has_documents else result
            if self.has_documents and piece.ends:
                yield from self._end(piece)
            self.read(piece)

    def read(self, piece):
        """Keep the text of a document, to be written at its end."""
        if self.is_json and self.has_documents:
            self._text = [] if piece.ends else [*self._text, piece.text]

    def _add_sentence(self, piece, texts):
        document, number = piece.document, self.counts["in_document"]
        name = str(number) if document is None else f"{document}-{number}"
        if self.is_json:
            yield self._open_line(document) if number == 1 else b", "
            head = b'{"sent_id": ' + _encode_json(name) + b", "
            yield b", ".join(head + text[1:] for text in texts)
            return
        if document is not None and number == 1:
            notes = "".join(f"# empty_document = {each}\n" for each in self.empty)
            yield f"# newdoc id = {document}\n{notes}".encode()
            self.empty = []
        yield from (set_comment(text.decode(), "sent_id", name).encode() for text in texts)

    def _end(self, piece):
        """Yield the end of a document, which is left out if there is nothing but an error."""
        document, is_refused = piece.document, piece.error is not None
        is_empty = not self.counts.pop("in_document", 0)
        if is_refused:
            name = "the text" if document is None else f"document {document!r}"
            self._tell_error(piece.error, f"{'' if is_empty else 'the rest of '}{name} is left out")
        self.counts.update(documents=1, refused=is_refused, empty=is_empty and not is_refused)
        if self.is_json and not (is_empty and is_refused):
            yield self._open_line(document) if is_empty else b""
            yield b'], "text": ' + _encode_json("".join(self._text)) + b"}\n"
        elif is_empty and not (is_refused or document is None):
            self.empty.append(str(document))

    def _open_line(self, document):
        return b'{"id": ' + _encode_json(document) + b', "sentences": ['

    def _tell_error(self, error, message):
        if not self.skips:
            raise error
        warn(f"{error}; {message}", UserWarning)

    def summarize(self):
        """Warn of sentences without a parse, and of documents that were left out."""
        of, n = self.counts, self.counts["sentences"]
        if of["unparsed"]:
            warn(f"{of['unparsed']} of {n} sentences were passed on without a parse", UserWarning)
        if of["refused"]:
            warn(
                f"{of['refused']} of {of['documents']} documents were left out; the others have "
                f"{n} sentences (empty documents: {of['empty']})",
                UserWarning,
            )


def parse(options):
    """Parse treebanks with a saved model.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `input`, `output`, `output_format`, `resume`, `decoder`,
        `keep_heads`, `confidence`, `k_best`, `sample`, `seed`, `unique_relations`, `on_error`,
        `max_tokens` and `n_jobs`.

    Raises
    ------
    ValueError
        If the file holds no parser, a document or sentence is not valid or cannot be parsed, or
        `resume` is not possible; what comes before has been written to standard output.
    """
    files = list_sources(options.file, SUFFIXES.get(options.input, ".txt"))
    for ending in ("",) if options.output == STANDARD else ("", *PARTIAL):
        check_output(options.output + ending, [options.model, *files])
    model = open_model(
        options.model,
        files,
        context=options.context,
        dictionary=options.dictionary,
        n_jobs=options.n_jobs,
    )
    work = _make_work(options, model)
    items, issued = tee(read_items(options, files, work.form))
    n_bytes = None if STANDARD in files else sum(map(os.path.getsize, files))
    output = Output(work.is_json, isinstance(work.form, SplitterFormat), work.skips)
    counts, shown, key = output.counts, set(), _describe_run(options, files)
    with write_resumable(options.output, key, options.resume) as (write, note, noted):
        n_done, done, output.empty = noted or (0, {}, [])
        counts.update(done)
        for pieces in islice(issued, n_done):  # a run before has written them
            next(items)
            for piece in pieces:
                n_bytes -= piece.n_read
                output.read(piece)
        n_before, began = counts["sentences"], perf_counter()
        with (
            progress("Parsing", n_bytes, "B", choose_verbosity(), log=True) as advance,
            closing(_parse_items(work, items)) as results,  # workers end before an error is shown
        ):
            for found, warned in results:
                pieces, n_done = next(issued), n_done + 1
                for category, message in warned:  # only the first of each category
                    if category not in shown:
                        shown.add(category)
                        warn(message, category)
                text = bytearray()
                try:
                    for part in output.add(pieces, found):
                        text += part
                finally:  # before an error, too
                    write(text)
                note([n_done, counts, output.empty])
                n_read, n = sum(piece.n_read for piece in pieces), counts["sentences"]
                rate = (n - n_before) / (perf_counter() - began)
                advance(n_read, f"{rate:,.0f} sentences/s", f"{n:,} sentences")
    output.summarize()


def _make_work(options, model):
    """Make the function that parses pieces, and check the options of parsing."""
    parser, is_json = model.opened.parser, options.output_format == "jsonl"
    # The progress bar of the command is for all pieces.
    parser.set_params(verbose=0, max_tokens=options.max_tokens)
    if options.decoder is not None:
        parser.set_params(decoder=options.decoder)
    parser._check_ready()  # bad options are not errors of sentences
    groups = [tuple(group.split("+")) for group in options.unique_relations.split(",") if group]
    answers = {
        "n_best": options.k_best,
        "n_samples": options.sample,
        "random_state": options.seed,
        "confidence": "all" if is_json and options.confidence else options.confidence,
        "keep_heads": options.keep_heads,
        "unique_relations": "auto" if groups == [("auto",)] else groups,
    }
    form = choose_form(options, model.splitter)
    return PieceParser(model.opened, form, answers, options.on_error == "skip", is_json)


def choose_form(options, splitter):
    """Choose the format of the option `input`; of text, it has the splitter of the model."""
    if options.input in ("conllu", "horizontal"):
        return CONLLU if options.input == "conllu" else HORIZONTAL
    if splitter is None:
        raise ValueError(
            f"{options.model} has not learned to split text; give a model of train --text."
        )
    return SplitterFormat(splitter, options.input == "lines", options.input == "jsonl")


def read_items(options, files, form):
    """Iterate over lists of pieces that are parsed together."""
    if not isinstance(form, SplitterFormat):
        return ([piece] for piece in form.pieces(files))
    names = _name_documents(files)
    texts = (read_text_file(path, names.get(path), options.on_error == "skip") for path in files)
    pieces = chain.from_iterable(map(read_json_lines, files) if options.input == "jsonl" else texts)
    return group_pieces(pieces, GROUP)


def _name_documents(files):
    """Name the documents in files, which are text: by their names, or by their paths if equal."""
    names = [re.sub(r"(\.txt)?(\.gz)?$", "", Path(path).name) for path in files]
    chosen = names if len(set(names)) == len(set(files)) else files
    return {path: printable(n) for path, n in zip(files, chosen, strict=True) if path != STANDARD}


def _describe_run(options, files):
    """Describe model, options and inputs of a run, for --resume."""
    if options.resume and STANDARD in (options.model, *files):
        raise ValueError("--resume needs names of files, and not standard input.")

    def stamp(paths):
        found = [Path(expand_user(path)).resolve() for path in paths]
        found = [(str(path), path.stat()) for path in found if path.exists()]
        return [[path, each.st_size, each.st_mtime_ns] for path, each in found]

    given = {name: each for name, each in vars(options).items() if name not in OTHERS}
    given["version"] = __version__
    context = Path(expand_user(options.context)).iterdir() if options.context else ()
    model = [options.model, *sorted(context)]
    return {"the model": stamp(model), "the options": given, "the inputs": stamp(files)}


def _parse_items(work, items):
    """Yield parsed pieces, by as many processes as the parser may have if there are enough."""
    first = list(islice(items, FEWEST_ITEMS))
    n_workers = count_workers(work.opened.parser.n_jobs) if len(first) == FEWEST_ITEMS else 1
    return map_in_processes(work, chain(first, items), n_workers)


def _name_sentence(path, line, tree):
    """Give a sentence the comments sent_id, made of file and line, and text."""
    name = "stdin" if path == STANDARD else Path(path).name.partition(".")[0]
    return tree.with_comments([f"# sent_id = {name}-{line}", f"# text = {' '.join(tree.forms)}"])
