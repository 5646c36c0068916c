"""Advice, file and page of a profile whose measurements are made up."""

import html.parser
import itertools
import json
import os
import pathlib
import re
import statistics
from unittest import mock

from absl.testing import absltest, parameterized

from liquid_tf._convert import pipelines
from liquid_tf._cost import model, planner
from liquid_tf._profile import arguments, outcome, result, sample, verify
from liquid_tf._profile.probe import Run, Setting
from liquid_tf._profile.profile import Profile
from liquid_tf.transforms import Channels

_PIXELS = 3_000_000
# Stored bytes, loads and decodes in images per second.
_FORMATS = {
  "png": (1_600_000, 300.0, 90.0),
  "raw": (3_000_000, 160.0, 2000.0),
  "l3": (1_500_000, 320.0, 600.0),
  "pcr": (1_000_000, 400.0, 300.0),
  "pcr@5": (1_000_000, 800.0, 500.0),
}
_READ = {"pcr": (10, 1e6, 1.0), "pcr@5": (5, 5e5, 0.97)}
_PCR = {"images": 64, "groups": None}


def fabricated(
  formats=("png", "raw"),
  *,
  gain=1.0,
  alone_gain=1.0,
  noise=0.02,
  step_ms=None,
  own_format="png",
  at_stake=0.02,
  least_mssim=None,
  **has,
) -> Profile:
  """A profile of rates that are given, through everything that follows from them.

  Args:
    formats: of _FORMATS.
    gain: how many times faster the mix runs than it is predicted to.
    alone_gain: likewise the best format alone.
    noise: share that runs differ by.
    step_ms: of the training.
    own_format: of the source's images.
    at_stake: share of the speed that another mix may have more.
    least_mssim: of scan groups.
    **has: what the machine has, as `model.Machine`.
  """
  wave = [1 - noise, 1.0, 1 + noise]
  costs, runs = {}, {}
  for name in formats:
    stored, load, decode = _FORMATS[name]
    scans = None
    if name in _READ:
      group, read, mssim = _READ[name]
      enough = group == 10 or (least_mssim is not None and mssim >= least_mssim)
      scans = model.ScanGroup(group, 10, read, mssim, enough)
    costs[name] = model.FormatCost(
      stored, 1 / load, 5e-4, 1 / decode, 0.05, True, scans=scans
    )
    runs[name] = {
      "load": [Run(load * w, 1e-3, load * stored) for w in wave],
      "decode": [Run(decode * w, 2 / decode, 0.0) for w in wave],
    }
  copy = costs["raw"].decode_seconds
  machine = model.Machine(1000, _PIXELS, copy_seconds=copy, **has)
  single = planner.best_single(costs, machine)
  advised = planner.best_mix(costs, machine)
  rate = model.predict(costs, machine.of_last_runs, advised.mix).throughput * gain
  alone = model.predict(costs, machine.of_last_runs, single.mix).throughput * alone_gain
  mixed = advised.mix != single.mix
  data = result.build(
    outcome.Findings(
      encoded=sample.Encoded(
        images=48,
        pixel_bytes=[_PIXELS] * 48,
        stored_bytes={n: [_FORMATS[n][0] + i for i in range(48)] for n in formats},
        seconds=dict.fromkeys(formats, 0.05),
      ),
      costs=costs,
      runs=runs,
      machine=machine,
      blocks={1 << 20: 4.8e8},
      advised=advised,
      single=single,
      at_stake=at_stake,
      measured=[],
      verified=verify.Verified(
        mix=[rate * w for w in wave] if mixed else [],
        single=[alone * w for w in wave[::-1]],
        stock=[60.0, 61.0, 59.0],
        stock_format="png",
        stock_skipped=None,
        stock_bytes=10**6,
      ),
      setting=Setting("short", "long", 8, 2, 1 << 30, 1.0, ()),
      options=arguments.Options(
        formats=list(formats),
        strategy="lp",
        trials=3,
        seconds=1.0,
        batch_size=32,
        threads=2,
        cache=0,
        reserve=machine.reserve,
        space=None,
        step_ms=step_ms,
        transforms=(),
        decode="cpu",
        resources={},
        encoding=pipelines.Encoding(3, None, 60, 16, "keep", 6, 90, "best"),
        seed=0,
        pcr=_PCR if "pcr" in formats else None,
        least_mssim=least_mssim,
      ),
      own_format=own_format,
      written=10**8,
    )
  )
  evidence = {
    "cpu": "a processor",
    "cpus": 2,
    "disk": {"filesystem": "ext4", "device": "/dev/vda"},
    "versions": {"liquid_tf": "0"},
    "load_before": 0.0,
  }
  extra = {"source": "photos & <more>", "seconds": 60.0, "evidence": evidence}
  return Profile(data | extra)


