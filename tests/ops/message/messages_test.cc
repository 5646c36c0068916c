// Messages of ops: each field is read, and every other order, number and value
// of fields is an error that names it.
#include "ops/message/messages.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "ops/core/span.h"
#include "ops/message/message_fields.h"

namespace liquid::messages_test {
namespace {

using protozero::pbf_writer;
using ::testing::IsSubstring;

ByteSpan SpanIn(const std::string& bytes) {
  return ByteSpan(bytes.data(), bytes.size());
}

void AddNumbers(pbf_writer* writer, uint32_t field,
                std::initializer_list<int64_t> values) {
  // add_packed leaves out what is empty.
  if (values.size() == 0) {
    writer->add_bytes(field, "");
  } else {
    writer->add_packed_int64(field, values.begin(), values.end());
  }
}

std::string Format(std::initializer_list<int64_t> files, int64_t cached) {
  std::string bytes;
  pbf_writer writer(bytes);
  AddNumbers(&writer, 1, files);
  AddNumbers(&writer, 2, {});
  writer.add_int64(3, cached);
  writer.add_int64(4, 7);
  writer.add_int64(5, 0);
  return bytes;
}

// Where each field of a plan begins; the last is where it ends.
struct Plan {
  std::string bytes;
  std::vector<size_t> begins;
};

Plan MakePlan() {
  Plan plan;
  pbf_writer writer(plan.bytes);
  const auto begin = [&]() { plan.begins.push_back(plan.bytes.size()); };
  begin();
  writer.add_int64(1, -3);
  begin();
  writer.add_int64(2, 300);
  begin();
  writer.add_int64(3, 1);
  begin();
  writer.add_string(4, "minio");
  begin();
  writer.add_message(5, Format({5, 0, 1000}, 4));
  begin();
  writer.add_message(5, Format({}, 0));
  begin();
  AddNumbers(&writer, 6, {10, 20});
  begin();
  return plan;
}

std::string ErrorOf(const std::string& bytes) {
  PlanMessage message;
  const Status status = ParseMessage(SpanIn(bytes), &message);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  return status.message();
}

TEST(MessagesTest, AWholePlanIsRead) {
  PlanMessage message;
  message.sections = {1};  // what was there before is gone
  const Status status = ParseMessage(SpanIn(MakePlan().bytes), &message);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(message.seed, -3);
  EXPECT_EQ(message.batch_size, 300);
  EXPECT_TRUE(message.shuffle);
  EXPECT_EQ(message.policy, "minio");
  ASSERT_EQ(message.formats.size(), 2u);
  EXPECT_EQ(message.formats[0].files, (std::vector<int64_t>{5, 0, 1000}));
  EXPECT_TRUE(message.formats[0].record_samples.empty());
  EXPECT_EQ(message.formats[0].cached, 4);
  EXPECT_EQ(message.formats[0].fill, 7);
  EXPECT_TRUE(message.formats[1].files.empty());
  EXPECT_EQ(message.sections, (std::vector<int64_t>{10, 20}));
}

TEST(MessagesTest, APlanOfNoFormatsIsRead) {
  const Plan plan = MakePlan();
  const std::string bytes =
      plan.bytes.substr(0, plan.begins[4]) + plan.bytes.substr(plan.begins[6]);
  PlanMessage message;
  EXPECT_TRUE(ParseMessage(SpanIn(bytes), &message).ok());
  EXPECT_TRUE(message.formats.empty());
}

TEST(MessagesTest, EveryCutIsAnError) {
  const std::string bytes = MakePlan().bytes;
  for (size_t size = 0; size < bytes.size(); ++size) {
    // From memory of its own, in which a sanitizer sees what is read behind it.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + size);
    PlanMessage message;
    const Status status =
        ParseMessage(ByteSpan(cut.data(), cut.size()), &message);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << size;
    EXPECT_PRED_FORMAT2(IsSubstring, "message", status.message());
  }
}

TEST(MessagesTest, EveryChangedByteIsReadOrAnError) {
  const std::string bytes = MakePlan().bytes;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      PlanMessage message;
      const Status status = ParseMessage(SpanIn(changed), &message);
      EXPECT_TRUE(status.ok() || !status.message().empty());
    }
  }
}

