"""MXNet and DALI read what is exported: images, labels and keys.

Each is asked in a Python of its own that has mxnet 1.9 or nvidia-dali, which
LIQUID_MXNET_PYTHON and LIQUID_DALI_PYTHON name; without one its tests are skipped.
"""

import hashlib
import json
import os
import subprocess

import examples
import numpy as np
import photos
import stored
import tensorflow as tf

import liquid_tf
from liquid_tf import recordio
from liquid_tf._convert.convert import convert

_MXNET = os.environ.get("LIQUID_MXNET_PYTHON")
_DALI = os.environ.get("LIQUID_DALI_PYTHON")
_SIZE = (24, 32)

# Print [labels, SHA-256 of pixels] of each record, in the order of the file.
_ASK_MXNET = """
import hashlib, json, sys
import mxnet as mx
path = sys.argv[1]
records = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "r")
keys = [[key, mx.recordio.unpack(records.read_idx(key))[0].id] for key in records.keys]
found = []
for more in ({}, {"path_imgidx": path + ".idx"}, {"path_imglist": path + ".lst"}):
  data = mx.io.ImageRecordIter(
    path_imgrec=path + ".rec", **more,
    data_shape=(3, 24, 32), batch_size=1, shuffle=False, preprocess_threads=1,
    label_width=int(sys.argv[2]))
  found.append([
    [batch.label[0].asnumpy().ravel().tolist(), hashlib.sha256(
      batch.data[0].asnumpy()[0].transpose(1, 2, 0).astype("uint8").tobytes()
    ).hexdigest()] for batch in data])
print(json.dumps({"keys": keys, "found": found}))
"""
_ASK_DALI = """
import hashlib, json, sys
from nvidia.dali import pipeline_def, fn
path, count = sys.argv[1], int(sys.argv[2])

@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def read():
  data, label = fn.readers.mxnet(path=[path + ".rec"], index_path=[path + ".idx"])
  return fn.decoders.image(data, device="cpu"), label

pipeline = read()
pipeline.build()
found = []
for _ in range(count):
  image, label = pipeline.run()
  pixels = image.as_array()[0]
  found.append([label.as_array().ravel().tolist(),
                hashlib.sha256(pixels.tobytes()).hexdigest()])
print(json.dumps({"found": found}))
"""


def _ask(python: str, program: str, *arguments: str) -> dict:
  done = subprocess.run(
    [python, "-c", program, *arguments],
    env={key: os.environ[key] for key in os.environ if key != "PYTHONPATH"},
    capture_output=True,
    text=True,
    timeout=300,
  )
  if done.returncode:
    raise AssertionError(done.stderr[-2000:])
  return json.loads(done.stdout.splitlines()[-1])


class ExportPeersTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path

  def _source(self, folder: str) -> None:
    """Three class folders of images, and a mask for each."""
    random = np.random.default_rng(0)
    for name in photos.COLOUR[:3]:
      for i in range(5):
        pixels = photos.crop(photos.photo(name), _SIZE, random)
        photos.save(f"{self.root}/{folder}/{name}/{i}.png", pixels)
        photos.save(f"{self.root}/masks/{name}/{i}.png", pixels[..., 0] // 30)

  def _export(self, source: str, **options) -> tuple[str, list, list]:
    """Returns the files' path without extension, and what a reader has to find."""
    dataset = f"{self.root}/dataset"
    convert(
      f"{self.root}/{source}", dataset, "png:1,raw:1,l3:1", progress=False, **options
    )
    liquid_tf.export(dataset, f"{self.root}/rec", "rec", progress=False)
    by_id = {record["id"]: record for record in stored.records(dataset)}
    with open(f"{self.root}/rec/train.idx") as file:
      keys = [int(line.split()[0]) for line in file]
    wanted = [
      [
        by_id[key]["labels"],
        hashlib.sha256(by_id[key]["image"].tobytes()).hexdigest(),
      ]
      for key in keys
    ]
    return f"{self.root}/rec/train", keys, wanted

  def test_mxnet(self):
    if not _MXNET:
      self.skipTest("LIQUID_MXNET_PYTHON names no Python with MXNet")
    self._source("images")
    path, keys, wanted = self._export("images")
    answer = _ask(_MXNET, _ASK_MXNET, path, "1")
    self.assertEqual(answer["keys"], [[key, key] for key in keys])
    for found in answer["found"]:
      self.assertEqual(found, wanted)

  def test_mxnet_reads_vectors(self):
    if not _MXNET:
      self.skipTest("LIQUID_MXNET_PYTHON names no Python with MXNet")
    images = examples.images(6, size=_SIZE)
    with recordio.Writer(f"{self.root}/a.rec") as writer:
      for i, image in enumerate(images):
        header = recordio.Header(label=(i + 0.25, -i), id=i)
        writer.write(recordio.pack(header, image), i)
    path, _, wanted = self._export("a.rec")
    self.assertLen(wanted[0][0], 2)
    for found in _ask(_MXNET, _ASK_MXNET, path, "2")["found"]:
      self.assertEqual(found, wanted)

  def test_dali(self):
    if not _DALI:
      self.skipTest("LIQUID_DALI_PYTHON names no Python with NVIDIA DALI")
    self._source("images")
    path, keys, wanted = self._export("images")
    answer = _ask(_DALI, _ASK_DALI, path, str(len(keys)))
    self.assertEqual(answer["found"], wanted)

  def test_what_stands_behind_an_image_is_no_disturbance(self):
    if not _DALI:
      self.skipTest("LIQUID_DALI_PYTHON names no Python with NVIDIA DALI")
    self._source("images")
    path, keys, wanted = self._export("images", masks=f"{self.root}/masks")
    answer = _ask(_DALI, _ASK_DALI, path, str(len(keys)))
    self.assertEqual([pixels for _, pixels in answer["found"]], [w[1] for w in wanted])


if __name__ == "__main__":
  tf.test.main()
