"""Trees whose arcs cross: sums over all trees beside sums over projective ones.

Usage: python benchmarks/crossing.py [FOLDER] [TREEBANK ...] [--seeds N] [--limit N] [--times]
       [--pseudo] [--output RESULTS.json]

Input: gold tags and features (columns="auto"), all tokens count. BiaffineParser learns with its
defaults from the training set (with --limit from its first trees) and is scored once on the test
set: of projective trees with decoder="mst", the best decoder that they have for arcs that cross,
and of all trees. The F1 is that of arcs that are not projective; the negative log-likelihood of a
head and the calibration error are of corrected probabilities. --pseudo adds grammars with labels
of lifted arcs (Nivre and Nilsson 2005), --times the seconds of both sums instead.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from _measure import Report, minima, seconds_of
from threadpoolctl import threadpool_limits

from sklearn_shag import BiaffineParser, RefinedSHAG
from sklearn_shag.datasets import fetch_treebank
from sklearn_shag.metrics import labeled_attachment_score, unlabeled_attachment_score
from sklearn_shag.parsing._chart import grammar_of_arcs, run_charts
from sklearn_shag.parsing._decoders import repair
from sklearn_shag.parsing._forest import decode_marginals
from sklearn_shag.parsing._potentials import as_factors, potentials_of_arcs
from sklearn_shag.treebank import lift, nonprojective_arcs

TREEBANKS = ("UD_Latin-Perseus", "UD_Sanskrit-Vedic", "UD_Dutch-LassySmall", "UD_Turkish-IMST")
MODELS = {"projective, mst": ("projective", "mst"), "all trees": ("all", "mbr")}
LENGTHS = (5, 10, 20, 30, 60, 100, 200)
N_BINS = 10
# RefinedSHAG of given trees, projective and with "mst", and of lifted ones; these lowered by its
# own relations, which are the most frequent of arcs with the same tags, and by those of a network.
KINDS = ("given trees", "given, mst", "lifted", "lowered", "lowered by network")
UP = "|"  # between the relation of a lifted arc and that of the head it was lifted from


def crossing_f1(true, found):
    """F1 of arcs that are not projective, in percent.

    Precision is the share of right heads among such arcs of predicted trees, recall among such arcs
    of the treebank.
    """
    n_right, n_arcs = np.zeros(2), np.zeros(2)
    for pair in zip(true, found, strict=True):
        for k, heads in enumerate(pair):
            tokens = np.array(nonprojective_arcs(heads), dtype=int) - 1
            n_arcs[k] += tokens.size
            n_right[k] += np.count_nonzero(pair[0][tokens] == pair[1][tokens])
    recall, precision = n_right / np.maximum(n_arcs, 1)
    return 200 * precision * recall / max(precision + recall, 1e-12)


def doubts(parser, trees, found):
    """Negative log-likelihood of a true head in nats, and expected calibration error in percent."""
    marginals = parser.predict_marginals(trees)
    true = np.concatenate(
        [p[np.arange(len(t)), t.heads] for p, t in zip(marginals, trees, strict=True)]
    )
    sure = np.concatenate([p[np.arange(len(h)), h] for p, h in zip(marginals, found, strict=True)])
    right = np.concatenate([h == t.heads for h, t in zip(found, trees, strict=True)])
    bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, right - sure, N_BINS)
    return -np.log(np.maximum(true, 1e-12)).mean(), 100 * np.abs(gaps).sum() / right.size


def measure_models(name, train, test, seeds):
    """Rows of scores of each model, the mean over seeds and the standard deviation of LAS."""
    rows = []
    for title, (trees, decoder) in MODELS.items():
        scores, seconds = [], 0.0
        for seed in range(1, seeds + 1):
            parser = BiaffineParser(trees=trees, decoder=decoder, random_state=seed)
            parser, own = seconds_of(lambda parser=parser: parser.fit(train))
            seconds += own / seeds
            parsed = parser.parse(test)
            found, true = ([tree.heads for tree in rows] for rows in (parsed, test))
            scores.append(
                (
                    100 * unlabeled_attachment_score(true, found),
                    100 * labeled_attachment_score(test, parsed),
                    crossing_f1(true, found),
                    *doubts(parser, test, found),
                )
            )
        names = "UAS", "LAS", "F1", "NLL", "ECE"
        means = dict(zip(names, np.mean(scores, axis=0).round(2).tolist(), strict=True))
        row = {"treebank": name.removeprefix("UD_"), "trees": title, "seeds": seeds, **means}
        spread = float(np.std(scores, axis=0)[1])
        rows.append(row | {"sd of LAS": spread, "training (CPU s)": seconds})
    return rows


def mark_lifts(tree):
    """Lift a tree; a relation of a lifted arc names that of the head it belongs to, too."""
    heads = lift(tree)
    moved = heads != tree.heads
    names = [
        f"{own}{UP}{tree.deprels[head - 1]}" if is_moved else own
        for own, head, is_moved in zip(tree.deprels, tree.heads, moved, strict=True)
    ]
    return tree.with_heads(heads, names)


def lower(heads, names):
    """Move tokens with marked relations down to the first token, level by level, so related."""
    plain, lowered = [name.partition(UP)[0] for name in names], heads.copy()
    for token, name in enumerate(names, start=1):
        _, _, wanted = name.partition(UP)
        level = [heads[token - 1]] if wanted else []
        while level:
            below = [m for h in level for m in np.flatnonzero(lowered == h) + 1 if m != token]
            found = [m for m in below if plain[m - 1] == wanted]
            if found:
                lowered[token - 1], below = found[0], []
            level = below
    return lowered


def measure_grammars(name, train, test, seeds):
    """UAS of RefinedSHAG from tags: of given and lifted trees, and lowered by marked relations."""
    true, scores = [tree.heads for tree in test], []
    X, of_test = ([tree.upos for tree in trees] for trees in (train, test))
    marked = [mark_lifts(tree) for tree in train]
    labeller = BiaffineParser(trees="projective", random_state=1).fit(marked)
    for seed in range(1, seeds + 1):
        grammar = RefinedSHAG(random_state=seed).fit(X, [tree.heads for tree in train])
        lifted = RefinedSHAG(random_state=seed).fit(X, marked)
        found = [grammar.predict(of_test), grammar.set_params(decoder="mst").predict(of_test)]
        found.append(lifted.predict(of_test))
        heads = found[-1]
        for names in (lifted.predict_labels(of_test), labeller.predict_labels(test, heads)):
            found.append([lower(*pair) for pair in zip(heads, names, strict=True)])
        uas = [unlabeled_attachment_score(true, heads) for heads in found]
        scores.append([100 * score for score in uas] + [crossing_f1(true, h) for h in found])
    means, n_kinds = np.mean(scores, axis=0), len(KINDS)
    of_kinds = means[:n_kinds].round(2).tolist(), means[n_kinds:].round(1).tolist()
    rows = zip(KINDS, *of_kinds, strict=True)
    name = name.removeprefix("UD_")
    return [{"treebank": name, "RefinedSHAG": k, "UAS": u, "F1": f} for k, u, f in rows]


def measure_times():
    """Microseconds a sentence of sums and of decoding, of both kinds of trees, in turns."""
    rows, rng = [], np.random.default_rng(0)
    for n in LENGTHS:
        n_sentences = max(20_000 // n**2, 8)
        indptr = n * np.arange(n_sentences + 1)
        potentials = potentials_of_arcs(indptr, rng.normal(size=n_sentences * n * (n + 1)) * 2)
        factors, functions = as_factors(potentials), {}
        for kind in ("projective", "all"):
            grammar = grammar_of_arcs(kind)
            marginals = run_charts(grammar, factors).arcs
            functions[f"{kind}, sums"] = partial(run_charts, grammar, factors)
            repair(marginals, factors)
            decode = partial(decode_marginals, "mbr", indptr, marginals, kind == "all")
            functions[f"{kind}, best tree"] = decode
        with threadpool_limits(1):
            times = minima(functions)
        row = {key: 1e6 * seconds / n_sentences for key, seconds in times.items()}
        sums, both = (
            sum(row[f"all, {part}"] for part in parts)
            / sum(row[f"projective, {part}"] for part in parts)
            for parts in (["sums"], ["sums", "best tree"])
        )
        rows.append({"tokens": n, **row, "ratio of sums": sums, "ratio of both": both})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("treebanks", nargs="*", default=TREEBANKS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--pseudo", action="store_true")
    parser.add_argument("--output")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # sentences that are left out
    report = Report("crossing", given.output)
    if given.times:
        report.add("times", measure_times())
        return
    measure = measure_grammars if given.pseudo else measure_models
    rows = []
    for name in given.treebanks:
        treebank = fetch_treebank(name, data_home=given.folder, download_if_missing=False)
        rows += measure(name, treebank.train[: given.limit], treebank.test, given.seeds)
        report.add("grammars" if given.pseudo else "parsers", rows)


if __name__ == "__main__":
    main()
