// The map of a catalogue: tools, pages, groups and things, placed by forces between them. D3 places, moves
// and zooms; this file says what is drawn: all of it, or what lies around the node that is chosen.
(() => {
  const { nodes, edges } = reportData;
  const canvas = document.getElementById("graph-canvas");
  const details = document.getElementById("graph-details");
  const search = document.getElementById("map-search");
  const found = document.getElementById("map-found");
  const reachOf = document.getElementById("map-reach");
  const groups = document.getElementById("map-groups");
  const count = document.getElementById("map-count");
  const KINDS = { tool: "tool", page: "page", group: "group", thing: "thing" };
  const MOST = 600;
  const FEW = 80;
  const SHOWN = 12;
  const TICKS = 160;
  const HEIGHT = 620;

  const beside = nodes.map(() => []);
  for (const edge of edges) {
    beside[edge.from].push(edge);
    beside[edge.to].push(edge);
  }
  // What leads to tools first.
  for (const list of beside) list.sort((a, b) => (a.kind === "member") - (b.kind === "member"));
  const otherEnd = (edge, number) => (edge.from === number ? edge.to : edge.from);
  const isWanted = (number) => groups.checked || nodes[number].kind !== "group";
  const degree = (number) => beside[number].length;
  const byDegree = nodes.map((_, number) => number).sort((a, b) => degree(b) - degree(a) || a - b);
  const hub = byDegree.find((number) => nodes[number].kind === "tool") ?? 0;
  let chosen = null;
  let drawn = [];

  // ---- What is drawn ------------------------------------------------------------------------

  /** The nodes that some edges part from *start*, nearest first. */
  function around(start, steps) {
    const reached = new Set([start]);
    let rim = [start];
    for (let step = 0; step < steps && reached.size < MOST; step += 1) {
      const next = [];
      for (const number of rim) {
        for (const edge of beside[number]) {
          const other = otherEnd(edge, number);
          if (reached.has(other) || !isWanted(other) || reached.size >= MOST) continue;
          reached.add(other);
          next.push(other);
        }
      }
      rim = next;
    }
    return [...reached];
  }

  function wanted() {
    if (reachOf.value === "all") return byDegree.filter(isWanted).slice(0, MOST);
    return around(chosen ?? hub, Number(reachOf.value));
  }

  const svg = d3
    .select(canvas)
    .append("svg")
    .attr("role", "group")
    .attr("aria-label", "Map of the tools")
    .attr("height", HEIGHT);
  const stage = svg.append("g");
  const edgeLayer = stage.append("g").attr("aria-hidden", "true");
  const nodeLayer = stage.append("g");

  function draw() {
    const numbers = wanted();
    const known = new Map(drawn.map((spot) => [spot.number, spot]));
    drawn = numbers.map((number) => {
      const old = known.get(number);
      return old ? { number, x: old.x, y: old.y } : { number };
    });
    const spots = new Map(drawn.map((spot) => [spot.number, spot]));
    const lines = edges
      .filter((edge) => spots.has(edge.from) && spots.has(edge.to))
      .map((edge) => ({ edge, source: spots.get(edge.from), target: spots.get(edge.to) }));
    d3.forceSimulation(drawn)
      .force("link", d3.forceLink(lines).distance(100))
      .force("charge", d3.forceManyBody().strength(-260))
      .force("collide", d3.forceCollide(30))
      .force("x", d3.forceX().strength(0.06))
      .force("y", d3.forceY().strength(0.09))
      .stop()
      .tick(TICKS);
    edgeLayer
      .selectAll("line")
      .data(lines)
      .join("line")
      .attr("class", (line) => `link ${line.edge.kind}`)
      .attr("x1", (line) => line.source.x)
      .attr("y1", (line) => line.source.y)
      .attr("x2", (line) => line.target.x)
      .attr("y2", (line) => line.target.y);
    nodeLayer
      .selectAll("g")
      .data(drawn, (spot) => spot.number)
      .join((enter) => {
        const made = enter
          .append("g")
          .attr("role", "button")
          .on("click", (_, spot) => choose(spot.number))
          .on("focus", (_, spot) => mark(spot.number))
          .on("keydown", steer);
        made.append("circle");
        made.append("text").attr("y", 4);
        made.append("title");
        return made;
      })
      .attr("class", (spot) => `spot ${nodes[spot.number].kind}`)
      .attr("data-node", (spot) => spot.number)
      .attr("tabindex", (spot, place) => (spot.number === chosen || (chosen === null && !place) ? 0 : -1))
      .attr("aria-label", (spot) => `${nodes[spot.number].label}, ${KINDS[nodes[spot.number].kind]}`)
      .attr("transform", (spot) => `translate(${spot.x},${spot.y})`)
      .each(drawNode);
    const all = nodes.filter((_, number) => isWanted(number)).length;
    count.textContent = `${drawn.length.toLocaleString("en")} of ${all.toLocaleString("en")} nodes drawn`;
    fit();
    mark(chosen);
  }

  function drawNode(spot) {
    const node = nodes[spot.number];
    const size = 5 + Math.min(9, Math.sqrt(degree(spot.number)));
    const label = node.label.length > 40 ? `${node.label.slice(0, 39)}…` : node.label;
    const group = d3.select(this);
    group.select("circle").attr("r", size);
    group.select("text").attr("x", size + 4).text(label);
    group.select("title").text(node.title);
  }

  // ---- Moving and zooming -------------------------------------------------------------------

  const zoom = d3
    .zoom()
    .scaleExtent([0.05, 6])
    // A wheel without Ctrl and one finger scroll the page, as a reader expects.
    .filter((event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey;
      if (event.type.startsWith("touch")) return event.touches.length > 1;
      return !event.button;
    })
    .on("zoom", (event) => {
      stage.attr("transform", event.transform).classed("far", event.transform.k < 0.45);
    });
  svg.call(zoom).on("dblclick.zoom", null);

  function fit() {
    const width = canvas.clientWidth || 900;
    const left = Math.min(...drawn.map((spot) => spot.x)) - 30;
    const right = Math.max(...drawn.map((spot) => spot.x)) + 190;
    const top = Math.min(...drawn.map((spot) => spot.y)) - 30;
    const bottom = Math.max(...drawn.map((spot) => spot.y)) + 30;
    const scale = Math.min(1.3, width / (right - left), HEIGHT / (bottom - top));
    const x = (width - (left + right) * scale) / 2;
    const y = (HEIGHT - (top + bottom) * scale) / 2;
    svg.call(zoom.transform, d3.zoomIdentity.translate(x, y).scale(scale));
  }

  const scaled = (factor) => svg.call(zoom.scaleBy, factor);
  document.getElementById("graph-in").addEventListener("click", () => scaled(1.3));
  document.getElementById("graph-out").addEventListener("click", () => scaled(1 / 1.3));
  document.getElementById("graph-fit").addEventListener("click", fit);

  // ---- Choosing -----------------------------------------------------------------------------

  function choose(number) {
    chosen = number;
    const isDrawn = drawn.some((spot) => spot.number === number);
    if (reachOf.value === "all" && isDrawn) mark(number);
    else {
      if (!isDrawn && reachOf.value === "all") reachOf.value = "1";
      draw();
    }
  }

  function mark(number) {
    const near = new Set(number === null ? [] : beside[number].flatMap((edge) => [edge.from, edge.to]));
    near.add(number);
    nodeLayer
      .selectAll("g.spot")
      .classed("chosen", (spot) => spot.number === number)
      .classed("faded", (spot) => number !== null && !near.has(spot.number))
      .attr("aria-pressed", (spot) => String(spot.number === chosen));
    edgeLayer
      .selectAll("line")
      .classed("faded", (line) => number !== null && line.edge.from !== number && line.edge.to !== number);
    tell(number);
  }

  function tell(number) {
    if (number === null) {
      details.replaceChildren(make("p", "dim", "Choose a node for what it is and what it leads to."));
      return;
    }
    const node = nodes[number];
    const name = make("h3", "", "");
    name.append(make("bdi", "", node.label));
    const parts = [make("p", "kicker", KINDS[node.kind]), name];
    const told = [node.title === node.label ? "" : node.title, node.source].filter(Boolean).join(" · ");
    if (told) parts.push(make("p", "dim", told));
    if (node.text) {
      const text = make("p", "text", node.text);
      text.dir = "auto";
      parts.push(text);
    }
    const list = make("ul", "links");
    for (const edge of beside[number].slice(0, 100)) list.append(edgeItem(edge, number));
    details.replaceChildren(...parts, list);
  }

  function edgeItem(edge, number) {
    const item = make("li", edge.kind);
    const other = otherEnd(edge, number);
    const button = make("button", "term", "");
    button.type = "button";
    button.append(make("bdi", "", nodes[other].label));
    button.addEventListener("click", () => choose(other));
    item.append(make("span", "dim", `${edge.name} ${edge.from === number ? "→" : "←"} `), button);
    if (edge.reason) item.append(make("div", "", edge.reason));
    return item;
  }

  // ---- Finding ------------------------------------------------------------------------------

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ label, title, text }) => {
      const all = `${label} ${title} ${text}`.toLowerCase();
      return words.every((word) => all.includes(word));
    };
    const hits = words.length ? byDegree.filter((number) => fits(nodes[number])) : [];
    found.replaceChildren(
      ...hits.slice(0, SHOWN).map((number) => {
        const item = make("li", "");
        const button = make("button", "term", "");
        button.type = "button";
        button.append(make("bdi", "", nodes[number].label));
        button.addEventListener("click", () => choose(number));
        item.append(button);
        return item;
      }),
    );
    if (words.length) {
      const more = Math.max(0, hits.length - SHOWN);
      found.append(make("li", "dim", hits.length ? (more ? `and ${more} more` : "") : "nothing found"));
    }
  }

  // ---- The keyboard -------------------------------------------------------------------------

  const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

  /** The nearest node from *spot* in a direction, what lies aside counting double. */
  function towards(spot, [x, y]) {
    let best = null;
    let least = Infinity;
    for (const one of drawn) {
      const ahead = (one.x - spot.x) * x + (one.y - spot.y) * y;
      const aside = Math.abs((one.x - spot.x) * y) + Math.abs((one.y - spot.y) * x);
      if (ahead > 1 && ahead + 2 * aside < least) {
        least = ahead + 2 * aside;
        best = one;
      }
    }
    return best;
  }

  function steer(event, spot) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const way = WAYS[event.key];
    const act = way
      ? () => {
          const next = towards(spot, way);
          if (next) nodeLayer.select(`[data-node="${next.number}"]`).node().focus();
        }
      : {
          Enter: () => choose(spot.number),
          " ": () => choose(spot.number),
          "+": () => scaled(1.3),
          "-": () => scaled(1 / 1.3),
          0: fit,
        }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  search.addEventListener("input", find);
  reachOf.addEventListener("change", draw);
  groups.addEventListener("change", draw);
  new ResizeObserver(() => fit()).observe(canvas);

  groups.checked = nodes.length <= FEW;
  reachOf.value = nodes.filter((_, number) => isWanted(number)).length <= MOST / 2 ? "all" : "1";
  if (reachOf.value === "1") chosen = hub;
  draw();
})();
