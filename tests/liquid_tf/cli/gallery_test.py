"""`inspect --html`: a page that holds what it says, and fetches nothing."""

import base64
import html.parser
import io
import json
import os
import pathlib
import re

import commands
import damaged
import numpy as np
import photos
from absl.testing import absltest, parameterized
from PIL import Image

import liquid_tf
from liquid_tf import codecs
from liquid_tf._convert.convert import convert
from liquid_tf._profile.html_page import text
from liquid_tf.cli.gallery import groups, thumbnail

_VOID = ("meta", "input", "br")


class Page(html.parser.HTMLParser):
  """A page's elements, in order: (tag, attributes, text inside)."""

  def __init__(self, contents: str):
    super().__init__()
    self.elements: list[tuple[str, dict, list[str]]] = []
    self._open: list[int] = []
    self.feed(contents)
    self.close()
    assert not self._open, "elements are left open"

  def handle_starttag(self, tag, attributes):
    assert len(dict(attributes)) == len(attributes), f"{tag} has an attribute twice"
    self.elements.append((tag, dict(attributes), []))
    if tag not in _VOID:
      self._open.append(len(self.elements) - 1)

  def handle_startendtag(self, tag, attributes):
    self.elements.append((tag, dict(attributes), []))

  def handle_endtag(self, tag):
    assert self.elements[self._open.pop()][0] == tag, f"</{tag}> is not open"

  def handle_data(self, data):
    for place in self._open:
      self.elements[place][2].append(data)

  def all(self, tag: str, **wanted: str) -> list[tuple[dict, str]]:
    """Attributes and text of elements, of those with some attributes."""
    return [
      (attributes, "".join(inside))
      for name, attributes, inside in self.elements
      if name == tag
      and all(attributes.get(key.strip("_")) == value for key, value in wanted.items())
    ]


class GalleryTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = self.create_tempdir().full_path
    self.path, self.page = f"{self.root}/dataset", f"{self.root}/page.html"

  def _inspect(self, *flags: str, code: int = 0) -> Page:
    done = commands.run("inspect", self.path, f"--html={self.page}", *flags)
    self.assertEqual(done.returncode, code, done.stderr)
    contents = pathlib.Path(self.page).read_text(encoding="utf-8")
    self._check_alone(contents)
    return Page(contents)

  def _check_alone(self, contents: str):
    """Nothing in the page runs, and nothing outside is named."""
    page = Page(contents)
    for tag, attributes, _ in page.elements:
      self.assertNotIn(tag, ("script", "link", "iframe", "object", "embed", "base"))
      for name, value in attributes.items():
        self.assertFalse(name.startswith("on"), f"{tag} {name}")
        self.assertNotIn(name, ("src", "srcset", "style", "action", "xlink:href"))
        if name == "href":
          self.assertRegex(value, r"\A(#|data:image/jpeg;base64,)")
    style = "".join(inside for _, inside in page.all("style"))
    self.assertNotRegex(style, r"url\(|@import")
    [policy] = [a for a, _ in page.all("meta") if "http-equiv" in a]
    self.assertStartsWith(policy["content"], "default-src 'none'")
    targets = {a["id"] for _, a, _ in page.elements if "id" in a}
    for attributes, _ in page.all("a"):
      self.assertIn(attributes["href"][1:], targets)

  def _pictures(self, page: Page) -> list[np.ndarray]:
    result = []
    for attributes, _ in page.all("image"):
      data = base64.b64decode(attributes["href"].partition(",")[2])
      self.assertLessEqual(len(data), thumbnail.MOST_BYTES)
      result.append(np.asarray(Image.open(io.BytesIO(data))))
    return result

  def _classes(self, counts: dict[str, int], mix: str = "png:1,raw:1", **options):
    random = np.random.default_rng(0)
    for name, count in counts.items():
      for i in range(count):
        size = (20 + i, 300 - i)
        pixels = photos.crop(photos.photo("coffee"), size, random)
        photos.save(os.path.join(self.root, "source", name, f"{i}.png"), pixels)
    convert(f"{self.root}/source", self.path, mix, progress=False, **options)

  def test_classes_and_their_samples(self):
    self._classes({"cat": 5, "dog": 30}, splits="train:.8,val:.2")
    page = self._inspect("--thumbnails=7")
    headings = [inside for _, inside in page.all("h2")]
    self.assertEqual(headings, ["cat 5 samples", "dog 30 samples, 7 shown"])
    figures = page.all("figure")
    self.assertLen(figures, 12)
    view = liquid_tf.open(self.path)
    for (_, inside), picture in zip(figures, self._pictures(page), strict=True):
      number = int(re.search(r"#(\d+)", inside)[1])
      image = view[number]["image"]
      height, width = image.shape[:2]
      self.assertIn(f"{width} × {height} · ", inside)
      self.assertRegex(inside, r"(png|raw) [\d.]+\xa0(B|KB)")
      # What is shown is that sample.
      self.assertEqual(picture.shape[1], min(width, thumbnail.SIDE))
      small = Image.fromarray(image).resize(picture.shape[1::-1], Image.Resampling.BOX)
      error = np.abs(np.asarray(small, float) - picture).mean()
      self.assertLess(error, 12)
    self.assertEqual([a["href"] for a, _ in page.all("a")], ["#group-0", "#group-1"])
    self.assertIn("35 samples (train 28, val 7)", page.all("body")[0][1])

  @parameterized.parameters(
    '<script>alert(1)<\\script>"x"&',
    "'><img src=x onerror=alert(1)>",
    "&lt;b&gt; javascript:x",
    "\u202egnp.exe\u2066\x07\n\t",
    "日本 é ﷽",
    b"\xff\xfe latin".decode(errors="surrogateescape"),
  )
  def test_hostile_names(self, name):
    self._classes({name: 2, "other": 2})
    page = self._inspect()
    shown = re.sub("[\u202e\u2066\x07\n\t\udcfe\udcff]", "\ufffd", name)
    self.assertIn(f"{shown} 2 samples", [inside for _, inside in page.all("h2")])
    titles = [a["title"] for a, _ in page.all("bdi", class_="name")]
    self.assertIn(f"{shown}/0.png", titles)
    self.assertLen(page.all("figure"), 4)

  def test_text_keeps_nothing_that_hides(self):
    self.assertEqual(text("a\u200b\u202e\ue000\x00\ud800<&\"'"), "a\ufffd\ufffd"
                     "\ufffd\ufffd\ufffd&lt;&amp;&quot;&#x27;")  # fmt: skip

  def test_damage(self):
    self._classes({"cat": 6}, "raw:1,l3:1,png:1", replicate=True)
    sound = self._pictures(self._inspect())
    damaged.flip(self.path, 1, "raw")
    for name in ("raw", "l3", "png"):
      damaged.flip(self.path, 4, name)
    page = self._inspect()
    figures = page.all("figure", class_="damaged")
    self.assertEqual([a["id"] for a, _ in figures], ["sample-1", "sample-4"])
    self.assertRegex(figures[0][1], "raw cannot be read: " + damaged.where(
      self.path, 1, "raw") + ": its CRC-32C")  # fmt: skip
    self.assertLen(re.findall("cannot be read", figures[1][1]), 3)
    links = [(a["href"], inside) for a, inside in page.all("a")]
    self.assertEqual(links, [("#sample-1", "#1"), ("#sample-4", "#4")])
    pictures = self._pictures(page)
    self.assertLen(pictures, 5)
    # Of the first, another encoding is sound.
    for one, other in zip(pictures, sound[:4] + sound[5:]):
      np.testing.assert_array_equal(one, other)
    labels = [a["aria-label"] for a, _ in page.all("svg")]
    self.assertEqual(labels.count("no sound encoding"), 1)
    page = self._inspect("--verify", code=1)
    problems = page.all("div", class_="problems")[0][1]
    self.assertLen(re.findall("CRC-32C", problems), 4)

  def test_a_shard_is_gone(self):
    self._classes({"cat": 6}, "raw:1,png:1")
    os.remove(damaged.shard_of(self.path, damaged.samples(self.path, "raw")[0]))
    page = self._inspect(code=1)
    self.assertLen(page.all("figure", class_="damaged"), 3)
    self.assertIn("is missing", page.all("div", class_="problems")[0][1])

  def test_boxes_and_keypoints(self):
    for i in range(2):
      pixels = photos.crop(photos.photo("coffee"), (40, 90), np.random.default_rng(i))
      photos.save(f"{self.root}/images/{i}.png", pixels)
    images = [{"id": i, "file_name": f"{i}.png"} for i in range(2)]
    box = {"category_id": 4, "bbox": [5, 2.5, 10, 20], "keypoints": [6, 7, 2, 0, 0, 0]}
    boxes = [box | {"id": 0, "image_id": 0}]
    boxes += [box | {"id": 1 + k, "image_id": 1} for k in range(60)]
    categories = [{"id": 4, "name": "<i>cat</i>", "keypoints": ["nose", "tail"]}]
    coco = {"images": images, "annotations": boxes, "categories": categories}
    pathlib.Path(f"{self.root}/coco.json").write_text(json.dumps(coco))
    source = liquid_tf.Source(
      f"{self.root}/images", annotations=f"{self.root}/coco.json"
    )
    convert(source, self.path, "l3", progress=False)
    page = self._inspect()
    place = {"x": "5.0", "y": "2.5", "width": "10.0", "height": "20.0"}
    # A line in the class's colour over a dark one; at most 50 boxes an image.
    self.assertLen(page.all("rect", **place), 2 * (1 + 50))
    self.assertLen(page.all("path", class_="point", d="M6.0 7.0h.01"), 1 + 50)
    self.assertLen(page.all("svg", viewbox="0 0 90 40"), 2)
    one, many = (inside for _, inside in page.all("figure"))
    self.assertIn("1 box: <i>cat</i> × 1", one)
    self.assertIn("60 boxes: <i>cat</i> × 60", many)
    self.assertIn("50 of them are drawn", many)
    self.assertEqual(page.all("h2")[0][1], "All samples 2 samples")
    self.assertLen(page.all("input", id="show-boxes"), 1)

  def test_masks(self):
    random = np.random.default_rng(0)
    pixels = photos.crop(photos.photo("coffee"), (40, 30), random)
    photos.save(f"{self.root}/images/0.png", pixels)
    mask = np.zeros((40, 30), np.uint8)
    mask[:20] = 3
    photos.save(f"{self.root}/masks/0.png", mask)
    source = liquid_tf.Source(f"{self.root}/images", masks=f"{self.root}/masks")
    convert(source, self.path, "l3", progress=False)
    page = self._inspect()
    kinds = [a["class"] for a, _ in page.all("image")]
    self.assertEqual(kinds, ["pixels", "mask pixels"])
    plain, over = (picture.astype(int) for picture in self._pictures(page))
    colour = np.array(thumbnail._rgb(3))
    self.assertLess(np.abs(over[:12] - (plain[:12] + colour) / 2).mean(), 10)
    self.assertLess(np.abs(over[28:] - plain[28:]).mean(), 3)
    self.assertLen(page.all("input", id="show-masks"), 1)

  @parameterized.product(bits=(8, 16), channels=(1, 2, 3, 4))
  def test_every_kind_of_image(self, bits, channels):
    os.makedirs(f"{self.root}/source")
    dtype = np.uint16 if bits == 16 else np.uint8
    rows, columns = np.indices((30, 40))
    pixels = np.repeat((rows + columns)[..., np.newaxis] + 100, channels, 2)
    if channels in (2, 4):
      pixels[..., -1] = 2**bits - 1 if bits == 8 else pixels.max()
    contents = codecs.encode(pixels.astype(dtype), "png").numpy()
    pathlib.Path(f"{self.root}/source/0.png").write_bytes(contents)
    convert(f"{self.root}/source", self.path, "l3", progress=False)
    page = self._inspect()
    [picture] = self._pictures(page)
    low, high = picture[0, 0].astype(int), picture[-1, -1].astype(int)
    if bits == 16:
      self.assertIn(
        "16 bits, from its least to its greatest value", page.all("figure")[0][1]
      )
      self.assertLess(low.max(), 20)
      self.assertGreater(high.min(), 235)
    else:
      np.testing.assert_allclose(low, 100, atol=8)
      np.testing.assert_allclose(high, 168, atol=8)

  def test_noise_has_few_bytes_too(self):
    random = np.random.default_rng(0)
    noise = random.integers(0, 256, (500, 500, 3), np.uint8)
    picture = Image.fromarray(noise[: thumbnail.SIDE, : thumbnail.SIDE])
    uri = thumbnail.data_uri(picture)
    self.assertLessEqual(len(uri), thumbnail.MOST_BYTES * 4 // 3 + 30)
    seen = thumbnail.picture(noise)
    self.assertEqual(seen.size, (thumbnail.SIDE, thumbnail.SIDE))

  def test_see_through(self):
    clear = np.zeros((16, 16, 4), np.uint8)
    squares = np.asarray(thumbnail.picture(clear))
    self.assertEqual(set(squares[..., 0].ravel().tolist()), {150, 200})

  def test_pages_of_many_classes_are_bounded(self):
    self._classes({f"c{i}": 3 for i in range(6)})
    view = liquid_tf.open(self.path)
    found = groups.groups(view, 100)
    self.assertEqual([len(group.positions) for group in found], [3] * 6)
    most, groups.MOST = groups.MOST, 4
    try:
      found = groups.groups(view, 100)
    finally:
      groups.MOST = most
    self.assertEqual([len(group.positions) for group in found], [1, 1, 1, 1, 0, 0])
    self.assertEqual([group.count for group in found], [3] * 6)
    self.assertEqual(groups._spread(np.arange(100), 4), [0, 33, 66, 99])
    self.assertEqual(groups._spread(np.arange(100), 1), [0])

  def test_flags(self):
    self._classes({"cat": 2})
    done = commands.run("inspect", self.path, "--html=x.html", "--thumbnails=0")
    self.assertEqual(done.returncode, 2, done.stderr)
    done = commands.run("inspect", self.path, f"--html={self.root}/no/x.html")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn(f"{self.root}/no/x.html", done.stderr)
    done = commands.run("inspect", self.path, f"--html={self.page}", "--json")
    self.assertEqual(json.loads(done.stdout)["html"], self.page)
    self.path = f"{self.root}/source"
    done = commands.run("inspect", self.path, f"--html={self.root}/none.html")
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertFalse(os.path.exists(f"{self.root}/none.html"))


if __name__ == "__main__":
  absltest.main()
