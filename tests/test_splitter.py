"""Text to sentences and words and back: what is learned of trees, and every character kept."""

import io
import re
import sys
from copy import copy
from functools import cache
from itertools import chain, count
from unicodedata import is_normalized, normalize

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator

from sklearn_shag import (
    DeterministicSHAG,
    Splitter,
    Tagger,
    load_model,
    make_parser_pipeline,
    save_model,
)
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.network import _characters
from sklearn_shag.treebank import (
    ENDS,
    DependencyTree,
    MultiwordToken,
    TextPiece,
    compose,
    correct_ends,
    cut_sentences,
    iter_text,
    join_text,
    list_paragraphs,
    list_tokens,
    read_conllu,
    remove_invisible,
    remove_punctuation,
    to_text,
    to_trees,
)
from sklearn_shag.treebank._graphemes import find_joined
from tests.estimators import assert_same_model
from tests.faults import not_refused
from tests.loops import over
from tests.test_partial_trees import rewritten
from tests.test_streaming import read_at_once

# White space of all kinds, what MISC and comments write in another way, and letters of more than
# one byte, code point, or direction.
SIGNS = " \t\n\r\x0b\x0c\x1c\x85\u00a0\u2028\u3000|\\=#_abX9.'\u200d\u0301\U0001f469שم中"
# Characters that are no words, nor parts of words.
INVISIBLE = "".join(map(chr, (0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0xFEFF)))
INVISIBLE += "".join(map(chr, range(0x2060, 0x206A)))
# NUL and lone surrogates are no text; U+FFFD is no valid letter to the official validator.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufffd")
    | st.sampled_from(SIGNS + INVISIBLE)
)
BLANK = re.compile(rf"[\s{INVISIBLE}]*")
TEXTS = TEXTS.filter(lambda text: not BLANK.fullmatch(text))


@pytest.fixture(scope="module")
def splitter(english):
    return Splitter(hidden_layer_sizes=[32], max_iter=6, random_state=0).fit(english[:300])


@pytest.fixture(scope="module")
def model(splitter, english):
    """A splitter, a tagger and a grammar."""
    tagger = Tagger(
        "upos",
        ["form", "suffix"],
        hidden_layer_sizes=[16],
        max_iter=6,
        augment=False,
        cv=2,
        random_state=0,
    )
    pipeline = make_parser_pipeline(FrozenEstimator(splitter), tagger, DeterministicSHAG())
    return pipeline.fit(english[:200])


@cache
def official_validator(level, composed):
    validator = pytest.importorskip("udtools.validator", reason="needs udtools").Validator
    checks = validator(lang="ud", level=level, output=None)
    if not composed:
        checks.check_unicode_normalization = lambda *line: None
    return checks


def assert_valid(trees, level, text=""):
    """The official validator has nothing to say, but of text that is not NFC that it is not."""
    checks = official_validator(level, is_normalized("NFC", text))
    file = io.StringIO("".join(tree.to_conllu() for tree in trees), newline="\n")
    found = checks.validate_file_handle(file).error_tracker
    assert not found, [(each.testid, each.message) for each in found]


def assert_keeps(trees, text):
    """Nothing is lost or changed: white space, forms, and where they are."""
    assert_valid(trees, 1, text)
    assert join_text(trees) == join_text(rewritten(trees)) == text
    for tree in trees:
        assert tree.to_conllu() == rewritten([tree])[0].to_conllu()
        position = 0
        for token in list_tokens(tree):
            begin, end = tree.spans[position]
            assert text[begin:end] == token.form == token.form.strip()
            position += len(token.words)


# Text comes back


@given(TEXTS)
@settings(max_examples=200)
def test_every_text_comes_back(splitter, text):
    assert_keeps(splitter.split_text(text), text)


@given(TEXTS, st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 3]))
@example(" \u0102\u00ad\u03010", 0, None)  # whose visible letters are not composed
@settings(max_examples=300)
def test_every_text_comes_back_wherever_things_end(text, seed, max_tokens):
    """Also with words that have nothing of their tokens."""
    rng, seen = np.random.default_rng(seed), remove_invisible(text)
    ends = rng.integers(0, len(ENDS), len(seen), dtype=np.int8) * rng.integers(0, 2, dtype=np.int8)
    correct_ends(ends, seen, list_paragraphs(seen), keeps_space=lambda *around: True)
    if max_tokens is not None:
        cut_sentences(ends, rng.normal(size=ends.size).__getitem__, max_tokens)

    def words_of(form, seems_several, cuts):
        assert all(0 < cut < len(form) and not form[cut - 1].isspace() for cut in cuts)
        return ["x", normalize("NFC", form), "y"] if seems_several or cuts else None

    trees = list(to_trees(TextPiece("", 0, 0, text), ends, words_of, count(1)))
    assert_keeps(trees, text)
    if max_tokens is not None:
        assert max(tree.to_conllu().count("TokenRange") for tree in trees) <= max_tokens


