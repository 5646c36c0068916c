#include "ops/gpu/plan/jpeg_files.h"

#include <string>

#include "ops/codecs/raw/raw_codec.h"
#include "ops/core/buffer_pool.h"
#include "ops/core/clock.h"

namespace liquid {
namespace {

// What a byte takes of a processor that decodes it, about.
constexpr int64_t kCyclesPerByte = 30;

}  // namespace

struct JpegDeviceFiles::Raw {
  Buffer memory;
  ByteSpan bytes;
};

// Decodes the window of a file.
Status JpegDeviceFiles::Decode(const L3DeviceFile& file,
                               const DecodeLimits& limits, Raw* raw) {
  ImageInfo info;
  LIQUID_RETURN_IF_ERROR(Peek(Format::kJpeg, file.bytes, limits, &info));
  ImageInfo part = info;
  part.height = file.window.height;
  part.width = file.window.width;
  const size_t size = kRawHeaderBytes + part.height * part.RowBytes();
  raw->memory = BufferPool::Process().Acquire(size);
  if (!raw->memory) {
    return Unavailable("jpeg: the process has no memory for an image of " +
                       std::to_string(size) +
                       " bytes: make batches smaller, or give cache less "
                       "memory");
  }
  uint8_t* const data = raw->memory.data();
  raw->bytes = ByteSpan(data, size);
  StoreRawHeader(part, data);
  return DecodeIndexed(Format::kJpeg, file.bytes, file.index, limits, info,
                       file.window, data + kRawHeaderBytes, part.RowBytes());
}

bool IsJpegFile(ByteSpan bytes) {
  Format format;
  return SniffFormat(bytes, &format).ok() && format == Format::kJpeg;
}

Status JpegDeviceFiles::Prepare(const DecodeLimits& limits,
                                const L3Parallel& parallel,
                                std::vector<L3DeviceFile>* files) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < files->size(); ++i) {
    if (IsJpegFile((*files)[i].bytes)) numbers.push_back(i);
  }
  const size_t count = numbers.size();
  plans_.resize(count);
  decoded_.resize(count);
  std::vector<OnHost> on_host(count);
  std::vector<Status> found(count);
  const auto prepare = [&](size_t i) {
    L3DeviceFile* file = &(*files)[numbers[i]];
    if (PlanJpegDevice(file->bytes, file->index, file->outline, limits,
                       file->window, &plans_[i])) {
      file->jpeg = &plans_[i];
      return;
    }
    if (file->on_device != 0 && !file->is_moved) {
      found[i] = Internal("jpeg: the device has the file, and cannot take it");
      return;
    }
    const double begin = MonotonicSeconds();
    const uint64_t by_library = LibraryDecodes();
    decoded_[i] = std::make_shared<Raw>();
    found[i] = Decode(*file, limits, decoded_[i].get());
    on_host[i] = {numbers[i], LibraryDecodes() != by_library,
                  MonotonicSeconds() - begin};
    if (!found[i].ok()) return;
    file->bytes = decoded_[i]->bytes;
    file->on_device = 0;
    file->is_moved = false;
    file->window = {0, 0, file->window.height, file->window.width};
    file->is_registered = BufferPool::Process().IsLocked(file->bytes.data);
  };
  if (count > 0) {
    uint64_t size = 0;
    for (const uint32_t number : numbers) {
      const L3DeviceFile& file = (*files)[number];
      size += (file.outline.size > 0 ? file.outline : file.bytes).size;
    }
    const auto each = static_cast<int64_t>(size / count) * kCyclesPerByte;
    parallel(static_cast<int64_t>(count), each,
             [&](int64_t first, int64_t last) {
               for (; first < last; ++first)
                 prepare(static_cast<size_t>(first));
             });
  }
  for (size_t i = 0; i < count; ++i) {
    if (!found[i].ok()) {
      return Status(found[i].code(),
                    NameL3Image(numbers[i], (*files)[numbers[i]].sample) +
                        ": " + found[i].message());
    }
    if (decoded_[i] != nullptr) on_host_.push_back(on_host[i]);
  }
  return OkStatus();
}

void JpegDeviceFiles::Count(
    const std::vector<uint32_t>& formats,
    const std::function<void(uint32_t, bool, double)>& count) const {
  if (count == nullptr) return;
  for (const OnHost& image : on_host_) {
    count(formats[image.number], image.by_library, image.seconds);
  }
}

}  // namespace liquid
