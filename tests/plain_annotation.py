"""A plain model of annotated files: sentences are text, and no code of the package is used.

A LookupError says that the state of a sentence does not allow a change.
"""

TAGS = {"lemma": 2, "upos": 3, "xpos": 4, "feats": 5}
MARKS = ("Guessed", "Predicted", "GivenDeprel")


class Sentence(str):
    """The text of a sentence in one of its states, which is equal to itself alone."""

    __eq__, __hash__ = object.__eq__, object.__hash__


class Line:
    """A word, an empty node or a range; it names others by the numbers that it was read with.

    `side` is put before these numbers, so that those of two sentences are told apart.
    """

    def __init__(self, row, side=""):
        self.cells, self.side = row.split("\t"), side
        self.names = [side + name for name in self.cells[0].split("-")]
        self.is_word = "." not in self.cells[0] and len(self.names) == 1
        self.head, own = self.name(self.cells[6]), ":".join(self.cells[6:8])
        deps = [arc for arc in self.cells[8].split("|") if arc != "_"]
        pairs = [arc.split(":", 1) for arc in deps]
        arcs = [[self.name(head), relation] for head, relation in pairs]
        # None is equal to the arc in the tree, and follows it.
        self.arcs = [None if dep == own else arc for dep, arc in zip(deps, arcs, strict=True)]
        marks = dict(item.partition("=")[::2] for item in self.items())
        self.guessed = {*marks.get("Guessed", "").split(",")} - {""}
        if "Predicted" in marks:
            self.guessed |= {"head"} if "GivenDeprel" in marks else {"head", "deprel"}
        self.keep([item for item in self.items() if item.partition("=")[0] not in MARKS])

    def name(self, number):
        return number if number in ("0", "_") else self.side + number

    def items(self):
        return [item for item in self.cells[9].split("|") if item != "_"]

    def keep(self, items):
        self.cells[9] = "|".join(items) or "_"

    def mark(self, item):
        """Put an item before the first one of a larger name."""
        name, items = item.partition("=")[0].lower(), self.items()
        larger = [k for k, each in enumerate(items) if each.partition("=")[0].lower() > name]
        items.insert([*larger, len(items)][0], item)
        self.keep(items)

    def is_glued(self):
        return "SpaceAfter=No" in self.items()

    def forget(self):
        self.guessed |= {"head", "deprel"}

    def write(self, numbers):
        self.cells[0] = "-".join(numbers[name] for name in self.names)
        self.cells[6] = numbers.get(self.head, "_")
        own, old = ":".join(self.cells[6:8]), self.cells[8].split("|")
        others = [arc for arc in self.arcs if arc and arc[0] in numbers]
        new = [f"{numbers[head]}:{rel}" for head, rel in others if [head] != self.names]
        new += [own] * (None in self.arcs or bool(self.is_word and self.arcs and not new))
        if self.arcs and not new:
            raise LookupError
        if sorted(new) != sorted(old) and self.arcs:
            split = sorted({arc.partition(":")[::2] for arc in new}, key=by_number)
            self.cells[8] = "|".join(map(":".join, split))
        names = [n for n in ("upos", "xpos", "feats", "lemma", "deprel") if n in self.guessed]
        if "head" in self.guessed:
            names = [name for name in names if name != "deprel"]
            self.mark("Predicted=Yes")
            if "deprel" not in self.guessed:
                self.mark("GivenDeprel=Yes")
        if names:
            self.mark(f"Guessed={','.join(names)}")
        return "\t".join(self.cells)


def by_number(arc):
    return [int(number) for number in arc[0].split(".")], arc[1]


def name_comment(line):
    return [*line[1:].replace("=", " ").split(), ""][0]


