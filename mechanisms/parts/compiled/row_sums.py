"""Compiled sums of chosen rows: one pass over the data, and a copy of a few rows at most.

The order of every sum is fixed by the number of rows alone. It depends neither on the machine nor
on threads, so the same subsets always give the same bits. The functions release Python's global
lock and do not check bounds, which is left to their callers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rdpkit.mechanisms.parts.compiled.compiler import compiled

# 256 bytes add up to at most 256 * 255 = 65280, which is less than 2^16.
_SIXTEEN_BITS = 256
# 16 products of a byte and a digit add up to at most 16 * 255 * (2^12 - 1) = 16707600, which is
# less than 2^24. Single precision holds every whole number up to there.
_SINGLE = 16
_DIGIT_BITS = 12

DIGITS = 2 * _DIGIT_BITS
"""Number of bits of the whole numbers by which bytes are weighted."""


def split(weights: np.ndarray[Any, np.dtype[np.uint32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Whole weights below 2 ** ``DIGITS`` as two digits, shape (n, 2), for ``weighted_bytes``."""
    parts = (weights >> _DIGIT_BITS, weights & (2**_DIGIT_BITS - 1))
    return np.stack(parts, axis=1).astype(np.float32)


@compiled()
def weighted_numbers(
    flat: Any,  # Shape (n, d)
    chosen: Any,  # Numbers of rows, in [0, n); shape (count, l)
    weights: Any,  # Shape (n,)
    sums: Any,  # Shape (count, d)
) -> None:
    """Add to each row of ``sums`` the weighted sum of the rows that are chosen for it."""
    count, size = chosen.shape
    fours = size - size % 4
    for t in range(count):
        total = sums[t]
        # Four rows are read from memory at the same time, and sums are written less often.
        for s in range(0, fours, 4):
            i, j, k, m = chosen[t, s], chosen[t, s + 1], chosen[t, s + 2], chosen[t, s + 3]
            p, q, r, w = weights[i], weights[j], weights[k], weights[m]
            first, second, third, fourth = flat[i], flat[j], flat[k], flat[m]
            for x in range(total.size):
                total[x] += (p * first[x] + q * second[x]) + (r * third[x] + w * fourth[x])
        for s in range(fours, size):
            row, weight = flat[chosen[t, s]], weights[chosen[t, s]]
            for x in range(total.size):
                total[x] += weight * row[x]


@compiled()
def cut_numbers(
    flat: Any,  # Shape (n, d)
    chosen: Any,  # Numbers of rows, in [0, n); shape (count, l)
    weights: Any,  # Shape (n,)
    # Factors, shifts, and the lower and upper limits of scaled numbers; shape (4, d)
    transformation: Any,
    sums: Any,  # Shape (count, d)
) -> None:
    """Add to each row of ``sums`` the weighted sum of its rows, each scaled and cut before.

    Every number is scaled, cut and weighted on its own, whatever the others are.
    """
    count, size = chosen.shape
    factor, shift = transformation[0], transformation[1]
    lower, upper = transformation[2], transformation[3]
    for t in range(count):
        total = sums[t]
        for s in range(size):
            row, weight = flat[chosen[t, s]], weights[chosen[t, s]]
            for x in range(total.size):
                value = row[x] * factor[x] + shift[x]
                total[x] += weight * min(max(value, lower[x]), upper[x])


