"""Conditions as text, such as `height >= 256 and label == "owl"`, for `View.where`.

They are a part of Python's expressions: columns of the table, numbers, text, and
comparisons, `and`, `or`, `not`, `in`, arithmetic, `.startswith` and `.endswith`. They
are evaluated here, over whole columns; nothing of Python's is run.
"""

import ast
import difflib
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from liquid_tf._view.table import Table
from liquid_tf._words import Shown
from liquid_tf.errors import ManifestError, WrongArgument

_LONGEST = 10_000

_COMPARISONS = {
  ast.Eq: operator.eq,
  ast.NotEq: operator.ne,
  ast.Lt: operator.lt,
  ast.LtE: operator.le,
  ast.Gt: operator.gt,
  ast.GtE: operator.ge,
}
_ARITHMETIC = {
  ast.Add: operator.add,
  ast.Sub: operator.sub,
  ast.Mult: operator.mul,
  ast.Div: operator.truediv,
  ast.FloorDiv: operator.floordiv,
  ast.Mod: operator.mod,
}
_ELSE = "; for anything else, give a function in Python"
_OF_TEXT = {"startswith": np.char.startswith, "endswith": np.char.endswith}


def evaluate(text: str, table: Table, classes: Sequence[str] | None) -> np.ndarray:
  """The samples for which a condition holds.

  Args:
    text: the condition.
    table: of samples.
    classes: names that may stand for labels, or None.

  Returns:
    Shape [samples], bool.

  Raises:
    ManifestError: a column cannot be read.
    ValueError: the text is no condition, or names a column that is not there, or
      compares one with what it cannot be.
  """
  try:
    if len(text) > _LONGEST:
      raise ValueError(f"it must have at most {_LONGEST} characters")
    body = ast.parse(text.strip(), mode="eval").body
  except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
    reason = error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
    raise WrongArgument(
      "where", Shown(short(text)), f"is no condition: {reason}"
    ) from None
  try:
    with np.errstate(all="ignore"):
      found = _Evaluation(table, classes).value(body)
    if not _is(found, "b") or np.ndim(found) != 1:
      raise ValueError("it must be true or false of each sample")
  except ManifestError:
    raise  # It is of the dataset, and not of the condition.
  except (ValueError, KeyError, RecursionError, OverflowError) as error:
    reason = error.args[0] if error.args else "too deep"
    raise WrongArgument("where", Shown(short(text)), f": {reason}") from None
  return found


def short(text: str) -> str:
  """A condition as messages have it."""
  return text if len(text) <= 200 else f"{text[:200]}..."


def _is(value: Any, kinds: str) -> bool:
  return np.asarray(value).dtype.kind in kinds