def test_sentences_have_all_that_the_format_asks_for():
    text = "  It's du café.\r\n\r\n \tOui !"
    ends = np.zeros(len(text), dtype=np.int8)
    ends[[3, 5, 8, 13, 14, 23, 25]] = 2, 2, 3, 2, 4, 2, 4
    correct_ends(ends, text, list_paragraphs(text))
    words = {"du": ["de", "le"]}
    piece = TextPiece("", 0, 100, text)
    trees = list(to_trees(piece, ends, lambda form, *seen: words.get(form), count(5)))
    assert "".join(tree.to_conllu() for tree in trees) == (
        "# newpar\n# sent_id = 5\n# text = It's du café.\n"
        "1\tIt\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|SpacesBefore=\\s\\s|TokenRange=102:104\n"
        "2\t's\t_\t_\t_\t_\t_\t_\t_\tTokenRange=104:106\n"
        "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\tTokenRange=107:109\n"
        "3\tde\t_\t_\t_\t_\t_\t_\t_\t_\n4\tle\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "5\tcafé\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|TokenRange=110:114\n"
        "6\t.\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\r\\n\\r\\n\\s\\t|TokenRange=114:115\n\n"
        "# newpar\n# sent_id = 6\n# text = Oui !\n"
        "1\tOui\t_\t_\t_\t_\t_\t_\t_\tTokenRange=121:124\n"
        "2\t!\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|TokenRange=125:126\n\n"
    )
    assert trees[0].spans == (
        (102, 104),
        (104, 106),
        (107, 109),
        (107, 109),
        (110, 114),
        (114, 115),
    )
    assert DependencyTree(["a"]).with_misc("TokenRange", ["1-2"]).spans == (None,)


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("a", [(0, 1)]),
        ("\n a b\nc \n \n\t\nd\n\n", [(2, 7), (13, 14)]),
        ("a\r\n\r\nb", [(0, 1), (5, 6)]),
        (" \n\n a", [(4, 5)]),
        ("It snows\r\n" + 8 * "Abc de " + "\nAbc", [(0, 8), (10, 70)]),  # a title
        (8 * "abc de " + "\nIt is\n" + 7 * "Abc ", [(0, 62), (63, 90)]),
        (8 * "abc de " + "\nIt is\nso\nand,\nBut\n(Abc", [(0, 79)]),  # all of this goes on
        ("It snows\nDear John", [(0, 18)]),  # may be verse
        ("buy\n- milk\n10. eggs\nsoon\n-2", [(0, 3), (4, 10), (11, 27)]),  # a list
    ],
)
def test_blank_lines_titles_and_items_are_paragraphs(text, paragraphs):
    assert list_paragraphs(text) == paragraphs


def test_lines_end_tokens_and_paragraphs_sentences():
    trees = split_at("a b\nc\u2028d e\n\nf g", [])
    assert [tree.forms for tree in trees] == [("a b", "c", "d e"), ("f g",)]


# Official files


@given(TEXTS)
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore:In .* text is not split into tokens")
def test_what_is_parsed_is_valid(bundled, text):
    trees = bundled.parse_text(text)
    assert_keeps(trees, text)
    assert_valid(trees, 2, text)


def test_all_white_space_is_kept_in_ascii():
    spaces = [sign for sign in map(chr, range(sys.maxunicode + 1)) if sign.isspace()]
    text = "".join(["a", *spaces, "b", *(f"{sign}c" for sign in spaces)])
    (tree,) = split_at(text, [0, len(spaces) + 1])
    assert_keeps([tree], text)
    assert all(misc.isascii() and misc.isprintable() for misc in tree.misc)
    # As earlier versions wrote it.
    raw = DependencyTree(["a", "b"]).with_misc("SpacesAfter", ["\u00a0\\s\u2003", r"\n\u2028"])
    assert join_text([raw]) == "a\u00a0 \u2003b\n\u2028"


def split_at(text, places):
    """Trees of tokens that end at these places and where they must; each seems of two words."""
    ends = np.zeros(len(text), dtype=np.int8)
    ends[places] = ENDS.index("multiword")
    correct_ends(ends, text, list_paragraphs(text), keeps_space=lambda *around: True)
    piece = TextPiece("", 0, 0, text)
    return list(
        to_trees(piece, ends, lambda form, several, _: [form, "x"] if several else None, count(1))
    )


def test_forms_hold_single_spaces_and_are_then_one_word():
    (tree,) = split_at("a b\u00a0\u00a0c d\u00a0e f\u2003 g", [11])
    assert tree.forms == ("a b", "c d\xa0e f", "g")
    assert_valid([tree], 1)


