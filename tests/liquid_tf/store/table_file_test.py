"""Cells of a table become numbers only where nothing is lost."""

import os
import pathlib

from absl.testing import absltest, parameterized

from liquid_tf._store import table_file
from liquid_tf.errors import ConvertError


class TableFileTest(parameterized.TestCase):
  @parameterized.parameters(
    (["0", "-12", "9223372036854775807"], [0, -12, 9223372036854775807]),
    (["1", ".5", "2.", "-3e-2"], [1, 0.5, 2.0, -0.03]),
    (["4", "nan", "-inf"], None),
    (["01"], ["01"]),
    (["1", "+1"], ["1", "+1"]),
    (["1_0"], ["1_0"]),
    (["²"], ["²"]),
    ([" 1\n"], [1]),
    (["inf"], ["inf"]),
    ([], []),
  )
  def test_columns(self, texts, wanted):
    found = table_file.as_numbers(texts)
    wanted = [4, float("nan"), -float("inf")] if wanted is None else wanted
    self.assertEqual(str(found), str(wanted))

  def test_rows_have_the_lines_where_they_begin(self):
    path = self.create_tempfile(content='a,b\n\n"1\n2",x\n,\ny,\n').full_path
    os.rename(path, path + ".csv")
    table = table_file.read(path + ".csv", lambda _: {})
    self.assertEqual(table.columns, {"a": ["1\n2", "y"], "b": ["x", None]})
    self.assertEqual([table.place(row) for row in range(2)], ["line 3", "line 6"])
    self.assertEqual(table.kinds("b"), {str: 0})

  def test_parquet_has_types(self):
    try:
      import pyarrow
      from pyarrow import parquet
    except ImportError:
      self.skipTest("pyarrow is not installed")
    path = pathlib.Path(self.create_tempdir().full_path, "t.parquet")
    parquet.write_table(pyarrow.table({"a": ["7", None], "b": [1.0, 2.0]}), path)
    table = table_file.read(os.fspath(path), lambda _: {})
    self.assertEqual(table.columns, {"a": ["7", None], "b": [1.0, 2.0]})
    self.assertEqual(table.place(1), "row 2")
    columns = [pyarrow.array([1]), pyarrow.array([2])]
    parquet.write_table(pyarrow.Table.from_arrays(columns, names=["a", "a"]), path)
    with self.assertRaisesRegex(ConvertError, "two columns have the name a"):
      table_file.read(os.fspath(path), lambda _: {})


if __name__ == "__main__":
  absltest.main()
