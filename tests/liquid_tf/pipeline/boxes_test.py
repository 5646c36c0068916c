"""Boxes and keypoints follow their images: against a model in NumPy and fractions."""

import io
import json
import os
import pathlib
import shutil
import tempfile
from fractions import Fraction

import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized
from PIL import Image

import liquid_tf
from liquid_tf._graph.build import build
from liquid_tf._pipeline.arguments import Arguments
from liquid_tf.transforms import (
  CenterCrop,
  Flip,
  Mirror,
  Orient,
  Pad,
  Ragged,
  RandomCrop,
  RandomResizedCrop,
  Resize,
  Rotate,
)

_SHAPES = {
  "boxes": [None, 4],
  "box_labels": [None],
  "keypoints": [None, 5, 3],
  "area": [None],
  "iscrowd": [None],
  "name": [None],
}
_FLIP = (0, 2, 1, 4, 3)
# Thinner boxes are the rounding of float64.
_THINNEST = 2.0**-16


def _feature(values: np.ndarray) -> tf.train.Feature:
  # Without values it still says of which type they are.
  values = np.asarray(values)
  if values.dtype == np.float32:
    return tf.train.Feature(float_list=tf.train.FloatList(value=values.reshape(-1)))
  if values.dtype == np.int64:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values.reshape(-1)))
  return tf.train.Feature(bytes_list=tf.train.BytesList(value=values.tolist()))


def _png(size: tuple[int, int], orientation: int, random) -> bytes:
  exif = Image.Exif()
  exif[0x0112] = orientation
  data = io.BytesIO()
  pixels = photos.crop(photos.photo("coffee"), size, random)
  Image.fromarray(pixels).save(data, "png", exif=exif)
  return data.getvalue()


def _columns(size: tuple[int, int], count: int, random) -> dict[str, np.ndarray]:
  """Boxes partly outside the image, some at whole pixels, some without area."""
  height, width = size
  low = random.uniform(-0.2, 0.9, (count, 2)) * size
  sides = random.exponential(0.3, (count, 2)) * size
  boxes = np.concatenate([low, low + sides], 1).astype(np.float32)
  whole = random.random(count) < 0.4
  boxes[whole] = np.round(boxes[whole])
  points = random.uniform(-0.2, 1.2, (count, 5, 3)) * [height, width, 1]
  points[..., 2] = random.integers(0, 3, (count, 5))
  return {
    "boxes": boxes,
    "box_labels": random.integers(0, 90, count),
    "keypoints": points.astype(np.float32),
    "area": random.uniform(1, 99, count).astype(np.float32),
    "iscrowd": random.integers(0, 2, count),
    "name": np.array([b"%d" % i for i in random.integers(0, 1000, count)], object),
  }


def _convert(root: str, samples: list[tuple[bytes, dict]], mix: str = "png:1,raw:1"):
  """A dataset of encoded images and their columns; returns its directory."""
  os.makedirs(root)
  source, output = os.path.join(root, "a.tfrecord"), os.path.join(root, "dataset")
  with tf.io.TFRecordWriter(source) as writer:
    for image, columns in samples:
      features = {name: _feature(values) for name, values in columns.items()}
      features["image/encoded"] = _feature([image])
      example = tf.train.Example(features=tf.train.Features(feature=features))
      writer.write(example.SerializeToString())
  liquid_tf.convert(
    liquid_tf.Source(source, label_feature="", features=list(samples[0][1])),
    output,
    mix,
    progress=False,
  )
  # TFRecords do not say how many numbers a box has.
  path = pathlib.Path(output, "dataset.json")
  data = json.loads(path.read_text())
  for name in samples[0][1]:
    data["features"][name]["shape"] = _SHAPES[name]
  path.write_text(json.dumps(data))
  return output


