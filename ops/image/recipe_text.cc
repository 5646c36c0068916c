#include "ops/image/recipe_text.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace liquid {
namespace {

constexpr double kMostSide = 1 << 24;

// A step's keys and values; Take() reads one, and Finish() finds those left.
class Line {
 public:
  explicit Line(const std::string& text) : text_(text) {
    size_t at = text.find(' ');
    name_ = text.substr(0, at);
    while (at != std::string::npos) {
      const size_t begin = at + 1;
      at = text.find(' ', begin);
      const std::string word = text.substr(begin, at - begin);
      const size_t equals = word.find('=');
      if (equals == std::string::npos) {
        Fail("\"" + word + "\" must be key=value");
      } else if (!values_
                      .emplace(word.substr(0, equals), word.substr(equals + 1))
                      .second) {
        Fail(word.substr(0, equals) + " is given twice");
      }
    }
  }

  const std::string& name() const { return name_; }
  bool Has(const std::string& key) const { return values_.count(key) != 0; }

  // Reads a key if it has that word.
  bool Take(const std::string& key, const std::string& word) {
    const auto found = values_.find(key);
    if (found == values_.end() || found->second != word) return false;
    values_.erase(found);
    return true;
  }

  std::string Word(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) {
      Fail(key + " is missing");
      return "";
    }
    std::string word = std::move(found->second);
    values_.erase(found);
    return word;
  }

  // Numbers in [least, most].
  std::vector<double> Numbers(const std::string& key, double least,
                              double most) {
    const std::string word = Word(key);
    std::vector<double> numbers;
    const char* at = word.data();
    const char* const end = at + word.size();
    for (;;) {
      double number = 0;
      const auto [stop, error] = std::from_chars(at, end, number);
      // Written so that NaN is an error.
      if (error != std::errc() || !(number >= least && number <= most)) break;
      numbers.push_back(number);
      if (stop == end) return numbers;
      if (*stop != ',') break;
      at = stop + 1;
    }
    Fail(key + " (" + word + ") must be of numbers from " +
         std::to_string(least) + " to " + std::to_string(most));
    return {0};
  }

  std::vector<double> Some(const std::string& key, size_t count, double least,
                           double most) {
    std::vector<double> numbers = Numbers(key, least, most);
    if (numbers.size() != count) {
      Fail(key + " must have " + std::to_string(count) + " numbers");
      numbers.resize(count);
    }
    return numbers;
  }

  double Number(const std::string& key, double least, double most) {
    return Some(key, 1, least, most)[0];
  }

  uint32_t Whole(const std::string& key, double least, double most) {
    const double number = Number(key, least, most);
    const auto whole = static_cast<uint32_t>(number);
    if (whole != number) Fail(key + " must be a whole number");
    return whole;
  }

  Status Finish() {
    if (!values_.empty()) Fail(values_.begin()->first + " is unknown");
    return status_;
  }

  void Fail(const std::string& reason) {
    if (!status_.ok()) return;
    status_ = InvalidArgument("recipe: \"" + text_ + "\": " + reason);
  }

 private:
  const std::string text_;
  std::string name_;
  std::map<std::string, std::string> values_;
  Status status_;
};

void ReadSize(Line* line, uint32_t* height, uint32_t* width) {
  *height = line->Whole("height", 1, kMostSide);
  *width = line->Whole("width", 1, kMostSide);
}

void ReadCrop(Line* line, CropStep::Kind kind, RngPurpose purpose,
              CropStep* crop) {
  crop->kind = kind;
  crop->purpose = purpose;
  ReadSize(line, &crop->height, &crop->width);
}

void ReadPlace(Line* line, CropStep* crop) {
  crop->y = line->Whole("y", 0, 2);
  crop->x = line->Whole("x", 0, 2);
  crop->mirrored = line->Whole("mirrored", 0, 1) != 0;
}

void ReadRandomSize(Line* line, RandomSize* size) {
  const auto scale = line->Some("scale", 2, 0, 1);
  const auto ratio = line->Some("ratio", 2, 0, kMostSide);
  const Status made =
      RandomSize::Create(scale[0], scale[1], ratio[0], ratio[1], size);
  if (!made.ok()) line->Fail(made.message());
}

