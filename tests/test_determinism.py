"""The same bits, whatever the process: hash seed, workers, threads of linear algebra, run."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from tests.estimators import ESTIMATORS, TRANSFORMERS


def run_digests(names, hash_seed, n_jobs, blas_threads):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.digests", str(n_jobs), str(blas_threads), *names],
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes if interpreted")
@pytest.mark.parametrize(
    "names",
    [
        ["EM from random", "CRF of words", "average of pipelines"],
        pytest.param([*ESTIMATORS, *TRANSFORMERS], marks=pytest.mark.exhaustive),
    ],
    ids=["three", "all"],
)
def test_estimators_are_the_same_in_other_processes(names):
    runs = [run_digests(names, 0, 1, 1), run_digests(names, 1234, n_jobs=2, blas_threads=2)]
    outputs = []
    for run in runs:
        output, errors = run.communicate()
        assert run.returncode == 0, errors
        outputs.append([line.split("\t") for line in output.splitlines()])
    one, other = outputs
    assert {name for name, _, _ in one} == set(names)
    assert len(one) >= 5 * len(names)
    different = [row[:2] for row, other_row in zip(one, other, strict=True) if row != other_row]
    assert not different
