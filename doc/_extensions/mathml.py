"""Formulae as MathML, made while pages are written: browsers draw it, nothing is loaded."""

import re

from docutils import nodes
from docutils.utils import get_source_line
from math_core import LatexError, LatexToMathML
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

MARKS = re.compile(r"[.,;:)]+")
CONVERTER = LatexToMathML(fancy_error=False)


def _mathml(node, *, displaystyle):
    try:
        return CONVERTER.convert_with_local_state(node.astext(), displaystyle=displaystyle)
    except LatexError as error:
        source, line = get_source_line(node)
        raise ExtensionError(
            f"{source}:{line}: the formula {node.astext()!r} cannot be converted to MathML: "
            f"{error} Write it in other words."
        ) from error


def _visit_inline(self, node):
    self.body.append(_mathml(node, displaystyle=False))
    raise nodes.SkipNode


def _visit_block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    self.body.append(f'<div class="formula-body">{_mathml(node, displaystyle=True)}</div>')
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<a class="eqno" href="#{node["ids"][0]}">({number})</a>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _keep_marks(app, doctree, docname):
    """Keep formulae and the marks after them together: browsers break lines there."""
    for formula in list(doctree.findall(nodes.math)):
        text = formula.next_node(descend=False, siblings=True)
        mark = MARKS.match(text) if isinstance(text, nodes.Text) else None
        if mark:
            unbroken = nodes.inline("", "", formula.deepcopy(), nodes.Text(mark[0]))
            unbroken["classes"] = ["unbroken"]
            formula.replace_self(unbroken)
            text.parent.replace(text, nodes.Text(text[mark.end() :]))


def setup(app):
    """Register the renderer."""
    app.connect("doctree-resolved", _keep_marks)
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
