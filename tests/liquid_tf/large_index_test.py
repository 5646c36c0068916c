"""Opening a dataset with very many samples: time and memory."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import tensorflow as tf

from liquid_tf import manifest

# One million samples take the same code and 4 s more to make.
_SAMPLES = int(os.environ.get("LIQUID_TEST_SAMPLES", 250_000))
_SHARDS = 64
_RECORD = 64


def _write(directory: str, samples: int) -> None:
  """A dataset of two formats, each with every sample, whose records are holes."""
  names = ("raw", "png")
  per_shard = samples // _SHARDS
  rows = np.zeros([2 * samples], manifest.INDEX_DTYPE)
  shards = []
  for i, name in enumerate(names):
    mine = rows[i * samples : (i + 1) * samples]
    order = np.arange(samples)
    mine["sample"] = order
    mine["format"] = manifest.FORMATS.index(name)
    mine["shard"] = i * _SHARDS + np.minimum(order // per_shard, _SHARDS - 1)
    first = np.searchsorted(mine["shard"], mine["shard"])
    mine["offset"] = (order - first) * _RECORD
    for number in range(_SHARDS):
      records = int((mine["shard"] == i * _SHARDS + number).sum())
      path = f"{name}-{number:05d}.rec"
      with open(os.path.join(directory, path), "wb") as file:
        file.truncate(records * _RECORD)
      shards.append(
        {
          "path": path,
          "format": name,
          "split": "train",
          "records": records,
          "bytes": records * _RECORD,
          "crc32c": 0,
        }
      )
  rows["length"] = _RECORD
  rows["height"] = rows["width"] = 4
  rows["channels"], rows["bits"] = 1, 8
  index = manifest.encode_index(rows)
  with open(os.path.join(directory, manifest.INDEX), "wb") as file:
    file.write(index)
  entry = {"samples": samples, "bytes": samples * _RECORD, "pixel_bytes": samples * 16}
  data = {
    "schema": 1,
    "created_by": "large_index_test",
    "features": {
      "image": {"dtype": "uint8", "shape": [4, 4, 1]},
      "label": {"dtype": "int64", "shape": [], "classes": ["a"]},
    },
    "supervised": ["image", "label"],
    "splits": {"train": {"samples": samples, "index": 0}},
    "seed": 0,
    "mix": {"raw": 0.5, "png": 0.5},
    "replicated": True,
    "encoding": {
      "channels": None,
      "jpeg_quality": 95,
      "png_level": 6,
      "webp_quality": 90,
    },
    "samples": samples,
    "formats": {name: {**entry, "lossless": True} for name in names},
    "shards": shards,
    "source": {"kind": "folder", "fingerprint": "0" * 64},
    "skipped": [],
    "index": {"rows": len(rows), "crc32c": manifest.crc32c(index)},
  }
  with open(os.path.join(directory, manifest.MANIFEST), "w") as file:
    json.dump(data, file)


def _anonymous() -> int:
  """Bytes of memory that no file is behind."""
  with open("/proc/self/smaps_rollup") as file:
    fields = dict(line.split(":", 1) for line in file.read().splitlines()[1:])
  return 1024 * int(fields["Anonymous"].split()[0])


def _open(large: str, small: str) -> dict[str, float]:
  """Opens the small one to have everything loaded, then the large one."""
  import liquid_tf

  first = liquid_tf.dataset(small, batch_size=256, memory="64MiB", cache=0)
  before = _anonymous()
  begin = time.perf_counter()
  dataset = liquid_tf.dataset(large, batch_size=256, memory="64MiB", cache=0)
  seconds = time.perf_counter() - begin
  held = _anonymous() - before
  batches = int(dataset.cardinality())
  del first
  return {"seconds": seconds, "bytes": held, "batches": batches}


class LargeIndexTest(tf.test.TestCase):
  def test_opens_quickly_and_holds_little(self):
    large, small = self.create_tempdir().full_path, self.create_tempdir().full_path
    _write(large, _SAMPLES)
    _write(small, 1024)
    code = (
      "import json, sys, large_index_test as m\n"
      "print(json.dumps(m._open(sys.argv[1], sys.argv[2])))"
    )
    found = json.loads(
      subprocess.run(
        [sys.executable, "-c", code, large, small],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
      ).stdout.splitlines()[-1]
    )
    per_encoding = found["bytes"] / (2 * _SAMPLES)
    print(
      f"{_SAMPLES} samples in 2 formats: {found['seconds']:.3f} s, "
      f"{per_encoding:.1f} bytes per stored encoding"
    )
    # Each sample once, in one of its formats.
    self.assertEqual(found["batches"], -(-_SAMPLES // 256))
    self.assertLessEqual(per_encoding, 64)
    # 1 s a million samples, and room for a busy machine.
    self.assertLess(found["seconds"], 4 * _SAMPLES / 1_000_000 + 1)


if __name__ == "__main__":
  tf.test.main()
