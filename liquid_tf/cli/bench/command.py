"""Measures how fast a Liquid dataset feeds a training, and what limits it.

  python -m tools.bench --dataset=photos.liquid --cache=30%
  python -m tools.bench --compare
  python -m tools.bench efficiency --images=1024 --workdir=photos
  python -m tools.bench constancy --images=2000 --side=224 --cache=30%
  python -m tools.bench disk --dataset=photos.liquid
  python -m tools.bench recordio --workdir=photos
  python -m tools.bench mix --images=64 --rates=50,100,200 --processors=1,2
  python -m tools.bench codecs --sets=photos,more/photos --plot=codecs.png
  python -m tools.bench scale --samples=100000000 --workers=1024

The first form runs the pipeline, then its two stages by themselves: load (no
decoding) and decode (no disk). The second puts ours beside stock tf.data, and DALI and
FFCV where it is told of a Python that has them, on 1024x1024 photographs: ours, peers,
ours, peers, each in a fresh process. The third does what the first does for mixes of
PNG and raw, on the disk as it is and, for root, held back to some MB/s. The fourth
counts how much loads and disk bytes differ between batches: ours, MinIO's cache and the
page cache. The fifth puts our reads beside fio's, over a dataset's own files, the sixth
reading and writing RecordIO beside fio and dd. The seventh shows loading, decoding and
both along the mixes of two formats, and the eighth puts image codecs beside each other:
size, and speed on one processor. The last one simulates very many samples and workers:
what opening and planning take.
"""

import json
import os
import pathlib
import sys

from absl import flags

from liquid_tf.cli import tool
from liquid_tf.cli.bench import (
  codecs_command,
  compare_command,
  constancy_command,
  disk_command,
  efficiency_command,
  mix_command,
  recordio_command,
  scale_command,
)

for _module in (
  codecs_command,
  compare_command,
  disk_command,
  efficiency_command,
  mix_command,
  recordio_command,
  scale_command,
):
  flags.adopt_module_key_flags(_module)
_DATASET = flags.DEFINE_string("dataset", None, "dataset directory")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "images in a batch", 1)
_EPOCHS = flags.DEFINE_integer(
  "epochs", 4, "epochs of each process; the first one does not count", 2
)
_ROUNDS = flags.DEFINE_integer("rounds", 2, "processes of each kind, in turn", 1)
_THREADS = flags.DEFINE_integer("threads", 0, "of tf.data; 0: one a processor", 0)
_CACHE = flags.DEFINE_string(
  "cache", "auto", 'share ("30%"), bytes, 0, or "auto"; constancy: a share'
)
_MEMORY = flags.DEFINE_string("memory", "auto", 'whole budget: bytes, or "auto"')
_DECODE = flags.DEFINE_enum(
  "decode", "cpu", ["cpu", "none"], "where images are decoded"
)
_COLD = flags.DEFINE_bool("cold", False, "empty the page cache before each epoch")
_LIMITS = flags.DEFINE_bool("limits", True, "measure the limits of the stages too")
_SPLIT = flags.DEFINE_string("split", None, "which split")
_SHUFFLE = flags.DEFINE_bool("shuffle", True, "random order, not the stored one")
_SEED = flags.DEFINE_integer("seed", 0, "of the order")
_CROP = flags.DEFINE_list("crop", None, "HEIGHT,WIDTH of a window to decode")
_IMAGE_SIZE = flags.DEFINE_list("image_size", None, "HEIGHT,WIDTH to resize to")
_COMPARE = flags.DEFINE_bool("compare", False, "beside other loaders, on photographs")
_IMAGES = flags.DEFINE_integer(
  "images", 256, "--compare, efficiency, mix: photographs", 1
)
_SIDE = flags.DEFINE_integer(
  "side", 1024, "of a photograph, in pixels; not with --dataset", 1
)
_DATA = flags.DEFINE_string(
  "data",
  None,
  "--compare, efficiency, mix: folder of photographs; by default scikit-image's",
)
_WORKDIR = flags.DEFINE_string(
  "workdir",
  None,
  "--compare, efficiency: keep what is made here, and use it again; recordio: the disk",
)
_REPORT = flags.DEFINE_string(
  "report", None, "write Markdown: codecs a page, --compare and efficiency a section"
)
_OUTPUT = flags.DEFINE_string("output", None, "write the JSON object here too")
_JSON = flags.DEFINE_bool("json", False, "one JSON object on stdout")


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


def _threads() -> int:
  return _THREADS.value or len(os.sched_getaffinity(0))


