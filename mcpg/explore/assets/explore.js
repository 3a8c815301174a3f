// The page: a query, its matches, and what there is to know and to try about one of them.

import { Latest, ask } from "./api.js";
import { Choices } from "./choices.js";
import { bdi, counted, debounced, keepingFocus, make } from "./dom.js";
import { HintsPanel } from "./hints.js";
import { Judged } from "./judged.js";
import { groupsOf, readingOf, statusOf, summaryOf } from "./matches.js";
import { whyNotOf, whyOf } from "./why.js";

const POLL = 2000;
const PATIENCE = 400;
const TYPING = 120;
const TYPING_MODEL = 700;
const KEPT = "mcpg-explore-query";
const LIMITS = [5, 10, 20, 50];
const DOUBT = "low_confidence_results"; // which the status says
const at = (id) => document.getElementById(id);

class App {
  constructor() {
    this.info = null;
    this.answer = null;
    this.chosen = null; // id of the tool that is looked at
    this.isHeld = false; // whether somebody chose it, rather than it being first
    this.tab = "why";
    this.searches = new Latest();
    this.standings = new Latest();
    this.names = new Latest();
    this.judged = new Judged(this);
    this.hints = new HintsPanel(this);
    this.matches = new Choices(at("query"), at("matches"), {
      onMove: (id) => this.look(id),
      onTake: (id) => this.look(id, true),
    });
    this.others = new Choices(at("another"), at("others"), { onTake: (id) => this.pick(id), pops: true });
    this.search = debounced(() => this.#search(), () => this.#typing);
    this.#listen();
  }

  get query() {
    return at("query").value.trim();
  }

  /** How long somebody pauses who has typed: longer where each search may cost a call of a model. */
  get #typing() {
    return this.info && (this.info.strategy !== "graph" || this.info.rewrite) ? TYPING_MODEL : TYPING;
  }

  get limit() {
    return Number(at("limit").value);
  }

