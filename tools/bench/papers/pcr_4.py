"""PCR, figure 4: ResNet-18, accuracy against time by scan group."""

from tools.bench.papers import scan_accuracy

FIGURE = scan_accuracy.figure(
  "pcr-4",
  "PCR, figure 4: ResNet-18, accuracy against time",
  "resnet18",
  "ResNet-18 with 16 filters in its first stage and not 64",
)
