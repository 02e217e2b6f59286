"""Citations of the theory page in docstrings become links: "(eq. 32)", "theory, eqs. 6-8".

Docstrings stay readable as text. Equations of papers, as in "eq. 14 of the paper", are left alone.
"""

import re

_NUMBERS = r"[eE]qs?\.(?P<space>\s+)(?P<numbers>[0-9]+(?:(?:-|, | and |, and )[0-9]+)*)"
# What tells that the equations are those of the theory page.
_CITATIONS = [
    re.compile(rf"(?<=\(){_NUMBERS}(?=\)|;)"),
    re.compile(rf"(?<=[tT]heory,\s){_NUMBERS}"),
    re.compile(rf"\b{_NUMBERS}(?=\s+of\s+the\s+theory\s+page)"),
]


def _link(match):
    numbers = re.sub("[0-9]+", r":eq:`eq\g<0>`", match["numbers"])
    # A break of the line stays, with the indentation behind it.
    space = match["space"] if "\n" in match["space"] else ""
    return space + numbers.replace("-", " to ")


def link_equations(text):
    """Turn citations of equations of the theory page into roles."""
    for citation in _CITATIONS:
        text = citation.sub(_link, text)
    return text


def _link_docstring(app, what, name, obj, options, lines):
    lines[:] = link_equations("\n".join(lines)).split("\n")


def setup(app):
    """Connect the hook, which comes before numpydoc's."""
    app.connect("autodoc-process-docstring", _link_docstring, priority=100)
    return {"parallel_read_safe": True}
