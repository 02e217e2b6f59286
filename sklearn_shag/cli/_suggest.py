"""The commands `suggest` and `check`, which tell annotators where to look."""

from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path

import numpy as np

from sklearn_shag.cli._evaluate import (
    LeftOut,
    find_invalid,
    find_lack,
    is_conllu,
    iter_sentences,
    print_json,
)
from sklearn_shag.cli._models import check_output, open_model
from sklearn_shag.cli._parse import (
    GUESSED_BESIDE_DEPS,
    SUFFIXES,
    choose_form,
    count_guessed,
    find_unknown,
    read_items,
    tell_error,
)
from sklearn_shag.conditional import CRFParser
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences, suspicious_arcs
from sklearn_shag.network import BiaffineParser
from sklearn_shag.parsing import parse_trees
from sklearn_shag.treebank import (
    ASKED,
    CONLLU,
    MISSING,
    check_marks,
    find_given,
    find_guesses,
    forget_heads,
    join_text,
    list_sources,
    mark_guesses,
    mark_words,
    write_conllu,
)
from sklearn_shag.utils._arrays import in_chunks, rows_of
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import printable, warn

SUGGESTED_CHUNK = 1000  # sentences held at once
UNCERTAIN = 0.9  # predicted heads that are less probable are worth a look, in a sentence to be read


# What is listed first has the smallest value, by its rows.
DOUBTS = {
    "arcs": lambda rows: rows[0]["margin"],
    "heads-in-sentences": lambda rows: sum(row["probability"] - 1 for row in rows),
    "sentences": lambda rows: -rows[0]["error_rate"],
    "trees": lambda rows: rows[0]["tree_probability"],
}


def suggest(options):
    """Print the arcs or sentences that a model is least sure of.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `input`, `ignore_heads`, `number`, `by`, `output`,
        `on_error`, `json` and `n_jobs`.

    Raises
    ------
    ValueError
        If the file holds no parser, there are no sentences or no unknown heads, or all sentences
        are left out.
    """
    files = list_sources(options.file, SUFFIXES.get(options.input, ".txt"))
    if options.output is not None:
        check_output(options.output, [options.model, *files])
    model = open_model(
        options.model,
        files,
        context=options.context,
        dictionary=options.dictionary,
        n_jobs=options.n_jobs,
    )
    opened, form = open_member(model), choose_form(options, model)
    invalid = LeftOut()
    found, part, place = [], [], 0
    for part in in_chunks(_iter_new(options, form, files, invalid), SUGGESTED_CHUNK):
        if any(map(find_lack, part)):
            found = [*found, *_list_suggestions(options, opened, part, place)]
            found = sorted(found, key=itemgetter(0))[: options.number]
        place += len(part)
    invalid.tell(files)
    # An error is raised if no head is unknown.
    found = found or list(_list_suggestions(options, opened, part, place))
    if options.output is not None:
        _write_for_annotators(options, opened, found)
    rows = [row for *_, of_sentence in found for row in of_sentence]
    _print_rows(options, {"files": files, "by": options.by}, "suggestions", rows)


def check(options):
    """Print heads, relations and tags of trees that may be errors, the most suspicious first.

    Parameters
    ----------
    options : argparse.Namespace
        With `file`, `number`, `tags`, `output`, `on_error`, `json` and `n_jobs`.

    Raises
    ------
    ValueError
        If there are no trees.
    """
    files = list_sources(options.file)
    if options.output is not None:
        check_output(options.output, files)
    invalid = LeftOut()
    read = list(invalid.drop(iter_sentences(files, options.on_error), find_invalid))
    invalid.tell(files)
    trees = [sentence.tree for sentence in read]
    parser = BiaffineParser(tags=options.tags.split(",")) if options.tags else CRFParser()
    found = suspicious_arcs(parser, trees, n_jobs=options.n_jobs)
    rows, marks = [], {}
    listed = islice(rows_of(found), options.number)
    for s, token, column, given, other, of_given, of_other, score in listed:
        path, number, tree, _ = read[s]
        rows.append(
            {
                "file": path,
                "sentence": number,
                "sent_id": tree.sent_id,
                "token": token,
                "form": tree.forms[token - 1],
                "column": column,
                "given": given,
                "likely": other,
                "given_probability": of_given,
                "probability": of_other,
                "score": score,
            }
        )
        marks.setdefault(s, [None] * len(tree))[token - 1] = f"{column}:{other}".replace("|", ",")
    if options.output is not None:
        for s, likely in marks.items():
            asked = trees[s].with_misc(ASKED, [mark and "Yes" for mark in likely])
            trees[s] = asked.with_misc("Likely", likely)
        write_conllu(trees, options.output)
    _print_rows(options, {"files": files}, "suspicious", rows)


