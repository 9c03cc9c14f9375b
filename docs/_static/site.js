// The theme opens its drawers by labels of hidden check boxes, which no key reaches: buttons take their place.
for (const name of ["__navigation", "__toc"]) {
  const box = document.getElementById(name);
  for (const label of document.querySelectorAll(`label[for="${name}"]:not(.overlay)`)) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `${label.className} drawer-button`;
    button.append(...label.childNodes);
    button.setAttribute("aria-label", box.getAttribute("aria-label"));
    const tell = () => button.setAttribute("aria-expanded", String(box.checked));
    box.addEventListener("change", tell);
    button.addEventListener("click", () => box.click());
    tell();
    label.replaceWith(button);
  }
}
