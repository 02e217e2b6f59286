"""Commands and options that are misspelled, missing or have wrong values."""

import shlex

from _mistakes._replay import Mistake, prints, prints_warning, stops, usage

TRAIN = "train train.conllu -o new.npz"

MISTAKES = [
    Mistake("", usage(r"COMMAND", r"-h")),
    Mistake("trian train.conllu", usage(r"'trian'", r"train")),
    Mistake("train", usage(r"FILE", r"-o")),
    Mistake("train train.conllu", usage(r"-o")),
    Mistake("train -o new.npz", stops(r"FILE", r"--helpers")),
    Mistake(f"{TRAIN} --helpers", usage(r"--helpers", r"expected at least one argument")),
    Mistake(f"{TRAIN} --helpers test.conllu", stops(r"--helpers needs --context", r"--raw-text")),
    Mistake(
        f"{TRAIN} --helpers test.conllu --raw-text plain.txt", stops(r"--helpers needs --context")
    ),
    Mistake(
        f"{TRAIN} --helpers test.conllu --raw-text plain.txt --context e5 --teacher model.npz",
        stops(r"--helpers", r"leave out --teacher"),
    ),
    Mistake(
        f"{TRAIN} --helpers test.conllu --raw-text plain.txt --context missing",
        stops(r"missing", r"config\.json"),
    ),
    Mistake(
        "train --helpers missing.conllu -o new.npz", stops(r"missing\.conllu", r"no (such )?file")
    ),
    Mistake(
        "train --helpers test.conllu --continue model.npz -o new.npz",
        stops(r"--continue", r"leave out --helpers"),
    ),
    Mistake("train --helpers train.conllu -o train.conllu", stops(r"train\.conllu", r"overwrit")),
    Mistake("train.conllu", usage(r"'train\.conllu'", r"train")),
    Mistake("parse test.conllu", stops(r"test\.conllu is not a saved model")),
    Mistake("evaluate test.conllu", usage(r"SYSTEM")),
    Mistake("serve", usage(r"MODEL")),
    Mistake("serve english english", stops(r"no two of one name", r"fr=a\.npz")),
    Mistake("serve fr=missing.npz", stops(r"missing\.npz", r"[Nn]o such file")),
    Mistake("serve english --threads 0", usage(r"--threads", r"'0'", r"positive whole number")),
    Mistake("serve english --max-bytes 4M", usage(r"--max-bytes", r"'4M'")),
    Mistake("serve ensemble.npz --port 70000", stops(r"127\.0\.0\.1:70000", r"0-65535")),
    Mistake(
        "serve ensemble.npz --port 28437",
        stops(r"cannot listen at 127\.0\.0\.1:28437", r"in use"),
        before="import socket; taken = socket.create_server(('127.0.0.1', 28437))",
    ),
    Mistake("--version", prints(r"\d+\.\d+")),
    Mistake("-h", prints(r"train.*parse.*evaluate")),
    Mistake("help", usage(r"'help'")),
    Mistake("train -h", prints(r"-o.*--set NAME=VALUE.*default")),
    Mistake("version", usage(r"'version'")),
    Mistake(f"{TRAIN} --n_states 4", usage(r"--n_states")),
    Mistake(f"{TRAIN} -n 4", usage(r"-n")),
    Mistake(f"{TRAIN} --set n_states", usage(r"--set", r"'n_states'", r"NAME=VALUE")),
    Mistake(f"{TRAIN} --set", usage(r"--set", r"expected one argument")),
    Mistake(f"{TRAIN} --model spectral --set n-states=4", stops(r"'n-states'", r"'n_states'")),
    Mistake(f"{TRAIN} --set n_states=eight", stops(r"n_states", r"'eight'", r"int")),
    Mistake(f"{TRAIN} --set n_states=2.5", stops(r"n_states", r"2\.5", r"int")),
    Mistake(f"{TRAIN} --set n_states=-4", stops(r"n_states", r"-4")),
    Mistake(f"{TRAIN} --set n_states=0", stops(r"n_states", r"\[1, ")),
    Mistake(f"{TRAIN} --set smoothing=-1", stops(r"smoothing", r"-1")),
    Mistake(f"{TRAIN} --set smoothing=nan", stops(r"smoothing", r"nan")),
    Mistake(f"{TRAIN} --set smoothing=none", stops(r"smoothing", r"'none'", r"float")),
    Mistake(f"{TRAIN} --model specral", usage(r"'specral'", r"spectral")),
    Mistake(f"{TRAIN} --model SpectralSHAG", usage(r"'SpectralSHAG'", r"spectral")),
    Mistake(f"{TRAIN} --symbols pos", stops(r"'pos'", r"upos, xpos")),
    Mistake(f"{TRAIN} --symbols ''", stops(r"symbols|column", r"upos, xpos")),
    Mistake(f"{TRAIN} --symbols upos,", stops(r"''", r"upos, xpos")),
    Mistake(f"{TRAIN} --symbols upos xpos", usage(r"xpos")),
    Mistake(f"{TRAIN} --symbols 'upos, xpos'", stops(r"' xpos'", r"upos, xpos")),
    Mistake("train no_xpos.conllu -o new.npz --symbols xpos", stops(r"'_'", r"tag")),
    Mistake("train untagged.conllu -o new.npz", stops(r"'_'", r"tag")),
    Mistake(
        "train half_tagged.conllu -o new.npz --model spectral", prints_warning(r"\d ?%", r"'_'")
    ),
    Mistake(
        "train no_xpos.conllu -o new.npz --symbols upos,xpos", prints_warning(r"'_'", r"xpos|part")
    ),
    Mistake(f"{TRAIN} --min-count 0", stops(r"min.count", r"\[1, inf\)")),
    Mistake(f"{TRAIN} --min-count two", usage(r"--min-count", r"'two'")),
    Mistake(f"{TRAIN} --model spectral --min-count 1000000", stops(r"min.count", r"symbol")),
    Mistake(f"{TRAIN} --n-jobs 0", stops(r"n.jobs", r"0")),
    Mistake(f"{TRAIN} --n-jobs two", usage(r"--n-jobs", r"'two'")),
    Mistake("parse model.npz test.conllu --n-jobs 0", stops(r"n.jobs", r"0")),
    Mistake(
        "train partial.conllu -o new.npz --model spectral",
        stops(r"partial.conllu", r"--keep-heads"),
    ),
    Mistake(
        "evaluate train.conllu partial.conllu", stops(r"sentence 1 of partial", r"without heads")
    ),
    Mistake("parse model.npz test.conllu --decoder viterbi", stops(r"viterbi", r"mbr")),
    Mistake("parse model.npz test.conllu --decoder mrb", usage(r"'mrb'", r"mbr")),
    Mistake("parse model.npz lower_case.conllu", prints_warning(r"100 ?%", r"'noun'")),
    Mistake("parse model.npz untagged.conllu", stops(r"'_'", r"tag")),
    Mistake("parse xpos.npz no_xpos.conllu", stops(r"'_'", r"tag")),
    Mistake("parse xpos.npz french_xpos.conllu -o new.conllu", prints_warning(r"100 ?%")),
    Mistake("parse rare.npz french_xpos.conllu -o new.conllu", prints_warning(r"100 ?%")),
    Mistake("parse rare.npz no_xpos.conllu -o new.conllu", prints_warning(r"100 ?%", r"'_'")),
    Mistake("demo --treebank missing", stops(r"No file matches the pattern missing/\*train")),
    Mistake("demo --treebank nothing", stops(r"No file matches the pattern nothing/")),
    Mistake(
        "demo --treebank train.conllu", stops(r"No file matches the pattern train\.conllu/\*train")
    ),
    Mistake("demo --grammars --n-jobs 0", stops(r"n_jobs", r"0")),
    Mistake("demo --n-jobs 2", stops(r"--n-jobs", r"add --grammars")),
    Mistake("demo 'Cats sleep.' --grammars", stops(r"leave one of them out")),
    Mistake("demo 'Cats sleep.' --treebank x", stops(r"leave one of them out")),
    Mistake("demo ' '", stops(r"blank")),
    Mistake(
        "train train.conllu -o m.npz --raw-text test.conllu --model crf",
        stops(r"--raw-text is for"),
    ),
    Mistake(
        "parse english plain.txt --input text --encoding rot13",
        usage(r"'rot13' is no encoding that Python knows"),
    ),
    Mistake("serve english english", stops(r"no two of one name")),
    Mistake("serve none.npz", stops(r"none\.npz")),
    Mistake("train train.conllu -o new.npz --model spectral --set n_states=0", stops(r"n_states")),
    Mistake("train train.conllu -o new.npz --model spectral --set decoder=[1]", stops(r"decoder")),
    Mistake(
        "train train.conllu -o new.npz --model spectral --set states=3",
        stops(r"Invalid parameter 'states' for estimator SpectralSHAG"),
    ),
    Mistake("train train.conllu -o new.npz --model crf --min-count 0", stops(r"min_count")),
    Mistake(
        "train train.conllu -o new.npz --model crf --symbols upos",
        stops(r"--symbols upos is for models that read"),
    ),
    Mistake(
        "train train.conllu -o new.npz --model spectral --tags upos --symbols xpos",
        stops(r"--symbols xpos is for models that read"),
    ),
    Mistake(
        "train train.conllu -o new.npz --model biaffine --tags upos --columns xpos",
        stops(r"words alone"),
    ),
    Mistake(
        "train train.conllu -o new.npz --model spectral --tags upos,upos",
        stops(r"--tags upos,upos must name columns, none twice: upos, xpos"),
    ),
    Mistake(
        "train train.conllu -o new.npz --model spectral --tags deprel",
        stops(r"--tags deprel must name columns, none twice: upos, xpos"),
    ),
    Mistake("evaluate test.conllu test.conllu --raw --errors 3", stops(r"leave out --raw")),
    Mistake("evaluate test.conllu empty.conllu", stops(r"empty\.conllu holds no sentences")),
    Mistake(
        "train train.conllu -o m.npz --cv 3 --raw-text plain.txt", stops(r"--cv is for trees alone")
    ),
    Mistake(
        "train train.conllu -o m.npz --continue model.npz --model spectral --min-count 2",
        stops(r"goes on with a model as it is; leave out --model and --min-count"),
    ),
    Mistake(
        "train train.conllu -o m.npz --continue model.npz",
        stops(r"holds SpectralSHAG, which cannot go on learning; em, crf and biaffine can"),
    ),
    Mistake(
        "train train.conllu -o m.npz --teacher ensemble.npz",
        stops(r"--teacher is for learning from raw text; name some with --raw-text"),
    ),
    Mistake(
        "train train.conllu test.conllu -o m.npz --weight 1",
        stops(r"--weight needs a number for each FILE, 2, got 1"),
    ),
    Mistake(
        "train --helpers test.conllu --raw-text plain.txt --context e5 --weight 2 -o m.npz",
        stops(r"--weight needs a number for each FILE, 0"),
    ),
    Mistake(
        "train --helpers test.conllu --raw-text plain.txt --context e5 --model crf -o m.npz",
        stops(r"--raw-text is for --model biaffine"),
    ),
    Mistake(
        "train train.conllu -o m.npz --model single",
        stops(r"out of memory\. Unable to allocate 4\.00 EiB"),
        before="from unittest import mock; from sklearn_shag.cli import _training_data; "
        "full = lambda *_: np.empty(2**62, dtype=np.int8); "
        "mock.patch.object(_training_data, 'iter_sentences', full).start()",
    ),
    Mistake("train train.conllu -o m.npz --model first --pattern a", stops(r"--text")),
    Mistake(
        "train train.conllu -o m.npz --model crf --dictionary plain.txt",
        stops(r"--dictionary is for models that learn tags"),
    ),
    *[
        Mistake(f"train train.conllu -o m.npz {options}", stops(words))
        for options, words in (
            (
                "--model biaffine --context-for training",
                r"--context-for training needs a transformer, --context",
            ),
            (
                "--model biaffine --context-for parsing",
                r"--context-for parsing needs a transformer, --context",
            ),
            (
                "--model biaffine --context-for training --context e5 --embeddings x",
                r"leave out --embeddings",
            ),
            ("--model first --context-for training", r"--context-for: vectors are"),
            (
                "--model biaffine --context-for training --continue model.npz",
                r"leave out --model and --context-for",
            ),
        )
    ],
    Mistake(
        "train train.conllu no_heads.conllu -o m.npz --model spectral",
        stops(r"no_heads\.conllu: 60 of 60 sentences have no heads to learn from\. Leave"),
    ),
    Mistake(
        "train no_heads.conllu -o m.npz --model crf --columns upos --max-iter 1",
        stops(r"no_heads\.conllu: 60 of 60 sentences have no heads"),
    ),
    Mistake(
        "evaluate train.conllu partial.conllu",
        stops(r"sentence 1 of partial\.conllu", r"has words .*; only whole trees can be scored"),
    ),
    *[
        Mistake(shlex.join([name if word == "NAME" else word for word in words]), stops("."))
        for name in ("a\nb", "\x1b[2J\x07", "x" * 10_000)
        for words in (
            ["train", "train.conllu", "-o", "m", "--symbols", "NAME"],
            ["evaluate", "NAME", "train.conllu"],
            ["demo", "--treebank", "NAME"],
        )
    ],
    *[
        # Forms of files say nothing to a terminal.
        Mistake(
            line,
            prints(
                r"a\\x1b\[2J\\u202e",
                check="''.join(out.split()).isprintable()",
            ),
            before="odd = 'a\\x1b[2J\\u202e'; "
            "tree = DependencyTree([odd, 'b'], [2, 0], upos=[odd, 'VERB']); "
            "write_conllu([tree], 'one.conllu'); write_conllu([tree], 'two.conllu'); "
            "tree = DependencyTree([odd, 'b'], [-1, 0], upos=['NOUN', 'VERB']); "
            "write_conllu([tree], 'unknown.conllu')",
        )
        for line in (
            "evaluate one.conllu two.conllu --by modifier",
            "suggest model.npz unknown.conllu",
            "suggest model.npz unknown.conllu --by sentences",
        )
    ],
    Mistake(
        "train UD_Test-Tiny -o m.npz",
        stops(r"UD_Test-Tiny has no training set"),
        before="folder = Path('home/sklearn_shag_data/UD_Test-Tiny'); folder.mkdir(parents=True); "
        "write_conllu(test, folder / 'te_tiny-ud-test.conllu')",
    ),
    Mistake(
        "train UD_Test-Other -o m.npz",
        stops(r"needs pooch: pip install"),
        before="import sys; from unittest import mock; "
        "mock.patch.dict(sys.modules, pooch=None).start()",
    ),
    Mistake(
        "suggest model.npz partial.conllu --by sentences -o partial.conllu",
        stops(r"output partial\.conllu is the same file as the input partial\.conllu"),
    ),
    Mistake(
        "compile",
        stops(r"cannot be written; set NUMBA_CACHE_DIR to a folder that can"),
        before="import numba; from unittest import mock; "
        "mock.patch.object(numba.config, 'CACHE_DIR', 'test.conllu/cache').start()",
    ),
]
