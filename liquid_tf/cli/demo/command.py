"""Shows what a mix of formats gains from a slow disk, and the way to a training.

  liquid-tf demo
  liquid-tf demo --data=folder --workdir=demo

Without --data, 2,400 windows of the photographs that scikit-image's wheel ships become
a dataset of one class a photograph. The disk is held back where the user may do so
(root, with a version 1 blkio cgroup). A profile finds the mix that is fastest then; PNG
alone, raw pixels alone and the mix run without a cache, and the table says what limited
each. Then a small Keras model is trained on the mix for two epochs, and the pipeline is
measured beside PNG files through stock tf.data, with all images in memory.
"""

import contextlib
import logging
import pathlib
import tempfile

from liquid_tf.cli import tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.string("data", None, "folder of class folders of your images")
_FLAGS.integer("count", 2400, "images; with --data, at most", 2)
_FLAGS.integer("side", 128, "pixels of a side", 32, 256)
_FLAGS.string(
  "mix", None, "weights of formats, as png:6,raw:4; by default what a profile says"
)
_FLAGS.integer("steps", 0, "batches of a training epoch; 0: all", 0)
_FLAGS.string(
  "workdir", None, "keep images and dataset here; by default they are removed"
)
_FLAGS.switch("json", "one JSON object on stdout")


def _workdir() -> contextlib.AbstractContextManager[str]:
  if _FLAGS.workdir is None:
    return tempfile.TemporaryDirectory(prefix="liquid_demo_")
  for name in ("photos", "photos.liquid"):
    if pathlib.Path(_FLAGS.workdir, name).exists():
      raise tool.FlagsError(
        f"--workdir ({_FLAGS.workdir}) already has {name}: remove it, or name another"
      )
  return contextlib.nullcontext(_FLAGS.workdir)


def _summary(result: dict) -> str:
  rate, threads = result["disk"]["bytes_per_s"], result["threads"]
  where = f"held to {rate / 1e6:.0f} MB/s" if rate else "as it is"
  rows = [["pipeline", "images/s", "MB/s", "disk busy", "decoding", "limited by"]]
  for name, found in result["pipelines"].items():
    label = f"{name} alone"
    if name == "mix":
      parts = [f"{share:.0%} {key}" for key, share in result["mix"].items()]
      single = next(iter(result["mix"])) if len(parts) == 1 else None
      label = f"{single} alone" if single else ", ".join(parts)
      label += ", as advised" if result["profiled"] else ""
    rows.append(
      [
        label,
        f"{found['images_per_s']:.0f}",
        f"{found['disk_bytes_per_s'] / 1e6:.0f}",
        f"{found['disk_busy']:.0%}",
        f"{found['decoding']:.1f} of {threads} threads",
        found["limit"],
      ]
    )
  lines = [f"From the disk ({where}), without a cache:", tool.table(rows)]
  if "mix" in result["pipelines"]:
    rates = {k: v["images_per_s"] for k, v in result["pipelines"].items()}
    lines.append(
      f"The last one is {rates['mix'] / rates['png']:.2f} times as fast as PNG alone, "
      f"{rates['mix'] / rates['raw']:.2f} times as fast as raw alone."
    )
  ours, stock = result["liquid_images_per_s"], result["baseline_images_per_s"]
  first, last = result["loss"][0], result["loss"][-1]
  lines.append(
    f"With all images in memory: {ours:.0f} images/s, {ours / stock:.1f} times the "
    f"{stock:.0f} of PNG files through stock tf.data."
  )
  lines.append(f"In the training the loss went from {first:.3f} to {last:.3f}.")
  return "\n".join(lines)


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.errors import ConvertError, ManifestError

  # The budgets of the profile's short runs would bury what the demo says.
  logging.getLogger("liquid_tf").setLevel(logging.WARNING)
  with _workdir() as workdir:
    from liquid_tf.cli.demo import run

    try:
      result = run.run(
        pathlib.Path(workdir),
        side=_FLAGS.side,
        count=_FLAGS.count,
        mix=_FLAGS.mix,
        steps=_FLAGS.steps,
        data=_FLAGS.data,
        say=tool.say,
      )
    except (ConvertError, ManifestError):
      raise
    except ValueError as error:
      raise tool.FlagsError(str(error)) from error
    tool.say(_summary(result))
    if _FLAGS.workdir is None:
      tool.say(
        f"{workdir} is removed; `liquid-tf demo --workdir=FOLDER` keeps images and "
        "dataset."
      )
    else:
      tool.say(f"Images and dataset are in {workdir}.")
  if _FLAGS.json:
    tool.print_json(result)
  return 0


COMMAND = tool.Command(__doc__, _FLAGS, _main)
