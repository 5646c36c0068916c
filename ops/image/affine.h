// Affine maps of the plane, in continuous pixel coordinates: the centre of the
// first pixel is at (.5, .5).
#ifndef LIQUID_OPS_IMAGE_AFFINE_H_
#define LIQUID_OPS_IMAGE_AFFINE_H_

namespace liquid {

// (x, y) to (xx * x + xy * y + x0, yx * x + yy * y + y0).
struct Affine {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

// What gives `second` of what `first` gives.
inline Affine Then(const Affine& first, const Affine& second) {
  return {second.xx * first.xx + second.xy * first.yx,
          second.xx * first.xy + second.xy * first.yy,
          second.xx * first.x0 + second.xy * first.y0 + second.x0,
          second.yx * first.xx + second.yy * first.yx,
          second.yx * first.xy + second.yy * first.yy,
          second.yx * first.x0 + second.yy * first.y0 + second.y0};
}

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_AFFINE_H_
