"""Commands of `python -m tools.bench`, and all their flags."""

import contextlib
import os
import tempfile

from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags
from liquid_tf.cli.main import Entry, Program
from tools.bench import benchmark
from tools.bench.benchmark import Benchmark
from tools.bench.papers import command as papers

_PEERS = {"dali": "NVIDIA DALI", "ffcv": "FFCV", "torchvision": "torchvision"}
_CUT = "folder of photographs to cut them from; by default scikit-image's"


def _flags(*groups: str, report: bool = True, plot: str = "") -> Flags:
  """Flags that several commands have, by group; all have --output and --json."""
  values = Flags()
  common_flags.define_results(values, report=report)
  if plot:
    values.string("plot", None, plot)
  for group in groups:
    match group:
      case "rounds":
        common_flags.define_rounds(values)
      case "threads":
        common_flags.define_threads(values)
      case "batch_size":
        common_flags.define_batch_size(values)
      case "workdir":
        about = "keep here what is made, and use it again; by default it is removed"
        values.string("workdir", None, about)
      case "dataset":
        values.string("dataset", None, "dataset directory", required=True)
      case "data":
        values.string("data", None, _CUT)
      case "reading":
        values.integer("block", 4 << 20, "bytes of a read")
        values.integer("depth", 8, "most reads under way at once")
        readers = ["auto", "io_uring", "threads", "buffered"]
        values.choice("reader", "auto", readers, "how to read")
      case "rates":
        values.words(
          "rates",
          ["0", "100", "400"],
          "MB/s that the disk is held to, which takes root; 0: as fast as it is",
        )
      case peer:
        about = f"Python that has {_PEERS[peer]}; else left out"
        values.string(f"{peer}_python", None, about)
  return values


def _photographs(values: Flags, images: int = 256, side: int = 1024) -> None:
  values.integer("images", images, "photographs", 1)
  values.integer("side", side, "of each, in pixels", 1)


def _on_disk(values: Flags) -> contextlib.AbstractContextManager:
  # Not /tmp, which may be memory.
  return benchmark.folder(values, beside=".")


def _dataset(values: Flags) -> contextlib.AbstractContextManager:
  return contextlib.nullcontext(values.dataset)


def _compare() -> Benchmark:
  flags = _flags(
    "data", "batch_size", "rounds", "threads", "workdir", "dali", "ffcv"
  )  # fmt: skip
  _photographs(flags)
  flags.integer("epochs", 4, "epochs of each process; the first one does not count", 2)
  flags.words("formats", ["png", "raw", "jpeg"], "formats of ours to compare")
  return Benchmark(
    "compare",
    "beside tf.data, DALI and FFCV",
    """Compares decoding with stock tf.data, and with DALI and FFCV where they are.

  python -m tools.bench compare
  python -m tools.bench compare --formats=png,raw --dali_python=dali/bin/python

Each format runs beside the peers that read the nearest to it, on photographs in memory:
ours, peers, ours, peers, each in a fresh process.
""",
    flags,
  )


def _recipe() -> Benchmark:
  flags = _flags(
    "rounds", "threads", "workdir", "dali", "ffcv", "torchvision",
    plot="draw the rates here, as x.svg",
  )  # fmt: skip
  flags.string("input", None, "folder of photographs; its RGB JPEGs", required=True)
  flags.integer(
    "images", 0, "of an epoch: photographs come again; 0: as many as there are", 0
  )
  flags.integer("batch_size", 64, "images in a batch", 1)
  flags.integer("epochs", 6, "epochs of each process; the first one does not count", 2)
  flags.words("formats", ["jpeg", "l3"], "formats of ours")
  flags.words(
    "sizes", ["full", "256"], "as stored: full, or 256 pixels of the shorter side"
  )
  flags.words("recipes", ["train", "evaluate"], "train, evaluate")
  return Benchmark(
    "recipe",
    "ImageNet's recipes over your photos",
    """Compares the recipes of ImageNet over your own photographs with other loaders.

  python -m tools.bench recipe --input=photos --plot=recipe.svg
  python -m tools.bench recipe --input=photos --formats=jpeg,l3,raw --workdir=work
    --dali_python=dali/bin/python --ffcv_python=ffcv/bin/python

Training takes a random window resized to 224x224, mirrors half of them and normalises;
evaluation resizes the shorter side to 256, takes the 224x224 in the centre and
normalises. Ours runs with every format and stored size, as uint8 (not normalised),
float32 and bfloat16, beside stock tf.data, DALI, FFCV and torchvision, which give
float32. All take turns, each time in a fresh process.
""",
    flags,
  )


def _efficiency() -> Benchmark:
  flags = _flags("data", "batch_size", "rounds", "threads", "rates", "workdir")
  _photographs(flags)
  flags.words("mixes", ["0", ".25", ".5", ".75", "1"], "shares of raw; the rest is PNG")
  flags.integer("repeat", 1, "times that the images come in an epoch", 1)
  flags.words("merge", [], "--output of other runs, for the table and --report")
  flags.string("cache", "auto", 'share ("30%"), bytes, 0, or "auto"')
  return Benchmark(
    "efficiency",
    "mixes beside their limits",
    """Puts mixes of PNG and raw beside the limits of loading and of decoding.

  python -m tools.bench efficiency --images=1024 --workdir=photos
  python -m tools.bench efficiency --rates=0 --mixes=0,.5,1

Root may hold the disk back to some MB/s (--rates).
""",
    flags,
  )


def _constancy() -> Benchmark:
  flags = _flags("data", "batch_size", "workdir")
  _photographs(flags, images=2000, side=224)
  flags.integer("epochs", 4, "epochs; the first one does not count", 2)
  flags.string("cache", "30%", "share of the dataset")
  return Benchmark(
    "constancy",
    "how even batches are",
    """Counts how much loads and disk bytes differ between batches.

  python -m tools.bench constancy --images=2000 --side=224 --cache=30%

Three caches are compared: ours, MinIO's, and the kernel's page cache.
""",
    flags,
  )


