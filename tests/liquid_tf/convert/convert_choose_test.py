"""Which samples a dataset holds: all others are listed before anything is written."""

import json
import os
import pathlib
from unittest import mock

import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._convert import choose, pipelines
from liquid_tf._convert.convert import convert
from liquid_tf._convert.workers import LocalEngine
from liquid_tf._native import ops
from liquid_tf._store import manifest
from liquid_tf._store.formats import BY_NAME, ROWS
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Bits, Channels


class ChooseTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = f"{self.root}/source"
    self.output = f"{self.root}/dataset"
    self.random = np.random.default_rng(1)
    scan = LocalEngine.scan
    self.scanned = []

    def spy(engine, source, positions, encoding):
      self.scanned.append([source.path(position) for position in positions])
      return scan(engine, source, positions, encoding)

    self.enter_context(mock.patch.object(LocalEngine, "scan", spy))

  def _convert(self, mix="png:1,raw:1", **options):
    return convert(self.source, self.output, mix, progress=False, **options)

  def _save(self, name: str, shape=(8, 9, 3), dtype=np.uint8) -> np.ndarray:
    pixels = self.random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    if dtype == np.uint16 and len(shape) == 3:
      # Pillow has no such mode.
      os.makedirs(os.path.dirname(f"{self.source}/{name}"), exist_ok=True)
      png = ops.lib().liquid_encode_image(pixels, format="png").numpy()
      pathlib.Path(self.source, name).write_bytes(png)
    else:
      photos.save(f"{self.source}/{name}", pixels)
    return pixels

  def _fails(self, message: str, **options) -> list[dict]:
    """Converts in vain, checks that nothing was written; returns the list."""
    with self.assertRaisesRegex(ConvertError, message) as caught:
      self._convert(**options)
    path = f"{self.output}/_problems.jsonl"
    self.assertIn(path, str(caught.exception))
    self.assertCountEqual(
      os.listdir(self.output), ["_journal.db", os.path.basename(path)]
    )
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]

  def _images(self) -> dict[str, np.ndarray]:
    """The images as stored, by the name of their file without the extension."""
    sources = sorted(os.fspath(path) for path in pathlib.Path(self.source).rglob("*.*"))
    skipped = {entry["path"] for entry in manifest.load(self.output)["skipped"]}
    kept = [p for p in sources if os.path.relpath(p, self.source) not in skipped]
    return {
      pathlib.Path(kept[record["id"]]).stem: record["image"]
      for record in stored.records(self.output)
    }

  def test_by_default_damage_is_an_error_before_writing(self):
    for i in range(4):
      self._save(f"a/{i}.png")
    for name in ("a/cut.png", "b/no.png"):
      os.makedirs(os.path.dirname(f"{self.source}/{name}"), exist_ok=True)
      pathlib.Path(self.source, name).write_bytes(b"no image")
    listed = self._fails(
      r"2 of 6 samples cannot be stored \(2 cannot be read, as a/cut.png: .*no raw, "
      r'png.*on_error="skip:33.4%" and existing="resume", or mend'
    )
    self.assertEqual([one["path"] for one in listed], ["a/cut.png", "b/no.png"])
    with self.assertRaisesRegex(manifest.ManifestError, "_problems.jsonl lists"):
      manifest.load(self.output)
    with self.assertRaisesRegex(
      ConvertError, r"2 of 6 .* at most 1 % may be left out: .*on_error=\"skip:33.4%"
    ):
      self._convert(on_error="skip", existing="resume")
    report = self._convert(on_error="skip:100%", existing="resume")
    self.assertEqual(report.samples, 4)
    self.assertEqual(report.skipped, listed)
    # Of the second scan, what failed in the first.
    self.assertEqual(self.scanned[1], ["a/cut.png", "b/no.png"])
    self.assertNotIn("_problems.jsonl", os.listdir(self.output))

  def test_what_can_be_read_by_now_is_a_sample(self):
    for i in range(3):
      self._save(f"a/{i}.png")
    path = pathlib.Path(self.source, "a/1.png")
    good, times = path.read_bytes(), path.stat()
    path.write_bytes(bytes(len(good)))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    self._fails("1 of 3 samples")
    path.write_bytes(good)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    self.assertEqual(self._convert(existing="resume").samples, 3)

  def test_a_sample_without_a_label_is_an_error_or_skipped(self):
    os.makedirs(self.source)
    rec = f"{self.source}/a.rec"
    lib = ops.lib()
    with open(rec, "wb") as file:
      for i in range(6):
        if i == 2:
          unlabelled = file.tell()
        pixels = self.random.integers(0, 256, (5, 6, 3), np.uint8)
        png = lib.liquid_encode_image(pixels, format="png")
        labels = [] if i == 2 else [float(i % 2)]
        record = lib.liquid_pack_record(image=png, labels=labels, id=i, example=b"")
        file.write(record.framed.numpy())
    self.source = rec
    listed = self._fails(r"1 of 6 samples .*1 without a label, as a.rec, offset \d+: ")
    self.assertEqual(
      listed,
      [
        {
          "path": f"a.rec, offset {unlabelled}",
          "reason": "has no label, but others have",
        }
      ],
    )
    report = self._convert(existing="resume", on_error="skip:100%")
    self.assertEqual(report.samples, 5)
    self.assertEqual(report.skipped, listed)
    self.assertEqual(
      manifest.load(self.output)["features"]["label"], {"dtype": "int64", "shape": []}
    )

  @parameterized.parameters((16_384, 1), (1, 16_384))
  def test_an_image_too_large_for_a_format_is_listed_before_writing(self, *size):
    for i in range(4):
      self._save(f"a/{i}.png")
    self._save("a/long.png", (*size, 3))
    mix = "webp:1,png:1"
    listed = self._fails(
      r'1 too large for the mix, as a/long.png: has .* format "webp" are at most 16383',
      mix=mix,
    )
    self.assertEqual([one["path"] for one in listed], ["a/long.png"])
    report = self._convert(mix, existing="resume", on_error="skip:100%")
    self.assertEqual((report.samples, report.skipped), (4, listed))
    self.output += "2"
    self._fails("too large", mix=mix)
    # No shard is written yet, so it can be another mix.
    self.assertEqual(self._convert("png:1,raw:1", existing="resume").samples, 5)

  @parameterized.parameters("raw", "bmp")
  def test_an_image_too_large_for_a_record(self, name):
    for i in range(3):
      self._save(f"a/{i}.png")
    self._save("a/large.png", (40, 41, 3))
    with mock.patch.object(choose, "RECORD_BYTES", 40 * 41 * 3):
      self._fails(
        rf'as a/large.png: needs a record of \d+ bytes in the mix\'s format "{name}"',
        mix=f"png:1,{name}:1",
      )

  def test_an_encoding_too_long_for_its_record_names_the_file(self):
    self._save("a/0.png")

    def encode(*unused):
      data = tf.data.Dataset.from_tensors(b"0")
      data = data.map(lambda image: ops.lib().liquid_peek_image(image))
      return data.as_numpy_iterator()

    with mock.patch.object(pipelines, "encode", encode):
      with self.assertRaisesRegex(ConvertError, "a/0.png cannot be stored as png: .*"):
        self._convert("png")

  def test_all_kinds_are_told_at_once_and_flags_decide_without_another_scan(self):
    wanted = {}
    for i in range(5):
      wanted[f"rgb{i}"] = self._save(f"a/rgb{i}.png")
    gray = self._save("a/gray.png", (8, 9))
    deep = self._save("b/deep.png", (8, 9), np.uint16)
    wide = self._save("b/wide.png", (8, 9, 3), np.uint16)
    listed = self._fails(
      r"its samples are of 4 kinds \(1 of 1 channels and 8 bits, as a/gray.png; 1 of "
      r"1 channels and 16 bits, as b/deep.png; 5 of 3 channels and 8 bits, as a/rgb0"
      r".png; 1 of 3 channels and 16 bits, as b/wide.png\): choose one with transforms="
      r"\[Channels\(N\), Bits\(N\)\]"
    )
    self.assertLen(listed, 8)
    self.assertIn({"path": "b/deep.png", "channels": 1, "bits": 16}, listed)
    self._fails(
      r"2 kinds \(6 of .* 8 bits.*\): choose one with transforms=\[Bits\(N\)\];",
      existing="resume",
      transforms=[Channels(3)],
    )
    report = stored.sound(
      self._convert(existing="resume", transforms=[Channels(3), Bits(8)])
    )
    self.assertEqual(report.samples, 8)
    # Only what is to change is read again.
    self.assertEqual(
      self.scanned[1:], [["a/gray.png", "b/deep.png"], ["b/deep.png", "b/wide.png"]]
    )
    self.assertEqual(manifest.load(self.output)["encoding"]["bits"], 8)
    wanted |= {
      "gray": np.stack([gray] * 3, -1),
      "deep": np.stack([deep >> 8] * 3, -1),
      "wide": wide >> 8,
    }
    images = self._images()
    for name, pixels in wanted.items():
      self.assertAllEqual(images[name], pixels.astype(np.uint8))

  def test_16_bits_from_8(self):
    flat = self._save("a/flat.png", (8, 9))
    deep = self._save("a/deep.png", (8, 9), np.uint16)
    self._convert(transforms=[Bits(16)])
    images = self._images()
    self.assertAllEqual(images["flat"][..., 0], flat.astype(np.uint16) * 257)
    self.assertAllEqual(images["deep"][..., 0], deep)
    self.assertEqual(inspection.verify(self.output)["problems"], [])

  def test_an_uncommon_depth_is_skipped(self):
    for i in range(2):
      self._save(f"a/flat{i}.png", (8, 9))
    self._save("a/deep.png", (8, 9), np.uint16)
    report = self._convert(transforms=[Bits("skip")])
    self.assertEqual(report.samples, 2)
    self.assertEqual(
      report.skipped,
      [{"path": "a/deep.png", "reason": "has 16 bits, but most samples have 8 bits"}],
    )

  def test_the_less_common_depth_is_kept_by_the_list_of_problems(self):
    for i in range(3):
      self._save(f"a/flat{i}.png", (8, 9))
    deep = self._save("a/deep.png", (8, 9), np.uint16)
    listed = self._fails(r"choose one with transforms=\[Bits\(N\)\]")
    chosen = [one["path"] for one in listed if one["bits"] == 16]
    self.assertEqual(chosen, ["a/deep.png"])
    for path in chosen:
      os.makedirs(os.path.dirname(f"{self.root}/links/{path}"), exist_ok=True)
      os.symlink(f"{self.source}/{path}", f"{self.root}/links/{path}")
    self.source = f"{self.root}/links"
    self.assertEqual(self._convert(existing="replace").samples, 1)
    [record] = stored.records(self.output)
    self.assertAllEqual(record["image"][..., 0], deep)

  def test_flags_are_fixed_once_a_shard_is_written(self):
    for i in range(20):
      self._save(f"a/{i}.png")
    finish = mock.patch(
      "liquid_tf._convert.finish.finish", side_effect=ConvertError("stopped")
    )
    with finish, self.assertRaisesRegex(ConvertError, "stopped"):
      self._convert()
    with self.assertRaisesRegex(ConvertError, r"cannot resume .*: encoding .* was"):
      self._convert(existing="resume", transforms=[Channels(4)])
    self.assertEqual(self._convert(existing="resume").samples, 20)


