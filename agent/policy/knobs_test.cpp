#include "policy/knobs.h"

#include <set>

#include "policy/value.h"

namespace memqos::policy {
namespace {

TEST(Knobs, NamesAreFoundBothWays) {
  std::set<std::string_view> names;
  for (const KnobInfo& knob : knobs()) {
    EXPECT_EQ(findKnob(knob.name), knob.knob);
    EXPECT_EQ(findKnobCamel(knob.camelName), knob.knob);
    EXPECT_EQ(&info(knob.knob), &knob);
    EXPECT_FALSE(knob.summary.empty()) << knob.name;
    names.insert(knob.name);
  }
  EXPECT_EQ(names.size(), kKnobCount);
  EXPECT_EQ(findKnob(""), std::nullopt);
  EXPECT_EQ(findKnob("memoryMin"), std::nullopt);
  EXPECT_EQ(findKnobCamel("memory-min"), std::nullopt);
}

TEST(Knobs, ColumnsAgree) {
  for (const KnobInfo& knob : knobs()) {
    EXPECT_EQ(knob.level == Level::engine, knob.file.empty()) << knob.name;
    EXPECT_EQ(knob.form == Form::keyword, knob.form != Form::quantity && !knob.keywords.empty()) << knob.name;
    EXPECT_TRUE(knob.percentOf == Whole::none || knob.form == Form::quantity) << knob.name;
    EXPECT_TRUE(knob.file.empty() || knob.acts) << knob.name;
    EXPECT_TRUE(knob.builtinDefault.empty() || checkText(knob.knob, knob.builtinDefault)) << knob.name;
    for (const std::string_view word : knob.keywords)
      EXPECT_TRUE(checkText(knob.knob, word)) << knob.name << " " << word;
  }
}

TEST(Knobs, OtherSpellingsAreRecognised) {
  const std::vector<std::pair<std::string, std::string>> rows = {{"memoryMin", "memory-min"},
                                                                 {"memory.min", "memory-min"},
                                                                 {"memory_min", "memory-min"},
                                                                 {"Memory-High", "memory-high"},
                                                                 {"memory.swap.max", "swap-max"},
                                                                 {"memory-swap-max", "swap-max"},
                                                                 {"memory.oom.group", "oom-group"},
                                                                 {"memory.zswap.writeback", "zswap-writeback"},
                                                                 {"oomGroup", "oom-group"},
                                                                 {"memory-hihg", "memory-high"},
                                                                 {"memroy-low", "memory-low"},
                                                                 {"dirty-limits", "dirty-limit"},
                                                                 {"charge-migrations", "charge-migration"}};
  for (const auto& [word, knob] : rows) EXPECT_EQ(suggestKnob(word), knob) << word;
  EXPECT_EQ(suggestKnob("cpu-shares"), std::nullopt);
  EXPECT_EQ(suggestKnob(""), std::nullopt);
  EXPECT_EQ(suggestKnob(std::string(100'000, 'm')), std::nullopt);
}

TEST(Knobs, ValuesAreDescribed) {
  EXPECT_EQ(describeValues(info(Knob::memoryHigh)), "a quantity (64Mi), a percentage of the limit (50%), auto or max");
  EXPECT_EQ(describeValues(info(Knob::memoryMin)), "a quantity (64Mi) or a percentage of the request (50%)");
  EXPECT_EQ(describeValues(info(Knob::oomGroup)), "true or false");
  EXPECT_EQ(describeValues(info(Knob::klass)), "the name of a class");
  EXPECT_EQ(describeValues(info(Knob::reclaim)), "off, watermark, pressure or auto");
}

// runc#4700, moby#49599: a "reservation" that is memory.low on one side and was taken for memory.high on the other.
TEST(Knobs, EachWritesTheFileThatItIsNamedAfter) {
  const std::vector<std::pair<Knob, std::string_view>> files = {
      {Knob::memoryMin, "memory.min"},      {Knob::memoryLow, "memory.low"},
      {Knob::memoryHigh, "memory.high"},    {Knob::swapMax, "memory.swap.max"},
      {Knob::swapHigh, "memory.swap.high"}, {Knob::zswapMax, "memory.zswap.max"},
      {Knob::oomGroup, "memory.oom.group"}, {Knob::zswapWriteback, "memory.zswap.writeback"},
  };
  std::size_t withFile = 0;
  for (const KnobInfo& knob : knobs()) withFile += knob.file.empty() ? 0U : 1U;
  EXPECT_EQ(files.size(), withFile);
  for (const auto& [knob, file] : files) EXPECT_EQ(info(knob).file, file);
  EXPECT_FALSE(findKnob("memory-reservation"));
  EXPECT_FALSE(findKnob("memory-max")) << "the limit is the kubelet's";
}

}  // namespace
}  // namespace memqos::policy