def _bench() -> dict:
  from liquid_tf._measure import evidence
  from liquid_tf.cli.bench import pipeline

  load = evidence.load()
  result = pipeline.bench(
    os.path.abspath(_DATASET.value),
    epochs=_EPOCHS.value,
    threads=_threads(),
    cold=_COLD.value,
    rounds=_ROUNDS.value,
    limits=_LIMITS.value,
    say=_say,
    batch_size=_BATCH_SIZE.value,
    cache=tool.amount(_CACHE.value),
    memory=tool.amount(_MEMORY.value),
    decode=_DECODE.value,
    split=_SPLIT.value,
    shuffle=_SHUFFLE.value,
    seed=_SEED.value,
    crop=tool.pair("crop", _CROP.value),
    image_size=tool.pair("image_size", _IMAGE_SIZE.value),
  )
  result["threads"] = _threads()
  result["evidence"] = {**evidence.evidence(_DATASET.value), "load_before": load}
  return result


def _print_bench(result: dict) -> None:
  rows = [["epoch", "seconds", "images/s", "from disk", "kept", "loaded"]]
  for number, epoch in enumerate(result["epochs"]):
    disk = epoch["disk_bytes"]
    rows.append(
      [
        str(number),
        f"{epoch['seconds']:.2f}",
        f"{epoch['images_per_s']:.1f}",
        tool.size(epoch["stats_disk_bytes"] if disk is None else disk),
        str(epoch["hits"]),
        str(epoch["loads"]),
      ]
    )
  _say(tool.table(rows))
  if result["batches"]:
    _say("full batches from the second epoch on:")
    parts = {"kept": result["batches"]["hits"], "loaded": result["batches"]["loads"]}
    parts.update(result["batches"]["composition"])
    _say("  " + ", ".join(f"{k} {v['min']} to {v['max']}" for k, v in parts.items()))
  line = f"{result['images_per_s']:.1f} images/s, {result['threads']} threads"
  limits = result["limits"]
  if result["efficiency"] is not None:
    line += (
      f": {result['efficiency']:.0%} of the lower of load ({limits['load']:.1f}) and "
      f"decode ({limits['decode']:.1f})"
    )
  _say(f"{line}; {tool.size(result['max_rss_bytes'])} of memory at most")
  _say(result["verdict"])


def _photographs() -> dict:
  """What the commands that make photographs are told alike."""
  return {
    "images": _IMAGES.value,
    "side": _SIDE.value,
    "batch_size": _BATCH_SIZE.value,
    "rounds": _ROUNDS.value,
    "threads": _threads(),
    "data": _DATA.value,
  }


def _of_dataset() -> dict:
  try:
    result = _bench()
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  _print_bench(result)
  return result


def _measure(arguments: list[str]) -> dict:
  if arguments == ["codecs"]:
    return codecs_command.main(_SIDE.value, _ROUNDS.value, _REPORT.value)
  if arguments == ["disk"]:
    return disk_command.main(_DATASET.value, _ROUNDS.value)
  if arguments == ["recordio"]:
    return recordio_command.main(
      _WORKDIR.value, _ROUNDS.value, **disk_command.reading()
    )
  if arguments == ["efficiency"]:
    return efficiency_command.main(
      _WORKDIR.value, _REPORT.value, cache=tool.amount(_CACHE.value), **_photographs()
    )
  if arguments == ["constancy"]:
    return constancy_command.main(
      _WORKDIR.value,
      _REPORT.value,
      images=_IMAGES.value,
      side=_SIDE.value,
      data=_DATA.value,
      batch_size=_BATCH_SIZE.value,
      cache=tool.amount(_CACHE.value),
      epochs=_EPOCHS.value,
    )
  if arguments == ["mix"]:
    settings = {key: value for key, value in _photographs().items() if key != "threads"}
    return mix_command.main(
      _WORKDIR.value, _REPORT.value, codecs_command.plot(), **settings
    )
  if arguments == ["scale"]:
    return scale_command.main(_WORKDIR.value, _REPORT.value)
  if arguments:
    raise tool.FlagsError(
      f"argument ({arguments[0]}) must be codecs, constancy, disk, efficiency, mix, "
      "recordio, scale, or none"
    )
  if _COMPARE.value == (_DATASET.value is not None):
    raise tool.FlagsError("give either --dataset or --compare")
  if _DATASET.value is not None:
    return _of_dataset()
  return compare_command.main(
    _WORKDIR.value, _REPORT.value, epochs=_EPOCHS.value, **_photographs()
  )


def main(arguments: list[str]) -> int:
  result = _measure(arguments)
  if _OUTPUT.value:
    pathlib.Path(_OUTPUT.value).write_text(json.dumps(result, indent=1) + "\n")
  if _JSON.value:
    tool.print_json(result)
  return 0


if __name__ == "__main__":
  tool.run(main)