def _print_rows(options, content, name, rows):
    """Print rows, dicts with the same keys, as a table or as JSON, unless trees are printed."""
    if options.output == STANDARD:
        return
    if options.json:
        print_json(content | {name: rows})
    elif rows:
        for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]:
            print("\t".join(map(_format_field, row.values())))


def _iter_new(options, form, files, invalid):
    """Yield sentences without guesses, and with names; of text, none that was read before.

    Files that are named as CoNLL-U are always read as such.
    """
    seen = set()
    for path in files:
        reads_conllu = form == CONLLU or is_conllu(path)
        read = partial(_read_file, options, CONLLU if reads_conllu else form)
        sentences = iter_sentences([path], options.on_error, read)
        for sentence in invalid.drop(sentences, find_invalid):
            tree = sentence.tree
            if form != CONLLU and tree.forms in seen:
                continue
            seen.add(tree.forms)
            if tree.sent_id is None or not reads_conllu:
                name = Path(sentence.path.strip("<>")).name.partition(".")[0]
                tree = tree.with_sent_id(f"{name}-{sentence.number}")
            if not reads_conllu and options.input != "horizontal":
                tree = mark_words(tree)
            tree = tree if tree.text else tree.with_text(join_text([tree]).strip())
            check_marks(tree, sentence.path, sentence.line)
            bare = tree.with_heads(None, keep_deps=True)
            yield sentence._replace(tree=bare if options.ignore_heads else forget_heads(tree))


def _read_file(options, form, path, skips):
    """Read the sentences of a file as formats do."""
    for pieces in read_items(options, [path], form):
        yield from form.sentences(pieces)
        for error in filter(None, (getattr(piece, "error", None) for piece in pieces)):
            tell_error(error, skips, "the document is left out")


def _list_suggestions(options, opened, part, place):
    """Yield doubts, with the place of a sentence, its tree without guesses, and rows to list."""
    transform, parser = opened
    trees = transform([sentence.tree for sentence in part])
    together = options.by == "heads-in-sentences"
    n = None if together else options.number
    if options.by in ("sentences", "trees"):
        by = "trees" if options.by == "trees" else "errors"
        found, describe = least_certain_sentences(parser, trees, n=n, by=by), _describe_sentence
    else:
        found, describe = least_certain_arcs(parser, trees, n=n), _describe_arc
    groups = {}
    for k, (s, *values) in enumerate(rows_of(found)):
        path, number, tree, _ = part[s]
        row = {
            "file": path,
            "sentence": number,
            "sent_id": tree.sent_id,
            **describe(tree.forms, *values),
        }
        if not together or row["probability"] < UNCERTAIN:
            groups.setdefault((s, together or k), []).append(row)
    for (s, _), rows in groups.items():
        yield DOUBTS[options.by](rows), place + s, part[s].tree, rows


def _write_for_annotators(options, opened, found):
    """Write the sentences of suggestions in the order of reading, with predicted trees."""
    read, asked = {}, {}
    for _, place, tree, rows in sorted(found, key=itemgetter(1)):
        read[place] = tree
        tokens = [row["token"] - 1 for row in rows if "token" in row]
        asked.setdefault(place, []).extend(tokens or find_unknown(tree))
    n_guessed = sum(map(count_guessed, read.values()))
    if n_guessed:
        warn(GUESSED_BESIDE_DEPS.format(n_guessed), UserWarning)
    written = []
    rows = parse_trees(opened, list(read.values()), keep_heads=True, confidence=True)
    for own, tokens, row in zip(read.values(), asked.values(), rows, strict=True):
        ((tree, _),), columns, _ = row
        guesses, given, words = find_guesses(own), find_given(own), np.arange(len(own))
        guesses |= {name: ~given[name] for name in given.keys() & columns}
        guesses["head"] = np.isin(words, find_unknown(own))
        guesses["deprel"] = guesses["head"] & np.equal(own.deprels or MISSING, MISSING)
        marks = np.where(np.isin(words, tokens), "Yes", None).tolist()
        written.append(mark_guesses(tree, guesses).with_misc(ASKED, marks))
    write_conllu(written, options.output)


def _describe_arc(forms, token, head, probability, margin, entropy):
    return {
        "token": token,
        "form": forms[token - 1],
        "head": head,
        "head_form": forms[head - 1] if head else None,
        "probability": probability,
        "margin": margin,
        "entropy": entropy,
    }


def _describe_sentence(forms, n_unknown, expected_errors, error_rate, tree_probability):
    return {
        "unknown_heads": n_unknown,
        "expected_errors": expected_errors,
        "error_rate": error_rate,
        "tree_probability": tree_probability,
        "text": " ".join(forms),
    }


def _format_field(value):
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"  # trees are improbable
    return printable(value, max_length=None)
