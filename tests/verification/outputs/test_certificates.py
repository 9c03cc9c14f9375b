"""Certificates in the report: the browser checks them, and agrees with the checker in Python."""

from __future__ import annotations

import copy
import dataclasses
import json
import random

import pytest

import rdpkit
from rdpkit import kernel as checking
from rdpkit.analysis import lower_bound
from rdpkit.interop.certificates import certificate
from rdpkit.verification.auditing.audit import audit
from rdpkit.verification.claims.reading import loads
from rdpkit.verification.outputs.explorer import pages, write_folder
from rdpkit.verification.outputs.html import page
from tests.browser import IN_BROWSER, assert_usable
from tests.kernel.test_certificates import SETTINGS, THOROUGH, costly, mutated
from tests.verification.claim_files import text
from tests.verification.outputs.explorer.test_pages import explorer_of
from tests.verification.outputs.test_html import provenance

pytestmark = IN_BROWSER

ADD = "add_or_remove_one"
WAIT = """
const done = arguments[0], output = document.querySelector('.certified output');
(function look() {
  if (/\\n/.test(output.textContent) || /^not/i.test(output.textContent)) done(output.textContent);
  else setTimeout(look, 100);
})()
"""
IN_A_WORKER = """
const [texts, done] = arguments, found = [];
const source = document.querySelector('#kernel').textContent;
const listener = 'onmessage = ({data}) => postMessage(checkCertificate(data).status)';
const worker = new Worker(URL.createObjectURL(new Blob([source, listener])));
worker.onmessage = ({data}) => {
  found.push(data);
  if (found.length === texts.length) done(found);
  else worker.postMessage(texts[found.length]);
};
worker.postMessage(texts[0]);
"""


