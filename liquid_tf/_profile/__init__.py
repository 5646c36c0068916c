"""Measurements and advice of `liquid_tf.profile`."""
