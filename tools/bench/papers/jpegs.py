"""JPEG files for the figures of formats that are made of JPEG."""

import io
import pathlib
import shutil
from typing import Any

from PIL import Image

from liquid_tf._store import manifest as manifests
from tools.bench import codec_sets
from tools.bench.papers.figure import Setting

_EXTENSIONS = (".jpg", ".jpeg")
_QUALITY = 90


def make(
  setting: Setting, folder: pathlib.Path, copies: int, most: int | None
) -> tuple[str, list[pathlib.Path]]:
  """Puts JPEG files into a folder: those of the first set that has only such.

  Where no set of --data is of JPEG files, the images of the first one are encoded.

  Args:
    setting: has the sets.
    folder: gets the files; must not hold any.
    copies: of each, so that an epoch is long.
    most: files before copying; None for all.

  Returns:
    What they are, in words; and the files, one copy of all after another.
  """
  folder.mkdir(parents=True)
  for images in setting.sets:
    if images.paths and all(p.lower().endswith(_EXTENSIONS) for p in images.paths):
      contents = [pathlib.Path(path).read_bytes() for path in images.paths[:most]]
      what = f"{len(contents)} JPEG files of *{images.name}*"
      break
  else:
    images = setting.sets[0]
    every = map(Image.fromarray, codec_sets.load(images)[:most])
    contents = [encoded(image, _QUALITY) for image in every]
    what = f"{len(contents)} images of *{images.name}* as JPEG of quality {_QUALITY}"
  files = []
  for copy in range(copies):
    for i, one in enumerate(contents):
      files.append(folder / f"{copy:03}-{i:04}.jpg")
      if copy:
        shutil.copyfile(files[i], files[-1])
      else:
        files[-1].write_bytes(one)
  return what, files


def converted(
  setting: Setting, folder: pathlib.Path, copies: int, most: int | None, **encoder: Any
) -> tuple[str, list[pathlib.Path], list[dict[str, Any]]]:
  """Makes JPEG files, and `folder/pcr`, a dataset of them with scan groups.

  Args:
    setting: as `make` takes it, likewise `copies` and `most`.
    folder: gets both.
    copies: of each file.
    most: files before copying.
    **encoder: options of the format.

  Returns:
    What `make` gives; and of each scan group what the manifest says.
  """
  from liquid_tf._convert.convert import convert

  what, files = make(setting, folder / "files", copies, most)
  path = folder / "pcr"
  convert(folder / "files", path, "pcr", encoders={"pcr": encoder}, progress=False)
  return what, files, manifests.load(path)["pcr"]["fidelity"]


def encoded(image: Image.Image, quality: int) -> bytes:
  """The JPEG file of an image."""
  stream = io.BytesIO()
  image.save(stream, format="JPEG", quality=quality)
  return stream.getvalue()
