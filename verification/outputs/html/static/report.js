"use strict";
(() => {
  const list = document.querySelector(".claims");
  const claims = [...list.children];
  const filters = document.getElementById("filters");
  const text = document.getElementById("text");
  const mechanism = document.getElementById("mechanism");
  const sort = document.getElementById("sort");
  const shown = document.getElementById("shown");
  const SEVERITY = { refuted: 0, unproven: 1, sound: 2, differs: 0, underspecified: 1, unnamed: 2,
    exact: 2 };
  // What is searched is looked up once, without the numbers that scripts draw.
  const haystack = new Map();
  const searched = (claim) => {
    if (!haystack.has(claim)) {
      const parts = claim.querySelectorAll("summary, dd, p, li, h3");
      haystack.set(claim, [...parts].map((part) => part.textContent).join(" ").toLowerCase());
    }
    return haystack.get(claim);
  };

  const checked = (name) =>
    new Set([...filters.querySelectorAll(`[name="${name}"]:checked`)].map((box) => box.value));

  function filter() {
    const soundness = checked("soundness");
    const reproduction = checked("reproduction");
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const claim of claims) {
      const data = claim.dataset;
      const wanted = soundness.has(data.soundness) && reproduction.has(data.reproduction)
        && (mechanism.value === "" || data.mechanism === mechanism.value)
        && (words.length === 0 || words.every((word) => searched(claim).includes(word)));
      claim.hidden = !wanted;
      claim.ariaHidden = wanted ? null : "true";
      count += wanted ? 1 : 0;
    }
    shown.textContent = `${count} of ${claims.length} claims shown`;
  }

  const ORDERS = {
    number: () => 0,
    verdict: (a, b) => SEVERITY[a.dataset.soundness] - SEVERITY[b.dataset.soundness]
      || SEVERITY[a.dataset.reproduction] - SEVERITY[b.dataset.reproduction],
    slack: (a, b) => slack(a, Infinity) - slack(b, Infinity) || 0,
    loosest: (a, b) => slack(b, -1) - slack(a, -1) || 0,
  };
  // Claims without a slack come last in both directions.
  const slack = (claim, missing) => {
    const value = Number(claim.dataset.slack);
    return value < 0 ? missing : value;
  };

  function arrange() {
    const compare = ORDERS[sort.value];
    const ranked = [...claims].sort(
      (a, b) => compare(a, b) || Number(a.dataset.number) - Number(b.dataset.number));
    list.append(...ranked);
  }

  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", filter);
  sort.addEventListener("change", arrange);
  filters.addEventListener("reset", () => setTimeout(() => { filter(); arrange(); }));
  // A browser may have kept what was chosen before the page was loaded again.
  filter();
  arrange();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const drawings = new Map();
  const number = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(5))));

  function options(kind, data, width) {
    // Lines and labels at powers of ten alone.
    const powers = (u, splits) => splits.map(
      (value) => (Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9 ? value : null));
    const lines = { stroke: colour("line"), width: 1, filter: powers };
    const axis = { stroke: colour("front"), grid: lines, ticks: lines, filter: powers };
    const plain = (value) => (value < 1e-3 || value > 1e5 ? value.toExponential(0) : String(Number(value.toPrecision(3))));
    const power = (u, splits) => splits.map((value) => (value === null ? null : plain(value)));
    const rdp = kind === "rdp";
    const points = rdp ? [] : data.points;
    const series = data.series.map(([label, what]) => ({
      label, stroke: colour(what), width: 2, dash: what === "published" ? [6, 4] : [], points: { show: false },
      value: (u, value) => number(value),
    }));
    for (const [what] of points) {
      series.push({ label: `${what} (the claim's delta)`, stroke: colour(what), paths: () => null,
        points: { show: true, size: 9, fill: colour(what) }, value: (u, value) => number(value) });
    }
    return {
      width, height: 280,
      scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
      axes: [
        { ...axis, label: rdp ? "Renyi order" : "delta", values: power },
        { ...axis, label: rdp ? "divergence (nats)" : "epsilon (nats)", size: 70, values: power },
      ],
      series: [{ label: rdp ? "order" : "delta", value: (u, value) => number(value) }, ...series],
    };
  }

  // A logarithmic axis has no place for 0.
  const positive = (values) => values.map((value) => (value !== null && value > 0 ? value : null));

  function columns(kind, data) {
    const points = kind === "rdp" ? [] : data.points;
    const x = [...new Set([...data.x, ...points.map((point) => point[1])])].sort((a, b) => a - b);
    const place = new Map(x.map((value, k) => [value, k]));
    const spread = (pairs) => {
      const column = new Array(x.length).fill(undefined);
      for (const [where, value] of pairs) column[place.get(where)] = value;
      return column;
    };
    return [
      x,
      ...data.series.map((one) => spread(positive(one[2]).map((value, k) => [data.x[k], value]))),
      ...points.map((point) => spread([[point[1], point[2] > 0 ? point[2] : null]])),
    ];
  }

  function table(kind, data) {
    const details = document.createElement("details");
    const summary = details.appendChild(document.createElement("summary"));
    summary.textContent = "The same as a table";
    const scroll = details.appendChild(document.createElement("div"));
    scroll.className = "scroll";
    const grid = scroll.appendChild(document.createElement("table"));
    const head = grid.createTHead().insertRow();
    for (const name of [kind === "rdp" ? "order" : "delta", ...data.series.map((one) => one[0])]) {
      const cell = head.appendChild(document.createElement("th"));
      cell.scope = "col";
      cell.textContent = name;
    }
    const body = grid.createTBody();
    data.x.forEach((x, k) => {
      const row = body.insertRow();
      const cell = row.appendChild(document.createElement("th"));
      cell.scope = "row";
      cell.textContent = number(x);
      for (const one of data.series) row.insertCell().textContent = number(one[2][k]);
    });
    return details;
  }

  function draw(details) {
    const place = details.querySelector(".curves");
    if (!place || drawings.has(place)) return;
    const all = JSON.parse(details.querySelector('script[type="application/json"]').textContent);
    const made = [];
    drawings.set(place, made);
    for (const [kind, title] of [["rdp", "Renyi divergence by order"], ["profile", "Epsilon by delta"]]) {
      const data = all[kind];
      const figure = place.appendChild(document.createElement("figure"));
      const heading = figure.appendChild(document.createElement("h3"));
      heading.textContent = `${title} (floating point, not certified)`;
      const canvas = figure.appendChild(document.createElement("div"));
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${title}: ${data.series.map((one) => one[0]).join(", ")}. A table follows.`);
      const some = data.series.some((one) => one[2].some((value) => value !== null && value > 0));
      if (some) {
        const content = columns(kind, data);
        const make = () => new uPlot(options(kind, data, Math.max(place.clientWidth, 200)), content, canvas);
        made.push({ make, plot: make(), place });
      } else {
        canvas.removeAttribute("role");
        canvas.textContent = "Nothing to draw: no bound is finite and above 0.";
      }
      figure.appendChild(table(kind, data));
    }
  }

  function again() {
    for (const made of drawings.values()) {
      for (const one of made) {
        one.plot.destroy();
        one.plot = one.make();
      }
    }
  }

  list.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.parentElement.classList.contains("claim")) draw(event.target);
  }, true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const made of drawings.values()) {
        for (const one of made) one.plot.setSize({ width: Math.max(one.place.clientWidth, 200), height: 280 });
      }
    }, 150);
  });

  // A link to one claim opens it.
  function follow() {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.classList.contains("claim")) target.querySelector("details").open = true;
  }
  addEventListener("hashchange", follow);
  follow();
})();
