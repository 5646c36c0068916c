#include "ops/image/operations.h"

#include <algorithm>
#include <utility>

#include "ops/image/affine_sample.h"
#include "ops/image/colour.h"
#include "ops/image/filters.h"
#include "ops/image/orient.h"
#include "ops/image/tone_tables.h"

namespace liquid {
namespace {

// A canvas on its way through operations. Changes of tone wait until another
// operation needs the pixels.
class Canvas {
 public:
  Canvas(size_t height, size_t width, size_t channels, uint8_t* pixels,
         uint8_t* other)
      : height_(height),
        width_(width),
        channels_(channels),
        pixels_(pixels),
        other_(other),
        tones_(channels) {}

  void Do(const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::kAffine:
        return Transform(operation);
      case OperationKind::kTurn90:
        return Turn(8);
      case OperationKind::kTurn180:
        return Turn(3);
      case OperationKind::kTurn270:
        return Turn(6);
      case OperationKind::kFlip:
        return Turn(4);
      case OperationKind::kBrightness:
        return tones_.Then(BlendTable(0, static_cast<float>(operation.amount)));
      case OperationKind::kColor:
        return Saturate(static_cast<float>(operation.amount));
      case OperationKind::kContrast:
        return Contrast(static_cast<float>(operation.amount));
      case OperationKind::kSharpness:
        Sharpen(Pixels(), height_, width_, channels_,
                static_cast<float>(operation.amount), other_);
        return std::swap(pixels_, other_);
      case OperationKind::kPosterize:
        return tones_.Then(PosterizeTable(static_cast<int>(operation.amount)));
      case OperationKind::kSolarize:
        return tones_.Then(SolarizeTable(operation.amount));
      case OperationKind::kSolarizeAdd:
        return tones_.Then(
            SolarizeAddTable(static_cast<int>(operation.amount)));
      case OperationKind::kAutoContrast:
        return ByHistogram(AutoContrastTable);
      case OperationKind::kEqualize:
        return ByHistogram(EqualizeTable);
      case OperationKind::kInvert:
        return tones_.Then(SolarizeTable(0));
      case OperationKind::kGray:
        if (channels_ == 3) MakeGray(Pixels(), height_, width_);
        return;
      case OperationKind::kBlur:
        return GaussianBlur(height_, width_, channels_,
                            static_cast<float>(operation.amount), Pixels(),
                            other_);
    }
  }

  // As all operations so far left them.
  uint8_t* Pixels() {
    if (!tones_.empty()) {
      tones_.Apply(height_ * width_, pixels_);
      tones_.Clear();
    }
    return pixels_;
  }

 private:
  void Transform(const Operation& operation) {
    const auto& m = operation.matrix;
    const Affine map = {m[0], m[1], m[2], m[3], m[4], m[5]};
    const auto sample = [&]() {
      switch (operation.interpolation) {
        case Interpolation::kNearest:
          return SampleNearest<uint8_t>;
        case Interpolation::kBilinear:
          return SampleBilinear<uint8_t>;
        case Interpolation::kBicubic:
          break;
      }
      return SampleBicubic;
    }();
    sample(Pixels(), height_, width_, channels_, map, operation.fill.data(),
           other_);
    std::swap(pixels_, other_);
  }

  // By EXIF's orientation.
  void Turn(int orientation) {
    Orient(Pixels(), width_ * channels_, height_, width_, channels_,
           orientation, other_);
    std::swap(pixels_, other_);
  }

  void Saturate(float factor) {
    if (channels_ == 1) return;
    Jitter jitter;
    jitter.order[0] = Jitter::kSaturation;
    jitter.steps = 1;
    jitter.saturation = factor;
    ApplyJitter(jitter, Pixels(), height_, width_);
  }

  void Contrast(float factor) {
    const uint8_t* const pixels = Pixels();
    tones_.Then(BlendTable(
        channels_ == 3 ? MeanLuma(pixels, height_, width_) : MeanValue(pixels),
        factor));
  }

  // Of one channel, rounded.
  int MeanValue(const uint8_t* pixels) const {
    const size_t count = height_ * width_;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) sum += pixels[i];
    return static_cast<int>(
        static_cast<double>(sum) / static_cast<double>(count) + 0.5);
  }

  void ByHistogram(ToneTable (*table_of)(const Histogram&)) {
    const auto histograms = tones_.Histograms(pixels_, height_ * width_);
    for (size_t channel = 0; channel < channels_; ++channel) {
      tones_.Then(channel, table_of(histograms[channel]));
    }
  }

  const size_t height_, width_, channels_;
  uint8_t* pixels_;
  uint8_t* other_;
  ToneTables tones_;
};

}  // namespace

void ApplyOperations(const Operation* operations, size_t count, size_t height,
                     size_t width, size_t channels, uint8_t* canvas,
                     uint8_t* other, uint8_t** result) {
  Canvas changed(height, width, channels, canvas, other);
  for (size_t i = 0; i < count; ++i) changed.Do(operations[i]);
  *result = changed.Pixels();
}

}  // namespace liquid