def test_a_visit_to_an_editor_changes_nothing(bundled):
    document = pytest.importorskip("udapi.core.document").Document()
    trees = bundled.parse_text(" \u00a0I can't\tgo.\n\nOh\u2003no!", confidence=True)
    text = "".join(tree.to_conllu() for tree in trees)
    document.from_conllu_string(text)
    for root in document.trees:
        for node in [*root.descendants, *root.multiword_tokens]:
            node.misc["A"] = "1"  # what changes is written anew
            del node.misc["A"]
    assert document.to_conllu_string() == text
    assert trees[0].misc[0].split("|")[1:] == [r"SpacesBefore=\s\u00a0", "TokenRange=2:3"]


# The text of trees


def tree_of(forms, *, tokens=(), misc=None, comments=()):
    tree = DependencyTree(forms).with_multiword_tokens(tokens)
    if misc is not None:
        tree = tree.with_misc("SpaceAfter", misc)
    return tree.with_comments(comments)


def test_text_of_trees_is_what_their_comments_or_tokens_say():
    du = MultiwordToken(2, 3, "du", "SpaceAfter=No")
    trees = [
        tree_of(["Pas", "de", "le", "x"], tokens=[du], comments=["# newdoc", "# text = Pas  dux"]),
        tree_of(["a", "b", "."], misc=[None, "No", None]),
        tree_of(["a", "b"], misc=["No", None], comments=["#newpar id=2", "# text = a c"]),
        tree_of(["10 000"], comments=["# text = 10\u00a0000"]),
    ]
    text, ends = to_text(trees)
    assert text == "Pas dux a b.\n\nab 10 000"
    assert ends.tolist() == [0, 0, 2, 0, 0, 3, 4, 0, 2, 0, 2, 4, 0, 0, 2, 4, 0, 0, 0, 0, 0, 0, 4]


def test_text_of_trees_that_were_made_of_it(splitter):
    """Single spaces stay, and all that ends."""
    text = "The cat sat on my mat.\n\nIt slept, I think. I do not know."
    trees = splitter.split_text(text)
    assert to_text(trees)[0] == text
    text, ends = to_text(trees)
    again = to_trees(TextPiece("", 0, 0, text), ends, splitter._words_of, count(1))
    assert [tree.to_conllu() for tree in again] == [tree.to_conllu() for tree in trees]


# What is learned


def test_it_learns_where_tokens_and_sentences_end(splitter, english):
    text, _ = to_text(english[300:])
    scores = raw_text_scores(english[300:], splitter.split_text(text))
    of_tokens, of_sentences = scores["Tokens"].f1, scores["Sentences"].f1
    assert of_tokens > 0.99
    assert of_sentences > 0.9
    expected = (of_tokens + of_sentences) / 2
    assert splitter.score(english[300:]) == pytest.approx(expected, abs=1e-12)


def test_a_paragraph_is_split_as_if_it_were_alone(splitter):
    """Also one that is read in several pieces, with what is around them."""
    parts = ["The cat sat", "It slept, I think. " * 60, "A cat is not my mat!", "x"]
    together = splitter.split_text("\n\n".join(part.strip() for part in parts))
    alone = [tree for part in parts for tree in splitter.split_text(part.strip())]
    assert [tree.forms for tree in together] == [tree.forms for tree in alone]
    assert len(parts[1]) > 2 * _characters.PIECE


def test_pieces_cover_all_characters_once():
    text = "ab " * 500 + "c" * 1000 + "\n\nd"
    places, is_own, indptr = _characters.cut_into_pieces(text, list_paragraphs(text))
    assert places[is_own].tolist() == [*range(2500), 2502]
    sizes = np.diff(indptr)
    assert sizes.max() <= _characters.PIECE + 2 * _characters.MARGIN
    assert sizes[-1] == 1  # no margin is in another paragraph


def several(form, *words, times=1):
    """Trees of a token of several words."""
    token = MultiwordToken(1, len(words), form, "SpaceAfter=No")
    return [tree_of(words, tokens=[token])] * times


@over(
    ("trees", "cases"),
    [
        (  # known ones, such as are words too, in capitals, and such as end as known ones did
            [
                *several("du", "de", "le", times=2),
                *several("Du", "De", "le"),
                *several("des", "de", "les", times=3),
                tree_of(["des"]),
                *several("vase", "va", "tu", "se"),
                *several("pesase", "pesa", "tu", "se"),
                *several("it's", "it", "'s", times=3),
                *several("he's", "he", "'s"),
            ],
            [
                ("du", False, [], ["de", "le"]),
                ("Du", False, [], ["De", "le"]),
                ("DU", False, [], ["DE", "LE"]),
                ("des", True, [], ["de", "les"]),
                ("des", False, [1], ["de", "les"]),
                ("des", False, [], None),
                ("Cosase", True, [], ["Cosa", "tu", "se"]),
                ("cosase", False, [], None),
                ("se", True, [], None),
                ("IT'S", False, [], ["IT", "'S"]),
                ("she's", True, [], None),  # the network says where such words end
                ("xyz", True, [], None),
                ("xyz", False, [1, 2], ["x", "y", "z"]),
            ],
        ),
        (  # a typo seen once, or a form that is one word in these capitals
            [
                *several("Andrews", "Andrew", "s"),
                *several("iv", "i", "v", times=3),
                *2 * [tree_of(["IV"])],
            ],
            [
                ("Andrews", False, [], None),  # it is left to the network
                ("Andrews", True, [], ["Andrew", "s"]),
                ("iv", False, [], ["i", "v"]),
                ("Iv", False, [], ["I", "v"]),
                ("IV", False, [], None),
                ("IV", False, [1], ["I", "V"]),
            ],
        ),
    ],
)
def test_words_of_tokens(trees, cases):
    words_of = Splitter(hidden_layer_sizes=[2], max_iter=1).fit(trees)._words_of
    found = [words_of(*given) for *given, _ in cases]
    assert found == [words for *_, words in cases]


