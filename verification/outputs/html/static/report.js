"use strict";
(() => {
  const all = [...document.querySelectorAll(".claim")];
  const claims = all.slice().sort((a, b) => Number(a.dataset.number) - Number(b.dataset.number));
  const groups = [...document.querySelectorAll(".group")];
  const flat = document.getElementById("flat");
  const filters = document.getElementById("filters");
  const pills = [...filters.querySelectorAll("[data-filter]")];
  const text = document.getElementById("text");
  const mechanism = document.getElementById("mechanism");
  const sort = document.getElementById("sort");
  const shown = document.getElementById("shown");
  // Where a claim stands when the worst come first.
  const home = new Map(all.map((claim) => [claim, claim.parentElement]));
  // What is searched is looked up once, without the numbers of curves.
  const haystack = new Map();
  const searched = (claim) => {
    if (!haystack.has(claim)) {
      const parts = claim.querySelectorAll("h3, .head button, .says, dd, p, li, h4");
      haystack.set(claim, [...parts].map((part) => part.textContent).join(" ").toLowerCase());
    }
    return haystack.get(claim);
  };

  // Nothing pressed means that nothing is left out.
  const pressed = (name) => new Set(pills.filter(
    (pill) => pill.dataset.filter === name && pill.ariaPressed === "true").map((pill) => pill.value));

  function filter() {
    const wanted = ["verdict", "reproduction"].map((name) => [name, pressed(name)]);
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const claim of claims) {
      const data = claim.dataset;
      const fits = wanted.every(([name, values]) => values.size === 0 || values.has(data[name]))
        && (mechanism.value === "" || data.mechanism === mechanism.value)
        && (words.length === 0 || words.every((word) => searched(claim).includes(word)));
      claim.hidden = !fits;
      claim.ariaHidden = fits ? null : "true";
      count += fits ? 1 : 0;
    }
    shown.textContent = `${count} of ${claims.length} claims shown`;
    headings();
  }

  // A heading without claims below it says nothing.
  function headings() {
    for (const group of groups) group.classList.toggle("empty", !group.querySelector(".claim:not([hidden])"));
  }

  // Claims without a slack come last in both directions.
  const slack = (claim, missing) => {
    const value = Number(claim.dataset.slack);
    return value < 0 ? missing : value;
  };
  const ORDERS = {
    number: () => 0,
    slack: (a, b) => slack(a, Infinity) - slack(b, Infinity) || 0,
    loosest: (a, b) => slack(b, -1) - slack(a, -1) || 0,
  };

  function arrange() {
    const compare = ORDERS[sort.value];
    if (compare) flat.querySelector(".claims").append(...claims.slice().sort(compare));
    else for (const claim of all) home.get(claim).append(claim);
    headings();
  }

  for (const pill of pills) {
    pill.addEventListener("click", () => {
      pill.ariaPressed = pill.ariaPressed === "true" ? "false" : "true";
      filter();
    });
  }
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", filter);
  sort.addEventListener("change", arrange);
  const clear = () => {
    for (const pill of pills) pill.ariaPressed = "false";
    filter();
    arrange();
  };
  filters.addEventListener("reset", () => setTimeout(clear));
  // A browser may have kept what was chosen before the page was loaded again.
  if (text.value || mechanism.value) filter();
  arrange();

  // A link to a claim, by its number or its id, shows and opens it.
  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const claim = target && target.closest(".claim");
    if (!claim) return;
    if (claim.hidden) filters.reset();
    claim.querySelector("details").open = true;
  }
  addEventListener("hashchange", follow);
  follow();

  async function copied(content) {
    try {
      await navigator.clipboard.writeText(content.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(content);
      return document.execCommand("copy");
    }
  }
  document.querySelector("main").addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const done = await copied(button.parentElement.querySelector("code"));
    shown.textContent = done ? "Copied" : "Could not be copied: it is selected now";
    button.firstChild.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.firstChild.textContent = "Copy"; }, 2000);
  });

  // On paper everything is open.
  const closed = new Set();
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll(".claim:not([hidden]) details:not([open])")) {
      closed.add(details);
      details.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    closed.clear();
  });
})();
