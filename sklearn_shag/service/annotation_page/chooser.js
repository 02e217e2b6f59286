// A field with a list below it: letters narrow the list, and Enter takes what is marked.

const SHOWN = 200; // choices at once; letters find all others

/** Make an element of HTML with properties and children. */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

export class Chooser {
  /** Use a form with a label, an input and a list; `onClose` is called when it is left. */
  constructor(form, onClose) {
    this.form = form;
    this.input = form.querySelector("input");
    this.list = form.querySelector("ul");
    this.label = form.querySelector("label");
    this.onClose = onClose;
    this.take = null; // is called with what is chosen
    this.input.addEventListener("input", () => this.filter());
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("li");
      if (option) this.choose(this.found[Number(option.dataset.place)]);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.choose(this.found[this.marked]);
    });
    form.querySelector("[name=cancel]").addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !this.form.hidden;
  }

  /**
   * Ask for one of some choices.
   *
   * With `isFree`, what is typed is taken as it is, unless an arrow key marks a choice; otherwise it
   * is completed. With `isNumbered`, a digit in the empty field takes a choice by its number.
   */
  ask(question, choices, take, { start = "", isFree = false, isNumbered = false, isNew = false } = {}) {
    Object.assign(this, { choices, take, isFree, isNumbered, isNew: isFree || isNew, start });
    this.label.textContent = question;
    this.form.hidden = false;
    this.input.value = start;
    this.filter();
    this.input.focus();
    this.input.select();
    this.form.scrollIntoView({ block: "nearest" });
  }

  close() {
    if (!this.isOpen) return;
    this.form.hidden = true;
    this.take = null;
    this.onClose();
  }

  choose(choice) {
    if (!choice) return;
    const { take } = this;
    this.close();
    take(choice.value);
  }

  press(event) {
    if (event.isComposing) return;
    const { key } = event;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (key in steps) this.mark(this.marked + steps[key]);
    else if (key === "Escape") this.close();
    else if (this.isNumbered && !this.input.value && /^[1-9]$/.test(key))
      this.choose(this.found[key - 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** List the choices that fit to what is typed, the best first. */
  filter() {
    const typed = this.input.value.trim();
    const isUntouched = this.isFree && typed === this.start;
    const ranked = this.choices.map((choice) => [isUntouched ? 2 : rank(choice, typed), choice]);
    const fitting = ranked.filter(([rank]) => rank < 4).sort(([a], [b]) => a - b);
    this.found = fitting.map(([, choice]) => choice).slice(0, SHOWN);
    const isThere = this.found.some(({ text }) => text === typed);
    if (this.isNew && typed && !(isThere && !this.isFree)) {
      const asTyped = { value: typed, text: typed, notes: ["as typed"] };
      if (this.isFree) this.found = [asTyped, ...this.found.filter(({ text }) => text !== typed)];
      else this.found.push(asTyped);
    }
    const isNumbered = this.isNumbered && !typed;
    this.list.replaceChildren(...this.found.map((choice, k) => makeOption(choice, k, isNumbered)));
    this.mark(0);
    if (!this.found.length) this.list.append(make("li", { className: "note", textContent: "Nothing fits." }));
  }

  /** Mark a choice, which Enter takes. */
  mark(place) {
    this.marked = Math.max(0, Math.min(this.found.length - 1, place));
    [...this.list.children].forEach((option, k) => {
      option.setAttribute("aria-selected", k === this.marked);
      if (k === this.marked) option.scrollIntoView({ block: "nearest" });
    });
    if (this.found.length) this.input.setAttribute("aria-activedescendant", `choice-${this.marked}`);
    else this.input.removeAttribute("aria-activedescendant");
  }
}

/** How well a choice fits to what is typed, from 0; 4 if it does not. */
function rank({ value, text }, typed) {
  const [low, all] = [typed.toLowerCase(), text.toLowerCase()];
  if (typed === text || typed === value) return 0;
  if (all.startsWith(low)) return 1;
  if (all.split(/[ :|]/).some((part) => part.startsWith(low))) return 2;
  return all.includes(low) ? 3 : 4;
}

function makeOption({ text, notes }, place, isNumbered) {
  const option = make("li", { id: `choice-${place}`, role: "option" });
  option.dataset.place = place;
  if (isNumbered && place < 9) option.append(make("kbd", { className: "number", textContent: place + 1 }));
  option.append(make("bdi", { textContent: text }));
  if (notes.length) option.append(make("span", { className: "note", textContent: notes.join(", ") }));
  return option;
}
