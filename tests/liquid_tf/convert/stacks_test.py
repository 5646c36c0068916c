"""Stacks of images in files of NumPy: .npy beside its labels, and .npz."""

import os
import pathlib
import zipfile

import http_server
import numpy as np
import photos
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf import Source
from liquid_tf._convert.convert import convert
from liquid_tf._convert.sources import stacks
from liquid_tf.errors import ConvertError


def _crops(count: int, name: str = "coffee", seed: int = 0) -> np.ndarray:
  random = np.random.default_rng(seed)
  image = photos.photo(name)
  return np.stack([photos.crop(image, (16, 20), random) for _ in range(count)])


class StacksTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/made.liquid"

  def _save(self, name: str, array) -> str:
    path = pathlib.Path(self.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
    return os.fspath(path)

  def _convert(self, source, mix="raw", **options):
    if not isinstance(source, Source):
      source = Source(source)
    return convert(source, self.output, mix, progress=False, workers=2, **options)

  def _check(self, images, names, labels=None):
    view = liquid_tf.open(self.output)
    self.assertEqual(list(view.names(range(len(view)))), list(names))
    for number, pixels in enumerate(images):
      sample = view[number]
      self.assertEqual(sample["image"].dtype, pixels.dtype.newbyteorder("="))
      found = sample["image"].reshape(pixels.shape)
      np.testing.assert_array_equal(found, pixels)
      if labels is not None:
        np.testing.assert_array_equal(sample["label"], labels[number])

  @parameterized.named_parameters(
    ("colour", lambda: _crops(5)),
    ("gray", lambda: _crops(5, "camera")),
    ("one_channel", lambda: _crops(5, "camera")[..., None]),
    ("alpha", lambda: np.concatenate([_crops(5), _crops(5)[..., :1]], -1)),
    ("deep", lambda: _crops(5).astype(np.uint16) * 256 + 7),
    ("big_endian", lambda: (_crops(5).astype(np.uint16) * 256 + 7).astype(">u2")),
  )
  def test_an_array(self, make):
    images = make()
    path = self._save("faces.npy", images)
    report = self._convert(Source(path, label_feature=""), "png:1,l3:1")
    self.assertEqual(report.notes, [])
    self._check(images, [f"faces.npy/{i}" for i in range(5)])

  def test_labels_that_are_not_beside_an_array(self):
    path = self._save("stack.npy", _crops(2))
    self._save("ages.npy", np.array([40.0, 50.0]))
    [note] = self._convert(path).notes
    self.assertRegex(note, r"stack.npy: .*none of labels.npy, label.npy, y.npy is besi")
    self.assertIn("label_feature=… names another", note)
    source = Source(path, label_feature="ages")
    self.assertEqual(self._convert(source, existing="replace").notes, [])
    self._check(_crops(2), ["stack.npy/0", "stack.npy/1"], [[40], [50]])
    np.savez(f"{self.root}/a.npz", x_train=_crops(2))
    report = self._convert(f"{self.root}/a.npz", existing="replace")
    self.assertRegex(report.notes[0], "a.npz, x_train: .*none of y_train, Y_train is b")

  @parameterized.named_parameters(
    ("images", "images", "labels"),
    ("upper", "X", "Y"),
    ("behind", "x_train", "y_train"),
    ("other", "faces", "labels"),
    ("data", "digits-data", "digits-targets"),
  )
  def test_labels_beside_an_array(self, name, beside):
    images, labels = _crops(6), np.arange(6) % 3
    path = self._save(f"{name}.npy", images)
    self._save(f"{beside}.npy", labels)
    # The labels' file may match a pattern, too.
    self._convert(f"{self.root}/*.npy" if name == "x_train" else path)
    self._check(images, [f"{name}.npy/{i}" for i in range(6)], labels)

  def test_labels_that_are_not_wanted(self):
    path = self._save("images.npy", _crops(3))
    self._save("labels.npy", np.arange(4))
    with self.assertRaisesRegex(ConvertError, "labels.npy .* there are 3 images in"):
      self._convert(path)
    self._convert(Source(path, label_feature=""))
    self.assertNotIn("label", liquid_tf.open(self.output)[0])
    with self.assertRaisesRegex(ConvertError, "has no labels kinds beside it"):
      self._convert(Source(path, label_feature="kinds"), existing="replace")

  @parameterized.named_parameters(
    ("texts", np.array(["tea", "cup", "tea"]), [1, 0, 1], {"cup": 1, "tea": 2}),
    ("bytes", np.array([b"tea", b"cup", b"tea"]), [1, 0, 1], {"cup": 1, "tea": 2}),
    ("column", np.array([[2], [0], [1]], np.uint8), [2, 0, 1], {}),
    ("vectors", np.eye(3)[:, :2], np.eye(3)[:, :2], {}),
    ("truth", np.array([True, False, True]), [1, 0, 1], {}),
    ("floats", np.float32([0.5, 2, -1]), [[0.5], [2], [-1]], {}),
  )
  def test_labels_of_any_kind(self, labels, wanted, classes):
    images = _crops(3)
    np.savez(f"{self.root}/a.npz", images=images, labels=labels)
    report = self._convert(f"{self.root}/a.npz")
    self.assertEqual(report.classes, classes)
    self._check(images, [f"a.npz/images/{i}" for i in range(3)], wanted)

  @parameterized.named_parameters(
    ("stored", np.savez, "x_{}", "y_{}", ("train", "test")),
    ("keras", np.savez_compressed, "x_{}", "y_{}", ("train", "test")),
    (
      "medmnist",
      np.savez_compressed,
      "{}_images",
      "{}_labels",
      ("train", "val", "test"),
    ),
  )
  def test_an_archive(self, save, image, label, splits):
    images, wanted, names, arrays = [], [], [], {}
    for seed, split in enumerate(splits):
      some, labels = _crops(4 + seed, seed=seed), np.arange(4 + seed) % 3
      arrays |= {image.format(split): some, label.format(split): labels[:, None]}
      images, wanted = [*images, *some], [*wanted, *labels]
      names += [f"a.npz/{image.format(split)}/{i}" for i in range(4 + seed)]
    save(f"{self.root}/a.npz", **arrays, more=np.zeros(3))
    report = self._convert(f"{self.root}/a.npz", "raw:1,png:1")
    self.assertEqual(report.splits, {s: 4 + i for i, s in enumerate(splits)})
    self.assertIn("more (float64 of shape [3]): not kept", report.notes[0])
    self.assertIn('annotate(path, {"number": numpy.arange(n), "', report.notes[0])
    self.assertIn(
      f"took {sum(map(len, images)) * 60 + 16 * len(images):,}", report.notes[1]
    )
    self._check(images, names, wanted)

  def test_arrays_that_are_chosen(self):
    a, b = _crops(3), _crops(3, seed=1)
    np.savez(f"{self.root}/a.npz", a=a, b=b, kinds=np.arange(3))
    with self.assertRaisesRegex(ConvertError, "images in a, b: choose one with"):
      self._convert(f"{self.root}/a.npz")
    source = Source(f"{self.root}/a.npz", image_feature="b", label_feature="kinds")
    self._convert(source)
    self._check(b, [f"a.npz/b/{i}" for i in range(3)], range(3))

  def test_splits_of_files(self):
    a, b = _crops(3), _crops(2, seed=1)
    self._save("x_train.npy", a)
    self._save("x_test.npy", b)
    self._save("y_train.npy", np.arange(3))
    self._save("y_test.npy", np.arange(2))
    report = self._convert(f"{self.root}/x_*.npy")
    self.assertEqual(report.splits, {"train": 3, "test": 2})
    names = [f"x_test.npy/{i}" for i in range(2)] + [
      f"x_train.npy/{i}" for i in range(3)
    ]
    self._check([*b, *a], names, [0, 1, 0, 1, 2])

  def test_http(self):
    images, labels = _crops(5), np.arange(5)
    self._save("images.npy", images)
    self._save("labels.npy", labels)
    np.savez_compressed(f"{self.root}/a.npz", images=images, labels=labels)
    with http_server.HttpServer(self.root) as server:
      self._convert(f"{server.url}/images.npy")
      self._check(images, [f"images.npy/{i}" for i in range(5)], labels)
      self._convert(f"{server.url}/a.npz", existing="replace")
      self._check(images, [f"a.npz/images/{i}" for i in range(5)], labels)

  @parameterized.named_parameters(
    ("object", np.array([None, 1]), "has no array of images.*object of shape"),
    ("objects", np.full((1, 4, 5), None), "objects of Python are not read"),
    ("floats", np.zeros((2, 8, 8)), "float64 of shape .2, 8, 8.: .*save .array . 255"),
    ("signed", np.zeros((2, 8, 8), np.int16), "add 32,768 and save uint16, which keep"),
    ("long", np.zeros((2, 8, 8), np.int64), "save array.astype.numpy.uint8., if"),
    ("truth", np.zeros((2, 8, 8), bool), "save array.astype.numpy.uint8. . 255"),
    ("first", np.zeros((2, 3, 8, 8), np.uint8), "channels, in .*transpose.0, 2, 3, 1"),
    ("many", np.zeros((2, 8, 8, 8), np.uint8), "1 to 4 channels, in its last axis$"),
    ("one", np.zeros((8, 8, 3), np.uint8), "it looks like one image, and a stack has"),
    ("five", np.zeros((1, 1, 8, 8, 3), np.uint8), "must have the shape"),
    ("none", np.zeros((0, 8, 8, 3), np.uint8), "it has no images"),
    ("fortran", np.asfortranarray(np.zeros((2, 8, 9, 3), np.uint8)), "Fortran's order"),
    ("large", np.broadcast_to(np.uint8(0), (1, 1 << 15, 1 << 15)), "less than"),
    (
      "flat",
      np.zeros((2, 64), np.uint8),
      "its arrays are images .uint8 of shape .2, 64",
    ),
  )
  def test_arrays_that_are_no_images(self, array, message):
    path = f"{self.root}/images.npy"
    if message == "less than":
      # Its header alone is there: what it says is looked at first.
      header = {"descr": "|u1", "fortran_order": False, "shape": array.shape}
      with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + array.size)
    else:
      self._save("images.npy", array)
    with self.assertRaisesRegex(ConvertError, message) as raised:
      self._convert(path)
    self.assertIn("images.npy", str(raised.exception))

  @parameterized.named_parameters(
    ("count", np.arange(4), r"there are 3 images in .*a.npz, images"),
    ("objects", np.array([None, 1, 2]), "objects of Python are not read, .*programs"),
    ("complex", np.zeros(3, complex), "labels must be numbers or texts of shape"),
    ("deep", np.zeros((3, 2, 2)), "labels must be numbers or texts of shape"),
    (
      "nan",
      np.array([0, np.nan, 1]),
      "a.npz/images, image 1.*must be a finite number",
    ),
  )
  def test_wrong_labels(self, labels, message):
    np.savez(f"{self.root}/a.npz", images=_crops(3), labels=labels)
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(f"{self.root}/a.npz")

  def test_damage(self):
    path = pathlib.Path(self._save("images.npy", _crops(3)))
    contents = path.read_bytes()
    for damaged, message in (
      (contents[:-1], "takes 3008 bytes, and there are 3007"),
      (contents + b"x", "takes 3008 bytes, and there are 3009"),
      (contents[:40], "images.npy cannot be read"),
      (b"", "images.npy cannot be read"),
      (contents.replace(b"(3, ", b"(9, "), "takes 8768 bytes, and there are 3008"),
      (
        contents.replace(b"\x93NUMPY\1", b"\x93NUMPY\7"),
        "Invalid version|is not known",
      ),
    ):
      path.write_bytes(damaged)
      with self.assertRaisesRegex(ConvertError, message):
        self._convert(os.fspath(path), existing="replace")

  @parameterized.parameters(np.savez, np.savez_compressed)
  def test_damaged_archives(self, save):
    path = pathlib.Path(self.root, "a.npz")
    save(path, images=_crops(6), labels=np.arange(6))
    contents, names = path.read_bytes(), Source(os.fspath(path)).names
    with zipfile.ZipFile(path) as archive:
      middle = archive.getinfo("labels.npy").header_offset // 2
    flipped = bytearray(contents)
    flipped[middle] ^= 4
    for damaged in (contents[:100], contents[:-30], b"", bytes(flipped)):
      path.write_bytes(damaged)
      with self.assertRaisesRegex(ConvertError, "a.npz.* cannot be read: "):
        self._convert(os.fspath(path), existing="replace")
    random = np.random.default_rng(0)
    for offset in random.integers(len(contents), size=100):
      damaged = bytearray(contents)
      damaged[offset] ^= 1 << int(random.integers(8))
      path.write_bytes(damaged)
      try:
        found = list(stacks.list_stacks([os.fspath(path)], names).given)
        self.assertLessEqual(len(found), 6)
      except ConvertError as error:
        self.assertIn("a.npz", str(error))

  def test_a_folder_of_arrays(self):
    self._save("data/x.npy", _crops(1))
    with self.assertRaisesRegex(ConvertError, 'array of NumPy; give .*/data/\\*.npy"'):
      self._convert(f"{self.root}/data")


if __name__ == "__main__":
  absltest.main()
