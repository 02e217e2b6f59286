"""Conversion of sentences to and from the objects of other libraries: pandas, conllu, spaCy."""

import io
from collections.abc import Iterable
from html import escape
from typing import Any

import conllu
from conllu.parser import DEFAULT_FIELDS
from conllu.serializer import serialize_field

from sklearn_shag.treebank._columns import MISSING
from sklearn_shag.treebank._conllu import read_conllu
from sklearn_shag.treebank._text import find_document_ends
from sklearn_shag.treebank._tokens import split_pairs
from sklearn_shag.treebank._tree import DependencyTree, Highlight, Trees, require_trees
from sklearn_shag.utils._arrays import as_list
from sklearn_shag.utils._heads import UNKNOWN
from sklearn_shag.utils._messages import import_optional

# The colours of drawings are turned round where the system is dark.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Dependency trees</title>
<meta name="viewport" content="width=device-width"><style>
:root { color-scheme: light dark; font-family: sans-serif; }
figure { margin: 0 0 1.5rem; overflow-x: auto; }
figcaption { position: sticky; left: 0; margin-bottom: 0.4rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { svg { filter: invert(0.9) hue-rotate(180deg); } }
</style></head><body>
"""
# Names of our columns in spaCy: annotations of documents, attributes of tokens, parameters.
_SPACY = {
    "lemmas": ("LEMMA", "lemma_", "lemmas"),
    "upos": ("POS", "pos_", "pos"),
    "xpos": ("TAG", "tag_", "tags"),
    "feats": ("MORPH", "morph", "morphs"),
    "deprels": ("DEP", "dep_", "deps"),
}


def to_dataframe(trees: Iterable[DependencyTree], *, extended: bool = False) -> Any:
    """Make a table of trees, with a row for each token.

    Parameters
    ----------
    trees : iterable of DependencyTree
        With heads or without.
    extended : bool, default=False
        Whether to add the columns document; head_form, head_lemma and head_upos, missing for roots;
        and a column for each morphological feature, such as feats.Case.

    Returns
    -------
    table : pandas.DataFrame
        The columns are sentence (the index of the tree, from 0), sent_id, id (the position of the
        token, from 1), form, lemma, upos, xpos, feats, head, deprel, deps and misc. Heads are
        integers, missing where unknown.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError
        If `trees` holds anything but trees.

    See Also
    --------
    DependencyTree.to_dict : One sentence, with its comments.

    Examples
    --------
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import to_dataframe
    >>> table = to_dataframe(load_english().data)
    >>> table.groupby("upos").size().nlargest(2)
    upos
    NOUN     919
    PUNCT    626
    dtype: int64
    """
    pd = import_optional("pandas", "frame", "to_dataframe")
    trees = as_list(trees, "trees", "a sequence of trees", " Wrap it in a list: [tree].")
    require_trees(trees, "trees", "columns are")
    rows = []
    for place, tree in enumerate(trees):
        content = tree.to_dict()
        columns = (content[name] for name in DEFAULT_FIELDS[1:])
        of_tokens = enumerate(zip(*columns, strict=True), start=1)
        rows += [(place, content["sent_id"], token, *cells) for token, cells in of_tokens]
    names = ["sentence", "sent_id", *DEFAULT_FIELDS]
    table = pd.DataFrame(rows, columns=names).astype({"head": "Int64"})
    if extended:
        table.insert(0, "document", [trees[k].document for k in table["sentence"]])
        of_heads = table[["sentence", "id", "form", "lemma", "upos"]].add_prefix("head_")
        keys = ["head_sentence", "head_id"]
        table = table.merge(of_heads, "left", left_on=["sentence", "head"], right_on=keys)
        features = pd.DataFrame(list(map(split_pairs, table["feats"])))
        table = table.drop(columns=keys).join(features.add_prefix("feats."))
    return table


class _Page(str):
    """A page of HTML; notebooks show it."""

    def _repr_html_(self):
        return (
            f'<iframe srcdoc="{escape(self)}" width="100%" height="480" frameborder="0"></iframe>'
        )


def to_html(
    trees: Trees, *, highlight: Highlight = (), colors: bool = False, compact: bool = False
) -> str:
    """Draw trees on a page that needs no other file.

    Parameters
    ----------
    trees : sequence of DependencyTree
        With heads or without.
    highlight, colors, compact : collection of int or callable, bool, bool
        As for :meth:`DependencyTree.to_svg`.

    Returns
    -------
    page : str
        HTML, in light or dark colours as the reader's system has them. Each tree has its name and
        its text above it, and scrolls if it is wider than the window. In a notebook, the last line
        of a cell shows the page.

    Raises
    ------
    TypeError
        If `trees` holds anything but trees.

    See Also
    --------
    DependencyTree.to_svg : Draws one tree.

    Examples
    --------
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import to_html
    >>> trees = load_english().data[:3]
    >>> to_html(trees, highlight=lambda token: token.upos == "VERB").count("<svg ")
    3
    """
    trees = as_list(trees, "trees", "a sequence of trees", " Wrap it in a list: [tree].")
    require_trees(trees, "trees", "arcs are")
    figures = []
    for number, tree in enumerate(trees, start=1):
        svg = tree.to_svg(highlight=highlight, colors=colors, compact=compact)
        name, text = escape(tree.sent_id or str(number)), escape(tree.text or " ".join(tree.forms))
        figures.append(f"<figure><figcaption><b>{name}</b> {text}</figcaption>{svg}</figure>")
    return _Page(_PAGE + "\n".join(figures) + "\n</body></html>\n")


def to_token_list(tree: DependencyTree) -> conllu.TokenList:
    """Convert a tree to a TokenList of the library conllu.

    Parameters
    ----------
    tree : DependencyTree
        Its comments and all else that it keeps of its file are converted too.

    Returns
    -------
    tokens : conllu.TokenList
        Its ``serialize()`` gives the same lines, except that comments within the sentence move to
        its beginning.

    See Also
    --------
    from_token_list : The inverse.

    Examples
    --------
    >>> from sklearn_shag.treebank import DependencyTree, to_token_list
    >>> tokens = to_token_list(DependencyTree(["Dogs", "bark"], [2, 0]))
    >>> tokens[0]["form"], tokens[0]["head"]
    ('Dogs', 2)
    """
    # The parsers of conllu drop comments without "=", and text after a second "=".
    return conllu.parse(
        f"{tree._written()}\n\n",
        fields=DEFAULT_FIELDS,
        field_parsers={"feats": _as_dict, "misc": _as_dict},
        metadata_parsers={"__fallback__": lambda key, value: (key, value)},
    )[0]


def _as_dict(cells, place):
    """Convert FEATS or MISC to a dict, or return the str if the dict would lose something."""
    if cells[place] == MISSING:
        return None
    found = split_pairs(cells[place])
    return found if serialize_field(found) == cells[place] else cells[place]


def from_token_list(tokens: conllu.TokenList) -> DependencyTree:
    """Convert a TokenList of the library conllu to a tree.

    Parameters
    ----------
    tokens : conllu.TokenList
        A sentence.

    Returns
    -------
    tree : DependencyTree
        It keeps comments, multiword tokens, empty nodes and MISC.

    Raises
    ------
    ConlluError
        If it is not a valid sentence.

    See Also
    --------
    to_token_list : The inverse.

    Examples
    --------
    >>> import conllu
    >>> from sklearn_shag.treebank import from_token_list
    >>> (tokens,) = conllu.parse("1\\tBark\\tbark\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n")
    >>> from_token_list(tokens)
    DependencyTree('Bark', heads=[0])
    """
    (tree,) = read_conllu(io.StringIO(tokens.serialize()))
    return tree


def from_spacy(doc: Any) -> list[DependencyTree]:
    """Make trees from the sentences of a spaCy document.

    Parameters
    ----------
    doc : spacy.tokens.Doc
        A document with sentence boundaries.

    Returns
    -------
    trees : list of DependencyTree
        With the text, ``SpaceAfter=No`` in MISC, and whichever lemmas, tags, morphological
        features, heads and relations the document has. Space tokens without dependents are left
        out.

    Raises
    ------
    ValueError
        If the document has no sentence boundaries.

    See Also
    --------
    to_spacy : The inverse.

    Examples
    --------
    >>> import spacy  # doctest: +SKIP
    >>> from sklearn_shag.treebank import from_spacy
    >>> trees = from_spacy(spacy.load("en_core_web_sm")("Dogs bark."))  # doctest: +SKIP
    """
    return [_from_span(span) for span in doc.sents]


def _from_span(span):
    tokens = [token for token in span if not (token.is_space and not any(token.children))]
    position = {token.i: place for place, token in enumerate(tokens, start=1)}
    columns = {
        attribute: [str(getattr(t, name)) or MISSING for t in tokens]
        for attribute, (annotation, name, _) in _SPACY.items()
        if span.doc.has_annotation(annotation)
    }
    heads = None
    if "deprels" in columns:
        heads = [0 if t.head.i == t.i else position[t.head.i] for t in tokens]
        pairs = zip(tokens, heads, strict=True)
        columns["deprels"] = [t.dep_ or MISSING if head else "root" for t, head in pairs]
    tree = DependencyTree([t.text for t in tokens], heads, **columns)
    spaces = [None if t.whitespace_ else "No" for t in tokens]
    if any(spaces):
        tree = tree.with_misc("SpaceAfter", spaces)
    return tree.with_text(" ".join(span.text.split()))


def to_spacy(trees: Iterable[DependencyTree], vocab: Any = None) -> Any:
    """Make a spaCy document from trees, one after the other.

    Parameters
    ----------
    trees : iterable of DependencyTree
        Fully annotated trees, or unlabelled ones only.
    vocab : None or spacy.vocab.Vocab, default=None
        The vocabulary of the document; None makes a new one.

    Returns
    -------
    doc : spacy.tokens.Doc
        With words, spaces (as :func:`join_text` reads them), and those of lemmas, tags, features,
        heads and relations that all trees have. It cannot hold comments, multiword tokens, empty
        nodes, enhanced graphs and the rest of MISC.

    Raises
    ------
    ImportError
        If spaCy is not installed.
    ValueError
        If some heads of a tree are not known.

    See Also
    --------
    from_spacy : The inverse.

    Examples
    --------
    >>> from sklearn_shag.datasets import load_english
    >>> from sklearn_shag.treebank import to_spacy
    >>> doc = to_spacy(load_english().data)  # doctest: +SKIP
    """
    spacy = import_optional("spacy", "spacy", "to_spacy")
    trees = as_list(trees, "trees", "a sequence of trees", " Wrap it in a list: [tree].")
    require_trees(trees, "trees", "columns are")
    empty = {
        name: ["" if v == MISSING else v for tree in trees for v in getattr(tree, attribute)]
        for attribute, (_, _, name) in _SPACY.items()
        if all(getattr(tree, attribute) for tree in trees)
    }
    empty["words"] = [form for tree in trees for form in tree.forms]
    empty["spaces"] = spaces = []
    for tree, is_end in zip(trees, find_document_ends(trees), strict=True):
        spaces += ["SpaceAfter=No" not in misc for misc in tree.misc]
        spaces[-1] = spaces[-1] and not is_end
    if any(tree.heads is None for tree in trees):
        empty["sent_starts"] = [not place for tree in trees for place in range(len(tree))]
    else:
        empty.setdefault("deps", [""] * len(empty["words"]))
        empty["heads"] = heads = []
        for place, tree in enumerate(trees):
            if UNKNOWN in tree.heads:
                raise ValueError(
                    f"trees[{place}] has heads that are not known, which spaCy cannot hold. Parse "
                    f"it, or remove all of them with with_heads(None)."
                )
            start = len(heads)
            heads += [start + (h - 1 if h else k) for k, h in enumerate(tree.heads.tolist())]
    vocab = spacy.vocab.Vocab() if vocab is None else vocab
    return spacy.tokens.Doc(vocab, **empty)
