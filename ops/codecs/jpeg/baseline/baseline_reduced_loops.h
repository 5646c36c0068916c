// Inverse DCTs that make fewer samples than a block has, with vectors of any
// width: over the verbs and functions of baseline_loops.h, behind which a
// vector set includes this. A part of a vector is of one block at first, and of
// several once their rows are columns.

// The inverse DCT in one dimension, lane by lane, of 8 vectors to 4.
template <int kShift>
LIQUID_BASELINE_TARGET inline void ReduceLanesTo4(const V* v, V* out) {
  const V zero = Set(0);
  const V round = Set32(1 << kShift);
  const V x0[2] = {Low16(zero, v[0]), High16(zero, v[0])};
  const V x26[2] = {Low16(v[2], v[6]), High16(v[2], v[6])};
  const V x13[2] = {Low16(v[1], v[3]), High16(v[1], v[3])};
  const V x57[2] = {Low16(v[5], v[7]), High16(v[5], v[7])};
  V wide[4][2];
  for (int i = 0; i < 2; ++i) {
    // A number in the high half of 32 bits, 16 - kDctBits - 1 too far up.
    const V dc = Add32(Down32<16 - kDctBits - 1>(x0[i]), round);
    const V even = MulPairs(x26[i], SetPair(kFix1_847759065, -kFix0_765366865));
    const V inner =
        Add32(MulPairs(x13[i], SetPair(kFix1_061594337, -kFix2_172734803)),
              MulPairs(x57[i], SetPair(kFix1_451774981, -kFix0_211164243)));
    const V outer =
        Add32(MulPairs(x13[i], SetPair(kFix2_562915447, kFix0_899976223)),
              MulPairs(x57[i], SetPair(-kFix0_601344887, -kFix0_509795579)));
    const V sum = Add32(dc, even), difference = Sub32(dc, even);
    wide[0][i] = Down32<kShift + 1>(Add32(sum, outer));
    wide[1][i] = Down32<kShift + 1>(Add32(difference, inner));
    wide[2][i] = Down32<kShift + 1>(Sub32(difference, inner));
    wide[3][i] = Down32<kShift + 1>(Sub32(sum, outer));
  }
  for (int k = 0; k < 4; ++k) out[k] = Narrow32(wide[k][0], wide[k][1]);
}

// The same to 2.
template <int kShift>
LIQUID_BASELINE_TARGET inline void ReduceLanesTo2(const V* v, V* out) {
  const V zero = Set(0);
  const V round = Set32(2 << kShift);
  const V x0[2] = {Low16(zero, v[0]), High16(zero, v[0])};
  const V x13[2] = {Low16(v[1], v[3]), High16(v[1], v[3])};
  const V x57[2] = {Low16(v[5], v[7]), High16(v[5], v[7])};
  V top[2], bottom[2];
  for (int i = 0; i < 2; ++i) {
    const V dc = Add32(Down32<16 - kDctBits - 2>(x0[i]), round);
    const V odd =
        Add32(MulPairs(x13[i], SetPair(kFix3_624509785, -kFix1_272758580)),
              MulPairs(x57[i], SetPair(kFix0_850430095, -kFix0_720959822)));
    top[i] = Down32<kShift + 2>(Add32(dc, odd));
    bottom[i] = Down32<kShift + 2>(Sub32(dc, odd));
  }
  out[0] = Narrow32(top[0], top[1]);
  out[1] = Narrow32(bottom[0], bottom[1]);
}

// Writes the samples of blocks that lie one behind the other, row by row.
template <size_t kSide>
LIQUID_BASELINE_TARGET inline void StoreReduced(const uint8_t* samples,
                                                size_t count, uint8_t* out,
                                                size_t stride) {
  for (size_t b = 0; b < count; ++b) {
    for (size_t y = 0; y < kSide; ++y) {
      std::memcpy(out + y * stride + kSide * b,
                  samples + kSide * (kSide * b + y), kSide);
    }
  }
}

