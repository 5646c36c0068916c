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


class _Case(parameterized.TestCase):
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


class IterableTest(_Case):
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
    ("floats", [45.0, np.float32(50), 61], {"dtype": "float32", "shape": [1]}),
    ("one_float", [[45.0], np.ones(1), [3]], {"dtype": "float32", "shape": [1]}),
    ("one_class", [[4], np.ones(1, int), (3,)], {"dtype": "int64", "shape": []}),
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
    again = f"{self.root}/again.liquid"
    liquid_tf.convert(self.output, again, "raw", progress=False)
    self.assertEqual(liquid_tf.inspect(again)["features"]["label"], feature)

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
    ("one_mask", {"mask": b"x"}, r"item 0 \(0\): has no mask, which others have"),
    ("mask_bytes", {"mask": b""}, "mask has no bytes"),
    ("mask_type", {"mask": 3}, "mask must be the bytes of a mask's file.* but is int"),
    ("mask_floats", {"mask": np.zeros((2, 2))}, "mask must be uint8 .* is float64"),
    ("mask_rgb", {"mask": np.zeros((2, 2, 3), np.uint8)}, r"mask must .* \[2, 2, 3\]"),
    ("mask_mode", {"mask": Image.new("RGB", (2, 2))}, "mask of Pillow must be gray or"),
    ("flat_boxes", {"boxes": [1, 2, 3, 4]}, r"boxes must be numbers \[n, 4\] .*\[4\]"),
    ("short_boxes", {"boxes": [[1, 2, 3]]}, r"boxes must be .* of shape \[1, 3\]"),
    ("unequal_boxes", {"boxes": [[1, 2, 3], [1]]}, r"boxes must be numbers \[n, 4\]"),
    ("text_boxes", {"boxes": [["a"] * 4]}, "boxes must be numbers"),
    ("no_boxes", {"box_labels": [1]}, "has box_labels and no boxes"),
    ("no_boxes_2", {"keypoints": [[[1, 2, 2]]]}, "has keypoints and no boxes"),
    (
      "few_labels",
      {"boxes": [[1, 2, 3, 4]], "box_labels": []},
      "has 0 box_labels, and 1 boxes: give each box one",
    ),
    (
      "negative_label",
      {"boxes": [[1, 2, 3, 4]], "box_labels": [-1]},
      "box_labels must be class names, or class numbers from 0 on, but has -1",
    ),
    (
      "mixed_labels",
      {"boxes": [[1, 2, 3, 4]] * 2, "box_labels": ["a", 1]},
      "box_labels must be class names, or .* but has 'a'",
    ),
    (
      "points",
      {"boxes": [[1, 2, 3, 4]], "keypoints": [[1, 2, 2]]},
      r"keypoints must be numbers \[n, k, 3\] \(y, x, v\), but is .* \[1, 3\]",
    ),
    ("taken", {"size": 3}, "column size must have a name that nothing else of a sa"),
    ("key", {3: 4}, "key 3 must be a text"),
    ("set", {"k": {1}}, "column k must be a number, a text or a list .* but is set"),
    ("list", {"k": [1]}, r"has 1 \(int, item 0 \(0\)\) and \[1\] \(list, item 1"),
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


def _png(numbers: np.ndarray, bits: int = 8) -> bytes:
  """A PNG of class numbers, of few bits where that is said."""
  image = Image.fromarray(numbers)
  if bits < 8:
    image.putpalette(np.repeat(np.arange(1 << bits), 3).astype(np.uint8).tobytes())
  file = io.BytesIO()
  image.save(file, "PNG", bits=bits)
  return file.getvalue()


