"""Segmentation pairs: a mask keeps its class numbers and stays with its image."""

import io
import os
import pathlib
import struct
import zlib

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

from liquid_tf import codecs
from liquid_tf._convert.convert import convert
from liquid_tf._convert.source import Source
from liquid_tf._convert.sources import masks
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Bits


def _palette(indices: np.ndarray) -> Image.Image:
  image = Image.fromarray(indices, mode="P")
  image.putpalette([255 - i % 256 for i in range(768)])
  return image


def _packed(rows: np.ndarray, bits: int, lead: bytes = b"") -> bytes:
  """Rows of numbers of a few bits, each from a new byte on, behind `lead`."""
  bytes_of = []
  for row in rows:
    text = "".join(f"{number:0{bits}b}" for number in row)
    text += "0" * (-len(text) % 8)
    bytes_of.append(
      lead + bytes(int(text[i : i + 8], 2) for i in range(0, len(text), 8))
    )
  return b"".join(bytes_of)


def _png(
  numbers: np.ndarray, bits: int, color: int, interlaced=False, more=()
) -> bytes:
  """A PNG file of numbers, each of `bits` bits."""
  steps = [(0, 0, 1, 1)]
  if interlaced:
    steps = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)]
    steps += [(2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
  data = b"".join(_packed(numbers[y::h, x::w], bits, b"\0") for y, x, h, w in steps)
  height, width = numbers.shape
  header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlaced)
  file = b"\x89PNG\r\n\x1a\n"
  for name, body in (
    (b"IHDR", header),
    *more,
    (b"IDAT", zlib.compress(data)),
    (b"IEND", b""),
  ):
    crc = zlib.crc32(name + body)
    file += struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)
  return file


def _tiff(numbers: np.ndarray, bits: int, photometric: int) -> bytes:
  """A TIFF file of numbers, each of `bits` bits."""
  data = _packed(numbers, bits)
  height, width = numbers.shape
  tags = {256: width, 257: height, 258: bits, 259: 1, 262: photometric, 273: 8}
  tags |= {277: 1, 278: height, 279: len(data)}
  file = b"MM\0*" + struct.pack(">I", 8 + len(data)) + data
  file += struct.pack(">H", len(tags))
  for tag, value in tags.items():
    file += struct.pack(">HHII", tag, 4, 1, value)
  return file + bytes(4)


def _saved(pixels: np.ndarray, kind: str, **options) -> bytes:
  """A file that Pillow makes."""
  data = io.BytesIO()
  Image.fromarray(pixels).save(data, kind, **options)
  return data.getvalue()


class MasksTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.images, self.masks = f"{self.root}/images", f"{self.root}/masks"
    self.output = f"{self.root}/dataset"
    self.random = np.random.default_rng(3)

  def _pair(self, name: str, mask=None, size=(24, 32)) -> np.ndarray:
    """Saves an image and its mask; returns the mask's class numbers."""
    pixels = photos.crop(photos.photo("coffee"), size, self.random)
    photos.save(f"{self.images}/{name}.jpg", pixels)
    numbers = self.random.integers(0, 12, size).astype(np.uint8)
    os.makedirs(self.masks, exist_ok=True)
    image = Image.fromarray(numbers) if mask is None else mask(numbers)
    image.save(f"{self.masks}/{name}.png")
    return numbers

  def _convert(self, mix="png:1,raw:1", about=(), **options):
    source = Source(self.images, **{"masks": self.masks, **dict(about)})
    return convert(source, self.output, mix, progress=False, **options)

  @parameterized.named_parameters(
    ("gray", None),
    ("palette", _palette),
  )
  def test_class_numbers_come_back(self, mask):
    wanted = [self._pair(f"{i:02}", mask) for i in range(10)]
    report = self._convert()
    self.assertEqual(report.samples, 10)
    self.assertEqual(report.skipped, [])
    found = stored.masks(self.output)
    for sample, numbers in enumerate(wanted):
      self.assertAllEqual(found[sample], numbers)
    loaded = manifest.load(self.output)
    self.assertEqual(
      loaded["features"],
      {
        "image": {"dtype": "uint8", "shape": [24, 32, 3]},
        "mask": {"dtype": "uint8", "shape": [24, 32, 1], "example": "mask"},
      },
    )
    self.assertEqual(loaded["supervised"], ["image", "mask"])
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_names_of_masks_may_end_otherwise(self):
    wanted = self._pair("a_left")
    os.rename(f"{self.masks}/a_left.png", f"{self.masks}/a_ids.png")
    with self.assertRaisesRegex(ConvertError, "fit none of the 1 images.*mask_suffix"):
      self._convert()
    self._convert(about={"mask_suffix": "_left:_ids"})
    self.assertAllEqual(stored.masks(self.output)[0], wanted)
    with self.assertRaisesRegex(ValueError, r'mask_suffix \("_ids"\) needs masks'):
      self._convert(about={"masks": None, "mask_suffix": "_ids"})

  def test_16_bit_masks(self):
    wide = {}

    def deepen(numbers):
      wide[len(wide)] = numbers.astype(np.uint16) * 5000
      return Image.fromarray(wide[len(wide) - 1])

    for i in range(3):
      self._pair(str(i), deepen)
    self._convert()
    for sample, numbers in stored.masks(self.output).items():
      self.assertAllEqual(numbers, wide[sample])
    self.assertEqual(manifest.load(self.output)["features"]["mask"]["dtype"], "uint16")
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_masks_that_do_not_fit_are_skipped_with_the_reason(self):
    for i in range(3):
      self._pair(str(i))
    self._pair("colour", lambda numbers: Image.fromarray(np.stack([numbers] * 3, -1)))
    self._pair("small", lambda numbers: Image.fromarray(numbers[1:]))
    self._pair("damaged")
    pathlib.Path(self.masks, "damaged.png").write_bytes(b"no image")
    self._pair("lonely")
    os.unlink(f"{self.masks}/lonely.png")
    report = self._convert(on_error="skip:100%")
    self.assertEqual(report.samples, 3)
    reasons = {skipped["path"]: skipped["reason"] for skipped in report.skipped}
    self.assertEqual(
      set(reasons), {"colour.jpg", "small.jpg", "damaged.jpg", "lonely.jpg"}
    )
    self.assertIn("must be gray or have a palette, but is RGB", reasons["colour.jpg"])
    self.assertIn("23 x 32 pixels, the image 24 x 32", reasons["small.jpg"])
    self.assertIn("cannot be decoded", reasons["damaged.jpg"])
    self.assertEqual(reasons["lonely.jpg"], "has no mask")

  def test_mixed_mask_depths_are_an_error(self):
    self._pair("a")
    self._pair("b", lambda numbers: Image.fromarray(numbers.astype(np.uint16)))
    with self.assertRaisesRegex(
      ConvertError,
      r"2 kinds \(1 of .* a mask of 8, as a.jpg; 1 of .* a mask of 16, as b.jpg\): "
      r'choose one with transforms=\[Bits\("skip"\)\]',
    ):
      self._convert()
    report = self._convert(existing="resume", transforms=[Bits("skip")])
    self.assertEqual(
      report.skipped,
      [
        {
          "path": "b.jpg",
          "reason": "has 8 bits and a mask of 16, but most samples have 8 bits and a "
          "mask of 8",
        }
      ],
    )

  def test_a_mask_takes_the_smaller_form(self):
    steps = np.repeat(np.arange(4), 8).astype(np.uint8)
    flat = np.add.outer(np.repeat(np.arange(4), 6), steps).astype(np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, (24, 32), np.uint8)
    # What comes again further away costs PNG a few bytes.
    repeated = np.tile(noise[:6, :8], (4, 4))
    for name, numbers in (("0", flat), ("1", noise), ("2", repeated)):
      self._pair(name, lambda _, numbers=numbers: Image.fromarray(numbers))
    self._convert()
    found = {}
    for record in stored.records(self.output):
      example = tf.train.Example.FromString(record["example"])
      (mask,) = example.features.feature["mask"].bytes_list.value
      pixels = codecs.decode(mask).numpy()
      forms = [
        codecs.encode(pixels, "l3-compact"),
        codecs.encode(pixels, "png"),
      ]
      self.assertEqual(len(mask), min(len(form.numpy()) for form in forms))
      found[record["id"]] = mask[:4]
    self.assertEqual(found[0], b"LLL2")
    self.assertEqual(found[2], b"\x89PNG")

  def test_one_bit_masks_are_zero_and_one(self):
    image = Image.fromarray(np.eye(5, dtype=np.uint8) * 255).convert("1")
    data = io.BytesIO()
    image.save(data, "png")
    raw, error = masks.decode_mask(data.getvalue())
    self.assertEqual(error, "")
    self.assertEqual(raw[16:], np.eye(5, dtype=np.uint8).tobytes())

  @parameterized.product(bits=(1, 2, 4, 8, 16), interlaced=(False, True))
  def test_the_numbers_of_a_png_are_those_that_it_stores(self, bits, interlaced):
    numbers = self.random.integers(0, 1 << bits, (11, 13))
    transparent = [(b"tRNS", b"\0\1")]
    files = [_png(numbers, bits, 0, interlaced, more) for more in ((), transparent)]
    if bits <= 8:
      palette = [(b"PLTE", self.random.bytes(3 << bits)), (b"tRNS", b"\0\x80")]
      files += [_png(numbers, bits, 3, interlaced, palette)]
    for file in files:
      self.assertAllEqual(self._numbers(file), numbers)

  @parameterized.parameters(1, 6, 100, 255, 256, 4000, 65535)
  def test_the_numbers_of_a_pgm_are_those_that_it_stores(self, largest):
    numbers = self.random.integers(0, largest, (11, 13), endpoint=True)
    numbers[0, :2] = 0, largest
    binary = numbers.astype(">u2" if largest > 255 else "u1").tobytes()
    text = b" ".join(b"%d" % number for number in numbers.flat)
    for kind, body in ((b"P5", binary), (b"P2", text)):
      file = kind + b"\n# drawn by hand\n13 11\n%d\n" % largest + body
      self.assertAllEqual(self._numbers(file), numbers)

  @parameterized.parameters(1, 2, 4, 8)
  def test_the_numbers_of_a_tiff_are_those_that_it_stores(self, bits):
    numbers = self.random.integers(0, 1 << bits, (11, 13))
    self.assertAllEqual(self._numbers(_tiff(numbers, bits, 1)), numbers)
    _, error = masks.decode_mask(_tiff(numbers, bits, 0))
    self.assertIn("in which 0 is white (WhiteIsZero): save it as PNG", error)

  def test_where_two_numbers_may_be_meant_there_is_no_mask(self):
    numbers = self.random.integers(0, 2, (8, 8)).astype(np.uint8)
    grays = _saved(numbers * 7 + 3, "GIF")
    bitmap = b"P4\n8 8\n" + np.packbits(numbers, axis=1).tobytes()
    # A palette of two grays, at 8 bits a pixel.
    misread = bytearray(_saved(numbers, "BMP"))
    misread[46:50] = struct.pack("<I", 2)
    misread[54:62] = bytes([0, 0, 0, 0, 255, 255, 255, 0])
    for file, reason in (
      (grays, "GIF with a palette of grays"),
      (bitmap, "bitmap of PBM"),
      (bytes(misread), "BMP of 8 bits with a palette of grays"),
    ):
      raw, error = masks.decode_mask(file)
      self.assertEqual(raw, b"")
      self.assertIn(f"{reason}", error)
      self.assertIn("save it as PNG", error)

  @parameterized.parameters(
    ("JPEG", {}, "JPEG"),
    ("JPEG2000", {}, "JPEG2000"),
    ("TIFF", {"compression": "jpeg"}, "TIFF of the compression jpeg"),
  )
  def test_a_lossy_format_is_no_mask(self, kind, options, named):
    numbers = self.random.integers(0, 9, (16, 16)).astype(np.uint8)
    file = _saved(numbers, kind, **options)
    raw, error = masks.decode_mask(file)
    self.assertEqual(raw, b"")
    self.assertRegex(error, f"mask is of {named}, which .* PNG .*lossy_masks=True")
    self.assertEqual(masks.decode_mask(file, lossy=True)[1], "")
    kept = _saved(numbers, "TIFF", compression="tiff_lzw")
    self.assertAllEqual(self._numbers(kept), numbers)

  def test_lossy_masks_are_taken_when_told(self):
    self._pair("a")
    self._pair("b")
    for name in ("a", "b"):
      with Image.open(f"{self.masks}/{name}.png") as image:
        image.save(f"{self.masks}/{name}.jpg")
      os.unlink(f"{self.masks}/{name}.png")
    with self.assertRaisesRegex(
      ConvertError, "2 cannot be read, as a.jpg: .*is of JPEG"
    ):
      self._convert()
    with self.assertRaisesRegex(ConvertError, r"lossy_masks \(true\) was false"):
      self._convert(about={"lossy_masks": True}, existing="resume")
    self._convert(about={"lossy_masks": True}, existing="replace")
    with Image.open(f"{self.masks}/a.jpg") as image:
      self.assertAllEqual(stored.masks(self.output)[0], np.asarray(image))
    with self.assertRaisesRegex(ValueError, "lossy_masks .* needs masks"):
      self._convert(about={"masks": None, "lossy_masks": True})

  def _numbers(self, file: bytes) -> np.ndarray:
    raw, error = masks.decode_mask(file)
    self.assertEqual(error, "")
    height, width, _, bits = struct.unpack("<IIBB", raw[4:14])
    pixels = np.frombuffer(raw[16:], "<u2" if bits == 16 else np.uint8)
    return pixels.reshape(height, width)

  def test_bytes_do_not_depend_on_workers(self):
    for i in range(8):
      self._pair(str(i))
    made = []
    for workers in (1, 4):
      self.output = f"{self.root}/by{workers}"
      self._convert(workers=workers)
      made.append(photos.files(self.output))
    self.assertEqual(made[0], made[1])


if __name__ == "__main__":
  tf.test.main()
