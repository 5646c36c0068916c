// A batch on the device: laid out, decoded by a kernel, and compared with the
// processors' pixels.
#ifndef LIQUID_OPS_GPU_BENCH_DECODING_H_
#define LIQUID_OPS_GPU_BENCH_DECODING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/gpu/bench/device.h"
#include "ops/gpu/bench/photographs.h"
#include "ops/gpu/plan/l3_plan.h"

namespace liquid {

// What a kernel makes of samples, as the second part of its name says.
enum class BenchOut { kU8, kF32, kBF16 };
size_t BenchOutBytes(BenchOut out);

// The tensor that takes images, with mean 0 and deviation 1. `verified`:
// patches are not compared with their checksums, as those of records are not.
L3DeviceOutput BenchOutput(const ImageInfo& info, bool planar, bool verified);

// `count` files of that format, the photographs one after the other, again and
// again.
std::vector<L3DeviceFile> BenchFiles(const Photographs& photographs,
                                     const std::string& format, size_t count);

// DataLoss, with `what`, unless the device's memory holds the pixels of `count`
// images of BenchFiles.
Status CheckBenchPixels(const BenchDevice& device,
                        const Photographs& photographs, size_t count,
                        BenchOut out, bool planar, CuAddress pixels,
                        const std::string& what);

// Holds its bytes, tasks and pixels on the device. `types` are what
// L3KernelName takes.
class BenchBatch {
 public:
  static Status Make(const BenchDevice& device, const Photographs& photographs,
                     const std::string& format, size_t count,
                     const std::string& types, BenchOut out, bool planar,
                     bool verified, std::unique_ptr<BenchBatch>* batch);
  ~BenchBatch();
  BenchBatch(const BenchBatch&) = delete;
  BenchBatch& operator=(const BenchBatch&) = delete;

  // Starts its kernels on a stream; `one_block`: with as many blocks as there
  // are images, else with those that are planned.
  Status Launch(bool one_block, CuStream stream) const;
  // Whether every task went well, and the pixels are right.
  Status Check(const std::string& what) const;

  const L3DeviceBatch& plan() const { return plan_; }
  size_t count() const { return files_.size(); }
  size_t pixel_bytes() const { return pixel_bytes_; }

 private:
  BenchBatch(const BenchDevice& device, const Photographs& photographs,
             BenchOut out, bool planar)
      : device_(device),
        photographs_(photographs),
        out_(out),
        planar_(planar) {}

  const BenchDevice& device_;
  const Photographs& photographs_;
  const BenchOut out_;
  const bool planar_;
  std::vector<L3DeviceFile> files_;
  L3DeviceBatch plan_;
  std::vector<CuFunction> functions_;  // of the plan's launches
  size_t pixel_bytes_ = 0;
  CuAddress output_ = 0, tasks_ = 0, bytes_ = 0, pixels_ = 0, results_ = 0;
  CuAddress findings_ = 0;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_BENCH_DECODING_H_
