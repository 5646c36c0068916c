#include "ops/image/operations.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace liquid::operations_test {
namespace {

using Bytes = std::vector<uint8_t>;

Operation With(OperationKind kind, double amount = 0) {
  Operation operation;
  operation.kind = kind;
  operation.amount = amount;
  return operation;
}

Operation Mapped(Interpolation interpolation, std::array<double, 6> matrix) {
  Operation operation = With(OperationKind::kAffine);
  operation.interpolation = interpolation;
  operation.fill = {200, 100, 50};
  operation.matrix = matrix;
  return operation;
}

Bytes Applied(const std::vector<Operation>& operations, size_t height,
              size_t width, size_t channels, const Bytes& pixels) {
  Bytes canvas = pixels, other(pixels.size());
  uint8_t* result = nullptr;
  ApplyOperations(operations.data(), operations.size(), height, width, channels,
                  canvas.data(), other.data(), &result);
  EXPECT_TRUE(result == canvas.data() || result == other.data());
  return Bytes(result, result + pixels.size());
}

// Of one channel, in a row.
Bytes Row(const Operation& operation, const Bytes& pixels) {
  return Applied({operation}, 1, pixels.size(), 1, pixels);
}

TEST(ApplyOperationsTest, NoneChangesNothing) {
  const Bytes pixels = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(Applied({}, 1, 2, 3, pixels), pixels);
}

TEST(ApplyOperationsTest, FactorsOfOneChangeNothing) {
  Bytes pixels;
  for (int i = 0; i < 3 * 31 * 33; ++i) pixels.push_back(i * 37 % 256);
  for (const auto kind :
       {OperationKind::kBrightness, OperationKind::kColor,
        OperationKind::kContrast, OperationKind::kSharpness}) {
    EXPECT_EQ(Applied({With(kind, 1)}, 31, 33, 3, pixels), pixels);
  }
}

TEST(ApplyOperationsTest, ChangesTones) {
  const Bytes in = {0, 1, 100, 127, 128, 200, 255};
  EXPECT_EQ(Row(With(OperationKind::kInvert), in),
            (Bytes{255, 254, 155, 128, 127, 55, 0}));
  EXPECT_EQ(Row(With(OperationKind::kPosterize, 3), in),
            (Bytes{0, 0, 96, 96, 128, 192, 224}));
  EXPECT_EQ(Row(With(OperationKind::kPosterize, 0), in), Bytes(7, 0));
  EXPECT_EQ(Row(With(OperationKind::kPosterize, 8), in), in);
  EXPECT_EQ(Row(With(OperationKind::kSolarize, 127.5), in),
            (Bytes{0, 1, 100, 127, 127, 55, 0}));
  EXPECT_EQ(Row(With(OperationKind::kSolarize, 256), in), in);
  EXPECT_EQ(Row(With(OperationKind::kSolarizeAdd, 110), in),
            (Bytes{110, 111, 210, 237, 128, 200, 255}));
  EXPECT_EQ(Row(With(OperationKind::kSolarizeAdd, 200), in),
            (Bytes{200, 201, 255, 255, 128, 200, 255}));
  EXPECT_EQ(Row(With(OperationKind::kBrightness, 1.5), in),
            (Bytes{0, 1, 150, 190, 192, 255, 255}));
}

TEST(ApplyOperationsTest, GrayHasNoColourToChange) {
  const Bytes in = {0, 90, 255};
  EXPECT_EQ(Row(With(OperationKind::kColor, 0), in), in);
  EXPECT_EQ(Row(With(OperationKind::kGray), in), in);
}

TEST(ApplyOperationsTest, MakesGray) {
  EXPECT_EQ(
      Applied({With(OperationKind::kGray)}, 1, 2, 3, {255, 0, 0, 0, 255, 0}),
      (Bytes{76, 76, 76, 150, 150, 150}));
  EXPECT_EQ(Applied({With(OperationKind::kColor, 0)}, 1, 2, 3,
                    {255, 0, 0, 0, 255, 0}),
            (Bytes{76, 76, 76, 150, 150, 150}));
}

TEST(ApplyOperationsTest, ContrastIsAboutTheMeanOfWhatIsThere) {
  // (10 + 21) / 2 is rounded up, and changed by the operation before.
  EXPECT_EQ(Row(With(OperationKind::kContrast, 0), {10, 21}), (Bytes{16, 16}));
  EXPECT_EQ(
      Applied({With(OperationKind::kInvert), With(OperationKind::kContrast, 0)},
              1, 2, 1, {10, 20}),
      (Bytes{240, 240}));
  EXPECT_EQ(
      Applied({With(OperationKind::kInvert), With(OperationKind::kContrast, 0)},
              1, 1, 3, {0, 255, 255}),
      Bytes(3, 76));
}

TEST(ApplyOperationsTest, AutoContrastSpreadsEachChannel) {
  EXPECT_EQ(Applied({With(OperationKind::kAutoContrast)}, 1, 3, 3,
                    {10, 7, 0, 20, 7, 255, 30, 7, 100}),
            (Bytes{0, 7, 0, 127, 7, 255, 255, 7, 100}));
}

TEST(ApplyOperationsTest, EqualizesEachChannel) {
  // 510 pixels less those of the highest value, in steps of 255: a step of 1.
  Bytes in, want;
  for (int i = 0; i < 510; ++i) in.push_back(i < 255 ? 40 : 90);
  for (int i = 0; i < 510; ++i) want.push_back(i < 255 ? 0 : 255);
  EXPECT_EQ(Row(With(OperationKind::kEqualize), in), want);
  // A step of 0.
  EXPECT_EQ(Row(With(OperationKind::kEqualize), {40, 90}), (Bytes{40, 90}));
}

TEST(ApplyOperationsTest, HistogramsAreOfWhatIsThere) {
  // Solarized, 200 is 55, and 55 the lowest value.
  EXPECT_EQ(Applied({With(OperationKind::kSolarize, 128),
                     With(OperationKind::kAutoContrast)},
                    1, 3, 1, {100, 60, 200}),
            (Bytes{255, 28, 0}));
}

TEST(ApplyOperationsTest, SharpensInside) {
  // (8 * 0 + 5 * 130) / 13 = 50; 50 + 2 * 80.
  const Bytes in = {0, 0, 0, 0, 130, 0, 0, 0, 0};
  EXPECT_EQ(Applied({With(OperationKind::kSharpness, 2)}, 3, 3, 1, in),
            (Bytes{0, 0, 0, 0, 210, 0, 0, 0, 0}));
  EXPECT_EQ(Applied({With(OperationKind::kSharpness, 0)}, 3, 3, 1, in),
            (Bytes{0, 0, 0, 0, 50, 0, 0, 0, 0}));
  const Bytes narrow = {1, 90, 3, 200, 5, 6};
  EXPECT_EQ(Applied({With(OperationKind::kSharpness, 0)}, 3, 2, 1, narrow),
            narrow);
  EXPECT_EQ(Applied({With(OperationKind::kSharpness, 0)}, 2, 3, 1, narrow),
            narrow);
}

TEST(ApplyOperationsTest, BlursNoFlatImage) {
  for (const double sigma : {0.0, 0.3, 2.0, 500.0}) {
    for (const uint8_t value : {0, 1, 255}) {
      const Bytes flat(7 * 5 * 3, value);
      EXPECT_EQ(Applied({With(OperationKind::kBlur, sigma)}, 7, 5, 3, flat),
                flat);
    }
  }
}

TEST(ApplyOperationsTest, BlurSpreadsEvenly) {
  Bytes in(7 * 7);
  in[3 * 7 + 3] = 255;
  const Bytes out = Applied({With(OperationKind::kBlur, 1)}, 7, 7, 1, in);
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 7; ++x) {
      EXPECT_EQ(out[y * 7 + x], out[y * 7 + 6 - x]);
      EXPECT_EQ(out[y * 7 + x], out[(6 - y) * 7 + x]);
      // Rounded after each pass, and so not quite equal.
      EXPECT_NEAR(out[y * 7 + x], out[x * 7 + y], 1);
    }
  }
  EXPECT_GT(out[3 * 7 + 3], out[3 * 7 + 2]);
  EXPECT_GT(out[3 * 7 + 2], out[3 * 7 + 1]);
  EXPECT_EQ(Applied({With(OperationKind::kBlur, 0)}, 7, 7, 1, in), in);
}

