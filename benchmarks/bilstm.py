"""A BiLSTM with biaffine scores in PyTorch, of the size of BiaffineParser, on the same tokens.

Usage: python benchmarks/bilstm.py [TREEBANK] [--part tags|words] [--output RESULTS.json]

It needs ``pip install torch``, which nothing else does. Columns, embeddings, units of layers,
vectors, batches and the number of passes are those of BiaffineParser; in the place of simple
recurrent units there are LSTMs, in the place of the loss of trees a softmax over the heads of each
token, as Dozat and Manning have it, and sentences of a batch are padded. Both are trained in one
run, on one thread in single precision, and parse the test set to projective trees.
"""

import argparse
import time

import numpy as np
import torch
from _measure import Report, load, seconds_of
from biaffine import ENGLISH, make_parser
from threadpoolctl import threadpool_limits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sklearn_shag.encoding import encode_columns
from sklearn_shag.metrics import labeled_attachment_score
from sklearn_shag.network._estimators import SCHEDULE
from sklearn_shag.parsing import eisner

EMBEDDED, HIDDEN, ARC, LABEL, DROPOUT, RATE = 64, 100, 100, 50, 0.1, 2e-3
UNKNOWN, ROOT = 0, 1  # codes of the package


class BiLSTM(nn.Module):
    """Embeddings of groups of columns, two layers, biaffine scores of arcs and labels."""

    def __init__(self, groups, sizes, n_labels):
        super().__init__()
        self.groups = groups
        self.tables = nn.ModuleList(nn.Embedding(size, EMBEDDED) for size in sizes)
        width = EMBEDDED * len(groups)
        self.lstm = nn.LSTM(width, HIDDEN, 2, batch_first=True, bidirectional=True, dropout=DROPOUT)
        self.vectors = nn.ModuleList(
            nn.Linear(2 * HIDDEN, size) for size in (ARC, ARC, LABEL, LABEL)
        )
        self.arcs = nn.Parameter(torch.eye(ARC))
        self.of_head = nn.Parameter(torch.zeros(ARC))
        self.labels = nn.Bilinear(LABEL, LABEL, n_labels) if n_labels else None
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, codes, lengths):
        """Score all arcs, (n_sentences, longest, longest); return the vectors for labels too."""
        x = torch.cat(
            [sum(self.tables[k](codes[:, :, k]) for k in group) for group in self.groups], dim=2
        )
        packed = pack_padded_sequence(
            self.dropout(x), lengths, batch_first=True, enforce_sorted=False
        )
        x, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        x = self.dropout(x)
        heads, modifiers, *others = (
            self.dropout(nn.functional.leaky_relu(layer(x), 0.1)) for layer in self.vectors
        )
        scores = (modifiers @ self.arcs + self.of_head) @ heads.transpose(1, 2)
        outside = torch.arange(codes.shape[1])[None, :] >= lengths[:, None]
        return scores.masked_fill(outside[:, None, :], -1e9), others


def pad(sentences):
    """Put sentences, (n_rows, n_columns) each, side by side."""
    lengths = torch.tensor([len(each) for each in sentences])
    codes = np.full((len(sentences), int(lengths.max()), sentences[0].shape[1]), ROOT)
    for k, each in enumerate(sentences):
        codes[k, : len(each)] = each
    return torch.from_numpy(codes).long(), lengths


def pad_targets(targets):
    """Of the tokens of sentences, behind the root, -100 where there is no loss."""
    longest = max(map(len, targets)) + 1
    padded = np.full((len(targets), longest), -100)
    for k, each in enumerate(targets):
        padded[k, 1 : len(each) + 1] = each
    return torch.from_numpy(padded)


def label_scores(model, others, heads):
    """Score the labels of the arcs to given heads."""
    modifiers, of_heads = others
    places = heads.clamp(min=0)[:, :, None].expand(-1, -1, LABEL)
    return model.labels(modifiers, of_heads.gather(1, places).contiguous())


