"""Labels and columns of tables come back from an export as they went out."""

import importlib.util
import io
import json
import os
import pathlib
import tarfile

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

  def _trips(self, first: str, trips: int = 2) -> list[dict[str, dict]]:
    """The samples of a dataset, and of those that exports of it give, one by one."""
    found, path = [], first
    for trip in range(trips + 1):
      view = liquid_tf.open(path)
      samples = {}
      for one in view:
        own = {
          name: np.asarray(one[name]).tolist()
          for name in one
          if name not in ("path", "number", "sample", "id")
        }
        if view.classes is not None:
          own["label"] = view.classes[own["label"]]
        samples[one["name"]] = own
      found.append(samples)
      if trip < trips:
        out, path = f"{first}-out{trip}", f"{first}-back{trip}"
        self.assertEqual(
          [
            note
            for note in liquid_tf.export(view, out, "webdataset", progress=False).notes
            if not note.startswith("names that two samples would have")
          ],
          [],
        )
        report = liquid_tf.convert(f"{out}/*.tar", path, "png:1,raw:1", progress=False)
        self.assertEqual(report.skipped, [])
    return found

  @parameterized.parameters("classes", "numbers")
  def test_webdataset_twice(self, kind):
    labels = _LABELS["classes"] if kind == "classes" else [3, 0, 1, 1, 0, 2]
    names = ["a.jpg", "a.png", "50%.png", ".deep/x.y.png", "no_extension", "b-00000009"]
    root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(9)
    items = []
    for number, (name, label) in enumerate(zip(names, labels)):
      image = random.integers(0, 256, (6, 8, 3), np.uint8)
      tags = json.dumps(["é", str(number)][: number % 3], ensure_ascii=False)
      own = {"image": image, "name": name, "label": label, "tags": tags}
      items.append(own | {"json_label": f"of {number}"} | _columns(number))
    first = os.fspath(root / "first")
    source = liquid_tf.Source.from_iterable(items)
    liquid_tf.convert(source, first, "png:1,raw:1", progress=False)
    found, *others = self._trips(first)
    self.assertSameElements(found, names)
    for other in others:
      self.assertEqual(other, found)

  def test_what_is_not_of_an_export_twice(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    told = [
      {"name": "one", "label": "cat", "tags": ["t"], "n": [0], "of": {"a": [1, "é"]}},
      {"name": "k1", "label": "dog", "tags": [], "n": [], "mixed": "a text"},
      {"name": "two", "label": "cat", "n": [1, 2.5], "mixed": ["b"], "json_name": "x"},
    ]
    os.mkdir(root / "src")
    with tarfile.open(root / "src/0.tar", "w") as archive:
      for number, one in enumerate(told):
        image = io.BytesIO()
        photos.Image.fromarray(np.full((4, 5, 3), number, np.uint8)).save(image, "PNG")
        for extension, data in (
          ("png", image.getvalue()),
          ("cls", b"1"),
          ("json", json.dumps(one).encode()),
        ):
          member = tarfile.TarInfo(f"k{number}.{extension}")
          member.size = len(data)
          archive.addfile(member, io.BytesIO(data))
    first = os.fspath(root / "first")
    liquid_tf.convert(root / "src/0.tar", first, "png:1,raw:1", progress=False)
    found, *others = self._trips(first)
    for other in others:
      self.assertEqual(other, found)
    texts = {
      "k0": {
        "json_json_name": "one",
        "json_name": "",
        "json_label": "cat",
        "tags": '["t"]',
        "n": "[0]",
        "of": '{"a": [1, "é"]}',
        "mixed": "",
      },
      "k1": {"json_json_name": "k1", "tags": "[]", "n": "[]", "mixed": '"a text"'},
      "k2": {"json_name": "x", "tags": "", "n": "[1, 2.5]", "mixed": '["b"]'},
    }
    for key, wanted in texts.items():
      self.assertEqual({name: found[key][name] for name in wanted}, wanted)

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
