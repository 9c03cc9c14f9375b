"""A claim for each call of a privacy library, with what the code says, and what it does not."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import rdpkit
from rdpkit.events import event_from_parameters
from rdpkit.formats.text import rounded_up
from rdpkit.verification.claims.scanning.calls import LIBRARIES, Argument, FoundCall
from rdpkit.verification.claims.scanning.literals import Literal

_WHOLE = ("batch_size", "dataset_size", "steps", "accumulation_steps")
_ADD_OR_REMOVE = "add_or_remove_one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A value that the code states."""

    value: Any
    comment: str = ""  # Where it stands, if not in the call itself


@dataclass(slots=True, kw_only=True)
class ClaimProposal:
    """A claim that a call of a library suggests."""

    call: FoundCall  # The call
    mechanism: str  # What is released
    adjacency: str = _ADD_OR_REMOVE  # What the library's accountant means by neighbours
    known: dict[str, Known] = field(default_factory=dict)  # Parameters of the mechanism
    # What is claimed, if the code says so.
    epsilon: Known | None = None
    delta: Known | None = None
    missing: dict[str, str] = field(default_factory=dict)
    """Parameters that the code does not say, each with what it is; "epsilon" and "delta", too."""
    notes: list[str] = field(default_factory=list)  # What a reader should know
    comments: list[str] = field(default_factory=list)  # Lines above the claim's parameters

    @property
    def source(self) -> str:
        """Where the claim comes from, in words."""
        return f"{self.call.place}: {self.call.function} of {LIBRARIES[self.call.library]}"

    def take(
        self,
        name: str,  # The parameter of the mechanism, or "epsilon" or "delta"
        meaning: str,  # What it is, for somebody who has to find it
        *given: Argument | Literal | None,  # Where it may stand
    ) -> None:
        """A parameter: the first of some arguments that the code states, or it is missing."""
        text = ""
        for one in given:
            found = one.literal if isinstance(one, Argument) else one
            if isinstance(one, Argument) and not text:
                text = one.text
            number = None if found is None else found.value
            if found is not None and _is_number(number):
                if name in _WHOLE and isinstance(number, float) and number.is_integer():
                    number = int(number)
                stated = Known(value=number, comment=found.origin)
                if name in ("epsilon", "delta"):
                    setattr(self, name, stated)
                else:
                    self.known[name] = stated
                return
        self.missing[name] = f"{meaning} (in the code: {text})" if text else meaning


_SIZE = "the number of records of the training data"
_BATCH = "the expected number of records in a batch"
_NOISE = "the noise multiplier: standard deviation of the noise over the clipping norm"
_EPOCHS = "how often training passes over the data; or steps, the number of noisy updates"
_EPSILON = "the number that you state; 0 asks rdpkit claims fix for the smallest proven one"
_DELTA = "the delta that you state"
_EPOCH_NAMES = ("epochs", "num_epochs", "n_epochs", "nb_epochs", "max_epochs", "epoch")
_BATCH_NAMES = ("batch_size", "train_batch_size", "logical_batch_size", "expected_batch_size")
_DELTA_NAMES = ("delta", "target_delta")


def _opacus(call: FoundCall) -> ClaimProposal:
    file = call.file
    found = ClaimProposal(call=call, mechanism="dpsgd")
    loader = file.keyword_beside("DataLoader", "batch_size")
    beside = (
        file.keyword_beside("get_epsilon", "delta"),
        file.values.values_of(_DELTA_NAMES),
    )
    if call.function == "make_private_with_epsilon":
        found.take("epsilon", _EPSILON, call.get("target_epsilon"))
        found.take("delta", _DELTA, call.get("target_delta"))
        found.missing["noise_multiplier"] = (
            f"{_NOISE}; Opacus chooses it: print optimizer.noise_multiplier"
        )
    else:
        found.take("noise_multiplier", _NOISE, call.get("noise_multiplier"))
        found.missing["epsilon"] = _EPSILON
        found.take("delta", _DELTA, *beside)
    found.take("batch_size", _BATCH, file.values.values_of(_BATCH_NAMES), loader)
    found.missing["dataset_size"] = _SIZE
    found.take("epochs", _EPOCHS, call.get("epochs"), file.values.values_of(_EPOCH_NAMES))
    sampling = call.get("poisson_sampling")
    if sampling is not None and sampling.literal is not None and sampling.literal.value is False:
        found.known["sampling"] = Known(value="shuffle", comment="poisson_sampling=False")
    return found