def test_long_sentences_are_cut(splitter):
    text = "cat, " * 100
    assert max(map(len, splitter.split_text(text))) <= 120
    assert len(copy(splitter).set_params(max_tokens=None).split_text(text)) == 1
    trees = copy(splitter).set_params(max_tokens=7).split_text(text)
    assert 2 <= max(map(len, trees)) <= 7
    assert_keeps(trees, text)


def test_long_sentences_are_cut_where_an_end_is_likeliest():
    ends = np.full(12, 2, dtype=np.int8)
    ends[[1, 11]] = 4
    cut_sentences(ends, np.array([9, 0, 0, 3, 1, 2, 0, 5, 4, 0, 8, 9.0]).__getitem__, 5)
    assert np.flatnonzero(ends == 4).tolist() == [1, 3, 7, 11]
    assert np.flatnonzero(ends == 2).tolist() == [0, 2, 4, 5, 6, 8, 9, 10]


# Text as it is


def joined(splitter, text):
    """The tokens of a text, with "+" between their words, and "|" between sentences."""
    return " | ".join(
        " ".join("+".join(token.words) for token in list_tokens(tree))
        for tree in splitter.split_text(text)
    )


def sentence_of(text):
    """A tree of tokens with spaces between them, of which a final full stop has none before it."""
    tree = DependencyTree(text.split())
    return tree.with_comments([f"# text = {text.replace(' .', '.')}"])


OWN = """The girl saw a red bird .
My uncle reads old maps .
We walked home early .
The cook sells fresh soup .
Her cat sleeps at night .
They live by the sea .
An old man shut the gate .
The bus was late again .
I like milk with honey .
The boys play in the yard .
He wrote a short letter .
Rain fell on the roofs .
The judge asked a question .
Our dog barks all day .
You can leave it there ."""


def test_few_sentences_suffice():
    """Nothing in them has a space in a token, so nothing else has."""
    splitter = Splitter(random_state=0).fit([sentence_of(line) for line in OWN.splitlines()])
    assert splitter.spaces_ == []
    text = "The farmer keeps brown cows. Some people never travel. 2 moo\u00a03 Green teas are bad."
    *others, last = (tree.forms for tree in splitter.split_text(text))
    assert "".join(form for forms in others for form in forms[:-1]).isalnum()
    assert " " not in "".join(form for forms in [*others, last] for form in forms)
    assert [forms[-1] for forms in [*others, last]] == ["."] * 3


def test_white_space_is_in_tokens_as_in_training():
    trees = [tree_of([f"{k}0 000", "and", "more"]) for k in range(1, 9)]
    trees = [tree.with_comments([f"# text = {tree.forms[0]} and more"]) for tree in trees]
    splitter = Splitter(hidden_layer_sizes=[16], random_state=0).fit(trees)
    assert splitter.spaces_ == ["99"]
    assert joined(splitter, "20 000 and more") == "20 000 and more"
    assert not splitter._keeps_space("a", "0")


def test_prefixes_of_unknown_nouns_are_words():
    """In a made-up language; which tokens have two words, only their beginnings tell."""
    rng = np.random.RandomState(0)
    prefixes = ["ha", "ba", "we", "le"]

    def draw_noun():
        return "".join("dgkmnprstvz"[rng.randint(11)] + "aeiou"[rng.randint(5)] for _ in "abc")

    def draw_sentence(nouns):
        forms, tokens = [], []
        for noun in rng.choice(nouns, rng.randint(3, 8)):
            words, place = [*rng.choice(prefixes, rng.randint(2)), noun], len(forms) + 1
            tokens += [MultiwordToken(place, place + 1, "".join(words))] * (len(words) - 1)
            forms += words
        tree = DependencyTree([*forms, "."]).with_multiword_tokens(tokens)
        text = " ".join(token.form for token in list_tokens(tree))
        return tree.with_comments([f"# text = {text.replace(' .', '.')}"])

    nouns = [draw_noun() for _ in range(400)]
    train, test = ([draw_sentence(part) for _ in range(100)] for part in (nouns[:200], nouns[200:]))
    splitter = Splitter(hidden_layer_sizes=[32], random_state=0).fit(train)
    found = splitter.split_text(to_text(test)[0])
    true, split = (
        [t.words for tree in trees for t in list_tokens(tree)] for trees in (test, found)
    )
    assert np.mean([a == b for a, b in zip(true, split, strict=True)]) >= 0.95


