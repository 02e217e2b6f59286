"""Programs in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import sklearn_shag


def run(program, source=Path(sklearn_shag.__file__).parents[1], text="", **variables):
    """Run a program with kernels compiled, and with these variables; give what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=source,  # comes before any installed package
        env=kept | {name: str(value) for name, value in variables.items()},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result
