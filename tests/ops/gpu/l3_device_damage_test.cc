// Damaged and lying files: the kernels' code finds what the CPU's decoder does,
// and reads and writes nothing out of bounds (the sanitizers watch).
#include <gtest/gtest.h>

#include "tests/ops/codecs/l3_testing.h"
#include "tests/ops/gpu/host_device.h"

namespace liquid::l3_device_damage_test {
namespace {

DecodeLimits Limits() {
  DecodeLimits limits;
  limits.max_pixels = 1 << 20;
  return limits;
}

// Plans, fills and does a batch of one file, with all memory ending where it is
// said to.
template <typename Sample>
Status DecodeOnHost(const std::string& file, const Window& window,
                    HostOrder order, ImageInfo* image, Bytes* pixels,
                    bool verified = false) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[file.size()]);
  std::copy(file.begin(), file.end(), copy.get());
  const std::vector<L3DeviceFile> files = {
      {ByteSpan(copy.get(), file.size()), window}};
  L3DeviceBatch batch;
  LIQUID_RETURN_IF_ERROR(PlanL3Device(files, Limits(), &batch));
  *image = batch.image;
  if (image->bits != 8 * sizeof(Sample)) {
    return InvalidArgument("another kind of batch");
  }
  const HostMemory bytes(batch.bytes);
  FillL3Device(files, batch, bytes.data());
  const std::unique_ptr<Sample[]> out(
      new Sample[image->PixelBytes() / sizeof(Sample)]());
  const L3DeviceOutput output = {
      image->height, image->width, image->channels, 0, {}, {}, verified, 0};
  const L3DeviceFindings findings =
      DoOnHost<Sample, Sample>(batch, bytes.data(), output, out.get(), order);
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(out.get());
  pixels->assign(begin, begin + image->PixelBytes());
  return CheckL3Device(files, batch, findings);
}

struct Case {
  L3Version version;
  int channels;
  int bits;
  int patch;
  L3Profile profile = L3Profile::kFast;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << "v" << static_cast<int>(c.version) << "_" << c.channels << "x"
       << c.bits << (c.profile == L3Profile::kCompact ? "_compact" : "");
}

class L3DeviceDamageTest : public testing::TestWithParam<Case> {
 protected:
  L3DeviceDamageTest()
      : info_(Info(37, 75, GetParam().channels, GetParam().bits)),
        pixels_(MakePixels(info_, 5, 40)),
        file_(Encoded(pixels_)) {}

  std::string Encoded(const Bytes& pixels) const {
    return EncodeAsL3(GetParam().version, GetParam().patch, info_, pixels,
                      GetParam().profile);
  }

  Status Decode(const std::string& file, HostOrder order, ImageInfo* image,
                Bytes* pixels, const Window& window = Window(),
                bool verified = false) const {
    const auto decode =
        GetParam().bits == 8 ? DecodeOnHost<uint8_t> : DecodeOnHost<uint16_t>;
    return decode(file, window, order, image, pixels, verified);
  }

  // The same by the CPU's decoder.
  static Status DecodeOnCpu(const std::string& file, const Window& window,
                            ImageInfo* image, Bytes* pixels) {
    L3Info info;
    LIQUID_RETURN_IF_ERROR(PeekL3(SpanIn(file), Limits(), &info));
    *image = info.image;
    const Window all = {0, 0, image->height, image->width};
    return DecodeExactly(file, *image, window.height == 0 ? all : window,
                         pixels);
  }

  const ImageInfo info_;
  const Bytes pixels_;
  const std::string file_;
};

TEST_P(L3DeviceDamageTest, EveryTruncationIsAnError) {
  ImageInfo image;
  Bytes pixels;
  ASSERT_TRUE(Decode(file_, HostOrder::kForward, &image, &pixels).ok());
  ASSERT_TRUE(pixels == pixels_);
  for (size_t size = 0; size < file_.size(); ++size) {
    ASSERT_FALSE(
        Decode(file_.substr(0, size), HostOrder::kForward, &image, &pixels)
            .ok())
        << size;
  }
}

TEST_P(L3DeviceDamageTest, EveryFlippedByteOfVersion2IsFound) {
  if (GetParam().version == L3Version::kV1) {
    GTEST_SKIP() << "only version 2 has checksums and tables of widths";
  }
  // Few rows, as each byte takes a whole decode: two patches all the same.
  const ImageInfo info = Info(9, 75, GetParam().channels, GetParam().bits);
  const std::string file =
      EncodeAsL3(GetParam().version, GetParam().patch, info,
                 MakePixels(info, 5, 40), GetParam().profile);
  ImageInfo image;
  Bytes pixels;
  ASSERT_TRUE(Decode(file, HostOrder::kForward, &image, &pixels).ok());
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_FALSE(Decode(damaged, HostOrder::kForward, &image, &pixels).ok())
        << i;
  }
}

