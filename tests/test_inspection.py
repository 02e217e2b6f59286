"""What is negative in marginals, against the chart of each sentence on its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_shag import EMSHAG, DeterministicSHAG, SpectralSHAG
from sklearn_shag.inspection import inspect_marginals
from sklearn_shag.operators import Operators
from tests.estimators import same
from tests.log_chart import sum_up


@np.errstate(divide="ignore")  # log 0
def test_signs_are_those_of_the_chart(english):
    """Of too many states for so few trees, and nothing against noise.

    With more of them terms cancel until their sum is rounding errors. Two charts that add in
    different orders, on any machine, rightly disagree about the sign of what is almost 0.
    """
    noisy = SpectralSHAG.published(4).fit(english[:150])
    report = inspect_marginals(noisy, english[150:250])
    for k, tree in enumerate(english[150:250]):
        codes = np.searchsorted(noisy.symbols_, tree.symbols)
        chart = sum_up(noisy.operators_, codes)
        negative = chart.arcs[chart.arcs < -1e-12]
        # Those within a factor of ten of 1e-12: two charts differ by some 1e-12.
        n_doubtful = np.count_nonzero(np.abs(np.log10(np.abs(chart.arcs)) + 12) < 1)
        assert report.z_sign[k] == chart.sign
        n_negative = report.negative_share[k] * len(tree) ** 2
        assert_allclose(n_negative, negative.size, rtol=1e-12, atol=n_doubtful)
        mass = -negative.sum() / len(tree)
        assert_allclose(report.negative_mass[k], mass, rtol=1e-9, atol=1e-11 * n_doubtful)
    assert (report.z_sign < 0).any()
    assert report.negative_share.max() > 0.1


def test_no_mass_and_overflow_have_no_sign(english):
    model = DeterministicSHAG().fit(english[:20])
    for factor, route in ((0.0, "none"), (np.inf, "out of range")):
        A = model.operators_.A.copy()
        A[-1] = factor * np.ones_like(A[-1])
        model.operators_ = Operators(*model.operators_[:2], A)
        report = inspect_marginals(model, english[:5])
        assert_array_equal(np.stack(report[:3]), np.zeros((3, 5)))
        assert_array_equal(report.routes, route)


def test_ordinary_sentences_take_the_fast_route(english):
    """With a broken fast chart everything would be right all the same, and 25 times slower."""
    models = [DeterministicSHAG("single"), DeterministicSHAG("first"), SpectralSHAG()]
    models.append(EMSHAG(init="moments", max_iter=3, tol=1))
    reports = [(model, inspect_marginals(model.fit(english), english)) for model in models]
    assert not [model for model, report in reports if (report.routes == "fast").mean() <= 0.99]


def test_numbers_out_of_range_are_counted(english):
    model = DeterministicSHAG().fit(english)
    model.operators_ = model.operators_._replace(A=1e-60 * model.operators_.A)
    report = inspect_marginals(model, english[:20])
    assert_array_equal(report.routes, "out of range")
    assert_array_equal(report.z_sign, 0)
    with pytest.warns(UserWarning, match="Values of 20 of 20 sentences leave the range of doubles"):
        found = model.predict_marginals(english[:20])
    model.operators_ = model.fallback_operators_
    assert same(found, model.predict_marginals(english[:20]))
