"""Guesses what a file is that is not CoNLL-U, for messages that say how to go on."""

import codecs
import re

# What no text begins with -> what it is.
_BEGINNINGS = {
    codecs.BOM_UTF16_LE: "text in UTF-16, as some programs for Windows write it; save it in UTF-8",
    codecs.BOM_UTF16_BE: "text in UTF-16; save it in UTF-8",
    b"PK\x03\x04": "a zip archive, as are model files (.npz); unpack it first, or, if it is a "
    "model, give it where a model is expected",
    b"\xfd7zXZ\x00": "compressed with xz; decompress it first, or use gzip",
    b"BZh": "compressed with bzip2; decompress it first, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first, or use gzip",
}


def describe_binary(data):
    """Tell what a file is that is no text.

    Parameters
    ----------
    data : bytes
        The file.

    Returns
    -------
    description : None or str
        None for what may be text.
    """
    for beginning, description in _BEGINNINGS.items():
        if data.startswith(beginning):
            return f"this is {description}"
    if b"\0" in data[:1024]:
        return "this is a binary file, and not text in UTF-8"
    return None


def guess_format(line):
    """Guess the format of a line that does not have the columns of CoNLL-U.

    Parameters
    ----------
    line : str

    Returns
    -------
    guess : None or str
        What the line looks like, and what to do; None without a guess.
    """
    columns = line.split("\t")
    if "\r" in line:
        return r"text whose line ends are '\r', as on old Macs; convert them to '\n'"
    if len(columns) == 1:
        return _guess_without_tabs(line.strip())
    if len(columns) >= 14 and columns[0].isdigit() and columns[8].isdigit():
        return (
            "CoNLL-2009; write its columns 1, 2, 3, 5, 6, 7, 9 and 11 and two columns of '_', as "
            "ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS and MISC"
        )
    if len(columns) == 8 and columns[0].isdigit() and columns[6].isdigit():
        return "CoNLL-X without its last two columns; write '_' in columns 9 and 10"
    return None


def _guess_without_tabs(line):
    words = line.split()
    if len(words) in (8, 10) and words[0].isdigit() and (words[6].isdigit() or words[6] == "_"):
        return "CoNLL-U with spaces for tabs; put one tab between two columns"
    if line.startswith("version https://git-lfs"):
        return "a pointer of Git LFS in place of the file; fetch the file with `git lfs pull`"
    for name, separator in (("commas", ","), ("semicolons", ";")):
        if line.count(separator) == 9:
            return f"columns separated by {name}; put tabs between them"
    if re.match(r"\(\s*\(|\([A-Z]\S*\s*(\(|$)", line):
        return (
            "Penn Treebank brackets; convert constituents to dependencies first, for example with "
            "the UniversalDependenciesConverter of Stanford CoreNLP"
        )
    if line.startswith("#"):
        return "a comment; its '#' must be the first character of the line"
    if line.startswith("<"):
        return "XML or HTML; if it was saved from a web page, download the raw file in its place"
    if re.match(r"[\[{]\s*([\"{\[]|$)", line):
        return "JSON; convert it to CoNLL-U first"
    if len(words) == 1 and line.count(",") + line.count(";") > 1:
        return "a table with commas or semicolons between its columns; convert it to CoNLL-U first"
    return (
        "plain text; with a sentence a line and spaces between its words, read_horizontal reads it "
        "(on the command line parse --input horizontal), for parsers that need no tags; else tag "
        "it first, with a tagger that writes CoNLL-U, such as Stanza or UDPipe"
    )
