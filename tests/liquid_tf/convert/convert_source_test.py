"""What folders mean: classes, splits, masks; and that no file is lost on the way."""

import errno
import os
import pathlib
import stat
import tracemalloc
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from liquid_tf._convert import pipelines
from liquid_tf._convert.sources import folders, image_files
from liquid_tf._convert.sources.mask_names import MaskNames
from liquid_tf._convert.sources.samples import SampleSource
from liquid_tf.errors import ConvertError


class SourceTest(parameterized.TestCase):
  def _make(self, name: str, *paths: str) -> str:
    root = pathlib.Path(self.create_tempdir().full_path, name)
    root.mkdir()
    for path in paths:
      file = root / path
      file.parent.mkdir(parents=True, exist_ok=True)
      if not path.endswith("/"):
        file.write_text(path)
    return str(root)

  def _labels(self, listed: folders.FolderSource) -> dict[str, int]:
    return {path: label for path, _, label in self._samples(listed)}

  def _samples(self, listed: folders.FolderSource) -> list[tuple[str, str, int]]:
    splits = [listed.splits[split] for split in listed.split_of]
    paths = [listed.path(position) for position in range(len(listed))]
    return list(zip(paths, splits, listed.labels.tolist()))

  def test_class_folders_at_any_depth(self):
    root = self._make("s", "b/1.png", "a/x/y/2.png", "a/10.png", "C/3.png")
    os.mkdir(os.path.join(root, "empty"))
    listed = folders.list_folder(root)
    self.assertEqual(listed.kind, "folders")
    self.assertEqual(listed.classes, ["C", "a", "b", "empty"])
    self.assertEqual(
      list(self._labels(listed).items()),
      [("C/3.png", 0), ("a/10.png", 1), ("a/x/y/2.png", 1), ("b/1.png", 2)],
    )
    self.assertEqual(listed.splits, ["train"])

  def test_split_folders(self):
    root = self._make("s", "val/b/1.png", "train/a/2.png", "train/3.png")
    listed = folders.list_folder(root)
    self.assertEqual(listed.splits, ["train", "val"])
    self.assertEqual(listed.classes, ["a", "b"])
    self.assertEqual(
      self._samples(listed),
      [("train/a/2.png", "train", 0), ("val/b/1.png", "val", 1)],
    )
    advice = "move it into one (a, b), or these away"
    wanted = ("train/3.png", "is in no class folder", 1, advice)
    self.assertEqual(listed.skipped, [wanted])

  def test_a_class_may_be_named_like_a_split(self):
    listed = folders.list_folder(self._make("s", "train/1.png", "bus/2.png"))
    self.assertEqual(listed.classes, ["bus", "train"])
    self.assertEqual(listed.splits, ["train"])
    self.assertLen(listed.files, 2)

  def test_files_beside_splits_are_in_none(self):
    root = self._make("s", "train/a/1.png", "val/a/2.png", "3.png", "README.md")
    listed = folders.list_folder(root)
    self.assertEqual(listed.splits, ["train", "val"])
    self.assertEqual(listed.classes, ["a"])
    self.assertEqual(
      sorted(listed.skipped),
      [
        ("3.png", "is in no folder of a split", 1, "move it into train, val"),
        ("README.md", image_files.REASON, 0, ""),
      ],
    )

  @parameterized.parameters(
    (["training/a/1.png", "validation/a/2.png"], "training, validation", "rename them"),
    (["Train/a/1.png", "Val/a/2.png"], "Train, Val", "rename them"),
    (["TRAIN/1.png", "test/2.png"], "TRAIN, test", "rename them"),
    (["training_set/a/1.png", "test_set/a/2.png"], "test_set, tr.*", "rename them"),
    (["train2017/1.png", "val2017/2.png"], "train2017, val2017", "rename them"),
    (["Train/a/1.png"], "Train", "rename them"),
    (["train/a/1.png", "val/a/2.png", "x/3.png"], "train, val", "move x away"),
    (["train/a/1.png", "x/2.png"], "train", "move x away"),
    (
      ["Test/1.png", "train/2.png", *(f"c{i}/3.png" for i in range(9))],
      "Test, train",
      "rename them and move c0, c1, c2 and 6 more away",
    ),
  )
  def test_folders_named_like_splits_are_an_error(self, paths, alike, advice):
    root = self._make("s", *paths)
    message = (
      rf'source \("{root}"\) has folders \({alike}\) that are named like .* must be '
      rf"named train, .* or test, with .*: {advice}, or give .* as {root}/\w+; if"
    )
    with self.assertRaisesRegex(ConvertError, message) as caught:
      folders.list_folder(root)
    with self.assertRaisesRegex(ConvertError, "that are named like splits"):
      folders.list_folder(root, self._make("masks", *paths))
    # What else it says to do works: these may be classes.
    self.assertIn('into one named "train"', str(caught.exception))
    os.mkdir(f"{root}.all")
    os.rename(root, f"{root}.all/train")
    listed = folders.list_folder(f"{root}.all")
    self.assertEqual(listed.classes, sorted({path.split("/")[0] for path in paths}))
    self.assertEqual(listed.splits, ["train"])
    self.assertLen(listed, len(paths))

  def test_splits_without_classes(self):
    listed = folders.list_folder(self._make("s", "train/1.png", "test/2.png"))
    self.assertEqual(listed.kind, "images")
    self.assertIsNone(listed.classes)
    self.assertEqual(
      [split for _, split, _ in self._samples(listed)], ["test", "train"]
    )
    with self.assertRaisesRegex(ConvertError, "every split .* but test holds none"):
      folders.list_folder(self._make("s", "train/a/1.png", "test/2.png"))

  def test_masks_pair_by_path_without_extension(self):
    images = self._make("images", "a/1.jpg", "a/2.jpg", "3.png")
    masks = self._make("masks", "a/1.png", "3.bmp", "4.png")
    listed = folders.list_folder(images, masks)
    self.assertEqual(listed.kind, "masks")
    self.assertEqual(
      [(file.path, file.mask) for file in listed.files],
      [("3.png", "3.bmp"), ("a/1.jpg", "a/1.png")],
    )
    self.assertCountEqual(
      listed.skipped,
      [
        ("a/2.jpg", "has no mask", 1, ""),
        ("masks/4.png", "is a mask without an image", 0, ""),
      ],
    )

  def test_two_masks_of_one_image_are_an_error(self):
    masks = self._make("masks", "1.png", "1.bmp")
    with self.assertRaisesRegex(ConvertError, "has 1.bmp and 1.png"):
      folders.list_folder(self._make("images", "1.jpg"), masks)

  def test_mask_suffix_of_cityscapes(self):
    images = self._make("leftImg8bit", "a/a_1_leftImg8bit.png", "a/a_2_leftImg8bit.png")
    masks = self._make(
      "gtFine",
      "a/a_1_gtFine_labelIds.png",
      "a/a_1_gtFine_color.png",
      "a/a_1_gtFine_polygons.json",
      "a/a_3_gtFine_labelIds.png",
    )
    names = MaskNames.parse("_leftImg8bit:_gtFine_labelIds")
    listed = folders.list_folder(images, masks, names)
    self.assertEqual(
      [(file.path, file.mask) for file in listed.files],
      [("a/a_1_leftImg8bit.png", "a/a_1_gtFine_labelIds.png")],
    )
    self.assertCountEqual(
      listed.skipped,
      [
        ("a/a_2_leftImg8bit.png", "has no mask", 1, ""),
        ("gtFine/a/a_3_gtFine_labelIds.png", "is a mask without an image", 0, ""),
      ],
    )

  def test_mask_suffix_of_masks_alone(self):
    images = self._make("images", "x.jpg", "y.jpg")
    masks = self._make("masks", "x_mask.png", "y_mask.png", "readme.txt")
    listed = folders.list_folder(images, masks, MaskNames.parse("_mask"))
    self.assertEqual(
      [(file.path, file.mask) for file in listed.files],
      [("x.jpg", "x_mask.png"), ("y.jpg", "y_mask.png")],
    )
    self.assertEqual(listed.skipped, [])
    for suffix in ("", ":", "a:b:c", "a/b"):
      with self.assertRaisesRegex(ValueError, "mask_suffix .* must be"):
        MaskNames.parse(suffix)

  def test_masks_that_fit_nothing_are_an_error_with_examples(self):
    images = self._make("images", "a/1_left.png")
    masks = self._make("masks", "a/1_ids.png", "b/2_ids.png")
    with self.assertRaisesRegex(
      ConvertError,
      "a/1_left.png would have a/1_left .* has a/1_ids.png; .*mask_suffix=",
    ):
      folders.list_folder(images, masks)
    with self.assertRaisesRegex(ConvertError, "a/1_left.png does not end in _right"):
      folders.list_folder(images, masks, MaskNames.parse("_right:_ids"))
    with self.assertRaisesRegex(ConvertError, "the folder holds no files"):
      folders.list_folder(images, self._make("masks", "a/"))

  def test_what_is_no_file_is_skipped_with_its_reason(self):
    root = self._make("s", "a/1.png", "b/")
    os.symlink("circle", f"{root}/a/circle.png")
    os.symlink("nothing", f"{root}/a/nothing.png")
    os.symlink("top", f"{root}/top")
    os.mkfifo(f"{root}/a/pipe.png")
    os.mknod(f"{root}/a/socket.png", stat.S_IFSOCK | 0o600)
    listed = folders.list_folder(root)
    self.assertEqual(self._labels(listed), {"a/1.png": 0})
    self.assertCountEqual(
      listed.skipped,
      [
        ("a/circle.png", "is a link that leads nowhere", 1, ""),
        ("a/nothing.png", "is a link that leads nowhere", 1, ""),
        ("a/pipe.png", "is not a file", 0, ""),
        ("a/socket.png", "is not a file", 0, ""),
        ("top", "is a link that leads nowhere", 1, ""),
      ],
    )
    with self.assertRaisesRegex(ConvertError, "a/circle.png .*on_error"):
      folders.list_folder(root, skips=False)

  def test_a_folder_that_cannot_be_listed_is_skipped(self):
    root = self._make("s", "a/1.png", "b/2.png")
    scandir = os.scandir

    def refuse(folder):
      if folder.rstrip(b"/").endswith(b"/b"):
        raise PermissionError(errno.EACCES, "Permission denied")
      return scandir(folder)

    with mock.patch.object(os, "scandir", refuse):
      listed = folders.list_folder(root)
    self.assertEqual(self._labels(listed), {"a/1.png": 0})
    self.assertEqual(
      listed.skipped, [("b", "cannot be listed: Permission denied", 1, "")]
    )

  def test_names_that_are_no_utf8(self):
    root = os.fsencode(self._make("s", "a/1.png"))
    os.mkdir(root + b"/\xff")
    pathlib.Path(os.fsdecode(root + b"/\xff/\xfe.png")).touch()
    listed = folders.list_folder(os.fsdecode(root))
    self.assertEqual(listed.classes, ["a", "\udcff"])
    self.assertEqual(listed.path(1), "\udcff/\udcfe.png")
    paths, _, _ = listed.columns([1], None)
    self.assertEqual(list(paths), [root + b"/\xff/\xfe.png"])

  def test_files_come_in_the_order_of_their_whole_paths(self):
    paths = ["c/a/1.png", "c/a.png", "c/a-b/2.png", "c/ab.png", "c/a0/3.png"]
    listed = folders.list_folder(self._make("s", *paths))
    found = [listed.path(position) for position in range(len(listed))]
    self.assertEqual(found, sorted(paths, key=os.fsencode))

  def test_many_files_take_little_memory(self):
    root = self._make("s", "c/first.png")
    for i in range(5000):
      os.link(f"{root}/c/first.png", f"{root}/c/photograph_{i:08}.png")
    folders.list_folder(root)
    tracemalloc.start()
    self.addCleanup(tracemalloc.stop)
    listed = folders.list_folder(root)
    held, peak = tracemalloc.get_traced_memory()
    self.assertLess(held / len(listed), 100)
    self.assertLess(peak / len(listed), 250)

  def test_pipelines_ask_for_few_samples_at_a_time(self):
    asked = []

    class Counting(SampleSource):
      def columns(self, positions, targets):
        asked.append(len(positions))
        return np.asarray(positions), np.array([b"x\0"] * len(positions), object)

    count = 5000
    zeros = np.zeros(count, np.int64)
    samples = Counting("/", "images", [], zeros, zeros, zeros)
    data = pipelines._samples(samples, np.arange(count), None, np.arange(count) * 2)
    found = list(data.as_numpy_iterator())
    self.assertEqual([int(one[0][0]) for one in found], list(range(count)))
    self.assertEqual([int(one[1]) for one in found], list(range(0, 2 * count, 2)))
    self.assertEqual(found[0][0][1], b"x\0")
    self.assertLessEqual(max(asked), 1024)

  def test_links_are_followed_but_not_in_circles(self):
    root = self._make("s", "a/1.png")
    elsewhere = self._make("elsewhere", "2.png")
    os.symlink(elsewhere, os.path.join(root, "b"))
    os.symlink(root, os.path.join(root, "a", "circle"))
    listed = folders.list_folder(root)
    self.assertEqual(self._labels(listed), {"a/1.png": 0, "b/2.png": 1})
    reason = "is a link to a folder above it"
    self.assertEqual(listed.skipped, [("a/circle", reason, 0, "")])

  @parameterized.parameters(([],), (["a/"],), ([".hidden.png"],))
  def test_nothing_to_convert_is_an_error(self, paths):
    with self.assertRaisesRegex(ConvertError, "holds no image files"):
      folders.list_folder(self._make("s", *paths))

  def test_hidden_files_and_folders_are_reported(self):
    listed = folders.list_folder(self._make("s", "a/1.png", "a/.x.png", "a/.git/y"))
    self.assertEqual(
      listed.skipped, [("a/.git", "is hidden", 0, ""), ("a/.x.png", "is hidden", 0, "")]
    )

  def test_masks_must_be_apart_from_images(self):
    root = self._make("s", "images/1.png", "images/masks/1.png")
    images = f"{root}/images"
    with self.assertRaisesRegex(ConvertError, "side by side"):
      folders.check_places(images, f"{images}/masks", f"{root}/out")
    with self.assertRaisesRegex(ConvertError, "masks .* must be an existing folder"):
      folders.check_places(images, f"{root}/absent", f"{root}/out")


if __name__ == "__main__":
  absltest.main()
