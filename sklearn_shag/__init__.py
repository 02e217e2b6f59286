"""Hidden-state dependency grammars as scikit-learn estimators.

The stages, with their folders::

    fit      sentences -> sequences -> statistics -> operators     sequences, learning
    predict  sentences -> chart -> arc marginals -> trees          parsing

Other folders include `metrics` (attachment scores), `inspection` (what was learned) and `datasets`
(bundled, generated and downloaded).
"""

import importlib
import typing

__version__ = "0.1.0"

# Modules are imported when something in them is first asked for: the command line can thus help, or
# say what is wrong with an option, without a second of importing scikit-learn.
_MODULES = {
    "DMV": "induction._dmv",
    "EMAutomaton": "automata._em",
    "EMSHAG": "learning._em",
    "AveragedParser": "ensembles._averaged",
    "BaseSHAG": "learning._base",
    "BiaffineParser": "network._biaffine",
    "CRFParser": "conditional._crf",
    "ConcaveParser": "induction._concave",
    "DependencyVectorizer": "documents._features",
    "DeterministicSHAG": "learning._deterministic",
    "DistilledParser": "ensembles._distilled",
    "DummyParser": "_dummy",
    "LexicalizedSHAG": "lexical._lexicalized",
    "MixtureSHAG": "induction._mixture",
    "ModelFileError": "model_files._archive",
    "ParserPipeline": "ensembles._pipeline",
    "ProductParser": "ensembles._product",
    "RefinedSHAG": "learning._refined",
    "SpectralAutomaton": "automata._spectral",
    "SpectralSHAG": "learning._spectral",
    "Splitter": "network._splitter",
    "SyntaxStatistics": "documents._statistics",
    "Tagger": "network._tagger",
    "TextParser": "documents._features",
    "load_model": "model_files._persistence",
    "make_parser_pipeline": "ensembles._pipeline",
    "read_card": "model_files._persistence",
    "save_model": "model_files._persistence",
}
_FOLDERS = (
    "automata",
    "checks",
    "datasets",
    "features",
    "inspection",
    "learning",
    "metrics",
    "network",
    "operators",
    "parsing",
    "sequences",
    "service",
    "treebank",
)

__all__ = ["__version__", *_MODULES]

if typing.TYPE_CHECKING:  # twice the same name: what is named so is public
    from sklearn_shag._dummy import DummyParser as DummyParser
    from sklearn_shag.automata._em import EMAutomaton as EMAutomaton
    from sklearn_shag.automata._spectral import SpectralAutomaton as SpectralAutomaton
    from sklearn_shag.conditional._crf import CRFParser as CRFParser
    from sklearn_shag.documents._features import DependencyVectorizer as DependencyVectorizer
    from sklearn_shag.documents._features import TextParser as TextParser
    from sklearn_shag.documents._statistics import SyntaxStatistics as SyntaxStatistics
    from sklearn_shag.ensembles._averaged import AveragedParser as AveragedParser
    from sklearn_shag.ensembles._distilled import DistilledParser as DistilledParser
    from sklearn_shag.ensembles._pipeline import ParserPipeline as ParserPipeline
    from sklearn_shag.ensembles._pipeline import make_parser_pipeline as make_parser_pipeline
    from sklearn_shag.ensembles._product import ProductParser as ProductParser
    from sklearn_shag.induction._concave import ConcaveParser as ConcaveParser
    from sklearn_shag.induction._dmv import DMV as DMV
    from sklearn_shag.induction._mixture import MixtureSHAG as MixtureSHAG
    from sklearn_shag.learning._base import BaseSHAG as BaseSHAG
    from sklearn_shag.learning._deterministic import DeterministicSHAG as DeterministicSHAG
    from sklearn_shag.learning._em import EMSHAG as EMSHAG
    from sklearn_shag.learning._refined import RefinedSHAG as RefinedSHAG
    from sklearn_shag.learning._spectral import SpectralSHAG as SpectralSHAG
    from sklearn_shag.lexical._lexicalized import LexicalizedSHAG as LexicalizedSHAG
    from sklearn_shag.model_files._archive import ModelFileError as ModelFileError
    from sklearn_shag.model_files._persistence import load_model as load_model
    from sklearn_shag.model_files._persistence import read_card as read_card
    from sklearn_shag.model_files._persistence import save_model as save_model
    from sklearn_shag.network._biaffine import BiaffineParser as BiaffineParser
    from sklearn_shag.network._splitter import Splitter as Splitter
    from sklearn_shag.network._tagger import Tagger as Tagger
else:  # to type checkers any name would be right

    def __getattr__(name):
        if name in _FOLDERS:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        made = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        return globals().setdefault(name, made)


def __dir__():
    return sorted({*globals(), *__all__, *_FOLDERS})
