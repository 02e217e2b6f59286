"""Sentences as users give them, checked once and turned into arrays: the public edge.

The names that other folders use are listed here; users do not need them.
"""

from sklearn_shag.encoding._alphabet import LEFT, RIGHT, Alphabet, pair_of, split_pair
from sklearn_shag.encoding._batch import (
    Batch,
    MemberCodes,
    all_arcs,
    arc_begins,
    arcs_of_heads,
    observed_arcs,
    places_of,
    places_of_heads,
    take_entries,
)
from sklearn_shag.encoding._columns import (
    AFFIXES,
    FIRST_CODE,
    LETTERS,
    OF_WORDS,
    OUTSIDE_CODE,
    ROOT_CODE,
    TAGS,
    UNKNOWN_CODE,
    VECTOR,
    Codes,
    Columns,
    check_name,
    choose_columns,
    encode_columns,
    forget_rare,
    list_values,
    make_columns,
    name_of,
    number_values,
    place_codes,
    read_column,
    split_features,
)
from sklearn_shag.encoding._context import SOURCE_CHUNK, ask_vectors, name_source, split_embeddings
from sklearn_shag.encoding._letters import (
    GOLDEN,
    N_LETTER_ROWS,
    Spellings,
    find_bucket,
    mix,
    spell_words,
)
from sklearn_shag.encoding._sentences import (
    EncodedTrees,
    check_allowed,
    check_heads,
    check_sentences,
    check_trees,
    collect_labels,
    decode_trees,
    encode_labels,
    encode_sentences,
    encode_trees,
    list_labels,
    name_sentence,
    require_whole,
)

__all__ = []
