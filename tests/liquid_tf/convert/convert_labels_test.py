"""Labels are stored as the source has them, or refused sample by sample."""

import os
import pathlib
import struct

import examples
import numpy as np
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import recordio
from liquid_tf._store import manifest
from liquid_tf.errors import ConvertError

_LARGEST = 16777215
_NAN, _INF = float("nan"), float("inf")


class ConvertLabelsTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.output = f"{self.root}/dataset"

  def _list(self, labels: list[str], name: str = "a.lst") -> liquid_tf.Source:
    os.makedirs(f"{self.root}/photos", exist_ok=True)
    for i, image in enumerate(examples.images(len(labels))):
      pathlib.Path(f"{self.root}/photos/{i}.png").write_bytes(image)
    lines = [f"{i}\t{label}\t{i}.png" for i, label in enumerate(labels)]
    pathlib.Path(self.root, name).write_text("\n".join(lines))
    return liquid_tf.Source(f"{self.root}/photos", annotations=f"{self.root}/{name}")

  def _records(self, labels: list[list[float]]) -> str:
    """By hand, since `pack` refuses some: a list is a vector, a float the header's."""
    path = f"{self.root}/a.rec"
    with recordio.Writer(path) as writer:
      for i, image in enumerate(examples.images(len(labels))):
        one = labels[i]
        vector = np.array(one if isinstance(one, list) else [], "<f4").tobytes()
        number = 0 if isinstance(one, list) else one
        header = struct.pack("<IfQQ", len(vector) // 4, number, i, 0)
        writer.write(header + vector + image)
    return path

  def _examples(self, labels: list) -> str:
    images = examples.images(len(labels))
    examples.write(
      f"{self.root}/a.tfrecord",
      [
        {"image/encoded": image, "image/class/label": label}
        for image, label in zip(images, labels)
      ],
    )
    return f"{self.root}/a.tfrecord"

  def _convert(self, source, **options):
    return liquid_tf.convert(
      source, self.output, "png", progress=False, existing="replace", **options
    )

  def _read(self) -> list:
    data = liquid_tf.dataset(self.output, None, shuffle=False, features=["id", "label"])
    found = {int(one["id"]): one["label"].tolist() for one in data.as_numpy_iterator()}
    return [found[i] for i in sorted(found)]

  def _skipped(self, source) -> dict[str, str]:
    """Why each sample was left out, by the last word of where it is."""
    report = self._convert(source, on_error="skip:100%")
    return {one["path"].split()[-1]: one["reason"] for one in report.skipped}

  def test_a_list(self):
    labels = ["3", str(_LARGEST), "nan", "-inf", "16777216", "-16777217.000000", "1e39"]
    source = self._list(labels)
    found = self._skipped(source)
    self.assertEqual(self._read(), [3, _LARGEST])
    self.assertEqual(sorted(found), [f"{i}.png" for i in range(2, 7)])
    for i, (value, reason) in enumerate(
      (
        ("nan", "must be a finite number: give .* -1, or leave it out"),
        ("-inf", "must be a finite number"),
        ("16777216.0", "must be from -16777215 to 16777215, .* metadata column"),
        ("-16777217.0", "must be from"),
        ("1e[+]39", "must be from"),
      ),
      start=2,
    ):
      self.assertRegex(found[f"{i}.png"], rf"a.lst: its label \({value}\) {reason}")
    with self.assertRaisesRegex(
      ConvertError,
      r"5 of 7 .* as 2.png: .*a.lst: its label \(nan\) .* on_error=\"skip:71.5%\"",
    ):
      self._convert(source)

  def test_records(self):
    found = self._skipped(
      self._records([[0.5, -2], [1, _NAN], [_INF, 1], [7, 1 << 24]])
    )
    self.assertAllEqual(self._read(), [[0.5, -2]])
    self.assertLen(found, 3)
    for reason, value in zip(found.values(), ("nan", "inf", "16777216.0")):
      self.assertStartsWith(reason, f"its label ({value}) must be")
    # Another NaN than the one that says that a header holds no label.
    other = struct.unpack("<f", struct.pack("<I", 0x7FC00001))[0]
    found = self._skipped(self._records([4.0, _INF, float(1 << 25), _NAN, other]))
    self.assertEqual(self._read(), [4])
    self.assertLen(found, 4)
    self.assertIn("has no label, but others have", found.values())

  def test_examples(self):
    labels = [2.5, _NAN, -_INF, (1 << 24) + 1, [1 << 24]]
    found = self._skipped(self._examples(labels))
    self.assertAllEqual(self._read(), [[2.5]])
    self.assertLen(found, 4)
    for reason, value in zip(found.values(), ("nan", "-inf", "16777217", "16777216")):
      self.assertStartsWith(reason, f'"image/class/label": its label ({value}) must be')

  def test_an_append(self):
    self._convert(self._list(["0", "2"]))
    for label, reason in (
      ("nan", r"1 of 2 .*0.png: .*b.lst: its label \(nan\) must be a finite"),
      ("33554433", r"its label \(33554433.0\) must be from"),
      ("-1", r"has labels float32 \[1\], as -1, which is no class number"),
    ):
      with self.assertRaisesRegex(ConvertError, reason):
        liquid_tf.append(
          self.output,
          self._list([label, "1"], "b.lst"),
          duplicates="add",
          progress=False,
          existing="replace",
        )
    self.assertEqual(self._read(), [0, 2])

  def test_a_label_that_no_name_is_of(self):
    source = self._examples([0, 1, 2, -3])
    pathlib.Path(self.root, "labels.txt").write_bytes(b"\xef\xbb\xbf0:cat\r\n1:dog\r\n")
    found = self._skipped(source)
    self.assertEqual(self._read(), [0, 1])
    self.assertEqual(manifest.load(self.output).classes, ["cat", "dog"])
    for reason, value in zip(found.values(), (2, -3)):
      self.assertEqual(
        reason, f"its label ({value}) is no class: there are names of 2, from 0 on"
      )
    # Class 2 of the appended is none, though the dataset gets a third class.
    os.remove(source)
    pathlib.Path(self.root, "labels.txt").write_text("0:owl\n1:cat\n")
    source = self._examples([0, 1, 2])
    with self.assertRaisesRegex(ConvertError, r"its label \(2\) is no class: .* of 2,"):
      liquid_tf.append(self.output, source, progress=False)
    liquid_tf.append(self.output, source, on_error="skip:40%", progress=False)
    self.assertEqual(self._read(), [0, 1, 2, 0])
    self.assertEqual(manifest.load(self.output).classes, ["cat", "dog", "owl"])

  @parameterized.parameters(
    ("0:cat\n0:dog\n", "line 2, names class 0 again"),
    ("0:cat\n٣:dog\n", "line 2 .* must be NUMBER:NAME"),
  )
  def test_names_that_contradict(self, text, message):
    source = self._examples([0])
    pathlib.Path(self.root, "labels.txt").write_text(text)
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(source)


if __name__ == "__main__":
  tf.test.main()
