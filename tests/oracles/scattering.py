"""Scattering by kymatio 0.3.0, whose filters were written by other people.

Run it in an environment of its own (kymatio does not import beside scipy 1.15 or newer):
``pip install kymatio==0.3.0 'scipy<1.15' 'numpy<2'``, then ``python tests/oracles/scattering.py``.

kymatio divides every filter by 2 * 3.1415 sigma^2, a little less than 2 pi sigma^2. Its numbers are
multiplied by 3.1415 / pi for each filter on their way, and stored as floats of 64 bits, of which
its filters, made of complex numbers of 64 bits, leave about six digits.
"""

import json
import math
from pathlib import Path

import numpy as np

# Height, width, J and L.
CASES = [(28, 28, 2, 8), (30, 37, 2, 6), (32, 40, 3, 8), (16, 16, 1, 4), (33, 32, 3, 5)]
VALUES = Path(__file__).with_name("values") / "scattering.json"


def image(height: int, width: int) -> np.ndarray:
    """A picture without symmetries, of numbers from 0 to 1."""
    y, x = np.mgrid[:height, :width]
    return ((37 * y * y + 101 * x + 13 * x * y) % 251) / 250 * (y > x // 3)


if __name__ == "__main__":
    from kymatio.numpy import Scattering2D

    lines = []
    for height, width, scales, angles in CASES:
        transform = Scattering2D(J=scales, L=angles, shape=(height, width))
        found = transform(image(height, width)).astype(np.float64)
        filters = np.full(len(found), 3)
        filters[: 1 + scales * angles] = 2
        filters[0] = 1
        found *= ((3.1415 / math.pi) ** filters)[:, None, None]
        entry = {
            "height": height,
            "width": width,
            "scales": scales,
            "angles": angles,
            "shape": found.shape,
            "every_31st": [float(f"{one:.8g}") for one in found.ravel()[::31]],
        }
        lines.append(json.dumps(entry))
    head = json.dumps(
        {
            "quantity": "every 31st number of the scattering of scattering.image",
            "script": "tests/oracles/scattering.py",
            "kymatio": "0.3.0",
        }
    )
    VALUES.write_text(head[:-1] + ', "entries": [\n  ' + ",\n  ".join(lines) + "\n]}\n")
