#include "ops/image/device/operation_plan.h"

#include <algorithm>
#include <cstring>

#include "ops/image/affine_nearest.h"
#include "ops/image/filters.h"
#include "ops/image/rotate.h"
#include "ops/image/tone_tables.h"

namespace liquid {
namespace {

// Puts changes one behind the other.
class ColoursWriter {
 public:
  explicit ColoursWriter(ImageDeviceColours* colours) : colours_(colours) {}

  void Add(ImageChange change) {
    colours_->changes |= static_cast<uint32_t>(change) << shift_;
    shift_ += 4;
  }
  void AddColours(const SamplePlan& plan) {
    const Jitter& jitter = plan.jitter;
    for (int i = 0; plan.jittered && i < jitter.steps; ++i) {
      switch (jitter.order[static_cast<size_t>(i)]) {
        case Jitter::kBrightness:
          Add(ImageChange::kBrightness);
          break;
        case Jitter::kContrast:
          Add(ImageChange::kContrast);
          break;
        case Jitter::kSaturation:
          Add(ImageChange::kSaturation);
          break;
        case Jitter::kHue:
          Add(ImageChange::kHue);
          break;
      }
    }
    colours_->brightness = jitter.brightness;
    colours_->contrast = jitter.contrast;
    colours_->saturation = jitter.saturation;
    colours_->hue = jitter.hue;
    if (plan.gray) Add(ImageChange::kGray);
  }

 private:
  ImageDeviceColours* const colours_;
  uint32_t shift_ = 0;
};

class Planner {
 public:
  Planner(const SamplePlan& plan, uint32_t channels, uint32_t bits,
          std::vector<uint32_t>* tables,
          std::vector<ImageDeviceOperation>* operations)
      : height_(plan.part.height),
        width_(plan.part.width),
        channels_(channels),
        bits_(bits),
        tables_(tables),
        operations_(operations) {}

  Status Rotate(double degrees, uint16_t value) {
    const Affine map = RotateSource(degrees, height_, width_);
    const std::array<uint16_t, 4> fill = {value, value, value, value};
    if (TurnsOntoPixels(degrees, height_, width_)) return Nearest(map, fill);
    Mapped(ImageOperation::kBilinear, map, fill);
    return OkStatus();
  }

  void Colours(const SamplePlan& plan) {
    ImageDeviceColours colours;
    ColoursWriter(&colours).AddColours(plan);
    if (colours.changes != 0) Add(ImageOperation::kColours)->colours = colours;
  }

  Status Do(const Operation& operation) {
    const auto factor = static_cast<float>(operation.amount);
    switch (operation.kind) {
      case OperationKind::kAffine:
        return Transform(operation);
      case OperationKind::kTurn90:
        Turn(0, -1, 1, 0);
        break;
      case OperationKind::kTurn180:
        Turn(-1, 0, 0, -1);
        break;
      case OperationKind::kTurn270:
        Turn(0, 1, -1, 0);
        break;
      case OperationKind::kFlip:
        Turn(1, 0, 0, -1);
        break;
      case OperationKind::kBrightness:
        Colour(ImageChange::kBrightness)->brightness = factor;
        break;
      case OperationKind::kColor:
        if (channels_ > 1) {
          Colour(ImageChange::kSaturation)->saturation = factor;
        }
        break;
      case OperationKind::kContrast:
        Colour(ImageChange::kContrast)->contrast = factor;
        break;
      case OperationKind::kSharpness:
        Add(ImageOperation::kSharpen)->factor = factor;
        break;
      case OperationKind::kPosterize:
        Tones(PosterizeTable(static_cast<int>(operation.amount)));
        break;
      case OperationKind::kSolarize:
        Tones(SolarizeTable(operation.amount));
        break;
      case OperationKind::kSolarizeAdd:
        Tones(SolarizeAddTable(static_cast<int>(operation.amount)));
        break;
      case OperationKind::kAutoContrast:
        Add(ImageOperation::kAutoContrast);
        break;
      case OperationKind::kEqualize:
        Add(ImageOperation::kEqualize);
        break;
      case OperationKind::kInvert:
        Tones(SolarizeTable(0));
        break;
      case OperationKind::kGray:
        if (channels_ > 1) Colour(ImageChange::kGray);
        break;
      case OperationKind::kBlur:
        Blur(BlurBoxOf(factor));
        break;
    }
    return OkStatus();
  }

 private:
  ImageDeviceOperation* Add(ImageOperation kind) {
    operations_->emplace_back();
    ImageDeviceOperation& added = operations_->back();
    added.kind = kind;
    return &added;
  }

  void Mapped(ImageOperation kind, const Affine& map,
              const std::array<uint16_t, 4>& fill) {
    ImageDeviceOperation& added = *Add(kind);
    const double numbers[] = {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0};
    std::copy_n(numbers, 6, added.map);
    std::copy_n(fill.data(), 4, added.fill);
  }

