// The list of matches, and what became of the words of the query.

import { bdi, counted, figure, make, meter } from "./dom.js";

const REACHED = [
  ["prerequisites", "Prerequisites"],
  ["relatedMatches", "Related"],
  ["nextStepMatches", "Next steps"],
];

/** The options for an answer, in groups; *right* are the ids of the tools that are judged right. */
export function groupsOf(answer, right) {
  const browsing = answer.rankingMode === "browse";
  const groups = [
    { title: "", items: answer.matches.map((match, place) => option(match, right, browsing ? null : place + 1)) },
  ];
  for (const [key, title] of REACHED) {
    groups.push({ title, items: answer[key].map((match) => option(match, right, null)) });
  }
  return groups;
}

function option(match, right, rank) {
  const isRight = right.has(match.toolId);
  const text = summaryOf(match);
  const reason = match.via ? `${match.via.edge === "prerequisite" ? "before" : "from"} ${match.via.from}: ${match.via.reason}` : "";
  const scored = rank !== null;
  return {
    value: match.toolId,
    content: [
      scored ? make("span", { class: "rank" }, String(rank)) : "",
      make(
        "span",
        { class: "what" },
        make("span", { class: "id" }, bdi(match.toolId), isRight ? make("span", { class: "right" }, " ✓ right") : ""),
        make("span", { class: "line", dir: "auto" }, bdi(reason || text)),
      ),
      scored ? make("span", { class: "scored" }, make("span", {}, make("span", { class: "unseen" }, "score "), figure(match.score)), meter(match.score)) : strengthOf(match),
    ],
  };
}

/** How strong the edge is that led to the tool; nothing for what is found by itself. */
function strengthOf(match) {
  if (!match.via) return "";
  return make("span", { class: "scored" }, make("span", {}, make("span", { class: "unseen" }, "strength "), figure(match.via.weight)));
}

/** What the tool is: its title where that adds something, its description. */
export function summaryOf(match) {
  const title = [match.toolName, match.toolId].includes(match.displayName) ? "" : match.displayName;
  const text = [title, match.description].filter(Boolean).join(": ");
  return match.isEnabledByDefault ? text : `(disabled) ${text}`;
}

/** One line on what was found. */
export function statusOf(answer, low) {
  if (answer.rankingMode === "browse") return "";
  const count = answer.matches.length;
  if (!count) return "No match";
  const best = answer.matches[0];
  const doubt = best.score < low ? ", low confidence: add detail to the query" : "";
  return `${counted(count, "match", "matches")}, best score ${figure(best.score)}${doubt}`;
}

/** What became of the words that were not taken as they stand. */
export function readingOf(answer) {
  const items = answer.words.filter((word) => word.origin === "query").map(wordItem).filter(Boolean);
  return items.length ? make("ul", { class: "words", "aria-label": "How the query was read" }, items) : null;
}

function wordItem(word) {
  const [repair] = word.repairs;
  if (repair && repair.kind !== "exact") {
    return make("li", {}, bdi(word.text), " → ", make("b", {}, bdi(repair.word)), make("span", { class: "dim" }, ` ${repair.kind}`));
  }
  if (word.role !== "unknown") return null;
  const [near] = word.related;
  if (near) return make("li", {}, bdi(word.text), " ~ ", make("b", {}, bdi(near.word)), make("span", { class: "dim" }, " related"));
  return make("li", { class: "missing" }, bdi(word.text), " ", make("span", {}, "in no tool"));
}
