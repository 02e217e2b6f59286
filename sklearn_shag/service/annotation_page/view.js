// One sentence large: its drawing, its table, and the choices for the word in focus.

import { make } from "./chooser.js";
import { COLUMNS, findChanged, findLikely, isMarked, isWhole, nameHead } from "./sentence.js";
import { drawTree, findNeighbour, focusWord, makeTable, percent } from "./tree.js";

const MOMENT = 2500; // milliseconds for which changes are shown
const TAGS = { upos: "u", xpos: "t", lemma: "l", feats: "f" };
const find = (id) => document.getElementById(id);

/** Make a button that calls a command of the page. */
function makeButton(command, argument, key, ...content) {
  const button = make("button", { type: "button" });
  Object.assign(button.dataset, { command, argument });
  if (key) button.append(make("kbd", { className: "number", textContent: key }));
  button.append(...content);
  return button;
}

export class SentenceView {
  /** Show sentences on the page; `page` has the word in focus and is told when it is another. */
  constructor(page) {
    this.page = page;
    this.drawing = find("drawing");
    this.sentence = null;
    this.timer = 0;
    this.drawing.addEventListener("focusin", ({ target }) => {
      const word = target.closest(".word");
      if (word) page.lookAt(Number(word.dataset.id));
    });
    this.drawing.addEventListener("pointerdown", (event) => {
      if (page.armed) event.preventDefault(); // the focus stays on the word that gets a head
    });
    this.drawing.addEventListener("click", ({ target }) => {
      const part = target.closest(".word, .arc");
      if (part?.matches(".word")) page.clickWord(Number(part.dataset.id));
      else if (part) page.clickArc(Number(part.dataset.id));
    });
    find("table").addEventListener("toggle", () => this.writeTable());
  }

  get svg() {
    return this.drawing.firstElementChild;
  }

  /** Show a sentence, with the focus on a word unless somebody types elsewhere. */
  show(sentence, word, mayFocus) {
    const { scrollLeft } = this.drawing;
    const isSame = this.sentence?.id === sentence.id;
    this.sentence = sentence;
    this.drawing.replaceChildren();
    drawTree(this.drawing, sentence, sentence, true);
    for (const token of sentence.tokens) {
      const isRelationGuessed = token.known && !token.given.includes("deprel");
      for (const part of this.findParts(token.id)) {
        part.classList.toggle("asked", isMarked(token));
        part.classList.toggle("unlabeled", isRelationGuessed);
      }
    }
    this.drawing.scrollTop = this.drawing.scrollHeight; // words are at the foot
    if (isSame) this.drawing.scrollLeft = scrollLeft;
    this.writeTitle(sentence);
    this.writeTable();
    this.look(word, mayFocus);
  }

  findParts(id) {
    return this.svg.querySelectorAll(`[data-id="${id}"]`);
  }

  /** Look at a word: mark it, scroll to it, and show what may be chosen for it. */
  look(id, mayFocus) {
    for (const part of this.svg.querySelectorAll("[data-id]"))
      part.classList.toggle("chosen", Number(part.dataset.id) === id);
    const word = this.svg.querySelector(`.word[data-id="${id}"]`);
    if (mayFocus && !word.matches(":focus")) focusWord(this.svg, id);
    if (!mayFocus || word.matches(":focus-visible")) this.center(word);
    this.writeWord(this.sentence.tokens[id - 1]);
  }

  center(word) {
    const [box, frame] = [word.getBoundingClientRect(), this.drawing.getBoundingClientRect()];
    this.drawing.scrollLeft += box.x + box.width / 2 - frame.x - frame.width / 2;
  }

  step(id, key) {
    const next = findNeighbour(this.svg, this.sentence.tokens, id, key);
    focusWord(this.svg, next ?? id);
  }

  /** Show for a moment what is another than before. */
  flash(ids) {
    clearTimeout(this.timer);
    const parts = ids.flatMap((id) => [...this.findParts(id)]);
    for (const part of parts) part.classList.add("changed");
    this.timer = setTimeout(() => {
      for (const part of parts) part.classList.remove("changed");
    }, MOMENT);
  }

  /** Draw an earlier state of the sentence below, with what has changed since; null hides it. */
  compare(title, earlier) {
    const place = find("earlier");
    const drawing = place.querySelector(".drawing");
    place.hidden = !earlier;
    drawing.replaceChildren();
    if (!earlier) return;
    place.querySelector("h3").textContent = title;
    const svg = drawTree(drawing, earlier, earlier, true);
    for (const { id } of findChanged(earlier, this.sentence))
      for (const part of [...svg.querySelectorAll(`[data-id="${id}"]`), ...this.findParts(id)])
        part.classList.add("differs");
    drawing.scrollLeft = this.drawing.scrollLeft;
  }