def _random_recipe(random, rotate: bool) -> tuple[list, dict]:
  """Steps of geometry that images of 24 to 60 pixels a side go through."""
  steps = [Orient()] if random.random() < 0.5 else []
  crop = random.integers(4)
  if crop == 1:
    steps.append(RandomCrop((19, 23)))
  elif crop == 2:
    steps.append(CenterCrop((21, 18)))
  elif crop == 3:
    steps.append(RandomResizedCrop((31, 37), scale=(0.1, 0.9)))
  if crop != 3:
    steps.append(
      [
        Resize(tuple(int(side) for side in random.integers(20, 70, 2))),
        Resize(shorter=33),
        Resize(longer=45),
      ][random.integers(3)]
    )
  size = isinstance(steps[-1], RandomResizedCrop) or steps[-1].size is not None
  if steps[-1] == Resize(longer=45) or (size and random.random() < 0.5):
    steps.append(Pad((75, 74)))
    size = True
  if not size or random.random() < 0.5:
    steps.append([RandomCrop((17, 16)), CenterCrop((15, 18))][random.integers(2)])
  steps.insert(random.integers(len(steps) + 1), Mirror(flip=_FLIP))
  if random.random() < 0.3:
    steps.insert(random.integers(len(steps) + 1), Flip(1))
  if rotate:
    steps.append(Rotate(float(random.choice([10, 90, 180]))))
  return steps