// Rows of kBlocks blocks that are columns of the second dimension.
template <size_t kSide>
LIQUID_BASELINE_TARGET inline void ReduceColumns(const int16_t* blocks,
                                                 const V* quantization, V* rows,
                                                 V* large, V* narrowed) {
  constexpr int kShift = kDctBits - kFirstPassBits;
  V v[8];
  for (int k = 0; k < 8; ++k) {
    v[k] = Mul(LoadRows(blocks + 8 * k), quantization[k]);
  }
  *large = Max(*large, Abs(v[0]));
  if constexpr (kSide == 4) {
    ReduceLanesTo4<kShift>(v, rows);
  } else {
    ReduceLanesTo2<kShift>(v, rows);
    *narrowed = Max(*narrowed, Max(Abs(rows[0]), Abs(rows[1])));
  }
}

// Inverts as many blocks as fill a vector with their rows: 8 / kSide times
// kBlocks of them. `samples` are those of one behind the other.
template <size_t kSide>
LIQUID_BASELINE_TARGET inline void ReduceBlocks(const int16_t* blocks,
                                                const V* quantization,
                                                uint8_t* samples, V* large,
                                                V* narrowed) {
  constexpr int kShift = kDctBits + kFirstPassBits + 3;
  constexpr size_t kGroups = 8 / kSide;
  const V centre = Set(static_cast<int16_t>(0x8080));
  V v[8], columns[kSide];
  for (size_t g = 0; g < kGroups; ++g) {
    ReduceColumns<kSide>(blocks + 64 * kBlocks * g, quantization, v + kSide * g,
                         large, narrowed);
  }
  Transpose(v);
  // Of each part 16 samples of a group, or 4 of each of them.
  constexpr size_t kPieces = kSide == 4 ? 2 : 1;
  int16_t stored[kPieces * kLanes];
  if constexpr (kSide == 4) {
    ReduceLanesTo4<kShift>(v, columns);
    const V left[2] = {Low16(columns[0], columns[1]),
                       High16(columns[0], columns[1])};
    const V right[2] = {Low16(columns[2], columns[3]),
                        High16(columns[2], columns[3])};
    for (size_t g = 0; g < kGroups; ++g) {
      const V rows =
          Narrow16(Low32(left[g], right[g]), High32(left[g], right[g]));
      Store(stored + kLanes * g, Xor(rows, centre));
    }
  } else {
    ReduceLanesTo2<kShift>(v, columns);
    const V rows =
        Narrow16(Low16(columns[0], columns[1]), High16(columns[0], columns[1]));
    Store(stored, Xor(rows, centre));
  }
  // From parts of groups to blocks in a row.
  constexpr size_t kSamples = kSide * kSide;
  const uint8_t* from = reinterpret_cast<const uint8_t*>(stored);
  for (size_t g = 0; g < kGroups; ++g) {
    for (size_t b = 0; b < kBlocks; ++b) {
      const size_t at = kSide == 4 ? g * kBlocks + b : b * kGroups + g;
      std::memcpy(samples + kSamples * (g * kBlocks + b), from + kSamples * at,
                  kSamples);
    }
  }
}

template <size_t kSide>
LIQUID_BASELINE_TARGET bool Reduce(const int16_t* blocks,
                                   const uint16_t* quantization, size_t count,
                                   uint8_t* out, size_t stride) {
  constexpr size_t kMost = 8 / kSide * kBlocks;
  V rows[8];
  RepeatRows(quantization, rows);
  V large = Set(0), narrowed = Set(0);
  for (size_t i = 0; i < count; i += kMost) {
    const size_t now = std::min(kMost, count - i);
    const int16_t* from = blocks + 64 * i;
    int16_t last[64 * kMost];
    if (now < kMost) {
      std::memset(last, 0, sizeof(last));
      std::memcpy(last, from, 128 * now);
      from = last;
    }
    uint8_t samples[kSide * kSide * kMost];
    ReduceBlocks<kSide>(from, rows, samples, &large, &narrowed);
    StoreReduced<kSide>(samples, now, out + kSide * i, stride);
  }
  return AnyAtLeast(large, kLargeCoefficient) ||
         AnyAtLeast(narrowed, kLargeNarrowed);
}
