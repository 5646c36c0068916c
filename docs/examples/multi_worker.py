"""Trains on several machines, each with its part of every epoch.

  python docs/examples/multi_worker.py --dataset=photos.liquid \\
    --workers=host0:12345,host1:12345 --index=0      # and --index=1 on host1

Every worker opens the same directory and draws `shard=(index, workers)`: parts that
are disjoint, have the mix of the whole, and as many batches as one another, so none
waits for ever. After an epoch the weights are saved; started again with --resume, with
as many workers as before or others, training goes on with the next epoch.

Keras 3 has no `fit` for `MultiWorkerMirroredStrategy`: this is TensorFlow's own loop.
"""

import json
import os

import tensorflow as tf
from absl import app, flags

import liquid_tf
from liquid_tf import transforms

_DATASET = flags.DEFINE_string("dataset", None, "dataset directory", required=True)
_WORKERS = flags.DEFINE_list("workers", None, "host:port of all workers", required=True)
_INDEX = flags.DEFINE_integer("index", 0, "which of them this is", 0)
_BATCH = flags.DEFINE_integer("batch_size", 32, "of one worker", 1)
_EPOCHS = flags.DEFINE_integer("epochs", 3, "to train in all", 1)
_SIDE = flags.DEFINE_integer("side", 64, "pixels of a random window's side", 8)
_CLASSES = flags.DEFINE_integer("classes", 10, "of the labels", 1)
_CHECKPOINTS = flags.DEFINE_string(
  "checkpoints", None, "shared directory for the weights"
)
_RESUME = flags.DEFINE_bool("resume", False, "go on after the last saved epoch")
flags.register_multi_flags_validator(
  ["resume", "checkpoints"],
  lambda values: values["checkpoints"] or not values["resume"],
  message="--resume needs --checkpoints",
)


class Model(tf.Module):
  """A linear classifier, so that the loop is what there is to see."""

  def __init__(self):
    side = _SIDE.value
    self.weights = tf.Variable(tf.zeros([side * side * 3, _CLASSES.value]))
    self.epoch = tf.Variable(0, dtype=tf.int64, trainable=False)

  def __call__(self, images: tf.Tensor) -> tf.Tensor:
    flat = tf.reshape(tf.cast(images, tf.float32) / 255, [-1, self.weights.shape[0]])
    return flat @ self.weights


def _train_step(strategy: tf.distribute.Strategy, model: Model, rate: float = 1e-3):
  """A compiled step that returns the mean loss of the workers' joined batches."""

  def replica_step(images, labels):
    with tf.GradientTape() as tape:
      losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))
      loss = tf.reduce_mean(losses)
    gradient = tape.gradient(loss, model.weights)
    replicas = tf.distribute.get_replica_context()
    gradient = replicas.all_reduce(tf.distribute.ReduceOp.MEAN, gradient)
    model.weights.assign_sub(rate * gradient)
    return loss

  @tf.function
  def step(images, labels):
    losses = strategy.run(replica_step, args=(images, labels))
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)

  return step


def _folder(worker: int) -> str:
  return os.path.join(_CHECKPOINTS.value, f"worker-{worker}")


def main(_) -> None:
  os.environ["TF_CONFIG"] = json.dumps(
    {
      "cluster": {"worker": _WORKERS.value},
      "task": {"type": "worker", "index": _INDEX.value},
    }
  )
  strategy = tf.distribute.MultiWorkerMirroredStrategy()
  with strategy.scope():
    model = Model()
  checkpoint = tf.train.Checkpoint(model=model)
  if _RESUME.value:
    latest = tf.train.latest_checkpoint(_folder(0))
    if latest is None:
      raise app.UsageError(f"--checkpoints has nothing to resume in {_folder(0)}")
    checkpoint.restore(latest).assert_consumed()
  first = int(model.epoch.numpy())
  # All workers' parts are equally long, and so the n-th batches equally large: the mean
  # of their means is that of all samples.
  dataset = liquid_tf.dataset(
    _DATASET.value,
    _BATCH.value,
    shard=(_INDEX.value, len(_WORKERS.value)),
    transforms=[transforms.RandomCrop(_SIDE.value)],
    features=["id", "image", "label"],
    start=(first, 0),
  )
  step = _train_step(strategy, model)
  losses, ids = [], []
  for _ in range(first, _EPOCHS.value):
    ids.append([])
    for batch in dataset:
      losses.append(float(step(batch["image"], batch["label"])))
      ids[-1].append(batch["id"].numpy().tolist())
    model.epoch.assign_add(1)
    if _CHECKPOINTS.value:
      # All of them save: the strategy's variables are everybody's.
      checkpoint.save(os.path.join(_folder(_INDEX.value), "epoch"))
  print(json.dumps({"loss": losses, "ids": ids}))


if __name__ == "__main__":
  app.run(main)
