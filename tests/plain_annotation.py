"""A plain model of annotated files, without code of the package: words refer to their heads."""

from copy import deepcopy

COLUMNS = {"lemma": 2, "upos": 3, "xpos": 4, "feats": 5}
ROOT = "root of all"


class PlainConflictError(Exception):
    """The state of a sentence does not allow a change."""


class Word:
    """A word, or an empty node."""

    def __init__(self, cells):
        self.cells, self.head, self.arcs = cells, None, []
        self.head_guessed = self.relation_guessed = False
        self.tags_guessed = set()
        self.nodes = []  # behind it

    @property
    def arc(self):
        return self.head, self.cells[7]


class PlainSentence:
    """Comments, words, ranges and empty nodes of a sentence; as it was read until it changes."""

    def __init__(self, text):
        self.raw = text
        rows = text.split("\n")
        self.comments = [row for row in rows if row.startswith("#")]
        self.words, self.ranges, self.nodes, by_number = [], [], [], {"0": ROOT}
        everyone, ranges = [], []
        for cells in (row.split("\t") for row in rows if not row.startswith("#")):
            if "-" in cells[0]:
                ranges.append(cells)
                continue
            word = by_number[cells[0]] = Word(cells)
            everyone.append(word)
            if "." in cells[0]:
                (self.words[-1].nodes if self.words else self.nodes).append(word)
            else:
                self.words.append(word)
        for word in everyone:
            word.head = by_number.get(word.cells[6])
            if word.cells[8] != "_":
                for arc in word.cells[8].split("|"):
                    head, _, relation = arc.partition(":")
                    word.arcs.append((by_number[head], relation))
        for cells in ranges:
            ends = [by_number[number] for number in cells[0].split("-")]
            self.ranges.append([*ends, cells])

    def all_nodes(self):
        return [*self.nodes, *(node for word in self.words for node in word.nodes)]

    def number(self):
        numbers = {id(ROOT): "0"}
        for k, nodes in enumerate([self.nodes, *(word.nodes for word in self.words)]):
            if k:
                numbers[id(self.words[k - 1])] = str(k)
            for m, node in enumerate(nodes, start=1):
                numbers[id(node)] = f"{k}.{m}"
        return numbers

    def write(self):
        if self.raw is not None:
            return self.raw
        numbers, rows = self.number(), list(self.comments)
        rows += [write_word(node, numbers) for node in self.nodes]
        for word in self.words:
            for first, last, cells in self.ranges:
                if first is word:
                    ends = f"{numbers[id(first)]}-{numbers[id(last)]}"
                    rows.append("\t".join([ends, *cells[1:]]))
            rows += [write_word(each, numbers) for each in (word, *word.nodes)]
        return "\n".join(rows)

    def comment(self, name):
        starts = f"# {name} = "
        return next((c.removeprefix(starts) for c in self.comments if c.startswith(starts)), None)

    def set_comment(self, name, value):
        places = [k for k, c in enumerate(self.comments) if c.startswith(f"# {name} = ")]
        new = [f"# {name} = {value}"] if value else []
        if places:
            for k in reversed(places):
                del self.comments[k]
            self.comments[places[0] : places[0]] = new
        else:
            self.comments += new

    def spell(self):
        if self.comment("text") is None:
            return
        pieces, inside = [], None
        for word in self.words:
            for first, last, cells in self.ranges:
                if first is word:
                    inside = last
                    pieces.append(cells)
            if inside is None:
                pieces.append(word.cells)
            if inside is word:
                inside = None
        ends = ["" if "SpaceAfter=No" in cells[9].split("|") else " " for cells in pieces]
        text = "".join(cells[1] + end for cells, end in zip(pieces, ends, strict=True))
        self.set_comment("text", text.rstrip())

    def range_of(self, word):
        k = self.words.index(word)
        for each in self.ranges:
            if self.words.index(each[0]) <= k <= self.words.index(each[1]):
                return each
        return None

    def place(self, arc):
        """The number of a head and the relation, as they sort."""
        if arc[0] is None:
            return [10**9], arc[1]
        return [int(n) for n in self.number()[id(arc[0])].split(".")], arc[1]


def write_word(word, numbers):
    cells = list(word.cells)
    cells[0] = numbers[id(word)]
    if "." not in cells[0]:
        cells[6] = "_" if word.head is None else numbers[id(word.head)]
    cells[8] = "|".join(f"{numbers[id(head)]}:{rel}" for head, rel in word.arcs) or "_"
    guessed = [name for name in ("upos", "xpos", "feats", "lemma") if name in word.tags_guessed]
    if word.relation_guessed and not word.head_guessed:
        guessed.append("deprel")
    marks = {"Predicted": word.head_guessed and "Yes", "Guessed": ",".join(guessed)}
    for name, value in marks.items():
        if value:
            cells[9] = add_item(cells[9], f"{name}={value}")
    return "\t".join(cells)


