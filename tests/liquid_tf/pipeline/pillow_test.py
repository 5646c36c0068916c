"""What comes out of geometry is what Pillow makes of the same image, to the bit."""

import os
import pathlib

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image, ImageOps

import liquid_tf
from liquid_tf import transforms

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_FILTERS = {
  "bilinear": Image.Resampling.BILINEAR,
  "bicubic": Image.Resampling.BICUBIC,
  "nearest": Image.Resampling.NEAREST,
}
_IMAGES = 50
# So many of them are as long and thin as these.
_SIZES = [(1, 1), (1, 3000), (3000, 1), (2999, 2), (700, 900)]


def _sizes(rng: np.random.Generator) -> list[tuple[int, int]]:
  drawn = np.exp(rng.uniform(0, np.log(300), (_IMAGES - len(_SIZES), 2))).astype(int)
  return [*_SIZES, *((int(h), int(w)) for h, w in drawn)]


def _pixels(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
  """Noise, or gradients with some noise."""
  noise = rng.integers(0, 256, shape)
  if rng.integers(2):
    return noise.astype(np.uint8)
  ramp = np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[..., None] % 256
  return np.clip(ramp + noise // 16, 0, 255).astype(np.uint8)


def _resized(image: Image.Image, step: transforms.Resize) -> Image.Image:
  """As torchvision's Resize asks Pillow."""
  width, height = image.size
  size = step.size
  if step.shorter:
    by_width, side = width <= height, step.shorter
  else:
    by_width, side = width >= height, step.longer
  if size is None:
    if by_width:
      size = (max(1, int(side * height / width)), side)
    else:
      size = (side, max(1, int(side * width / height)))
  return image.resize(size[::-1], _FILTERS[step.interpolation])


def _centred(image: Image.Image, side: int) -> Image.Image:
  """As torchvision's CenterCrop."""
  left = round((image.width - side) / 2)
  top = round((image.height - side) / 2)
  return image.crop((left, top, left + side, top + side))


class PillowTest(tf.test.TestCase, parameterized.TestCase):
  def _convert(self, images: list[np.ndarray]) -> str:
    source = self.create_tempdir()
    for i, pixels in enumerate(images):
      mode = _MODES[pixels.shape[2]]
      Image.fromarray(pixels.squeeze(2) if mode == "L" else pixels, mode).save(
        os.path.join(source, f"{i:03}.png")
      )
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(source.full_path, path, "l3:1,png:1,raw:1", progress=False)
    return path

  def _samples(self, path: str, steps: list, features: list[str], **options):
    """By number, of the files in order."""
    data = liquid_tf.dataset(
      path, None, transforms=steps, features=["id", "image", *features], **options
    )
    found = {int(sample["id"]): sample for sample in data.as_numpy_iterator()}
    return [found[i] for i in sorted(found)]

  def _expect(self, found: np.ndarray, wanted: Image.Image, of: str):
    expected = np.asarray(wanted)
    expected = expected[..., None] if expected.ndim == 2 else expected
    self.assertEqual(found.shape, expected.shape, of)
    self.assertEqual(int((found != expected).sum()), 0, of)

  @parameterized.parameters(1, 2, 3, 4)
  def test_equal_to_pillow(self, channels):
    rng = np.random.default_rng(channels)
    arrays = [_pixels(rng, (h, w, channels)) for h, w in _sizes(rng)]
    path = self._convert(arrays)
    images = [
      Image.fromarray(a.squeeze(2) if channels == 1 else a, _MODES[channels])
      for a in arrays
    ]
    for interpolation in _FILTERS:
      for given in (
        {"size": (37, 224)},
        {"size": (224, 61)},
        {"shorter": 32},
        {"longer": 48},
      ):
        step = transforms.Resize(**given, interpolation=interpolation)
        found = self._samples(path, [step], [], shuffle=False)
        for i, image in enumerate(images):
          self._expect(found[i]["image"], _resized(image, step), f"{i} {step}")

  @parameterized.parameters(1, 2, 3, 4)
  def test_windows_are_cropped_and_then_resized(self, channels):
    rng = np.random.default_rng(10 + channels)
    arrays = [_pixels(rng, (h, w, channels)) for h, w in _sizes(rng)]
    path = self._convert(arrays)
    for interpolation, method in _FILTERS.items():
      step = transforms.RandomResizedCrop((30, 41), interpolation=interpolation)
      steps = [step, transforms.Mirror()]
      found = self._samples(path, steps, ["window", "mirrored"], seed=channels)
      mirrored = 0
      for array, sample in zip(arrays, found):
        y, x, height, width = sample["window"]
        part = array[y : y + height, x : x + width]
        part = Image.fromarray(
          part.squeeze(2) if channels == 1 else part, _MODES[channels]
        )
        wanted = part.resize((41, 30), method)
        if sample["mirrored"]:
          wanted = wanted.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
          mirrored += 1
        self._expect(sample["image"], wanted, f"{sample['id']} {step}")
      self.assertBetween(mirrored, 10, 40)

  @parameterized.parameters("bilinear", "bicubic", "nearest")
  def test_a_crop_after_a_resize_has_the_pixels_of_the_whole(self, interpolation):
    rng = np.random.default_rng(20)
    arrays = [_pixels(rng, (h, w, 3)) for h, w in _sizes(rng) if max(h, w) < 1000]
    path = self._convert(arrays)
    step = transforms.Resize(shorter=64, interpolation=interpolation)
    steps = [step, transforms.CenterCrop(57)]
    found = self._samples(path, steps, [], shuffle=False)
    for array, sample in zip(arrays, found):
      wanted = _centred(_resized(Image.fromarray(array), step), 57)
      self._expect(sample["image"], wanted, str(sample["id"]))

  def test_the_recipe_of_evaluation_on_photographs(self):
    """Resize(256), CenterCrop(224) of torchvision's, over Pillow."""
    flowers = photos.shared_data("limited", "photo_jpeg", "flowers")
    if flowers is None:
      self.skipTest("needs the shared photographs")
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(flowers, path, "jpeg", progress=False)
    step = transforms.Resize(shorter=256)
    data = liquid_tf.dataset(
      path,
      32,
      shuffle=False,
      features=["id", "image"],
      transforms=[step, transforms.CenterCrop(224)],
    )
    # Samples are numbered in the order of the files.
    files = sorted(str(file) for file in pathlib.Path(flowers).glob("*/*.jpg"))
    found = 0
    for batch in data.as_numpy_iterator():
      for number, pixels in zip(batch["id"], batch["image"]):
        image = Image.open(files[number]).convert("RGB")
        self._expect(pixels, _centred(_resized(image, step), 224), files[number])
        found += 1
    self.assertEqual(found, len(files))

  def test_padding_and_a_window_of_that(self):
    rng = np.random.default_rng(30)
    arrays = [_pixels(rng, (h, w, 3)) for h, w in _sizes(rng)]
    path = self._convert(arrays)
    steps = [
      transforms.Resize(longer=40),
      transforms.Pad((44, 50), 9),
      transforms.CenterCrop((43, 47)),
    ]
    found = self._samples(path, steps, [], shuffle=False)
    for array, sample in zip(arrays, found):
      content = np.asarray(_resized(Image.fromarray(array), steps[0]))
      wanted = np.full((44, 50, 3), 9, np.uint8)
      top, left = (44 - content.shape[0]) // 2, (50 - content.shape[1]) // 2
      wanted[top : top + content.shape[0], left : left + content.shape[1]] = content
      # Of 1 and 3 pixels too many, half is rounded to even: 0 and 2.
      self._expect(sample["image"], Image.fromarray(wanted[0:43, 2:49]), "padded")

  def test_a_draft_is_pillows(self):
    rng = np.random.default_rng(50)
    source = self.create_tempdir()
    for i in range(12):
      height, width = rng.integers(60, 500, 2)
      noise = rng.integers(0, 256, (int(height) // 24 + 2, int(width) // 24 + 2, 3))
      image = Image.fromarray(noise.astype(np.uint8)).resize((int(width), int(height)))
      image.save(os.path.join(source, f"{i:02}.jpg"), subsampling=i % 3)
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(source.full_path, path, "jpeg", progress=False)
    step = transforms.Resize((48, 56), draft=True)
    found = self._samples(path, [step], [], shuffle=False)
    plain = self._samples(path, [transforms.Resize((48, 56))], [], shuffle=False)
    smaller = 0
    for i, sample in enumerate(found):
      image = Image.open(os.path.join(source, f"{i:02}.jpg"))
      whole = image.size
      image.draft("RGB", (56, 48))
      smaller += image.size != whole
      self._expect(
        sample["image"], image.resize((56, 48), _FILTERS["bilinear"]), str(i)
      )
      # Much the same as without.
      difference = sample["image"].astype(float) - plain[i]["image"]
      self.assertLess(np.abs(difference).mean(), 12)
    self.assertGreater(smaller, 6)

  def test_statistics_count_the_files_that_libjpeg_decodes(self):
    source = self.create_tempdir()
    for i in range(7):
      image = Image.fromarray(np.full((40, 50, 3), 30 * i, np.uint8))
      image.save(os.path.join(source, f"{i}.jpg"), progressive=i >= 4)
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(source.full_path, path, "jpeg", progress=False)
    data = liquid_tf.dataset(path, 7)
    for _ in range(2):
      list(data)
    stats = liquid_tf.stats(data)
    self.assertEqual([e["libjpeg_decodes"]["jpeg"] for e in stats.epochs], [3, 3])
    self.assertEqual(stats.summary()["decodes"], 14)
    self.assertEqual(stats.summary()["libjpeg_decodes"], 6)

  def test_windows_of_drafts_are_near_the_windows(self):
    source = self.create_tempdir()
    ramp = np.add.outer(np.arange(400) // 2, np.arange(600) // 12)[..., None]
    Image.fromarray((ramp + [0, 3, 5]).astype(np.uint8)).save(
      os.path.join(source, "0.jpg"), quality=98
    )
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(source.full_path, path, "jpeg", progress=False)
    for seed in range(20):
      drafted, plain = (
        self._samples(
          path, [transforms.RandomResizedCrop(20, draft=draft)], ["window"], seed=seed
        )[0]
        for draft in (True, False)
      )
      self.assertAllEqual(drafted["window"], plain["window"])
      self.assertAllClose(drafted["image"], plain["image"], atol=6)

  @parameterized.parameters("l3", "l3-compact", "png", "raw", "jpeg")
  def test_images_are_turned_as_their_exif_says(self, mix):
    rng = np.random.default_rng(60)
    source = self.create_tempdir()
    extension = "jpg" if mix == "jpeg" else "png"
    for orientation in range(1, 9):
      exif = Image.Exif()
      exif[0x0112] = orientation
      name = os.path.join(source, f"{orientation}.{extension}")
      Image.fromarray(_pixels(rng, (50, 70, 3))).save(name, exif=exif)
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(source.full_path, path, mix, progress=False)
    upright = [
      ImageOps.exif_transpose(Image.open(os.path.join(source, name)))
      for name in sorted(os.listdir(source))
    ]
    resize = transforms.Resize(shorter=40)
    for steps, wanted in (
      ([], lambda image: image),
      ([transforms.CenterCrop(45)], lambda image: _centred(image, 45)),
      ([resize], lambda image: _resized(image, resize)),
      (
        [resize, transforms.CenterCrop(33)],
        lambda image: _centred(_resized(image, resize), 33),
      ),
    ):
      found = self._samples(
        path, [transforms.Orient(), *steps], ["affine", "size"], shuffle=False
      )
      for image, sample in zip(upright, found):
        expected = wanted(image)
        self._expect(sample["image"], expected, f"{sample['id'] + 1} {steps}")
        self.assertAllEqual(sample["size"], expected.size[::-1])
        if not steps:
          # The stored image's corners are the turned one's.
          corners = sample["affine"] @ [[0, 50, 0, 50], [0, 0, 70, 70], [1, 1, 1, 1]]
          self.assertAllEqual(corners.min(axis=1), [0, 0])
          self.assertAllEqual(corners.max(axis=1), sample["size"])

  def test_a_mask_takes_the_nearest_pixel(self):
    rng = np.random.default_rng(40)
    source, masks = self.create_tempdir(), self.create_tempdir()
    arrays = []
    for i in range(10):
      height, width = rng.integers(20, 200, 2)
      arrays.append(_pixels(rng, (int(height), int(width), 3)))
      Image.fromarray(arrays[-1]).save(os.path.join(source, f"{i}.png"))
      Image.fromarray(arrays[-1][..., 0]).save(os.path.join(masks, f"{i}.png"))
    path = os.path.join(self.create_tempdir(), "dataset")
    liquid_tf.convert(
      liquid_tf.Source(source.full_path, masks=masks.full_path),
      path,
      "l3",
      progress=False,
    )
    steps = [transforms.Resize((50, 60)), transforms.Pad(64, 3, mask_value=255)]
    found = self._samples(path, steps, ["mask"], shuffle=False)
    for array, sample in zip(arrays, found):
      mask = Image.fromarray(array[..., 0]).resize((60, 50), _FILTERS["nearest"])
      wanted = np.full((64, 64), 255, np.uint8)
      wanted[7:57, 2:62] = np.asarray(mask)
      self._expect(sample["mask"], Image.fromarray(wanted), str(sample["id"]))


if __name__ == "__main__":
  tf.test.main()
