// JPEG files for a device: the parts of their scans that windows need, by the
// files' indices, and the tasks to do.
#ifndef LIQUID_OPS_GPU_PLAN_JPEG_PLAN_H_
#define LIQUID_OPS_GPU_PLAN_JPEG_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/codecs/jpeg/device/jpeg_device.h"
#include "ops/core/span.h"
#include "ops/image/device/image_plan.h"

namespace liquid {

struct L3DeviceBatch;

// Of the blocks that lie in scratch memory at once, unless a single image needs
// more.
constexpr uint64_t kJpegScratchBytes = kImageScratchBytes;

// The window of a file that is decoded.
struct JpegDevicePlan {
  struct Range {
    uint64_t begin, end;  // bytes of the file
  };

  ImageInfo image;            // of the file
  JpegDeviceImage device;     // but for places in memory
  std::vector<Range> ranges;  // that segments need, ascending and apart
  // Row by row; `begin` is of the file.
  std::vector<JpegDeviceSegment> segments;
  uint32_t row_segments = 0;  // of them
  uint32_t first_entry = 0;   // of each row
  uint32_t spacing = 0;       // of entries, in MCUs
};

// Plans a window, which lies in the image. False where a device does not take
// it: the file is none for the decoder of our own, has no index, or one that is
// damaged or another file's, or is odd: it is for the host, which also words
// the errors. With an `outline`, which is the file's, the bytes from the scan
// on are not read, and it is only false where the window is none of the image.
// O(segments), and without an outline what a row of MCUs has of bytes.
bool PlanJpegDevice(ByteSpan jpeg, ByteSpan index, ByteSpan outline,
                    const DecodeLimits& limits, const Window& window,
                    JpegDevicePlan* plan);

// Writes an outline of the scan, whose bytes need not be there to plan by it:
// where it ends, and behind which entries a byte is stuffed. `*head`: bytes up
// to the scan. False where a device does not take all windows of the file.
// O(bytes).
bool OutlineJpeg(ByteSpan jpeg, ByteSpan index, const DecodeLimits& limits,
                 uint64_t* head, std::string* outline);

// The JPEG files of a batch, whose pixels go to its chunks.
class JpegDeviceTasks {
 public:
  // Adds image `number` of the batch; they come in its order. `to` is where the
  // batch's bytes have each of the plan's ranges.
  void Add(uint32_t number, const JpegDevicePlan& plan,
           const std::vector<uint64_t>& to);

  // Appends tasks and launches for the images of a chunk. Each three launches
  // are for images whose blocks lie in scratch memory at once.
  void AppendChunk(uint32_t number, const ImageDeviceChunk& chunk,
                   L3DeviceBatch* batch);

  // Gives the batch what its tasks read beside the files' bytes.
  void Finish(L3DeviceBatch* batch);

 private:
  struct Image {
    uint32_t number;
    JpegDeviceImage device;
    uint32_t first_segment, segments;  // of all
    uint32_t row_segments, first_entry, spacing;
  };

  void AppendCodes(size_t i, L3DeviceBatch* batch) const;
  void AppendBlocks(size_t i, L3DeviceBatch* batch) const;
  void AppendPixels(size_t i, const ImageDeviceChunk& chunk,
                    L3DeviceBatch* batch) const;

  std::vector<Image> images_;
  std::vector<JpegDeviceSegment> segments_;
  std::vector<uint64_t> offsets_;  // of each segment in its file
  uint64_t scratch_bytes_ = 0;
};

inline bool IsJpegTask(L3TaskKind kind) {
  return kind == L3TaskKind::kJpegCodes || kind == L3TaskKind::kJpegBlocks ||
         kind == L3TaskKind::kJpegPixels;
}

// Of a task of JPEG: what its result says, with the place; `offset` is its
// origin's.
std::string DescribeJpegDamage(const L3DeviceTask& task, uint64_t offset,
                               uint32_t result);

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_JPEG_PLAN_H_
