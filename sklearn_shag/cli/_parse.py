"""The command `parse`, which reads, parses and writes files piece by piece, in order."""

import json
import os
import re
from collections import Counter
from contextlib import closing, suppress
from itertools import chain, groupby, islice, tee
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sklearn_shag import __version__
from sklearn_shag.cli._models import check_output, choose_verbosity, open_model
from sklearn_shag.network import SplitterFormat
from sklearn_shag.parsing import parse_trees
from sklearn_shag.treebank import (
    CONLLU,
    HORIZONTAL,
    MISSING,
    ConlluError,
    check_marks,
    clear_marks,
    describe_tree,
    forget_heads,
    group_pieces,
    known_heads,
    list_sources,
    read_json_lines,
    read_text_file,
    set_comment,
)
from sklearn_shag.utils._arrays import answer_each, in_chunks
from sklearn_shag.utils._estimators import OpenMember, find_splitter, open_member
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._io import PARTIAL, STANDARD, UTF_8, expand_user, write_resumable
from sklearn_shag.utils._messages import printable, warn
from sklearn_shag.utils._parallel import call_recorded, count_workers, map_in_processes, progress

PARSED_CHUNK = 250  # sentences of pieces whose trees are in memory at once
GROUP = 1 << 15  # characters of pieces of text that are parsed together, at least
# The shares of its words that are unseen in text of another language only, for so many known words.
MOST_UNSEEN = (15_000, 0.46), (3_000, 0.7)
FEWEST_WORDS = 200  # of a file that is warned of
# What parse and suggest warn of, with the number of words.
GUESSED_BESIDE_DEPS = (
    "words with DEPS whose heads were guessed: {}; their DEPS are as before, and may not fit these "
    "heads"
)
FEWEST_ITEMS = 4  # items that processes are started for: they take as long to start as to parse
SUFFIXES = {"conllu": ".conllu", "jsonl": ".jsonl"}  # of files in folders; others end in .txt
# Options that do not change the output, or that are described by themselves.
OTHERS = {"command", "module", "program", "model", "context", "file", "output", "n_jobs", "resume"}


class PieceParser(NamedTuple):
    """A callable that parses pieces of text together; each worker has a copy.

    It returns a list with a row for each sentence, of the place of its piece, the texts of its
    trees and what to count. Before it may be a row with its ConlluError. And it returns a list of
    warnings.
    """

    opened: OpenMember
    form: Any  # TextFormat, of one piece at a time, or SplitterFormat
    options: dict[str, Any]  # of the method parse
    skips: bool  # whether to skip sentences without a parse, or to stop at them
    is_json: bool
    known: frozenset[str]  # words that the parser has learned, if it tells them

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
                    found.append((k, self._write(answer), self._count(tree)))
                    continue
                if answer is not tree:  # the sentence is valid, but cannot be parsed
                    message = str(answer).replace("X[0]", "the sentence", 1)
                    answer = ConlluError(pieces[k].path, line, message)
                found.append((k, answer, {}))
                if not self.skips:
                    return found
                found.append((k, self._pass_on(pieces[k], text, tree), {}))
        return found

    def _count(self, tree):
        """Count words, unseen ones, and words whose DEPS are left out or stand at guessed heads."""
        words = [form for form in tree.forms if form[0].isalpha()]
        unseen = sum(w not in self.known and w.lower() not in self.known for w in words)
        counts = {"words": len(words), "unseen": unseen}
        if self.form != CONLLU:
            return counts
        if self.options["keep_heads"]:
            return counts | {"guessed": count_guessed(forget_heads(tree))}
        return counts | {"bared": int(set(tree.deps) != {MISSING} or tree.empty_nodes != ())}

    def _list_sentences(self, pieces):
        """Yield the place of the piece, line, text, and tree or error of each sentence."""
        for k, line, text, tree in self.form.sentences(pieces):
            if not isinstance(tree, ConlluError):
                if self.form == HORIZONTAL:
                    tree = _name_sentence(pieces[k].path, line, tree)
                elif self.options["keep_heads"]:
                    check_marks(tree, pieces[k].path, line)
            yield k, line, text, tree

    def _pass_on(self, piece, text, tree):
        """Return the texts of a sentence without a parse."""
        if self.form == CONLLU and not self.is_json:
            return [(text + CONLLU.boundary).replace(b"\n", piece.line_end.encode())]
        return self._write([] if isinstance(tree, ConlluError) else [(tree, {})])

    def _parse(self, trees):
        """List pairs of a tree and its probabilities, for JSON, for each sentence."""
        if not trees:
            return []
        keeps, found = self.options["keep_heads"], []
        trees = list(map(forget_heads, trees)) if keeps else trees
        for pairs, columns, _ in parse_trees(self.opened, trees, **self.options):
            if self.form == CONLLU:
                predicted = "head", *columns
                pairs = [(clear_marks(tree, predicted), proba) for tree, proba in pairs]
            found.append(pairs)
        return found

    def _write(self, found):
        """Return the texts of the trees of a sentence; of no document, JSON is a line for all."""
        if not self.is_json:
            return [tree.to_conllu().encode() for tree, _ in found]
        rows = [describe_tree(*pair) for pair in found]
        if isinstance(self.form, SplitterFormat) or not rows:
            return list(map(_encode_json, rows))
        tree, _ = found[0]
        return [_encode_json({"id": tree.sent_id, "sentences": rows, "text": tree.text}) + b"\n"]


