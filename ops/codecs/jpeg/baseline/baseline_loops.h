// From coefficients to pixels with vectors of any width. A vector set defines
// LIQUID_BASELINE_TARGET, its attribute, then these, and includes this file
// into a namespace of its own.
//
// V is a vector of kLanes int16. It holds kBlocks blocks side by side, a row of
// each in a part of 8 lanes; what is not said to be otherwise stays inside such
// a part.
//
// * Load(p), Store(p, v): kLanes int16 in a row.
// * LoadRows(p): 8 int16 from each of kBlocks, 64 apart.
// * LoadBytes(p): kLanes bytes as int16. StoreBytes(p, v): the reverse, of
//   numbers up to 255.
// * StoreRows(p, stride, v): a part has 8 bytes of one row and 8 of the next.
// * Interleave3(r, g, b, p): 3 * kLanes bytes of kLanes int16 each, clamped.
// * Set(a): a in all lanes. SetPair(a, b): a in even lanes, b in odd ones.
// * Add, Sub, Mul, MulHigh, Or, Xor, Abs, Max: of 16 bits.
// * Up<n>, Down<n>, DownUnsigned<n>: shifts of 16 bits.
// * Add32, Sub32, Down32<n>, Set32: of 32 bits.
// * MulPairs(a, b): sums of two products each, of 32 bits.
// * Low16, High16, Low32, High32, Low64, High64, Low8, High8: interleave.
// * Narrow32(a, b), Narrow16(a, b): saturate.
// * First(v): a part's first lane in all its lanes. WithoutFirst(v): 0 there.
// * IsZero(v). AnyAtLeast(v, limit): unsigned.

// The inverse DCT in one dimension of 8 vectors, lane by lane.
template <int kShift>
LIQUID_BASELINE_TARGET inline void InvertLanes(V* v) {
  const V zero = Set(0);
  const V round = Set32(1 << (kShift - 1));
  const V x26[2] = {Low16(v[2], v[6]), High16(v[2], v[6])};
  const V sum04 = Add(v[0], v[4]), difference04 = Sub(v[0], v[4]);
  const V x04[2] = {Low16(zero, sum04), High16(zero, sum04)};
  const V y04[2] = {Low16(zero, difference04), High16(zero, difference04)};
  const V sum37 = Add(v[3], v[7]), sum15 = Add(v[1], v[5]);
  const V z34[2] = {Low16(sum37, sum15), High16(sum37, sum15)};
  const V x71[2] = {Low16(v[7], v[1]), High16(v[7], v[1])};
  const V x53[2] = {Low16(v[5], v[3]), High16(v[5], v[3])};
  V top[4][2], bottom[4][2];
  for (int i = 0; i < 2; ++i) {
    // A number in the high half of 32 bits, 16 - kDctBits too far up.
    const V even0 = Add32(Down32<16 - kDctBits>(x04[i]), round);
    const V even1 = Add32(Down32<16 - kDctBits>(y04[i]), round);
    const V even2 = MulPairs(
        x26[i], SetPair(kFix0_541196100, kFix0_541196100 - kFix1_847759065));
    const V even3 = MulPairs(
        x26[i], SetPair(kFix0_541196100 + kFix0_765366865, kFix0_541196100));
    const V even[4] = {Add32(even0, even3), Add32(even1, even2),
                       Sub32(even1, even2), Sub32(even0, even3)};
    const V z3 = MulPairs(
        z34[i], SetPair(kFix1_175875602 - kFix1_961570560, kFix1_175875602));
    const V z4 = MulPairs(
        z34[i], SetPair(kFix1_175875602, kFix1_175875602 - kFix0_390180644));
    const V odd[4] = {
        Add32(MulPairs(x71[i], SetPair(-kFix0_899976223,
                                       kFix1_501321110 - kFix0_899976223)),
              z4),
        Add32(MulPairs(x53[i], SetPair(-kFix2_562915447,
                                       kFix3_072711026 - kFix2_562915447)),
              z3),
        Add32(MulPairs(x53[i], SetPair(kFix2_053119869 - kFix2_562915447,
                                       -kFix2_562915447)),
              z4),
        Add32(MulPairs(x71[i], SetPair(kFix0_298631336 - kFix0_899976223,
                                       -kFix0_899976223)),
              z3)};
    for (int k = 0; k < 4; ++k) {
      top[k][i] = Down32<kShift>(Add32(even[k], odd[k]));
      bottom[k][i] = Down32<kShift>(Sub32(even[k], odd[k]));
    }
  }
  for (int k = 0; k < 4; ++k) {
    v[k] = Narrow32(top[k][0], top[k][1]);
    v[7 - k] = Narrow32(bottom[k][0], bottom[k][1]);
  }
}

