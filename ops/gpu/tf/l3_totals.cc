#include "ops/gpu/tf/l3_totals.h"

#include "ops/kernel/image_inputs.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace liquid {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;

class L3DeviceTotalsOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const L3Totals::Values found = L3Totals::Process().Get();
    OP_REQUIRES_OK(context, SetScalar<int64_t>(context, 0, found.images));
    OP_REQUIRES_OK(context, SetScalar<int64_t>(context, 1, found.bytes));
    OP_REQUIRES_OK(context,
                   SetScalar<double>(context, 2, found.times.copy_seconds));
    OP_REQUIRES_OK(context,
                   SetScalar<double>(context, 3, found.times.decode_seconds));
  }
};

REGISTER_KERNEL_BUILDER(
    Name("Liquid>L3DeviceTotals").Device(tensorflow::DEVICE_CPU),
    L3DeviceTotalsOp);

}  // namespace

L3Totals& L3Totals::Process() {
  static auto* const kTotals = new L3Totals();
  return *kTotals;
}

void L3Totals::Add(int64_t images, int64_t bytes, const L3LaneTimes& times) {
  std::lock_guard<std::mutex> lock(mutex_);
  values_.images += images;
  values_.bytes += bytes;
  values_.times.copy_seconds += times.copy_seconds;
  values_.times.decode_seconds += times.decode_seconds;
}

L3Totals::Values L3Totals::Get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return values_;
}

}  // namespace liquid