def find_unknown(tree):
    """Find the tokens without heads of a tree, from 0."""
    return np.flatnonzero(known_heads(tree) == UNKNOWN).tolist()


def count_guessed(tree):
    """Count the words of a tree without guesses that have DEPS, but no head."""
    deps = tree.deps  # read from the lines of the sentence, once
    return sum(deps[token] != MISSING for token in find_unknown(tree))


def tell_error(error, skips, message):
    """Raise an error of the input, or warn of it and of its consequence."""
    if not skips:
        raise error
    warn(f"{str(error).rstrip('.')}; {message}", UserWarning)


def _encode_json(content):
    """Return a value as JSON in bytes, on one line."""
    return json.dumps(content, ensure_ascii=False).encode()


class Output:
    """Makes the output of the sentences of pieces, in order, and says how much there was.

    Parameters
    ----------
    work : PieceParser
    model : str
        Its name.

    Attributes
    ----------
    has_documents : bool
        Whether sentences belong to documents, each a line of JSON, and are numbered there.
    counts : Counter
        Of sentences, unparsed ones, those whose DEPS were left out ("bared"), words with DEPS and
        guessed heads, documents, refused and empty ones, of sentences in the document, and of words
        and unseen ones in the file.
    empty : list of str
        Documents that are to be noted in the next one in CoNLL-U.
    """

    def __init__(self, work, model):
        self.is_json, self.skips, self.model = work.is_json, work.skips, model
        self.has_documents = isinstance(work.form, SplitterFormat)
        self.counts, self.empty, self._text, self.path = Counter(), [], [], None
        self.most_unseen = min(
            (share for n_known, share in MOST_UNSEEN if len(work.known) >= n_known), default=1
        )

    def add(self, pieces, found):
        """Yield the output of pieces, of which a PieceParser has found so much."""
        by_piece = {k: list(rows) for k, rows in groupby(found, key=itemgetter(0))}
        for k, piece in enumerate(pieces):
            if piece.path != self.path:
                self.tell_unseen()
            for _, result, counted in by_piece.get(k, ()):
                self.counts.update(counted)
                if isinstance(result, ConlluError):
                    if not self.counts["unparsed"]:
                        tell_error(result, self.skips, "the sentence is passed on as it is")
                    self.counts["unparsed"] += 1
                else:
                    self.counts.update(["sentences", "in_document"])
                    yield from self._add_sentence(piece, result) if self.has_documents else result
            if self.has_documents and piece.ends:
                yield from self._end(piece)
            self.read(piece)

    def read(self, piece):
        """Keep the text of a document, to be written at its end, and the file that is read."""
        self.path = piece.path
        if self.is_json and self.has_documents:
            self._text = [] if piece.ends else [*self._text, piece.text]

    def tell_unseen(self):
        """Warn of the file that was read if it seems to be in a language of other words."""
        n, n_unseen = self.counts.pop("words", 0), self.counts.pop("unseen", 0)
        if n >= FEWEST_WORDS and n_unseen > self.most_unseen * n:
            from sklearn_shag.cli._info import tell_languages  # is seldom needed

            warn(
                f"{printable(self.path)}: the parser has never seen {100 * n_unseen / n:.0f} % of "
                f"the {n} words, as in text of another language. {tell_languages(self.model)}",
                UserWarning,
            )

    def _add_sentence(self, piece, texts):
        document, number = piece.document, self.counts["in_document"]
        name = str(number) if document is None else f"{document}-{number}"
        if self.is_json:
            yield self._open_line(document) if number == 1 else b", "
            head = b'{"sent_id": ' + _encode_json(name) + b", "
            yield b", ".join(head + text[1:] for text in texts)
        else:
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
            message = f"{'' if is_empty else 'the rest of '}{name} is left out"
            tell_error(piece.error, self.skips, message)
        self.counts.update(documents=1, refused=is_refused, empty=is_empty and not is_refused)
        if self.is_json and not (is_empty and is_refused):
            yield self._open_line(document) if is_empty else b""
            yield b'], "text": ' + _encode_json("".join(self._text)) + b"}\n"
        elif is_empty and not (is_refused or document is None):
            self.empty.append(str(document))

    def _open_line(self, document):
        return b'{"id": ' + _encode_json(document) + b', "sentences": ['

    def summarize(self):
        """Warn of unseen words, sentences without a parse, DEPS, and documents left out."""
        self.tell_unseen()
        of, n = self.counts, self.counts["sentences"]
        messages = {
            "unparsed": f"{of['unparsed']} of {n} sentences were passed on without a parse",
            "guessed": GUESSED_BESIDE_DEPS.format(of["guessed"]),
            "bared": f"DEPS and empty nodes of {of['bared']} of {n} sentences were left out, since "
            f"they belong to other heads; --keep-heads keeps them, and the heads in the input",
            "refused": f"{of['refused']} of {of['documents']} documents were left out; the others "
            f"have {n} sentences (empty documents: {of['empty']})",
        }
        for name, message in messages.items():
            if of[name]:
                warn(message, UserWarning)


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
    output = Output(work, options.model)
    items, issued = tee(read_items(options, files, work.form))
    n_bytes = None if STANDARD in files else sum(size for _, size, _ in _stamp(files))
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
    opened, is_json = open_member(model), options.output_format == "jsonl"
    parser = opened.parser
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
    return PieceParser(
        opened,
        choose_form(options, model),
        answers,
        skips=options.on_error == "skip",
        is_json=is_json,
        known=_list_known(parser),
    )