void ReadResize(Line* line, ResizeStep* resize) {
  const std::pair<const char*, ResizeStep::Kind> sides[] = {
      {"shorter", ResizeStep::Kind::kShorter},
      {"longer", ResizeStep::Kind::kLonger}};
  for (const auto& [key, kind] : sides) {
    if (!line->Has(key)) continue;
    resize->kind = kind;
    resize->height = line->Whole(key, 1, kMostSide);
  }
  if (resize->kind == ResizeStep::Kind::kNone) {
    resize->kind = ResizeStep::Kind::kExact;
    ReadSize(line, &resize->height, &resize->width);
  }
  const std::string name = line->Word("interpolation");
  const std::pair<const char*, Interpolation> interpolations[] = {
      {"nearest", Interpolation::kNearest},
      {"bilinear", Interpolation::kBilinear},
      {"bicubic", Interpolation::kBicubic}};
  bool known = false;
  for (const auto& [word, interpolation] : interpolations) {
    if (name != word) continue;
    resize->interpolation = interpolation;
    known = true;
  }
  if (!known) line->Fail("interpolation is unknown");
  resize->antialias = line->Whole("antialias", 0, 1) != 0;
  resize->draft = line->Whole("draft", 0, 1) != 0;
  if (!resize->antialias && resize->interpolation == Interpolation::kBicubic) {
    line->Fail("bicubic needs antialias");
  }
}

void ReadFills(Line* line, uint16_t* value, uint16_t* mask_value) {
  *value = static_cast<uint16_t>(line->Whole("value", 0, UINT16_MAX));
  *mask_value = static_cast<uint16_t>(line->Whole("mask_value", 0, UINT16_MAX));
}

Chance ChanceOf(double p) { return static_cast<Chance>(p * 4294967296.0); }

Chance ReadChance(Line* line) { return ChanceOf(line->Number("p", 0, 1)); }

// Operations of sub-policies, "Posterize:0.4:8,Rotate:0.6:9;Equalize:1:0".
class PolicyReader {
 public:
  explicit PolicyReader(const std::string& text)
      : at_(text.data()), end_(at_ + text.size()) {}

  // False where the text is none.
  bool Read(std::vector<std::vector<PolicyStep::Part>>* policies) {
    policies->emplace_back();
    for (;;) {
      PolicyStep::Part part;
      if (!ReadPart(&part)) return false;
      policies->back().push_back(part);
      if (policies->back().size() > PolicyStep::kMostOperations) return false;
      if (at_ == end_) return true;
      if (Skip(';')) {
        policies->emplace_back();
      } else if (!Skip(',')) {
        return false;
      }
    }
  }

 private:
  bool ReadPart(PolicyStep::Part* part) {
    double chance = 0;
    if (!ReadOperation(&part->operation) || !Skip(':') || !ReadTo(&chance) ||
        !Skip(':') || !ReadTo(&part->magnitude) ||
        !(chance >= 0 && chance <= 1) ||
        part->magnitude >= PolicyStep::kAutoMagnitudes) {
      return false;
    }
    part->chance = ChanceOf(chance);
    return true;
  }

  bool ReadOperation(PolicyOperation* operation) {
    const char* const end = std::find(at_, end_, ':');
    const std::string_view name(at_, static_cast<size_t>(end - at_));
    at_ = end;
    for (size_t i = 0; i < kPolicyOperations; ++i) {
      *operation = static_cast<PolicyOperation>(i);
      if (name == NameOf(*operation)) return true;
    }
    return false;
  }

  template <typename T>
  bool ReadTo(T* number) {
    const auto [stop, error] = std::from_chars(at_, end_, *number);
    at_ = stop;
    return error == std::errc();
  }

