// A GPU as TensorFlow sees one, in the host's memory: kernels that are
// registered for GPUs are placed and run on it, in a TensorFlow for the
// processor. It has no stream; the driver's default one stands for it.
#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session_options.h"

namespace tensorflow {
namespace {

constexpr size_t kLargestTensor = 64 << 20;

// What tests have the driver say.
int Setting(const char* name) {
  static const auto get = reinterpret_cast<int (*)(const char*)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_get"));
  return get(name);
}

// Of its memory, pieces that were taken and freed: "tensors", "tensors_freed".
void CountOne(const char* name) {
  static const auto count = reinterpret_cast<void (*)(const char*)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_count_one"));
  count(name);
}

bool IsFull() { return Setting("full") != 0; }

class FakeMemory : public Allocator {
 public:
  std::string Name() override { return "fake_gpu"; }
  void* AllocateRaw(size_t alignment, size_t size) override {
    if (size > kLargestTensor || IsFull()) return nullptr;
    void* const memory =
        cpu_allocator()->AllocateRaw(std::max<size_t>(alignment, 256), size);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0x5A, size);
    CountOne("tensors");
    return memory;
  }
  void* AllocateRaw(size_t alignment, size_t size,
                    const AllocationAttributes& attributes) override {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::milliseconds(
                                        Setting("patience_milliseconds"));
    while (attributes.retry_on_failure && IsFull() && Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return AllocateRaw(alignment, size);
  }
  void DeallocateRaw(void* memory) override {
    if (memory != nullptr) CountOne("tensors_freed");
    cpu_allocator()->DeallocateRaw(memory);
  }
};

class FakeContext : public DeviceContext {
 public:
  void CopyCPUTensorToDevice(const Tensor* from, Device* /*device*/, Tensor* to,
                             StatusCallback done,
                             bool /*sync_dst_compute*/) const override {
    Copy(*from, to, done);
  }
  void CopyTensorInSameDevice(const Tensor* from, Device* /*device*/,
                              Tensor* to, StatusCallback done) const override {
    Copy(*from, to, done);
  }
  void CopyDeviceTensorToCPU(const Tensor* from, absl::string_view /*name*/,
                             Device* /*device*/, Tensor* to,
                             StatusCallback done) override {
    Copy(*from, to, done);
  }

 private:
  static void Copy(const Tensor& from, Tensor* to, const StatusCallback& done) {
    std::memcpy(to->data(), from.data(), from.TotalBytes());
    done(absl::OkStatus());
  }
};

class FakeDevice : public LocalDevice {
 public:
  FakeDevice(const SessionOptions& options, const DeviceAttributes& attributes)
      : LocalDevice(options, attributes) {
    info_.default_context = context_;
    info_.gpu_id = 0;
    set_tensorflow_accelerator_device_info(&info_);
  }
  ~FakeDevice() override { context_->Unref(); }

  Allocator* GetAllocator(AllocatorAttributes attributes) override {
    if (attributes.on_host()) return cpu_allocator();
    return &memory_;
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status TryGetDeviceContext(DeviceContext** context) override {
    context_->Ref();
    *context = context_;
    return absl::OkStatus();
  }
  absl::Status MakeTensorFromProto(const TensorProto& proto,
                                   const AllocatorAttributes attributes,
                                   Tensor* tensor) override {
    if (!tensor->FromProto(GetAllocator(attributes), proto)) {
      return absl::InvalidArgumentError("cannot read a tensor");
    }
    return absl::OkStatus();
  }

 private:
  FakeMemory memory_;
  FakeContext* const context_ = new FakeContext;
  AcceleratorDeviceInfo info_;
};

class FakeFactory : public DeviceFactory {
 public:
  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    for (int i = 0; i < Setting("tensorflow_devices"); ++i) {
      devices->push_back("/physical_device:GPU:" + std::to_string(i));
    }
    return absl::OkStatus();
  }
  absl::Status CreateDevices(
      const SessionOptions& options, const std::string& prefix,
      std::vector<std::unique_ptr<Device>>* devices) override {
    for (int i = 0; i < Setting("tensorflow_devices"); ++i) {
      devices->push_back(std::make_unique<FakeDevice>(
          options, Device::BuildDeviceAttributes(
                       prefix + "/device:GPU:" + std::to_string(i), "GPU",
                       Bytes(kLargestTensor), DeviceLocality(), "fake")));
    }
    return absl::OkStatus();
  }
};

REGISTER_LOCAL_DEVICE_FACTORY("GPU", FakeFactory, 210);

}  // namespace
}  // namespace tensorflow
