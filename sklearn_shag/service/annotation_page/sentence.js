// What is known of a sentence, and what may be chosen for its words. Nothing here changes a sentence.

import { judge, percent } from "./tree.js";

// The columns that are edited, by their names in tokens, in answers and on the page.
export const COLUMNS = {
  head: { answer: "heads", title: "Head" },
  deprel: { answer: "deprels", title: "Relation" },
  upos: { answer: "upos", title: "UPOS" },
  xpos: { answer: "xpos", title: "XPOS" },
  lemma: { answer: "lemma", title: "Lemma" },
  feats: { answer: "feats", title: "Features" },
};
const TAGS = ["upos", "xpos", "lemma", "feats"];
const VALUES = ["deprel", ...TAGS];
const ROOT = "root";
const SMALLEST = 0.005; // probability of what is shown without asking for all
// Of Universal Dependencies. What models and sentences have beside is offered, too.
const UPOS =
  "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split(" ");
const RELATIONS = (
  "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse " +
  "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis " +
  "punct reparandum root vocative xcomp"
).split(" ");
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Values of columns that have been seen, each of which is offered in all sentences. */
export class Values {
  constructor() {
    this.seen = { upos: new Set(UPOS), deprel: new Set(RELATIONS), xpos: new Set(), feats: new Set() };
  }

  add(values) {
    for (const [name, set] of Object.entries(this.seen))
      for (const value of values[name] ?? []) if (value !== "_") set.add(value);
  }

  addSentence({ tokens }) {
    for (const name in this.seen) this.add({ [name]: tokens.map((token) => token[name]) });
  }
}

/** Read a sentence of the server, in which columns that are missing are "_", as in CoNLL-U. */
export function readSentence(content) {
  const tokens = content.tokens.map((token) => {
    const columns = VALUES.map((name) => [name, token[name] ?? "_"]);
    const probability = token.probability ?? (token.known ? 1 : 0);
    return { ...token, ...Object.fromEntries(columns), probability };
  });
  const text = content.text ?? tokens.map(({ form }) => form).join(" ");
  return { ...content, text, note: content.note ?? "", tokens };
}

/** The sentence after an answer, as far as can be told without a parser. */
export function applyAnswer(sentence, answer) {
  const tokens = sentence.tokens.map((token) => applyToToken(token, answer));
  const { checked = sentence.checked, note = sentence.note } = answer;
  return { ...sentence, tokens, checked, note };
}

function applyToToken(token, answer) {
  const { id, head } = token;
  const changed = { ...token };
  const given = new Set(token.given);
  const newHead = answer.heads?.[id] ?? head;
  if (newHead !== head) given.delete("deprel");
  for (const [name, { answer: key }] of Object.entries(COLUMNS)) {
    const value = answer[key]?.[id];
    if (value === undefined) continue;
    changed[name] = value;
    given.add(name);
  }
  const isConfirmed = answer.checked || answer.confirm?.includes(id);
  if (isConfirmed) for (const name of VALUES) given.add(name);
  const isGiven = answer.heads?.[id] !== undefined || answer.deprels?.[id] !== undefined;
  if (isConfirmed || isGiven) Object.assign(changed, { known: true, probability: 1 });
  else if (answer.unknown?.includes(id)) changed.known = false;
  return { ...changed, given: [...given] };
}

/** The forms of the words, which tell whether numbers of words still mean the same. */
export function joinForms({ tokens }) {
  return tokens.map(({ form }) => form).join("\n");
}

/** Tokens with another head or relation than before, which are none if words were split or joined. */
export function findChanged(before, after) {
  if (joinForms(before) !== joinForms(after)) return [];
  return after.tokens.filter(({ id, head, deprel }) => {
    const old = before.tokens[id - 1];
    return old.head !== head || old.deprel !== deprel;
  });
}

export function isUncertain({ known, probability }) {
  return !known && judge(probability) !== "sure";
}

/** Whether nothing of a token is a guess. */
export function isWhole(token) {
  return token.known && VALUES.every((name) => token[name] === "_" || token.given.includes(name));
}