// The checksums of version 2 are mended, so that the damage reaches what they
// guard; or left wrong, where the device need not look at them. Of a flat image
// nearly everything is header, table and words; in a window, no row that is
// left out has to be right.
TEST_P(L3DeviceDamageTest, MutationsFareAsOnTheCpu) {
  Bytes few(info_.PixelBytes(), 77);
  // In the compact profile one colour is all palette: a second one has rows.
  for (size_t i = 0; i < few.size() / 2; i += 97) few[i] = 78;
  const std::string flat = Encoded(few);
  Noise noise(11);
  int opened = 0, refused_by_device = 0;
  for (int i = 0; i < RandomCases(12000); ++i) {
    std::string damaged = i % 4 == 0 ? flat : file_;
    const uint32_t changes = 1 + noise.Below(4);
    for (uint32_t k = 0; k < changes; ++k) {
      const uint32_t size = static_cast<uint32_t>(damaged.size());
      const uint32_t reach = noise.Below(2) == 0 ? std::min(size, 60u) : size;
      const size_t at = noise.Below(reach);
      if (noise.Below(2) == 0) {
        damaged[at] = static_cast<char>(noise.Next());
      } else {
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << noise.Below(8));
      }
    }
    std::string for_device = damaged;
    if (GetParam().version == L3Version::kV2) MendL3(&damaged);
    const bool verified = i % 2 == 1;
    if (!verified) for_device = damaged;
    // The host looks at the header's in any case.
    std::copy_n(damaged.begin(), kL3V2HeaderBytes, for_device.begin());
    const Window window =
        noise.Below(2) == 0 ? RandomWindow(info_, &noise) : Window();
    ImageInfo expected_image, image;
    Bytes expected, pixels;
    const Status cpu = DecodeOnCpu(damaged, window, &expected_image, &expected);
    if (cpu.ok() && expected_image.bits != GetParam().bits) continue;
    const Status status = Decode(for_device, static_cast<HostOrder>(i % 3),
                                 &image, &pixels, window, verified);
    ASSERT_EQ(status.ok(), cpu.ok())
        << i << " " << status.message() << " / " << cpu.message();
    if (status.ok()) {
      ++opened;
      ASSERT_TRUE(pixels == expected) << i;
    } else {
      refused_by_device +=
          status.message().find("channel") != std::string::npos;
    }
  }
  // Otherwise the mutations would test the first check only.
  EXPECT_GT(opened, RandomCases(100));
  EXPECT_GT(refused_by_device, RandomCases(100));
}

