"""Commands with files that are missing, swapped, of other kinds, or would be overwritten."""

from _mistakes._replay import Mistake, prints, prints_warning, stops

PARSED = r"\t\d+\t(dep|root)\t"
SAVED = r"60 sentences"


def refused(name, *words):
    """Training on a file that is not CoNLL-U."""
    said = (rf"error: {name}:\d+: .*({word})" for word in words)
    return Mistake(f"train {name} -o new.npz", stops(*said))


MISTAKES = [
    Mistake("train missing.conllu -o new.npz", stops(r"missing\.conllu", r"no (such )?file")),
    Mistake("train nothing -o new.npz", stops(r"nothing", r"no .*\.conllu")),
    Mistake(
        "train treebank -o new.npz --model single",
        prints_warning(r"en-ud-test\.conllu is among the 2 files to learn from", r"scores"),
    ),
    Mistake("train treebank/en-ud-test.conllu -o new.npz --model single", prints(r"10 sentences")),
    Mistake(
        "train 'treebank/*.conllu' -o new.npz --model single",
        prints_warning(r"en-ud-test", r"scores"),
    ),
    Mistake("train 'treebank/*-train.conllu' -o new.npz --model single", prints(SAVED)),
    Mistake("train train.conllu test.conllu -o new.npz --model single", prints(r"70 sentences")),
    Mistake("train '~/test.conllu' -o new.npz --model single", prints(r"10 sentences")),
    Mistake("train packed.conllu -o new.npz --model single", prints(SAVED)),
    Mistake("train - -o new.npz --model single", prints(SAVED), stdin="train.conllu"),
    Mistake("train - -o new.npz", stops(r"no sentences in standard input")),
    Mistake("train empty.conllu -o new.npz", stops(r"empty\.conllu", r"no sentences")),
    Mistake("train blank.conllu -o new.npz", stops(r"blank\.conllu", r"no sentences")),
    refused("plain.txt", r"10 columns", r"plain text"),
    refused("penn.mrg", r"Penn|bracket"),
    refused("conll2009.txt", r"CoNLL-2009"),
    refused("spaces.conllu", r"spaces", r"tab"),
    refused("latin1.conllu", r"UTF-8", r"encoding|convert|save"),
    refused("utf16.conllu", r"UTF-16|UTF-8", r"encoding|convert|save"),
    refused("binary.conllu", r"UTF-8|binary|text"),
    refused("model.npz", r"zip|model|archive|binary"),
    refused("zero_based.conllu", r"head -1"),
    refused("self_root.conllu", r"itself", r"\b0\b"),
    refused("cycle.conllu", r"cycle", r"correct"),
    Mistake("train truncated.conllu.gz -o new.npz", stops(r"truncated\.conllu\.gz", r"decompress")),
    Mistake("train not_packed.conllu.gz -o new.npz --model single", prints(SAVED)),
    Mistake("train no_heads.conllu -o new.npz", stops(r"no heads", r"no_heads\.conllu")),
    Mistake(
        "train train.conllu -o train.conllu", stops(r"train\.conllu", r"overwrit|replace|input")
    ),
    Mistake(
        "train train.conllu -o ./train.conllu", stops(r"train\.conllu", r"overwrit|replace|input")
    ),
    Mistake("train treebank -o treebank/en-ud-train.conllu", stops(r"overwrit|replace|input")),
    Mistake("train train.conllu -o treebank", stops(r"treebank", r"folder|directory")),
    Mistake(
        "train train.conllu -o no/new.npz",
        stops(r"no/new\.npz", r"no (such )?(folder|direc)|exist"),
    ),
    Mistake("train train.conllu -o /dev/full --model single", stops(r"no space|full")),
    Mistake("train train.conllu -o model.npz --model single", prints(SAVED)),
    Mistake("parse missing.npz test.conllu", stops(r"missing\.npz", r"no (such )?file")),
    Mistake("parse model.npz missing.conllu", stops(r"missing\.conllu", r"no (such )?file")),
    Mistake("parse test.conllu model.npz", stops(r"test\.conllu", r"not a saved model")),
    Mistake("parse model.pkl test.conllu", stops(r"model\.pkl", r"pickle|joblib")),
    Mistake("parse truncated.npz test.conllu", stops(r"truncated\.npz", r"damaged")),
    Mistake(
        "parse feature.npz test.conllu", stops(r"feature\.npz", r"TokenFeature", r"command train")
    ),
    Mistake("parse treebank test.conllu", stops(r"treebank", r"folder|directory|model")),
    Mistake("parse model.npz plain.txt", stops(r"plain\.txt:1", r"10 columns", r"plain text")),
    Mistake("parse model.npz no_heads.conllu", prints(PARSED, check="out.count('\\n\\n') == 60")),
    Mistake("parse estimator.npz test.conllu", prints(PARSED)),
    Mistake(
        "parse model.npz -", prints(PARSED, check="out.count('\\n\\n') == 10"), stdin="test.conllu"
    ),
    Mistake("parse model.npz test.conllu -o -", prints(PARSED)),
    Mistake("parse model.npz treebank", prints(PARSED, check="out.count('\\n\\n') == 70")),
    Mistake(
        "parse model.npz test.conllu -o test.conllu",
        stops(r"test\.conllu", r"overwrit|replace|input"),
    ),
    Mistake(
        "parse model.npz test.conllu -o model.npz", stops(r"model\.npz", r"overwrit|replace|model")
    ),
    Mistake("parse model.npz test.conllu -o ~/model.npz", prints()),
    Mistake("parse model.npz test.conllu -o nothing", stops(r"nothing", r"folder|directory")),
    Mistake(
        "parse model.npz test.conllu -o no/new.conllu",
        stops(r"no/new\.conllu", r"folder|direc|exist"),
    ),
    Mistake("parse model.npz test.conllu", prints(), closed_pipe=True),
    Mistake("evaluate test.conllu missing.conllu", stops(r"missing\.conllu", r"no (such )?file")),
    Mistake(
        "evaluate test.conllu test.conllu", prints_warning(r"test\.conllu is compared with itself")
    ),
    Mistake("evaluate train.conllu predicted.conllu", prints(r"UAS\s+\d")),
    Mistake(
        "evaluate train.conllu fewer.conllu",
        stops(r"train\.conllu", r"fewer\.conllu", r"only one of them", r"sentence 3 of train"),
    ),
    Mistake(
        "evaluate train.conllu other_order.conllu", stops(r"sentence 1\b", r"'The'|tide", r"Where")
    ),
    Mistake(
        "evaluate train.conllu other_words.conllu",
        stops(r"sentence 2\b", r"mussels", r"muscles", r"--raw"),
    ),
    Mistake(
        "evaluate train.conllu test.conllu", stops(r"sentence 1 of train", r"sentence 1 of test")
    ),
    Mistake(
        "evaluate train.conllu no_heads.conllu",
        stops(r"no_heads\.conllu", r"no heads|without heads"),
    ),
    Mistake(
        "evaluate no_heads.conllu train.conllu",
        stops(r"no_heads\.conllu", r"no heads|without heads"),
    ),
    Mistake("evaluate no_heads.conllu no_heads.conllu", stops(r"no_heads\.conllu", r"heads")),
    Mistake("evaluate empty.conllu empty.conllu", stops(r"empty\.conllu", r"no sentences")),
    Mistake(
        "evaluate model.npz test.conllu", stops(r"model\.npz:\d+: .*(model|archive|zip|binary)")
    ),
    Mistake("evaluate test.conllu -", prints(r"UAS\s+100"), stdin="test.conllu"),
    Mistake(
        "evaluate - -", stops(r"-", r"standard input|stdin|twice|both|one"), stdin="test.conllu"
    ),
    Mistake(
        "evaluate untagged.conllu untagged.conllu --ignore-punctuation",
        stops(r"'_'|\btag|no token"),
    ),
    Mistake(
        "train train.conllu -o new.npz",
        stops(r"train\.conllu", r"permi|may not|not readable"),
        locked="train.conllu",
    ),
    Mistake(
        "parse model.npz test.conllu -o treebank/new.conllu",
        stops(r"treebank", r"permi|may not|not writable"),
        locked="treebank",
    ),
    Mistake("draw test.conllu -o test.conllu", stops(r"test\.conllu", r"refusing to overwrite it")),
    Mistake(
        "evaluate train.conllu fewer.conllu --raw",
        stops(r"train\.conllu and", r"differ by more than spaces"),
    ),
    Mistake(
        "evaluate train.conllu predicted.conllu --raw --ignore-punctuation",
        stops(r"--ignore-punctuation", r"--raw"),
    ),
    Mistake("evaluate train.conllu some_heads.conllu --raw", stops(r"sentence 1 of")),
]
