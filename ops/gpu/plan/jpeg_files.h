// The JPEG files of a batch, made ready for a device: planned where one decodes
// them by their index, decoded on the host where not.
#ifndef LIQUID_OPS_GPU_PLAN_JPEG_FILES_H_
#define LIQUID_OPS_GPU_PLAN_JPEG_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ops/codecs/codec.h"
#include "ops/core/span.h"
#include "ops/core/status.h"
#include "ops/gpu/plan/jpeg_plan.h"
#include "ops/gpu/plan/l3_plan.h"
#include "ops/gpu/plan/parallel.h"

namespace liquid {

// Whether the file is JPEG, by its first bytes.
bool IsJpegFile(ByteSpan bytes);

class JpegDeviceFiles {
 public:
  // An image that the host has decoded.
  struct OnHost {
    uint32_t number;  // of the batch
    bool by_library;  // libjpeg-turbo did
    double seconds;
  };

  // Makes the JPEG files among these ready for PlanL3Device, with the windows
  // that they have: those that a device does not decode become raw files of
  // their windows. What the files then point to is this object's. Call it once.
  // Errors: those of DecodeIndexed, with the image's number in front.
  Status Prepare(const DecodeLimits& limits, const L3Parallel& parallel,
                 std::vector<L3DeviceFile>* files);

  const std::vector<OnHost>& on_host() const { return on_host_; }
  // Calls `count`, which may be null, for each of these, with its format of
  // `formats`.
  void Count(const std::vector<uint32_t>& formats,
             const std::function<void(uint32_t format, bool by_library,
                                      double seconds)>& count) const;

 private:
  struct Raw;  // a file of memory of the pool

  static Status Decode(const L3DeviceFile& file, const DecodeLimits& limits,
                       Raw* raw);

  std::vector<JpegDevicePlan> plans_;
  std::vector<std::shared_ptr<Raw>> decoded_;  // null for most
  std::vector<OnHost> on_host_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_PLAN_JPEG_FILES_H_
