#include "ops/gpu/bench/photographs.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>

#include "ops/codecs/codec.h"
#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/codecs/l3/host/l3_codec.h"
#include "ops/core/clock.h"
#include "ops/core/regular_file.h"

namespace liquid {
namespace {

constexpr size_t kMost = 8;
constexpr size_t kCodings = kBenchLossless + 1;
constexpr uint32_t kSpacing = 16;  // of entry points, as `convert` has it

struct Pixels {
  uint32_t height = 0, width = 0;
  std::vector<uint8_t> rgb;
};

// A word of noise for a place.
uint32_t Hash(uint32_t x, uint32_t y, uint32_t seed) {
  uint32_t h = x * 0x9E3779B1u ^ y * 0x85EBCA77u ^ seed * 0xC2B2AE3Du;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;
  h = (h ^ h >> 12) * 0x297A2D39u;
  return h ^ h >> 15;
}

float Noise(float x, float y, uint32_t seed) {
  const float fx = std::floor(x), fy = std::floor(y);
  const auto at = [&](int dx, int dy) {
    return static_cast<float>(Hash(static_cast<uint32_t>(fx) + dx,
                                   static_cast<uint32_t>(fy) + dy, seed) &
                              0xFFFF) /
           65535;
  };
  const float u = x - fx, v = y - fy;
  return (at(0, 0) * (1 - u) + at(1, 0) * u) * (1 - v) +
         (at(0, 1) * (1 - u) + at(1, 1) * u) * v;
}

// Slopes of several sizes that the channels share, and grain that they do not.
Pixels MadeUp(uint32_t number, uint32_t width, uint32_t height) {
  Pixels made = {height, width, std::vector<uint8_t>(3ull * width * height)};
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      float light = 0;
      float strength = 0.5f;
      for (uint32_t size = 256; size >= 8; size /= 2, strength *= 0.55f) {
        light += strength * Noise(static_cast<float>(x) / size,
                                  static_cast<float>(y) / size, number + size);
      }
      const uint32_t grain = Hash(x, y, number);
      for (uint32_t c = 0; c < 3; ++c) {
        const float tint = Noise(static_cast<float>(x) / 300,
                                 static_cast<float>(y) / 300, number * 7 + c);
        const float value =
            light * (170 + 60 * tint) + static_cast<float>(grain >> 8 * c & 7);
        made.rgb[3 * (size_t{y} * width + x) + c] =
            static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
      }
    }
  }
  return made;
}

Status ReadFile(const std::string& path, std::string* bytes) {
  int file = -1;
  LIQUID_RETURN_IF_ERROR(OpenRegular(path, 0, &file));
  char buffer[1 << 16];
  ssize_t more;
  while ((more = read(file, buffer, sizeof(buffer))) > 0) {
    bytes->append(buffer, static_cast<size_t>(more));
  }
  close(file);
  return more == 0 ? OkStatus()
                   : Unavailable(path + ": " + std::strerror(errno));
}

// Of an image file, RGB of 8 bits.
Status DecodeFile(const std::string& bytes, Format* format, ImageInfo* info,
                  std::vector<uint8_t>* pixels) {
  const ByteSpan span(bytes.data(), bytes.size());
  LIQUID_RETURN_IF_ERROR(SniffFormat(span, format));
  LIQUID_RETURN_IF_ERROR(Peek(*format, span, {}, info));
  if (info->channels != 3 || info->bits != 8) {
    return InvalidArgument("it is no RGB image of 8 bits");
  }
  pixels->resize(info->PixelBytes());
  return Decode(*format, span, {}, *info, {0, 0, info->height, info->width},
                pixels->data(), info->RowBytes());
}

Status ReadImage(const std::string& path, Pixels* pixels) {
  std::string bytes;
  LIQUID_RETURN_IF_ERROR(ReadFile(path, &bytes));
  Format format;
  ImageInfo info;
  LIQUID_RETURN_IF_ERROR(DecodeFile(bytes, &format, &info, &pixels->rgb));
  pixels->height = info.height;
  pixels->width = info.width;
  return OkStatus();
}

// Where in a line of `size` pixels place `at` is, which may lie behind it.
uint32_t Mirrored(uint32_t at, uint32_t size) {
  const uint32_t place = at % (2 * size);
  return place < size ? place : 2 * size - 1 - place;
}

// By their names.
Status ListFolder(const std::string& folder, std::vector<std::string>* paths) {
  DIR* const directory = opendir(folder.c_str());
  if (directory == nullptr) {
    return NotFound("--images=" + folder + ": " + std::strerror(errno));
  }
  while (const dirent* entry = readdir(directory)) {
    paths->push_back(folder + "/" + entry->d_name);
  }
  closedir(directory);
  std::sort(paths->begin(), paths->end());
  return OkStatus();
}

