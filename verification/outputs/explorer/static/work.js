"use strict";
(() => {
  const cited = JSON.parse(document.getElementById("data").textContent);
  const make = (name, parent, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  };

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
})();
