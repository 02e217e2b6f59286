// All commands: their keys, what they do in words, and the methods of the page that they call.

import { make } from "./chooser.js";

// [keys, what they do, method, its argument, by default the key], by the titles of the help.
export const COMMANDS = {
  "Go to a word": [
    [["ArrowLeft", "ArrowRight"], "the word beside it", "step"],
    [["ArrowUp", "ArrowDown"], "its head, its first modifier", "step"],
    [["Home", "End"], "the first or last word", "step"],
    [["Tab"], "the next uncertain word, and after the last one the choices", "goToUncertain", 1],
    [["Shift+Tab"], "the uncertain word before", "goToUncertain", -1],
    [["m"], "the next word that check or suggest has marked, also in other sentences", "goToMarked"],
  ],
  "Change the word": [
    [["1", "2", "3", "4", "5", "6", "7", "8", "9"], "choose a head by its number in the list", "takeHead"],
    [["0", "h"], "all heads: type a number or letters, or click the head", "askHead"],
    [["Enter"], "confirm the word, and go to the next one", "confirmWord"],
    [["r"], "relation", "askColumn", "deprel"],
    [["u"], "UPOS", "askColumn", "upos"],
    [["t"], "tag of the language, XPOS", "askColumn", "xpos"],
    [["l"], "lemma", "askColumn", "lemma"],
    [["f"], "features", "askColumn", "feats"],
    [["x"], "make the word unknown again", "forgetWord"],
    [["s"], "split the sentence before the word, or the word", "askSplit"],
    [["j"], "join the sentence or the word with the next one", "askJoin"],
  ],
  "Sentences": [
    [["Ctrl+Enter"], "confirm the sentence, and go on", "confirmSentence"],
    [["PageDown"], "the next sentence of the list", "goOn", 1],
    [["PageUp"], "the sentence before", "goOn", -1],
    [["n"], "write a note", "writeNote"],
    [["/"], "search in the list", "search"],
    [["c"], "compare with the tree before the last answer, at the beginning, or no longer", "compare"],
  ],
  "Take back": [
    [["z"], "undo the last change", "undo"],
    [["Shift+z"], "make it again", "redo"],
    [["Escape"], "leave what is open", "leave"],
    [["?", "F1"], "this help", "help"],
  ],
};
const SHOWN = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", PageUp: "Page ↑", PageDown: "Page ↓",
  Escape: "Esc", Enter: "↵", "Ctrl+Enter": "Ctrl ↵", "Shift+Tab": "⇧ Tab", "Shift+z": "Z",
};
const commands = new Map();
for (const [keys, , method, argument] of Object.values(COMMANDS).flat())
  for (const key of keys) commands.set(key, { method, argument: argument ?? key });

/** Find the command of a key; on keyboards of other scripts, by the place of the key. */
export function findCommand(event) {
  if (event.isComposing || event.altKey) return undefined;
  const place = event.code.replace(/^(Key|Digit)/, "").toLowerCase();
  return commands.get(nameKey(event, event.key)) ?? commands.get(nameKey(event, place));
}

/** Name a key with those that are held; letters are named in lower case. */
function nameKey({ ctrlKey, metaKey, shiftKey }, key) {
  const name = /^\p{L}$/u.test(key) ? key.toLowerCase() : key;
  const isShifted = shiftKey && (name === "Tab" || /^\p{L}$/u.test(name));
  return `${ctrlKey || metaKey ? "Ctrl+" : ""}${isShifted ? "Shift+" : ""}${name}`;
}

function listKeys(keys) {
  const shown = keys.length > 3 ? [keys[0], keys.at(-1)] : keys;
  const between = keys.length > 3 ? " to " : " ";
  return shown.flatMap((key, k) => [...(k ? [between] : []), make("kbd", { textContent: SHOWN[key] ?? key })]);
}

/** Make the tables of all keys. */
export function makeHelp() {
  return Object.entries(COMMANDS).map(([title, rows]) => {
    const body = make("tbody", {}, ...rows.map(([keys, what]) =>
      make("tr", {}, make("th", { scope: "row" }, ...listKeys(keys)), make("td", { textContent: what }))));
    return make("table", {}, make("caption", { textContent: title }), body);
  });
}
