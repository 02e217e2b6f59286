"""The command `suggest`."""

from sklearn_shag.cli._evaluate import (
    LeftOut,
    find_invalid,
    find_lack,
    iter_sentences,
    name_impossible,
    print_json,
)
from sklearn_shag.cli._models import check_output, open_model
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.treebank import MISSING, list_sources
from sklearn_shag.utils._arrays import in_chunks, rows_of
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._io import STANDARD, write_text
from sklearn_shag.utils._messages import printable

CHUNK = 1000  # sentences held at once


def suggest(options):
    """Print the arcs or sentences that a model is least sure of.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `number`, `by`, `output`, `on_error`, `json` and `n_jobs`.

    Raises
    ------
    ValueError
        If the file holds no parser, there are no sentences or no unknown heads, or all sentences
        are left out.
    """
    files = list_sources(options.file)
    if options.output is not None:
        if options.by == "arcs":
            raise ValueError("-o is for whole sentences with their trees; add --by sentences.")
        check_output(options.output, [options.model, *files])
    opened = open_member(open_model(options, files))
    doubt = {
        "arcs": lambda row: row[0]["margin"],
        "sentences": lambda row: -row[0]["error_rate"],
        "trees": lambda row: row[0]["tree_probability"],
    }[options.by]
    reason = ", since no projective tree with one root has their known heads"
    advice = " (correct them, or take a model of train --set decoder=mst, which lets arcs cross)"
    invalid, impossible = LeftOut(), LeftOut(reason + advice)
    sentences = invalid.drop(iter_sentences(files, options.on_error), find_invalid)
    find_fault = name_impossible if opened.parser._projective else lambda sentence: None
    rows, part = [], []
    for part in in_chunks(impossible.drop(sentences, find_fault), CHUNK):
        if any(map(find_lack, part)):
            rows = sorted([*rows, *_list_rows(options, opened, part)], key=doubt)[: options.number]
    invalid.tell(files)
    impossible.tell(files)
    rows = rows or _list_rows(options, opened, part)  # raises an error that no head is unknown
    rows, trees = zip(*rows, strict=True)
    if options.output is not None:
        with write_text(options.output) as write:
            for tree in opened.parser.parse(trees, keep_heads=True):
                write(tree.to_conllu().encode())
    if options.output == STANDARD:  # it holds the trees
        return
    if options.json:
        print_json({"files": files, "by": options.by, "suggestions": rows})
        return
    print("\t".join(rows[0]))
    for row in rows:
        print("\t".join(map(_format_field, row.values())))


def _list_rows(options, opened, part):
    """Yield rows of the least certain arcs or sentences, each with its transformed sentence."""
    transform, parser = opened
    trees = transform([sentence.tree for sentence in part])
    if options.by == "arcs":
        found, describe = least_certain_arcs(parser, trees, n=options.number), _describe_arc
    else:
        by = "trees" if options.by == "trees" else "errors"
        found = least_certain_sentences(parser, trees, n=options.number, by=by)
        describe = _describe_sentence
    for s, *values in rows_of(found):
        path, number, tree = part[s]
        place = {"file": path, "sentence": number, "sent_id": tree.sent_id}
        yield place | describe(tree.forms, *values), trees[s]


def _describe_arc(forms, token, head, *values):
    head_form = forms[head - 1] if head else None
    row = {"token": token, "form": forms[token - 1], "head": head, "head_form": head_form}
    return row | dict(zip(("probability", "margin", "entropy"), values, strict=True))


def _describe_sentence(forms, *values):
    names = ("unknown_heads", "expected_errors", "error_rate", "tree_probability")
    return dict(zip(names, values, strict=True), text=" ".join(forms))


def _format_field(value):
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.2g}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"  # trees are improbable
    return printable(value, max_length=None)
