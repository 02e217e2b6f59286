"""What a learned grammar does, beyond its predictions."""

from sklearn_shag.inspection._marginals import MarginalReport, inspect_marginals

__all__ = ["MarginalReport", "inspect_marginals"]
