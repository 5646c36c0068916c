#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ops/dataset/source/batch_records.h"
#include "ops/gpu/driver/device_copy.h"
#include "ops/gpu/driver/l3_batch.h"
#include "ops/gpu/driver/l3_lane.h"
#include "ops/gpu/driver/l3_slots.h"
#include "ops/gpu/plan/device_batch.h"
#include "ops/gpu/tf/l3_pixels.h"
#include "ops/gpu/tf/tf_gpu.h"
#include "ops/gpu/tf/tf_slot.h"
#include "ops/kernel/image_inputs.h"
#include "ops/kernel/tf_status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/lib/core/threadpool.h"

namespace liquid {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;
using ::tensorflow::Variant;

PixelType TypeOf(DataType type) {
  switch (type) {
    case tensorflow::DT_UINT8:
      return PixelType::kUint8;
    case tensorflow::DT_UINT16:
      return PixelType::kUint16;
    case tensorflow::DT_BFLOAT16:
      return PixelType::kBfloat16;
    case tensorflow::DT_HALF:
      return PixelType::kFloat16;
    default:
      return PixelType::kFloat32;
  }
}

// Reads a view after the first: its recipe, line by line.
absl::Status ReadView(const std::string& lines, DataType type,
                      DeviceView* view) {
  std::vector<std::string> recipe;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) recipe.push_back(line);
  return ToTf(ReadDeviceView(recipe, TypeOf(type), view));
}

std::vector<float> ValuesOf(const Tensor& tensor) {
  const float* const values = tensor.flat<float>().data();
  return {values, values + tensor.NumElements()};
}

// Finds the files where they lie, in strings or in the records of a batch; and
// what is to become of the images, which only records have.
absl::Status FindFiles(const Tensor& files, DeviceBatch* found) {
  if (files.dtype() == tensorflow::DT_VARIANT) {
    const auto* const batch =
        files.dims() == 0 ? files.scalar<Variant>()().get<BatchRecords>()
                          : nullptr;
    if (batch == nullptr) {
      return absl::InvalidArgumentError(
          "files must be strings, or the records of a batch of "
          "Liquid>DecodeBatchDataset");
    }
    AddRecords(batch->records, batch->plans, batch->moves, found);
    found->blends = batch->blends;
    return absl::OkStatus();
  }
  if (files.dims() != 1) {
    return absl::InvalidArgumentError(
        "files must have the shape [n], their shape is " +
        files.shape().DebugString());
  }
  for (int64_t i = 0; i < files.NumElements(); ++i) {
    found->files.push_back({Bytes(files.vec<tstring>()(i)), {}});
  }
  return absl::OkStatus();
}

// A mean image in the memory of a GPU.
struct TfMean {
  Tensor given, memory;
  DeviceMean place;
};