def test_decomposed_text_is_parsed_as_composed(bundled):
    text = "The caf\u00e9s weren\u2019t op\u00e9n to Mr. Dvo\u0159\u00e1k, no\u00ebl or \u1e69ouls."
    found = bundled.parse_text(normalize("NFD", text))
    assert join_text(found) == normalize("NFD", text)
    for one, two in zip(bundled.parse_text(text), found, strict=True):
        assert guesses_of(one) == guesses_of(two)
        assert one.forms == tuple(map(compose, two.forms))


def guesses_of(tree):
    """What a parser says of words."""
    return tree.heads.tolist(), tree.deprels, tree.upos, tree.feats, tree.lemmas


GRAPHEMES = st.text(
    st.sampled_from(
        " \n\t\u00a0\u2028ab\u00e9.1\u0301\u0308\u20e3\ufe0f\u200d\u200c\U0001f469\U0001f3fd"
        "\U0001f1e9"
        "\u0915\u094d\u0937\u0e33\u1100\u1161\u11a8\uac00\u0600\u0903\U000e0067\uff9e\U0001f1ea"
    )
)


@given(GRAPHEMES)
@example("\U0001f469\u094d\u200d\U0001f469")
@settings(max_examples=500)
def test_graphemes_are_those_of_the_standard(text):
    """Only a boundary beside white space may be inside one."""
    clusters = pytest.importorskip("regex").compile(r"\X").finditer(text)
    inside = {k for found in clusters for k in range(found.start(), found.end() - 1)}
    stays = {k for k in inside if not (text[k].isspace() or text[k + 1].isspace())}
    found = find_joined(text)
    assert stays <= set(np.flatnonzero(found).tolist())
    assert not any(found[k] and (text[k] + text[k + 1]).isspace() for k in range(len(text) - 1))


# Characters without width


def scatter(text, seed, share=0.1):
    """Put runs of invisible characters before some characters of a text, and behind it."""
    rng = np.random.default_rng(seed)
    runs = ("".join(rng.choice(list(INVISIBLE), rng.integers(1, 4))) for _ in count())
    parts = [next(runs) + sign if rng.random() < share else sign for sign in text]
    return "".join([*parts, next(runs), "\n", next(runs)])


def without_invisible(text):
    return text.translate(dict.fromkeys(map(ord, INVISIBLE)))


def tree_without_invisible(tree):
    """All of a tree but MISC, in which the places and spaces of tokens are."""
    rows = without_invisible(tree.to_conllu()).split("\n")
    return [row.rpartition("\t")[0] or row for row in rows]


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40)
def test_invisible_characters_change_no_tree(bundled, english, seed, lines):
    rng = np.random.default_rng(seed)
    drawn = [english[s].text for s in rng.integers(len(english), size=6)]
    gaps = rng.choice([" ", "  ", "\n", "\n\n", "\n \n", "\u00a0"], size=6)
    text = "".join(chain.from_iterable(zip(drawn, gaps, strict=True)))
    scattered = scatter(text, seed)
    plain, found = (bundled.parse_text(each, lines=lines) for each in (text, scattered))
    assert [*map(tree_without_invisible, found)] == [*map(tree_without_invisible, plain)]
    for tree in found:
        assert not set(INVISIBLE) & set("".join(tree.lemmas))
        assert not any(set(INVISIBLE) & {form[0], form[-1]} for form in tree.forms)
    assert_keeps(found, scattered)
    assert_valid(found, 2)


