"""Releases of any kind, taken apart into arrays of numbers and of categories.

A category is anything that is equal or different, but not larger or smaller: a string, None, a
member of an enumeration. It becomes a whole number below 2^53 by a hash that is the same in every
process. Tensors, data frames, sparse matrices and models are recognised by what they can do, so
that no library is imported for them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import numbers
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np

from rdpkit._validate import words_of
from rdpkit.verification.estimators.base import Array

# Methods by which a model answers; the first that it has is asked.
_ANSWERS = ("decision_function", "predict_proba", "score_samples", "predict", "transform")
_NUMBERS = "biuf"
# Decimals count as numbers, although Python does not call them real.
_REAL = numbers.Real | Decimal
# What stands in a path for what is no value of a release.
RAISED, NOT_FINITE, ORDER = "error that was raised", " (not finite)", " order of keys"
_CATEGORIES = (str, bytes, Enum, type(None), UUID, date, time, timedelta)


class MechanismError(ValueError):
    """The mechanism raised an error, or returned something that is not a release."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PartShape:
    """What is known of a part of a release before its values are, and its columns in a row."""

    path: str
    """Where it is in the release: ``weights``, ``['age']`` or ``[0]``; empty for the whole."""
    is_number: bool  # Whether it holds numbers; otherwise it holds categories
    shape: tuple[int, ...]  # The shape of its array; () for a single value
    loose: bool = False
    """Whether another run may well return more or fewer of its kind, like the bins of a histogram.
    """
    # Of what several releases have together: whether some are without it, and the axes whose
    # lengths varied, where the shape has the largest ones.
    optional: bool = False
    varying_axes: tuple[int, ...] = ()

    @property
    def is_order(self) -> bool:
        """Whether it says in which order keys come, and has no values."""
        return self.columns == 0 and ORDER in self.path

    @property
    def extra(self) -> int:
        """How many columns come before the values: whether it is there, and lengths of axes."""
        return int(self.optional) + len(self.varying_axes)

    @property
    def columns(self) -> int:
        """How many columns it has."""
        return self.extra + math.prod(self.shape)

    def name(self, column: int) -> str:
        """The name of one of its columns."""
        shown = self.path or "release"
        if self.optional and column == 0:
            return f"whether {shown} is there"
        if column < self.extra:
            axis = self.varying_axes[column - int(self.optional)]
            return f"length of {shown}" + (f" along axis {axis}" if axis else "")
        if not self.shape:
            return self.path or "value"
        place = np.unravel_index(column - self.extra, self.shape)
        return f"{self.path}[{', '.join(str(int(one)) for one in place)}]"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasePart:
    """An array in a release."""

    path: str  # Where it is in the release
    is_number: bool  # Whether it holds numbers; otherwise it holds categories
    values: Array
    """The numbers, or the codes of the categories, in the shape that they have in the release."""
    loose: bool = False  # Whether another run may well return more or fewer of its kind
    exceptional: bool = False
    """Whether it only says which numbers are none; it is left out where all are."""

    @property
    def is_order(self) -> bool:
        """Whether it says in which order keys come, and has no values."""
        return self.values.size == 0 and ORDER in self.path

    def known(self) -> PartShape:
        """Everything but the values."""
        return PartShape(
            path=self.path, is_number=self.is_number, shape=self.values.shape, loose=self.loose
        )


Parts = list[ReleasePart]


def take_apart(
    # Numbers, strings, None, bytes, members of enumerations, arrays, tensors, sparse matrices, data
    # frames, models, and lists, tuples, sets, mappings and dataclasses of them.
    release: Any,
    points: Array | None = None,  # Records on which a model is asked for its outputs; shape (n, d)
    path: str = "",  # Where the release is in a larger one
) -> Parts:
    """The arrays in a release. Raises MechanismError if it holds something else."""
    if isinstance(release, np.ndarray) and release.dtype.kind in _NUMBERS:
        return list(_numbers(path, release))
    for recognised, split in _KINDS:
        if recognised(release):
            return list(split(release, points, path))
    raise MechanismError(
        f"returned {_kind(release)}{_at(path)}; a release is made of numbers, strings, arrays, "
        "tensors, data frames and models, and of lists, tuples and mappings of them. Give the "
        "target an attribute summary, a function of the release that returns one of these"
    )


