"""What tests of pages find on a page on which everything is wrong, and on a good one."""

import pytest

from tests.browser import IN_BROWSER, assert_usable, contrast

pytestmark = IN_BROWSER

GOOD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Good</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<style>:root { color-scheme: light dark } body { background: canvas; color: canvastext }
:focus-visible { outline: 3px solid; outline-offset: 2px }
</style></head><body><main><h1>Good</h1><a href="#one">One</a>
<p id="one"><span class="label">a</span> <span class="label">b</span></p>
<svg><text fill="currentcolor" y="9">1</text></svg></main></body></html>"""
BAD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Bad</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>:focus-visible { outline: none } .soft { color: #999; background: #fff }
.label { position: absolute; left: 20px; top: 190px } .wide { width: 1400px; height: 1px }</style>
</head><body><main><h1>Bad</h1><p class="soft">Soft <a href="#one">One</a></p>
<div class="wide"></div><span class="label">alpha</span> <span class="label">beta</span>
<svg><text fill="#999" y="9">12</text></svg>
<img src="https://example.org/picture.png" alt="A picture"><p id="one"></p></main></body></html>"""


def test_a_good_page_passes_and_its_pictures_are_kept(browser, tmp_path):
    path = tmp_path / "good.html"
    path.write_text(GOOD)
    kept = assert_usable(browser, path, name="good", labels=".label")
    assert len(kept) == 6
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in kept)


def test_everything_that_is_wrong_is_found(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text(BAD)
    with pytest.raises(AssertionError) as caught:
        assert_usable(
            browser, path, name="bad", labels=".label", sizes=("phone",), schemes=("light",)
        )
    for found in (
        "asked for https://example.org/picture.png",
        "wider than the window by",
        "labels collide: alpha | beta",
        "focus: no ring: <a href",
        "color-contrast: .soft",
        "color-contrast: text: ",
    ):
        assert f"phone, light: {found}" in str(caught.value), found


def test_contrast_is_that_of_the_standard():
    # Black on white is the largest there is; #767676 on white is the lightest grey that passes AA.
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21.0, abs=1e-12)
    assert contrast("rgb(118, 118, 118)", "rgb(255, 255, 255)") == pytest.approx(4.5422, abs=1e-4)