class BoxesAndMasksTest(_Case):
  def _masks(self, count: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Images, and masks of numbers below 16."""
    crops = [one[:16, :16] for one in _crops(count)]
    random = np.random.default_rng(1)
    return crops, [random.integers(0, 16, (16, 16), np.uint8) for _ in crops]

  def _check_masks(self, wanted: list[np.ndarray]) -> None:
    view = liquid_tf.open(self.output)
    for number, mask in enumerate(wanted):
      found = view[number]["mask"]
      self.assertEqual(found.dtype, mask.dtype)
      np.testing.assert_array_equal(found[..., 0], mask)

  def test_masks_of_every_kind(self):
    crops, masks = self._masks(9)
    path = f"{self.root}/mask.png"
    with open(path, "wb") as file:
      file.write(_png(masks[1]))
    opened = Image.open(io.BytesIO(_png(masks[6])))
    masks[8][:] = 0
    empty = Image.open(io.BytesIO(_png(masks[8])))
    given = [
      masks[0],
      path,
      _png(masks[2]),
      masks[3][..., np.newaxis],
      _png(masks[4], 4),
      Image.fromarray(masks[5]),
      opened,
      Image.open(io.BytesIO(_png(masks[7], 4))),
      empty,
    ]
    items = [{"image": i, "mask": m} for i, m in zip(crops, given)]
    report = self._convert(iter(items), "png:1,l3:1")
    self.assertEqual(report.samples, 9)
    self._check_masks(masks)
    first = photos.files(self.output)
    self._convert(Sequence(items), "png:1,l3:1", f"{self.root}/other")
    self.assertEqual(photos.files(f"{self.root}/other"), first)

  def test_masks_of_16_bits(self):
    crops, masks = self._masks(2)
    masks = [one.astype(np.uint16) * 4000 for one in masks]
    items = [{"image": i, "mask": m} for i, m in zip(crops, masks)]
    items[1]["mask"] = Image.fromarray(masks[1])
    self._convert(items)
    self._check_masks(masks)

  def test_masks_whose_numbers_may_be_others(self):
    crops, masks = self._masks(1)
    gray = io.BytesIO()
    Image.fromarray(masks[0] * 17).save(gray, "PNG")
    wide = Image.open(io.BytesIO(gray.getvalue()))
    with self.assertRaisesRegex(ConvertError, "may have other numbers than its file"):
      self._convert([{"image": crops[0], "mask": wide}])
    file = io.BytesIO()
    Image.fromarray(masks[0]).save(file, "JPEG")
    with self.assertRaisesRegex(ConvertError, "opened from a file of JPEG: give the"):
      mask = Image.open(io.BytesIO(file.getvalue()))
      self._convert([{"image": crops[0], "mask": mask}], existing="replace")
    with self.assertRaisesRegex(ConvertError, "or give its numbers as a NumPy array"):
      items = [{"image": crops[0], "mask": file.getvalue()}]
      self._convert(items, existing="replace")
    with self.assertRaisesRegex(ConvertError, "mask is 8 x 16 pixels, the image 16 x"):
      self._convert([{"image": crops[0], "mask": masks[0][:8]}], existing="replace")
    items = [{"image": crops[0], "mask": np.asarray(wide)}]
    self._convert(items, existing="replace")
    self._check_masks([masks[0] * 17])

  def test_boxes_labels_and_keypoints(self):
    crops = [one[:16, :16] for one in _crops(4)]
    boxes = [[[0, 0, 8, 8], [1, 2.5, 3, 4]], [], np.zeros((0, 4)), [[4, 4, 16, 16]]]
    labels = [["tea", "coffee"], [], np.array([], str), ("tea",)]
    random = np.random.default_rng(2)
    points = [random.uniform(0, 16, (len(some), 5, 3)) for some in boxes]
    items = [
      {
        "image": image,
        "boxes": boxes[i],
        "box_labels": labels[i],
        "keypoints": points[i] if i != 1 else [],
      }
      for i, image in enumerate(crops)
    ]
    report = self._convert(iter(items), "png:1,raw:1")
    self.assertLen(report.notes, 1)
    features = liquid_tf.inspect(self.output)["features"]
    self.assertEqual(features["box_labels"]["classes"], ["coffee", "tea"])
    shapes = {name: (one["dtype"], one["shape"]) for name, one in features.items()}
    self.assertEqual(shapes["boxes"], ("float32", [None, 4]))
    self.assertEqual(shapes["keypoints"], ("float32", [None, 5, 3]))
    view = liquid_tf.open(self.output)
    for i in range(4):
      found = view[i]
      wanted = np.reshape(boxes[i], (-1, 4)).astype(np.float32)
      np.testing.assert_array_equal(found["boxes"], wanted)
      names = [features["box_labels"]["classes"][n] for n in found["box_labels"]]
      self.assertEqual(names, list(labels[i]))
      np.testing.assert_array_equal(found["keypoints"], points[i].astype(np.float32))
    liquid_tf.verify(self.output)
    first = photos.files(self.output)
    self._convert(Sequence(items), "png:1,raw:1", f"{self.root}/other")
    self.assertEqual(photos.files(f"{self.root}/other"), first)

  def test_boxes_that_do_not_fit_go_by_on_error(self):
    crops = [one[:16, :16] for one in _crops(5)]
    wrong = [
      ([[1, 1, 2, 2]], ""),
      ([[3, 1, 2, 2]], r"boxes\[0\], \[3.0, 1.0, 2.0, 2.0\], ends before it begins"),
      ([[1, 1, 2, 2], [20, 0, 30, 4]], "1 of 2 boxes do not lie in the image"),
      ([[0.1, 0.1, 0.5, 0.9]], "look like shares of the sides, and must be pixels"),
      ([[1, 1, 2, float("inf")]], r"boxes\[0\], .* is not of finite numbers"),
    ]
    items = [{"image": i, "boxes": boxes} for i, (boxes, _) in zip(crops, wrong)]
    report = self._convert(items, on_error="skip:90%")
    self.assertEqual(report.samples, 1)
    self.assertLen(report.skipped, 4)
    for one, (_, message) in zip(report.skipped, wrong[1:]):
      self.assertRegex(one["reason"], message)

  @parameterized.named_parameters(
    ("labels", {"box_labels": None}, "has no box_labels, which others have"),
    ("kinds", {"box_labels": [3]}, "box_labels has 3, and names before"),
    ("points", {"keypoints": None}, "has no keypoints, which others have"),
    ("count", {"keypoints": [[[1, 1, 1]] * 2]}, "has 2 keypoints a box, and 1 before"),
    ("alike", {"box_labels": ["Tea"]}, "has the labels .*, which differ only"),
  )
  def test_items_that_do_not_go_together(self, change, message):
    good = {
      "image": _crops(1)[0],
      "boxes": [[1, 1, 2, 2]],
      "box_labels": ["tea"],
      "keypoints": [[[1, 1, 2]]],
    }
    with self.assertRaisesRegex(ConvertError, message):
      self._convert([good, good | change])

  def test_what_changes_before_a_resume(self):
    crops, masks = self._masks(3)
    good = [
      {"image": image, "mask": mask, "boxes": [[0, 0, i + 1, 2]]}
      for i, (image, mask) in enumerate(zip(crops, masks))
    ]
    for key, value in (("mask", masks[0]), ("boxes", [])):
      changed = [good[0], good[1] | {key: value}, good[2]]
      for given in (good, iter(good)):
        with (
          mock.patch.object(write, "write_shards", side_effect=OSError(5, "broken")),
          self.assertRaisesRegex(ConvertError, "broken"),
        ):
          self._convert(given, existing="replace")
        with self.assertRaisesRegex(ConvertError, r"item 1 \(1\) has another image"):
          self._convert(changed, existing="resume")
    self._convert(good, existing="resume")
    self._check_masks(masks)

  def test_a_mask_that_changes_between_the_passes(self):
    crops, masks = self._masks(3)
    items = [{"image": image, "mask": mask} for image, mask in zip(crops, masks)]
    write_shards = write.write_shards

    def changed(*arguments):
      items[1]["mask"] = masks[0]
      return write_shards(*arguments)

    with mock.patch.object(write, "write_shards", changed):
      with self.assertRaisesRegex(ConvertError, r"item 1 \(1\) has changed since"):
        self._convert(items)


if __name__ == "__main__":
  absltest.main()
