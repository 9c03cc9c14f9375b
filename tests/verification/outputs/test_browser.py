"""The report in a browser: three sizes, light and dark, keyboard, filters, and hostile text."""

import json

import pytest

from rdpkit.verification.auditing.audit import audit, findings_about
from rdpkit.verification.claims.reading import load_files, loads, shipped_files
from rdpkit.verification.outputs.html import curves, page
from tests.browser import IN_BROWSER, SIZES, assert_usable
from tests.verification.claim_files import text
from tests.verification.many_claims import many_claims
from tests.verification.outputs.test_html import CLAIMS, HOSTILE, provenance

pytestmark = IN_BROWSER

LONG = "a-very-long-identifier-of-a-claim-" * 8
# Beside these: a number that is 0, one that is infinite, and an id that no line holds.
ENDS = "\n".join(
    [
        CLAIMS,
        text(id=json.dumps(LONG), epsilon="4000.0", delta="1e-100"),
        text(
            id='"pure"',
            mechanism='"gaussian"',
            epsilon="inf",
            delta="0.0",
        ),
    ]
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    # The last one leaves something out, and has a region.
    (unknown,) = [one for one in load_files(shipped_files()) if one.id == "dphp-fmnist"]
    findings = [*audit(loads(ENDS)), *findings_about([unknown])]
    path = tmp_path_factory.mktemp("report") / "report.html"
    drawn = [curves(finding) for finding in findings]
    path.write_text(page(findings, drawn, provenance()))
    return path


def names(browser):
    """What the claims that can be seen are called, in the order in which they stand."""
    return browser.run(
        "return [...document.querySelectorAll('.claim h3')].filter(c => c.checkVisibility())"
        ".map(c => c.textContent)"
    )


def headings(browser):
    return browser.run(
        "return [...document.querySelectorAll('.group > h2')].filter(h => h.checkVisibility())"
        ".map(h => h.textContent)"
    )


def pill(name):
    return f"#filters [data-filter][value={name}]"


def reset(browser):
    """The page takes up a reset once the browser has carried it out."""
    browser.click("button[type=reset]")
    browser.settle()
    assert len(names(browser)) == 7


@pytest.mark.thorough
def test_everybody_can_use_it_on_a_phone_in_the_dark(browser, address):
    assert_usable(browser, address, name="report", sizes=("phone",), schemes=("dark",))


@pytest.mark.slow
def test_everybody_can_use_it_at_every_size(browser, address):
    kept = assert_usable(browser, address, name="report")
    assert len(kept) == 6
    closed = assert_usable(
        browser, address, name="report-closed", prepare=lambda page: page.settle()
    )
    print("screenshots:", closed[0].parent)


@pytest.mark.thorough
def test_labels_never_touch_and_the_legend_is_seen_at_every_size(browser, address):
    for size in SIZES:
        browser.open(address, size=size)
        browser.open_all()
        assert browser.collisions("svg text, .legend > span, .close-up .digits") == [], size
        assert browser.sideways() <= 0, size
        seen = browser.run(
            "return [...document.querySelectorAll('.legend .term')]"
            ".filter(e => e.checkVisibility()).map(e => e.textContent)"
        )
        assert seen == ["lower", "upper", "published", "claimed"], size
        assert browser.find("#claim-dphp-fmnist").is_displayed()
        assert browser.find("#claim-7 .region").is_displayed()
        browser.screenshot(f"report-{size}-open", whole=True)


def test_pills_filter_and_say_how_many(browser, address):
    browser.open(address)
    assert names(browser)[:2] == ["wrong", "open"]
    assert headings(browser) == [
        "Refuted (1)",
        "Incomplete (2)",
        "Sound (4)",
    ]
    browser.click(pill("refuted"))
    assert names(browser) == ["wrong"]
    assert headings(browser) == ["Refuted (1)"]
    assert browser.find(pill("refuted")).get_attribute("aria-pressed") == "true"
    assert browser.find("#shown").text == "1 of 7 claims shown"
    browser.click(pill("incomplete"))
    assert names(browser) == ["wrong", "open", "dphp-fmnist"]
    browser.click(pill("underspecified"))
    assert names(browser) == ["open", "dphp-fmnist"]
    reset(browser)
    assert browser.find(pill("refuted")).get_attribute("aria-pressed") == "false"
    browser.find("#text").send_keys("LOOSE")
    assert names(browser) == ["loose"]
    reset(browser)
    browser.click("#sort option[value=number]")
    assert names(browser)[:3] == ["loose", "wrong", "open"]
    assert headings(browser) == ["All claims"]
    browser.click("#sort option[value=worst]")
    assert names(browser)[:2] == ["wrong", "open"]
    assert browser.complaints() == []


def test_words_are_explained_by_keyboard_where_they_stand(browser, address):
    browser.open(address, size="phone")
    word = browser.find("#claim-2 .verdict.refuted")
    browser.run("arguments[0].focus()", word)
    browser.press("ENTER")
    meaning = browser.find("#word-refuted")
    assert meaning.is_displayed()
    assert "does not hold" in meaning.text
    assert browser.sideways() <= 0
    browser.press("ESCAPE")
    assert not meaning.is_displayed()
    # The words of the legend too, by touch.
    browser.click(".legend .term")
    assert browser.find("#word-lower").is_displayed()
    assert browser.complaints() == []


def test_a_claim_opens_by_keyboard_and_by_its_links(browser, address):
    browser.open(address)
    summary = browser.find("#claim-2 summary")
    browser.run("arguments[0].focus()", summary)
    browser.press("ENTER")
    opened = browser.find("#claim-2 details")
    assert opened.get_attribute("open") is not None
    assert "Counterexample" in opened.text
    assert "What would be true instead" in opened.text
    for link in ("claim-2", "claim-wrong"):
        browser.open(f"{address.as_uri()}#{link}")
        browser.settle()
        assert browser.find("#claim-2 details").get_attribute("open") is not None
        top = browser.run(
            "return document.querySelector('#claim-2 h3').getBoundingClientRect().top"
        )
        bar = browser.run("return document.querySelector('.axis').getBoundingClientRect().bottom")
        assert bar <= top < 900
    # A claim that a filter hides is shown when somebody follows a link to it.
    browser.click(pill("sound"))
    assert "wrong" not in names(browser)
    browser.run("location.hash = '#claim-open'")
    browser.settle()
    assert "open" in names(browser)


def test_what_mends_a_claim_is_copied(browser, address):
    browser.open(address)
    browser.open_all()
    button = browser.find("#claim-2 .copy")
    lines = browser.find("#claim-2 .remedy code").text
    button.click()
    browser.settle()
    assert button.text.startswith(("Copied", "Selected"))
    chosen = browser.run("return String(getSelection())")
    assert chosen in ("", lines)


def test_marks_of_the_audit_lie_on_their_curves(browser, address):
    browser.open(address)
    browser.open_all()
    far = browser.run(
        """
        return ['upper', 'lower', 'published'].map(kind => {
          const area = document.querySelector('#claim-2 .area');
          const box = area.getBoundingClientRect();
          const dot = area.querySelector(`:scope > svg.${kind}`).getBoundingClientRect();
          const path = area.querySelector(`path.${kind}`);
          const mark = area.querySelector(`:scope > svg.${kind}`);
          const x = mark.x.baseVal.value, y = mark.y.baseVal.value;
          let best = Infinity;
          for (let k = 0; k <= 2000; k++) {
            const at = path.getPointAtLength(path.getTotalLength() * k / 2000);
            best = Math.min(best, Math.hypot(
              at.x / 1000 * box.width - x, at.y / 1000 * box.height - y));
          }
          return best;
        });
        """
    )
    assert max(far) < 1.5


def test_hostile_text_is_shown_and_never_run(browser, address):
    browser.open(address)
    shown = names(browser)
    assert f"hostile {HOSTILE}" in shown
    browser.open_all()
    browser.find("#text").send_keys("onerror")
    assert len(names(browser)) == 1
    assert browser.driver.title == "A report"
    assert not browser.driver.find_elements("css selector", "img")
    assert browser.complaints() == []
    # Even code that got in would not run: the policy of the page forbids it.
    ran = browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        "document.body.append(s); return window.ran === true"
    )
    assert ran is False
    assert any("Content Security Policy" in message for message in browser.complaints())


