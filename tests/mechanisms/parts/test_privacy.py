"""What a mechanism is told of the privacy that is wanted."""

import pytest

from rdpkit.mechanisms.parts.noise import NoiseSource
from rdpkit.mechanisms.parts.privacy import Privacy


def test_mechanisms_are_given_no_special_record():
    with pytest.raises(ValueError, match="'replace_one', got 'zero_out': mechanisms are given no"):
        Privacy(delta=1e-5, adjacency="zero_out", noise=NoiseSource.system())
