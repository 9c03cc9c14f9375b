"""A real browser for tests of pages: three sizes, two schemes, axe-core, a walk with the Tab key.

Every page that the project makes is held to the same: :func:`assert_usable` opens it at each size
and scheme and asserts that it needs no network, complains of nothing, has no violation that
axe-core finds, shows where the keyboard is, never scrolls sideways, and lets no labels collide. A
test gets the browser from the fixture ``browser`` of ``tests/conftest.py``. Screenshots are kept
in the folder that ``RDPKIT_SCREENSHOTS`` names, or in pytest's own.

Without Chromium, its driver or selenium the tests are skipped; where ``RDPKIT_BROWSER`` is set, as
in ``.ci/run``, they fail instead.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SIZES = {"phone": (360, 740), "tablet": (768, 1024), "desktop": (1280, 900)}
"""Width and height of a page, in CSS pixels."""

SCHEMES = ("light", "dark")

STANDARDS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""The rules of axe-core that pages are held to; WCAG AA is the first five."""

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1" / "axe.min.js"

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
_DRIVER = shutil.which("chromedriver")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)

IN_BROWSER = [
    # The driver's own pipes are closed when they are collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
"""The marks of a module whose tests use the browser: ``pytestmark = IN_BROWSER``."""

# What Tab reaches: every element that can be focused and seen.
_REACHED = """
const groups = new Set();
return [...document.querySelectorAll(
  'a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex="-1"])')]
  .filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true})
    && !e.closest('[inert]'))
  // Of radio buttons with one name Tab reaches one.
  .filter(e => e.type !== 'radio' || !groups.has(e.name) && groups.add(e.name)).length
"""

# The element that has the focus: its name, its ring, the colours around it, and whether it is seen.
_FOCUSED = """
const seen = arguments[0], e = document.activeElement;
if (!e || e === document.body || e === document.documentElement) return null;
// Of a link that goes on in the next line, the first part.
const style = getComputedStyle(e), box = e.getClientRects()[0] ?? e.getBoundingClientRect();
const again = e === window.firstFocused;
window.firstFocused ??= e;
const back = () => {
  for (let up = e.parentElement; up; up = up.parentElement) {
    const colour = getComputedStyle(up).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const middle = [Math.min(Math.max(box.x + box.width / 2, 0), innerWidth - 1),
                Math.min(Math.max(box.y + Math.min(box.height, 20) / 2, 0), innerHeight - 1)];
const top = document.elementFromPoint(...middle);
const within = box.width === 0 || box.bottom > 0 && box.top < innerHeight;
return {
  again,
  name: e.outerHTML.slice(0, 160),
  outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
  colour: style.outlineColor, back: back(),
  shadow: style.boxShadow,
  within,
  covered: within && !!top && !e.contains(top) && !top.contains(e)
    && !(e.labels && [...e.labels].some(label => label.contains(top)))
    ? top.outerHTML.slice(0, 160) : '',
};
"""

# Texts that lie on one another, and texts that leave the page.
_COLLISIONS = """
const boxes = [...document.querySelectorAll(arguments[0])]
  .filter(e => e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true}))
  .map(e => [e.textContent.trim(), e.getBoundingClientRect()])
  .filter(([text, box]) => text && box.width > 0 && box.height > 0);
const found = [];
boxes.forEach(([text, a], k) => {
  if (a.left < -0.5 || a.right > document.documentElement.clientWidth + 0.5)
    found.push(`${text} leaves the page: ${a.left} to ${a.right}`);
  for (const [other, b] of boxes.slice(k + 1))
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5)
      found.push(`${text} | ${other}`);
});
return found;
"""

_AXE = """
const done = arguments[arguments.length - 1];
const said = (rule, node) => [
  rule.id, node.target.join(' '), node.failureSummary.replace(/\\s+/g, ' '), node.html].join(': ');
const behind = element => {
  for (let up = element; up; up = up.parentElement) {
    const colour = getComputedStyle(up).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
// A contrast that axe-core leaves open is measured here where the colours are plain: of short
// texts, and of labels in a drawing. Whatever else is open is reported.
const PLAIN = ['shortTextContent', 'imgNode', 'nonBmp'];
const open = (rule, node) => {
  const element = document.querySelector(node.target.join(' '));
  const key = (node.any[0]?.data ?? {}).messageKey;
  const style = element && getComputedStyle(element);
  const drawn = element instanceof SVGElement;
  const text = drawn ? style.fill : style?.color;
  if (drawn && key === 'bgOverlap') return [said(rule, node), text, below(element)];
  return [said(rule, node), PLAIN.includes(key) ? text : '', element ? behind(element) : ''];
};
// The colour of the rectangle on which a label of a drawing stands.
const below = element => {
  const {x, y, width, height} = element.getBoundingClientRect();
  const holds = box => box.left <= x && x + width <= box.right
    && box.top <= y + height / 2 && y + height / 2 <= box.bottom;
  const shapes = [...element.ownerSVGElement.querySelectorAll('rect')]
    .filter(shape => holds(shape.getBoundingClientRect()));
  return shapes.length ? getComputedStyle(shapes.at(-1)).fill : 'rgb(127, 127, 127)';
};
axe.run(document, {
  runOnly: {type: 'tag', values: arguments[0]}, preload: false,
  resultTypes: ['violations', 'incomplete'],
  rules: Object.fromEntries(arguments[1].map(name => [name, {enabled: false}])),
}).then(found => done([
  ...found.violations.flatMap(rule => rule.nodes.map(node => [said(rule, node), '', ''])),
  ...found.incomplete.filter(rule => rule.id === 'color-contrast')
    .flatMap(rule => rule.nodes.map(node => open(rule, node))),
]), error => done([[String(error), '', '']]));
"""


class Browser:
    """A page as somebody sees it.

    Parameters
    ----------
    driver : selenium.webdriver.Chrome
        The browser; whatever else is needed can be asked of it.
    folder : Path
        Where screenshots go.
    """

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def open(
        self,
        page: Path | str,
        *,
        size: str = "desktop",
        scheme: str = "light",
        media: dict[str, str] | None = None,
    ) -> None:
        """Open a page of the disk, with no network, at a size and in a scheme.

        ``media`` sets other features, such as ``{"prefers-reduced-motion": "reduce"}``.
        """
        width, height = SIZES[size]
        features = {"prefers-color-scheme": scheme, **(media or {})}
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=size == "phone",
        )
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": name, "value": value} for name, value in features.items()],
        )
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page.as_uri() if isinstance(page, Path) else page)

    def command(self, name: str, **values: Any) -> Any:
        """A command of the Chrome DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, values)

    def run(self, script: str, *given: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *given)

    def find(self, selector: str) -> Any:
        """The first element of a CSS selector."""
        return self.driver.find_element("css selector", selector)

    def click(self, selector: str) -> None:
        """Click on the first element of a CSS selector."""
        self.find(selector).click()

    def press(self, key: str) -> None:
        """Press a key, named as in selenium's ``Keys``, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        ActionChains(self.driver, duration=0).send_keys(getattr(Keys, key)).perform()

    def open_all(self) -> None:
        """Open every part that opens, and wait until it is drawn."""
        self.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.settle()

    def settle(self) -> None:
        """Wait until two frames are drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))"
        )

    def complaints(self) -> list[str]:
        """What the console says since it was asked last, without remarks for debugging."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] != "DEBUG"]

    def network(self) -> list[str]:
        """What the page asked a network for since it was opened: no files, none of its own data."""
        import json

        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        asked = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]

    def violations(
        self, standards: tuple[str, ...] = STANDARDS, without: tuple[str, ...] = ()
    ) -> list[str]:
        """What axe-core finds wrong on what can be seen, a line for each element.

        A contrast that could not be measured is reported as well: it is not known to be enough.
        """
        # Nothing may be left out of sight, so that all of it is measured.
        self.run(
            "const s = new CSSStyleSheet(); s.replaceSync('* { content-visibility: visible"
            " !important; transition: none !important; animation: none !important; }');"
            "document.adoptedStyleSheets = [...document.adoptedStyleSheets, s]"
        )
        # What sticks to the window would cover some of it.
        self.run(
            "scrollTo(0, 0); for (const e of document.querySelectorAll('*'))"
            " if (getComputedStyle(e).position === 'sticky') e.style.position = 'relative'"
        )
        self.run(AXE.read_text(encoding="utf-8") + "\nwindow.axe = axe;")
        self.driver.set_script_timeout(120)
        found = self.driver.execute_async_script(_AXE, list(standards), list(without))
        return [said for said, text, behind in found if not text or contrast(text, behind) < 4.5]

    def sideways(self) -> int:
        """By how many pixels the page is wider than the window."""
        wide: int = self.run(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wide

    def collisions(self, selector: str) -> list[str]:
        """Pairs of texts that lie on one another, and texts that leave the page."""
        found: list[str] = self.run(_COLLISIONS, selector)
        return found

    def focus_failures(self, most: int = 400) -> list[str]:
        """Go through the page with the Tab key: every stop shows its ring, and nothing covers it.

        Also failures: a stop that has no ring of 2 pixels with a contrast of 3 to its surroundings,
        and elements that can be focused and were not reached.
        """
        self.run("document.activeElement.blur(); delete window.firstFocused; scrollTo(0, 0)")
        expected, found, stops = self.run(_REACHED), [], 0
        for _ in range(most):
            self.press("TAB")
            stop = self.run(_FOCUSED)
            if stop is None or stop["again"]:
                break
            stops += 1
            found += [f"{what}: {stop['name']}" for what in _wrong_with(stop)]
        if stops < min(expected, most):
            found.append(f"Tab reached {stops} of {expected} elements")
        return found

    def screenshot(self, name: str, *, whole: bool = False) -> Path:
        """Keep what is seen, or the whole page, as ``name.png``; returns where."""
        import base64

        options = {"captureBeyondViewport": True} if whole else {}
        path = self.folder / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        taken = self.command("Page.captureScreenshot", format="png", **options)
        path.write_bytes(base64.b64decode(taken["data"]))
        return path


def _wrong_with(stop: dict[str, Any]) -> Iterator[str]:
    if stop["outline"] < 2 and stop["shadow"] == "none":
        yield "no ring"
    elif stop["outline"] >= 2 and contrast(stop["colour"], stop["back"]) < 3.0:
        yield f"a ring of {stop['colour']} on {stop['back']}"
    if not stop["within"]:
        yield "out of sight"
    if stop["covered"]:
        yield f"covered by {stop['covered']}"


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, given as browsers do: ``rgb(1, 2, 3)`` (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        numbers = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in (n / 255 for n in numbers)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def assert_usable(
    browser: Browser,
    page: Path | str,
    *,
    name: str,
    labels: str = "svg text",
    prepare: Callable[[Browser], None] = Browser.open_all,
    sizes: tuple[str, ...] = tuple(SIZES),
    schemes: tuple[str, ...] = SCHEMES,
    without: tuple[str, ...] = (),
) -> list[Path]:
    """Assert that everybody can use a page, at each size and in each scheme.

    Parameters
    ----------
    browser : Browser
        The fixture.
    page : Path or str
        A file, or an address.
    name : str
        What screenshots are called: ``name-phone-dark.png``.
    labels : str
        A CSS selector of texts that must not touch each other.
    prepare : callable
        What to do with the page before it is looked at; by default all that opens is opened.
    sizes, schemes : tuple of str
        Of :data:`SIZES` and :data:`SCHEMES`.
    without : tuple of str
        Rules of axe-core that do not apply; say why beside the call.

    Returns
    -------
    list of Path
        The screenshots.
    """
    taken, wrong = [], []
    for size in sizes:
        for scheme in schemes:
            browser.open(page, size=size, scheme=scheme)
            prepare(browser)
            taken.append(browser.screenshot(f"{name}-{size}-{scheme}"))
            found = [f"asked for {url}" for url in browser.network()]
            found += browser.complaints()
            if browser.sideways() > 0:
                found.append(f"wider than the window by {browser.sideways()} pixels")
            found += [f"labels collide: {pair}" for pair in browser.collisions(labels)]
            if scheme == schemes[0] or size == sizes[0]:
                found += [f"focus: {text}" for text in browser.focus_failures()]
            found += browser.violations(without=without)
            wrong += [f"{size}, {scheme}: {text}" for text in found]
    assert wrong == [], "\n".join([f"{len(wrong)} things are wrong", *wrong[:40]])
    return taken


@contextmanager
def opened(folder: Path) -> Iterator[Browser]:
    """A browser without a network, or a skipped test where there is none.

    Parameters
    ----------
    folder : Path
        Where screenshots go, unless ``RDPKIT_SCREENSHOTS`` says otherwise.
    """
    lacking = [
        name
        for name, there in (
            ("chromium", _CHROMIUM),
            ("chromedriver", _DRIVER),
            ("selenium", find_spec("selenium")),
        )
        if not there
    ]
    if lacking:
        message = f"no browser to test pages in: {', '.join(lacking)} not installed"
        if os.environ.get("RDPKIT_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(_CHROMIUM)
    for argument in _OPTIONS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(_DRIVER)))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions",
            {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
        )
        yield Browser(driver, Path(os.environ.get("RDPKIT_SCREENSHOTS") or folder).resolve())
    finally:
        driver.quit()
