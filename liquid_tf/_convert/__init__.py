"""The steps of a conversion; `liquid_tf.convert` puts them together."""
