#include "ops/image/normal.h"

#include <cmath>

namespace liquid {
namespace {

// Of the functions of <cmath>, only those that IEEE 754 makes exact are used,
// or rounded once: frexp and sqrt.

template <int kCount>
double Polynomial(const double (&coefficients)[kCount], double x) {
  double sum = 0;
  for (const double coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

// The natural logarithm of a positive number, by the series of 2 artanh(s).
double Log(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  int exponent;
  double part = std::frexp(x, &exponent);
  if (part < 0.70710678118654752) {
    part *= 2;
    --exponent;
  }
  const double s = (part - 1) / (part + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2 + 2 * s * sum;
}

// Quotients of polynomials, highest powers first: algorithm AS 241 (Wichura,
// "The percentage points of the normal distribution", 1988).
constexpr double kMiddle[] = {
    2.5090809287301226727e+3, 3.3430575583588128105e+4,
    6.7265770927008700853e+4, 4.5921953931549871457e+4,
    1.3731693765509461125e+4, 1.9715909503065514427e+3,
    1.3314166789178437745e+2, 3.3871328727963666080e+0};
constexpr double kUnderMiddle[] = {
    5.2264952788528545610e+3, 2.8729085735721942674e+4,
    3.9307895800092710610e+4, 2.1213794301586595867e+4,
    5.3941960214247511077e+3, 6.8718700749205790830e+2,
    4.2313330701600911252e+1, 1.0};
constexpr double kNear[] = {
    7.74545014278341407640e-4, 2.27238449892691845833e-2,
    2.41780725177450611770e-1, 1.27045825245236838258e+0,
    3.64784832476320460504e+0, 5.76949722146069140550e+0,
    4.63033784615654529590e+0, 1.42343711074968357734e+0};
constexpr double kUnderNear[] = {
    1.05075007164441684324e-9, 5.47593808499534494600e-4,
    1.51986665636164571966e-2, 1.48103976427480074590e-1,
    6.89767334985100004550e-1, 1.67638483018380384940e+0,
    2.05319162663775882187e+0, 1.0};
constexpr double kFar[] = {
    2.01033439929228813265e-7, 2.71155556874348757815e-5,
    1.24266094738807843860e-3, 2.65321895265761230930e-2,
    2.96560571828504891230e-1, 1.78482653991729133580e+0,
    5.46378491116411436990e+0, 6.65790464350110377720e+0};
constexpr double kUnderFar[] = {
    2.04426310338993978564e-15, 1.42151175831644588870e-7,
    1.84631831751005468180e-5,  7.86869131145613259100e-4,
    1.48753612908506148525e-2,  1.36929880922735805310e-1,
    5.99832206555887937690e-1,  1.0};

}  // namespace

double NormalOf(uint32_t word) {
  // From the middle, exactly.
  const double from_middle =
      (static_cast<double>(word) + 0.5) / 4294967296.0 - 0.5;
  if (std::fabs(from_middle) <= 0.425) {
    const double r = 0.180625 - from_middle * from_middle;
    return from_middle * Polynomial(kMiddle, r) / Polynomial(kUnderMiddle, r);
  }
  const double tail = 0.5 - std::fabs(from_middle);
  const double root = std::sqrt(-Log(tail));
  const double size =
      root <= 5
          ? Polynomial(kNear, root - 1.6) / Polynomial(kUnderNear, root - 1.6)
          : Polynomial(kFar, root - 5) / Polynomial(kUnderFar, root - 5);
  return from_middle < 0 ? -size : size;
}

}  // namespace liquid
