"""Which everyday sentences a parser gets wrong, from their text.

Usage: python benchmarks/everyday.py LIST... [--model NAME...] [--context FOLDER]

Each line of a LIST is a sentence and the arcs that a good parse of it has, by the forms of their
words: ``Dogs bark.|bark root;Dogs nsubj bark``. Relations have no subtypes, and lines that begin
with # are comments. A sentence is right if its parse has all of these arcs.

NAME is "english", the default, or a model file; several networks are averaged. A model without a
splitter has that of the bundled parser. FOLDER has the transformer whose vectors they read, if any.

Printed are the sentences that are wrong, with the arcs that their parses have instead, and how many
sentences of each list are right.
"""

import argparse
from pathlib import Path

from biaffine import average

from sklearn_shag import ParserPipeline, load_model, make_parser_pipeline
from sklearn_shag.datasets import load_parser
from sklearn_shag.features import TransformerVectors
from sklearn_shag.utils._parallel import one_thread

ROOT = "root"


def read_list(path):
    """Yield sentences, and their arcs as triples of modifier, relation and head."""
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            sentence, _, arcs = line.rpartition("|")
            arcs = [tuple(arc.split()) for arc in arcs.split(";")]
            yield sentence, [arc if len(arc) == 3 else (*arc, ROOT) for arc in arcs]


def letters_of(sentence):
    """The letters and digits of a sentence in lower case, to compare it with others."""
    return "".join(filter(str.isalnum, sentence)).lower()


def read_listed(paths):
    """The letters of all sentences of lists."""
    return {letters_of(sentence) for path in paths for sentence, _ in read_list(path)}


def list_arcs(trees):
    """List the arcs of trees as triples of forms, relations without subtypes."""
    arcs = []
    for tree in trees:
        heads = [ROOT, *tree.forms]
        for form, relation, head in zip(tree.forms, tree.deprels, tree.heads, strict=True):
            arcs.append((form, relation.partition(":")[0], heads[head]))
    return arcs


def find_mistakes(model, listed):
    """Yield each listed sentence that is wrong, and the arcs that its parse has instead."""
    for sentence, wanted in listed:
        found = list_arcs(model.parse_text(sentence))
        missed = {form for form, *others in wanted if (form, *others) not in found}
        if missed:
            yield sentence, [" ".join(arc) for arc in found if arc[0] in missed]


def open_models(names, folder):
    """Load a model, or the average of several, with a splitter."""
    encoder = folder and TransformerVectors(folder).fit()
    bundled = load_parser("english")
    models = [
        bundled if name == "english" else load_model(name, embeddings=encoder) for name in names
    ]
    model = models[0] if len(models) == 1 else average(models)
    return model if isinstance(model, ParserPipeline) else make_parser_pipeline(bundled[0], model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+", metavar="LIST")
    parser.add_argument("--model", nargs="+", metavar="NAME", default=["english"])
    parser.add_argument("--context", metavar="FOLDER")
    options = parser.parse_args()
    model = open_models(options.model, options.context)
    for path in options.lists:
        listed = list(read_list(path))
        with one_thread():
            mistakes = list(find_mistakes(model, listed))
        for sentence, arcs in mistakes:
            print(f"{sentence}  {'; '.join(arcs)}")
        print(f"{path}: {len(listed) - len(mistakes)} of {len(listed)} are right", flush=True)


if __name__ == "__main__":
    main()
