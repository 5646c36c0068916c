"""The command that measures a GPU, with a driver whose device is the host."""

import json
import os
import pathlib
import subprocess

import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

_ROOT = pathlib.Path(os.path.abspath(__file__)).parents[2]


def _built(name: str) -> pathlib.Path:
  """What Bazel built: beside this file's folder, or where a checkout has links to."""
  paths = [_ROOT / name, _ROOT / "build/bazel/bin" / name]
  for path in paths:
    if path.exists():
      return path
  folder, _, file = name.rpartition("/")
  raise FileNotFoundError(f"bazel build //{folder}:{file} makes {paths[-1]}")


_STEPS = [
  *("device", "copies", "pieces", "registering", "disk", "kernels", "batches"),
  *("recipes", "jpeg", "delay"),
]
_TINY = (
  "--size=70x50",
  "--batch-size=66x40",
  "--recipe-size=60x44",
  "--batch=3",
  "--repeats=1",
  "--warm-up=0",
)
# Format, types, layout.
_KERNELS = {
  *(("l3 v1", f"u8_u8{step}", "NHWC") for step in ("", "_unpack", "_predict")),
  ("l3 v1", "u8_u8_sequential", "NHWC"),
  *(
    ("l3 v2", f"u8_{out}", layout)
    for out in ("u8", "f32", "bf16")
    for layout in ("NHWC", "NCHW")
  ),
  *(
    (stored, f"u8_{out}", layout)
    for stored in ("l3-compact", "raw")
    for out, layout in (("u8", "NHWC"), ("f32", "NCHW"))
  ),
}


