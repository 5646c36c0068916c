"""Versions of a dataset: what each holds, and what stays as it was."""

import json
import os
import pathlib

import living
import numpy as np
import photos
import stored
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._store import manifest as manifests
from liquid_tf._store import versions
from liquid_tf.errors import ConvertError, ManifestError

_MIXES = (
  ("two formats", "png:6,raw:4", {}),
  ("pcr", "pcr:1,raw:1", {"encoders": {"pcr": {"images": 4}}}),
  ("replicated", "png:1,l3:1,pcr:1", {"replicate": True}),
  ("many shards", "l3:2,webp:1,bmp:1", {"shard_size": 4096}),
)


class EditTest(parameterized.TestCase, tf.test.TestCase):
  def _living(self, mix="png:6,raw:4", counts=None, **options) -> living.Living:
    root = self.create_tempdir().full_path
    return living.Living(self, root, mix, counts or {"cat": 9, "dog": 6}, **options)

  @parameterized.named_parameters(*_MIXES)
  def test_a_life(self, mix, options):
    one = self._living(mix, **options)
    source, paths = one.source({"dog": 4, "ape": 3})
    report = liquid_tf.append(one.path, source, progress=False)
    one.add(paths)
    self.assertEqual((report.version, report.changed, report.samples), (2, 7, 22))
    one.check(2)
    one.check_delivery()
    self.assertEqual(manifests.load(one.path).classes, ["cat", "dog", "ape"])

    view = liquid_tf.open(one.path).where(lambda t: t["number"] % 3 == 1)
    report = liquid_tf.remove(view)
    for number in view.numbers.tolist():
      del one.samples[number]
    self.assertEqual((report.version, report.changed), (3, len(view)))
    one.check(3)
    one.check_delivery()

    table = {"number": [0, 2, 21], "score": [0.5, 1.5, -1.0], "by": ["a", "", "ü"]}
    report = liquid_tf.annotate(one.path, table)
    for sample in one.samples.values():
      sample.values = {"score": None, "by": ""}
    for number, score, by in zip(*table.values()):
      one.samples[number].values = {"score": score, "by": by}
    self.assertEqual((report.version, report.changed), (4, 3))
    one.check(4)

    before = {name for name in os.listdir(one.path) if name.endswith((".rec", ".pcr"))}
    report = liquid_tf.compact(one.path, progress=False)
    self.assertEqual(report.version, 5)
    self.assertGreaterEqual(report.changed, len(view))
    one.check(5)
    one.check_delivery()
    self.assertContainsSubset(before, set(os.listdir(one.path)))
    # Nothing is left to do.
    self.assertEqual(liquid_tf.compact(one.path, progress=False).version, 5)

    source, paths = one.source({"cat": 2})
    liquid_tf.append(one.path, source, progress=False)
    one.add(paths, score=None, by="")
    one.check(6)
    one.check_delivery()

    liquid_tf.compact(one.path, forget="older", progress=False)
    self.assertEqual(versions.in_directory(one.path), [6])
    one.check(6)
    one.check_delivery()
    with self.assertRaisesRegex(
      ManifestError, r"version \(3\) .* is not there: .*forgotten.*there is version 6"
    ):
      liquid_tf.open(one.path, version=3)

  @parameterized.named_parameters(*_MIXES)
  def test_any_order_of_changes(self, mix, options):
    one = self._living(mix, **options)
    version = 1
    for _ in range(8):
      what = one.random.choice(["append", "remove", "annotate", "compact", "forget"])
      if what == "append":
        classes = one.random.choice(["cat", "dog", "ape", "bee"], 2, replace=False)
        counts = {name: int(one.random.integers(1, 4)) for name in classes}
        source, paths = one.source(counts)
        liquid_tf.append(one.path, source, progress=False)
        filler = {name: -1 for name in manifests.load(one.path)["columns"]}
        one.add(paths, **filler)
        version += 1
      elif what == "remove" and len(one.samples) > 4:
        some = one.random.choice(sorted(one.samples), 3, replace=False)
        liquid_tf.remove(liquid_tf.open(one.path).take(some))
        for number in some.tolist():
          del one.samples[number]
        version += 1
      elif what == "annotate":
        some = one.random.choice(sorted(one.samples), 2, replace=False).tolist()
        table = {"name": [one.samples[n].name for n in some], "n": some}
        if len({sample.name for sample in one.samples.values()}) < len(one.samples):
          table = {"sample": some, "n": some}
        liquid_tf.annotate(one.path, table, defaults={"n": -1})
        for sample in one.samples.values():
          sample.values.setdefault("n", -1)
        for number in some:
          one.samples[number].values["n"] = number
        version += 1
      else:
        forget = "older" if what == "forget" else None
        report = liquid_tf.compact(one.path, forget=forget, progress=False)
        self.assertLessEqual(report.version, version + 1)
        version = report.version
        if what == "forget":
          self.assertEqual(versions.in_directory(one.path), [version])
      one.check(version)
    one.check_delivery()

  def test_stored_order_is_the_old_one_and_then_the_new(self):
    root = self.create_tempdir().full_path
    path, make = f"{root}/dataset", np.random.default_rng(1)
    living.images(f"{root}/source", make, {"cat": 9, "dog": 6})
    living.images(f"{root}/more", make, {"cat": 5, "ape": 5})
    liquid_tf.convert(
      f"{root}/source", path, "png:6,raw:4", splits="train:.8,val:.2", progress=False
    )
    before = liquid_tf.open(path)
    liquid_tf.append(path, f"{root}/more", splits="train:1,val:1", progress=False)
    after = liquid_tf.open(path)
    self.assertEqual(liquid_tf.verify(path)["problems"], [])
    for split in ("train", "val"):
      for name in ("png", "raw"):
        old = before.split(split).rows(name)["sample"].tolist()
        new = after.split(split).rows(name)["sample"].tolist()
        self.assertEqual(new[: len(old)], old)
        self.assertTrue(all(number >= 15 for number in new[len(old) :]))

  def test_a_view_keeps_its_version(self):
    one = self._living()
    view = liquid_tf.open(one.path)
    source, _ = one.source({"cat": 3})
    liquid_tf.append(one.path, source, progress=False)
    liquid_tf.remove(view.take([0, 1]))
    self.assertLen(view, 15)
    self.assertEqual(view.version, 1)
    found = [
      number
      for batch in liquid_tf.dataset(view, 5, features=["id"], memory="64MB")
      for number in batch["id"].numpy().tolist()
    ]
    self.assertEqual(sorted(found), list(range(15)))
    self.assertEqual(
      liquid_tf.open(one.path, version=1).numbers.tolist(), sorted(found)
    )
    self.assertLen(liquid_tf.open(one.path, version=2), 18)
    self.assertLen(liquid_tf.open(one.path), 16)

  def test_a_copy_is_of_the_newest_version(self):
    one = self._living()
    liquid_tf.remove(liquid_tf.open(one.path).take([0, 1]))
    liquid_tf.annotate(one.path, {"number": [2], "x": [0.5]})
    other = f"{one.path}.copy"
    liquid_tf.copy(one.path, other, progress=False)
    self.assertEqual(versions.in_directory(other), [3])
    self.assertEqual(living.held(other), living.held(one.path))
    self.assertEqual(liquid_tf.verify(other)["problems"], [])
    fingerprints = [liquid_tf.open(path).fingerprint for path in (one.path, other)]
    self.assertEqual(fingerprints[0], fingerprints[1])
    liquid_tf.copy(one.path, other, existing="resume", progress=False)
    liquid_tf.remove(liquid_tf.open(one.path).take([5]))
    with self.assertRaisesRegex(ConvertError, "already holds another dataset"):
      liquid_tf.copy(one.path, other, existing="resume", progress=False)
    liquid_tf.copy(one.path, other, existing="replace", progress=False)
    self.assertEqual(versions.in_directory(other), [4])
    self.assertEqual(living.held(other), living.held(one.path))

  def test_a_new_mix_of_a_dataset_with_holes(self):
    one = self._living()
    liquid_tf.remove(liquid_tf.open(one.path).take([0, 7, 14]))
    table = {"name": [one.samples[3].name], "x": ["yes"]}
    liquid_tf.annotate(one.path, table)
    other = f"{one.path}.other"
    liquid_tf.convert(one.path, other, "l3:1,raw:1", progress=False)
    self.assertEqual(liquid_tf.verify(other)["problems"], [])
    wanted = [sample for _, sample in sorted(living.held(one.path).items())]
    found = [sample for _, sample in sorted(living.held(other).items())]
    self.assertEqual(found, wanted)
    self.assertEqual(sorted(living.held(other)), list(range(12)))

  def test_splits_may_be_called_as_files_of_versions_are(self):
    root = self.create_tempdir().full_path
    path, source = f"{root}/dataset", f"{root}/source"
    living.images(source, np.random.default_rng(1), {"cat": 8})
    liquid_tf.convert(source, path, "png", splits="v2:1,v9:1", progress=False)
    for _ in range(2):
      number = int(liquid_tf.open(path).split("v9").numbers[0])
      liquid_tf.remove(liquid_tf.open(path).take([number]))
      self.assertEqual(liquid_tf.verify(path)["problems"], [])
    liquid_tf.compact(path, forget="older", progress=False)
    self.assertEqual(liquid_tf.verify(path)["problems"], [])
    self.assertEqual(liquid_tf.inspect(path)["splits"], {"v2": 4, "v9": 2})

  def test_replacing_a_dataset_removes_every_version(self):
    one = self._living()
    liquid_tf.remove(liquid_tf.open(one.path).take([0]))
    liquid_tf.annotate(one.path, {"number": [2], "x": [0.5]})
    view = liquid_tf.open(one.path)
    source, _ = one.source({"cat": 4})
    liquid_tf.convert(source, one.path, "png", existing="replace", progress=False)
    self.assertEqual(versions.in_directory(one.path), [1])
    self.assertLen(liquid_tf.open(one.path), 4)
    with self.assertRaisesRegex(ManifestError, r"version \(3\) .* is not there"):
      liquid_tf.remove(view)

  def test_a_manifest_under_another_version(self):
    one = self._living()
    os.link(f"{one.path}/dataset.json", f"{one.path}/dataset-2.json")
    with self.assertRaisesRegex(ManifestError, "version .1. must be that of"):
      liquid_tf.open(one.path)
    self.assertLen(liquid_tf.open(one.path, version=1), 15)

  def test_what_cannot_be_changed(self):
    empty = self.create_tempdir().full_path
    for edit in (
      lambda path: liquid_tf.append(path, empty),
      lambda path: liquid_tf.annotate(path, {"number": [0], "x": [1.0]}),
      liquid_tf.compact,
    ):
      with self.assertRaisesRegex(ManifestError, "is not a Liquid dataset"):
        edit(empty)
      with self.assertRaisesRegex(ValueError, "must be a local dataset"):
        edit("gs://bucket/photos.liquid")
    with self.assertRaisesRegex(ValueError, "must be a view"):
      liquid_tf.remove(empty)


class JpegIndexTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.source = f"{self.root}/source"
    random = np.random.default_rng(5)
    for i in range(9):
      name = photos.COLOUR[i % 3]
      pixels = photos.crop(photos.photo(name), (40, 400), random)
      # A progressive one has no entry points.
      path = f"{self.source}/{name}/{i}.jpg"
      photos.save(path, pixels, quality=60, progressive=i == 4)

  def _convert(self, index: str | int) -> str:
    path = f"{self.root}/{index}"
    options = {"encoders": {"jpeg": {"index": index}}, "shard_size": 16384}
    liquid_tf.convert(self.source, path, "jpeg:2,png:1", progress=False, **options)
    return path

  def _index_bytes(self, path: str) -> int:
    """Checks a dataset; returns what its records have beside the files."""
    found = liquid_tf.verify(path)
    self.assertEqual(found["problems"], [])
    shards = [one for one in manifests.load(path)["shards"] if "indexed" in one]
    self.assertEqual(found["jpeg_index"]["records"], sum(s["indexed"] for s in shards))
    total = sum(one["index_bytes"] for one in shards)
    self.assertEqual(found["jpeg_index"]["bytes"], total)
    return total

  def _shards(self, path: str) -> list[bytes]:
    loaded = manifests.load(path)
    paths = [loaded.path(shard.path) for shard in loaded.shards]
    return [pathlib.Path(path).read_bytes() for path in paths]

  def test_an_edit_makes_the_shards_of_a_conversion(self):
    made = {index: self._convert(index) for index in ("row", 16, 8, "none")}
    sizes = {index: self._index_bytes(made[index]) for index in made}
    found = list(sizes.values())
    self.assertEqual(found, [*sorted(found[:3]), 0])
    self.assertLen(set(found), 4)
    path, version = made[16], 1
    wanted = {index: self._shards(made[index]) for index in made}
    files = [(one["id"], one["contents"]) for one in stored.records(path)]
    for index in ("row", "none", 8, 16):
      version += 1
      # The second time there is nothing left to do.
      for changed in (6, 0):
        report = liquid_tf.compact(path, jpeg_index=index, progress=False)
        self.assertEqual((report.version, report.changed), (version, changed))
        self.assertEqual(report.jpeg_index["bytes"], sizes[index])
      loaded = manifests.load(path)
      self.assertEqual(loaded["made_by"], "index-jpeg")
      self.assertEqual(loaded["encoding"]["jpeg_index"], index)
      self.assertEqual(self._shards(path), wanted[index])
      found = [(one["id"], one["contents"]) for one in stored.records(path)]
      self.assertEqual(found, files)
    self.assertEqual(self._index_bytes(path), sizes[16])

  def test_wrong_entry_points_are_made_anew(self):
    path, wanted = self._convert("row"), self._convert(8)
    file = pathlib.Path(path, manifests.MANIFEST)
    data = json.loads(file.read_bytes())
    data["encoding"]["jpeg_index"] = 8
    file.write_text(json.dumps(data))
    for version, changed in ((2, 6), (2, 0)):
      report = liquid_tf.compact(path, jpeg_index=8, progress=False)
      self.assertEqual((report.version, report.changed), (version, changed))
      self.assertEqual(self._shards(path), self._shards(wanted))
    self.assertEqual(self._index_bytes(path), self._index_bytes(wanted))

  def test_appends_and_compactions_follow(self):
    path = self._convert("none")
    liquid_tf.compact(path, jpeg_index="row", forget="older", progress=False)
    self.assertEqual(versions.in_directory(path), [2])
    before = self._index_bytes(path)
    liquid_tf.append(path, self.source, duplicates="add", progress=False)
    self.assertGreater(self._index_bytes(path), before)
    rows = manifests.load_index(manifests.load(path))
    removed = rows["sample"][rows["format"] == manifests.FORMATS.index("jpeg")][[1, 4]]
    liquid_tf.remove(liquid_tf.open(path).take(removed))
    report = liquid_tf.compact(path, progress=False)
    self.assertEqual((report.version, report.changed), (5, 2))
    self.assertEqual(manifests.load(path)["made_by"], "compact")
    self.assertEqual(report.jpeg_index["bytes"], self._index_bytes(path))
    self.assertGreater(report.jpeg_index["bytes"], 0)

  def test_what_has_no_index(self):
    path = f"{self.root}/png"
    liquid_tf.convert(self.source, path, "png", progress=False)
    with self.assertRaisesRegex(
      ConvertError, r"jpeg_index \(16\) is of the format jpeg"
    ):
      liquid_tf.compact(path, jpeg_index=16, progress=False)
    with self.assertRaisesRegex(ValueError, "jpeg_index: 7 must be one of row, 16, 8"):
      liquid_tf.compact(path, jpeg_index=7, progress=False)
    self.assertEqual(versions.in_directory(path), [1])

  def test_a_damaged_record_is_named(self):
    path = self._convert("none")
    loaded = manifests.load(path)
    row = manifests.load_index(loaded)[-1]
    shard = pathlib.Path(loaded.path(loaded.shards[row["shard"]].path))
    self.assertEndsWith(shard.name, ".rec")
    data = bytearray(shard.read_bytes())
    data[int(row["offset"]) + 200] ^= 1
    shard.write_bytes(data)
    with self.assertRaisesRegex(
      ConvertError, rf"{shard.name} \(sample {row['sample']}, .* remove this sample"
    ):
      liquid_tf.compact(path, jpeg_index=16, progress=False)
    self.assertEqual(versions.in_directory(path), [1])


if __name__ == "__main__":
  tf.test.main()
