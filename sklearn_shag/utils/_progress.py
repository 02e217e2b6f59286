"""The one way to show how far some work is."""

from contextlib import contextmanager
from threading import Lock

# Work that is over sooner needs no bar, unless one asks for more than verbose=1.
DELAY = 2.0  # seconds


@contextmanager
def progress(description, n_steps, unit, verbose):
    """Show a progress bar on standard error while the block runs.

    Parameters
    ----------
    description : str
        What is being done.
    n_steps : int
    unit : str
        What a step is.
    verbose : int
        0 shows nothing, 1 a bar for work that takes more than two seconds, 2 one in any case.

    Yields
    ------
    advance : callable
        ``advance(n=1)`` says that n more steps are done; any thread may.
    """
    if not verbose:
        yield lambda n=1: None
        return
    from tqdm import tqdm

    lock = Lock()
    delay = DELAY if verbose == 1 else 0.0
    with tqdm(desc=description, total=n_steps, unit=f" {unit}", delay=delay) as bar:

        def advance(n=1):
            with lock:
                bar.update(n)

        yield advance
