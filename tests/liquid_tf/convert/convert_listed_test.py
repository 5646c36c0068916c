"""A folder of images and a list of im2rec's are samples with labels."""

import json
import os
import pathlib

import photos
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest, names
from liquid_tf.errors import ConvertError

_FILES = ("cat/a.png", "cat/b.png", "dog/a.png", "top.png")


class ConvertListedTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/dataset"
    self.images = {}
    for i, name in enumerate(_FILES):
      path = pathlib.Path(self.root, "photos", name)
      photos.save(path, photos.photo("coffee")[10 * i :][:9, :8])
      self.images[name] = path.read_bytes()

  def _list(self, *lines: str, name: str = "flowers.lst") -> liquid_tf.Source:
    path = pathlib.Path(self.root, name)
    path.write_text("".join(f"{i}\t{line}\n" for i, line in enumerate(lines)))
    return liquid_tf.Source(f"{self.root}/photos", annotations=path)

  def _convert(self, source: liquid_tf.Source, **options):
    return liquid_tf.convert(source, self.output, "png", progress=False, **options)

  def _found(self) -> list[tuple[str, list[float]]]:
    """Name and labels of each sample, in their order, whose image is the file's."""
    named = names.load(manifest.load(self.output))
    result = []
    for record in sorted(stored.records(self.output), key=lambda one: one["id"]):
      name = named[record["id"]]
      self.assertEqual(record["contents"], self.images[name])
      result.append((name, record["labels"]))
    return result

  def test_the_list_says_which_images_in_what_order_with_what_labels(self):
    lines = "1\tdog/a.png", "0\t./cat/b.png", f"0\t{self.root}/photos/cat/a.png"
    stored.sound(self._convert(self._list(*lines)))
    wanted = [("dog/a.png", [1.0]), ("cat/b.png", [0.0]), ("cat/a.png", [0.0])]
    self.assertEqual(self._found(), wanted)
    loaded = manifest.load(self.output)
    self.assertEqual(loaded["source"]["kind"], "list")
    self.assertEqual(list(loaded["splits"]), ["train"])
    self.assertEqual(loaded["supervised"], ["image", "label"])
    self.assertEqual(loaded.classes, ["cat", "dog"])

  def test_a_list_of_windows(self):
    source = self._list("1\tdog\\a.png", "0\tcat\\b.png")
    path = pathlib.Path(*source.annotations)
    path.write_bytes(path.read_text().replace("\n", "\r\n").encode("utf-16"))
    self._convert(source)
    self.assertEqual(self._found(), [("dog/a.png", [1.0]), ("cat/b.png", [0.0])])
    self.assertEqual(manifest.load(self.output).classes, ["cat", "dog"])

  def test_classes_without_folders_of_their_own_have_numbers(self):
    self._convert(self._list("1\tdog/a.png", "0\ttop.png"))
    self.assertIsNone(manifest.load(self.output).classes)

  @parameterized.parameters(
    (["0.5\t-1\ttop.png", "2\t3\tcat/a.png"], [2]),
    (["0.5\ttop.png", "2\tcat/a.png"], [1]),
    (["1\ttop.png", "2\t3\t4\tcat/a.png"], [None]),
  )
  def test_labels_may_be_any_numbers(self, lines, shape):
    stored.sound(self._convert(self._list(*lines)))
    label = manifest.load(self.output)["features"]["label"]
    self.assertEqual(label, {"dtype": "float32", "shape": shape})
    for line, (name, labels) in zip(lines, self._found()):
      *wanted, path = line.split("\t")
      self.assertEqual((name, labels), (path, list(map(float, wanted))))

  def test_another_list_is_another_split(self):
    self._convert(self._list("1\tdog/a.png", "0\tcat/b.png", name="f_train.lst"))
    source = self._list("0\tcat/a.png", name="f_val.lst")
    liquid_tf.append(self.output, source, progress=False)
    splits = manifest.load(self.output)["splits"]
    found = {name: split["samples"] for name, split in splits.items()}
    self.assertEqual(found, {"train": 2, "val": 1})
    self.assertEqual(self._found()[2], ("cat/a.png", [0.0]))

  def test_images_that_are_not_there_go_by_on_error(self):
    source = self._list("1\tdog/a.png", "1\tdog/none.png", "0\tcat/a.png")
    with self.assertRaisesRegex(
      ConvertError,
      r"1 of 3 samples .*1 lost, as dog/none.png: is listed in .*.lst, but",
    ):
      self._convert(source)
    [line] = pathlib.Path(self.output, "_problems.jsonl").read_text().splitlines()
    self.assertEqual(json.loads(line)["path"], "dog/none.png")
    report = self._convert(source, on_error="skip:40%", existing="resume")
    self.assertEqual(report.samples, 2)
    found = {one["path"]: one["reason"] for one in report.skipped}
    self.assertEqual(list(found), [*source.annotations, "dog/none.png"])
    self.assertRegex(
      found[source.annotations[0]], r"does not list \d files below .*, as cat/"
    )

  def test_other_labels_are_another_source(self):
    for name in ("cat/a.png", "cat/b.png"):
      path = pathlib.Path(self.root, "photos", name)
      path.write_bytes(path.read_bytes()[:60])
    lines = "1\tdog/a.png", "0\tcat/a.png", "0\tcat/b.png"
    with self.assertRaisesRegex(ConvertError, "2 of 3 samples cannot be stored"):
      self._convert(self._list(*lines))
    source = self._list("5\tdog/a.png", *lines[1:])
    with self.assertRaisesRegex(ConvertError, "dog/a.png.* changed"):
      self._convert(source, on_error="skip:100%", existing="resume")

  @parameterized.parameters(
    (["1\tdog/a.png", "2\tdog/a.png"], "lists dog/a.png twice"),
    (["1\tx/a.png"], "list no image that is below .*/photos: the first is x/a.png"),
    ([], "list no image"),
    (["one\tdog/a.png"], "flowers.lst, line 1"),
    (["0\tcat/a.png", "1_0\tdog/a.png"], "flowers.lst, line 2"),
    (["٣\tdog/a.png"], "flowers.lst, line 1"),
    (["1\t2\t"], "flowers.lst, line 1"),
  )
  def test_lists_that_are_wrong(self, lines, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self._list(*lines))
    self.assertFalse(os.path.exists(self.output))

  def test_masks_have_no_labels(self):
    os.mkdir(f"{self.root}/masks")
    path = self._list("1\tdog/a.png").annotations[0]
    source = liquid_tf.Source(
      f"{self.root}/photos", masks=f"{self.root}/masks", annotations=path
    )
    with self.assertRaisesRegex(ConvertError, "masks .* do not go with annotations"):
      self._convert(source)


if __name__ == "__main__":
  tf.test.main()