// Copies it there, into memory of TensorFlow's allocator.
absl::Status MakeMean(const Tensor& given, bool planar, const TfGpu& gpu,
                      std::shared_ptr<const TfMean>* made) {
  if (given.dims() != 3) {
    return absl::InvalidArgumentError(
        "mean_image must have the shape [height, width, channels], its shape "
        "is " +
        given.shape().DebugString());
  }
  FinishSpec spec;
  spec.mean_image = ValuesOf(given);
  spec.mean_height = static_cast<size_t>(given.dim_size(0));
  spec.mean_width = static_cast<size_t>(given.dim_size(1));
  spec.channels = static_cast<size_t>(given.dim_size(2));
  spec.channels_first = planar;
  const std::vector<float> values = MeanInLayout(spec);
  auto mean = std::make_shared<TfMean>();
  const tensorflow::AllocationAttributes attributes(
      /*retry_on_failure=*/true, /*allocation_will_be_logged=*/false,
      /*freed_by_func=*/nullptr);
  mean->given = given;
  mean->memory =
      Tensor(gpu.allocator, tensorflow::DT_FLOAT, given.shape(), attributes);
  if (!mean->memory.IsInitialized()) {
    return absl::ResourceExhaustedError(
        "there is no room for a mean image of " + given.shape().DebugString() +
        " on " + gpu.device->name());
  }
  mean->place = {reinterpret_cast<uint64_t>(mean->memory.data()),
                 static_cast<uint32_t>(spec.mean_height),
                 static_cast<uint32_t>(spec.mean_width),
                 static_cast<uint32_t>(spec.channels)};
  const CudaDriver* driver = nullptr;
  CuContext context = nullptr;
  TF_RETURN_IF_ERROR(FindContext(gpu, &driver, &context));
  // Who had this memory before may still use it, on this stream.
  {
    const CudaScope scope(*driver, context);
    TF_RETURN_IF_ERROR(ToTf(scope.status()));
    TF_RETURN_IF_ERROR(
        ToTf(CudaStatus(*driver, driver->stream_synchronize(gpu.compute),
                        "to wait for TensorFlow's stream")));
  }
  TF_RETURN_IF_ERROR(
      ToTf(CopyToGpu(*driver, context, values.data(),
                     values.size() * sizeof(float), mean->place.address)));
  *made = std::move(mean);
  return absl::OkStatus();
}

absl::Status ReadFiles(OpKernelContext* context, DeviceBatch* batch) {
  const Tensor& windows = context->input(1);
  const Tensor& samples = context->input(2);
  TF_RETURN_IF_ERROR(FindFiles(context->input(0), batch));
  const auto n = static_cast<int64_t>(batch->files.size());
  const bool are_records = context->input(0).dtype() == tensorflow::DT_VARIANT;
  if (windows.shape() != TensorShape({are_records ? 0 : n, 4}) ||
      (samples.shape() != TensorShape({n}) &&
       samples.shape() != TensorShape({0}))) {
    return absl::InvalidArgumentError(
        "windows and samples of " + std::to_string(n) +
        " files must have the shapes [n, 4], or [0, 4] of records, and [n] or "
        "[0], their shapes are " +
        windows.shape().DebugString() + " and " +
        samples.shape().DebugString());
  }
  for (int64_t i = 0; i < n; ++i) {
    L3DeviceFile& file = batch->files[i];
    if (!are_records) {
      TF_RETURN_IF_ERROR(ToTf(
          ReadWindow(windows.flat<int32_t>().data() + 4 * i, &file.window)));
    }
    if (samples.NumElements() > 0) file.sample = samples.vec<int64_t>()(i);
  }
  return absl::OkStatus();
}

// A kernel of the processor, so that a tf.data pipeline for the processor holds
// it. It ends when the pixels are complete and all their checksums have been
// found right: whoever gets them need not wait, and cannot get wrong ones.
// Until then its inputs hold the files, which nothing else may.
class DecodeL3DeviceOp : public AsyncOpKernel {
 public:
  explicit DecodeL3DeviceOp(OpKernelConstruction* context)
      : AsyncOpKernel(context) {
    OP_REQUIRES_OK(context, GetLimits(context, &steps_.limits));
    types_.resize(1);
    OP_REQUIRES_OK(context, context->GetAttr("dtype", &types_[0]));
    OP_REQUIRES_OK(context, context->GetAttr("device", &device_));
    std::vector<std::string> recipe;
    OP_REQUIRES_OK(context, context->GetAttr("recipe", &recipe));
    OP_REQUIRES_OK(context,
                   ToTf(ReadDeviceView(recipe, TypeOf(types_[0]), &steps_)));
    // Strings have no recipe.
    OP_REQUIRES_OK(context, context->GetAttr("planar", &steps_.planar));
    std::vector<std::string> views;
    std::vector<DataType> view_types;
    OP_REQUIRES_OK(context, context->GetAttr("views", &views));
    OP_REQUIRES_OK(context, context->GetAttr("view_types", &view_types));
    OP_REQUIRES_OK(context, context->GetAttr("stacked", &steps_.stacked));
    OP_REQUIRES(context, views.size() == view_types.size(),
                absl::InvalidArgumentError(
                    "views and view_types must be of one length"));
    for (size_t v = 0; v < views.size(); ++v) {
      steps_.more_views.emplace_back();
      OP_REQUIRES_OK(context, ReadView(views[v], view_types[v],
                                       &steps_.more_views.back()));
      types_.push_back(view_types[v]);
    }
    const size_t arrays = steps_.stacked ? 1 : types_.size();
    OP_REQUIRES(
        context, static_cast<size_t>(context->num_outputs()) == arrays,
        absl::InvalidArgumentError("arrays must be " + std::to_string(arrays)));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const absl::Status status = Start(context, done);
    if (status.ok()) return;
    context->SetStatus(status);
    done();
  }

