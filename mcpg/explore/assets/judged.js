// Judged queries: collected by a click, listed with the rank that the right tool has now.

import { ask } from "./api.js";
import { bdi, counted, figure, keepingFocus, make, table } from "./dom.js";

const MOST_BROKEN = 5;

export class Judged {
  constructor(app) {
    this.app = app;
    this.answer = { file: "", judgements: [], report: null };
    this.place = document.getElementById("judged");
    this.count = document.getElementById("judged-count");
  }

  async load() {
    try {
      this.#took(await ask("judged"));
    } catch (fault) {
      this.app.refused(fault, this.place);
    }
  }

  /** The tools that are judged right for *query*. */
  right(query) {
    return new Set(this.#about(query).flatMap((one) => one.relevant));
  }

  /** Whether *query* is judged to have no right tool. */
  isAnswerless(query) {
    return this.#about(query).some((one) => one.isAnswerless);
  }

  /** Say, or take back, that *tool* is right for *query*; `null` says that none is. */
  async judge(query, tool, isRight) {
    try {
      this.#took(await ask("judge", { query, tool, isRight }));
      const what = tool === null ? "no tool is right" : `${tool} is right`;
      this.app.tell(isRight ? `Written to ${this.answer.file}: ${what}.` : `Taken out of ${this.answer.file}.`);
    } catch (fault) {
      this.app.refused(fault);
    }
    this.app.judgedChanged();
  }

  async #forget(query) {
    try {
      this.#took(await ask("forget", { query }));
      this.app.tell(`Taken out of ${this.answer.file}.`);
    } catch (fault) {
      this.app.refused(fault);
    }
    this.app.judgedChanged();
  }

  #about(query) {
    return this.answer.judgements.filter((one) => one.query === query && !one.contextTools.length);
  }

  #took(answer) {
    this.answer = answer;
    this.count.textContent = answer.judgements.length ? String(answer.judgements.length) : "";
    keepingFocus(this.place, () => this.place.replaceChildren(...this.#shown(answer)));
  }

  #shown({ file, judgements, report }) {
    if (judgements.length && !report) {
      return [make("p", { class: "blank" }, `${counted(judgements.length, "judged query", "judged queries")} in `, bdi(file, "term"), ": too many to measure here. Use ", make("code", {}, `mcpg eval ${file}`), ".")];
    }
    if (!judgements.length) {
      return [make("p", { class: "blank" }, "None yet. Search, choose the right tool, and press “Right for this query”: the query is written to ", bdi(file, "term"), ", which ", make("code", {}, "mcpg eval"), " reads.")];
    }
    const right = report.perQuery.filter((one) => one.rank === 1).length;
    const facts = [
      ["Queries", String(judgements.length)],
      ["Right tool first", `${right} of ${report.perQuery.filter((one) => one.judged.length).length}`],
      ["nDCG@5", report.metrics["ndcg@5"] === null ? "–" : figure(report.metrics["ndcg@5"])],
    ];
    const rows = judgements.map((one, place) => this.#row(one, report.perQuery[place]));
    const broken = report.diagnostics.filter((one) => one.severity === "error").slice(0, MOST_BROKEN);
    return [
      ...broken.map((one) => make("p", { class: "notice error" }, make("span", { class: "message" }, bdi(one.place ?? ""), ": ", bdi(one.message)))),
      make("dl", { class: "facts" }, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      table("Judged queries", [["Query"], ["Right tools"], ["Rank now", true], [""]], rows),
      make("p", { class: "hint" }, "Measure and compare: ", make("code", {}, `mcpg eval ${file}`)),
    ];
  }

  #row(one, outcome) {
    const search = make("button", { type: "button", class: "plain-link", onclick: () => this.app.searchFor(one.query) }, bdi(one.query));
    const tools = one.isAnswerless ? make("span", { class: "dim" }, "no tool") : one.relevant.map((tool, place) => [place ? ", " : "", bdi(tool, "term")]);
    const rank = one.isAnswerless ? "–" : (outcome.rank ?? make("span", { class: "bad" }, "missed"));
    const remove = one.contextTools.length ? "" : make("button", { type: "button", "aria-label": `Take out ${one.query}`, title: "Take out", onclick: () => this.#forget(one.query) }, "×");
    return [search, tools, rank, remove];
  }
}
