// The list of sentences, of which only the rows in view are drawn.

import { make } from "./chooser.js";

const ROW = 60; // pixels
const MARGIN = 6; // rows that are drawn above and below those in view
const FILTERS = {
  all: () => true,
  todo: ({ checked }) => !checked,
  marked: ({ marked }) => marked,
  done: ({ checked }) => checked,
};

export class SentenceList {
  /**
   * Use a part of the page; `onChoose` is called with the id of a sentence, and with whether somebody
   * stays in the list.
   */
  constructor(place, onChoose) {
    this.place = place;
    this.box = place.querySelector("[role=listbox]");
    this.rows = []; // all, in their order
    this.found = []; // those that fit to the search and the filter
    this.chosen = null; // an id
    this.onChoose = onChoose;
    place.querySelector("form").addEventListener("input", () => this.find());
    place.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.found.length) onChoose(this.found[0].id, false);
    });
    this.box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.box.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) onChoose(this.found[Number(option.dataset.place)].id, false);
    });
    this.box.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      event.stopPropagation();
      const next = this.found[this.findChosen() + steps[event.key]];
      if (next) onChoose(next.id, true);
    });
  }

  show(rows) {
    this.rows = rows;
    const counts = Object.entries(FILTERS).map(([name, fits]) => [name, rows.filter(fits).length]);
    for (const [name, number] of counts) {
      const option = this.place.querySelector(`option[value=${name}]`);
      option.textContent = `${option.dataset.name} (${number.toLocaleString("en")})`;
    }
    this.find();
  }

  /** Find the sentences that fit to the search and the filter. */
  find() {
    const { search, filter } = this.place.querySelector("form").elements;
    const sought = search.value.trim().toLowerCase();
    const fits = FILTERS[filter.value];
    this.found = this.rows.filter(
      (row) => fits(row) && (!sought || `${row.sent_id ?? ""} ${row.text}`.toLowerCase().includes(sought)));
    this.place.querySelector(".count").textContent =
      this.found.length ? "" : "No sentence is of this kind.";
    this.draw();
  }

  findChosen() {
    return this.found.findIndex(({ id }) => id === this.chosen);
  }

  /** Find the next sentence, in the order of the list, from the one that is chosen. */
  findNext(step, fits = () => true) {
    const places = new Map(this.rows.map(({ id }, k) => [id, k]));
    const here = places.get(this.chosen) ?? -1;
    const ahead = this.found.filter((row) => (places.get(row.id) - here) * step > 0 && fits(row));
    return step > 0 ? ahead[0] : ahead.at(-1);
  }

  choose(id) {
    this.chosen = id;
    const top = this.findChosen() * ROW;
    const { scrollTop, clientHeight } = this.box;
    if (top >= 0 && (top < scrollTop || top + ROW > scrollTop + clientHeight))
      this.box.scrollTop = top - clientHeight / 3;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MARGIN);
    const last = first + Math.ceil(this.box.clientHeight / ROW) + 2 * MARGIN;
    const rows = this.found.slice(first, last).map((row, k) => this.makeRow(row, first + k));
    const ground = this.box.firstElementChild;
    ground.style.setProperty("height", `${this.found.length * ROW}px`);
    ground.replaceChildren(...rows);
    const chosen = rows.find((row) => row.ariaSelected === "true");
    if (chosen) this.box.setAttribute("aria-activedescendant", chosen.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  makeRow({ id, index, text, checked, marked, expected_errors: errors }, place) {
    const state = checked ? "done" : marked ? "marked" : "to do";
    const wrong = errors === null || checked ? "" : `${errors.toFixed(1)} wrong`;
    const row = make("div", { id: `row-${id}`, role: "option", className: state.replace(" ", "") },
      make("span", { className: "place", textContent: `${index + 1} ${state}` }),
      make("span", { className: "wrong", textContent: wrong, title: "Expected number of wrong heads" }),
      make("span", { className: "text", dir: "auto", textContent: text }));
    row.dataset.place = place;
    row.ariaSelected = id === this.chosen;
    row.ariaSetSize = this.found.length;
    row.ariaPosInSet = place + 1;
    row.style.setProperty("top", `${place * ROW}px`);
    return row;
  }
}
