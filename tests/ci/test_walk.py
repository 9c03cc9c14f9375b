"""The walk in docs/how-to/continuous.md, literally, in an empty repository."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.processes import ran

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "continuous.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_walk_begins_with_an_installation():
    assert len(BLOCKS) == 9
    text = PAGE.read_text()
    assert text.index('pip install "$RDPKIT" pytest') < text.index(BLOCKS[0])
    assert not any("pip install" in block for block in BLOCKS)


@pytest.mark.slow
def test_the_walk_ends_red(tmp_path):
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }
    done = [
        ran("-e", "-c", block, program="bash", cwd=tmp_path, env=environment) for block in BLOCKS
    ]
    new, green, red, mended, rules, tested, changed, baseline, worse = (one.stdout for one in done)
    assert "privacy.claims.toml: epsilon 0.7256 at delta 1e-05" in new
    assert "1 passed" in green
    for line in (
        "epsilon 0.5 at delta 1e-05 (add-or-remove-one) is refuted: two neighbouring data sets ",
        "  upper      0.725522 by pld-upper",
        "  change     raise the noise: noise_std = 7.032",
        "  change     or raise the claim: epsilon = 0.7256",
    ):
        assert line in red
        assert line in PAGE.read_text()
    assert red.endswith("exit status 1\n")
    assert "-epsilon = 0.5\n+epsilon = 0.7256\n" in mended
    assert mended.count("privacy: sound, exact: epsilon = 0.7256") == 2
    assert rules.endswith("exit status 1\n")
    assert "in 2 tests of this code; rejecting takes 3.991 (claim 1, version 1" in tested
    assert "not tested  the code has not changed since it was tested" in tested
    assert "rejecting takes 5.377 (claim 1, version 2 of its code)" in changed
    assert "rejected before, and the code has not changed since" in changed
    assert changed.endswith("exit status 1\n")
    assert baseline.endswith("nothing moved\n")
    assert "(worse)" in worse