def train(model, sentences, heads, labels, batch_size, max_iter):
    """Go over the sentences with Adam; return the CPU seconds that it took."""
    started = time.process_time()
    optimizer = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.95))
    rng = np.random.default_rng(0)
    lengths = np.array([len(each) for each in sentences])
    for _ in range(max_iter):
        order = rng.permutation(len(sentences))
        cuts = np.cumsum(lengths[order]) // batch_size
        for batch in np.split(order, np.flatnonzero(np.diff(cuts)) + 1):
            codes, rows = pad([sentences[s] for s in batch])
            codes[torch.rand(codes.shape) < 0.05] = UNKNOWN
            scores, others = model(codes, rows)
            true = pad_targets([heads[s] for s in batch])
            loss = cross_entropy(scores.flatten(0, 1), true.flatten())
            if model.labels is not None:
                of_labels = label_scores(model, others, true)
                known = pad_targets([labels[s] for s in batch])
                loss = loss + cross_entropy(of_labels.flatten(0, 1), known.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
    return time.process_time() - started


@torch.no_grad()
def parse(model, sentences):
    """Find the best projective trees, and their labels, of sentences one by one."""
    model.eval()
    found = []
    for sentence in sentences:
        scores, others = model(*pad([sentence]))
        scores = torch.log_softmax(scores[0, 1:], dim=1).double().numpy()
        heads, _ = eisner(scores)
        labels = None
        if model.labels is not None:
            given = torch.from_numpy(np.concatenate([[0], heads]))[None]
            labels = label_scores(model, others, given)[0, 1:].argmax(dim=1).numpy()
        found.append((heads, labels))
    return found


def compare(treebank_name, part):
    """Train both, and return a row for each."""
    treebank = load(treebank_name)
    parser = make_parser(part, treebank_name, 0)
    parser.fit(treebank.train[:20]).predict(treebank.test[:20])  # compiles
    _, seconds = seconds_of(lambda: parser.fit(treebank.train))
    rows = [scores_of("BiaffineParser", seconds, parser.parse(treebank.test), treebank, part)]

    columns, network, _ = parser._network()
    groups = [group.columns for group in network.sizes.groups]
    n_codes = [3 + len(values) for values in parser.vocabulary_.values()]

    def rows_of(trees):
        codes = encode_columns(columns, trees, np.cumsum([0, *map(len, trees)]))
        parts = np.split(codes, np.cumsum([len(tree) for tree in trees])[:-1])
        return [np.vstack([np.full((1, codes.shape[1]), ROOT), each]) for each in parts]

    places = {label: k for k, label in enumerate(parser.labels_)}
    labels = [[places.get(label, -100) for label in tree.deprels] for tree in treebank.train]
    torch.manual_seed(0)
    model = BiLSTM(groups, n_codes, len(places))
    heads = [tree.heads for tree in treebank.train]
    n_tokens = sum(map(len, treebank.train))
    batch_size = next(size for limit, size, _ in SCHEDULE if n_tokens < limit)
    seconds = train(
        model, rows_of(treebank.train), heads, labels, batch_size, len(parser.loss_curve_)
    )
    parsed = [
        tree.with_heads(found, None if which is None else parser.labels_[which])
        for tree, (found, which) in zip(
            treebank.test, parse(model, rows_of(treebank.test)), strict=True
        )
    ]
    rows.append(scores_of("BiLSTM, PyTorch", seconds, parsed, treebank, part))
    for row in rows:
        row["ratio"] = row["training (CPU s)"] / rows[0]["training (CPU s)"]
    return rows


def scores_of(name, seconds, parsed, treebank, part):
    right = [tree.heads == other.heads for tree, other in zip(treebank.test, parsed, strict=True)]
    las = labeled_attachment_score(treebank.test, parsed) if part == "words" else np.nan
    uas = np.concatenate(right).mean()
    return {"parser": name, "training (CPU s)": seconds, "UAS": 100 * uas, "LAS": 100 * las}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", nargs="?", default=ENGLISH)
    parser.add_argument("--part", nargs="+", choices=["tags", "words"], default=["tags", "words"])
    parser.add_argument("--output", help="default: in the folder results beside the script")
    arguments = parser.parse_args()
    report = Report("bilstm", arguments.output)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for part in arguments.part:
            report.add(f"{arguments.treebank} from {part}", compare(arguments.treebank, part))


if __name__ == "__main__":
    main()
