"""What is wrong with a step, named from what records change in it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np

from rdpkit.formats.numbers import how_many
from rdpkit.verification.blackbox.mistakes import Mistake, MistakeKind, mistake_of
from rdpkit.verification.training.batches import joined
from rdpkit.verification.training.checks.moment import (
    CLEAR,
    FACTORS,
    MOVED,
    ROUNDED,
    Effect,
    Moment,
    bends_with,
    total,
)

# Two differences are the same up to this part of them. Clipped gradients of one record are, but for
# the small constants that libraries add to norms; mistakes change them by a half and more.
_ADDITIVE, _COPIES = 0.02, 0.05
# Ten times the features move an update that is clipped as far as before, and one that is not ten
# times as far; biases, and features that saturate, are in between.
_GROWTH = 3.0
# A cause is only named, beside a mistake that a test has found, if the numbers fit as nearly as the
# estimate of the noise allows: some thousand draws have a standard error of about 2 percent.
_NEAR, _NEAR_COUNT = 0.04, 0.015
_MOST_NAMES, _CHECKED = 4, 4
# Entries without noise are named where so much of what a record changes is in them, with so many
# further seeds.
_BARE, _SEEDS_ALIKE = 0.05, 40
# A record that moves a sum by more standard deviations of the noise than this reaches far.
_FARTHEST = 3.0


def dependence_mistakes(moment: Moment) -> Iterator[Mistake]:
    """A record that changes more than its own contribution, or what has no noise."""
    bare = list(_bare(moment))
    if bare:
        yield mistake_of(MistakeKind.NO_NOISE_ON_PARAMETERS, names=_names(bare))
    model = moment.effects.trials.training.model
    # Layers that normalise with the batch's own statistics.
    normalised = [
        name or type(module).__name__
        for name, module in ([] if model is None else model.named_modules())
        if "BatchNorm" in type(module).__name__ and module.training
    ]
    if normalised:
        yield mistake_of(MistakeKind.BATCH_STATISTICS, "layers", names=_names(normalised))
        return
    if any(effect.buffers > 0.0 for effect in moment.found):
        yield mistake_of(MistakeKind.BUFFERS_HOLD_DATA)
    worst = _least_additive(moment)
    # What is not clipped says more than that it is also averaged, or left over.
    said = bare or moment.divided or _grown(moment)
    if worst is not None and not said and _so_again(moment, worst[1]):
        yield _not_additive(moment, *worst)


def _bare(moment: Moment) -> Iterator[str]:
    """Parameters that a record moves and that have no noise, or parts of them."""
    missing = moment.noise.missing()
    for name in missing:
        place = moment.noise.places[name]
        lengths = [float(np.linalg.norm(one.change[place])) for one in moment.found]
        if any(n > MOVED * one.rounding for n, one in zip(lengths, moment.found, strict=True)):
            yield name
    if moment.noise.still is None or not moment.found or _reaches_far(moment):
        return
    still = moment.noise.still.copy()
    for name in missing:
        still[moment.noise.places[name]] = False
    effect = max(moment.found, key=lambda one: float(np.linalg.norm(one.change[still])))
    least = max(MOVED * effect.rounding, _BARE * effect.length)
    for further in range(1 + _SEEDS_ALIKE):
        if further:
            probe = dataclasses.replace(moment.effects, seed=moment.effects.seed + further)
            again = probe.of(effect.record, effect.factor, effect.base)
            assert again is not None
            still &= again.change == effect.change
        if float(np.linalg.norm(effect.change[still])) <= least:
            return
    for name, place in moment.noise.places.items():
        if np.any(effect.change[place][still[place]]):
            yield f"parts of {name}"


def _least_additive(moment: Moment) -> tuple[Effect, Effect] | None:
    """The two effects of one record on two batches that differ most, if they differ."""
    event = moment.effects.trials.training.event
    if moment.told and int(getattr(event, "microbatch_size", 1)) > 1:
        return None
    worst = max(_between_batches(moment), key=lambda one: one[0], default=None)
    return worst[1:] if worst is not None and worst[0] > _ADDITIVE else None


def _reaches_far(moment: Moment) -> bool:
    """Whether a record may move the sum by many standard deviations of the noise that was told.

    An entry that is cut off may then be at one limit with the record and at another without it,
    whatever the noise is.
    """
    return (1.0 if moment.effects.joins else 2.0) > _FARTHEST * moment.told


def bends_between_batches(moment: Moment) -> bool:
    """Whether effects of a record differ between batches because of what comes after the noise.

    That can only be where the noise is small beside a record. Where it is not, and noise comes and
    goes with a record, it depends on the data.
    """
    worst = _least_additive(moment) if _reaches_far(moment) else None
    return worst is not None and any(bends_with(moment, effect) for effect in worst)


def _between_batches(moment: Moment) -> Iterator[tuple[float, Effect, Effect]]:
    """How much the effects of a record on two batches differ, and these effects."""
    first = {(e.record, e.factor): e for e in moment.found if e.base == 0}
    for effect in moment.found:
        other = first.get((effect.record, effect.factor))
        if effect.base == 0 or other is None:
            continue
        length = max(effect.length, other.length)
        rounding = effect.rounding + other.rounding
        if length > CLEAR * rounding:
            apart = float(np.linalg.norm(effect.change - other.change)) - ROUNDED * rounding
            yield apart / length, other, effect


def _so_again(moment: Moment, worst: Effect) -> bool:
    """Whether the effects of half of the records differ between batches, with other noise as well.

    A single one may differ because an update was cut by its length, or because a record of the same
    user was in one of the batches.
    """
    probe = moment.effects
    again = dataclasses.replace(probe, seed=probe.seed + 1)
    places = again.records[:: max(1, len(again.records) // _CHECKED)][:_CHECKED]
    differ = []
    for place in places:
        found = [again.of(place, worst.factor, base) for base in range(2)]
        effects = [effect for effect in found if effect is not None]
        if any(one.length > CLEAR * one.rounding for one in effects):
            seen = dataclasses.replace(moment, found=effects)
            differ.append(_least_additive(seen) is not None)
    return any(differ) and 2 * sum(differ) >= len(differ)


def _not_additive(moment: Moment, one: Effect, other: Effect) -> Mistake:
    """Why one record's effect depends on the others of its batch."""
    probe = moment.effects
    lengths = [effect.length for effect in (one, other)]
    mixes, place = _mixes(moment), probe.records[0]
    # Whether copies of one record give the update of the record alone. Where all batches have one
    # size that cannot be seen, and is taken to be so.
    same = probe.width is not None
    if not same:
        trials = probe.trials
        two, eight = (trials.update(trials.batch(*[place] * n), probe.seed) for n in (2, 8))
        change = float(np.linalg.norm(eight.vector - two.vector))
        usual = max(e.length for e in moment.found if e.record == place)
        same = change < _COPIES * usual + ROUNDED * (two.rounding + eight.rounding)
    if mixes and same:
        return mistake_of(MistakeKind.CLIPPED_AFTER_AVERAGING)
    if same:
        few, many = map(len, probe.bases)
        ratio = lengths[0] / max(lengths[1], 1e-300)
        return mistake_of(
            MistakeKind.BATCH_DEPENDENT_SCALE, "records", ratio=ratio, few=few, many=many
        )
    if not mixes:
        return mistake_of(MistakeKind.NO_CLIPPING, "left_over")
    return mistake_of(MistakeKind.BATCH_STATISTICS, "effects", one=lengths[0], other=lengths[1])


