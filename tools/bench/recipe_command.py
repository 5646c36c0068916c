"""Compares the recipes of ImageNet over your own photographs with other loaders.

  python -m tools.bench recipe --input=photos --plot=recipe.svg
  python -m tools.bench recipe --input=photos --formats=jpeg,l3,raw --workdir=work
    --dali_python=dali/bin/python --ffcv_python=ffcv/bin/python

Training takes a random window resized to 224x224, mirrors half of them and normalises;
evaluation resizes the shorter side to 256, takes the 224x224 in the centre and
normalises. Ours runs with every format and stored size, as uint8 (not normalised),
float32 and bfloat16, beside stock tf.data, DALI, FFCV and torchvision, which give
float32. All take turns, each time in a fresh process.
"""

import os
import pathlib

from liquid_tf.cli import measuring, tool
from liquid_tf.cli.flag_values import Flags
from tools.bench import common

_FLAGS = Flags()
_FLAGS.string("input", None, "folder of photographs; its RGB JPEGs", required=True)
_FLAGS.integer(
  "images", 0, "of an epoch: photographs come again; 0: as many as there are", 0
)
_FLAGS.integer("batch_size", 64, "images in a batch", 1)
_FLAGS.integer("epochs", 6, "epochs of each process; the first one does not count", 2)
_FLAGS.words("formats", ["jpeg", "l3"], "formats of ours")
_FLAGS.words(
  "sizes", ["full", "256"], "as stored: full, or 256 pixels of the shorter side"
)
_FLAGS.words("recipes", ["train", "evaluate"], "train, evaluate")
_FLAGS.string("dali_python", None, "Python that has NVIDIA DALI; else left out")
_FLAGS.string("ffcv_python", None, "Python that has FFCV; else left out")
_FLAGS.string("torchvision_python", None, "Python that has torchvision; else left out")
measuring.define_rounds(_FLAGS)
measuring.define_threads(_FLAGS)
common.define_workdir(_FLAGS)
measuring.define_results(_FLAGS)
_FLAGS.string("plot", None, "draw the rates here, as x.svg")


def _main(arguments: list[str]) -> int:
  tool.no_arguments(arguments)
  from tools.bench import recipe, recipe_chart, recipe_report

  with common.folder(_FLAGS.workdir) as folder:
    result = measuring.with_evidence(
      folder,
      lambda: recipe.bench(
        _FLAGS.input,
        folder,
        images=_FLAGS.images,
        batch_size=_FLAGS.batch_size,
        epochs=_FLAGS.epochs,
        rounds=_FLAGS.rounds,
        threads=measuring.threads(_FLAGS),
        formats=_FLAGS.formats,
        sizes=_FLAGS.sizes,
        of=_FLAGS.recipes,
        pythons={
          name: _FLAGS[f"{name}_python"].value
          for name in ("dali", "ffcv", "torchvision")
        },
        say=tool.say,
      ),
    )
  tool.say(recipe_report.text(result))
  image = None
  if _FLAGS.plot:
    recipe_chart.plot(result, _FLAGS.plot)
    if _FLAGS.report:
      image = os.path.relpath(_FLAGS.plot, pathlib.Path(_FLAGS.report).parent)
  section = recipe_report.section(result, image)
  common.write_section(_FLAGS, recipe_report.TITLE, section)
  return measuring.finish(_FLAGS, result)


COMMAND = tool.Command(__doc__, _FLAGS, _main)
