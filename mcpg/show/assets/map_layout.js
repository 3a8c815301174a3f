// Where the nodes of the map stand. Tools that edges join closely make a community, the communities of
// a server, or a group, are packed into a disc, and the discs of the servers into the map (Wang et al. 2006,
// "Visualization of large hierarchical data by circle packing"); forces then order the tools within.
const mapLayout = (() => {
  const SPACE = 32;
  // The angle of a sunflower's seeds, which fills a disc evenly.
  const GOLDEN = Math.PI * (3 - Math.sqrt(5));
  const SLICE = 12;
  const TICKS = [40, 240];
  const ROUNDS = 12;
  let running = 0;

  /**
   * The communities of tools of one server, by label propagation: each takes the label that most of its
   * neighbours have, until none changes (Raghavan, Albert and Kumara 2007, "Near linear time algorithm to
   * detect community structures in large-scale networks").
   */
  function communities(spots, nodes, beside) {
    const label = new Map(spots.map(({ number }) => [number, number]));
    const near = (number) =>
      beside[number]
        .map((edge) => (edge.from === number ? edge.to : edge.from))
        .filter((other) => label.has(other) && nodes[other].cluster === nodes[number].cluster);
    const joined = spots
      .filter(({ number }) => nodes[number].cluster !== null)
      .map(({ number }) => ({ number, others: near(number) }));
    for (let round = 0, changed = true; changed && round < ROUNDS; round += 1) {
      changed = false;
      for (const { number, others } of joined) {
        const votes = new Map();
        for (const other of others) votes.set(label.get(other), (votes.get(label.get(other)) ?? 0) + 1);
        let best = label.get(number);
        for (const [one, count] of votes) {
          const most = votes.get(best) ?? 0;
          if (count > most || (count === most && one < best)) best = one;
        }
        changed ||= best !== label.get(number);
        label.set(number, best);
      }
    }
    return label;
  }

  function grouped(items, keyOf) {
    const lists = new Map();
    for (const item of items) {
      const key = keyOf(item);
      if (!lists.has(key)) lists.set(key, []);
      lists.get(key).push(item);
    }
    return [...lists.values()];
  }

  /** Pack discs, each with its radius `r`, around a common middle; the largest first. */
  function packed(discs) {
    discs.sort((a, b) => b.r - a.r);
    return d3.packEnclose(d3.packSiblings(discs));
  }

  /** Give each spot a first place, and the middle of its community as its home. */
  function seed(spots, nodes, beside) {
    const label = communities(spots, nodes, beside);
    const tools = spots.filter(({ number }) => nodes[number].cluster !== null);
    const servers = grouped(tools, ({ number }) => nodes[number].cluster).map((members) => {
      const parts = grouped(members, ({ number }) => label.get(number)).map((list) => ({
        list,
        r: SPACE * (0.56 * Math.sqrt(list.length) + 0.14),
      }));
      const { x, y, r } = packed(parts);
      return { parts, middle: [x, y], r: r + SPACE * 0.9 };
    });
    if (servers.length) packed(servers);
    for (const server of servers) {
      for (const { list, ...part } of server.parts) {
        const home = [server.x + part.x - server.middle[0], server.y + part.y - server.middle[1]];
        list.forEach((spot, place) => {
          const out = SPACE * 0.5 * Math.sqrt(place);
          spot.home = home;
          spot.x = home[0] + out * Math.cos(place * GOLDEN);
          spot.y = home[1] + out * Math.sin(place * GOLDEN);
        });
      }
    }
    seedOthers(spots, beside);
  }

  /** Give nodes without a server a first place among their neighbours. */
  function seedOthers(spots, beside) {
    const placed = new Map(spots.filter((spot) => spot.home).map((spot) => [spot.number, spot]));
    for (const spot of spots) {
      if (spot.home) continue;
      spot.home = null;
      const near = beside[spot.number]
        .map((edge) => placed.get(edge.from === spot.number ? edge.to : edge.from))
        .filter(Boolean);
      const mean = (axis) => near.reduce((sum, one) => sum + one[axis], 0) / near.length;
      if (near.length) [spot.x, spot.y] = [mean("x") + near.length, mean("y") + 1];
    }
  }

  function forces(spots, lines, sizeOf) {
    const degree = new Map();
    for (const { source, target } of lines) {
      for (const one of [source, target]) degree.set(one, (degree.get(one) ?? 0) + 1);
    }
    const few = spots.length < 60;
    const least = ({ source, target }) => Math.min(degree.get(source), degree.get(target));
    const pull = (spot) => (spot.home ? (few ? 0.05 : 0.14) : 0.01);
    return d3
      .forceSimulation(spots)
      .force("charge", d3.forceManyBody().strength(few ? -220 : -40).distanceMax(few ? 600 : 120).theta(1.2))
      .force(
        "link",
        d3
          .forceLink(lines)
          .distance(SPACE * (few ? 2 : 1.1))
          .strength((line) => (line.source.home === line.target.home ? 0.6 : few ? 0.3 : 0.02) / least(line)),
      )
      .force("collide", d3.forceCollide((spot) => sizeOf(spot.number) + (few ? 14 : 2.5)))
      .force("x", d3.forceX((spot) => spot.home?.[0] ?? 0).strength(pull))
      .force("y", d3.forceY((spot) => spot.home?.[1] ?? 0).strength(pull))
      .stop();
  }

  /**
   * Place *spots* by the *lines* between them, a few milliseconds at a time, then call *done*.
   *
   * @param sizeOf The radius of a node by its number.
   * @param stretch How much wider than high the map is to be, as a square root.
   */
  function place({ spots, lines, nodes, beside, sizeOf, stretch }, done) {
    running += 1;
    const own = running;
    seed(spots, nodes, beside);
    const simulation = forces(spots, lines, sizeOf);
    let left = Math.round(Math.min(TICKS[1], Math.max(TICKS[0], 60000 / spots.length)));
    simulation.alpha(0.6).alphaDecay(1 - 0.004 ** (1 / left));
    const step = () => {
      if (own !== running) return;
      const until = performance.now() + SLICE;
      while (left && performance.now() < until) {
        simulation.tick();
        left -= 1;
      }
      if (left) {
        setTimeout(step);
        return;
      }
      for (const spot of spots) {
        spot.x *= stretch;
        spot.y /= stretch;
      }
      done();
    };
    step();
  }

  /** The convex hull of *points*, as an outline: Andrew's monotone chain (1979). */
  function hull(points) {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const chain = (ordered) => {
      const out = [];
      const turn = ([a, b], [c, d], [e, f]) => (c - a) * (f - b) - (d - b) * (e - a);
      for (const point of ordered) {
        while (out.length > 1 && turn(out.at(-2), out.at(-1), point) <= 0) out.pop();
        out.push(point);
      }
      return out.slice(0, -1);
    };
    return [...chain(sorted), ...chain(sorted.reverse())];
  }

  return { place, hull };
})();
