"""Make sentences out of trees: raw text of kinds that books and web pages hardly have.

Usage: python benchmarks/made.py OUT --trees FILE... [--number N] [--kinds KIND...] [--seed N]
[--without LIST...] [--conllu]

Each FILE has trees with all columns, in CoNLL-U; crossing ones are left out. OUT gets N sentences
of each kind, one in each line with spaces between tokens, none twice and none of a LIST of
benchmarks/everyday.py. They are raw text, which a teacher parses; with --conllu, OUT has the trees
too that the rules give them, to see whether the teacher knows the construction. The same seed makes
the same sentences.

Kinds are rules of grammar for clauses of any words:

clause      a main or subordinate clause alone, without some or all of what it may lack
bare        the same about many: plurals without articles, in the present
people      what "I" or "they" do, said of people in the plural, in the present
exchange    words of a clause exchanged for others of the same tag and frame
relative    a clause about a noun, whose object or complement of a preposition it is
question    a clause turned round, with "do" if needed
asked       a question for its object or, leaving the preposition behind, for an oblique
imperative  a clause without its subject
headline    without articles, forms of "be" and the full stop, in the present
gapped      two clauses of the same verb, the second without it
run_on      two clauses, questions or imperatives with a comma between them
inverted    a negative adverb, or a place and the verb, before the subject
casual      lower case, or without apostrophes, or without the final mark

Words are drawn by the square root of their frequency with all tags, so that words which usually
have another tag are frequent, and clauses whose words are exchanged by the square root of that of
their frame. The verbs of what people do are drawn by their frequency with other tags alone.
Relative clauses, and clauses without their verb, are about the same words as others.
"""

import argparse
from collections import Counter, defaultdict
from itertools import chain

import numpy as np
from _phrases import (
    Lexicon,
    Phrase,
    end,
    find_finite,
    find_negation,
    is_article,
    is_negation,
    is_thing,
    read_phrases,
    write_tree,
)
from everyday import letters_of, read_listed

from sklearn_shag.treebank import DependencyTree, iter_conllu, write_conllu

CLAUSES = {"root", "ccomp", "advcl", "conj", "parataxis"}
SUBJECTS = {"nsubj", "nsubj:pass", "expl"}
PERSONAL = {"I", "you", "he", "she", "we", "they"}
# What a clause may lack; conjuncts and the like go with their conjunctions and marks.
OPTIONAL = {"advmod", "obl", "advcl", "conj", "appos", "acl", "nmod", "amod", "nummod", "obl:tmod"}
OPTIONAL |= {"acl:relcl", "nmod:tmod", "obl:npmod", "nmod:npmod", "obl:unmarked", "nmod:unmarked"}
OUTSIDE = {"mark", "cc", "punct", "parataxis", "discourse", "vocative", "dislocated", "list"}
OUTSIDE |= {"reparandum", "cc:preconj", "goeswith", "orphan"}
LONGEST = 15  # words of a clause that is used
DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}
# Auxiliaries that are shortened behind a subject, in full.
FULL = {("be", "'s"): "is", ("have", "'s"): "has", ("be", "'re"): "are", ("be", "'m"): "am"}
FULL |= {("have", "'ve"): "have", ("will", "'ll"): "will", ("have", "'d"): "had"}
FULL |= {("would", "'d"): "would", ("will", "'d"): "would"}
NEGATIVE = "never", "rarely", "seldom", "hardly", "scarcely"
STRANDED = {"to", "for", "with", "at", "in", "on", "from", "about", "of", "into", "by"}
ABBREVIATIONS = {"you": "u", "your": "ur", "are": "r", "thanks": "thx", "please": "pls"}
ABBREVIATIONS |= {"because": "bc", "people": "ppl", "and": "&", "with": "w/", "tomorrow": "tmrw"}
KINDS = ("clause", "bare", "exchange", "relative", "question", "asked", "imperative", "headline")
KINDS += ("gapped", "run_on", "inverted", "casual", "people")
FINISHED = "clause", "exchange", "question", "asked", "run_on", "imperative"  # may be casual


