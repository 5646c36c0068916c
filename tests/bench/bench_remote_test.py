"""`tools.bench remote`: what it measures, and what it says."""

import json
import os
import pathlib
import subprocess
import sys

from absl.testing import absltest

from tools.bench import remote, remote_server

_TITLE = "Servers whose answers come late"

# Tells the seconds that so many bytes take over a network of so many Gbit/s.
_SENDS = """
import socket, sys, threading, time
from tools.bench import remote_server

remote_server.enter_link(float(sys.argv[1]))
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
receiver, _ = listener.accept()
begun, left = time.monotonic(), int(sys.argv[2])
threading.Thread(target=sender.sendall, args=[bytes(left)]).start()
while left:
  left -= len(receiver.recv(1 << 20))
print(time.monotonic() - begun)
"""


def _run(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess:
  environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
  if path is not None:
    environment["PATH"] = path
  return subprocess.run(
    [sys.executable, "-m", "tools.bench", "remote", "--json", *arguments],
    env=environment,
    capture_output=True,
    text=True,
    timeout=280,
  )


class BenchRemoteTest(absltest.TestCase):
  def test_measures_both_sizes(self):
    missing = remote_server.why_not()
    if missing:
      self.skipTest(missing)
    folder = pathlib.Path(self.create_tempdir().full_path)
    # What an earlier run has left is not taken for what this one asks for.
    for name, side in remote.SIDES.items():
      size = remote.Size(name, 10, side)
      remote._make(folder / "work", folder / "work" / "root", size, 2, None)
    done = _run(
      *(f"--workdir={folder}/work", f"--report={folder}/page.md", "--rounds=1"),
      *("--images=20", "--small_images=64", "--delay_ms=20", "--batch_size=4"),
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertIsNone(result["skipped"])
    self.assertBetween(result["sizes"]["large"]["image_bytes"], 1.04e6, 1.07e6)
    self.assertBetween(result["sizes"]["small"]["image_bytes"], 5e4, 5.2e4)
    for entry in result["sizes"].values():
      # A delay of each answer is longer than a short epoch.
      self.assertLess(max(entry["kept"].values()), 1)
      rates = entry["rates"]
      for name in ("http", "s3"):
        self.assertEqual(
          entry["kept"][name],
          rates[f"{name} delayed"]["median"] / rates[name]["median"],
        )
        self.assertEqual(
          entry["of_curl"][f"{name} delayed"],
          rates[f"{name} delayed"]["median"] / rates["curl delayed"]["median"],
        )
        self.assertEqual(
          entry["failing"][name],
          rates[f"{name} failing"]["median"] / rates[f"{name} delayed"]["median"],
        )
    text = (folder / "page.md").read_text()
    self.assertIn(f"## {_TITLE}\n", text)
    self.assertIn("`s3://`", text)
    result["link_gbit"] = 8.0
    title, body = remote.section(result)
    self.assertEqual(title, f"{_TITLE}, over 8 Gbit/s")
    rate, size = rates["s3"]["median"], result["sizes"]["small"]["image_bytes"]
    self.assertIn(f"| `s3://` | {rate:.0f} ({rate * size / 1e9:.0%}) |", body)

  def test_a_network_with_a_speed(self):
    if os.geteuid() != 0:
      self.skipTest("needs root")
    # 20 MB at 10 MB/s.
    done = subprocess.run(
      [sys.executable, "-c", _SENDS, "0.08", "20000000"],
      env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
      capture_output=True,
      text=True,
      timeout=60,
    )
    if "no network of its own" in done.stderr:
      self.skipTest(done.stderr)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertBetween(float(done.stdout), 1.5, 10)

  def test_without_nginx(self):
    done = _run(path=self.create_tempdir().full_path)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("nginx is not installed", json.loads(done.stdout)["skipped"])
    self.assertIn("nothing to measure with: nginx", done.stderr)


if __name__ == "__main__":
  absltest.main()
