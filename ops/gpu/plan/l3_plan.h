// Batches for a device: what to send of each file, and the images of which the
// device makes its tasks.
//
// The host reads and checks headers. Of the table of patches it reads where the
// bytes lie that are sent, and how large the largest patch is; the device
// checks each. Only the patches that a window meets are sent, and what the
// table says of them.
#ifndef LIQUID_OPS_GPU_PLAN_L3_PLAN_H_
#define LIQUID_OPS_GPU_PLAN_L3_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/l3/device/l3_device.h"
#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/image/device/image_plan.h"

namespace liquid {

struct JpegDevicePlan;

// Marks a place in a device's memory where others are places in the batch's
// bytes: see PlaceOnDevice.
constexpr uint64_t kL3OnDevice = uint64_t{1} << 63;

// A file of L3 or raw, and the window of it that is wanted; a window of height
// 0 is all of it. A sample of 0 or more is named in errors.
struct L3DeviceFile {
  ByteSpan bytes;
  Window window;
  int64_t sample = -1;
  bool is_registered = false;  // a device reads the bytes by itself
  ByteSpan index = {};         // of a file of JPEG; may be empty
  // Of such a file, whose window it says; it must outlive the call.
  const JpegDevicePlan* jpeg = nullptr;
  // Where all of the file lies in the device's memory, or 0: what is needed of
  // it is then sent. It lies there already, and `bytes`, of its size, has only
  // what it is planned by; or it `is_moved` there with the batch.
  uint64_t on_device = 0;
  bool is_moved = false;
  ByteSpan outline = {};  // of a file of JPEG that lies there already
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

// Tasks [first, first + count) of those that the device makes, or of JPEG of
// those that the host does; they are of one kind, and of one
// chunk of its images: one kernel does them.
struct L3DeviceLaunch {
  L3TaskKind kind;
  uint32_t chunk;
  uint32_t first, count;
  uint32_t blocks;
  uint32_t threads, shared_bytes;  // of a block
};

struct L3DeviceBatch {
  ImageInfo image;  // of each window, with the channels and bits of all files
  std::vector<L3DeviceCopy> copies;
  std::vector<uint32_t> moved;  // files that go to places of their own, whole
  // In the order of the launches, and of one launch in that of the batch.
  std::vector<L3DeviceImage> images;
  std::vector<L3DeviceRun> runs;  // of the images
  std::vector<L3DeviceLaunch> launches;
  uint32_t n_tasks = 0;  // that the device makes of them
  // Tasks that the host makes, of JPEG files, with launches of their own.
  std::vector<L3DeviceTask> tasks;
  std::vector<L3DeviceOrigin> origins;
  // Of JPEG files: JpegDeviceImage of each, and their segments; and memory for
  // their blocks, which lies right before the scratch memory of the chunks.
  std::vector<uint8_t> jpeg;
  size_t jpeg_segments = 0;  // where they begin in it
  uint64_t jpeg_scratch_bytes = 0;
  uint64_t bytes = 0;  // of the batch, a multiple of kL3PieceBytes
  // Of what it was planned, to do so again.
  DecodeLimits limits;
  std::vector<ImageDeviceChunk> chunks;
};

// The tasks that a device makes of a batch, by the host.
struct L3TaskPlan {
  L3DeviceBatch batch;
  std::vector<L3DeviceTask> tasks;
  std::vector<L3DeviceOrigin> origins;  // of each task
};

// Plans a batch of at least one file. With `chunks` its windows are decoded
// into scratch memory, one chunk after another, and may differ in size; JPEG
// files need them.
// O(images), and a look at each entry of a table. Errors: those of PeekL3 and
// PeekRaw, with the image's number in front; InvalidArgument for a window that
// does not fit, where the windows' sizes, the channels or the bits differ, and
// for what 32 bits do not number.
// Damage to a table is for the device to find (CheckL3Device).
Status PlanL3Device(const std::vector<L3DeviceFile>& files,
                    const DecodeLimits& limits, L3DeviceBatch* batch,
                    const std::vector<ImageDeviceChunk>& chunks = {});

// The same, with the tasks: for the message where a device found damage.
// O(patches of all files). Errors: also those of L3V2Table.
Status PlanL3Tasks(const std::vector<L3DeviceFile>& files,
                   const DecodeLimits& limits, L3TaskPlan* plan,
                   const std::vector<ImageDeviceChunk>& chunks = {});

// What `place`, of a plan, is for kernels whose batch's bytes begin at `bytes`,
// in the device's memory: the place from there, modulo 2^64.
inline uint64_t PlaceOnDevice(uint64_t place, uint64_t bytes) {
  return place < kL3OnDevice ? place : place - kL3OnDevice - bytes;
}

// Copies into `out`, batch.bytes of them, what the tasks read; the rest is 0.
void FillL3Device(const std::vector<L3DeviceFile>& files,
                  const L3DeviceBatch& batch, uint8_t* out);

// Does [first, last) of copies, to `out`. Parts may be done by several threads.
void CopyL3Files(const std::vector<L3DeviceFile>& files,
                 const L3DeviceCopy* first, const L3DeviceCopy* last,
                 uint8_t* out);

// The name of the kernel (l3_device.cu and jpeg_device.cu list them) for a
// launch of that kind. `types` are those of what is stored and of the batch,
// such as "u8_f32".
std::string L3KernelName(L3TaskKind kind, const std::string& types);

// Image `number` of a batch, as errors name it.
std::string NameL3Image(size_t number, int64_t sample);

// Checks that file `number` of a batch, of any format, holds an image of that
// kind. Errors: those of Peek, and DataLoss, with the image's number in front.
Status CheckL3File(const L3DeviceFile& file, size_t number,
                   const ImageInfo& expected, const DecodeLimits& limits);

// Whether all tasks went well, by what the device has found. DataLoss
// otherwise, which names the first image, patch and offset that did not; those
// of PlanL3Tasks for a table. Internal where the device did not do them all.
// `files` are the batch's.
Status CheckL3Device(const std::vector<L3DeviceFile>& files,
                     const L3DeviceBatch& batch,
                     const L3DeviceFindings& findings);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_L3_PLAN_H_
