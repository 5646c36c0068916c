"""Says what is in a Liquid dataset, and whether it is right.

liquid-tf inspect photos.liquid
liquid-tf inspect photos.liquid --verify
liquid-tf inspect photos.liquid --versions
liquid-tf inspect photos.liquid --sample=7 --export=seven.png
liquid-tf inspect photos.liquid --plot=fidelity.png
liquid-tf inspect photos.liquid --html=photos.html
liquid-tf inspect photos.liquid --split=train[:10%] --where='width < 256'
"""

import sys

from liquid_tf.cli import limits, selection, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.switch("verify", "read every record, decode every image")
_FLAGS.switch("versions", "list the versions of the dataset")
_FLAGS.integer("sample", None, "say what this sample is, and where it is stored")
_FLAGS.string("export", None, "write the sample's image to this PNG")
_FLAGS.string("plot", None, "draw bytes and MSSIM of the pcr's scan groups, as x.png")
_FLAGS.string("html", None, "write a page of pictures by class, one file")
_FLAGS.integer("thumbnails", 24, "pictures of a class on that page, at most", 1)
selection.define(_FLAGS)
_FLAGS.switch("json", "one JSON object on stdout")
limits.define(_FLAGS)


# Classes of the table at most; --json has them all.
_MOST_CLASSES = 20


def _print_classes(label: dict) -> None:
  rows = [
    [f"{number} {name}", str(count)]
    for number, (name, count) in enumerate(zip(label["classes"], label["class_counts"]))
  ]
  print(tool.table([["class", "samples"], *rows[:_MOST_CLASSES]]), file=sys.stderr)
  if len(rows) > _MOST_CLASSES:
    print(f"and {len(rows) - _MOST_CLASSES} more classes", file=sys.stderr)


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
  if "classes" in result.get("features", {}).get("label", {}):
    _print_classes(result["features"]["label"])
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
  for encoding in result.get("encodings", [])[:1]:
    what = encoding["label"] if encoding["class"] is None else encoding["class"]
    print(
      f"sample {encoding['sample']}: {encoding['name']}, split {encoding['split']}, "
      f"label {what}, {encoding['height']}x{encoding['width']} pixels, "
      f"{encoding['channels']} x {encoding['bits']} bits",
      file=sys.stderr,
    )
  for encoding in result.get("encodings", []):
    print(
      f"sample {encoding['sample']}: {encoding['shard']}, "
      f"{'image' if encoding['format'] == 'pcr' else 'record'} {encoding['record']}, "
      f"offset {encoding['offset']}, {encoding['length']} bytes",
      file=sys.stderr,
    )
  if "versions" in result:
    rows = [["version", "made by", "samples", "on disk", "of it alone"]]
    rows += [
      [
        str(entry["version"]),
        entry["made_by"],
        str(entry["samples"]),
        tool.size(entry["bytes"]),
        tool.size(entry["own_bytes"]),
      ]
      for entry in result["versions"]
    ]
    print(tool.table(rows), file=sys.stderr)
  if "verified" in result:
    print(f"{result['verified']} records verified", file=sys.stderr)
  for problem in result["problems"]:
    print(f"problem: {problem}", file=sys.stderr)


def _main(arguments: list[str]) -> int:
  if len(arguments) != 1:
    raise tool.FlagsError(f"PATH must be one dataset directory, not {len(arguments)}")
  if _FLAGS.export and _FLAGS.sample is None:
    raise tool.FlagsError("--export needs --sample")
  from liquid_tf._store import history, stored_sample
  from liquid_tf._view import inspection
  from liquid_tf.cli import fidelity_plot
  from liquid_tf.cli.gallery import write

  path = arguments[0]
  samples = selection.read(_FLAGS, path)
  allowed = limits.read(_FLAGS)
  if _FLAGS.verify:
    result = inspection.verify(samples, limits=allowed, progress=True)
  else:
    result = inspection.inspect(samples)
  if _FLAGS.versions and result["formats"]:
    result["versions"] = history.history(path)
  if _FLAGS.sample is not None and result["formats"]:
    try:
      result["encodings"] = stored_sample.find_sample(path, _FLAGS.sample)
    except ValueError as error:
      raise tool.FlagsError(f"--{error}") from None
  if _FLAGS.export and result["formats"]:
    stored_sample.export_sample(path, _FLAGS.sample, _FLAGS.export, limits=allowed)
    result["exported"] = _FLAGS.export
  if _FLAGS.plot and result["formats"]:
    if not result["pcr"]:
      raise tool.FlagsError("--plot needs a dataset with the format pcr")
    fidelity_plot.plot(result["pcr"]["fidelity"], _FLAGS.plot)
    result["plot"] = _FLAGS.plot
  if _FLAGS.html and result["formats"]:
    write.write(samples, result, _FLAGS.html, _FLAGS.thumbnails, allowed, progress=True)
    result["html"] = _FLAGS.html
  if _FLAGS.json:
    tool.print_json(result)
  _print(result)
  return tool.FAILED if result["problems"] else 0


COMMAND = tool.Command(__doc__, _FLAGS, _main)
