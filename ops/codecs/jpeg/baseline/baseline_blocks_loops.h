// The entropy decoder, which is compiled once for each set of instructions. A
// set defines LIQUID_BASELINE_TARGET, its attribute, and LowBits(word, count),
// and includes this file inside its namespace.

#define LIQUID_BASELINE_INLINE \
  LIQUID_BASELINE_TARGET inline __attribute__((always_inline))

// A place in the scan's bits. The next ones are at the top of `word`, the first
// one highest.
struct Bits {
  const uint8_t* next;  // byte that follows those in `word`
  uint64_t word;
  uint64_t count;  // valid bits of `word`: fewer than 64

  LIQUID_BASELINE_INLINE Bits(const uint8_t* next, uint64_t word,
                              uint64_t count)
      : next(next), word(word), count(count) {}
  LIQUID_BASELINE_INLINE Bits(const uint8_t* bytes, uint64_t position)
      : next(bytes + position / 8), word(0), count(0) {
    Refill();
    Skip(position % 8);
  }
  LIQUID_BASELINE_INLINE uint64_t Position(const uint8_t* bytes) const {
    return 8 * static_cast<uint64_t>(next - bytes) - count;
  }
  // At least 56 bits are valid then. The bytes are loaded long before it is
  // known how many bits they join, so that nothing waits for them.
  LIQUID_BASELINE_INLINE void Refill() {
    uint64_t bytes;
    std::memcpy(&bytes, next, 8);
    if constexpr (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
      bytes = __builtin_bswap64(bytes);
    }
    word |= bytes >> count;
    next += (63 - count) / 8;
    count |= 56;
  }
  LIQUID_BASELINE_INLINE void Skip(uint64_t bits) {
    word <<= bits;
    count -= bits;
  }
};

// Decodes one symbol of any code: of a DC at place 0. False where the bits are
// none, or the block has no place for it.
LIQUID_BASELINE_TARGET inline bool DecodeSymbol(const HuffmanTables& tables,
                                                Bits* at, uint32_t* place,
                                                int16_t* block) {
  const bool dc = *place == 0;
  const HuffmanCodes& codes = dc ? tables.dc_codes : tables.ac_codes;
  const uint64_t word = at->word;
  const uint32_t top = static_cast<uint32_t>(word >> 48);
  const uint32_t looked_up = dc ? kDcPairBits : kPairBits;
  uint32_t bits = top < codes.short_end ? 1 : looked_up;
  while (top >= codes.end[bits]) {
    if (++bits > 16) return false;
  }
  const uint8_t symbol =
      codes.symbols[static_cast<int32_t>(top >> (16 - bits)) +
                    codes.delta[bits]];
  const uint32_t run = dc ? 0 : symbol >> 4, size = dc ? symbol : symbol & 15;
  at->Skip(bits + size);
  int32_t value = 0;
  if (size > 0) {
    value = static_cast<int32_t>(word << bits >> (64 - size));
    if (value >> (size - 1) == 0) value -= (int32_t{1} << size) - 1;
  } else if (!dc && run == 0) {
    *place += kBlockEnd;
    return true;
  } else if (!dc && run != 15) {
    return false;
  }
  *place += run;
  if (*place >= kBlockSize) return false;
  block[kNaturalOrder[*place]] = static_cast<int16_t>(value);
  ++*place;
  return true;
}

// Whether a block may stop at `place`: full, or behind an end that came before
// it was.
LIQUID_BASELINE_INLINE bool IsEnd(uint32_t place) {
  return place == kBlockSize || place - (kBlockEnd + 1) < kBlockSize - 1;
}

// Takes one code the long way, of a block whose last look-up went past its end
// and yet to no end: either no entry had the code, or it was the first of two
// of which the second belongs to the next block. The scan stands before it.
// False for a code that is none.
LIQUID_BASELINE_TARGET __attribute__((noinline)) inline bool Settle(
    McuRun* run, uint32_t* place, int16_t* block) {
  BaselineScan* scan = run->scan;
  Bits at(scan->bytes(), scan->position);
  const McuBlock& of = run->mcus.blocks[run->block];
  if (!DecodeSymbol(*of.tables, &at, place, block)) return false;
  scan->position = at.Position(scan->bytes());
  return true;
}

// Decodes a run: what each look-up needs. Two of them take turns, so that
// neither waits for its own look-ups.
struct RunDecoder {
  uint64_t word;   // the next bits, the first one highest
  uint64_t count;  // valid bits of `word`: fewer than 64
  uint32_t place;  // of the next coefficient
  int16_t* block;
  const PairEntry* entry;  // the last one
  McuRun* const run;

  LIQUID_BASELINE_INLINE explicit RunDecoder(McuRun* run) : run(run) { Load(); }