def certified(event: rdpkit.Event, epsilon: float, delta: float, adjacency: str = ADD) -> str:
    return certificate(event, claimed=f"{epsilon:.6f}", adjacency=adjacency, delta=delta)


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report with one certificate."""

    def open_with(content: str) -> None:
        (finding,) = audit(loads(text(id='"certified"', epsilon="8.0")))
        path = tmp_path / "report.html"
        path.write_text(page([finding], [None], provenance(), {"certified": content}))
        browser.open(path)
        browser.open_all()
        browser.driver.set_script_timeout(300)

    return open_with


def press(browser) -> str:
    browser.click(".check")
    found: str = browser.driver.execute_async_script(WAIT)
    return found


def test_a_button_checks_a_certificate_without_a_network(browser, opened):
    event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    true = certified(event, 4.378, 1e-5)
    opened(true)
    found = press(browser)
    assert "epsilon at delta 1e-05 is at most 4.378000" in found
    assert found.splitlines()[-1].startswith("accepted (")
    changed = json.loads(true)
    changed["claim"]["epsilon"] = "4.37"
    opened(json.dumps(changed))
    assert "not understood: the hash is not that of the claim" in press(browser)
    changed["sha256"] = checking.digest(changed["claim"])
    opened(json.dumps(changed))
    assert "not accepted: it is not shown by these hints" in press(browser)


@pytest.mark.thorough
def test_pages_of_the_explorer_have_the_button(browser, tmp_path):
    explorer = explorer_of(text(id='"certified"', epsilon="8.0"))
    event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    kept = {"certified": certified(event, 4.378, 1e-5)}
    write_folder(tmp_path / "out", pages(dataclasses.replace(explorer, certificates=kept)))
    (work,) = (tmp_path / "out" / "works").iterdir()
    browser.open(work)
    browser.open_all()
    browser.driver.set_script_timeout(300)
    assert press(browser).splitlines()[-1].startswith("accepted (")
    assert_usable(browser, work, name="certified", sizes=("phone",))
    browser.open(tmp_path / "out" / "index.html")
    assert browser.run("return document.querySelector('#kernel')") is None


def test_a_hostile_certificate_stays_text(browser, opened):
    opened('</pre></script><script>document.title = "taken"</script><b id="taken">')
    assert "not understood" in press(browser)
    assert browser.run("return document.title") != "taken"
    assert browser.run("return document.querySelector('#taken')") is None


@pytest.mark.thorough
def test_a_thousand_steps_of_training_are_checked_in_half_a_minute(browser, opened):
    import time

    step = rdpkit.PoissonSampledGaussian(noise_std=1.0, record_norm=1.0, sampling_probability=0.01)
    opened(certified(step * 1000, 1.8301, 1e-5))
    started = time.monotonic()
    assert press(browser).splitlines()[-1].startswith("accepted (")
    print("seconds in the browser:", time.monotonic() - started)


def python_says(content: str) -> int:
    """The exit status of the checker in Python."""
    status = 2
    try:
        claim, hints = checking.read(content.encode("utf-8", "surrogatepass"))
        checking.statement(claim)
        status = 1
        checking.check(claim, hints)
    except checking.REFUSED:
        return status
    return 0


def of_many_kinds() -> list[str]:
    """True certificates of every kind of release."""
    found = []
    for name, refuted in (
        ("gaussian", True),
        ("two-gaussians", False),
        ("poisson-once", True),
        ("stated-40", True),
        ("response-30", True),
        ("discrete", True),
        ("mixed", False),
        ("laplace-50", False),
    ):
        event, adjacency, delta = SETTINGS[name]
        best = rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon
        found.append(certified(event, 1.002 * best, delta, adjacency))
        if refuted:
            known = {"delta": delta, "adjacency": adjacency}
            below = 0.98 * lower_bound(event, **known)[0].epsilon
            found.append(certificate(event, claimed=f"{below:.6f}", refuted=True, **known))
    event, adjacency, delta = THOROUGH["sampled-laplace"]
    best = rdpkit.epsilon(event, delta=delta, adjacency=adjacency).epsilon
    found.append(certified(event, 1.002 * best, delta, adjacency))
    event = rdpkit.ShuffledGaussian(noise_std=0.7, record_norm=1.0, batch_size=2, dataset_size=5)
    for relation, claimed in ((ADD, "14"), ("replace_one", "14"), ("zero_out", "7")):
        one = {"adjacency": relation, "delta": 1e-3}
        found.append(certificate(event * 3, claimed=claimed, refuted=True, **one))
        found.append(certificate(event, claimed="1", refuted=True, **one))
        found.append(certificate(event * 3, claimed="45", **one))
    sum_of_two = SETTINGS["two-gaussians"][0]
    found.append(certificate(sum_of_two, claimed="0.5", adjacency=ADD))
    found.append(certificate(sum_of_two, claimed="0.2", adjacency=ADD, refuted=True))
    synthesis = rdpkit.GaussianSynthesis(
        records=10**5, outputs=10**5, dimension=6, min_eigenvalue=0.01
    )
    for adjacency, exact in ((ADD, "58.960864"), ("replace_one", "59.616618")):
        found.append(certificate(synthesis, claimed=exact, adjacency=adjacency, order=4.0))
    return found


@pytest.mark.thorough
def test_both_checkers_agree_on_what_is_odd_or_costly(browser, opened):
    event = rdpkit.Gaussian(noise_std=1.0, record_norm=1.0)
    true = json.loads(certified(event, 4.378, 1e-5))
    true["about"] = {"x": "odd"}
    odd = [f"{'[' * n}{']' * n}" for n in (98, 99, 990)]
    odd += ["1e+21", "1e21", "123456789012", "-12345678901", "-123456789012", "1234567890123"]
    odd += ["-0", "1.0", "true", "null", '"\\u007f"', '"\\u007F"', '"\\""', '"[1.5"']
    texts = [json.dumps(true).replace('"odd"', one) for one in odd]
    texts += [one for name, one in costly().items() if "long fractions" not in name]
    true["about"], true["claim"]["delta"] = {}, None
    texts.append(json.dumps({**true, "sha256": checking.digest(true["claim"])}))
    opened(texts[2])
    ours = [python_says(content) for content in texts]
    assert browser.driver.execute_async_script(IN_A_WORKER, texts) == ours
    assert {0, 1, 2} <= {*ours}


@pytest.mark.thorough
def test_both_checkers_agree_on_certificates_and_on_what_is_changed_in_them(browser, opened):
    rng = random.Random(5)
    originals = of_many_kinds()
    texts = list(originals)
    for _ in range(300):
        changed = mutated(json.loads(rng.choice(originals)), rng)
        if "claim" in changed and rng.random() < 0.8:
            changed["sha256"] = checking.digest(changed["claim"])
        texts.append(json.dumps(changed))
    for _ in range(60):
        content = copy.copy(rng.choice(originals))
        i = rng.randrange(len(content))
        texts.append(content[:i] + chr(rng.randrange(32, 127)) + content[i + 1 :])
    opened(originals[0])
    ours = [python_says(content) for content in texts]
    theirs = browser.driver.execute_async_script(IN_A_WORKER, texts)
    unlike = [(a, b, content) for a, b, content in zip(ours, theirs, texts, strict=True) if a != b]
    assert unlike == []
    assert ours.count(0) > len(originals)
