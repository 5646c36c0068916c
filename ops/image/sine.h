// Sine and cosine that are the same on every machine.
#ifndef LIQUID_OPS_IMAGE_SINE_H_
#define LIQUID_OPS_IMAGE_SINE_H_

namespace liquid {

struct SineCosine {
  double sine;
  double cosine;
};

// Of a finite angle, rounded to 15 decimal digits: exactly 0, 1 and -1 at
// multiples of 90 degrees. Equal to Python's round(math.sin(a), 15) and
// round(math.cos(a), 15), where a = math.radians(degrees % 360), but for less
// than one angle in a thousand, whose last digit differs by one where two
// libraries' last bits do.
SineCosine RoundedSineCosine(double degrees);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_SINE_H_
