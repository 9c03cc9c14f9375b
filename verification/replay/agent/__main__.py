"""Answer requests about one target, a JSON object a line, in the environment that it needs."""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any, Dict

from .examine import examined, parts_at
from .lines import computing_lines
from .releases import parts_of
from .runs import ExaminedData, heard, loaded, release_of, run_once
from .seeds import draws
from .tape import Tape


def answer(request: Dict[str, Any], target: Any = None) -> Any:
    """The answer to a request: about the target, a pair, or ordinary runs."""
    if request["do"] == "draws":
        data = ExaminedData(**request["data"])
        return draws(request["target"], request["directory"], data, request["seed"])
    if target is None:
        target = loaded(request["target"], request["directory"])
    if request["do"] == "describe":
        return described(target)
    if request["do"] == "examine":
        asked = {key: request[key] for key in ("seed", "again", "traced")}
        pair = [ExaminedData(**one) for one in request["pair"]]
        sizes = request["chain"]
        if not sizes:
            return examined(target, *pair, **asked)
        chain = [pair[0].first(size, pair[1]) for size in sizes]
        place = parts_at(target, chain, request["seed"])
        pair = chain[place : place + 2][:: 1 if sizes[place] > sizes[place + 1] else -1]
        return {**examined(target, *pair, kept=True, **asked), "place": place}
    if request["do"] == "computes":
        return computing_lines(target, ExaminedData(**request["data"]), request["seed"])
    if request["do"] == "import":
        # What the target imports when it runs is there before draws are tapped.
        run_once(target, ExaminedData(**request["data"]), Tape(), 0)
        return None
    return released(target, ExaminedData(**request["data"]), request)


def described(target: Any) -> Dict[str, Any]:
    """What the target says of itself, in plain values."""
    names = ("columns", "adjacency", "epsilon", "delta", "records", "dimension", "classes",
             "record_norm", "because", "any_values", "user", "reported")  # fmt: skip
    found = {name: getattr(target, name, None) for name in names}
    found["adjacency"] = getattr(found["adjacency"], "value", found["adjacency"])
    if found["user"]:
        # Whoever names it says that it is a column.
        found["columns"] = {**(found["columns"] or {}), found["user"]: []}
    return {name: one for name, one in found.items() if one is not None and not callable(one)}


def released(target: Any, data: ExaminedData, request: Dict[str, Any]) -> Any:
    """Releases of ordinary runs: the parts that were asked for, or all."""
    import numpy as np  # noqa: PLC0415 - as above

    found = []
    for place in range(request["count"]):
        rng = np.random.Generator(np.random.PCG64([*request["seed"], place]))
        try:
            with heard():
                parts = parts_of(release_of(target, data, rng))
            wanted = request["parts"]
            one = {key: parts.get(key, "not there") for key in wanted} if wanted else parts
            # A test compares numbers; that there is none is a thing of its own.
            nans = {
                key for key, part in one.items() if isinstance(part, float) and math.isnan(part)
            }
            one = {**one, **dict.fromkeys(nans, "no number")}
        except (Exception, SystemExit) as error:
            one = {"exception": type(error).__name__}
        found.append(one)
    return found


def main() -> None:
    """Answer until there are no more requests. What the target prints is no answer."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            found: Dict[str, Any] = {"answer": answer(json.loads(line))}
        except Exception as error:
            found = {"error": "%s: %s" % (type(error).__name__, error)}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
