"""Figures of experiments: accuracy against what was varied, and samples beside originals."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from rdpkit.cli.option_types import FOLDER
from rdpkit.cli.output import one_line_errors
from rdpkit.formats.files import write_whole
from rdpkit.mechanisms.cli.options import (
    chosen_experiment,
    experiment_options,
    file_option,
    running,
)
from rdpkit.mechanisms.experiments.experiment import Experiment, selected, short
from rdpkit.mechanisms.experiments.preparation import training_records
from rdpkit.mechanisms.experiments.runner import Runner, Summary, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
# Okabe and Ito's colours, which colour-blind people can tell apart. Markers differ, too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_SETTINGS: Any = {"svg.hashsalt": "rdpkit", "svg.fonttype": "path", "font.family": "DejaVu Sans"}
# Images of each row of samples: one of each of the first classes.
_COLUMNS = 10
_LABELS = {
    "privacy.target_epsilon": "target epsilon",
    "mechanism.order_of_mixture": "order of mixture l",
    "mechanism.samples_per_class": "releases per class",
    "mechanism.feature_noise": "noise on features",
}


def check_format(path: Path) -> str:
    """The file's ending, one of :data:`FORMATS`."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise ValueError(f"Expected {path} to end in .svg or .png, got {path.suffix!r}.")
    return suffix


def draw_accuracy(
    path: Path,  # SVG or PNG, by its ending
    summaries: Sequence[Summary],  # Summaries of one experiment that varies at least one number
    *,
    title: str,  # Title of the picture
) -> None:
    """Draw accuracy against the varied key with most values; other varied keys give more lines.

    The bars are one standard deviation over seeds; hollow points are what the source printed.
    Where the noise is stated, and not calibrated to a target, epsilon depends on what was varied,
    and a second axis shows it.
    """
    kind = check_format(path)
    key = _axis(summaries)
    lines: dict[str, list[Summary]] = {}
    for summary in summaries:
        label = _label(summary, key)
        lines.setdefault(label, []).append(summary)
    import matplotlib as mpl  # noqa: PLC0415  (imported only where something is drawn)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        every: list[float] = []
        for number, (label, members) in enumerate(lines.items()):
            ordered = sorted(members, key=lambda s: float(_varied(s)[key]))
            x = [float(_varied(s)[key]) for s in ordered]
            every += x
            colour, marker = _COLOURS[number % 7], _MARKERS[number % 7]
            axes.errorbar(
                x,
                [s.mean for s in ordered],
                yerr=[s.std or 0.0 for s in ordered],
                color=colour,
                marker=marker,
                capsize=2.5,
                label=label or "measured",
            )
            printed = [(a, s.published) for a, s in zip(x, ordered, strict=True) if s.published]
            if printed:
                axes.plot(
                    [a for a, _ in printed],
                    [b for _, b in printed],
                    color=colour,
                    marker=marker,
                    markerfacecolor="white",
                    linestyle=":",
                    label=f"{label}, published" if label else "published",
                )
        if min(every) > 0 and max(every) >= 10 * min(every):
            if key.endswith("order_of_mixture"):
                axes.set_xscale("log", base=2)
            else:
                axes.set_xscale("log")
                _plain_ticks(axes.xaxis)
        axes.set_xlabel(_LABELS.get(key, key.split(".")[-1].replace("_", " ")))
        axes.set_ylabel("accuracy on real test records")
        figure.suptitle(title, fontsize=9, wrap=True)
        axes.grid(visible=True, linewidth=0.5)
        curves = [*axes.get_legend_handles_labels()]
        right = _draw_epsilon(axes, key, lines)
        if right is not None:
            curves = [a + b for a, b in zip(curves, right, strict=True)]
        # The legend is below the picture, because inside it the curves of the other axis would
        # cover it.
        figure.legend(*curves, fontsize=7, loc="outside lower center", ncols=2)
        _save(figure, path, kind)


