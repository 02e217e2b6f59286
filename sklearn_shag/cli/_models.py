"""Loading and checking of models, for all commands."""

import os
import sys

from joblib import Memory

from sklearn_shag._parser import Parser
from sklearn_shag.datasets import find_model
from sklearn_shag.features import TransformerVectors
from sklearn_shag.model_files import load_model
from sklearn_shag.treebank import read_dictionary
from sklearn_shag.utils._estimators import open_member
from sklearn_shag.utils._io import STANDARD, check_target, expand_user

VECTORS = "vectors"  # folder in the cache
MAX_VECTOR_BYTES = 2 * 2**30  # of it that a run finds


def open_context(folder, n_jobs=None, *, keeps=False):
    """Open the transformer that gives vectors in context, or return None if none is named.

    Parameters
    ----------
    folder : str or None
    n_jobs : int or None, default=None
    keeps : bool, default=False
        Whether vectors are kept on the disk, for texts that are asked for again.

    Returns
    -------
    vectors : TransformerVectors or None
    """
    if folder is None:
        return None
    vectors = TransformerVectors(folder, n_jobs=n_jobs).fit()
    if keeps:
        from sklearn_shag.utils._kernel_cache import cache_folder, can_write  # imports numba

        kept = cache_folder() / VECTORS
        if can_write(kept):
            Memory(kept, verbose=0).reduce_size(bytes_limit=MAX_VECTOR_BYTES)
            vectors.set_params(memory=str(kept))
    return vectors


def open_model(name, files=(), *, context=None, dictionary=None, n_jobs=None):
    """Load the model of a command that parses files.

    Parameters
    ----------
    name : str
        As for :func:`find_model`.
    files : list of str, default=()
        The files that the command reads next.
    context, dictionary : None or str, default=None
        The transformer that the model needs, and words with their tags in place of its own.
    n_jobs : int or None, default=None
        None leaves that of the model.

    Returns
    -------
    model : estimator
        One that parses, with these settings.

    Raises
    ------
    ValueError
        If the file holds no parser, or standard input is wanted twice.
    """
    if [name, *files].count(STANDARD) > 1:
        raise ValueError("Standard input, '-', can be read only once: as model or as sentences.")
    words = None if dictionary is None else read_dictionary(dictionary)
    path = find_model(name)
    if path != name and context is not None:  # named parsers read none
        raise ValueError(
            f"--context {context}: the model {name} reads no vectors in context; leave them out."
        )
    model = load_model(path, embeddings=open_context(context, n_jobs), dictionary=words)
    parser = open_member(model).parser
    if not isinstance(parser, Parser):
        raise ValueError(
            f"{name} holds a {type(parser).__name__}, which cannot parse; give a model of "
            f"the command train."
        )
    parser.set_params(verbose=choose_verbosity())
    if n_jobs is not None:
        parser.set_params(n_jobs=n_jobs)
    return model


def is_terminal(stream):
    """Whether a standard stream, None if it is closed, is a terminal."""
    return hasattr(stream, "isatty") and stream.isatty()


def choose_verbosity():
    """Return 1 if standard error is a terminal, so that progress is shown there, or else 0."""
    return int(is_terminal(sys.stderr))


def check_output(output, inputs):
    """Check that an output can be written, and is not the same file as an input."""
    check_target(output)
    output = expand_user(output)
    for path in map(expand_user, inputs):
        if os.path.isfile(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise ValueError(
                f"The output {output} is the same file as the input {path}: refusing to overwrite "
                f"it; name another file with -o."
            )
