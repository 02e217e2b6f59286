// The page on which a file is annotated: its commands, and what happens when the server replies.

import { AnnotatedFile, Refusal, Server } from "./answers.js";
import { Chooser, make } from "./chooser.js";
import { findCommand, makeHelp } from "./keys.js";
import { SentenceList } from "./list.js";
import {
  COLUMNS, Values, findChanged, findLikely, isMarked, isUncertain, isWhole, listChoices,
  listFirstChoices, listJoins, listSplits,
} from "./sentence.js";
import { SentenceView, describeChanges } from "./view.js";

const PAUSE = 1000; // milliseconds before what is lost is asked again
const [LONG_PAUSE, SLOW] = [4000, 40]; // until the list is asked again: at least, and times a reply
const NUMBER = 9; // choices with keys of their own
const FIELDS = "input, select, textarea";
const COMPARED = ["", "Before the last answer", "At the beginning"];
const find = (id) => document.getElementById(id);
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** The page, with the sentence and the word in focus; its methods are the commands. */
class Page {
  constructor(file) {
    this.file = file;
    this.id = null; // of the sentence
    this.word = 1;
    this.armed = null; // a word whose head is chosen by the next click
    this.values = new Values();
    this.first = new Map(); // states of sentences when they were opened
    this.previous = new Map(); // their states before the last change
    this.comparison = 0;
    this.list = new SentenceList(find("list"), (id, stays) => {
      if (!stays) this.leave();
      this.select(id);
    });
    this.view = new SentenceView(this);
    this.chooser = new Chooser(find("chooser"), () => this.focusWord());
    file.addEventListener("list", () => this.showList());
    file.addEventListener("sentence", ({ detail }) => this.receive(detail));
    file.addEventListener("waiting", () => this.tellWaiting());
    file.addEventListener("refused", ({ detail }) => this.tellRefused(detail));
    find("help").lastElementChild.append(...makeHelp());
    find("note").addEventListener("submit", (event) => {
      event.preventDefault();
      this.takeNote();
      this.focusWord();
    });
    find("note").addEventListener("change", () => this.takeNote());
    document.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-command]");
      if (!button) return;
      this.disarm();
      this.run(button.dataset.command, button.dataset.argument);
    });
    document.addEventListener("keydown", (event) => this.press(event));
    addEventListener("beforeunload", (event) => file.waiting.length && event.preventDefault());
  }

  get sentence() {
    return this.file.find(this.id);
  }

  get token() {
    return this.sentence.tokens[this.word - 1];
  }

  /** Load the file, and show the sentence of the address or the first that is not done. */
  async start() {
    const isLoaded = await this.insist(async () => {
      this.values.add(await this.file.server.ask("GET", "values"));
      await this.file.load();
    });
    if (!isLoaded) return;
    const rows = this.file.rows;
    const number = Number(location.hash.slice(1));
    const isWanted = ({ index, checked }) => (number ? index + 1 === number : !checked);
    const row = rows.find(isWanted) ?? rows[0];
    await this.select(row.id);
    this.file.send();
    await this.follow();
  }

  /** Do something again until the server answers; return whether it has not refused it. */
  async insist(action) {
    for (let hasFailed = false; ; hasFailed = true) {
      try {
        await action();
        if (hasFailed) this.say("");
        return true;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.say(error.message, true);
        if (![0, 503].includes(error.status)) return false;
      }
      await pause(PAUSE);
    }
  }

  /** Ask for the list again as long as the parser works on it. */
  async follow() {
    while (this.file.rows.some((row) => row.expected_errors === null)) {
      await pause(LONG_PAUSE);
      const begun = performance.now();
      await this.file.load().catch(() => {}); // the next request says what is wrong
      await pause(SLOW * (performance.now() - begun));
    }
  }

  say(text, isFailure = false) {
    find("status").textContent = text;
    find("status").classList.toggle("failed", isFailure);
  }

  showList() {
    const { rows, count } = this.file;
    this.list.show(rows);
    if (this.sentence && this.view.sentence?.id === this.id) this.view.writeTitle(this.sentence);
    const done = rows.filter(({ checked }) => checked).length;
    find("progress").textContent =
      `${done} of ${rows.length} sentences done; this time ${Math.max(0, count.words)} words confirmed, ` +
      `${count.answers} answers given`;
  }

  tellWaiting() {
    const { trouble, waiting } = this.file;
    const number = waiting.length === 1 ? "1 answer waits and is" : `${waiting.length} answers wait and are`;
    find("waiting").hidden = !trouble;
    find("waiting").textContent = trouble && `${trouble} ${number} sent again.`;
  }

  tellRefused({ change: { action, id, content }, reason }) {
    const again = make("button", { type: "button", textContent: "Send again" });
    const drop = make("button", { type: "button", textContent: "Leave it" });
    const message = make("p", {}, reason, again, drop);
    again.addEventListener("click", () => this.file.states.has(id) && this.file.add(action, id, content));
    message.addEventListener("click", ({ target }) => target !== message && message.remove());
    find("refused").append(message);
  }

  /** Show another sentence, the one that is known at once, and then the one of the server. */
  async select(id) {
    this.chooser.close();
    this.disarm();
    Object.assign(this, { id, comparison: 0 });
    this.list.choose(id);
    history.replaceState(null, "", `#${(this.file.places.get(id)?.index ?? 0) + 1}`);
    const known = this.sentence;
    find("sentence").classList.toggle("loading", !known); // the one before is still to be seen
    if (known) this.begin(known);
    await this.insist(async () => {
      if (this.id !== id) return; // another one has been chosen meanwhile
      const sentence = await this.file.open(id);
      if (this.id !== id) return;
      if (!known) this.begin(sentence);
      else if (sentence.version !== known.version) this.show(sentence);
    });
    const next = this.list.findNext(1, ({ checked }) => !checked);
    if (next && this.id === id) this.file.open(next.id).catch(() => {}); // so that it is there at once
  }

  /** Show a sentence from its first uncertain word. */
  begin(sentence) {
    this.word = sentence.tokens.find(isUncertain)?.id ?? 1;
    if (!this.first.has(this.id)) this.first.set(this.id, sentence);
    this.show(sentence);
  }

  show(sentence) {
    find("sentence").hidden = false;
    find("sentence").classList.remove("loading");
    this.values.addSentence(sentence);
    this.word = Math.min(this.word, sentence.tokens.length);
    this.view.show(sentence, this.word, this.mayFocus);
    const earlier = [null, this.previous.get(this.id), this.first.get(this.id)][this.comparison];
    this.view.compare(COMPARED[this.comparison], earlier);
  }

  /** Whether nobody types or goes through the list. */
  get mayFocus() {
    const active = document.activeElement;
    return !active.matches(FIELDS) && !active.closest("aside, dialog");
  }

  /** Take over what the server, or a waiting answer, has made of a sentence. */
  receive({ id, before, after, freed, change }) {
    if (id !== this.id && change && change.id === this.id && change.action !== "answer") {
      this.select(id);
      return;
    }
    if (before) this.previous.set(id, before);
    if (id !== this.id) return;
    this.show(this.sentence);
    if (!before) return;
    this.view.flash(findChanged(before, after).map((token) => token.id).concat(freed));
    this.say(describeChanges(before, after, freed));
  }

  // Keys and clicks.

  press(event) {
    const command = findCommand(event);
    const { target, key } = event;
    if (!command || event.defaultPrevented || find("help").open) return;
    if (target.matches(FIELDS) && key !== "Escape") return;
    if (target.matches("button, summary") && key === "Enter" && !event.ctrlKey) return;
    if (target.matches(".scrolled") && /^(Arrow|Page|Home|End)/.test(key)) return;
    if (key === "Tab" && !(target.closest("#drawing") && this.findUncertain(command.argument))) return;
    event.preventDefault();
    this.disarm();
    this.run(command.method, command.argument);
  }

  /** Run a command; most need a sentence whose words are not about to change. */
  run(command, argument) {
    const isFree = ["help", "leave", "search", "toggleList", "goOn", "undo"].includes(command);
    if (!isFree && !this.sentence) return;
    if (!isFree && this.file.isMoving) this.say("Words are being split or joined: wait for the server.", true);
    else this[command](argument);
  }

  answer(content) {
    this.file.add("answer", this.id, content);
    this.focusWord();
  }

  focusWord() {
    this.disarm();
    if (this.sentence && this.view.sentence?.id === this.id) this.view.look(this.word, true);
  }

  /** The focus has come to a word. */
  lookAt(word) {
    if (word === this.word || this.armed || !this.sentence) return;
    this.word = word;
    this.view.look(word, true);
  }

  arm() {
    this.armed = this.word;
    find("armed").hidden = false;
    find("armed").replaceChildren("Click the head of ", make("bdi", { textContent: this.token.form }),
      ", or the word itself to leave it as it is.");
  }

  disarm() {
    this.armed = null;
    find("armed").hidden = true;
  }

  /** A click on a word chooses it, and the next one is on its head. */
  clickWord(word) {
    if (!this.sentence) return;
    const { armed } = this;
    this.chooser.close();
    this.disarm();
    if (armed && armed !== word) this.run("takeValue", ["head", word]);
    else if (armed === null) {
      this.word = word;
      this.view.look(word, true);
      this.arm();
    }
  }

  clickArc(word) {
    if (!this.sentence) return;
    this.disarm();
    this.word = word;
    this.view.look(word, true);
    this.run("askColumn", "deprel");
  }

  step(key) {
    this.view.step(this.word, key);
  }

  findUncertain(step) {
    const isNext = ({ id }) => (id - this.word) * step > 0;
    const words = this.sentence?.tokens.filter(isNext).filter((token) => isUncertain(token) || token.likely);
    return step > 0 ? words?.[0] : words?.at(-1);
  }

  goToUncertain(step) {
    this.word = this.findUncertain(step)?.id ?? this.word;
    this.focusWord();
  }

  async goToMarked() {
    let token = this.sentence.tokens.find((each) => isMarked(each) && each.id > this.word);
    if (!token) {
      const next = this.list.findNext(1, ({ marked, checked }) => marked && !checked);
      if (!next) this.say("No sentence below has marked words.");
      else await this.select(next.id);
      token = next && this.sentence?.tokens.find(isMarked);
    }
    this.word = token?.id ?? this.word;
    this.focusWord();
  }

  // Answers.

  listFirst(column, token) {
    return listFirstChoices(column, token, this.sentence, this.values, NUMBER);
  }

  takeValue([column, value]) {
    const { answer } = COLUMNS[column];
    this.answer({ [answer]: { [this.word]: column === "head" ? Number(value) : value } });
  }

  takeHead(number) {
    const choice = this.listFirst("head", this.token)[number - 1];
    if (choice) this.takeValue(["head", choice.value]);
  }

  takeRelation(number) {
    this.takeValue(["deprel", this.listFirst("deprel", this.token)[number - 1].value]);
  }

  takeLikely(column) {
    this.takeValue([column, findLikely(this.token, column)]);
  }

  takeNote() {
    const note = find("note").elements.note.value.trim();
    if (this.sentence && note !== this.sentence.note) this.file.add("answer", this.id, { note });
  }

  askHead() {
    const choices = listChoices("head", this.token, this.sentence, this.values);
    this.chooser.ask(`Head of ${this.token.form}`, choices, (value) => this.takeValue(["head", value]));
    this.arm();
  }

  askColumn(column) {
    const choices = listChoices(column, this.token, this.sentence, this.values);
    const isFree = column === "lemma" || column === "feats";
    const start = isFree ? this.token[column] : "";
    const question = `${COLUMNS[column].title} of ${this.token.form}`;
    const take = (value) => this.takeValue([column, value]);
    this.chooser.ask(question, choices, take, { start, isFree, isNumbered: !isFree, isNew: true });
  }

  askSplit() {
    const take = (content) => this.file.add("split", this.id, content);
    this.chooser.ask(`Split at ${this.token.form}`, listSplits(this.token), take, { isNumbered: true });
  }

  askJoin() {
    const take = (content) => this.file.add("join", this.id, content);
    const choices = listJoins(this.token, this.sentence);
    this.chooser.ask(`Join at ${this.token.form}`, choices, take, { isNumbered: true });
  }

  confirmWord() {
    const { token } = this;
    if (!isWhole(token) && token.head !== null) this.file.add("answer", this.id, { confirm: [token.id] });
    this.word = Math.min(this.word + 1, this.sentence.tokens.length);
    this.focusWord();
  }

  forgetWord() {
    if (this.token.known) this.answer({ unknown: [this.word] });
  }

  confirmSentence() {
    if (!this.sentence.checked) this.file.add("answer", this.id, { checked: true });
    const next = this.list.findNext(1, ({ checked }) => !checked);
    if (next) this.select(next.id);
    else this.say("No sentence below is left to do.");
  }

  reopen() {
    this.answer({ checked: false });
  }

  undo() {
    const id = this.file.takeBack();
    if (id !== null && id !== this.id) this.select(id);
    else if (id === null && this.sentence) this.file.add("undo", this.id, {});
  }

  redo() {
    this.file.add("redo", this.id, {});
  }

  // The rest of the page.

  goOn(step) {
    const next = this.list.findNext(Number(step));
    if (next) this.select(next.id);
  }

  writeNote() {
    find("note").elements.note.focus();
  }

  search() {
    document.body.classList.add("listed");
    find("list").querySelector("[name=search]").select();
  }

  toggleList() {
    const isListed = document.body.classList.toggle("listed");
    find("toggle").ariaExpanded = isListed;
  }

  compare() {
    this.comparison = (this.comparison + 1) % COMPARED.length;
    if (this.comparison === 1 && !this.previous.has(this.id)) this.comparison = 2;
    this.show(this.sentence);
  }

  help() {
    find("help").showModal();
  }

  leave() {
    this.chooser.close();
    this.disarm();
    document.body.classList.remove("listed");
    find("toggle").ariaExpanded = false;
    if (document.activeElement.matches(FIELDS)) document.activeElement.blur();
    this.focusWord();
  }
}

const key = new URLSearchParams(location.search).get("key") ?? "";
new Page(new AnnotatedFile(new Server(key))).start();
