"""Treebanks: read trees from files, turn them into the symbols of a grammar, and write them.

    read_conllu -> [DependencyTree, ...] -> TokenFeature -> estimator -> write_conllu

A :class:`DependencyTree` is one sentence with (or without) its heads. :func:`read_conllu` and
:func:`write_conllu` read and write lists of them as CoNLL-U files without loss, and
:func:`read_horizontal` reads sentences that consist of tokens only. In a pipeline,
:class:`TokenFeature` chooses which columns make up the symbols. :func:`heads` collects the heads of
trees for scikit-learn tools that require a y. Trees may be partially annotated:
:func:`allowed_arcs` lists the arcs that the known heads allow. :func:`lift` makes trees projective,
and :func:`remove_punctuation` removes punctuation from them.
"""

from sklearn_shag.treebank._columns import (
    ATTRIBUTES,
    LEARNED,
    MISSING,
    PLACES,
    UNKNOWN_FEATS,
    WITHHELD,
    UnknownSymbolWarning,
    check_column,
    check_column_name,
    check_share,
    columns_of,
    join_columns,
    unspecified_relation,
)
from sklearn_shag.treebank._conllu import (
    describe_tree,
    iter_conllu,
    iter_jsonl,
    read_conllu,
    read_jsonl,
    write_conllu,
)
from sklearn_shag.treebank._conversions import (
    from_spacy,
    from_token_list,
    to_dataframe,
    to_html,
    to_spacy,
    to_token_list,
)
from sklearn_shag.treebank._dictionary import OF_ENTRIES, Dictionary, read_dictionary
from sklearn_shag.treebank._drawing import (
    TreeLayout,
    display_width,
    join_cells,
    known_arcs,
    new_graph,
    pad_cells,
    place_words,
)
from sklearn_shag.treebank._graphemes import (
    compose,
    compose_text,
    compose_words,
    leave_out_invisible,
    list_graphemes,
    remove_invisible,
)
from sklearn_shag.treebank._guesses import (
    ASKED,
    CHECKED,
    check_marks,
    clear_marks,
    find_given,
    find_guesses,
    forget_guesses,
    forget_heads,
    keep_given,
    mark_guesses,
    mark_words,
    words_guessed,
)
from sklearn_shag.treebank._lines import (
    EmptyNode,
    MultiwordToken,
    find_comment,
    name_comment,
    set_comment,
)
from sklearn_shag.treebank._pieces import MAX_BYTES, iter_pieces, leave_out_rest
from sklearn_shag.treebank._projectivity import (
    allowed_arcs,
    arcs_left_by,
    fill_unknown,
    heads,
    is_projective,
    known_heads,
    lift,
    list_known_heads,
    marks_punctuation,
    nonprojective_arcs,
    remove_punctuation,
)
from sklearn_shag.treebank._sources import ConlluError, list_sources
from sklearn_shag.treebank._text import (
    ENDS,
    HORIZONTAL,
    SENTENCE,
    TOKEN,
    VERTICAL,
    TextPiece,
    check_text,
    correct_ends,
    cut_sentences,
    group_pieces,
    is_spelled,
    iter_horizontal,
    iter_text,
    join_text,
    list_paragraphs,
    list_tokens,
    read_horizontal,
    read_json_lines,
    read_text_file,
    to_text,
    to_trees,
)
from sklearn_shag.treebank._token_feature import TokenFeature, TreeTransformer
from sklearn_shag.treebank._tokens import Token
from sklearn_shag.treebank._tree import (
    CONLLU,
    DependencyTree,
    Heads,
    Sentence,
    Sentences,
    require_trees,
    with_tags,
    with_valid_heads,
)

__all__ = [
    "ConlluError",
    "DependencyTree",
    "Dictionary",
    "EmptyNode",
    "MultiwordToken",
    "Token",
    "TokenFeature",
    "UnknownSymbolWarning",
    "allowed_arcs",
    "from_spacy",
    "from_token_list",
    "heads",
    "is_projective",
    "iter_conllu",
    "iter_horizontal",
    "iter_jsonl",
    "join_text",
    "lift",
    "nonprojective_arcs",
    "read_conllu",
    "read_dictionary",
    "read_horizontal",
    "read_jsonl",
    "remove_punctuation",
    "to_dataframe",
    "to_html",
    "to_spacy",
    "to_token_list",
    "write_conllu",
]
