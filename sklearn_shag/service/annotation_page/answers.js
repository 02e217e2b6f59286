// Requests to the server, and the queue in which answers wait until the server has them.

import { applyAnswer, describeAnswer, joinForms, readSentence } from "./sentence.js";

const PATIENCE = 30_000; // milliseconds until a request without a reply counts as lost
const PAUSE = 1000; // before what is lost is sent again
const TRIES = 5; // of an answer to a sentence that changes elsewhere all the time
const KEPT = "waiting"; // in the storage of the tab, which outlives a reload
// What is said, by the status of refusals after which an answer waits; 0: there is no reply.
const WAITING = {
  0: "The server does not answer.",
  403: "The server was started with another key: open the address that it printed.",
  503: "The server is busy.",
  507: "The disk is full: make room on it.",
};

/** A request that is refused, or gets no reply. */
export class Refusal extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** The server, to which all requests bring the key of the page's address. */
export class Server {
  constructor(key) {
    this.key = key;
  }

  async ask(method, address, content) {
    const headers = { "X-Key": this.key, "Content-Type": "application/json" };
    const body = content && JSON.stringify(content);
    let reply, text;
    try {
      const signal = AbortSignal.timeout(PATIENCE);
      reply = await fetch(address, { method, headers, body, signal, cache: "no-store" });
      text = await reply.text();
    } catch {
      throw new Refusal(0, WAITING[0]);
    }
    if (!reply.ok) throw new Refusal(reply.status, text.trim().slice(0, 300) || `Status ${reply.status}.`);
    return JSON.parse(text);
  }
}

/**
 * The annotated file: the list of its sentences, their states on the server, and the answers that
 * wait to be sent, one after the other.
 *
 * It tells of "list", "sentence", "waiting" and "refused" by events.
 */
export class AnnotatedFile extends EventTarget {
  constructor(server) {
    super();
    this.server = server;
    this.rows = []; // in the order of the server
    this.places = new Map(); // rows by the ids of sentences
    this.states = new Map(); // sentences by their ids, as the server has them
    this.waiting = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    this.isSending = false;
    this.trouble = ""; // why answers wait
    this.count = { answers: 0, words: 0, changes: 0 }; // since the page was opened
  }

  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  async load() {
    this.rows = await this.server.ask("GET", "sentences");
    this.places = new Map(this.rows.map((row) => [row.id, row]));
    this.tell("list");
  }

  /** Get a sentence from the server, and its place anew if it has another one by now. */
  async open(id) {
    for (let tries = 0; tries < 2; tries++) {
      const row = this.places.get(id);
      if (!row) break;
      const { changes } = this.count;
      const content = await this.server.ask("GET", `sentences/${row.index}`);
      if (content.id === id) {
        // A reply that has been overtaken by a change is older than what is known.
        if (changes === this.count.changes || !this.states.has(id)) this.receive(content);
        return this.find(id);
      }
      await this.load();
    }
    throw new Refusal(404, "This sentence is not in the file any more.");
  }

  /** The sentence as it will be when the server has all answers; undefined until it is opened. */
  find(id) {
    const state = this.states.get(id);
    if (!state) return undefined;
    const { index } = this.places.get(id) ?? state; // splits and joins move it, and nothing else
    const own = this.waiting.filter((change) => change.id === id && change.action === "answer");
    return own.reduce((sentence, { content }) => applyAnswer(sentence, content), { ...state, index });
  }

  receive(content) {
    const sentence = readSentence(content);
    const old = this.states.get(sentence.id);
    if (old) this.count.words += countKnown(sentence) - countKnown(old);
    this.states.set(sentence.id, sentence);
    const { index, sent_id, text, checked, tokens } = sentence;
    const expected_errors = tokens.reduce((sum, token) => sum + 1 - token.probability, 0);
    const row = this.places.get(sentence.id);
    if (row) Object.assign(row, { index, sent_id, text, checked, expected_errors });
    return sentence;
  }

  /** Whether words or sentences are about to change, so that numbers would mean others. */
  get isMoving() {
    return this.waiting.some(({ action }) => action === "split" || action === "join");
  }