 private:
  // A batch that is being decoded.
  struct Work {
    DeviceBatch batch;
    size_t crossing = 0;  // bytes
    TfGpu gpu;
    std::shared_ptr<const TfMean> mean;  // or null
    std::vector<TfSlot::Array> arrays;
    std::shared_ptr<L3Slot> taken;

    TfSlot& slot() const { return static_cast<TfSlot&>(*taken); }
  };

  absl::Status Start(OpKernelContext* context, DoneCallback done) {
    auto work = std::make_shared<Work>();
    TF_RETURN_IF_ERROR(ReadFiles(context, &work->batch));
    TF_RETURN_IF_ERROR(FindTfGpu(context, device_, &work->gpu));
    DeviceSteps steps = steps_;
    steps.mean = ValuesOf(context->input(3));
    steps.std = ValuesOf(context->input(4));
    TF_RETURN_IF_ERROR(FindMean(context, work->gpu, &work->mean));
    if (work->mean != nullptr) steps.mean_image = work->mean->place;
    auto* const workers =
        context->device()->tensorflow_cpu_worker_threads()->workers;
    const auto parallel =
        [workers](int64_t count, int64_t cycles,
                  const std::function<void(int64_t, int64_t)>& part) {
          workers->ParallelFor(count, cycles, part);
        };
    TF_RETURN_IF_ERROR(ToTf(PlanDeviceBatch(steps, parallel, &work->batch)));
    const Tensor& files = context->input(0);
    if (files.dtype() == tensorflow::DT_VARIANT) {
      const auto& records = *files.scalar<Variant>()().get<BatchRecords>();
      work->batch.jpeg.Count(records.formats, records.count_decode);
    }
    for (size_t i = 0; i < work->batch.arrays.size(); ++i) {
      work->arrays.push_back(
          {types_[i], TensorShape(work->batch.arrays[i].shape)});
    }
    const L3LaneLayout layout(work->batch.tasks, work->batch.files,
                              work->batch.images);
    work->crossing = layout.crossing;
    TF_RETURN_IF_ERROR(
        ToTf(slots_.Take([&] { return std::make_unique<TfSlot>(work->gpu); },
                         [&](bool may_wait, L3Slot* slot) {
                           return static_cast<TfSlot*>(slot)->Fit(
                               work->arrays, layout.device_size, may_wait);
                         },
                         &work->taken)));
    const Status started = StartDeviceBatch(
        work->batch, layout, parallel, work->slot().memory(),
        work->slot().lane(),
        [this, context, work, workers, done](CuResult result) mutable {
          // What follows may call the driver, which its own thread must not:
          // nor may it be the last to let the batch go.
          workers->Schedule(
              [this, context, work = std::move(work), result, done] {
                const absl::Status ended = End(context, result, *work);
                slots_.Return(work->taken.get());
                if (!ended.ok()) context->SetStatus(ended);
                done();
              });
        });
    if (!started.ok()) slots_.Return(work->taken.get());
    return ToTf(started);
  }

