// A lane to a device: batches go through it one after the other, on a stream of
// its own, beside those of other lanes.
#ifndef LIQUID_OPS_GPU_DRIVER_L3_LANE_H_
#define LIQUID_OPS_GPU_DRIVER_L3_LANE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/gpu/driver/cuda_driver.h"
#include "ops/gpu/driver/pinned_memory.h"
#include "ops/gpu/plan/l3_plan.h"

namespace liquid {

// Where everything but the pixels lies in a batch's memory on the device, each
// part at a multiple of 256; and how it gets there, and what goes to places
// of its own. What is registered and large enough is copied
// from where it lies, the rest from the lane's own memory. `views` are what a
// recipe makes of the images, or none.
struct L3LaneLayout {
  L3LaneLayout(const L3DeviceBatch& batch,
               const std::vector<L3DeviceFile>& files,
               const std::vector<ImageDeviceBatch>& views);

  struct Copy {
    uint64_t to;           // in the batch's memory, or a kL3OnDevice
    const uint8_t* where;  // nullptr: the lane's memory
    size_t from, size;
  };

  // What a recipe reads of a view.
  struct View {
    size_t samples, finished, operations, erasures, tables;
  };

  // What the device finds, an L3DeviceFindings, comes first. The output is that
  // of the pixels; with a recipe there are several, that of each chunk in
  // scratch memory, then that of the pixels and that of canvases of each view.
  size_t output, images, runs, host_tasks, host_results, blends, jpeg, bytes,
      size;
  std::vector<View> views;
  std::vector<Copy> copies;
  // Into the lane's memory, `host_size` bytes, from `bytes` on.
  std::vector<L3DeviceCopy> gathered;
  size_t host_size;
  size_t crossing;  // bytes that are copied
  // On the device alone: the tasks that it makes, a uint32_t for each that says
  // what became of it, and scratch memory: of JPEG files' blocks, and right
  // behind it that of the chunks; and floats of images that are then mixed.
  size_t tasks, results, blocks, scratch, floats, device_size;
};

// Memory of the device that a batch needs, all at a multiple of 16.
struct L3LaneMemory {
  CuAddress staging = 0;          // L3LaneLayout::device_size bytes
  std::vector<CuAddress> pixels;  // of each array
};

// What a batch took of the device, by its own clock: of the bus, for the bytes
// that it needs, and of the multiprocessors. What other streams gave to these
// meanwhile is in it.
struct L3LaneTimes {
  double copy_seconds = 0;
  double decode_seconds = 0;
};

// Owns a stream of the lowest priority, which goes after TensorFlow's only
// where the user has raised that (docs/gpu.md); events, and memory of the host
// that the device reads by itself. Not thread-safe. It must not go while a
// batch is under way.
class L3Lane {
 public:
  // What the driver says of a batch, told on a thread of its own, which must
  // not call it from there: Ended() is for another one.
  using Done = std::function<void(CuResult)>;
  // Copies what is gathered to where it is wanted, as CopyL3Files does.
  using Fill = std::function<void(uint8_t* bytes)>;

  static Status Create(const CudaDriver& driver, CuContext context,
                       std::unique_ptr<L3Lane>* lane);
  ~L3Lane();
  L3Lane(const L3Lane&) = delete;
  L3Lane& operator=(const L3Lane&) = delete;

  // Whether a graph is being captured of what `stream` is given, or the default
  // stream would wait for one of which that is so. Neither of the next two may
  // then be called: the event that they mark or wait for is a part of the
  // graph, or the capture fails.
  Status IsCaptured(CuStream stream, bool* captured) const;
  // The next batch waits for all that has been given to `stream` so far: what
  // may still use its memory. Called again, it waits for each of them.
  Status WaitFor(CuStream stream);

  // What is given to `stream` from now on waits for the batch that is done.
  Status HaveWait(CuStream stream) const;
  // Waits for all that the lane was given, and waits for.
  Status Synchronize() const;

  // Lays out a batch and starts it: copies to the device, the batch's launches,
  // one copy back. `outputs` and `types`, which L3KernelName takes, are of each
  // view. With a recipe, of as many `views`, the batch was planned for their
  // chunks: each is decoded into scratch memory, from which one more launch for
  // each view makes pixels, or some more make them by way of canvases. Views
  // are of one array where there is but one; its images may then be mixed.
  // `memory` and the
  // files' bytes are the lane's until `done` is called, which happens once if
  // and only if this is OK. Errors: those of FindL3Function, and of the driver.
  Status Start(const L3DeviceBatch& batch,
               const std::vector<ImageDeviceBatch>& views,
               const L3LaneLayout& layout, const Fill& fill,
               const std::vector<L3DeviceOutput>& outputs,
               const std::vector<std::string>& types,
               const L3LaneMemory& memory, Done done);

  // What became of a batch, of what Done was told, and what it took. Internal
  // where it failed; `*times` is then unchanged.
  Status Ended(CuResult result, L3LaneTimes* times) const;

  // Of the batch that is done, for CheckL3Device; until the next one.
  const L3DeviceFindings& findings() const {
    return *reinterpret_cast<const L3DeviceFindings*>(host_.data());
  }

 private:
  L3Lane(const CudaDriver& driver, CuContext context)
      : driver_(driver), context_(context), host_(driver) {}
  Status Mark(CuEvent event);
  Status Copy(const L3LaneLayout& layout, CuAddress staging);
  // Kernels of a view, those that it needs.
  struct ImageFunctions {
    CuFunction make = nullptr, luma = nullptr;
    CuFunction begin = nullptr, find = nullptr, operate = nullptr;  // canvases
    CuFunction erase = nullptr, mix = nullptr;
  };
  Status FindFunctions(const ImageDeviceBatch& recipe, bool mixes,
                       const std::string& stored, const std::string& types,
                       ImageFunctions* functions) const;
  Status Enqueue(const L3DeviceBatch& batch,
                 const std::vector<ImageDeviceBatch>& views,
                 const L3LaneLayout& layout,
                 const std::vector<CuFunction>& functions,
                 const std::vector<ImageFunctions>& of_views,
                 const L3LaneMemory& memory);
  // Launches a kernel of a recipe, by a block for each of `count`.
  Status Launch(CuFunction kernel, CuAddress output, CuAddress of_images,
                uint32_t count, CuAddress tables, CuAddress out, CuAddress in,
                uint32_t threads, uint32_t shared_bytes);
  // Makes view number `view` of a chunk of the images that lie in scratch
  // memory.
  Status MakeImages(const L3DeviceBatch& batch, const ImageDeviceBatch& recipe,
                    size_t view, size_t chunk, const L3LaneLayout& layout,
                    const ImageFunctions& functions,
                    const L3LaneMemory& memory);

  const CudaDriver& driver_;
  const CuContext context_;
  CuStream stream_ = nullptr;
  CuEvent free_ = nullptr;  // after it, the memory is
  // Around the copy of a batch, and behind its kernels.
  CuEvent begun_ = nullptr, copied_ = nullptr, decoded_ = nullptr;
  PinnedMemory host_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_GPU_DRIVER_L3_LANE_H_
