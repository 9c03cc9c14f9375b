"""The built site in a browser: the landing page at three sizes, in light and dark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import IN_BROWSER, SCHEMES, SIZES, contrast

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = [*IN_BROWSER, pytest.mark.slow]

# Every text that is seen, with its colour and what is behind it.
TEXTS = """
const back = element => {
  for (let up = element; up; up = up.parentElement) {
    const colour = getComputedStyle(up).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const bands = [...document.querySelectorAll(
  'svg.refuted-claim rect.false, svg.refuted-claim rect.true')];
const inside = (a, b) => a.left >= b.left && a.right <= b.right
  && a.top >= b.top && a.bottom <= b.bottom;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = [];
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim()) continue;
  if (!e.checkVisibility({visibilityProperty: true})) continue;
  const box = e.getBoundingClientRect();
  if (box.width < 2 || e.closest('title, desc, style, script')) continue;
  const drawn = e.namespaceURI.endsWith('svg');
  const band = drawn && bands.find(rect => inside(box, rect.getBoundingClientRect()));
  const style = getComputedStyle(e);
  found.push([e.textContent.trim().slice(0, 60), drawn ? style.fill : style.color,
              band ? getComputedStyle(band).fill : back(e)]);
}
return found;
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(DOCS), str(folder)],
        check=True,
        timeout=900,
    )
    return folder


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_everybody_can_use_the_landing_page(site, browser, size, scheme):
    browser.open(site / "index.html", size=size, scheme=scheme)
    browser.settle()
    browser.screenshot(f"landing-{size}-{scheme}")
    assert browser.network() == []
    assert browser.complaints() == []
    assert browser.sideways() <= 0
    assert browser.collisions("svg text") == []
    assert browser.focus_failures() == []
    # Contrast that axe-core cannot determine (texts of pictures, and those that a fixed button
    # may cover while the page is scrolled) is measured below.
    undetermined = ("could not be determined", "too short to determine")
    found = [one for one in browser.violations() if not any(words in one for words in undetermined)]
    assert found == []
    texts = browser.run(TEXTS)
    assert len(texts) > 100
    faint = [one for one in texts if contrast(one[1], one[2]) < 4.5]
    assert faint == []


def test_the_drawer_of_a_phone_opens_with_the_keyboard(site, browser):
    browser.open(site / "index.html", size="phone")
    shown = (
        "return document.querySelector('.sidebar-tree').checkVisibility({visibilityProperty: true})"
    )
    assert not browser.run(shown)
    browser.run("document.querySelector('button.nav-overlay-icon').focus()")
    browser.press("ENTER")
    browser.settle()
    assert browser.run(shown)
