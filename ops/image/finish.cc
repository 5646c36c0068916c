#include "ops/image/finish.h"

#include <algorithm>
#include <cstring>

#include "ops/image/orient.h"

namespace liquid {
namespace {

// Each of `period` numbers, once for each channel or one for all.
std::vector<float> Repeated(const std::vector<float>& numbers, float otherwise,
                            size_t channels, bool by_channel) {
  const auto of = [&](size_t c) {
    if (numbers.empty()) return otherwise;
    return numbers.size() == 1 ? numbers[0] : numbers[c];
  };
  std::vector<float> all;
  for (size_t c = 0; by_channel && c < channels; ++c) {
    all.insert(all.end(), kFinishPeriod, of(c));
  }
  for (size_t i = 0; !by_channel && i < kFinishPeriod; ++i) {
    all.push_back(of(i % channels));
  }
  return all;
}

const FinishLoops<uint8_t>& LoopsFor(const FinishKernels& kernels, uint8_t) {
  return kernels.bytes;
}
const FinishLoops<uint16_t>& LoopsFor(const FinishKernels& kernels, uint16_t) {
  return kernels.words;
}

}  // namespace

const FinishKernels& BestFinishKernels() {
#if defined(__x86_64__)
  static const bool kWide =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (kWide) return kFinishAvx2;
#endif
  return kFinishPlain;
}

size_t BytesOf(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return 1;
    case PixelType::kUint16:
    case PixelType::kFloat16:
    case PixelType::kBfloat16:
      return 2;
    case PixelType::kFloat32:
      return 4;
  }
  return 4;
}

std::vector<float> MeanInLayout(const FinishSpec& spec) {
  std::vector<float> planes(spec.mean_image);
  const size_t pixels = spec.mean_height * spec.mean_width;
  for (size_t c = 0; spec.channels_first && c < spec.channels; ++c) {
    for (size_t i = 0; i < pixels; ++i) {
      planes[c * pixels + i] = spec.mean_image[i * spec.channels + c];
    }
  }
  return planes;
}

Status CheckMeanSize(size_t mean_height, size_t mean_width, size_t height,
                     size_t width) {
  if (height == mean_height && width == mean_width) return OkStatus();
  return InvalidArgument("Normalize: mean_image has " +
                         std::to_string(mean_height) + "x" +
                         std::to_string(mean_width) + " pixels, the image " +
                         std::to_string(height) + "x" + std::to_string(width) +
                         ": resize or crop images to its size");
}

Status Finisher::Create(const FinishSpec& spec, Finisher* finisher) {
  const bool integers =
      spec.type == PixelType::kUint8 || spec.type == PixelType::kUint16;
  if (spec.channels < 1 || spec.channels > 4) {
    return InvalidArgument("images must have 1 to 4 channels, not " +
                           std::to_string(spec.channels));
  }
  if (integers && (spec.type != spec.stored || !spec.mean.empty() ||
                   !spec.std.empty() || !spec.mean_image.empty())) {
    return InvalidArgument(
        "only images of floating-point numbers can be normalised, and images "
        "of integers keep their type");
  }
  for (const auto* numbers : {&spec.mean, &spec.std}) {
    if (numbers->size() > 1 && numbers->size() != spec.channels) {
      return InvalidArgument(
          "Normalize must have one number, or one for each of the " +
          std::to_string(spec.channels) + " channels");
    }
  }
  for (const float std : spec.std) {
    if (!(std > 0)) return InvalidArgument("Normalize: std must be above 0");
  }
  if (spec.mean_image.size() !=
      spec.mean_height * spec.mean_width * spec.channels) {
    return InvalidArgument(
        "mean_image must have height * width * channels "
        "numbers");
  }
  finisher->spec_ = spec;
  finisher->kernels_ = &BestFinishKernels();
  finisher->means_ = Repeated(spec.mean, 0, spec.channels, spec.channels_first);
  finisher->stds_ = Repeated(spec.std, 1, spec.channels, spec.channels_first);
  finisher->planes_ = MeanInLayout(spec);
  return OkStatus();
}

Status Finisher::CheckSize(size_t height, size_t width) const {
  if (spec_.mean_image.empty()) return OkStatus();
  return CheckMeanSize(spec_.mean_height, spec_.mean_width, height, width);
}

template <typename T>
void Finisher::MirrorTo(const T* row, size_t width, uint8_t* out) const {
  MirrorRow(reinterpret_cast<const uint8_t*>(row), width, PixelBytes(), out);
}

