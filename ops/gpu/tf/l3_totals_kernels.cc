#include "ops/gpu/driver/l3_totals.h"
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

}  // namespace liquid
