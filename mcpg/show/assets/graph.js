// The focused graph: the query, its matches, and what edges brought in, from left to right; on a
// narrow screen one below the other. D3 places, joins, moves and zooms; this file says what is drawn.
(() => {
  const { nodes, edges } = reportData;
  const canvas = document.getElementById("graph-canvas");
  const details = document.getElementById("graph-details");
  const KINDS = {
    query: "query",
    primary: "match",
    prerequisite: "prerequisite",
    related: "related",
    nextStep: "next step",
  };
  const EDGES = {
    match: ["matches", "matches the query by"],
    prerequisite: ["needs", "needed by"],
    related: ["related to", "related from"],
    nextStep: ["next step to", "next step from"],
  };
  const NODE = { width: 214, height: 46 };
  const QUERY_WIDTH = 176;
  const LANES = [150, 268];
  const ROW = 68;
  const LINE = 14;
  const NARROW = 640;
  const TALLEST = 680;
  const MARGIN = 20;

  const pen = document.createElement("canvas").getContext("2d");
  const fonts = {
    label: `600 12.5px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`,
    text: `11.5px ${getComputedStyle(document.body).fontFamily}`,
    query: `13px ${getComputedStyle(document.body).fontFamily}`,
  };

  function widthOf(text, font) {
    pen.font = font;
    return pen.measureText(text).width;
  }

  function shortened(text, width, font) {
    if (widthOf(text, font) <= width) return text;
    const letters = [...text.slice(0, 200)];
    while (letters.length > 1 && widthOf(letters.join("") + "…", font) > width) letters.pop();
    return letters.join("").trimEnd() + "…";
  }

  /** Break *text* into at most *most* lines of *width*; the last one says when there was more. */
  function wrapped(text, width, most, font) {
    const lines = [];
    let line = "";
    const words = text.slice(0, 400).split(/\s+/).filter(Boolean);
    for (let at = 0; at < words.length; at += 1) {
      const longer = line ? `${line} ${words[at]}` : words[at];
      if (line && widthOf(longer, font) > width) {
        lines.push(line);
        line = words[at];
        if (lines.length === most) break;
      } else {
        line = longer;
      }
    }
    if (lines.length < most && line) lines.push(line);
    else if (line) lines[most - 1] += ` ${line}`;
    return lines.map((one) => shortened(one, width, font));
  }

  // ---- Where things stand -------------------------------------------------------------------

  const isTool = (node) => node.kind !== "query";
  const incoming = new Map(edges.map((edge) => [edge.to, edge]));

  function tree() {
    const children = new Map();
    for (const edge of edges) {
      if (!children.has(edge.from)) children.set(edge.from, []);
      children.get(edge.from).push(edge.to);
    }
    return d3.hierarchy(0, (number) => children.get(number));
  }

  /** Columns: the query, the matches, what edges brought in, what that needs in turn. */
  function inColumns() {
    const root = d3.tree().nodeSize([ROW, 1]).separation(() => 1)(tree());
    const left = (depth) =>
      depth ? QUERY_WIDTH + LANES[0] + (depth - 1) * (NODE.width + LANES[1]) : 0;
    const placed = [];
    root.each((one) => {
      const width = one.depth ? NODE.width : QUERY_WIDTH;
      const height = one.depth ? NODE.height : queryLines(QUERY_WIDTH).length * 17 + 22;
      const x = left(one.depth);
      placed[one.data] = { number: one.data, depth: one.depth, x, y: one.x - height / 2, width, height };
    });
    for (const spot of placed) {
      if (!spot.depth) continue;
      const edge = incoming.get(spot.number);
      const from = placed[edge.from];
      const start = [from.x + from.width, from.y + from.height / 2];
      const end = [spot.x - 7, spot.y + spot.height / 2];
      const bend = start[0] + 54;
      const middle = (start[0] + bend) / 2;
      spot.path =
        `M${start}C${middle},${start[1]} ${middle},${end[1]} ${bend},${end[1]}L${end}`;
      const room = end[0] - bend - 14;
      spot.lines = wrapped(edge.reason, room, 3, fonts.text);
      spot.text = [bend + 2, end[1] + 4 - ((spot.lines.length - 1) * LINE) / 2];
    }
    return placed;
  }

  /** One below the other, what an edge leads to further right. */
  function asOutline(width) {
    const placed = [];
    let y = 0;
    tree().eachBefore((one) => {
      const x = one.depth * 22;
      const own = Math.min(width - x, 420);
      const edge = incoming.get(one.data);
      const lines = edge ? wrapped(edge.reason, width - x - 8, 3, fonts.text) : [];
      const height = one.depth ? NODE.height : queryLines(own).length * 17 + 22;
      const spot = { number: one.data, depth: one.depth, x, y: y + lines.length * LINE + 6, width: own, height, lines };
      if (edge) {
        const from = placed[edge.from];
        const down = spot.y + height / 2;
        spot.path = `M${from.x + 10},${from.y + from.height}V${down}H${x - 4}`;
        spot.text = [x + 2, y + LINE - 2];
      }
      placed[one.data] = spot;
      y = spot.y + height + 14;
    });
    return placed;
  }

  const queryLines = (width) => wrapped(nodes[0].label, width - 24, 5, fonts.query);

  // ---- Drawing ------------------------------------------------------------------------------

  const svg = d3
    .select(canvas)
    .append("svg")
    .attr("role", "group")
    .attr("aria-label", `Focused graph: ${nodes.length - 1} tools around the query`);
  const defs = svg.append("defs");
  for (const kind of Object.keys(EDGES)) {
    defs
      .append("marker")
      .attr("id", `arrow-${kind}`)
      .attr("viewBox", "0 0 8 8")
      .attr("refX", 7)
      .attr("refY", 4)
      .attr("markerWidth", 9)
      .attr("markerHeight", 9)
      .attr("markerUnits", "userSpaceOnUse")
      .attr("orient", "auto")
      .append("path")
      .attr("d", "M0,0L8,4L0,8z");
  }
  const stage = svg.append("g");
  const edgeLayer = stage.append("g");
  const nodeLayer = stage.append("g");
  let spots = [];
  let held = null;
  let bounds = { width: 0, height: 0, x: 0, y: 0 };

  const sub = (node) =>
    node.kind === "query"
      ? ""
      : node.kind === "primary"
        ? `match ${node.rank} · ${node.score.toFixed(3)}`
        : `${KINDS[node.kind]} · ${node.score.toFixed(3)}`;

  const shown = (node) => shortened(node.label, NODE.width - 26, fonts.label);

  /** The name for screen readers: what is seen, after the whole label where that is cut. */
  function nameOf(node) {
    if (!isTool(node)) return `Query: ${node.label}`;
    const seen = `${shown(node)} ${sub(node)}`;
    return shown(node) === node.label ? seen : `${node.label}, ${seen}`;
  }

  // A space parts the texts of a node, so that its name contains them as they are seen.
  function drawNode(spot) {
    const node = nodes[spot.number];
    const group = d3.select(this);
    this.replaceChildren();
    const box = (name, out) =>
      group
        .append("rect")
        .attr("class", name)
        .attr("x", -out)
        .attr("y", -out)
        .attr("rx", node.kind === "related" ? 14 + out : 8 + out)
        .attr("width", spot.width + 2 * out)
        .attr("height", spot.height + 2 * out);
    const write = (name) => {
      const line = group.append("text").attr("class", name);
      this.append(" ");
      return line;
    };
    box("ring", 4);
    box("box", 0);
    if (!isTool(node)) {
      queryLines(spot.width).forEach((line, at) => {
        write("query").attr("x", 12).attr("y", 25 + at * 17).text(line);
      });
      return;
    }
    const inner = spot.width - 26;
    write("label").attr("x", 13).attr("y", 19).text(shown(node));
    write("sub").attr("x", 13).attr("y", 34).text(sub(node));
    const gauge = (name, width) =>
      group.append("rect").attr("class", name).attr("x", 13).attr("y", 39).attr("rx", 1.5).attr("height", 3).attr("width", width);
    gauge("gauge", inner);
    gauge("level", inner * Math.min(1, Math.max(0, node.score)));
  }

  function draw() {
    const width = canvas.clientWidth || 900;
    const narrow = width < NARROW;
    spots = narrow ? asOutline(width - 2 * MARGIN) : inColumns();
    const drawnEdges = edgeLayer
      .selectAll("g")
      .data(spots.filter((spot) => spot.path), (spot) => spot.number)
      .join("g")
      .attr("class", (spot) => `edge ${incoming.get(spot.number).kind}`)
      .attr("aria-hidden", "true");
    drawnEdges.selectAll("*").remove();
    drawnEdges.append("title").text((spot) => incoming.get(spot.number).reason);
    drawnEdges
      .append("path")
      .attr("d", (spot) => spot.path)
      .attr("marker-end", (spot) => `url(#arrow-${incoming.get(spot.number).kind})`);
    drawnEdges.each(function (spot) {
      if (spot.lines.length && !narrow) {
        // The line stops where its label stands.
        d3.select(this)
          .append("rect")
          .attr("x", spot.text[0] - 4)
          .attr("y", spot.text[1] - LINE + 1)
          .attr("width", Math.max(...spot.lines.map((line) => widthOf(line, fonts.text))) + 8)
          .attr("height", spot.lines.length * LINE + 4);
      }
      spot.lines.forEach((line, at) => {
        d3.select(this).append("text").attr("x", spot.text[0]).attr("y", spot.text[1] + at * LINE).text(line);
      });
    });
    drawnEdges.on("pointerenter", (_, spot) => show(spot.number)).on("pointerleave", () => show(held));
    nodeLayer
      .selectAll("g")
      .data(spots, (spot) => spot.number)
      .join((enter) =>
        enter
          .append("g")
          .attr("role", "button")
          .attr("tabindex", (spot) => (spot.number ? -1 : 0))
          .on("pointerenter", (_, spot) => show(spot.number))
          .on("pointerleave", () => show(held))
          .on("focus", (_, spot) => reach(spot))
          .on("click", (_, spot) => hold(spot.number))
          .on("keydown", (event, spot) => steer(event, spot)),
      )
      .attr("class", (spot) => `node ${nodes[spot.number].kind}`)
      .attr("data-node", (spot) => spot.number)
      .attr("aria-label", (spot) => nameOf(nodes[spot.number]))
      .attr("transform", (spot) => `translate(${spot.x},${spot.y})`)
      .each(drawNode);
    measure();
    const height = Math.min(narrow ? Infinity : TALLEST, bounds.height * fitScale(width) + 2 * MARGIN);
    svg.attr("height", Math.max(120, height));
    home();
    show(held);
  }

  function measure() {
    const left = Math.min(...spots.map((spot) => spot.x));
    const top = Math.min(...spots.map((spot) => spot.y));
    const right = Math.max(...spots.map((spot) => spot.x + spot.width));
    const bottom = Math.max(...spots.map((spot) => spot.y + spot.height));
    bounds = { x: left, y: top, width: right - left, height: bottom - top };
  }

  const fitScale = (width) => Math.min(1.15, (width - 2 * MARGIN) / bounds.width);

  // ---- Moving and zooming -------------------------------------------------------------------

  const zoom = d3
    .zoom()
    .scaleExtent([0.1, 4])
    // A wheel without Ctrl and one finger scroll the page, as a reader expects.
    .filter((event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey;
      if (event.type.startsWith("touch")) return event.touches.length > 1;
      return !event.button;
    })
    .on("zoom", (event) => stage.attr("transform", event.transform));
  svg.call(zoom).on("dblclick.zoom", null);

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const moved = (target) => (still.matches ? target : target.transition().duration(200));

  /** The first view: the whole width, from the top. */
  function home() {
    const width = canvas.clientWidth || 900;
    const scale = fitScale(width);
    const left = (width - bounds.width * scale) / 2 - bounds.x * scale;
    const tall = svg.attr("height") - 2 * MARGIN < bounds.height * scale - 1;
    const lead = spots[0];
    const middle = svg.attr("height") / 2 - (lead.y + lead.height / 2) * scale;
    const top = tall ? Math.min(MARGIN - bounds.y * scale, middle) : MARGIN - bounds.y * scale;
    svg.call(zoom.transform, d3.zoomIdentity.translate(left, top).scale(scale));
  }

  function fit() {
    const width = canvas.clientWidth;
    const height = Number(svg.attr("height"));
    const scale = Math.min(fitScale(width), (height - 2 * MARGIN) / bounds.height);
    const x = (width - bounds.width * scale) / 2 - bounds.x * scale;
    const y = (height - bounds.height * scale) / 2 - bounds.y * scale;
    moved(svg).call(zoom.transform, d3.zoomIdentity.translate(x, y).scale(scale));
  }

  const scaled = (factor) => moved(svg).call(zoom.scaleBy, factor);
  document.getElementById("graph-in").addEventListener("click", () => scaled(1.3));
  document.getElementById("graph-out").addEventListener("click", () => scaled(1 / 1.3));
  document.getElementById("graph-fit").addEventListener("click", fit);

  /** Bring a node that took the focus into view. */
  function reach(spot) {
    nodeLayer.selectAll("g.node").attr("tabindex", (one) => (one === spot ? 0 : -1));
    const now = d3.zoomTransform(svg.node());
    const [x, y] = now.apply([spot.x + spot.width / 2, spot.y + spot.height / 2]);
    const width = canvas.clientWidth;
    const height = Number(svg.attr("height"));
    const reachX = (spot.width / 2) * now.k;
    const reachY = (spot.height / 2) * now.k;
    if (x < reachX || y < reachY || x > width - reachX || y > height - reachY) {
      svg.call(zoom.translateTo, spot.x + spot.width / 2, spot.y + spot.height / 2);
    }
    show(spot.number);
  }

  // ---- Choosing -----------------------------------------------------------------------------

  const around = (number) => edges.filter((edge) => edge.from === number || edge.to === number);

  function show(number) {
    const near = number === null ? [] : around(number);
    const lit = new Set(near.flatMap((edge) => [edge.from, edge.to]).concat(number ?? []));
    nodeLayer
      .selectAll("g.node")
      .classed("chosen", (spot) => spot.number === number)
      .classed("faded", (spot) => number !== null && !lit.has(spot.number))
      .attr("aria-pressed", (spot) => String(spot.number === held));
    edgeLayer
      .selectAll("g.edge")
      .classed("chosen", (spot) => near.includes(incoming.get(spot.number)))
      .classed("faded", (spot) => number !== null && !near.includes(incoming.get(spot.number)));
    tell(number ?? 0);
  }

  function hold(number) {
    held = held === number ? null : number;
    show(held ?? number);
  }

  function tell(number) {
    const node = nodes[number];
    const parts = [make("p", "kicker", node.rank ? `match ${node.rank}` : KINDS[node.kind])];
    const name = make("h3", "", "");
    name.append(make("bdi", "", node.label));
    parts.push(name);
    if (isTool(node)) {
      parts.push(make("p", "dim", `${node.title} · ${node.source}`));
      parts.push(make("p", "", `Score ${node.score.toFixed(6)}`));
      const text = make("p", "text", node.text);
      text.dir = "auto";
      parts.push(text);
    }
    if (node.rank) {
      const link = make("a", "", "How it scored");
      link.href = `#match-${node.rank}`;
      const line = make("p", "");
      line.append(link);
      parts.push(line);
    }
    const list = make("ul", "links");
    for (const edge of around(number)) {
      const item = make("li", edge.kind);
      const other = edge.from === number ? nodes[edge.to] : nodes[edge.from];
      const weight = edge.weight === undefined ? "" : `, weight ${edge.weight.toFixed(3)}`;
      const outward = edge.from === number;
      const way = EDGES[edge.kind][outward ? 0 : 1];
      if (edge.kind === "match" && !outward) item.append(make("span", "dim", way));
      else item.append(make("span", "dim", `${way} `), make("bdi", "term", other.label));
      item.append(make("span", "dim", weight));
      if (edge.reason) item.append(make("div", "", edge.reason));
      list.append(item);
    }
    details.replaceChildren(...parts, list);
  }

  // ---- The keyboard -------------------------------------------------------------------------

  function steer(event, spot) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowRight: () => go(firstBelow(spot)),
      ArrowLeft: () => go(spot.depth ? spots[incoming.get(spot.number).from] : null),
      ArrowDown: () => go(beside(spot, 1)),
      ArrowUp: () => go(beside(spot, -1)),
      Home: () => go(spots[0]),
      End: () => go(spots[spots.length - 1]),
      Enter: () => hold(spot.number),
      " ": () => hold(spot.number),
      Escape: () => {
        held = null;
        show(spot.number);
      },
      "+": () => scaled(1.3),
      "=": () => scaled(1.3),
      "-": () => scaled(1 / 1.3),
      0: fit,
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  const firstBelow = (spot) => {
    const edge = edges.find((one) => one.from === spot.number);
    return edge ? spots[edge.to] : null;
  };

  /** The node before or after *spot* in its column, by height. */
  function beside(spot, step) {
    const column = spots.filter((one) => one.depth === spot.depth).sort((a, b) => a.y - b.y);
    return column[column.indexOf(spot) + step] ?? null;
  }

  function go(spot) {
    if (spot) nodeLayer.select(`g[data-node="${spot.number}"]`).node().focus();
  }

  // ---- Other widths, and paper --------------------------------------------------------------

  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth === drawnWidth) return;
    drawnWidth = canvas.clientWidth;
    requestAnimationFrame(draw);
  }).observe(canvas);

  let before = null;
  addEventListener("beforeprint", () => {
    before = { transform: d3.zoomTransform(svg.node()), height: svg.attr("height") };
    show(null);
    stage.attr("transform", null);
    const { x, y, width, height } = bounds;
    svg.attr("viewBox", [x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN]).attr("height", null);
  });
  addEventListener("afterprint", () => {
    svg.attr("viewBox", null).attr("height", before.height);
    stage.attr("transform", before.transform);
    show(held);
  });

  drawnWidth = canvas.clientWidth;
  draw();
})();
