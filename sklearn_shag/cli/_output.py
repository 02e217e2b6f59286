"""Output of the command `parse`: trees as CoNLL-U or JSON, in documents with numbered sentences."""

import json
import math
from dataclasses import dataclass, field

from sklearn_shag.treebank import set_comment


def encode_json(content):
    """Return a value as JSON in bytes, on one line."""
    return json.dumps(content, ensure_ascii=False).encode()


def describe_tree(tree, probabilities):
    """Describe a tree as a dict for JSON, with the places and probabilities of its words."""
    content, comments = tree.to_dict(), []
    for comment in content["comments"]:
        name, _, value = comment.removeprefix("#").partition("=")
        if name.strip() == "score":
            content["score"] = float(value) if math.isfinite(float(value)) else None
        elif name.strip() not in ("sent_id", "text"):
            comments.append(comment)
    begin, end = zip(*(span or (None, None) for span in tree.spans), strict=True)
    return content | {"comments": comments, "begin": begin, "end": end} | probabilities


@dataclass
class Output:
    """Makes the output of one sentence after the other; its fields are how far it is."""

    is_json: bool
    has_documents: bool
    n_sentences: int = 0
    n_unparsed: int = 0
    n_documents: int = 0
    n_refused: int = 0
    n_empty: int = 0
    number: int = 0  # of the last sentence in its document
    empty: list[str] = field(default_factory=list)  # documents to be noted in the next one

    def __post_init__(self):
        self.text = []  # of the document so far, for JSON

    def read(self, piece):
        """Keep the text of a document, if it is to be written at its end."""
        if self.is_json and self.has_documents:
            self.text = [] if piece.ends else [*self.text, piece.text]

    def sentence(self, piece, texts):
        """Return the output of a sentence of a piece; `texts` are its trees, in bytes."""
        self.n_sentences += 1
        self.number += 1
        if not self.has_documents:
            return b"".join(texts)
        document = piece.document
        name = str(self.number) if document is None else f"{document}-{self.number}"
        if self.is_json:
            head = b'{"sent_id": ' + encode_json(name) + b", "
            before = self._begin(piece) if self.number == 1 else b", "
            return before + b", ".join(head + text[1:] for text in texts)
        texts = [set_comment(text.decode(), "sent_id", name).encode() for text in texts]
        if document is not None and self.number == 1:
            lines = [f"# newdoc id = {document}\n"]
            lines += [f"# empty_document = {each}\n" for each in self.empty]
            self.empty.clear()
            texts.insert(0, "".join(lines).encode())
        return b"".join(texts)

    def _begin(self, piece):
        return b'{"id": ' + encode_json(piece.document) + b', "sentences": ['

    def end(self, piece):
        """Return the output of the end of a document."""
        is_empty, self.number = not self.number, 0
        self.n_documents += 1
        self.n_refused += piece.error is not None
        if is_empty and piece.error is not None:
            return b""
        self.n_empty += is_empty
        if self.is_json:
            before = self._begin(piece) if is_empty else b""
            return before + b'], "text": ' + encode_json("".join(self.text)) + b"}\n"
        if is_empty and piece.document is not None:
            self.empty.append(str(piece.document))
        return b""
