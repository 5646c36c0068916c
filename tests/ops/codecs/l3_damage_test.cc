// Damaged and lying files of L3: an error that names an offset, or an image of
// the promised size; nothing out of bounds (the sanitizers watch).
#include <gtest/gtest.h>

#include "tests/ops/codecs/l3_testing.h"

namespace liquid::l3_damage_test {
namespace {

struct Case {
  L3Version version;
  int channels;
  int bits;
  int patch;
  L3Profile profile = L3Profile::kFast;
  Content content = Content::kSlope;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "v" << static_cast<int>(c.version) << "_" << c.channels << "x"
       << c.bits;
}

class L3DamageTest : public testing::TestWithParam<Case> {
 protected:
  L3DamageTest()
      : info_(Info(37, 75, GetParam().channels, GetParam().bits)),
        pixels_(MakeTestPixels()),
        file_(EncodeAsL3(GetParam().version, GetParam().patch, info_, pixels_,
                         GetParam().profile)) {}

  Bytes MakeTestPixels() const {
    Noise noise(6);
    return GetParam().content == Content::kSlope
               ? MakePixels(info_, 5, 40)
               : MakeContent(GetParam().content, info_, &noise);
  }

  const ImageInfo info_;
  const Bytes pixels_;
  const std::string file_;
};

TEST_P(L3DamageTest, EveryTruncationIsAnErrorWithItsOffset) {
  ImageInfo info;
  Bytes pixels;
  ASSERT_TRUE(DecodeWhole(file_, &info, &pixels).ok());
  for (size_t size = 0; size < file_.size(); ++size) {
    const Status status = DecodeWhole(file_.substr(0, size), &info, &pixels);
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    ASSERT_NE(status.message().find("offset"), std::string::npos)
        << status.message();
  }
  EXPECT_EQ(DecodeWhole(file_ + "x", &info, &pixels).code(),
            StatusCode::kDataLoss);
}

TEST_P(L3DamageTest, EveryFlippedByteOfVersion2IsFound) {
  if (GetParam().version == L3Version::kV1) {
    GTEST_SKIP() << "only version 2 has checksums and tables of widths";
  }
  ImageInfo info;
  Bytes pixels;
  for (size_t i = 0; i < file_.size(); ++i) {
    std::string damaged = file_;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_FALSE(DecodeWhole(damaged, &info, &pixels).ok()) << i;
  }
}

// l3_mutation_test.cc has those of the compact profile.
class L3FastDamageTest : public L3DamageTest {};

// The checksums of version 2 are mended, so that the damage reaches what they
// guard. Half the mutations keep to header, table and words, where they do
// most.
TEST_P(L3FastDamageTest, MutationsGiveAnErrorOrAnImage) {
  Noise noise(11);
  int opened = 0;
  for (int i = 0; i < RandomCases(25000); ++i) {
    std::string damaged = file_;
    const uint32_t changes = 1 + noise.Below(4);
    for (uint32_t k = 0; k < changes; ++k) {
      const uint32_t reach =
          noise.Below(2) == 0 ? 60 : static_cast<uint32_t>(damaged.size());
      const size_t at = noise.Below(reach);
      if (noise.Below(2) == 0) {
        damaged[at] = static_cast<char>(noise.Next());
      } else {
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << noise.Below(8));
      }
    }
    if (GetParam().version == L3Version::kV2) MendL3(&damaged);
    ImageInfo info;
    Status status;
    Bytes pixels;
    ASSERT_EQ(DecodeWholeByTargets(damaged, &info, &status, &pixels), "");
    ASSERT_EQ(status.ok(), status.message().empty());
    opened += status.ok();
  }
  // Otherwise the mutations would test the first check only.
  EXPECT_GT(opened, RandomCases(100));
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.profile == L3Profile::kCompact
                         ? info.param.content == Content::kFlat ? "flat"
                                                                : "compact"
                         : "v") +
         std::to_string(static_cast<int>(info.param.version)) + "_" +
         std::to_string(info.param.channels) + "x" +
         std::to_string(info.param.bits);
}

INSTANTIATE_TEST_SUITE_P(Fast, L3FastDamageTest,
                         testing::Values(Case{L3Version::kV1, 3, 8, 16},
                                         Case{L3Version::kV2, 1, 8, 0},
                                         Case{L3Version::kV2, 3, 8, 0},
                                         Case{L3Version::kV2, 4, 16, 0}),
                         CaseName);

INSTANTIATE_TEST_SUITE_P(
    Kinds, L3DamageTest,
    testing::Values(
        Case{L3Version::kV1, 3, 8, 16}, Case{L3Version::kV2, 1, 8, 0},
        Case{L3Version::kV2, 3, 8, 0}, Case{L3Version::kV2, 4, 16, 0},
        Case{L3Version::kV2, 1, 8, 0, L3Profile::kCompact},
        Case{L3Version::kV2, 3, 8, 0, L3Profile::kCompact},
        Case{L3Version::kV2, 4, 16, 0, L3Profile::kCompact},
        Case{L3Version::kV2, 1, 8, 0, L3Profile::kCompact, Content::kFlat},
        Case{L3Version::kV2, 3, 8, 0, L3Profile::kCompact, Content::kFlat}),
    CaseName);

class L3LiesTest : public testing::Test {
 protected:
  // The status of the file with one byte changed and its checksums mended.
  Status With(size_t at, uint8_t value) {
    std::string file = file_;
    file[at] = static_cast<char>(value);
    MendL3(&file);
    ImageInfo info;
    Bytes pixels;
    return DecodeWhole(file, &info, &pixels);
  }

