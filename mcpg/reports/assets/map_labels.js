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
    const key = `${font} ${text}`;
    if (!widths.has(key)) {
      pen.font = font;
      widths.set(key, Math.ceil(pen.measureText(text).width));
    }
    return widths.get(key);
  }

  /** Boxes, found by the cells that they touch. */
  class Boxes {
    #cells = new Map();

    *#touched([left, top, right, bottom]) {
      for (let x = Math.floor(left / CELL[0]); x <= Math.floor(right / CELL[0]); x += 1) {
        for (let y = Math.floor(top / CELL[1]); y <= Math.floor(bottom / CELL[1]); y += 1) {
          yield x * 100003 + y;
        }
      }
    }

    add(box) {
      for (const cell of this.#touched(box)) {
        if (!this.#cells.has(cell)) this.#cells.set(cell, []);
        this.#cells.get(cell).push(box);
      }
    }

    hits(box, own) {
      for (const cell of this.#touched(box)) {
        for (const other of this.#cells.get(cell) ?? []) {
          const apart =
            box[0] >= other[2] || other[0] >= box[2] || box[1] >= other[3] || other[1] >= box[3];
          if (!apart && other !== own) return true;
        }
      }
      return false;
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
      const free = sidesOf(spot.x, spot.y, spot.r, width)
        .map(([left, top]) => [left - 2, top, left + width + 2, top + HEIGHT])
        .filter((box) => isWithin(box, bounds) && !taken.hits(box));
      const box = free.find((one) => !dots.hits(one, spot.box)) ?? (place < must ? free[0] : undefined);
      if (!box) return;
      taken.add(box);
      chosen.push({ number: spot.number, text: spot.text, x: box[0] + 2, y: box[1] + 12 });
    });
    return chosen;
  }

  return { place, shortened };
})();
