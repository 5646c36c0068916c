#if defined(__x86_64__)

#include <immintrin.h>

#define LIQUID_FINISH_TARGET __attribute__((target("avx2,f16c")))
#define LIQUID_FINISH_F16C

#include "ops/image/finish-inl.h"

namespace liquid {

const FinishKernels kFinishAvx2 = KernelsOf();

}  // namespace liquid

#endif
