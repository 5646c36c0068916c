// A recipe as the attribute of an op: a line for each step.
//
//     RandomResizedCrop scale=0.08,1 ratio=0.75,1.3333333333333333
//     Resize height=224 width=224 interpolation=bilinear antialias=1
//     Mirror p=0.5
//     Normalize mean=127.5 std=127.5
//
// A line is a name, then `key=value` with single spaces between; a value is a
// word or numbers with commas between, written so that they read back to the
// bit. liquid_tf/_pipeline/recipe.py writes the lines.
#ifndef LIQUID_OPS_IMAGE_RECIPE_TEXT_H_
#define LIQUID_OPS_IMAGE_RECIPE_TEXT_H_

#include <string>
#include <vector>

#include "ops/core/status.h"
#include "ops/image/mix.h"
#include "ops/image/recipe.h"

namespace liquid {

struct RecipeText {
  Recipe recipe;  // its seed is not set
  std::vector<float> mean;
  std::vector<float> std;
  MixStep mix;
  bool channels_first = false;
};

// Error: InvalidArgument that quotes the line, for a step that is unknown, out
// of order or given twice, and for a key or value that does not fit it.
Status ParseRecipe(const std::vector<std::string>& lines, RecipeText* text);

}  // namespace liquid

#endif  // LIQUID_OPS_IMAGE_RECIPE_TEXT_H_
