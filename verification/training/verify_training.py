"""Check a training: its step, its sampler, its accountant and a run with canaries."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingVerification
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker, training_maker

Check = Callable[[TrainingMaker, TrainingOptions], CheckResult]


def verify_training(
    what: str | Callable[[], Any] | PrivateTraining,
    *,
    options: TrainingOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> TrainingVerification:
    """Check whether a training does what its accountant was told.

    Guarantee
    ---------
    A training that does what was accounted for is rejected with probability at most
    ``options.false_alarm_rate``, over the randomness of the training and of the checks.

    Assumes
    -------
    ``make`` returns trainings that are alike, and steps of a training depend on its state, the
    batch and random numbers alone.

    Parameters
    ----------
    what : str, callable or PrivateTraining
        ``module:make_trainer``, which is imported because it was named; a callable that makes a
        training, which is called once for each check; or a training.
    options : TrainingOptions, optional
        Which checks are made, their error rate, and the seed.
    progress : callable, optional
        Called with the name of each check before it begins.

    Raises
    ------
    ValueError
        If no training can be made, or its step fails.
    """
    began = time.perf_counter()
    chosen = (options or TrainingOptions()).seeded()
    assert chosen.seed is not None
    maker = training_maker(what)
    first = maker.fresh()
    event, claim = first.described()
    results = []
    for name, check in checks().items():
        if name not in chosen.checks:
            continue
        if progress is not None:
            progress(name)
        results.append(check(maker, chosen))
    return TrainingVerification(
        name=maker.name,
        event=event,
        claim=claim,
        false_alarm_rate=chosen.false_alarm_rate,
        checks=tuple(results),
        seed=chosen.seed,
        seconds=time.perf_counter() - began,
    )


def checks() -> dict[str, Check]:
    """Every check by its name, in the order in which they are made."""
    from rdpkit.verification.training.checks.accountant import (  # noqa: PLC0415 - heavy
        check_accountant,
    )
    from rdpkit.verification.training.checks.run import check_run  # noqa: PLC0415 - heavy
    from rdpkit.verification.training.checks.sampler import (  # noqa: PLC0415 - heavy
        check_sampler,
    )
    from rdpkit.verification.training.checks.step import check_step  # noqa: PLC0415 - heavy

    return {
        "step": check_step,
        "sampler": check_sampler,
        "accountant": check_accountant,
        "run": check_run,
    }


__all__ = ["verify_training"]
