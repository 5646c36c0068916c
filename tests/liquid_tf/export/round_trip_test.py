"""Labels and columns of tables come back from an export as they went out."""

import importlib.util
import os
import pathlib

import numpy as np
import photos
from absl.testing import absltest, parameterized

import liquid_tf

_LABELS = {
  "classes": ["owl", "elk", "owl", "007", "elk", "owl"],
  "regression": [0.5, -2.0, 0.1, 1e3, 3.0, 0.25],
  "tags": [[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]],
  "none": [None] * 6,
}
_SOURCES = {"folder": "", "webdataset": "*.tar", "parquet": "*.parquet"}


def _columns(number: int) -> dict:
  return {
    "key": number,
    "caption": f"“{number}”, an ü\n",
    "weight": number / 8,
    "embedding": [number, 0.1, -1e-3],
  }


class RoundTripTest(parameterized.TestCase):
  def _samples(self, path: str) -> dict[int, tuple]:
    """Pixels, label and columns of all samples, by their key."""
    view = liquid_tf.open(path)
    found = {}
    for sample in view:
      label = sample["label"].tolist() if "label" in sample else None
      if view.classes is not None:
        label = view.classes[label]
      columns = {name: np.asarray(sample[name]).tolist() for name in _columns(0)}
      found[columns["key"]] = (sample["image"].tobytes(), label, columns)
    return found

  @parameterized.product(kind=list(_LABELS), to=list(_SOURCES))
  def test_labels_and_columns(self, kind, to):
    if to == "parquet" and importlib.util.find_spec("pyarrow") is None:
      self.skipTest("pyarrow is not installed")
    root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(7)
    items = []
    for number, label in enumerate(_LABELS[kind]):
      path = root / f"photos/{number}.png"
      photos.save(path, random.integers(0, 256, (6, 8, 3), np.uint8))
      item = {
        "image": path,
        "name": path.name,
        "split": "val" if number > 3 else "train",
      }
      items.append(
        item | ({} if label is None else {"label": label}) | _columns(number)
      )
    first, out, back = (os.fspath(root / name) for name in ("first", "out", "back"))
    source = liquid_tf.Source.from_iterable(items)
    liquid_tf.convert(source, first, "png:1,raw:1", progress=False)
    self.assertEqual(liquid_tf.export(first, out, to, progress=False).notes, [])
    source = os.path.join(out, _SOURCES[to])
    report = liquid_tf.convert(source, back, "png:1,raw:1", progress=False)
    self.assertEqual(report.splits, {"train": 4, "val": 2})
    found, wanted = self._samples(back), self._samples(first)
    self.assertSameElements(found, wanted)
    for key, sample in wanted.items():
      self.assertEqual(found[key], sample)
    heavy = liquid_tf.open(back).where("weight > .2")
    self.assertEqual(sorted(sample["key"] for sample in heavy), [2, 3, 4, 5])

  def test_masks(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(8)
    items = []
    for number in range(4):
      path = root / f"photos/{number}.png"
      photos.save(path, random.integers(0, 256, (6, 8, 3), np.uint8))
      mask = random.integers(0, 9, (6, 8), np.uint8)
      items.append({"image": path, "name": path.name, "mask": mask})
    first, out, back = (os.fspath(root / name) for name in ("first", "out", "back"))
    source = liquid_tf.Source.from_iterable(items)
    liquid_tf.convert(source, first, "png:1,raw:1", progress=False)
    liquid_tf.export(first, out, "webdataset", progress=False)
    report = liquid_tf.convert(f"{out}/*.tar", back, "png:1,raw:1", progress=False)
    self.assertEqual((report.samples, report.skipped), (4, []))

    def pairs(path):
      return {
        one["image"].tobytes(): one["mask"].tobytes() for one in liquid_tf.open(path)
      }

    self.assertEqual(pairs(back), pairs(first))
    self.assertSameElements(
      pairs(back).values(), [item["mask"].tobytes() for item in items]
    )


if __name__ == "__main__":
  absltest.main()
