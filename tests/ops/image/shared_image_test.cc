#include "ops/image/shared_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/image/draws.h"
#include "ops/image/recipe_text.h"

namespace liquid::shared_image_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMostPixels = 1 << 20;

// Pixels that differ everywhere; a draft has every second, fourth or eighth
// one.
class Photo : public StoredImage {
 public:
  Photo(uint32_t height, uint32_t width, bool drafts)
      : info_{height, width, 3, 8}, drafts_(drafts) {}

  const ImageInfo& info() const override { return info_; }
  uint32_t Draft(uint32_t most) const override { return drafts_ ? most : 1; }
  Status Decode(uint32_t draft, const Window& window, uint8_t* out,
                size_t row_stride) override {
    windows.push_back(window);
    drafts.push_back(draft);
    if (fails) return DataLoss("a photo that is damaged");
    const uint32_t height = (info_.height - 1) / draft + 1;
    const uint32_t width = (info_.width - 1) / draft + 1;
    EXPECT_LE(window.y + window.height, height);
    EXPECT_LE(window.x + window.width, width);
    for (uint32_t y = 0; y < window.height; ++y) {
      for (uint32_t x = 0; x < window.width; ++x) {
        for (uint32_t c = 0; c < 3; ++c) {
          const uint32_t number =
              ((window.y + y) * draft * 65537 + (window.x + x) * draft) * 3 + c;
          out[y * row_stride + 3 * x + c] =
              static_cast<uint8_t>(number * 2654435761u >> 23);
        }
      }
    }
    return OkStatus();
  }

  std::vector<Window> windows;
  std::vector<uint32_t> drafts;
  bool fails = false;

 private:
  const ImageInfo info_;
  const bool drafts_;
};

// A view of an image: a recipe, and what it makes.
struct Made {
  explicit Made(const std::vector<std::string>& lines) {
    RecipeText text;
    const Status status = ParseRecipe(lines, &text);
    EXPECT_TRUE(status.ok()) << status.message();
    text.recipe.seed = 7;
    recipe = text.recipe;
    FinishSpec spec;
    spec.mean = text.mean;
    spec.std = text.std;
    spec.channels_first = text.channels_first;
    if (!spec.mean.empty()) spec.type = PixelType::kFloat32;
    Finisher finisher;
    EXPECT_TRUE(Finisher::Create(spec, &finisher).ok());
    maker = std::make_unique<ImageMaker>(recipe, std::move(finisher), false);
  }

  void Plan(const Photo& photo, uint64_t draw, size_t view,
            uint8_t orientation) {
    const Status planned =
        PlanSample(recipe, 3, DrawOfView(draw, view), photo.info().height,
                   photo.info().width, orientation, kMostPixels, &plan);
    ASSERT_TRUE(planned.ok()) << planned.message();
  }

  std::vector<uint8_t> Make(StoredImage* image, MakerScratch* scratch) const {
    std::vector<uint8_t> out(
        maker->finisher().ImageBytes(plan.part.height, plan.part.width));
    const Status made = maker->Make(plan, image, scratch, out.data());
    EXPECT_TRUE(made.ok()) << made.message();
    return out;
  }

  Recipe recipe;
  std::unique_ptr<ImageMaker> maker;
  SamplePlan plan;
};

std::string Resized(const std::string& size, const std::string& interpolation,
                    bool antialias = true, bool draft = false) {
  return "Resize " + size + " interpolation=" + interpolation +
         " antialias=" + (antialias ? "1" : "0") +
         " draft=" + (draft ? "1" : "0");
}

const char kWindow[] = "RandomResizedCrop scale=0.08,1 ratio=0.75,1.3333";

// Every way to need a part of an image.
std::vector<std::vector<std::string>> Recipes() {
  const std::string small = "height=24 width=20", large = "height=150 width=97";
  return {
      {kWindow, Resized(small, "bilinear"), "Mirror p=0.5"},
      {"Orient", kWindow, Resized(small, "bicubic"), "Normalize mean=9 std=3"},
      {"RandomCrop height=30 width=33"},
      {"Orient", "RandomCrop height=30 width=33", "Mirror p=0.5"},
      {Resized("shorter=64", "bilinear"), "RandomCrop height=20 width=20"},
      {Resized(large, "bicubic"), "RandomCrop height=20 width=20"},
      {Resized(large, "bilinear", false), "RandomCrop height=21 width=9"},
      {Resized("shorter=13", "nearest"), "CenterCrop height=5 width=5"},
      {Resized(large, "nearest", false), "RandomCrop height=21 width=9"},
      {"RandomCrop height=30 width=30",
       "Pad height=64 width=64 value=3 "
       "mask_value=0",
       "RandomCrop height=16 width=16",
       "Rotate degrees=30 value=1 "
       "mask_value=0"},
      {"CenterCrop height=12 width=40",
       "ColorJitter brightness=.4 "
       "contrast=.4 saturation=.4 hue=.1 p=1",
       "ChannelsFirst"},
  };
}

TEST(SharedImageTest, EachViewIsWhatItIsByItself) {
  std::vector<Made> made;
  for (const auto& lines : Recipes()) made.emplace_back(lines);
  MakerScratch scratch, other;
  for (uint64_t draw = 0; draw < 60; ++draw) {
    Photo photo(60 + draw % 7, 90 - draw % 5, false);
    const auto orientation = static_cast<uint8_t>(1 + draw % 8);
    // All, and some that lie apart.
    const size_t first = draw % 2 == 0 ? 0 : draw % made.size();
    const size_t end =
        draw % 2 == 0 ? made.size() : std::min(first + 2, made.size());
    std::vector<SharedImage::View> views;
    for (size_t v = first; v < end; ++v) {
      made[v].Plan(photo, draw, v, orientation);
      views.push_back({made[v].maker.get(), &made[v].plan});
    }
    SharedImage shared(&photo);
    const Status loaded = shared.Load(views, kMostPixels, &scratch);
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    for (size_t v = first; v < end; ++v) {
      Photo again(60 + draw % 7, 90 - draw % 5, false);
      EXPECT_EQ(made[v].Make(&shared, &scratch), made[v].Make(&again, &other))
          << "draw " << draw << ", view " << v;
    }
    EXPECT_LE(photo.windows.size(), 1u);
  }
}