def _mixes(moment: Moment) -> bool:
    """Whether two records together give something else than the mean of copies of each.

    All batches have as many records, so that a division by their number cancels.
    """
    probe, worst = moment.effects, 0.0
    width = probe.width or 2
    half, rest = width // 2, width - width // 2
    neighbours = itertools.pairwise(probe.records[:5])
    for (place, next_place), factor in itertools.product(neighbours, FACTORS):
        one, other = probe.record(place, 1.0), probe.record(next_place, factor)
        if one is None or other is None:
            continue
        both, first, second = (
            probe.trials.update(joined(batch), probe.seed)
            for batch in ([one] * half + [other] * rest, [one] * width, [other] * width)
        )
        apart = both.vector - (half * first.vector + rest * second.vector) / width
        between = float(np.linalg.norm(first.vector - second.vector))
        rounding = both.rounding + first.rounding + second.rounding
        if between > CLEAR * rounding:
            worst = max(worst, (float(np.linalg.norm(apart)) - ROUNDED * rounding) / between)
    return worst > _ADDITIVE


def clipping_mistakes(moment: Moment) -> Iterator[Mistake]:
    """Records that move an update further than was told."""
    if not moment.too_far:
        return
    if moment.noise.missing() and not math.isfinite(moment.distance()):
        return
    grown = _grown(moment)
    if grown and len(grown) == sum(std > 0.0 for std in moment.noise.std.values()):
        # All parameters move without limit.
        yield mistake_of(MistakeKind.NO_CLIPPING, "grows", growth=moment.growth)
        return
    if not grown and (worst := _least_additive(moment)) is not None:
        if _so_again(moment, worst[1]):
            # Why the distance is too large has been said.
            return
        # A record that joins another one of its user may move an update further by right.
        differ = {
            (effect.record, effect.factor)
            for apart, _, effect in _between_batches(moment)
            if apart > _ADDITIVE
        }
        kept = [one for one in moment.found if (one.record, one.factor) not in differ]
        moment = dataclasses.replace(moment, found=kept)
        if not moment.too_far:
            return
    apart = not grown and _clipped_apart(moment)
    outside = grown or ([] if apart else _left_out(moment))
    if outside:
        yield mistake_of(MistakeKind.UNCLIPPED_PARAMETERS, names=_names(outside))
        return
    share = 1.0 / (moment.even() * moment.told)
    why = (
        " Each parameter is clipped by itself at the whole norm, so that one record moves all "
        "of them together further than that."
        if apart
        else _looks_like(share)
    )
    seen = 1.0 / moment.distance()
    yield mistake_of(MistakeKind.NOISE_TOO_SMALL, seen=seen, told=moment.told, why=why)


