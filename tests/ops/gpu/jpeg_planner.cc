// Plans JPEG files for a device, for Python's ctypes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/jpeg/jpeg_index.h"
#include "ops/gpu/plan/jpeg_plan.h"
#include "ops/gpu/plan/l3_plan.h"

// Plans a window (y, x, height, width) of a JPEG file, by an index that has an
// entry each `spacing` MCUs. Gives, by number: 0 the tasks, 1 the launches,
// each the kernel's kind, first task, count, threads and shared bytes, 2 the
// images and segments, 3 the bytes, 4 the size of the blocks. Returns 0, or 1
// where the file is not planned.
extern "C" __attribute__((visibility("default"))) int liquid_plan_jpeg(
    const uint8_t* bytes, size_t size, uint32_t spacing, const uint32_t* window,
    void (*give)(int what, const void* data, size_t size)) {
  const liquid::ByteSpan jpeg(bytes, size);
  std::string index;
  liquid::JpegDevicePlan plan;
  liquid::L3DeviceFile file = {jpeg,
                               {window[0], window[1], window[2], window[3]}};
  if (!liquid::AppendJpegIndex(jpeg, liquid::DecodeLimits(), spacing, &index)
           .ok() ||
      !liquid::PlanJpegDevice(
          jpeg,
          liquid::ByteSpan(reinterpret_cast<const uint8_t*>(index.data()),
                           index.size()),
          {}, liquid::DecodeLimits(), file.window, &plan)) {
    return 1;
  }
  file.jpeg = &plan;
  liquid::L3DeviceBatch batch;
  if (!liquid::PlanL3Device({file}, liquid::DecodeLimits(), &batch,
                            {{0, 1, window[2], window[3]}})
           .ok()) {
    return 1;
  }
  std::vector<uint32_t> launches;
  for (const liquid::L3DeviceLaunch& launch : batch.launches) {
    launches.insert(launches.end(),
                    {static_cast<uint32_t>(launch.kind), launch.first,
                     launch.count, launch.threads, launch.shared_bytes});
  }
  std::vector<uint8_t> all(batch.bytes);
  liquid::FillL3Device({file}, batch, all.data());
  const uint64_t blocks = batch.jpeg_scratch_bytes;
  give(0, batch.tasks.data(),
       batch.tasks.size() * sizeof(liquid::L3DeviceTask));
  give(1, launches.data(), launches.size() * sizeof(uint32_t));
  give(2, batch.jpeg.data(), batch.jpeg.size());
  give(3, all.data(), all.size());
  give(4, &blocks, sizeof(blocks));
  return 0;
}