def _plain_ticks(axis: Axis) -> None:
    """0.2, 0.5, 1, 2, 5 on a logarithmic axis of few decades, where powers of ten would overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_epsilon(
    axes: Axes, key: str, lines: Mapping[str, Sequence[Summary]]
) -> tuple[list[Any], list[Any]] | None:
    """Draw epsilon on a second axis for lines whose noise was stated; return legend entries."""
    curves = {
        label: sorted(
            (float(_varied(s)[key]), float(s.row["epsilon"]))
            for s in members
            if s.row.get("target_epsilon") is None and s.row.get("epsilon") is not None
        )
        for label, members in lines.items()
    }
    curves = {label: points for label, points in curves.items() if len(points) > 1}
    if not curves:
        return None
    right = axes.twinx()
    for number, (label, points) in enumerate(curves.items()):
        right.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color="#555555",
            linestyle=("--", "-.", ":")[number % 3],
            label=f"{label}: epsilon, upper bound" if label else "epsilon, upper bound",
        )
    found = [y for points in curves.values() for _, y in points]
    if min(found) > 0 and max(found) >= 10 * min(found):
        right.set_yscale("log")
        _plain_ticks(right.yaxis)
    # The axis's label has only what is the same for all curves; their own labels have the rest.
    rows = [s.row for label in curves for s in lines[label]]
    deltas = {f"delta {row['delta']:.3g}" for row in rows}
    relations = {str(row["adjacency"]).replace("_", " ") for row in rows}
    common = [word for words in (deltas, relations) if len(words) == 1 for word in words]
    right.set_ylabel(f"epsilon ({', '.join(common)})" if common else "epsilon")
    handles, labels = right.get_legend_handles_labels()
    return list(handles), list(labels)


def draw_samples(
    path: Path,  # SVG or PNG, by its ending
    # Images by the label of their row: originals first; shape (k, d)
    rows: Mapping[str, NDArray[np.float32]],
    *,
    image_shape: tuple[int, int, int],  # Channels (1 or 3), height and width
    title: str,  # Title of the grid
) -> None:
    """A grid of images, one labelled row after the other, each with its own range of grey."""
    kind = check_format(path)
    if image_shape[0] not in (1, 3):
        raise ValueError(f"Expected images of 1 or 3 channels to draw, got {image_shape[0]}.")
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = max(len(images) for images in rows.values())
    with mpl.rc_context(_SETTINGS):
        figure = Figure(
            figsize=(0.55 * columns + 1.6, 0.58 * len(rows) + 0.5), layout="constrained"
        )
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for (label, images), line in zip(rows.items(), axes, strict=True):
            low, high = float(images.min()), float(images.max())
            span = high - low if high > low else 1.0
            for i, axis in enumerate(line):
                axis.set_xticks([])
                axis.set_yticks([])
                if i >= len(images):
                    axis.set_visible(False)
                    continue
                image = ((images[i] - low) / span).reshape(image_shape).transpose(1, 2, 0)
                axis.imshow(image.squeeze(), cmap="gray", vmin=0.0, vmax=1.0)
            line[0].set_ylabel(label, fontsize=6, rotation=0, ha="right", va="center")
        figure.suptitle(title, fontsize=9)
        _save(figure, path, kind)


def _save(figure: Figure, path: Path, kind: str) -> None:
    buffer = io.BytesIO()
    metadata: Any = {"Date": None} if kind == "svg" else {}
    figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    write_whole(path, buffer.getvalue())


def _varied(summary: Summary) -> Mapping[str, Any]:
    """Varied values by their full names: ``table.key`` where a whole table of keys was varied."""
    flat: dict[str, Any] = {}
    for key, value in summary.row["varied"].items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": item for inner, item in value.items()}
        else:
            flat[key] = value
    return flat


def _label(summary: Summary, axis: str) -> str:
    """The label of a line: all varied values except those on the axis."""
    words = [
        f"{key.split('.')[-1]} {short(value)}"
        for key, value in summary.row["varied"].items()
        if key != axis and not (isinstance(value, Mapping) and axis.startswith(f"{key}."))
    ]
    return ", ".join(words)


def _axis(summaries: Sequence[Summary]) -> str:
    counts: dict[str, set[float]] = {}
    for summary in summaries:
        for key, value in _varied(summary).items():
            if isinstance(value, (int, float)) and math.isfinite(value):
                counts.setdefault(key, set()).add(float(value))
    several = {key: len(values) for key, values in counts.items() if len(values) > 1}
    if not several:
        raise ValueError("Expected a number that the experiment varies to draw against, got none.")
    return max(several, key=lambda key: several[key])


def one_of_each(labels: NDArray[Any]) -> list[int]:
    """Numbers of the first records of the first classes; classes without records are left out."""
    found, firsts = np.unique(labels, return_index=True)
    return [int(first) for label, first in zip(found, firsts, strict=True) if label < _COLUMNS]


def sample_rows(
    experiment: Experiment, runner: Runner, seed: int
) -> tuple[dict[str, NDArray[np.float32]], tuple[int, int, int]]:
    """Images of every setting beside originals, by the label of their row, and their shape."""
    rows: dict[str, Any] = {}
    shapes: dict[str, tuple[int, int, int]] = {}
    for number, cell in enumerate(experiment.cells):
        scaled = runner.data(cell)
        if scaled.data.image_shape is None:
            raise ValueError("Expected images to draw, got records of a table.")
        name = cell.dataset["name"]
        if name not in shapes:
            shapes[name] = scaled.data.image_shape
            rows[f"{name} original"] = scaled.train[one_of_each(scaled.data.train_labels)]
        made = runner.synthesize(cell, seed)
        records = training_records(cell, made)
        if records.shape[1] != scaled.train.shape[1]:
            raise ValueError(f"Expected images to draw, but {cell.mechanism} releases none.")
        hard = made.labels if made.labels.ndim == 1 else made.labels.argmax(axis=1)
        words = ", ".join(f"{k.split('.')[-1]} {short(v)}" for k, v in cell.varied.items())
        label = f"{name} {words or cell.mechanism}"
        label = label if label not in rows else f"{label} ({number + 1})"
        rows[label] = records[one_of_each(hard)]
    if len(set(shapes.values())) > 1:
        raise ValueError("Expected images of one size: draw each data set on its own.")
    return rows, next(iter(shapes.values()))


@click.command()
@click.argument("kind", type=click.Choice(["accuracy", "samples"]))
@file_option("-o", "--output", "output", metavar="FILE.svg", text="An SVG or PNG file.")
@click.option(
    "--results",
    type=FOLDER,
    default=Path("results"),
    show_default=True,
    help="The folder of results of rdpkit evaluate; runs that it lacks are made.",
)
@click.option("--seeds", type=click.IntRange(min=1), help="Only so many of the seeds.")
@click.option("--where", "conditions", multiple=True, metavar="KEY=VALUE", help="Only these.")
@experiment_options
@one_line_errors
def experiment_figures(
    *,
    kind: str,
    output: Path | None,
    results: Path,
    seeds: int | None,
    conditions: tuple[str, ...],
    experiment: str | None,
    list_them: bool,
    data_dir: Path | None,
    device: str | None,
) -> None:
    """Draw the accuracy of EXPERIMENT, or samples of each of its settings beside originals.

    Samples show private records beside released ones, so they are for public data.
    """
    found = chosen_experiment(experiment, list_them=list_them)
    if found is None:
        return
    if output is None:
        raise ValueError("Expected --output: the SVG or PNG file to draw to.")
    check_format(output)
    if conditions:
        found = selected(found, conditions)
    found = replace(found, seeds=found.seeds[:seeds])
    title = found.title or found.name
    with running(data_dir, device) as runner:
        if kind == "accuracy":
            draw_accuracy(output, summarise(runner.run(found, results).rows), title=title)
            return
        rows, shape = sample_rows(found, runner, found.seeds[0])
    draw_samples(output, rows, image_shape=shape, title=title)


if __name__ == "__main__":
    experiment_figures()
