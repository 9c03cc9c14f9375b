"""What is seen of a step from one state of a training: its noise, and what records change."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rdpkit.verification.training.batches import size
from rdpkit.verification.training.checks.effects import FACTORS, LARGE, SMALL, Effect, Effects
from rdpkit.verification.training.checks.noise import NoiseMeasured, measure_noise
from rdpkit.verification.training.checks.trials import Trials
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.rhythm import Rhythm
from rdpkit.verification.training.told import POISSON, TRUNCATED, UNKNOWN, Told, told
from rdpkit.verification.training.trainer import Batch, PrivateTraining

_RECORDS = 24
_PAIRS = 150
_TRIED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is seen of the steps from one state of the training."""

    trials: Trials
    width: int | None
    joins: bool
    small: Batch
    noise: NoiseMeasured
    effects: Effects
    found: list[Effect]
    account: Told

    @property
    def farthest(self) -> float:
        """How far a record moved an update at most."""
        return max((one.length for one in self.found), default=0.0)

    @property
    def strongest(self) -> Batch:
        """A small batch with the record of 100 times the features that moves it farthest."""
        effects = self.effects
        large = [one for one in self.found if one.factor == FACTORS[-1]]
        place = max(large, key=lambda one: one.length).record if large else effects.records[0]
        joining = effects.record(place, FACTORS[-1])
        if joining is None:
            return self.small
        return effects.together(effects.bases[0][1:], joining)

    @property
    def handed(self) -> bool:
        """Whether an optimiser was seen that is handed the noisy gradient."""
        return self.noise.handed


def look_at(
    training: PrivateTraining,
    rhythm: Rhythm,
    options: TrainingOptions,
    notes: list[str],
    *,
    until: float,
    pairs: int = _PAIRS,
    records: int = _TRIED,
    there: Batch | None = None,
) -> Moment:
    """Measure the noise, and what records change, from the present state."""
    seed, now = options.known_seed, time.perf_counter()
    account = told(training.event)
    trials = Trials(training, records=_RECORDS, rhythm=rhythm, found=there)
    width = _only_width(trials)
    joins = width is None and account.sampling in (POISSON, TRUNCATED, UNKNOWN)
    if width is not None and there is None:
        notes.append(f"the step takes no small batches, so all trials have {width} records")
        trials = Trials(training, records=2 * width + _TRIED, rhythm=rhythm)
    least = SMALL if joins else min(width or LARGE, trials.available // 2)
    small = trials.batch(*range(least))
    noise = measure_noise(trials, small, pairs=pairs, seed=seed, until=now + 0.4 * (until - now))
    effects = Effects(trials, seed=seed, joins=joins, width=width)
    found: list[Effect] = []
    if not noise.nowhere:
        cancels = trials.same_again(small, seed) and trials.draws_alike(
            small, trials.batch(*effects.bases[1], *effects.records[: int(joins)]), seed
        )
        if cancels:
            found = list(effects.all(records=records, until=until))
    return Moment(
        trials=trials,
        width=width,
        joins=joins,
        small=small,
        noise=noise,
        effects=effects,
        found=found,
        account=account,
    )


def _only_width(trials: Trials) -> int | None:
    """The size of the loader's batches if the step takes no small ones; None if it does."""
    try:
        for count in (SMALL, SMALL + 1, LARGE, LARGE + 1):
            trials.update(trials.batch(*range(min(count, trials.available))), 0)
    except ValueError:
        return next((size(batch) for batch in trials.training.loader if size(batch) > 1), None)
    return None
