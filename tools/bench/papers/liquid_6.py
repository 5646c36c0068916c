"""Liquid, figure 6: preparing PNG and JPEG files beside other loaders."""

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tools.bench import page
from tools.bench.papers.figure import Figure, Part, Setting, results, style

# Photographs by MB/s, so that an epoch takes half a second at least: of shorter ones
# the beginning and the end are a large part.
_RATES = {100: 1024, 300: 1024, 750: 4096}
_QUICK_RATES = {100: 24}
# Of the files, as in the paper.
_SHARE = 0.3
_SIZES = {"side": 512, "batch_size": 32, "epochs": 3, "rounds": 2}
_QUICK_SIZES = {"side": 64, "batch_size": 4, "epochs": 2, "rounds": 1}
_SECONDS, _QUICK_SECONDS = 1.0, 0.05
# Rows of the table: what the paper has, then what else is there.
_PEERS = {
  "dali": "DALI",
  "tf.data": "stock tf.data",
  "minio": "MinIO's policy (CoorDL)",
}
_MIXES = {"mix": "mix", "mix without l3": "best mix without L3"}
# Over DALI, in the paper: T4, V100, RTX3090.
_PAPER = {"png": "3.05, 3.05 and 2.25", "jpeg": "1.54, 1.52 and nearly 1"}


def _why_not() -> str | None:
  from tools.bench import preparation

  return preparation.why_not()


def _parts(extension: str, setting: Setting) -> Mapping[str, Part]:
  return {
    f"{extension}, {rate} MB/s": functools.partial(
      _measure, setting, extension, rate, images
    )
    for rate, images in (_QUICK_RATES if setting.quick else _RATES).items()
  }


def _measure(
  setting: Setting, extension: str, rate: int, images: int
) -> dict[str, Any]:
  from tools.bench import preparation

  return preparation.bench(
    setting.folder,
    extension=extension,
    images=images,
    share=_SHARE,
    rate=rate * 10**6,
    threads=len(os.sched_getaffinity(0)),
    seconds=_QUICK_SECONDS if setting.quick else _SECONDS,
    dali_python=setting.dali_python,
    data=setting.photographs(),
    say=setting.say,
    **(_QUICK_SIZES if setting.quick else _SIZES),
  )


def _best(result: Mapping[str, Any], names: Sequence[str]) -> tuple[str, float]:
  rates = {n: result["sides"][n]["median"] for n in names if n in result["sides"]}
  name = max(rates, key=rates.__getitem__)
  return name, rates[name]


def _singles(result: Mapping[str, Any]) -> list[str]:
  return [name for name in result["sides"] if name not in {*_PEERS, *_MIXES}]


def _advised(result: Mapping[str, Any], title: str, key: str) -> tuple[str, float]:
  """A mix in words, and its rate; the advice may be a single format."""
  weights = result[key]
  words = ", ".join(f"{name} {share:.0%}" for name, share in weights.items())
  side = title if len(weights) > 1 else next(iter(weights))
  return words, result["sides"][side]["median"]


def _table(evidence: Mapping[str, Any]) -> str:
  head = ["stored, disk", "what ran", "images/s", "least to most"]
  head += ["to tf.data", "to DALI", "to the best single"]
  rows = []
  for part, result in results(evidence).items():
    sides = result["sides"]
    best, most = _best(result, _singles(result))
    lines = [
      (f"**advised: {words}**", rate, None)
      for words, rate in [_advised(result, "mix", "advised")]
    ]
    words, rate = _advised(result, "mix without l3", "advised_without_l3")
    lines.append((f"best mix without L3: {words}", rate, None))
    lines += [
      (f"{n} alone" + (", the best" if n == best else ""), *_of(sides, n))
      for n in _singles(result)
    ]
    lines += [(title, *_of(sides, n)) for n, title in _PEERS.items() if n in sides]
    for number, (title, median, spread) in enumerate(lines):
      row = [part if number == 0 else "", title, f"{median:.0f}", spread or ""]
      for other in ("tf.data", "dali"):
        row.append(f"{median / sides[other]['median']:.2f}" if other in sides else "")
      rows.append([*row, f"{median / most:.2f}"])
  return page.table(head, rows, words=(0, 1))


def _of(sides: Mapping[str, Any], name: str) -> tuple[float, str]:
  found = sides[name]
  return found["median"], f"{found['min']:.0f} to {found['max']:.0f}"


def _words(extension: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
  found = results(evidence)
  quick = evidence["settings"]["quick"]
  sizes, rates = (_QUICK_SIZES, _QUICK_RATES) if quick else (_SIZES, _RATES)
  with_dali = "DALI was left out: no interpreter with it was given."
  first = next(iter(found.values()))
  if dali := first["dali"]:
    with_dali = f"DALI {dali['versions']['nvidia-dali']}: {dali['settings']}."
  reached = []
  for part, result in found.items():
    _, rate = _advised(result, "mix", "advised")
    best, most = _best(result, _singles(result))
    ratios = " and ".join(
      f"{rate / result['sides'][name]['median']:.2f} times {title}"
      for name, title in (("tf.data", "tf.data"), ("dali", "DALI"))
      if name in result["sides"]
    )
    reached.append(f"{part}: {ratios}, {rate / most:.2f} of {best} alone")
  return {
    **sizes,
    "files": extension.upper(),
    "over_dali": _PAPER[extension],
    "counts": ", ".join(f"{count} at {rate} MB/s" for rate, count in rates.items()),
    "kb": first["file_bytes"] / 1e3,
    "share": _SHARE,
    "with_dali": with_dali,
    "reached": "; ".join(reached),
  }


def _draw(evidence: Mapping[str, Any], canvas: Any) -> None:
  found = results(evidence)
  every = canvas.subplots(1, len(found), squeeze=False)[0]
  for axes, (part, result) in zip(every, found.items()):
    sides = result["sides"]
    unit = sides["dali" if "dali" in sides else "tf.data"]["median"]
    bars = {title: sides[n]["median"] for n, title in _PEERS.items() if n in sides}
    best, most = _best(result, _singles(result))
    bars[f"{best} alone"] = most
    bars["mix without L3"] = _advised(result, "mix without l3", "advised_without_l3")[1]
    bars["advised"] = _advised(result, "mix", "advised")[1]
    ours = ["tab:gray"] * (len(bars) - 3) + ["tab:blue", "tab:orange", "tab:red"]
    axes.bar(range(len(bars)), [rate / unit for rate in bars.values()], color=ours)
    axes.set_xticks(range(len(bars)), list(bars), rotation=90, fontsize=7)
    axes.set_title(part, fontsize=9)
    style(axes, "y")
  with_dali = all("dali" in result["sides"] for result in found.values())
  every[0].set_ylabel(f"images/s, to {'DALI' if with_dali else 'tf.data'}")


def _figure(extension: str) -> Figure:
  """The half of figure 6 whose files are "png" or "jpeg"."""
  return Figure(
    f"liquid-6-{extension}",
    f"Liquid, figure 6: preparing {extension.upper()} with a cache of 30 %",
    functools.partial(_parts, extension),
    functools.partial(_words, extension),
    _table,
    _draw,
    size=(9.0, 4.0),
    why_not=_why_not,
    text="liquid-6",
  )


PNG, JPEG = map(_figure, ("png", "jpeg"))
