"""The command `suggest`: what to annotate next."""

import json

from sklearn_shag._cli_models import open_parser
from sklearn_shag._cli_sentences import find_sent_id, read_sentences, require_some
from sklearn_shag.inspection import least_certain_arcs, least_certain_sentences
from sklearn_shag.treebank import MISSING, list_sources
from sklearn_shag.utils._messages import printable

__all__ = ["suggest"]


def suggest(options):
    """Print the arcs or sentences that a model is least sure of.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `file`, `number`, `by`, `json` and `n_jobs`.

    Raises
    ------
    ValueError
        If the file holds no parser, there are no sentences or no unknown heads, or no tree that
        the parser could predict has the known heads.
    """
    files = list_sources(options.file)
    transform, parser = open_parser(options, files)
    sentences = read_sentences(files)
    require_some(sentences, files)
    trees = transform([sentence.tree for sentence in sentences])
    list_rows = {"arcs": _list_arcs, "sentences": _list_sentences}[options.by]
    rows = list_rows(parser, trees, sentences, options.number)
    if options.json:
        print(json.dumps({"files": files, "by": options.by, "suggestions": rows}, indent=2))
        return
    print("\t".join(rows[0]))
    for row in rows:
        print("\t".join(map(_cell, row.values())))


def _list_arcs(parser, trees, sentences, number):
    arcs = least_certain_arcs(parser, trees, number)
    rows = []
    for s, token, head, probability, margin, entropy in zip(*map(_items, arcs), strict=True):
        forms = sentences[s].tree.forms
        rows.append(
            {
                **_place(sentences[s]),
                "token": token,
                "form": forms[token - 1],
                "head": head,
                "head_form": forms[head - 1] if head else None,
                "probability": probability,
                "margin": margin,
                "entropy": entropy,
            }
        )
    return rows


def _list_sentences(parser, trees, sentences, number):
    found = least_certain_sentences(parser, trees, number)
    return [
        {
            **_place(sentences[s]),
            "unknown_heads": n_unknown,
            "expected_errors": errors,
            "error_rate": rate,
            "text": " ".join(sentences[s].tree.forms),
        }
        for s, n_unknown, errors, rate in zip(*map(_items, found), strict=True)
    ]


def _place(sentence):
    return {
        "file": sentence.path,
        "sentence": sentence.number,
        "sent_id": find_sent_id(sentence),
    }


def _items(column):
    return column.tolist()


def _cell(value):
    if value is None:
        return MISSING
    return f"{value:.4f}" if isinstance(value, float) else printable(value, max_length=None)