  const ImageInfo info_ = Info(2, 3, 3);
  const std::string file_ =
      EncodeAsL3(L3Version::kV2, 0, info_, MakePixels(info_, 1));
  const size_t word_ = kL3V2HeaderBytes + 8 + 4;  // of channel 0
};

TEST_F(L3LiesTest, Header) {
  ASSERT_TRUE(With(0, 'L').ok());
  EXPECT_EQ(With(0, 'M').code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(4, 0).code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(7, 0x7F).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(With(12, 0).code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(12, 5).code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(13, 12).code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(14, 32).code(), StatusCode::kUnimplemented);
}

TEST_F(L3LiesTest, ProfilesFromTwoOnAreUnknown) {
  EXPECT_EQ(With(15, 2).code(), StatusCode::kUnimplemented);
}

TEST_F(L3LiesTest, Words) {
  const uint8_t low = static_cast<uint8_t>(file_[word_]);
  const uint8_t third = static_cast<uint8_t>(file_[word_ + 2]);
  // Red minus the mean, green minus green.
  EXPECT_EQ(With(word_, (low & ~0x0C) | 0x08).code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(word_ + 4, (file_[word_ + 4] & ~0x0C) | 0x04).code(),
            StatusCode::kDataLoss);
  // A width of 16 bits, bits that are 0.
  EXPECT_EQ(With(word_ + 2, third | 0x10).code(), StatusCode::kDataLoss);
  EXPECT_EQ(With(word_ + 2, third | 0x20).code(), StatusCode::kDataLoss);
  std::string empty = file_;
  empty[word_] = empty[word_ + 1] = empty[word_ + 2] = 0;
  MendL3(&empty);
  ImageInfo info;
  Bytes pixels;
  EXPECT_EQ(DecodeWhole(empty, &info, &pixels).code(), StatusCode::kDataLoss);
}

// One pixel, whose bits are 1 (some pixel changes), 1 (in its group), 1 (it
// does) and a literal of 8 bits. Index 255 would be the literal 254.
TEST(L3FlatTest, LiteralsPastThePaletteAreRefused) {
  const auto file = [](uint32_t colours, uint32_t literal) {
    std::string patch = Hex("00000000 0080");
    patch[4] = static_cast<char>(colours - 1);
    for (uint32_t i = 0; i < colours; ++i) patch += static_cast<char>(i ^ 0x55);
    patch += static_cast<char>(7 | literal << 3);
    patch += static_cast<char>(literal >> 5);
    std::string all = Hex(
        "4c4c4c32 01000000 01000000 01 08 40 01 00000000 00000000 00000000");
    StoreLittle32(static_cast<uint32_t>(patch.size()),
                  reinterpret_cast<uint8_t*>(&all[24]));
    all += patch;
    MendL3(&all);
    return all;
  };
  for (const uint32_t colours : {256, 200, 131}) {
    for (uint32_t literal = colours - 3; literal < 256; ++literal) {
      ImageInfo info;
      Status status;
      Bytes pixels;
      ASSERT_EQ(
          DecodeWholeByTargets(file(colours, literal), &info, &status, &pixels),
          "")
          << colours << " colours, literal " << literal;
      ASSERT_EQ(status.ok(), literal < colours - 1) << status.message();
      if (status.ok()) {
        EXPECT_EQ(pixels[0], (literal + 1) ^ 0x55);
      }
    }
  }
}

TEST(L3TableTest, PatchesInEachOthersPlaceAreFound) {
  const ImageInfo info = Info(64, 128, 1);
  std::string file =
      EncodeAsL3(L3Version::kV2, 0, info, Bytes(info.PixelBytes(), 9));
  // Two patches of one colour are the same bytes but for their checksums.
  const size_t data_at = kL3V2HeaderBytes + 4 * 3;
  const size_t size = (file.size() - data_at) / 2;
  ASSERT_EQ(file.substr(data_at + 4, size - 4),
            file.substr(data_at + size + 4, size - 4));
  std::swap_ranges(file.begin() + data_at, file.begin() + data_at + size,
                   file.begin() + data_at + size);
  ImageInfo found;
  Bytes decoded;
  const Status status = DecodeWhole(file, &found, &decoded);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("CRC"), std::string::npos);
}

TEST(L3TableTest, WindowNeedsOnlyItsPatches) {
  const ImageInfo info = Info(128, 192, 3);
  const Bytes pixels = MakePixels(info, 2);
  std::string file = EncodeAsL3(L3Version::kV2, 0, info, pixels);
  file.back() = static_cast<char>(file.back() ^ 1);
  Bytes decoded;
  const Window window = {3, 70, 61, 50};
  ASSERT_TRUE(DecodeExactly(file, info, window, &decoded).ok());
  EXPECT_EQ(decoded, Crop(info, pixels, window));
  EXPECT_EQ(DecodeExactly(file, info, {0, 0, 128, 192}, &decoded).code(),
            StatusCode::kDataLoss);
}

TEST(L3V1Test, FilesWithoutTheirEdgePatchesAreRefused) {
  // 3 x 3 pixels with one patch of 2 x 2 per channel.
  ImageInfo info;
  Bytes pixels;
  const Status status =
      DecodeWhole(Hex("4c4c4c2e 03000000 03000000 02 0400 0400 0400"
                      "0000 0000 0000 0000 0000 0000"),
                  &info, &pixels);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
}

TEST(L3V1Test, RowsOverEightBitsAreRefused) {
  ImageInfo info;
  Bytes pixels;
  for (const VectorTarget target : RunnableTargets()) {
    const ScopedL3Target scoped(target);
    const Status status =
        DecodeWhole(Hex("4c4c4c2e 01000000 01000000 01 0300 0200 0200"
                        "090000 0000 0000"),
                    &info, &pixels);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_NE(status.message().find("offset 19"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace liquid::l3_damage_test
