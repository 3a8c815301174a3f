// Why a match has its rank, and why a tool is not first.

import { bdi, counted, draw, figure, make, meter, signed, table } from "./dom.js";

const COLORS = 10;
const NEGLIGIBLE = 5e-7;
const FEATURES = {
  bm25f: "query words in its texts",
  nameCoverage: "query words in its name",
  openingName: "query opens with its name",
  grams: "similar spelling",
  cosine: "similar words",
  source: "its server fits the query",
  coverage: "share of the query it contains",
  sentence: "best sentence of the query",
  related: "related words in its texts",
  relatedName: "related words in its name",
  operation: "kind of operation",
  question: "question: it only reads",
  contextEdge: "edge to a tool in use",
  contextWalk: "near to the tools in use",
  contextSource: "same server as a tool in use",
  exactName: "query contains its name or alias",
  intent: "a part that others leave open",
};

/** The explanation of a match of *answer*. */
export function whyOf(match, answer) {
  if (match.via) return reached(match);
  if (!match.contributions) return [make("p", { class: "dim" }, "Without a query, tools are listed by name.")];
  return [
    scoreOf(match),
    evidenceOf(match.evidence),
    ...contributionsOf(match),
    termsOf(match),
    calibrationOf(match),
    adviceOf(match, answer),
  ];
}

function reached(match) {
  const told = match.via.edge === "prerequisite" ? "It must run before" : "It is reached from";
  return [
    make("p", {}, `${told} `, bdi(match.via.from, "term"), ": ", bdi(match.via.reason), "."),
    make("p", { class: "dim" }, `The edge has a weight of ${figure(match.via.weight)}. Tools that edges bring in never displace a match.`),
  ];
}

function scoreOf(match) {
  return make(
    "p",
    { class: "verdict-line" },
    make("span", { class: "big" }, figure(match.score)),
    meter(match.score, `Score ${figure(match.score)} of 1`),
    make("span", { class: "dim" }, "probability that this is the tool that is wanted"),
  );
}

function evidenceOf({ terms, missing }) {
  const words = [
    ...terms.map((term) => make("li", { class: "found" }, bdi(term))),
    ...missing.map((term) => make("li", { class: "missing" }, bdi(term))),
  ];
  return words.length ? make("ul", { class: "terms", "aria-label": "Words of the query" }, words) : null;
}

/** The rank: what the fused score is the sum of, as a bar and as a table. */
function contributionsOf(match) {
  const parts = match.contributions.filter((part) => Math.abs(part.contribution) > NEGLIGIBLE);
  const rows = parts.map((part, place) => [
    [swatch(place), featureOf(part.feature)],
    plain(part.contribution),
    `${plain(part.value)} × ${part.weight}`,
  ]);
  return [
    make("h3", { class: "plain" }, `Fused score ${match.fusedScore.toFixed(2)}, which decides the rank`),
    stack(parts),
    table("Contributions to the fused score", [["Feature"], ["Part", true], ["Value × weight", true]], rows),
  ];
}

/** A number with a real minus. */
function plain(value) {
  return value.toFixed(2).replace("-", "−");
}

function featureOf(name) {
  return [FEATURES[name] ?? "", FEATURES[name] ? " " : "", make("span", { class: "term dim" }, name)];
}

function stack(parts) {
  const total = parts.reduce((sum, part) => sum + Math.abs(part.contribution), 0) || 1;
  let reach = 0;
  const pieces = parts.map((part, place) => {
    const share = Math.abs(part.contribution) / total;
    const piece = draw(
      "rect",
      { class: `c${place % COLORS}${part.contribution < 0 ? " less" : ""}`, x: `${reach * 100}%`, width: `${share * 100}%`, height: "100%" },
      draw("title", {}, `${part.feature} ${signed(part.contribution)}`),
    );
    reach += share;
    return piece;
  });
  return draw("svg", { class: "stack", "aria-hidden": "true" }, pieces);
}

function swatch(place) {
  return draw(
    "svg",
    { class: "swatch", "aria-hidden": "true" },
    draw("rect", { class: `c${place % COLORS}`, width: "100%", height: "100%", rx: 2 }),
  );
}

function termsOf(match) {
  const places = new Map();
  for (const term of match.terms) {
    const key = JSON.stringify([term.query, term.matched, term.kind]);
    places.set(key, [...(places.get(key) ?? []), term]);
  }
  const rows = [...places.values()].map((terms) => {
    const [{ query, matched, kind }] = terms;
    const became = kind === "exact" || matched === query ? "" : [" → ", bdi(matched)];
    const found = terms.map((term) => `${term.field.replaceAll("_", " ")} ${term.contribution.toFixed(2)}`);
    return [[bdi(query, "term"), became, kind === "exact" ? "" : make("span", { class: "dim" }, ` ${kind}`)], found.join(", ")];
  });
  if (!rows.length) return null;
  return make("details", {}, make("summary", {}, "Words in the fields of the tool"), table("Words in fields", [["Word"], ["Fields"]], rows));
}