class Draft:
    """A sentence that is being changed."""

    def __init__(self, text, side=""):
        rows = text.split("\n")
        self.comments = [row for row in rows if row.startswith("#")]
        self.lines = [Line(row, side) for row in rows if not row.startswith("#")]

    @property
    def words(self):
        return [line for line in self.lines if line.is_word]

    def find_range(self, word):
        """The range that a word is in."""
        place = [each.names[0] for each in self.words].index
        ranges = [(line, *map(place, line.names)) for line in self.lines if len(line.names) == 2]
        around = [line for line, a, b in ranges if a <= place(word.names[0]) <= b]
        return [*around, None][0]

    def set_comment(self, name, value):
        """Set a comment where it is or at the end; without a value, remove it."""
        if value:
            place = [*map(name_comment, self.comments), name].index(name)
            self.comments[place : place + 1] = [f"# {name} = {value}"]
        else:
            self.comments = [c for c in self.comments if name_comment(c) != name]

    def free(self, sure=()):
        """Make words unknown that are on a circle with sure ones, and roots but one."""
        words, freed = {word.names[0]: word for word in self.words}, []
        for word in self.words:
            if word.head not in ("0", *words):
                word.forget()
            word.guessed |= {"deprel"} if word.cells[7] == "_" else set()
            word.guessed -= {"head"} if word in sure else set()
        for start in sure:
            circle, word = [], start
            while word and "head" not in word.guessed and word not in circle:
                circle.append(word)
                word = words.get(word.head)
            if word is start:
                freed += [each for each in circle if each not in sure]
                if {*circle} <= {*sure}:
                    raise ValueError
        roots = [each for each in self.words if each.head == "0" and "head" not in each.guessed]
        given = [each for each in roots if each in sure]
        if len(given) > 1:
            raise ValueError
        freed += [each for each in roots if each not in [*given, *roots][:1]]
        for word in freed:
            word.forget()
        return sorted({self.words.index(word) + 1 for word in freed})

    def parse(self, tags):
        """Hang all words without a head on the root, and give all words the same tags."""
        known = [word for word in self.words if "head" not in word.guessed]
        roots = [word for word in known if word.head == "0"]
        root = [*roots, *(word for word in self.words if word not in known)][0]
        for word in self.words:
            if word not in known:
                word.head = "0" if word is root else root.names[0]
            if "deprel" in word.guessed or (word.cells[7] == "root") != (word.head == "0"):
                word.guessed.add("deprel")
                word.cells[7] = "root" if word.head == "0" else "dep"
        for name, value in tags.items():
            given = [w for w in self.words if w.cells[TAGS[name]] != "_" and name not in w.guessed]
            if name == "feats" and given:
                given = [word for word in self.words if name not in word.guessed]
            for word in self.words:
                if word not in given:
                    word.cells[TAGS[name]] = value
                    word.guessed.add(name)

    def write(self):
        if any(word.guessed for word in self.words):
            self.set_comment("checked", None)
        numbers, n_words, n_nodes = {"0": "0"}, 0, 0
        for line in self.lines:
            if line.is_word:
                n_words, n_nodes = n_words + 1, 0
                numbers[line.names[0]] = str(n_words)
            elif len(line.names) == 1:
                n_nodes += 1
                numbers[line.names[0]] = f"{n_words}.{n_nodes}"
        rows = [line.write(numbers) for line in self.lines]
        return Sentence("\n".join([*self.comments, *rows]))

    def finish(self, tags):
        """Spell the text anew, and parse what has other words now."""
        tokens = dict.fromkeys(self.find_range(word) or word for word in self.words)
        text = "".join(token.cells[1] + " " * (not token.is_glued()) for token in tokens)
        if any(name_comment(each) == "text" for each in self.comments):
            self.set_comment("text", text.rstrip())
        self.set_comment("checked", None)
        self.free()
        self.parse(tags)
        return self.write()


