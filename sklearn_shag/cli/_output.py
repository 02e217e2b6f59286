"""Output of the command `parse`: trees as CoNLL-U or JSON, in documents with numbered sentences."""

import json
import re
from collections import Counter
from itertools import groupby
from operator import itemgetter

from sklearn_shag.treebank import ConlluError, set_comment
from sklearn_shag.utils._messages import warn

_OF_OWN = re.compile(r"#\s*(sent_id|text)\s*=")  # comments that have a key of their own


def encode_json(content):
    """Return a value as JSON in bytes, on one line."""
    return json.dumps(content, ensure_ascii=False).encode()


def describe_tree(tree, probabilities):
    """Describe a tree as a dict for JSON, with the places and probabilities of its words."""
    content = tree.to_dict()
    del content["sent_id"]  # has its own place
    comments = [each for each in content["comments"] if not _OF_OWN.match(each)]
    begin, end = zip(*(span or (None, None) for span in tree.spans), strict=True)
    return content | {"comments": comments, "begin": begin, "end": end} | probabilities


class Output:
    """Makes the output of the sentences of pieces, in order, and says how much there was.

    Parameters
    ----------
    is_json : bool
    has_documents : bool
        Whether sentences belong to documents, each a line of JSON, and are numbered there.
    skips : bool
        Whether to go on behind errors.

    Attributes
    ----------
    counts : Counter
        Of sentences, unparsed ones, documents, refused and empty ones, and of sentences in the
        document.
    empty : list of str
        Documents that are to be noted in the next one in CoNLL-U.
    """

    def __init__(self, is_json, has_documents, skips):
        self.is_json, self.has_documents, self.skips = is_json, has_documents, skips
        self.counts, self.empty, self._text = Counter(), [], []

    def add(self, pieces, found):
        """Yield the output of pieces; `found` holds what a PieceParser has found in them."""
        by_piece = {k: list(rows) for k, rows in groupby(found, key=itemgetter(0))}
        for k, piece in enumerate(pieces):
            for _, result in by_piece.get(k, ()):
                if isinstance(result, ConlluError):
                    if not self.counts["unparsed"]:
                        self._report(result, "the sentence is passed on as it is")
                    self.counts["unparsed"] += 1
                else:
                    self.counts.update(["sentences", "in_document"])
                    yield from self._add_sentence(piece, result) if self.has_documents else result
            if self.has_documents and piece.ends:
                yield from self._end(piece)
            self.read(piece)

    def read(self, piece):
        """Keep the text of a document, to be written at its end."""
        if self.is_json and self.has_documents:
            self._text = [] if piece.ends else [*self._text, piece.text]

    def _add_sentence(self, piece, texts):
        document, number = piece.document, self.counts["in_document"]
        name = str(number) if document is None else f"{document}-{number}"
        if self.is_json:
            yield self._begin(document) if number == 1 else b", "
            head = b'{"sent_id": ' + encode_json(name) + b", "
            yield b", ".join(head + text[1:] for text in texts)
            return
        if document is not None and number == 1:
            notes = "".join(f"# empty_document = {each}\n" for each in self.empty)
            yield f"# newdoc id = {document}\n{notes}".encode()
            self.empty = []
        yield from (set_comment(text.decode(), "sent_id", name).encode() for text in texts)

    def _end(self, piece):
        """Yield the end of a document, which is left out if there is nothing but an error."""
        document, is_refused = piece.document, piece.error is not None
        is_empty = not self.counts.pop("in_document", 0)
        if is_refused:
            name = "the text" if document is None else f"document {document!r}"
            self._report(piece.error, f"{'' if is_empty else 'the rest of '}{name} is left out")
        self.counts.update(documents=1, refused=is_refused, empty=is_empty and not is_refused)
        if self.is_json and not (is_empty and is_refused):
            yield self._begin(document) if is_empty else b""
            yield b'], "text": ' + encode_json("".join(self._text)) + b"}\n"
        elif is_empty and not (is_refused or document is None):
            self.empty.append(str(document))

    def _begin(self, document):
        return b'{"id": ' + encode_json(document) + b', "sentences": ['

    def _report(self, error, message):
        if not self.skips:
            raise error
        warn(f"{error}; {message}", UserWarning)

    def summarize(self):
        """Warn of sentences without a parse, and of documents that were left out."""
        of = self.counts
        others = f"the others have {of['sentences']} sentences, and {of['empty']} are empty"
        for name, rest in (
            ("unparsed", f"{of['sentences']} sentences were passed on without a parse"),
            ("refused", f"{of['documents']} documents were left out; {others}"),
        ):
            if of[name]:
                warn(f"{of[name]} of {rest}", UserWarning)
