"""Models on disk.

What other folders use of it is listed here.
"""

from sklearn_shag.model_files._persistence import load_model, read_card, save_model

__all__ = []
