// A text field with a list of options (the combobox pattern of WAI-ARIA): the focus stays in the
// field, arrow keys move over the options, Enter takes one.

import { make } from "./dom.js";

export class Choices {
  /**
   * *onMove* is called with the value that is moved to, *onTake* with the one that is taken by
   * Enter or a click. A list that *pops* up is shown only while there is something to choose.
   */
  constructor(input, list, { onMove = () => {}, onTake = () => {}, pops = false } = {}) {
    Object.assign(this, { input, list, onMove, onTake, pops });
    this.options = [];
    this.place = -1;
    input.addEventListener("keydown", (event) => this.#steer(event));
    list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays
    list.addEventListener("click", (event) => this.#click(event));
    if (pops) input.addEventListener("blur", () => this.close());
  }

  /** Show groups of options: `{title, items: [{value, content}]}`. */
  show(groups, chosen = null) {
    this.options = [];
    this.place = -1;
    const shown = groups
      .filter((group) => group.items.length)
      .map((group, number) => this.#group(group, number));
    this.list.replaceChildren(...shown.flat());
    this.list.hidden = this.pops && !this.options.length;
    this.input.setAttribute("aria-expanded", String(this.options.length > 0));
    this.mark(this.options.findIndex((one) => one.value === chosen));
  }

  close() {
    this.show([]);
  }

  #group({ title, items }, number) {
    const options = items.map((item) => this.#option(item));
    if (!title) return options;
    const id = `${this.list.id}-group-${number}`;
    const heading = make("div", { class: "heading", id, role: "presentation" }, title);
    return [make("div", { role: "group", "aria-labelledby": id }, heading, options)];
  }

  #option({ value, content }) {
    const element = make(
      "div",
      { role: "option", id: `${this.list.id}-${this.options.length}`, "aria-selected": "false" },
      content,
    );
    this.options.push({ value, element });
    return element;
  }

  /** Mark the option at *place* as the active one; none below 0. */
  mark(place) {
    this.place = place;
    this.options.forEach((one, number) => one.element.setAttribute("aria-selected", String(number === place)));
    const active = this.options[place]?.element;
    if (active) this.input.setAttribute("aria-activedescendant", active.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #move(place) {
    this.mark(place);
    this.options[place].element.scrollIntoView({ block: "nearest" });
    this.onMove(this.options[place].value);
  }

  #steer(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.options.length - 1;
    if (event.key === "Escape" && this.pops && last >= 0) {
      event.preventDefault();
      this.close();
    }
    if (last < 0) return;
    if (event.key === "ArrowDown") this.#move(this.place >= last ? 0 : this.place + 1);
    else if (event.key === "ArrowUp") this.#move(this.place <= 0 ? last : this.place - 1);
    else if (event.key === "Enter" && this.place >= 0) this.onTake(this.options[this.place].value);
    else return;
    event.preventDefault();
  }

  #click(event) {
    const place = this.options.findIndex((one) => one.element.contains(event.target));
    if (place < 0) return;
    this.mark(place);
    this.onTake(this.options[place].value, true);
  }
}
