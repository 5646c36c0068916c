// For any processor of the architecture.
#define LIQUID_FINISH_TARGET

#include "ops/image/finish-inl.h"

namespace liquid {

const FinishKernels kFinishPlain = KernelsOf();

}  // namespace liquid