// Turns 8 x 8 numbers in each part around their diagonal.
LIQUID_BASELINE_TARGET inline void Transpose(V* v) {
  V a[8], b[8];
  for (int k = 0; k < 4; ++k) {
    a[2 * k] = Low16(v[2 * k], v[2 * k + 1]);
    a[2 * k + 1] = High16(v[2 * k], v[2 * k + 1]);
  }
  for (int k = 0; k < 8; k += 4) {
    for (int i = 0; i < 2; ++i) {
      b[k + 2 * i] = Low32(a[k + i], a[k + 2 + i]);
      b[k + 2 * i + 1] = High32(a[k + i], a[k + 2 + i]);
    }
  }
  for (int k = 0; k < 4; ++k) {
    v[2 * k] = Low64(b[k], b[k + 4]);
    v[2 * k + 1] = High64(b[k], b[k + 4]);
  }
}

// Writes 8 columns of numbers as rows of samples.
LIQUID_BASELINE_TARGET inline void StoreColumns(const V* v, uint8_t* out,
                                                size_t stride) {
  V a[4], b[4];
  for (int k = 0; k < 4; ++k) a[k] = Narrow16(v[k], v[k + 4]);
  b[0] = Low8(a[0], a[1]);
  b[1] = Low8(a[2], a[3]);
  b[2] = High8(a[0], a[1]);
  b[3] = High8(a[2], a[3]);
  // Columns 0 to 3, then 4 to 7, of rows 0 to 3 and of 4 to 7.
  const V left[2] = {Low16(b[0], b[1]), High16(b[0], b[1])};
  const V right[2] = {Low16(b[2], b[3]), High16(b[2], b[3])};
  const V centre = Set(static_cast<int16_t>(0x8080));
  for (int i = 0; i < 2; ++i) {
    StoreRows(out + 4 * i * stride, stride,
              Xor(Low32(left[i], right[i]), centre));
    StoreRows(out + (4 * i + 2) * stride, stride,
              Xor(High32(left[i], right[i]), centre));
  }
}

// Inverts kBlocks blocks. `large` gathers magnitudes of first rows.
LIQUID_BASELINE_TARGET inline void InvertBlocks(const int16_t* blocks,
                                                const V* quantization,
                                                uint8_t* out, size_t stride,
                                                V* large) {
  V v[8];
  for (int k = 0; k < 8; ++k) v[k] = LoadRows(blocks + 8 * k);
  const V below =
      Or(Or(Or(v[1], v[2]), Or(v[3], v[4])), Or(Or(v[5], v[6]), v[7]));
  v[0] = Mul(v[0], quantization[0]);
  *large = Max(*large, Abs(v[0]));
  if (IsZero(below)) {
    if (IsZero(WithoutFirst(v[0]))) {
      // A flat block, of one number.
      const V flat = Down<5>(Add(First(Up<kFirstPassBits>(v[0])), Set(16)));
      const V rows =
          Xor(Narrow16(flat, flat), Set(static_cast<int16_t>(0x8080)));
      for (int k = 0; k < 8; k += 2) StoreRows(out + k * stride, stride, rows);
      return;
    }
    v[0] = Up<kFirstPassBits>(v[0]);
    for (int k = 1; k < 8; ++k) v[k] = v[0];
  } else {
    for (int k = 1; k < 8; ++k) v[k] = Mul(v[k], quantization[k]);
    InvertLanes<kDctBits - kFirstPassBits>(v);
  }
  Transpose(v);
  InvertLanes<kDctBits + kFirstPassBits + 3>(v);
  StoreColumns(v, out, stride);
}

// The rows of a table, once in each part.
LIQUID_BASELINE_TARGET inline void RepeatRows(const uint16_t* quantization,
                                              V* rows) {
  for (int k = 0; k < 8; ++k) {
    int16_t repeated[kLanes];
    for (size_t b = 0; b < kBlocks; ++b) {
      std::memcpy(repeated + 8 * b, quantization + 8 * k, 16);
    }
    rows[k] = Load(repeated);
  }
}

LIQUID_BASELINE_TARGET bool Invert(const int16_t* blocks,
                                   const uint16_t* quantization, size_t count,
                                   uint8_t* out, size_t stride) {
  V rows[8];
  RepeatRows(quantization, rows);
  V large = Set(0);
  size_t i = 0;
  for (; i + kBlocks <= count; i += kBlocks) {
    InvertBlocks(blocks + 64 * i, rows, out + 8 * i, stride, &large);
  }
  if (i < count) {
    int16_t last[64 * kBlocks] = {};
    std::memcpy(last, blocks + 64 * i, 128 * (count - i));
    InvertBlocks(last, rows, out + 8 * i, stride, &large);
  }
  return AnyAtLeast(large, kLargeCoefficient);
}

