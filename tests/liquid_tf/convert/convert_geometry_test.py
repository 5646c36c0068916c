"""Images that a conversion turns and resizes: Pillow's pixels, in every format."""

import os
import pathlib

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageOps

import liquid_tf
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._native.limits import Limits
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Bits, Channels, Mirror, Orient, Resize

_LOSSLESS = ("png", "webp", "raw", "bmp", "l3", "l3-compact")
_FILTERS = {
  "bilinear": Image.Resampling.BILINEAR,
  "bicubic": Image.Resampling.BICUBIC,
  "nearest": Image.Resampling.NEAREST,
}


def _upright(path: str) -> Image.Image:
  with Image.open(path) as image:
    return ImageOps.exif_transpose(image)


def _size(image: Image.Image, resize: Resize) -> tuple[int, int]:
  """(width, height) as torchvision finds them."""
  if resize.size:
    return resize.size[::-1]
  find, side = (min, resize.shorter) if resize.shorter else (max, resize.longer)
  of = find(image.size)
  return tuple(side if s == of else max(1, int(side * s / of)) for s in image.size)


def _resized(image: Image.Image, resize: Resize) -> np.ndarray:
  wanted = _size(image, resize)
  if wanted != image.size:
    image = image.resize(wanted, _FILTERS[resize.interpolation])
  return np.asarray(image)


class GeometryTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source, self.output = f"{self.root}/source", f"{self.root}/dataset"

  def _save(self, name: str, size: tuple[int, int], orientation: int = 1, **options):
    random = np.random.default_rng(orientation)
    pixels = photos.crop(photos.photo("coffee"), size, random)
    exif = Image.Exif()
    exif[0x0112] = orientation
    photos.save(f"{self.source}/{name}", pixels, exif=exif, **options)

  def _images(self, path: str, mix: str | None = None) -> dict[int, np.ndarray]:
    """Pixels by sample."""
    ds = liquid_tf.dataset(path, batch_size=None, features=["id", "image"], mix=mix)
    return {int(one["id"]): one["image"].numpy() for one in ds}

  def _paths(self) -> list[str]:
    return [str(path) for path in sorted(pathlib.Path(self.source).iterdir())]

  def _make_turned(self) -> None:
    for orientation in range(1, 9):
      self._save(f"{orientation}.png", (61, 83), orientation)
    self._save("9.webp", (83, 61), 6, lossless=True)

  @parameterized.named_parameters(
    ("shorter", Resize(shorter=32)),
    ("longer", Resize(longer=40, interpolation="bicubic")),
    ("larger", Resize(shorter=90)),
    ("size", Resize((30, 70))),
    ("nearest", Resize((70, 30), interpolation="nearest")),
  )
  def test_every_lossless_format_stores_the_pixels_of_pillow(self, resize):
    self._make_turned()
    mix = ",".join(f"{name}:1" for name in _LOSSLESS)
    steps = [Orient(), resize, Channels(3), Bits(8)]
    convert(
      self.source, self.output, mix, transforms=steps, replicate=True, progress=False
    )
    wanted = [_resized(_upright(path), resize) for path in self._paths()]
    loaded = manifest.load(self.output)
    rows = manifest.load_index(loaded)
    self.assertAllEqual(rows["orientation"], np.ones(len(rows)))
    for row in rows:
      self.assertEqual((row["height"], row["width"]), wanted[row["sample"]].shape[:2])
    for name in _LOSSLESS:
      found = self._images(self.output, name)
      self.assertLen(found, 9)
      for sample, pixels in found.items():
        self.assertAllEqual(pixels, wanted[sample], f"{name} {sample}")
    self.assertEqual(inspection.verify(self.output)["problems"], [])
    self.assertTrue(all(entry["lossless"] for entry in loaded["formats"].values()))

  @parameterized.parameters("L", "LA", "RGBA", "I;16")
  def test_other_kinds_of_pixels(self, mode):
    random = np.random.default_rng(0)
    shape = (40, 53, *{"LA": (2,), "RGBA": (4,)}.get(mode, ()))
    deep = mode == "I;16"
    pixels = random.integers(0, 65536 if deep else 256, shape)
    pixels = pixels.astype(np.uint16 if deep else np.uint8)
    os.makedirs(self.source)
    Image.fromarray(pixels).save(f"{self.source}/a.png")
    resize = Resize(shorter=25)
    convert(self.source, self.output, "png:1", transforms=[resize], progress=False)
    [found] = self._images(self.output).values()
    if deep:
      exact = np.asarray(
        Image.fromarray(pixels.astype(np.float32), "F").resize(
          (33, 25), Image.Resampling.BILINEAR
        )
      )
      self.assertLessEqual(np.abs(found[..., 0] - exact).max(), 0.51)
    else:
      [path] = self._paths()
      wanted = _resized(_upright(path), resize)
      self.assertAllEqual(found, wanted.reshape(found.shape))

  def test_lossy_formats_encode_the_resized_pixels(self):
    self._make_turned()
    resize = Resize(shorter=48)
    convert(
      self.source,
      self.output,
      "jpeg:1,pcr:1,webp-lossy:1",
      transforms=[Orient(), resize],
      replicate=True,
      progress=False,
    )
    wanted = [_resized(_upright(path), resize) for path in self._paths()]
    for name in ("jpeg", "pcr", "webp"):
      for sample, pixels in self._images(self.output, name).items():
        self.assertEqual(pixels.shape, wanted[sample].shape)
        difference = np.abs(pixels.astype(int) - wanted[sample])
        self.assertLess(difference.mean(), 6, name)

  def test_what_does_not_change_is_stored_byte_for_byte(self):
    for name in ("a.png", "b.jpg", "c.jpg"):
      self._save(name, (40, 60) if name < "c" else (50, 60))
    convert(
      self.source,
      self.output,
      "png:1,jpeg:1",
      transforms=[Orient(), Resize(shorter=40)],
      replicate=True,
      progress=False,
    )
    files = [pathlib.Path(path).read_bytes() for path in self._paths()]
    for name, kept in (("png", [True, False, False]), ("jpeg", [False, True, False])):
      ds = liquid_tf.dataset(self.output, 3, features=["id", "bytes"], mix=name)
      [batch] = list(ds)
      found = dict(zip(batch["id"].numpy().tolist(), batch["bytes"].numpy()))
      same = [found[sample] == files[sample] for sample in range(3)]
      self.assertEqual(same, kept, name)

  def test_without_orient_the_orientation_stays(self):
    self._save("a.png", (40, 60), 6)
    convert(
      self.source,
      self.output,
      "png:1",
      transforms=[Resize(longer=30)],
      progress=False,
    )
    [row] = manifest.load_index(manifest.load(self.output))
    self.assertEqual((row["height"], row["width"], row["orientation"]), (20, 30, 6))
    again = f"{self.root}/again"
    convert(self.output, again, "raw:1", transforms=[Orient()], progress=False)
    [row] = manifest.load_index(manifest.load(again))
    self.assertEqual((row["height"], row["width"], row["orientation"]), (30, 20, 1))
    [before], [after] = self._images(self.output).values(), self._images(again).values()
    self.assertAllEqual(after, np.rot90(before, -1))

  def test_images_that_pillow_reads(self):
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (40, 60, 4), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 8
    os.makedirs(self.source)
    image = Image.fromarray(pixels, "CMYK")
    image.save(f"{self.source}/a.jpg", exif=exif)
    resize = Resize(shorter=21)
    convert(
      self.source,
      self.output,
      "png:1",
      transforms=[Orient(), resize],
      progress=False,
    )
    with Image.open(f"{self.source}/a.jpg") as image:
      upright = ImageOps.exif_transpose(image.convert("RGB"))
    [found] = self._images(self.output).values()
    self.assertAllEqual(found, _resized(upright, resize))

  def test_masks_follow_by_the_nearest_pixel(self):
    random = np.random.default_rng(0)
    os.makedirs(f"{self.root}/masks")
    wanted = {}
    resize = Resize(longer=37)
    for orientation in (1, 6, 3):
      self._save(f"{orientation}.jpg", (48, 66), orientation)
      numbers = Image.fromarray(random.integers(0, 99, (48, 66), np.uint8))
      numbers.save(f"{self.root}/masks/{orientation}.png")
      numbers.getexif()[0x0112] = orientation
      nearest = Resize(longer=37, interpolation="nearest")
      wanted[len(wanted)] = _resized(ImageOps.exif_transpose(numbers), nearest)
    wanted = dict(zip((0, 2, 1), wanted.values()))
    source = Source(self.source, masks=f"{self.root}/masks")
    steps = [Orient(), resize]
    convert(source, self.output, "png:1", transforms=steps, progress=False)
    # A dataset has its masks in examples.
    whole, again = f"{self.root}/whole", f"{self.root}/again"
    convert(source, whole, "png:1", progress=False)
    convert(whole, again, "png:1", transforms=steps, progress=False)
    for path in (self.output, again):
      found = stored.masks(path)
      for sample, numbers in wanted.items():
        self.assertAllEqual(found[sample], numbers)
      self.assertEqual(inspection.verify(path)["problems"], [])

  def test_a_mask_must_have_the_size_of_its_image_before(self):
    self._save("a.jpg", (48, 66))
    os.makedirs(f"{self.root}/masks")
    Image.fromarray(np.zeros((24, 33), np.uint8)).save(f"{self.root}/masks/a.png")
    source = Source(self.source, masks=f"{self.root}/masks")
    with self.assertRaisesRegex(ConvertError, "mask is 24 x 33 pixels, the image 48"):
      convert(
        source,
        self.output,
        "png:1",
        transforms=[Resize((20, 20))],
        progress=False,
      )

  def test_the_manifest_says_what_was_done(self):
    self._save("a.png", (40, 60))
    for steps, wanted in (
      ([], {"orient": False}),
      (
        [Bits(8), Orient(), Resize(shorter=20)],
        {
          "orient": True,
          "resize": {"shorter": 20, "interpolation": "bilinear", "antialias": True},
        },
      ),
      (
        [Resize((20, 33), interpolation="nearest", antialias=False)],
        {
          "orient": False,
          "resize": {"size": [20, 33], "interpolation": "nearest", "antialias": False},
        },
      ),
    ):
      convert(
        self.source,
        self.output,
        "png:1",
        transforms=steps,
        existing="replace",
        progress=False,
      )
      self.assertEqual(manifest.load(self.output)["geometry"], wanted)
    convert(
      self.source,
      self.output,
      "png:1",
      transforms=steps,
      existing="resume",
      progress=False,
    )
    with self.assertRaisesRegex(ConvertError, "holds a dataset with geometry"):
      convert(self.source, self.output, "png:1", existing="resume", progress=False)

  def test_resume_with_another_size_is_refused(self):
    self._save("a.png", (40, 60))
    pathlib.Path(self.source, "b.png").write_text("no image")
    options = {"existing": "resume", "progress": False}
    with self.assertRaisesRegex(ConvertError, "cannot be stored"):
      convert(
        self.source, self.output, "png:1", transforms=[Resize(shorter=20)], **options
      )
    for steps in ([Resize(shorter=21)], [], [Orient(), Resize(shorter=20)]):
      with self.assertRaisesRegex(ConvertError, "cannot resume .*: geometry"):
        convert(self.source, self.output, "png:1", transforms=steps, **options)
    convert(
      self.source,
      self.output,
      "png:1",
      transforms=[Resize(shorter=20), Channels(3)],
      on_error="skip:50%",
      **options,
    )
    [found] = self._images(self.output).values()
    self.assertEqual(found.shape, (20, 30, 3))

  def test_steps_that_are_refused(self):
    self._save("a.png", (40, 60))
    for steps, message in (
      ([Resize((4, 4), draft=True)], "must not have draft=True"),
      ([Resize((4, 4)), Orient()], r"Orient\(\) must come before Resize"),
      ([Resize((4, 4)), Resize(shorter=4)], "must not both be given"),
      ([Mirror()], "must be a step of convert: Orient, Resize, Channels, Bits"),
      (Orient(), "must be a list of steps"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        convert(self.source, self.output, "png:1", transforms=steps, progress=False)

  def test_a_result_that_is_too_large(self):
    os.makedirs(self.source)
    Image.fromarray(np.zeros((1, 90), np.uint8)).save(f"{self.source}/a.png")
    with self.assertRaisesRegex(
      ConvertError, "resize: 50 x 4500 pixels are over the limit of 224999"
    ):
      convert(
        self.source,
        self.output,
        "png:1",
        transforms=[Resize(shorter=50)],
        limits=Limits(pixels=224_999),
        progress=False,
      )
    with self.assertRaisesRegex(ConvertError, 'sides of the mix.s format "webp" are'):
      convert(
        self.source,
        self.output,
        "webp:1",
        transforms=[Resize(shorter=200), Channels(3)],
        existing="replace",
        progress=False,
      )

  def test_the_bytes_do_not_depend_on_workers(self):
    self._make_turned()
    found = []
    for workers in (1, 4):
      convert(
        self.source,
        self.output,
        "l3:1,png:1",
        transforms=[Orient(), Resize(shorter=32)],
        workers=workers,
        existing="replace",
        progress=False,
      )
      found.append(photos.files(self.output))
    self.assertEqual(*found)


if __name__ == "__main__":
  tf.test.main()
