"""A conversion of what Python code gives, by `Source.from_iterable`."""

import io
import os
import pathlib
import threading
from unittest import mock

import numpy as np
import photos
import tensorflow as tf
from absl.testing import absltest, parameterized
from PIL import Image

import liquid_tf
from liquid_tf import Source
from liquid_tf._convert import write
from liquid_tf._convert.convert import convert
from liquid_tf.errors import ConvertError, WrongArgument


def _crops(count: int, channels: int = 3, seed: int = 0) -> list[np.ndarray]:
  random = np.random.default_rng(seed)
  image = photos.photo("coffee" if channels == 3 else "camera")
  sides = random.integers(16, 40, (count, 2)).tolist()
  return [photos.crop(image, tuple(side), random) for side in sides]


def _jpeg(pixels: np.ndarray) -> bytes:
  file = io.BytesIO()
  Image.fromarray(pixels).save(file, "JPEG")
  return file.getvalue()


class Sequence:
  """Items by position; counts who asks."""

  def __init__(self, items):
    self.items = items
    self.threads = set()

  def __len__(self):
    return len(self.items)

  def __getitem__(self, number):
    self.threads.add(threading.get_ident())
    return self.items[number]


class IterableTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/made.liquid"

  def _convert(self, items, mix="raw", output=None, length=None, **options):
    source = Source.from_iterable(items, length)
    output = output or self.output
    return convert(source, output, mix, progress=False, workers=2, **options)

  def _check_pixels(self, wanted):
    view = liquid_tf.open(self.output)
    self.assertLen(view, len(wanted))
    for number, pixels in enumerate(wanted):
      shaped = pixels.reshape(*pixels.shape[:2], -1)
      found = view[number]["image"]
      self.assertEqual(found.dtype, pixels.dtype)
      np.testing.assert_array_equal(found, shaped)

  @parameterized.parameters("raw", "png", "l3", "l3-compact", "webp")
  def test_arrays_keep_their_pixels(self, mix):
    crops = _crops(9)
    report = self._convert(({"image": one} for one in crops), mix, length=9)
    self.assertTrue(
      all(v["lossless"] for v in liquid_tf.inspect(self.output)["formats"].values())
    )
    self.assertEqual(report.samples, 9)
    self._check_pixels(crops)

  @parameterized.named_parameters(
    ("gray", np.uint8, (12, 17)),
    ("one_channel", np.uint8, (12, 17, 1)),
    ("two_channels", np.uint8, (12, 17, 2)),
    ("alpha", np.uint8, (12, 17, 4)),
    ("deep_gray", np.uint16, (12, 17)),
    ("deep", np.uint16, (12, 17, 3)),
    ("big_endian", ">u2", (12, 17, 3)),
  )
  def test_arrays_of_any_kind(self, dtype, shape):
    random = np.random.default_rng(0)
    top = np.iinfo(dtype).max + 1
    every = [random.integers(0, top, shape).astype(dtype) for _ in range(3)]
    # A window of a larger array, whose rows are not side by side.
    every.append(
      random.integers(0, top, (40, 40, *shape[2:])).astype(dtype)[3:15, :34:2]
    )
    self._convert([{"image": one} for one in every], "png:1,l3:1,raw:1")
    self._check_pixels([one.astype(np.dtype(dtype).newbyteorder("=")) for one in every])

  def test_files_are_stored_byte_for_byte(self):
    files = [_jpeg(one) for one in _crops(6)]
    report = self._convert(lambda: ({"image": one} for one in files), "jpeg")
    exported = f"{self.root}/out"
    liquid_tf.export(self.output, exported, "folder", progress=False)
    found = [
      path.read_bytes() for path in sorted(pathlib.Path(exported).rglob("*.jp*g"))
    ]
    self.assertCountEqual(found, files)
    self.assertIn(f"took {sum(map(len, files)):,} bytes", report.notes[0])

  def test_paths_stay_where_they_are(self):
    crops, items = _crops(6), []
    for i, one in enumerate(crops):
      path = pathlib.Path(self.root, f"{i}.png")
      photos.save(path, one)
      items.append({"image": path if i % 2 else str(path)})
    report = self._convert(iter(items))
    self.assertEqual(report.notes, [])
    self._check_pixels(crops)
    names = liquid_tf.open(self.output).names(range(6))
    self.assertEqual(list(names), [str(item["image"]) for item in items])

  def test_images_of_pillow(self):
    random = np.random.default_rng(0)
    deep = random.integers(0, 1 << 16, (9, 8)).astype(np.uint16)
    self._convert([{"image": Image.fromarray(deep)}])
    self._check_pixels([deep])
    colour = _crops(1)[0]
    turned = Image.fromarray(colour)
    turned.getexif()[0x0112] = 6
    opened = Image.open(io.BytesIO(_jpeg(colour)))
    gray = Image.fromarray(_crops(1, 1)[0]).convert("1")
    items = [{"image": Image.fromarray(colour)}, {"image": turned}, {"image": opened}]
    self._convert(items, existing="replace")
    self._check_pixels([colour, np.rot90(colour, -1), np.asarray(opened)])
    self._convert([{"image": gray}], existing="replace")
    self._check_pixels([np.asarray(gray.convert("L"))])

  def test_a_generator_and_a_sequence_make_the_same_bytes(self):
    def items():
      for i, one in enumerate(_crops(40)):
        yield {
          "image": one if i % 2 else _jpeg(one),
          "label": ("tea", "coffee")[i % 2],
          "split": ("train", "val", "extra")[i % 3],
          "name": f"cups/{i}",
          "caption": f"cup {i} é",
          "weight": i / 2,
        }

    sequence = Sequence(list(items()))
    self._convert(items, "png:3,raw:2", length=40)
    first = photos.files(self.output)
    self._convert(sequence, "png:3,raw:2", f"{self.root}/other")
    self.assertEqual(photos.files(f"{self.root}/other"), first)
    self.assertFalse([name for name in first if name.startswith("_journal")])
    self.assertGreater(len(sequence.threads), 1)

  def test_names_labels_splits_and_columns(self):
    crops = [one[:16, :16] for one in _crops(12)]
    items = [
      {
        "image": one,
        "label": np.str_("tea" if i % 3 else "coffee"),
        "split": "val" if i % 4 == 3 else "train",
        "name": f"cup-{i}",
        "caption": f"caption {i}",
        "count": np.int64(2**40 + i),
        "weight": np.float32(i / 4),
      }
      for i, one in enumerate(crops)
    ]
    report = self._convert(iter(items), splits=None)
    self.assertEqual(report.splits, {"train": 9, "val": 3})
    self.assertEqual(report.classes, {"coffee": 4, "tea": 8})
    view = liquid_tf.open(self.output)
    self.assertEqual(list(view.names(range(12))), [f"cup-{i}" for i in range(12)])
    columns = ["caption", "count", "weight", "id"]
    data = liquid_tf.dataset(self.output, 4, split="train+val", features=columns).take(
      3
    )
    seen = 0
    for batch in data.as_numpy_iterator():
      found = batch[-1] if isinstance(batch, tuple) else batch
      for caption, count, weight, number in zip(*(found[name] for name in columns)):
        item = items[int(number)]
        self.assertEqual(caption.decode(), item["caption"])
        self.assertEqual(count, item["count"])
        self.assertEqual(weight, item["weight"])
        seen += 1
    self.assertEqual(seen, 12)

  @parameterized.named_parameters(
    ("classes", [3, np.int64(1), np.array(0)], {"dtype": "int64", "shape": []}),
    ("numbers", [0.5, 2, -1], {"dtype": "float32", "shape": [1]}),
    ("vectors", [[1, 0.5], (0, 1), np.ones(2)], {"dtype": "float32", "shape": [2]}),
  )
  def test_labels_that_are_numbers(self, labels, feature):
    crops = [one[:16, :16] for one in _crops(3)]
    self._convert([{"image": i, "label": one} for i, one in zip(crops, labels)])
    self.assertEqual(liquid_tf.inspect(self.output)["features"]["label"], feature)
    view = liquid_tf.open(self.output)
    for number, label in enumerate(labels):
      wanted = np.asarray(label, np.float32).reshape(-1)
      np.testing.assert_array_equal(np.reshape(view[number]["label"], -1), wanted)

  def test_an_item_without_a_value_of_a_column(self):
    crops = _crops(3)
    report = self._convert(
      [
        {"image": crops[0], "k": 1, "t": "x"},
        {"image": crops[1], "k": None},
        {"image": crops[2], "k": 3.5, "t": "y"},
      ]
    )
    view = liquid_tf.open(self.output)
    np.testing.assert_array_equal(view["k"], [1, np.nan, 3.5])
    self.assertEqual([view[i]["t"] for i in range(3)], ["x", "", "y"])
    self.assertLen(report.notes, 2)
    self.assertIn("1 of 3 items have no k, and NaN for it", report.notes[0])

  def test_tf_data(self):
    crops = np.stack([one[:16, :16] for one in _crops(6)])
    labels = np.arange(6) % 3
    data = tf.data.Dataset.from_tensor_slices({"image": crops, "label": labels})
    self._convert(data.as_numpy_iterator(), "l3", length=len(data))
    self._check_pixels(list(crops))

  def test_what_cannot_be_decoded_is_left_out(self):
    items = [{"image": one, "name": f"n{i}"} for i, one in enumerate(_crops(4))]
    items[1]["image"] = b"no image"
    items[2]["image"] = f"{self.root}/not_there.png"
    with self.assertRaisesRegex(ConvertError, "item 1 .n1."):
      self._convert(items)
    report = self._convert(items, existing="resume", on_error="skip:50%")
    self.assertEqual(report.samples, 2)
    skipped = [one["path"] for one in report.skipped]
    self.assertEqual(skipped, ["item 1 (n1)", "item 2 (n2)"])

  @parameterized.named_parameters(
    ("no_mapping", 5, "item 1: must be a mapping, .* but is int"),
    ("a_tuple", (np.zeros((2, 2, 3), np.uint8), 1), "must be a mapping.* is tuple"),
    ("no_image", {"name": "b"}, r"item 1 \(b\): has no image, which must be the bytes"),
    ("no_name", {"name": 7}, r"item 1: name \(7\) must be a text"),
    ("same_name", {"name": "0"}, r"item 1 \(0\): item 0 has this name too"),
    ("empty", {"image": b""}, "image has no bytes"),
    ("url", {"image": "s3://b/c.png"}, "must be the path of a local file"),
    ("wrong_type", {"image": 3.5}, "image must be the bytes .* but is float"),
    ("tensor", {"image": tf.zeros([2, 2])}, "give its .numpy()"),
    ("floats", {"image": np.zeros((2, 2, 3))}, r"uint8 or uint16 .* but is float64"),
    ("signed", {"image": np.zeros((2, 2), np.int16)}, "but is int16"),
    ("channels_first", {"image": np.zeros((3, 9, 9), np.uint8)}, r"\[3, 9, 9\]"),
    ("no_pixels", {"image": np.zeros((0, 9), np.uint8)}, r"\[0, 9\]"),
    ("pillow", {"image": Image.new("F", (2, 2))}, "image of Pillow .* its mode is F"),
    ("other_label", {"label": 3}, "label is a number, and a class name before"),
    ("vector", {"label": [1, 2]}, "label is a vector of 2, and a class name before"),
    ("bytes_label", {"label": b"x"}, "label must be a class name, .* but is bytes"),
    ("truth", {"label": True}, "label must be a class name, .* but is bool"),
    ("nan", {"label": float("nan")}, "must be a finite number"),
    (
      "alike",
      {"label": "Tea"},
      'the labels "(T|t)ea" and "(T|t)ea", which differ only',
    ),
    ("no_split", {"split": None}, "has no split, which others have"),
    ("split", {"split": "a b"}, "split .* must be of letters"),
    ("mask", {"mask": b"x"}, "mask cannot be given here: an item has image, label"),
    ("taken", {"size": 3}, "column size must have a name that nothing else of a sa"),
    ("key", {3: 4}, "key 3 must be a text"),
    ("set", {"k": {1}}, "column k must be a number, a text or a list .* but is set"),
    ("list", {"k": [1]}, r"has 1 \(int, item 0 \(0\)\) and \[1.0\] \(list, item 1"),
    ("texts", {"k": ["x"]}, "column k must have one number, text or list of numbers"),
    ("mixed", {"k": "text"}, r"and 'text' \(str, item 1 \(1\)\)"),
    ("large", {"k": 2**63}, "does not fit 64 bits"),
  )
  def test_wrong_items(self, change, message):
    good = {"image": _crops(1)[0], "label": "tea", "split": "train", "k": 1}
    wrong = change
    if isinstance(change, dict):
      wrong = good | change
      if "image" not in change and change == {"name": "b"}:
        del wrong["image"]
    for items in ([good, wrong], iter([good, wrong])):
      with self.assertRaisesRegex(ConvertError, message):
        self._convert(items, existing="replace")

  def test_an_error_of_the_users_code(self):
    def items():
      yield {"image": _crops(1)[0]}
      raise KeyError("row")

    with self.assertRaisesRegex(ConvertError, "item 1: .* KeyError: 'row'") as raised:
      self._convert(items)
    self.assertIsInstance(raised.exception.__cause__, KeyError)

  def test_no_items_and_a_wrong_length(self):
    with self.assertRaisesRegex(ConvertError, "gave no items"):
      self._convert([])
    with self.assertRaisesRegex(ConvertError, "gave 1 items, and not length=2"):
      self._convert(iter([{"image": _crops(1)[0]}]), length=2, existing="replace")

  def test_wrong_arguments(self):
    for items in ("photos", {"image": 3}, 7):
      with self.assertRaisesRegex(WrongArgument, "must be a sequence or an iterable"):
        Source.from_iterable(items)
    with self.assertRaisesRegex(WrongArgument, "length"):
      Source.from_iterable([], 0)
    with self.assertRaisesRegex(WrongArgument, "is read by this process"):
      source = Source.from_iterable([1])
      with mock.patch.object(liquid_tf._convert.workers, "require_beam"):
        convert(source, self.output, "raw", workers=["--runner=DirectRunner"])
    with self.assertRaisesRegex(ConvertError, "is a source of convert alone"):
      liquid_tf.profile(Source.from_iterable([1]), directory=self.root)

  def test_a_sequence_that_changes_between_the_passes(self):
    items = [{"image": one, "name": f"n{i}"} for i, one in enumerate(_crops(6))]
    write_shards = write.write_shards

    def changed(*arguments):
      items[4]["image"] = items[3]["image"]
      return write_shards(*arguments)

    with mock.patch.object(write, "write_shards", changed):
      message = r"item 4 \(n4\) has changed since it was scanned: the sequence gives"
      with self.assertRaisesRegex(ConvertError, message):
        self._convert(items)

  def test_items_that_change_before_a_resume(self):
    crops = _crops(6)
    good = [{"image": one, "name": f"n{i}", "k": i} for i, one in enumerate(crops)]

    def ends_early():
      yield from good[:5]
      raise OSError("the server is gone")

    for changed, message in (
      ([*good[:2], good[2] | {"image": crops[0]}, *good[3:]], r"item 2 \(n2\) has"),
      ([*good[:2], good[2] | {"k": 7}, *good[3:]], r"item 2 \(n2\) has another image"),
      ([good[1], good[0], *good[2:]], "item 0 is n1, and was n0"),
      (good[:3], "it has 3 items, and had 5"),
    ):
      for given in (lambda changed=changed: iter(changed), changed):
        with self.assertRaisesRegex(ConvertError, "item 5: .* the server is gone"):
          self._convert(ends_early, existing="replace")
        self.assertTrue(os.path.isdir(f"{self.output}/_journal.db-items"))
        with self.assertRaisesRegex(ConvertError, message):
          self._convert(given, existing="resume")
    self._convert(iter(good), existing="resume")
    self._check_pixels(crops)
    found = photos.files(self.output)
    self._convert(iter(good), output=f"{self.root}/whole")
    self.assertEqual(found, photos.files(f"{self.root}/whole"))

  def test_a_sequence_and_an_iterable_of_the_same_items(self):
    crops = _crops(6)
    good = [{"image": one} for one in crops]
    wrong = [*good[:5], {}]
    with self.assertRaisesRegex(ConvertError, "item 5 .* has no image"):
      self._convert(iter(wrong))
    self._convert(good, existing="resume")
    self._check_pixels(crops)
    with self.assertRaisesRegex(ConvertError, "item 5 .* has no image"):
      self._convert(wrong, existing="replace")
    with self.assertRaisesRegex(ConvertError, "it was a sequence, and is none now"):
      self._convert(iter(good), existing="resume")


if __name__ == "__main__":
  absltest.main()
