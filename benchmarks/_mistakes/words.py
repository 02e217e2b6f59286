"""Grammars of words: no words, other words than meant, parameters that others have."""

from _mistakes._replay import Mistake, raises, stops, usage, warns, works

NO_WORDS = (r"X\[0\]", r"needs words", r"DependencyTrees", r"read_conllu")
TRAIN = "train train.conllu -o new.npz --model words"

MISTAKES = [
    Mistake(
        "BiaffineParser(hidden_layer_sizes=[8], max_iter=1, tags='upos').fit(trees)"
        ".parse([['The cat sat.']] * 5)",
        warns(r"token", r"split", warning="UserWarning"),
    ),
    Mistake("model.parse([])", works("result == []")),
    Mistake("LexicalizedSHAG().fit(tags, y)", raises(TypeError, *NO_WORDS)),
    Mistake("LexicalizedSHAG().fit(words, y)", raises(TypeError, *NO_WORDS)),
    Mistake("LexicalizedSHAG().fit(trees).predict(tags)", raises(TypeError, *NO_WORDS)),
    Mistake("LexicalizedSHAG().fit(trees).score(tags, y)", raises(TypeError, *NO_WORDS)),
    Mistake(
        "LexicalizedSHAG(word='word').fit(trees)",
        raises(ValueError, r"word='word'", r"unknown column", r"form, lemma"),
    ),
    Mistake(
        "LexicalizedSHAG(word='upos').fit(trees)",
        raises(ValueError, r"symbols of X are its words", r"another column than 'upos'"),
    ),
    Mistake(
        "LexicalizedSHAG().fit(read_conllu('train.conllu', symbols='form'))",
        raises(ValueError, r"symbols of X are its words", r"give the trees tags"),
    ),
    Mistake(
        "LexicalizedSHAG(word='lemma').fit([DependencyTree(['dogs'], [0], upos=['NOUN'])])",
        raises(ValueError, r"X\[0\]", r"no column 'lemma'", r"only form"),
    ),
    Mistake(
        "LexicalizedSHAG(word='xpos').fit(read_conllu('no_xpos.conllu'))",
        raises(ValueError, r"all words.*'_'", r"column 'xpos'", r"parameter word"),
    ),
    Mistake(
        "LexicalizedSHAG().fit(read_conllu('untagged.conllu'))",
        raises(ValueError, r"'_'", r"tag the text first"),
    ),
    Mistake("LexicalizedSHAG('FCP').fit(trees)", raises(ValueError, r"'automaton'", r"'fcp'")),
    Mistake("LexicalizedSHAG('sibling').fit(trees)", raises(ValueError, r"'automaton'", r"'fcp'")),
    Mistake("LexicalizedSHAG(backoff=0).fit(trees)", raises(ValueError, r"'backoff'", r"\(0")),
    Mistake(
        "LexicalizedSHAG().fit(trees).set_params(backoff=-1).predict(test)",
        raises(ValueError, r"'backoff'", r"-1"),
    ),
    Mistake(
        "LexicalizedSHAG(coordination='CCONJ').fit(trees)",
        raises(ValueError, r"'coordination'", r"list"),
    ),
    Mistake("LexicalizedSHAG(n_states=4)", raises(TypeError, r"'n_states'", by="line")),
    Mistake(
        "LexicalizedSHAG(decoder='viterbi').fit(trees).predict(test)", works("len(result) == 10")
    ),
    Mistake(
        "make_pipeline(TokenFeature('upos', 'xpos'), LexicalizedSHAG()).fit(trees).score(test)",
        works("result > 0.6"),
    ),
    Mistake(f"{TRAIN} --set smoothing=5", stops(r"'smoothing'", r"LexicalizedSHAG", r"'decoder'")),
    Mistake(f"{TRAIN} --set n_states=4", stops(r"'n_states'", r"LexicalizedSHAG", r"'decoder'")),
    Mistake(f"{TRAIN} --symbols form", stops(r"symbols of X are its words")),
    Mistake("train train.conllu -o new.npz --model lex", usage(r"'lex'", r"words")),
]