# A mean is a whole number divided by one above 0, so nothing has to look out for a division by 0.
@compiled(error_model="numpy")
def mean_bytes(
    flat: Any,  # Shape (n, d)
    chosen: Any,  # Numbers of rows, in [0, n), with l >= 1; shape (count, l)
    # Shape (d,)
    factor: Any,
    shift: Any,
    means: Any,  # What is there is not read; shape (count, d)
) -> None:
    """Write into each row of ``means`` the scaled mean of the rows that are chosen for it.

    The sum is exact. It is divided by the number of rows, multiplied by the factor, and the shift
    is added: each of the three rounds once.
    """
    count, size = chosen.shape
    width = flat.shape[1]
    total = np.empty(width, np.uint16)
    # Dividing by a power of two is multiplying by its inverse, which is faster and rounds nothing.
    exact = size & (size - 1) == 0
    inverse = 1.0 / size
    for t in range(count):
        mean = means[t]
        for start in range(0, size, _SIXTEEN_BITS):
            rows = chosen[t, start : start + _SIXTEEN_BITS]
            eights = rows.size - rows.size % 8
            total[:] = 0
            # Eight rows are read from memory at the same time.
            for s in range(0, eights, 8):
                a, b, c, d = flat[rows[s]], flat[rows[s + 1]], flat[rows[s + 2]], flat[rows[s + 3]]
                e, f = flat[rows[s + 4]], flat[rows[s + 5]]
                g, h = flat[rows[s + 6]], flat[rows[s + 7]]
                for x in range(width):
                    first = np.uint16(a[x]) + np.uint16(b[x])
                    first += np.uint16(c[x]) + np.uint16(d[x])
                    second = np.uint16(e[x]) + np.uint16(f[x])
                    total[x] += first + (second + (np.uint16(g[x]) + np.uint16(h[x])))
            for s in range(eights, rows.size):
                row = flat[rows[s]]
                for x in range(width):
                    total[x] += np.uint16(row[x])
            if start:
                for x in range(width):
                    mean[x] += total[x]
            else:
                for x in range(width):
                    mean[x] = total[x]
        if exact:
            for x in range(width):
                mean[x] = (mean[x] * inverse) * factor[x] + shift[x]
        else:
            for x in range(width):
                mean[x] = (mean[x] / size) * factor[x] + shift[x]


# The compiler may join a product and a sum, because both are whole numbers that are never rounded.
@compiled(fastmath={"contract"})
def weighted_bytes(
    flat: Any,  # Shape (n, d)
    chosen: Any,  # Numbers of rows, in [0, n); shape (count, l)
    digits: Any,  # The whole weights of the rows, as ``split`` gives them; shape (n, 2)
    sums: Any,  # Shape (count, d)
) -> None:
    """Add to each row of ``sums`` the weighted sum of the rows of bytes that are chosen for it.

    Exact as long as sums are below 2^53: up to two million rows of any bytes and weights.
    """
    count, size = chosen.shape
    width = flat.shape[1]
    held = np.empty((_SINGLE, width), np.uint8)
    high, low = np.empty(width, np.float32), np.empty(width, np.float32)
    for t in range(count):
        for start in range(0, size, _SINGLE):
            rows = chosen[t, start : start + _SINGLE]
            fours = rows.size - rows.size % 4
            # The rows are copied first. A processor reads many rows from memory at once while it
            # only copies, but waits for each row if the long arithmetic below stands between them.
            for s in range(rows.size):
                row = flat[rows[s]]
                for x in range(width):
                    held[s, x] = row[x]
            high[:] = 0
            low[:] = 0
            for s in range(0, fours, 4):
                i, j, k, m = rows[s], rows[s + 1], rows[s + 2], rows[s + 3]
                p, q, r, w = digits[i, 0], digits[j, 0], digits[k, 0], digits[m, 0]
                e, f, g, h = digits[i, 1], digits[j, 1], digits[k, 1], digits[m, 1]
                for x in range(width):
                    first, second = np.float32(held[s, x]), np.float32(held[s + 1, x])
                    third, fourth = np.float32(held[s + 2, x]), np.float32(held[s + 3, x])
                    high[x] += (p * first + q * second) + (r * third + w * fourth)
                    low[x] += (e * first + f * second) + (g * third + h * fourth)
            for s in range(fours, rows.size):
                p, e = digits[rows[s], 0], digits[rows[s], 1]
                for x in range(width):
                    only = np.float32(held[s, x])
                    high[x] += p * only
                    low[x] += e * only
            for x in range(width):
                sums[t, x] += np.float64(high[x]) * 2.0**_DIGIT_BITS + np.float64(low[x])
