// Batches for a device: what to send of each file, and the tasks to do.
//
// The host reads headers and tables, and checks them; it touches no patch. Only
// the patches that a window meets are sent.
#ifndef LIQUID_OPS_GPU_PLAN_L3_PLAN_H_
#define LIQUID_OPS_GPU_PLAN_L3_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/l3/device/l3_device.h"
#include "ops/core/span.h"
#include "ops/core/status.h"

namespace liquid {

// A file of L3 or raw, and the window of it that is wanted; a window of height
// 0 is all of it. A sample of 0 or more is named in errors.
struct L3DeviceFile {
  ByteSpan bytes;
  Window window;
  int64_t sample = -1;
};

// Bytes of a file that go into the batch.
struct L3DeviceCopy {
  uint32_t file;
  uint64_t from, to, size;
};

// Where in its file what a task reads begins; as L3DeviceTask::begin.
struct L3DeviceOrigin {
  uint64_t offset[3];
};

struct L3DeviceBatch {
  ImageInfo image;  // of each window, with the channels and bits of all files
  std::vector<L3DeviceCopy> copies;
  std::vector<L3DeviceTask> tasks;
  std::vector<L3DeviceOrigin> origins;  // of each task
  uint64_t bytes = 0;         // of the batch, a multiple of kL3PieceBytes
  uint32_t shared_bytes = 0;  // of a block's shared memory
  uint32_t threads = 0;       // of a block
};

// Plans a batch of at least one file. O(patches of all files). Errors: those of
// PeekL3 and PeekRaw, with the image's number in front; InvalidArgument for a
// window that does not fit, and where the windows' sizes, the channels or the
// bits differ.
Status PlanL3Device(const std::vector<L3DeviceFile>& files,
                    const DecodeLimits& limits, L3DeviceBatch* batch);

// Copies into `out`, batch.bytes of them, what the tasks read; the rest is 0.
void FillL3Device(const std::vector<L3DeviceFile>& files,
                  const L3DeviceBatch& batch, uint8_t* out);

// The part of it that copies [first, last) of the batch are; the last one has
// the rest with it. Parts may be filled by several threads.
void FillL3Device(const std::vector<L3DeviceFile>& files,
                  const L3DeviceBatch& batch, size_t first, size_t last,
                  uint8_t* out);

// Image `number` of a batch, as errors name it.
std::string NameL3Image(size_t number, int64_t sample);

// Whether all of `count` tasks went well. DataLoss otherwise, which names the
// first image, patch and offset that did not. `files` are the batch's, for
// their samples; none where these have no names.
Status CheckL3Device(const L3DeviceTask* tasks, const L3DeviceOrigin* origins,
                     const uint32_t* results, size_t count,
                     const std::vector<L3DeviceFile>& files = {});

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_L3_PLAN_H_
