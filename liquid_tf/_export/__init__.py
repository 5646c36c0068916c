"""The steps of an export; `liquid_tf.export` puts them together."""
