"""Works whose libraries are functions of the test."""

from benchmarks.model import Adapter, Case, Goal, Prepared, Reference, Work

REFERENCE = Reference(low=["1", "2"], high=["1", "2"], tolerance=1e-10, about="one and two")


def adapter(library, found=(1.0, 2.0), *, variant="", error=None, slow=False, **prepared):
    """An adapter whose library returns ``found``, or raises."""

    def prepare(case):
        if error is not None:
            raise error
        return Prepared(call=lambda index: found, **prepared)

    return Adapter(library=library, variant=variant, prepare=prepare, slow=slow)


def work(*adapters, goals=(), cases=("only",), reference=REFERENCE):
    """A work with these adapters."""
    return Work(
        id="fake",
        title="A fake | work",
        cases=[Case(id=name, parameters={}, quick={}) for name in cases],
        adapters=list(adapters),
        reference=None if reference is None else lambda case: reference,
        goals=list(goals),
        about="Nothing.",
    )


def goal(against, least):
    """A ratio that is wanted."""
    return Goal(name=f"{against} / rdpkit", against=against, least=least)
