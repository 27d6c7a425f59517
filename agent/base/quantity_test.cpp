#include "base/quantity.h"

namespace memqos {
namespace {

struct Row {
  std::string text;
  std::int64_t bytes;
};

TEST(Quantity, AllForms) {
  const std::vector<Row> rows = {{"0", 0},
                                 {"64Mi", 67108864},
                                 {"1G", 1000000000},
                                 {"500M", 500000000},
                                 {"1.5Gi", 1610612736},
                                 {"128974848", 128974848},
                                 {"129e6", 129000000},
                                 {"129E6", 129000000},
                                 {"1E", 1000000000000000000},
                                 {"1k", 1000},
                                 {"1Ki", 1024},
                                 {"2Ti", 2199023255552},
                                 {"1P", 1000000000000000},
                                 {"1Pi", 1125899906842624},
                                 {"7Ei", 8070450532247928832},
                                 {"0.5", 1},
                                 {"1500m", 2},
                                 {"1n", 1},
                                 {"1u", 1},
                                 {"0.1Ki", 103},
                                 {"+5", 5},
                                 {"-1", -1},
                                 {"-1.5", -2},
                                 {".5Ki", 512},
                                 {"5.", 5},
                                 {"0e100", 0},
                                 {"1e-3", 1},
                                 {"0000000000000000000000000000064Mi", 67108864},
                                 {"100000000000000000000000000000e-28", 10},
                                 {"1.00000000000000000000000000000000000000000000000000000000001", 2},
                                 {"9223372036854775806", 9223372036854775806},
                                 {"12345678901234567890n", 12345678902}};
  for (const Row& row : rows) {
    const auto parsed = parseQuantity(row.text);
    ASSERT_TRUE(parsed) << row.text << ": " << parsed.error().text();
    EXPECT_EQ(parsed->count, row.bytes) << row.text;
  }
}

TEST(Quantity, Thousandths) {
  const std::map<std::string, std::int64_t> rows = {{"2", 2000}, {"500m", 500},     {"0.5", 500},
                                                    {"100u", 1}, {"1k", 1'000'000}, {"0", 0},
                                                    {"1e-4", 1}, {"-1.5", -1500},   {"1Ki", 1'024'000}};
  for (const auto& [text, milli] : rows) EXPECT_EQ(parseMilliQuantity(text).value(), milli) << text;
  for (const std::string text : {"", "x", "1E", "9e15"})
    EXPECT_EQ(parseMilliQuantity(text).has_value(), text == "9e15") << text;
}

TEST(Quantity, RefusesJunk) {
  for (const std::string text : {"",  " 50", "50 ",  "64MB",  "64mi",   "1e",    "e3",  "abc", "1.2.3", "50%", "-",
                                 "+", ".",   "0x10", "1_000", "64Mi\n", "1e1.5", "NaN", "inf", "1KI",   "--1"}) {
    const auto parsed = parseQuantity(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid) << text;
  }
}

TEST(Quantity, OverflowIsAnError) {
  for (const std::string text :
       {"8Ei", "9223372036854775808", "999999999999999999999", "1e19", "1e400", "10E", "1e999999999999", "0.9e20",
        "123456789012345678901234567890123456789012345678901234567890"}) {
    const auto parsed = parseQuantity(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().text().find("too large"), std::string::npos) << text;
  }
}

TEST(Percent, RoundsUpToAByte) {
  EXPECT_EQ(parsePercent("50%")->of(Bytes{101}).count, 51);
  EXPECT_EQ(parsePercent("12.5%")->of(mebibytes(8)).count, 1048576);
  EXPECT_EQ(parsePercent("100%")->of(Bytes{std::numeric_limits<std::int64_t>::max()}).count,
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parsePercent("0%")->of(kGiB).count, 0);
  EXPECT_EQ(parsePercent("0.000000001%")->of(Bytes{1}).count, 1);
}

TEST(Percent, RefusesJunkAndRange) {
  for (const std::string text : {"", "%", "50", "101%", "-1%", "100.1%", "1e1%", " 5%", "5 %", "5%%", ".%",
                                 "0.0000000001%", "99999999999999999999%"}) {
    EXPECT_FALSE(parsePercent(text)) << text;
  }
  EXPECT_TRUE(parsePercent("-0%"));
}

}  // namespace
}  // namespace memqos