TEST(ApplyOperationsTest, Turns) {
  const Bytes in = {1, 2, 3, 4};
  EXPECT_EQ(Applied({With(OperationKind::kTurn90)}, 2, 2, 1, in),
            (Bytes{2, 4, 1, 3}));
  EXPECT_EQ(Applied({With(OperationKind::kTurn270)}, 2, 2, 1, in),
            (Bytes{3, 1, 4, 2}));
  EXPECT_EQ(Applied({With(OperationKind::kTurn180)}, 2, 2, 1, in),
            (Bytes{4, 3, 2, 1}));
  EXPECT_EQ(Applied({With(OperationKind::kFlip)}, 2, 2, 1, in),
            (Bytes{3, 4, 1, 2}));
}

TEST(ApplyOperationsTest, FillsWhatComesFromOutside) {
  const Bytes in = {1, 2, 3, 4, 5, 6};
  for (const auto interpolation :
       {Interpolation::kNearest, Interpolation::kBilinear,
        Interpolation::kBicubic}) {
    EXPECT_EQ(Applied({Mapped(interpolation, {1, 0, 1, 0, 1, 0})}, 1, 2, 3, in),
              (Bytes{4, 5, 6, 200, 100, 50}));
    EXPECT_EQ(Applied({Mapped(interpolation, {1, 0, 9, 0, 1, 0})}, 1, 2, 3, in),
              (Bytes{200, 100, 50, 200, 100, 50}));
  }
}

