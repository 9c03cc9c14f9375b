import gc

import pytest


@pytest.fixture(autouse=True)
def _no_collections(monkeypatch):
    """Collecting garbage between rounds costs seconds in a test session, and changes no result."""
    monkeypatch.setattr(gc, "collect", lambda: 0)
