"""The randomness of a release: a cryptographic stream, and Gaussian noise made from it."""

from __future__ import annotations

import hashlib
import math
import os
import threading
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rdpkit import _validate
from rdpkit.mechanisms.parts.compiled.box_muller import SUMMANDS, compiled_sums, portable_sums

Array = NDArray[np.float64]
Shape = int | tuple[int, ...]

# Numbers made in one step, few enough for a processor's second-level cache.
_STEP = 1 << 14
_LARGEST_SEED = 2**256 - 1
# Words that are skipped at once.
_SKIPPED = 1 << 20
# A source that has drawn so many words is worth a compiler, which takes half a second to load.
_WORTH_COMPILING = 1 << 23
# What is encrypted at once: zeros, few enough for a processor's first caches.
_ZEROS = bytes(1 << 16)
# The library wants a buffer that is almost one block larger than the result.
_SPARE = 15


class NoiseSource:
    """A stream of secret random numbers for noise *and* for the sampling of subsets.

    Amplification by sampling holds only while nobody can tell who was sampled, so subsets are
    drawn from the same stream as the noise.

    Guarantee
    ---------
    The words of a system source are the key stream of AES-256 in counter mode, under a key and a
    starting point from the operating system's entropy: whoever tells them from uniform ones breaks
    AES. Every Gaussian number is half the sum of four numbers that Box and Muller's method makes of
    independent words. (Holohan and Braghin add 2n numbers and divide by sqrt(2n); here n = 2.)
    An attacker could search for the words that explain the last bits of a noisy number, and
    subtract the noise. With four summands, that search takes about 2^(53 * 3) steps instead of 2^53
    (Holohan and Braghin 2021, Section 5.1, with n = 2, as Opacus reads it). After a fork, the child
    process takes a new key.

    Assumes
    -------
    The theorems are about real numbers, and the noise consists of floating-point numbers, for which
    the theorems are not proven: the distribution of the noise is discrete and ends near 17 standard
    deviations, and adding the noise to a number rounds. Before it is scaled, a number is within
    2^-45 of what Box and Muller's method makes of its words in exact arithmetic. Timing is not
    hidden either. An exact discrete Gaussian would need a theorem of its own.

    Threads may share a source: each number is given to one of them, in whatever order they ask. A
    seed gives the same bits on every machine where one thread asks. The noise of a seeded source is
    not secret, because whoever knows the seed knows the noise. Its releases are marked
    ``reproducible_noise: true, private: false``.

    Source
    ------
    Holohan and Braghin 2021, "Secure random sampling in differential privacy" (arXiv 2107.10138);
    Opacus 1.6.0, ``_generate_noise`` with ``secure_mode=True``; Mironov 2012 for the attack.

    Examples
    --------
    >>> noise = NoiseSource.seeded(7)
    >>> noise.normal((2, 3), std=0.5).shape, noise.reproducible
    ((2, 3), True)
    >>> NoiseSource.system().reproducible
    False
    """

    __slots__ = ("_drawn", "_locks", "_process", "_room", "_stream", "reproducible")

    reproducible: bool
    _locks: dict[int, threading.RLock]

    def __init__(self) -> None:
        raise TypeError("Make one with NoiseSource.system() or NoiseSource.seeded(seed).")

    @classmethod
    def system(cls) -> NoiseSource:
        """A source with a key from the operating system's entropy."""
        return cls._of_key(os.urandom(48), reproducible=False)

    @classmethod
    def seeded(cls, seed: int) -> NoiseSource:
        """A source that gives the same numbers for the same seed: for experiments only.

        Parameters
        ----------
        seed : int
            In [0, 2^256).

        Raises
        ------
        ValueError
            If it is not such an integer.
        """
        number = int(_validate.integer("seed", seed, minimum=0, maximum=_LARGEST_SEED))
        return cls._of_key(
            hashlib.sha512(b"rdpkit noise" + number.to_bytes(32, "little")).digest()[:48],
            reproducible=True,
        )

    @classmethod
    def of_generator(cls, rng: np.random.Generator) -> NoiseSource:
        """A source whose key is drawn from a numpy generator: reproducible, for verification."""
        _validate.one_of_a_kind("rng", rng, np.random.Generator)
        return cls._of_key(rng.bytes(48), reproducible=True)

    @classmethod
    def _of_key(cls, key: bytes, *, reproducible: bool) -> NoiseSource:
        source = object.__new__(cls)
        source.reproducible = reproducible
        source._locks = {}
        source._restart(key)
        return source

    def _restart(self, key: bytes) -> None:
        # Imported here, because checking a release's arrays needs no noise and no such library.
        from cryptography.hazmat.primitives.ciphers import (  # noqa: PLC0415
            Cipher,
            algorithms,
            modes,
        )

        self._drawn = 0
        self._room = np.empty(0, dtype=np.uint8)
        self._process = os.getpid()
        self._stream = Cipher(algorithms.AES(key[:32]), modes.CTR(key[32:])).encryptor()

    def __repr__(self) -> str:
        return f"<NoiseSource: {'reproducible' if self.reproducible else 'system entropy'}>"

    def __reduce__(self) -> NoReturn:
        # A copy would repeat the noise, and the difference of two releases with the same noise has
        # none.
        raise TypeError("A NoiseSource is not copied or pickled: make one in each process.")

    @property
    def position(self) -> int:
        """How many words have been drawn."""
        return self._drawn

    def advance(self, position: int) -> None:
        """Skip all words before a position, such as the one where an earlier run stopped.

        Raises ValueError if the position has been passed. Raises RuntimeError if the source is not
        seeded, because only runs with the same seed draw the same words.
        """
        if not self.reproducible:
            raise RuntimeError("Only a seeded NoiseSource has positions to go on from.")
        target = int(_validate.integer("position", position, minimum=self._drawn))
        while self._drawn < target:
            self.words(min(_SKIPPED, target - self._drawn))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Uniform 64-bit words, shape (count,)."""
        room = np.empty(8 * count + _SPARE, dtype=np.uint8)
        with self._lock():
            self._check_process()
            return self._key_stream(room, count)

    def _lock(self) -> threading.RLock:
        """The lock of this process: after a fork, another thread's lock would never open."""
        return self._locks.setdefault(os.getpid(), threading.RLock())

    def _check_process(self) -> None:
        """After a fork, a secret source takes a new key, and a seeded one refuses to go on."""
        if self._process != os.getpid():
            if self.reproducible:
                raise RuntimeError(
                    "This seeded NoiseSource came from another process, which would draw the same "
                    "numbers: make one in each process, with a seed of its own."
                )
            self._restart(os.urandom(48))

    def _key_stream(self, room: NDArray[np.uint8], count: int) -> NDArray[np.uint64]:
        """The next words, at the beginning of a buffer that is a little larger."""
        # Encrypting zeros in counter mode gives the key stream itself.
        for start in range(0, 8 * count, len(_ZEROS)):
            size = min(len(_ZEROS), 8 * count - start)
            self._stream.update_into(
                memoryview(_ZEROS)[:size], room[start : start + size + _SPARE].data
            )
        self._drawn += count
        return room[: 8 * count].view(np.uint64)

    def uniform(self, shape: Shape) -> Array:
        """Uniform numbers on the multiples of 2^-53 in [0, 1)."""
        size = _checked(shape)
        found = (self.words(math.prod(size)) >> np.uint64(11)).astype(np.float64)
        found *= 2.0**-53
        return found.reshape(size)

    def integers(self, below: int, shape: Shape) -> NDArray[np.int64]:
        """Uniform integers in [0, below), each value equally likely.

        Raises
        ------
        ValueError
            If ``below`` is not an integer in [1, 2^62].
        """
        bound = int(_validate.integer("below", below, maximum=2**62))
        size = _checked(shape)
        count = math.prod(size)
        found = np.empty(count, dtype=np.int64)
        have = 0
        while have < count:
            drawn = self._some_integers(bound, count - have)
            found[have : have + drawn.size] = drawn
            have += drawn.size
        return found.reshape(size)

    def _some_integers(self, bound: int, count: int) -> NDArray[np.int64]:
        """At most ``count`` uniform integers; words that would favour some values are left out."""
        if bound > 2**32:
            words = self.words(count)
            fair = np.uint64((2**64 // bound) * bound - 1)
            return (words[words <= fair][:count] % np.uint64(bound)).astype(np.int64)
        # Lemire 2019: the upper half of a product of 32-bit numbers, without a division.
        halves = self.words((count + 1) // 2).view(np.uint32)[:count].astype(np.uint64)
        halves *= np.uint64(bound)
        unfair = np.uint64(2**32 % bound)
        if unfair:
            halves = halves[(halves & np.uint64(0xFFFFFFFF)) >= unfair]
        return (halves >> np.uint64(32)).astype(np.int64)

    def normal(self, shape: Shape, *, std: float = 1.0) -> Array:
        """Independent numbers from N(0, std^2), hardened as the class says.

        Parameters
        ----------
        shape : int or tuple of int
            Shape of the result.
        std : float
            Standard deviation, >= 0; 0 gives zeros.

        Returns
        -------
        ndarray of float64
            The noise.

        Raises
        ------
        ValueError
            If ``std`` is not a finite number >= 0.
        """
        scale = _validate.non_negative("std", std)
        found = np.zeros(_checked(shape))
        self.add_normal(found, std=scale)
        return found

    def add_normal(self, array: NDArray[Any], *, std: float) -> None:
        """Add independent N(0, std^2) numbers to a C-contiguous float array, in place.

        The sum is taken in double precision and rounded to the array's type once.

        Raises
        ------
        ValueError
            If the array is not a C-contiguous, writable one of floats, or ``std`` not >= 0.
        """
        scale = _validate.non_negative("std", std)
        _validate.one_of_a_kind("array", array, np.ndarray)
        if array.dtype.kind != "f" or not array.flags.c_contiguous or not array.flags.writeable:
            raise ValueError(
                "Expected array to be a writable, C-contiguous array of floats, got "
                f"{array.dtype} with flags {array.flags.c_contiguous=}, {array.flags.writeable=}."
            )
        if scale == 0.0:
            return
        flat = array.reshape(-1)
        for start in range(0, flat.size, _STEP):
            piece = flat[start : start + _STEP]
            sums = self._sums(piece.size)
            sums *= scale / math.sqrt(SUMMANDS)
            piece[...] = sums + piece

    def _sums(self, count: int) -> Array:
        """Sums of four standard normal numbers each, from four different pairs of words."""
        half = (count + 1) // 2
        words = 2 * SUMMANDS * half
        found = np.empty(2 * half)
        with self._lock():
            self._check_process()
            if len(self._room) < 8 * words + _SPARE:
                self._room = np.empty(8 * words + _SPARE, dtype=np.uint8)
            drawn = self._key_stream(self._room, words).reshape(2, SUMMANDS, half)
            add_up = compiled_sums() if self._drawn > _WORTH_COMPILING else portable_sums
            add_up(drawn, found)
        return found[:count]


def _checked(shape: Any) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple) else (shape,)
    return tuple(_validate.integer(f"shape[{i}]", size, minimum=0) for i, size in enumerate(sizes))
