"""PCR, figure 6: ShuffleNetV2, accuracy against time by scan group."""

from tools.bench.papers import scan_accuracy

FIGURE = scan_accuracy.figure(
  "pcr-6",
  "PCR, figure 6: ShuffleNetV2, accuracy against time",
  "shufflenet_v2",
  "ShuffleNetV2 x0.5 with 256 filters in its last convolution and not 1,024",
)
