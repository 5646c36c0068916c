// A number that the user gives or leaves to tf.data's autotuner.
#ifndef LIQUID_OPS_DATASET_DECODE_TUNED_NUMBER_H_
#define LIQUID_OPS_DATASET_DECODE_TUNED_NUMBER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tensorflow/core/framework/model.h"
#include "tensorflow/core/platform/mutex.h"

namespace liquid {

// Thread-safe.
class TunedNumber {
 public:
  // `value`: the user's, or tensorflow::data::model::kAutotune.
  explicit TunedNumber(int64_t value)
      : state_(std::make_shared<tensorflow::data::model::SharedState>(
            value, std::make_shared<tensorflow::mutex>(),
            std::make_shared<tensorflow::condition_variable>())) {}

  // What it is until the autotuner, if there is one, says something else.
  void Start(int64_t initial) {
    tensorflow::mutex_lock lock(*state_->mu);
    if (state_->value == tensorflow::data::model::kAutotune) {
      state_->value = static_cast<double>(initial);
    }
  }

  int64_t value() const {
    tensorflow::mutex_lock lock(*state_->mu);
    return static_cast<int64_t>(state_->value);
  }

  // What the model of a pipeline holds.
  std::shared_ptr<tensorflow::data::model::Parameter> Parameter(
      const std::string& name, int64_t least, int64_t most) const {
    return tensorflow::data::model::MakeParameter(
        name, state_, static_cast<double>(least), static_cast<double>(most));
  }

 private:
  const std::shared_ptr<tensorflow::data::model::SharedState> state_;
};

}  // namespace liquid

#endif  // LIQUID_OPS_DATASET_DECODE_TUNED_NUMBER_H_
