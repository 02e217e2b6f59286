"""Docstrings hold to numpydoc: its validator, with what scikit-learn asks of its own, and more."""

import ast
import inspect
import pydoc
import re
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import sklearn_shag
from tests.test_architecture import CLASSES, MEMBERS, PUBLIC, parse

# As scikit-learn (test_docstrings.py): results have names, and docstrings begin and end where one
# likes.
IGNORED = {"RT02", "GL01", "GL02"}
# As scikit-learn: an extended summary is for classes. What a function does mostly fits in a line.
IGNORED_OF_FUNCTIONS = IGNORED | {"ES01"}
# As scikit-learn: these stand where the class is, to which a member belongs. (It asks for neither
# of functions; here each has both.)
IGNORED_OF_MEMBERS = IGNORED_OF_FUNCTIONS | {"SA01", "EX01"}


IGNORED_OF = {
    **dict.fromkeys(PUBLIC, IGNORED_OF_FUNCTIONS),
    **dict.fromkeys(CLASSES, IGNORED),
    **dict.fromkeys(MEMBERS, IGNORED_OF_MEMBERS),
}


def test_docstrings_are_valid():
    faults = []
    for name, value in (PUBLIC | MEMBERS).items():
        doc = get_doc_object(value)
        if inspect.isclass(value) and issubclass(value, tuple):
            doc["Parameters"] = doc["Attributes"]  # where the fields of a NamedTuple are described
        errors = (error for error in validate(doc)["errors"] if error[0] not in IGNORED_OF[name])
        faults += [f"{name}: {code} {message}" for code, message in errors]
    assert not faults, "\n".join(faults)


def test_see_also_names_what_there_is():
    for name, value in (PUBLIC | MEMBERS).items():
        beside = name.rpartition(".")[0]
        for functions, _ in get_doc_object(value)["See Also"]:
            for reference, _ in functions:
                # As Sphinx finds them: in full, or beside the object that refers to them.
                found = reference if reference.startswith("sklearn") else f"{beside}.{reference}"
                assert pydoc.locate(found) is not None, found


# Words by which a summary says no more than that it is about something.
RELATIVE = re.compile(
    r"^(the same|how|where|which|of|as)\b|\b(what|those|that of|whatever)\b", re.I
)
SECTION = re.compile(r"^(Parameters|Returns|Yields|Attributes)\n---", re.MULTILINE)


def test_private_summaries_name_their_objects():
    """Nobody has to read the neighbours of a function to understand what it is for."""
    kinds, summaries = (ast.Module, ast.ClassDef, ast.FunctionDef), []
    for path in Path(sklearn_shag.__file__).parent.rglob("*.py"):
        nodes = ast.walk(parse(path))
        docs = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
        summaries += [doc.split("\n\n")[0] for doc in docs if doc and not SECTION.search(doc)]
    relative = [summary for summary in summaries if RELATIVE.search(summary)]
    assert len(relative) <= 0.01 * len(summaries), "\n".join(relative)
