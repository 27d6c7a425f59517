#include "policy/keys.h"

namespace memqos::policy {
namespace {

TEST(Keys, Ours) {
  struct Row {
    std::string key;
    Key::Kind kind;
    std::string word;
    std::string container;
  };
  using Kind = Key::Kind;
  const std::vector<Row> rows = {
      {"memqos.io/memory-min", Kind::pod, "memory-min", ""},
      {"memqos.io/managed", Kind::pod, "managed", ""},
      {"memqos.io/", Kind::pod, "", ""},
      {"memqos.io/a/b", Kind::pod, "a/b", ""},
      {"memory-min.memqos.io/app", Kind::container, "memory-min", "app"},
      {"memory-min.memqos.io/", Kind::container, "memory-min", ""},
      {"Memory-High.memqos.io/c", Kind::container, "Memory-High", "c"},
      {".memqos.io/c", Kind::container, "", "c"},
  };
  for (const Row& row : rows) {
    const Key key = parseKey(row.key);
    EXPECT_EQ(key.kind, row.kind) << row.key;
    EXPECT_EQ(key.word, row.word) << row.key;
    EXPECT_EQ(key.container, row.container) << row.key;
  }
}

TEST(Keys, NearMissesSayWhatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"memqos/memory-min", "memqos.io/memory-min"},
      {"Memqos.io/memory-min", "memqos.io/memory-min"},
      {"MEMQOS.IO/MEMORY-MIN", "memqos.io/memory-min"},
      {"memqo.io/memory-min", "memqos.io/memory-min"},
      {"memqos.oi/memory-min", "memqos.io/memory-min"},
      {"mmeqos.io/memory-min", "memqos.io/memory-min"},
      {"memqos.com/class", "memqos.io/class"},
      {"memqos.io.memory-min", "memqos.io/memory-min"},
      {"memory-min.memqos.io", "memqos.io/memory-min"},
      {"memory-min.memqo.io/app", "memory-min.memqos.io/app"},
      {"memory-high.Memqos.io/app", "memory-high.memqos.io/app"},
      {"memqos.io.memory-min/app", "memory-min.memqos.io/app"},
      {"memqos-memory-min", "memqos.io/memory-min"},
  };
  for (const auto& [written, meant] : rows) {
    const Key key = parseKey(written);
    EXPECT_EQ(key.kind, Key::Kind::stray) << written;
    EXPECT_EQ(key.advice, meant) << written;
  }
}

TEST(Keys, OthersAreLeftAlone) {
  for (const std::string key :
       {"", "/", "app", "kubernetes.io/config.hash", "koordinator.sh/memoryQOS", "memory.high.memory-qos.nri.io",
        "memory.high.memory-qos.nri.io/app", "mlops.io/class", "memos.io/reclaim", "example.com/memory-min", "class",
        "reclaim", "team.example.com/class", "memory-min.example.com/app", "memqos-notes",
        "my.memqos-dashboard.example/owner"}) {
    EXPECT_EQ(parseKey(key).kind, Key::Kind::foreign) << key;
  }
  EXPECT_EQ(parseKey("memqos." + std::string(100'000, 'x') + "/memory-min").kind, Key::Kind::foreign);
}

TEST(Keys, AdviceIsSafeToPrint) {
  EXPECT_EQ(parseKey("memory-min.memqo.io/a\nb").advice, "memory-min.memqos.io/a\\nb");
}

}  // namespace
}  // namespace memqos::policy
