// Logarithm and exponential that are the same on every machine.
#ifndef LIQUID_OPS_IMAGE_LOGARITHM_H_
#define LIQUID_OPS_IMAGE_LOGARITHM_H_

#include <cmath>
#include <cstdint>
#include <cstring>

namespace liquid {

// Both by series of sums, products and quotients, which IEEE 754 rounds alike;
// of the functions of <cmath>, only those that it makes exact are used. Sources
// that include this must not fuse products (-ffp-contract=off).

// ln(2) in two parts: products of the first with whole numbers are exact.
constexpr double kLog2High = 0x1.62e42fefap-1;
constexpr double kLog2Low = 0x1.cf79abc9e3b3ap-40;

// The natural logarithm of a positive number that is not denormal, to a few
// units of its last place.
inline double Logarithm(double x) {
  // x = 2^power * part, part from 2^-.5 to 2^.5.
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  constexpr uint64_t kRoot = 0x3fe6a09e667f3bcd;  // of .5
  const auto power = static_cast<int64_t>(bits - kRoot) >> 52;
  bits -= static_cast<uint64_t>(power) << 52;
  double part;
  std::memcpy(&part, &bits, sizeof(part));
  // ln(part) = 2 * (s + s^3 / 3 + s^5 / 5 + ...), |s| < .172
  const double s = (part - 1) / (part + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 21; n >= 3; n -= 2) sum = (sum + 1.0 / n) * square;
  const auto whole = static_cast<double>(power);
  return whole * kLog2High + (whole * kLog2Low + 2 * s * sum + 2 * s);
}

// e to the power of x, to a few units of its last place; 0 below -745.
// Requires x to be at most 709.
inline double Exponential(double x) {
  if (!(x >= -745)) return 0;
  const double power = std::rint(x * 0x1.71547652b82fep+0);  // / ln(2)
  const double rest = (x - power * kLog2High) - power * kLog2Low;
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * rest / n;
  return std::ldexp(sum, static_cast<int>(power));
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_LOGARITHM_H_