/** Whether check has marked a token, or suggest, and nobody has confirmed it. */
export function isMarked({ known, marked, likely }) {
  return likely !== null || (marked && !known);
}

export function nameHead(head, { tokens }) {
  return head ? `${head} ${tokens[head - 1].form}` : head === 0 ? `0 ${ROOT}` : "unknown";
}

/** Write an answer in words, for messages. */
export function describeAnswer(answer, { tokens } = { tokens: [] }) {
  const parts = [];
  const name = (id) => tokens[id - 1]?.form ?? id;
  for (const { answer: key, title } of Object.values(COLUMNS))
    for (const [id, value] of Object.entries(answer[key] ?? {}))
      parts.push(`${title.toLowerCase()} of ${name(id)}: ${value}`);
  for (const id of answer.confirm ?? []) parts.push(`${name(id)} is right`);
  for (const id of answer.unknown ?? []) parts.push(`${name(id)} is unknown`);
  if (answer.checked !== undefined) parts.push(answer.checked ? "all is right" : "not done");
  if (answer.note !== undefined) parts.push(`note: ${answer.note}`);
  return parts.join(", ");
}

/** What `check` found for a column of a token, null where it found nothing. */
export function findLikely({ likely }, column) {
  if (!likely?.startsWith(`${column}:`)) return null;
  const value = likely.slice(column.length + 1);
  // It stands in MISC, where features have a comma in place of "|".
  return column === "feats" ? value.replace(/,(?=[^,=]+=)/g, "|") : value;
}

/** The choices for a column of a token: those with a probability first, then all others. */
export function listChoices(column, token, sentence, values) {
  const likely = findLikely(token, column);
  const ranked = { head: token.alternatives, deprel: token.relations }[column] ?? [];
  const chances = new Map(ranked.map(([value, probability]) => [String(value), probability]));
  const others = {
    head: sentence.tokens.map(({ id }) => id).concat(0).filter((id) => id !== token.id),
    lemma: [token.form, token.form.toLowerCase()],
  }[column] ?? [...values.seen[column]].sort();
  const first = column === "head" || token[column] === "_" ? [] : [token[column]];
  const all = new Set([...chances.keys(), ...(likely ? [likely] : []), ...first, ...others].map(String));
  return [...all].map((value) => {
    const text = column === "head" ? nameHead(Number(value), sentence) : value;
    const notes = [];
    if (chances.has(value)) notes.push(percent(chances.get(value)));
    if (value === likely) notes.push("found by check");
    const isChosen = value === String(token[column]);
    const probability = chances.get(value) ?? 0;
    return { value, text, notes, probability, isChosen, isLikely: value === likely };
  });
}

/** The choices that are shown without asking for all: those that are probable, chosen or found. */
export function listFirstChoices(column, token, sentence, values, number) {
  const choices = listChoices(column, token, sentence, values);
  const needed = choices.filter(({ isChosen, isLikely }) => isChosen || isLikely);
  const probable = choices.filter((each) => each.probability >= SMALLEST && !needed.includes(each));
  const shown = [...needed, ...probable.slice(0, number - needed.length)];
  return choices.filter((choice) => shown.includes(choice));
}

/** The places where a sentence or a word can be split, as requests and their texts. */
export function listSplits({ id, form }) {
  const before = { value: { word: id }, text: `the sentence, before ${form}`, notes: [] };
  const places = [...graphemes.segment(form)].slice(1).map(({ index }) => {
    const [left, right] = [form.slice(0, index), form.slice(index)];
    const character = [...left].length; // as Python counts, not in units of UTF-16
    return { value: { word: id, character }, text: `${left} ${right}`, notes: ["two words"] };
  });
  return id > 1 ? [before, ...places] : places;
}

/** What can be joined at a word. */
export function listJoins({ id, form }, { tokens }) {
  const sentences = { value: {}, text: "this sentence and the next", notes: [] };
  const next = tokens[id];
  if (!next) return [sentences];
  return [sentences, { value: { word: id }, text: `${form}${next.form}`, notes: ["one word"] }];
}
