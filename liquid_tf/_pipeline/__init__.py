"""The tf.data pipeline of a dataset."""
