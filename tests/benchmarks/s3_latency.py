"""How much of its speed a dataset in object storage keeps when answers come late.

  python tests/benchmarks/s3_latency.py

A local S3 server holds 1,000 raw images of 1 MB; an epoch is read from it as it is, and
with 50 ms before every answer, in turn. Prints the ratio of the median rates.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT / "tests" / name) for name in ("liquid_tf", "scaling")]

import numpy as np  # noqa: E402
import photos  # noqa: E402
import servers  # noqa: E402
from PIL import Image  # noqa: E402

import liquid_tf  # noqa: E402

_IMAGES, _SIDE = 1000, 592  # 592 * 592 * 3 bytes are 1.05 MB
_DELAY = 0.05
_ROUNDS = 3


def _make_images(folder: pathlib.Path) -> None:
  small = folder / "small"
  photos.class_folders(
    str(small), per_class=_IMAGES // 4, classes=4, sides=(_SIDE // 2, _SIDE // 2)
  )
  for path in small.rglob("*.png"):
    output = folder / "source" / path.relative_to(small)
    output.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.tile(np.array(Image.open(path)), (2, 2, 1))).save(output)


def main() -> None:
  port = servers.free_port()
  url = f"http://127.0.0.1:{port}"
  script = _ROOT / "tests" / "scaling" / "s3_server.py"
  server = subprocess.Popen(
    [sys.executable, str(script), str(port)],
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
  )
  os.environ.update(
    AWS_ENDPOINT_URL=url,
    S3_ENDPOINT=url,
    S3_USE_HTTPS="0",
    S3_VERIFY_SSL="0",
    AWS_REGION="us-east-1",
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_EC2_METADATA_DISABLED="true",
  )

  def request(path: str, method: str, data: bytes | None = None) -> None:
    urllib.request.urlopen(
      urllib.request.Request(f"{url}/{path}", data, method=method)
    ).read()

  try:
    server.stdout.readline()
    request("bucket", "PUT")
    with tempfile.TemporaryDirectory() as name:
      folder = pathlib.Path(name)
      _make_images(folder)
      # Small objects: the server reads a whole one to answer for a part of it.
      liquid_tf.convert(
        folder / "source",
        "s3://bucket/photos.liquid",
        "raw:1",
        shard_size=8 << 20,
        staging=folder / "staging",
        progress=False,
      )
    rates = {0.0: [], _DELAY: []}
    for _ in range(_ROUNDS):
      for delay in rates:
        request("_faults", "POST", json.dumps({"delay": delay}).encode())
        dataset = liquid_tf.dataset(
          "s3://bucket/photos.liquid", 16, memory="4GiB", cache=0
        )
        begun = time.perf_counter()
        images = sum(len(labels) for _, labels in dataset)
        rates[delay].append(images / (time.perf_counter() - begun))
    for delay, found in rates.items():
      print(f"{delay * 1e3:.0f} ms:", *(f"{rate:.1f}" for rate in found), "images/s")
    late, prompt = (statistics.median(rates[delay]) for delay in (_DELAY, 0.0))
    print(f"ratio of the medians {late / prompt:.2f}")
  finally:
    server.kill()
    server.wait()
    sys.stdout.flush()


if __name__ == "__main__":
  main()
  os._exit(0)  # tensorflow-io's file systems may abort while a process ends
