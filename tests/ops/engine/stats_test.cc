#include "ops/engine/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace liquid::stats_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BatchReport Report(int64_t epoch, uint64_t first_draw) {
  BatchReport report;
  report.epoch = epoch;
  report.first_draw = first_draw;
  report.full = true;
  report.samples = {3, 1};
  report.hits = {1, 0};
  report.loads = {2, 1};
  report.memory_hits = {0, 1};
  report.gpu_hits = {0, 1};
  report.bytes = {300, 50};
  report.decodes = {2, 1};
  report.libjpeg_decodes = {1, 0};
  report.decode_seconds = {0.125, 0.5};
  report.disk_bytes = 4096;
  auto cost = std::make_shared<BatchCost>();
  cost->disk_bytes = 8192;
  report.cost = std::move(cost);
  report.seconds = {0.5, 0.25, 2, 3, 1.5};
  return report;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(StatsTest, NothingYet) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  EXPECT_EQ(
      board.Json({}, true),
      "{\"next_epoch\":0,\"cached\":{\"records\":0,\"bytes\":0},"
      "\"pool\":{\"used\":0,\"kept\":0},"
      "\"mixes\":[],"
      "\"formats\":[\"png\",\"raw\"],\"reading\":{},\"epochs\":[],"
      "\"earlier\":{\"count\":0,\"batches\":0,\"disk_bytes\":0,"
      "\"tier\":{\"records\":0,\"bytes\":0},"
      "\"seconds\":{\"read\":0,\"decode\":0,\"wait\":0,\"step\":0,\"disk\":0},"
      "\"fill\":{\"bytes\":0,\"seconds\":0},"
      "\"decoding\":{\"parallelism\":0,\"lookahead\":0},"
      "\"samples\":{\"png\":0,\"raw\":0},\"hits\":{\"png\":0,\"raw\":0},"
      "\"loads\":{\"png\":0,\"raw\":0},"
      "\"memory_hits\":{\"png\":0,\"raw\":0},"
      "\"gpu_hits\":{\"png\":0,\"raw\":0},"
      "\"bytes\":{\"png\":0,\"raw\":0},\"skipped\":{\"png\":0,\"raw\":0},"
      "\"fallbacks\":{\"png\":0,\"raw\":0},"
      "\"retries\":{\"png\":0,\"raw\":0},"
      "\"decodes\":{\"png\":0,\"raw\":0},"
      "\"libjpeg_decodes\":{\"png\":0,\"raw\":0},"
      "\"decode_seconds\":{\"png\":0,\"raw\":0}},"
      "\"skipped\":{\"count\":0,\"first\":[]},"
      "\"fallbacks\":{\"count\":0,\"other_pixels\":0,\"first\":[]},"
      "\"batches\":[]}");
}

TEST(StatsTest, SaysWhatAFormatIsReadWith) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  board.SetReading(1, "threads+direct");
  EXPECT_THAT(board.Json({}, false),
              ::testing::HasSubstr("\"reading\":{\"raw\":\"threads+direct\"}"));
}

TEST(StatsTest, SaysWhatATierHas) {
  StatsBoard board;
  StatsBoard::Now now;
  EXPECT_THAT(board.Json(now, false), Not(HasSubstr("\"off\"")));
  now.tier =
      Tier::Counters{8192, {1, 100}, {2, 200}, {3, 300}, 4, 5, "a \"b\""};
  EXPECT_THAT(board.Json(now, false),
              HasSubstr("\"tier\":{\"bytes\":8192,"
                        "\"there\":{\"records\":1,\"bytes\":100},"
                        "\"read\":{\"records\":2,\"bytes\":200},"
                        "\"written\":{\"records\":3,\"bytes\":300},"
                        "\"left_out\":4,\"failed\":5,"
                        "\"off\":\"a \\\"b\\\"\"},"));
}

