"""Plots of a profile: the mix curve, and what each format uses."""

import base64
import io
import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from liquid_tf._profile import names
from liquid_tf._profile.names import describe

_LOAD, _DECODE, _BOTH = "#2a6f97", "#c05621", "#1a202c"
_FILL = "#4c9a8a"
_TRIANGLES_A_ROW = 4

# Corners of a triangle, clockwise from the top, as in the paper's figure 2.
_CORNERS = (("processors", 90), ("throughput", -30), ("disk", 210))
_LABELS = {"processors": "CPU", "throughput": "of the best", "disk": "disk"}


def overview(data: dict[str, Any]) -> Figure:
  """The mix curve above a triangle for each format and the mix."""
  uses = data["utilisation"]
  rows = math.ceil(len(uses) / _TRIANGLES_A_ROW)
  figure = Figure(figsize=(8, 4 + 2.4 * rows), layout="constrained")
  upper, lower = figure.subfigures(2, 1, height_ratios=[4, 2.4 * rows])
  _draw_curve(upper.subplots(), data)
  _draw_triangles(lower, data)
  return figure


def curve(data: dict[str, Any]) -> Figure:
  """Loading, decoding and both along the mixes of two formats (Liquid, figure 3b)."""
  figure = Figure(figsize=(7, 3.8), layout="constrained")
  _draw_curve(figure.subplots(), data)
  return figure


def triangles(data: dict[str, Any]) -> Figure:
  """Use of the machine by each format and the mix (Liquid, figure 2)."""
  rows = math.ceil(len(data["utilisation"]) / _TRIANGLES_A_ROW)
  figure = Figure(figsize=(7, 2.2 * rows), layout="constrained")
  _draw_triangles(figure, data)
  return figure


def data_uri(figure: Figure) -> str:
  """The figure as SVG inside a URI."""
  buffer = io.BytesIO()
  # No date: the same profile gives the same page.
  figure.savefig(buffer, format="svg", metadata={"Date": None})
  return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def _draw_curve(axes: Axes, data: dict[str, Any]) -> None:
  found = data["curve"]
  points = found["points"]
  if not points:
    axes.text(0.5, 0.5, f"only {found['encoded']} was profiled", ha="center")
    axes.set_axis_off()
    return
  share = [100 * point["share"] for point in points]
  for key, label, color in (
    ("load", "load", _LOAD),
    ("decode", "decode", _DECODE),
    ("throughput", "the lowest of all, predicted", _BOTH),
  ):
    # Where memory has everything, nothing is loaded, however fast that would be.
    values = [math.nan if point[key] is None else point[key] for point in points]
    lower = key == "throughput"
    axes.plot(
      share,
      values,
      color=color,
      label=label,
      linewidth=3 if lower else 1.5,
      linestyle="-" if lower else "--",
      zorder=1 if lower else 2,
      alpha=0.45 if lower else 1,
    )
  pair = {found["encoded"], found["raw"]}
  runs = [row for row in data["measured"] if set(row["mix"]) <= pair]
  if runs:
    axes.plot(
      [100 * row["mix"].get(found["raw"], 0) for row in runs],
      [row["throughput"] for row in runs],
      "o",
      color=_BOTH,
      label="measured",
    )
  mix = names.profiled(data["mix"], data["fidelity"])
  if set(mix) <= pair:
    best = 100 * mix.get(found["raw"], 0)
    axes.axvline(best, color=_FILL, linewidth=6, alpha=0.35, label="advised", zorder=0)
  axes.set_xlabel(f"images stored as {found['raw']}, %; the rest is {found['encoded']}")
  axes.set_ylabel("images/s")
  axes.set_yscale("log")
  axes.yaxis.set_major_formatter("{x:g}")
  axes.yaxis.set_minor_formatter(_minor)
  axes.set_xlim(-2, 102)
  axes.grid(True, which="both", alpha=0.25)
  axes.legend(frameon=False, fontsize=9)


def _minor(rate: float, position: int) -> str:
  """Labels of the ticks between powers of ten: 2 and 5, where there is room."""
  del position
  return f"{rate:g}" if f"{rate:e}"[0] in "25" else ""


def _draw_triangles(figure: Figure, data: dict[str, Any]) -> None:
  uses = data["utilisation"]
  rows = math.ceil(len(uses) / _TRIANGLES_A_ROW)
  columns = min(len(uses), _TRIANGLES_A_ROW)
  all_axes = figure.subplots(rows, columns, squeeze=False).flatten()
  for axes in all_axes:
    axes.set_axis_off()
  for axes, use in zip(all_axes, uses):
    _draw_triangle(axes, use)


def _draw_triangle(axes: Axes, use: dict[str, Any]) -> None:
  corners = [
    (math.cos(math.radians(angle)), math.sin(math.radians(angle)))
    for _, angle in _CORNERS
  ]
  outline = [*corners, corners[0]]
  axes.plot(*zip(*outline), color="#a0aec0", linewidth=1)
  for x, y in corners:
    axes.plot([0, x], [0, y], color="#e2e8f0", linewidth=1, zorder=0)
  values = [use[key] for key, _ in _CORNERS]
  inner = [(v * x, v * y) for v, (x, y) in zip(values, corners)]
  axes.fill(*zip(*inner), color=_FILL, alpha=0.6)
  for (key, _), value, (x, y) in zip(_CORNERS, values, corners):
    axes.text(
      1.12 * x,
      1.22 * y if y > 0 else 1.3 * y,
      f"{_LABELS[key]}\n{value:.0%}",
      ha="center",
      va="bottom" if y > 0 else "top",
      fontsize=8,
    )
  axes.set_title(describe(use["mix"]), fontsize=10, fontweight="bold")
  axes.set_xlim(-1.45, 1.45)
  axes.set_ylim(-1.25, 1.7)
  axes.set_aspect("equal")
