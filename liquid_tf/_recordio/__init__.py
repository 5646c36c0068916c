"""RecordIO files by themselves: what `liquid_tf.recordio` exports."""
