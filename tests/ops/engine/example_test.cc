// Serialized Examples, those of TensorFlow and those made by hand.
#include "ops/engine/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace liquid::example_test {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = ExampleFeature::Kind;

constexpr char kError[] = "the record's Example cannot be parsed";

// What tf.train.Example.SerializeToString() of TensorFlow 2.16.2 gave.
constexpr char kTensorFlow[] =
    "\012\227\003\0121\012\006int64s\022'\032%\012#\000\377\377\377\377\377"
    "\377\377\377\377\001\177\200\001\254\002\200\200\200\200\200\200\200\200"
    "\200\001\377\377\377\377\377\377\377\377\177\012\016\012\010no bytes\022"
    "\002\012\000\012\042\012\006floats\022\030\022\026\012\024\000\000\300"
    "\077\000\000\000\200\000\000\020\300\377\377\177\177\000\000\200\177\012"
    "\017\012\011no int64s\022\002\032\000\012\017\012\011no floats\022\002"
    "\022\000\012\343\001\012\005bytes\022\331\001\012\326\001\012\003one\012"
    "\000\012\002\000\377\012\310\001xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxx\012\011\012\000\022\005\032\003\012\001\007\012\016\012\005"
    "\303\244\342\202\254\022\005\032\003\012\001\010\012\013\012\007nothing"
    "\022\000";

// Encodings of a field; a field's key is its number and one of these.
enum Wire { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

std::string Key(uint64_t number, Wire wire) {
  return Varint(number << 3 | wire);
}

std::string Field(uint64_t number, const std::string& bytes) {
  return Key(number, kLength) + Varint(bytes.size()) + bytes;
}

std::string Fixed(float value) {
  std::string bytes(4, '\0');
  std::memcpy(&bytes[0], &value, 4);
  return bytes;
}

// Of every encoding one, under a number that no message of an Example has.
std::string Unknown() {
  return Key(7, kVarint) + Varint(300) + Key(8, kFixed64) +
         std::string(8, '\xff') + Field(9, "\x0a\xff") + Key(18998, kFixed32) +
         std::string(4, '\xff');
}

std::string Entry(const std::string& name, const std::string& feature) {
  return Field(1, Field(1, name) + Field(2, feature));
}

// An Example of entries.
std::string Example(const std::string& entries) { return Field(1, entries); }

// The bytes alone in an allocation, so that a sanitizer sees what is read
// beside them.
struct Opened {
  explicit Opened(const std::string& text)
      : bytes(new uint8_t[text.size()]), size(text.size()) {
    std::copy(text.begin(), text.end(), bytes.get());
    status = reader.Open(ByteSpan(bytes.get(), size));
  }
  Status Find(const std::string& name, ExampleFeature* feature) const {
    const Status found = reader.Find(name, feature);
    for (const ByteSpan& span : feature->bytes) {
      EXPECT_TRUE(span.size == 0 ||
                  (span.data >= bytes.get() &&
                   span.data + span.size <= bytes.get() + size));
    }
    return found;
  }