  #listen() {
    at("query").addEventListener("input", () => this.search());
    at("limit").addEventListener("change", () => this.search.now());
    at("another").addEventListener("input", () => this.#find());
    at("none-right").addEventListener("click", () => {
      const isRight = at("none-right").getAttribute("aria-pressed") !== "true";
      this.judged.judge(this.query, null, isRight);
    });
    at("skip").addEventListener("click", (event) => {
      event.preventDefault();
      at("query").focus();
    });
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.view(button.dataset.view));
    }
    setInterval(() => document.visibilityState === "visible" && this.#poll(), POLL);
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#poll());
  }

  async start() {
    await this.#poll();
    if (!this.info) return;
    at("query").focus();
  }

  // ---- What the server has --------------------------------------------------------------------

  async #poll() {
    try {
      await this.#know(await ask("state"));
    } catch (fault) {
      this.#lost(fault);
    }
  }

  async #know(info) {
    const before = this.info;
    this.info = info;
    this.#complain(info.fault && { ...info.fault, message: `${info.fault.message}; the tools that were loaded last are searched` });
    if (before && before.generation === info.generation) return;
    if (!before) this.#begin(info);
    at("catalogue").replaceChildren(`${counted(info.tools, "tool")} · `, bdi(info.bundle.join(", ")), info.strategy === "graph" ? "" : ` · ${info.strategy}`);
    at("map").replaceChildren();
    if (!at("view-map").hidden) this.#map();
    if (before) this.tell(`Loaded again: ${counted(info.tools, "tool")}.`);
    await this.judged.load();
    await this.#search();
  }

  #begin(info) {
    const limits = [...new Set([...LIMITS, info.limit])].sort((a, b) => a - b);
    at("limit").replaceChildren(...limits.map((limit) => make("option", { value: limit, selected: limit === info.limit }, String(limit))));
    // What was typed before the page was loaded again comes first.
    if (!this.query) at("query").value = sessionStorage.getItem(KEPT) ?? info.query;
  }

  /** Show what is wrong with the server. */
  #lost(fault) {
    if (fault.gone) this.#complain({ message: "mcpg explore is not running", remedy: "start it again, and open the address that it prints" });
    else if (fault.stranger) this.#complain({ message: "this page does not belong to the mcpg explore that runs now", remedy: "open the address that it prints" });
    else this.#complain(fault);
  }

  #complain(fault) {
    const text = fault ? JSON.stringify([fault.message, fault.place, fault.remedy]) : "";
    if (at("fault").dataset.text === text) return; // announced once
    at("fault").dataset.text = text;
    at("fault").replaceChildren(...(fault ? [notice(fault)] : []));
  }

  /** Show why a request was refused, in *place* or above everything. */
  refused(fault, place = null) {
    if (fault.name === "AbortError") return;
    if (fault.gone || fault.stranger) this.#lost(fault);
    else if (place) place.replaceChildren(notice(fault));
    else this.tell(fault.message);
  }

  tell(text) {
    at("told").replaceChildren(bdi(text));
    clearTimeout(this.telling);
    this.telling = setTimeout(() => at("told").replaceChildren(), 6000);
  }

  // ---- Searching ------------------------------------------------------------------------------

  async #search() {
    const query = this.query;
    sessionStorage.setItem(KEPT, query);
    document.title = query ? `${query} · mcpg explore` : "mcpg explore";
    at("matches").setAttribute("aria-busy", "true");
    try {
      const answer = await this.searches.ask("explain", { query, limit: this.limit });
      if (answer === null) return;
      this.answer = answer;
      this.#show();
    } catch (fault) {
      if (fault.gone || fault.stranger) this.#lost(fault);
      else this.#failed(fault);
    }
    at("matches").removeAttribute("aria-busy");
  }

  #failed(fault) {
    this.answer = null;
    this.matches.show([]);
    at("status").textContent = "";
    at("reading").replaceChildren();
    at("detail").hidden = true;
    at("nothing").hidden = false;
    this.refused(fault, at("nothing"));
  }

  #show() {
    const { answer } = this;
    const shown = [...answer.matches, ...answer.prerequisites, ...answer.relatedMatches, ...answer.nextStepMatches];
    const isShown = shown.some((match) => match.toolId === this.chosen);
    // What is compared or tried stays, even where it is no match; else the first match is looked at.
    if (!this.isHeld || (!isShown && (!this.query || this.tab === "why"))) {
      this.chosen = answer.matches[0]?.toolId ?? null;
      this.isHeld = false;
    }
    this.#list();
    at("status").textContent = statusOf(answer, this.info.lowConfidence);
    at("status").classList.toggle("low", Boolean(answer.matches[0]) && answer.matches[0].score < this.info.lowConfidence && answer.rankingMode !== "browse");
    at("reading").replaceChildren(...noticed(answer, this.info), ...[readingOf(answer)].filter(Boolean));
    at("nothing").hidden = answer.matches.length > 0;
    at("nothing").replaceChildren(...nothing(answer, this.info));
    this.#detail();
  }

  #list() {
    if (!this.answer) return;
    const right = this.judged.right(this.query);
    this.matches.show(groupsOf(this.answer, right), this.chosen);
    const isAnswerless = this.judged.isAnswerless(this.query);
    at("none-right").hidden = !this.query;
    at("none-right").setAttribute("aria-pressed", String(isAnswerless));
    at("none-right").textContent = isAnswerless ? "✓ No tool is right" : "No tool is right";
  }

  judgedChanged() {
    this.#list();
    this.#verdict();
  }

  searchFor(query) {
    at("query").value = query;
    this.isHeld = false;
    this.view("search");
    at("query").focus();
    this.search.now();
  }

  // ---- One tool -------------------------------------------------------------------------------

  /** Look at a tool; *moves* the focus to it. */
  look(id, moves = false) {
    this.isHeld = true;
    if (this.chosen !== id) {
      this.chosen = id;
      this.#detail();
    }
    if (!moves) return;
    at("detail").querySelector("[role=tab][aria-selected=true]")?.focus();
    at("detail").scrollIntoView({ block: "nearest" });
  }

  /** Look at why another tool is not first. */
  pick(id) {
    at("another").value = "";
    this.others.close();
    this.isHeld = true;
    this.chosen = id;
    this.tab = "why-not";
    this.#list();
    this.#detail();
    at("detail").querySelector("[role=tab][aria-selected=true]").focus();
  }

  async #find() {
    let found;
    try {
      found = await this.names.ask("tools", { text: at("another").value });
    } catch (fault) {
      this.refused(fault);
      return;
    }
    if (found === null) return;
    this.others.show([
      {
        title: "",
        items: found.tools.map((tool) => ({
          value: tool.toolId,
          content: make("span", { class: "what" }, make("span", { class: "id" }, bdi(tool.toolId)), make("span", { class: "line" }, bdi(summaryOf(tool)))),
        })),
      },
    ], found.tools[0]?.toolId);
  }

  #match() {
    if (!this.answer) return null;
    const { matches, prerequisites, relatedMatches, nextStepMatches } = this.answer;
    return [matches, prerequisites, relatedMatches, nextStepMatches].flat().find((one) => one.toolId === this.chosen) ?? null;
  }

  async #detail() {
    this.standings.drop();
    const match = this.#match();
    const tool = match ?? (await this.#tool(this.chosen));
    if (tool && tool.toolId !== this.chosen) return; // overtaken
    at("detail").hidden = !tool;
    if (!tool) return;
    const tabs = [];
    if (match) tabs.push(["why", match.via ? "Why shown" : "Why here"]);
    if (this.query && match?.rank !== 1) tabs.push(["why-not", "Why not first"]);
    tabs.push(["hints", this.hints.has(tool.toolId) ? "Try hints (edited)" : "Try hints"]);
    const tab = tabs.some(([name]) => name === this.tab) ? this.tab : tabs[0][0];
    this.current = { tool, match, tab };
    this.panel = make("div", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${tab}`, tabindex: 0 });
    this.right = make("button", { type: "button", id: "right", onclick: () => this.#judge() });
    let filled;
    keepingFocus(at("detail"), () => {
      at("detail").replaceChildren(
        make(
          "header",
          {},
          make("div", { class: "name" }, make("h2", { id: "detail-name" }, bdi(tool.toolId)), make("p", { class: "dim" }, bdi(tool.sourceId))),
          this.query ? this.right : null,
        ),
        make("p", { class: "description", dir: "auto" }, bdi(summaryOf(tool))),
        make("div", { role: "tablist", "aria-label": "About this tool" }, tabs.map(([name, title]) => this.#tab(name, title, name === tab))),
        this.panel,
      );
      this.#verdict();
      filled = this.#fill(tab, tool, match);
    });
    await filled;
  }

  async #tool(id) {
    if (id === null) return null;
    try {
      return await ask("tool", { tool: id });
    } catch (fault) {
      this.refused(fault);
      return null;
    }
  }

  #tab(name, title, isSelected) {
    return make(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-selected": isSelected,
        ...(isSelected ? { "aria-controls": "panel" } : {}),
        "aria-selected": String(isSelected),
        tabindex: isSelected ? 0 : -1,
        onclick: () => this.#turn(name),
        onkeydown: (event) => this.#walk(event),
      },
      title,
    );
  }

  #turn(name) {
    this.tab = name;
    this.isHeld = true;
    this.#detail().then(() => at(`tab-${name}`)?.focus());
  }

  #walk(event) {
    const tabs = [...at("detail").querySelectorAll("[role=tab]")];
    const place = tabs.indexOf(event.currentTarget);
    const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.#turn(tabs[(next + tabs.length) % tabs.length].id.replace("tab-", ""));
  }

  async #fill(tab, tool, match) {
    if (tab === "hints") this.panel.replaceChildren(...this.hints.show(tool).filter(Boolean));
    else if (tab === "why") this.panel.replaceChildren(...whyOf(match, this.answer).filter(Boolean));
    else await this.#whyNot(tool);
  }

  async #whyNot(tool) {
    const { panel, query } = this;
    panel.replaceChildren(make("p", { class: "dim busy", role: "status" }, "Looking for the smallest change…"));
    // Whoever types on does not want the change for each beginning of the query.
    await new Promise((done) => setTimeout(done, PATIENCE));
    if (panel !== this.panel) return;
    try {
      const answer = await this.standings.ask("explain", { query, tool: tool.toolId, limit: this.limit });
      if (answer === null || panel !== this.panel) return;
      const shown = whyNotOf(answer.tool, (hints) => {
        this.hints.suggest(tool.toolId, hints);
        this.#turn("hints");
      });
      panel.replaceChildren(...shown.filter(Boolean));
    } catch (fault) {
      this.refused(fault, panel);
    }
  }

  // ---- Judging --------------------------------------------------------------------------------

  #judge() {
    const isRight = this.right.getAttribute("aria-pressed") !== "true";
    this.judged.judge(this.query, this.current.tool.toolId, isRight);
  }

  #verdict() {
    if (!this.right || !this.current) return;
    const isRight = this.judged.right(this.query).has(this.current.tool.toolId);
    this.right.setAttribute("aria-pressed", String(isRight));
    this.right.textContent = isRight ? "✓ Right for this query" : "Right for this query";
  }

  // ---- Views ----------------------------------------------------------------------------------

  view(name) {
    for (const button of document.querySelectorAll("[data-view]")) {
      const isChosen = button.dataset.view === name;
      if (isChosen) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
      at(`view-${button.dataset.view}`).hidden = !isChosen;
    }
    if (name === "map") this.#map();
    if (name === "judged") this.judged.load();
  }

  #map() {
    at("map-alone").href = this.info.map;
    if (at("map").childElementCount) return;
    // It gets a world of its own: no part of it reaches this page, its token or its answers.
    at("map").replaceChildren(make("iframe", { src: `${this.info.map}/frame`, title: "Map of the tools", sandbox: "allow-scripts" }));
  }
}

/** What is noticed about a search, such as a filter that fits no tool, and said nowhere else. */
function noticed(answer, info) {
  const known = new Set(info.diagnostics.map((one) => JSON.stringify(one)));
  return answer.diagnostics
    .filter((one) => one.severity !== "info" && one.code !== DOUBT && !known.has(JSON.stringify(one)))
    .map((one) => notice(one, one.severity));
}

function notice({ message, place, remedy }, severity = "error") {
  return make(
    "p",
    { class: `notice ${severity}` },
    make("b", { class: "severity" }, severity),
    make("span", { class: "message" }, place ? [bdi(place), ": "] : "", bdi(message)),
    remedy ? make("span", { class: "remedy" }, bdi(remedy)) : null,
  );
}

function nothing(answer, info) {
  if (answer.matches.length) return [];
  if (!info.tools) return [make("p", {}, "The bundle has no tools.")];
  const advice = answer.advice.map((line) => make("li", {}, bdi(line)));
  return [make("p", {}, make("b", {}, "No tool matches. "), "Try other words, or look a tool up by its name."), advice.length ? make("ul", { class: "advice" }, advice) : ""];
}

const app = new App();
app.start();
