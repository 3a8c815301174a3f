// The search box of the map: nodes that have every word in their name or description, by mouse or keys.
const mapSearch = (search, found, order, visit) => {
  const { nodes } = reportData;
  const SHOWN = 10;

  /** The nodes that have every word, those with the words in their names first. */
  function matching(words) {
    const rank = ({ label, title, text }) => {
      const [name, all] = [label.toLowerCase(), `${label} ${title} ${text}`.toLowerCase()];
      if (!words.every((word) => all.includes(word))) return 0;
      if (!words.every((word) => name.includes(word))) return 1;
      if (name === words.join(" ")) return 4;
      return name.startsWith(words[0]) ? 3 : 2;
    };
    return order
      .map((number) => [number, rank(nodes[number])])
      .filter(([, fits]) => fits)
      .sort((a, b) => b[1] - a[1])
      .map(([number]) => number);
  }

  function hitItem(number) {
    const { label, kind, server } = nodes[number];
    const item = make("li", "");
    const button = make("button", "");
    button.type = "button";
    button.append(make("bdi", "term", label), make("span", "dim", server ?? kind));
    button.addEventListener("click", () => take(number));
    item.append(button);
    return item;
  }

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? matching(words) : [];
    found.replaceChildren(...hits.slice(0, SHOWN).map(hitItem));
    if (hits.length > SHOWN) found.append(make("li", "dim", `and ${(hits.length - SHOWN).toLocaleString("en")} more`));
    if (words.length && !hits.length) found.append(make("li", "dim", "nothing found"));
    found.hidden = !words.length;
    return hits;
  }

  function take(number) {
    search.focus();
    found.hidden = true;
    visit(number);
  }

  function steer(event) {
    const buttons = [...found.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "Enter" && at < 0) {
      const [first] = find();
      if (first !== undefined) take(first);
    } else if (event.key === "Escape") {
      search.focus();
      found.hidden = true;
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? search : buttons[Math.min(next, buttons.length - 1)])?.focus();
    } else return;
    event.preventDefault();
  }

  const frame = search.parentElement;
  search.addEventListener("input", find);
  search.addEventListener("focus", () => (found.hidden = !search.value.trim() || !found.childElementCount));
  frame.addEventListener("keydown", steer);
  frame.addEventListener("focusout", ({ relatedTarget }) => {
    if (!frame.contains(relatedTarget)) found.hidden = true;
  });
};