class _Page(html.parser.HTMLParser):
  """Collects what a page refers to, and what it says."""

  def __init__(self, text):
    super().__init__()
    self.tags, self.links, self.words = [], [], ""
    self.feed(text)

  def handle_starttag(self, tag, attrs):
    self.tags.append(tag)
    self.links += [value for key, value in attrs if key in ("src", "href", "data")]

  def handle_data(self, data):
    self.words += data


class VerdictTest(parameterized.TestCase):
  def test_a_gain_that_was_measured(self):
    found = fabricated()
    self.assertRegex(
      found.verdict,
      r"^Mix png:\d+,raw:\d+: measured at \d\.\d\d times \(\d\.\d\d to \d\.\d\d, 95%\) "
      r"the speed of raw, the best single format; \d+ \(\d+ to \d+\) images/s "
      r"measured\. ",
    )
    self.assertTrue(found.data["gain"]["measured"])
    self.assertLen(found.mix, 2)

  def test_a_gain_that_may_be_none(self):
    found = fabricated(gain=0.87, noise=0.1)
    self.assertIn("which may be no gain at all", found.verdict)
    self.assertLen(found.mix, 2)

  def test_runs_that_are_not_as_predicted_are_told(self):
    sentence = (
      r"But runs of png:39,raw:61 gave (\d+) images/s where (\d+) were predicted"
    )
    for gain in (0.8, 1.3):
      found = fabricated(gain=gain)
      (figures,) = re.findall(sentence, found.verdict)
      self.assertAlmostEqual(int(figures[0]) / int(figures[1]), gain, delta=0.02)
    for gain in (0.9, 1.1):
      self.assertNotRegex(fabricated(gain=gain).verdict, sentence)

  @parameterized.parameters(0.9, 1.1)
  def test_what_runs_gave_is_what_is_predicted(self, gain):
    found = fabricated(gain=gain).data
    self.assertAlmostEqual(
      found["predicted"], statistics.median(found["verified"]["mix"])
    )
    low, high = found["predicted_interval"]
    said = f"; {found['predicted']:.0f} ({low:.0f} to {high:.0f}) images/s measured."
    self.assertIn(said, found["verdict"])
    # Student's interval of three rounds that differ by 2%.
    self.assertAlmostEqual(low / found["predicted"], 0.952, delta=0.003)
    self.assertAlmostEqual(high / found["predicted"], 1.051, delta=0.003)

  def test_a_mix_that_is_not_known_well_is_advised_with_what_it_may_lose(self):
    sentence = "after 3 of them another mix may be up to 25% faster (95%)."
    self.assertIn(sentence, fabricated(at_stake=0.2).verdict)
    self.assertEqual(fabricated(at_stake=0.2).data["at_stake"], 0.2)
    self.assertNotIn("another mix", fabricated().verdict)

  def test_what_it_assumes_of_the_cache_and_compares_with_is_told(self):
    self.assertEndsWith(
      fabricated().verdict,
      " 195 (185 to 205) images/s measured. This assumes no cache; it is 3.2 times "
      "stock tf.data, 2.3 times png alone as predicted, the format of the source. The "
      "dataset takes 2.5 GB on disk.",
    )
    self.assertRegex(
      fabricated(cache_share=0.3).verdict,
      r"This assumes that memory holds 30% of the images .*; it is \d.\d times stock "
      r"tf.data without a cache, ",
    )
    # Stock tf.data has such files in the page cache.
    self.assertRegex(
      fabricated(cache_share=1.0).verdict, r"holds all .* times stock tf.data, \d"
    )
    self.assertNotIn("the format of the source", fabricated(own_format="jpeg").verdict)

  @parameterized.parameters({"cache_share": 0.3}, {"reserve": 0.3})
  def test_a_prediction_has_what_was_wrong_of_the_runs(self, **has):
    exact, slower = (fabricated(gain=gain, **has).data for gain in (1.0, 0.9))
    self.assertAlmostEqual(slower["predicted"], 0.9 * exact["predicted"])
    # It is as wrong of other machines; other mixes were not run.
    for row, wanted in zip(slower["what_if"], exact["what_if"], strict=True):
      self.assertEqual(row["gain"], wanted["gain"])
      self.assertAlmostEqual(row["predicted"], 0.9 * wanted["predicted"])
    self.assertEqual(slower["curve"], exact["curve"])

  def test_runs_say_nothing_of_a_resource_that_they_do_not_have(self):
    rate = fabricated().data["predicted"]
    # A network that allows all but a twentieth of that, whatever the format.
    seconds = dict.fromkeys(("png", "raw"), 1 / (0.95 * rate))
    resources = {"net": model.Resource(seconds)}
    for gain, limits in ((1.1, ["net"]), (1.0, ["net"]), (0.88, ["load", "decode"])):
      found = fabricated(gain=gain, resources=resources).data
      self.assertIn(found["limit"], limits)
      self.assertLessEqual(found["predicted"], 0.95 * rate * 1.000001)
      if limits == ["net"]:
        self.assertAlmostEqual(found["predicted"], 0.95 * rate)
      else:
        self.assertLess(found["predicted"], 0.93 * rate)

  def test_a_mix_that_is_slower_is_not_advised(self):
    found = fabricated(gain=0.5)
    self.assertRegex(
      found.verdict, r"^raw alone is best: 160 \(.*\) images/s measured; the mix png:"
    )
    self.assertEqual(found.mix, {"raw": 1.0})

  def test_one_format_that_is_best(self):
    found = fabricated(("png", "l3", "raw"))
    self.assertIn("l3 alone is best", found.verdict)
    self.assertIsNone(found.data["gain"])

  def test_with_a_cache_the_gain_is_measured(self):
    found = fabricated(cache_bytes=5 * 10**8)
    self.assertTrue(found.data["gain"]["measured"])
    self.assertIn("measured at", found.verdict)
    self.assertIn(found.data["memory"]["better"], ("encoded", "pixels"))

  @parameterized.parameters(
    ({"reserve": 0.5},),
    ({"resources": {"bus": model.Resource({"png": 1 / 200, "raw": 0})}},),
  )
  def test_runs_without_what_limits_the_training_do_not_overturn_the_advice(self, has):
    # On all processors png alone is faster than the mix, and in the training slower.
    formats = {"png": (1_600_000, 300.0, 400.0), "raw": (3_000_000, 160.0, 2000.0)}
    with mock.patch.dict(_FORMATS, formats):
      found = fabricated(**has)
    self.assertLess(min(found.data["verified"]["mix"]), 290)
    self.assertGreater(min(found.data["verified"]["single"]), 290)
    self.assertLen(found.mix, 2)
    self.assertFalse(found.data["gain"]["measured"])
    self.assertGreater(found.data["gain"]["mean"], 1.1)
    self.assertNotIn("But runs", found.verdict)
    # What was measured is on all processors, which the training has not.
    self.assertRegex(found.verdict, r"; \d+ \(\d+ to \d+\) images/s predicted\. ")
    self.assertIn("of the source, on all processors. ", found.verdict)

  @parameterized.parameters(
    (10_000, "None of it matters", False, False),
    (32e3 / 150, "The mix does not matter", True, False),
    (32e3 / 180, "The mix matters", True, True),
    (1, "held up in any case", True, True),
  )
  def test_what_it_means_for_a_training(self, step_ms, sentence, matters, mix_matters):
    found = fabricated(step_ms=step_ms)
    training = found.data["training"]
    self.assertIn(sentence, training["sentence"])
    self.assertEqual(training["matters"], matters)
    self.assertEqual(training["mix_matters"], mix_matters)
    self.assertStartsWith(found.verdict, training["sentence"])
    self.assertEqual(repr(found), f"<Profile: {found.verdict}>")
    # What does not matter is neither advised nor doubted.
    self.assertEqual("Mix png" in found.verdict, mix_matters)
    self.assertEqual(found.mix == {"raw": 1.0}, not mix_matters)
    self.assertEqual("This assumes" in found.verdict, matters)

  @parameterized.product(
    formats=(("raw",), ("png", "raw"), ("png", "l3", "raw"), ("raw", "pcr", "pcr@5")),
    has=(
      {},
      {"cache_share": 1.0},
      {"cache_bytes": 10**9},
      {"cache_bytes": 10**11},
      {"reserve": 0.5},
    ),
  )
  def test_no_two_sentences_disagree(self, formats, has):
    for step_ms, gain, alone_gain, noise in itertools.product(
      (None, 10_000, 32e3 / 150, 1), (0.5, 1.0, 1.3), (0.8, 1.2), (0.0, 0.1)
    ):
      found = fabricated(
        formats, step_ms=step_ms, gain=gain, alone_gain=alone_gain, noise=noise, **has
      )
      data, said, training = found.data, found.verdict, found.data["training"]
      if training and not training["matters"]:
        self.assertEqual(said, training["sentence"])
      if training and not training["mix_matters"]:
        self.assertNotRegex(said, "profile once more|another mix|Mix |is best|pixels")
      # One figure a pipeline, in the table and in words.
      name, alone = data["best_single"]["format"], data["best_single"]["predicted"]
      self.assertAlmostEqual(data["formats"][name]["predicted"], alone)
      for figure in re.findall(rf"{name} alone (?:gives|is best:) (\d+)", said):
        self.assertEqual(figure, f"{alone:.0f}")
      if data["mix"] == {name: 1.0} and data["cache_form"] == "encoded":
        self.assertEqual(data["predicted"], alone)
        self.assertNotIn("the mix gives", said)
      # Of all formats that may be advised alone, the best is the fastest.
      rates = [
        entry["predicted"]
        for entry in data["formats"].values()
        if entry["scans"] is None or entry["scans"]["enough"]
      ]
      self.assertAlmostEqual(max(rates), alone)
      # Advice is of what is converted, and of nothing beside it.
      self.assertEqual(data["cache_form"] == "pixels", "Cache(form" in said)
      self.assertLessEqual(said.count("is best") + said.count("Memory is better"), 1)
      if "images/s measured" in said:
        runs = (data["verified"]["mix"], data["verified"]["single"])
        self.assertIn(
          re.findall(r"(\d+) \([^()]*\) images/s measured", said)[0],
          [f"{statistics.median(rates):.0f}" for rates in runs],
        )

  def test_other_machines_are_beside_what_is_advised_for_this_one(self):
    for gain in (1.0, 0.5):
      data = fabricated(gain=gain).data
      self.assertNotEmpty(data["what_if"])
      for row in data["what_if"]:
        self.assertAlmostEqual(row["gain"], row["predicted"] / data["predicted"])

  def test_a_scan_group_that_is_enough_is_told_with_what_it_loses(self):
    found = fabricated(("raw", "pcr", "pcr@5"), least_mssim=0.95)
    self.assertEqual(found.fidelity, 5)
    self.assertIn("pcr", found.mix)
    self.assertRegex(found.verdict, r"^Mix raw:\d+,pcr@5:\d+: measured at ")
    self.assertEndsWith(
      found.verdict,
      " pcr@5 is pcr read through scan group 5 of 10, by dataset(fidelity=5): 500.0 "
      "of 1000.0 KB an image, which loses detail (MSSIM 0.9700).",
    )
    self.assertEqual(
      found.data["formats"]["pcr@5"]["scans"],
      {"group": 5, "of": 10, "read_bytes": 5e5, "mssim": 0.97, "enough": True},
    )
    self.assertEqual(found.data["setting"]["least_mssim"], 0.95)

  @parameterized.parameters(None, 0.98)
  def test_a_scan_group_that_is_not_enough_is_told_and_not_advised(self, least_mssim):
    found = fabricated(("raw", "pcr", "pcr@5"), least_mssim=least_mssim)
    self.assertIsNone(found.fidelity)
    self.assertNotIn("pcr@5:", found.verdict)
    self.assertRegex(
      found.verdict,
      r"least_mssim=0.97 or less, pcr read through scan group 5 is predicted to give "
      r"1\.\d\d times",
    )

  def test_memory_keeps_no_pixels_of_pcr(self):
    found = fabricated(("raw", "pcr"), cache_bytes=10**9)
    self.assertEqual(found.data["memory"]["pixels"]["mix"], {"raw": 1.0})
    # Only pcr has the space, so there is nothing to compare.
    little = fabricated(("raw", "pcr"), cache_bytes=10**9, space_bytes=10**9)
    self.assertIsNone(little.data["memory"])
    self.assertEqual(little.mix, {"pcr": 1.0})

  def test_other_machines(self):
    rows = fabricated().data["what_if"]
    by_change = {row["change"]: row for row in rows}
    self.assertGreater(by_change["twice the disk"]["gain"], 1)
    self.assertGreaterEqual(by_change["twice the processors"]["gain"], 1)
    self.assertLess(by_change["half the disk"]["gain"], 1)
    # All that the set takes, which is less than 4 GB.
    self.assertGreater(by_change["2.6 GB more of memory"]["gain"], 1)

  @parameterized.parameters(
    ({"cache_bytes": 10**11}, []),
    ({"cache_share": 1.0}, []),
    ({"cache_share": 0.0}, ["twice the disk", "half the disk"]),
    ({"cache_share": 0.7}, ["twice the disk", "half the disk", "100% cached"]),
  )
  def test_no_other_machine_has_more_of_what_is_not_used(self, has, changes):
    rows = fabricated(**has).data["what_if"]
    self.assertEqual(
      [row["change"] for row in rows], ["twice the processors", *changes]
    )


