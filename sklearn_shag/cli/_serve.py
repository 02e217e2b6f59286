"""The command `serve`, which runs the web service."""

import signal

from sklearn_shag.cli._models import open_model
from sklearn_shag.service import AppServer, make_app, name_models


def serve(options):
    """Answer requests over HTTP until the process is told to end.

    Parameters
    ----------
    options : argparse.Namespace
        With `model`, `context`, `dictionary`, `host`, `port`, `threads`, `confidence`, `max_bytes`,
        `max_tokens` and `answering`.

    Raises
    ------
    ImportError
        If waitress is not installed.
    ValueError
        If a file holds no parser, or two have the same name.
    OSError
        If a file cannot be read, or the port is taken.
    """
    models = {
        name: open_model(path, context=options.context, dictionary=options.dictionary, n_jobs=1)
        for name, path in name_models(options.model).items()
    }
    app = make_app(
        models,
        confidence=options.confidence,
        max_bytes=options.max_bytes,
        max_tokens=options.max_tokens,
        answering=options.answering,
    )
    server = AppServer(app, options.host, options.port, options.threads)
    heed_signals(server)
    print(f"{', '.join(models)}: http://{options.host}:{server.port}", flush=True)
    server.run()


def heed_signals(server):
    """Let SIGTERM and Ctrl-C stop a server."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.stop)
