"""Print the examples of the reference as one script, for type checkers.

Each docstring is a function, and a line that prints something in the documentation is printed.
"""

import ast
import doctest
import importlib
import inspect
import textwrap

import sklearn_shag


def list_docstrings():
    """Yield all public docstrings once, of classes, functions and methods."""
    seen = set()
    for folder in ("sklearn_shag", *(f"sklearn_shag.{name}" for name in sklearn_shag._FOLDERS)):
        public = importlib.import_module(folder)
        for value in map(vars(public).get, public.__all__):
            members = inspect.getmembers(value) if inspect.isclass(value) else []
            for each in (value, *(member for name, member in members if name[0] != "_")):
                text = getattr(each, "__doc__", None)
                module = getattr(each, "__module__", None) or ""
                if text and module.startswith("sklearn_shag"):
                    if text not in seen:
                        yield text
                    seen.add(text)


def is_beyond_checkers(nodes):
    """Whether mypy does not understand a line: columns by a star, what takes a lambda, tables.

    It takes a method that a NamedTuple shares with others for one of its fields.
    """
    for node in filter(lambda node: isinstance(node, ast.Call), nodes):
        if any(isinstance(each, ast.Starred | ast.Lambda) for each in node.args):
            return True
        if hasattr(getattr(sklearn_shag.inspection, ast.unparse(node.func), None), "to_dataframe"):
            return True
    return False


def as_function(number, examples):
    lines = []
    for example in examples:
        source, body = example.source.rstrip(), ast.parse(example.source).body
        is_call = len(body) == 1 and isinstance(body[0], ast.Expr)
        is_shown = example.want and example.exc_msg is None and is_call
        if is_shown and not source.startswith(("print(", "write_")):
            source = f"print({ast.unparse(body[0])})"
        if is_beyond_checkers([node for each in body for node in ast.walk(each)]):
            source = f"{ast.unparse(ast.parse(source))}  # type: ignore"
        lines.append(textwrap.indent(source, "    "))
    return "\n".join([f"def example_{number}() -> None:", *lines])


def main():
    parser = doctest.DocTestParser()
    examples = filter(None, map(parser.get_examples, list_docstrings()))
    print("\n\n\n".join(as_function(*each) for each in enumerate(examples)))


if __name__ == "__main__":
    main()
