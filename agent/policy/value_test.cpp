#include "policy/value.h"

#include "policy/testing.h"

namespace memqos::policy {
namespace {

TEST(Value, Accepts) {
  struct Row {
    Knob knob;
    std::string text;
    Asked value;
  };
  const std::vector<Row> rows = {
      {Knob::memoryMin, "64Mi", Limit(mebibytes(64))},
      {Knob::memoryMin, "0", Limit()},
      {Knob::memoryMin, "129e6", Limit(Bytes{129'000'000})},
      {Knob::memoryMin, "128974848", Limit(Bytes{128'974'848})},
      {Knob::memoryMin, "4096", Limit(kPage)},
      {Knob::memoryMin, "0%", Percent{0}},
      {Knob::memoryLow, "12.5%", Percent{12'500'000'000}},
      {Knob::memoryHigh, "100%", Percent{100'000'000'000}},
      {Knob::memoryHigh, "auto", std::string("auto")},
      {Knob::memoryHigh, "max", Limit::max()},
      {Knob::swapMax, "max", Limit::max()},
      {Knob::dirtyLimit, "off", std::string("off")},
      {Knob::reclaimHigh, "90%", Percent{90'000'000'000}},
      {Knob::zswapWriteback, "false", false},
      {Knob::oomGroup, "true", true},
      {Knob::reclaim, "watermark", std::string("watermark")},
      {Knob::dirtyThrottle, "none", std::string("none")},
      {Knob::chargeMigration, "anon", std::string("anon")},
      {Knob::klass, "gold", std::string("gold")},
  };
  for (const Row& row : rows) {
    const auto value = checkText(row.knob, row.text);
    ASSERT_TRUE(value) << row.text << ": " << value.error().problem;
    EXPECT_EQ(*value, row.value) << row.text;
  }
}

TEST(Value, RefusesAndAdvises) {
  struct Row {
    Knob knob;
    std::string text;
    std::string problem;
    std::string advice;
  };
  const std::string takesHigh = "write a quantity (64Mi), a percentage of the limit (50%), auto or max";
  const std::string takesMin = "write a quantity (64Mi) or a percentage of the request (50%)";
  const std::vector<Row> rows = {
      {Knob::memoryMin, "", "the value is empty", takesMin + ", or remove it"},
      {Knob::memoryMin, " 50Mi", "' 50Mi' has white space around it", "write 50Mi"},
      {Knob::memoryMin, "50Mi\n", "'50Mi\\n' has white space around it", "write 50Mi"},
      {Knob::memoryMin, "  ", "'  ' has white space around it", takesMin},
      {Knob::memoryMin, "64MB", "'64MB' is not a quantity of bytes", "write 64M or 64Mi"},
      {Knob::memoryMin, "64mb", "'64mb' is not a quantity of bytes", "write 64M or 64Mi"},
      {Knob::memoryMin, "64 MiB", "'64 MiB' is not a quantity of bytes", "write 64M or 64Mi"},
      {Knob::memoryMin, "1.5g", "'1.5g' is not a quantity of bytes", "write 1.5G or 1.5Gi"},
      {Knob::memoryMin, "64K", "'64K' is not a quantity of bytes", "write 64k or 64Ki"},
      {Knob::memoryMin, "64B", "'64B' is not a quantity of bytes", "write 64"},
      {Knob::memoryMin, "64m", "'64m' is 1 byte, less than a page; 'm' stands for thousandths", "write 64M or 64Mi"},
      {Knob::memoryMin, "1e3", "'1e3' is 1000 bytes, less than a page", "write a unit (64Mi), or 0"},
      {Knob::memoryMin, "64", "'64' is 64 bytes, less than a page", "write a unit (64Mi), or 0"},
      {Knob::memoryMin, "-1", "'-1' is negative", takesMin},
      {Knob::memoryMin, "-0.1", "'-0.1' is negative", takesMin},
      {Knob::memoryMin, "999999999999999999999", "'999999999999999999999' is too large", "the most is 8Ei - 1"},
      {Knob::memoryMin, "101%", "'101%' is outside 0% to 100%", takesMin},
      {Knob::memoryMin, "-1%", "'-1%' is outside 0% to 100%", takesMin},
      {Knob::memoryMin, "%", "'%' is not a percentage", "write e.g. 50% or 12.5%"},
      {Knob::memoryMin, "max", "'max' is not a value of memory-min", takesMin},
      {Knob::memoryMin, "1.2.3", "'1.2.3' is not a quantity of bytes", "write e.g. 64Mi, 1.5Gi, 500M or 128974848"},
      {Knob::memoryMin, "{\"policy\":\"auto\"", "'{\\\"policy\\\":\\\"auto\\\"' is not a value of memory-min",
       takesMin},
      {Knob::memoryMin, "NaN", "'NaN' is not a value of memory-min", takesMin},
      {Knob::memoryHigh, "Auto", "'Auto' is not a value of memory-high", "did you mean auto?"},
      {Knob::memoryHigh, "foo", "'foo' is not a value of memory-high", takesHigh},
      {Knob::dirtyLimit, "of", "'of' is not a value of dirty-limit", "did you mean off?"},
      {Knob::oomGroup, "0", "'0' is not a value of oom-group", "write false"},
      {Knob::oomGroup, "True", "'True' is not a value of oom-group", "write true"},
      {Knob::oomGroup, "maybe", "'maybe' is not a value of oom-group", "write true or false"},
      {Knob::reclaim, "watermarks", "'watermarks' is not a value of reclaim", "did you mean watermark?"},
      {Knob::reclaim, "50%", "'50%' is not a value of reclaim", "write off, watermark, pressure or auto"},
      {Knob::oomGroup, "50%", "'50%' is not a value of oom-group", "write true or false"},
      {Knob::klass, "", "the value is empty", "write the name of a class, or remove it"},
  };
  for (const Row& row : rows) {
    const auto value = checkText(row.knob, row.text);
    ASSERT_FALSE(value) << row.text;
    EXPECT_EQ(value.error().problem, row.problem) << row.text;
    EXPECT_EQ(value.error().advice, row.advice) << row.text;
  }
}

// kube-ovn#138: numbers in annotations that other agents crash on or take silently.
TEST(Value, BadNumbersOfOtherAgents) {
  for (const std::string text : {"1e3", " 50", "-1", "999999999999999999999"}) {
    for (const Knob knob : {Knob::memoryMin, Knob::memoryHigh, Knob::swapMax, Knob::dirtyLimit, Knob::reclaimHigh}) {
      EXPECT_FALSE(checkText(knob, text)) << text;
    }
  }
  EXPECT_EQ(checkText(Knob::memoryLow, "50%"), Asked(Percent{50'000'000'000}));
}

TEST(Value, LongTextsAreNotEchoed) {
  const auto value = checkText(Knob::memoryMin, std::string(256 * 1024, '9'));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().problem, "the value is 262144 bytes long");
}

TEST(Value, SentencesAreSafeToPrint) {
  for (const KnobInfo& knob : knobs()) {
    if (knob.form == Form::className) continue;
    for (const std::string text :
         {"\x1b[31mred\x1b[0m", "a\nb", "1\x01Mi", "\xff\xfe", "9\n9%", "99999999999999999999999\x7f"}) {
      const auto value = checkText(knob.knob, text);
      ASSERT_FALSE(value) << text;
      for (const char c : value.error().problem + value.error().advice) {
        EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << knob.name << " " << value.error().problem;
      }
    }
  }
}

}  // namespace
}  // namespace memqos::policy