LIQUID_BASELINE_TARGET bool IsLarge(const int16_t* blocks,
                                    const uint16_t* quantization,
                                    size_t count) {
  V rows[8];
  RepeatRows(quantization, rows);
  V large = Set(0);
  size_t i = 0;
  for (; i + kBlocks <= count; i += kBlocks) {
    large = Max(large, Abs(Mul(LoadRows(blocks + 64 * i), rows[0])));
  }
  if (i < count) {
    int16_t last[64 * kBlocks] = {};
    std::memcpy(last, blocks + 64 * i, 128 * (count - i));
    large = Max(large, Abs(Mul(LoadRows(last), rows[0])));
  }
  return AnyAtLeast(large, kLargeCoefficient);
}

LIQUID_BASELINE_TARGET inline V Three(V v) { return Add(Add(v, v), v); }

LIQUID_BASELINE_TARGET void Widen(const uint8_t* in, size_t count,
                                  uint8_t* out) {
  for (size_t k = 0; k < count; k += kLanes) {
    const V three = Three(LoadBytes(in + k));
    const V even = Add(Add(three, LoadBytes(in + k - 1)), Set(1));
    const V odd = Add(Add(three, LoadBytes(in + k + 1)), Set(2));
    Store(reinterpret_cast<int16_t*>(out + 2 * k),
          Or(Down<2>(even), Up<8>(Down<2>(odd))));
  }
}

// Three times one row and the other.
LIQUID_BASELINE_TARGET inline V Weighted(const uint8_t* near,
                                         const uint8_t* far) {
  return Add(Three(LoadBytes(near)), LoadBytes(far));
}

LIQUID_BASELINE_TARGET void WidenBetween(const uint8_t* near,
                                         const uint8_t* far, size_t count,
                                         uint8_t* out) {
  for (size_t k = 0; k < count; k += kLanes) {
    const V three = Three(Weighted(near + k, far + k));
    const V before = Weighted(near + k - 1, far + k - 1);
    const V after = Weighted(near + k + 1, far + k + 1);
    const V even = Add(Add(three, before), Set(8));
    const V odd = Add(Add(three, after), Set(7));
    Store(reinterpret_cast<int16_t*>(out + 2 * k),
          Or(Down<4>(even), Up<8>(Down<4>(odd))));
  }
}

LIQUID_BASELINE_TARGET void Between(const uint8_t* near, const uint8_t* far,
                                    uint32_t bias, size_t count, uint8_t* out) {
  const V round = Set(static_cast<int16_t>(bias));
  for (size_t k = 0; k < count; k += kLanes) {
    StoreBytes(out + k, Down<2>(Add(Weighted(near + k, far + k), round)));
  }
}

// (v * factor + 2^15) / 2^16, rounded down.
LIQUID_BASELINE_TARGET inline V Fraction(V v, int32_t factor) {
  const V doubled = MulHigh(Add(v, v), Set(static_cast<int16_t>(factor)));
  return Down<1>(Add(doubled, Set(1)));
}

LIQUID_BASELINE_TARGET void ToRgb(const uint8_t* y, const uint8_t* cb,
                                  const uint8_t* cr, size_t count,
                                  uint8_t* out) {
  // Factors as whole numbers and what fits in 16 bits.
  constexpr int32_t kOne = 1 << 16;
  const V green = SetPair(-kGreenOfCb, kOne - kGreenOfCr);
  const V half = Set32(kOne / 2), centre = Set(128);
  uint8_t last[3 * kLanes];
  for (size_t k = 0; k < count; k += kLanes) {
    const V luma = LoadBytes(y + k);
    const V blue = Sub(LoadBytes(cb + k), centre);
    const V red = Sub(LoadBytes(cr + k), centre);
    const V r = Add(Add(luma, red), Fraction(red, kRedOfCr - kOne));
    const V b =
        Add(Add(luma, Add(blue, blue)), Fraction(blue, kBlueOfCb - 2 * kOne));
    const V low = MulPairs(Low16(blue, red), green);
    const V high = MulPairs(High16(blue, red), green);
    const V rest =
        Narrow32(Down32<16>(Add32(low, half)), Down32<16>(Add32(high, half)));
    const V g = Add(Sub(luma, red), rest);
    const bool whole = k + kLanes <= count;
    Interleave3(r, g, b, whole ? out + 3 * k : last);
    if (!whole) std::memcpy(out + 3 * k, last, 3 * (count - k));
  }
}