TEST(StatsTest, SumsByEpochAndFormat) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  board.AddBatch(Report(1, 0));
  board.AddBatch(Report(0, 4));
  board.AddBatch(Report(0, 8));
  board.SetDecoding(0, 8, 2);
  board.SetDecoding(0, 6, 3);
  board.SetFill(0, 600, 0.25);
  board.SetFill(0, 700, 0.5);
  board.AddSkipped(0, {1, 77, "it is bad"});
  board.AddRetries(0, 0, 2);
  board.AddRetries(0, 0, 3);
  board.AddTierRead(0, 200);
  board.AddTierRead(0, 300);
  const std::string json = board.Json({2, 5, 600, 7000, 800, {}}, false);
  EXPECT_THAT(json, HasSubstr("\"next_epoch\":2,\"cached\":{\"records\":5,"
                              "\"bytes\":600},\"pool\":{\"used\":7000,"
                              "\"kept\":800}"));
  EXPECT_THAT(
      json,
      HasSubstr("{\"epoch\":0,\"batches\":2,\"disk_bytes\":8192,"
                "\"tier\":{\"records\":2,\"bytes\":500},"
                "\"seconds\":{\"read\":1,\"decode\":0.5,\"wait\":4,\"step\":6,"
                "\"disk\":3},"
                "\"fill\":{\"bytes\":700,\"seconds\":0.5},"
                "\"decoding\":{\"parallelism\":6,\"lookahead\":3},"
                "\"samples\":{\"png\":6,\"raw\":2},"
                "\"hits\":{\"png\":2,\"raw\":0},"
                "\"loads\":{\"png\":4,\"raw\":2},"
                "\"memory_hits\":{\"png\":0,\"raw\":2},"
                "\"gpu_hits\":{\"png\":0,\"raw\":2},"
                "\"bytes\":{\"png\":600,\"raw\":100},"
                "\"skipped\":{\"png\":0,\"raw\":1},"
                "\"fallbacks\":{\"png\":0,\"raw\":0},"
                "\"retries\":{\"png\":5,\"raw\":0},"
                "\"decodes\":{\"png\":4,\"raw\":2},"
                "\"libjpeg_decodes\":{\"png\":2,\"raw\":0},"
                "\"decode_seconds\":{\"png\":0.25,\"raw\":1}},{\"epoch\":1,"
                "\"batches\":1"));
  EXPECT_THAT(json, HasSubstr("\"skipped\":{\"count\":1,\"first\":[{\"sample\":"
                              "77,\"reason\":\"it is bad\"}]}"));
  EXPECT_THAT(json, Not(HasSubstr("first_draw")));
}

TEST(StatsTest, FallbacksCountInThePlannedFormat) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  BatchReport report = Report(0, 0);
  report.fallbacks = {{0, 5, "raw", "it is bad", false},
                      {1, 6, "jpeg", "so is this", true}};
  board.AddBatch(report);
  report.fallbacks.resize(1);
  board.AddBatch(report);
  const std::string json = board.Json({}, false);
  EXPECT_THAT(json, HasSubstr("\"fallbacks\":{\"png\":2,\"raw\":1},"));
  EXPECT_THAT(json, HasSubstr("\"fallbacks\":{\"count\":3,\"other_pixels\":1,"
                              "\"first\":[{\"sample\":5,\"read_as\":\"raw\","
                              "\"reason\":\"it is bad\"},{\"sample\":6,"
                              "\"read_as\":\"jpeg\",\"reason\":\"so is this\"},"
                              "{\"sample\":5,"));
}

TEST(StatsTest, BatchesAreInOrderOfDelivery) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  board.AddBatch(Report(1, 0));
  BatchReport last = Report(0, 4);
  last.full = false;
  board.AddBatch(last);
  EXPECT_THAT(
      board.Json({}, true),
      HasSubstr(
          "\"batches\":[{\"epoch\":1,\"first_draw\":0,\"full\":true,"
          "\"disk_bytes\":8192,"
          "\"seconds\":{\"read\":0.5,\"decode\":0.25,\"wait\":2,\"step\":3,"
          "\"disk\":1.5},"
          "\"samples\":{\"png\":3,\"raw\":1},"
          "\"hits\":{\"png\":1,\"raw\":0},\"loads\":{\"png\":2,\"raw\":1},"
          "\"memory_hits\":{\"png\":0,\"raw\":1}},"
          "{\"epoch\":0,\"first_draw\":4,\"full\":false,"));
}