def add_item(misc, item):
    items = [] if misc == "_" else misc.split("|")
    names = [each.partition("=")[0].lower() for each in items]
    name = item.partition("=")[0].lower()
    larger = [k for k, each in enumerate(names) if each > name]
    items.insert(larger[0] if larger else len(items), item)
    return "|".join(items)


def complete_heads(heads):
    """The parser of the tests: words without a head hang on the root."""
    root = heads.index(0) + 1 if 0 in heads else heads.index(-1) + 1
    filled = [root if head == -1 else head for head in heads]
    filled[root - 1] = 0
    return filled


def follow(sentence, word, old, new):
    if old not in word.arcs or (old == new and new[0] is not None):
        return
    k = word.arcs.index(old)
    del word.arcs[k]
    if new not in word.arcs:
        own = sentence.place(new)
        places = [k for k, arc in enumerate(word.arcs) if sentence.place(arc) > own]
        word.arcs.insert(places[0] if places else len(word.arcs), new)


def parse(sentence, tags, old):
    """Fill what is not known, from words with guesses; arcs follow from what they were."""
    words = sentence.words
    at = {id(word): k for k, word in enumerate(words, start=1)} | {id(ROOT): 0}
    heads = [-1 if w.head is None or w.head_guessed else at[id(w.head)] for w in words]
    for word, head, filled in zip(words, heads, complete_heads(heads), strict=True):
        word.head_guessed = head == -1
        word.head = words[filled - 1] if filled else ROOT
        if word.relation_guessed or word.cells[7] == "_":
            word.cells[7] = "dep" if filled else "root"
            word.relation_guessed = True
    for name in tags:
        if name == "feats" and all(w.cells[5] == "_" or "feats" in w.tags_guessed for w in words):
            is_given = [False] * len(words)
        elif name == "feats":
            is_given = ["feats" not in w.tags_guessed for w in words]
        else:
            k = COLUMNS[name]
            is_given = [w.cells[k] != "_" and name not in w.tags_guessed for w in words]
        for word, given in zip(words, is_given, strict=True):
            if not given:
                word.cells[COLUMNS[name]] = tags[name]
                word.tags_guessed.add(name)
    for word, arc in zip(words, old, strict=True):
        follow(sentence, word, arc, word.arc)


def uncheck(sentence):
    """A sentence with guesses is not checked."""
    guessed = (w.head_guessed or w.relation_guessed or w.tags_guessed for w in sentence.words)
    if sentence.comment("checked") == "yes" and any(guessed):
        sentence.comments = [c for c in sentence.comments if not c.startswith("# checked")]


def loosen(sentence):
    """Heads that are guessed are unknown, and so are those of their arcs."""
    sentence.raw = None
    for word in sentence.words:
        if word.head_guessed:
            if word.arc in word.arcs:
                word.arcs.remove(word.arc)
                word.arcs.append((None, word.cells[7]))
            word.head = None


def cut_arcs(word, is_here, replaced=None, is_node=False):
    """Remove arcs from heads that are elsewhere."""
    arcs, old, arc = [], word.arcs, word.arc
    for head, relation in old:
        head = replaced.get(id(head), head) if replaced else head
        if head is None or (is_here(head) and head is not word):
            new = head, relation
        elif (head, relation) == arc:
            new = None, relation
        else:
            continue
        if new not in arcs:
            arcs.append(new)
    if word.head is not None and not is_node:
        head = replaced.get(id(word.head), word.head) if replaced else word.head
        if is_here(head):
            word.head = head
        else:
            word.head, word.head_guessed, word.relation_guessed = None, True, True
    if old and not arcs:
        if is_node:
            raise PlainConflictError
        arcs.append(word.arc)
    word.arcs = arcs


