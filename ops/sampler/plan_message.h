// From what ops are given of a plan to what is planned.
#ifndef LIQUID_OPS_SAMPLER_PLAN_MESSAGE_H_
#define LIQUID_OPS_SAMPLER_PLAN_MESSAGE_H_

#include "ops/core/status.h"
#include "ops/message/messages.h"
#include "ops/sampler/plan_spec.h"

namespace liquid {

// The plan of a message, without weights. Error: InvalidArgument that names
// field, value and constraint, where sections do not fit their formats; whether
// it can be planned, Validate says.
Status MakeSpec(const PlanMessage& message, PlanSpec* spec);

}  // namespace liquid

#endif  // LIQUID_OPS_SAMPLER_PLAN_MESSAGE_H_
