// Plans batches for a device, for Python's ctypes.
//
// Each function returns a StatusCode. It gives its "message", which is empty
// where all is well, and of a plan what GiveBatch says, each by its name.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/gpu/plan/jpeg_plan.h"
#include "ops/gpu/plan/l3_plan.h"

#define LIQUID_EXPORTED extern "C" __attribute__((visibility("default")))

namespace liquid {
namespace {

using Give = void (*)(const char* name, const void* data, size_t size);

int Tell(const Status& status, Give give) {
  give("message", status.message().data(), status.message().size());
  return static_cast<int>(status.code());
}

template <typename T>
void GiveAll(const char* name, const std::vector<T>& values, Give give) {
  give(name, values.data(), values.size() * sizeof(T));
}

// Gives "images", "runs", "tasks" and "jpeg" as L3DeviceBatch has them, and the
// "bytes"; of the launches the "kernels", a line with the beginning of each
// one's name, and in "launches" the first task, count, blocks, threads and
// shared bytes; and "sizes": files, height, width, channels, bits, and the
// bytes of JPEG's scratch memory.
void GiveBatch(const std::vector<L3DeviceFile>& files,
               const L3DeviceBatch& batch, Give give) {
  std::vector<uint8_t> bytes(batch.bytes);
  FillL3Device(files, batch, bytes.data());
  std::string kernels;
  std::vector<uint32_t> launches;
  for (const L3DeviceLaunch& launch : batch.launches) {
    kernels += L3KernelName(launch.kind, "") + '\n';
    launches.insert(launches.end(), {launch.first, launch.count, launch.blocks,
                                     launch.threads, launch.shared_bytes});
  }
  const std::vector<uint64_t> sizes = {
      files.size(),         batch.image.height, batch.image.width,
      batch.image.channels, batch.image.bits,   batch.jpeg_scratch_bytes};
  GiveAll("bytes", bytes, give);
  GiveAll("images", batch.images, give);
  GiveAll("runs", batch.runs, give);
  GiveAll("tasks", batch.tasks, give);
  GiveAll("jpeg", batch.jpeg, give);
  give("kernels", kernels.data(), kernels.size());
  GiveAll("launches", launches, give);
  GiveAll("sizes", sizes, give);
}

Window ReadWindow(const uint32_t* numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

std::vector<L3DeviceFile> ReadFiles(const uint8_t* const* bytes,
                                    const size_t* sizes,
                                    const uint32_t* windows, size_t count) {
  std::vector<L3DeviceFile> files;
  for (size_t i = 0; i < count; ++i) {
    files.push_back(
        {ByteSpan(bytes[i], sizes[i]), ReadWindow(windows + 4 * i)});
  }
  return files;
}

Status PlanJpeg(ByteSpan jpeg, uint32_t spacing, const Window& window,
                Give give) {
  std::string index;
  LIQUID_RETURN_IF_ERROR(
      AppendJpegIndex(jpeg, DecodeLimits(), spacing, &index));
  const ByteSpan indexed(reinterpret_cast<const uint8_t*>(index.data()),
                         index.size());
  JpegDevicePlan plan;
  if (!PlanJpegDevice(jpeg, indexed, {}, DecodeLimits(), window, &plan)) {
    return InvalidArgument("the file is not for a device");
  }
  L3DeviceFile file = {jpeg, window};
  file.jpeg = &plan;
  L3DeviceBatch batch;
  LIQUID_RETURN_IF_ERROR(PlanL3Device({file}, DecodeLimits(), &batch,
                                      {{0, 1, window.height, window.width}}));
  GiveBatch({file}, batch, give);
  return OkStatus();
}

}  // namespace
}  // namespace liquid

// Plans windows (y, x, height, width) of files of L3 and raw; see PlanL3Device.
LIQUID_EXPORTED int liquid_plan_l3(const uint8_t* const* bytes,
                                   const size_t* sizes, const uint32_t* windows,
                                   size_t count, liquid::Give give) {
  const auto files = liquid::ReadFiles(bytes, sizes, windows, count);
  liquid::L3DeviceBatch batch;
  const liquid::Status status =
      liquid::PlanL3Device(files, liquid::DecodeLimits(), &batch);
  if (status.ok()) liquid::GiveBatch(files, batch, give);
  return liquid::Tell(status, give);
}

// Whether the tasks of such a plan went well, by what was found; see
// CheckL3Device.
LIQUID_EXPORTED int liquid_check_l3(const uint8_t* const* bytes,
                                    const size_t* sizes,
                                    const uint32_t* windows, size_t count,
                                    const uint64_t* findings,
                                    liquid::Give give) {
  const auto files = liquid::ReadFiles(bytes, sizes, windows, count);
  liquid::L3DeviceBatch batch;
  liquid::Status status =
      liquid::PlanL3Device(files, liquid::DecodeLimits(), &batch);
  if (status.ok()) {
    status = liquid::CheckL3Device(files, batch, {findings[0], findings[1]});
  }
  return liquid::Tell(status, give);
}

// Plans a window of a JPEG file, by an index that has an entry each `spacing`
// MCUs.
LIQUID_EXPORTED int liquid_plan_jpeg(const uint8_t* bytes, size_t size,
                                     uint32_t spacing, const uint32_t* window,
                                     liquid::Give give) {
  return liquid::Tell(liquid::PlanJpeg(liquid::ByteSpan(bytes, size), spacing,
                                       liquid::ReadWindow(window), give),
                      give);
}
