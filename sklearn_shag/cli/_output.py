"""Output of the command `parse`: trees as CoNLL-U or JSON, in documents with numbered sentences."""

import json
import math
from collections import Counter

from sklearn_shag.treebank import set_comment


def encode_json(content):
    """Return a value as JSON in bytes, on one line."""
    return json.dumps(content, ensure_ascii=False).encode()


def describe_tree(tree, probabilities):
    """Describe a tree as a dict for JSON, with the places and probabilities of its words."""
    content, comments = tree.to_dict(), []
    del content["sent_id"]  # has its own place
    for comment in content["comments"]:
        name, _, value = comment.removeprefix("#").partition("=")
        if name.strip() == "score":
            content["score"] = float(value) if math.isfinite(float(value)) else None
        elif name.strip() not in ("sent_id", "text"):
            comments.append(comment)
    begin, end = zip(*(span or (None, None) for span in tree.spans), strict=True)
    return content | {"comments": comments, "begin": begin, "end": end} | probabilities


class Output:
    """Makes the output of one sentence after the other.

    Parameters
    ----------
    is_json : bool
    has_documents : bool
        Whether sentences belong to documents, each a line of JSON, and are numbered there.

    Attributes
    ----------
    counts : Counter
        Of sentences, unparsed ones, documents, refused and empty ones, and of sentences in the
        document.
    empty : list of str
        Documents that are to be noted in the next one in CoNLL-U.
    """

    def __init__(self, is_json, has_documents):
        self.is_json, self.has_documents = is_json, has_documents
        self.counts, self.empty, self._text = Counter(), [], []

    def read(self, piece):
        """Keep the text of a document, to be written at its end."""
        if self.is_json and self.has_documents:
            self._text = [] if piece.ends else [*self._text, piece.text]

    def sentence(self, piece, texts):
        """Return the output of a sentence of a piece; `texts` are its trees, in bytes."""
        self.counts["sentences"] += 1
        if not self.has_documents:
            return b"".join(texts)
        document = piece.document
        self.counts["in_document"] += 1
        number = self.counts["in_document"]
        name = str(number) if document is None else f"{document}-{number}"
        if self.is_json:
            head = b'{"sent_id": ' + encode_json(name) + b", "
            before = self._begin(document) if number == 1 else b", "
            return before + b", ".join(head + text[1:] for text in texts)
        texts = [set_comment(text.decode(), "sent_id", name).encode() for text in texts]
        if document is not None and number == 1:
            notes = "".join(f"# empty_document = {each}\n" for each in self.empty)
            texts.insert(0, f"# newdoc id = {document}\n{notes}".encode())
            self.empty = []
        return b"".join(texts)

    def end(self, piece):
        """Return the output of the end of a document, which is left out if it has only an error."""
        is_empty = not self.counts.pop("in_document", 0)
        is_refused = piece.error is not None
        self.counts.update(documents=1, refused=is_refused, empty=is_empty and not is_refused)
        if is_empty and is_refused:
            return b""
        if self.is_json:
            before = self._begin(piece.document) if is_empty else b""
            return before + b'], "text": ' + encode_json("".join(self._text)) + b"}\n"
        self.empty += [str(piece.document)] * (is_empty and piece.document is not None)
        return b""

    def _begin(self, document):
        return b'{"id": ' + encode_json(document) + b', "sentences": ['
