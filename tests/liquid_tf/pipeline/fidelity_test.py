"""FidelityScheduler and its rules, with real models and a real `fit`."""

import os
import shutil
import tempfile

import numpy as np
import runs
import tensorflow as tf
from absl.testing import parameterized

import liquid_tf
from liquid_tf._native import image_ops


def _model(size: int = 4) -> tf.keras.Model:
  model = tf.keras.Sequential(
    [tf.keras.Input((size,)), tf.keras.layers.Dense(1, kernel_initializer="ones")]
  )
  model.compile(optimizer=tf.keras.optimizers.SGD(0.01), loss="mse")
  return model


def _data() -> tf.data.Dataset:
  x = np.random.default_rng(0).normal(size=[16, 4]).astype(np.float32)
  return tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True) + 3)).batch(8)


class OnPlateauTest(parameterized.TestCase, tf.test.TestCase):
  def _run(self, rule, values, name="loss"):
    group = rule.first(None)
    groups = [group]
    for epoch, value in enumerate(values):
      group = rule.next(group, None, epoch, {name: value})
      groups.append(group)
    return groups

  def test_raises_after_patience(self):
    rule = liquid_tf.keras.OnPlateau([1, 2, 5], patience=2)
    self.assertEqual(
      self._run(rule, [5, 4, 4, 4, 3, 3, 3, 3, 3, 3]),
      [1, 1, 1, 1, 2, 2, 2, 5, 5, 5, 5],
    )

  def test_patience_begins_anew_after_a_raise(self):
    rule = liquid_tf.keras.OnPlateau([1, 2, 5], patience=2)
    # What a higher fidelity's loss is compared with is its own.
    self.assertEqual(self._run(rule, [1, 1, 1, 9, 8, 7, 7, 7]), [1] * 3 + [2] * 5 + [5])

  def test_a_metric_that_rises_is_better(self):
    rule = liquid_tf.keras.OnPlateau([1, 3], monitor="acc", mode="max", patience=1)
    self.assertEqual(self._run(rule, [0.1, 0.2, 0.2], "acc"), [1, 1, 1, 3])

  def test_too_small_a_change_is_none(self):
    rule = liquid_tf.keras.OnPlateau([1, 3], patience=1, min_delta=0.5)
    self.assertEqual(self._run(rule, [2.0, 1.9]), [1, 1, 3])

  def test_a_missing_metric_is_named(self):
    rule = liquid_tf.keras.OnPlateau([1], monitor="val_loss")
    with self.assertRaisesRegex(ValueError, r'"val_loss".*accuracy, loss'):
      rule.next(1, None, 0, {"loss": 1.0, "accuracy": 0.5})

  @parameterized.parameters(
    (dict(groups=[]), "groups"),
    (dict(groups=[2, 1]), "groups"),
    (dict(groups=[0, 1]), "groups"),
    (dict(groups=[1], mode="up"), "mode"),
    (dict(groups=[1], patience=0), "patience"),
  )
  def test_wrong_arguments(self, arguments, name):
    with self.assertRaisesRegex(ValueError, rf"^{name} "):
      liquid_tf.keras.OnPlateau(**arguments)


class ByGradientTest(tf.test.TestCase):
  def test_takes_the_lowest_group_that_points_the_same_way(self):
    full = list(_data())
    noise = np.random.default_rng(1)

    def batches(group):
      # The lower the group, the less of the labels' signal is left.
      scale = {1: 40.0, 2: 0.05, 10: 0.0}[group]
      return [(x, y + scale * noise.normal(size=y.shape)) for x, y in full]

    model = _model()
    rule = liquid_tf.keras.ByGradient([1, 2, 10], batches, every=2)
    self.assertEqual(rule.first(model), 10)
    self.assertEqual(rule.next(10, model, 0, {}), 10)
    self.assertEqual(rule.next(10, model, 1, {}), 2)
    self.assertLess(rule.similarities[1], 0.8)
    self.assertGreater(rule.similarities[2], 0.8)

  def test_stays_full_where_no_group_does(self):
    full = list(_data())
    rule = liquid_tf.keras.ByGradient(
      [1, 10], lambda g: [(x, y if g == 10 else -y) for x, y in full], every=1
    )
    self.assertEqual(rule.next(10, _model(), 0, {}), 10)

  def test_gradient_is_that_of_the_tape_and_leaves_the_model_alone(self):
    model = tf.keras.Sequential(
      [
        tf.keras.Input((4,)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(1),
      ]
    )
    model.compile(optimizer="sgd", loss="mse")
    before = [v.numpy().copy() for v in model.variables]
    found = liquid_tf.keras.gradient(model, _data())
    for v, value in zip(model.variables, before):
      self.assertAllEqual(v.numpy(), value)
    expected = 0.0
    for x, y in _data():
      with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=False) - y))
      parts = tape.gradient(loss, [v.value for v in model.trainable_variables])
      expected = expected + np.concatenate([np.ravel(p) for p in parts])
    self.assertAllClose(found, expected)

  def test_no_batches(self):
    with self.assertRaisesRegex(ValueError, "at least one batch"):
      liquid_tf.keras.gradient(_model(), [])


