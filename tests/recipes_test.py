"""The recipes for data of other libraries give what those libraries wrote.

`make backends-test` has them all; elsewhere those run whose library is there.
"""

import importlib
import io
import os
import pathlib
import re
from unittest import mock

import numpy as np
import pages
import photos
from absl.testing import absltest, parameterized
from PIL import Image

import liquid_tf

_PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "recipes.md"
# What each recipe needs.
_LIBRARIES = {
  "PyTorch": ["torch", "torchvision"],
  "Hugging Face": ["datasets"],
  "pandas": ["pandas"],
  "MDS": ["streaming"],
  "LMDB": ["lmdb"],
  "HDF5": ["h5py"],
  "DICOM": ["pydicom"],
}
_CLASSES = ("coffee", "tea")


def _recipes() -> dict[str, str]:
  """The text of each recipe, by its title."""
  _, *parts = re.split(r"^## (.*)\n", _PAGE.read_text(), flags=re.M)
  return dict(zip(parts[::2], parts[1::2]))


def _file(pixels: np.ndarray, kind: str) -> bytes:
  file = io.BytesIO()
  Image.fromarray(pixels).save(file, kind)
  return file.getvalue()


def _decoded(file: bytes) -> np.ndarray:
  return liquid_tf.codecs.decode(file).numpy()


def _opened(file: bytes) -> Image.Image:
  return Image.open(io.BytesIO(file))


class RecipesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(0)
    coffee = photos.photo("coffee")
    sides = random.integers(16, 40, (12, 2)).tolist()
    crops = [photos.crop(coffee, tuple(side), random) for side in sides]
    self.files = [_file(one, "JPEG" if i % 2 else "PNG") for i, one in enumerate(crops)]
    self.labels = [i % 2 for i in range(len(crops))]

  def _run(self, title: str, mix: str = "png:1,raw:1"):
    """Converts the source that a recipe makes; skips it without its library."""
    for name in _LIBRARIES[title]:
      try:
        importlib.import_module(name)
      except (ImportError, RuntimeError) as error:
        print(f"docs/recipes.md, {title}: NOT RUN: {error}", flush=True)
        self.skipTest(f"{name} cannot be imported: make backends-test runs {title}")
    getattr(self, "_make_" + title.lower().replace(" ", "_"))()
    [block] = pages.blocks(_recipes()[title])
    given = {}
    caches = {"HF_HOME": f"{self.folder}/cache", "HF_HUB_OFFLINE": "1"}
    before = os.getcwd()
    os.chdir(self.folder)
    try:
      with mock.patch.dict(os.environ, caches):
        exec(compile(block.code, title, "exec"), given)
      liquid_tf.convert(given["source"], "made.liquid", mix, progress=False)
    finally:
      os.chdir(before)
    return liquid_tf.open(self.folder / "made.liquid")

  def _make_folder(self) -> list[pathlib.Path]:
    """Files in class folders; their paths."""
    paths = []
    for i, (file, label) in enumerate(zip(self.files, self.labels)):
      extension = "png" if file[1:4] == b"PNG" else "jpg"
      path = self.folder / "photos" / _CLASSES[label] / f"{i:02}.{extension}"
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(file)
      paths.append(path)
    return paths

  def _check(self, view, wanted: list[tuple[str | None, bytes, int | str]]) -> None:
    """Compares names, pixels and labels, which are in the order of the source."""
    self.assertLen(view, len(wanted))
    for i, (name, file, label) in enumerate(wanted):
      if name is not None:
        self.assertEqual(view.names([i])[0], name)
      np.testing.assert_array_equal(view[i]["image"], _decoded(file))
      found = view[i]["label"]
      classes = liquid_tf.inspect(view.path)["features"]["label"].get("classes")
      self.assertEqual(classes[found] if classes else found, label)

  def _in_folder_order(self) -> list[tuple[None, bytes, str]]:
    rows = sorted(zip(self.labels, range(len(self.files))))
    return [(None, self.files[i], _CLASSES[label]) for label, i in rows]

  def test_every_recipe_is_tested(self):
    self.assertEqual(list(_recipes()), list(_LIBRARIES))

  _make_pytorch = _make_folder
  _make_hugging_face = _make_folder

  def test_pytorch(self):
    view = self._run("PyTorch")
    # Pillow decodes these.
    self.files = [_file(np.asarray(_opened(file)), "PNG") for file in self.files]
    self._check(view, self._in_folder_order())

  def test_hugging_face(self):
    view = self._run("Hugging Face")
    self._check(view, self._in_folder_order())

  def _make_pandas(self):
    rows = ["file,kind,caption"]
    for i, (path, label) in enumerate(zip(self._make_folder(), self.labels)):
      rows.append(f"{path.relative_to(self.folder)},{_CLASSES[label]},caption {i}")
    (self.folder / "photos.csv").write_text("\n".join(rows) + "\n")

  def test_pandas(self):
    view = self._run("pandas")
    paths = [os.fspath(path.relative_to(self.folder)) for path in self._make_folder()]
    labels = [_CLASSES[label] for label in self.labels]
    self._check(view, list(zip(paths, self.files, labels)))
    self.assertEqual(view[7]["caption"], "caption 7")

  def _make_mds(self):
    import streaming

    columns = {"image": "jpeg", "label": "int"}
    path = os.fspath(self.folder / "photos.mds")
    # The writer keeps a file that Pillow opened by its path.
    self.files = [_file(_decoded(file), "JPEG") for file in self.files]
    paths = self._make_folder()
    with streaming.MDSWriter(out=path, columns=columns, size_limit=4096) as writer:
      for file, label in zip(paths, self.labels):
        writer.write({"image": Image.open(file), "label": label})

  def test_mds(self):
    view = self._run("MDS", "jpeg")
    names = map(str, range(len(self.files)))
    self._check(view, list(zip(names, self.files, self.labels)))
    # The files themselves.
    formats = liquid_tf.inspect(view.path)["formats"]
    self.assertTrue(formats["jpeg"]["lossless"])

  def _make_lmdb(self):
    import lmdb

    with lmdb.open(os.fspath(self.folder / "photos.lmdb"), map_size=1 << 24) as made:
      with made.begin(write=True) as transaction:
        for i, (file, label) in enumerate(zip(self.files, self.labels)):
          transaction.put(f"{_CLASSES[label]}/{i:02}".encode(), file)

  def test_lmdb(self):
    view = self._run("LMDB")
    wanted = [
      (f"{_CLASSES[label]}/{i:02}", file, _CLASSES[label])
      for i, (file, label) in enumerate(zip(self.files, self.labels))
    ]
    self._check(view, sorted(wanted))

  def _make_hdf5(self):
    import h5py

    random = np.random.default_rng(1)
    self.pixels = random.integers(0, 1 << 16, (12, 9, 8, 3)).astype(np.uint16)
    with h5py.File(self.folder / "photos.h5", "w") as file:
      file["images"], file["labels"] = self.pixels, self.labels

  def test_hdf5(self):
    view = self._run("HDF5", "png:1,l3:1")
    self.assertLen(view, 12)
    for i in range(12):
      np.testing.assert_array_equal(view[i]["image"], self.pixels[i])
      self.assertEqual(view[i]["label"], self.labels[i])

  def _make_dicom(self):
    from pydicom import dataset, uid

    random = np.random.default_rng(2)
    for label in _CLASSES:
      (self.folder / "scans" / label).mkdir(parents=True)
    self.scans = []
    for i in range(6):
      signed = i % 2
      limits = (-(1 << 15) if signed else 0, 1 << 15)
      stored = random.integers(*limits, (7, 9)).astype(
        np.int16 if signed else np.uint16
      )
      stored.flat[:2] = limits[0], limits[1] - 1
      scan = dataset.Dataset()
      scan.file_meta = dataset.FileMetaDataset()
      scan.file_meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
      scan.SOPClassUID = scan.file_meta.MediaStorageSOPClassUID = uid.CTImageStorage
      scan.SOPInstanceUID = scan.file_meta.MediaStorageSOPInstanceUID = f"1.2.3.{i}"
      scan.Rows, scan.Columns = stored.shape
      scan.SamplesPerPixel, scan.PhotometricInterpretation = 1, "MONOCHROME2"
      scan.BitsAllocated = scan.BitsStored = 16
      scan.HighBit, scan.PixelRepresentation = 15, signed
      if i > 1:
        scan.RescaleSlope, scan.RescaleIntercept = "0.5", "-1024"
      if i == 1:
        scan.RescaleSlope = ""
      scan.PatientID = f"p{i // 2}"
      scan.PixelData = stored.tobytes()
      path = self.folder / "scans" / _CLASSES[i // 3] / f"{i}.dcm"
      scan.save_as(path, enforce_file_format=True)
      self.scans.append(stored)

  def test_dicom(self):
    view = self._run("DICOM", "l3:1,png:1")
    self.assertEqual(list(view.names(range(6))), [f"1.2.3.{i}" for i in range(6)])
    for i, stored in enumerate(self.scans):
      found = view[i]
      self.assertEqual(found["image"].dtype, np.uint16)
      self.assertEqual((found["label"], found["patient"]), (i // 3, f"p{i // 2}"))
      values = found["image"][..., 0].astype(np.int32) + found["offset"]
      np.testing.assert_array_equal(values, stored)
      scale = (1, 0) if i < 2 else (0.5, -1024)
      self.assertEqual((found["slope"], found["intercept"]), scale)


if __name__ == "__main__":
  absltest.main()
