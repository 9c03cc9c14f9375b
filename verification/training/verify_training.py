"""Check a training: its step, its sampler, its accountant and a run with canaries."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingVerification
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker, training_maker

# About how many trainings all checks make, and the share of the time that this may take.
_MADE, _SHARE_OF_TIME = 14, 0.5
Check = Callable[[TrainingMaker, TrainingOptions], CheckResult]


def verify_training(
    what: str | Callable[[], Any] | PrivateTraining,
    *,
    options: TrainingOptions | None = None,
    progress: Callable[[str], None] | None = None,
    said: Callable[[str], None] | None = None,
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
    said : callable, optional
        Called at once with what the checks will cost, if making trainings takes too long.

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
    cost = _cost(time.perf_counter() - began, chosen) if maker.repeats else ""
    if cost:
        # A function that trains to its end is called once; the checks put its training back.
        maker = TrainingMaker(make=lambda: first, name=maker.name, repeats=False)
        if said is not None:
            said(cost)
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
        notes=(cost,) if cost else (),
    )


def _cost(seconds: float, options: TrainingOptions) -> str:
    """What the checks would cost, in words, if that is more than they may; otherwise nothing."""
    all_of_them = _MADE * seconds
    if all_of_them <= _SHARE_OF_TIME * options.seconds:
        return ""
    return (
        f"making one training took {seconds:.3g} s, and the checks make about {_MADE}: "
        f"{all_of_them:.3g} s, where --seconds {options.seconds:g} were given. So all checks use "
        "this one, and no seed that is fixed in the code can be found. Let the function return the "
        "training before its loop begins"
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
