"""A folder like those that people have converts in one go, and no file is lost."""

import json
import os
import pathlib
import shutil
import tempfile

import commands
import numpy as np
import stored
import tensorflow as tf
from PIL import Image

from liquid_tf._native import ops
from liquid_tf._store import manifest
from liquid_tf._view import inspection

_FILES = 1000
_MIX = "png:3,raw:2,l3:2,webp:1,bmp:1,jpeg:1"
_NAMES = (
  b"two words.png",
  b"tab\t.png",
  b"new\nline.png",
  "\u00fcn\u00efcode \U0001f600.png".encode(),
  b"not utf-8 \xff\xfe.png",
  b"-dash.png",
  b"%41;$(x)'\".png",
  b"UPPER.PNG",
  b"no extension",
  b"wrong.jpg",
  b"x" * 200 + b".png",
)


class _Mess:
  """Makes the files, each of a kind that depends on its number alone."""

  def __init__(self, root: bytes):
    self.root = root
    self.count = 0
    self._random = np.random.default_rng(7)

  def place(self, name: bytes | str) -> bytes:
    """A path for one file more."""
    self.count += 1
    path = os.path.join(self.root, os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path

  def pixels(self, channels: int, dtype=np.uint8) -> np.ndarray:
    """A smooth image of a size of its own, with some noise."""
    height, width = self._random.integers(9, 40, 2)
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([y * 5, x * 4, y + x, y * x % 97][:channels], -1)
    noise = self._random.integers(0, 9, smooth.shape)
    values = np.clip(smooth + noise, 0, 255).astype(dtype)
    return (
      values if dtype == np.uint8 else values * 251 + int(self._random.integers(256))
    )

  def save(self, name: bytes | str, image: Image.Image, format: str, **options):
    with open(self.place(name), "wb") as file:
      image.save(file, format, **options)

  def rgb(self, name: bytes | str, format: str = "png", **options) -> None:
    self.save(name, Image.fromarray(self.pixels(3)), format, **options)

  def gray(self, name: str, format: str = "png") -> None:
    self.save(name, Image.fromarray(self.pixels(1)[..., 0]), format)

  def palette(self, name: str) -> None:
    self.save(name, Image.fromarray(self.pixels(3)).quantize(17), "png")

  def cmyk(self, name: str) -> None:
    self.save(name, Image.fromarray(self.pixels(4), mode="CMYK"), "jpeg")

  def alpha(self, name: str, opaque: bool) -> None:
    pixels = self.pixels(4)
    pixels[..., 3] = 255 if opaque else 7
    self.save(name, Image.fromarray(pixels), "png")

  def deep(self, name: str, channels: int) -> None:
    # Pillow writes none with colours.
    png = ops.lib().liquid_encode_image(self.pixels(channels, np.uint16), format="png")
    self.write(name, png.numpy())

  def rotated(self, name: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    self.rgb(name, "jpeg", exif=exif)

  def write(self, name: bytes | str, data: bytes) -> None:
    with open(self.place(name), "wb") as file:
      file.write(data)

  def make(self) -> None:
    for number, name in enumerate(_NAMES):
      self.rgb(b"odd %d/" % (number % 2) + name)
    self.rgb("unlabelled.png")
    self.write("cats/broken.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 50)
    self.write("cats/empty.jpg", b"")
    self.write("cats/Thumbs.db", b"\xd0\xcf\x11\xe0")
    self.write("cats/.DS_Store", b"\0")
    self.save("dogs/huge.png", Image.new("RGB", (20_000, 3), "red"), "png")
    for i in range(3):
      self.alpha(f"dogs/see-through{i}.png", opaque=False)
    os.symlink(b"0100.png", self.place("cats/a link.png"))
    os.symlink(b"gone.png", self.place("cats/dangling.png"))
    os.symlink(b"..", self.place("cats/circle"))
    kinds = [
      lambda name: self.rgb(f"{name}.png"),
      lambda name: self.rgb(f"{name}.jpg", "jpeg", quality=85),
      lambda name: self.gray(f"{name}.png"),
      lambda name: self.gray(f"{name}.jpg", "jpeg"),
      lambda name: self.rgb(f"{name}.webp", "webp", lossless=True),
      lambda name: self.palette(f"{name}.png"),
      lambda name: self.cmyk(f"{name}.jpg"),
      lambda name: self.deep(f"{name}.png", 1),
      lambda name: self.deep(f"{name}.png", 3),
      lambda name: self.rotated(f"{name}.jpg", 1 + len(name) % 8),
      lambda name: self.alpha(f"{name}.png", opaque=True),
      lambda name: self.rgb(f"{name}.bmp", "bmp"),
      lambda name: self.save(
        f"{name}.png", Image.fromarray(self.pixels(1)[..., 0]).convert("1"), "png"
      ),
    ]
    self.rgb("cats/0100.png")
    for number in range(_FILES - self.count):
      folder = "birds" if number % 3 else f"cats/{'deeper/' * (number % 2)}"
      kinds[number % len(kinds)](f"{folder}/{number + 1000}{'x' * (number % 8)}")


def _wanted(path: str) -> np.ndarray:
  """What Pillow makes of a file: RGB, 8 bits, of 16 the upper ones."""
  with Image.open(path) as image:
    if image.mode.startswith("I"):
      return np.repeat((np.asarray(image) >> 8).astype(np.uint8)[..., None], 3, -1)
    return np.asarray(image.convert("RGB"))


class MessTest(tf.test.TestCase):
  def test_converts_in_one_go(self):
    root = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, root)
    source, output = f"{root}/mess", f"{root}/mess.liquid"
    _Mess(os.fsencode(source)).make()
    files = set()
    for folder, folders, names in os.walk(source):
      links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
      for name in names + links:
        files.add(os.path.relpath(os.path.join(folder, name), source))
    self.assertLen(files, _FILES)

    done = commands.run(
      "convert",
      f"--input={source}",
      f"--output={output}",
      f"--mix={_MIX}",
      "--on_error=skip",
      "--max_skipped=100%",
      "--channels=3",
      "--bits=8",
      "--verify",
      "--json",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    self.assertEqual(inspection.verify(output)["problems"], [])

    skipped = {one["path"]: one["reason"] for one in report["skipped"]}
    self.assertLen(skipped, len(report["skipped"]))
    self.assertEqual(report["samples"] + len(skipped), _FILES)
    self.assertCountEqual(
      skipped,
      [
        "unlabelled.png",
        "cats/.DS_Store",
        "cats/Thumbs.db",
        "cats/broken.png",
        "cats/circle",
        "cats/dangling.png",
        "cats/empty.jpg",
        "dogs/huge.png",
        *(f"dogs/see-through{i}.png" for i in range(3)),
      ],
    )
    self.assertTrue(all(skipped.values()))
    self.assertIn("at most 16383", skipped["dogs/huge.png"])
    self.assertIn("alpha would be lost", skipped["dogs/see-through0.png"])

    samples = sorted(files - skipped.keys(), key=os.fsencode)
    records = stored.records(output)
    self.assertLen(records, len(samples))
    loaded = manifest.load(output)
    checked = 0
    for record in records:
      path = samples[record["id"]]
      if loaded["formats"][record["shard"].format]["lossless"]:
        self.assertAllEqual(record["image"], _wanted(f"{source}/{path}"), path)
        checked += 1
      label = loaded.classes[int(record["labels"][0])]
      self.assertEqual(label, pathlib.PurePath(path).parts[0])
    self.assertGreater(checked, len(samples) * 0.8)


if __name__ == "__main__":
  tf.test.main()
