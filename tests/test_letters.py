"""Letters: n-grams of forms, how they are hashed, and that they stay with their sentences."""

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_shag import BiaffineParser, Tagger
from sklearn_shag.encoding import (
    FIRST_CODE,
    LETTERS,
    N_LETTER_ROWS,
    Batch,
    encode_columns,
    forget_rare,
    list_values,
    make_columns,
)
from sklearn_shag.encoding._letters import spell_words
from sklearn_shag.treebank import DependencyTree

FORMS = ["a", "tide", "Ünïcode", "emoji\N{GRINNING FACE}", "x" * 3000]


def hash_of(ngram):
    """SplitMix64 over the code points, with whole numbers of any size."""
    key = 0
    for sign in ngram:
        key = (key + ord(sign) * 0x9E3779B97F4A7C15) % 2**64
        key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        key = (key ^ (key >> 27)) * 0x94D049BB133111EB % 2**64
        key ^= key >> 31
    return (key >> 32) % N_LETTER_ROWS


def ngrams_of(word):
    word = f"<{word}>"
    starts = range(len(word))
    return [word[k : k + n] for k in starts for n in range(2, 6) if k + n <= len(word)]


def test_ngrams_by_hand():
    assert ngrams_of("a") == ["<a", "<a>", "a>"]
    spellings = spell_words(FORMS, 2)
    assert spellings.begins[:4].tolist() == [0, 0, 0, 3]
    for k, form in enumerate(FORMS, start=2):
        rows = spellings.rows[spellings.begins[k] : spellings.begins[k + 1]]
        assert rows.tolist() == [hash_of(ngram) for ngram in ngrams_of(form)]


def test_hashes_use_all_rows():
    words = [f"{k}" for k in range(20_000)]
    counts = np.bincount(spell_words(words).rows, minlength=N_LETTER_ROWS)
    assert (counts > 0).mean() > 0.6
    n_distinct = len({ngram for word in words for ngram in ngrams_of(word)})
    assert (counts > 0).sum() > 0.85 * N_LETTER_ROWS * (1 - np.exp(-n_distinct / N_LETTER_ROWS))


def test_codes_are_places_among_spellings():
    trees = [DependencyTree(["The", "tide"]), DependencyTree(["the"]), DependencyTree(["Tides"])]
    columns = make_columns(list_values(("form", LETTERS), trees, 1))
    indptr = np.array([0, 2, 3, 4])
    codes = encode_columns(columns, trees, indptr)
    spellings = codes.spellings
    for row, form in zip(codes.columns, ["the", "tide", "the", "tides"], strict=True):
        begin, end = spellings.begins[row[1]], spellings.begins[row[1] + 1]
        assert spellings.rows[begin:end].tolist() == [hash_of(each) for each in ngrams_of(form)]
    assert not spellings.begins[: FIRST_CODE + 1].any()
    part = Batch(codes, indptr).take([2, 0])
    assert part.codes.spellings is spellings
    assert_array_equal(part.codes.columns, codes.columns[[3, 0, 1]])
    rare = forget_rare(("form", LETTERS), codes, Batch(codes, indptr).take([1]).codes, 1)
    assert_array_equal(rare.columns[:, 1], codes.columns[:, 1])  # letters are never forgotten
    assert (rare.columns[:, 0] == codes.columns[:, 0]).tolist() == [True, False, True, False]


def test_words_that_nobody_has_seen(english):
    """Letters alone tell them apart; what has been seen beside them makes no difference."""
    settings = {"batch_size": 100, "max_iter": 4, "learning_rate_init": 0.02, "random_state": 0}
    tagger = Tagger("upos", ["letters"], hidden_layer_sizes=[16], **settings).fit(english[:200])
    odd = [["Grumbling", "zzyzxes"], ["жщю", "\N{GRINNING FACE}" * 3], ["y" * 10_000]]
    together = tagger.predict_tags([*odd, *english[200:230]])
    for k, sentence in enumerate(odd):
        assert_array_equal(together[k], tagger.predict_tags([sentence])[0])
    right = [np.array(t.upos) == s for t, s in zip(english[200:230], together[3:], strict=True)]
    assert np.concatenate(right).mean() > 0.7
    lower, upper = tagger.predict_tags([["The", "cat"], ["the", "CAT"]])
    assert_array_equal(lower, upper)


def test_networks_alone_read_letters(english):
    parser = BiaffineParser(["upos", "letters"], hidden_layer_sizes=[4], max_iter=1, random_state=0)
    assert parser.fit(english[:30]).columns_ == ("upos", "letters")
    assert parser.vocabulary_["letters"] == []
