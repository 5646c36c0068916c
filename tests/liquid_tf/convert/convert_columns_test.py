"""Labels and columns of tables: as people have them, into a dataset and out of it."""

import json
import os
import pathlib
from unittest import mock

import numpy as np
import photos
from absl.testing import absltest, parameterized

import liquid_tf
from liquid_tf._store import manifest
from liquid_tf._view import table as where_table
from liquid_tf.cli.gallery import write
from liquid_tf.errors import ConvertError

_NAMES = ("a", "b", "c", "d")


class ColumnsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    random = np.random.default_rng(7)
    for name in _NAMES:
      pixels = random.integers(0, 256, (6, 8, 3), np.uint8)
      photos.save(self.root / f"images/{name}.png", pixels)

  def _write(self, name, *lines) -> str:
    path = self.root / name
    lines = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(lines))
    return os.fspath(path)

  def _convert(self, *annotations, name="d", source=None, **more) -> str:
    output = os.fspath(self.root / name)
    folder = os.fspath(self.root / (source or "images"))
    given = liquid_tf.Source(folder, annotations=annotations, **more)
    self.report = liquid_tf.convert(
      given, output, "png:1,raw:1", existing="replace", progress=False
    )
    return output

  def _labels(self, path) -> list:
    """Of the samples by their names: names of classes, numbers or lists of them."""
    view = liquid_tf.open(path)
    found = {sample["name"]: sample["label"].tolist() for sample in view}
    return [
      found[name] if view.classes is None else view.classes[found[name]]
      for name in sorted(found)
    ]

  @parameterized.parameters(
    ("id,label", ["dog", "cat", "dog", "owl"], ["cat", "dog", "owl"]),
    ("image,target", ["007", "1e3", "True", "1_000"], ["007", "1_000", "1e3", "True"]),
    ("filename,class", ["7", "7.0", "x", "1"], ["1", "7", "7.0", "x"]),
    ("file_name,label", ["2", "0", "1", "2"], None),
    ("path,label", ["2.0", "0.0", "1.0", "2.0"], None),
    ("path,label", ["45", "50", "61.0", "33"], None),
    ("name,label", ["0.5", "-2", "1e3", "3"], None),
  )
  def test_labels_of_a_csv(self, head, cells, classes):
    stem = {"file_name": ".png", "filename": ".png"}.get(head.split(",")[0], "")
    rows = [f"{name}{stem},{cell}" for name, cell in zip(_NAMES, cells)]
    path = self._convert(self._write("t.csv", head, *rows))
    loaded = manifest.load(path)
    self.assertEqual(loaded.classes, classes)
    found = self._labels(path)
    if classes is not None:
      self.assertEqual(found, cells)
    elif "." in "".join(cells):
      self.assertEqual(found, [[float(cell)] for cell in cells])
    else:
      self.assertEqual(found, [int(float(cell)) for cell in cells])
    self.assertEqual(loaded["supervised"], ["image", "label"])
    self.assertEqual(liquid_tf.verify(path)["problems"], [])

  @parameterized.parameters("csv", "jsonl")
  def test_tags_are_a_vector(self, kind):
    tags = [("x", "y", "z"), (1, 0, 1), (0, 0, 0), (1, 1, 1), (0, 1, 0)]
    if kind == "csv":
      rows = [",".join(map(str, row)) for row in tags]
      lines = [f"{n},{row}" for n, row in zip(("id", *_NAMES), rows)]
    else:
      lines = [
        {"id": n, **dict(zip(tags[0], map(bool, row)))}
        for n, row in zip(_NAMES, tags[1:])
      ]
    table = self._write(f"t.{kind}", *lines)
    path = self._convert(table, label_column=["z", "x", "y"])
    self.assertEqual(manifest.load(path)["features"]["label"]["shape"], [3])
    self.assertEqual(self._labels(path), [[z, x, y] for x, y, z in tags[1:]])
    chosen = liquid_tf.open(path).where(lambda t: t["label"][:, 1] == 1)
    self.assertEqual(chosen.names(chosen.numbers), ["a.png", "c.png"])
    lists = [{"image": n, "target": row} for n, row in zip(_NAMES, tags[1:])]
    again = self._convert(self._write("lists.jsonl", *lists), name="e")
    self.assertEqual(self._labels(again), list(map(list, tags[1:])))

  @parameterized.parameters(
    (["id,label", "a,dog", "b,cat", "c,dog", "d,dog"], None, 'label == "cat"', "b"),
    (["id,x,y", "a,1,0", "b,0,1", "c,1,1", "d,0,0"], ["x", "y"], None, "bc"),
    (["id,target", "a,.5", "b,2.25", "c,-1", "d,0"], None, None, "b"),
  )
  def test_labels_go_all_the_way(self, lines, column, condition, chosen):
    path = self._convert(self._write("t.csv", *lines), label_column=column)
    view = liquid_tf.open(path)
    labels = view["label"]
    data = liquid_tf.dataset(path, 3, features=["label", "id"])
    for batch in data:
      np.testing.assert_array_equal(batch["label"], labels[batch["id"]])
    found = view.where(condition or (lambda t: t["label"][:, -1] >= 1))
    self.assertEqual(found.names(found.numbers), [f"{name}.png" for name in chosen])
    first = labels.reshape(4, -1)[:, 0]
    drawn = view.weighted(np.maximum(first, 0))
    self.assertEqual(drawn.numbers.tolist(), np.flatnonzero(first > 0).tolist())
    page = os.fspath(self.root / "page.html")
    write.write(path, liquid_tf.inspect(path), page, 4, liquid_tf.codecs.Limits())
    text = pathlib.Path(page).read_text()
    self.assertIn("<bdi>cat</bdi>" if condition else f"label: {first[1]:g}", text)
    for to in ("rec", "tfrecord"):
      out, back = os.fspath(self.root / to), os.fspath(self.root / f"{to}.liquid")
      liquid_tf.export(path, out, to=to, progress=False)
      liquid_tf.convert(f"{out}/*.{to}", back, "l3", progress=False)
      same = {
        one["image"].tobytes(): one["label"].tolist() for one in liquid_tf.open(back)
      }
      self.assertEqual(
        same, {one["image"].tobytes(): one["label"].tolist() for one in view}
      )
      self.assertEqual(liquid_tf.open(back).classes, view.classes)

  def test_columns_that_are_named(self):
    table = self._write("t.csv", "id,photo,kind,label", "1,a,u,x", "2,b,v,x", "3,c,u,x")
    with self.assertRaisesRegex(ConvertError, "column id must have a name that noth"):
      self._convert(table, name_column="photo", label_column="kind")
    table = self._write("t.csv", "n,photo,kind", "1,a,u", "2,b,v", "3,c,u")
    with self.assertRaisesRegex(ConvertError, "1 without a label, as d.png: has no"):
      self._convert(table, name_column="photo", label_column="kind")
    os.remove(self.root / "images/d.png")
    path = self._convert(table, name_column="photo", label_column="kind")
    self.assertEqual(self._labels(path), ["u", "v", "u"])
    for more, message in (
      ({"name_column": "foto"}, 'name_column ("foto") must be a column of '),
      ({"label_column": "sort"}, 'label_column ("sort") must be a column of '),
      ({"label_column": ["kind", "q"]}, 'label_column ("kind") must be a column of '),
    ):
      with self.assertRaises(ConvertError) as caught:
        self._convert(table, **({"name_column": "photo"} | more))
      self.assertStartsWith(str(caught.exception), f"{message}{table}")

  def test_no_label_where_none_is_wanted(self):
    table = self._write("t.csv", "file_name,target", *(f"{n},3" for n in _NAMES))
    with self.assertRaisesRegex(ValueError, "label_column .* needs annotations"):
      liquid_tf.Source(self.root / "images", label_column="target")
    path = self._convert(table, label_column="")
    self.assertNotIn("label", manifest.load(path)["features"])

  @parameterized.parameters(
    (
      ["id,label", "a,1", "b,x", "c,", "d,2"],
      "1 without a label, as c.png: has no label, but",
    ),
    (
      ["id,label", "a,1", "b,nan", "c,1", "d,2"],
      "line 3: its label .nan. must be a fi",
    ),
    (["id,label", "a,1", "b,16777216", "c,1", "d,2"], "line 3: its label .16777216"),
    (["id,label", "a,Cat", "b,cat", "c,cat", "d,cat"], "t.csv has the labels .*differ"),
    (["id,label", "a,1", "a,2"], "has two rows of a: a row is an image, unless"),
    (["id,label", "a,1", "z,2"], "is annotated in .*t.csv, but is no image below"),
  )
  def test_labels_that_are_wrong(self, lines, message):
    with self.assertRaisesRegex(ConvertError, message):
      self._convert(self._write("t.csv", *lines))

  def test_a_vector_that_lacks_a_number(self):
    table = self._write("t.csv", "id,u,v", "a,1,1", "b,,2", "c,1,2", "d,3,4")
    with self.assertRaisesRegex(ConvertError, r"b.png.*t.csv: line 3 has no u"):
      self._convert(table, label_column=["u", "v"])

  def test_class_folders_are_none_beside_labels(self):
    for name, folder in zip(_NAMES, "xxyy"):
      pixels = np.full((4, 4, 3), ord(name), np.uint8)
      photos.save(self.root / f"classes/{folder}/{name}.png", pixels)
    table = self._write("t.csv", "id,label", *(f"{n},{n * 2}" for n in _NAMES))
    path = self._convert(table, source="classes")
    self.assertEqual(self._labels(path), ["aa", "bb", "cc", "dd"])
    self.assertLen(self.report.notes, 1)
    self.assertRegex(
      self.report.notes[0], r"t.csv gives the labels, and folders .*\(x, y\) are no cl"
    )

  def test_several_annotations(self):
    labels = self._write("t.csv", "id,label", *(f"{n},{n * 2}" for n in _NAMES))
    captions = self._write(
      "c.jsonl", *({"file_name": f"{n}.png", "caption": f"an {n}"} for n in _NAMES[1:])
    )
    coco = self._write(
      "coco.json",
      {
        "images": [{"id": i, "file_name": f"{n}.png"} for i, n in enumerate(_NAMES)],
        "categories": [{"id": 7, "name": "thing"}],
        "annotations": [
          {"id": 1, "image_id": 2, "category_id": 7, "bbox": [1, 1, 3, 2]}
        ],
      },
    )
    path = self._convert(labels, captions, coco)
    found = {sample["name"]: sample for sample in liquid_tf.open(path)}
    self.assertEqual(self._labels(path), ["aa", "bb", "cc", "dd"])
    self.assertEqual(found["c.png"]["boxes"].tolist(), [[1, 1, 3, 4]])
    self.assertEqual(found["b.png"]["boxes"].shape, (0, 4))
    with self.assertRaisesRegex(ConvertError, r"t.csv and .*u.csv both give label:"):
      self._convert(labels, self._write("u.csv", "id,label", "a,1"))
    again = self._write("again.csv", "id,caption", "a,x")
    with self.assertRaisesRegex(
      ConvertError, r"c.jsonl and .*again.csv both give capt"
    ):
      self._convert(labels, captions, again)
    listed = self._write("t.lst", *(f"{i}\t{i}\t{n}.png" for i, n in enumerate("abcd")))
    with self.assertRaisesRegex(ConvertError, r"t.lst and .*t.csv both give label:"):
      self._convert(labels, listed)
    path = self._convert(listed, captions)
    self.assertEqual(self._labels(path), [0, 1, 2, 3])
    with self.assertRaisesRegex(ValueError, "annotations .* must be given once"):
      self._convert(labels, labels)

  def test_a_column_gives_the_splits(self):
    rows = [f"{n},{i % 2},{('val', 'train')[i % 2]}" for i, n in enumerate(_NAMES)]
    table = self._write("t.csv", "id,label,split", *rows)
    view = liquid_tf.open(self._convert(table))
    self.assertEqual(list(view.splits), ["train", "val"])
    for split, wanted in (("val", _NAMES[::2]), ("train", _NAMES[1::2])):
      found = view.split(split)
      self.assertEqual(
        sorted(one["name"] for one in found), [f"{n}.png" for n in wanted]
      )
    given = liquid_tf.Source(self.root / "images", annotations=table)
    with self.assertRaisesRegex(
      ConvertError, "must not be given: .* has splits of its"
    ):
      liquid_tf.convert(given, self.root / "e", "png", splits="train:1,val:1")
    for lines, message in (
      (rows[:-1], "a column split, and no row of d.png"),
      ([*rows[:-1], "d,1,"], "split of line 5 must be the name of a split, .* is none"),
      ([*rows[:-1], "d,1,a/b"], "split of line 5 must .* but is 'a/b'"),
    ):
      table = self._write("t.csv", "id,label,split", *lines)
      with self.assertRaisesRegex(ConvertError, message):
        self._convert(table)

  def test_a_table_that_changes_is_seen(self):
    """Between the scan and the shards, as where a conversion is gone on with."""
    table = self._write("t.csv", "id,label", *(f"{n},{n * 2}" for n in _NAMES))
    given = liquid_tf.Source(self.root / "images", annotations=table)
    output = self.root / "resumed"
    with self.assertRaises(ConvertError):
      liquid_tf.convert(given, output, "jpeg", splits="train:.9,val:.001")
    self._write("t.csv", "id,label", "a,2", "b,1", "c,0", "d,3")
    with self.assertRaisesRegex(ConvertError, "changed since it was scanned"):
      liquid_tf.convert(given, output, "jpeg", existing="resume")

  def _with_columns(self) -> tuple[str, dict]:
    """A dataset with a column of each kind, and their values by name of a sample."""
    rows = {
      f"{name}.png": {
        "caption": f"an {name} ü" if name != "b" else "",
        "weight": i / 4,
        "count": 2**40 + i,
        "day": name < "c",
        "embedding": [i, 0.1, -i],
      }
      for i, name in enumerate(_NAMES)
    }
    lines = [{"file_name": name} | row for name, row in rows.items()]
    return self._convert(self._write("c.jsonl", *lines)), rows

  def _check_columns(self, path, rows) -> None:
    """Compares columns with rows, in views and in batches, in two epochs."""
    view, names = liquid_tf.open(path), list(next(iter(rows.values())))
    found = [rows[name] for name in view.names(view.numbers)]
    every = {name: np.array([row[name] for row in found]) for name in names}
    every["embedding"] = every["embedding"].astype(np.float32)
    for name, wanted in every.items():
      self._equal(view[name], wanted)
      for sample, value in zip(view, wanted):
        self._equal(sample[name], value)
        self.assertIs(type(sample["caption"]), str)
    every["caption"] = np.array([text.encode() for text in every["caption"]], object)
    features = [*names, "id"]
    data = liquid_tf.dataset(path, 3, features=features)
    self.assertEqual(data.element_spec["embedding"].shape.as_list(), [None, 3])
    with liquid_tf.loader(path, 3, features=features) as loader:
      for batches in (data, loader, data, loader):
        for batch in batches:
          batch = {name: np.asarray(value) for name, value in batch.items()}
          for name in names:
            self._equal(batch[name], every[name][batch["id"]])

  def _equal(self, found, wanted) -> None:
    np.testing.assert_array_equal(found, wanted)
    if isinstance(found, np.ndarray):
      self.assertEqual(found.dtype.kind, np.asarray(wanted).dtype.kind)

  def test_columns_in_views_and_batches(self):
    path, rows = self._with_columns()
    self._check_columns(path, rows)
    view = liquid_tf.open(path)
    self.assertEqual(
      view.where("weight > .3 and day == False")["weight"].tolist(), [0.5, 0.75]
    )
    for most in (1 << 30, 0):
      with mock.patch.object(where_table, "_MOST_TEXT", most):
        self.assertEqual(view.where('caption.endswith("c ü")').numbers.tolist(), [2])
        chosen = view.where('caption in ("an a ü", "x") or name == "b.png"')
        self.assertEqual(chosen.numbers.tolist(), [0, 1])
        self.assertEqual(chosen["caption"].tolist(), ["an a ü", ""])
    chosen = view.where(lambda t: t["embedding"][:, 0] > 1)
    self.assertEqual(chosen["count"].tolist(), [2**40 + 2, 2**40 + 3])
    with self.assertRaisesRegex(
      KeyError, "column .*size.* must be one of number, name"
    ):
      _ = view["size"]
    drawn = view.weighted("weight", samples_per_epoch=6)
    self.assertEqual(drawn.numbers.tolist(), [1, 2, 3])
    for batch in liquid_tf.dataset(drawn, 6, features=["weight"]).take(1):
      self.assertEqual(
        sorted(batch["weight"].numpy()), [0.25, 0.5, 0.5, 0.75, 0.75, 0.75]
      )
    for name, message in (
      ("caption", r'weights ."caption".* must be a column of one number a sample'),
      ("embedding", "must be a column of one number a sample"),
      ("wait", r'weights: column ."wait".* must be one of'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        view.weighted(name)

  def test_columns_without_images_go_on_as_they_are(self):
    """By samples, in a map of the user's, and after a checkpoint's place."""
    path, rows = self._with_columns()
    samples = liquid_tf.dataset(path, None, features=["count", "caption", "image"])
    found = {int(one["count"]): one["caption"].numpy().decode() for one in samples}
    self.assertEqual(found, {row["count"]: row["caption"] for row in rows.values()})
    options = {"features": ["weight"], "cache": 0, "seed": 3}
    whole = [
      batch["weight"].numpy().tolist()
      for batch in liquid_tf.dataset(path, 1, **options)
    ]
    later = liquid_tf.dataset(path, 1, start=(0, 2), **options)
    self.assertEqual([batch["weight"].numpy().tolist() for batch in later], whole[2:])
    with liquid_tf.loader(path, 1, start=(0, 2), **options) as loader:
      self.assertEqual([batch["weight"].tolist() for batch in loader], whole[2:])

  def test_columns_go_with_a_dataset(self):
    path, rows = self._with_columns()
    again = os.fspath(self.root / "again")
    liquid_tf.convert(liquid_tf.open(path), again, "l3", progress=False)
    self._check_columns(again, rows)
    for name in "ef":
      photos.save(
        self.root / f"more/{name}.png", np.full((6, 8, 3), ord(name), np.uint8)
      )
    more = {
      "other": 1,
      "caption": "new",
      "weight": 7.0,
      "count": 1,
      "day": True,
      "embedding": [1, 2, 3],
    }
    lines = [{"file_name": f"{name}.png"} | more for name in "ef"]
    table = self._write("more.jsonl", *lines)
    report = liquid_tf.append(
      path, liquid_tf.Source(self.root / "more", annotations=table), progress=False
    )
    self.assertRegex(report.notes[0], "column other is not kept: .* has none of that")
    rows |= {f"{name}.png": more for name in "ef"}
    self._check_columns(path, rows)
    name = liquid_tf.open(path).names([4])[0]
    liquid_tf.annotate(
      path, {"number": [4], "caption": ["x"], "embedding": [[0, 0, 9]]}
    )
    rows[name] = more | {"caption": "x", "embedding": [0, 0, 9]}
    liquid_tf.remove(liquid_tf.open(path).take([0]))
    self.assertEqual(liquid_tf.verify(path)["problems"], [])
    copied = os.fspath(self.root / "copied")
    liquid_tf.copy(path, copied)
    self.assertEqual(liquid_tf.open(copied)["caption"].tolist()[3], "x")
    self.assertEqual(liquid_tf.open(copied)["embedding"][3].tolist(), [0, 0, 9])

  @parameterized.parameters(
    ({}, r"column .\"count\", int64. has no value for new samples"),
    ({"count": 1.5}, "the column count of float64, and not of int64"),
    (
      {"embedding": [1]},
      r"the column embedding of float32\[1\], and not of float32\[3\]",
    ),
  )
  def test_columns_of_an_append_that_are_wrong(self, change, message):
    path, rows = self._with_columns()
    photos.save(self.root / "more/e.png", np.zeros((6, 8, 3), np.uint8))
    row = (
      {"file_name": "e", **rows["a.png"], **change}
      if change
      else {"file_name": "e", "x": 1}
    )
    if not change:
      del row["x"]
      row["caption"] = "only"
    source = liquid_tf.Source(
      self.root / "more", annotations=self._write("more.jsonl", row)
    )
    with self.assertRaisesRegex(ConvertError, message):
      liquid_tf.append(path, source, progress=False)

  def test_columns_go_out(self):
    path, rows = self._with_columns()
    page = os.fspath(self.root / "page.html")
    write.write(path, liquid_tf.inspect(path), page, 4, liquid_tf.codecs.Limits())
    text = pathlib.Path(page).read_text()
    for wanted in (
      "caption: an c ü",
      "weight: 0.25",
      "day: True",
      "embedding: 3, 0.1, -3",
    ):
      self.assertIn(wanted, text)
    self.assertNotIn("caption: <", text)
    out = os.fspath(self.root / "out")
    liquid_tf.export(path, out, to="tfrecord", progress=False)
    names = list(rows["a.png"])
    source = liquid_tf.Source(f"{out}/*.tfrecord", label_feature="", features=names)
    back = os.fspath(self.root / "back")
    liquid_tf.convert(source, back, "raw", progress=False)
    found = sorted(
      (one["count"][0], one["caption"][0], one["weight"][0])
      for one in liquid_tf.open(back)
    )
    wanted = [(r["count"], r["caption"].encode(), r["weight"]) for r in rows.values()]
    self.assertEqual(found, wanted)

  def test_items_and_tables_make_the_same_columns(self):
    path, rows = self._with_columns()
    items = [
      {"image": os.fspath(self.root / f"images/{name}"), "name": name, **row}
      for name, row in rows.items()
    ]
    items[2]["embedding"] = np.array(items[2]["embedding"], np.float64)
    items[1]["day"] = np.bool_(items[1]["day"])
    other = os.fspath(self.root / "items")
    liquid_tf.convert(
      liquid_tf.Source.from_iterable(items), other, "png:1,raw:1", progress=False
    )
    self._check_columns(other, rows)
    kinds = [manifest.load(one)["columns"] for one in (path, other)]
    kinds = [
      {name: (c["dtype"], c.get("shape")) for name, c in one.items()} for one in kinds
    ]
    self.assertEqual(*kinds)


if __name__ == "__main__":
  absltest.main()
