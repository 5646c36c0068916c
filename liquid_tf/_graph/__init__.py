"""The datasets of tf.data, their iterators' places and counters."""