class ByMssimTest(parameterized.TestCase, tf.test.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.root = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.root)
    # Sides for all five scales, and an image for each of the four photographs, so that
    # what convert measures on its sample is that of all images.
    cls.path = cls._make("large", "pcr:1", sides=(180, 180))

  @classmethod
  def _make(cls, name: str, mix: str, **options) -> str:
    root = os.path.join(cls.root, name)
    return runs.make(root, mix, per_class=1, extension="jpg", **options)

  def test_similarities_are_those_of_the_images(self):
    full = list(liquid_tf.pcr.Reader(self.path))[0].images
    found = {}
    for group in range(1, 11):
      images = list(liquid_tf.pcr.Reader(self.path, fidelity=group))[0].images
      pairs = [
        [image_ops.decode(jpeg, format="jpeg") for jpeg in pair]
        for pair in zip(images, full, strict=True)
      ]
      found[group] = np.mean(
        [
          tf.image.ssim_multiscale(*map(tf.image.rgb_to_grayscale, pair), max_val=255)
          for pair in pairs
        ]
      )
    similarities = liquid_tf.keras.ByMssim(self.path).similarities
    self.assertEqual(list(similarities), list(found))
    self.assertAllClose(list(similarities.values()), list(found.values()), atol=1e-3)

  def test_takes_the_lowest_group_that_reaches_the_bound(self):
    similarities = liquid_tf.keras.ByMssim(self.path).similarities
    self.assertLess(similarities[1], similarities[5])
    self.assertLess(similarities[5], similarities[10])
    for group in (1, 5, 10):
      rule = liquid_tf.keras.ByMssim(self.path, similarities[group])
      self.assertEqual(rule.group, group)
      above = liquid_tf.keras.ByMssim(self.path, min(1, similarities[group] + 1e-4))
      self.assertGreaterEqual(above.group, min(10, group + 1))

  def test_full_fidelity_reaches_any_bound(self):
    self.assertEqual(liquid_tf.keras.ByMssim(self.path, 1).similarities[10], 1)
    self.assertEqual(liquid_tf.keras.ByMssim(self.path, 1).group, 10)

  def test_fewer_scales_where_images_are_small(self):
    path = self._make("small", "pcr:1", sides=(24, 24))
    rule = liquid_tf.keras.ByMssim(path, 0.9)
    self.assertGreaterEqual(rule.similarities[rule.group], 0.9)
    self.assertLess(rule.group, 10)

  def test_images_that_no_scale_fits_are_an_error(self):
    path = self._make("tiny", "pcr:1", sides=(10, 10))
    with self.assertRaisesRegex(ValueError, r"^path .*tiny.*11x11 pixels"):
      liquid_tf.keras.ByMssim(path)

  def test_needs_pcr(self):
    path = self._make("other", "png:1,jpeg:1")
    with self.assertRaisesRegex(ValueError, r"^path .*format pcr; it has png, jpeg"):
      liquid_tf.keras.ByMssim(path)

  @parameterized.parameters(0, -0.5, 1.01, float("nan"))
  def test_wrong_bound(self, bound):
    with self.assertRaisesRegex(ValueError, r"^bound "):
      liquid_tf.keras.ByMssim(self.path, bound)

  def test_a_mixture_is_refused(self):
    view = liquid_tf.open(self.path)
    with self.assertRaisesRegex(ValueError, r"^path .*not a mixture"):
      liquid_tf.keras.ByMssim(liquid_tf.mixture([(view, 1), (view, 1)]))

  def test_a_view_has_the_figures_of_its_dataset(self):
    rule = liquid_tf.keras.ByMssim(liquid_tf.open(self.path))
    self.assertEqual(rule.similarities, liquid_tf.keras.ByMssim(self.path).similarities)

  def test_trains_every_epoch_on_its_group(self):
    similarities = liquid_tf.keras.ByMssim(self.path).similarities
    rule = liquid_tf.keras.ByMssim(self.path, similarities[2])
    variable = tf.Variable(1, dtype=tf.int64)
    data = liquid_tf.dataset(self.path, 4, fidelity=variable, cache=0)
    pixels = data.map(lambda image, label: (tf.cast(image[:, 0, 0], tf.float32), label))
    history = _model(3).fit(
      pixels,
      epochs=2,
      verbose=0,
      callbacks=[liquid_tf.keras.FidelityScheduler(variable, rule)],
    )
    self.assertEqual(history.history["fidelity"], [rule.group] * 2)
    asked = [epoch["fidelity"] for epoch in liquid_tf.stats(data).epochs]
    self.assertEqual(asked, [[[0, rule.group]]] * 2)


class FidelitySchedulerTest(tf.test.TestCase):
  def test_changes_the_variable_between_epochs(self):
    variable = tf.Variable(7, dtype=tf.int64)
    seen = []
    data = _data().map(lambda x, y: (x, y + tf.cast(variable, y.dtype)))
    watch = tf.keras.callbacks.LambdaCallback(
      on_train_batch_begin=lambda step, logs: seen.append(int(variable.numpy()))
    )

    class Count:
      def first(self, model):
        return 1

      def next(self, group, model, epoch, logs):
        return group + 1

    scheduler = liquid_tf.keras.FidelityScheduler(variable, Count())
    history = _model().fit(data, epochs=3, verbose=0, callbacks=[scheduler, watch])
    self.assertEqual(seen, [1, 1, 2, 2, 3, 3])
    self.assertEqual(history.history["fidelity"], [1, 2, 3])

  def test_wants_a_scalar_integer(self):
    for variable in (tf.Variable(1.0), tf.Variable([1, 2])):
      with self.assertRaisesRegex(ValueError, "scalar integer"):
        liquid_tf.keras.FidelityScheduler(variable, liquid_tf.keras.OnPlateau([1]))

  def test_shares_do_not_change(self):
    with self.assertRaisesRegex(
      ValueError, r"^variable .* must be .*shares of scan groups are the same in every"
    ):
      liquid_tf.keras.FidelityScheduler(
        {2: 0.25, 10: 0.75}, liquid_tf.keras.OnPlateau([1])
      )


if __name__ == "__main__":
  tf.test.main()
