"""Parsers made of parsers: averages, and products of grammars.

What other folders use of it is listed here.
"""

from sklearn_shag.ensembles._averaged import AveragedParser
from sklearn_shag.ensembles._base import ComposedParser
from sklearn_shag.ensembles._distilled import DistilledParser
from sklearn_shag.ensembles._pipeline import ParserPipeline, make_parser_pipeline

__all__ = []
