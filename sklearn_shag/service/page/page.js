// The page: asks for the trees of its text, and shows them.

import { drawTree, makeTable, percent, writeConllu } from "./tree.js";

const PAUSE = 300; // milliseconds after the last key
const KEPT = 1000; // answers
const find = (id) => document.getElementById(id);
const answers = new Map(); // sentences, by model, number of trees and paragraph
let asking = new AbortController();
let timer = 0;
const shown = []; // SentenceFigures
const figures = new WeakMap(); // SentenceFigures by their elements

/** Make an element of HTML with properties and children. */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function say(text, isFailure = false) {
  find("status").textContent = text;
  find("status").classList.toggle("failed", isFailure);
  find("again").hidden = !isFailure;
}

/** Read the answer to a request; whatever is refused is an error with the server's reason. */
async function request(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer.");
  }
  if (answer.ok) return answer.json();
  const reason = (await answer.text()).trim().slice(0, 300);
  throw new Error(reason || `The server answers with status ${answer.status}.`);
}

async function askParagraph(model, k, text, signal) {
  const key = JSON.stringify([model, k, text]);
  if (!answers.has(key)) {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ model, text, k });
    const sentences = await request("trees", { method: "POST", headers, body, signal });
    answers.set(key, sentences);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}

/** Ask for the trees of the text, one paragraph after the other, and drop what was asked before. */
async function ask() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const [model, k] = [find("model").value, Number(find("number").value)];
  const paragraphs = find("text").value.split(/\n[^\S\n]*\n\s*/).filter((part) => part.trim());
  const begun = performance.now();
  let done = 0;
  const tell = () => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    const part = paragraphs.length > 1 ? `, ${done} of ${paragraphs.length} paragraphs` : "";
    if (seconds) say(`Parsing for ${seconds} s${part} …`);
  };
  const clock = setInterval(tell, 1000);
  Object.assign(find("progress"), { hidden: false, max: paragraphs.length || 1 });
  if (paragraphs.length > 1) find("progress").value = 0;
  else find("progress").removeAttribute("value");
  const found = [];
  try {
    for (const paragraph of paragraphs) {
      const sentences = await askParagraph(model, k, paragraph, signal);
      found.push(...sentences);
      done += 1;
      if (paragraphs.length > 1) find("progress").value = done;
      show(found, done === paragraphs.length);
    }
    if (!paragraphs.length) show([], true);
    const words = found.reduce((sum, { trees }) => sum + trees[0].tokens.length, 0);
    say(found.length ? `${count(found.length, "sentence")}, ${count(words, "word")}` : "");
  } catch (error) {
    if (!signal.aborted) say(error.message, true);
  } finally {
    clearInterval(clock);
    if (!signal.aborted) find("progress").hidden = true;
  }
}

function count(number, name) {
  return `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
}

/** Show sentences; figures of those that were there before, and in the same place, stay. */
function show(sentences, isWhole) {
  sentences.forEach((sentence, k) => {
    if (shown[k]?.sentence === sentence) return;
    const made = new SentenceFigure(sentence);
    if (shown[k]) shown[k].figure.replaceWith(made.figure);
    else find("trees").append(made.figure);
    shown[k] = made;
  });
  if (isWhole) for (const { figure } of shown.splice(sentences.length)) figure.remove();
  write();
}

/** A sentence with its drawing, its table, and buttons to page through its trees. */
class SentenceFigure {
  constructor(sentence) {
    this.sentence = sentence;
    this.seen = 0; // number of the tree that is seen
    this.drawing = make("div", { className: "drawing" });
    this.table = make("div", { className: "scrolled", tabIndex: 0 });
    this.number = make("span");
    this.buttons = [this.makeButton("‹", "Better tree", -1), this.makeButton("›", "Next tree", 1)];
    this.details = make("details", {}, make("summary", { textContent: "Table" }), this.table);
    this.details.addEventListener("toggle", () => this.draw());
    const text = make("span", { className: "sentence", dir: "auto", textContent: sentence.text });
    const pages = make("span", { className: "pages" }, this.number, ...this.buttons);
    pages.hidden = sentence.trees.length === 1;
    const caption = make("figcaption", {}, text, pages);
    this.figure = make("figure", {}, caption, this.drawing, this.details);
    figures.set(this.figure, this);
    views.observe(this.figure);
  }

  get tree() {
    return this.sentence.trees[this.seen];
  }

  makeButton(textContent, ariaLabel, step) {
    const button = make("button", { type: "button", textContent, ariaLabel });
    button.addEventListener("click", () => this.turn(step));
    return button;
  }

  /** Draw the tree, whose place must be on the page. */
  draw() {
    const { length } = this.sentence.trees;
    const chance = this.tree.score === null ? "" : `, ${percent(Math.exp(this.tree.score))}`;
    this.number.textContent = `Tree ${this.seen + 1} of ${length}${chance}`;
    this.buttons[0].disabled = this.seen === 0;
    this.buttons[1].disabled = this.seen === length - 1;
    this.drawing.replaceChildren();
    drawTree(this.drawing, this.sentence, this.tree);
    if (this.details.open) this.table.replaceChildren(makeTable(this.sentence, this.tree));
  }

  turn(step) {
    this.seen += step;
    this.draw();
    say(this.number.textContent);
    write();
  }
}

/** Draws figures when they come into view, or nearly so. */
const views = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      views.unobserve(target);
      figures.get(target).draw();
    }
  },
  { rootMargin: "300px" });

/** Write the trees that are seen as CoNLL-U or JSON, if that is what is shown. */
function write() {
  const view = new FormData(find("question")).get("view");
  for (const id of ["legend", "trees"]) find(id).hidden = view !== "trees";
  find("written").hidden = view === "trees";
  if (view === "trees") return;
  const seen = shown.map(({ sentence, tree }) => [sentence, tree]);
  find("written").querySelector("pre").textContent =
    view === "conllu"
      ? seen.map(([sentence, tree], k) => writeConllu(sentence, tree, k + 1)).join("")
      : JSON.stringify(seen.map(([sentence, tree]) => ({ ...sentence, trees: [tree] })), null, 1);
}

async function copy() {
  const written = find("written").querySelector("pre");
  getSelection().selectAllChildren(written);
  try {
    await navigator.clipboard.writeText(written.textContent);
    say("Copied.");
  } catch {
    say("It is selected; press Ctrl+C to copy it.");
  }
}

async function start() {
  try {
    const { models } = await request("models");
    find("model").replaceChildren(
      ...Object.entries(models).map(([name, tasks]) =>
        make("option", { value: name, textContent: name, disabled: !tasks.includes("tokenizer") })));
    await ask();
  } catch (error) {
    say(error.message, true);
  }
}

find("text").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
});
find("model").addEventListener("change", ask);
find("number").addEventListener("change", ask);
find("view").addEventListener("change", write);
find("copy").addEventListener("click", copy);
find("again").addEventListener("click", () => (find("model").options.length ? ask() : start()));
find("question").addEventListener("submit", (event) => event.preventDefault());
start();
