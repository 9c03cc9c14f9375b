"use strict";
// A button checks the certificate beside it in a worker, which runs the checker that the page holds.
(() => {
  const source = document.querySelector("#kernel").textContent;
  const listener = `
    onmessage = ({ data }) => {
      let shown = 0;
      const show = (text) => {
        if (Date.now() - shown > 200) {
          shown = Date.now();
          postMessage({ text });
        }
      };
      postMessage({ found: checkCertificate(data, show) });
    };`;
  const address = URL.createObjectURL(new Blob([source, listener], { type: "text/javascript" }));
  const verdicts = ["accepted", "not accepted", "not understood"];

  document.querySelector("main").addEventListener("click", (event) => {
    const button = event.target.closest(".check");
    if (!button) return;
    const place = button.parentElement, output = place.querySelector("output");
    const worker = new Worker(address), started = Date.now();
    button.disabled = true;
    output.textContent = "Checking";
    const end = (text) => {
      output.textContent = text;
      button.disabled = false;
      worker.terminate();
    };
    worker.onerror = () => end("Not checked: the browser did not run the checker");
    worker.onmessage = ({ data }) => {
      const seconds = Math.round((Date.now() - started) / 100) / 10;
      if (!data.found) {
        output.textContent = `Checking: ${data.text}, ${Math.round(seconds)} s`;
        return;
      }
      const { status, lines, reason } = data.found;
      const verdict = status ? `${verdicts[status]}: ${reason}` : verdicts[0];
      end([...lines, `${verdict} (${seconds} s, in this browser)`].join("\n"));
    };
    worker.postMessage(place.querySelector(".certificate").textContent);
  });
})();