template <typename T>
void Finisher::Write(const T* row, size_t n, const float* mean,
                     size_t mean_step, const float* std, uint8_t* out) const {
  const FinishLoops<T>& loops = LoopsFor(*kernels_, T());
  switch (spec_.type) {
    case PixelType::kUint8:
    case PixelType::kUint16:
      std::memcpy(out, row, n * sizeof(T));
      return;
    case PixelType::kFloat32:
      return loops.to_float(row, n, mean, mean_step, std,
                            reinterpret_cast<float*>(out));
    case PixelType::kFloat16:
      return loops.to_half(row, n, mean, mean_step, std,
                           reinterpret_cast<Half*>(out));
    case PixelType::kBfloat16:
      return loops.to_brain(row, n, mean, mean_step, std,
                            reinterpret_cast<Brain*>(out));
  }
}

template <typename T>
void Finisher::WriteRow(const T* row, size_t height, size_t width, size_t y,
                        bool mirrored, T* scratch, const Place& place) const {
  const size_t channels = spec_.channels;
  const size_t values = width * channels;
  const FinishLoops<T>& loops = LoopsFor(*kernels_, T());
  const bool whole = !planes_.empty();
  const size_t step = whole ? kFinishPeriod : 0;
  if (!spec_.channels_first) {
    if (mirrored && copies()) return MirrorTo(row, width, place.first);
    if (mirrored) {
      MirrorTo(row, width, reinterpret_cast<uint8_t*>(scratch));
      row = scratch;
    }
    return Write(row, values, whole ? &planes_[y * values] : means_.data(),
                 step, stds_.data(), place.first);
  }
  if (mirrored) {
    MirrorTo(row, width, reinterpret_cast<uint8_t*>(scratch));
    row = scratch;
  }
  T* const split = scratch + values;
  loops.split(row, width, channels, split);
  for (size_t c = 0; c < channels; ++c) {
    Write(
        split + c * width, width,
        whole ? &planes_[(c * height + y) * width] : &means_[c * kFinishPeriod],
        step, &stds_[c * kFinishPeriod], place.first + c * place.plane);
  }
}

void Finisher::WriteAny(const void* row, size_t height, size_t width, size_t y,
                        bool mirrored, void* scratch,
                        const Place& place) const {
  if (spec_.stored == PixelType::kUint16) {
    return WriteRow(static_cast<const uint16_t*>(row), height, width, y,
                    mirrored, static_cast<uint16_t*>(scratch), place);
  }
  WriteRow(static_cast<const uint8_t*>(row), height, width, y, mirrored,
           static_cast<uint8_t*>(scratch), place);
}

void Finisher::Row(const void* row, size_t height, size_t width, size_t y,
                   bool mirrored, void* scratch, void* image) const {
  const size_t bytes = BytesOf(spec_.type);
  const size_t of_row = spec_.channels_first ? width : width * spec_.channels;
  WriteAny(row, height, width, y, mirrored, scratch,
           {static_cast<uint8_t*>(image) + y * of_row * bytes,
            height * width * bytes});
}

void Finisher::FloatRow(const void* row, size_t height, size_t width, size_t y,
                        void* scratch, float* out) const {
  WriteAny(row, height, width, y, /*mirrored=*/false, scratch,
           {reinterpret_cast<uint8_t*>(out), width * sizeof(float)});
}

void Finisher::Round(const float* values, size_t n, uint8_t* out) const {
  if (n == 0) return;  // Pointers to nothing may be null.
  switch (spec_.type) {
    case PixelType::kFloat16:
      return kernels_->round_to_half(values, n, reinterpret_cast<Half*>(out));
    case PixelType::kBfloat16:
      return kernels_->round_to_brain(values, n, reinterpret_cast<Brain*>(out));
    default:
      std::memcpy(out, values, n * sizeof(float));
  }
}

void Finisher::Mix(const float* a, const float* b, float share, float rest,
                   size_t n, uint8_t* out) const {
  switch (spec_.type) {
    case PixelType::kFloat16:
      return kernels_->mix_to_half(a, b, share, rest, n,
                                   reinterpret_cast<Half*>(out));
    case PixelType::kBfloat16:
      return kernels_->mix_to_brain(a, b, share, rest, n,
                                    reinterpret_cast<Brain*>(out));
    default:
      return kernels_->mix_to_float(a, b, share, rest, n,
                                    reinterpret_cast<float*>(out));
  }
}

void Finisher::Put(const float* values, size_t height, size_t width, size_t y,
                   size_t x, size_t n, void* image) const {
  const size_t channels = spec_.channels;
  const size_t bytes = BytesOf(spec_.type);
  uint8_t* const out = static_cast<uint8_t*>(image);
  if (!spec_.channels_first) {
    return Round(values, n * channels,
                 out + (y * width + x) * channels * bytes);
  }
  float some[kFinishPeriod];
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < n; i += kFinishPeriod) {
      const size_t count = std::min(kFinishPeriod, n - i);
      for (size_t k = 0; k < count; ++k) {
        some[k] = values[(i + k) * channels + c];
      }
      Round(some, count, out + ((c * height + y) * width + x + i) * bytes);
    }
  }
}

}  // namespace liquid
