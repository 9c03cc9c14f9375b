"use strict";
(() => {
  const { grids, cited } = JSON.parse(document.getElementById("data").textContent);
  const make = (name, parent, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  };

  // Sliders: every setting has a number that was proven beforehand, and nothing lies between.
  const settings = new Map();

  class Setting {
    constructor(section) {
      this.article = section.closest("article");
      this.grid = grids[section.dataset.grid];
      this.claimed = this.article.dataset.claimed === undefined ? null : Number(this.article.dataset.claimed);
      this.place = section.querySelector(".moving");
      this.inputs = [];
    }

    // Made when the claim is first seen, because a page may have hundreds of claims.
    build() {
      if (this.inputs.length) return;
      this.grid.sliders.forEach((slider, k) => this.add(slider, `${this.article.id}-slider-${k}`));
      this.result = make("p", this.place);
      this.result.className = "result";
      this.result.setAttribute("role", "status");
      const buttons = make("p", this.place);
      const reset = make("button", buttons, "The claim's own setting");
      reset.type = "button";
      reset.addEventListener("click", () => {
        this.choose(this.grid.sliders.map((slider) => slider.own));
        this.remember();
      });
      copyButton(buttons, "Copy a link to this setting", () => this.address());
      this.place.hidden = false;
      this.choose(this.grid.sliders.map((slider) => slider.own));
    }

    add(slider, id) {
      const row = make("div", this.place);
      row.className = "slider";
      const label = make("label", row, `${slider.title} (${slider.name})`);
      const input = make("input", row);
      const output = make("output", row);
      label.htmlFor = id;
      input.id = id;
      input.type = "range";
      input.min = 0;
      input.max = slider.texts.length - 1;
      input.step = 1;
      output.htmlFor = id;
      input.addEventListener("input", () => this.show());
      input.addEventListener("change", () => this.remember());
      this.inputs.push([slider, input, output]);
    }

    choose(places) {
      this.inputs.forEach(([, input], k) => { input.value = places[k]; });
      this.show();
    }

    at(places) {
      const number = this.grid.sliders.reduce((sum, slider, k) => sum * slider.texts.length + places[k], 0);
      return this.grid.values[number];
    }

    places() {
      return this.inputs.map(([, input]) => Number(input.value));
    }

    own() {
      return this.inputs.every(([slider, input]) => Number(input.value) === slider.own);
    }

    show() {
      for (const [slider, input, output] of this.inputs) {
        const place = Number(input.value);
        const text = slider.texts[place];
        output.textContent = text;
        input.setAttribute("aria-valuetext", place === slider.own ? `${text}, the claim's own` : text);
      }
      const value = this.at(this.places());
      this.result.textContent = "";
      if (value === null) {
        this.result.textContent = "This setting is not possible.";
        return;
      }
      make("span", this.result, "Proven: ");
      make("b", this.result, `${this.grid.unit} at most ${value === "inf" ? "infinity" : value}`);
      make("span", this.result, `. ${this.compared(value)}`);
    }

    compared(value) {
      if (this.own()) return "This is the claim's own setting.";
      if (this.claimed === null) return "";
      const enough = value !== "inf" && value <= this.claimed;
      return `At this setting the claimed ${this.claimed} ${enough ? "is" : "is not"} proven.`;
    }

    hash() {
      if (this.own()) return `#${this.article.id}`;
      const parts = this.inputs.map(([slider, input]) =>
        `~${encodeURIComponent(slider.key)}=${encodeURIComponent(slider.texts[Number(input.value)])}`);
      return `#${this.article.id}${parts.join("")}`;
    }

    address() {
      return location.href.split("#")[0] + this.hash();
    }

    remember() {
      history.replaceState(null, "", this.hash());
    }

    // What a link says; a value that is not among the settings leaves its slider at the claim's own.
    restore(words) {
      const wanted = new Map(words.map((word) => word.split("=").map(decodeURIComponent)));
      this.choose(this.grid.sliders.map((slider) => {
        const place = slider.texts.indexOf(wanted.get(slider.key));
        return place < 0 ? slider.own : place;
      }));
    }
  }

  for (const section of document.querySelectorAll(".sliders")) {
    const setting = new Setting(section);
    settings.set(setting.article.id, setting);
  }
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      settings.get(entry.target.id).build();
    }
  }, { rootMargin: "600px" });
  for (const setting of settings.values()) seen.observe(setting.article);
  addEventListener("beforeprint", () => settings.forEach((setting) => setting.build()));

  // Copying.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = make("textarea", document.body);
      area.value = text;
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function copyButton(parent, title, text) {
    const button = make("button", parent, title);
    button.type = "button";
    const said = make("span", parent);
    said.className = "copied";
    said.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      const done = await copy(text());
      button.focus();
      said.textContent = done ? "copied" : "could not be copied";
    });
  }

  // Citations: what outputs/explorer/citation.py says of a work is said of one claim here.
  const TEX = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_" };
  const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
  const tex = (text) => text.replace(/[\\{}~^&%$#_]/g, (sign) => TEX[sign]);

  function citations(article, command) {
    const { id, found } = article.dataset;
    const key = `${cited.key}-${id}`.replace(/[^A-Za-z0-9.]+/g, "-").replace(/^-+|-+$/g, "");
    const title = `${cited.title}: the claim ${id}`;
    const note = `${found}. To repeat it: ${command}. Claims file ${cited.file}, SHA-256 ${cited.digest}`;
    const [year, month] = cited.date.split("-");
    return [
      `${title}. rdpkit ${cited.version}, ${cited.date}. ${note}.`,
      [`@misc{${key},`, "  author = {{The rdpkit authors}},", `  title = {{${tex(title)}}},`,
        `  year = {${year}},`, `  month = ${MONTHS[Number(month) - 1]},`,
        `  howpublished = {rdpkit ${tex(cited.version)}, audited on ${cited.date}},`,
        `  note = {${tex(note)}},`, "}"].join("\n"),
    ];
  }

  for (const details of document.querySelectorAll(".cite")) {
    details.addEventListener("toggle", () => {
      if (details.querySelector("button")) return;
      const command = details.querySelector(".command");
      const link = details.querySelector(".permanent");
      copyButton(command.parentElement, "Copy the command", () => command.textContent);
      copyButton(link.parentElement, "Copy the link", () => link.href);
      const article = details.closest("article");
      const [text, bibtex] = citations(article, command.textContent);
      for (const [name, content] of [["citation", text], ["BibTeX", bibtex]]) {
        const block = make("pre", details, content);
        block.tabIndex = 0;
        block.setAttribute("role", "region");
        block.setAttribute("aria-label", `The ${name} of ${article.dataset.id}`);
        copyButton(make("p", details), `Copy the ${name}`, () => content);
      }
    });
  }
  for (const block of document.querySelectorAll("footer pre")) {
    const place = document.createElement("p");
    block.after(place);
    copyButton(place, `Copy the ${block.getAttribute("aria-label").split(" ")[0]}`, () => block.textContent);
  }

  // A link to a claim, or to a claim at a setting: claim-<id>~<parameter>=<value>~...
  function follow() {
    const [id, ...words] = location.hash.slice(1).split("~");
    let name = id;
    try {
      name = decodeURIComponent(id);
    } catch {
      // Not an address of ours.
    }
    const setting = settings.get(name);
    const article = document.getElementById(name);
    if (!article || !article.matches("article")) return;
    if (setting) setting.build();
    if (setting && words.length) {
      try {
        setting.restore(words);
      } catch {
        // Not an address of ours.
      }
      article.scrollIntoView();
      article.focus({ preventScroll: true });
    }
  }
  addEventListener("hashchange", follow);
  follow();
})();
