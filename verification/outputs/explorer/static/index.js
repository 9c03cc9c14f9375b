"use strict";
(() => {
  const form = document.getElementById("filters");
  const fields = Object.fromEntries(
    ["text", "kind", "year", "verdict", "sort"].map((name) => [name, document.getElementById(name)]));
  const shown = document.getElementById("shown");
  const bodies = ["works", "claims"].map((name) => document.querySelector(`#${name} tbody`));
  const [works, claims] = bodies.map((body) => [...body.rows]);
  const texts = new Map([...works, ...claims].map((row) => [row, row.textContent.toLowerCase()]));
  const titles = new Map(works.map((row) => [row.dataset.slug, texts.get(row)]));
  const SEVERITY = { refuted: 0, depends: 1, unproven: 2, incomplete: 3, approximation: 4, rounded: 5, sound: 6 };
  const year = (row) => Number(row.dataset.year);
  const place = new Map([...works, ...claims].map((row, k) => [row, k]));
  // Works of which no year is known come last, whichever way they are sorted.
  const years = (sign) => (a, b) => !year(a) - !year(b) || sign * (year(a) - year(b));
  const WORKS = {
    worst: (a, b) => a.dataset.worst - b.dataset.worst,
    new: years(-1),
    old: years(1),
    title: (a, b) => a.dataset.title.localeCompare(b.dataset.title),
    claims: (a, b) => b.dataset.claims - a.dataset.claims,
  };
  const CLAIMS = {
    worst: (a, b) => SEVERITY[a.dataset.verdict] - SEVERITY[b.dataset.verdict],
    new: years(-1),
    old: years(1),
    title: (a, b) => titles.get(a.dataset.slug).localeCompare(titles.get(b.dataset.slug)),
    claims: () => 0,
  };

  function filter() {
    const words = fields.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set();
    let count = 0;
    for (const row of claims) {
      const data = row.dataset;
      const text = `${texts.get(row)} ${titles.get(data.slug)}`;
      const fits = ["kind", "year", "verdict"].every(
        (name) => fields[name].value === "" || fields[name].value === data[name])
        && words.every((word) => text.includes(word));
      row.hidden = !fits;
      if (fits) {
        wanted.add(data.slug);
        count += 1;
      }
    }
    for (const row of works) row.hidden = !wanted.has(row.dataset.slug);
    shown.textContent = `${wanted.size} of ${works.length} works, ${count} of ${claims.length} claims`;
  }

  function arrange() {
    const key = fields.sort.value;
    bodies[0].append(...[...works].sort((a, b) => WORKS[key](a, b) || place.get(a) - place.get(b)));
    bodies[1].append(...[...claims].sort((a, b) => CLAIMS[key](a, b) || place.get(a) - place.get(b)));
  }

  // The address holds what was chosen, so that a link shows the same.
  function remember() {
    const chosen = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) {
      if (field.value !== "" && !(name === "sort" && field.value === "worst")) chosen.set(name, field.value);
    }
    history.replaceState(null, "", `#${chosen}`);
  }

  function restore() {
    const chosen = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of Object.entries(fields)) {
      const value = chosen.get(name) ?? (name === "sort" ? "worst" : "");
      if (field.options === undefined || [...field.options].some((one) => one.value === value)) field.value = value;
    }
    filter();
    arrange();
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("change", () => { arrange(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { filter(); arrange(); remember(); }));
  addEventListener("hashchange", () => { if (location.hash.includes("=") || location.hash.length < 2) restore(); });
  if (location.hash.includes("=")) restore();
  else { form.reset(); filter(); arrange(); }
})();