Status ReadFolder(const std::string& folder, std::vector<Pixels>* images) {
  std::vector<std::string> paths;
  LIQUID_RETURN_IF_ERROR(ListFolder(folder, &paths));
  for (const std::string& path : paths) {
    Pixels pixels;
    if (images->size() < kMost && ReadImage(path, &pixels).ok()) {
      images->push_back(std::move(pixels));
    }
  }
  if (!images->empty()) return OkStatus();
  return NotFound(
      "--images=" + folder +
      ": it holds no RGB image of 8 bits of a format that is known");
}

Status AddIndex(IndexedJpeg* jpeg) {
  return AppendJpegIndex(ByteSpan(jpeg->file.data(), jpeg->file.size()), {},
                         kSpacing, &jpeg->index);
}

Status EncodeAs(size_t format, const ImageInfo& info, Photograph* image) {
  const uint8_t* const pixels = image->pixels.data();
  if (format == kBenchLossless) {
    IndexedJpeg* const jpeg = &image->jpeg;
    LIQUID_RETURN_IF_ERROR(
        Encode(Format::kJpeg, {}, info, pixels, &jpeg->file));
    LIQUID_RETURN_IF_ERROR(AddIndex(jpeg));
    Format found;
    return DecodeFile(jpeg->file, &found, &jpeg->info, &jpeg->pixels);
  }
  std::string* const file = &image->files[format];
  if (format == 0) {
    L3Options options;
    options.version = L3Version::kV1;
    return EncodeL3(options, info, pixels, file);
  }
  constexpr Format kFormat[] = {Format::kL3, Format::kL3, Format::kL3Compact,
                                Format::kRaw};
  return Encode(kFormat[format], {}, info, pixels, file);
}

}  // namespace

const std::string& Photograph::File(const std::string& format) const {
  for (size_t i = 0; i < kBenchLossless; ++i) {
    if (format == kBenchFormats[i]) return files[i];
  }
  return jpeg.file;
}

const std::vector<uint8_t>& Photograph::Pixels(
    const std::string& format) const {
  return format == kBenchFormats[kBenchLossless] ? jpeg.pixels : pixels;
}

Status ReadJpegs(const std::string& folder, std::vector<IndexedJpeg>* jpegs) {
  std::vector<std::string> paths;
  LIQUID_RETURN_IF_ERROR(ListFolder(folder, &paths));
  for (const std::string& path : paths) {
    if (jpegs->size() == kMost) break;
    IndexedJpeg jpeg;
    Format format;
    if (ReadFile(path, &jpeg.file).ok() &&
        DecodeFile(jpeg.file, &format, &jpeg.info, &jpeg.pixels).ok() &&
        format == Format::kJpeg && AddIndex(&jpeg).ok() &&
        !jpeg.index.empty()) {
      jpegs->push_back(std::move(jpeg));
    }
  }
  return OkStatus();
}

Status MakePhotographs(const std::string& folder, uint32_t width,
                       uint32_t height, Photographs* photographs) {
  std::vector<Pixels> read;
  if (!folder.empty()) LIQUID_RETURN_IF_ERROR(ReadFolder(folder, &read));
  photographs->info = {height, width, 3, 8};
  std::vector<Photograph>& images = photographs->images;
  images.resize(read.empty() ? kMost : read.size());
  std::vector<Status> ended(images.size() * kCodings);
  const size_t threads_wanted = std::min<size_t>(
      std::max(1u, std::thread::hardware_concurrency()), ended.size());
  const auto in_parallel = [&](size_t count, auto work) {
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < threads_wanted; ++i) {
      threads.emplace_back([&] {
        for (size_t at = next++; at < count; at = next++) work(at);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  in_parallel(images.size(), [&](size_t at) {
    std::vector<uint8_t>& pixels = images[at].pixels;
    if (read.empty()) {
      pixels = MadeUp(static_cast<uint32_t>(at), width, height).rgb;
      return;
    }
    const Pixels& from = read[at];
    pixels.resize(photographs->info.PixelBytes());
    for (uint32_t y = 0; y < height; ++y) {
      const uint8_t* const row =
          &from.rgb[3ull * from.width * Mirrored(y, from.height)];
      for (uint32_t x = 0; x < width; ++x) {
        std::memcpy(&pixels[3 * (size_t{y} * width + x)],
                    row + 3 * Mirrored(x, from.width), 3);
      }
    }
  });
  const double begin = MonotonicSeconds();
  in_parallel(ended.size(), [&](size_t at) {
    ended[at] =
        EncodeAs(at % kCodings, photographs->info, &images[at / kCodings]);
  });
  photographs->encode_seconds = MonotonicSeconds() - begin;
  for (const Status& status : ended) LIQUID_RETURN_IF_ERROR(status);
  return OkStatus();
}

}  // namespace liquid
