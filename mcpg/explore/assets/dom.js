// Elements: the text of strangers only ever becomes text.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element with attributes; children are elements or texts, and what is empty is left out. */
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Make an element of a drawing. */
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const FOCUSABLE = "button, input, textarea, summary, [tabindex]";

/** Call *show*, which makes the content of *place* anew, and keep the focus and the text cursor. */
export function keepingFocus(place, show) {
  const had = document.activeElement;
  const nth = [...place.querySelectorAll(FOCUSABLE)].indexOf(had);
  show();
  if (nth < 0) return;
  const now = had.id ? document.getElementById(had.id) : place.querySelectorAll(FOCUSABLE)[nth];
  now?.focus();
  if (had.tagName === "TEXTAREA") now?.setSelectionRange(had.selectionStart, had.selectionEnd);
}

/** Text of others, which changes no direction around it. */
export function bdi(text, className) {
  return make("bdi", { class: className }, readable(text));
}

// Characters that hide, reorder or steer; line ends and tabs stay, and so do joiners.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Make what hides in a text visible. */
export function readable(text) {
  return String(text).replace(UNSAFE, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

/** Write a score as the command line does: two significant digits, 1.00 only for what is certain. */
export function figure(score) {
  if (score === 0 || score === 1) return score.toFixed(2);
  if (score < 0.001) return "<0.001";
  const decimals = score >= 0.0995 ? 2 : score >= 0.00995 ? 3 : 4;
  return Math.min(score, 0.99).toFixed(decimals);
}

/** Write a difference with its sign, and a real minus. */
export function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

export function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** A bar that is filled up to *share*, in [0, 1]. */
export function meter(share, label = "") {
  const width = `${Math.min(1, Math.max(0, share)) * 100}%`;
  return draw(
    "svg",
    label ? { class: "meter", role: "img", "aria-label": label } : { class: "meter", "aria-hidden": "true" },
    draw("rect", { class: "track", width: "100%", height: "100%", rx: 3 }),
    draw("rect", { class: "fill", width, height: "100%", rx: 3 }),
  );
}

/** A table in a frame that scrolls; rows are lists of cells, columns [head, is a number]. */
export function table(caption, columns, rows) {
  const kind = (place) => (columns[place][1] ? "num" : null);
  const cells = (row) =>
    row.map((cell, place) =>
      place
        ? make("td", { class: kind(place) }, cell)
        : make("th", { scope: "row", class: kind(place) }, cell),
    );
  return make(
    "div",
    { class: "frame", tabindex: 0, role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, columns.map(([head], place) => make("th", { scope: "col", class: kind(place) }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", { class: row.kind }, cells(row)))),
    ),
  );
}

/** Do *work* once nobody has asked for it for as many milliseconds as *delay* returns. */
export function debounced(work, delay) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), delay());
  };
  later.now = (...given) => {
    clearTimeout(timer);
    work(...given);
  };
  return later;
}
