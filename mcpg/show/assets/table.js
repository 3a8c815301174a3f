// The table of queries: found, filtered, sorted and turned over in memory; only the rows of one
// leaf are elements of the page, so that thousands of queries cost no more than fifty.
(() => {
  const { low, tools, queries } = reportData;
  const LEAF = 50;
  const rows = document.getElementById("query-rows");
  const find = document.getElementById("query-find");
  const showing = document.getElementById("query-show");
  const count = document.getElementById("query-count");
  const leafLabel = document.getElementById("query-leaf");
  const previous = document.getElementById("query-previous");
  const next = document.getElementById("query-next");
  const headings = [...document.querySelectorAll("[data-sort]")];
  const columns = headings[0].closest("tr").cells.length;
  const changed = { better: new Set(reportData.better), worse: new Set(reportData.worse) };

  queries.forEach((one, order) => {
    one.order = order;
    const named = [...one.matches.slice(0, 1).map((match) => match[0]), ...one.relevant];
    one.text = [one.id, one.query, ...named.map((tool) => tools[tool]), ...one.unknown]
      .join("\n")
      .toLowerCase();
  });

  const FILTERS = {
    all: () => true,
    missed: (one) => !one.answerless && one.rank === null,
    late: (one) => one.rank > 1,
    first: (one) => one.rank === 1,
    unsure: (one) => one.top < low,
    "surely-wrong": (one) => one.top >= low && one.rank !== 1,
    answerless: (one) => one.answerless,
    better: (one) => changed.better.has(one.id),
    worse: (one) => changed.worse.has(one.id),
  };
  // What has no number comes after everything that has one.
  const KEYS = {
    query: (one) => one.query,
    ndcg: (one) => one.ndcg ?? 2,
    rank: (one) => one.rank ?? Infinity,
    top: (one) => one.top,
  };
  const collator = new Intl.Collator(undefined, { numeric: true });

  let chosen = queries;
  let leaf = 0;
  let sort = null;
  let descending = false;

  function choose() {
    const wanted = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const passes = FILTERS[showing.value] ?? FILTERS.all;
    chosen = queries.filter((one) => passes(one) && wanted.every((word) => one.text.includes(word)));
    if (sort) {
      const key = KEYS[sort];
      const direction = descending ? -1 : 1;
      const compare = sort === "query" ? collator.compare : (a, b) => (a === b ? 0 : a < b ? -1 : 1);
      chosen.sort((a, b) => direction * compare(key(a), key(b)) || a.order - b.order);
    }
    leaf = 0;
    write();
  }

  function write() {
    const start = leaf * LEAF;
    const shown = chosen.slice(start, start + LEAF);
    rows.replaceChildren(...shown.map(row));
    if (!shown.length) {
      const cell = make("td", "dim", "No query is like this.");
      cell.colSpan = columns;
      const line = make("tr");
      line.append(cell);
      rows.append(line);
    }
    count.textContent = `${chosen.length.toLocaleString("en")} of ${queries.length.toLocaleString("en")} queries`;
    leafLabel.textContent = shown.length
      ? `${(start + 1).toLocaleString("en")} to ${(start + shown.length).toLocaleString("en")}`
      : "none";
    previous.disabled = leaf === 0;
    next.disabled = start + LEAF >= chosen.length;
    for (const button of headings) {
      const heading = button.closest("th");
      const way = descending ? "descending" : "ascending";
      heading.setAttribute("aria-sort", button.dataset.sort === sort ? way : "none");
    }
  }

  const cell = (name, className, ...content) => {
    const made = make(name, className);
    made.append(...content);
    return made;
  };
  const told = (value) => (value === null ? "–" : value.toFixed(3));
  const named = (number) => make("bdi", "term", tools[number]);

  function row(one) {
    const line = make("tr", "query-row");
    const toggle = make("button", "unfold");
    toggle.type = "button";
    toggle.setAttribute("aria-expanded", "false");
    toggle.append(make("bdi", "", one.query || "(empty)"));
    const heading = cell("th", "", toggle, make("small", "", one.id));
    heading.scope = "row";
    toggle.addEventListener("click", () => {
      const open = toggle.getAttribute("aria-expanded") === "true";
      toggle.setAttribute("aria-expanded", String(!open));
      if (open) line.nextElementSibling.remove();
      else line.after(unfolded(one));
    });
    const grade = one.answerless ? (one.top < low ? "good" : "bad") : one.rank === 1 ? "good" : one.rank === null ? "bad" : "";
    line.append(
      heading,
      cell("td", "num", told(one.ndcg)),
      cell("td", `num ${grade}`, one.rank === null ? "–" : String(one.rank)),
      cell("td", "num", one.top.toFixed(3)),
      cell("td", "", one.matches.length ? named(one.matches[0][0]) : "–"),
      cell("td", "", ...right(one)),
    );
    return line;
  }

  function right(one) {
    if (one.answerless) return [make("span", "dim", "no tool")];
    const parts = [
      ...one.relevant.map(named),
      ...one.unknown.map((name) => {
        const part = make("bdi", "term missing", name);
        part.title = "the bundle has no such tool";
        return part;
      }),
    ];
    return parts.slice(0, 3).flatMap((part, at) => (at ? [", ", part] : [part]))
      .concat(parts.length > 3 ? [`, and ${parts.length - 3} more`] : []);
  }

  function unfolded(one) {
    const list = make("ol", "found");
    for (const [tool, score, isRight] of one.matches) {
      const item = make("li", isRight ? "right" : "");
      item.append(
        make("span", "mark", isRight ? "✓" : ""),
        make("span", "num", score.toFixed(3)),
        named(tool),
      );
      if (isRight) item.append(make("span", "dim", "right"));
      list.append(item);
    }
    const all = make("p", "dim", "Right: ");
    if (one.answerless) all.append("no tool");
    else one.relevant.forEach((tool, at) => all.append(at ? ", " : "", named(tool)));
    const place = cell("td", "", one.matches.length ? list : make("p", "dim", "Nothing was found."), all);
    place.colSpan = columns;
    return cell("tr", "unfolded", place);
  }

  let waiting = 0;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(choose, 120);
  });
  showing.addEventListener("change", choose);
  document.getElementById("query-filters").addEventListener("submit", (event) => event.preventDefault());
  for (const button of headings) {
    button.addEventListener("click", () => {
      if (sort !== button.dataset.sort) {
        sort = button.dataset.sort;
        descending = false;
      } else if (!descending) {
        descending = true;
      } else {
        sort = null;
        descending = false;
      }
      choose();
    });
  }
  function turn(step) {
    leaf += step;
    write();
    document.getElementById("queries").scrollIntoView();
  }
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  choose();
})();