class HoldsTest(parameterized.TestCase, tf.test.TestCase):
  """What Python states is what the codecs do."""

  def _stores(self, name: str, pixels: np.ndarray) -> bytes | None:
    lib = ops.lib()
    if name == "pcr":
      raw = lib.liquid_encode_image(pixels, format="raw")
      return (
        lib.liquid_transcode_image(raw, name, orientation=1).encoded.numpy() or None
      )
    try:
      return lib.liquid_encode_image(pixels, format=name).numpy()
    except tf.errors.InvalidArgumentError:
      return None

  @parameterized.parameters(*BY_NAME)
  def test_channels_and_bits(self, name):
    for channels in (1, 2, 3, 4):
      for dtype, bits in ((np.uint8, 8), (np.uint16, 16)):
        can = self._stores(name, np.ones((4, 5, channels), dtype)) is not None
        stated = BY_NAME[name]
        self.assertEqual(can, channels in stated.channels and bits in stated.bits)

  @parameterized.parameters(*BY_NAME)
  def test_sides(self, name):
    side = BY_NAME[name].side
    if side is None:
      self.assertIsNotNone(self._stores(name, np.ones((70_000, 1, 3), np.uint8)))
      self.assertIsNotNone(self._stores(name, np.ones((1, 70_000, 3), np.uint8)))
      return
    for can, length in ((True, side), (False, side + 1)):
      for shape in ((length, 1, 3), (1, length, 3)):
        found = self._stores(name, np.ones(shape, np.uint8))
        self.assertEqual(found is not None, can, shape)

  @parameterized.parameters(*(r.name for r in ROWS if r.file_bytes is not None))
  def test_bytes_of_files(self, name):
    stated = BY_NAME[name]
    for channels in stated.channels:
      for width in range(1, 6):
        pixels = np.ones((3, width, channels), np.uint8)
        row = np.zeros(1, [(f, "u4") for f in ("height", "width", "channels", "bits")])
        row["height"], row["width"], row["channels"], row["bits"] = *pixels.shape, 8
        self.assertEqual(
          stated.file_bytes(row), len(self._stores(name, pixels)), pixels.shape
        )

  def test_bytes_of_a_record(self):
    pack = ops.lib().liquid_pack_record
    record = pack(image=b"12345678", labels=[1.0, 2.0], id=0, example=b"")
    payload = choose._RECORD_HEADER + 2 * 4 + 8
    self.assertEqual(len(record.framed.numpy()), 8 + payload)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "less than 2.29"):
      room = choose.RECORD_BYTES - choose._RECORD_HEADER
      pack(image=bytes(room + 1), labels=[], id=0, example=b"")


if __name__ == "__main__":
  tf.test.main()