TEST(StatsTest, AReportMayLeaveLastFormatsOut) {
  StatsBoard board;
  board.SetFormats({"png", "raw", "webp"});
  BatchReport report = Report(0, 0);
  report.samples = report.hits = report.loads = report.memory_hits = {2};
  report.bytes = {9};
  board.AddBatch(report);
  EXPECT_THAT(board.Json({}, true),
              HasSubstr("\"step\":3,\"disk\":1.5},"
                        "\"samples\":{\"png\":2,\"raw\":0,\"webp\":0}"));
}

TEST(StatsTest, AChargeMayComeAfterTheDelivery) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  BatchReport report = Report(0, 0);
  const auto cost = std::make_shared<BatchCost>();
  report.cost = cost;
  board.AddBatch(report);
  EXPECT_THAT(board.Json({}, true),
              HasSubstr("\"full\":true,\"disk_bytes\":0,"));
  cost->disk_bytes += 123;
  EXPECT_THAT(board.Json({}, true),
              HasSubstr("\"full\":true,\"disk_bytes\":123,"));
}

TEST(StatsTest, MemoryIsBounded) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  for (size_t i = 0; i < StatsBoard::kMaxBatches + 10; ++i) {
    board.AddBatch(Report(0, i));
  }
  for (size_t i = 0; i < StatsBoard::kMaxSkipped + 10; ++i) {
    board.AddSkipped(0, {0, i, "bad"});
  }
  const std::string json = board.Json({}, true);
  EXPECT_EQ(Count(json, "\"first_draw\""), StatsBoard::kMaxBatches);
  // The oldest go, and the first bad ones stay.
  EXPECT_EQ(Count(json, "\"first_draw\":9,"), 0u);
  EXPECT_EQ(Count(json, "\"first_draw\":10,"), 1u);
  EXPECT_EQ(Count(json, "\"reason\""), StatsBoard::kMaxSkipped);
  EXPECT_EQ(Count(json, "\"sample\":0,"), 1u);
  EXPECT_THAT(json, HasSubstr("\"batches\":" +
                              std::to_string(StatsBoard::kMaxBatches + 10)));
  EXPECT_THAT(json, HasSubstr("\"count\":" +
                              std::to_string(StatsBoard::kMaxSkipped + 10)));
}

TEST(StatsTest, TheOldestEpochsAreSummed) {
  StatsBoard board;
  board.SetFormats({"png", "raw"});
  for (size_t i = 0; i < StatsBoard::kMaxEpochs + 3; ++i) {
    board.AddBatch(Report(static_cast<int64_t>(i), 0));
    board.AddRetries(static_cast<int64_t>(i), 1, 2);
    board.AddTierRead(static_cast<int64_t>(i), 50);
  }
  const std::string json = board.Json({}, false);
  EXPECT_EQ(Count(json, "\"epoch\":"), StatsBoard::kMaxEpochs);
  EXPECT_EQ(Count(json, "\"epoch\":2,"), 0u);
  EXPECT_EQ(Count(json, "\"epoch\":3,"), 1u);
  EXPECT_THAT(
      json,
      HasSubstr(
          "\"earlier\":{\"count\":3,\"batches\":3,\"disk_bytes\":12288,"
          "\"tier\":{\"records\":3,\"bytes\":150},"
          "\"seconds\":{\"read\":1.5,\"decode\":0.75,\"wait\":6,\"step\":9,"
          "\"disk\":4.5}"));
  EXPECT_THAT(json, HasSubstr("\"retries\":{\"png\":0,\"raw\":6}"));
}

TEST(StatsTest, TextIsQuoted) {
  StatsBoard board;
  board.SetFormats({"png"});
  board.AddSkipped(0, {0, 1, "a \"b\" \\ \n\x01"});
  EXPECT_THAT(board.Json({}, false),
              HasSubstr("\"reason\":\"a \\\"b\\\" \\\\ \\u000a\\u0001\""));
}

}  // namespace
}  // namespace liquid::stats_test
