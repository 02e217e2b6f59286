"""Commands with files that are missing, swapped, of other kinds, or would be overwritten."""

from dataclasses import replace

from _mistakes._replay import Mistake, prints, prints_warning, stops

PARSED = r"\t\d+\t(dep|root)\t"
SAVED = r"60 sentences"


# Of seven sentences the fourth and the sixth are invalid.
BAD_FILES = (
    "write_conllu(trees[:7], 'good.conllu'); "
    "write_conllu([tree.with_heads(None) for tree in trees[:7]], 'bare.conllu')\n"
    "for name, new in (('good', 'bad'), ('bare', 'bare')):\n"
    "    blocks = Path(f'{name}.conllu').read_text().split('\\n\\n')\n"
    "    blocks[3], blocks[5] = '# no columns\\n1 Dogs', '1\\tDogs'\n"
    "    Path(f'{new}.conllu').write_text('\\n\\n'.join(blocks))"
)
INVALID = r"bad\.conllu:\d+: 10 columns"


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
    *[
        # Before any work, and by whatever name: nothing is read that cannot be kept.
        Mistake(
            line,
            stops(rf"The output {output} is the same file as the input {given}"),
            before="os.link('train.conllu', 'link.conllu'); os.link('model.npz', 'link.npz'); "
            "from unittest import mock; from sklearn_shag.cli import _models, _training_data; "
            "mock.patch.object(_models, 'load_model', None).start(); "
            "mock.patch.object(_training_data, 'iter_sentences', None).start()",
        )
        for line, output, given in (
            ("train train.conllu -o train.conllu", r"train\.conllu", r"train\.conllu"),
            ("train train.conllu -o link.conllu", r"link\.conllu", r"train\.conllu"),
            (
                "train treebank -o treebank/en-ud-train.conllu",
                r"treebank/en-ud-train\.conllu",
                r"treebank/en-ud-train\.conllu",
            ),
            ("parse model.npz train.conllu -o train.conllu", r"train\.conllu", r"train\.conllu"),
            ("parse model.npz train.conllu -o link.conllu", r"link\.conllu", r"train\.conllu"),
            (
                "parse model.npz treebank -o treebank/en-ud-test.conllu",
                r"treebank/en-ud-test\.conllu",
                r"treebank/en-ud-test\.conllu",
            ),
            ("parse model.npz train.conllu -o model.npz", r"model\.npz", r"model\.npz"),
            ("parse model.npz train.conllu -o link.npz", r"link\.npz", r"model\.npz"),
        )
    ],
    *[
        Mistake(
            f"train train.conllu -o {output}",
            stops(words),
            before="from unittest import mock; from sklearn_shag.cli import _training_data; "
            "mock.patch.object(_training_data, 'iter_sentences', None).start()",
        )
        for output, words in (
            ("none/out", r"none/out .*there is no folder"),
            (".", r"it is a folder"),
            ("x" * 300, r"^(?!.*tmp').*cannot be written: File name too long"),
        )
    ],
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
    Mistake("parse model.npz test.conllu --resume", stops(r"name it with -o")),
    Mistake(
        "parse model.npz - -o new.conllu --resume",
        stops(r"not standard input"),
        stdin="test.conllu",
    ),
    *[
        # What a run keeps for later is no input of it.
        Mistake(
            f"parse english {name} --input jsonl -o out",
            stops(rf"is the same file as the input {name}"),
            before=f"Path({name!r}).write_text('{{}}')",
        )
        for name in ("out.part", "out.part.log")
    ],
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
    Mistake("evaluate - test.conllu", prints(r"UAS\s+100"), stdin="test.conllu"),
    Mistake(
        "parse model.npz train.conllu --max-tokens 3",
        stops(r"train\.conllu:1: the sentence has 8 tokens, more than max_tokens=3\."),
    ),
    Mistake(
        "parse english long.txt --input text --max-tokens 7",
        stops(r"error: long\.txt:3: "),
        before="Path('long.txt').write_text('The cat sat.\\n\\nOne, two, three, four, five, six,'"
        "'\\nseven, eight, nine, ten.\\n')",
    ),
    *[
        Mistake(f"{command} {skip}", must, before=BAD_FILES)
        for command, place, kept in (
            (
                "train bad.conllu -o m --model crf --max-iter 1 --set n_features=99",
                INVALID,
                "from 5 of 7 s",
            ),
            ("train bad.conllu -o m --model single", INVALID, "from 5 of 7 sentences with"),
            ("evaluate bad.conllu good.conllu", INVALID, "5 sentences, "),
            ("evaluate good.conllu bad.conllu", INVALID, "5 sentences, "),
            (
                "suggest model.npz bare.conllu -n 999",
                r"bare\.conllu:\d+: 10 ",
                "bare.conllu\\t7\\t",
            ),
        )
        for skip, must in (
            ("", stops(rf"error: {place}")),
            (
                "--on-error skip",
                replace(
                    prints_warning(
                        rf"2 of 7 sentences were left out as invalid; the first: {place}"
                    ),
                    check=f"'{kept}' in out",
                ),
            ),
        )
    ],
    *[
        # Without those without heads, those that cross in projective sums, and two roots.
        Mistake(
            f"train in.conllu -o m --max-iter 1 --model {model}",
            replace(
                prints_warning(rf"{10 - 3 - n_learned} of 10 sentences are left out of training"),
                check=f"'from {n_learned} of 10 sentences with' in out",
            ),
            before="cross = DependencyTree(list('abcd'), [3, 4, -1, -1], upos=['NOUN'] * 4); "
            "others = [cross.with_heads([0, 0, 1, 1]), *(t.with_heads(None) for t in trees[:3])]; "
            "write_conllu([*trees[:5], cross, *others], 'in.conllu')",
        )
        for model, n_learned in (
            ("refined", 6),
            ("crf --set n_features=99 --set trees=projective", 5),
            ("crf --set n_features=99", 6),
        )
    ],
    Mistake(
        "evaluate bad.conllu good.conllu --raw --on-error skip",
        stops(r"--raw scores all"),
        before=BAD_FILES,
    ),
    *[
        Mistake(
            f"{command} --on-error skip",
            stops(r"2 of 2 sentences were left out as invalid; the first: no\.conllu:1: "),
            before="Path('no.conllu').write_text('1\\ta\\n\\n1\\tb\\n\\n')",
        )
        for command in (
            "train no.conllu -o m.npz --model single",
            "suggest model.npz no.conllu",
            "evaluate no.conllu no.conllu",
        )
    ],
    *[
        Mistake(
            "parse english plain.txt bad.txt --input text -o new.conllu",
            stops(rf"error: bad\.txt:{line}: "),
            before=f"Path('bad.txt').write_bytes({content!r})",
        )
        for content, line in (
            (b"One.\n\nA\0.\n", 3),
            (b"One.\r\n\r\nTwo.\r\n\r\nC\xe4f.\n", 5),
        )
    ],
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
