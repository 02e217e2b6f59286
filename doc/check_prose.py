"""Check the English that users read: `python doc/check_prose.py [FILE...]`.

Without files it checks the README, the changelog, all pages, and the public docstrings, messages
and help texts of all modules. It runs proselint, and looks for the phrases in WORDS and for
sentences of more than 35 words. It prints what it finds, place by place, and then exits with 1.
"""

import argparse
import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

from proselint.checks import __register__
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

import sklearn_shag

CheckRegistry().register_many(__register__)

ROOT = Path(__file__).parents[1]
LONGEST = 35
_FOLDERS = ["sklearn_shag", *(f"sklearn_shag.{f}" for f in sklearn_shag._FOLDERS)]
# Its checks that take code or the subject for bad style.
OFF = ("typography", "hedging", "lexical_illusions")
CONFIG = DEFAULT | {"checks": DEFAULT["checks"] | dict.fromkeys(OFF, False)}
# Patterns that read as if they were translated, and what to write instead.
WORDS = {
    r"heads? here and there": "partially annotated trees",
    r"compiles for a quarter": "takes about 15 s to compile",
    r"another number than": "is not",
    r"thrown at the package": "fuzzed",
    r"files of strangers": "untrusted files",
    r"nothing hangs on": "has no arcs",
    r"not written over": "refusing to overwrite",
    r"How many, if": "a whole sentence",
    r"[Tt]here is no treebank at hand": "no treebank at hand?",
    r"tags along": "also learns to tag",
    r"\(from tokens one\)": "one seed for tokens",
    r"(?<=[.:] )Else\b|^Else\b": "Otherwise",
    r"\bby chance alone\b": "chance alone",
    r"\bWho (?:wants|has|annotates|needs|likes)\b": "If you ...",
    r"\bthe one (?:more|time) .{0,20} the other": "rephrase",
    r"\bwhatever (?:it|they) (?:is|are) made of\b": "any",
    r"\bthat are none\b": "that are not",
    r"\bof nothing\b": "of an empty list",
    r"\bwhat there is\b": "everything",
    r"\bas a rule\b": "usually",
    r"\bif need be\b": "if necessary",
    r"\bhas to do with\b": "rephrase",
    r"\bsuch whose\b": "whose",
    r"\bbut for\b": "except",
    r"\bit says so\b": "rephrase",
    r"\btokens? of several words\b": "multiword tokens",
}
# Directives whose content is no prose, and lines that are none.
VERBATIM = re.compile(
    r"\s*\.\. (code|literal|math|list-table|toctree|measured|figure|raw|include|image|plot|py:)"
)
BORDER = re.compile(r"\s*(={3,}|-{3,}|~{3,}|\|-)")
ENTRY = re.compile(r"\s*[*\w., ]+ : \S|\s*:\w+:|\s*\.\. ")  # parameters, options
ITEM = re.compile(r"\s*([-*]|\d+\.|#\.) +")
# What stands for words of a sentence: roles, literals, links.
MARKUP = (
    (re.compile(r":[\w:.-]+:`~?([^`<]*?)(?:\s*<[^`]*>)?`"), r"\1"),
    (re.compile(r"``[^`]*``|`[^`]*`_?_?"), "this"),
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
)


