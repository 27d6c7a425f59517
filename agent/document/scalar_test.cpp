#include "document/scalar.h"

#include <cmath>

namespace memqos::document {
namespace {

struct Row {
  std::string text;
  Kind kind;
  std::string json;  // as sigs.k8s.io/yaml 1.6's YAMLToJSON printed it for "a: TEXT", strings unquoted
};

// Every row was run through sigs.k8s.io/yaml 1.6.0.
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"y", Kind::boolean, "true"},
      {"Y", Kind::boolean, "true"},
      {"yES", Kind::string, "yES"},
      {"on", Kind::boolean, "true"},
      {"Off", Kind::boolean, "false"},
      {"n", Kind::boolean, "false"},
      {"010", Kind::integer, "8"},
      {"08", Kind::real, "8"},
      {"0x10", Kind::integer, "16"},
      {"0X1f", Kind::integer, "31"},
      {"0o17", Kind::integer, "15"},
      {"0b101", Kind::integer, "5"},
      {"-0b101", Kind::integer, "-5"},
      {"-010", Kind::integer, "-8"},
      {"1_000", Kind::integer, "1000"},
      {"1_", Kind::integer, "1"},
      {"_1", Kind::string, "_1"},
      {"+5", Kind::integer, "5"},
      {"-0", Kind::integer, "0"},
      {"1e3", Kind::real, "1000"},
      {"1E+3", Kind::real, "1000"},
      {"1.", Kind::real, "1"},
      {".5", Kind::real, "0.5"},
      {"-.5", Kind::real, "-0.5"},
      {"._5", Kind::string, "._5"},
      {"1e999", Kind::string, "1e999"},
      {"~", Kind::null, ""},
      {"Null", Kind::null, ""},
      {"nULL", Kind::string, "nULL"},
      {"", Kind::null, ""},
      {"2001-12-14", Kind::string, "2001-12-14"},
      {"18446744073709551615", Kind::integer, "18446744073709551615"},
      {"99999999999999999999", Kind::real, "100000000000000000000"},
      {"0xffffffffffffffffff", Kind::string, "0xffffffffffffffffff"},
      {"1:30", Kind::string, "1:30"},
      {"64Mi", Kind::string, "64Mi"},
      {"<<", Kind::string, "<<"},
      {"0x1p3", Kind::string, "0x1p3"},
      {"0b12", Kind::string, "0b12"},
      {"00", Kind::integer, "0"},
      {"1e", Kind::string, "1e"},
      {"0.1", Kind::real, "0.1"},
      {"9223372036854775808", Kind::integer, "9223372036854775808"},
      {"0o8", Kind::string, "0o8"},
      {"0_8", Kind::real, "8"},
      {"-0x10", Kind::integer, "-16"},
      {"+0b1", Kind::integer, "1"},
      {"1__0.5e1_0", Kind::real, "105000000000"},
      {"0123456789", Kind::real, "123456789"},
      {"-0o17", Kind::integer, "-15"},
      {"=", Kind::string, "="},
      {".inf", Kind::real, ".inf"},
      {"-.Inf", Kind::real, "-.Inf"},
      {"+.inf", Kind::real, "+.inf"},
      {".nan", Kind::real, ".nan"},
      {"-9223372036854775809", Kind::real, "-9223372036854775808"},
      {"+", Kind::string, "+"},
      {"-", Kind::string, "-"},
      {".", Kind::string, "."},
      {"+-5", Kind::string, "+-5"},
      {"0x", Kind::string, "0x"},
  };
  return kRows;
}

TEST(Scalar, IsWhatKubernetesReaderSays) {
  for (const Row& row : rows()) {
    EXPECT_EQ(resolvePlain(row.text), row.kind) << row.text;
    Node node;
    node.kind = row.kind;
    node.scalar = row.text;
    EXPECT_EQ(node.jsonText(), row.json) << row.text;
  }
}

TEST(Scalar, Reals) {
  EXPECT_DOUBLE_EQ(parseReal("1_0.5").value(), 10.5);
  EXPECT_TRUE(std::isnan(parseReal(".NaN").value()));
  EXPECT_EQ(parseReal("-.INF").value(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parseReal("1e-999").value(), 0.0);
  EXPECT_FALSE(parseReal("1" + std::string(400, '0')));
  EXPECT_FALSE(parseReal("NaN"));
  EXPECT_FALSE(parseReal("infinity"));
}

TEST(Scalar, IntegersAtTheEdges) {
  EXPECT_EQ(parseInteger("-9223372036854775808")->text(), "-9223372036854775808");
  EXPECT_FALSE(parseInteger("18446744073709551616"));
  EXPECT_FALSE(parseInteger(""));
  EXPECT_FALSE(parseInteger("5 "));
}

}  // namespace
}  // namespace memqos::document
