// The servers of the map, or groups where these tell more: a colour for each and, where colours run out,
// another shape. The legend switches them off and on. What is beyond the marks, the smallest, are the others.
const mapServers = (() => {
  const { clusters: servers, kind } = reportData;
  const COLORS = 7;
  const SHAPES = [
    "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.15,.85H-1.15Z",
    "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
  ];
  const MARKS = COLORS * SHAPES.length;
  // How many servers have a mark of their own; the number of the others in the legend.
  const NAMED = servers.length > MARKS ? MARKS - 1 : servers.length;
  const colorOf = (server) => (server < NAMED ? `s${server % COLORS}` : "others");
  const shapeOf = (server) => SHAPES[server < NAMED ? Math.floor(server / COLORS) : 0];

  function entries() {
    const named = servers.slice(0, NAMED);
    const others = servers.slice(NAMED);
    if (!others.length) return named;
    const name = `others: ${others.length.toLocaleString("en")} ${kind}s`;
    return [...named, { name, tools: others.reduce((sum, one) => sum + one.tools, 0) }];
  }

  function entryItem({ name, tools }, place) {
    const item = make("li", "");
    const label = make("label", "");
    const box = make("input", "");
    Object.assign(box, { type: "checkbox", checked: true, value: String(place), autocomplete: "off" });
    label.append(box);
    d3.select(label)
      .append("svg")
      .attr("viewBox", "-1.4 -1.4 2.8 2.8")
      .attr("class", "swatch")
      .attr("aria-hidden", "true")
      .append("path")
      .attr("class", colorOf(place))
      .attr("d", shapeOf(place));
    label.append(make("bdi", "", name), make("span", "dim", tools.toLocaleString("en")));
    item.append(label);
    return item;
  }

  /** Fill *frame* with the legend, and call *changed* when servers are switched. */
  function list(frame, changed) {
    const items = make("ul", "");
    items.append(...entries().map(entryItem));
    frame.replaceChildren(items);
    const boxes = [...items.querySelectorAll("input")];
    items.addEventListener("change", changed);
    if (boxes.length > 1) frame.append(switches(boxes, changed));
    const boxOf = (server) => boxes[Math.min(server, NAMED)];
    return {
      isOff: (server) => !boxOf(server).checked,
      switchOn: (server) => (boxOf(server).checked = true),
      offCount: () => servers.filter((_, server) => !boxOf(server).checked).length,
    };
  }

  function switches(boxes, changed) {
    const buttons = make("div", "switches");
    for (const [name, isOn] of [["All", true], ["None", false]]) {
      const button = make("button", "", name);
      button.type = "button";
      button.addEventListener("click", () => {
        for (const box of boxes) box.checked = isOn;
        changed();
      });
      buttons.append(button);
    }
    return buttons;
  }

  return { NAMED, CIRCLE: SHAPES[0], SQUARE: SHAPES[1], colorOf, shapeOf, list };
})();