  bool Skip(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  const char* at_;
  const char* const end_;
};

void ReadAuto(Line* line, PolicyStep* step) {
  step->kind = PolicyStep::Kind::kAutoAugment;
  const std::string text = line->Word("policy");
  if (!PolicyReader(text).Read(&step->policies)) {
    line->Fail("policy must be of operation:chance:magnitude");
  }
}

void ReadRand(Line* line, PolicyStep* step) {
  step->kind = PolicyStep::Kind::kRandAugment;
  step->count = line->Whole("n", 0, PolicyStep::kMostOperations);
  step->magnitude =
      line->Whole("magnitude", 0, PolicyStep::kRandMagnitudes - 1);
}

void ReadTimm(Line* line, PolicyStep* step) {
  constexpr double kMostMagnitude = 100;
  step->kind = PolicyStep::Kind::kTimm;
  step->count = line->Whole("n", 0, PolicyStep::kMostOperations);
  TimmSpec& timm = step->timm;
  timm.magnitude = line->Number("magnitude", 0, kMostMagnitude);
  timm.deviation = line->Number("deviation", 0, kMostMagnitude);
  timm.most = line->Number("most", 0, kMostMagnitude);
  timm.uniform = line->Whole("uniform", 0, 1) != 0;
  timm.increasing = line->Whole("increasing", 0, 1) != 0;
  timm.chance = ReadChance(line);
  const std::vector<double> fill = line->Some("fill", 3, 0, UINT8_MAX);
  for (size_t c = 0; c < timm.fill.size(); ++c) {
    timm.fill[c] = static_cast<uint8_t>(fill[c]);
  }
}

void ReadBlur(Line* line, BlurStep* blur) {
  constexpr double kMostSigma = 1000;
  const std::vector<double> sigma = line->Some("sigma", 2, 0, kMostSigma);
  blur->least = sigma[0];
  blur->most = sigma[1];
  if (blur->least > blur->most) line->Fail("sigma must rise");
  blur->chance = ReadChance(line);
}

void ReadColour(Line* line, JitterRanges* ranges) {
  ranges->brightness = line->Number("brightness", 0, 1e6);
  ranges->contrast = line->Number("contrast", 0, 1e6);
  ranges->saturation = line->Number("saturation", 0, 1e6);
  ranges->hue = line->Number("hue", 0, .5);
}

std::vector<float> ReadFloats(Line* line, const char* key, double least) {
  std::vector<float> floats;
  for (const double number : line->Numbers(key, least, 3e38)) {
    floats.push_back(static_cast<float>(number));
  }
  return floats;
}

void ReadErasing(Line* line, ErasingStep* erasing) {
  ReadRandomSize(line, &erasing->size);
  erasing->noise = line->Take("value", "noise");
  if (!erasing->noise) erasing->values = ReadFloats(line, "value", -3e38);
}

void ReadMix(Line* line, MixStep* mix) {
  mix->given = true;
  for (const auto& [key, alpha] :
       {std::pair("mixup", &mix->mixup), std::pair("cutmix", &mix->cutmix)}) {
    *alpha = line->Number(key, 0, 100);
    if (*alpha > 0 && *alpha < .01) {
      line->Fail(std::string(key) + " must be 0, or at least .01");
    }
  }
  mix->chance = ReadChance(line);
  mix->cut = static_cast<uint64_t>(line->Number("switch", 0, 1) * 4294967296.0);
  mix->smoothing = line->Number("label_smoothing", 0, 1);
  if (line->Take("mode", "pair")) {
    mix->mode = MixStep::Mode::kPair;
  } else if (line->Take("mode", "elem")) {
    mix->mode = MixStep::Mode::kElem;
  } else if (!line->Take("mode", "batch")) {
    line->Fail("mode must be batch, pair or elem");
  }
  if (!line->Has("members")) return;
  for (const double member : line->Numbers("members", 0, kMostSide)) {
    mix->members.push_back(static_cast<uint32_t>(member));
  }
}

}  // namespace

