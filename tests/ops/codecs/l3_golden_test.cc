// Files written by hand from docs/formats/l3.md, never by the encoder.
#include <gtest/gtest.h>

#include "ops/codecs/l3/host/l3_compact.h"
#include "ops/codecs/l3/host/l3_targets.h"
#include "tests/ops/codecs/l3_testing.h"

namespace liquid::l3_golden_test {
namespace {

class L3GoldenTest : public testing::TestWithParam<VectorTarget> {
 protected:
  void ExpectPixels(const std::string& file, const ImageInfo& info,
                    const Bytes& expected) {
    const ScopedL3Target target(GetParam());
    ImageInfo found;
    Bytes pixels;
    const Status status = DecodeWhole(file, &found, &pixels);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(found.height, info.height);
    EXPECT_EQ(found.width, info.width);
    EXPECT_EQ(found.channels, info.channels);
    EXPECT_EQ(found.bits, info.bits);
    EXPECT_EQ(pixels, expected);
  }
};

const char kV1Example[] =
    "4c4c4c2e 03000000 02000000 02  0400 0400  0400 0400  0400 0400"
    "a280 1120  7000 9000"
    "0000 0000  0000 0000"
    "f12f 0000  0008 0008";

const Bytes kV1Pixels = {10, 0, 255, 12, 0, 0,   7, 0, 128,
                         11, 0, 0,   12, 0, 255, 9, 0, 128};

TEST_P(L3GoldenTest, V1WithAPartialPatch) {
  ExpectPixels(Hex(kV1Example), Info(2, 3, 3), kV1Pixels);
}

TEST_P(L3GoldenTest, V1EncodesToTheByte) {
  const ScopedL3Target target(GetParam());
  EXPECT_EQ(EncodeAsL3(L3Version::kV1, 2, Info(2, 3, 3), kV1Pixels),
            Hex(kV1Example));
}

// One row of n bits per pixel: base 3, then deltas 2^n - 1, 0 and 1 (or 0 where
// there is no 1), packed here one bit at a time.
TEST_P(L3GoldenTest, V1OfEveryWidth) {
  for (uint32_t n = 0; n <= 8; ++n) {
    const uint32_t top = (1u << n) - 1;
    const uint32_t deltas[3] = {top, 0, top < 1 ? top : 1};
    std::string bits;
    for (uint32_t i = 0; i < 4; ++i) bits += n >> i & 1 ? '1' : '0';
    for (uint32_t i = 0; i < 8; ++i) bits += 3u >> i & 1 ? '1' : '0';
    for (const uint32_t delta : deltas) {
      for (uint32_t i = 0; i < n; ++i) bits += delta >> i & 1 ? '1' : '0';
    }
    while (bits.size() % 8 != 0) bits += '0';
    std::string row;
    for (size_t i = 0; i < bits.size(); ++i) {
      if (i % 8 == 0) row += '\0';
      row.back() = static_cast<char>(row.back() | (bits[i] - '0') << (i % 8));
    }
    const std::string size(1, static_cast<char>(row.size()));
    std::string file = Hex("4c4c4c2e 03000000 01000000 20");
    for (int c = 0; c < 3; ++c) file += size + std::string(1, '\0');
    file += row + row + row;
    Bytes expected;
    for (const uint32_t delta : deltas) {
      expected.insert(expected.end(), 3, static_cast<uint8_t>(3 + delta));
    }
    ExpectPixels(file, Info(1, 3, 3), expected);
  }
}

TEST_P(L3GoldenTest, V2Gray) {
  ExpectPixels(Hex("4c4c4c32 02000000 03000000 01084000 fc790f1f"
                   "00000000 0f000000"
                   "f4e30293 c0000064 00 01 0e00 b60100"),
               Info(2, 3, 1), {100, 101, 99, 102, 103, 101});
}

TEST_P(L3GoldenTest, V2Colours) {
  ExpectPixels(Hex("4c4c4c32 02000000 02000000 03084000 5a2754e9"
                   "00000000 22000000"
                   "2c7de58a 460000f6 c3000014 c900000f 0001 0001"
                   "0e00 0e00 0e00 0d00 2e0000 330000"),
               Info(2, 2, 3), {10, 20, 30, 12, 21, 33, 11, 22, 31, 15, 24, 36});
}

// The examples of docs/formats/l3.md.
const Bytes kSlopes = {100, 105, 110, 115, 120, 125, 130, 135, 140,
                       107, 114, 121, 123, 130, 132, 139, 146, 148,
                       114, 123, 127, 131, 135, 139, 148, 152, 156};
constexpr char kCompactSlopes[] =
    "4c4c4c32 03000000 09000000 01084001 5bd0560c 00000000 1e000000"
    "1db8af76 1400 02802064 499224fffec1bf7ff807 6659b226cb92a8aa0200";
const Bytes kColours = {50,  50,  50, 100, 100, 50,  50, 100,
                        100, 100, 50, 50,  100, 100, 150};
constexpr char kCompactColours[] =
    "4c4c4c32 03000000 05000000 01084001 ec56706f 00000000 0c000000"
    "a4a15a19 0280 326496 638219";

TEST_P(L3GoldenTest, CompactResiduals) {
  ExpectPixels(Hex(kCompactSlopes), Info(3, 9, 1), kSlopes);
}

TEST_P(L3GoldenTest, CompactColours) {
  ExpectPixels(Hex(kCompactColours), Info(3, 5, 1), kColours);
}

TEST(L3CompactGoldenTest, EncodesToTheByte) {
  EXPECT_EQ(EncodeAsL3(L3Version::kV2, 0, Info(3, 9, 1), kSlopes,
                       L3Profile::kCompact),
            Hex(kCompactSlopes));
  EXPECT_EQ(EncodeAsL3(L3Version::kV2, 0, Info(3, 5, 1), kColours,
                       L3Profile::kCompact),
            Hex(kCompactColours));
}

// A decoder of 8 bits looks k up in 128 entries.
TEST(L3CompactGoldenTest, LargeThresholdsAreMultiplesOfSixteenAndAscend) {
  for (const auto& row : kL3KThresholds) {
    for (int j = 0; j < 15; ++j) {
      EXPECT_TRUE(row[j] < 64 || row[j] % 16 == 0) << row[j];
      EXPECT_TRUE(j == 0 || row[j] >= row[j - 1]) << row[j];
    }
  }
}

// Base 0x12 stands for 0x1200; the row's second pixel needs all 16 bits.
TEST_P(L3GoldenTest, V2Sixteen) {
  std::string file =
      Hex("4c4c4c32 01000000 02000000 01104000 00000000"
          "00000000 18000000"
          "00000000 01001012"
          "0180 ffff 0000 0000 0000 0000 0000 0000");
  MendL3(&file);
  uint16_t expected[2] = {0x1201, static_cast<uint16_t>(0x1201 + 0x7FFF)};
  Bytes bytes(4);
  std::memcpy(bytes.data(), expected, 4);
  ExpectPixels(file, Info(1, 2, 1, 16), bytes);
}

INSTANTIATE_TEST_SUITE_P(Targets, L3GoldenTest,
                         testing::ValuesIn(RunnableTargets()),
                         [](const auto& info) {
                           return std::string(VectorTargetName(info.param));
                         });

TEST(L3TargetsTest, NeonRunsOnEveryAarch64AndNowhereElse) {
  const std::vector<VectorTarget> targets = RunnableTargets();
  EXPECT_EQ(targets.front(), VectorTarget::kScalar);
#if defined(__aarch64__)
  EXPECT_EQ(targets, std::vector<VectorTarget>(
                         {VectorTarget::kScalar, VectorTarget::kNeon}));
#else
  for (const VectorTarget target : targets)
    EXPECT_NE(target, VectorTarget::kNeon);
#endif
}

TEST(L3PeekTest, SaysVersionAndPatch) {
  L3Info info;
  ASSERT_TRUE(PeekL3(SpanIn(Hex(kV1Example)), DecodeLimits(), &info).ok());
  EXPECT_EQ(info.version, L3Version::kV1);
  EXPECT_EQ(info.patch, 2u);
  struct Case {
    uint32_t height, width, patch;
  };
  for (const Case& c : {Case{719, 1080, 32}, Case{720, 1080, 64},
                        Case{1080, 1920, 64}, Case{1081, 1920, 128}}) {
    const ImageInfo image = Info(c.height, c.width, 3);
    const std::string file =
        EncodeAsL3(L3Version::kV1, 0, image, Bytes(image.PixelBytes()));
    ASSERT_TRUE(PeekL3(SpanIn(file), DecodeLimits(), &info).ok());
    EXPECT_EQ(info.patch, c.patch);
  }
}

TEST(L3EncodeTest, RefusesWhatAVersionCannotHold) {
  const Bytes pixels(100);
  std::string file = "kept";
  const auto code = [&](L3Version version, int patch, const ImageInfo& info) {
    L3Options options;
    options.version = version;
    options.patch = patch;
    return EncodeL3(options, info, pixels.data(), &file).code();
  };
  EXPECT_EQ(code(L3Version::kV1, 0, Info(2, 2, 4)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(L3Version::kV1, 0, Info(2, 2, 3, 16)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(L3Version::kV1, 256, Info(2, 2, 3)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(L3Version::kV2, 32, Info(2, 2, 3)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(L3Version::kV2, 0, Info(2, 2, 5)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(L3Version::kV2, 0, Info(0, 2, 3)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(static_cast<L3Version>(3), 0, Info(2, 2, 3)),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(file, "kept");
}

}  // namespace
}  // namespace liquid::l3_golden_test
