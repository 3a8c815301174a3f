// Hints of one tool, tried as they are typed: the ranking with them beside the one without.

import { Latest, ask } from "./api.js";
import { bdi, counted, debounced, figure, make, table } from "./dom.js";

const FIELDS = [
  ["aliases", "Aliases", "Phrases that name the whole tool, one a line"],
  ["keywords", "Keywords", "Further words that it is looked for by, one a line"],
  ["usageExamples", "Example requests", "Requests for the tool, one a line"],
];

const GENERATED_KINDS = { alias: "aliases", keyword: "keywords", example: "usageExamples" };

const TYPING = 250;

export class HintsPanel {
  /** *app* has the `query`, the `limit`, the `info` and shows a `fault`. */
  constructor(app) {
    this.app = app;
    this.drafts = new Map(); // by tool: what is typed, kept while one looks at others
    this.latest = new Latest();
    this.try = debounced(() => this.#try(), () => TYPING);
    this.dialog = document.getElementById("saving");
  }

  /** Whether something is typed for a tool. */
  has(toolId) {
    return Object.keys(linesOf(this.drafts.get(toolId) ?? {})).length > 0;
  }

  /** Put the *hints* of a suggestion into the fields of a tool. */
  suggest(toolId, hints) {
    const draft = { ...(this.drafts.get(toolId) ?? {}) };
    for (const key of ["aliases", "keywords"]) draft[key] = joined(draft[key], hints[key] ?? []);
    if (hints.enabledByDefault) draft.enabledByDefault = true;
    this.drafts.set(toolId, draft);
  }

  /** The form of *tool*, and the rankings below it. */
  show(tool) {
    this.tool = tool;
    const draft = this.#draft();
    for (const [key] of FIELDS) draft[key] = without(draft[key], textsOf(tool, key));
    this.result = make("div", { class: "tried" });
    // Beside the rankings, which an answer that comes after the save replaces.
    this.saved = make("div");
    this.told = make("p", { class: "unseen", role: "status" });
    this.save = make("button", { type: "button", id: "save-hints", class: "primary", onclick: () => this.#review() }, `Save to ${this.app.info.hintsFile}…`);
    const off = !tool.isEnabledByDefault || draft.enabledByDefault;
    const form = make(
      "form",
      { class: "hints", onsubmit: (event) => event.preventDefault() },
      FIELDS.map(([key, label, hint]) => this.#field(tool, draft, key, label, hint)),
      off ? this.#enabling(draft) : null,
    );
    this.generated = make("div");
    this.#list();
    this.try();
    return [form, this.generated, this.told, this.result, this.saved, make("p", { class: "actions" }, this.save)];
  }

  #draft() {
    if (!this.drafts.has(this.tool.toolId)) this.drafts.set(this.tool.toolId, {});
    return this.drafts.get(this.tool.toolId);
  }

  #field(tool, draft, key, label, hint) {
    const id = `hint-${key}`;
    const known = textsOf(tool, key);
    const area = make("textarea", { id, rows: 2, "aria-describedby": `${id}-hint`, spellcheck: "false", autocomplete: "off", dir: "auto" });
    area.value = draft[key] ?? "";
    area.addEventListener("input", () => {
      draft[key] = area.value;
      this.#edited();
    });
    const has = known.length
      ? make("details", { class: "has" }, make("summary", {}, `It has ${known.length}`), make("ul", { class: "terms" }, known.map((text) => make("li", {}, bdi(text)))))
      : null;
    return make("div", { class: "field" }, make("label", { for: id }, label), make("p", { class: "hint", id: `${id}-hint` }, hint), area, has);
  }

  #enabling(draft) {
    const box = make("input", { type: "checkbox", id: "hint-enabled" });
    box.checked = Boolean(draft.enabledByDefault);
    box.addEventListener("change", () => {
      draft.enabledByDefault = box.checked;
      this.#edited();
    });
    return make("label", { class: "check" }, box, " Enabled by default");
  }

  /** List the generated texts of the tool, each with what is wrong with it. */
  async #list() {
    const { tool, generated } = this;
    let texts;
    try {
      ({ texts } = await ask("generated", { tool: tool.toolId }));
    } catch (fault) {
      this.app.refused(fault, generated);
      return;
    }
    if (!texts.length) return;
    const rows = texts.map((one) => [
      bdi(one.text, "term"),
      one.kind,
      one.reasons.map((reason, place) => [place ? "; " : "", bdi(reason)]),
      make("button", { type: "button", onclick: () => this.#promote(one), "aria-label": `Promote ${one.text}` }, "Promote"),
    ]);
    const columns = [["Text"], ["Kind"], ["To look at"], [""]];
    generated.replaceChildren(
      make(
        "details",
        { class: "generated" },
        make("summary", {}, `Generated texts (${texts.length})`),
        make("p", { class: "hint" }, "A promoted text counts as your own. To edit or drop one, change the file that mcpg enrich wrote."),
        table("Generated texts", columns, rows),
      ),
    );
  }

  /** Put a generated text into the field of its kind. */
  #promote({ kind, text }) {
    const area = document.getElementById(`hint-${GENERATED_KINDS[kind]}`);
    area.value = joined(area.value, [text]);
    area.dispatchEvent(new Event("input"));
    area.focus();
  }

  /** Rank with the hints as they are now, which are not those that were saved. */
  #edited() {
    this.saved.replaceChildren();
    this.try();
  }