// What was filled is changed by what follows, and not by what was before.
TEST(ApplyOperationsTest, NoToneCrossesAMap) {
  const Operation invert = With(OperationKind::kInvert);
  const Operation move = Mapped(Interpolation::kNearest, {1, 0, 1, 0, 1, 0});
  EXPECT_EQ(Applied({invert, move}, 1, 2, 1, {1, 2}), (Bytes{253, 200}));
  EXPECT_EQ(Applied({move, invert}, 1, 2, 1, {1, 2}), (Bytes{253, 55}));
}

TEST(ApplyOperationsTest, NearestTakesAnyMap) {
  Bytes row(100);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint8_t>(i);
  const auto mapped = [&](std::array<double, 6> matrix) {
    return Row(Mapped(Interpolation::kNearest, matrix), row);
  };
  EXPECT_EQ(mapped({-1, 0, 100, 0, 1, 0}), Bytes(row.rbegin(), row.rend()));
  EXPECT_EQ(mapped({0, 0, 7.5, 0, 0, .5}), Bytes(100, 7));
  EXPECT_EQ(mapped({1, 0, 0, 0, 1, 1}), Bytes(100, 200));
  // A row that leaves through the side, in steps of 2^-16 and far beyond.
  const Bytes left = mapped({1, 0, 0, .01, 1, 0});
  EXPECT_EQ(left[49], 49);
  EXPECT_EQ(left[50], 200);
  for (const double far : {3e4, 1e9, 1e300}) {
    const Bytes out = mapped({1, 0, 0, far, 1, -.5 * far});
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 200);
    EXPECT_EQ(mapped({1, far, far, far, 1, far}), Bytes(100, 200));
  }
}

constexpr size_t kHeight = 47, kWidth = 61;

// Slopes and noise.
Bytes GoldenImage(size_t channels) {
  Bytes pixels(kHeight * kWidth * channels);
  uint32_t noise = 1;
  for (size_t i = 0; i < pixels.size(); ++i) {
    noise = noise * 1664525 + 1013904223;
    pixels[i] = static_cast<uint8_t>((i / 3 + (noise >> 27)) % 200 + 20);
  }
  return pixels;
}