class _Evaluation:
  """Values of expressions over the columns of a table.

  Args:
    table: of a view.
    classes: names of labels, or None.
  """

  def __init__(self, table: Table, classes: Sequence[str] | None):
    self._table = table
    self._classes = classes

  def value(self, node: ast.expr) -> Any:
    """A column, or one value; a list where `in` has one."""
    method = getattr(self, f"_{type(node).__name__.lower()}", None)
    if method is None:
      raise ValueError(f"{_said(node)} is nothing that a condition may have{_ELSE}")
    return method(node)

  def _name(self, node: ast.Name) -> np.ndarray:
    return self._table[node.id]

  def _constant(self, node: ast.Constant) -> Any:
    value = node.value
    if not isinstance(value, (bool, int, float, str)):
      raise ValueError(f"{_said(node)} must be a number or text")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
      raise ValueError(f"{_said(node)} must be within 64 bits")
    return value

  def _tuple(self, node: ast.Tuple) -> list:
    if not all(isinstance(part, (ast.Constant, ast.UnaryOp)) for part in node.elts):
      raise ValueError(f"{_said(node)} must have numbers or texts alone")
    return [self.value(part) for part in node.elts]

  _list = _tuple

  def _boolop(self, node: ast.BoolOp) -> Any:
    parts = [self._truth(part) for part in node.values]
    join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
    return join.reduce(np.broadcast_arrays(*parts))

  def _unaryop(self, node: ast.UnaryOp) -> Any:
    if isinstance(node.op, ast.Not):
      return np.logical_not(self._truth(node.operand))
    value = self._number(node.operand)
    return -value if isinstance(node.op, ast.USub) else value

  def _binop(self, node: ast.BinOp) -> Any:
    if type(node.op) not in _ARITHMETIC:
      raise ValueError(f"{_said(node)} may have + - * / // and % alone")
    left, right = self._number(node.left), self._number(node.right)
    if isinstance(left, int) and isinstance(right, int):
      left = np.int64(left)
    return _ARITHMETIC[type(node.op)](left, right)

  def _compare(self, node: ast.Compare) -> Any:
    found, left = [], node.left
    for operation, right in zip(node.ops, node.comparators):
      found.append(self._compared(left, operation, right))
      left = right
    return np.logical_and.reduce(np.broadcast_arrays(*found))

  def _compared(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> Any:
    a, b = self.value(left), self.value(right)
    if _is_label(left):
      b = self._labels(b)
    if _is_label(right):
      a = self._labels(a)
    # Long texts are objects.
    if isinstance(a, list) or _is(a, "UO") != _is(b, "UO"):
      raise ValueError(f"{_said(left)} cannot be compared with {_said(right)}")
    if isinstance(operation, (ast.In, ast.NotIn)):
      if isinstance(a, str) and _is(b, "UO") and np.ndim(b) == 1:
        found = _have(b, a)
        return ~found if isinstance(operation, ast.NotIn) else found
      if not isinstance(b, list):
        raise ValueError(
          f"{_said(right)} must be a list, as (1, 2), or a column with texts that have "
          'a text, as "red" in caption'
        )
      return np.isin(a, b, invert=isinstance(operation, ast.NotIn))
    if isinstance(b, list) or type(operation) not in _COMPARISONS:
      raise ValueError(f"{_said(left)} cannot be compared so with {_said(right)}")
    return _COMPARISONS[type(operation)](a, b)

  def _call(self, node: ast.Call) -> np.ndarray:
    function, given = node.func, node.args
    known = isinstance(function, ast.Attribute) and function.attr in _OF_TEXT
    if not known or len(given) != 1 or node.keywords:
      raise ValueError(f'{_said(node)} must be as name.startswith("a/"){_ELSE}')
    column, text = self.value(function.value), self.value(given[0])
    if not _is(column, "UO") or not isinstance(text, str):
      raise ValueError(f"{_said(node)} must be of texts")
    if _is(column, "O"):
      found = [getattr(one, function.attr)(text) for one in column.tolist()]
      return np.array(found, bool)
    return _OF_TEXT[function.attr](column, text)

  def _labels(self, value: Any) -> Any:
    """Numbers of the classes that texts name."""
    if isinstance(value, list):
      return [self._labels(one) for one in value]
    if not isinstance(value, str):
      return value
    classes = list(self._classes or ())
    if value not in classes:
      near = difflib.get_close_matches(value, classes, 3)
      hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
      raise ValueError(f'class ("{value}") must be one of the {len(classes)}{hint}')
    return classes.index(value)

  def _truth(self, node: ast.expr) -> Any:
    value = self.value(node)
    if not _is(value, "b"):
      raise ValueError(f"{_said(node)} must be true or false")
    return value

  def _number(self, node: ast.expr) -> Any:
    value = self.value(node)
    if isinstance(value, list) or not _is(value, "iuf"):
      raise ValueError(f"{_said(node)} must be a number")
    # Differences of sizes may be below 0.
    return value.astype(np.int64) if _is(value, "u") else value


def _have(column: np.ndarray, text: str) -> np.ndarray:
  """The texts of a column that have another in them."""
  if _is(column, "O"):
    return np.array([text in one for one in column.tolist()], bool)
  return np.char.find(column, text) >= 0


def _is_label(node: ast.expr) -> bool:
  return isinstance(node, ast.Name) and node.id == "label"


def _said(node: ast.expr) -> str:
  return f"`{short(ast.unparse(node))}`"
