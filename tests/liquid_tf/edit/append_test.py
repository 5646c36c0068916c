"""append takes what goes with the dataset, deals on, and says what does not fit."""

import os
import shutil
import subprocess
import sys
from unittest import mock

import examples
import living
import numpy as np
import photos
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf import Source, recordio
from liquid_tf._convert import output as outputs
from liquid_tf._convert import run as runs
from liquid_tf._convert.workers import LocalEngine
from liquid_tf._edit import grown
from liquid_tf._edit.edit import WORK
from liquid_tf._store import labels, versions
from liquid_tf._store import manifest as manifests
from liquid_tf._view import inspection
from liquid_tf.errors import ConvertError
from liquid_tf.transforms import Bits, Channels, Resize

# More find more, and `make nightly` makes them; the default keeps the test short.
_APPENDS = int(os.environ.get("LIQUID_TEST_APPENDS", "15"))


class AppendTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.path = f"{self.root}/dataset"
    self.random = np.random.default_rng(3)

  def _images(self, name: str, counts: dict[str, int], side: int = 16) -> str:
    living.images(f"{self.root}/{name}", self.random, counts, side)
    return f"{self.root}/{name}"

  def _convert(self, source=None, mix="png:6,raw:4", **options):
    source = source or self._images("source", {"cat": 6, "dog": 4})
    liquid_tf.convert(source, self.path, mix, progress=False, **options)

  def _append(self, source, **options):
    report = liquid_tf.append(self.path, source, progress=False, **options)
    self.assertEqual(inspection.verify(self.path)["problems"], [])
    return report

  def test_many_appends_keep_the_shares_of_the_mix(self):
    mix = {"png": 0.6, "raw": 0.3, "l3": 0.1}
    self._convert(mix=mix, splits="train:.8,val:.2")
    for i in range(_APPENDS):
      source = self._images(f"s{i}", {"cat": 1})
      liquid_tf.append(self.path, source, splits="train:.8,val:.2", progress=False)
      shutil.rmtree(source)
      loaded = manifests.load(self.path)
      count = 11 + i
      self.assertEqual(loaded["samples"], count)
      for name, share in (("train", 0.8), ("val", 0.2)):
        have = loaded["splits"][name]["samples"]
        self.assertLess(abs(have - share * count), 1)
        for format_name, part in mix.items():
          rows = liquid_tf.open(self.path).split(name).counts()[format_name]
          self.assertLess(abs(rows - part * have), 1, (i, name, format_name))
    self.assertEqual(inspection.verify(self.path)["problems"], [])
    self.assertEqual(versions.in_directory(self.path)[-1], 1 + _APPENDS)

  def test_splits_are_of_the_new_images_alone(self):
    self._convert(self._images("source", {"cat": 30, "dog": 16}))
    more = self._images("more", {"ape": 10, "cat": 10})
    report = self._append(more, splits="train:.8,val:.2")
    self.assertEqual(report.samples, 66)
    splits = manifests.load(self.path)["splits"]
    self.assertEqual([splits[name]["samples"] for name in ("train", "val")], [62, 4])
    held = living.held(self.path)
    new = [(one.split, one.label) for number, one in held.items() if number >= 46]
    self.assertEqual(sorted(set(new))[-2:], [("val", "ape"), ("val", "cat")])
    # An image at a time, every fifth goes to val.
    found = []
    for i in range(10):
      source = self._images(f"s{i}", {"cat": 1})
      liquid_tf.append(self.path, source, splits="train:.8,val:.2", progress=False)
      found.append(living.held(self.path)[66 + i].split)
    self.assertEqual(found.count("val"), 2)
    self.assertEqual(found[:5], found[5:])

  def test_images_of_known_names_are_refused(self):
    source = self._images("source", {"cat": 6, "dog": 4})
    self._convert(source)
    liquid_tf.remove(liquid_tf.open(self.path).take([2]))
    before = photos.tree(self.path)
    for _ in range(2):
      photos.save(f"{source}/ape/new.png", photos.photo("coffee")[:16, :16])
      with self.assertRaisesRegex(
        ConvertError,
        r"10 of 11 images have names that samples of .*dataset have or had, as "
        r'cat/source-000.png: .*duplicates="skip", or.* duplicates="add"',
      ):
        self._append(source)
    self.assertEqual(photos.tree(self.path), before)
    # What was removed does not come back, and nothing is decoded again.
    scan, scanned = LocalEngine.scan, []

    def spy(engine, samples, positions, encoding):
      scanned.extend(samples.path(position) for position in positions)
      return scan(engine, samples, positions, encoding)

    with mock.patch.object(LocalEngine, "scan", spy):
      report = self._append(source, duplicates="skip")
    self.assertEqual(scanned, ["ape/new.png"])
    self.assertEqual((report.changed, report.duplicates, report.samples), (1, 10, 10))
    held = living.held(self.path)
    self.assertEqual((held[10].name, held[10].label), ("ape/new.png", "ape"))
    self.assertNotIn(2, held)
    # The manifest does not list them: they are samples.
    self.assertEqual((report.skipped, manifests.load(self.path)["skipped"]), ([], []))
    again = self._append(source, duplicates="skip")
    self.assertEqual((again.version, again.changed, again.duplicates), (3, 0, 11))
    self.assertEqual(self._append(source, duplicates="add").samples, 21)
    with self.assertRaisesRegex(ValueError, r'duplicates \("no"\) must be one of'):
      self._append(source, duplicates="no")

  def test_names_of_masked_images_and_of_datasets(self):
    for name in ("images", "masks"):
      for i in range(3):
        pixels = photos.photo("coffee" if name == "images" else "camera")[i:, :16][:16]
        photos.save(f"{self.root}/{name}/{i}.png", pixels)
    source = liquid_tf.Source(f"{self.root}/images", masks=f"{self.root}/masks")
    self._convert(source, "png")
    other = f"{self.root}/other"
    liquid_tf.convert(source, other, "raw", progress=False)
    for given in (source, other):
      with self.assertRaisesRegex(ConvertError, "3 of 3 images have names .* as 0.png"):
        self._append(given)
    for name in ("images", "masks"):
      os.rename(f"{self.root}/{name}/1.png", f"{self.root}/{name}/x.png")
    report = self._append(source, duplicates="skip")
    self.assertEqual((report.changed, report.duplicates), (1, 2))
    self.assertEqual(living.held(self.path)[3].name, "x.png")

  def test_records_have_no_names(self):
    path = f"{self.root}/a.rec"
    with recordio.Writer(path) as writer:
      for image in examples.images(2):
        writer.write(recordio.pack(recordio.Header(label=1), image))
    self._convert(path)
    report = self._append(path)
    self.assertEqual((report.changed, report.duplicates), (2, 0))

  def test_an_interrupted_append_keeps_its_choice_of_duplicates(self):
    source = self._images("source", {"cat": 6, "dog": 4})
    self._convert(source)
    photos.save(f"{source}/ape/new.png", photos.photo("coffee")[:16, :16])
    self._interrupt(source, duplicates="skip")
    with self.assertRaisesRegex(ConvertError, r'duplicates \("add"\) was "skip"'):
      self._append(source, duplicates="add")
    self.assertEqual(self._append(source, duplicates="skip").samples, 11)

  def test_bytes_do_not_depend_on_workers(self):
    self._convert(mix="png:1,raw:1,pcr:1", shard_size=4096)
    shutil.copytree(self.path, f"{self.root}/other")
    more = self._images("more", {"ape": 5, "cat": 9})
    self._append(more, workers=1, shard_size=4096)
    liquid_tf.append(
      f"{self.root}/other", more, workers=3, shard_size=4096, progress=False
    )
    self.assertEqual(photos.files(self.path), photos.files(f"{self.root}/other"))

  def test_classes_keep_their_numbers_and_new_ones_come_last(self):
    self._convert(self._images("source", {"m": 3, "x": 3}))
    self._append(self._images("more", {"a": 2, "x": 2, "n": 1}))
    loaded = manifests.load(self.path)
    self.assertEqual(loaded.classes, ["m", "x", "a", "n"])
    self.assertEqual(loaded["features"]["label"]["class_counts"], [3, 5, 2, 1])
    found = labels.load(loaded).tolist()
    self.assertEqual(found, [0, 0, 0, 1, 1, 1, 2, 2, 3, 1, 1])

  def _boxed(self, name: str, images: dict[str, list[int]], classes: str | None = None):
    """A source of images with a box of each class, as YOLO has them."""
    for image, numbers in images.items():
      pixels = self.random.integers(0, 256, (16, 16, 3)).astype(np.uint8)
      photos.save(f"{self.root}/{name}/{image}.png", pixels)
      with open(f"{self.root}/{name}/{image}.txt", "w") as file:
        file.writelines(f"{number} .5 .5 .25 .25\n" for number in numbers)
    if classes is not None:
      with open(f"{self.root}/{name}/classes.txt", "w") as file:
        file.write("\n".join(classes.split()))
    folder = f"{self.root}/{name}"
    return liquid_tf.Source(folder, annotations=folder)

  def _boxes(self) -> tuple[list[str] | None, dict[str, list[int]]]:
    """The classes of boxes, and those of each image's."""
    entry = manifests.load(self.path)["features"]["box_labels"]
    found = {s["name"]: s["box_labels"].tolist() for s in liquid_tf.open(self.path)}
    return entry.get("classes"), found

  def test_classes_of_boxes_keep_their_numbers_and_new_ones_come_last(self):
    self._convert(self._boxed("one", {"a": [0, 2]}, "cat dog emu"), "l3")
    self._append(self._boxed("two", {"b": [0, 1, 0]}, "emu cat"))
    classes, found = self._boxes()
    self.assertEqual(classes, ["cat", "dog", "emu"])
    self.assertEqual(found, {"a.png": [0, 2], "b.png": [2, 0, 2]})
    self._append(self._boxed("three", {"c": [0, 1, 2]}, "ant dog bee"))
    self._append(self._boxed("four", {"d": [3]}))
    classes, found = self._boxes()
    self.assertEqual(classes, ["cat", "dog", "emu", "ant", "bee"])
    self.assertEqual(found["c.png"], [3, 1, 4])
    self.assertEqual(found["d.png"], [3])
    numberless = self._boxed("five", {"e": [1, 5]})
    wrong = "as e.png: box_labels has the class 5, and there are names of 5"
    self._refused(numberless, wrong)

  def test_classes_of_boxes_that_do_not_go_together(self):
    self._convert(self._boxed("one", {"a": [0, 1]}), "l3")
    named = self._boxed("two", {"b": [0]}, "cat")
    self._refused(named, "has classes of box_labels, as cat, but .* without names")
    shutil.rmtree(self.path)
    self._convert(self._boxed("three", {"c": [1]}, "cat cat"), "l3")
    self._append(self._boxed("four", {"d": [1]}, "cat cat dog"))
    self.assertEqual(self._boxes()[1], {"c.png": [1], "d.png": [1]})
    other = self._boxed("five", {"e": [0]}, "dog cat")
    self._refused(other, "dataset has two classes of box_labels that are called cat")
    table = f"{self.root}/table.csv"
    with open(table, "w") as file:
      file.write("file_name,xmin,ymin,xmax,ymax,label,track\nb.png,1,1,5,5,cat,7\n")
    tracked = liquid_tf.Source(f"{self.root}/two", annotations=table)
    self._refused(
      tracked, r"has besides track, but .*dataset has other features \(image, boxes"
    )

  def test_an_append_without_shards_holds_back_no_other(self):
    self._convert()
    gray = f"{self.root}/gray"
    photos.save(f"{gray}/cat/a.png", photos.photo("camera")[:16, :16])
    damaged = self._images("damaged", {"cat": 3})
    with open(f"{damaged}/cat/bad.png", "wb") as file:
      file.write(b"no image")
    for source, message in ((gray, "1 channels"), (damaged, "1 of 4 samples cannot")):
      with self.assertRaisesRegex(ConvertError, message):
        self._append(source)
      self.assertTrue(os.path.exists(f"{self.path}/{WORK}"))
    self.assertEqual(self._append(self._images("more", {"dog": 2})).samples, 12)
    self.assertNotIn(WORK, os.listdir(self.path))

  def test_a_side_that_differs_is_null(self):
    self._convert()
    self.assertEqual(
      manifests.load(self.path)["features"]["image"]["shape"], [16, 16, 3]
    )
    source = f"{self.root}/more"
    crop = photos.crop(photos.photo("coffee"), (16, 20), self.random)
    photos.save(f"{source}/cat/a.png", crop)
    self._append(source)
    self.assertEqual(
      manifests.load(self.path)["features"]["image"]["shape"], [16, None, 3]
    )

  def test_images_change_as_the_datasets_did(self):
    self._convert(transforms=[Resize((8, 8)), Channels(3), Bits(8)])
    source = f"{self.root}/more"
    gray = photos.crop(photos.photo("camera"), (30, 20), self.random)
    photos.save(f"{source}/cat/a.png", gray)
    self._append(source)
    self.assertEqual(
      manifests.load(self.path)["features"]["image"],
      {"dtype": "uint8", "shape": [8, 8, 3]},
    )

  def test_lossy_webp_stays_lossy(self):
    self._convert(mix="webp-lossy:1,raw:1")
    self._append(self._images("more", {"cat": 4}))
    loaded = manifests.load(self.path)
    self.assertEqual(loaded["targets"], ["raw", "webp-lossy"])
    self.assertFalse(loaded["formats"]["webp"]["lossless"])

  def test_a_dataset_is_a_source(self):
    self._convert()
    liquid_tf.annotate(self.path, {"sample": range(10), "n": range(10)})
    other = f"{self.root}/other"
    liquid_tf.convert(
      self._images("o", {"dog": 2, "a": 2}), other, "l3", progress=False
    )
    table = {"sample": range(4), "n": range(100, 104), "more": list("wxyz")}
    liquid_tf.annotate(other, table)
    liquid_tf.remove(liquid_tf.open(other).take([1]))
    self._append(other)
    held = living.held(self.path)
    self.assertEqual(
      [held[i].values for i in (10, 11, 12)], [{"n": n} for n in (100, 102, 103)]
    )
    self.assertEqual([held[i].label for i in (10, 11, 12)], ["a", "dog", "dog"])
    self.assertEqual(held[10].name, "a/o-000.png")

  def test_records_and_numbers(self):
    def write(name, given):
      with recordio.Writer(f"{self.root}/{name}.rec") as writer:
        for label, image in zip(given, examples.images(len(given))):
          writer.write(recordio.pack(recordio.Header(label=label), image))
      return f"{self.root}/{name}.rec"

    self._convert(write("a", [[0.5, 1.5], [2, 3]]))
    self._append(write("b", [[4, 5]]))
    found = labels.load(manifests.load(self.path))
    self.assertAllEqual(found, [[0.5, 1.5], [2, 3], [4, 5]])
    for given in ([1.5], [[1, 2, 3]]):
      with self.assertRaisesRegex(ConvertError, r"has labels float32 \[.\], but"):
        self._append(write("c", given), existing="replace")

  def _refused(self, source, message, **options):
    before = photos.files(self.path)
    before.pop(WORK, None)
    with self.assertRaisesRegex(ConvertError, message):
      self._append(source, existing="replace", **options)
    shutil.rmtree(f"{self.path}/{WORK}", ignore_errors=True)
    self.assertEqual(photos.files(self.path), before)

  def test_what_does_not_go_with_the_dataset(self):
    self._convert()
    gray = f"{self.root}/gray"
    photos.save(f"{gray}/cat/a.png", photos.photo("camera")[:16, :16])
    self._refused(gray, r"images of 1 channels, but .*dataset 3: .*Channels\(N\)")
    rows = [{"image/encoded": image} for image in examples.images(2)]
    examples.write(f"{self.root}/x.tfrecord", rows)
    unlabelled = liquid_tf.Source(f"{self.root}/x.tfrecord", label_feature="")
    self._refused(unlabelled, "has no labels, but .* other features")
    for name in ("plain", "masks"):
      photos.save(f"{self.root}/{name}/a.png", photos.photo("camera")[:16, :16])
    masked = liquid_tf.Source(f"{self.root}/plain", masks=f"{self.root}/masks")
    self._refused(masked, "has masks, but .* other features")
    photos.save(f"{self.root}/plain/a.png", photos.photo("coffee")[:16, :16])
    self._refused(f"{self.root}/plain", "has no labels, but .* other features")
    self._refused(f"{self.root}/none", "must be an existing folder")
    self._refused(self.path, "must not be inside source")
    deep = f"{self.root}/deep"
    photos.save(f"{deep}/cat/a.png", np.full([16, 16], 700, np.uint16))
    self._refused(deep, "images of 1 channels")

  def test_classes_and_numbers_are_not_mixed(self):
    path = f"{self.root}/a.rec"
    with recordio.Writer(path) as writer:
      for i, image in enumerate(examples.images(3)):
        writer.write(recordio.pack(recordio.Header(label=i), image))
    self._convert(path)
    self._refused(
      self._images("more", {"cat": 1}), "has classes, as cat, but .*without"
    )
    shutil.rmtree(self.path)
    self._convert(self._images("two", {"a": 2, "b": 2}, side=20))
    self._refused(path, r"1 of 3 .* as a.rec, offset .*: its label \(2\) is no")

  def test_what_cannot_be_read_is_left_out_on_demand(self):
    self._convert()
    source = self._images("more", {"cat": 3})
    with open(f"{source}/cat/bad.png", "wb") as file:
      file.write(b"no image")
    with self.assertRaisesRegex(ConvertError, "1 of 4 samples cannot be stored"):
      self._append(source)
    report = self._append(source, on_error="skip:50%")
    self.assertEqual((report.changed, report.version), (3, 2))
    self.assertEqual([one["path"] for one in report.skipped], ["cat/bad.png"])
    self.assertEqual(manifests.load(self.path)["skipped"], report.skipped)

  def _interrupt(self, source, **options):
    """Appends as far as all shards are written."""
    stop = mock.patch.object(grown, "_put_shards", side_effect=OSError(28, "full"))
    with mock.patch("liquid_tf._edit.append.grown", grown.grown), stop:
      with self.assertRaisesRegex(
        ConvertError, "full; the versions that are there are"
      ):
        liquid_tf.append(self.path, source, progress=False, **options)
    self.assertTrue(os.path.exists(f"{self.path}/{WORK}"))

  def test_an_interrupted_append_goes_on(self):
    self._convert()
    before = photos.tree(self.path)
    source = self._images("more", {"cat": 5})
    self._interrupt(source)
    # Readers and other changes do not mind; nor does it mind these.
    self.assertEqual(inspection.verify(self.path)["problems"], [])
    liquid_tf.remove(liquid_tf.open(self.path).take([0]))
    with self.assertRaisesRegex(ConvertError, "is an unfinished append: existing="):
      self._append(source, existing="refuse")
    other = self._images("other", {"dog": 2})
    with self.assertRaisesRegex(ConvertError, 'is not the same .*existing="replace"'):
      self._append(other)
    with mock.patch("liquid_tf._convert.write.write_some") as write:
      report = self._append(source)
    write.assert_not_called()
    self.assertEqual((report.version, report.samples), (3, 14))
    self.assertNotIn(WORK, os.listdir(self.path))
    held = photos.tree(self.path)
    self.assertEqual({name: held[name] for name in before}, before)

  def _items(self, count: int, first: int = 0):
    """Items of two classes."""
    image = photos.photo("coffee")
    for i in range(first, first + count):
      pixels = photos.crop(image, (16, 16), np.random.default_rng(i))
      yield {"image": pixels, "label": ("cat", "ape")[i % 2], "name": f"item-{i}"}

  def test_items_of_python(self):
    self._convert()
    before = self._items(5)
    self.assertEqual(self._append(Source.from_iterable(before, 5)).samples, 15)
    sequence = list(self._items(7))
    with self.assertRaisesRegex(ConvertError, "5 of 7 images have names.* as item-0"):
      self._append(Source.from_iterable(sequence))
    report = self._append(Source.from_iterable(sequence), duplicates="skip")
    self.assertEqual((report.samples, report.duplicates, report.version), (17, 5, 3))
    view = liquid_tf.open(self.path)
    self.assertEqual(list(view.names([15, 16])), ["item-5", "item-6"])
    np.testing.assert_array_equal(view[16]["image"], sequence[6]["image"])
    classes = manifests.load(self.path)["features"]["label"]["classes"]
    self.assertEqual([classes[view[i]["label"]] for i in (15, 16)], ["ape", "cat"])
    # There is nothing to add, and nothing is left.
    again = self._append(Source.from_iterable(self._items(5)), duplicates="skip")
    self.assertEqual((again.samples, again.version), (17, 3))
    self.assertNotIn(WORK, os.listdir(self.path))
    with self.assertRaisesRegex(
      ValueError, "must be a number: Source.from_iterable is"
    ):
      with mock.patch.object(liquid_tf._convert.workers, "require_beam"):
        source = Source.from_iterable(sequence)
        self._append(source, workers=["--runner=DirectRunner"])

  def test_items_that_were_interrupted(self):
    self._convert()

    def ends_early():
      yield from self._items(4)
      raise OSError("the server is gone")

    def appended(given, **options):
      return self._append(Source.from_iterable(given), **options)

    spool = f"{self.path}/{WORK}/_journal.db-items"
    with self.assertRaisesRegex(ConvertError, "item 4: .* the server is gone"):
      appended(ends_early)
    self.assertTrue(os.path.isdir(spool))
    # Other changes leave it alone.
    liquid_tf.remove(liquid_tf.open(self.path).take([0]))
    self.assertTrue(os.path.isdir(spool))
    with self.assertRaisesRegex(ConvertError, "is an unfinished append: existing="):
      appended(self._items(6), existing="refuse")
    # Without a shard, others take its place: at once, or from some item on.
    with self.assertRaisesRegex(ConvertError, "item 2 .*item-2.: has no image"):
      appended([*self._items(2), {"name": "item-2"}])
    changed = [*self._items(1), *self._items(6, first=7)]
    with mock.patch.object(runs, "_plan", side_effect=OSError(28, "full")):
      with self.assertRaisesRegex(ConvertError, "full; the versions"):
        appended(iter(changed))
    self._interrupt(Source.from_iterable(self._items(3)))
    # With shards, it is no other's.
    with self.assertRaisesRegex(ConvertError, "it has 2 items, and had 3"):
      appended(self._items(2))
    with self.assertRaisesRegex(ConvertError, "item 0 is item-1, and was item-0"):
      appended(self._items(3, first=1))
    with mock.patch("liquid_tf._convert.write.write_some") as written:
      report = appended(self._items(3))
    written.assert_not_called()
    self.assertEqual((report.version, report.samples), (3, 12))
    view = liquid_tf.open(self.path)
    for i, item in enumerate(self._items(3)):
      np.testing.assert_array_equal(view[9 + i]["image"], item["image"])
    self.assertNotIn(WORK, os.listdir(self.path))

  def test_an_unfinished_append_can_be_replaced(self):
    self._convert()
    self._interrupt(self._images("more", {"cat": 5}))
    report = self._append(self._images("other", {"dog": 2}), existing="replace")
    self.assertEqual((report.version, report.samples), (2, 12))

  def test_an_append_that_was_killed_after_it_was_done(self):
    self._convert()
    source = self._images("more", {"cat": 2})
    with mock.patch("liquid_tf._edit.append.remove_work", side_effect=OSError(5, "io")):
      with self.assertRaisesRegex(ConvertError, "io; the versions that are there"):
        self._append(source)
    self.assertEqual(inspection.inspect(self.path)["samples"], 12)
    # It was done, which the same call says.
    with self.assertRaisesRegex(ConvertError, "2 of 2 images have names"):
      self._append(source)
    self.assertEqual(self._append(source, duplicates="add").samples, 14)

  def test_one_writer_at_a_time(self):
    self._convert()
    source = self._images("more", {"cat": 2})
    with outputs.locked(os.path.realpath(self.path)):
      for edit in (
        lambda: self._append(source),
        lambda: liquid_tf.compact(self.path, progress=False),
        lambda: liquid_tf.remove(liquid_tf.open(self.path).take([0])),
        lambda: liquid_tf.annotate(self.path, {"number": [0], "x": [1.0]}),
        lambda: liquid_tf.convert(
          source, self.path, "png", existing="replace", progress=False
        ),
      ):
        with self.assertRaisesRegex(ConvertError, "is being written by another proc"):
          edit()
    self.assertEqual(versions.in_directory(self.path), [1])

  def test_a_version_that_came_meanwhile_is_kept(self):
    self._convert()
    # Where locks do not reach, as between two machines.
    with mock.patch.object(outputs, "locked", side_effect=lambda path: _Unlocked()):
      view = liquid_tf.open(self.path).take([0])
      inner = grown.grown

      def late(*args):
        data = inner(*args)
        liquid_tf.remove(view)
        return data

      with mock.patch("liquid_tf._edit.append.grown", late):
        with self.assertRaisesRegex(ConvertError, "dataset-2.json was made by another"):
          liquid_tf.append(self.path, self._images("more", {"cat": 2}), progress=False)
    self.assertEqual(inspection.verify(self.path)["problems"], [])
    self.assertEqual(inspection.inspect(self.path)["samples"], 9)

  def test_two_processes_append_and_read(self):
    self._convert()
    for i in range(3):
      self._images(f"s{i}", {"cat": 2})
    script = (
      "import liquid_tf, sys\n"
      "for i in range(3):\n"
      "  liquid_tf.append(sys.argv[1], f'{sys.argv[2]}/s{i}', progress=False)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, self.path, self.root])
    view = liquid_tf.open(self.path)
    try:
      epochs = 0
      while writer.poll() is None or epochs < 2:
        found = [
          number
          for batch in liquid_tf.dataset(view, 5, features=["id"], memory="64MB")
          for number in batch["id"].numpy().tolist()
        ]
        self.assertEqual(sorted(found), list(range(10)))
        self.assertIn(len(liquid_tf.open(self.path)), (10, 12, 14, 16))
        epochs += 1
    finally:
      writer.wait()
    self.assertEqual(writer.returncode, 0)
    self.assertLen(liquid_tf.open(self.path), 16)
    self.assertEqual(inspection.verify(self.path)["problems"], [])


class _Unlocked:
  def __enter__(self):
    return None

  def __exit__(self, *unused):
    return None


if __name__ == "__main__":
  tf.test.main()
