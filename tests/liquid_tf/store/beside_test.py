"""Labels and names beside the index: of every source, right, and checked."""

import hashlib
import json
import os
import pathlib

import examples
import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized

from liquid_tf._convert.convert import convert
from liquid_tf._convert.copy import copy
from liquid_tf._convert.source import Source
from liquid_tf._store import arrays, labels, manifest, names, texts
from liquid_tf._view import inspection
from liquid_tf.errors import ManifestError


def _loaded(path: str) -> tuple[np.ndarray | None, list[str]]:
  """Labels and names, as they are read."""
  loaded = manifest.load(path)
  found = names.load(loaded)
  return labels.load(loaded), [found[i] for i in range(len(found))]


class BesideTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = f"{self.root}/source"
    self.output = f"{self.root}/dataset"

  def _convert(self, mix="png:1,raw:1", **options):
    options = {"progress": False} | options
    return stored.sound(convert(self.source, self.output, mix, **options))

  def _paths(self) -> list[str]:
    paths = pathlib.Path(self.source).rglob("*.*")
    return sorted(path.relative_to(self.source).as_posix() for path in paths)

  @parameterized.parameters(
    {"mix": "png:1,raw:1"},
    {"mix": "png:1,raw:1", "replicate": True},
    {"mix": "pcr:1,l3:1"},
    {"mix": "raw", "shard_size": 5000},
  )
  def test_of_class_folders(self, **options):
    photos.class_folders(self.source, per_class=5)
    self._convert(**options)
    values, found = _loaded(self.output)
    paths = self._paths()
    self.assertEqual(found, paths)
    classes = manifest.load(self.output).classes
    self.assertEqual(values.dtype, np.int64)
    self.assertEqual([classes[label] for label in values], [p[:-9] for p in paths])
    self.assertFalse(values.flags.writeable)

  def test_of_images_without_labels(self):
    for i in range(5):
      photos.save(f"{self.source}/{i}.png", np.full([8, 8, 3], i, np.uint8))
    self._convert()
    values, found = _loaded(self.output)
    self.assertIsNone(values)
    self.assertEqual(found, [f"{i}.png" for i in range(5)])
    self.assertNotIn("labels.npy", os.listdir(self.output))
    self.assertEqual(inspection.inspect(self.output)["labels"], 0)

  def test_names_need_not_be_utf_8(self):
    os.makedirs(self.source)
    odd = os.fsencode(self.source) + b"/\xff\xfe.png"
    image = tf.io.encode_png(np.zeros([8, 8, 3], np.uint8)).numpy()
    with open(odd, "wb") as file:
      file.write(image)
    photos.save(f"{self.source}/ö.png", np.zeros([8, 8, 3], np.uint8))
    self._convert()
    _, found = _loaded(self.output)
    self.assertEqual(found, ["ö.png", os.fsdecode(b"\xff\xfe.png")])
    loaded = names.load(manifest.load(self.output))
    self.assertEqual(loaded.numbers(found[::-1]).tolist(), [1, 0])

  @parameterized.named_parameters(
    ("classes", [[3.0], [0.0], [1.0]], np.array([3, 0, 1])),
    ("numbers", [[0.5], [-1.0], [2.0]], np.array([[0.5], [-1], [2]], np.float32)),
    (
      "vectors",
      [[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]],
      np.array([[1, 2], [3, 4.5], [5, 6]], "f4"),
    ),
    ("unequal", [[1], [2, 3], [4, 5]], None),
    ("none", [[], [], []], None),
  )
  def test_of_examples(self, given, wanted):
    images = examples.images(3)
    for name, part in (("a", slice(2)), ("b", slice(2, 3))):
      rows = [
        {"image/encoded": image, "image/class/label": row}
        for image, row in zip(images[part], given[part])
      ]
      examples.write(f"{self.root}/{name}.tfrecord", rows)
    self.source = f"{self.root}/*.tfrecord"
    self._convert()
    values, found = _loaded(self.output)
    self.assertEqual(found, ["a.tfrecord/0", "a.tfrecord/1", "b.tfrecord/0"])
    if wanted is None:
      self.assertIsNone(values)
      self.assertNotIn("labels.npy", os.listdir(self.output))
    else:
      self.assertAllEqual(values, wanted)
      self.assertEqual(values.dtype, wanted.dtype)
      self.assertEqual(inspection.inspect(self.output)["labels"], 3)

  def test_of_masks(self):
    for i in range(3):
      photos.save(f"{self.source}/{i}.jpg", np.full([8, 8, 3], i, np.uint8))
      photos.save(f"{self.root}/masks/{i}.png", np.full([8, 8], i, np.uint8))
    source = Source(self.source, masks=f"{self.root}/masks")
    stored.sound(convert(source, self.output, "png", progress=False))
    values, found = _loaded(self.output)
    self.assertIsNone(values)
    self.assertEqual(found, ["0.jpg", "1.jpg", "2.jpg"])

  def test_what_a_liquid_source_called_its_samples_stays(self):
    photos.class_folders(self.source, per_class=4)
    self._convert()
    first = _loaded(self.output)
    self.source, self.output = self.output, f"{self.root}/other"
    self._convert("l3:1,webp:1", seed=7)
    again = _loaded(self.output)
    self.assertAllEqual(first[0], again[0])
    self.assertEqual(first[1], again[1])

  def test_copies_have_them(self):
    photos.class_folders(self.source, per_class=4)
    self._convert()
    copy(self.output, f"{self.root}/copy", progress=False)
    self.assertEqual(photos.files(self.output), photos.files(f"{self.root}/copy"))

  def test_golden_bytes(self):
    for i in range(6):
      photos.save(f"{self.source}/{'ab'[i % 2]}/{i}.png", np.full([4, 4, 3], i, "u1"))
    self._convert()
    files = photos.files(self.output)
    self.assertEqual(files["names.bin"], b"a/0.pnga/2.pnga/4.pngb/1.pngb/3.pngb/5.png")
    self.assertAllEqual(np.load(f"{self.output}/labels.npy"), [0, 0, 0, 1, 1, 1])
    self.assertAllEqual(np.load(f"{self.output}/names.npy"), np.arange(7) * 7)
    self.assertEqual(
      [
        hashlib.sha256(files[name]).hexdigest()[:16]
        for name in ("labels.npy", "names.npy")
      ],
      ["7a1fcdc5fc334547", "a512f86dfbf7ab61"],
    )

  def _break(self, name: str, at: int) -> None:
    path = pathlib.Path(self.output, name)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)

  @parameterized.parameters("labels.npy", "names.npy", "names.bin")
  def test_damage_is_found(self, name):
    photos.class_folders(self.source, per_class=3, classes=2)
    self._convert()
    size = os.path.getsize(f"{self.output}/{name}")
    for at in (0, 40, size - 1):
      self._break(name, at)
      with self.assertRaisesRegex(ManifestError, f"{name} is damaged"):
        _loaded(self.output)
      [problem] = inspection.verify(self.output)["problems"]
      self.assertRegex(problem, f"{name} is damaged")
      self._break(name, at)
    self.assertEqual(inspection.verify(self.output)["problems"], [])
    os.truncate(f"{self.output}/{name}", size - 1)
    with self.assertRaisesRegex(ManifestError, rf"{name} has {size - 1} bytes, but"):
      manifest.load(self.output)
    [problem] = inspection.verify(self.output)["problems"]
    self.assertRegex(problem, f"{name} has")
    os.unlink(f"{self.output}/{name}")
    with self.assertRaisesRegex(ManifestError, f"{name} is missing"):
      manifest.load(self.output)

  def _edit(self, edit) -> None:
    path = pathlib.Path(self.output, "dataset.json")
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data))

  def test_labels_that_are_not_the_records(self):
    photos.class_folders(self.source, per_class=3, classes=2)
    self._convert()
    values = np.array(labels.load(manifest.load(self.output)))
    values[[0, 5]] = values[[5, 0]]
    entry = arrays.write(self.output, "labels.npy", values)
    self._edit(lambda data: data.update(labels=entry))
    self.assertEqual(inspection.inspect(self.output)["problems"], [])
    problems = inspection.verify(self.output)["problems"]
    self.assertLen(problems, 2)
    for problem in problems:
      self.assertRegex(problem, r"\(sample [05], .*its label \([01]\) is [01] beside")

  def test_ends_that_do_not_ascend(self):
    photos.class_folders(self.source, per_class=3, classes=1)
    self._convert()
    for ends in ([0, 40, 36, 54], [18, 18, 36, 54], [0, 18, 36, 53]):
      entry = arrays.write(self.output, "names.npy", np.array(ends, np.uint64))
      self._edit(lambda data, entry=entry: data["names"].update(ends=entry))
      with self.assertRaisesRegex(ManifestError, "names.npy must ascend from 0 to 54"):
        _loaded(self.output)


class NamesTest(tf.test.TestCase):
  def _names(self, *given: str) -> names.Names:
    encoded = [texts.encode(name) for name in given]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.uint64)
    return names.Names(ends, np.frombuffer(b"".join(encoded), np.uint8))

  def test_numbers(self):
    found = self._names("a", "", "c/ä.png", "a")
    self.assertLen(found, 4)
    self.assertEqual(found[2], "c/ä.png")
    self.assertEqual(found.numbers(["c/ä.png", "x", ""]).tolist(), [2, -1, 1])
    self.assertEqual(found.numbers(["a"], np.array([1, 2, 3])).tolist(), [3])
    with self.assertRaisesRegex(ValueError, r'"a"\) is that of two samples, 0 and 3'):
      found.numbers(["a"])
    with self.assertRaisesRegex(ValueError, r'"c"\) is there twice'):
      found.numbers(["a", "c", "c"])
    for number in (-1, 4):
      with self.assertRaisesRegex(IndexError, r"must be in \[0, 4\)"):
        found[number]


if __name__ == "__main__":
  tf.test.main()
