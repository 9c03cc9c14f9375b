"""Mechanisms of papers. They expand to primitive events if that is sound."""
