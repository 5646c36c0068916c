// Changes that tests make.
#ifndef LIQUID_TESTS_OPS_IMAGE_CHANGES_TESTING_H_
#define LIQUID_TESTS_OPS_IMAGE_CHANGES_TESTING_H_

#include "ops/image/changes.h"

namespace liquid {

// To so many channels and bits; 0: as stored.
inline Changes ChangesTo(int channels, int bits = 0) {
  Changes changes;
  changes.channels = channels;
  changes.bits = bits;
  return changes;
}

}  // namespace liquid

#endif  // LIQUID_TESTS_OPS_IMAGE_CHANGES_TESTING_H_