def is_clause(word):
    """Whether a word heads a clause with a subject, and is a verb or has a copula."""
    if word.relation not in CLAUSES or not (word.upos == "VERB" or word.find("cop")):
        return False
    finite, relations = find_finite(word), [part.relation for part in word.before]
    places = [k for k, relation in enumerate(relations) if relation in SUBJECTS]
    if finite is None or not places or len(list(word)) > 2 * LONGEST:
        return False
    is_turned = any(part is finite for part in word.before[: places[0]])
    asks = any(each.xpos[0] == "W" for part in word.before for each in (part, *part.before))
    return not (is_turned or asks)


class Workshop:
    """Makes sentences of the clauses of trees."""

    def __init__(self, trees):
        projective = (tree for tree in trees if tree.is_projective and tree.lemmas)
        phrases = [read_phrases(tree) for tree in projective]
        self.lexicon = Lexicon(phrases)
        self.clauses = [word for word in chain.from_iterable(phrases) if is_clause(word)]
        self.by_subject, self.by_verb = defaultdict(list), defaultdict(list)
        self.by_frame, self.by_person = defaultdict(list), defaultdict(list)
        for clause in self.clauses:
            self.by_frame[clause.upos, clause.frame()].append(clause)
            subject = clause.find("nsubj")
            form = self.lexicon.find_form(clause.lemma, "VBP")
            if clause.upos == "VERB" and subject and subject.lemma in PERSONAL and form:
                self.by_person[form].append(clause)
            if is_thing(subject) and subject in clause.before:
                self.by_subject[subject.lemma, subject.xpos].append(clause)
            if clause.upos == "VERB":
                self.by_verb[clause.lemma].append(clause)
        self.subjects, self.frames = list(self.by_subject.values()), list(self.by_frame.values())
        shares = np.sqrt([len(clauses) for clauses in self.frames])
        self.of_frames = shares / shares.sum()
        self.verbs = sorted(self.by_person)
        counts, as_verb = self.lexicon.counts, self.lexicon.as_verb
        shares = np.array([1 + counts[form] - as_verb[form] for form in self.verbs])
        self.of_verbs = shares / shares.sum()
        plurals = (self.lexicon.find_form(each, "NNS") for each in sorted(self.lexicon.persons))
        self.persons = list(filter(None, plurals))
        self.rng = np.random.default_rng(0)

    def happens(self, probability):
        return self.rng.random() < probability

    def pick(self, items):
        return items[self.rng.integers(len(items))]

    def cut(self, clauses=None, shares=(0.2, 0.6, 1.0)):
        """Return a copy of a clause without what surrounds it and a share of what it may lack."""
        clause = self.pick(self.clauses if clauses is None else clauses).copy()
        clause.remove(*OUTSIDE)
        share = self.pick(shares)
        for word in list(clause):
            marks = () if word.relation in ("conj", "appos") else ("punct", "parataxis")
            for parts in (word.before, word.after):
                parts[:] = [
                    part
                    for part in parts
                    if is_negation(part)
                    or (part.relation not in OPTIONAL and part.relation not in marks)
                    or (part.relation in OPTIONAL and not self.happens(share))
                ]
        return clause if 2 <= len(list(clause)) <= LONGEST else None

    def clause(self):
        clause = self.cut()
        return clause and end(clause)

    def exchange(self):
        frame = self.frames[self.rng.choice(len(self.frames), p=self.of_frames)]
        clause = self.cut(frame)
        if clause is None:
            return None
        share = self.pick((0.3, 0.6, 1.0))
        for word in clause:
            if self.happens(share):
                self.lexicon.exchange(word, self.rng)
        return self.turn(clause)

    def turn(self, clause):
        """Make a sentence of a clause, in few cases a question or an imperative."""
        kind = self.pick((self.ask, self.command, *[end] * 8))
        return kind(clause)

    def pluralize(self, noun):
        """Make a noun a bare plural; tell whether it is one."""
        if not is_thing(noun) or not self.lexicon.inflect(noun, "NNS"):
            return False
        noun.remove("det", "nummod")
        if self.happens(0.5):
            noun.remove("nmod:poss", "amod", "compound")
        return True

    def bare(self):
        clause = self.cut(shares=(0.6, 1.0))
        if clause is None or clause.upos != "VERB" or clause.find("aux:pass", "expl") is not None:
            return None
        subject, thing = clause.find("nsubj"), clause.find("obj")
        if subject is None or not self.lexicon.inflect(clause, "VBP"):
            return None
        clause.remove("aux", "iobj", "advmod", "conj", "advcl")
        if subject.upos in ("PRON", "PROPN"):
            other = self.cut(self.pick(self.subjects))
            if other is None:
                return None
            clause.exchange(subject, other.find("nsubj"))
            subject = other.find("nsubj")
        if not self.pluralize(subject):
            return None
        if is_thing(thing) and self.happens(0.8):
            self.pluralize(thing)
        if self.happens(0.7):
            self.lexicon.exchange(clause, self.rng)
        if self.happens(0.5):
            for word in (subject, thing):
                if word is not None:
                    self.lexicon.exchange(word, self.rng)
        return self.turn(clause)

    def people(self):
        verb = self.verbs[self.rng.choice(len(self.verbs), p=self.of_verbs)]
        clause = self.cut(self.by_person[verb], shares=(0.6, 1.0))
        if clause is None or clause.find("expl", "aux:pass") or find_negation(clause):
            return None
        clause.remove("aux", "iobj", "advmod", "conj", "advcl")
        clause.form, clause.xpos = verb, "VBP"
        people = Phrase(self.pick(self.persons), "nsubj", upos="NOUN", xpos="NNS")
        clause.exchange(clause.find("nsubj"), people)
        if self.happens(0.5):
            self.pluralize(clause.find("obj"))
        return self.turn(clause)

    def relative(self):
        about, host = self.relativize()
        if about is None:
            return None
        if self.happens(0.3) and is_thing(host.find("obj")):
            replaced = host.find("obj")
        else:
            replaced = host.find("nsubj")
        about.relation = replaced.relation
        host.exchange(replaced, about)
        return self.turn(host) if len(list(host)) <= 2 * LONGEST else None

    def relativize(self):
        """Return a noun with a clause about it, and another clause about the same noun."""
        clause = self.cut(shares=(0.8, 1.0))
        found = None if clause is None else self.take_object(clause)
        if found is None or not is_thing(found[0]):
            return None, None
        clause.remove("conj", "advcl", "ccomp")
        noun, preposition = found
        hosts = self.by_subject.get((noun.lemma, noun.xpos))
        host = self.cut(hosts, shares=(0.6, 1.0)) if hosts else None
        if host is None:
            return None, None
        who = "who" if noun.lemma in self.lexicon.persons else "which"
        pronoun = self.pick(("that", "that", None, None, who))
        clause.add(preposition and Phrase(preposition, "case"))
        clause.put(pronoun and Phrase(pronoun, "obl" if preposition else "obj"))
        clause.relation = "acl:relcl"
        noun.remove("acl:relcl", "acl", "case", "nmod")
        if noun.find("det", "nmod:poss") is None and self.happens(0.7):
            noun.put(Phrase("the", "det"))
        elif noun.find("det") is not None and self.happens(0.7):
            noun.find("det").form = "the"
        return noun.add(clause), host

    def take_object(self, clause):
        """Take the object from a clause, or an oblique without its preposition; return both."""
        thing = clause.find("obj")
        if thing is not None and thing in clause.after:
            return clause.take(thing), None
        for part in clause.after:
            case = part.find("case")
            is_simple = case is not None and case.form in STRANDED
            if part.relation == "obl" and is_simple and len(case.parts) == 0:
                part.take(case)
                return clause.take(part), case.form
        return None

    def invert(self, clause):
        """Put the finite auxiliary, or "do", before everything else; tell whether that is right."""
        finite = find_finite(clause)
        if finite is None or clause.find("expl") in clause.after:
            return False
        if finite is clause and clause.lemma == "be":  # the subject goes behind it
            subjects = [part for part in clause.before if part.relation in SUBJECTS]
            clause.after[:0] = [clause.take(part) for part in subjects]
        elif finite is clause:
            form = DO[finite.xpos]
            if not self.lexicon.inflect(clause, "VB"):
                return False
            clause.put(Phrase(form, "aux"))
        else:
            negation = find_negation(clause)
            negation = negation if negation is not None and negation.form == "n't" else None
            clause.take(finite).form = FULL.get((finite.lemma, finite.form), finite.form)
            clause.put(finite, negation and clause.take(negation))
        return True

    def ask(self, clause):
        return end(clause, "?") if self.invert(clause) else None

    def question(self):
        clause = self.cut()
        return clause and self.ask(clause)

    def asked(self):
        clause = self.cut()
        found = None if clause is None else self.take_object(clause)
        if found is None or not self.invert(clause):
            return None
        thing, preposition = found
        relation = "obl" if preposition else "obj"
        person = thing.upos == "PROPN" or thing.lemma in {"he", "she", *self.lexicon.persons}
        asked = Phrase("who" if person else "what", relation)
        if is_thing(thing) and self.happens(0.4):
            thing.remove("det", "nmod:poss", "nummod", "acl", "acl:relcl", "nmod", "amod")
            word = self.pick(("which", "what", "whose"))
            asked = thing.put(Phrase(word, "nmod:poss" if word == "whose" else "det"))
            asked.relation = relation
        clause.put(asked).add(preposition and Phrase(preposition, "case"))
        return end(clause, "?")

    def command(self, clause):
        if clause.upos != "VERB" or clause.find("expl", "aux:pass", "nsubj:pass") is not None:
            return None
        if not self.lexicon.inflect(clause, "VB"):
            return None
        clause.remove("nsubj", "aux")
        if find_negation(clause) is not None:
            clause.take(find_negation(clause))
            if self.happens(0.5):
                clause.put(Phrase("do", "aux"), Phrase("n't", "advmod"))
        if self.happens(0.1):
            clause.put(Phrase("please", "discourse"))
        return end(clause, self.pick(("!", ".", ".", ".")))

    def imperative(self):
        clause = self.cut()
        if clause is not None and self.happens(0.5):
            self.lexicon.exchange(clause, self.rng)
        return clause and self.command(clause)

    def headline(self):
        clause = self.cut(shares=(0.6, 1.0, 1.0))
        subject = None if clause is None else clause.find("nsubj", "nsubj:pass")
        if not is_thing(subject, ("NN", "NNS", "NNP", "NNPS")) or clause.upos != "VERB":
            return None
        finite, tag = find_finite(clause), "VBP" if subject.xpos.endswith("S") else "VBZ"
        if finite is clause and not self.lexicon.inflect(clause, tag):
            return None
        comes = finite is clause and self.happens(0.15) and self.lexicon.inflect(clause, "VB")
        for word in [*clause]:
            for parts in (word.before, word.after):
                parts[:] = [p for p in parts if not (is_article(p) or p.lemma in ("be", "have"))]
        if comes or finite.lemma == "will":
            clause.remove("aux")
            clause.before.append(Phrase("to", "mark"))
        share = self.pick((0.3, 0.6, 1.0))
        for word in clause:
            if self.happens(share):
                self.lexicon.exchange(word, self.rng)
        clause.relation = "root"
        return clause if len(list(clause)) > 1 else None

    def gapped(self):
        clause = self.cut()
        if clause is None or clause.upos != "VERB" or clause.find("ccomp", "xcomp") is not None:
            return None
        clause.remove("conj", "advcl")
        own = clause.find("obj", "obl")
        other = self.cut(self.by_verb[clause.lemma], shares=(0.6, 1.0)) if own else None
        if other is None or own not in clause.after:
            return None
        subject, rest = other.find("nsubj"), other.find(own.relation)
        if subject is None or rest is None or clause.find("nsubj") is None:
            return None
        subject.relation, rest.relation = "conj", "orphan"
        conjunction = Phrase(self.pick(("and", "and", "but")), "cc")
        comma = Phrase(",", "punct") if self.happens(0.3) else None
        return end(clause.add(subject.put(comma, conjunction).add(rest)))

    def run_on(self):
        first, second = self.cut(), self.cut()
        if first is None or second is None:
            return None
        second = self.turn(second)
        if second is None:
            return None
        mark = second.after.pop()
        second.relation = "parataxis"
        comma = Phrase(",", "punct") if self.happens(0.7) else None
        return end(first.add(second.put(comma)), mark.form)

    def inverted(self):
        clause = self.cut()
        if clause is None or find_negation(clause) is not None:
            return None
        if self.happens(0.5):
            is_right = self.invert(clause)
            return end(clause.put(Phrase(self.pick(NEGATIVE), "advmod"))) if is_right else None
        place = next((p for p in clause.after if p.relation in ("compound:prt", "obl")), None)
        subject = clause.find("nsubj")
        is_bare = find_finite(clause) is clause and clause.find("obj", "xcomp", "ccomp") is None
        if place is None or not is_bare or not is_thing(subject, ("NN", "NNS", "NNP")):
            return None
        moved = clause.take(place), clause.take(subject)
        return end(clause.put(moved[0]).add(moved[1]))

    def make(self, kind):
        """Make a tree of a kind, or None if what was drawn does not fit."""
        is_casual = kind == "casual"
        phrase = getattr(self, self.pick(FINISHED) if is_casual else kind)()
        if phrase is None:
            return None
        return self.respell(write_tree(phrase)) if is_casual else write_tree(phrase)

    def respell(self, tree):
        """Write the words of a tree as in chats."""
        forms, heads = list(tree.forms), tree.heads.tolist()
        tags, relations = list(tree.upos), list(tree.deprels)
        ends, lower, loses, shortens = self.rng.random(4) < (0.6, 0.6, 0.6, 0.3)
        if ends and relations[-1] == "punct":
            del forms[-1], heads[-1], tags[-1], relations[-1]
        if shortens:
            forms = [ABBREVIATIONS.get(form.lower(), form) for form in forms]
        if loses:
            forms = [form.replace("'", "") or form for form in forms]
        if lower:
            forms = [form.lower() for form in forms]
        return DependencyTree(forms, heads, upos=tags, deprels=relations)


