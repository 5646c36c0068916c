"""`tools.bench papers`: figures, their evidence, and the page that is made of it."""

import json
import os
import pathlib
import types

import benches
import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

from liquid_tf import codecs, recordio
from liquid_tf._measure import throttle
from liquid_tf.cli import wheel_images
from tools.bench import codec_sets, instructions
from tools.bench.papers import (
  document,
  figure,
  jpegs,
  l3_10,
  l3_table_4,
  liquid_3,
  mxnet,
  runner,
  speeds,
)

_RESULTS = pathlib.Path(__file__).resolve().parents[2] / "tools/bench/results/papers"


def _photographs(folder: pathlib.Path, sides: tuple[int, int] = (70, 100)) -> None:
  folder.mkdir(parents=True)
  found = wheel_images.wheel_photographs()
  for name in ("astronaut", "coffee"):
    Image.fromarray(found[name][: sides[0], : sides[1]]).save(folder / f"{name}.png")


class CommandTest(absltest.TestCase):
  def test_a_figure_from_files_to_the_page(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "photos")
    arguments = ["l3-table-4", f"--data=driving={root}/photos"]
    done = benches.papers(root, *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    found = json.loads(done.stdout)["l3-table-4"]
    stored = root / "evidence" / "l3-table-4.json"
    self.assertEqual(json.loads(stored.read_text()), found)
    self.assertTrue(found["complete"])
    self.assertEqual(list(found["parts"]), ["driving", "random", "black"])
    self.assertNotIn(os.fspath(root), stored.read_text())

    page = (root / "papers.md").read_text()
    self.assertIn("A quick run", page)
    self.assertIn("papers l3-table-4 --data=driving=FOLDER --quick", page)
    self.assertIn("| l3 v1 | ", page)
    self.assertNotIn(os.fspath(root), page)
    with Image.open(root / "papers" / "l3-table-4.png") as plot:
      self.assertGreater(min(plot.size), 300)

    # What is there is not measured again, and makes the same page and plot.
    before = (root / "papers" / "l3-table-4.png").read_bytes()
    done = benches.papers(root, *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("l3-table-4 is there", done.stderr)
    self.assertEqual(json.loads(stored.read_text()), found)
    self.assertEqual((root / "papers" / "l3-table-4.png").read_bytes(), before)

    # The page is what the evidence says, and --report writes nothing else.
    sizes = found["parts"]["driving"]["result"]
    sizes["bytes"]["png"] = 3 * sizes["pixel_bytes"]
    stored.write_text(json.dumps(found))
    changed = document.markdown(root / "evidence", root / "papers.md")
    self.assertNotEqual(changed, page)
    self.assertIn("| png | 3.00 | 0.39 |", changed)
    done = benches.papers(root, "--report")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual((root / "papers.md").read_text(), changed)
    self.assertEqual(json.loads(stored.read_text()), found)

  def test_speeds_from_files_to_the_page(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "photos")
    figures = ["l3-7a", "l3-8", "l3-10", "liquid-3"]
    done = benches.papers(root, *figures, f"--data=photos={root}/photos")
    self.assertEqual(done.returncode, 0, done.stderr)
    found = json.loads(done.stdout)
    for name in ("l3-7a", "l3-8"):
      parts = figure.results(found[name])
      self.assertEqual(list(parts), ["HD", "FHD"])
      for part in parts.values():
        self.assertEqual(part["images"], 2)
        for cell in part["cells"].values():
          self.assertGreater(min(cell["images_per_s"]), 0)
        self.assertGreater(min(part["image_bytes"].values()), 0)
    sizes = figure.results(found["l3-8"])["FHD"]["image_bytes"]
    self.assertLess(sizes["jpeg 50"], sizes["jpeg 95"])
    self.assertLess(sizes["jpeg 95"], sizes["l3"])
    sizes = figure.results(found["l3-7a"])["FHD"]["image_bytes"]
    self.assertGreater(sizes["l3 version 1"], sizes["l3"])
    page = (root / "papers.md").read_text()
    if len(instructions.runnable()) > 1:
      for part in figure.results(found["l3-10"]).values():
        self.assertEqual(list(part["runs"]), ["l3 v1", "l3 v2", "l3-compact"])
        self.assertEqual(list(part["runs"]["l3 v2"]), instructions.runnable())
        for sets in part["runs"].values():
          for runs in sets.values():
            self.assertEqual(runs[0]["threads"], 1)
            self.assertGreater(min(run["clock_ms"] for run in runs), 0)
      self.assertIn("| + custom Paeth | −46.0 %, on average | not taken apart |", page)
    else:
      self.assertIn("l3-10 is left out: ", done.stderr)
      figures.remove("l3-10")
    if throttle.why_not():
      self.assertIn("liquid-3 is left out: ", done.stderr)
      self.assertIn("Not run here yet: `python -m tools.bench papers liquid-3`", page)
      figures.remove("liquid-3")
    else:
      cells = figure.results(found["liquid-3"])["raw"]["cells"]
      self.assertEqual(list(cells), [f"{tenths}" for tenths in range(11)])
      for cell in cells.values():
        self.assertEqual(list(cell), ["load", "decode", "both"])
    for name in figures:
      self.assertTrue((root / "papers" / f"{name}.png").exists(), name)

  def test_scan_groups_from_files_to_the_page(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "photos", (200, 220))
    done = benches.papers(root, "pcr-5", "pcr-8", f"--data=photos={root}/photos")
    self.assertEqual(done.returncode, 0, done.stderr)
    every = json.loads(done.stdout)
    found = figure.results(every["pcr-5"])["scan groups"]
    self.assertEqual(found["what"], "2 images of *photos* as JPEG of quality 90")
    sizes = [group["bytes"] for group in found["groups"]]
    self.assertEqual(sizes, sorted(sizes))
    self.assertLen(sizes, 10)
    similar = [group["mssim"] for group in found["groups"]]
    self.assertEqual(similar[-1], 1)
    self.assertBetween(similar[0], 0.3, 0.99)
    page = (root / "papers.md").read_text()
    share = sizes[4] / sizes[-1]
    self.assertIn(f"| group 5, of all 10 | about 0.5 | {share:.2f} |", page)
    if throttle.why_not():
      self.assertIn("pcr-8 is left out: ", done.stderr)
      return
    stalls = figure.results(every["pcr-8"])["stalls"]
    # Sixteen copies of two images in batches of four.
    for rounds in stalls["waits_ms"].values():
      self.assertEqual([len(waits) for waits in rounds], [8])
    self.assertIn("A *simulated accelerator* takes", page.replace("\n", " "))

  def test_records_from_files_to_the_page(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "photos")
    done = benches.papers(root, "mxnet", f"--data=photos={root}/photos")
    self.assertEqual(done.returncode, 0, done.stderr)
    found = figure.results(json.loads(done.stdout)["mxnet"])
    self.assertEqual(list(found["reading"]["images_per_s"]), ["1", "2", "4", "8"])
    self.assertEqual(list(found["packing"]["images_per_s"]), ["1", "2", "4"])
    for part in found.values():
      self.assertEqual(part["records"], 32)
      for rates in part["images_per_s"].values():
        self.assertGreater(min(rates), 0)
    page = (root / "papers.md").read_text()
    self.assertIn("| reading, 1 part | 3,000 | ", page)
    self.assertIn("| packing, 1 process |", page)

  def test_a_wrong_figure(self):
    done = benches.papers(pathlib.Path(self.create_tempdir()), "l3-tabel-4")
    self.assertEqual(done.returncode, 2, done.stderr)
    self.assertIn("did you mean l3-table-4?", done.stderr)


class RegistryTest(absltest.TestCase):
  def test_every_figure_is_whole(self):
    setting = figure.Setting((), True, pathlib.Path("/nowhere"), print)
    for name, one in figure.FIGURES.items():
      self.assertEqual(one.name, name)
      self.assertNotEmpty(one.parts(setting))

  def test_the_page_names_what_has_not_run(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page = document.markdown(folder, folder / "page.md")
    self.assertIn(f"\n\n0 of {len(figure.FIGURES)} figures are here; ", page)
    for one in figure.FIGURES.values():
      absent = "Not run here yet: `python -m tools.bench papers"
      self.assertIn(f"## {one.title}\n\n{absent} {one.name}`", page)


class DocumentTest(absltest.TestCase):
  def test_a_busy_machine_is_told(self):
    evidence = runner.read(_RESULTS, figure.FIGURES["l3-7a"])
    self.assertIsNotNone(evidence)
    folder = pathlib.Path(self.create_tempdir().full_path)
    for others in (0.1, 1.7):
      for part in evidence["parts"].values():
        part |= {"others": others, "seconds": 120.0}
      (folder / "l3-7a.json").write_text(json.dumps(evidence))
      page = document.markdown(folder, folder / "page.md").replace("\n", " ")
      self.assertIn("figures are here; they took 6 minutes.", page)
      told = "**Other programs kept up to 1.7 processors busy meanwhile."
      self.assertEqual(told in page, others == 1.7)

  def test_every_revision_that_parts_are_of_is_told(self):
    evidence = runner.read(_RESULTS, figure.FIGURES["l3-7a"])
    folder = pathlib.Path(self.create_tempdir().full_path)
    first, second, third = evidence["parts"].values()
    first["revision"], second["revision"], third["revision"] = "aa", None, "aa"
    (folder / "l3-7a.json").write_text(json.dumps(evidence))
    page = document.markdown(folder, folder / "page.md")
    self.assertIn("| revision | aa, unknown |", page)


class RunnerTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.ran, self.said = [], []
    self.fail = True
    self.figure = types.SimpleNamespace(
      name="x",
      parts=self._parts,
      why_not=lambda: None,
      lacks=lambda setting: None,
    )

  def _parts(self, setting):
    return {name: lambda name=name: self._measure(name) for name in ("a", "b", "c")}

  def _measure(self, name):
    self.ran.append(name)
    if name == "b" and self.fail:
      raise ChildProcessError("it failed")
    return {"is": name}

  def _setting(self, quick=False):
    sets = (codec_sets.ImageSet("photos", "photographs", ("/a/x.png",)),)
    return figure.Setting(sets, quick, self.root / "work", self.said.append)

  def test_goes_on_where_it_was_interrupted(self):
    with self.assertRaisesRegex(ChildProcessError, "it failed"):
      runner.run(self.figure, self._setting(), self.root)
    found = runner.read(self.root, self.figure)
    self.assertFalse(found["complete"])
    self.assertEqual(list(found["parts"]), ["a"])
    self.fail = False
    with self.assertRaisesRegex(ValueError, "was begun with .*: remove it"):
      runner.run(self.figure, self._setting(quick=True), self.root)
    runner.run(self.figure, self._setting(), self.root)
    self.assertEqual(self.ran, ["a", "b", "b", "c"])
    found = runner.read(self.root, self.figure)
    self.assertTrue(found["complete"])
    self.assertEqual(figure.results(found), {n: {"is": n} for n in "abc"})
    self.assertContainsSubset(["cpu", "versions"], found["evidence"])
    for part in found["parts"].values():
      self.assertContainsSubset(["revision", "load_before", "others", "seconds"], part)
    # Whole evidence is not measured again, whatever the setting.
    runner.run(self.figure, self._setting(quick=True), self.root)
    self.assertEqual(self.ran, ["a", "b", "b", "c"])

  def test_other_files_are_refused(self):
    path = runner.path_of(self.root, self.figure)
    for text, message in (("{", "is no JSON"), ("[]", "no evidence of x")):
      path.write_text(text)
      with self.assertRaisesRegex(ValueError, message):
        runner.read(self.root, self.figure)


class JpegsTest(absltest.TestCase):
  def test_files_of_jpeg_are_taken_as_they_are(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "png")
    (root / "jpeg").mkdir()
    for i, file in enumerate(sorted((root / "png").iterdir())):
      Image.open(file).save(root / "jpeg" / f"{i}.jpg")
    sets = tuple(codec_sets.photographs([f"{root}/png", f"{root}/jpeg"]))
    setting = figure.Setting(sets, True, root, print)
    what, files = jpegs.make(setting, root / "made", 2, None)
    self.assertEqual(what, "2 JPEG files of *jpeg*")
    originals = [file.read_bytes() for file in sorted((root / "jpeg").iterdir())]
    self.assertEqual([file.read_bytes() for file in files], 2 * originals)


class MxnetTest(absltest.TestCase):
  def test_what_is_packed_is_read(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "photos")
    names = sorted(map(os.fspath, (root / "photos").iterdir()))
    path = os.fspath(root / "x.rec")
    mxnet.pack(names, path)
    records = [recordio.unpack(record) for record in recordio.Reader(path)]
    self.assertEqual([header.label for header, _ in records], [0, 1])
    for (_, jpeg), name in zip(records, names):
      self.assertEqual(jpeg, mxnet.resized(name))
      self.assertEqual(codecs.decode(jpeg).shape, (256, 256, 3))
    self.assertGreater(mxnet.read(path, 2, 2, 2), 0)
    with self.assertRaisesRegex(ChildProcessError, "have 2 of 3 records"):
      mxnet.read(path, 2, 2, 3)


class Liquid3Test(absltest.TestCase):
  def test_loading_outside_its_ends_is_refused(self):
    liquid_3.check("raw", [200.0] + [150.0] * 9 + [100.0])
    liquid_3.check("raw", [100.0, 96.0] + [150.0] * 7 + [209.0, 200.0])
    for wrong in (90.0, 215.0):
      with self.assertRaisesRegex(ChildProcessError, "loading 30 % raw .* is refused"):
        liquid_3.check("raw", [100.0] * 3 + [wrong] + [150.0] * 6 + [200.0])


class SpeedsTest(absltest.TestCase):
  def test_images_are_turned_cut_and_scaled(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    _photographs(root / "photos", (120, 60))
    (images,) = codec_sets.photographs([f"photos={root}/photos"])
    made = speeds.scaled(images, 48, 72, 1, root)
    (file,) = made.iterdir()
    with Image.open(file) as image:
      self.assertEqual(image.size, (72, 48))
    (old,) = speeds.l3_files(made, root / "l3", version=1).iterdir()
    self.assertEqual(int(codecs.peek_l3(old.read_bytes()).version), 1)


def _decoder(*cpu_ms: float) -> dict[str, object]:
  """Evidence of figure 10 at two resolutions, the second one twice as slow."""
  parts = {}
  for name, slow in (("HD", 1), ("FHD", 2)):
    # Three threads are not quite three times as fast as one.
    sets = {
      used: [
        {"threads": threads, "cpu_ms": slow * ms, "clock_ms": slow * ms * share}
        for threads, share in ((1, 1.0), (3, 1.1 / 3))
      ]
      for used, ms in zip(("scalar", "avx2"), cpu_ms)
    }
    runs = dict.fromkeys(l3_10.FORMATS, sets)
    parts[name] = {"result": {"images": 2, "rounds": 1, "runs": runs}}
  return {"parts": parts, "settings": {"sets": {"driving": 2}}}


class L310Test(absltest.TestCase):
  def test_shares_are_those_of_scalar_code(self):
    evidence = _decoder(20.0, 2.0)
    for result in figure.results(evidence).values():
      self.assertAlmostEqual(l3_10.saved_by_vectors(result), 0.9)
      self.assertAlmostEqual(l3_10.saved_by_threads(result), 1 - 1.1 / 3)
    table = figure.FIGURES["l3-10"].table(evidence)
    self.assertIn("| −76.8 % | −63.3 % | −83.9 % | −63.3 % |", table)
    self.assertIn("| −49.5 % | −90.0 % | −56.7 % | −90.0 % |", table)
    self.assertIn("| l3 v2, avx2 | 2.00 (2.00 to 2.00) | 10.0 | 0.73 (0.73 ", table)
    why = figure.FIGURES["l3-10"].said(evidence).why.replace("\n", " ")
    self.assertIn("3 threads can save 67 % at most", why)
    self.assertIn("avx2 saves 90.0 % of the scalar decoder's", why)
    self.assertIn("| +50.0 % |", figure.FIGURES["l3-10"].table(_decoder(2.0, 3.0)))

  def test_a_decoder_that_changes_pixels_is_refused(self):
    pixels = np.zeros((4, 4, 3), np.uint8)
    l3_10.check("x", [lambda: pixels], [pixels])
    with self.assertRaisesRegex(ValueError, "x does not give back the pixels"):
      l3_10.check("x", [lambda: pixels + 1], [pixels])


class L3Table4Test(parameterized.TestCase):
  @parameterized.parameters((33, 40), (70, 100))
  def test_residuals_are_those_of_version_1(self, height, width):
    pixels = wheel_images.wheel_photographs()["coffee"][:height, :width]
    contents = codecs.encode_l3(pixels, version=1)
    side = int(codecs.peek_l3(contents).patch)
    # The size that docs/formats/l3.md gives rows of these residuals.
    size = 13
    for patch in l3_table_4.residuals(pixels, side):
      size += 2
      for row in patch.astype(int):
        bits = int(row.max() - row.min()).bit_length()
        size += -(-(12 + bits * len(row)) // 8)
    self.assertEqual(size, len(contents.numpy()))

  def test_sizes(self):
    black = l3_table_4.measure([np.zeros((64, 96, 3), np.uint8)])
    self.assertEqual(black["entropy_bytes"], 0)
    self.assertEqual(black["pixel_bytes"], 64 * 96 * 3)
    self.assertGreater(black["bytes"]["bmp"], black["pixel_bytes"])
    self.assertLess(black["bytes"]["l3-compact"], black["bytes"]["l3 v1"])
    noise = np.random.default_rng(1).integers(0, 256, (64, 96, 3), np.uint8)
    random = l3_table_4.measure([noise, noise])
    self.assertEqual(random["images"], 2)
    self.assertGreater(random["bytes"]["l3 v1"], random["pixel_bytes"])
    self.assertAlmostEqual(random["entropy_bytes"] / random["pixel_bytes"], 1, places=1)


if __name__ == "__main__":
  absltest.main()