class CacheAsTest(absltest.TestCase):
  def test_encoded_where_pixels_gain_nothing(self):
    for cache_bytes in (0, 5 * 10**8, 2 * 10**9):
      found = fabricated(cache_bytes=cache_bytes)
      self.assertEqual(found.cache_form, "encoded")
      self.assertNotIn("Cache(form", found.verdict)

  def test_pixels_where_memory_has_room_for_them_and_the_disk_has_not(self):
    # Decoding is slow, and the disk too slow for raw pixels.
    formats = {"png": (1_000_000, 1000.0, 30.0), "raw": (3_000_000, 10.0, 2000.0)}
    with mock.patch.dict(_FORMATS, formats):
      found = fabricated(cache_bytes=15 * 10**8)
    memory = found.data["memory"]
    self.assertEqual(memory["better"], "pixels")
    self.assertEqual(found.cache_form, "pixels")
    # The mix that is converted is the one that goes with it, and so is what is said.
    self.assertEqual(found.mix, memory["pixels"]["mix"])
    self.assertEqual(found.data["predicted"], memory["pixels"]["predicted"])
    self.assertGreater(found.data["predicted"], 1.15 * memory["encoded"]["predicted"])
    self.assertRegex(
      found.verdict,
      r'Memory is better spent on decoded pixels \(Cache\(form="pixels"\)\), with '
      r"[a-z0-9:,]+: \d+ images/s predicted, \d+ with encoded bytes\. ",
    )


class FileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, "profile.json")

  def test_comes_back(self):
    found = fabricated()
    found.to_json(self.path)
    self.assertEqual(Profile.from_json(self.path).data, json.loads(found.to_json()))
    self.assertEqual(Profile.from_json(self.path).mix, found.mix)
    self.assertEqual(Profile.from_json(self.path).cache_form, "encoded")
    self.assertEqual(
      Profile.from_json(self.path).encoders["jpeg"],
      {"quality": 60, "index": 16, "progressive": "keep"},
    )
    self.assertEqual(found.transforms, (Channels(3),))
    self.assertIsNone(Profile.from_json(self.path).fidelity)
    self.assertNotIn("pcr", found.encoders)

  def test_a_scan_group_comes_back(self):
    found = fabricated(("raw", "pcr", "pcr@5"), least_mssim=0.95)
    found.to_json(self.path)
    self.assertEqual(Profile.from_json(self.path).fidelity, 5)
    self.assertEqual(Profile.from_json(self.path).mix, found.mix)
    self.assertEqual(Profile.from_json(self.path).encoders["pcr"], _PCR)

  @parameterized.parameters(
    (lambda data: data.pop("mix"), "has no 'mix'"),
    (lambda data: data.update(schema=1), "has schema 1, and this version reads 2"),
    (lambda data: data.pop("fidelity"), "has no 'fidelity'"),
    (
      lambda data: data.update(fidelity=5),
      "fidelity (5) must be null, or the scan group",
    ),
    (lambda data: data.update(fidelity=0, mix={"pcr": 1}), "fidelity (0) must be"),
    (
      lambda data: data.update(fidelity=True, mix={"pcr": 1}),
      "fidelity (True) must be",
    ),
    (
      lambda data: data.update(mix={"pcr": 1}),
      "pcr (None) must give images and groups",
    ),
    (
      lambda data: data["setting"].update(pcr={"images": 64}),
      "pcr ({'images': 64}) must give images and groups",
    ),
    (
      lambda data: data["setting"].update(pcr={"images": 0, "groups": None}),
      'encoders["pcr"]["images"] (0) must be',
    ),
    (lambda data: data.update(mix={"gif": 1}), 'format ("gif") must be one of'),
    (lambda data: data.update(mix={"png": float("nan")}), "must give shares"),
    (lambda data: data.update(mix=["png"]), "must give shares"),
    (lambda data: data.update(mix={}), "must name at least one"),
    (lambda data: data.pop("cache_form"), "has no 'cache_form'"),
    (lambda data: data.update(cache_form="raw"), 'cache_form ("raw") must be one of'),
    (lambda data: data["setting"].pop("encoding"), "encoding (None) must give"),
    (lambda data: data["setting"].update(encoding=[6]), "encoding ([6]) must give"),
    (
      lambda data: data["setting"]["encoding"].pop("channels"),
      "must give bits, channels, ",
    ),
    (
      lambda data: data["setting"]["encoding"].update(jpeg_quality="60"),
      'encoders["jpeg"]["quality"] ("60") must be',
    ),
  )
  def test_a_wrong_one_is_refused(self, change, message):
    data = json.loads(fabricated().to_json())
    change(data)
    pathlib.Path(self.path).write_text(json.dumps(data))
    with self.assertRaisesRegex(ValueError, re.escape(message)):
      Profile.from_json(self.path)

  @parameterized.parameters(b"", b"[1]", b"\xff\xfe", b"[" * 100_000)
  def test_bytes_that_are_none(self, contents):
    pathlib.Path(self.path).write_bytes(contents)
    with self.assertRaisesRegex(ValueError, "is no profile"):
      Profile.from_json(self.path)


