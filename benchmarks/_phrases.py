"""Trees as phrases that rules of grammar can change, and the words of a treebank to do so."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from sklearn_shag.treebank import DependencyTree

COLUMNS = "form", "lemma", "upos", "xpos"
# What a word has beside it, by which words are exchanged.
FRAME = {"obj", "iobj", "ccomp", "xcomp", "csubj", "cop", "compound:prt", "expl"}
FRAME |= {"aux:pass", "det", "nmod:poss"}
OPEN = {"NOUN", "VERB", "ADJ", "ADV", "PROPN"}
FINITE = {"VBZ", "VBP", "VBD", "MD"}
# UPOS of the words that rules put in, by their relations.
TAGS = {"aux": "AUX", "det": "DET", "case": "ADP", "punct": "PUNCT", "cc": "CCONJ", "mark": "PART"}
TAGS |= {"advmod": "ADV", "discourse": "INTJ", "obj": "PRON", "obl": "PRON", "nmod:poss": "PRON"}


@dataclass(eq=False)
class Phrase:
    """A word with the phrases that depend on it, before and after it."""

    form: str
    relation: str = "dep"
    lemma: str = "_"
    upos: str = ""
    xpos: str = "XX"
    before: list = field(default_factory=list)
    after: list = field(default_factory=list)

    def copy(self):
        parts = ([part.copy() for part in side] for side in (self.before, self.after))
        return replace(self, **dict(zip(("before", "after"), parts, strict=True)))

    @property
    def parts(self):
        return [*self.before, *self.after]

    def __iter__(self):
        """Yield the words in their order, each as the phrase that it heads."""
        for part in self.before:
            yield from part
        yield self
        for part in self.after:
            yield from part

    def find(self, *relations):
        """Return the first part that has one of these relations, or None."""
        return next((part for part in self.parts if part.relation in relations), None)

    def remove(self, *relations):
        for parts in (self.before, self.after):
            parts[:] = [part for part in parts if part.relation not in relations]

    def take(self, part):
        """Take a part away, and return it."""
        (self.before if part in self.before else self.after).remove(part)
        return part

    def exchange(self, part, other):
        """Put another phrase in the place of a part."""
        parts = self.before if part in self.before else self.after
        parts[parts.index(part)] = other

    def put(self, *parts):
        """Put parts in front of all others."""
        self.before[:0] = [part for part in parts if part is not None]
        return self

    def add(self, *parts):
        """Put parts behind all others."""
        self.after += [part for part in parts if part is not None]
        return self

    def frame(self):
        return frozenset(part.relation for part in self.parts) & FRAME


def read_phrases(tree):
    """Make the phrase of a tree, with small letters where its words have them within sentences."""
    columns = tree.forms, tree.lemmas, tree.upos, tree.xpos
    words = [Phrase(**dict(zip(COLUMNS, each, strict=True))) for each in zip(*columns, strict=True)]
    top = None
    for k, (word, head, relation) in enumerate(zip(words, tree.heads, tree.deprels, strict=True)):
        word.relation = relation
        if word.upos != "PROPN" and word.lemma.islower() and word.form.istitle():
            word.form = word.form.lower()
        if head == 0:
            top = word
        else:
            side = words[head - 1].before if k < head - 1 else words[head - 1].after
            side.append(word)
    return top


def write_tree(phrase):
    """Make a tree of a phrase, which begins with a capital."""
    words = list(phrase)
    places = {id(word): k for k, word in enumerate(words, start=1)}
    heads, forms = dict.fromkeys(places, 0), [word.form for word in words]
    for word in words:
        heads |= {id(part): places[id(word)] for part in word.parts}
    for k, form in enumerate(forms[:-1]):
        if form in ("a", "an"):
            forms[k] = "an" if forms[k + 1][0] in "aeiouAEIO" else "a"
    forms[0] = forms[0][0].upper() + forms[0][1:]
    relations = [word.relation for word in words]
    tags = [word.upos or TAGS[word.relation] for word in words]
    return DependencyTree(forms, list(heads.values()), upos=tags, deprels=relations)


def end(phrase, mark="."):
    """Make a sentence of a clause."""
    phrase.relation = "root"
    return phrase.add(Phrase(mark, "punct"))


class Lexicon:
    """The words of trees: their forms, and which of them may stand for each other."""

    def __init__(self, phrases):
        forms, kinds, self.persons = defaultdict(Counter), defaultdict(set), set()
        self.counts, self.as_verb = Counter(), Counter()
        for word in chain.from_iterable(phrases):
            is_name = word.upos == "PROPN"
            form = word.form if is_name else word.form.lower()
            self.counts[form] += 1
            self.as_verb[form] += word.upos in ("VERB", "AUX")
            forms[word.lemma, word.xpos][form] += 1
            if word.upos in OPEN and form.isalpha():
                kinds[kind_of(word.xpos), word.frame()].add(word.lemma)
            clause = word.find("acl:relcl")
            if clause is not None and any(part.form == "who" for part in clause.parts):
                self.persons.add(word.lemma)
        self.forms = {key: found.most_common(1)[0][0] for key, found in forms.items()}
        self.lemmas = {key: sorted(lemmas) for key, lemmas in kinds.items()}
        self.shares = {}

    def find_form(self, lemma, xpos):
        """Return the form of a lemma with a tag, or None; verbs are regular if it is not known."""
        regular = lemma if xpos in ("VB", "VBP") else add_s(lemma) if xpos == "VBZ" else None
        return self.forms.get((lemma, xpos), regular)

    def inflect(self, word, xpos):
        """Give a word the form of a tag; tell whether that is known."""
        form = self.find_form(word.lemma, xpos)
        if form is not None:
            word.form, word.xpos = form, xpos
        return form is not None

    def exchange(self, word, rng):
        """Exchange a word for another one of the same tag and frame."""
        lemmas = self.lemmas.get((kind_of(word.xpos), word.frame()), [])
        if word.upos not in OPEN or len(lemmas) < 2:
            return
        key = word.xpos, word.frame()
        if key not in self.shares:
            forms = [self.find_form(lemma, word.xpos) for lemma in lemmas]
            words = [pair for pair in zip(forms, lemmas, strict=True) if pair[0] is not None]
            shares = np.sqrt([1 + self.counts[form] for form, _ in words])
            self.shares[key] = words, shares / shares.sum()
        words, shares = self.shares[key]
        word.form, word.lemma = words[rng.choice(len(words), p=shares)]


def kind_of(xpos):
    """The tag of a word, one for all verbs that have the same parts beside them."""
    return "VB" if xpos in ("VB", "VBP", "VBZ", "VBD") else xpos


def add_s(word):
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word[-1] == "y" and word[-2:-1] not in "aeiou" else f"{word}s"


def find_finite(clause):
    """Return the first finite auxiliary or copula of a clause, or the finite verb itself."""
    helpers = [part for part in clause.before if part.relation in ("aux", "aux:pass", "cop")]
    first = next((part for part in [*helpers, clause]), None)
    return first if first.xpos in FINITE else None


def is_thing(phrase, tags=("NN", "NNS")):
    return phrase is not None and phrase.xpos in tags


def find_negation(clause):
    return next((part for part in clause.parts if is_negation(part)), None)


def is_negation(part):
    return part.lemma in ("not", "n't") or part.form in ("not", "n't")


def is_article(part):
    return part.relation == "det" and part.form in ("the", "a", "an")
