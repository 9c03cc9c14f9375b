"""Check a training: its step, its sampler, its accountant and a run with canaries."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from rdpkit.formats.records import did_you_mean
from rdpkit.verification.blackbox.targets import imported
from rdpkit.verification.training.options import TrainingOptions
from rdpkit.verification.training.results import CheckResult, TrainingVerification
from rdpkit.verification.training.trainer import PrivateTraining, TrainingMaker, as_training
from rdpkit.verification.training.updates import optimizer_hooks

# About how many trainings all checks make, and the share of the time that this may take.
_MADE, _SHARE_OF_TIME = 14, 0.3
# The parts of the time that checks take, and the least share of it that is left for them, however
# long it took to make a training.
_PARTS = {"step": 0.35, "sampler": 0.2, "accountant": 0.15, "run": 0.5}
_LEAST_SHARE = 0.25
Check = Callable[[TrainingMaker, TrainingOptions], CheckResult]
"""Of a maker of trainings that are alike, and of options with a seed, an error rate and a time."""


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
        Called at once when the function is seen to train before it returns, and with what the
        checks will cost, if making trainings takes too long.

    Raises
    ------
    ValueError
        If no training can be made, or its step fails.
    """
    began = time.perf_counter()
    chosen = (options or TrainingOptions()).seeded()
    maker = training_maker(what)
    with _training_said(maker.name, chosen.seconds, said) as trained:
        first, seconds = _timed(maker)
    slow = maker.repeats and not trained and bool(_cost(seconds, chosen))
    if slow and seconds < 0.5 * chosen.seconds:
        # The first one may have taken long because libraries were loaded.
        first, seconds = _timed(maker)
    event, claim = first.described()
    cost = _cost(seconds, chosen) if maker.repeats else ""
    if cost:
        # A function that trains to its end is called once; the checks put its training back.
        maker = TrainingMaker(make=lambda: first, name=maker.name, repeats=False)
        if said is not None:
            said(cost)
    results: list[CheckResult] = []
    until = max(began + chosen.seconds, time.perf_counter() + _LEAST_SHARE * chosen.seconds)
    for place, name in enumerate(chosen.checks):
        if progress is not None:
            progress(name)
        parts = sum(_PARTS[one] for one in chosen.checks[place:])
        results.append(checks()[name](maker, _in_time(chosen, until - time.perf_counter(), parts)))
    return TrainingVerification(
        name=maker.name,
        event=event,
        claim=claim,
        false_alarm_rate=chosen.false_alarm_rate,
        checks=tuple(results),
        seed=chosen.known_seed,
        seconds=time.perf_counter() - began,
        notes=(cost,) if cost else (),
    )


def _timed(maker: TrainingMaker) -> tuple[PrivateTraining, float]:
    began = time.perf_counter()
    return maker.fresh(), time.perf_counter() - began


def _in_time(options: TrainingOptions, left: float, parts: float) -> TrainingOptions:
    """The options of a check, so that it and those after it need no more time than is left."""
    least = 0.1 * _LEAST_SHARE * options.seconds
    return dataclasses.replace(options, seconds=max(least, min(options.seconds, left / parts)))


@contextlib.contextmanager
def _training_said(
    name: str, seconds: float, said: Callable[[str], None] | None
) -> Iterator[list[str]]:
    """Say at the first update of a torch optimiser that a function trains before it returns.

    Yields a list, which then has what was said.
    """
    trained: list[str] = []
    if "torch" not in sys.modules:
        yield trained
        return
    what = (
        f"{name} trains before it returns, and takes as long as that training does; the checks "
        f"take what is left of {seconds:g} s, and at least {_LEAST_SHARE * seconds:g} s. A "
        "function that returns the training before its loop is checked at once, and more closely"
    )

    def update(*_: Any) -> None:
        if not trained:
            trained.append(what)
            if said is not None:
                said(what)

    with optimizer_hooks(update):
        yield trained


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
    from rdpkit.verification.training.checks import accountant, run, sampler, step  # noqa: PLC0415

    return {
        "step": step.check_step,
        "sampler": sampler.check_sampler,
        "accountant": accountant.check_accountant,
        "run": run.check_run,
    }


def training_maker(
    # ``module:callable``, which is imported from the current directory or from wherever Python
    # finds it, because the user named it; a training of the zoo; a callable; or one training.
    what: str | Callable[[], Any] | PrivateTraining,
) -> TrainingMaker:
    """A maker of trainings from its name, a callable, or a training that was made already."""
    if isinstance(what, str):
        if ":" in what:
            make = imported(what, os.getcwd(), "()")
            return TrainingMaker(make=make, name=what, anew=lambda: _again(what))
        # The zoo needs torch.
        from rdpkit.verification.training.zoo import maker, names  # noqa: PLC0415

        if what not in names():
            raise ValueError(
                "Expected target to be module:callable or a training of the zoo, got "
                f"{what!r}.{did_you_mean(what, list(names()))}"
            )
        return maker(what)
    if isinstance(what, PrivateTraining | dict) or not callable(what):
        found = as_training(what)
        return TrainingMaker(make=lambda: found, name=found.name, repeats=False)
    return TrainingMaker(make=what, name=getattr(what, "__name__", type(what).__name__))


def _again(name: str) -> Callable[[], Any]:
    """The callable after its module, and what it imports of the user's own code, ran once more.

    A module that the target imports may seed generators as well as the target itself.
    """
    before = _own_modules()
    for one in before:
        del sys.modules[one]
    try:
        return imported(name, os.getcwd(), "()")
    finally:
        for one in _own_modules():
            del sys.modules[one]
        sys.modules.update(before)


def _own_modules() -> dict[str, ModuleType]:
    """The modules in the current directory, but for installed ones, this package and the script."""
    here = Path.cwd()
    kept = {"__main__", __name__.partition(".")[0]}
    found = {}
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or os.devnull)
        own = file.is_relative_to(here) and "site-packages" not in file.parts
        if own and name.partition(".")[0] not in kept:
            found[name] = module
    return found
