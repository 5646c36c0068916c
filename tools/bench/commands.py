"""Commands of `python -m tools.bench`."""

from liquid_tf.cli.main import Entry, Program

BENCH = Program(
  "python -m tools.bench",
  "tools.bench",
  {
    "compare": Entry("compare_command", "beside tf.data, DALI and FFCV"),
    "recipe": Entry("recipe_command", "ImageNet's recipes over your photos"),
    "efficiency": Entry("efficiency_command", "mixes beside their limits"),
    "constancy": Entry("constancy_command", "how even batches are"),
    "disk": Entry("disk_command", "our reads beside fio's"),
    "access": Entry("access_command", "single samples, beside fio"),
    "recordio": Entry("recordio_command", "RecordIO beside fio and dd"),
    "remote": Entry("remote_command", "late answers of a server; curl"),
    "mix": Entry("mix_command", "loading and decoding along mixes"),
    "formats": Entry("formats_command", "formats and a mix on slow disks"),
    "codecs": Entry("codecs_command", "size and speed of image codecs"),
    "papers": Entry("papers_command", "the papers' figures, measured again"),
    "scale": Entry("scale_command", "planning for very many samples"),
  },
)
