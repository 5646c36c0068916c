"""A command's own flags: absl's, without its global namespace."""

import functools
from collections.abc import Callable
from typing import Any

from absl import flags


class Flags(flags.FlagValues):
  """The flags of one command, each defined by a method named for its type.

  Every method takes the flag's name, its default and what --help says of it. Numbers
  also take their least and most value; `choice` takes its words before the help; one of
  `strings` may be given several times. With
  `required=True` a command does not run without the flag.
  """

  def __init__(self):
    super().__init__()
    # absl would take an attribute for a flag.
    self.__dict__["_required"] = []

  def missing(self) -> list[str]:
    """Names of the required flags that have no value."""
    return [name for name in self._required if self[name].value is None]

  def switch(self, name: str, about: str, *, on: bool = False) -> None:
    """Defines a flag that is on or off."""
    self._define(flags.DEFINE_bool, name, on, about)

  def _define(
    self,
    define: Callable[..., Any],
    name: str,
    default: Any,
    *about: Any,
    required: bool = False,
  ) -> None:
    define(name, default, *about, flag_values=self)
    self._required.extend([name] * required)

  string = functools.partialmethod(_define, flags.DEFINE_string)
  integer = functools.partialmethod(_define, flags.DEFINE_integer)
  number = functools.partialmethod(_define, flags.DEFINE_float)
  strings = functools.partialmethod(_define, flags.DEFINE_multi_string)
  words = functools.partialmethod(_define, flags.DEFINE_list)
  choice = functools.partialmethod(_define, flags.DEFINE_enum)