// FNV-1a.
uint64_t Hash(const Bytes& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// What Pillow 13.0.0 makes of the image on x86-64, of 1 and of 3 channels.
TEST(ApplyOperationsTest, Goldens) {
  const std::array<double, 6> turn = {.96, .28, -5.3, -.28, .96, 9.7};
  const std::array<double, 6> far = {1e-3, 800, -31.5, 700, 1e-3, -5};
  const struct {
    Operation operation;
    uint64_t hashes[2];
  } goldens[] = {
      {Mapped(Interpolation::kNearest, turn),
       {0xc3584d023cbb19c6, 0x0e231c4d5773e16e}},
      {Mapped(Interpolation::kBilinear, turn),
       {0x5b28ffa9f4dffe78, 0x3a69cc2edc7fc127}},
      {Mapped(Interpolation::kBicubic, turn),
       {0x311db52c65110e89, 0x1a1b30eae14b72a3}},
      {Mapped(Interpolation::kNearest, far),
       {0x39daf50bc3905e3f, 0x5983ddc5806e0c59}},
      {Mapped(Interpolation::kNearest, {.9, 0, 3.1, 0, -1.2, 45}),
       {0x71a41ef740a71858, 0xc0dcaec628986a6c}},
      {With(OperationKind::kTurn180), {0x2a7ea48468d74ac2, 0x4f12e0a6da8c43c3}},
      {With(OperationKind::kFlip), {0xc9de7ce5120afe1a, 0xf1f59e345f636d53}},
      {With(OperationKind::kBrightness, 1.37),
       {0xe097323511b89161, 0x382768123349427c}},
      {With(OperationKind::kColor, .3),
       {0x82edf121c2df62aa, 0x8d5b26d7ef563b3b}},
      {With(OperationKind::kColor, 1.9),
       {0x82edf121c2df62aa, 0x9e7d4e04d2f195f3}},
      {With(OperationKind::kContrast, 1.6),
       {0xa43987701a84e015, 0x37a2a3f9afa408bb}},
      {With(OperationKind::kSharpness, .4),
       {0x1f30223d97765628, 0xc0bced09d506ab68}},
      {With(OperationKind::kSharpness, 1.9),
       {0x40ac9daa9c841956, 0xd7d84a8041814671}},
      {With(OperationKind::kPosterize, 5),
       {0x66b278028718e52f, 0xad8646d92e3a31d7}},
      {With(OperationKind::kSolarize, 99.5),
       {0x474563811ffc8d51, 0x60c1815654a49f26}},
      {With(OperationKind::kSolarizeAdd, 77),
       {0x2961ae3c48d312d4, 0xa4659d0cee98348c}},
      {With(OperationKind::kAutoContrast),
       {0x0b6fd54d978ade10, 0x9b23fbd5025843c0}},
      {With(OperationKind::kEqualize),
       {0x2790d00278c0f6f2, 0x2e3159758a30344a}},
      {With(OperationKind::kInvert), {0x1ee2e5f378e0f079, 0x7881dde514f3f7b2}},
      {With(OperationKind::kGray), {0x82edf121c2df62aa, 0xaf0dc4562dd98cdc}},
      {With(OperationKind::kBlur, .5),
       {0xebe40b0e6e5ee26f, 0xade6a50fa80a57e3}},
      {With(OperationKind::kBlur, 2), {0x4becf5878c73279d, 0x4a85f2aa15e87a55}},
      {With(OperationKind::kBlur, 11.3),
       {0x8fcff44b25d76c69, 0xf74fafb5b52813d1}},
  };
  for (const auto& golden : goldens) {
    for (int i = 0; i < 2; ++i) {
      const size_t channels = i == 0 ? 1 : 3;
      const Bytes out = Applied({golden.operation}, kHeight, kWidth, channels,
                                GoldenImage(channels));
      EXPECT_EQ(Hash(out), golden.hashes[i])
          << &golden - goldens << ", " << channels << std::hex << " 0x"
          << Hash(out);
    }
  }
}

}  // namespace
}  // namespace liquid::operations_test