  // The mean image on the GPU, where one is given; from the batch before, if
  // that had the same one.
  absl::Status FindMean(OpKernelContext* context, const TfGpu& gpu,
                        std::shared_ptr<const TfMean>* mean) {
    const Tensor& given = context->input(5);
    if (given.NumElements() == 0) return absl::OkStatus();
    std::lock_guard<std::mutex> lock(mean_mutex_);
    if (mean_ == nullptr || !mean_->given.SharesBufferWith(given) ||
        mean_->given.shape() != given.shape()) {
      TF_RETURN_IF_ERROR(MakeMean(given, steps_.planar, gpu, &mean_));
    }
    *mean = mean_;
    return absl::OkStatus();
  }

  static absl::Status End(OpKernelContext* context, CuResult result,
                          Work& work) {
    TF_RETURN_IF_ERROR(ToTf(EndDeviceBatch(work.crossing, result,
                                           *work.slot().lane(), &work.batch)));
    for (size_t i = 0; i < work.arrays.size(); ++i) {
      const Tensor& pixels = work.slot().pixels(i);
      const TensorShape& shape = work.arrays[i].shape;
      Variant made = L3Pixels{
          pixels.shape() == shape ? pixels : pixels.Slice(0, shape.dim_size(0)),
          work.gpu.device->UnderlyingDevice()};
      TF_RETURN_IF_ERROR(
          SetScalar<Variant>(context, static_cast<int>(i), made));
    }
    return absl::OkStatus();
  }

  std::vector<DataType> types_;  // of each view
  std::string device_;
  DeviceSteps steps_;  // without mean and std, which are inputs
  std::mutex mean_mutex_;
  std::shared_ptr<const TfMean> mean_;  // guarded by mean_mutex_
  L3Slots slots_;
};

// The pixels as a tensor of the GPU.
class L3DevicePixelsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    const L3Pixels* const found =
        tensorflow::TensorShapeUtils::IsScalar(input.shape())
            ? input.scalar<Variant>()().get<L3Pixels>()
            : nullptr;
    OP_REQUIRES(context, found != nullptr,
                absl::InvalidArgumentError(
                    "pixels must be what Liquid>DecodeL3Device gives"));
    const auto* const here = context->device()->UnderlyingDevice();
    OP_REQUIRES(context, found->device == here,
                absl::InvalidArgumentError(
                    found->DebugString() + " are asked for on " + here->name() +
                    ": decode and use a batch on one device"));
    OP_REQUIRES(
        context, found->pixels.dtype() == output_type(0),
        absl::InvalidArgumentError(
            "pixels are of " +
            tensorflow::DataTypeString(found->pixels.dtype()) +
            ", and dtype is " + tensorflow::DataTypeString(output_type(0))));
    context->set_output(0, found->pixels);
  }
};

absl::Status CopyPixels(
    const L3Pixels& from, L3Pixels* to,
    const tensorflow::UnaryVariantOpRegistry::AsyncTensorDeviceCopyFn&
    /*copy*/) {
  *to = from;
  return absl::OkStatus();
}

REGISTER_KERNEL_BUILDER(
    Name("Liquid>DecodeL3Device").Device(tensorflow::DEVICE_CPU),
    DecodeL3DeviceOp);
REGISTER_KERNEL_BUILDER(
    Name("Liquid>L3DevicePixels").Device(tensorflow::DEVICE_GPU),
    L3DevicePixelsOp);

}  // namespace
}  // namespace liquid

// Their macro wants to be there.
namespace tensorflow {

INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    liquid::L3Pixels, VariantDeviceCopyDirection::HOST_TO_DEVICE,
    liquid::CopyPixels);
INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    liquid::L3Pixels, VariantDeviceCopyDirection::DEVICE_TO_HOST,
    liquid::CopyPixels);
INTERNAL_REGISTER_UNARY_VARIANT_DEVICE_COPY_FUNCTION(
    liquid::L3Pixels, VariantDeviceCopyDirection::DEVICE_TO_DEVICE,
    liquid::CopyPixels);

}  // namespace tensorflow
