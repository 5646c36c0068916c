"""Commands of `python -m tools.bench`, and all their flags."""

from typing import Any

from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags
from liquid_tf.cli.main import Entry, Program
from tools.bench.benchmark import Benchmark
from tools.bench.papers import command as papers

_TYPES = {int: Flags.integer, float: Flags.number, list: Flags.words}
_REQUIRED = {"dataset", "input"}
# The default, whose type is the flag's, what --help says, and the least value.
_FLAGS: dict[str, tuple] = {
  "block": (4 << 20, "bytes of a read"),
  "cache": ("auto", 'share ("30%"), bytes, 0, or "auto"'),
  "dali_python": (None, "Python that has NVIDIA DALI; else left out"),
  "data": (None, "folder of photographs to cut them from; by default scikit-image's"),
  "dataset": (None, "dataset directory"),
  "deep": (None, "folder of images, of which PNG files of 16 bits count"),
  "delay_ms": (50, "milliseconds before each late answer", 1),
  "depth": (8, "most reads under way at once"),
  "drawings": (12, "drawings of clip-art to make; 0 for none", 0),
  "epoch_images": (2048, "images in an epoch, at least", 1),
  "epochs": (4, "epochs of each process; the first one does not count", 2),
  "ffcv_python": (None, "Python that has FFCV; else left out"),
  "formats": ([], "formats to compare"),
  "grain_python": (None, "Python that has Grain; else left out"),
  "images": (256, "photographs", 1),
  "input": (None, "folder of photographs; its RGB JPEGs"),
  "link_gbit": (
    0.0,
    "Gbit/s of the network, for which root can make one of its own; 0: this machine's "
    "loopback as it is",
    0,
  ),
  "masks": (None, "folder of masks: images of one channel"),
  "merge": ([], "--output of other runs, for the table and --report"),
  "mixes": (["0", ".25", ".5", ".75", "1"], "shares of raw; the rest is PNG"),
  "others": (["raw"], "formats that PNG is mixed with"),
  "passes": (7, "decodes of each square in a process", 2),
  "plot": (None, "draw the result here, as x.png"),
  "processors": ([], "numbers of processors, as 1,2; by default all"),
  "rates": (
    ["0", "100", "400"],
    "MB/s that the disk is held to, which takes root; 0: as fast as it is",
  ),
  "reads": (20_000, "samples of a round, each read once", 1),
  "recipes": (["train", "evaluate"], "train, trivial, rand, evaluate"),
  "record_bytes": (128 << 10, "bytes of each payload", 1),
  "repeat": (1, "times that the images come in an epoch", 1),
  "samples": (100_000_000, "samples of the index; 104 bytes of disk each", 1),
  "screens": (None, "folder of screenshots"),
  "seconds": (1.0, "seconds that a run lasts at least", 0.01),
  "sets": (
    [],
    "folders of photographs, as FOLDER or NAME=FOLDER; by default scikit-image's",
  ),
  "side": (1024, "of each, in pixels", 1),
  "size": (1 << 30, "bytes of all payloads", 1),
  "sizes": (["full", "256"], "as stored: full, or 256 pixels of the shorter side"),
  "small_images": (50_000, "photographs of 50 KB", 1),
  "spdl_python": (None, "Python that has SPDL; else left out"),
  "squares": (4, "squares decoded of each set", 1),
  "torchvision_python": (None, "Python that has torchvision; else left out"),
  "workdir": (
    None,
    "keep here what is made, and use it again; by default it is removed",
  ),
  "webdataset_python": (None, "Python that has webdataset; else left out"),
  "workers": (1024, "workers that train side by side", 1),
}
_READERS = ["auto", "io_uring", "threads", "buffered"]
_SPECIAL = {
  "batch_size": common_flags.define_batch_size,
  "reader": lambda values: values.choice("reader", "auto", _READERS, "how to read"),
  "rounds": common_flags.define_rounds,
  "threads": common_flags.define_threads,
}


def _flags(*names: str, report: bool = True, **given: Any) -> Flags:
  """Flags of a benchmark beside --output and --json, which all have.

  Args:
    *names: of those that are as in the tables.
    report: whether --report is one.
    **given: those with another default, or with another row than the table's.
  """
  values = Flags()
  common_flags.define_results(values, report=report)
  for name in (*names, *given):
    if name in _SPECIAL:
      _SPECIAL[name](values)
      continue
    row = given.get(name)
    default, *about = row if isinstance(row, tuple) else _FLAGS[name]
    define = _TYPES.get(type(default), Flags.string)
    define(values, name, default, *about, required=name in _REQUIRED - given.keys())
  for name, default in given.items():
    if not isinstance(default, tuple):
      values.set_default(name, default)
  return values