  // From and to the scan's position.
  LIQUID_BASELINE_INLINE void Load() {
    const Bits bits(run->scan->bytes(), run->scan->position);
    word = bits.word;
    count = bits.count;
    run->next = bits.next;
  }
  LIQUID_BASELINE_INLINE void Store() const {
    run->scan->position =
        8 * static_cast<uint64_t>(run->next - run->scan->bytes()) - count;
  }
  LIQUID_BASELINE_INLINE void Refill() {
    Bits bits(run->next, word, count);
    bits.Refill();
    run->next = bits.next;
    word = bits.word;
    count = bits.count;
  }

  // Takes one code, or two, or none: then `place` is past a block's end by
  // kNoCode. At least 31 bits must be valid.
  LIQUID_BASELINE_INLINE void Take(const PairEntry* of) {
    entry = of;
    const uint64_t bits = entry->bits;
    const uint32_t rest = LowBits(word >> (-bits & 63), entry->missing);
    word <<= bits;
    count -= bits;
    // The second first: where there is none, the first overwrites it.
    block[kNaturalOrder[place + entry->advance - 1]] = entry->second;
    block[kNaturalOrder[place + entry->offset]] =
        static_cast<int16_t>(entry->first + static_cast<int32_t>(rest));
    place += entry->advance;
  }
  LIQUID_BASELINE_INLINE void TakeAc() {
    Take(run->entries + (word >> (64 - kPairBits)));
  }

  // Goes to the next block, whose DC it decodes, and maybe more.
  LIQUID_BASELINE_INLINE void Begin() {
    const McuBlock& of = run->mcus.blocks[run->block];
    block = of.coefficients;
    run->entries = of.tables->ac;
    place = 0;
    std::memset(block, 0, kBlockSize * sizeof(*block));
    Refill();
    Take(of.tables->dc + (word >> (64 - kDcPairBits)));
  }

  // Ends a block.
  LIQUID_BASELINE_INLINE bool End() {
    McuBlock* of = &run->mcus.blocks[run->block];
    int32_t* dc = &run->dc[of->component];
    const int32_t value = *dc + block[0];
    if (value != static_cast<int16_t>(value)) return false;
    *dc = value;
    block[0] = static_cast<int16_t>(value);
    of->coefficients += of->step;
    if (++run->block < run->mcus.count) return true;
    run->block = 0;
    --run->count;
    Store();
    if (!run->scan->IsInside()) return false;
    if (__builtin_expect(run->scan->IsLow(), 0)) {
      run->scan->Fill();
      Load();
    }
    return true;
  }

  // Where `place` is past a block's end: whether the block is at its end, or
  // goes on after all. False where neither is so.
  LIQUID_BASELINE_INLINE bool Settled() {
    if (__builtin_expect(IsEnd(place), 1)) return true;
    count += entry->bits;
    Store();
    uint32_t now = place - entry->advance;
    if (!Settle(run, &now, block)) return false;
    place = now;
    Load();
    Refill();
    return true;
  }

  // Where `place` is past a block's end: goes on to where it is not, in this
  // block or another, or to the run's end. At least 31 bits are valid then.
  LIQUID_BASELINE_INLINE bool Next() {
    do {
      if (!Settled()) return false;
      if (place < kBlockSize) return true;
      if (!End()) return false;
      if (run->count == 0) return true;
      Begin();
    } while (place >= kBlockSize);
    return true;
  }
  LIQUID_BASELINE_INLINE bool IsDone() const { return run->count == 0; }

  // To the end of the block.
  LIQUID_BASELINE_INLINE bool Rest() {
    for (;;) {
      while (place < kBlockSize) {
        Refill();
        TakeAc();
      }
      if (!Settled()) return false;
      if (place >= kBlockSize) return End();
    }
  }
};

// Decodes to the end of the run.
LIQUID_BASELINE_TARGET bool Decode(McuRun* run) {
  RunDecoder a(run);
  a.Begin();
  for (;;) {
    if (a.place >= kBlockSize) {
      if (!a.Next()) return false;
      if (a.IsDone()) break;
    }
    a.Refill();
    // Two look-ups fit in 56 bits: the first takes at most 24, and any symbol
    // at most 31.
    a.TakeAc();
    if (a.place < kBlockSize) a.TakeAc();
  }
  a.Store();
  return true;
}

// Decodes two runs, up to the end of one of them.
LIQUID_BASELINE_TARGET bool DecodeBoth(McuRun* first, McuRun* second) {
  RunDecoder a(first), b(second);
  a.Begin();
  b.Begin();
  for (;;) {
    if (a.place >= kBlockSize) {
      if (!a.Next()) return false;
      if (a.IsDone()) break;
    }
    if (b.place >= kBlockSize) {
      if (!b.Next()) return false;
      if (b.IsDone()) break;
    }
    a.Refill();
    b.Refill();
    a.TakeAc();
    b.TakeAc();
    if (a.place < kBlockSize) a.TakeAc();
    if (b.place < kBlockSize) b.TakeAc();
  }
  if (!a.IsDone() && !a.Rest()) return false;
  if (!b.IsDone() && !b.Rest()) return false;
  a.Store();
  b.Store();
  return true;
}