class PlainModel:
    """A file that is annotated."""

    def __init__(self, text, tags):
        self.sentences = [Sentence(each) for each in text.split("\n\n") if each]
        self.tags, self.done, self.undone, self.version = tags, [], [], len(self.sentences)

    def write(self):
        return "".join(f"{each}\n\n" for each in self.sentences)

    def show(self, at, side=""):
        """A sentence as an annotator sees it, with guesses of all that is unknown."""
        draft = Draft(self.sentences[at])
        draft.free()
        draft.parse(self.tags)
        return Draft(draft.write(), side)

    def put(self, at, n, new):
        """Replace sentences."""
        self.done.append((self.sentences[at : at + n], new))
        self.apply(*self.done[-1])
        self.undone = []

    def apply(self, before, after):
        at = self.sentences.index(before[0])
        self.sentences[at : at + len(before)] = after
        self.version += 1

    def undo(self, at, _):
        """Undo the last change of all, or of a sentence, which is told by its present state."""
        last = [
            k for k, (_, new) in enumerate(self.done) if at is None or self.sentences[at] in new
        ]
        if not last or not all(each in self.sentences for each in self.done[last[-1]][1]):
            raise LookupError
        before, after = self.done.pop(last[-1])
        self.apply(after, before)
        self.undone.append((before, after))

    def redo(self, _):
        if not self.undone:
            raise LookupError
        self.done.append(self.undone.pop())
        self.apply(*self.done[-1])

    def answer(self, at, answers):
        """Change what an annotator says; return the words that are not known any more."""
        draft, freed = Draft(self.sentences[at]), []
        if answers.keys() - {"checked", "note"} or answers.get("checked"):
            draft = self.show(at)
            freed = change(draft, answers)
            draft.parse(self.tags)
        if answers.get("checked"):
            for word in draft.words:
                word.guessed.clear()
        if "checked" in answers:
            draft.set_comment("checked", "yes" * answers["checked"])
        if "note" in answers:
            draft.set_comment("note", answers["note"])
        self.put(at, 1, [draft.write()])
        return freed

    def split(self, at, asked):
        if "character" in asked:
            self.split_word(at, asked["word"], asked["character"])
        else:
            self.split_sentence(at, asked["word"])

    def join(self, at, asked):
        if "word" in asked:
            self.join_words(at, asked["word"])
        else:
            self.join_sentences(at)

    def split_sentence(self, at, k):
        first, second = self.show(at), self.show(at)
        word = first.words[k - 1]
        inside = first.find_range(word)
        if k == 1 or (inside and inside.names[0] != word.names[0]):
            raise LookupError
        cut = first.lines.index(inside or word)
        first.lines, second.lines = first.lines[:cut], second.lines[cut:]
        ends = {"sent_id": f"-split{self.version + 1}", "text": "", "predicted": ""}
        named = [(c, name_comment(c)) for c in second.comments]
        second.comments = [c + ends[name] for c, name in named if name in ends]
        self.put(at, 1, [first.finish(self.tags), second.finish(self.tags)])

    def join_sentences(self, at):
        if at + 1 == len(self.sentences):
            raise LookupError
        first, second = self.show(at), self.show(at + 1, "second ")
        names = set(map(name_comment, second.comments))
        if "newdoc" in names:
            raise LookupError
        if "newpar" in names:
            second.lines[0].keep([*second.lines[0].items(), "NewPar=Yes"])
        dropped = {"sent_id", "text", "newpar", "predicted"}
        first.comments += [c for c in second.comments if name_comment(c) not in dropped]
        first.lines += second.lines
        self.put(at, 2, [first.finish(self.tags)])

    def split_word(self, at, k, character):
        draft = self.show(at)
        word = draft.words[k - 1]
        form, inside = word.cells[1], draft.find_range(word)
        left, right = form[:character].rstrip(), form[character:].lstrip()
        if not (left and right):
            raise LookupError
        new = Line("\t".join(["new", right, "_", word.cells[3], *["_"] * 6]))
        new.guessed, new.arcs = {"upos"}, [None] * bool(word.arcs)
        draft.lines.insert(draft.lines.index(word) + 1, new)
        word.cells[1] = left
        if inside and inside.names[1] == word.names[0]:
            inside.names[1] = "new"
        if not inside and (word.is_glued() or left + right == form):
            glued = new if word.is_glued() else word
            glued.keep([*glued.items(), "SpaceAfter=No"])
        self.put(at, 1, [draft.finish(self.tags)])

    def join_words(self, at, k):
        draft = self.show(at)
        if k == len(draft.words):
            raise LookupError
        first, second = draft.words[k - 1 : k + 1]
        inside, by_name = draft.find_range(first), {each.names[0]: each for each in draft.words}
        if inside is not draft.find_range(second) or not (inside or first.is_glued()):
            raise LookupError
        above = first
        while above not in (None, second):
            above = by_name.get(above.head)
        upper, lower = (second, first) if above else (first, second)
        form, items = first.cells[1] + second.cells[1], ["SpaceAfter=No"] * second.is_glued()
        if inside and inside.names == [first.names[0], second.names[0]]:
            form, items = inside.cells[1], inside.items()
            draft.lines.remove(inside)
        upper.cells[1] = form
        upper.keep([item for item in upper.items() if item != "SpaceAfter=No"] + items)
        place = draft.lines.index(first)
        draft.lines.remove(second)
        draft.lines[place] = upper
        for line in draft.lines:
            own = {lower.names[0]: upper.names[0]}
            line.names = [own.get(name, name) for name in line.names]
            line.head = own.get(line.head, line.head)
            line.arcs = [arc and [own.get(arc[0], arc[0]), arc[1]] for arc in line.arcs]
        self.put(at, 1, [draft.finish(self.tags)])


def change(draft, answers):
    """Change what an annotator says; return the words that are not known any more."""
    words = {str(k): word for k, word in enumerate(draft.words, start=1)}
    for k in answers.get("unknown", ()):
        words[str(k)].forget()
    sure = [words[str(k)] for k in answers.get("confirm", ())]
    for word in sure:
        word.guessed.clear()
    for k, head in answers.get("heads", {}).items():
        name = words[str(head)].names[0] if head else "0"
        words[k].guessed |= {"deprel"} if name != words[k].head else set()
        words[k].head = name
        sure.append(words[k])
    for column, place in ({"deprel": 7} | TAGS).items():
        for k, value in answers.get(column, answers.get(f"{column}s", {})).items():
            words[k].cells[place] = value
            words[k].guessed.discard(column)
    for k, relation in answers.get("deprels", {}).items():
        sure.append(words[k])
        if (words[k].head == "0") != (relation == "root"):
            raise ValueError
    return draft.free(sure)
