// The driver and NVRTC, found, missing and failing. Fakes lie under their
// names, and tests run in this order: what is open once stays open.
#include "ops/gpu/driver/cuda_driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/core/buffer_pool.h"
#include "ops/gpu/driver/l3_functions.h"
#include "ops/gpu/driver/nvrtc.h"
#include "ops/gpu/driver/record_memory.h"

namespace liquid::cuda_driver_test {
namespace {

bool Contains(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

class CudaDriverTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // The suites after the first find the fake one under the real one's name.
    if (fake_ != nullptr) return;
    has_real_ = dlopen("libcuda.so.1", RTLD_NOW) != nullptr;
  }
  void SetUp() override {
    if (has_real_) GTEST_SKIP() << "this machine has a driver";
  }

  static void Set(const char* name, int value) {
    reinterpret_cast<void (*)(const char*, int)>(dlsym(fake_, "fake_cuda_set"))(
        name, value);
  }

  static bool has_real_;
  static void* fake_;
  static const CudaDriver* driver_;
};

bool CudaDriverTest::has_real_ = false;
void* CudaDriverTest::fake_ = nullptr;
const CudaDriver* CudaDriverTest::driver_ = nullptr;

TEST_F(CudaDriverTest, WithoutOne) {
  const Status status = LoadCudaDriver(&driver_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Contains(status, "there is no NVIDIA driver (libcuda.so.1"));
  EXPECT_TRUE(Contains(status, "install one, so that nvidia-smi runs"));
}

TEST_F(CudaDriverTest, WithoutADevice) {
  fake_ = dlopen("tests/gpu/fake_driver.so", RTLD_NOW);
  ASSERT_NE(fake_, nullptr) << dlerror();
  Set("devices", 0);
  Status status = LoadCudaDriver(&driver_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Contains(status, "CUDA finds no GPU"));
  EXPECT_TRUE(Contains(status, "CUDA_VISIBLE_DEVICES may hide it"));
  Set("devices", 1);
  Set("init", 100);
  status = LoadCudaDriver(&driver_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Contains(status, "CUDA_ERROR_NO_DEVICE"));
  Set("init", 0);
}

TEST_F(CudaDriverTest, IsLoadedOnce) {
  ASSERT_TRUE(LoadCudaDriver(&driver_).ok());
  const CudaDriver* again = nullptr;
  ASSERT_TRUE(LoadCudaDriver(&again).ok());
  EXPECT_EQ(again, driver_);
}

TEST_F(CudaDriverTest, ResultsHaveNames) {
  EXPECT_TRUE(CudaStatus(*driver_, 0, "to try").ok());
  const Status memory = CudaStatus(*driver_, 2, "to try");
  EXPECT_EQ(memory.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(memory.message(),
            "l3 on a GPU: to try: CUDA_ERROR_OUT_OF_MEMORY, as the fake was "
            "told");
  EXPECT_EQ(CudaStatus(*driver_, 719, "to try").code(), StatusCode::kInternal);
}

TEST_F(CudaDriverTest, MemoryIsTakenWhileOthersCaptureAGraph) {
  CuContext context = nullptr;
  ASSERT_EQ(driver_->stream_context(nullptr, &context), 0);
  ASSERT_EQ(driver_->context_push(context), 0);
  Set("capturing", 1);
  CuAddress memory = 0;
  EXPECT_NE(driver_->allocate(&memory, 8), 0);
  {
    const CudaScope scope(*driver_, context);
    EXPECT_EQ(driver_->allocate(&memory, 8), 0);
    EXPECT_EQ(driver_->free(memory), 0);
  }
  // The thread's own mode is what it was.
  EXPECT_NE(driver_->allocate(&memory, 8), 0);
  Set("capturing", 0);
  EXPECT_EQ(driver_->context_pop(&context), 0);
}

TEST_F(CudaDriverTest, KernelsNeedADeviceThatTakesThem) {
  CuContext context = nullptr;
  ASSERT_EQ(driver_->stream_context(nullptr, &context), 0);
  const CudaScope scope(*driver_, context);
  CuFunction function = nullptr;
  Set("capability", 70);
  Status status =
      FindL3Function(*driver_, context, "liquid_l3_v2_u8_u8", &function);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_TRUE(Contains(status, "compute capability 7.0, and must have 7.5"));
  Set("capability", 75);
  Set("module", 200);
  status = FindL3Function(*driver_, context, "liquid_l3_v2_u8_u8", &function);
  // Where the library carries source, NVRTC comes first, and may be missing.
  EXPECT_TRUE(
      (status.code() == StatusCode::kInternal &&
       Contains(status, "a driver as new as")) ||
      (status.code() == StatusCode::kNotFound && Contains(status, "libnvrtc")))
      << status.message();
  Set("module", 0);
}

TEST_F(CudaDriverTest, AFunctionThatIsMissingIsNamed) {
  void* function = nullptr;
  const NamedFunction missing[] = {{"cuNoSuchThing", &function}};
  const Status status =
      FindFunctions(fake_, "libcuda.so.1", missing, 1, "install another");
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_TRUE(
      Contains(status, "libcuda.so.1 has no cuNoSuchThing: install another"));
}

// Registers with the process's pool, and has it let all go.
class RecordMemoryTest : public CudaDriverTest {
 protected:
  void SetUp() override {
    CudaDriverTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(LoadCudaDriver(&driver_).ok());
    ASSERT_EQ(driver_->stream_context(nullptr, &context_), 0);
    pool_.LockWith(nullptr);
    EXPECT_EQ(Registered(), 0);
  }
  void TearDown() override {
    if (IsSkipped()) return;
    pool_.LockWith(nullptr);
    EXPECT_EQ(Registered(), 0);
  }
  void Register() {
    RegisterRecords(*driver_, context_, [this](const std::string& sentence) {
      sentences_.push_back(sentence);
    });
  }

  static int Count(const char* name) {
    return reinterpret_cast<int (*)(const char*)>(
        dlsym(fake_, "fake_cuda_count"))(name);
  }
  static int Registered() {
    return Count("registered") - Count("unregistered");
  }

  BufferPool& pool_ = BufferPool::Process();
  CuContext context_ = nullptr;
  std::vector<std::string> sentences_;
};

TEST_F(RecordMemoryTest, IsRegisteredUntilItGoes) {
  Register();
  EXPECT_EQ(Registered(), 0);
  Buffer buffer = pool_.Acquire(100000);
  EXPECT_TRUE(pool_.IsLocked(buffer.data()));
  EXPECT_EQ(Registered(), 1);
  pool_.LockWith(nullptr);
  EXPECT_TRUE(pool_.IsLocked(buffer.data()));
  const Buffer usual = pool_.Acquire(20 << 20);
  EXPECT_FALSE(pool_.IsLocked(usual.data()));
  EXPECT_TRUE(sentences_.empty());
}

TEST_F(RecordMemoryTest, WhatFailsIsToldOnceWithWhatToDo) {
  Set("register", 2);
  Register();
  for (int i = 0; i < 3; ++i) {
    const Buffer buffer = pool_.Acquire(100000);
    ASSERT_TRUE(buffer);
    EXPECT_FALSE(pool_.IsLocked(buffer.data()));
  }
  ASSERT_EQ(sentences_.size(), 1u);
  EXPECT_EQ(sentences_[0],
            "l3 on a GPU: to register 8388608 bytes of memory: "
            "CUDA_ERROR_OUT_OF_MEMORY, as the fake was told; records are "
            "copied once more on their way to the GPU, which takes processor "
            "time: give the process more locked memory (ulimit -l, or the "
            "container's limits), or the cache less");
  // Who asks again may have more.
  Set("register", 0);
  Register();
  const Buffer buffer = pool_.Acquire(100000);
  EXPECT_TRUE(pool_.IsLocked(buffer.data()));
  EXPECT_EQ(sentences_.size(), 1u);
}

TEST_F(RecordMemoryTest, StaysWhereTheDeviceIsLost) {
  Register();
  Buffer buffer = pool_.Acquire(100000);
  uint8_t* const data = buffer.data();
  Set("register", 719);
  buffer.Reset();
  pool_.LockWith(nullptr);
  EXPECT_EQ(Registered(), 1);
  // Not unmapped: the driver has it still.
  data[0] = 1;
  EXPECT_TRUE(pool_.IsLocked(data));
  Set("register", 0);
}

TEST(NvrtcTest, ItsLogIsTold) {
  std::string image;
  if (dlopen("libnvrtc.so.13", RTLD_NOW) != nullptr ||
      dlopen("libnvrtc.so.12", RTLD_NOW) != nullptr) {
    GTEST_SKIP() << "this machine has an NVRTC";
  }
  ASSERT_NE(dlopen("tests/ops/gpu/fake_nvrtc.so", RTLD_NOW), nullptr)
      << dlerror();
  const Status older = CompileForDevice("sound", 12090, 75, &image);
  EXPECT_EQ(older.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Contains(older, "no libnvrtc.so.12 to compile"));
  EXPECT_TRUE(Contains(older, "which is for CUDA 12.9"));
  const Status status = CompileForDevice("unsound", 13000, 75, &image);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_TRUE(Contains(status, "for sm_75 (NVRTC_ERROR_COMPILATION)"));
  EXPECT_TRUE(Contains(status, ":\nl3_device.cu(7): error: expected a \";\""));
  ASSERT_TRUE(CompileForDevice("sound", 13000, 90, &image).ok());
  EXPECT_EQ(image, "made --std=c++17--gpu-architecture=sm_90");
}

}  // namespace
}  // namespace liquid::cuda_driver_test
