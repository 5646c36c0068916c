"""What `liquid_tf.profile` measures and works out."""