def _tf_optimizer(call: FoundCall) -> ClaimProposal:
    file = call.file
    found = ClaimProposal(call=call, mechanism="dpsgd")
    place = "1" if "0" in call.arguments else "noise_multiplier"
    found.take("noise_multiplier", _NOISE, call.get("noise_multiplier", place))
    batch = file.keyword_beside("fit", "batch_size") or file.values.values_of(_BATCH_NAMES)
    found.take("batch_size", _BATCH, batch)
    found.missing["dataset_size"] = _SIZE
    epochs = file.keyword_beside("fit", "epochs") or file.values.values_of(_EPOCH_NAMES)
    found.take("epochs", _EPOCHS, epochs)
    found.missing["epsilon"] = _EPSILON
    found.take("delta", _DELTA, file.values.values_of(_DELTA_NAMES))
    _microbatches(found, call.get("num_microbatches"))
    found.comments.append(
        '# sampling = "shuffle"  # if batches are cut from shuffled data; the usual accountant '
        "assumes Poisson samples"
    )
    return found


def _microbatches(found: ClaimProposal, given: Argument | None) -> None:
    """Records that are averaged before clipping, as TensorFlow Privacy counts them."""
    batch = found.known.get("batch_size")
    if given is None or (given.literal is not None and given.literal.value is None):
        return
    count = None if given.literal is None else given.literal.value
    if batch is not None and isinstance(count, int) and count > 0 and batch.value % count == 0:
        size = int(batch.value // count)
        if size > 1:
            found.known["microbatch_size"] = Known(
                value=size, comment=f"{batch.value} records in {count} microbatches"
            )
        return
    found.comments.append(f"# microbatch_size = ...  # batch size over {given.text}")


def _tf_statement(call: FoundCall) -> ClaimProposal:
    found = ClaimProposal(call=call, mechanism="dpsgd")
    statement = call.function.endswith("_statement")
    order = ("dataset_size", "batch_size", "epochs", "noise_multiplier", "delta")
    if not statement:
        order = ("dataset_size", "batch_size", "noise_multiplier", "epochs", "delta")
    place = {name: str(number) for number, name in enumerate(order)}
    found.take("noise_multiplier", _NOISE, call.get("noise_multiplier", place["noise_multiplier"]))
    found.take("dataset_size", _SIZE, call.get("number_of_examples", "n", place["dataset_size"]))
    found.take("batch_size", _BATCH, call.get("batch_size", place["batch_size"]))
    found.take("epochs", _EPOCHS, call.get("num_epochs", "epochs", place["epochs"]))
    found.take("delta", _DELTA, call.get("delta", place["delta"]))
    found.missing["epsilon"] = _EPSILON
    return found


def _jax_keras(call: FoundCall) -> ClaimProposal:
    found = ClaimProposal(call=call, mechanism="dpsgd")
    noise = call.get("noise_multiplier")
    if noise is None or (noise.literal is not None and noise.literal.value is None):
        found.missing["noise_multiplier"] = f"{_NOISE}; jax-privacy chooses it: print it"
    else:
        found.take("noise_multiplier", _NOISE, noise)
    found.take("epsilon", _EPSILON, call.get("epsilon"))
    found.take("delta", _DELTA, call.get("delta"))
    found.take("batch_size", _BATCH, call.get("batch_size"))
    found.take("dataset_size", _SIZE, call.get("train_size"))
    found.take("steps", "the number of optimizer updates", call.get("train_steps"))
    accumulated = call.get("gradient_accumulation_steps")
    if accumulated is not None:
        found.take("accumulation_steps", "batches for one update", accumulated)
    poisson = call.get("poisson_sampling_in_fit")
    if poisson is None or poisson.literal is None or poisson.literal.value is not True:
        found.comments.append(
            '# sampling = "shuffle"  # unless your data iterator draws Poisson samples, which the '
            "number assumes"
        )
    return found


def _jax_calibrated(call: FoundCall) -> ClaimProposal:
    found = ClaimProposal(call=call, mechanism="dpsgd")
    found.missing["noise_multiplier"] = f"{_NOISE}; jax-privacy chooses it: print it"
    found.take("epsilon", _EPSILON, call.get("target_epsilon"))
    found.take("delta", _DELTA, call.get("target_delta"))
    found.take("batch_size", _BATCH, call.get("batch_sizes"))
    found.take("dataset_size", _SIZE, call.get("num_samples"))
    found.take("steps", "the number of updates", call.get("num_updates"))
    return found


def _jax_matrix(call: FoundCall) -> ClaimProposal:
    found = ClaimProposal(call=call, mechanism="unmodelled")
    calibrated = call.file.keyword_beside("calibrate", "epsilon")
    found.take("epsilon", _EPSILON, calibrated)
    found.take("delta", _DELTA, call.file.keyword_beside("calibrate", "delta"))
    found.missing["mechanism"] = (
        'the strategy: write mechanism = "matrix_factorization" with its parameters '
        "(rdpkit epsilon matrix-factorization --help)"
    )
    for name in ("num_bands", "iterations", "expected_participations"):
        given = call.get(name)
        if given is not None:
            literal = given.literal
            value = given.text if literal is None else literal.value
            found.notes.append(f"{name} = {value}")
    return found


def _diffprivlib(call: FoundCall) -> ClaimProposal:
    found = ClaimProposal(call=call, mechanism="epsilon_delta", adjacency="replace_one")
    given = call.get("epsilon")
    usual = None
    if given is None and not call.function.startswith("mechanisms"):
        usual = Literal(1.0, "the default of diffprivlib")
    found.take("epsilon", "the epsilon that is passed", given, usual)
    delta = call.get("delta")
    found.take("delta", "the delta that is passed", delta or Literal(0, "pure privacy"))
    for name, stated in (("epsilon", found.epsilon), ("delta", found.delta)):
        if stated is not None:
            found.known[name] = Known(value=stated.value)
    found.known["adjacency"] = Known(value="replace_one")
    found.notes.append(
        "this takes diffprivlib at its word for one call; calls on the same data add up: describe "
        'them together with mechanism = "composed"'
    )
    return found


def _dp_accounting(call: FoundCall) -> ClaimProposal:
    argument = call.file.argument
    event = _event(call.function, call.arguments, argument)
    delta = call.file.keyword_beside("get_epsilon", "target_delta") or call.file.values.values_of(
        _DELTA_NAMES
    )
    if event is None:
        found = ClaimProposal(call=call, mechanism="unmodelled")
        found.missing["mechanism"] = "what is released: not all of it is a number in the code"
        given = ", ".join(one.text for one in call.arguments.values())
        found.notes.append(f"in the code: {call.function}({given})")
    else:
        mechanism = event.pop("mechanism")
        found = ClaimProposal(call=call, mechanism=mechanism)
        found.known = {name: Known(value=value) for name, value in event.items()}
    found.missing["epsilon"] = _EPSILON
    found.take("delta", _DELTA, delta)
    return found


def _event(
    function: str,
    arguments: dict[str, Argument],
    argument: Callable[[Any], Argument],
) -> dict[str, Any] | None:
    """An event of dp-accounting as parameters of ours; None if the code does not say all of it."""
    if function == "dpsgd_event":
        return _dpsgd_event(arguments)
    inner = [one.node for one in arguments.values()]
    numbers = [_number_of(one) for one in arguments.values()]
    if function == "GaussianDpEvent" and len(numbers) == 1 and numbers[0] is not None:
        return {"mechanism": "gaussian", "noise_std": numbers[0], "record_norm": 1.0}
    if function == "LaplaceDpEvent" and len(numbers) == 1 and numbers[0] is not None:
        return {"mechanism": "laplace", "noise_scale": numbers[0], "record_norm": 1.0}
    if function not in ("PoissonSampledDpEvent", "SelfComposedDpEvent") or len(numbers) != 2:
        return None
    place = 1 if function == "PoissonSampledDpEvent" else 0
    node, number = inner[place], numbers[1 - place]
    part = _event_of_node(node, argument)
    if part is None or number is None:
        return None
    if function == "SelfComposedDpEvent":
        return {"mechanism": "repeated", "count": number, "event": part}
    if part["mechanism"] != "gaussian":
        return None
    return {**part, "mechanism": "poisson_sampled_gaussian", "sampling_probability": number}


def _dpsgd_event(arguments: dict[str, Argument]) -> dict[str, Any] | None:
    """DP-SGD as jax-privacy writes it: noise, number of updates, sampling probability."""
    noise, count, probability = (
        _number_of(arguments.get(name, arguments.get(str(place))))
        for place, name in enumerate(("noise_multiplier", "iterations", "sampling_prob"))
    )
    if noise is None or count is None or probability is None:
        return None
    part = {
        "mechanism": "poisson_sampled_gaussian",
        "noise_std": noise,
        "record_norm": 1.0,
        "sampling_probability": probability,
    }
    return {"mechanism": "repeated", "count": count, "event": part}


def _number_of(argument: Argument | None) -> Any:
    """The number that an argument is; None if it is none, or the code does not say."""
    literal = None if argument is None else argument.literal
    return None if literal is None or not _is_number(literal.value) else literal.value


def _event_of_node(node: Any, argument: Callable[[Any], Argument]) -> dict[str, Any] | None:
    function = getattr(node, "func", None)
    name = getattr(function, "attr", getattr(function, "id", ""))
    if not name:
        return None
    arguments = {str(place): argument(one) for place, one in enumerate(node.args)}
    arguments |= {one.arg: argument(one.value) for one in node.keywords if one.arg}
    return _event(name, arguments, argument)


def proposals(calls: Iterable[FoundCall]) -> list[ClaimProposal]:
    """A claim for each call.

    Those of which nothing is missing but epsilon have the smallest one that is proven. An
    event of dp-accounting of which the code does not say enough is left out beside a call of
    another library in the same file, because it accounts for that.
    """
    calls = list(calls)
    others = {call.path for call in calls if call.library != "dp_accounting"}
    every = [_completed(_proposal(call)) for call in calls]

    def is_left_out(one: ClaimProposal) -> bool:
        of_events = one.mechanism == "unmodelled" and one.call.library == "dp_accounting"
        return of_events and one.call.path in others

    return [one for one in every if not is_left_out(one)]


def _proposal(call: FoundCall) -> ClaimProposal:
    match call.library, call.function:
        case "opacus", _:
            return _opacus(call)
        case "tensorflow_privacy", function:
            is_statement = function.startswith("compute_")
            return _tf_statement(call) if is_statement else _tf_optimizer(call)
        case "jax_privacy", "DPKerasConfig":
            return _jax_keras(call)
        case "jax_privacy", "calibrate_noise_multiplier":
            return _jax_calibrated(call)
        case "jax_privacy", "BandMFConfig.default":
            return _jax_matrix(call)
        case "diffprivlib", _:
            return _diffprivlib(call)
        case _:
            return _dp_accounting(call)


def _completed(found: ClaimProposal) -> ClaimProposal:
    """The proposal without values that the mechanism refuses, and with an epsilon if it can be."""
    values = {name: one.value for name, one in found.known.items()}
    beside = set() if found.mechanism == "epsilon_delta" else {"epsilon", "delta"}
    if found.mechanism == "unmodelled" or set(found.missing) - beside:
        return _without_refused(found, values)
    try:
        event = event_from_parameters(found.mechanism, values)
        if found.epsilon is None and found.delta is not None:
            best = rdpkit.epsilon(event, delta=found.delta.value, adjacency=found.adjacency)
            if math.isfinite(best.epsilon):
                text = rounded_up(best.epsilon, digits=4)
                found.epsilon = Known(value=text, comment="the best upper bound, rounded up")
                del found.missing["epsilon"]
    except (ValueError, ArithmeticError) as error:
        found.missing["parameters"] = f"values that fit together: {error}"
        return _without_refused(found, values)
    return found


def _without_refused(found: ClaimProposal, values: dict[str, Any]) -> ClaimProposal:
    from rdpkit.events import check_given_parameters  # noqa: PLC0415 - of this check alone

    if found.mechanism == "unmodelled":
        return found
    for name in [*values]:
        try:
            check_given_parameters(found.mechanism, {name: values[name]})
        except ValueError as error:
            found.missing[name] = f"a value that is accepted: {error}"
            del found.known[name]
    try:
        kept = {name: one.value for name, one in found.known.items()}
        check_given_parameters(found.mechanism, kept)
    except ValueError as error:
        found.missing["parameters"] = f"values that fit together: {error}"
        found.known = {}
    return found


def identifiers(found: Iterable[ClaimProposal]) -> list[str]:
    """A name for each claim, from its file and line; none twice."""
    names: list[str] = []
    for one in found:
        stem = re.sub(r"[^A-Za-z0-9]+", "-", one.call.path.rpartition(".")[0]).strip("-").lower()
        name = f"{stem or 'code'}-{one.call.line}"
        while name in names:
            name += "-again"
        names.append(name)
    return names


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def without_missing(found: ClaimProposal) -> ClaimProposal:
    """The proposal with nothing but its place, for one whose values no claim accepts."""
    return dataclasses.replace(
        found,
        mechanism="unmodelled",
        known={},
        epsilon=None,
        delta=None,
        missing={"mechanism": "what is released, and every number"},
    )
