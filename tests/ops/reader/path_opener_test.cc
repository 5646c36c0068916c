#include "ops/reader/path_opener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

namespace liquid::path_opener_test {
namespace {

using ::testing::IsSubstring;

TEST(PathOpenerTest, KnowsLocalPaths) {
  const struct {
    const char* path;
    const char* name;  // null: it is not local
  } cases[] = {
      {"/a/b", "/a/b"},
      {"a/b", "a/b"},
      {"", ""},
      {"a:b", "a:b"},
      {"://a", "://a"},
      {"1a://b/c", "1a://b/c"},  // a scheme begins with a letter
      {"a b://c", "a b://c"},
      {"file:///a/b", "/a/b"},
      {"file://host/a/b", "/a/b"},
      {"file://host", ""},
      {"file:/a", "file:/a"},
      {"gs://bucket/a", nullptr},
      {"s3://bucket/a", nullptr},
      {"http://host/a", nullptr},
      {"h2.x://a", nullptr},
  };
  for (const auto& [path, expected] : cases) {
    std::string name = "none";
    EXPECT_EQ(IsLocalPath(path, &name), expected != nullptr) << path;
    EXPECT_EQ(IsLocalPath(path), expected != nullptr) << path;
    EXPECT_EQ(name, expected != nullptr ? expected : "none") << path;
  }
}

class OpenerTest : public testing::Test {
 protected:
  static std::string Path(const std::string& name) {
    return testing::TempDir() + "/path_opener_" + name;
  }
  static std::string Store(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  // An opener that keeps the paths of others.
  Opener Make(ReadMode mode = ReadMode::kAuto) {
    Opener others;
    others.shard = [this](const std::string& path,
                          std::unique_ptr<RandomFile>*) {
      others_ += "shard " + path;
      return OkStatus();
    };
    others.load = [this](const std::string& path, ByteSpan*,
                         std::shared_ptr<const void>*) {
      others_ += "load " + path;
      return OkStatus();
    };
    FileAccess access;
    access.mode = mode;
    return MakeOpener(access, others);
  }
  static Status Load(const Opener& opener, const std::string& path,
                     std::string* text) {
    ByteSpan bytes;
    std::shared_ptr<const void> keep;
    LIQUID_RETURN_IF_ERROR(opener.load(path, &bytes, &keep));
    text->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
    return OkStatus();
  }

  std::string others_;
};

TEST_F(OpenerTest, LoadsLocalFiles) {
  const Opener opener = Make();
  const std::string text(10000, 'x');
  for (const std::string& bytes : {text, std::string()}) {
    const std::string path = Store("loaded", bytes);
    for (const std::string& name : {path, "file://" + path}) {
      std::string found = "none";
      EXPECT_TRUE(Load(opener, name, &found).ok());
      EXPECT_EQ(found, bytes);
      EXPECT_TRUE(opener.is_local(name));
    }
  }
  EXPECT_EQ(others_, "");
}

TEST_F(OpenerTest, SaysWhyItCannotLoad) {
  const Opener opener = Make();
  std::string found;
  const Status missing = Load(opener, Path("missing"), &found);
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_PRED_FORMAT2(IsSubstring, Path("missing"), missing.message());
  const Status folder = Load(opener, testing::TempDir(), &found);
  EXPECT_EQ(folder.code(), StatusCode::kInvalidArgument);
  EXPECT_PRED_FORMAT2(IsSubstring, "is a folder", folder.message());
  mkfifo(Path("pipe").c_str(), 0600);
  const Status pipe = Load(opener, Path("pipe"), &found);
  EXPECT_PRED_FORMAT2(IsSubstring, "is a pipe", pipe.message());
}

TEST_F(OpenerTest, OpensShards) {
  const std::string path = Store("shard", std::string(9000, 'y'));
  for (const ReadMode mode : {ReadMode::kAuto, ReadMode::kBuffered}) {
    const Opener opener = Make(mode);
    for (int i = 0; i < 2; ++i) {
      std::unique_ptr<RandomFile> file;
      ASSERT_TRUE(opener.shard("file://" + path, &file).ok());
      Buffer buffer;
      ByteSpan bytes;
      ReadCount count;
      ASSERT_TRUE(file->Read(8990, 10, &buffer, &bytes, &count).ok());
      EXPECT_EQ(std::string(bytes.data, bytes.data + bytes.size),
                std::string(10, 'y'));
      const bool direct = file->method() == std::string("direct");
      EXPECT_TRUE(mode == ReadMode::kAuto || !direct);
    }
  }
  std::unique_ptr<RandomFile> url;
  ASSERT_TRUE(Make().shard("s3://bucket/key", &url).ok());  // asks for nothing
  EXPECT_STREQ(url->method(), "s3");
  EXPECT_EQ(others_, "");
}

TEST_F(OpenerTest, OtherPathsAreNotItsOwn) {
  const Opener opener = Make();
  EXPECT_FALSE(opener.is_local("gs://b/c"));
  std::string found;
  EXPECT_TRUE(Load(opener, "gs://b/c", &found).ok());
  std::unique_ptr<RandomFile> file;
  EXPECT_TRUE(opener.shard("hdfs://h/d", &file).ok());
  EXPECT_EQ(others_, "load gs://b/cshard hdfs://h/d");
  const Status cached = Make(ReadMode::kCached).shard("gs://b/c", &file);
  EXPECT_EQ(cached.code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace liquid::path_opener_test
