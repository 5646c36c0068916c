#include "ops/http/remote_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace liquid::remote_object_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RemoteObjectTest, KeepsTheFirstVersion) {
  RemoteObject object("https://host/a?secret");
  EXPECT_EQ(object.name(), "https://host/a");
  EXPECT_FALSE(object.size().has_value());
  EXPECT_EQ(object.condition(), "");
  ASSERT_TRUE(object.Accept({"\"1\"", "Mon", 5}).ok());
  EXPECT_EQ(object.size(), 5u);
  EXPECT_EQ(object.condition(), "\"1\"");
  // Servers beside each other may have other dates.
  EXPECT_TRUE(object.Accept({"\"1\"", "Tue", 5}).ok());
  EXPECT_TRUE(object.Accept({"", "", {}}).ok());

  const Status other = object.Accept({"\"2\"", "Mon", 5});
  EXPECT_EQ(other.code(), StatusCode::kDataLoss);
  EXPECT_THAT(other.message(), HasSubstr("https://host/a: has changed"));
  EXPECT_THAT(other.message(), HasSubstr("\"1\""));
  EXPECT_THAT(other.message(), HasSubstr("\"2\""));
  EXPECT_THAT(other.message(), Not(HasSubstr("secret")));
  EXPECT_EQ(object.Accept({"\"1\"", "", 6}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(object.Accept({"", "Tue", 5}).code(), StatusCode::kDataLoss);
  EXPECT_EQ(object.size(), 5u);
}

TEST(RemoteObjectTest, LearnsWhatTheFirstAnswerDidNotTell) {
  RemoteObject object("http://host/a");
  ASSERT_TRUE(object.Accept({"", "", {}}).ok());
  ASSERT_TRUE(object.Accept({"W/\"1\"", "", 7}).ok());
  EXPECT_EQ(object.size(), 7u);
  // The server could not compare it.
  EXPECT_EQ(object.condition(), "");
  EXPECT_FALSE(object.Accept({"W/\"2\"", "", 7}).ok());
}

}  // namespace
}  // namespace liquid::remote_object_test