def raised(error: BaseException) -> Parts:
    """What stands for a release where the code raised an error: a category for its kind."""
    code = code_of(f"raised {type(error).__qualname__}")
    return [ReleasePart(path=RAISED, is_number=False, values=np.array(code), loose=True)]


def one_of(parts: Iterable[ReleasePart], place: int) -> Parts:
    """The parts of one of many releases, which are along the first axes."""
    found = [dataclasses.replace(part, values=part.values[place]) for part in parts]
    # That some numbers are none is left out where all are numbers.
    return [part for part in found if not part.exceptional or np.any(part.values)]


def digest(parts: Iterable[ReleasePart]) -> str:
    """A hash of parts; two releases have the same if and only if they are equal."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(repr((part.path, part.is_number, part.values.shape)).encode())
        # 0.0 and -0.0 are different releases: a test sees every bit.
        found.update(np.ascontiguousarray(part.values).tobytes())
    return found.hexdigest()


def code_of(text: str) -> float:
    """A whole number below 2^53 that stands for a text, the same in every process."""
    found = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return float(int.from_bytes(found, "big") >> 11)


_code = lru_cache(maxsize=2**14)(code_of)


def _category(value: Any) -> float | None:
    """The code of a category; None if it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return _code(f"enum {type(value).__qualname__}.{value.name}")
    if isinstance(value, str):
        return _code(f"text {value}")
    if isinstance(value, bytes):
        return _code(f"bytes {value.hex()}")
    # Libraries for tables write NaN for a missing text.
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _code("none")
    if isinstance(value, _REAL):
        return _code(f"number {float(value)!r}")
    if isinstance(value, _CATEGORIES):
        return _code(f"{type(value).__name__} {value!s}")
    return None


def _numbers(path: str, array: np.ndarray[Any, Any]) -> Iterator[ReleasePart]:
    """The numbers; and, where some are none, which: that is an output as any category is."""
    values = array.astype(np.float64)
    bad = ~np.isfinite(values)
    if not bad.any():
        yield ReleasePart(path=path, is_number=True, values=values)
        return
    kinds = np.select([np.isnan(values), values == np.inf, values == -np.inf], [1.0, 2.0, 3.0], 0.0)
    yield ReleasePart(path=path, is_number=True, values=np.where(bad, 0.0, values))
    yield ReleasePart(
        path=f"{path}{NOT_FINITE}", is_number=False, values=kinds, loose=True, exceptional=True
    )


def _codes(path: str, array: np.ndarray[Any, Any]) -> ReleasePart:
    codes = [_category(value) for value in array.ravel().tolist()]
    if any(code is None for code in codes):
        raise MechanismError(f"returned an array of objects{_at(path)}, which are no categories")
    values = np.array(codes, dtype=np.float64).reshape(array.shape)
    return ReleasePart(path=path, is_number=False, values=values)


def _of_array(release: Any, _: Array | None, path: str) -> Iterator[ReleasePart]:
    try:
        array = np.asarray(release)
    except (ValueError, TypeError) as error:
        raise MechanismError(f"returned something that is not an array: {error}") from None
    if array.dtype.kind in _NUMBERS:
        yield from _numbers(path, array)
    elif array.dtype.kind in "USMmO":
        if array.dtype.kind == "O" and all(_is_number(value) for value in array.ravel()):
            yield from _numbers(path, array.astype(np.float64))
        else:
            yield _codes(path, array.astype(str) if array.dtype.kind in "Mm" else array)
    else:
        raise MechanismError(
            f"returned {array.dtype} of shape {array.shape}{_at(path)}; a release is made of real "
            "numbers and of categories"
        )


def _of_category(release: Any, _: Array | None, path: str) -> Iterator[ReleasePart]:
    code = _category(release)
    assert code is not None
    yield ReleasePart(path=path, is_number=False, values=np.array(code))