def list_paragraphs(text):
    """List paragraphs of prose of a page or a docstring, each with its first line, from 1."""
    found, block, begin, verbatim, in_table, fenced = [], [], 0, None, False, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_blank, indent = not line.strip(), len(line) - len(line.lstrip())
        if verbatim is not None and not is_blank and indent <= verbatim:
            verbatim = None
        if line.startswith("```"):
            fenced, is_blank = not fenced, True
        is_border = bool(BORDER.match(line))
        in_table = not is_blank and (in_table or (is_border and " =" in line))
        other = fenced or in_table or verbatim is not None or is_border
        other = other or line.lstrip().startswith((">>> ", "... ", "|", "$ ", "#"))
        item, entry = ITEM.match(line), ENTRY.match(line)
        if block and (is_blank or other or item or entry):
            joined = " ".join(" ".join(block).split())
            found.append((begin, joined))
            block = []
        if VERBATIM.match(line) or (line.rstrip().endswith("::") and not is_blank):
            verbatim = indent
        if line.lstrip().startswith(">>> "):
            verbatim = indent - 1  # up to a line that stands further left, or a blank one
        if is_blank and verbatim is not None and verbatim < 0:
            verbatim = None
        if not (is_blank or other or entry):
            begin = begin if block else number
            block.append(line[item.end() :] if item else line)
    return found


def list_sentences(paragraph):
    """List sentences without their markup."""
    for pattern, plain in MARKUP:
        paragraph = pattern.sub(plain, paragraph)
    return re.split(r"(?<=[.?!:])\)?\s+(?=[A-Z(\"*])", paragraph)


def list_docstrings(path):
    """List what is public in a module, and its docstring."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    public = {name for folder in _FOLDERS for name in importlib.import_module(folder).__all__}
    for name, value in vars(importlib.import_module(module)).items():
        if name not in public or getattr(value, "__module__", None) != module:
            continue
        yield name, value.__doc__ or ""
        for method, function in vars(value).items() if inspect.isclass(value) else ():
            function = getattr(function, "__func__", getattr(function, "fget", function))
            if not method.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{method}", function.__doc__ or ""


def list_messages(path):
    """List the texts of errors, warnings and help, with places for what is put in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        is_message = isinstance(node, ast.Raise)
        is_message |= isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn"
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "help":
            is_message = True
        if isinstance(node, ast.FunctionDef):  # the help of a command has examples
            text, examples, _ = (ast.get_docstring(node) or "").partition("\nexamples:")
            if examples:
                yield node.lineno, text
        for part in ast.walk(node) if is_message else ():
            if isinstance(part, ast.JoinedStr):
                values = [v.value if isinstance(v, ast.Constant) else "X" for v in part.values]
                yield part.lineno, "".join(values)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.lineno, part.value


def list_texts(path):
    """List the places and paragraphs of prose of a file."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    if path.suffix != ".py":
        for line, paragraph in list_paragraphs(path.read_text(encoding="utf-8")):
            yield f"{name}:{line}", paragraph
        return
    for place, text in list_docstrings(path):
        for _, paragraph in list_paragraphs(inspect.cleandoc(text)):
            yield f"{name}, {place}", paragraph
    for line, text in list_messages(path):
        if text.count(" ") > 3:
            yield f"{name}:{line}", " ".join(text.split())


def check(paragraph):
    """List what is wrong with a paragraph."""
    plain = " ".join(list_sentences(paragraph))
    for pattern, better in WORDS.items():
        found = re.search(pattern, plain)
        if found:
            yield f"{found[0]!r}: {better}"
    for sentence in list_sentences(paragraph):
        n_words = len(re.findall(r"\w[\w'.-]*", sentence))
        if n_words > LONGEST:
            yield f"a sentence of {n_words} words: {sentence[:60]}..."
    for result in LintFile("text", plain).lint(CONFIG) if plain.strip() else ():
        yield f"proselint: {result.check_result.message}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="*", type=Path)
    paths = [path.resolve() for path in parser.parse_args().file]
    if not paths:
        paths = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "doc").rglob("*.rst"))]
        paths = [p for p in paths if "_build" not in p.parts and "auto_examples" not in p.parts]
        paths += sorted((ROOT / "sklearn_shag").rglob("*.py"))
    n_wrong = 0
    for path in paths:
        for place, paragraph in list_texts(path):
            for complaint in check(paragraph):
                n_wrong += 1
                print(f"{place}: {complaint}")
    print(f"{n_wrong} complaints about the prose of {len(paths)} files")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
