"""A command's own flags: absl's, without its global namespace."""

from collections.abc import Sequence

from absl import flags


class Flags(flags.FlagValues):
  """The flags of one command, each defined by a method named for its type.

  Every method takes the flag's name, its default and what --help says of it.
  """

  def __init__(self):
    super().__init__()
    # absl would take an attribute for a flag.
    self.__dict__["_required"] = []

  def missing(self) -> list[str]:
    """Names of the required flags that have no value."""
    return [name for name in self._required if self[name].value is None]

  def string(
    self, name: str, default: str | None, about: str, *, required: bool = False
  ) -> None:
    flags.DEFINE_string(name, default, about, flag_values=self)
    self._required.extend([name] * required)

  def integer(
    self,
    name: str,
    default: int | None,
    about: str,
    least: int | None = None,
    most: int | None = None,
  ) -> None:
    flags.DEFINE_integer(name, default, about, least, most, flag_values=self)

  def number(
    self,
    name: str,
    default: float | None,
    about: str,
    least: float | None = None,
    most: float | None = None,
  ) -> None:
    flags.DEFINE_float(name, default, about, least, most, flag_values=self)

  def switch(self, name: str, about: str, *, on: bool = False) -> None:
    flags.DEFINE_bool(name, on, about, flag_values=self)

  def words(self, name: str, default: Sequence[str] | None, about: str) -> None:
    flags.DEFINE_list(name, default, about, flag_values=self)

  def choice(
    self,
    name: str,
    default: str | None,
    choices: Sequence[str],
    about: str,
    *,
    required: bool = False,
  ) -> None:
    flags.DEFINE_enum(name, default, list(choices), about, flag_values=self)
    self._required.extend([name] * required)
