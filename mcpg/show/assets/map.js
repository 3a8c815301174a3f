// The map of a catalogue: tools in the colour of their server, pages, groups and things, with the edges
// between them. `mapLayout` places the nodes, `mapLabels` chooses labels, `mapServers` has the colours
// and the legend, `mapSearch` finds; D3 moves and zooms.
const toolMap = (() => {
  const { clusters: servers, kind: shared, nodes, edges } = reportData;
  const byId = (id) => document.getElementById(id);
  const canvas = byId("graph-canvas");
  const details = byId("graph-details");
  const reachOf = byId("map-reach");
  const groups = byId("map-groups");
  const KINDS = { tool: "tool", page: "page", group: "group", symbol: "symbol", thing: "thing" };
  // As many nodes as a browser moves smoothly without a graphics card.
  const MOST = 2000;
  const BUNDLE = 100;
  const FEW = 80;
  const LINKS = 100;
  const MARGIN = 26;
  const NEAR = { mouse: 14, touch: 26, pen: 18 };

  // ---- What there is ------------------------------------------------------------------------------

  const beside = nodes.map(() => []);
  for (const edge of edges) {
    beside[edge.from].push(edge);
    beside[edge.to].push(edge);
  }
  // What leads to tools first.
  for (const list of beside) list.sort((a, b) => (a.kind === "member") - (b.kind === "member"));
  const otherEnd = (edge, number) => (edge.from === number ? edge.to : edge.from);
  const links = nodes.map((_, number) => beside[number].filter((edge) => edge.kind !== "member").length);
  const hasGroups = () => Boolean(groups?.checked);
  const isOff = ({ cluster }) => cluster !== null && legend.isOff(cluster);
  const isWanted = (number) => (hasGroups() || !isGroup(number)) && !isOff(nodes[number]);
  // Groups come last, so that they never take the place of a tool.
  const isGroup = (number) => nodes[number].kind === "group";
  const byDegree = nodes.map((_, number) => number).sort(
    (a, b) =>
      isGroup(a) - isGroup(b) || links[b] - links[a] || beside[b].length - beside[a].length || a - b,
  );
  const hub = byDegree.find((number) => nodes[number].kind === "tool") ?? 0;
  const texts = nodes.map(({ label }) => mapLabels.shortened(label));
  const counted = (number, one, many = `${one}s`) =>
    `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

  let chosen = null;
  let shown = null;
  let placed = [];
  let drawn = [];
  let lines = [];
  let spotOf = new Map();
  let tree = d3.quadtree();
  let now = d3.zoomIdentity;
  let home = d3.zoomIdentity;
  let fitted = 1;
  let size = { width: 900, height: 600 };
  let marks = [];

  // ---- The layers of the drawing ------------------------------------------------------------------

  // Three drawings lie one over the other, so that a browser repaints the thousands of edges only when
  // they move: the edges, the nodes, and what is lit with the labels.
  const sheet = (name) => d3.select(canvas).append("svg").attr("class", name);
  const below = sheet("below").attr("aria-hidden", "true");
  const svg = sheet("nodes").attr("role", "group").attr("aria-label", "Map of the tools");
  const above = sheet("above").attr("aria-hidden", "true");
  above
    .append("defs")
    .selectAll("marker")
    .data(["related", "nextStep", "member", "other"])
    .join("marker")
    .attr("id", (kind) => `arrow-${kind}`)
    .attr("viewBox", "0 0 8 8")
    .attr("refX", 7)
    .attr("refY", 4)
    .attr("markerWidth", 8)
    .attr("markerHeight", 8)
    .attr("markerUnits", "userSpaceOnUse")
    .attr("orient", "auto")
    .append("path")
    .attr("d", "M0,1L8,4L0,7z");
  const groundLayer = below.append("g").attr("class", "grounds");
  const edgeLayer = below.append("g").attr("class", "edges");
  const spotLayer = svg.append("g").attr("class", "spots");
  const top = above.append("g");
  const litLayer = top.append("g").attr("class", "lit");
  const labelLayer = top.append("g").attr("class", "labels");

  // ---- Placing ------------------------------------------------------------------------------------

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

  /** What to place: servers that are switched off keep their places, so that nothing jumps. */
  function wanted() {
    if (reachOf.value !== "all") return around(chosen ?? hub, Number(reachOf.value));
    return eligible().slice(0, MOST);
  }

  const eligible = () => byDegree.filter((number) => hasGroups() || !isGroup(number));

  function layOut(after = () => {}) {
    measure();
    canvas.setAttribute("aria-busy", "true");
    const spots = wanted().map((number) => ({ number }));
    const places = new Map(spots.map((spot) => [spot.number, spot]));
    const joins = edges
      .filter((edge) => places.has(edge.from) && places.has(edge.to))
      .map((edge) => ({ edge, source: places.get(edge.from), target: places.get(edge.to) }));
    if (spots.length > 600) tellCount(`Placing ${counted(spots.length, "node")} …`);
    const { width, height } = inner();
    const stretch = Math.sqrt(Math.min(1.8, Math.max(0.4, width / height)));
    mapLayout.place({ spots, lines: joins, nodes, beside, sizeOf, stretch }, () => {
      [placed, spotOf, shown] = [spots, places, null];
      draw(joins);
      fit();
      canvas.setAttribute("aria-busy", "false");
      after();
    });
  }

  // ---- Drawing ------------------------------------------------------------------------------------

  let joined = [];

  function draw(joins = joined) {
    joined = joins;
    drawn = placed.filter((spot) => isWanted(spot.number));
    const isDrawn = new Set(drawn);
    lines = joined.filter(({ source, target }) => isDrawn.has(source) && isDrawn.has(target));
    drawGrounds();
    edgeLayer
      .attr("opacity", Math.min(0.7, 0.13 + 190 / (lines.length + 1)))
      .selectAll("path")
      .data(bundles())
      .join("path")
      .attr("class", ([kind]) => `link ${kind}`)
      .attr("d", ([, path]) => path);
    spotLayer
      .selectAll("path")
      .data(drawn, (spot) => spot.number)
      .join((enter) => enter.append("path").attr("role", "button"))
      .attr("class", (spot) => classOf(nodes[spot.number]))
      .attr("d", (spot) => pathOf(nodes[spot.number]))
      .attr("data-node", (spot) => spot.number)
      .attr("aria-label", (spot) => nameOf(spot.number))
      .attr("aria-pressed", (spot) => String(spot.number === chosen));
    rove(chosen ?? drawn[0]?.number);
    tree = d3.quadtree(drawn, (spot) => spot.x, (spot) => spot.y);
    tellCount();
  }

  /** Paths of lines of the same kind. A path of thousands of lines takes a browser much longer to draw. */
  function bundles() {
    const open = new Map();
    const made = [];
    for (const { edge, source, target } of lines) {
      let bundle = open.get(edge.kind);
      if (!bundle || bundle.length === BUNDLE) {
        bundle = [];
        open.set(edge.kind, bundle);
        made.push([edge.kind, bundle]);
      }
      bundle.push(`M${source.x.toFixed(1)},${source.y.toFixed(1)}L${target.x.toFixed(1)},${target.y.toFixed(1)}`);
    }
    return made.map(([kind, bundle]) => [kind, bundle.join("")]);
  }

  /** Draw the ground on which the tools of a server stand. */
  function drawGrounds() {
    const members = new Map();
    for (const { number, x, y } of drawn) {
      const { cluster: server } = nodes[number];
      if (server === null || servers.length < 2) continue;
      if (!members.has(server)) members.set(server, []);
      members.get(server).push([x, y]);
    }
    groundLayer
      .selectAll("path")
      .data([...members], ([server]) => server)
      .join("path")
      .attr("class", ([server]) => `ground g-${mapServers.colorOf(server)}`)
      .attr("d", ([, points]) => `M${mapLayout.hull(points).join("L") || points[0]}Z`);
  }

  const isColored = ({ kind }) => kind === "tool" || kind === "symbol";
  const classOf = (node) => `spot ${node.kind} ${isColored(node) ? mapServers.colorOf(node.cluster) : ""}`;

  function pathOf({ kind, cluster }) {
    if (kind === "tool") return mapServers.shapeOf(cluster);
    return kind === "page" ? mapServers.SQUARE : mapServers.CIRCLE;
  }

  function nameOf(number) {
    const node = nodes[number];
    const parts = [node.label, KINDS[node.kind]];
    if (node.kind === "tool") parts[1] += ` of ${node.server}`;
    return [...parts, counted(links[number], "edge")].join(", ");
  }

  /** The radius of a node on the map: more edges, a larger node. */
  const sizeOf = (number) => 5 + Math.min(7, 1.2 * Math.sqrt(links[number]));

  /** The radius of a node in pixels, which grows less than the map as one zooms in. */
  function radius(number) {
    const base = Math.min(1.1, Math.max(0.32, fitted));
    return sizeOf(number) * base * Math.min(2.4, Math.max(0.7, (now.k / fitted) ** 0.5));
  }

  // The zoom for which nodes and labels are drawn, and a timer that draws them for the present one.
  let rendered = NaN;
  let timer = 0;

  /** Move everything to where the zoom has it. While it changes, nodes and labels grow with the map. */
  function move(transform) {
    now = transform;
    const ratio = now.k / rendered;
    if (!(ratio > 0.8 && ratio < 1.25)) {
      render();
      return;
    }
    shift();
    clearTimeout(timer);
    if (ratio === 1) writeLabels();
    else timer = setTimeout(render, 90);
  }

  function shift() {
    for (const layer of [groundLayer, edgeLayer]) layer.attr("transform", now);
    const transform = `translate(${now.x},${now.y})scale(${now.k / rendered})`;
    for (const layer of [spotLayer, top]) layer.attr("transform", transform);
  }

  /** Draw nodes and labels in the sizes that they have at this zoom. */
  function render() {
    clearTimeout(timer);
    rendered = now.k;
    shift();
    for (const spot of drawn) spot.r = radius(spot.number);
    spotLayer
      .selectAll("path")
      .attr("transform", (spot) => `translate(${(spot.x * now.k).toFixed(1)},${(spot.y * now.k).toFixed(1)})scale(${spot.r.toFixed(2)})`);
    light();
    marks = labels();
    writeLabels();
  }

  // ---- Labels -------------------------------------------------------------------------------------

  const family = getComputedStyle(document.body).fontFamily;
  const plain = `12px ${family}`;
  const strong = `650 12px ${family}`;

  /** The labels of what is lit, or of the whole map, with the names of servers. */
  function labels() {
    const lit = shown === null ? null : litSpots();
    const inOrder = lit ?? drawn;
    const spots = inOrder.map((spot) => ({
      number: spot.number,
      x: spot.x * now.k,
      y: spot.y * now.k,
      r: spot.r,
      text: texts[spot.number],
      font: spot.number === shown ? strong : plain,
    }));
    const [x, y, k] = [home.x, home.y, now.k / home.k];
    const must = 8 * Math.max(1, k) ** 1.5;
    const bounds = [-x * k, -y * k, (size.width - x) * k, (size.height - y) * k];
    return mapLabels.place(spots, lit ? lit.length : must, bounds, lit ? [] : titles());
  }

  /** The names of servers, above or below their tools, as long as the map is seen from afar. */
  function titles() {
    if (servers.length < 2 || now.k > fitted * 2.6) return [];
    const parts = new Map();
    for (const { number, x, y, r } of drawn) {
      const { cluster: server } = nodes[number];
      if (server === null) continue;
      if (!parts.has(server)) parts.set(server, { server, n: 0, x: 0, y: 0, top: Infinity, bottom: -Infinity });
      const part = parts.get(server);
      part.n += 1;
      part.x += x * now.k;
      part.y += y * now.k;
      part.top = Math.min(part.top, y * now.k - r);
      part.bottom = Math.max(part.bottom, y * now.k + r);
    }
    const most = now.k > fitted * 1.4 ? Infinity : mapServers.NAMED;
    return [...parts.values()]
      .filter(({ server }) => server < most)
      .sort((a, b) => b.n - a.n || a.server - b.server)
      .map(({ server, n, x, y, top, bottom }) => {
        const height = Math.min(18, 12 + Math.sqrt(n) / 2);
        return {
          server,
          text: mapLabels.shortened(servers[server].name),
          x: x / n,
          ys: [top - height * 0.75, bottom + height * 0.75, y / n],
          height,
          font: `700 ${height}px ${family}`,
        };
      });
  }

  /** Write the labels that are in view. */
  function writeLabels() {
    const [left, top] = [-now.x - 300, -now.y - 20];
    const [right, bottom] = [left + size.width + 600, top + size.height + 40];
    labelLayer
      .selectAll("text")
      .data(
        marks.filter(({ x, y }) => x > left && x < right && y > top && y < bottom),
        (mark) => (mark.number === undefined ? `server ${mark.server}` : mark.number),
      )
      .join("text")
      .attr("class", (mark) => (mark.height ? "title" : mark.number === shown ? "chosen" : null))
      .attr("font-size", (mark) => mark.height ?? null)
      .attr("data-of", (mark) => mark.number ?? null)
      .attr("x", (mark) => mark.x.toFixed(1))
      .attr("y", (mark) => mark.y.toFixed(1))
      .text((mark) => mark.text);
  }

  // ---- Moving and zooming -------------------------------------------------------------------------

  const zoom = d3
    .zoom()
    // A wheel without Ctrl and one finger scroll the page, as a reader expects.
    .filter((event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey;
      if (event.type.startsWith("touch")) return event.touches.length > 1;
      return !event.button;
    })
    .on("zoom", ({ transform }) => move(transform));
  svg.call(zoom).on("dblclick.zoom", null);

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const moved = () => (still.matches ? svg : svg.transition().duration(350));

  function measure() {
    size = { width: canvas.clientWidth || 900, height: canvas.clientHeight || 600 };
    zoom.extent([[0, 0], [size.width, size.height]]);
  }

  /** The part of the view that nodes fill, so that labels have room around them. */
  const inner = () => ({ width: size.width - Math.min(120, size.width / 4), height: size.height - 2 * MARGIN });

  /** The view that shows everything that is placed. */
  function viewOfAll() {
    const [xs, ys] = [placed.map((spot) => spot.x), placed.map((spot) => spot.y)];
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const { width, height } = inner();
    const scale = Math.min(1.8, width / (right - left || 1), height / (bottom - top || 1));
    return d3.zoomIdentity
      .translate(size.width / 2 - ((left + right) / 2) * scale, size.height / 2 - ((top + bottom) / 2) * scale)
      .scale(scale);
  }

  function fit() {
    measure();
    home = viewOfAll();
    fitted = home.k;
    zoom.scaleExtent([fitted * 0.6, Math.max(4, fitted * 14)]);
    rendered = NaN;
    svg.call(zoom.transform, home);
  }

  const scaled = (factor) => moved().call(zoom.scaleBy, factor);
  byId("graph-in").addEventListener("click", () => scaled(1.5));
  byId("graph-out").addEventListener("click", () => scaled(1 / 1.5));
  byId("graph-fit").addEventListener("click", () => moved().call(zoom.transform, home));

  /** Move a node to the middle, near enough to read its neighbours. */
  function moveTo(number) {
    const spot = spotOf.get(number);
    const k = Math.max(now.k, Math.min(1.3, fitted * 6));
    const view = d3.zoomIdentity.translate(size.width / 2 - spot.x * k, size.height / 2 - spot.y * k).scale(k);
    moved().call(zoom.transform, view);
  }

  /** Move the map if a node that took the focus is out of view. */
  function bringIn(spot) {
    const [x, y] = now.apply([spot.x, spot.y]);
    if (x < 20 || y < 20 || x > size.width - 20 || y > size.height - 20) {
      svg.call(zoom.translateTo, spot.x, spot.y);
    }
  }

  // ---- Selecting ----------------------------------------------------------------------------------

  /** Select a node, or none, draw it where it was not, and call *after*. */
  function choose(number, after = () => {}) {
    chosen = number;
    const done = () => {
      select();
      after();
    };
    if (number === null) {
      done();
      return;
    }
    if (isOff(nodes[number])) {
      legend.switchOn(nodes[number].cluster);
      redraw();
    }
    const isHidden = isGroup(number) && !hasGroups();
    if (isHidden) groups.checked = true;
    if (eligible().indexOf(number) >= MOST) reachOf.value = "1";
    if (isHidden || reachOf.value !== "all" || !spotOf.has(number)) layOut(done);
    else done();
  }

  function select() {
    spotLayer.selectAll("path").attr("aria-pressed", (spot) => String(spot.number === chosen));
    if (chosen !== null) rove(chosen);
    show(chosen);
  }

  /** Let the Tab key reach one node: the last that had the focus. */
  function rove(number) {
    spotLayer.selectAll("path").attr("tabindex", (spot) => (spot.number === number ? 0 : -1));
  }

  /** Light a node and its neighbours, and describe it. */
  function show(number) {
    const visible = number !== null && drawn.includes(spotOf.get(number)) ? number : null;
    tell(number);
    if (visible === shown) return;
    shown = visible;
    light();
    marks = labels();
    writeLabels();
  }

  const litLines = () => lines.filter(({ edge }) => edge.from === shown || edge.to === shown);

  function litSpots() {
    const own = spotOf.get(shown);
    const near = new Set(litLines().flatMap(({ source, target }) => [source, target]));
    near.delete(own);
    return [own, ...[...near].sort((a, b) => links[b.number] - links[a.number])];
  }

  /** Draw the lit node, its edges and its neighbours over the faded rest. */
  function light() {
    for (const layer of [below, svg]) layer.classed("faded", shown !== null);
    const near = shown === null ? [] : litLines();
    litLayer
      .selectAll("line")
      .data(near)
      .join("line")
      .attr("class", ({ edge }) => `link ${edge.kind}`)
      .attr("marker-end", ({ edge }) => `url(#arrow-${edge.kind})`)
      .each(function ({ source, target }) {
        // The arrow ends at the rim of the node.
        const [x1, y1, x2, y2] = [source.x, source.y, target.x, target.y].map((one) => one * now.k);
        const long = Math.hypot(x2 - x1, y2 - y1) || 1;
        const share = Math.max(0, long - target.r - 2) / long;
        d3.select(this)
          .attr("x1", x1)
          .attr("y1", y1)
          .attr("x2", x1 + (x2 - x1) * share)
          .attr("y2", y1 + (y2 - y1) * share);
      });
    litLayer
      .selectAll("path")
      .data(shown === null ? [] : litSpots().reverse(), (spot) => spot.number)
      .join("path")
      .attr("class", ({ number }) => `${classOf(nodes[number])} ${number === shown ? "chosen" : ""}`)
      .attr("d", ({ number }) => pathOf(nodes[number]))
      .attr("transform", ({ x, y, r }) => `translate(${x * now.k},${y * now.k})scale(${r * 1.15})`)
      .raise();
  }

  function tell(number) {
    if (number === null) {
      details.replaceChildren(
        make("p", "dim", "Point at a tool, or select one, to see what it is and where its edges lead."),
      );
      return;
    }
    const node = nodes[number];
    const name = make("h3", "", "");
    name.append(make("bdi", "", node.label));
    const parts = [make("p", "kicker", KINDS[node.kind]), name];
    const server = node.server ?? "";
    const told = [node.title === node.label ? "" : node.title, server].filter(Boolean);
    if (told.length) parts.push(make("p", "dim", told.join(" · ")));
    if (node.text) {
      const text = make("p", "text", node.text);
      text.dir = "auto";
      parts.push(text);
    }
    const own = beside[number].filter((edge) => hasGroups() || edge.kind !== "member");
    if (own.length) parts.push(make("h4", "", counted(own.length, "edge")));
    const list = make("ul", "links");
    for (const edge of own.slice(0, LINKS)) list.append(edgeItem(edge, number));
    if (own.length > LINKS) list.append(make("li", "dim", `and ${own.length - LINKS} more`));
    details.replaceChildren(...parts, list);
  }

  function edgeItem(edge, number) {
    const item = make("li", edge.kind);
    const other = otherEnd(edge, number);
    const button = make("button", "term", "");
    button.type = "button";
    button.append(make("bdi", "", nodes[other].label));
    button.addEventListener("click", () => visit(other));
    item.append(make("span", "dim", `${edge.name} ${edge.from === number ? "→" : "←"} `), button);
    if (edge.reason) item.append(make("div", "", edge.reason));
    return item;
  }

  /** Draw what is switched on, without what is selected where that is off. */
  function redraw() {
    draw();
    render();
    if (shown !== null && !isWanted(shown)) {
      chosen = null;
      select();
    }
  }

  /** Select a node and move to it. */
  function visit(number) {
    choose(number, () => (reachOf.value === "all" ? moveTo(number) : undefined));
  }

  // ---- How much is drawn --------------------------------------------------------------------------

  const isEdge = ({ kind }) => kind !== "member";
  const ofKind = (name) => nodes.filter(({ kind }) => kind === name).length;
  const all = { tool: ofKind("tool"), group: ofKind("group"), edge: edges.filter(isEdge).length };

  function tellCount(stated) {
    const share = (some, name) => `${some.toLocaleString("en")} of ${counted(all[name], name)}`;
    const there = (name) => drawn.filter(({ number }) => nodes[number].kind === name).length;
    const parts = [share(there("tool"), "tool"), share(lines.filter(({ edge }) => isEdge(edge)).length, "edge")];
    if (hasGroups()) parts.push(share(there("group"), "group"));
    const told = `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)} drawn.`;
    byId("map-count").textContent = stated ?? [told, ...reasons()].join(" ");
  }

  /** Why less is drawn than there is. */
  function reasons() {
    const told = [];
    if (reachOf.value !== "all") {
      told.push(`Only what is around ${nodes[chosen ?? hub].label}; Show: everything for the rest.`);
    } else if (eligible().length > MOST) {
      const most = MOST.toLocaleString("en");
      told.push(`A map of more than ${most} nodes would be slow: these are the most connected. Find reaches all.`);
    }
    const off = legend.offCount();
    if (off) told.push(`${counted(off, shared)} switched off.`);
    return told;
  }

  // ---- The pointer --------------------------------------------------------------------------------

  function under(event) {
    const [x, y] = d3.pointer(event, svg.node());
    const spot = tree.find(...now.invert([x, y]), (NEAR[event.pointerType] ?? NEAR.mouse) / now.k);
    return spot ? spot.number : null;
  }

  svg
    .on("pointermove", (event) => {
      if (event.buttons || event.pointerType === "touch") return;
      const number = under(event);
      svg.classed("pointing", number !== null);
      if (number !== null) show(number);
      else if (shown !== chosen) show(chosen);
    })
    .on("pointerleave", () => show(chosen))
    .on("click", (event) => {
      const number = under(event);
      choose(number === chosen ? null : number);
    });

  // ---- The keyboard -------------------------------------------------------------------------------

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
          if (next) spotLayer.select(`[data-node="${next.number}"]`).node().focus();
        }
      : {
          Enter: () => choose(spot.number),
          " ": () => choose(spot.number),
          Escape: () => choose(null),
          "+": () => scaled(1.5),
          "=": () => scaled(1.5),
          "-": () => scaled(1 / 1.5),
          0: () => moved().call(zoom.transform, home),
        }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  const spotAt = (event) => d3.select(event.target).datum();
  spotLayer
    .on("keydown", (event) => steer(event, spotAt(event)))
    .on("focusin", (event) => {
      const spot = spotAt(event);
      rove(spot.number);
      bringIn(spot);
      show(spot.number);
    })
    .on("focusout", () => show(chosen));

  // ---- Other widths, and paper --------------------------------------------------------------------

  reachOf.addEventListener("change", () => layOut(select));
  groups?.addEventListener("change", () => layOut(select));
  let before = null;
  new ResizeObserver(() => {
    if (!before && canvas.clientWidth !== size.width && placed.length) fit();
  }).observe(canvas);
  const PAPER = { width: 1000, height: 720 };
  addEventListener("beforeprint", () => {
    before = { now, size, home, fitted, shown };
    show(null);
    size = PAPER;
    home = viewOfAll();
    fitted = home.k;
    now = home;
    for (const one of [below, svg, above]) one.attr("viewBox", [0, 0, PAPER.width, PAPER.height]);
    render();
  });
  addEventListener("afterprint", () => {
    ({ now, size, home, fitted } = before);
    for (const one of [below, svg, above]) one.attr("viewBox", null);
    render();
    show(before.shown);
    before = null;
  });

  const legend = mapServers.list(byId("map-servers"), redraw);
  mapSearch(byId("map-search"), byId("map-found"), byDegree, visit);
  if (groups) groups.checked = nodes.length <= FEW;
  reachOf.value = "all";
  layOut(select);
  return { choose, visit };
})();
