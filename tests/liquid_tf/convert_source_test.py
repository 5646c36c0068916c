"""What folders mean: classes, splits, masks; and that no file is lost on the way."""

import os
import pathlib

from absl.testing import absltest, parameterized

from liquid_tf._convert import folders
from liquid_tf._convert.errors import ConvertError


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
    root = self._make("s", "b/1.png", "a/x/y/2.png", "a/10.png", "B/3.png")
    os.mkdir(os.path.join(root, "empty"))
    listed = folders.list_folder(root)
    self.assertEqual(listed.kind, "folders")
    self.assertEqual(listed.classes, ["B", "a", "b", "empty"])
    self.assertEqual(
      list(self._labels(listed).items()),
      [("B/3.png", 0), ("a/10.png", 1), ("a/x/y/2.png", 1), ("b/1.png", 2)],
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
    self.assertEqual(listed.skipped, [("train/3.png", "is in no class folder")])

  def test_a_class_may_be_named_like_a_split(self):
    listed = folders.list_folder(self._make("s", "train/1.png", "bus/2.png"))
    self.assertEqual(listed.classes, ["bus", "train"])
    self.assertEqual(listed.splits, ["train"])
    self.assertLen(listed.files, 2)

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
      [("a/2.jpg", "has no mask"), ("masks/4.png", "is a mask without an image")],
    )

  def test_two_masks_of_one_image_are_an_error(self):
    masks = self._make("masks", "1.png", "1.bmp")
    with self.assertRaisesRegex(ConvertError, "has 1.bmp and 1.png"):
      folders.list_folder(self._make("images", "1.jpg"), masks)

  def test_links_are_followed_but_not_in_circles(self):
    root = self._make("s", "a/1.png")
    elsewhere = self._make("elsewhere", "2.png")
    os.symlink(elsewhere, os.path.join(root, "b"))
    os.symlink(root, os.path.join(root, "a", "circle"))
    listed = folders.list_folder(root)
    self.assertEqual(self._labels(listed), {"a/1.png": 0, "b/2.png": 1})
    self.assertEqual(listed.skipped, [("a/circle", "is a link to a folder above it")])

  @parameterized.parameters(([],), (["a/"],), ([".hidden.png"],))
  def test_nothing_to_convert_is_an_error(self, paths):
    with self.assertRaisesRegex(ConvertError, "holds no image files"):
      folders.list_folder(self._make("s", *paths))

  def test_hidden_files_and_folders_are_reported(self):
    listed = folders.list_folder(self._make("s", "a/1.png", "a/.x.png", "a/.git/y"))
    self.assertEqual(
      listed.skipped, [("a/.git", "is hidden"), ("a/.x.png", "is hidden")]
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
