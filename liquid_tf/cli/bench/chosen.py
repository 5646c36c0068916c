"""What `bench pipeline` draws from: a dataset, some of its samples, or a mixture."""

from collections.abc import Mapping

from liquid_tf._view.mixture import Mixture, mixture
from liquid_tf._view.view import View, as_view


def chosen(
  path: str,
  *,
  split: str | None = None,
  where: str | None = None,
  balanced: bool = False,
  mixed: Mapping[str, float] | None = None,
) -> View | Mixture:
  """Samples of a dataset, and of others that are mixed with it.

  Args:
    path: of the dataset, whose weight is 1.
    split: of each dataset, as `View.split` takes it.
    where: a condition on the samples of each; None for all.
    balanced: whether classes have equal shares of each.
    mixed: weight of every other dataset, by path.

  Raises:
    ValueError: an argument is wrong, or chooses nothing.
    ManifestError: a directory is no sound dataset.
  """
  views = []
  for one in (path, *(mixed or {})):
    view = as_view(one, split)
    if where is not None:
      view = view.where(where)
    views.append(view.balanced() if balanced else view)
  if not mixed:
    return views[0]
  return mixture(list(zip(views, (1, *mixed.values()))))