def _list_known(parser):
    """Return the words that a network, or the first of several, has learned; none of others."""
    first = open_member(getattr(parser, "estimators_", [parser])[0]).parser
    return frozenset(getattr(first, "vocabulary_", {}).get("form", ()))


def choose_form(options, model):
    """Choose the format of the option `input`; of text, it has the splitter of the model."""
    if options.input in ("conllu", "horizontal"):
        return CONLLU if options.input == "conllu" else HORIZONTAL
    splitter = find_splitter(model)
    if splitter is None:
        raise ValueError(
            f"{options.model} has not learned to split text; give a model of train --text."
        )
    return SplitterFormat(splitter, options.input == "lines", options.input == "jsonl")


def read_items(options, files, form):
    """Iterate over lists of pieces that are parsed together."""
    encoding, skips = options.encoding, options.on_error == "skip"
    if not isinstance(form, SplitterFormat):
        encoding = UTF_8 if form == CONLLU else encoding
        return ([piece] for piece in form.pieces(files, encoding=encoding, skips=skips))
    if options.input == "jsonl":
        keys = options.id_key, options.text_key
        documents = (read_json_lines(path, keys, encoding) for path in files)
    else:
        names = _name_documents(files)
        documents = (read_text_file(path, names.get(path), skips, encoding) for path in files)
    return group_pieces(_number_equal(chain.from_iterable(documents)), GROUP)


def _number_equal(pieces):
    """Yield pieces of documents, with a number behind each id that a document before has had.

    All ids are in memory, with about a hundred bytes each. In the end, a warning counts numbers.
    """
    numbers, renamed, name = {}, [], None  # the last number of each id
    for piece in pieces:
        given = piece.document
        if name is None and given is not None and piece.error is None:  # a document begins
            name = given
            while str(name) in numbers:
                numbers[str(given)] += 1
                name = f"{given}_{numbers[str(given)]}"
            numbers[str(name)] = 1
            if name != given:
                renamed.append(name)
        yield piece._replace(document=name or given)
        name = None if piece.ends else name
    if renamed:
        warn(
            f"Documents with the id of one before them got a number behind it: {len(renamed)}; the "
            f"first became {printable(renamed[0])}",
            UserWarning,
        )


def _name_documents(files):
    """Name the documents in files, which are text: by their names, or by their paths if equal."""
    names = [re.sub(r"(\.txt)?(\.gz)?$", "", Path(path).name) for path in files]
    chosen = names if len(set(names)) == len(set(files)) else files
    return {path: printable(n) for path, n in zip(files, chosen, strict=True) if path != STANDARD}


def _describe_run(options, files):
    """Describe model, options and inputs of a run, for --resume."""
    if options.resume and STANDARD in (options.model, *files):
        raise ValueError("--resume needs names of files, and not standard input.")
    given = {name: each for name, each in vars(options).items() if name not in OTHERS}
    context = Path(expand_user(options.context)).iterdir() if options.context else ()
    return {
        "the model": _stamp([options.model, *sorted(context)]),
        "the options": given | {"version": __version__},
        "the inputs": _stamp(files),
    }


def _stamp(paths):
    """List path, size and time of the files that can be found."""
    found = []
    for path in map(os.path.realpath, map(expand_user, paths)):
        with suppress(OSError):
            about = os.stat(path)
            found.append([path, about.st_size, about.st_mtime_ns])
    return found


def _parse_items(work, items):
    """Yield parsed pieces, by as many processes as the parser may have if there are enough."""
    first = list(islice(items, FEWEST_ITEMS))
    n_workers = count_workers(work.opened.parser.n_jobs) if len(first) == FEWEST_ITEMS else 1
    return map_in_processes(work, chain(first, items), n_workers)


def _name_sentence(path, line, tree):
    """Give a sentence the comments sent_id, made of file and line, and text."""
    name = "stdin" if path == STANDARD else Path(path).name.partition(".")[0]
    return tree.with_comments([f"# sent_id = {name}-{line}", f"# text = {' '.join(tree.forms)}"])