class ReportTest(absltest.TestCase):
  def test_needs_nothing_else(self):
    path = os.path.join(self.create_tempdir().full_path, "profile.html")
    found = fabricated(("png", "l3", "raw"), step_ms=1, cache_bytes=10**9)
    found.report(path)
    text = pathlib.Path(path).read_text(encoding="utf-8")
    page = _Page(text)
    self.assertNotIn("script", page.tags)
    self.assertLen(page.links, 2)
    for link in page.links:
      self.assertStartsWith(link, "data:image/svg+xml;base64,")
    self.assertNotIn("@import", text)
    self.assertNotRegex(text, r"url\(")
    self.assertIn("photos & <more>", page.words)
    self.assertEqual(page.words.count(found.verdict), 1)
    for words in ("twice the disk", "stock tf.data", "Memory", "Converting"):
      self.assertIn(words, page.words)

  def test_scan_groups_have_their_similarity(self):
    path = os.path.join(self.create_tempdir().full_path, "profile.html")
    found = fabricated(("raw", "pcr", "pcr@5"), least_mssim=0.95)
    found.report(path)
    words = _Page(pathlib.Path(path).read_text(encoding="utf-8")).words
    self.assertRegex(words, r"in what mix: raw:\d+,pcr@5:\d+")
    for text in (
      "MSSIM",
      "0.9700",
      "500.0 KB",
      "pcr@5 is pcr read through scan group 5",
    ):
      self.assertIn(text, words)
    self.assertEqual(found.data["curve"]["raw"], "raw")

  def test_no_value_of_a_file_is_markup(self):
    path = os.path.join(self.create_tempdir().full_path, "profile.html")
    data = json.loads(fabricated().to_json())
    markup = "<script>"
    data |= {"samples": markup, "sampled": markup, "verdict": markup}
    data["setting"] |= dict.fromkeys(("batch_size", "threads", "trials"), markup)
    data["evidence"] |= dict.fromkeys(("cpu", "cpus", "load_before"), markup)
    Profile(data).report(path)
    page = _Page(pathlib.Path(path).read_text(encoding="utf-8"))
    self.assertNotIn("script", page.tags)
    self.assertEqual(page.words.count(markup), 9)

  def test_plot(self):
    figure = fabricated().plot()
    # The curve, and triangles of png, raw and their mix.
    self.assertLen(figure.axes, 1 + 3)

  def test_one_format_alone(self):
    path = os.path.join(self.create_tempdir().full_path, "profile.html")
    found = fabricated(("raw",))
    self.assertEqual(found.mix, {"raw": 1.0})
    found.report(path)


if __name__ == "__main__":
  absltest.main()
