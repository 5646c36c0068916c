"""Says what is in a Liquid dataset, and whether it is right.

liquid-tf inspect photos.liquid
liquid-tf inspect photos.liquid --verify
liquid-tf inspect photos.liquid --versions
liquid-tf inspect photos.liquid --sample=7 --export=seven.png
liquid-tf inspect photos.liquid --plot=fidelity.png
liquid-tf inspect photos.liquid --html=photos.html
liquid-tf inspect photos.liquid --split=train[:10%] --where='width < 256'
"""

from liquid_tf._cost import amounts
from liquid_tf.cli import common_flags, tool
from liquid_tf.cli.flag_values import Flags

_FLAGS = Flags()
_FLAGS.switch("verify", "read every record, decode every image")
_FLAGS.switch("versions", "list the versions of the dataset")
_FLAGS.integer("sample", None, "say what this sample is, and where it is stored")
_FLAGS.string("export", None, "write the sample's image to this PNG")
_FLAGS.string("plot", None, "draw bytes and MSSIM of the pcr's scan groups, as x.png")
_FLAGS.string("html", None, "write a page of pictures by class, one file")
_FLAGS.integer("thumbnails", 24, "pictures of a class on that page, at most", 1)
common_flags.define_selection(_FLAGS)
_FLAGS.switch("json", "one JSON object on stdout")
common_flags.define_limits(_FLAGS)


# Classes of the table at most; --json has them all.
_MOST_CLASSES = 20


def _print_classes(label: dict) -> None:
  rows = [
    [f"{number} {name}", str(count)]
    for number, (name, count) in enumerate(zip(label["classes"], label["class_counts"]))
  ]
  tool.say(tool.table([["class", "samples"], *rows[:_MOST_CLASSES]]))
  if len(rows) > _MOST_CLASSES:
    tool.say(f"and {len(rows) - _MOST_CLASSES} more classes")


def _print(result: dict) -> None:
  if result["formats"]:
    tool.say(tool.table(tool.format_rows(result)))
    splits = ", ".join(f"{name} {count}" for name, count in result["splits"].items())
    tool.say(
      f"{result['samples']} samples ({splits}), {amounts.size(result['bytes'])} in "
      f"{result['shards']} shards"
    )
  if result.get("pixels") == "unchecked":
    tool.say("its images were copied, and not decoded: --verify decodes them")
  if "classes" in result.get("features", {}).get("label", {}):
    _print_classes(result["features"]["label"])
  if result.get("pcr"):
    rows = [["pcr scan group", "read", "of all", "MSSIM"]]
    fidelity = result["pcr"]["fidelity"]
    rows += [
      [
        str(group),
        amounts.size(entry["bytes"]),
        f"{entry['bytes'] / fidelity[-1]['bytes']:.1%}",
        "" if entry["mssim"] is None else f"{entry['mssim']:.4f}",
      ]
      for group, entry in enumerate(fidelity, start=1)
    ]
    tool.say(tool.table(rows))
  tool.say_index(result.get("jpeg_index"))
  for encoding in result.get("encodings", [])[:1]:
    what = encoding["label"] if encoding["class"] is None else encoding["class"]
    tool.say(
      f"sample {encoding['sample']}: {encoding['name']}, split {encoding['split']}, "
      f"label {what}, {encoding['height']}x{encoding['width']} pixels, "
      f"{encoding['channels']} x {encoding['bits']} bits"
    )
  for encoding in result.get("encodings", []):
    tool.say(
      f"sample {encoding['sample']}: {encoding['shard']}, "
      f"{'image' if encoding['format'] == 'pcr' else 'record'} {encoding['record']}, "
      f"offset {encoding['offset']}, {encoding['length']} bytes"
    )
  if "versions" in result:
    rows = [["version", "made by", "samples", "on disk", "of it alone"]]
    rows += [
      [
        str(entry["version"]),
        entry["made_by"],
        str(entry["samples"]),
        amounts.size(entry["bytes"]),
        amounts.size(entry["own_bytes"]),
      ]
      for entry in result["versions"]
    ]
    tool.say(tool.table(rows))
  if "verified" in result:
    tool.say(f"{result['verified']} records verified")
  for problem in result["problems"]:
    tool.say(f"problem: {problem}")


def _plot(fidelity: list[dict], path: str) -> None:
  """Draws what each scan group costs and gives to an image file.

  Args:
    fidelity: `bytes` and `mssim` of each group, as the manifest's `pcr.fidelity`.
    path: the image; its extension names the format.

  Raises:
    ImportError: matplotlib is not installed.
    ValueError: the extension of `path` is of no image format.
  """
  import matplotlib

  matplotlib.use("Agg")
  from matplotlib import pyplot

  groups = range(1, len(fidelity) + 1)
  figure, axes = pyplot.subplots(figsize=(7, 4))
  axes.bar(groups, [entry["bytes"] / 1e6 for entry in fidelity], color="tab:gray")
  axes.set_xlabel("scan group")
  axes.set_xticks(groups)
  axes.set_ylabel("MB that an epoch reads")
  if all(entry["mssim"] is not None for entry in fidelity):
    similarity = axes.twinx()
    similarity.plot(groups, [entry["mssim"] for entry in fidelity], "o-")
    similarity.set_ylabel("MSSIM")
    similarity.set_ylim(top=1.01)
  figure.tight_layout()
  figure.savefig(path, dpi=120)
  pyplot.close(figure)


def _main(arguments: list[str]) -> int:
  if len(arguments) != 1:
    raise tool.FlagsError(f"PATH must be one dataset directory, not {len(arguments)}")
  if _FLAGS.export and _FLAGS.sample is None:
    raise tool.FlagsError("--export needs --sample")
  from liquid_tf._store import history, stored_sample
  from liquid_tf._view import inspection, sample_reader
  from liquid_tf.cli.gallery import write

  path = arguments[0]
  samples = common_flags.selection(_FLAGS, path)
  allowed = common_flags.limits(_FLAGS)
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
    sample_reader.export_sample(path, _FLAGS.sample, _FLAGS.export, limits=allowed)
    result["exported"] = _FLAGS.export
  if _FLAGS.plot and result["formats"]:
    if not result["pcr"]:
      raise tool.FlagsError("--plot needs a dataset with the format pcr")
    _plot(result["pcr"]["fidelity"], _FLAGS.plot)
    result["plot"] = _FLAGS.plot
  if _FLAGS.html and result["formats"]:
    write.write(samples, result, _FLAGS.html, _FLAGS.thumbnails, allowed, progress=True)
    result["html"] = _FLAGS.html
  if _FLAGS.json:
    tool.print_json(result)
  _print(result)
  return tool.FAILED if result["problems"] else 0


COMMAND = tool.Command(__doc__, _FLAGS, _main)
