"""Every JPEG file that this machine has, scan by scan beside other decoders."""

import io
import pathlib
import shutil
import subprocess

import numpy as np
import photos
import tensorflow as tf
from PIL import Image

from liquid_tf import pcr
from liquid_tf._native import image_ops
from liquid_tf.errors import PcrError

# Pillow comes with a libjpeg-turbo of its own, which may smooth images that lack scans
# in another way; where no scan is missing it has to agree exactly.
_PILLOW_MEAN = 2.0
_PILLOW_SIDE = 64
_MAX_PIXELS = 1 << 24


def _pixels(jpeg: bytes) -> np.ndarray:
  return image_ops.decode(jpeg, format="jpeg").numpy()


def _run(*command: str, data: bytes) -> bytes:
  done = subprocess.run(command, input=data, capture_output=True, check=False)
  if done.returncode not in (0, 2):  # 2: with a warning.
    raise AssertionError(f"{command[0]}: {done.stderr}")
  return done.stdout


def _djpeg(jpeg: bytes) -> np.ndarray:
  with Image.open(io.BytesIO(_run("djpeg", "-dct", "int", data=jpeg))) as image:
    pixels = np.asarray(image)
  return pixels[..., np.newaxis] if pixels.ndim == 2 else pixels


class PcrSharedDataTest(tf.test.TestCase):
  def _check_folder(
    self,
    folder: str,
    at_least: int,
    step: int = 1,
    of_photographs: bool = False,
    sound: bool = True,
  ) -> None:
    root = photos.shared_data(*folder.split("/"))
    if root is None:
      self.skipTest(f"no {folder} on this machine")
    output = pathlib.Path(self.create_tempdir().full_path, "records")
    kept, refused = [], 0
    with pcr.Writer(output, images_per_record=16) as writer:
      for path in sorted(pathlib.Path(root).rglob("*"))[::step]:
        if not path.is_file() or path.stat().st_size > 1 << 24:
          continue
        contents = path.read_bytes()
        if contents[:3] != b"\xff\xd8\xff":
          continue
        try:
          if np.prod(image_ops.peek(contents).shape) > _MAX_PIXELS:
            continue
          pixels = _pixels(contents)
        except tf.errors.OpError:
          # What does not decode must not become a record either.
          with self.assertRaises(PcrError):
            writer.write(contents)
          refused += 1
          continue
        writer.write(contents)
        kept.append((path, contents, pixels))
    self.assertGreaterEqual(len(kept), at_least)
    groups = pcr.Reader(output).groups
    readers = [pcr.Reader(output, fidelity=g) for g in range(1, groups + 1)]
    tools = shutil.which("djpeg") and shutil.which("jpegtran")
    worst, transformed, index = 0.0, 0, 0
    for stages in zip(*readers):
      for files in zip(*(stage.images for stage in stages)):
        path, contents, pixels = kept[index]
        index += 1
        with self.subTest(str(path)):
          self.assertTrue(np.array_equal(_pixels(files[-1]), pixels), "pixels")
          if tools:
            command = ("jpegtran", "-copy", "none", "-progressive", "-optimize")
            transformed += len(_run(*command, data=contents))
          for scans, file in enumerate(dict.fromkeys(files), start=1):
            found = _pixels(file)
            if tools:
              self.assertTrue(np.array_equal(found, _djpeg(file)), f"{scans} scans")
            with Image.open(io.BytesIO(file)) as image:
              theirs = np.asarray(image).reshape(found.shape)
            if not sound:
              continue  # What stands for damaged blocks differs by version.
            if file == files[-1]:
              self.assertTrue(np.array_equal(found, theirs), "Pillow")
            elif min(found.shape[:2]) >= _PILLOW_SIDE:
              mean = np.abs(found.astype(int) - theirs).mean()
              self.assertLess(mean, _PILLOW_MEAN, f"Pillow, {scans} scans")
              worst = max(worst, mean)
    size = sum(path.stat().st_size for path in output.iterdir())
    source = sum(len(contents) for _, contents, _ in kept)
    print(
      f"{folder}: {len(kept)} files kept, {refused} refused; records are "
      f"{size / source:.4f} of the sources, {size / max(transformed, 1):.4f} of "
      f"jpegtran's; Pillow differs by at most {worst:.3f} in the mean"
    )
    if of_photographs:
      self.assertLess(size, source)
      if tools:
        self.assertLess(size, 1.01 * transformed)

  def test_photographs(self):
    self._check_folder("limited/photo_jpeg", 20, step=5, of_photographs=True)

  def test_dali_extra(self):
    self._check_folder("open/dali_extra", 15, of_photographs=True)

  def test_conformance(self):
    self._check_folder("open/conformance", 80)

  def test_fuzzed(self):
    self._check_folder("limited/conformance", 5, sound=False)


if __name__ == "__main__":
  tf.test.main()
