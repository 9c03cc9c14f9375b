"""Mechanisms of papers, which are made of primitive events wherever that is sound."""
