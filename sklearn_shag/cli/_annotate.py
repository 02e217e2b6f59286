"""The command `annotate`, which lets annotators correct trees in the browser."""

import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from sklearn_shag.annotation import Annotation, Guesser, Store
from sklearn_shag.cli._evaluate import is_conllu
from sklearn_shag.cli._models import check_output, open_model
from sklearn_shag.cli._parse import SUFFIXES, choose_form
from sklearn_shag.cli._serve import heed_signals
from sklearn_shag.service import AnnotationApp, AppServer, open_served
from sklearn_shag.treebank import find_guesses, iter_conllu, list_sources, mark_guesses, mark_words
from sklearn_shag.utils._io import STANDARD
from sklearn_shag.utils._messages import import_optional

_MAX_TOKENS = 1000  # of a sentence


def annotate(options):
    """Serve a page on this computer, on which annotators correct trees, until the end.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `file`, `input`, `ignore_heads`, `by`, `output`, `port` and
        `no_browser`.

    Raises
    ------
    ImportError
        If waitress is not installed.
    ValueError
        If the file holds no parser, a file is "-", the output was made from other files, or another
        run has opened it.
    """
    import_optional("waitress", "service", "annotate")
    if STANDARD in (options.output, *options.file):
        raise ValueError(
            "annotate reads and writes no standard input or output, '-', since it has to find the "
            "same files again; name files."
        )
    check_output(options.output, [options.model])
    files = list_sources(options.file, SUFFIXES.get(options.input, ".txt"))
    model = open_model(options.model, files, context=options.context, dictionary=options.dictionary)
    served = open_served(model, _MAX_TOKENS)
    splitter = getattr(choose_form(options, model), "splitter", None)
    read = partial(_read_sentences, options, splitter, files)
    store = Store(options.output, files, read)
    annotation = Annotation(store, Guesser(served.opened), options.by)
    app = AnnotationApp({options.model: served}, annotation, store.key)
    server = _listen(app, options.port, store.port)
    heed_signals(server)
    store.keep_address(server.port)
    address = f"http://127.0.0.1:{server.port}/?key={app.key}"
    print(address, flush=True)
    if not options.no_browser:
        webbrowser.open(address)
    app.start()
    server.run()
    app.close()


def _listen(app, port, old_port):
    """Listen at the port that is asked for, or else at that of the run before, if it is free."""
    with suppress(OSError):
        return AppServer(app, "127.0.0.1", port or old_port, threads=8)
    return AppServer(app, "127.0.0.1", port, threads=8)


def _read_sentences(options, splitter, files):
    """Read sentences; sentences of text get names, and marks that their words are guessed."""
    for path in files:
        if splitter is None or is_conllu(path):
            trees = iter_conllu(path)
        else:
            name = Path(path).name.partition(".")[0]
            split = splitter.iter_split_text(path, lines=options.input == "lines")
            trees = (mark_words(tree.with_sent_id(f"{name}-{tree.sent_id}")) for tree in split)
        yield from map(_mark_heads, trees) if options.ignore_heads else trees


def _mark_heads(tree):
    """Mark all heads and relations as guesses."""
    all_words = np.ones(len(tree), dtype=bool)
    return mark_guesses(tree, find_guesses(tree) | {"head": all_words, "deprel": all_words})
