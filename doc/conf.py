"""Sphinx configuration: `python -m sphinx -b html . _build/html` in this folder, offline.

The pages load nothing from other hosts: `check_html.py` says so of every page, `look.py` opens them
in a browser without network.
"""

import importlib
import logging
import sys
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx_gallery.sorting import ExplicitOrder

import sklearn_shag

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "sklearn_shag"
author = "The sklearn_shag developers"
copyright = author
version = release = sklearn_shag.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "figures",
    "mathml",
    "equation_links",
    "terms",
]
templates_path = ["_templates"]
# Tables of sphinx-gallery's running times would load scripts from other hosts.
exclude_patterns = ["_build", "**sg_execution_times.rst"]
# The page of the change log has its own title.
suppress_warnings = ["myst.header"]
# Quotes and dashes of code in tables stay as they are typed.
smartquotes = False
html_math_renderer = "mathml"
# What is copied are commands and code, without prompts and without what they print.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_title = f"sklearn_shag {release}"
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
}
# Pages without pages below them have nothing to show on the left.
html_sidebars = {page: [] for page in ("index", "teaching", "theory", "whats_new", "refs")}

# Equations are numbered in their order on the page, never by section: the code cites the numbers.
numfig = False
math_numfig = False
math_number_all = False
math_eqref_format = "eq. {number}"

# Types stand in the docstrings, with shapes; signatures show defaults alone.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
# What each kind of class shows of its members. scikit-learn's own methods are documented there,
# and the fields of a NamedTuple stand in its docstring.
autosummary_context = {
    "undocumented": {
        "count",
        "index",
        "__init__",
        "add_note",
        "with_traceback",
        "get_metadata_routing",
        "set_partial_fit_request",
        "set_predict_request",
        "set_score_request",
        "set_fit_request",
        "set_output",
    }
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "subsection_order": ExplicitOrder(
        [
            "../examples/first_steps",
            "../examples/lessons",
            "../examples/annotation",
            "../examples/documents",
            "../examples/inspection",
            "../examples/at_scale",
            "../examples/algorithms",
            "../examples/induction",
        ]
    ),
    # As one would read them; an example that is not listed stops the build.
    "within_subsection_order": ExplicitOrder(
        [
            "plot_quick_start.py",
            "plot_validation_curve.py",
            "plot_grid_search.py",
            "plot_own_symbols.py",
            "plot_words.py",
            "plot_lesson_trees.py",
            "plot_lesson_texts.py",
            "plot_compare_texts.py",
            "plot_arc_confidence.py",
            "plot_raw_text.py",
            "plot_active_learning.py",
            "plot_automaton.py",
            "plot_refinements.py",
            "plot_sequences.py",
            "plot_sample_sentences.py",
            "plot_save_and_serve.py",
            "plot_streaming.py",
            "cluster.py",
            "corpus.py",
            "plot_spectral_and_em.py",
            "plot_recover_grammar.py",
            "plot_tree_loss.py",
            "plot_induction_curve.py",
            "plot_induction_rules.py",
            "plot_induction_conventions.py",
            "plot_transfer.py",
            "plot_logistic_normal.py",
            "plot_autoencoder.py",
        ]
    ),
    "doc_module": ("sklearn_shag",),
    "backreferences_dir": "generated/backreferences",
    "show_memory": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
}
# What examples print shall not depend on what is compiled already.
logging.getLogger("sklearn_shag").setLevel("ERROR")

PUBLIC_MODULES = [
    "sklearn_shag",
    *(
        f"sklearn_shag.{folder}"
        for folder in (
            "treebank",
            "sequences",
            "operators",
            "parsing",
            "features",
            "network",
            "metrics",
            "datasets",
        )
    ),
]
THEORY = "theory"
N_EQUATIONS = 72


def _check_equation_numbers(app, doctree):
    """Stop the build where an equation's number is not the one in its label.

    The numbers of the theory page are cited in the code. Equation 7 has the label ``eq7``, and no
    other page may number equations.
    """
    docname = app.env.docname
    equations = [node for node in doctree.findall(nodes.math_block) if node.get("label")]
    expected = [f"eq{number}" for number in range(1, N_EQUATIONS + 1)] if docname == THEORY else []
    labels = [node["label"] for node in equations]
    numbers = [node["number"] for node in equations]
    if labels != expected or numbers != list(range(1, len(expected) + 1)):
        raise ExtensionError(
            f"{docname}: the labelled equations are {labels} with the numbers {numbers}, but the "
            f"code cites {expected} in this order."
        )


def _check_public_names(app):
    """Stop the build where a public name is missing on the page of the API."""
    words = set((Path(app.srcdir) / "api.rst").read_text(encoding="utf-8").split())
    for folder in PUBLIC_MODULES:
        module = importlib.import_module(folder)
        missing = {name for name in module.__all__ if not {name, f"{folder}.{name}"} & words}
        if missing:
            raise ExtensionError(f"api.rst lacks {sorted(missing)} of {folder}.")


def setup(app):
    """Connect the checks."""
    app.connect("builder-inited", _check_public_names)
    app.connect("doctree-read", _check_equation_numbers)
