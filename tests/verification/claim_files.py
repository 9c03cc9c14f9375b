"""Claims files to change and to break."""

KEYS = {
    "id": '"a"',
    "source": '"a paper, Table 1"',
    "mechanism": '"gaussian"',
    "adjacency": '"add_or_remove_one"',
    "epsilon": "1.10",
    "delta": "1e-5",
}
PARAMETERS = {"noise_std": "5.0", "record_norm": "1.0"}
SCENARIO = '[[claim.scenario]]\ndescription = "as elsewhere"\n'


def text(*, parameters=PARAMETERS, after="", **changes):
    """One claim in TOML; changes are raw TOML values, and None removes a key."""
    keys = {k: v for k, v in {**KEYS, **changes}.items() if v is not None}
    lines = ["[[claim]]", *(f"{k} = {v}" for k, v in keys.items())]
    if isinstance(parameters, str):
        lines += [f"parameters = {parameters}"]
    elif parameters is not None:
        lines += ["[claim.parameters]", *(f"{k} = {v}" for k, v in parameters.items())]
    return "\n".join(lines) + "\n" + after