def _disk() -> Benchmark:
  return Benchmark(
    "disk",
    "our reads beside fio's",
    """Compares our reads with fio's, over the files of a dataset.

python -m tools.bench disk --dataset=photos.liquid
""",
    _flags("reading", "rounds", "dataset", report=False),
    _dataset,
  )


def _access() -> Benchmark:
  flags = _flags("rounds", "dataset", report=False)
  flags.integer("reads", 20_000, "samples of a round, each read once", 1)
  return Benchmark(
    "access",
    "single samples, beside fio",
    """Measures reading single samples by position, beside fio's random reads.

python -m tools.bench access --dataset=photos.liquid
""",
    flags,
    _dataset,
  )


def _recordio() -> Benchmark:
  flags = _flags("reading", "rounds", report=False)
  flags.string("workdir", None, "folder on the disk to measure")
  flags.integer("size", 1 << 30, "bytes of all payloads", 1)
  flags.integer("record_bytes", 128 << 10, "bytes of each payload", 1)

  @contextlib.contextmanager
  def place(values: Flags):
    if values.workdir:
      os.makedirs(values.workdir, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=values.workdir) as scratch:
      yield os.path.abspath(scratch)

  return Benchmark(
    "recordio",
    "RecordIO beside fio and dd",
    """Compares reading and writing RecordIO with fio and dd.

python -m tools.bench recordio --workdir=photos
""",
    flags,
    place,
  )


def _remote() -> Benchmark:
  flags = _flags("data", "workdir", "rounds", "threads", "batch_size")
  flags.integer("images", 3000, "photographs of 1 MB", 1)
  flags.integer("small_images", 50_000, "photographs of 50 KB", 1)
  flags.integer("delay_ms", 50, "milliseconds before each late answer", 1)
  flags.number(
    "link_gbit",
    0,
    "Gbit/s of the network, for which root can make one of its own; 0: this machine's "
    "loopback as it is",
    0,
  )
  return Benchmark(
    "remote",
    "late answers of a server; curl",
    """Measures what late answers of a server cost, beside curl, by nginx on loopback.

python -m tools.bench remote --delay_ms=50
""",
    flags,
    _on_disk,
  )


def _mix() -> Benchmark:
  flags = _flags(
    "data", "batch_size", "rounds", "rates", "workdir",
    plot="draw the curves here, as x.png",
  )  # fmt: skip
  _photographs(flags)
  flags.words("others", ["raw"], "formats that PNG is mixed with")
  flags.words("processors", [], "numbers of processors, as 1,2; by default all")
  flags.number("seconds", 1.0, "seconds that a run lasts at least", 0.01)
  return Benchmark(
    "mix",
    "loading and decoding along mixes",
    """Measures loading, decoding and both along the mixes of PNG and another format.

  python -m tools.bench mix --images=64 --rates=50,100 --processors=1,2 --plot=mix.png

Root may hold the disk back to some MB/s (--rates).
""",
    flags,
  )


def _formats() -> Benchmark:
  flags = _flags("data", "batch_size", "rounds", "threads", "rates", "workdir")
  _photographs(flags, side=512)
  flags.words("formats", ["png", "webp", "l3-compact", "l3"], "formats to compare")
  flags.integer("epoch_images", 2048, "images in an epoch, at least", 1)
  flags.number("seconds", 1.0, "seconds that a run of the profile lasts", 0.01)
  return Benchmark(
    "formats",
    "formats and a mix on slow disks",
    """Puts formats, and the mix that a profile advises, side by side on slow disks.

  python -m tools.bench formats --rates=100,300 --data=photos --workdir=work

Only root may hold the disk back (--rates).
""",
    flags,
  )


def _codecs() -> Benchmark:
  flags = _flags("rounds", plot="draw sizes and speeds here, as x.png")
  flags.integer("side", 1024, "of a square, in pixels", 1)
  flags.words(
    "sets",
    [],
    "folders of photographs, as FOLDER or NAME=FOLDER; by default scikit-image's",
  )
  flags.string("screens", None, "folder of screenshots")
  flags.string("masks", None, "folder of masks: images of one channel")
  flags.string("deep", None, "folder of images, of which PNG files of 16 bits count")
  flags.integer("drawings", 12, "drawings of clip-art to make; 0 for none", 0)
  flags.integer("squares", 4, "squares decoded of each set", 1)
  flags.integer("passes", 7, "decodes of each square in a process", 2)
  return Benchmark(
    "codecs",
    "size and speed of image codecs",
    """Compares image codecs: size, and speed on one processor.

python -m tools.bench codecs
python -m tools.bench codecs --sets=photos,textures=more/textures --plot=codecs.png
python -m tools.bench codecs --sets=photos --screens=screens --masks=masks --deep=scans
""",
    flags,
    lambda values: contextlib.nullcontext(),
  )


def _scale() -> Benchmark:
  flags = _flags("workdir")
  flags.integer(
    "samples", 100_000_000, "samples of the index; 104 bytes of disk each", 1
  )
  flags.integer("workers", 1024, "workers that train side by side", 1)
  return Benchmark(
    "scale",
    "planning for very many samples",
    """Simulates very many samples and workers: what opening and planning take.

python -m tools.bench scale --samples=100000000 --workers=1024
""",
    flags,
    _on_disk,
  )


_BENCHMARKS = [
  _compare(), _recipe(), _efficiency(), _constancy(), _disk(), _access(), _recordio(),
  _remote(), _mix(), _formats(), _codecs(), _scale(),
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