// What is decoded bounds the windows, and is no more.
TEST(SharedImageTest, OneRectangleIsDecodedOnce) {
  Photo photo(80, 100, false);
  Made a({"RandomCrop height=10 width=12"}),
      b({kWindow, Resized("height=8 width=8", "bilinear")});
  MakerScratch scratch;
  for (uint64_t draw = 0; draw < 20; ++draw) {
    a.Plan(photo, draw, 0, 1);
    b.Plan(photo, draw, 1, 1);
    SharedImage shared(&photo);
    ASSERT_TRUE(shared
                    .Load({{a.maker.get(), &a.plan}, {b.maker.get(), &b.plan}},
                          kMostPixels, &scratch)
                    .ok());
    a.Make(&shared, &scratch);
    b.Make(&shared, &scratch);
    ASSERT_EQ(photo.windows.size(), draw + 1);
    const Window& found = photo.windows.back();
    const Window &one = a.plan.window, &two = b.plan.window;
    EXPECT_EQ(found.y, std::min(one.y, two.y));
    EXPECT_EQ(found.x, std::min(one.x, two.x));
    EXPECT_EQ(found.y + found.height,
              std::max(one.y + one.height, two.y + two.height));
    EXPECT_EQ(found.x + found.width,
              std::max(one.x + one.width, two.x + two.width));
  }
}

// Of a resized image whose part comes out, little more than that is decoded.
TEST(SharedImageTest, APartOfAResizedImageNeedsAPartOfIt) {
  Photo photo(1000, 1000, false);
  Made one({Resized("height=500 width=500", "bicubic"),
            "CenterCrop height=50 width=50"});
  one.Plan(photo, 0, 0, 1);
  MakerScratch scratch;
  SharedImage shared(&photo);
  ASSERT_TRUE(
      shared.Load({{one.maker.get(), &one.plan}}, kMostPixels, &scratch).ok());
  EXPECT_EQ(shared.Draft(8), 1u);
  ASSERT_EQ(photo.windows.size(), 1u);
  EXPECT_LE(photo.windows[0].height, 120u);
  EXPECT_LE(photo.windows[0].width, 120u);
}

TEST(SharedImageTest, TheMostDemandingViewSaysTheDraft) {
  const auto draft_of = [](const std::vector<std::string>& sizes, bool drafts) {
    Photo photo(256, 256, drafts);
    std::vector<Made> made;
    std::vector<SharedImage::View> views;
    for (const std::string& size : sizes) {
      made.emplace_back(std::vector<std::string>{size});
      made.back().Plan(photo, 0, 0, 1);
    }
    for (Made& one : made) views.push_back({one.maker.get(), &one.plan});
    MakerScratch scratch;
    SharedImage shared(&photo);
    EXPECT_TRUE(shared.Load(views, kMostPixels, &scratch).ok());
    for (const Made& one : made) {
      if (made.size() > 1) {
        one.Make(&shared, &scratch);
        continue;
      }
      MakerScratch other;
      EXPECT_EQ(one.Make(&shared, &scratch), one.Make(&photo, &other));
    }
    return photo.drafts.front();
  };
  const std::string small =
      Resized("height=32 width=32", "bilinear", true, true);
  const std::string half =
      Resized("height=99 width=99", "bilinear", true, true);
  const std::string whole = Resized("height=32 width=32", "bilinear");
  EXPECT_EQ(draft_of({small}, true), 8u);
  EXPECT_EQ(draft_of({half}, true), 2u);
  EXPECT_EQ(draft_of({small, half}, true), 2u);
  EXPECT_EQ(draft_of({half, small}, true), 2u);
  EXPECT_EQ(draft_of({small, whole}, true), 1u);
  EXPECT_EQ(draft_of({small, half}, false), 1u);
}

TEST(SharedImageTest, Errors) {
  Photo photo(80, 100, false);
  Made corner({"CenterCrop height=10 width=10"}), all({"Mirror p=0"});
  corner.Plan(photo, 0, 0, 1);
  all.Plan(photo, 0, 0, 1);
  MakerScratch scratch;
  SharedImage shared(&photo);
  const std::vector<SharedImage::View> both = {
      {corner.maker.get(), &corner.plan}, {all.maker.get(), &all.plan}};
  const Status large = shared.Load(both, 7999, &scratch);
  EXPECT_EQ(large.code(), StatusCode::kDataLoss);
  EXPECT_THAT(large.message(), HasSubstr("need 80x100 pixels of it, over the "
                                         "limit of 7999"));
  EXPECT_TRUE(photo.windows.empty());
  ASSERT_TRUE(shared.Load(both, 8000, &scratch).ok());
  // A view that Load was not told of.
  ASSERT_TRUE(shared.Load({both[0]}, 8000, &scratch).ok());
  std::vector<uint8_t> out(80 * 100 * 3);
  EXPECT_EQ(all.maker->Make(all.plan, &shared, &scratch, out.data()).code(),
            StatusCode::kInternal);
  photo.fails = true;
  EXPECT_EQ(shared.Load(both, 8000, &scratch).message(),
            "a photo that is damaged");
}

}  // namespace
}  // namespace liquid::shared_image_test