// Files that end with a patch of version 2 whose codes, or rows, take one byte
// more than there is, or one less.
TEST_P(L3DeviceDamageTest, PatchesOfAnotherLengthFareAsOnTheCpu) {
  if (GetParam().version == L3Version::kV1 ||
      GetParam().profile == L3Profile::kCompact) {
    GTEST_SKIP() << "only profile 0 of version 2 has sets of widths";
  }
  int opened = 0;
  for (const uint8_t value : {77, 78}) {
    Bytes pixels(info_.PixelBytes(), 77);
    pixels.back() = value;
    const std::string file = EncodeAsL3(L3Version::kV2, 0, info_, pixels);
    const size_t table_end = kL3V2HeaderBytes + 4 * 3;
    const uint8_t* entry =
        reinterpret_cast<const uint8_t*>(file.data()) + kL3V2HeaderBytes + 4;
    const size_t word = table_end + LoadLittle32(entry) + 4;
    for (uint32_t set = 1; set < 1u << (GetParam().bits + 1); ++set) {
      for (const int longer : {-1, 0, 1}) {
        // Only the sets whose tables or payload come near the end.
        if (set > 1 << 10 && set % 97 != 0) continue;
        std::string changed = file;
        uint8_t* at = reinterpret_cast<uint8_t*>(&changed[word]);
        StoreLittle32((LoadLittle32(at) & 0xFF00000F) | set << 4, at);
        changed.resize(changed.size() + longer, '\0');
        uint8_t* last =
            reinterpret_cast<uint8_t*>(&changed[kL3V2HeaderBytes + 8]);
        StoreLittle32(LoadLittle32(last) + longer, last);
        MendL3(&changed);
        for (const Window& window :
             {Window(), Window{0, 64, 36, 11}, Window{0, 64, 1, 1}}) {
          ImageInfo expected_image, image;
          Bytes expected, decoded;
          const Status cpu =
              DecodeOnCpu(changed, window, &expected_image, &expected);
          const Status status =
              Decode(changed, HostOrder::kForward, &image, &decoded, window);
          ASSERT_EQ(status.ok(), cpu.ok())
              << set << " " << status.message() << " / " << cpu.message();
          if (!status.ok()) continue;
          ++opened;
          ASSERT_TRUE(decoded == expected) << set;
        }
      }
    }
  }
  EXPECT_GT(opened, 10);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, L3DeviceDamageTest,
    testing::Values(Case{L3Version::kV1, 3, 8, 16},
                    Case{L3Version::kV1, 3, 8, 70},
                    Case{L3Version::kV2, 1, 8, 0},
                    Case{L3Version::kV2, 3, 8, 0},
                    Case{L3Version::kV2, 4, 16, 0},
                    Case{L3Version::kV2, 1, 8, 0, L3Profile::kCompact},
                    Case{L3Version::kV2, 3, 8, 0, L3Profile::kCompact},
                    Case{L3Version::kV2, 4, 16, 0, L3Profile::kCompact}),
    [](const auto& info) {
      return "v" + std::to_string(static_cast<int>(info.param.version)) + "_" +
             std::to_string(info.param.channels) + "x" +
             std::to_string(info.param.bits) + "_" +
             std::to_string(info.param.patch) +
             (info.param.profile == L3Profile::kCompact ? "_compact" : "");
    });

TEST(L3DeviceErrorTest, NamesImagePatchAndOffset) {
  const ImageInfo info = Info(70, 130, 3);
  const Bytes pixels = MakePixels(info, 4);
  const std::string good = EncodeAsL3(L3Version::kV2, 0, info, pixels);
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  const std::vector<L3DeviceFile> files = {{SpanIn(good), Window()},
                                           {SpanIn(bad), Window()}};
  L3DeviceBatch batch;
  ASSERT_TRUE(PlanL3Device(files, DecodeLimits(), &batch).ok());
  const HostMemory bytes(batch.bytes);
  FillL3Device(files, batch, bytes.data());
  Bytes out(2 * info.PixelBytes());
  const L3DeviceFindings findings = DoOnHost<uint8_t, uint8_t>(
      batch, bytes.data(), {info.height, info.width, 3, 0, {}, {}, 0, 0},
      out.data());
  const Status status = CheckL3Device(files, batch, findings);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  ImageInfo found;
  Bytes decoded;
  const Status cpu = DecodeWhole(bad, &found, &decoded);
  // "l3: patch 5 at offset N"
  const std::string where = cpu.message().substr(0, cpu.message().rfind(':'));
  EXPECT_NE(status.message().find("image 1: " + where), std::string::npos)
      << status.message() << " / " << cpu.message();
  EXPECT_NE(status.message().find("CRC"), std::string::npos);
}

// Kernels do the images of a mixed batch out of their order.
TEST(L3DeviceErrorTest, NamesTheFirstImageOfSeveralKinds) {
  const ImageInfo info = Info(70, 130, 3);
  const Bytes pixels = MakePixels(info, 4);
  std::string files[] = {
      EncodeAsL3(L3Version::kV1, 64, info, pixels),
      EncodeAsL3(L3Version::kV2, 0, info, pixels, L3Profile::kCompact),
      EncodeAsL3(L3Version::kV2, 0, info, pixels)};
  for (std::string* file : {&files[1], &files[2]}) {
    file->back() = static_cast<char>(file->back() ^ 1);
  }
  std::vector<L3DeviceFile> batch_files;
  for (const std::string& file : files)
    batch_files.push_back({SpanIn(file), {}});
  L3DeviceBatch batch;
  ASSERT_TRUE(PlanL3Device(batch_files, DecodeLimits(), &batch).ok());
  ASSERT_EQ(batch.launches.size(), 3u);
  const HostMemory bytes(batch.bytes);
  FillL3Device(batch_files, batch, bytes.data());
  Bytes out(3 * info.PixelBytes());
  const L3DeviceFindings findings = DoOnHost<uint8_t, uint8_t>(
      batch, bytes.data(), {info.height, info.width, 3, 0, {}, {}, false, 0},
      out.data());
  const Status status = CheckL3Device(batch_files, batch, findings);
  EXPECT_NE(status.message().find("image 1: l3: patch 5"), std::string::npos)
      << status.message();
}