def test_invisible_characters_are_space_or_inside_forms(bundled):
    text = "\ufeff\u200bThe c\xada\u2060t\u200b.\u200e It sleeps\u202c\n\u200b\n\u200fdon\u200b't"
    text += "\u2060\u200b"
    splitter = bundled[0]
    trees = splitter.split_text(text)
    assert "".join(tree.to_conllu() for tree in trees) == (
        "# newpar\n# sent_id = 1\n# text = The c\xada\u2060t.\n# space_after_document = No\n"
        "1\tThe\t_\t_\t_\t_\t_\t_\t_\tSpacesBefore=\\ufeff\\u200b|TokenRange=2:5\n"
        "2\tc\xada\u2060t\t_\t_\t_\t_\t_\t_\t_\t"
        "SpaceAfter=No|SpacesAfter=\\u200b|TokenRange=6:11\n"
        "3\t.\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\u200e\\s|TokenRange=12:13\n\n"
        "# sent_id = 2\n# text = It sleeps\n"
        "1\tIt\t_\t_\t_\t_\t_\t_\t_\tTokenRange=15:17\n"
        "2\tsleeps\t_\t_\t_\t_\t_\t_\t_\t"
        "SpacesAfter=\\u202c\\n\\u200b\\n\\u200f|TokenRange=18:24\n\n"
        "# newpar\n# sent_id = 3\n# text = don\u200b't\n"
        "1-2\tdon\u200b't\t_\t_\t_\t_\t_\t_\t_\t"
        "SpacesAfter=\\u2060\\u200b|TokenRange=29:35\n"
        "1\tdo\t_\t_\t_\t_\t_\t_\t_\t_\n2\tn't\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    assert join_text(trees) == text
    assert splitter.split_text(INVISIBLE) == splitter.split_text(f" \n{INVISIBLE}\n") == []
    joiners = "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 a\u200db"
    assert splitter.split_text(joiners)[0].text == joiners


def test_sentences_that_are_split_are_read_without_invisible_characters(bundled):
    tree = DependencyTree(["The", "ca\u200bts", "\xadsleep", "."])
    found, plain = bundled.parse([tree, ["The", "cats", "sleep", "."]])
    assert found.forms == tree.forms
    assert guesses_of(found) == guesses_of(plain)
    assert found.lemmas[1:3] == ("cat", "sleep")


def test_invisible_characters_teach_nothing(english):
    """Neither inside words nor at their ends."""
    text = "".join(tree.to_conllu() for tree in english[:60])
    parts = re.split(r"(^# text = .*|^[0-9-]+\t[^\t]+)", text, flags=re.MULTILINE)
    parts[1::2] = (re.sub("(?<!# t)e", "e\u200b", part) for part in parts[1::2])
    scattered = read_conllu(io.StringIO("".join(parts)))
    assert any(token.words[0].endswith("e\u200b") for token in list_tokens(scattered[0]))
    one, two = (
        Splitter(hidden_layer_sizes=[4], max_iter=1, random_state=0).fit(trees)
        for trees in (english[:60], scattered)
    )
    assert_same_model(one, two)
    assert one.score(scattered) == one.score(english[:60])


# Scripts

FOREIGN = {
    "Arabic": "مرحبا",
    "Arabic with marks": "مُرَحَّبًا",
    "Persian with a non-joiner": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hebrew": "שָׁלוֹם",
    "Cyrillic": "Здравствуйте",
    "Greek": "Καλημέρα",
    "Devanagari": "अन्तर्राष्ट्रीय",
    "Tamil": "அனைத்துத்",
    "Georgian": "გამარჯობა",
    "Armenian": "բարեւ",
    "Ethiopic": "ሰላም",
    "Hangul": "안녕하세요",
    "Hangul in parts": normalize("NFD", "안녕하세요"),
    "Chinese": "我喜欢猫",
    "Japanese": "メロンを食べるサーバー",
    "Thai": "สวัสดีน้ำ",
    "Gothic": "\U00010332\U0001033f\U00010344\U00010330",
}


@pytest.mark.parametrize("word", FOREIGN.values(), ids=FOREIGN)
def test_runs_of_an_unknown_script_are_one_token(bundled, word):
    for text in (
        "{}",
        "I like {} as a word.",
        "({}), {}!",
        "{} {}\n{}",
        "{}1",
        "x.{}@a.org",
        "#{}",
    ):
        text = text.replace("{}", word)
        trees = bundled.parse_text(text)
        assert_keeps(trees, text)
        ends = {end for tree in trees for span in tree.spans for end in span}
        runs = [match.span() for match in re.finditer(word, text)]
        assert not any(begin < end < stop for begin, stop in runs for end in ends)
    (tree,) = bundled.parse_text(f"I like {word} as a word.")
    assert tree.forms == ("I", "like", word, "as", "a", "word", ".")


def test_scripts_are_known_by_their_letters(bundled):
    known = bundled[0].vocabulary_["character"]
    assert {"\u0627", "\u03b9"} <= set(known)  # a few Arabic and Greek letters are no script
    for letters, scripts in {
        tuple(known): ["LATIN"],
        "ab1.βγδεζηθκλμ": ["GREEK"],
        "ab1.βγ\u0301": ["LATIN", "GREEK"],
        "1.": [],
    }.items():
        assert _characters.list_scripts(letters) == scripts
    runs = _characters.list_runs("abβδεжшщ\u0301ю1漢かナー ab\u02bcж", ["LATIN"])
    assert sorted(runs) == [(2, 5), (5, 10), (11, 15), (19, 20)]


def test_patterns_are_one_token(english, tmp_path):
    params = {"hidden_layer_sizes": [8], "max_iter": 1, "random_state": 0}
    splitter = Splitter(patterns=[r"[A-Z]+-\d+", r"New York"], **params).fit(english[:20])
    text = "(see ABC-12, http://a.b/c?d=e#f.) New York a.b@c-d.org AT&amp;T #tag @me"
    forms = [form for tree in splitter.split_text(text) for form in tree.forms]
    wanted = {"ABC-12", "http://a.b/c?d=e#f", "New York", "a.b@c-d.org", "AT&amp;T", "#tag", "@me"}
    assert wanted <= set(forms)
    save_model(splitter, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    assert_same_model(loaded, splitter)
    loaded.patterns_ = ["", " ?cat ", "sat\\s+on"]
    text = "The cat sat\n on it. A cat sat on it."
    assert_keeps(loaded.split_text(text), text)
    assert [tree.forms.count("sat on") for tree in loaded.split_text(text, lines=True)] == [0, 1]
    loaded.patterns_ = ["\u20e3b"]  # begins inside a grapheme
    assert loaded.split_text("1\u20e3b")[0].forms[-1][0] != "\u20e3"


def test_treebanks_decide_about_hashtags():
    apart, whole = (
        [sentence_of(tokens).with_comments([f"# text = {text}"])] * 4
        for tokens, text in (
            ("I like # tags .", "I like #tags."),
            ("I like ( #tags ) .", "I like (#tags)."),
        )
    )
    few, more = (
        Splitter(hidden_layer_sizes=[2], max_iter=1).fit(X).patterns_ for X in (apart, whole)
    )
    assert len(more) == 1 + len(few)
    assert not any("#" in p for p in few if "@" in p and "w." not in p)


# Files


PARAGRAPHS = "The cat sat. It slept.\n\n\nI do not think so.\nIs it a cat?\n \nNo!\n\n"


LINES = "The cat sat. It slept\nMinister denies report\n \t\n\nlol ok\u2028see\x0cu\rNo. Yes.\n"


@over(("text", "lines"), [(40 * PARAGRAPHS, False), (30 * LINES, True)])
def test_files_are_split_in_pieces(splitter, model, tmp_path, monkeypatch, text, lines):
    """As their text is together, wherever pieces end that end with a paragraph or a line."""
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8", newline="\r\n")
    expected = splitter.split_text(text, lines=lines)
    read_at_once(monkeypatch, 100)
    trees = list(splitter.iter_split_text(path, lines=lines))
    assert [tree.to_conllu() for tree in trees] == [tree.to_conllu() for tree in expected]
    assert join_text(trees) == text
    assert list(model.iter_parse_text(path, lines=lines)) == model.parse(expected)
    twice = list(splitter.iter_split_text([path, str(path)], lines=lines))
    spans = [tree.spans for tree in trees]
    numbered = zip(map(str, range(1, 2 * len(trees) + 1)), 2 * spans, strict=True)
    assert [(tree.sent_id, tree.spans) for tree in twice] == list(numbered)


def test_invisible_characters_change_no_tree_of_files(model, tmp_path, monkeypatch):
    """In pieces and in documents, where places are those of the file."""
    text = 20 * PARAGRAPHS
    scattered = re.sub("\n", "\u200b\n\u200e", scatter(text, 0, 0.03))
    (tmp_path / "a.txt").write_text(scattered, newline="")
    read_at_once(monkeypatch, 100)
    trees = list(model.iter_parse_text(tmp_path / "a.txt"))
    assert_keeps(trees, scattered)
    plain = [tree_without_invisible(tree) for tree in model.parse_text(text)]
    assert [tree_without_invisible(tree) for tree in trees] == plain
    documents = model.parse_texts([text, scattered, "\u200b"])
    for one, other in zip(*documents[:2], strict=True):
        assert tree_without_invisible(one)[3:] == tree_without_invisible(other)[3:]
    assert documents[2] == []


def test_only_long_paragraphs_are_cut(monkeypatch):
    read_at_once(monkeypatch, 25)
    line, lines = 8 * "ab " + "\n", 3 * (8 * "ab " + "\n")
    found = [piece.text for piece in iter_text(io.StringIO(f"{lines}\n{lines}\n{lines}{lines}"))]
    assert found == [f"{lines}\n", f"{lines}\n", 4 * line, 2 * line]


def test_blank_lines_between_pieces_begin_paragraphs(monkeypatch):
    read_at_once(monkeypatch, 25)
    for space, begins in [("\n \n", True), ("\n ", False)]:
        pieces = list(iter_text(io.StringIO("ab " * 33 + space + "c")))
        assert [piece.begins_paragraph for piece in pieces] == [True, begins]
        assert pieces[1].text == space[1:] + "c"


@pytest.mark.parametrize("separator", ["\n", " "])
def test_endless_paragraphs_are_split_too(splitter, monkeypatch, separator):
    text = separator.join(["The cat sat. It slept."] * 40)
    read_at_once(monkeypatch, 100)
    trees = list(splitter.iter_split_text(io.StringIO(text)))
    assert join_text(trees) == text
    assert len(trees) == 80 or separator == " "
    assert ["# newpar" in tree.comments for tree in trees] == [True] + [False] * (len(trees) - 1)


# Line by line


@given(TEXTS)
def test_sentences_are_the_lines_that_are_not_blank(splitter, text):
    trees = splitter.split_text(text, lines=True)
    edges = rf"^[\s{INVISIBLE}]+|[\s{INVISIBLE}]+\Z"
    lines = [bare for line in re.split("[\r\n]", text) if (bare := re.sub(edges, "", line))]
    assert [text[tree.spans[0][0] : tree.spans[-1][1]] for tree in trees] == lines
    assert_keeps(trees, text)


def test_lines_begin_paragraphs_behind_blank_ones(splitter):
    trees = splitter.split_text("The cat sat. It slept\r\nMinister\n \t\n\nlol\nNo.", lines=True)
    assert ["# newpar" in tree.comments for tree in trees] == [True, False, True, False]


def test_only_the_limit_cuts_lines():
    text, ends = "a. b c d\ne f g", np.zeros(14, dtype=np.int8)
    ends[[0, 1, 3, 5, 7, 9, 11]] = 2, 4, 3, 4, 2, 4, 2
    for limit, expected in [(None, [7, 13]), (2, [1, 5, 7, 11, 13])]:
        corrected = ends.copy()
        correct_ends(corrected, text, list_paragraphs(text, lines=True), lines=True)
        if limit is not None:
            cut_sentences(corrected, np.arange(14.0).__getitem__, limit)
        assert np.flatnonzero(corrected == 4).tolist() == expected
        assert corrected[3] == 3


# Pipelines and model files


def test_pipelines_parse_text(model, english):
    text = "  " + to_text(english[:3])[0] + "\n\n" + to_text(english[3:5])[0]
    expected = model.parse(model[0].split_text(text))
    assert model.parse_text(text) == expected
    assert [tree.sent_id for tree in expected] == [str(k + 1) for k in range(len(expected))]
    assert join_text(expected) == text
    assert list(model.iter_parse_text(io.StringIO(text), chunk_size=1)) == expected
    for method in (model.predict, model.parse, model.predict_marginals, model.score, model.fit):
        assert not not_refused([(text, "parse_text"), ([text], "parse_text")], method, TypeError)


# The bundled parser


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Julie Andrews sang a song.", "Julie Andrews sang a song ."),
        ("She needs an IV drip.", "She needs an IV drip ."),
        ("I can't, I'm ill; it's his.", "I ca+n't , I+'m ill ; it+'s his ."),
        ("He wouldn\u2019t go.", "He would+n\u2019t go ."),
        ("It's here.Where are you?", "It+'s here . | Where are you ?"),
        ("A <p>Hello there", "A < p > Hello there"),
        ("He left\u2026 and went.", "He left \u2026 and went ."),
        ("She said \u2018no\u2019 to him.", "She said \u2018 no \u2019 to him ."),
        ("He said 'don't' to me.", "He said ' do+n't ' to me ."),
        ("AT&amp;T is big.", "AT&amp;T is big ."),
        ("See http://a.com/b?c=d&e=f#g, please.", "See http://a.com/b?c=d&e=f#g , please ."),
        ("Ask john.doe@example.co.uk.", "Ask john.doe@example.co.uk ."),
        # What a reader sees as one letter stays together, whatever the network thinks.
        ("The cafe\u0301 was", "The cafe\u0301 was"),
        ("Great\u2764\ufe0f", "Great \u2764\ufe0f"),
        (
            "so \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7, yes",
            "so \U0001f1e9\U0001f1ea \U0001f1eb\U0001f1f7 , yes",
        ),
        ("\U0001f469\u200d\U0001f4bb nice", "\U0001f469\u200d\U0001f4bb nice"),
        ("\U0001f44d\U0001f3fd!!!", "\U0001f44d\U0001f3fd !!!"),
    ],
)
def test_bundled_parser_splits_text_as_it_is(bundled, text, expected):
    assert joined(bundled[0], text) == expected


def test_bundled_parser_reads_text_as_it_is(bundled):
    (tree,) = bundled.parse_text("This is an unfinished sentence")
    assert (tree.upos[-1], tree.lemmas[-1]) == ("NOUN", "sentence")
    straight, curly = (bundled.parse_text(f"He wouldn{sign}t go.")[0] for sign in "'\u2019")
    assert guesses_of(curly) == guesses_of(straight)
    assert max(map(len, bundled.parse_text("we went home and then it rained " * 60))) <= 120


def test_bundled_parser_cuts_run_on_sentences(bundled, english):
    """Of pairs without capitals and full stops that are too long, the more the better: 30 %."""
    words = [[form.lower() for form in tree.forms] for tree in remove_punctuation(english)]
    words = [each for each in words if 3 <= len(each) <= 9 and "".join(each).isalpha()]
    n_right, pairs = 0, list(zip(words[::2], words[1::2], strict=False))
    for pair in pairs:
        splitter = copy(bundled[0]).set_params(max_tokens=max(map(len, pair)))
        found = splitter.split_text(" ".join(chain(*pair)))
        n_right += [list(tree.forms) for tree in found] == list(pair)
    assert len(pairs) > 60
    assert n_right >= 0.25 * len(pairs)
