"""Scores of parsing from raw text, against the official evaluation."""

import json
import random
from itertools import pairwise

import numpy as np

from sklearn_shag.cli._main import main
from sklearn_shag.metrics import raw_text_scores
from sklearn_shag.treebank import DependencyTree, MultiwordToken, list_tokens, write_conllu


def split_again(trees, rng):
    """The same characters, split in another way, with columns drawn at random."""
    tokens, changed = [], []
    for tree in trees:
        tokens += [[token.form, list(token.words), False] for token in list_tokens(tree)]
        tokens[-1][2] = True
    for form, words, ends in tokens:
        chance, cut = rng.random(), rng.randrange(1, max(len(form), 2))
        if chance < 0.1 and len(form) > 1:
            changed += [[form[:cut], [form[:cut]], False], [form[cut:], [form[cut:]], ends]]
        elif chance < 0.2 and changed and not changed[-1][2]:
            changed[-1] = [changed[-1][0] + form, [changed[-1][0] + form], ends]
        elif chance < 0.3:
            changed.append([form, [form[:1], form.upper(), "x"][: rng.randrange(2, 4)], ends])
        else:
            kept = [form] if chance < 0.4 else words
            changed.append([form, kept, ends ^ (rng.random() < 0.03)])
    changed[-1][2] = True
    ends = [0, *(k for k, (*_, is_end) in enumerate(changed, start=1) if is_end)]
    return [draw_tree(changed[begin:end], rng) for begin, end in pairwise(ends)]


def draw_tree(tokens, rng):
    forms, multiword = [], []
    for form, words, _ in tokens:
        if len(words) > 1:
            multiword.append(MultiwordToken(len(forms) + 1, len(forms) + len(words), form))
        forms += words

    def draw(*values):
        return [rng.choice(values) for _ in forms]

    return DependencyTree(
        forms,
        [0, *(rng.randrange(1, k + 1) for k in range(1, len(forms)))],
        lemmas=draw("a", "b", "_"),
        upos=draw("X", "Y"),
        xpos=draw("x", "_"),
        feats=draw("_", "Case=Nom", "Case=Nom|Mine=1", "Mine=1|Number=Sing"),
        deprels=draw("nsubj", "obj:x", "punct", "case", "det", "aux:pass", "mine"),
    ).with_multiword_tokens(multiword)


def test_the_official_evaluation(official, english):
    rng, right = random.Random(0), []
    for k in range(100):
        true = split_again(english[k : k + rng.randrange(1, 12)], rng)
        parsed = split_again(true, rng)
        expected_scores = official(true, parsed)
        for name, score in raw_text_scores(true, parsed).items():
            expected = expected_scores[name]
            assert score == (expected.precision, expected.recall, expected.f1), name
            right.append(score.f1)
    assert 0.2 < np.mean(right) < 0.8


def test_spaces_do_not_count():
    one = DependencyTree(["ice cream", "!"], [0, 1])
    other = DependencyTree(["ice", "cream!"], [0, 1])
    scores = raw_text_scores([one], [other])
    assert scores["Sentences"].f1 == 1
    assert scores["Tokens"].f1 == 0
    # Nor do characters without width; a token of nothing else is a wrong one.
    one = DependencyTree(["ice\u200b", "\u200e", "\xad", "cr\xadeam", "!"], [0, 1, 1, 1, 1])
    one = one.with_multiword_tokens([MultiwordToken(2, 3, "\u200e")])
    other = DependencyTree(["\ufeffice", "cream", "!"], [0, 1, 1])
    scores = raw_text_scores([one], [other])
    assert scores["Tokens"].recall == 3 / 4
    assert scores["UAS"] == (1, 3 / 5, 3 / 4)
    assert raw_text_scores([other], [one])["UAS"] == (3 / 5, 1, 3 / 4)


def test_trees_without_heads(english):
    """What does not need heads, of columns that both sides have; the numbers are the same."""
    true = english[:30]
    parsed = split_again(true, random.Random(2))
    scores = raw_text_scores(true, parsed)
    tagged = [tree.with_heads(None) for tree in parsed]
    plain = [DependencyTree(t.forms).with_multiword_tokens(t.multiword_tokens) for t in parsed]
    of_tags = ["UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"]
    for one, other, names in [
        (true, tagged, of_tags),
        ([tree.with_heads(None) for tree in true], parsed, of_tags),
        (true, plain, []),
        ([DependencyTree(tree.forms, upos=tree.upos) for tree in true], tagged, ["UPOS"]),
    ]:
        expected = {name: scores[name] for name in ["Tokens", "Sentences", "Words", *names]}
        assert raw_text_scores(one, other) == expected
    # Columns without values count if there are heads, as in the official evaluation.
    assert len(raw_text_scores(true, [tree.with_heads([0] * len(tree)) for tree in plain])) == 13


def test_the_command(english, tmp_path, capsys):
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu"
    parsed = split_again(english[:30], random.Random(1))
    write_conllu(english[:30], gold)
    write_conllu(parsed, system)
    command = ["evaluate", str(gold), str(system), "--raw"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scores = raw_text_scores(english[:30], parsed)
    assert found["MLAS"] == scores["MLAS"]._asdict()
    assert main(command) == 0
    table = capsys.readouterr().out
    assert f"Tokens{100 * scores['Tokens'].precision:>15.2f}" in table
    write_conllu([tree.with_heads(None) for tree in parsed], system)
    assert main(command) == 0
    assert capsys.readouterr().out == "".join(table.splitlines(keepends=True)[:9])
