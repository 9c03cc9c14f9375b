"""Loops over numbers that are compiled when they are first used."""

from __future__ import annotations

__all__: list[str] = []