_PHOTOGRAPHS = ("data", "batch_size", "workdir", "images", "side")
_BENCHMARKS = [
  Benchmark(
    "compare",
    "beside tf.data, DALI and FFCV",
    _flags(
      *_PHOTOGRAPHS, "rounds", "threads", "dali_python", "ffcv_python", "epochs",
      formats=["png", "raw", "jpeg"],
    ),
  ),
  Benchmark(
    "recipe",
    "ImageNet's recipes over your photos",
    _flags(
      "rounds", "threads", "workdir", "dali_python", "ffcv_python",
      "torchvision_python", "grain_python", "spdl_python", "input", "sizes", "recipes",
      images=(0, "of an epoch: photographs come again; 0: as many as there are", 0),
      batch_size=64,
      epochs=6,
      formats=["jpeg", "l3"],
      plot=(None, "draw the rates here, as x.svg"),
    ),
  ),
  Benchmark(
    "training",
    "recipes of papers over your photos",
    _flags(
      "rounds", "threads", "workdir", "input", "epochs", batch_size=64
    ),
  ),
  Benchmark(
    "efficiency",
    "mixes beside their limits",
    _flags(
      *_PHOTOGRAPHS, "rounds", "threads", "rates", "mixes", "repeat", "merge", "cache"
    ),
  ),
  Benchmark(
    "constancy",
    "how even batches are",
    _flags(
      "data", "batch_size", "workdir", "epochs",
      images=2000,
      side=224,
      cache=("30%", "share of the dataset"),
    ),
  ),
  Benchmark(
    "ingest",
    "files into a dataset, beside other writers",
    _flags(
      "rounds", "threads", "workdir", "input", "webdataset_python", "ffcv_python",
    ),
  ),
  Benchmark(
    "disk",
    "our reads beside fio's",
    _flags("block", "depth", "reader", "rounds", "dataset", report=False),
  ),
  Benchmark(
    "access",
    "single samples, beside fio",
    _flags("rounds", "dataset", "reads", report=False),
  ),
  Benchmark(
    "dispatch",
    "what a sample costs beside pixels",
    _flags(
      report=False, images=20_000, batch_size=256, epochs=11,
      dataset=(None, "one that is there, instead of a new one"),
    ),
  ),
  Benchmark(
    "recordio",
    "RecordIO beside fio and dd",
    _flags(
      "block", "depth", "reader", "rounds", "size", "record_bytes", report=False,
      workdir=(None, "folder on the disk to measure"),
    ),
  ),
  Benchmark(
    "remote",
    "late answers of a server; curl",
    _flags(
      "data", "workdir", "rounds", "threads", "batch_size", "small_images", "delay_ms",
      "link_gbit",
      images=(3000, "photographs of 1 MB", 1),
    ),
    on_disk=True,
  ),
  Benchmark(
    "mix",
    "loading and decoding along mixes",
    _flags(*_PHOTOGRAPHS, "rounds", "rates", "plot", "others", "processors", "seconds"),
  ),
  Benchmark(
    "formats",
    "formats and a mix on slow disks",
    _flags(
      "data", "batch_size", "workdir", "images", "rounds", "threads", "rates",
      "epoch_images", "seconds",
      side=512,
      formats=["png", "webp", "l3-compact", "l3"],
    ),
  ),
  Benchmark(
    "codecs",
    "size and speed of image codecs",
    _flags(
      "rounds", "plot", "sets", "screens", "masks", "deep", "drawings", "squares",
      "passes",
      side=(1024, "of a square, in pixels", 1),
    ),
  ),
  Benchmark(
    "jpeg",
    "our JPEG decoder beside libjpeg-turbo",
    _flags(
      "passes",
      sets=([], "folders of JPEG files, as FOLDER or NAME=FOLDER"),
      images=(200, "most of each set; 0: all", 0),
      quality=(75, "of the set's images encoded again, 4:2:0; 0: not at all", 0),
      library=(
        "build/bazel/bin/tests/ops/codecs/libjpeg_capi.so", "the decoders, as built"
      ),
    ),
  ),
  Benchmark(
    "scale",
    "planning for very many samples",
    _flags("workdir", "samples", "workers"),
    on_disk=True,
  ),
]  # fmt: skip
_COMMANDS = {one.name: one.command() for one in _BENCHMARKS}
_COMMANDS["papers"] = papers.COMMAND


class _Program(Program):
  """Its commands are all here, since none imports TensorFlow before it runs."""

  def load(self, command: str) -> tool.Command:
    return _COMMANDS[command]


BENCH = _Program(
  "python -m tools.bench",
  "tools.bench",
  {
    **{one.name: Entry(one.name, one.summary) for one in _BENCHMARKS},
    "papers": Entry("papers", "the papers' figures, measured again"),
  },
)
