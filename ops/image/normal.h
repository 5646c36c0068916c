// Normal numbers that are the same on every machine.
#ifndef LIQUID_OPS_IMAGE_NORMAL_H_
#define LIQUID_OPS_IMAGE_NORMAL_H_

#include <cstdint>

namespace liquid {

// The normal number, of mean 0 and deviation 1, below which (word + 1/2) / 2^32
// of them lie: of a random word, a random normal number, from -6.4 to 6.4. It
// is within 1e-13 of the exact one, and odd: ~word gives the negative.
double NormalOf(uint32_t word);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_NORMAL_H_
