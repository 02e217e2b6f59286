"""Docstrings hold to numpydoc: its validator, with what scikit-learn asks of its own, and more."""

import ast
import importlib
import inspect
import re
from pathlib import Path

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import sklearn_shag
from tests.test_architecture import parse

# As scikit-learn (test_docstrings.py): results have names, and docstrings begin and end where one
# likes.
IGNORED = {"RT02", "GL01", "GL02"}
# As scikit-learn: an extended summary is for classes. What a function does mostly fits in a line.
IGNORED_OF_FUNCTIONS = IGNORED | {"ES01"}
# As scikit-learn: these stand where the class is, to which a member belongs. (It asks for neither
# of functions; here each has both.)
IGNORED_OF_MEMBERS = IGNORED_OF_FUNCTIONS | {"SA01", "EX01"}


def public_objects():
    """All public classes and functions, and the members of these classes."""
    for module in ("sklearn_shag", *(f"sklearn_shag.{name}" for name in sklearn_shag._FOLDERS)):
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if inspect.isclass(value):
                yield f"{module}.{name}", value, IGNORED
                yield from public_members(value)
            elif callable(value):
                yield f"{module}.{name}", value, IGNORED_OF_FUNCTIONS


def public_members(kind):
    """Methods and properties, each where its docstring is written: base classes hand it down."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        owners = (base for base in kind.__mro__ if name in vars(base) and vars(base)[name].__doc__)
        owner = next(owners, kind)
        if owner.__module__ == "builtins":
            continue
        written = getattr(owner, name)
        # The function of a class method, so that what it returns is looked at too.
        written = getattr(written, "__func__", written)
        yield f"{owner.__module__}.{owner.__name__}.{name}", written, IGNORED_OF_MEMBERS


PUBLIC = {name: (value, ignored) for name, value, ignored in public_objects()}


def test_docstrings_are_valid():
    faults = []
    for name, (value, ignored) in PUBLIC.items():
        doc = get_doc_object(value)
        if inspect.isclass(value) and issubclass(value, tuple):
            doc["Parameters"] = doc["Attributes"]  # where the fields of a NamedTuple are described
        errors = (error for error in validate(doc)["errors"] if error[0] not in ignored)
        faults += [f"{name}: {code} {message}" for code, message in errors]
    assert not faults, "\n".join(faults)


def test_see_also_names_what_there_is():
    for name, (value, _) in PUBLIC.items():
        beside = name.rpartition(".")[0]
        for functions, _ in get_doc_object(value)["See Also"]:
            for reference, _ in functions:
                # As Sphinx finds them: in full, or beside the object that refers to them.
                resolve(reference if reference.startswith("sklearn") else f"{beside}.{reference}")


def resolve(name):
    """Import what a name in full stands for."""
    parts = name.split(".")
    for n_modules in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n_modules]))
        except ModuleNotFoundError:
            continue
        for part in parts[n_modules:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"{name} cannot be imported")


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