def _grown(moment: Moment) -> list[str]:
    """Parameters that a record moves without limit."""
    if moment.growth < _GROWTH:
        return []
    std, places, found = moment.noise.std, moment.noise.places, set()
    for name, place in places.items():
        ten, hundred = (moment.farthest(factor, place) for factor in (10.0, 100.0))
        far = std[name] > 0.0 and hundred / std[name] > moment.allowed
        if hundred > _GROWTH * ten > 0.0 and far:
            found.add(name)
    # Biases need not grow with the features, though they are as little clipped as the rest.
    if found >= {name for name in places if not name.endswith("bias")}:
        found = {name for name in places if std[name] > 0.0}
    return [name for name in places if name in found]


def _clipped_apart(moment: Moment) -> bool:
    """Whether several parameters are each clipped by themselves, at the whole norm."""
    told, distances = moment.told, moment.estimated()
    bounded = [
        name
        for name in moment.noise.places
        if max(one[name] for one in distances) * told < 1.0 + _NEAR
    ]
    whole = [sum(abs(one[name] * told - 1.0) < _NEAR for name in bounded) for one in distances]
    return bool(told) and sum(count >= 2 for count in whole) >= 2


def _left_out(moment: Moment) -> list[str]:
    """The fewest parameters without which every record moves the update as far as was told."""
    told, distances = moment.told, moment.estimated()
    if not told or _saturated([total(one) for one in distances]):
        # All parameters are clipped together, if at another distance than was told.
        return []
    for candidate in _candidates(moment):
        lengths = [total(one, without=candidate) * told for one in distances]
        if abs(max(lengths) - 1.0) < _NEAR and _saturated(lengths):
            return sorted(candidate)
    return []


def _saturated(lengths: list[float]) -> bool:
    """Whether many effects have the same length, and none is longer: they are clipped there."""
    most = max(lengths, default=0.0)
    large = [length for length in lengths if length > 0.5 * most]
    same = [length for length in large if length > (1.0 - 0.5 * _NEAR) * most]
    return len(same) >= max(3, 0.4 * len(large))


def _candidates(moment: Moment) -> Iterator[frozenset[str]]:
    """Sets of parameters that may have been left out, the smaller first."""
    names, training = list(moment.noise.places), moment.effects.trials.training
    groups: dict[str, set[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        for key in (f".{last}", f"{module}.", f"{name.split('.')[0]}|"):
            groups.setdefault(key, set()).add(name)
    found = [frozenset([name]) for name in names] + [frozenset(group) for group in groups.values()]
    if training.model is not None:
        own = {id(parameter): name for name, parameter in training.model.named_parameters()}
        for group in getattr(training.optimizer, "param_groups", ()):
            found.append(frozenset(own[id(p)] for p in group["params"] if id(p) in own))
    modules = [frozenset(group) for key, group in groups.items() if key.endswith(".")]
    found += [one | other for one in modules for other in modules if one != other]
    proper = {one for one in found if 0 < len(one) < len(names)}
    yield from sorted(proper, key=lambda one: (len(one), sorted(one)))


def _looks_like(share: float) -> str:
    """A common reason for this share of the noise, if there is one."""
    whole, part = round(1.0 / share), round(1.0 / share**2)
    causes = []
    if whole >= 2 and abs(share * whole - 1.0) < _NEAR_COUNT:
        about = "about " if whole > 1.0 / _NEAR_COUNT else ""
        causes.append(
            f"as if noise were divided by {about}{whole} (a batch or micro-batches of that many)"
        )
    if 2 <= part <= 64 and abs(share * math.sqrt(part) - 1.0) < _NEAR_COUNT:
        causes.append(f"as if only one of {part} workers added its part of the noise")
    return f" On the whole it is {share:.4g} of that{', ' if causes else ''}{', or '.join(causes)}."


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {how_many(more, 'more')}"