Status ParseRecipe(const std::vector<std::string>& lines, RecipeText* text) {
  *text = RecipeText();
  Recipe& recipe = text->recipe;
  // Places in the order of steps; a name may have two.
  enum Place {
    kOrient,
    kCrop,
    kResize,
    kPad,
    kSecondCrop,
    kMirror,
    kFlip,
    kRotate,
    kPolicy,
    kColour,
    kGrayscale,
    kBlur,
    kSolarize,
    kNormalize,
    kErasing,
    kMix,
    kChannelsFirst,
    kEnd
  };
  const auto crop = [&recipe](Place place) {
    return place == kCrop ? &recipe.crop : &recipe.second_crop;
  };
  const auto read_crop = [&crop](CropStep::Kind kind) {
    return [&crop, kind](Place place, Line* line) {
      ReadCrop(line, kind,
               place == kCrop ? RngPurpose::kCrop : RngPurpose::kSecondCrop,
               crop(place));
    };
  };
  const auto read_fixed = [&](Place place, Line* line) {
    read_crop(CropStep::Kind::kFixed)(place, line);
    ReadPlace(line, crop(place));
  };
  using Read = std::function<void(Place, Line*)>;
  const struct {
    Place place;
    const char* name;
    Read read;
  } steps[] = {
      {kOrient, "Orient", [&](Place, Line*) { recipe.orient = true; }},
      {kCrop, "RandomCrop", read_crop(CropStep::Kind::kRandom)},
      {kCrop, "CenterCrop", read_crop(CropStep::Kind::kFixed)},
      {kCrop, "FixedCrop", read_fixed},
      {kCrop, "RandomResizedCrop",
       [&](Place, Line* line) {
         recipe.crop.kind = CropStep::Kind::kRandomSize;
         ReadRandomSize(line, &recipe.crop.size);
       }},
      {kResize, "Resize",
       [&](Place, Line* line) { ReadResize(line, &recipe.resize); }},
      {kPad, "Pad",
       [&](Place, Line* line) {
         ReadSize(line, &recipe.pad.height, &recipe.pad.width);
         ReadFills(line, &recipe.pad.value, &recipe.pad.mask_value);
       }},
      {kSecondCrop, "RandomCrop", read_crop(CropStep::Kind::kRandom)},
      {kSecondCrop, "CenterCrop", read_crop(CropStep::Kind::kFixed)},
      {kSecondCrop, "FixedCrop", read_fixed},
      {kMirror, "Mirror",
       [&](Place, Line* line) { recipe.mirror = ReadChance(line); }},
      {kFlip, "Flip",
       [&](Place, Line* line) { recipe.flip = ReadChance(line); }},
      {kRotate, "Rotate",
       [&](Place, Line* line) {
         recipe.rotate.degrees = line->Number("degrees", 0, 180);
         ReadFills(line, &recipe.rotate.value, &recipe.rotate.mask_value);
       }},
      {kPolicy, "RandAugment",
       [&](Place, Line* line) { ReadRand(line, &recipe.policy); }},
      {kPolicy, "TrivialAugmentWide",
       [&](Place, Line*) {
         recipe.policy.kind = PolicyStep::Kind::kTrivialAugmentWide;
       }},
      {kPolicy, "AutoAugment",
       [&](Place, Line* line) { ReadAuto(line, &recipe.policy); }},
      {kPolicy, "TimmRandAugment",
       [&](Place, Line* line) { ReadTimm(line, &recipe.policy); }},
      {kPolicy, "ThreeAugment",
       [&](Place, Line*) {
         recipe.policy.kind = PolicyStep::Kind::kThreeAugment;
       }},
      {kColour, "ColorJitter",
       [&](Place, Line* line) {
         ReadColour(line, &recipe.colour);
         recipe.jitter = ReadChance(line);
       }},
      {kGrayscale, "Grayscale",
       [&](Place, Line* line) { recipe.grayscale = ReadChance(line); }},
      {kBlur, "GaussianBlur",
       [&](Place, Line* line) { ReadBlur(line, &recipe.blur); }},
      {kSolarize, "Solarize",
       [&](Place, Line* line) {
         recipe.solarize.threshold =
             static_cast<uint16_t>(line->Whole("threshold", 0, 256));
         recipe.solarize.chance = ReadChance(line);
       }},
      {kNormalize, "Normalize",
       [&](Place, Line* line) {
         text->mean = ReadFloats(line, "mean", -3e38);
         text->std = ReadFloats(line, "std", 1e-38);
       }},
      {kErasing, "RandomErasing",
       [&](Place, Line* line) {
         recipe.erase = ReadChance(line);
         ReadErasing(line, &recipe.erasing);
       }},
      {kMix, "Mix", [&](Place, Line* line) { ReadMix(line, &text->mix); }},
      {kChannelsFirst, "ChannelsFirst",
       [&](Place, Line*) { text->channels_first = true; }}};
  size_t next = 0;
  for (const std::string& line_text : lines) {
    Line line(line_text);
    size_t at = next;
    while (at < std::size(steps) && line.name() != steps[at].name) ++at;
    if (at == std::size(steps)) {
      line.Fail("the step is unknown, or out of order");
      return line.Finish();
    }
    steps[at].read(steps[at].place, &line);
    LIQUID_RETURN_IF_ERROR(line.Finish());
    // All steps of one place are behind.
    const Place place = steps[at].place;
    for (next = at; next < std::size(steps) && steps[next].place == place;) {
      ++next;
    }
  }
  return OkStatus();
}

}  // namespace liquid