class Model:
  """What the steps do, in exact numbers; not how.

  Args:
    steps: of the recipe, without Rotate.
    stored: height and width of the stored image.
    sample: the features of it that the batch has.
  """

  def __init__(self, steps, stored, sample):
    self.scale = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    self.shift = [Fraction(0), Fraction(0)]
    one = {type(step): step for step in steps}
    self.flips = Flip in one
    size = list(stored)
    if Orient in one:
      size = self._orient(int(sample["orientation"]), size)
    y, x, *size = (int(side) for side in sample["window"])
    self._move([-y, -x])
    resize = one.get(Resize) or one.get(RandomResizedCrop)
    new = self._resized(resize, size)
    self._stretch([Fraction(a, b) for a, b in zip(new, size)])
    size = new
    if Pad in one:
      pad = one[Pad].size
      self._move([(a - b) // 2 for a, b in zip(pad, size)])
      size = list(pad)
    last = [step for step in steps if not isinstance(step, (Mirror, Flip, Rotate))][-1]
    out = [int(side) for side in sample["size"]]
    resized = [i for i, step in enumerate(steps) if step is resize][0]
    if last in steps[resized + 1 :] and isinstance(last, (RandomCrop, CenterCrop)):
      self._move([-begin for begin in self._second(last, size, out, sample)])
      size = out
    if sample["mirrored"]:
      self._stretch([1, -1])
      self._move([0, size[1]])
    if self.flips:
      self._stretch([-1, 1])
      self._move([size[0], 0])
    self.size = size

  def _move(self, by):
    self.shift = [a + b for a, b in zip(self.shift, by)]

  def _stretch(self, by):
    self.scale = [[a * factor for a in row] for row, factor in zip(self.scale, by)]
    self.shift = [a * factor for a, factor in zip(self.shift, by)]

  def _orient(self, orientation, size):
    # Where the stored image's first row and column are seen, as EXIF has it.
    swap, down, left = {
      1: (0, 0, 0),
      2: (0, 0, 1),
      3: (0, 1, 1),
      4: (0, 1, 0),
      5: (1, 0, 0),
      6: (1, 0, 1),
      7: (1, 1, 1),
      8: (1, 1, 0),
    }[orientation]
    if swap:
      self.scale = self.scale[::-1]
      size = size[::-1]
    self._stretch([-1 if down else 1, -1 if left else 1])
    self._move([size[0] * down, size[1] * left])
    return size

  def _resized(self, resize, size):
    if resize.size is not None:
      return list(resize.size)
    side = resize.shorter or resize.longer
    of = min(size) if resize.shorter else max(size)
    return [side * length // of for length in size]

  def _second(self, crop, size, out, sample):
    """Upper left corner of the second window."""
    if isinstance(crop, CenterCrop):
      return [round(Fraction(a - b, 2)) for a, b in zip(size, out)]
    # By chance: what is missing to what came out must be whole, and inside.
    shift = [Fraction(float(row[2])) for row in sample["affine"]]
    if sample["mirrored"]:
      shift[1] = out[1] - shift[1]
    if self.flips:
      shift[0] = out[0] - shift[0]
    begin = [float(a - b) for a, b in zip(self.shift, shift)]
    assert np.allclose(begin, np.round(begin), rtol=0, atol=1e-9), begin
    begin = [int(round(b)) for b in begin]
    assert all(0 <= b <= a - o for a, b, o in zip(size, begin, out)), begin
    return begin

  def affine(self):
    rows = [[*row, shift] for row, shift in zip(self.scale, self.shift)]
    return np.array([[float(value) for value in row] for row in rows])


def _move(affine, y, x):
  # The order of additions is the documented one.
  (yy, yx, y0), (xy, xx, x0) = affine
  return yx * x + yy * y + y0, xx * x + xy * y + x0


def _expected(columns, affine, size, min_visible=0.0, flip=None):
  """What stays of an image's boxes: the columns, moved and chosen."""
  stored = columns["boxes"].astype(np.float64)
  y0, x0, y1, x1 = stored.T
  corners = [_move(affine, y, x) for y in (y0, y1) for x in (x0, x1)]
  ys, xs = (np.stack(side) for side in zip(*corners))
  whole = np.stack([ys.min(0), xs.min(0), ys.max(0), xs.max(0)], 1)
  cut = np.clip(whole, 0, [*size, *size])

  def area(boxes):
    return np.prod(boxes[:, 2:] - boxes[:, :2], 1)

  with np.errstate(invalid="ignore", divide="ignore"):
    visible = area(cut) / area(whole)
  boxes = cut.astype(np.float32)
  keep = (y1 > y0) & (x1 > x0) & (visible >= min_visible)
  keep &= (boxes[:, 2:] - boxes[:, :2] >= _THINNEST).all(1)
  points = columns["keypoints"]
  points = points[:, list(flip)] if flip else points.copy()
  y, x = _move(affine, *points[..., :2].astype(np.float64).transpose(2, 0, 1))
  points[..., 0], points[..., 1] = y, x
  y, x, v = points.transpose(2, 0, 1)
  points[(y < 0) | (x < 0) | (y >= size[0]) | (x >= size[1]) | (v == 0)] = 0
  moved = {**columns, "boxes": boxes, "keypoints": points}
  return {name: values[keep] for name, values in moved.items()}


def _samples(dataset):
  """The samples of batches, one dict each."""
  for batch in dataset:
    for i in range(len(batch["id"])):
      yield {name: values[i].numpy() for name, values in batch.items()}


class BoxesTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, root)
    random = np.random.default_rng(3)
    cls.sizes, cls.columns, samples = [], [], []
    for i in range(32):
      size = tuple(int(side) for side in random.integers(24, 61, 2))
      count = 3 if i == 0 else random.choice([0, 1, 4, 9])
      cls.sizes.append(size)
      cls.columns.append(_columns(size, count, random))
      samples.append((_png(size, i % 8 + 1, random), cls.columns[-1]))
    cls.path = _convert(os.path.join(root, "set"), samples)

  def _dataset(self, features, batch_size=8, **options):
    options = {"seed": 1, **options}
    return liquid_tf.dataset(self.path, batch_size, features=features, **options)

  def _check(self, sample, expected, pad):
    count = min(len(expected["boxes"]), pad)
    self.assertEqual(sample["num_boxes"], count)
    for name, values in expected.items():
      with self.subTest(name):
        found = sample[name]
        self.assertLen(found, pad)
        np.testing.assert_array_equal(found[:count], values[:pad])
        rest = {"box_labels": -1, "name": b""}.get(name, 0)
        self.assertTrue((found[count:] == rest).all())

  @parameterized.product(rotate=(False, True), seed=tuple(range(12)))
  def test_boxes_follow_any_geometry(self, rotate, seed):
    random = np.random.default_rng(seed)
    steps = _random_recipe(random, rotate)
    least = float(random.choice([0, 0.3]))
    place = ["id", "size", "window", "mirrored", "orientation", "affine"]
    dataset = self._dataset(
      [*place, "image", liquid_tf.transforms.Boxes(4, least)],
      transforms=steps,
      seed=seed,
    )
    ids, kept, stored = set(), 0, 0
    for sample in _samples(dataset):
      number = int(sample["id"])
      affine, size = sample["affine"], sample["size"].tolist()
      self.assertEqual(list(sample["image"].shape[:2]), size)
      if not rotate:
        model = Model(steps, self.sizes[number], sample)
        self.assertEqual(model.size, size, steps)
        np.testing.assert_allclose(affine, model.affine(), 1e-12, 1e-11, str(steps))
      flip = _FLIP if sample["mirrored"] else None
      columns = self.columns[number]
      expected = _expected(columns, affine, size, least, flip)
      self._check(sample, expected, 4)
      ids.add(number)
      kept += len(expected["boxes"])
      stored += len(columns["boxes"])
    self.assertLen(ids, len(self.columns))
    self.assertBetween(kept, 1, stored - 1)

  def test_a_keypoint_turns_with_its_pixels(self):
    # The affine of Rotate against what pixels do: a soft spot, and where it is.
    y, x = np.indices((61, 71)) + 0.5
    spot = 255 * np.exp(-((y - 20.5) ** 2 + (x - 44) ** 2) / 18)
    data = io.BytesIO()
    Image.fromarray(np.repeat(np.round(spot).astype(np.uint8)[..., None], 3, 2)).save(
      data, "png"
    )
    columns = {
      "boxes": np.float32([[12, 36, 28, 52]]),
      "keypoints": np.float32([[[20.5, 44, 2]] * 5]),
    }
    root = os.path.join(self.create_tempdir().full_path, "set")
    path = _convert(root, [(data.getvalue(), columns)] * 12, "raw")
    dataset = liquid_tf.dataset(
      path,
      4,
      features=["id", "image", liquid_tf.transforms.Boxes(1)],
      transforms=[Mirror(), Rotate(60)],
    )
    for sample in _samples(dataset):
      light = sample["image"][..., 0].astype(np.float64)
      centre = [np.average(side, weights=light) for side in (y, x)]
      # Rounding to whole levels moves it by less; a wrong centre, by .25 or more.
      found = sample["keypoints"][0, 0, :2]
      np.testing.assert_allclose(found, centre, rtol=0, atol=0.02)

  def test_ragged_boxes_are_the_padded_ones(self):
    steps = [RandomCrop((20, 20)), Mirror()]
    names = ["id", "image"]
    padded = self._dataset([*names, liquid_tf.transforms.Boxes(9)], transforms=steps)
    ragged = self._dataset([*names, liquid_tf.transforms.Boxes()], transforms=steps)
    counts = set()
    for batch, other in zip(padded, ragged, strict=True):
      self.assertAllEqual(batch["id"], other["id"])
      self.assertAllEqual(batch["num_boxes"], other["num_boxes"])
      for name, shape in _SHAPES.items():
        self.assertIsInstance(other[name], tf.RaggedTensor)
        self.assertEqual(other[name].shape.as_list(), [8, None, *shape[1:]])
        self.assertEqual(other[name].dtype, batch[name].dtype)
        for values, whole, count in zip(other[name], batch[name], batch["num_boxes"]):
          self.assertAllEqual(values, whole[:count])
          counts.add(int(count))
    self.assertContainsSubset({0, 1}, counts)

  def test_specs(self):
    dataset = self._dataset(
      ["image", liquid_tf.transforms.Boxes(pad=7)],
      transforms=[Resize((16, 16))],
      last_batch="drop",
    )
    spec = {k: (v.shape.as_list(), v.dtype) for k, v in dataset.element_spec.items()}
    self.assertEqual(
      spec,
      {
        "image": ([8, 16, 16, 3], tf.uint8),
        "boxes": ([8, 7, 4], tf.float32),
        "box_labels": ([8, 7], tf.int64),
        "keypoints": ([8, 7, 5, 3], tf.float32),
        "area": ([8, 7], tf.float32),
        "iscrowd": ([8, 7], tf.int64),
        "name": ([8, 7], tf.string),
        "num_boxes": ([8], tf.int32),
      },
    )

  def test_names_give_what_is_stored(self):
    for sample in _samples(self._dataset(["id", "boxes", "box_labels"])):
      columns = self.columns[int(sample["id"])]
      self.assertAllEqual(sample["boxes"], columns["boxes"])
      self.assertAllEqual(sample["box_labels"], columns["box_labels"])

  @parameterized.parameters([[]], [["bytes"]])
  def test_without_pixels(self, more):
    features = ["id", "affine", liquid_tf.transforms.Boxes(9), *more]
    steps = [CenterCrop((20, 20))]
    for sample in _samples(self._dataset(features, transforms=steps)):
      expected = _expected(self.columns[int(sample["id"])], sample["affine"], [20, 20])
      self._check(sample, expected, 9)

  def test_one_sample_at_a_time(self):
    for boxes in (liquid_tf.transforms.Boxes(9), liquid_tf.transforms.Boxes()):
      dataset = self._dataset(["id", "image", boxes], None)
      for sample in dataset:
        columns = self.columns[int(sample["id"])]
        size = sample["image"].shape[:2]
        expected = _expected(columns, np.eye(2, 3), size)
        count = int(sample["num_boxes"])
        self.assertLen(expected["boxes"], count)
        self.assertIsInstance(sample["boxes"], tf.Tensor)
        self.assertAllEqual(sample["boxes"][:count], expected["boxes"])
        self.assertAllEqual(sample["keypoints"][:count], expected["keypoints"])

  def test_ragged_images(self):
    dataset = self._dataset(
      ["id", "image", liquid_tf.transforms.Boxes(9)], transforms=[Ragged()]
    )
    for sample in _samples(dataset):
      size = self.sizes[int(sample["id"])]
      expected = _expected(self.columns[int(sample["id"])], np.eye(2, 3), size)
      self.assertEqual(sample["num_boxes"], len(expected["boxes"]))
      self.assertAllEqual(sample["boxes"][: len(expected["boxes"])], expected["boxes"])

  def test_where_pixels_are_kept(self):
    steps = [RandomResizedCrop(16), Mirror(flip=_FLIP)]

    def batches(form):
      dataset = self._dataset(
        ["id", "image", liquid_tf.transforms.Boxes(5)],
        transforms=steps,
        cache=liquid_tf.Cache("60%", form),
      )
      found = [batch for _ in range(3) for batch in dataset]
      return found, liquid_tf.stats(dataset).summary()["decodes"]

    (encoded, decodes), (pixels, fewer) = batches("encoded"), batches("pixels")
    for batch, other in zip(encoded, pixels, strict=True):
      for name, values in batch.items():
        self.assertAllEqual(values, other[name])
    self.assertLess(fewer, decodes)

  def test_the_last_batch_is_filled(self):
    dataset = self._dataset(
      ["id", "image", liquid_tf.transforms.Boxes(5)],
      batch_size=24,
      transforms=[CenterCrop((20, 20))],
      last_batch="repeat",
    )
    _, last = dataset
    for name, values in last.items():
      self.assertAllEqual(values[8:16], values[:8], name)

  def test_arguments_are_part_of_the_graph(self):
    dataset = build(
      Arguments(
        self.path,
        8,
        features=["id", "image", liquid_tf.transforms.Boxes(5, 0.3)],
        transforms=[RandomCrop((20, 20)), Mirror(flip=_FLIP)],
        epoch=0,
      )
    )
    graph = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor)
    again = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), dataset.element_spec
    )
    for batch, other in zip(dataset, again, strict=True):
      for name, values in batch.items():
        self.assertAllEqual(values, other[name])

  @parameterized.parameters(
    (
      [liquid_tf.transforms.Boxes(2), liquid_tf.transforms.Boxes()],
      {},
      "must not both be given",
    ),
    (["boxes", liquid_tf.transforms.Boxes()], {}, "one or more different names"),
    (
      [liquid_tf.transforms.Boxes()],
      {"transforms": [Mirror(flip=(1, 0))]},
      r"flip \(\[1, 0\]\) must have a number for each of the 5 keypoints",
    ),
  )
  def test_wrong_arguments_are_named(self, features, options, message):
    with self.assertRaisesRegex(ValueError, message):
      self._dataset(features, **options)

  def test_wrong_attributes_are_named(self):
    for pad in (0, -1, 1.5, True, (1 << 20) + 1):
      with self.assertRaisesRegex(ValueError, "Boxes: pad .* must be"):
        liquid_tf.transforms.Boxes(pad)
    for least in (-0.1, 1.1, "0.1", True, None, float("nan")):
      with self.assertRaisesRegex(ValueError, "min_visible .* must be from 0 to 1"):
        liquid_tf.transforms.Boxes(1, least)


