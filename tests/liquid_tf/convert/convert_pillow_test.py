"""Images that the codecs do not decode: converted with Pillow's pixels, or refused."""

import io
import os
import pathlib
import sys
import unittest
import zlib
from unittest import mock

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf import _extras, codecs
from liquid_tf._convert import pillow, tiff
from liquid_tf._convert.convert import convert
from liquid_tf._convert.single import convert_image
from liquid_tf._convert.source import Source
from liquid_tf._native.limits import Limits
from liquid_tf._store import manifest
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Channels

try:
  import tifffile
except ImportError:
  tifffile = None


def _encode(image: Image.Image, name: str, **options) -> bytes:
  buffer = io.BytesIO()
  image.save(buffer, name, **options)
  return buffer.getvalue()


def _files() -> dict[str, bytes]:
  """Files of every kind that Pillow reads for the codecs, all 30 x 40."""
  photo = Image.fromarray(photos.photo("coffee")[:30, :40])
  other = Image.fromarray(photos.photo("chelsea")[:30, :40])
  cmyk = _encode(photo.convert("CMYK"), "JPEG", quality=90)
  adobe = cmyk.index(b"Adobe") + 11  # the kind of transform
  # Subtle colours are not its point: the same coefficients, read as YCCK.
  ycck = cmyk[:adobe] + b"\2" + cmyk[adobe + 1 :]
  more = {"save_all": True, "append_images": [other]}
  return {
    "animated.gif": _encode(photo.quantize(200), "GIF", **more),
    "animated.webp": _encode(photo, "WEBP", lossless=True, **more),
    "cmyk.jpg": cmyk,
    "cmyk_progressive.jpg": _encode(photo.convert("CMYK"), "JPEG", progressive=True),
    "lines.bmp": _encode(photo.convert("1"), "BMP"),
    "lines.pbm": _encode(photo.convert("1"), "PPM"),
    "lzw.tif": _encode(photo, "TIFF", compression="tiff_lzw"),
    "palette.gif": _encode(photo.quantize(16), "GIF"),
    "plain.pgm": _encode(photo.convert("L"), "PPM"),
    "plain.ppm": _encode(photo, "PPM"),
    "plain.tif": _encode(photo, "TIFF"),
    "turned.tif": _encode(photo.rotate(90, expand=True), "TIFF", tiffinfo={274: 6}),
    "ycck.jpg": ycck,
  }


def _pixels(file: bytes) -> np.ndarray:
  with Image.open(io.BytesIO(file)) as image:
    return np.asarray(image.convert("RGB"))


class ConvertPillowTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = os.path.join(self.root, "source")
    self.output = os.path.join(self.root, "dataset")
    os.makedirs(f"{self.source}/a")

  def _write(self, files: dict[str, bytes]) -> None:
    for name, file in files.items():
      pathlib.Path(self.source, "a", name).write_bytes(file)

  def _convert(self, mix="raw", source=None, about=(), **options):
    source = Source(source or self.source, **dict(about))
    return convert(source, self.output, mix, progress=False, **options)

  def _check(self, expected: list[bytes]) -> None:
    records = stored.records(self.output)
    self.assertLen(records, len(expected))
    for record in records:
      pixels = _pixels(expected[record["id"]])
      self.assertAllEqual(record["image"], pixels, f"sample {record['id']}")
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_pixels_are_pillows_and_counted(self):
    files = _files()
    photo = Image.fromarray(photos.photo("coffee")[:30, :40])
    files["apng.png"] = _encode(photo, "PNG", save_all=True, append_images=[photo])
    files["baseline.jpg"] = _encode(photo, "JPEG")
    self._write(files)
    report = self._convert("raw:1,png:1,l3:1", transforms=[Channels(3)])
    self.assertEqual(report.skipped, [])
    self.assertEqual(report.by_pillow, len(_files()))
    [note] = report.notes
    self.assertRegex(
      note, r"^2 of 15 files have .*first: a/animated.gif, 2\): only the first"
    )
    self.assertEqual(manifest.load(self.output)["source"]["by_pillow"], len(_files()))
    self._check([files[name] for name in sorted(files)])

    # Of a dataset nothing is read by Pillow.
    again = convert(self.output, f"{self.root}/again", "bmp", progress=False)
    self.assertEqual(again.by_pillow, 0)

  def test_pages_of_a_tiff_are_told(self):
    slices = [Image.fromarray(np.full((8, 9), i * 300, np.uint16)) for i in range(7)]
    self._write({"one.tif": _encode(slices[3], "TIFF")})
    self.assertEqual(self._convert().notes, [])
    several = _encode(slices[2], "TIFF", save_all=True, append_images=slices)
    self._write({"some.tif": several})
    report = self._convert(existing="replace")
    self.assertLen(report.notes, 1)
    self.assertStartsWith(
      report.notes[0],
      "1 of 2 files have several pages or frames (first: a/some.tif, 8): ",
    )

  def test_every_kind_of_source(self):
    files = [file for _, file in sorted(_files().items())]
    records = f"{self.root}/a.rec"
    with liquid_tf.recordio.Writer(records) as writer:
      for i, file in enumerate(files):
        header = liquid_tf.recordio.Header(label=1.0, id=i)
        writer.write(liquid_tf.recordio.pack(header, file), key=i)
    report = self._convert(source=records, transforms=[Channels(3)])
    self.assertEqual((report.samples, report.by_pillow), (len(files), len(files)))
    self._check(files)

    examples = f"{self.root}/a.tfrecord"
    with tf.io.TFRecordWriter(examples) as writer:
      for file in files:
        values = tf.train.BytesList(value=[file])
        features = {"image/encoded": tf.train.Feature(bytes_list=values)}
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())
    report = self._convert(
      source=examples,
      existing="replace",
      transforms=[Channels(3)],
      about={"label_feature": ""},
    )
    self.assertEqual((report.samples, report.by_pillow), (len(files), len(files)))
    self._check(files)

  def test_depth_and_transparency_are_kept(self):
    deep = photos.photo("camera")[:30, :40].astype(np.uint16) * 201
    self._write({"deep.pgm": _encode(Image.fromarray(deep), "PPM")})
    self._convert("png")
    [record] = stored.records(self.output)
    self.assertAllEqual(record["image"][..., 0], deep)

    image = Image.fromarray(photos.photo("coffee")[:30, :40]).quantize(16)
    os.remove(f"{self.source}/a/deep.pgm")
    self._write({"clear.gif": _encode(image, "GIF", transparency=3)})
    self._convert("png", existing="replace")
    [record] = stored.records(self.output)
    with Image.open(f"{self.source}/a/clear.gif") as image:
      self.assertAllEqual(record["image"], np.asarray(image.convert("RGBA")))

  def test_what_pillow_cannot_read_is_skipped_with_a_sentence(self):
    photo = Image.fromarray(photos.photo("coffee")[:30, :40])
    gif = _encode(photo.quantize(200), "GIF")
    twelve = bytearray(_encode(photo, "JPEG"))
    twelve[twelve.index(b"\xff\xc0") + 4] = 12
    small = np.zeros((30, 40), np.float32)
    wrong = {
      "cut.gif": (gif[: len(gif) // 2], "nor can Pillow read it"),
      "deep.ppm": (b"P6 40 30 65535\n" + bytes(7200), "would keep 8 bits of a channel"),
      "floats.tif": (_encode(Image.fromarray(small), "TIFF"), "its mode is F"),
      "notes.png": (
        b"not an image",
        "the bytes begin with .* nor is it one that Pillow",
      ),
      "twelve.jpg": (
        bytes(twelve),
        "jpeg: .*convert it to PNG|nor is it one that Pillow",
      ),
      "vector.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "nor is it one that Pillow reads"),
    }
    self._write({name: file for name, (file, _) in wrong.items()})
    self._write({"good.gif": gif})
    report = self._convert(on_error="skip:100%")
    self.assertEqual((report.samples, report.by_pillow), (1, 1))
    self.assertEqual([one["path"][2:] for one in report.skipped], sorted(wrong))
    for one in report.skipped:
      self.assertRegex(one["reason"], wrong[one["path"][2:]][1])

  @parameterized.parameters(
    {"photometric": "rgb"},
    {"photometric": "rgb", "compression": "zlib", "predictor": True, "rowsperstrip": 7},
    {"photometric": "rgb", "compression": "lzw", "tile": (16, 32), "byteorder": ">"},
    {"photometric": "rgb", "planarconfig": "separate", "compression": "packbits"},
    {"photometric": "rgb", "extrasamples": ["unassalpha"]},
    {"photometric": "minisblack", "planarconfig": "contig", "extrasamples": [2]},
  )
  @unittest.skipIf(tifffile is None, "needs tifffile")
  def test_deep_tiff_keeps_its_pixels(self, photometric, extrasamples=(), **options):
    channels = (3 if photometric == "rgb" else 1) + len(extrasamples)
    random = np.random.default_rng(channels)
    image = random.integers(0, 1 << 16, (30, 40, channels)).astype(np.uint16)
    file = io.BytesIO()
    given = np.moveaxis(image, -1, 0) if "separate" in options.values() else image
    tifffile.imwrite(
      file, given, photometric=photometric, extrasamples=extrasamples, **options
    )
    self._write({"deep.tif": file.getvalue()})
    report = self._convert("raw")
    self.assertEqual(report.by_pillow, 1)
    [record] = stored.records(self.output)
    self.assertEqual(record["image"].dtype, np.uint16)
    self.assertAllEqual(record["image"], image)

  @unittest.skipIf(tifffile is None, "needs tifffile")
  def test_deep_tiff_that_is_turned(self):
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    for orientation in range(1, 9):
      plain = _encode(Image.fromarray(image), "TIFF", tiffinfo={274: orientation})
      wanted = _pixels(plain).astype(np.uint16) * 256 + 1
      file = io.BytesIO()
      tag = [(274, 3, 1, orientation, True)]
      deep = image.astype(np.uint16) * 256 + 1
      tifffile.imwrite(file, deep, photometric="rgb", extratags=tag)
      self.assertAllEqual(tiff.pixels(file.getvalue(), Limits()), wanted)

  @unittest.skipIf(tifffile is None, "needs tifffile")
  def test_deep_tiff_that_cannot_be_read(self):
    random = np.random.default_rng(0)
    image = random.integers(0, 1 << 16, (30, 40, 4)).astype(np.uint16)

    def made(given=image[..., :3], **options):
      file = io.BytesIO()
      tifffile.imwrite(file, given, **{"photometric": "rgb"} | options)
      return file.getvalue()

    good, packed = made(), made(compression="zlib")
    begin = packed.index(b"\x78")
    bomb = packed.replace(packed[begin:], zlib.compress(bytes(1 << 20)))
    wrong = {
      "alpha.tif": (made(image, extrasamples=[1]), "multiplied by its alpha, or its"),
      "bomb.tif": (bomb.ljust(len(packed), b"\0"), "takes more than 7200 bytes"),
      "broken.tif": (packed[: begin + 9] + b"\1" + packed[begin + 10 :], "is damaged"),
      "cut.tif": (good[:-1], "it is cut off: part 0 is at offset"),
      "cmyk.tif": (made(image, photometric="separated"), "4 channels are SEPARATED"),
      "empty.tif": (b"II*\0", "nor can tifffile read it"),
      "floats.tif": (made(image[..., :3].astype(np.float32)), "numbers are float32"),
    }
    self._write({name: file for name, (file, _) in wrong.items()})
    self._write({"good.tif": good})
    report = self._convert(on_error="skip:100%")
    self.assertEqual([one["path"][2:] for one in report.skipped], sorted(wrong))
    for one in report.skipped:
      self.assertRegex(one["reason"], wrong[one["path"][2:]][1])
    limits = codecs.Limits(pixels=30 * 40 - 1)
    with self.assertRaisesRegex(ValueError, "takes 1200 pixels, over the limit of"):
      tiff.pixels(good, limits)
    with mock.patch.dict(sys.modules, {"tifffile": None}):
      _, error = pillow.as_raw(good, b"no codec", Limits())
      self.assertIn(_extras.sentence("tifffile"), error.decode())

  def test_limits_are_in_force_before_it_decodes(self):
    files = _files()
    self._write(files)
    with self.assertRaisesRegex(ConvertError, "13 of 13 samples cannot be stored"):
      self._convert(limits=codecs.Limits(pixels=30 * 40 - 1), transforms=[Channels(3)])
    self._write({"small.png": _encode(Image.new("RGB", (4, 4)), "PNG")})
    report = self._convert(
      limits=codecs.Limits(pixels=30 * 40 - 1),
      existing="replace",
      on_error="skip:100%",
      transforms=[Channels(3)],
    )
    for one in report.skipped:
      self.assertRegex(
        one["reason"],
        "^(gif|webp|jpeg|bmp|ppm|tiff): (30 x 40|40 x 30) pixels are over the limit of "
        "1199: raise it with limits",
      )
    report = self._convert(
      limits=codecs.Limits(scans=3),
      existing="replace",
      on_error="skip:100%",
      transforms=[Channels(3)],
    )
    [skipped] = report.skipped
    self.assertEqual(skipped["path"], "a/cmyk_progressive.jpg")
    self.assertRegex(skipped["reason"], "jpeg: [0-9]+ scans are over the limit of 3")

  def test_a_single_image(self):
    self._write(_files())
    for name in _files():
      report = convert_image(f"{self.source}/a/{name}", f"{self.root}/{name}.png")
      self.assertTrue(report["by_pillow"])
      file = pathlib.Path(self.source, "a", name).read_bytes()
      made = pathlib.Path(f"{self.root}/{name}.png").read_bytes()
      self.assertAllEqual(_pixels(made), _pixels(file))
    report = convert_image(f"{self.root}/cmyk.jpg.png", f"{self.root}/x.l3")
    self.assertFalse(report["by_pillow"])
    with self.assertRaisesRegex(ConvertError, "vector.eps cannot be stored as png"):
      pathlib.Path(f"{self.root}/vector.eps").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n")
      convert_image(f"{self.root}/vector.eps", f"{self.root}/y.png")


if __name__ == "__main__":
  tf.test.main()
