#include "policy/suggest.h"

#include <array>

namespace memqos::policy {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"memory-min", "memory-low", "memory-high",
                                                    "reclaim",    "class",      "swap-max"};

TEST(Suggest, FindsTheNearest) {
  const std::map<std::string, std::optional<std::string>> rows = {{"memory-min", "memory-min"},
                                                                  {"memroy-min", "memory-min"},
                                                                  {"memory_min", "memory-min"},
                                                                  {"memorymin", "memory-min"},
                                                                  {"MEMORY-HIGH", "memory-high"},
                                                                  {"memory-hihg", "memory-high"},
                                                                  {"memory-lo", "memory-low"},
                                                                  {"recliam", "reclaim"},
                                                                  {"clas", "class"},
                                                                  {"klass", "class"},
                                                                  {"max-swap", std::nullopt},
                                                                  {"x", std::nullopt},
                                                                  {"", std::nullopt},
                                                                  {"min", std::nullopt},
                                                                  {"io-weight", std::nullopt},
                                                                  {"memory-min-and-much-more-text", std::nullopt}};
  for (const auto& [word, expected] : rows) EXPECT_EQ(nearest(word, kNames), expected) << word;
}

TEST(Suggest, ASwapOfNeighboursIsOneStep) {
  constexpr std::array<std::string_view, 1> kShort = {"low"};
  EXPECT_EQ(nearest("lwo", kShort), "low");
  EXPECT_EQ(nearest("owl", kShort), std::nullopt);
}

TEST(Suggest, TheFirstOfEqualsWins) {
  constexpr std::array<std::string_view, 2> kPair = {"dirty-a", "dirty-b"};
  EXPECT_EQ(nearest("dirty-c", kPair), "dirty-a");
}

TEST(Suggest, LongHostileWordsAreCheap) {
  EXPECT_EQ(nearest(std::string(10'000'000, 'm'), kNames), std::nullopt);
}

TEST(Suggest, Sentence) {
  EXPECT_EQ(didYouMean("memory-mni", kNames), "did you mean memory-min?");
  constexpr std::array<std::string_view, 2> kWords = {"manage", "observe"};
  EXPECT_EQ(didYouMean("on", kWords), "use one of manage, observe");
  EXPECT_EQ(didYouMean("on", {}), "");
}

}  // namespace
}  // namespace memqos::policy
