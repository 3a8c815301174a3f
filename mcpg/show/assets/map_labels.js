// Which labels of the map are shown: as many as keep apart, those that matter most first. A label
// stands beside its node, where possible clear of other nodes; what finds no room is left out until
// the map is zoomed (greedy point-feature labelling: Christensen, Marks and Shieber 1995, "An empirical
// study of algorithms for point-feature label placement").
const mapLabels = (() => {
  const CELL = [64, 20];
  const HEIGHT = 16;
  const GAP = 3;
  const LONGEST = 32;
  const pen = document.createElement("canvas").getContext("2d");
  const widths = new Map();

  /** The text of a label, short enough for the map. */
  function shortened(text) {
    const letters = [...text.slice(0, 4 * LONGEST)];
    return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : letters.join("");
  }

  function widthOf(text, font) {
    if (!widths.has(font)) widths.set(font, new Map());
    const known = widths.get(font);
    if (!known.has(text)) {
      pen.font = font;
      known.set(text, Math.ceil(pen.measureText(text).width));
    }
    return known.get(text);
  }

  /** Boxes, found by the cells that they touch. */
  class Boxes {
    #cells = new Map();

    /** The first truthy value of *visit* for the number of a cell that *box* touches. */
    #over([left, top, right, bottom], visit) {
      const [lastX, lastY] = [Math.floor(right / CELL[0]), Math.floor(bottom / CELL[1])];
      for (let x = Math.floor(left / CELL[0]); x <= lastX; x += 1) {
        for (let y = Math.floor(top / CELL[1]); y <= lastY; y += 1) {
          if (visit(x * 100003 + y)) return true;
        }
      }
      return false;
    }

    add(box) {
      this.#over(box, (cell) => {
        const list = this.#cells.get(cell);
        if (list) list.push(box);
        else this.#cells.set(cell, [box]);
      });
    }

    hits(box, own) {
      const [left, top, right, bottom] = box;
      const isHit = (one) =>
        one !== own && one[0] < right && one[2] > left && one[1] < bottom && one[3] > top;
      return this.#over(box, (cell) => this.#cells.get(cell)?.some(isHit));
    }
  }

  const isWithin = (box, bounds) =>
    box[0] >= bounds[0] && box[1] >= bounds[1] && box[2] <= bounds[2] && box[3] <= bounds[3];

  const sidesOf = (x, y, r, width) => [
    [x + r + GAP, y - HEIGHT / 2],
    [x - r - GAP - width, y - HEIGHT / 2],
    [x - width / 2, y - r - GAP - HEIGHT],
    [x - width / 2, y + r + GAP],
  ];

  /**
   * Choose labels for *spots*, the most important first.
   *
   * @param spots Nodes with `x`, `y` and `r` in pixels, and the `text` and `font` of their labels.
   * @param must How many of the first may cover other nodes where there is no clear place.
   * @param bounds The box that no label leaves.
   * @param titles Names of parts of the map, with `x` and the heights `ys` where each may stand.
   */
  function place(spots, must, bounds, titles = []) {
    const taken = new Boxes();
    const dots = new Boxes();
    const chosen = [];
    for (const spot of spots) {
      spot.box = [spot.x - spot.r, spot.y - spot.r, spot.x + spot.r, spot.y + spot.r];
      dots.add(spot.box);
    }
    for (const { x, ys, text, font, height, server } of titles) {
      const half = widthOf(text, font) / 2;
      const free = ys
        .map((y) => [x - half - 4, y - height * 0.6, x + half + 4, y + height * 0.6])
        .filter((box) => isWithin(box, bounds) && !taken.hits(box));
      const box = free.find((one) => !dots.hits(one)) ?? free[0];
      if (!box) continue;
      taken.add(box);
      chosen.push({ server, text, height, x: box[0] + 4, y: box[3] - height * 0.25 });
    }
    spots.forEach((spot, place) => {
      const width = widthOf(spot.text, spot.font);
      const boxes = sidesOf(spot.x, spot.y, spot.r, width).map(([left, top]) => [
        left - 2,
        top,
        left + width + 2,
        top + HEIGHT,
      ]);
      const isFree = (box) => isWithin(box, bounds) && !taken.hits(box);
      const clear = boxes.find((box) => !dots.hits(box, spot.box) && isFree(box));
      const box = clear ?? (place < must ? boxes.find(isFree) : undefined);
      if (!box) return;
      taken.add(box);
      chosen.push({ number: spot.number, text: spot.text, x: box[0] + 2, y: box[1] + 12 });
    });
    return chosen;
  }

  return { place, shortened };
})();