  Status Transform(const Operation& operation) {
    const auto& m = operation.matrix;
    const Affine map = {m[0], m[1], m[2], m[3], m[4], m[5]};
    const std::array<uint16_t, 4> fill = {operation.fill[0], operation.fill[1],
                                          operation.fill[2], 0};
    if (operation.interpolation == Interpolation::kNearest) {
      return Nearest(map, fill);
    }
    Mapped(operation.interpolation == Interpolation::kBilinear
               ? ImageOperation::kBilinear
               : ImageOperation::kBicubic,
           map, fill);
    return OkStatus();
  }

  Status Nearest(const Affine& map, const std::array<uint16_t, 4>& fill) {
    if (bits_ == 16) {
      Mapped(ImageOperation::kNearest, map, fill);
      return OkStatus();
    }
    switch (NearestWayOf(map, height_, width_)) {
      case NearestWay::kScale: {
        Mapped(ImageOperation::kPlaces, map, fill);
        operations_->back().table = tables_->size();
        Places(map.x0 + map.xx * 0.5, map.xx, width_);
        Places(map.y0 + map.yy * 0.5, map.yy, height_);
        return OkStatus();
      }
      case NearestWay::kFixedSteps: {
        const NearestSteps steps = NearestStepsOf(map);
        // Doubles hold them.
        Mapped(ImageOperation::kSteps,
               {static_cast<double>(steps.xx), static_cast<double>(steps.xy),
                static_cast<double>(steps.x0), static_cast<double>(steps.yx),
                static_cast<double>(steps.yy), static_cast<double>(steps.y0)},
               fill);
        return OkStatus();
      }
      case NearestWay::kFloatSteps:
        break;
    }
    return Unimplemented(
        "a device moves no images whose pixels come from 2^15 pixels away or "
        "more: make them smaller, or decode on the processors");
  }

  // Where steps that add up lead.
  void Places(double at, double step, uint32_t side) {
    for (uint32_t i = 0; i < side; ++i, at += step) {
      tables_->push_back(static_cast<uint32_t>(NearestPlace(at, side)));
    }
  }

  // To the pixel at (xx * x + xy * y, yx * x + yy * y), from the end of what
  // goes down.
  void Turn(int xx, int xy, int yx, int yy) {
    constexpr double kOne = 65536;
    const auto begin = [](int by_x, int by_y, uint32_t side) {
      return by_x + by_y < 0 ? (side - 1) * kOne : 0;
    };
    Mapped(ImageOperation::kSteps,
           {xx * kOne, xy * kOne, begin(xx, xy, width_), yx * kOne, yy * kOne,
            begin(yx, yy, height_)},
           {});
  }

  ImageDeviceColours* Colour(ImageChange change) {
    ImageDeviceOperation& added = *Add(ImageOperation::kColours);
    ColoursWriter(&added.colours).Add(change);
    return &added.colours;
  }

  void Tones(const ToneTable& table) {
    Add(ImageOperation::kTones)->table = tables_->size();
    tables_->resize(tables_->size() + table.size() / sizeof(uint32_t));
    std::memcpy(&tables_->back() + 1 - table.size() / sizeof(uint32_t),
                table.data(), table.size());
  }

  void Blur(const BlurBox& box) {
    for (const ImageOperation kind :
         {ImageOperation::kBlurRows, ImageOperation::kBlurColumns}) {
      for (int pass = 0; pass < 3; ++pass) {
        ImageDeviceOperation& added = *Add(kind);
        added.radius = box.radius;
        added.weight = box.weight;
        added.edge_weight = box.edge_weight;
      }
    }
  }

  const uint32_t height_, width_, channels_, bits_;
  std::vector<uint32_t>* const tables_;
  std::vector<ImageDeviceOperation>* const operations_;
};

}  // namespace

bool NeedsCanvas(const SamplePlan& plan) {
  return plan.rotated || !plan.policy.empty() ||
         std::any_of(plan.last.begin(), plan.last.end(),
                     [](const Operation& operation) {
                       return operation.kind != OperationKind::kSolarize;
                     });
}

ImageDeviceColours ColoursOf(const SamplePlan& plan) {
  ImageDeviceColours colours;
  ColoursWriter writer(&colours);
  writer.AddColours(plan);
  if (!plan.last.empty()) {
    writer.Add(ImageChange::kSolarize);
    colours.threshold = static_cast<uint32_t>(plan.last[0].amount);
  }
  return colours;
}

Status PlanOperations(const Recipe& recipe, const SamplePlan& plan,
                      uint32_t channels, uint32_t bits,
                      std::vector<uint32_t>* tables,
                      std::vector<ImageDeviceOperation>* operations) {
  Planner planner(plan, channels, bits, tables, operations);
  if (plan.rotated) {
    LIQUID_RETURN_IF_ERROR(planner.Rotate(plan.degrees, recipe.rotate.value));
  }
  for (const Operation& operation : plan.policy) {
    LIQUID_RETURN_IF_ERROR(planner.Do(operation));
  }
  planner.Colours(plan);
  for (const Operation& operation : plan.last) {
    LIQUID_RETURN_IF_ERROR(planner.Do(operation));
  }
  return OkStatus();
}

}  // namespace liquid