class FewBoxesTest(tf.test.TestCase):
  def _make(self, *columns: dict, mix: str = "raw", size=(40, 60)) -> str:
    random = np.random.default_rng(1)
    samples = [(_png(size, 1, random), one) for one in columns]
    return _convert(os.path.join(self.create_tempdir().full_path, "set"), samples, mix)

  def test_by_hand(self):
    path = self._make(
      {
        "boxes": np.float32(
          [[15, 20, 25, 30], [0, 0, 12, 18], [0, 0, 5, 60], [28, 15, 38, 45]]
        ),
        "box_labels": np.int64([7, 3, 1, 4]),
        "keypoints": np.float32([[[15, 20, 2], [16, 21, 1]] + [[0, 0, 0]] * 3] * 4),
        "area": np.float32([100, 216, 300, 300]),
      }
    )
    # The window is (10, 15, 20, 30), and becomes twice as large.
    dataset = liquid_tf.dataset(
      path,
      1,
      shuffle=False,
      features=[liquid_tf.transforms.Boxes(4, min_visible=0.02)],
      transforms=[CenterCrop((20, 30)), Resize((40, 60)), Mirror(1, (1, 0, 2, 3, 4))],
    )
    (batch,) = dataset
    self.assertAllEqual(
      batch["boxes"][0],
      [[10, 30, 30, 50], [0, 54, 4, 60], [36, 0, 40, 60], [0, 0, 0, 0]],
    )
    self.assertAllEqual(batch["box_labels"][0], [7, 3, 4, -1])
    self.assertAllEqual(batch["area"][0], [100, 216, 300, 0])
    self.assertAllEqual(batch["num_boxes"], [3])
    self.assertAllEqual(
      batch["keypoints"][0, 0], [[12, 48, 1], [10, 50, 2]] + [[0, 0, 0]] * 3
    )

  def test_a_record_that_lies(self):
    good = {"boxes": np.float32([[1, 1, 9, 9]]), "area": np.float32([5])}
    for bad, message in (
      ({"boxes": np.float32([1, 1, 9, 9, 5])}, "has 5 numbers of boxes"),
      (
        {"boxes": np.float32([[1, 1, 9, np.nan]])},
        "box 0 has a number that is not fin",
      ),
      ({"area": np.float32([])}, 'has 0 values of "area", which must be 1 for each'),
      ({"area": np.float32([1, 2])}, 'has 2 values of "area"'),
    ):
      path = self._make(good, {**good, **bad}, good, good)
      features = ["id", "image", liquid_tf.transforms.Boxes(1)]
      with self.assertRaisesRegex(tf.errors.DataLossError, message) as caught:
        list(liquid_tf.dataset(path, 4, features=features))
      self.assertRegex(str(caught.exception), r"raw-.*\.rec.*sample 1")
      dataset = liquid_tf.dataset(path, 2, features=features, on_error="skip")
      samples = list(_samples(dataset))
      self.assertCountEqual([int(sample["id"]) for sample in samples], [0, 2, 3])
      for sample in samples:
        self.assertAllEqual(sample["boxes"], good["boxes"])
      self.assertEqual(liquid_tf.stats(dataset).summary()["skipped"]["count"], 1)

  def test_images_without_any_box(self):
    none = {"boxes": np.zeros(0, np.float32), "box_labels": np.zeros(0, np.int64)}
    one = {"boxes": np.float32([[1, 1, 9, 9]]), "box_labels": np.int64([2])}
    path = self._make(one, none, none)
    dataset = liquid_tf.dataset(
      path, 3, features=["id", "image", liquid_tf.transforms.Boxes()]
    )
    (batch,) = dataset
    counts = (batch["id"].numpy() == 0).astype(np.int32)
    self.assertAllEqual(batch["num_boxes"], counts)
    self.assertAllEqual(batch["boxes"].row_lengths(), counts)
    self.assertAllEqual(batch["box_labels"].flat_values, [2])

  def test_datasets_without_boxes(self):
    path = self._make({"area": np.float32([1])})
    with self.assertRaisesRegex(
      ValueError, r"features \(Boxes\(.*has no boxes: .* has image, area"
    ):
      liquid_tf.dataset(path, 1, features=[liquid_tf.transforms.Boxes()])

  def test_other_boxes(self):
    path = self._make({"boxes": np.float32([1, 2, 3, 4])})
    manifest = pathlib.Path(path, "dataset.json")
    data = json.loads(manifest.read_text())
    data["features"]["boxes"]["shape"] = [None]
    manifest.write_text(json.dumps(data))
    with self.assertRaisesRegex(ValueError, r"must be float32 of shape \[null, 4\]"):
      liquid_tf.dataset(path, 1, features=[liquid_tf.transforms.Boxes()])


if __name__ == "__main__":
  tf.test.main()