def test_nothing_moves_for_who_wants_no_motion_and_paper_shows_everything(browser, address):
    browser.open(address, media={"prefers-reduced-motion": "reduce"})
    moving = browser.run(
        "return [...document.querySelectorAll('*')].map(e => getComputedStyle(e)).filter(s =>"
        " s.animationName !== 'none' || parseFloat(s.transitionDuration) > 0"
        " || s.scrollBehavior !== 'auto').length"
    )
    assert moving == 0
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.command("Emulation.setEmulatedMedia", media="print")
    try:
        assert not browser.find("#filters").is_displayed()
        assert browser.find("#claim-2 .counterexample").is_displayed()
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")


@pytest.mark.slow
def test_a_thousand_claims_are_light_enough(browser, tmp_path):
    claims = loads(many_claims(1000))
    findings = list(audit(claims, bounds="rdp", workers=2))
    path = tmp_path / "report.html"
    path.write_text(page(findings, [None] * len(findings), provenance()))
    assert path.stat().st_size < 6_000_000
    browser.open(path)
    # To ask each heading whether it can be seen would lay out what the browser leaves for later.
    count = "return document.querySelectorAll('.claim:not([hidden])').length"
    assert browser.run(count) == 1000
    browser.find("#text").send_keys("gaussian-10")
    assert 0 < browser.run(count) < 1000
    assert browser.complaints() == []
