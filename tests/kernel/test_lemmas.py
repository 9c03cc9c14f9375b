"""The functions that Coq proves things about are those of ``masses.py``."""

import random
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from rdpkit.kernel import intervals, masses
from rdpkit.kernel.intervals import of
from rdpkit.kernel.masses import Masses
from tests.processes import ran

LEMMAS = Path(__file__).parents[2] / "docs" / "theory" / "lemmas"
# What both files need, in this order.
FILES = ("measures", "chords", "compositions", "grids", "loop", "refuted")
HEAD = """From Coq Require Import ZArith List.
From Lemmas Require Import loop refuted.
Import ListNotations.
Open Scope Z_scope.
"""


def written(found: Masses) -> str:
    lists = [f"[{'; '.join(map(str, one))}]" for one in found.lists]
    if len(lists) == 1:
        return f"{{| low := {found.low}; places := {lists[0]}; infinite := {found.infinite[0]} |}}"
    p, q = found.infinite
    return (
        f"{{| lowest := {found.low}; under_p := {lists[0]}; under_q := {lists[1]}; "
        f"always_p := {p}; always_q := {q} |}}"
    )


def example(rng: random.Random, below: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """A power and its delta, by Python, as a statement for Coq."""
    digits, count = rng.randint(2, 9), rng.randint(1, 60)
    step = Fraction(rng.randint(1, 40), rng.randint(1, 40))
    levels = count.bit_length() - 1
    halvings = [level for level in range(levels) if rng.random() < 0.4]
    values = [rng.randint(0, 10**digits // 3) for _ in range(rng.randint(1, 9))]
    lists, infinite = [values], [rng.choice([0, rng.randint(0, 30)])]
    if below:
        lists.append([rng.randint(0, 10**digits // 3) for _ in values])
        infinite = [0, 0]
    start = Masses(step, digits, rng.randint(-7, 5), lists, infinite)

    cuts: list[tuple[int, int]] = []
    cut = Masses.cut

    def recorded(self: Masses, budget: int) -> Masses:
        found = cut(self, budget)
        cuts.append((found.low - self.low, len(found.lists[0])))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(masses.Masses, "cut", recorded)
        found = start.power(count, halvings, rng.choice([0, 10 ** (digits // 2), 10**digits // 4]))

    steps, h = [], step
    for level, (first, kept) in enumerate(cuts):
        halving = "None"
        if level in halvings:
            one = of(1, 4 * digits + 64)
            share = one / (one + of(-h, one.bits).exp())
            halving, h = f"Some ({share.hi}, {one.lo})", 2 * h
        digit = "true" if bin(count)[3:][level] == "1" else "false"
        steps.append(
            f"{{| halving := {halving}; digit := {digit}; "
            f"cut_first := {first}%nat; cut_kept := {kept}%nat |}}"
        )
    assert found.step == h

    epsilon = Fraction(rng.randint(0, 60), 10)
    bits, unit = 4 * digits + 64, 10**digits
    total = found.delta(epsilon) * (unit << bits)
    assert total.denominator == 1
    if below:
        grown = of(epsilon, bits).exp().hi
        p, q = found.lists
        tests = [
            (found.infinite[0] + sum(p[s:]) << bits) - (found.infinite[1] + sum(q[s:])) * grown
            for s in range(len(p) + 1)
        ]
        best = tests.index(total)
        return (
            f"Goal power_tests {unit} {written(start)} [{'; '.join(steps)}] = {written(found)}.\n"
            "Proof. vm_compute. reflexivity. Qed.\n"
            f"Goal test_at {1 << bits} {grown} {best}%nat {written(found)} = {total}.\n"
            "Proof. vm_compute. reflexivity. Qed.\n"
        )
    # The largest is that of losses from epsilon on; weights begin at the lowest loss.
    first = max(-(-epsilon // h) - found.low, 0)
    weight, fall = of(epsilon - found.low * h, bits).exp().lo, of(-h, bits).exp().lo
    for _ in range(first):
        weight = weight * fall >> bits
    return (
        f"Goal power_masses {unit} {written(start)} [{'; '.join(steps)}] = {written(found)}.\n"
        "Proof. vm_compute. reflexivity. Qed.\n"
        f"Goal map digit [{'; '.join(steps)}] = digits {count}.\n"
        "Proof. reflexivity. Qed.\n"
        f"Goal delta_masses {1 << bits} {weight} {fall} {first}%nat {written(found)} = {total}.\n"
        "Proof. vm_compute. reflexivity. Qed.\n"
    )


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("coqc") is None, reason="needs coqc (Debian: coq)")
def test_coq_and_python_compute_the_same(tmp_path, monkeypatch):
    intervals.LEFT[0] = 10**9
    rng = random.Random(34)
    examples = [example(rng, i % 2 == 1, monkeypatch) for i in range(80)]
    assert any("Some" in one for one in examples)
    (tmp_path / "examples.v").write_text(HEAD + "\n".join(examples), encoding="utf-8")
    for name in FILES:
        shutil.copy(LEMMAS / f"{name}.v", tmp_path)
    for name in (*FILES, "examples"):
        ran("-q", "-Q", ".", "Lemmas", f"{name}.v", program="coqc", cwd=tmp_path)
