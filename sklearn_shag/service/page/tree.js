// Draws dependency trees as arcs over words, and writes them as tables and CoNLL-U.

const SVG = "http://www.w3.org/2000/svg";
const GAP = 18; // pixels between words
const [STEP, SMALL_STEP, HEIGHT] = [30, 17, 270]; // between arcs one above the other; of many, all
const LABEL = 160; // at most from the label of a long arc to its tip
const SPREAD = 7; // between the ends of arcs at a word
const CORNER = 10; // radius
const [WORD_HEIGHT, NUMBER_HEIGHT] = [64, 16];
const RIGHT_TO_LEFT =
  /^[^\p{L}]*[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const SLANTED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u; // scripts with italics
const COLUMNS = {
  id: "Number",
  form: "Word",
  lemma: "Lemma",
  upos: "UPOS",
  xpos: "XPOS",
  feats: "Features",
  head: "Head",
  deprel: "Relation",
  probability: "Probability",
};

export function percent(probability) {
  return `${(100 * probability).toFixed(1)} %`;
}

/** The class of an arc, by its probability. */
export function judge(probability) {
  if (probability >= 0.95) return "sure";
  if (probability >= 0.8) return "likely";
  return probability >= 0.5 ? "unsure" : "doubtful";
}

/** Make an element of SVG inside another. */
function add(parent, name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  parent.append(element);
  return element;
}

function describe(token, tokens) {
  const head = token.head ? `of ${tokens[token.head - 1].form}` : "of the sentence";
  const tag = token.upos === "_" ? "" : `, ${token.upos}`;
  return `${token.form}${tag}: ${token.deprel} ${head}, ${writeCertainty(token)}`;
}

/** Write how certain a head is: people confirm some, and parsers guess others. */
function writeCertainty({ known, probability }) {
  return known ? "confirmed" : percent(probability);
}

/**
 * Draw a tree at the end of an element, which must be on the page: its words are measured.
 *
 * Words and arcs have the number of the word as `data-id`. If the tree `isEdited`, words are buttons,
 * and their numbers are shown. Heads that people have confirmed are `known`, and a head that nobody
 * knows is null.
 */
export function drawTree(place, sentence, tree, isEdited = false) {
  const slant = SLANTED.test(sentence.text) ? "slanted" : "upright";
  const attributes = { class: `tree ${slant}`, role: "group", "aria-label": sentence.text };
  const svg = add(place, "svg", attributes);
  const arcs = drawArcs(svg, tree.tokens.filter(({ head }) => head !== null));
  const words = tree.tokens.map((token) => drawWord(svg, token, tree.tokens, isEdited));
  for (const part of [...arcs, ...words]) part.measure();
  const width = placeWords(words, arcs, RIGHT_TO_LEFT.test(sentence.text));
  const height = placeArcs(words, arcs);
  const foot = WORD_HEIGHT + (isEdited ? NUMBER_HEIGHT : 0);
  const depth = drawMultiwordTokens(svg, words, sentence.multiword_tokens, foot);
  svg.setAttribute("viewBox", `0 ${-height} ${width} ${height + depth}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height + depth);
  listen(svg, tree.tokens);
  return svg;
}

/** A word that is drawn, with its width once all are there: one layout measures all. */
class DrawnWord {
  constructor(group) {
    Object.assign(this, { group, width: 0, x: 0 });
  }

  measure() {
    this.width = Math.max(...[...this.group.querySelectorAll("text")].map(findLength));
  }

  place(x) {
    const ground = this.group.querySelector(".ground");
    ground.setAttribute("x", -this.width / 2 - 5);
    ground.setAttribute("width", this.width + 10);
    this.group.setAttribute("transform", `translate(${x} 0)`);
    this.x = x;
  }
}

function drawWord(svg, token, tokens, isEdited) {
  const group = add(svg, "g", {
    class: "word",
    "data-id": token.id,
    role: isEdited ? "button" : "img",
    tabindex: token.id === 1 ? 0 : -1,
    "aria-label": describe(token, tokens),
  });
  const height = WORD_HEIGHT - 2 + (isEdited ? NUMBER_HEIGHT : 0);
  add(group, "rect", { class: "ground", y: 2, height, rx: 6 });
  add(group, "text", { class: "form", y: 22 }, token.form);
  add(group, "text", { class: "tag", y: 40 }, token.upos);
  add(group, "text", { class: "lemma", y: 57 }, token.lemma);
  if (isEdited) add(group, "text", { class: "number", y: 74 }, token.id);
  if (token.feats !== "_" || token.xpos !== "_")
    add(group, "title", {}, [token.xpos, token.feats].filter((cell) => cell !== "_").join(" "));
  return new DrawnWord(group);
}

/** An arc that is drawn, with the width of its relation once all arcs are there. */
class DrawnArc {
  constructor({ id, head }, parts) {
    const [first, last] = [id, head].sort((a, b) => a - b);
    Object.assign(this, { ...parts, id, head, first, last, width: 0, level: 1 });
  }

  measure() {
    this.width = findLength(this.label.firstChild);
  }
}

function drawArcs(svg, tokens) {
  return tokens.map((token) => {
    const group = add(svg, "g", {
      class: `arc ${token.known ? "known" : judge(token.probability)}`,
      "data-id": token.id,
      "aria-hidden": true,
    });
    group.style.setProperty("--strength", token.known ? 1 : token.probability);
    const path = add(group, "path");
    const field = add(group, "path", { class: "field" });
    const tip = add(group, "path", { class: "tip" });
    const label = add(group, "text");
    add(label, "tspan", {}, token.deprel);
    add(label, "tspan", { class: "probability" }, ` ${writeCertainty(token)}`);
    return new DrawnArc(token, { path, field, tip, label });
  });
}

function findLength(text) {
  return text.getComputedTextLength();
}

/** Give words their places, so far apart that labels fit between them; return the width of all. */
function placeWords(words, arcs, isRightToLeft) {
  let end = 0;
  words.forEach((word, k) => {
    word.x = end + word.width / 2 + GAP / 2;
    for (const arc of arcs)
      if (arc.last === k + 1 && arc.head) {
        const ends = SPREAD * findBeside(arcs, arc).length;
        word.x = Math.max(word.x, words[arc.first - 1].x + arc.width + 2 * CORNER + ends);
      }
    end = word.x + word.width / 2 + GAP / 2;
  });
  for (const word of words) word.place(isRightToLeft ? end - word.x : word.x);
  return Math.ceil(end);
}

/** The arcs from the same word to the same side, in the given order. */
function findBeside(arcs, { head, id }) {
  return arcs.filter((each) => each.head === head && each.id > head === id > head);
}

/** Put arcs above those that they enclose; return the height of all. */
function placeArcs(words, arcs) {
  const drawn = arcs.filter((arc) => arc.head).sort((a, b) => a.last - a.first - b.last + b.first);
  drawn.forEach((arc, k) => {
    for (const other of drawn.slice(0, k))
      if (other.first < arc.last && arc.first < other.last)
        arc.level = Math.max(arc.level, other.level + 1);
  });
  const top = Math.max(0, ...drawn.map((arc) => arc.level)) + 1;
  const step = Math.max(SMALL_STEP, Math.min(STEP, HEIGHT / top));
  for (const arc of arcs.filter((each) => !each.head)) placeRoot(arc, words[arc.id - 1].x, -top * step);
  for (const arc of drawn) {
    const [head, word] = [words[arc.head - 1], words[arc.id - 1]];
    const side = Math.sign(word.x - head.x);
    // Of several arcs from a word to one side, the longest begins next to its middle.
    const beside = findBeside(drawn, arc);
    const rank = beside.length - beside.indexOf(arc);
    const spread = Math.min(SPREAD, (head.width / 2 + GAP / 3) / beside.length);
    placeArc(arc, head.x + side * rank * spread, word.x, side, -arc.level * step);
  }
  return top * step + 22;
}

function placeRoot(arc, x, top) {
  drawArc(arc, `M${x} ${top}V-5`, x, x, top - 5);
}

function placeArc(arc, from, to, side, top) {
  const half = Math.abs(to - from) / 2;
  const corner = Math.min(CORNER, half);
  const line =
    `M${from} 0V${top + corner}Q${from} ${top} ${from + side * corner} ${top}` +
    `H${to - side * corner}Q${to} ${top} ${to} ${top + corner}V-5`;
  drawArc(arc, line, to, to - side * Math.min(half, LABEL), top + 4);
}

function drawArc(arc, line, tip, x, y) {
  arc.path.setAttribute("d", line);
  arc.field.setAttribute("d", line);
  arc.tip.setAttribute("d", `M${tip} 0l-4.5 -8h9z`);
  arc.label.setAttribute("x", x);
  arc.label.setAttribute("y", y);
}

/** Draw brackets below the words of multiword tokens; return the depth of all. */
function drawMultiwordTokens(svg, words, tokens, foot) {
  for (const { first, last, form } of tokens) {
    const ends = [words[first - 1], words[last - 1]].flatMap(({ x, width }) => [
      x - width / 2,
      x + width / 2,
    ]);
    const [left, right] = [Math.min(...ends), Math.max(...ends)];
    add(svg, "path", { class: "bracket", d: `M${left} ${foot + 4}v5H${right}v-5` });
    add(svg, "text", { class: "token", x: (left + right) / 2, y: foot + 25 }, form);
  }
  return foot + (tokens.length ? 34 : 6);
}

/** Show the probability of the arc to a word that is pointed at or has the focus. */
function listen(svg, tokens) {
  const show = (id) => {
    const head = tokens[id - 1]?.head;
    for (const each of svg.querySelectorAll("[data-id]")) {
      each.classList.toggle("active", Number(each.dataset.id) === id);
      each.classList.toggle("head", each.matches(".word") && Number(each.dataset.id) === head);
    }
  };
  const find = (event) => Number(event.target.closest("[data-id]")?.dataset.id ?? 0);
  svg.addEventListener("pointerover", (event) => show(find(event)));
  svg.addEventListener("pointerleave", () => show(0));
  svg.addEventListener("focusin", (event) => show(find(event)));
  svg.addEventListener("focusout", () => show(0));
  svg.addEventListener("keydown", (event) => {
    const next = findNeighbour(svg, tokens, find(event), event.key);
    if (next === undefined) return;
    event.preventDefault();
    if (next) focusWord(svg, next);
  });
}

/** Give the focus to a word, which the key Tab then finds. */
export function focusWord(svg, id) {
  for (const word of svg.querySelectorAll(".word")) {
    const isNext = Number(word.dataset.id) === id;
    word.setAttribute("tabindex", isNext ? 0 : -1);
    if (isNext) word.focus();
  }
}

/** Find the number of the word that a key leads to: undefined for other keys, null at an end. */
export function findNeighbour(svg, tokens, id, key) {
  const words = [...svg.querySelectorAll(".word")].sort(
    (a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x);
  const place = words.findIndex((word) => Number(word.dataset.id) === id);
  const targets = {
    ArrowLeft: words[place - 1]?.dataset.id,
    ArrowRight: words[place + 1]?.dataset.id,
    Home: words[0].dataset.id,
    End: words.at(-1).dataset.id,
    ArrowUp: tokens[id - 1]?.head,
    ArrowDown: tokens.find(({ head }) => head === id)?.id,
  };
  return key in targets ? Number(targets[key]) || null : undefined;
}

/** Make a table of a tree, for those who do not see the drawing. */
export function makeTable(sentence, tree) {
  const table = document.createElement("table");
  const caption = table.createCaption();
  caption.textContent = sentence.text;
  caption.dir = "auto";
  const titles = table.createTHead().insertRow();
  for (const title of Object.values(COLUMNS)) {
    const cell = titles.appendChild(document.createElement("th"));
    cell.scope = "col";
    cell.textContent = title;
  }
  const body = table.createTBody();
  for (const token of tree.tokens) {
    const row = body.insertRow();
    for (const name of Object.keys(COLUMNS)) {
      const cell = row.appendChild(document.createElement(name === "form" ? "th" : "td"));
      if (name === "form") cell.scope = "row";
      cell.dir = "auto";
      cell.textContent = writeCell(name, token, tree.tokens);
    }
  }
  return table;
}

function writeCell(name, token, tokens) {
  if (name === "probability") return writeCertainty(token);
  if (name === "head") return token.head ? `${token.head} ${tokens[token.head - 1].form}` : token.head ?? "_";
  return token[name];
}

/** Write a tree as CoNLL-U. */
export function writeConllu(sentence, tree, number) {
  const lines = [`# sent_id = ${number}`, `# text = ${sentence.text}`];
  if (tree.score !== null) lines.push(`# score = ${tree.score.toFixed(4)}`);
  const tokens = new Map(sentence.multiword_tokens.map((token) => [token.first, token]));
  for (const token of tree.tokens) {
    const several = tokens.get(token.id);
    if (several)
      lines.push([`${token.id}-${several.last}`, several.form, ..."_______", several.misc].join("\t"));
    const { id, form, lemma, upos, xpos, feats, head, deprel, probability } = token;
    const misc = `Confidence=${probability.toFixed(4)}`;
    lines.push([id, form, lemma, upos, xpos, feats, head, deprel, "_", misc].join("\t"));
  }
  return `${lines.join("\n")}\n\n`;
}