TEST(MessagesTest, AFieldThatIsMissing) {
  const Plan plan = MakePlan();
  const char* const names[] = {"seed", "batch_size", "shuffle", "policy"};
  for (size_t f = 0; f < 4; ++f) {
    std::string bytes = plan.bytes;
    bytes.erase(plan.begins[f], plan.begins[f + 1] - plan.begins[f]);
    EXPECT_PRED_FORMAT2(
        IsSubstring,
        std::string("message: field ") + names[f] + " must be there",
        ErrorOf(bytes));
  }
  EXPECT_PRED_FORMAT2(IsSubstring, "message: field sections must be there",
                      ErrorOf(plan.bytes.substr(0, plan.begins[6])));
}

TEST(MessagesTest, AFieldThatStandsTwice) {
  const Plan plan = MakePlan();
  std::string bytes = plan.bytes;
  bytes.insert(plan.begins[1],
               plan.bytes.substr(plan.begins[0], plan.begins[1]));
  EXPECT_PRED_FORMAT2(IsSubstring,
                      "message: field seed must stand once, and stands again",
                      ErrorOf(bytes));
}

TEST(MessagesTest, AFieldBehindAHigherOne) {
  const Plan plan = MakePlan();
  std::string bytes = plan.bytes;
  bytes += plan.bytes.substr(plan.begins[4], plan.begins[5] - plan.begins[4]);
  EXPECT_PRED_FORMAT2(IsSubstring,
                      "message: field formats must stand before sections",
                      ErrorOf(bytes));
}

TEST(MessagesTest, AnUnknownField) {
  std::string bytes = MakePlan().bytes;
  pbf_writer(bytes).add_int64(77, 0);
  EXPECT_PRED_FORMAT2(IsSubstring, "message: field 77 must be one of 1..6",
                      ErrorOf(bytes));
}

TEST(MessagesTest, AnotherWireType) {
  const Plan plan = MakePlan();
  std::string field;
  pbf_writer(field).add_fixed32(2, 300);
  std::string bytes = plan.bytes;
  bytes.replace(plan.begins[1], plan.begins[2] - plan.begins[1], field);
  EXPECT_PRED_FORMAT2(
      IsSubstring, "message: field batch_size must have the wire type 0, not 5",
      ErrorOf(bytes));
}

TEST(MessagesTest, AWrongValue) {
  const Plan plan = MakePlan();
  const auto with = [&](size_t f, const auto& add) {
    std::string field;
    pbf_writer writer(field);
    add(&writer);
    std::string bytes = plan.bytes;
    bytes.replace(plan.begins[f], plan.begins[f + 1] - plan.begins[f], field);
    return ErrorOf(bytes);
  };
  EXPECT_EQ(with(1, [](pbf_writer* w) { w->add_int64(2, 0); }),
            "batch_size (0) must be at least 1");
  EXPECT_EQ(with(2, [](pbf_writer* w) { w->add_int64(3, 2); }),
            "shuffle (2) must be in 0..1");
  EXPECT_EQ(with(3, [](pbf_writer* w) { w->add_string(4, "lru"); }),
            "policy (\"lru\") must be one of liquid, minio, page");
  EXPECT_EQ(with(5, [](pbf_writer* w) { w->add_message(5, Format({1}, -2)); }),
            "formats[1].cached (-2) must be at least 0");
  EXPECT_EQ(with(4,
                 [](pbf_writer* w) {
                   w->add_message(5, Format({1, -9}, 0));
                 }),
            "formats[0].files[1] (-9) must be at least 0");
  EXPECT_EQ(with(5,
                 [](pbf_writer* w) {
                   w->add_message(5, Format({1}, 0).substr(0, 3));
                 }),
            "message formats[1]: field record_samples must be there, behind "
            "those of lower numbers");
}

TEST(MessageFieldsTest, AReal) {
  for (const double value : {-0.5, 0.0, 0.25, 1.0, 1.5}) {
    std::string bytes;
    pbf_writer(bytes).add_double(1, value);
    double found = -1;
    const Status status =
        MessageFields().Real(1, "share", &found, 0, 1).Read(SpanIn(bytes), "");
    EXPECT_EQ(found, value);
    EXPECT_EQ(status.message(),
              value == -0.5  ? "share (-0.5) must be from 0 to 1"
              : value == 1.5 ? "share (1.5) must be from 0 to 1"
                             : "");
  }
}

TEST(MessageFieldsTest, Texts) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, "a");
  writer.add_string(1, "");
  writer.add_string(1, "b");
  std::vector<std::string> first = {"before"}, second = {"before"};
  const Status status = MessageFields()
                            .Texts(1, "first", &first)
                            .Texts(2, "second", &second)
                            .Read(SpanIn(bytes), "");
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(first, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_TRUE(second.empty());
}

}  // namespace
}  // namespace liquid::messages_test