def make(trees, kinds, number, seed, left_out=()):
    """Yield names of kinds, and as many trees of each as asked for, no sentence twice.

    Sentences are left out whose letters are in `left_out`.
    """
    seen = set(left_out)
    workshop = Workshop(trees)
    for kind in kinds:
        workshop.rng, n_made = np.random.default_rng([seed, KINDS.index(kind)]), 0
        for _ in range(100 * number):
            tree = workshop.make(kind)
            letters = None if tree is None else letters_of("".join(tree.forms))
            if tree is None or letters in seen:
                continue
            seen.add(letters)
            yield kind, tree
            n_made += 1
            if n_made == number:
                break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", metavar="OUT")
    parser.add_argument("--trees", nargs="+", metavar="FILE", required=True)
    parser.add_argument("--number", type=int, default=5000)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", nargs="*", default=[], metavar="LIST")
    parser.add_argument("--conllu", action="store_true")
    options = parser.parse_args()
    trees = [tree for path in options.trees for tree in iter_conllu(path)]
    left_out = read_listed(options.without)
    made = list(make(trees, options.kinds, options.number, options.seed, left_out))
    print(Counter(kind for kind, _ in made))
    if options.conllu:
        write_conllu(options.output, [tree for _, tree in made])
    else:
        with open(options.output, "w", encoding="utf-8") as file:
            file.writelines(" ".join(tree.forms) + "\n" for _, tree in made)


if __name__ == "__main__":
    main()
