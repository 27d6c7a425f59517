#include "document/list_splitter.h"

#include <vector>

#include "document/node.h"

namespace memqos::document {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Split {
  std::vector<std::string> items;
  std::string envelope;
  bool whole = true;
};

Split split(const std::vector<std::string>& parts, std::size_t longest = 1 << 20) {
  Split out;
  ListSplitter splitter(
      [&](std::string_view item) {
        out.items.emplace_back(item);
        return true;
      },
      longest);
  for (const std::string& part : parts) out.whole = out.whole && splitter.feed(part);
  out.envelope = splitter.envelope();
  return out;
}

const std::string kList =
    R"({"kind":"PodList","metadata":{"resourceVersion":"7","items":[1]},"items":[{"a":"],}\"["}, {"b":[{"items":[]}]}
 ],"after":["items"]})";

TEST(ListSplitter, ItemsAndTheRest) {
  const Split out = split({kList});
  EXPECT_THAT(out.items, ElementsAre(R"({"a":"],}\"["})", R"({"b":[{"items":[]}]})"));
  const auto envelope = parseJson(out.envelope);
  ASSERT_TRUE(envelope) << out.envelope;
  EXPECT_EQ(envelope->find("metadata")->find("resourceVersion")->scalar, "7");
  EXPECT_THAT(envelope->find("items")->items, IsEmpty());
  EXPECT_EQ(envelope->find("after")->items.size(), 1U);
}

TEST(ListSplitter, EveryCutGivesTheSame) {
  const Split whole = split({kList});
  for (std::size_t cut = 0; cut <= kList.size(); ++cut) {
    const Split out = split({kList.substr(0, cut), kList.substr(cut)});
    EXPECT_EQ(out.items, whole.items) << cut;
    EXPECT_EQ(out.envelope, whole.envelope) << cut;
  }
}

TEST(ListSplitter, AnEmptyListAndNoListAtAll) {
  EXPECT_THAT(split({R"({"items":[ ]})"}).items, IsEmpty());
  EXPECT_EQ(split({R"({"items":[ ]})"}).envelope, R"({"items":[]})");
  EXPECT_EQ(split({R"({"items":null})"}).envelope, R"({"items":null})");
  EXPECT_EQ(split({R"({"kind":"Status","message":"items"})"}).envelope, R"({"kind":"Status","message":"items"})");
  EXPECT_EQ(split({"<html>[\"items\"]</html>"}).envelope, "<html>[\"items\"]</html>");
}

TEST(ListSplitter, OnlyAKeyOfTheTopCounts) {
  EXPECT_THAT(split({R"({"x":{"items":[1,2]},"y":"items","z":[3]})"}).items, IsEmpty());
  EXPECT_THAT(split({R"([{"items":[1]}])"}).items, IsEmpty());
}

TEST(ListSplitter, BrokenTextNeverBecomesAWholeList) {
  EXPECT_THAT(split({R"({"items":[{"a":1})"}).items, IsEmpty()) << "the end may be missing";
  EXPECT_FALSE(parseJson(split({R"({"items":[{"a":1},)"}).envelope));
  EXPECT_THAT(split({R"({"items":[}]})"}).items, IsEmpty());
  EXPECT_FALSE(parseJson(split({R"({"items":[}]})"}).envelope));
}

TEST(ListSplitter, TooLongEndsIt) {
  EXPECT_FALSE(split({R"({"items":[")" + std::string(200, 'x') + R"("]})"}, 100).whole);
  EXPECT_FALSE(split({std::string(200, ' ')}, 100).whole);
  EXPECT_TRUE(split({kList}, 200).whole);
}

TEST(ListSplitter, TheReaderMayStop) {
  int seen = 0;
  ListSplitter splitter([&](std::string_view) { return ++seen < 2; });
  EXPECT_FALSE(splitter.feed(R"({"items":[1,2,3]})"));
  EXPECT_EQ(seen, 2);
  EXPECT_FALSE(splitter.tooLong());
}

}  // namespace
}  // namespace memqos::document
