"""``python -m sklearn_shag``: see :mod:`sklearn_shag.cli._main`."""

import sys

from sklearn_shag.cli import main

if __name__ == "__main__":
    sys.exit(main(prog="python -m sklearn_shag"))
