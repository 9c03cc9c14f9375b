"""How the oracles store what they computed: one JSON table each, with decimal strings."""

import json
from pathlib import Path

import mpmath

VALUES = Path(__file__).parent / "values"
DIGITS = 30


def digits(value) -> str:
    """A decimal string with 30 significant digits."""
    return mpmath.nstr(value, DIGITS, min_fixed=0, max_fixed=0)


def write(name: str, *, quantity: str, dps: int, entries: list[dict]) -> None:
    """Rewrite the table ``name``; ``dps`` is the working precision of the script."""
    lines = ",\n  ".join(json.dumps(entry) for entry in entries)
    head = json.dumps({"quantity": quantity, "script": f"tests/oracles/{name}.py", "mp.dps": dps})
    text = head[:-1] + f', "entries": [\n  {lines}\n]}}\n'
    json.loads(text)
    VALUES.mkdir(exist_ok=True)
    (VALUES / f"{name}.json").write_text(text, encoding="utf-8")


def load(name: str) -> list[dict]:
    """The entries of a table."""
    return json.loads((VALUES / f"{name}.json").read_text(encoding="utf-8"))["entries"]