// An image of dark noise with grains of salt, for which codes need escapes;
// flat from column `calm` on.
Bytes Salted(const ImageInfo& info, uint32_t calm, Noise* noise) {
  Bytes pixels(info.PixelBytes(), 40);
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (i / info.channels % info.width >= calm) continue;
    pixels[i] = noise->Below(60) == 0 ? 168 : 40 + noise->Below(5);
  }
  return pixels;
}

// Moves bits [from, to) of some bytes up by one, over bit `to`; bit `from`
// becomes 0.
void InsertZero(uint8_t* bytes, size_t from, size_t to) {
  const auto bit = [&](size_t i) { return bytes[i / 8] >> i % 8 & 1; };
  const auto set = [&](size_t i, int value) {
    bytes[i / 8] =
        static_cast<uint8_t>((bytes[i / 8] & ~(1 << i % 8)) | value << i % 8);
  };
  for (size_t i = to; i > from; --i) set(i, bit(i - 1));
  set(from, 0);
}

// A zero more in an escape of the compact profile, and one less behind: in the
// padding, where all other codes and all bytes are still what they were. The
// last groups of the row have no part in it: the image lacks them, or they are
// flat.
TEST(L3DeviceErrorTest, EscapesOfTooManyZerosFareAsOnTheCpu) {
  Noise noise(3);
  for (const auto& [width, calm] : {std::pair(40, 40), std::pair(64, 24)}) {
    int refused = 0;
    const ImageInfo info = Info(12, width, 3);
    const Bytes original = Salted(info, calm, &noise);
    const std::string file =
        EncodeAsL3(L3Version::kV2, 0, info, original, L3Profile::kCompact);
    const std::vector<L3PatchBytes> patches = L3PatchesIn(file);
    ASSERT_EQ(patches.size(), 1u);
    const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
    const size_t headers = patches[0].begin + 4;
    // As against few colours.
    ASSERT_EQ(bytes[headers + 1] & 0x80, 0);
    size_t segment = headers + 3 * kL3ChannelHeader;
    for (uint32_t c = 0; c < 3; ++c) {
      const size_t begin = 8 * segment;
      segment += LoadLittle16(bytes + headers + c * kL3ChannelHeader);
      size_t zeros = 0;
      for (size_t at = begin; at < 8 * segment; ++at) {
        const bool one = (bytes[at / 8] >> at % 8 & 1) != 0;
        const bool escape = one && zeros == kL3LongestRun;
        zeros = one ? 0 : zeros + 1;
        if (!escape) continue;
        // The padding ends with a byte.
        for (size_t to = at | 7; to < 8 * segment; to += 8) {
          if ((bytes[to / 8] & 0x80) != 0) continue;
          std::string damaged = file;
          InsertZero(reinterpret_cast<uint8_t*>(&damaged[0]), at, to);
          MendL3(&damaged);
          const Window whole = {0, 0, info.height, info.width};
          for (const Window& window : {whole, Window{0, 0, 11, info.width}}) {
            ImageInfo image;
            Bytes expected, pixels;
            const Status cpu = DecodeExactly(damaged, info, window, &expected);
            const Status status = DecodeOnHost<uint8_t>(
                damaged, window, HostOrder::kForward, &image, &pixels);
            ASSERT_EQ(status.code(), cpu.code())
                << width << " " << c << " " << at << " " << to << ": "
                << status.message() << " / " << cpu.message();
            if (!status.ok()) {
              ++refused;
            } else {
              ASSERT_TRUE(pixels == expected) << c << " " << at << " " << to;
            }
          }
        }
      }
    }
    EXPECT_GT(refused, 1000) << width;
  }
}

// A row of version 1 that is said to be wider than 8 bits, and one that ends
// early.
TEST(L3DeviceErrorTest, RowsOfVersion1) {
  for (const char* row : {"090000", "080000"}) {
    ImageInfo image;
    Bytes pixels;
    const Status status = DecodeOnHost<uint8_t>(
        Hex(std::string("4c4c4c2e 02000000 01000000 02 0300 0200 0200") + row +
            "0000 0000"),
        Window(), HostOrder::kForward, &image, &pixels);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_NE(status.message().find("offset 19"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace liquid::l3_device_damage_test
