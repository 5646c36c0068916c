"""The codecs' tables: every figure is there and fits the others."""

import copy
import json
import os
import pathlib

import benches
import numpy as np
import tensorflow as tf
from absl.testing import absltest, parameterized
from PIL import Image

from liquid_tf.cli import wheel_images
from tools.bench import codec_report, codec_sets, codec_worker, jpeg

_EVERYWHERE = ("raw", "png", "png tf.io", "l3 v2", "l3-compact")
_COMPACT = ("l3-compact fast", "l3-compact", "l3-compact best")
_SAME = "png tf.io"  # has the files of "png"
# As Bazel builds it.
_JPEG_LIBRARY = os.environ.get(
  "LIQUID_JPEG_LIBRARY", "tests/ops/codecs/libjpeg_capi.so"
)
_OURS = (*_EVERYWHERE, "bmp", "webp", "jpeg", "l3 v1")


class BenchCodecsTest(absltest.TestCase):
  def test_measures_every_codec_on_every_set(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    self._make_sets(root)
    done = benches.run(
      "codecs",
      f"--sets={root}/astronaut,other={root}/coffee",
      f"--deep={root}/deep",
      "--drawings=0",
      "--squares=1",
      "--side=96",
      "--passes=2",
      "--rounds=1",
      "--json",
      f"--plot={root}/plot.png",
      f"--output={root}/result.json",
      f"--report={root}/page.md",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(json.loads((root / "result.json").read_text()), result)
    with Image.open(root / "plot.png") as plot:
      self.assertGreater(min(plot.size), 300)

    page = (root / "page.md").read_text()
    self.assertIn(codec_report.sizes_table(result), page)
    self.assertIn("](plot.png)", page)
    self.assertNotIn(os.fspath(root), page)
    self.assertIn(codec_report.text(result), done.stderr)

    photographs = ["astronaut", "other"]
    self.assertEqual(list(result["sets"]), [*photographs, "16-bit"])
    for entry in (*result["sets"].values(), result["all"]):
      self._check_entry(entry)
    for name in photographs:
      self.assertContainsSubset(_OURS, result["sets"][name]["codecs"])
    self.assertNoCommonElements(["bmp", "jpeg"], result["sets"]["16-bit"]["codecs"])
    # Only one of the two files has 16 bits.
    self.assertEqual(result["sets"]["16-bit"]["images"], 1)
    self.assertEqual(result["sets"]["16-bit"]["pixel_bytes"], 40 * 50 * 3 * 2)

    both = [result["sets"][name]["codecs"]["l3 v2"]["bytes"] for name in photographs]
    self.assertEqual(result["all"]["codecs"]["l3 v2"]["bytes"], sum(both))
    self.assertEqual(result["all"]["images"], 2)
    stored = [
      os.path.getsize(root / name / "x.png") for name in ("astronaut", "coffee")
    ]
    self.assertEqual(result["all"]["stored_png_bytes"], sum(stored))
    self.assertContainsSubset(
      ("l3 v1", "l3 v2", "l3-compact", "png"), result["windows"]
    )
    self.assertIn("revision", result["evidence"])

  def _make_sets(self, root: pathlib.Path) -> None:
    photographs = wheel_images.wheel_photographs()
    for name in ("astronaut", "coffee", "masks", "deep"):
      (root / name).mkdir()
    for name in ("astronaut", "coffee"):
      Image.fromarray(photographs[name][:150, :200]).save(root / name / "x.png")
    mask = photographs["coffee"][:90, :120, 0] // 64
    Image.fromarray(mask).save(root / "masks" / "x.png")
    deep = photographs["coffee"][:40, :50].astype(np.uint16) * 257
    (root / "deep" / "x.png").write_bytes(tf.io.encode_png(deep).numpy())
    Image.fromarray(mask).save(root / "deep" / "of_8_bits.png")

  def _check_entry(self, entry):
    self.assertContainsSubset(_EVERYWHERE, entry["codecs"])
    for values in entry["codecs"].values():
      self.assertAlmostEqual(values["ratio"], values["bytes"] / entry["pixel_bytes"])
      self.assertGreaterEqual(values["worst_to_png"], 0.999 * values["to_png"])
      rate = values["decode_gb_per_s"]
      self.assertBetween(rate["median"], rate["q1"], rate["q3"])
      self.assertGreater(rate["q1"], 0)
    self.assertEqual(entry["codecs"]["png"]["to_png"], 1)
    self.assertAlmostEqual(entry["codecs"]["raw"]["ratio"], 1, places=1)
    with_avx2 = {name for name, v in entry["codecs"].items() if "avx2_gb_per_s" in v}
    self.assertTrue(all(name.startswith("l3") for name in with_avx2), with_avx2)

  def test_sets_of_other_kinds(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    self._make_sets(root)
    folders = {"screens": f"{root}/coffee", "masks": f"{root}/masks"}
    screens, masks, drawn = codec_sets.others(folders, 1)
    self.enter_context(benches.here())
    found = codec_worker.sizes(masks._asdict())
    self.assertEqual((found["images"], found["pixel_bytes"]), (1, 90 * 120))
    self.assertContainsSubset((*_EVERYWHERE, "bmp", "jpeg"), {*found["codecs"], _SAME})
    self.assertNoCommonElements(["webp", "l3 v1"], found["codecs"])
    rates = codec_worker.speeds(masks._asdict(), side=64, squares=1, passes=2)
    self.assertEqual({*rates["best"]}, {*found["codecs"], _SAME})
    self.assertContainsSubset(rates["avx2"], ["l3 v2", *_COMPACT])
    for images, shape in ((screens, (150, 200, 3)), (drawn, (512, 512, 3))):
      (pixels,) = codec_sets.load(images)
      self.assertEqual(pixels.shape, shape)
    self.assertIsNone(codec_sets.stored_png_bytes(drawn))

  def test_a_mosaic_repeats_little(self):
    deep = np.arange(64 * 64 * 3, dtype=np.uint16).reshape(64, 64, 3)
    (square,) = codec_worker._squares(codec_sets.DEEP, [deep, deep + 1], 200, 1)
    self.assertEqual((square.shape, square.dtype), ((200, 200, 3), np.uint16))
    self.assertLen(np.unique(square.reshape(200, -1), axis=0), 200)

  def test_wrong_sets(self):
    folder = self._photo_folder()
    with self.assertRaisesRegex(ValueError, 'name "a" twice'):
      codec_sets.photographs([f"a={folder}", f"a={folder}"])
    with self.assertRaisesRegex(ValueError, 'name "masks", which is not'):
      codec_sets.photographs([f"masks={folder}"])
    with self.assertRaisesRegex(ValueError, "must hold PNG files of 16 bits"):
      codec_sets.others({codec_sets.DEEP: folder}, 0)
    with self.assertRaisesRegex(ValueError, "must have one channel, and has RGB"):
      codec_sets.load(codec_sets.others({codec_sets.MASKS: folder}, 0)[0])
    done = benches.run("codecs", "--sets=/no/such/folder")
    self.assertEqual(done.returncode, 2)
    self.assertIn("must be an existing folder", done.stderr)

  def test_default_sets(self):
    (only,) = codec_sets.photographs([])
    self.assertEqual(only.paths, ())
    self.assertNotEmpty(codec_sets.load(only))
    (drawn,) = codec_sets.others({codec_sets.MASKS: None}, 2)
    first, second = codec_sets.load(drawn)
    self.assertEqual(first.shape, (512, 512, 3))
    self.assertFalse(np.array_equal(first, second))

  def _photo_folder(self) -> str:
    folder = self.create_tempdir().full_path
    Image.new("RGB", (8, 8)).save(f"{folder}/x.png")
    return folder


def _codec(size: float, decode: float, **more) -> dict:
  rate = {"median": decode, "q1": decode, "q3": decode}
  return {
    "bytes": round(1000 * size),
    "ratio": size / 2,
    "to_png": size,
    "worst_to_png": size + 0.1,
    "encode_gb_per_s": 0.08,
    "decode_gb_per_s": rate,
    **{key: {"median": value, "q1": value, "q3": value} for key, value in more.items()},
  }


def _made_up() -> dict:
  """A result in which every promise is kept."""
  codecs = {
    "png": _codec(1, 0.4),
    "png tf.io": _codec(1, 0.15),
    "l3 v2": _codec(0.9, 4, avx2_gb_per_s=3),
    "l3-compact": _codec(0.5, 2, avx2_gb_per_s=1),
    "qoi": _codec(1.1, 0.4),
  }
  photographs = {
    "kind": "photographs",
    "images": 2,
    "pixel_bytes": 2000,
    "stored_png_bytes": 950,
    "codecs": codecs,
  }
  sets = {"kodak": photographs}
  for kind in ("screens", "masks", "drawn", "16-bit"):
    entry = copy.deepcopy(photographs) | {"kind": kind, "stored_png_bytes": None}
    entry["codecs"]["l3-compact"] = _codec(0.55, 4.5)
    del entry["codecs"]["qoi"]
    sets[kind] = entry
  return {
    "side": 64,
    "squares": 2,
    "passes": 3,
    "rounds": 1,
    "instructions": "avx512",
    "codecs": {name: f"what {name} is" for name in codecs},
    "sets": sets,
    "all": copy.deepcopy(photographs),
    "windows": {"l3 v2": 0.1, "l3-compact": 0.05},
    "evidence": {
      "cpu": "a processor",
      "cpus": 2,
      "command": "python -m tools.bench codecs",
      "memory_bytes": 2**30,
      "disk": None,
      "load_before": 0.1,
      "versions": {"python": "3"},
      "revision": None,
    },
  }


class CodecReportTest(parameterized.TestCase):
  def test_promises_are_kept(self):
    found = codec_report.promises(_made_up())
    self.assertLen(found, 6 + 2 + 4 + 2 + 3 + 2)
    self.assertEqual([promise.what for promise in found if not promise.kept], [])
    self.assertNotIn("missed", codec_report.promises_table(_made_up()))

  @parameterized.parameters(
    ("all photographs", ("all",), "to_png", 0.75),
    ("largest set", ("sets", "kodak"), "to_png", 0.8),
    ("screens, of", ("sets", "screens"), "to_png", 1.01),
    ("masks, of", ("sets", "masks"), "to_png", 0.71),
    ("drawn, of", ("sets", "drawn"), "to_png", 0.61),
    ("16-bit, of", ("sets", "16-bit"), "to_png", 0.86),
    ("with avx512", ("all",), "decode_gb_per_s", {"median": 1.39}),
    ("AVX2 alone", ("all",), "avx2_gb_per_s", {"median": 0.89}),
    ("decoding screens", ("sets", "screens"), "decode_gb_per_s", {"median": 3.9}),
    ("decoding masks", ("sets", "masks"), "decode_gb_per_s", {"median": 3.9}),
    ("decoding drawn", ("sets", "drawn"), "decode_gb_per_s", {"median": 3.9}),
    ("encoded", ("all",), "encode_gb_per_s", 0.059),
  )
  def test_a_missed_promise_is_told(self, words, place, key, value):
    result = entry = _made_up()
    for step in place:
      entry = entry[step]
    entry["codecs"]["l3-compact"][key] = value
    missed = [" ".join(p.row()) for p in codec_report.promises(result) if not p.kept]
    self.assertLen(missed, 1)
    self.assertIn(words, missed[0])
    self.assertIn("**missed**", missed[0])

  def test_sets_that_are_missing_promise_nothing(self):
    result = _made_up()
    result["sets"] = {"kodak": result["sets"]["kodak"]}
    for entry in (result["all"], result["sets"]["kodak"]):
      del entry["codecs"]["qoi"]
    del result["all"]["codecs"]["l3-compact"]["avx2_gb_per_s"]
    self.assertLen(codec_report.promises(result), 5 + 2 + 1 + 2)

  def test_page(self):
    page = codec_report.section(_made_up(), "plot.png").body
    self.assertIn("![size and speed](plot.png)", page)
    self.assertIn("--sets=kodak=FOLDER", page)
    self.assertIn("--screens=FOLDER --masks=FOLDER --deep=FOLDER", page)
    self.assertIn("| qoi | 1.100 | 1.100 | 1.200 |  |  |  |  |", page)
    self.assertIn("| png files | 0.950 | 0.950 |  |  |  |  |  |", page)
    self.assertIn(
      "| l3-compact | 2.000 (2.000 to 2.000) | 1.000 | 4.500 | 4.500 | 4.500 | 4.500 | "
      "80 | 0.050 |",
      page,
    )
    self.assertIn("what l3-compact is", page)
    for table in (codec_report.sizes_table, codec_report.speeds_table):
      columns = {line.count("|") for line in table(_made_up()).splitlines()}
      self.assertLen(columns, 1)


class BenchJpegTest(absltest.TestCase):
  def test_measures_every_decoder(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "files").mkdir()
    for number, progressive in enumerate((False, False, True)):
      image = Image.fromarray(wheel_images.wheel_photographs()["coffee"][:150, :200])
      image.save(root / "files" / f"{number}.jpg", progressive=progressive)
    done = benches.run(
      "jpeg",
      f"--sets=coffee={root}/files",
      "--passes=2",
      f"--library={_JPEG_LIBRARY}",
      f"--report={root}/page.md",
      "--json",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    result = json.loads(done.stdout)
    self.assertEqual(list(result["sets"]), ["coffee", "coffee, q75 4:2:0"])
    files, again = result["sets"].values()
    # Libjpeg-turbo decodes the progressive one, as it is.
    self.assertEqual([files["images"], files["left_out"]], [2, 1])
    self.assertEqual([again["images"], again["left_out"]], [3, 0])
    sides = [(one["target"], one["index"]) for one in files["milliseconds"]]
    self.assertEqual(sides[0], ("", "none"))
    self.assertEqual([index for _, index in sides[1:5]], ["none", "row", "16", "8"])
    for entry in (files, again):
      sizes = [entry["index_bytes"][name] for name in ("row", "16", "8")]
      self.assertEqual(sizes, sorted(sizes))
      self.assertBetween(sizes[0], 1, entry["bytes"])
      for one in entry["milliseconds"]:
        self.assertLen(one["whole"], 2)
        self.assertGreater(min(one["whole"] + one["window"]), 0)
    page = (root / "page.md").read_text()
    self.assertIn(jpeg.speeds_table(result), page)
    self.assertIn(jpeg.sets_table(result), page)
    self.assertIn("were left out: 1.", page)

  def test_wrong_flags(self):
    for words, message in (
      (("--library=no.so",), "must be what `bazel build"),
      ((f"--library={__file__}",), "must name folders of JPEG files"),
    ):
      done = benches.run("jpeg", *words)
      self.assertEqual(done.returncode, 2, done.stderr)
      self.assertIn(message, done.stderr)


if __name__ == "__main__":
  absltest.main()
