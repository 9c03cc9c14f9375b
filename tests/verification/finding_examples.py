"""Findings without an audit: every verdict, and text that means harm."""

import dataclasses
from decimal import Decimal

from rdpkit import Adjacency
from rdpkit.verification.auditing.findings import (
    Finding,
    OtherReading,
    Reproduction,
    Side,
    Soundness,
)
from rdpkit.verification.claims.claim import Claim

HOSTILE = (
    "<script>alert(1)</script>",
    "](javascript:alert(1))",
    "| a | b |\n| --- |",
    "{0} {1}",
    '"><img src=x onerror=alert(1)>',
    "`code` **bold** ~~x~~ $x$ @someone www.example.org https://example.org :x:",
    "\x1b[2J\x00\x07\ud7ff\ufffe",
    "&lt; &#60; %s %n",
    "]]></failure>",
    "中文 é \U0001f600",
)


def claim(identifier="a", *, epsilon="1.10", **changes):
    given = {
        "id": identifier,
        "source": "a paper",
        "mechanism": "gaussian",
        "adjacency": Adjacency.REPLACE_ONE,
        "epsilon": None if epsilon is None else Decimal(epsilon),
        "delta": 1e-5,
        "order": None,
        "bound": None,
        "conversion": None,
        "event": None,
        "origin": "folder/a b.claims.toml",
        "line": 7,
    }
    return Claim(**{**given, **changes})


def finding(identifier="a", *, epsilon="1.10", **changes):
    """Sound, with a slack of 1.1, unless something is changed."""
    about = {k: changes.pop(k) for k in ("origin", "line", "missing", "notes") if k in changes}
    given = {
        "claim": claim(identifier, epsilon=epsilon, **about),
        "published": Side(bound="gaussian", epsilon=1.099, order=12.5),
        "upper": Side(
            bound="pld-upper",
            epsilon=1.0,
            computed=(0.9999, 1.0),
            rigorous=True,
            assumptions=("noise is secret",),
        ),
        "lower": Side(bound="pair-lower", epsilon=0.99),
        "reproduction": Reproduction.EXACT,
        "soundness": Soundness.SOUND,
        "slack": 1.1,
        "scenarios": (),
        "notes": (),
    }
    return Finding(**{**given, **changes})


def refuted(identifier="r", **changes):
    return finding(
        identifier,
        epsilon="0.5",
        **{
            "soundness": Soundness.REFUTED,
            "reproduction": Reproduction.DIFFERS,
            "slack": 0.5,
            "refutation": ("D : 1 record", "delta is at least 0.1"),
            **changes,
        },
    )


def unproven(identifier="u", **changes):
    return finding(
        identifier, epsilon="0.995", **{"soundness": Soundness.UNPROVEN, "slack": 0.995, **changes}
    )


def underspecified(identifier="m", **changes):
    return finding(
        identifier,
        epsilon=None,
        **{
            "missing": ("sigma",),
            "published": None,
            "upper": None,
            "lower": None,
            "slack": None,
            "reproduction": Reproduction.UNDERSPECIFIED,
            "soundness": Soundness.UNPROVEN,
            **changes,
        },
    )


def one_of_each():
    return [finding(), refuted(), unproven(), underspecified()]


def nearly_true():
    """Refuted, but: to their last digit, as an approximation, in another reading."""
    near = {"soundness": Soundness.REFUTED, "upper": Side(bound="pld-upper", epsilon=1.104)}
    rounded = finding("d", lower=Side(bound="pair-lower", epsilon=1.1035), **near)
    approximate = dataclasses.replace(
        rounded, claim=dataclasses.replace(rounded.claim, approximation="by a limit theorem")
    )
    other = OtherReading(id="o", reading="r", soundness=Soundness.SOUND, lower=0.9, upper=1.0)
    return [rounded, approximate, dataclasses.replace(rounded, readings=(other,))]


def hostile():
    return [
        refuted(text, origin=f"{text}.toml", notes=(text,), refutation=(text,)) for text in HOSTILE
    ]