def _of_tensor(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    tensor = release.detach()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout != sys.modules["torch"].strided:
        tensor = tensor.to_dense()
    tensor = tensor.cpu()
    # Formats that numpy lacks, such as bfloat16, fit into double precision.
    yield from _of_array(
        (tensor.double() if tensor.is_floating_point() else tensor).resolve_conj().numpy(),
        points,
        path,
    )


def _of_frame(release: Any, _: Array | None, path: str) -> Iterator[ReleasePart]:
    """The columns of a table, and its index if it says more than the numbers of the rows."""
    index = getattr(release, "index", None)
    if index is not None and type(index).__name__ != "RangeIndex":
        yield from _column(_attribute(path, "index"), index)
    for place, name in enumerate(release.columns):
        at = getattr(release, "iloc", None)
        # Two columns may have the same name, so they are found by their places.
        column = release.to_series(place) if at is None else at[:, place]
        yield from _column(f"{path}[{name!r}]", column)


def _of_series(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    index = getattr(release, "index", None)
    if index is None or type(index).__name__ == "RangeIndex":
        yield from _column(path, release)
    else:
        yield from take_apart(dict(zip(index.tolist(), release.tolist(), strict=True)), None, path)


def _column(path: str, column: Any) -> Iterator[ReleasePart]:
    array = column.to_numpy()
    if array.dtype.kind == "O" and str(column.dtype)[:3].lower() in ("int", "uin", "flo", "boo"):
        # Columns of numbers in which some are missing; those become NaN.
        array = column.to_numpy(dtype=np.float64, na_value=np.nan)
    yield from _of_array(array, None, path)


def _of_fields(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    for name in _field_names(release):
        yield from take_apart(getattr(release, name), points, _attribute(path, name))


def _of_mapping(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    found: Parts = []
    keys = sorted(release, key=lambda key: (str(key), type(key).__name__))
    for key in keys:
        found += take_apart(release[key], points, f"{path}[{_shown(key)}]")
    # Single values by key may be a histogram, which may have other keys in the next run.
    loose = all(part.values.ndim == 0 for part in found)
    yield from (dataclasses.replace(part, loose=part.loose or loose) for part in found)
    if list(release) != keys:
        # The order of keys is an output as well. It has no values, and so no column: another order
        # is another structure.
        order = code_of(repr([_shown(key) for key in release]))
        yield ReleasePart(path=f"{path}{ORDER} {order:.0f}", is_number=False, values=np.zeros(0))


def _of_set(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    ordered = sorted(release, key=lambda key: (str(key), type(key).__name__))
    yield from _of_mapping(dict.fromkeys(ordered, 1.0), points, path)


def _of_tuple(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    for place, item in enumerate(release):
        yield from take_apart(item, points, f"{path}[{place}]")


def _of_list(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    if not release:
        return
    if all(isinstance(item, _CATEGORIES) for item in release):
        array = np.empty(len(release), dtype=object)
        array[:] = release
        yield dataclasses.replace(_codes(path, array), loose=True)
        return
    together = np.array("")
    # Numbers, arrays of one shape, or lists of such.
    if all(isinstance(item, _REAL | np.ndarray | list | tuple) for item in release):
        with suppress(ValueError, TypeError, RuntimeError):
            together = np.asarray(release)
    if together.dtype.kind in _NUMBERS:
        yield from _numbers(path, together)
        return
    for part in _of_tuple(release, points, path):
        yield dataclasses.replace(part, loose=True)


def _of_model(release: Any, points: Array | None, path: str) -> Iterator[ReleasePart]:
    """The parameters of a model, and its outputs on the points."""
    found = []
    if callable(getattr(release, "state_dict", None)):
        state = take_apart(release.state_dict(), None, _attribute(path, "parameters"))
        found += [dataclasses.replace(part, loose=False) for part in state if not part.is_order]
    elif callable(getattr(release, "get_weights", None)):
        found += take_apart(tuple(release.get_weights()), None, _attribute(path, "parameters"))
    else:
        found += _fitted(release, path)
    if points is not None:
        try:
            found += take_apart(_answers(release, points), None, _attribute(path, "outputs"))
        except MechanismError:
            raise
        except Exception as error:
            # A model of images, for example, cannot be asked about flat records. Its parameters
            # say everything that its outputs would.
            if not found:
                raise MechanismError(
                    f"returned a model{_at(path)}, {_kind(release)}, which raised "
                    f"{type(error).__name__} on the records of the pair: {words_of(error)}. Give "
                    "the target an attribute summary, a function of the release that returns "
                    "numbers"
                ) from error
    yield from found


def _fitted(model: Any, path: str) -> Iterator[ReleasePart]:
    """What a model has learnt, as scikit-learn names it: attributes whose names end with _."""
    for name, value in sorted(getattr(model, "__dict__", {}).items()):
        if name.endswith("_") and not name.startswith("_"):
            # Trees, nested models and the like are seen through the outputs.
            with_values = isinstance(value, np.ndarray | _REAL | str)
            if with_values and getattr(value, "dtype", np.dtype(float)).kind in "biufUS":
                yield from take_apart(value, None, _attribute(path, name))


def _answers(model: Any, points: Array) -> Any:
    for name in _ANSWERS:
        method = getattr(model, name, None)
        if callable(method):
            return method(points)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return model(points)
    parameter = next(iter(model.parameters()), torch.zeros(()))
    training = model.training
    # Dropout and batch statistics belong to the training of a model and not to the model.
    model.eval()
    try:
        with torch.no_grad():
            return model(torch.as_tensor(points, dtype=parameter.dtype, device=parameter.device))
    finally:
        model.train(training)


def _field_names(release: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(release) and not isinstance(release, type):
        return tuple(field.name for field in dataclasses.fields(release))
    if isinstance(release, tuple):
        return tuple(getattr(release, "_fields", ()))
    return tuple(one.name for one in getattr(type(release), "__attrs_attrs__", ()))


def _is_number(value: Any) -> bool:
    return isinstance(value, _REAL) and not math.isnan(value)


def _is_tensor(release: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(release, torch.Tensor)


def _is_model(release: Any) -> bool:
    if isinstance(release, type):
        return False
    names = (*_ANSWERS[:4], "state_dict", "get_weights")
    return any(callable(getattr(release, name, None)) for name in names)


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda release: all(hasattr(release, name) for name in names)


def _of_kind(*kinds: Any) -> Callable[[Any], bool]:
    return lambda release: isinstance(release, kinds)


_Split = Callable[[Any, Array | None, str], Iterable[ReleasePart]]
# The first kind that recognises a release takes it apart.
_KINDS: tuple[tuple[Callable[[Any], bool], _Split], ...] = (
    (_of_kind(*_CATEGORIES), _of_category),
    (_of_kind(np.ndarray, np.generic, _REAL), _of_array),
    (_is_tensor, _of_tensor),
    # A sparse matrix.
    (_has("toarray", "nnz"), lambda matrix, *where: _of_array(matrix.toarray(), *where)),
    (_has("columns", "dtypes", "shape"), _of_frame),
    (
        lambda one: type(one).__name__ in ("Series", "Index") and hasattr(one, "to_numpy"),
        _of_series,
    ),
    (_is_model, _of_model),
    (lambda release: bool(_field_names(release)), _of_fields),
    (_of_kind(Mapping), _of_mapping),
    (_of_kind(set, frozenset), _of_set),
    (_of_kind(tuple), _of_tuple),
    (_of_kind(list), _of_list),
    (lambda one: hasattr(one, "__array__") and not isinstance(one, type), _of_array),
    (lambda one: callable(one) and not isinstance(one, type), _of_model),
)


def _attribute(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kind(release: Any) -> str:
    return f"{type(release).__module__}.{type(release).__qualname__}".removeprefix("builtins.")


def _at(path: str) -> str:
    return f" at {path}" if path else ""
