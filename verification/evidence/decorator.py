"""``@verifies(event, adjacency=...)``: three lines turn a mechanism into a test.

This module imports nothing heavy and no test library, because test modules import it at their top.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rdpkit import Event, _validate
from rdpkit.adjacency import Adjacency, ordinary
from rdpkit.verification.blackbox.options import options_of_test

if TYPE_CHECKING:
    from rdpkit.verification.blackbox.verification_result import VerificationResult
    from rdpkit.verification.replay.findings import ReplayResult

FIXTURE = "verifies"
"""The fixture that decorated tests ask for; it knows the error rate of the suite."""
_DATA = 2  # a mechanism takes a data set and a generator


class VerifiedTest(Protocol):
    """A mechanism that is also a test of its claim.

    pytest runs it as a test. Called with a data set and a generator it is the mechanism still.
    """

    __name__: str
    mechanism: Callable[..., Any]  #: The function as it was written

    def __call__(self, *args: Any, **given: Any) -> Any:
        """A release, from a data set and a generator."""

    def verify(self, **options: Any) -> Any:
        """The result without pytest: a ``ReplayResult`` with ``replay=True``."""


def verifies(
    event: Event | None = None,
    *,
    adjacency: Adjacency | str,
    epsilon: float | None = None,
    delta: float | None = None,
    view: str | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], VerifiedTest]:
    """Make a pytest test of a mechanism: it fails if the mechanism breaks its claim.

    The mechanism is run on neighbouring data sets, and its outputs are tested against the claim
    (:func:`rdpkit.verification.blackbox.verify.verify`). A test that passes proves nothing; the
    summary of the run says what would have been noticed.

    Guarantee
    ---------
    If all claims of a pytest run are true, the probability that any of its tests fails is at most
    the rate of the run (``--verify-alpha``, 0.05 by default), or, with ``--verify-evidence FILE``,
    at most the file's rate over all runs that use the file.

    Assumes
    -------
    Runs of the mechanism are independent of each other.

    Parameters
    ----------
    event : Event, optional
        What is claimed to be released. Without it, ``epsilon`` and ``delta`` are the claim.
    adjacency : Adjacency or str
        The neighbouring relation of the claim.
    epsilon, delta : float, optional
        The claim, or, with an event, the point at which what the event implies is tested. With an
        event and neither, its privacy profile is tested.
    view : {"profile", "rdp"}, optional
        What of an event is tested.
    **options
        Those of :class:`rdpkit.verification.blackbox.options.VerificationOptions`. ``neighbours``
        may also be a :class:`rdpkit.verification.blackbox.neighbours.Neighbours`, or a list of
        them. By default 20,000 runs are made, or as many as fit into two minutes. With
        ``replay=True`` a run on D is recorded and replayed on D' instead, which takes seconds
        (:func:`rdpkit.verification.replay.replay.replay`).

    Returns
    -------
    callable
        A decorator of functions ``mechanism(dataset, rng)``. Further parameters of the function are
        fixtures and parameters of the test, as for any other test. ``function.verify()`` makes the
        test without pytest and returns its result.

    Raises
    ------
    ValueError
        If an argument is outside of its range, or the function takes no data set and generator.

    Examples
    --------
    >>> import rdpkit
    >>> from rdpkit.verification import verifies
    >>> @verifies(rdpkit.Gaussian(noise_std=2.0, record_norm=1.0), adjacency="add_or_remove_one")
    ... def test_count(dataset, rng):
    ...     return len(dataset) + rng.normal(0.0, 0.5)
    >>> result = test_count.verify(seed=1)
    >>> result.verdict, result.seed
    ('rejected', 1)
    """
    if event is not None:
        _validate.one_of_a_kind("event", event, Event)
    claim = {
        "event": event,
        "adjacency": ordinary(
            Adjacency.parse(adjacency), because="code is run on ordinary records alone"
        ),
        "epsilon": epsilon,
        "delta": delta,
        "view": view,
    }
    # A mistake in the options is an error where it was made, before anything is run.
    check_keywords(options, claim)
    return functools.partial(_test_of, claim=claim, options=options)


def check_keywords(options: Mapping[str, Any], claim: Mapping[str, Any]) -> None:
    """Refuse options that a test in a suite cannot have, and a claim that is none."""
    if options.get("false_alarm_rate") is not None:
        raise ValueError(
            "Expected no false_alarm_rate for one test: all tests of a run share one error rate, "
            "--verify-alpha."
        )
    words = {
        name: value
        for name, value in options.items()
        if name != "neighbours" or isinstance(value, str)
    }
    options_of_test(words)
    if claim["event"] is None and None in (claim["epsilon"], claim["delta"]):
        raise ValueError("Expected an event, or epsilon and delta, as the claim.")


def _test_of(
    function: Callable[..., Any], claim: Mapping[str, Any], options: Mapping[str, Any]
) -> VerifiedTest:
    """The test that a function becomes."""
    named, first = _parameters(function)

    @functools.wraps(function)
    def test(*args: Any, **given: Any) -> Any:
        fixture = given.pop(FIXTURE, None)
        if fixture is None:
            return function(*args, **given)
        fixture.run_decorated(_bound(function, args, given), **claim, **options)
        return None

    def verify(**overrides: Any) -> VerificationResult | ReplayResult:
        # Imported when it is needed, because test modules import this one.
        from rdpkit.verification.evidence.requests import request_of  # noqa: PLC0415

        extra = {name: overrides.pop(name) for name in list(overrides) if name in named}
        request = request_of(
            _bound(function, (), extra),
            name=function.__qualname__,
            **{**claim, **options, **overrides},
        )
        if not request.options.replay:
            return request.run()
        from rdpkit.verification.evidence.replays import replay_of  # noqa: PLC0415 - as above

        return replay_of(request)

    wants = inspect.Parameter(FIXTURE, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    test.__signature__ = inspect.Signature([*first, wants, *named.values()])  # type: ignore[attr-defined]
    test.mechanism, test.verify = function, verify  # type: ignore[attr-defined]
    # So that `rdpkit verify module:function` knows what is claimed.
    if claim["event"] is not None:
        test.event, test.adjacency = claim["event"], claim["adjacency"]  # type: ignore[attr-defined]
    return test  # type: ignore[return-value]


def _parameters(
    function: Callable[..., Any],
) -> tuple[dict[str, inspect.Parameter], list[inspect.Parameter]]:
    """The fixtures of a function, and its ``self`` if it is a method."""
    accepted = "Expected @verifies(event, adjacency=...) above a function of (dataset, rng), got "
    if not inspect.isfunction(function):
        raise ValueError(
            f"{accepted}{function!r:.80}. For another callable, ask for the fixture: "
            "def test_it(verifies): verifies(mechanism, event, adjacency=...)."
        )
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise ValueError(f"{accepted}{function.__qualname__}, which is no ordinary function.")
    every = list(inspect.signature(function).parameters.values())
    first = every[:1] if every and every[0].name == "self" else []
    rest = every[len(first) :]
    in_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(rest) < _DATA or any(one.kind not in in_place for one in rest[:_DATA]):
        names = ", ".join(one.name for one in every)
        raise ValueError(f"{accepted}{function.__qualname__}({names}).")
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = {
        one.name: one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in rest[_DATA:]
        if one.kind not in open_ended
    }
    return named, first


def _bound(
    function: Callable[..., Any], first: tuple[Any, ...], given: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function of a data set and a generator alone."""
    return functools.partial(function, *first, **given) if first or given else function
