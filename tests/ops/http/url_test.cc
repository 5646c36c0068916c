#include "ops/http/url.h"

#include <gtest/gtest.h>

namespace liquid::url_test {
namespace {

TEST(UrlTest, KnowsItsSchemes) {
  EXPECT_TRUE(IsHttpUrl("http://host/a"));
  EXPECT_TRUE(IsHttpUrl("HTTPS://host/a"));
  EXPECT_TRUE(IsHttpsUrl("https://host/a"));
  EXPECT_FALSE(IsHttpsUrl("http://host/a"));
  EXPECT_FALSE(IsHttpUrl("s3://host/a"));
  EXPECT_FALSE(IsHttpUrl("/http://host/a"));
  EXPECT_FALSE(IsHttpUrl("http"));
}

TEST(UrlTest, ShowsNoSecret) {
  const auto shown = [](const char* path) { return PublicPath(path); };
  EXPECT_EQ(shown("https://host:1/a/b.rec"), "https://host:1/a/b.rec");
  EXPECT_EQ(shown("https://host/a?X-Amz-Signature=secret"), "https://host/a");
  EXPECT_EQ(shown("https://host?secret"), "https://host");
  EXPECT_EQ(shown("https://host/a#part?secret"), "https://host/a");
  EXPECT_EQ(shown("https://me:secret@host/a@b"), "https://host/a@b");
  EXPECT_EQ(shown("https://me:sec@ret@host"), "https://host");
  EXPECT_EQ(shown("https://me:secret@host?user@x"), "https://host");
  EXPECT_EQ(shown("/data/a#1?b@c"), "/data/a#1?b@c");
}

}  // namespace
}  // namespace liquid::url_test
