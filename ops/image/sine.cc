#include "ops/image/sine.h"

#include <cmath>
#include <cstdint>

namespace liquid {
namespace {

__extension__ using Wide = __int128;

// Numbers from -2 to 2 as multiples of 2^-62: integers are the same everywhere,
// and these have nine bits more than a double. Of the functions of <cmath>,
// only those that IEEE 754 makes exact are used.
constexpr int kBits = 62;
constexpr int64_t kOne = int64_t{1} << kBits;
constexpr int64_t kQuarter = 0x6487ed5110b4611a;  // pi / 2, of a turn's 2 * pi
constexpr double kRadian = 0x1.1df46a2529d39p-6;  // pi / 180

int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>((Wide{a} * b) >> kBits);
}

// 1 - cos(x) for `first` = 2 and (x - sin(x)) / x for `first` = 3, by Taylor's
// series, of at most pi / 4: the terms after x^20 vanish.
int64_t Series(int64_t square, int first) {
  int64_t sum = 0;
  for (int n = first + 18; n >= first; n -= 2) {
    sum = Product(kOne - sum, square) / (n * (n - 1));
  }
  return sum;
}

// As a library would return it, then to the nearest multiple of 1e-15, halves
// to even, as the double that is nearest to that.
double Rounded(int64_t number) {
  constexpr int64_t kUnits = 1000000000000000;
  const auto value = static_cast<int64_t>(static_cast<double>(number));
  const Wide units = Wide{value} * kUnits;
  auto whole = static_cast<int64_t>(units >> kBits);
  const auto rest = static_cast<int64_t>(units - Wide{whole} * kOne);
  if (rest > kOne / 2 || (rest == kOne / 2 && (whole & 1) != 0)) ++whole;
  return static_cast<double>(whole) / static_cast<double>(kUnits);
}

}  // namespace

SineCosine RoundedSineCosine(double degrees) {
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360;
  // The product is rounded as Python's math.radians rounds it.
  const auto angle = static_cast<Wide>(std::ldexp(turn * kRadian, kBits));
  const auto quarters =
      static_cast<int>((2 * angle + kQuarter) / (2 * Wide{kQuarter}));
  const auto rest = static_cast<int64_t>(angle - quarters * Wide{kQuarter});
  const int64_t square = Product(rest, rest);
  const double sine = Rounded(rest - Product(rest, Series(square, 3)));
  const double cosine = Rounded(kOne - Series(square, 2));
  switch (quarters & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace liquid
