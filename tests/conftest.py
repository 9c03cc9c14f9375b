"""Settings and the browser that every test shares."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import Browser, opened

# Whoever runs the suite runs what CI ran: the same examples, and the same noise (the conftest.py
# of the project). A failure of fresh ones prints how to replay it.
settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fresh", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Otherwise every number below 1e-12 is about the same, and a delta of 1e-100 can be anything.
type(pytest.approx(1.0)).DEFAULT_ABSOLUTE_TOLERANCE = 0.0


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of pages, with no network."""
    with opened(tmp_path_factory.mktemp("screenshots")) as found:
        yield found
