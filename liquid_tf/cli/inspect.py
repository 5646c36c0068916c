"""Says what is in a Liquid dataset, and whether it is right.

python -m tools.inspect photos.liquid
python -m tools.inspect photos.liquid --verify
python -m tools.inspect photos.liquid --sample=7 --export=seven.png
python -m tools.inspect photos.liquid --plot=fidelity.png
"""

import sys

from absl import flags

from liquid_tf.cli import tool

_VERIFY = flags.DEFINE_bool("verify", False, "read every record, decode every image")
_SAMPLE = flags.DEFINE_integer("sample", None, "say where this sample is stored")
_EXPORT = flags.DEFINE_string("export", None, "write the sample's image to this PNG")
_PLOT = flags.DEFINE_string(
  "plot", None, "draw bytes and MSSIM of the pcr's scan groups, as x.png"
)
_MAX_PIXELS = flags.DEFINE_integer("max_pixels", 1 << 28, "of an image, at most")
_MAX_SCANS = flags.DEFINE_integer("max_scans", 100, "of a JPEG, at most")
_JSON = flags.DEFINE_bool("json", False, "one JSON object on stdout")


def _print(result: dict) -> None:
  if result["formats"]:
    rows = [["format", "samples", "on disk", "pixels", "lossless", "share"]]
    shares = sum(result["mix"].values())
    rows += [
      [
        name,
        str(entry["samples"]),
        tool.size(entry["bytes"]),
        tool.size(entry["pixel_bytes"]),
        "yes" if entry["lossless"] else "no",
        f"{result['mix'].get(name, 0) / shares:.1%}",
      ]
      for name, entry in result["formats"].items()
    ]
    print(tool.table(rows), file=sys.stderr)
    splits = ", ".join(f"{name} {count}" for name, count in result["splits"].items())
    print(
      f"{result['samples']} samples ({splits}), {tool.size(result['bytes'])} in "
      f"{result['shards']} shards",
      file=sys.stderr,
    )
  if result.get("pcr"):
    rows = [["pcr scan group", "read", "of all", "MSSIM"]]
    fidelity = result["pcr"]["fidelity"]
    rows += [
      [
        str(group),
        tool.size(entry["bytes"]),
        f"{entry['bytes'] / fidelity[-1]['bytes']:.1%}",
        "" if entry["mssim"] is None else f"{entry['mssim']:.4f}",
      ]
      for group, entry in enumerate(fidelity, start=1)
    ]
    print(tool.table(rows), file=sys.stderr)
  for encoding in result.get("encodings", []):
    print(
      f"sample {encoding['sample']}: {encoding['shard']}, "
      f"{'image' if encoding['format'] == 'pcr' else 'record'} {encoding['record']}, "
      f"offset {encoding['offset']}, {encoding['length']} bytes",
      file=sys.stderr,
    )
  if "verified" in result:
    print(f"{result['verified']} records verified", file=sys.stderr)
  for problem in result["problems"]:
    print(f"problem: {problem}", file=sys.stderr)


def main(arguments: list[str]) -> int:
  if len(arguments) != 1:
    raise tool.FlagsError(f"PATH must be one dataset directory, not {len(arguments)}")
  if _EXPORT.value and _SAMPLE.value is None:
    raise tool.FlagsError("--export needs --sample")
  from liquid_tf import Limits
  from liquid_tf._store import inspection
  from liquid_tf.cli.bench import fidelity_plot

  path = arguments[0]
  try:
    limits = Limits(pixels=_MAX_PIXELS.value, scans=_MAX_SCANS.value)
  except ValueError as error:
    raise tool.FlagsError(str(error)) from error
  if _VERIFY.value:
    result = inspection.verify(path, limits=limits, progress=True)
  else:
    result = inspection.inspect(path)
  if _SAMPLE.value is not None and result["formats"]:
    if not 0 <= _SAMPLE.value < result["samples"]:
      raise tool.FlagsError(
        f"--sample ({_SAMPLE.value}) must be in [0, {result['samples'] - 1}]"
      )
    result["encodings"] = inspection.find_sample(path, _SAMPLE.value)
  if _EXPORT.value and result["formats"]:
    inspection.export_sample(path, _SAMPLE.value, _EXPORT.value, limits=limits)
    result["exported"] = _EXPORT.value
  if _PLOT.value and result["formats"]:
    if not result["pcr"]:
      raise tool.FlagsError("--plot needs a dataset with the format pcr")
    fidelity_plot.plot(result["pcr"]["fidelity"], _PLOT.value)
    result["plot"] = _PLOT.value
  if _JSON.value:
    tool.print_json(result)
  _print(result)
  return tool.FAILED if result["problems"] else 0


if __name__ == "__main__":
  tool.run(main)
