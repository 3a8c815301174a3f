"use strict";

// What all reports share: the theme, and paper, which shows what a screen folds away.
(() => {
  const theme = document.getElementById("theme");
  theme?.addEventListener("change", () => {
    if (theme.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
})();

const reportData = JSON.parse(document.getElementById("report-data").textContent);

/** Make an element; the text of strangers only ever becomes text. */
function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
