"""What to annotate next, and whether probabilities mean what they say."""

from _mistakes._replay import Mistake, prints, raises, stops, usage, works

ECE = "expected_calibration_error"
RAW = "raw = [tree.with_heads(None) for tree in trees]"
ANNOTATE = "annotate ensemble.npz no_heads.conllu"
# A run of annotate; one that ended before it had written its answer, and a file edited since.
OPENED = "from sklearn_shag.annotation import Store; " + (
    "store = Store('out.conllu', ['no_heads.conllu'], lambda: read_conllu('no_heads.conllu'))"
)
ANSWERED = f"{OPENED}; store.save(); store.replace(0, 1, [store.sentences[1].tree])"
EDITED = f"{ANSWERED}; store._db.close(); write_conllu(trees, 'out.conllu')"
NO_WAITRESS = "import sys, unittest.mock as m; m.patch.dict(sys.modules, waitress=None).start()"

MISTAKES = [
    Mistake("least_certain_arcs(model, raw, n=5)", works("len(result.tokens) == 5"), before=RAW),
    Mistake("least_certain_arcs(model, tags)", works("len(result.tokens) > 60")),
    Mistake("least_certain_arcs(model, trees)", raises(ValueError, r"all heads", r"-1", r"None")),
    Mistake("least_certain_sentences(model, trees)", raises(ValueError, r"all heads", r"-1")),
    Mistake(
        "least_certain_arcs(model, trees[0])", raises(TypeError, r"X must be", r"\[sentence\]")
    ),
    Mistake("least_certain_arcs(tags, model)", raises(TypeError, r"fitted parser", r"list")),
    Mistake("least_certain_arcs(model, tags, n=0)", raises(ValueError, r"'n'", r"\[1, inf\)")),
    Mistake("least_certain_arcs(LogisticRegression(), tags)", raises(TypeError, r"parser")),
    Mistake("least_certain_arcs(DeterministicSHAG(), tags)", raises(ValueError, r"not fitted")),
    Mistake(
        "trees[0].with_misc('Confidence', [0.5] * len(trees[0]))",
        raises(TypeError, r"Confidence", r"str", r"0\.5"),
    ),
    Mistake("trees[0].with_misc('A', ['x'])", raises(ValueError, r"length 1", r"tokens")),
    Mistake(
        "trees[0].with_misc('A=B', ['x'] * len(trees[0]))", raises(ValueError, r"'A=B'", r"MISC")
    ),
    Mistake(f"{ECE}(trees, model.predict_marginals(trees))", works("0 < result < 0.3")),
    Mistake(
        f"{ECE}(trees, model.predict(trees))",
        raises(ValueError, r"marginals\[0\]", r"predict_marginals", r"shape"),
    ),
    Mistake(f"{ECE}(model, trees)", raises(TypeError, r"y_true", r"each sentence")),
    Mistake(
        f"{ECE}(trees, model.predict_marginals(trees)[:5])",
        raises(ValueError, r"same number of sentences", r"60, 5"),
    ),
    Mistake(
        f"{ECE}(raw, model.predict_marginals(trees))", raises(ValueError, r"y_true"), before=RAW
    ),
    Mistake("suggest model.npz no_heads.conllu", prints(r"sentence\tsent_id\ttoken.*\t0\.\d{4}")),
    Mistake("suggest model.npz partial.conllu --by sentences", prints(r"error_rate")),
    Mistake(
        "suggest model.npz no_heads.conllu --by sentences -n 2 -o next.conllu",
        prints(check="open('next.conllu').read().count('\\n\\n') == 2"),
    ),
    Mistake(
        "suggest model.npz no_heads.conllu -o next.conllu",
        prints(check="'Check=Yes' in open('next.conllu').read()"),
    ),
    Mistake("suggest model.npz plain.txt", stops(r"plain\.txt")),
    Mistake("check test.conllu model.npz", stops(r"model\.npz")),
    Mistake("check no_heads.conllu", stops(r"heads")),
    Mistake("check fewer.conllu", stops(r"At least 5 sentences", r"got 2")),
    Mistake("train train.conllu -o m.npz --cv 1", usage(r"'1'", r"at least 2")),
    Mistake("evaluate test.conllu test.conllu --train train.conllu", stops(r"add --errors")),
    Mistake("suggest model.npz test.conllu", stops(r"all heads", r"known", r"in a file _")),
    Mistake("suggest model.npz", usage(r"FILE")),
    Mistake("suggest no_heads.conllu model.npz", stops(r"no_heads\.conllu", r"model")),
    Mistake("suggest model.npz empty.conllu", stops(r"no sentences", r"empty\.conllu")),
    Mistake("suggest model.npz no_heads.conllu -n 0", usage(r"-n", r"'0'", r"positive")),
    Mistake("suggest model.npz no_heads.conllu -n ten", usage(r"-n", r"'ten'", r"whole number")),
    Mistake("suggest model.npz no_heads.conllu --by words", usage(r"'words'", r"arcs")),
    Mistake("suggest - -", stops(r"standard input", r"once")),
    Mistake(ANNOTATE, usage(r"-o/--output")),
    Mistake(f"{ANNOTATE} -o new.conllu --by words", usage(r"'words'", r"heads-in-sentences")),
    Mistake(f"{ANNOTATE} -o new.conllu --port web", usage(r"--port", r"'web'", r"whole number")),
    Mistake(f"{ANNOTATE} -o new.conllu --input jsonl", usage(r"'jsonl'", r"lines")),
    Mistake(f"{ANNOTATE} -o no/new.conllu", stops(r"no/new\.conllu", r"no folder", r"make it")),
    Mistake(f"{ANNOTATE} -o treebank", stops(r"treebank", r"folder")),
    Mistake(f"{ANNOTATE} -o ensemble.npz", stops(r"ensemble\.npz", r"overwrit")),
    Mistake(f"{ANNOTATE} -o -", stops(r"standard input or output", r"name files")),
    Mistake(f"{ANNOTATE} -o new.conllu", stops(r"pip install", r"service"), before=NO_WAITRESS),
    Mistake(
        "annotate ensemble.npz - -o new.conllu",
        stops(r"standard input or output", r"name files"),
        stdin="no_heads.conllu",
    ),
    Mistake(
        f"{ANNOTATE} -o test.conllu",
        stops(r"test\.conllu exists", r"from these files", r"as input"),
    ),
    Mistake(
        f"{ANNOTATE} test.conllu -o out.conllu",
        stops(r"out\.conllu was made from other files", r"name another"),
        before=f"{ANSWERED}; store.save(); store._db.close()",
    ),
    Mistake(
        f"{ANNOTATE} -o out.conllu",
        stops(r"changed by another program", r"answers that are not in it", r"Move one"),
        before=EDITED,
    ),
    Mistake(
        f"{ANNOTATE} -o out.conllu",
        stops(r"out\.conllu\.journal", r"locked", r"annotate is running"),
        before=OPENED,
    ),
    Mistake("annotate ensemble.npz missing.conllu -o new.conllu", stops(r"missing\.conllu")),
    Mistake("annotate ensemble.npz plain.txt -o new.conllu", stops(r"plain\.txt:1", r"plain text")),
    Mistake(
        "annotate ensemble.npz plain.txt --input text -o new.conllu",
        stops(r"ensemble\.npz", r"not learned to split", r"train --text"),
    ),
    Mistake(
        "annotate ensemble.npz empty.conllu -o new.conllu",
        stops(r"no sentences", r"empty\.conllu"),
    ),
    Mistake(
        "annotate no_heads.conllu model.npz -o new.conllu", stops(r"no_heads\.conllu", r"model")
    ),
    Mistake("parse model.npz test.conllu --confidence", prints(r"Confidence=[01]\.\d{4}\n")),
    Mistake("parse model.npz test.conllu --confidence 0.9", usage(r"0\.9")),
]