class BenchTest(parameterized.TestCase):
  def _run(self, *flags: str, fake: str = "", clocks: bool = False):
    """The exit code, the steps by name, and what the command wrote beside them."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    driver = _built("tests/gpu/fake_driver.so")
    if clocks:
      (folder / "libnvidia-ml.so.1").symlink_to(driver)
    environment = {
      **os.environ,
      # The fakes have the names that are opened.
      "LD_PRELOAD": f"{driver} {_built('tests/ops/gpu/fake_nvrtc.so')}",
      "LD_LIBRARY_PATH": os.fspath(folder),
      "LIQUID_FAKE_CUDA": fake,
    }
    output = folder / "found.json"
    done = subprocess.run(
      [
        _built("ops/gpu/bench/liquid_gpu_bench"),
        f"--output={output}",
        "--megabytes=0.05",
        *_TINY,
        *flags,
      ],
      env=environment,
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertTrue(output.exists(), done.stderr)
    found = json.loads(output.read_text())
    self.assertEqual([step["step"] for step in found["steps"]], _STEPS)
    self.assertFalse(any(folder.glob("liquid-bench-*")))
    return done.returncode, {step["step"]: step for step in found["steps"]}, found

  def _check_done(self, step):
    self.assertEqual(step["state"], "done", str(step))
    self.assertLen(step["findings"] + step["skipped"], step["expected"])
    self.assertNotIn("why", step)
    for finding in step["findings"]:
      self.assertNotIn("error", finding)
      if isinstance(finding.get("milliseconds"), dict):
        times = finding["milliseconds"]
        self.assertGreater(times["min"], 0)
        self.assertBetween(times["median"], times["min"], times["max"])
        self.assertEqual(times["repeats"], 1)
      for rate in ("gb_per_s", "pixel_gb_per_s", "images_per_s", "share_of_copy"):
        self.assertGreater(finding.get(rate, 1), 0)

  def test_finds_everything(self):
    code, steps, found = self._run(clocks=True)
    self.assertEqual(code, 0)
    for step in steps.values():
      self._check_done(step)
      if step["step"] != "jpeg":
        self.assertEqual(step["skipped"], [])
    # That a mistake of this kind shows: one after the other, they take no longer.
    self.assertLess(sum(step["limit_seconds"] for step in steps.values()) + 60, 600)

    device, clocks = steps["device"]["findings"]
    self.assertEqual((device["name"], device["capability_major"]), ("Fake 0", 9))
    self.assertEqual(clocks["multiprocessor_mhz"], 1500)
    self.assertEqual((clocks["memory_mhz_most"], clocks["pcie_lanes"]), (3201, 16))
    self.assertEqual(
      [finding["what"] for finding in steps["copies"]["findings"]],
      [
        "copy in the GPU's memory",
        "fill of the GPU's memory",
        "to the GPU, pageable",
        "to the GPU, pinned",
        "to the GPU, registered",
        "from the GPU, pinned",
      ],
    )
    pieces = steps["pieces"]["findings"]
    self.assertLen({(row["way"], row["piece_bytes"]) for row in pieces}, 25)
    registering = {finding["what"] for finding in steps["registering"]["findings"]}
    self.assertContainsSubset(
      {"registering untouched pages", "registering touched huge pages"}, registering
    )

    kernels = steps["kernels"]["findings"][1:]
    self.assertEqual(
      {(row["format"], row["types"], row["layout"]) for row in kernels}, _KERNELS
    )
    # Without checksums comes right behind with them.
    for i, row in enumerate(kernels):
      if not row["checksums"]:
        of = ("format", "types", "layout")
        self.assertEqual([row[key] for key in of], [kernels[i - 1][key] for key in of])
        self.assertTrue(kernels[i - 1]["checksums"])
    self.assertEqual([row["checksums"] for row in kernels].count(False), 5)
    (first,) = [row for row in kernels if row["one_block_an_image"]]
    self.assertEqual((first["types"], first["blocks"]), ("u8_u8_sequential", 8))
    for row in kernels:
      of_type = {"u8": 1, "f32": 4, "bf16": 2}[row["types"].split("_")[1]]
      self.assertEqual(row["output_bytes"], 8 * 70 * 50 * 3 * of_type)
      self.assertGreaterEqual(row["stored_bytes"], 8 * 1000)
    (copied, *ways) = steps["batches"]["findings"]
    self.assertEqual(copied["times_as_fast_as_copying"], 1)
    self.assertEqual(
      {row["format"] for row in ways}, {"l3 v1", "l3 v2", "l3-compact", "raw", "jpeg"}
    )
    self.assertLen({(row["way"], row["format"]) for row in ways}, len(ways))
    self._check_recipes(steps["recipes"]["findings"])
    self._check_jpeg(steps["jpeg"])
    delays = steps["delay"]["findings"]
    self.assertLen({(row["step"], row["beside"], row["format"]) for row in delays}, 20)
    for row in delays:
      if row["beside"] == "nothing":
        self.assertEqual(row["delay"], 0)
    self.assertBetween(found["photographs"]["l3 v2 share of pixels"], 0.2, 0.9)

  def _check_recipes(self, rows):
    self.assertEqual(
      [(row["format"], row["recipe"], row["type"]) for row in rows],
      [
        (stored, recipe, out)
        for stored in ("l3 v2", "l3-compact", "raw", "jpeg")
        for recipe, types in (
          ("to train", ("uint8", "float32", "bfloat16")),
          ("to evaluate", ("uint8", "float32", "bfloat16")),
          ("to train, RandAugment and RandomErasing", ("float32",)),
        )
        for out in types
      ],
    )
    for row in rows:
      size = {"uint8": 1, "float32": 4, "bfloat16": 2}[row["type"]]
      self.assertEqual(row["output_bytes"], 3 * 224 * 224 * 3 * size)
      self.assertGreater(row["kernel_milliseconds"], 0)

  def _check_jpeg(self, step):
    rows = step["findings"]
    self.assertLen(rows, 6)
    self.assertEqual({row["mcus_an_entry"] for row in rows}, {0, 8, 16})
    whole, middle = rows[:2]
    self.assertEqual(whole["output_bytes"], whole["images"] * 60 * 44 * 3)
    self.assertEqual(middle["output_bytes"], middle["images"] * 30 * 22 * 3)
    self.assertLess(middle["stored_bytes"], whole["stored_bytes"])
    (own, _) = step["skipped"]
    self.assertEqual(own["what"], "files of --images as they are")

  def test_a_fault_ends_one_step(self):
    code, steps, _ = self._run(fake="abort:liquid_l3_v2_u8_bf16=1")
    self.assertEqual(code, 1)
    kernels = steps.pop("kernels")
    self.assertEqual(kernels["state"], "failed")
    self.assertIn("Aborted", kernels["why"])
    # What was found before stays.
    before = [row["types"] for row in kernels["findings"][1:]]
    self.assertEqual(before[-1], "u8_f32")
    self.assertLess(len(before), kernels["expected"] - 1)
    for step in steps.values():
      self._check_done(step)

  def test_a_step_has_its_time(self):
    code, steps, _ = self._run("--limits=0.01", fake="hang:liquid_l3_v2_u8_f32=1")
    self.assertEqual(code, 1)
    self.assertEqual(steps["kernels"]["state"], "failed")
    self.assertIn("its time was over", steps["kernels"]["why"])
    self.assertBetween(steps["kernels"]["seconds"], 1.2, 20)
    # The machine may be busy.
    for step in steps.values():
      self.assertIn(step["state"], ("done", "failed"))

  @parameterized.parameters(
    ("fail:liquid_l3_v2_u8_bf16=719", "LAUNCH_FAILED", "u8_bf16"),
    ("idle=1", "has other pixels than on the processors", "u8"),
  )
  def test_an_error_takes_the_place_of_a_finding(self, fake, error, kernels):
    code, steps, _ = self._run(fake=fake)
    self.assertEqual(code, 1)
    step = steps["kernels"]
    self.assertEqual(step["state"], "failed")
    self.assertRegex(step["why"], error)
    self.assertLen(step["findings"], step["expected"])
    for row in step["findings"][1:]:
      wrong = row["types"].startswith(kernels)
      self.assertEqual("error" in row, wrong, str(row))
      self.assertEqual("milliseconds" in row, not wrong, str(row))

  @parameterized.parameters(
    ("fail:liquid_jpeg_blocks=719", "LAUNCH_FAILED"),
    ("idle=1", "has other pixels than on the processors"),
  )
  def test_other_pixels_of_recipes_and_jpeg_are_errors(self, fake, error):
    code, steps, _ = self._run("--steps=recipes,jpeg", fake=fake)
    self.assertEqual(code, 1)
    for name in ("recipes", "jpeg"):
      self.assertEqual(steps[name]["state"], "failed")
      for row in steps[name]["findings"]:
        if row.get("format", "jpeg") == "jpeg" or fake == "idle=1":
          self.assertIn(error, row["error"])
        else:
          self.assertNotIn("error", row)

  def test_what_the_machine_lacks_is_told(self):
    code, steps, _ = self._run("--scratch=/proc", fake="register=801")
    self.assertEqual(code, 0)
    for step in steps.values():
      self._check_done(step)
    lacks = {
      what["what"]: what["why"] for step in steps.values() for what in step["skipped"]
    }
    self.assertIn("libnvidia-ml.so.1", lacks["clocks and the bus's width"])
    self.assertIn("to register memory", lacks["to the GPU, registered"])
    self.assertIn("/proc", lacks["reading past the page cache"])
    self.assertIn("/proc", lacks["reading past the page cache, into registered memory"])
    self.assertEqual(steps["disk"]["findings"], [])

  def test_without_a_gpu(self):
    code, steps, _ = self._run(fake="devices=0")
    self.assertEqual(code, 1)
    for step in steps.values():
      self.assertEqual(step["state"], "skipped")
      self.assertIn("CUDA finds no GPU", step["why"])
      self.assertEqual(step["findings"], [])

  def test_some_steps(self):
    code, steps, _ = self._run("--steps=copies,device")
    self.assertEqual(code, 0)
    self._check_done(steps.pop("device"))
    self._check_done(steps.pop("copies"))
    for step in steps.values():
      self.assertEqual(
        (step["state"], step["why"]), ("skipped", "--steps does not name it")
      )

  def test_photographs_of_a_folder(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(1)
    for name, shape in (
      ("a.png", (90, 81, 3)),
      ("b.bmp", (20, 30, 3)),
      ("c.png", (9, 9)),
    ):
      Image.fromarray(random.integers(0, 256, shape, np.uint8)).save(folder / name)
    # With chroma of half the sides; a device takes no file of several scans.
    smooth = np.tile(np.arange(0, 240, 2, np.uint8)[:, None, None], (1, 100, 3))
    for name, options in (("e.jpg", {}), ("f.jpg", {"progressive": True})):
      Image.fromarray(smooth).save(folder / name, subsampling="4:2:0", **options)
    (folder / "d.txt").write_text("no image")
    _, steps, found = self._run(f"--images={folder}")
    for step in steps.values():
      self._check_done(step)
    # Four of them are RGB, and the noise of two is stored as it is.
    self.assertBetween(found["photographs"]["l3 v2 share of pixels"], 0.47, 0.6)
    (whole, middle) = [
      row
      for row in steps["jpeg"]["findings"]
      if row["files"] == "files of --images as they are"
    ]
    self.assertEqual(whole["output_bytes"], whole["images"] * 120 * 100 * 3)
    self.assertEqual(middle["output_bytes"], middle["images"] * 60 * 50 * 3)
    first = steps["kernels"]["findings"][1]
    self.assertEqual(first["blocks"], first["images"])

  def test_folder_without_photographs(self):
    folder = self.create_tempdir().full_path
    code, steps, found = self._run(f"--images={folder}")
    self.assertEqual(code, 2)
    self.assertIn(f"--images={folder}: it holds no RGB", found["photographs"]["error"])
    self.assertEqual({step["state"] for step in steps.values()}, {"not reached"})

  @parameterized.parameters(
    "--batch=0", "--size=70", "--fast", "--steps=copies,", "--steps=all", "--repeats=x"
  )
  def test_flags(self, flag):
    done = subprocess.run(
      [_built("ops/gpu/bench/liquid_gpu_bench"), "--output=/dev/null", flag],
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual(done.returncode, 2)
    self.assertStartsWith(done.stderr, f"{flag}: there is no such flag")


if __name__ == "__main__":
  absltest.main()