  const std::unique_ptr<uint8_t[]> bytes;
  const size_t size;
  ExampleReader reader;
  Status status;
};

struct Values {
  Kind kind = Kind::kNone;
  std::vector<std::string> bytes;
  std::vector<float> floats;
  std::vector<int64_t> int64s;
};

Values Of(const ExampleFeature& feature) {
  Values values = {feature.kind, {}, feature.floats, feature.int64s};
  for (const ByteSpan& span : feature.bytes) {
    values.bytes.emplace_back(reinterpret_cast<const char*>(span.data),
                              span.size);
  }
  return values;
}

// What an Example says of a name.
Values Read(const std::string& example, const std::string& name) {
  const Opened opened(example);
  EXPECT_TRUE(opened.status.ok()) << opened.status.message();
  ExampleFeature feature;
  const Status found = opened.Find(name, &feature);
  EXPECT_TRUE(found.ok()) << found.message();
  return Of(feature);
}

// What it says of "f", which is that feature.
Values ReadFeature(const std::string& feature) {
  return Read(Example(Entry("f", feature)), "f");
}

// The outcome of all that may be asked of damaged bytes: one error, or none.
Status Probe(const std::string& example,
             const std::vector<std::string>& names = {"f"}) {
  const Opened opened(example);
  if (!opened.status.ok()) return opened.status;
  Status first;
  for (const std::string& name : names) {
    ExampleFeature feature;
    const Status found = opened.Find(name, &feature);
    if (first.ok()) first = found;
  }
  return first;
}

void ExpectDamaged(const Status& status, const std::string& what) {
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << what;
  EXPECT_EQ(status.message(), kError) << what;
}

TEST(ExampleTest, ReadsWhatTensorFlowWrites) {
  const std::string example(kTensorFlow, sizeof(kTensorFlow) - 1);
  const Values texts = Read(example, "bytes");
  EXPECT_EQ(texts.kind, Kind::kBytes);
  EXPECT_THAT(texts.bytes, ElementsAre("one", "", std::string("\0\xff", 2),
                                       std::string(200, 'x')));
  const Values floats = Read(example, "floats");
  EXPECT_EQ(floats.kind, Kind::kFloats);
  EXPECT_THAT(
      floats.floats,
      ElementsAre(1.5f, -0.0f, -2.25f, std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::infinity()));
  const Values numbers = Read(example, "int64s");
  EXPECT_EQ(numbers.kind, Kind::kInt64s);
  EXPECT_THAT(numbers.int64s, ElementsAre(0, -1, 127, 128, 300,
                                          std::numeric_limits<int64_t>::min(),
                                          std::numeric_limits<int64_t>::max()));
  const std::pair<const char*, Kind> empty[] = {{"no bytes", Kind::kBytes},
                                                {"no floats", Kind::kFloats},
                                                {"no int64s", Kind::kInt64s},
                                                {"nothing", Kind::kNone},
                                                {"another", Kind::kNone}};
  for (const auto& [name, kind] : empty) {
    const Opened opened(example);
    ExampleFeature feature;
    feature.floats = {1};  // of another time
    ASSERT_TRUE(opened.Find(name, &feature).ok());
    EXPECT_EQ(feature.kind, kind) << name;
    EXPECT_EQ(feature.size(), 0u) << name;
  }
  EXPECT_THAT(Read(example, "").int64s, ElementsAre(7));
  EXPECT_THAT(Read(example, "\xc3\xa4\xe2\x82\xac").int64s, ElementsAre(8));
}

TEST(ExampleTest, NothingIsAnExample) {
  EXPECT_EQ(Read("", "f").kind, Kind::kNone);
  EXPECT_EQ(Read(Example(""), "f").kind, Kind::kNone);
  EXPECT_EQ(Read(Example(Field(1, "")), "").kind, Kind::kNone);
  ExampleReader reader;
  ASSERT_TRUE(reader.Open(ByteSpan()).ok());
}

TEST(ExampleTest, ListsArePackedOrNot) {
  const std::string floats[] = {
      Field(3, "") + Field(1, Fixed(1) + Fixed(2) + Fixed(3)),
      Key(1, kFixed32) + Fixed(1) + Key(1, kFixed32) + Fixed(2) +
          Key(1, kFixed32) + Fixed(3),
      Field(1, Fixed(1)) + Key(1, kFixed32) + Fixed(2) + Field(1, "") +
          Field(1, Fixed(3))};
  for (const std::string& list : floats) {
    const Values values = ReadFeature(Field(2, list));
    EXPECT_EQ(values.kind, Kind::kFloats);
    EXPECT_THAT(values.floats, ElementsAre(1, 2, 3));
  }
  const std::string minus(9, '\xff');
  const std::string int64s[] = {
      Field(1, Varint(300) + minus + "\x01" + Varint(0)),
      Key(1, kVarint) + Varint(300) + Key(1, kVarint) + minus + "\x01" +
          Key(1, kVarint) + Varint(0),
      Key(1, kVarint) + Varint(300) + Field(1, minus + "\x01") +
          Key(1, kVarint) + Varint(0)};
  for (const std::string& list : int64s) {
    const Values values = ReadFeature(Field(3, list));
    EXPECT_EQ(values.kind, Kind::kInt64s);
    EXPECT_THAT(values.int64s, ElementsAre(300, -1, 0));
  }
}

TEST(ExampleTest, WhatIsUnknownIsPassedOver) {
  const std::string u = Unknown();
  const std::string lists[] = {
      u + Field(1, "a") + u + Field(1, "b") + u,
      u + Field(1, Fixed(1)) + u + Key(1, kFixed32) + Fixed(2) + u,
      u + Field(1, Varint(1)) + u + Key(1, kVarint) + Varint(2) + u};
  for (uint64_t kind = 1; kind <= 3; ++kind) {
    const std::string feature = u + Field(kind, lists[kind - 1]) + u;
    const std::string entry =
        Field(1, u + Field(1, "f") + u + Field(2, feature) + u);
    const Values values = Read(u + Field(1, u + entry + u) + u, "f");
    ASSERT_EQ(values.kind, static_cast<Kind>(kind));
    const std::vector<std::string> texts = {"a", "b"};
    EXPECT_EQ(values.bytes, kind == 1 ? texts : std::vector<std::string>());
    const std::vector<float> floats = {1, 2};
    EXPECT_EQ(values.floats, kind == 2 ? floats : std::vector<float>());
    const std::vector<int64_t> numbers = {1, 2};
    EXPECT_EQ(values.int64s, kind == 3 ? numbers : std::vector<int64_t>());
  }
}

// As Protocol Buffers take a field of another encoding.
TEST(ExampleTest, AFieldOfAnotherEncodingIsUnknown) {
  // A number, whose bytes would also be the length of what follows.
  const std::string number = Key(1, kVarint) + Varint(4);
  const std::string wide = Key(1, kFixed64) + "\x04\0\0\0\0\0\0\0"s;
  EXPECT_THAT(ReadFeature(Field(2, number + Field(1, Fixed(1)))).floats,
              ElementsAre(1));
  EXPECT_THAT(ReadFeature(Field(2, wide + Field(1, Fixed(1)))).floats,
              ElementsAre(1));
  EXPECT_THAT(ReadFeature(Field(3, wide + Field(1, Varint(5)))).int64s,
              ElementsAre(5));
  EXPECT_THAT(
      ReadFeature(Field(3, Key(1, kFixed32) + Fixed(0) + Field(1, Varint(5))))
          .int64s,
      ElementsAre(5));
  EXPECT_THAT(ReadFeature(Field(1, number + Field(1, "a") + wide)).bytes,
              ElementsAre("a"));
  // Of the messages around the lists.
  EXPECT_EQ(ReadFeature(number).kind, Kind::kNone);
  EXPECT_THAT(
      Read(
          number +
              Example(number +
                      Entry("f", wide + Field(3, Field(1, Varint(5)))) + wide) +
              wide,
          "f")
          .int64s,
      ElementsAre(5));
}

TEST(ExampleTest, OfEntriesOfOneNameTheLastCounts) {
  const std::string one = Entry("f", Field(3, Field(1, Varint(1))));
  const std::string two = Entry("f", Field(1, Field(1, "two")));
  const std::string other = Entry("ff", Field(3, Field(1, Varint(9))));
  EXPECT_THAT(Read(Example(two + one + other), "f").int64s, ElementsAre(1));
  const Values last = Read(Example(one + other + two), "f");
  EXPECT_EQ(last.kind, Kind::kBytes);
  EXPECT_THAT(last.bytes, ElementsAre("two"));
  EXPECT_THAT(last.int64s, IsEmpty());
  // In a message of Features that comes in two parts as well.
  EXPECT_THAT(Read(Example(two) + Example(one), "f").int64s, ElementsAre(1));
  EXPECT_THAT(Read(Example(two) + Example(one), "ff").int64s, IsEmpty());
}

TEST(ExampleTest, OfKindsTheLastCountsAndListsOfItAreOne) {
  const std::string numbers = Field(3, Field(1, Varint(1)));
  const std::string texts = Field(1, Field(1, "a"));
  const Values both = ReadFeature(numbers + texts);
  EXPECT_EQ(both.kind, Kind::kBytes);
  EXPECT_THAT(both.bytes, ElementsAre("a"));
  EXPECT_THAT(both.int64s, IsEmpty());
  EXPECT_THAT(ReadFeature(numbers + numbers).int64s, ElementsAre(1, 1));
  EXPECT_THAT(ReadFeature(numbers + texts + numbers).int64s, ElementsAre(1));
}

TEST(ExampleTest, CutAtEveryByteItIsDamaged) {
  const std::string example(kTensorFlow, sizeof(kTensorFlow) - 1);
  for (size_t size = 1; size < example.size(); ++size) {
    ExpectDamaged(Opened(example.substr(0, size)).status,
                  std::to_string(size) + " bytes");
  }
}

// Every message inside is cut, and those around it say how long it is now.
TEST(ExampleTest, CutInsideOfWholeMessagesItIsDamaged) {
  const std::string lists[] = {Field(1, Field(1, "abc")),
                               Field(2, Field(1, Fixed(1) + Fixed(2))),
                               Field(3, Field(1, Varint(300) + Varint(1)))};
  for (const std::string& feature : lists) {
    EXPECT_TRUE(Probe(Example(Entry("f", feature))).ok());
    for (size_t size = 1; size < feature.size(); ++size) {
      ExpectDamaged(Probe(Example(Entry("f", feature.substr(0, size)))),
                    std::to_string(size) + " bytes of a feature");
    }
    // Key and length of the feature's list have a byte each.
    const std::string list = feature.substr(2);
    for (size_t size = 1; size < list.size(); ++size) {
      ExpectDamaged(Probe(Example(Entry(
                        "f", Field(feature[0] >> 3, list.substr(0, size))))),
                    std::to_string(size) + " bytes of a list");
    }
  }
  const std::string entry = Entry("f", "").substr(2);
  for (size_t size = 1; size < entry.size(); ++size) {
    if (size == 3) continue;  // a name without a value
    ExpectDamaged(Probe(Example(Field(1, entry.substr(0, size)))),
                  std::to_string(size) + " bytes of an entry");
  }
}

TEST(ExampleTest, NumbersThatEndTooEarlyOrTooLateAreDamaged) {
  const std::string floats = Fixed(1) + Fixed(2);
  for (size_t size = 1; size < floats.size(); ++size) {
    const std::string feature = Field(2, Field(1, floats.substr(0, size)));
    if (size == 4) {
      EXPECT_THAT(ReadFeature(feature).floats, ElementsAre(1));
    } else {
      ExpectDamaged(Probe(Example(Entry("f", feature))),
                    std::to_string(size) + " bytes of floats");
    }
  }
  const std::string endless(10, '\xff');
  for (const std::string& packed : {"\x01\x80"s, "\x80"s, endless,
                                    endless + "\x01", endless + "\x01\x01"}) {
    ExpectDamaged(Probe(Example(Entry("f", Field(3, Field(1, packed))))),
                  "packed");
    ExpectDamaged(
        Probe(Example(Entry("f", Field(3, Key(1, kVarint) + packed)))),
        "single");
  }
}

TEST(ExampleTest, LengthsAndKeysThatLieAreDamaged) {
  const std::string feature = Field(3, Field(1, Varint(1)));
  const std::string example = Example(Entry("f", feature));
  // Their lengths: of Features, of the entry, of its name and value, of the
  // list and of what is packed.
  const size_t lengths[] = {1, 3, 5, 8, 10, 12};
  for (const size_t at : lengths) {
    for (const char* length : {"\x7f", "\xff\x7f", "\xff\xff\xff\xff\x0f",
                               "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                               "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
      std::string lies = example;
      lies.replace(at, 1, length);
      ExpectDamaged(Probe(lies), "a length at " + std::to_string(at));
    }
    if (at == 5) continue;  // a longer name is another one
    std::string longer = example;
    ++longer[at];
    ExpectDamaged(Probe(longer), "a byte more at " + std::to_string(at));
  }
  // Of groups, and of encodings and numbers that there are not.
  for (const int key : {3, 4, 6, 7, 0, 2, 11, 12, 14, 15}) {
    const std::string damaged(1, static_cast<char>(key));
    ExpectDamaged(Probe(damaged + std::string(9, '\0')), "an Example");
    ExpectDamaged(Probe(Example(damaged + std::string(9, '\0'))), "Features");
    ExpectDamaged(Probe(Example(Entry("f", damaged + std::string(9, '\0')))),
                  "a feature");
  }
}

// Whatever the bytes are, there is one outcome, and no span leaves them.
TEST(ExampleTest, AnyByteThatIsChangedDoesNoHarm) {
  const std::string example(kTensorFlow, sizeof(kTensorFlow) - 1);
  const std::vector<std::string> names = {"bytes",    "floats",    "int64s",
                                          "no bytes", "no floats", "nothing"};
  size_t damaged = 0;
  for (size_t i = 0; i < example.size(); ++i) {
    for (const int flip : {0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80, 0xff}) {
      std::string changed = example;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const Status status = Probe(changed, names);
      if (status.ok()) continue;
      ++damaged;
      ASSERT_EQ(status.message(), kError) << i;
    }
  }
  EXPECT_GT(damaged, example.size());
}

}  // namespace
}  // namespace liquid::example_test