class PlainModel:
    """A file that is annotated."""

    def __init__(self, text, tags):
        self.sentences = [PlainSentence(each) for each in text.split("\n\n") if each]
        self.tags, self.done, self.undone, self.version = tags, [], [], len(self.sentences)

    def write(self):
        return "".join(f"{each.write()}\n\n" for each in self.sentences)

    def put(self, at, n, new):
        """Replace sentences."""
        change = self.sentences[at : at + n], new
        self.apply(*change)
        self.done.append(change)
        self.undone = []

    def apply(self, before, after):
        at = next(k for k, each in enumerate(self.sentences) if each is before[0])
        self.sentences[at : at + len(before)] = after
        self.version += 1

    def undo(self, at=None):
        places = range(len(self.done))
        if at is not None:
            # What is one sentence is told by its present state and all states before it.
            own = self.sentences[at]
            places = [k for k in places if any(each is own for each in self.done[k][1])]
        if not len(places):
            raise PlainConflictError
        change = self.done[places[-1]]
        now = {id(each) for each in self.sentences}
        if any(id(each) not in now for each in change[1]):
            raise PlainConflictError
        self.apply(change[1], change[0])
        self.undone.append(self.done.pop(places[-1]))

    def redo(self):
        if not self.undone:
            raise PlainConflictError
        change = self.undone.pop()
        self.apply(*change)
        self.done.append(change)

    def answer(self, at, answers):
        new = deepcopy(self.sentences[at], {id(ROOT): ROOT})
        new.raw = None
        words, freed = new.words, []
        old = [word.arc for word in words]
        if answers.keys() - {"checked", "note"} or answers.get("checked"):
            freed = self.change(new, answers)
            parse(new, self.tags, old)
            if answers.get("checked"):
                for word in words:
                    word.head_guessed = word.relation_guessed = False
                    word.tags_guessed = set()
            uncheck(new)
        if "checked" in answers:
            new.set_comment("checked", answers["checked"] and "yes")
        if "note" in answers:
            new.set_comment("note", answers["note"])
        self.put(at, 1, [new])
        return freed

    def change(self, new, answers):
        words = new.words
        for k in answers.get("unknown", ()):
            words[k - 1].head_guessed = words[k - 1].relation_guessed = True
        sure = {k: words[k - 1].head for k in answers.get("confirm", ())}
        for k in answers.get("confirm", ()):
            words[k - 1].relation_guessed, words[k - 1].tags_guessed = False, set()
        for name, place in COLUMNS.items():
            for k, value in answers.get(name, {}).items():
                words[int(k) - 1].cells[place] = value
                words[int(k) - 1].tags_guessed.discard(name)
        given = {int(k): words[h - 1] if h else ROOT for k, h in answers.get("heads", {}).items()}
        for k, head in given.items():
            if head is not words[k - 1].head:
                words[k - 1].relation_guessed = True
        for k, relation in answers.get("deprels", {}).items():
            sure[int(k)] = words[int(k) - 1].head
            words[int(k) - 1].cells[7] = relation
            words[int(k) - 1].relation_guessed = False
        sure |= given
        # Those that are sure must be a part of a tree with one root.
        roots = [k for k, head in sure.items() if head is ROOT]
        by_word = {id(words[k - 1]): head for k, head in sure.items()}
        if len(roots) > 1 and len(sure) < len(words):
            raise ValueError
        if len(sure) == len(words) and not roots:
            raise ValueError
        if any(find_circle(words[k - 1], by_word) for k in sure):
            raise ValueError
        for k, head in sure.items():
            words[k - 1].head, words[k - 1].head_guessed = head, False
        known = {id(w): w.head for w in words if w.head is not None and not w.head_guessed}
        freed = []
        for k in sure:
            for word in find_circle(words[k - 1], known):
                if words.index(word) + 1 not in sure:
                    freed.append(word)
        for word in freed:
            known.pop(id(word), None)
        others = [w for w in words if known.get(id(w)) is ROOT and words.index(w) + 1 not in sure]
        if not roots and len(known) < len(words):
            others = others[1:]
        elif not roots:
            others = []
        freed += others
        for word in freed:
            word.head_guessed = word.relation_guessed = True
        return sorted({words.index(word) + 1 for word in freed})

    def split_sentence(self, at, k):
        first = deepcopy(self.sentences[at], {id(ROOT): ROOT})
        loosen(first)
        if not 1 < k <= len(first.words):
            raise PlainConflictError
        boundary = first.words[k - 1]
        found = first.range_of(boundary)
        if found and found[0] is not boundary:
            raise PlainConflictError
        last = PlainSentence.__new__(PlainSentence)
        last.raw, last.nodes, last.words = None, [], first.words[k - 1 :]
        last.ranges = [r for r in first.ranges if r[0] in last.words]
        first.ranges = [r for r in first.ranges if r[0] in first.words[: k - 1]]
        first.words = first.words[: k - 1]
        last.comments = []
        if first.comment("sent_id"):
            name = f"{first.comment('sent_id')}-split{self.version + 1}"
            last.comments.append(f"# sent_id = {name}")
        if first.comment("text"):
            last.comments.append("# text = ?")
        for part in (first, last):
            here = {id(ROOT), *map(id, part.words), *map(id, part.all_nodes())}
            self.finish(part, lambda head, here=here: id(head) in here)
        self.put(at, 1, [first, last])

    def finish(self, part, is_here, replaced=None):
        """Remove arcs that lead elsewhere, sort the others, and parse."""
        for node in part.all_nodes():
            cut_arcs(node, is_here, replaced, is_node=True)
        for word in part.words:
            cut_arcs(word, is_here, replaced)
        for each in part.words + part.all_nodes():
            each.arcs.sort(key=part.place)
        part.spell()
        parse(part, self.tags, [word.arc for word in part.words])
        part.comments = [c for c in part.comments if not c.startswith("# checked = ")]

    def join_sentences(self, at):
        if at + 1 == len(self.sentences):
            raise PlainConflictError
        first, last = (deepcopy(s, {id(ROOT): ROOT}) for s in self.sentences[at : at + 2])
        names = {comment[1:].split()[0] for comment in last.comments if comment[1:].split()}
        if "newdoc" in names:
            raise PlainConflictError
        loosen(first)
        loosen(last)
        if "newpar" in names:
            cells = last.ranges[0][2] if last.range_of(last.words[0]) else last.words[0].cells
            if last.nodes:
                cells = last.nodes[0].cells
            cells[9] = add_item(cells[9], "NewPar=Yes")
        has_root = any(word.head is ROOT for word in first.words)
        for node in last.all_nodes():
            cut_arcs(node, lambda head: head is not ROOT or not has_root, is_node=True)
        for word in last.words:
            cut_arcs(word, lambda head: head is not ROOT or not has_root)
        first.words[-1].nodes += last.nodes
        dropped = {"sent_id", "text", "newpar", "predicted"}
        first.comments += [
            c for c in last.comments if not c[1:].split() or c[1:].split()[0] not in dropped
        ]
        first.words += last.words
        first.ranges += last.ranges
        self.finish(first, lambda head: True)
        self.put(at, 2, [first])

    def split_word(self, at, k, character):
        new = deepcopy(self.sentences[at], {id(ROOT): ROOT})
        loosen(new)
        word = new.words[k - 1]
        form, cells = word.cells[1], word.cells
        left, right = form[:character].rstrip(), form[character:].lstrip()
        if not 0 < character < len(form) or not left or not right:
            raise PlainConflictError
        other = Word([None, right, "_", cells[3], *["_"] * 6])
        other.head_guessed = other.relation_guessed = True
        other.arcs = [(None, "_")] if word.arcs else []
        if cells[3] != "_":
            other.tags_guessed.add("upos")
        inside = new.range_of(word)
        if inside is None:
            if "SpaceAfter=No" in cells[9].split("|"):
                other.cells[9] = add_item(other.cells[9], "SpaceAfter=No")
            elif left + right == form:
                cells[9] = add_item(cells[9], "SpaceAfter=No")
        elif inside[1] is word:
            inside[1] = other
        cells[1] = left
        other.nodes, word.nodes = word.nodes, []
        new.words.insert(k, other)
        self.finish(new, lambda head: True)
        self.put(at, 1, [new])

    def join_words(self, at, k):
        new = deepcopy(self.sentences[at], {id(ROOT): ROOT})
        loosen(new)
        if k >= len(new.words):
            raise PlainConflictError
        pair = one, other = new.words[k - 1 : k + 1]
        inside = new.range_of(one)
        if inside is not new.range_of(other):
            raise PlainConflictError
        is_last = "SpaceAfter=No" in other.cells[9].split("|")
        if inside is None and "SpaceAfter=No" not in one.cells[9].split("|"):
            raise PlainConflictError
        above = one
        while above is not None and above is not ROOT and above is not other:
            above = above.head
        upper = other if above is other else one
        upper.cells[1] = one.cells[1] + other.cells[1]
        items = [i for i in upper.cells[9].split("|") if i not in ("SpaceAfter=No", "_")]
        upper.cells[9] = "|".join(items) or "_"
        if inside is None and is_last:
            upper.cells[9] = add_item(upper.cells[9], "SpaceAfter=No")
        if inside and inside[0] is one and inside[1] is other:
            new.ranges.remove(inside)
            upper.cells[1] = inside[2][1]
            for item in inside[2][9].split("|"):
                if item != "_":
                    upper.cells[9] = add_item(upper.cells[9], item)
        elif inside:
            inside[0] = upper if inside[0] in pair else inside[0]
            inside[1] = upper if inside[1] in pair else inside[1]
        upper.nodes = one.nodes + other.nodes
        new.words[k - 1 : k + 1] = [upper]
        self.finish(new, lambda head: True, {id(one): upper, id(other): upper})
        self.put(at, 1, [new])


def find_circle(start, heads):
    """List the words of a circle that a word is in, or none."""
    circle, word = [], start
    while word is not None and word is not ROOT and len(circle) <= len(heads):
        circle.append(word)
        word = heads.get(id(word))
        if word is start:
            return circle
    return []
