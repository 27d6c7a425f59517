#include "report/table.h"

#include <gtest/gtest.h>

#include "report/values.h"

namespace memqos::report {
namespace {

TEST(Table, ColumnsLineUpAndLinesHaveNoTrailingBlanks) {
  Table table({{"NAME"}, {"SIZE", Align::right}, {"WHY"}});
  table.add({"redis", "64Mi", ""});
  table.add({"a", "128974848", "because"});
  EXPECT_EQ(table.text(),
            "NAME        SIZE  WHY\n"
            "redis       64Mi\n"
            "a      128974848  because\n");
}

TEST(Table, EmptyCellsAreDashesButNotInTheLastColumn) {
  Table table({{"A"}, {"B"}, {"C"}});
  table.add({"x"});
  EXPECT_EQ(table.text(), "A  B  C\nx  -\n");
}

TEST(Table, OptionalColumnsNeedAValue) {
  Table table({{"A"}, {"B", Align::left, true}, {"C", Align::left, true}});
  table.add({"x", "", "y"});
  EXPECT_EQ(table.text(2), "  A  C\n  x  y\n");
}

TEST(Table, WidthIsInTerminalColumns) {
  Table table({{"NAME"}, {"X"}});
  table.add({"caf\u00e9", "1"});
  table.add({"\u65e5\u672c", "2"});  // two columns each
  table.add({"cafe\u0301", "3"});    // a combining accent
  EXPECT_EQ(table.text(),
            "NAME  X\n"
            "caf\u00e9  1\n"
            "\u65e5\u672c  2\n"
            "cafe\u0301  3\n");
}

TEST(Table, CellsCannotForgeLinesOrMoveTheCursor) {
  Table table({{"A"}});
  table.add({"x\n\x1b[2Jy\r\t\x7f"});
  EXPECT_EQ(table.text(), "A\nx\\n\\x1b[2Jy\\r\\t\\x7f\n");
}

TEST(Printable, EscapesWhatATerminalWouldAct) {
  EXPECT_EQ(printable("plain \u00e9"), "plain \u00e9");
  EXPECT_EQ(printable("\u202egnp.exe"), "\\u202egnp.exe");  // right-to-left override
  EXPECT_EQ(printable("\u009b31m"), "\\x9b31m");            // C1 control sequence introducer
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(About, OneDecimalAndABinarySuffix) {
  EXPECT_EQ(about(Bytes{0}), "0");
  EXPECT_EQ(about(Bytes{1023}), "1023");
  EXPECT_EQ(about(kMiB), "1.0Mi");
  EXPECT_EQ(about(Bytes{123456789}), "117.7Mi");
  EXPECT_EQ(about(Bytes{kGiB.count - 1}), "1.0Gi");
}

}  // namespace
}  // namespace memqos::report