  /** Let a change wait for its turn: an answer, or to split, join, undo or redo. */
  add(action, id, content) {
    const forms = joinForms(this.states.get(id));
    this.waiting.push({ action, id, content, forms, isSent: false, tries: 0 });
    this.keep();
    if (action === "answer") this.tell("sentence", { id });
    this.send();
  }

  /** Take back the last answer, if it has not been sent; return the id of its sentence, or null. */
  takeBack() {
    if (!this.waiting.length || this.waiting.at(-1).isSent) return null;
    const { id } = this.waiting.pop();
    this.keep();
    this.tell("sentence", { id });
    return id;
  }

  keep() {
    sessionStorage.setItem(KEPT, JSON.stringify(this.waiting));
    this.tell("waiting");
  }

  /** Send what waits until nothing is left. */
  async send() {
    if (this.isSending) return;
    this.isSending = true;
    try {
      while (this.waiting.length) await this.sendFirst();
    } finally {
      this.isSending = false;
    }
  }

  async sendFirst() {
    const [change] = this.waiting;
    let content;
    try {
      content = await this.sendOne(change);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.judge(change, error);
      return;
    }
    // Other sentences may have other places now. If this fails, the next request says why.
    if (change.action !== "answer") await this.load().catch(() => {});
    this.finish(change, content, content.freed ?? []);
  }

  async sendOne(change) {
    const { action, id } = change;
    const wasSent = change.isSent;
    // It may have been done, and only the reply lost. Answers may be given twice, others not.
    if (wasSent || !this.states.has(id)) await this.open(id);
    if (wasSent && (action === "undo" || action === "redo"))
      throw new Refusal(410, "The server was away. Look whether it was done, or press the key again.");
    if (joinForms(this.states.get(id)) !== change.forms) {
      if (action !== "answer" && wasSent) return this.states.get(id);
      throw new Refusal(410, "The words of the sentence have changed elsewhere.");
    }
    change.isSent = true;
    this.keep();
    const { index } = this.places.get(id);
    if (action === "undo" || action === "redo") return this.server.ask("POST", action, {});
    const { version } = this.states.get(id);
    const content = { ...change.content, id };
    if (action !== "answer") return this.server.ask("POST", `sentences/${index}/${action}`, content);
    return this.server.ask("PUT", `sentences/${index}`, { ...content, version });
  }

  /** Keep a change that the server has made, and tell of it. */
  finish(change, content, freed) {
    const before = this.states.get(content.id);
    const isAnswer = change.action === "answer";
    this.waiting.shift();
    this.trouble = "";
    this.count.answers += isAnswer;
    this.count.changes += 1;
    const after = this.receive(content);
    this.keep();
    this.tell("sentence", { id: after.id, before, after, freed, change });
    this.tell("list");
  }

  /** Decide what becomes of a change that was refused: it waits, or it is given back. */
  async judge(change, { status, message }) {
    if (status in WAITING) {
      this.trouble = WAITING[status];
      this.tell("waiting");
      await new Promise((done) => setTimeout(done, PAUSE));
      return;
    }
    const { action, id } = change;
    const isStale = status === 409 && (action === "answer" || (await this.isElsewhere(id)));
    change.tries += 1;
    if (isStale && change.tries < TRIES) {
      this.trouble = "The sentence was changed elsewhere.";
      return; // it is sent anew, after the sentence has been read
    }
    this.waiting.shift();
    this.trouble = "";
    this.keep();
    const said = action === "answer" ? describeAnswer(change.content, this.states.get(id)) : action;
    const place = this.places.has(id) ? `Sentence ${this.places.get(id).index + 1}: ` : "";
    this.tell("refused", { change, reason: `${place}${message} Not done: ${said}.` });
    this.tell("sentence", { id });
  }

  async isElsewhere(id) {
    const index = this.places.get(id)?.index;
    await this.load().catch(() => {});
    return index !== this.places.get(id)?.index;
  }
}

function countKnown({ tokens }) {
  return tokens.filter(({ known }) => known).length;
}