  writeTitle({ index, sent_id: name, text, checked, note, tokens }) {
    find("text").textContent = text;
    find("place").textContent = `Sentence ${index + 1}`;
    find("name").textContent = find("name").title = name ?? "";
    const errors = tokens.reduce((sum, { probability }) => sum + 1 - probability, 0);
    find("expected").textContent = checked ? "done" : `${errors.toFixed(1)} wrong heads expected`;
    find("sentence").classList.toggle("done", checked);
    document.querySelector("[data-command=reopen]").hidden = !checked;
    const field = find("note").elements.note;
    if (field !== document.activeElement) field.value = note;
  }

  writeTable() {
    if (!find("table").open || !this.sentence) return;
    find("table").lastElementChild.replaceChildren(makeTable(this.sentence, this.sentence));
  }

  /** Write the choices for a word. */
  writeWord(token) {
    const { id, form, known, head, probability } = token;
    const guessed = head === null ? "unknown" : `guessed, ${percent(probability)}`;
    const confirmed = isWhole(token) ? "confirmed" : "head confirmed";
    const state = known ? confirmed : guessed;
    const title = make("h3", {}, `${id} `, make("bdi", { textContent: form }),
      make("span", { className: "note", textContent: state }));
    const confirm = makeButton("confirmWord", "", "↵", isWhole(token) ? "Next" : "Right");
    const forget = makeButton("forgetWord", "", "x", "Unknown");
    forget.disabled = !known;
    const tags = Object.keys(TAGS).flatMap((name) =>
      [this.makeTag(name, token), ...this.makeLikely(name, token)]);
    find("word").replaceChildren(
      make("div", { className: "title" }, title, confirm, forget),
      this.makeChoices("head", token, "takeHead", makeButton("askHead", "", "0", "All")),
      this.makeChoices("deprel", token, "takeRelation", makeButton("askColumn", "deprel", "r", "All")),
      make("div", { className: "choices tags" }, ...tags));
  }

  makeChoices(column, token, command, all) {
    const choices = this.page.listFirst(column, token);
    const buttons = choices.map(({ text, notes, isChosen, isLikely }, k) => {
      const key = column === "head" ? k + 1 : null;
      const button = makeButton(command, k + 1, key, make("bdi", { textContent: text }));
      if (notes.length) button.append(make("span", { className: "note", textContent: notes.join(", ") }));
      button.ariaPressed = isChosen;
      button.classList.toggle("likely", isLikely);
      return button;
    });
    const name = make("span", { className: "name", textContent: COLUMNS[column].title });
    return make("div", { className: "choices", role: "group", ariaLabel: name.textContent }, name, ...buttons, all);
  }

  /** A button for a tag or lemma, which looks like its arc: guesses are dashed. */
  makeTag(column, token) {
    const value = make("bdi", { textContent: token[column] });
    const button = makeButton("askColumn", column, TAGS[column], `${COLUMNS[column].title} `, value);
    const isGuessed = !token.given.includes(column) && token[column] !== "_";
    button.classList.toggle("guessed", isGuessed);
    if (isGuessed) button.title = "guessed";
    return button;
  }

  /** Offer the tag or lemma that check has found instead. */
  makeLikely(column, token) {
    const likely = findLikely(token, column);
    if (likely === null) return [];
    const note = make("span", { className: "note", textContent: "found by check" });
    const value = make("bdi", { textContent: likely });
    const button = makeButton("takeLikely", column, null, `${COLUMNS[column].title} `, value, note);
    button.className = "likely";
    return [button];
  }
}

/** Write what an answer has changed beside itself. */
export function describeChanges(before, after, freed) {
  const changed = findChanged(before, after).map((token) => {
    const head = token.head ? ` of ${nameHead(token.head, after)}` : "";
    return `${token.form}: ${token.deprel}${head}`;
  });
  const shown = changed.slice(0, 6).concat(changed.length > 6 ? [`${changed.length - 6} more`] : []);
  const lost = freed.map((id) => after.tokens[id - 1].form);
  const parts = [];
  if (changed.length) parts.push(`Changed: ${shown.join("; ")}.`);
  if (lost.length) parts.push(`Unknown again, as it does not fit: ${lost.join(", ")}.`);
  return parts.join(" ");
}