  async #try() {
    const { tool } = this;
    if (!tool || !this.result.isConnected) return;
    const hints = linesOf(this.#draft());
    const isEmpty = !Object.keys(hints).length;
    this.save.disabled = isEmpty;
    if (isEmpty || !this.app.query) {
      this.latest.drop();
      const what = isEmpty ? "Type a hint to see what it would change." : "Type a query to see what the hints would change.";
      this.result.replaceChildren(make("p", { class: "dim" }, what));
      this.told.textContent = "";
      return;
    }
    this.result.setAttribute("aria-busy", "true");
    try {
      const answer = await this.latest.ask("try", { tool: tool.toolId, hints, query: this.app.query, limit: this.app.limit });
      if (answer === null || tool !== this.tool) return;
      this.result.replaceChildren(...triedOf(answer));
      this.told.textContent = `${rankText(answer.ranks.then)} now, ${rankText(answer.ranks.now)} with the hints.`;
    } catch (fault) {
      this.app.refused(fault, this.result);
    }
    this.result.removeAttribute("aria-busy");
  }

  /** Show what a save would change, and save it when that is confirmed. */
  async #review(notice = "") {
    const asked = { tool: this.tool.toolId, hints: linesOf(this.#draft()) };
    let edit;
    try {
      edit = await ask("hints", asked);
    } catch (fault) {
      this.app.refused(fault, this.result);
      return;
    }
    const close = () => this.dialog.close();
    const title = make("h2", { id: "saving-title" }, edit.isNew ? "Create " : "Change ", bdi(edit.file, "term"), "?");
    const buttons = [make("button", { type: "button", onclick: close }, edit.diff ? "Cancel" : "Close")];
    if (edit.diff) {
      const confirm = make("button", { type: "button", class: "primary", onclick: () => this.#confirm(asked, edit) }, "Save");
      buttons.unshift(confirm);
    }
    this.dialog.replaceChildren(
      title,
      notice ? make("p", { class: "notice warning", role: "alert" }, notice) : "",
      edit.diff ? diffOf(edit.diff) : make("p", {}, "The file has all of this already."),
      make("p", { class: "actions" }, buttons),
    );
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.querySelector("button").focus();
  }

  async #confirm(asked, edit) {
    try {
      const saved = await ask("save", { ...asked, version: edit.version });
      this.dialog.close();
      this.app.tell(`Saved to ${saved.file}.`);
      this.saved.replaceChildren(nextOf(saved.file, this.app.info.bundle));
    } catch (fault) {
      if (fault.status === 409) await this.#review("The file has changed since: these are the changes now.");
      else {
        this.dialog.close();
        this.app.refused(fault, this.result);
      }
    }
    this.save.focus();
  }
}

function nextOf(file, bundle) {
  const output = bundle.find((name) => name.endsWith(".mdld"));
  const text = output ? "The hints count once the bundle is built with this file:" : "The hints count once the file is among the searched files:";
  const command = output ? `mcpg bundle SOURCE... ${file} -o ${output}` : `mcpg explore ${bundle.map((name) => `-b ${name}`).join(" ")} -b ${file}`;
  return make("div", { class: "saved" }, make("p", {}, make("b", {}, `Saved to ${file}. `), text), make("pre", { tabindex: 0 }, command));
}

/** The hints that are typed, without what is empty. */
function linesOf(draft) {
  const hints = {};
  for (const [key] of FIELDS) {
    const lines = (draft[key] ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
    if (lines.length) hints[key] = lines;
  }
  if (draft.enabledByDefault) hints.enabledByDefault = true;
  return hints;
}

/** The aliases, keywords or requests that *tool* has. */
function textsOf(tool, key) {
  return tool[key].map((one) => (typeof one === "string" ? one : one.input));
}

/** What is typed, without the lines that the tool has by now. */
function without(typed, known) {
  const folded = new Set(known.map((text) => text.toLowerCase()));
  return (typed ?? "").split("\n").filter((line) => !folded.has(line.trim().toLowerCase())).join("\n");
}

function joined(typed, added) {
  const lines = (typed ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
  return [...new Set([...lines, ...added])].join("\n");
}

function rankText(rank) {
  return rank === null ? "not found" : `rank ${rank}`;
}

/** The two rankings side by side, and what happens to the judged queries. */
function triedOf({ toolId, ranks, comparison, effect }) {
  const sorted = [...comparison.tools].sort((a, b) => (a.now.rank ?? 99) - (b.now.rank ?? 99));
  const rows = sorted.map((one) => {
    const row = [
      one.now.rank ?? "–",
      one.then.rank ?? "–",
      [one.toolId === toolId ? make("b", {}, bdi(one.toolId, "term")) : bdi(one.toolId, "term"), arrow(one, one.toolId === toolId)],
      one.now.score === null ? "–" : figure(one.now.score),
      one.then.score === null ? "–" : figure(one.then.score),
    ];
    row.kind = one.toolId === toolId ? "own" : null;
    return row;
  });
  const columns = [["With", true], ["Now", true], ["Tool"], ["Score with", true], ["Score now", true]];
  return [
    make(
      "p",
      { class: "verdict-line" },
      make("span", { class: `big${(ranks.now ?? 99) < (ranks.then ?? 99) ? " good" : ""}` }, ranks.now === null ? "Not found" : `Rank ${ranks.now}`),
      make("span", { class: "dim" }, `with the hints; ${rankText(ranks.then)} now`),
    ),
    table("Ranking with the hints and now", columns, rows),
    effectOf(effect),
  ].filter(Boolean);
}

function arrow({ then, now }, isOwn) {
  if (then.rank === now.rank) return "";
  const isUp = (now.rank ?? 99) < (then.rank ?? 99);
  return make("span", { class: isOwn ? (isUp ? "good" : "bad") : "dim" }, isUp ? " ▲" : " ▼", make("span", { class: "unseen" }, isUp ? " up" : " down"));
}

function effectOf(effect) {
  if (!effect) return null;
  const { better, worse, common, metrics } = effect;
  const { before, now } = metrics["ndcg@5"];
  const measured = before === null || now === null ? "" : `, nDCG@5 ${figure(before)} to ${figure(now)}`;
  return make(
    "p",
    { class: worse.length ? "bad" : "dim" },
    `Of ${counted(common, "judged query", "judged queries")}: ${better.length} better, ${worse.length} worse${measured}.`,
  );
}

function diffOf(diff) {
  const kinds = { "+": "added", "-": "removed", "@": "place" };
  const lines = diff.split("\n").map((line, place) => make("span", { class: place < 2 ? "place" : kinds[line[0]] }, bdi(line), "\n"));
  return make("pre", { class: "diff", tabindex: 0, "aria-label": "Changes" }, lines);
}
