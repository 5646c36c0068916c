"""Shows the whole way: photographs, conversion, training, and what it gains.

  liquid-tf demo
  liquid-tf demo --data=folder --workdir=demo

Without --data, 2,400 windows of the photographs that scikit-image's wheel ships become
a dataset of one class a photograph, in the mix that a profile of this machine finds. A
small Keras model is trained on it for two epochs; then the pipeline is measured beside
the same images as plain PNG through stock tf.data.
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
  ours, stock = result["liquid_images_per_s"], result["baseline_images_per_s"]
  rows = [
    ["pipeline", "images/s"],
    ["PNG files through stock tf.data, page cache warm", f"{stock:.0f}"],
    ["liquid_tf, all in its cache", f"{ours:.0f}"],
  ]
  first, last = result["loss"][0], result["loss"][-1]
  return (
    f"{tool.table(rows)}\n{ours / stock:.1f} times stock; the loss went from "
    f"{first:.3f} to {last:.3f}."
  )


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from liquid_tf.errors import ConvertError, ManifestError

  # The budgets of the profile's short runs are nobody's concern.
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
      tool.say(f"{workdir} is removed; --workdir=FOLDER keeps images and dataset.")
    else:
      tool.say(f"Images and dataset are in {workdir}.")
  if _FLAGS.json:
    tool.print_json(result)
  return 0


COMMAND = tool.Command(__doc__, _FLAGS, _main)