function inputsOf(title, { inputs, intercept }) {
  const rows = inputs
    .filter((one) => Math.abs(one.contribution) > NEGLIGIBLE)
    .map((one) => [make("span", { class: "term" }, one.input), signed(one.contribution), `${plain(one.value)} × ${one.coefficient}`]);
  rows.push([make("span", { class: "dim" }, "intercept"), signed(intercept), ""]);
  return table(title, [["Input"], ["Part", true], ["Value × coefficient", true]], rows);
}

function calibrationOf({ calibration, score }) {
  const { answerable } = calibration;
  const product = answerable
    ? `The score ${figure(score)} is the product of two probabilities: the catalog answers the query (${figure(answerable.probability)}), and then this tool is the answer.`
    : `They add up to ${signed(calibration.logit)}, and the logistic function makes ${figure(score)} of it.`;
  return make(
    "details",
    {},
    make("summary", {}, "From the rank to the score"),
    inputsOf("Calibration", calibration),
    answerable ? inputsOf("Answerable", answerable) : null,
    make("p", { class: "ahead" }, product, calibration.cappedBy ? ` Capped by ${calibration.cappedBy}.` : ""),
  );
}

function adviceOf(match, answer) {
  if (match.rank !== 1 || !answer.advice.length) return null;
  return make("ul", { class: "advice" }, answer.advice.map((line) => make("li", {}, bdi(line))));
}

/** Why a tool is not first, and the smallest change; *onTry* gets the hints of the change. */
export function whyNotOf(standing, onTry) {
  const parts = [make("p", { class: "verdict-line" }, make("span", { class: "big" }, rankOf(standing)), make("span", { class: "dim" }, besides(standing)))];
  if (standing.missing.length) {
    parts.push(make("ul", { class: "terms", "aria-label": "Words that it lacks" }, standing.missing.map((word) => make("li", { class: "missing" }, bdi(word)))));
  }
  parts.push(...standing.above.map(rivalOf), changeOf(standing, onTry));
  return parts;
}

function rankOf(standing) {
  if (standing.isHidden) return "Disabled";
  return standing.rank === null ? "Not found" : `Rank ${standing.rank}`;
}

function besides(standing) {
  if (standing.isHidden) return "a search leaves it out by default";
  const found = `of ${counted(standing.ranked, "tool that is", "tools that are")} found`;
  return standing.rank === null ? `${found.replace("of", "among")}` : `${found}, score ${figure(standing.score)}`;
}

function rivalOf(rival) {
  const gaps = rival.features.filter((gap) => Math.abs(gap.difference) > NEGLIGIBLE);
  const rows = gaps.map((gap) => [featureOf(gap.feature), signed(gap.difference), plain(gap.other), plain(gap.own)]);
  return make(
    "div",
    { class: "rival" },
    make("h3", { class: "plain" }, `Rank ${rival.rank} is `, bdi(rival.toolId, "term"), `, ahead by ${Math.abs(rival.gap).toFixed(2)}`),
    make("ul", { class: "advice" }, rival.because.map((reason) => make("li", {}, bdi(reason)))),
    make("details", {}, make("summary", {}, "Feature by feature"), table(`Features of ${rival.toolId}`, [["Feature"], ["Gap", true], ["There", true], ["Here", true]], rows)),
  );
}

function changeOf({ change, remark }, onTry) {
  if (!change) return remark ? make("p", { class: "change" }, make("b", {}, "No small change: "), bdi(remark), ".") : null;
  const { keywords, aliases, enabledByDefault } = change.hints;
  const what = [
    ...(enabledByDefault ? [["enable it"]] : []),
    ...keywords.map((word) => ["the keyword ", bdi(word, "term")]),
    ...aliases.map((alias) => ["the alias ", bdi(alias, "term")]),
  ];
  return make(
    "div",
    { class: "change" },
    make("h3", { class: "plain" }, "Smallest change"),
    make("ul", { class: "advice" }, what.map((one) => make("li", {}, enabledByDefault && one.length === 1 ? one : ["add ", one]))),
    make("p", {}, `Then: rank ${change.rankAfter}, score ${figure(change.scoreAfter)}`, make("span", { class: "dim" }, change.verified ? " (bundled and searched again)" : " (not tried on a new bundle)"), "."),
    remark ? make("p", { class: "dim" }, bdi(remark)) : null,
    make("button", { type: "button", class: "primary", onclick: () => onTry(change.hints) }, "Try this change"),
  );
}
