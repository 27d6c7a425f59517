// docs/design/cases.md names public bug reports and the test that keeps each from happening here: every named test
// exists, and says beside it whose report it is.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace memqos {
namespace {

namespace fs = std::filesystem;

const fs::path kTop = MEMQOS_SOURCE_DIR;

struct Case {
  std::string number;
  std::vector<std::string> sources;  // "kubernetes#137674", or the name of a project whose source showed it
  std::vector<std::string> tests;    // "Suite.Name"
};

std::vector<std::string> all(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> out;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), pattern); at != std::sregex_iterator(); ++at)
    out.push_back((*at)[1]);
  return out;
}

// | number | source | what happened | what happens here | tests |
std::vector<Case> readCases() {
  std::ifstream in(kTop / "docs/design/cases.md");
  const std::regex row(R"(^\| (\d+) \| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$)");
  const std::regex source(R"((?:[A-Za-z0-9._-]+/)*([A-Za-z0-9._-]+(?:#\d+)?))");
  const std::regex test(R"(`([A-Za-z0-9_]+\.[A-Za-z0-9_]+)`)");
  std::vector<Case> out;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) {
      EXPECT_FALSE(line.starts_with("| ") && line[2] >= '0' && line[2] <= '9') << "not readable as a case: " << line;
      continue;
    }
    Case item{match[1], {}, all(match[3], test)};
    std::istringstream words(match[2]);
    for (std::string word; std::getline(words, word, ',');) {
      std::smatch found;
      if (std::regex_search(word, found, source)) item.sources.push_back(found[1]);
    }
    out.push_back(std::move(item));
  }
  return out;
}

struct TestPlace {
  fs::path file;
  std::string comment;  // right above it
};

std::map<std::string, std::vector<TestPlace>> readTests() {
  std::map<std::string, std::vector<TestPlace>> out;
  const std::regex head(R"(^(?:TEST|TEST_F|TEST_P)\((\w+), (\w+)\))");
  for (const auto& entry : fs::recursive_directory_iterator(kTop / "agent")) {
    if (!entry.path().filename().string().ends_with("_test.cpp")) continue;
    std::ifstream in(entry.path());
    std::string comment;
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, head)) {
        out[match[1].str() + "." + match[2].str()].push_back({entry.path(), comment});
      }
      comment = line.starts_with("//") ? comment + line + "\n" : "";
    }
  }
  return out;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

TEST(Cases, EveryNamedTestExists) {
  const auto tests = readTests();
  const std::vector<Case> cases = readCases();
  EXPECT_GE(cases.size(), 54U);
  std::set<std::string> numbers;
  for (const Case& item : cases) {
    EXPECT_TRUE(numbers.insert(item.number).second) << "case " << item.number << " is there twice";
    EXPECT_FALSE(item.tests.empty()) << "case " << item.number << " has no test";
    for (const std::string& name : item.tests) EXPECT_TRUE(tests.contains(name)) << item.number << ": " << name;
  }
}

TEST(Cases, EverySourceStandsAboveATest) {
  const auto tests = readTests();
  for (const Case& item : readCases()) {
    EXPECT_FALSE(item.sources.empty()) << "case " << item.number << " has no source";
    for (const std::string& source : item.sources) {
      const std::string number = source.find('#') == std::string::npos ? source : source.substr(source.find('#'));
      const bool said = std::any_of(item.tests.begin(), item.tests.end(), [&](const std::string& name) {
        const auto places = tests.find(name);
        return places != tests.end() && std::any_of(places->second.begin(), places->second.end(), [&](const auto& at) {
                 return lower(at.comment).find(lower(number)) != std::string::npos;
               });
      });
      EXPECT_TRUE(said) << "case " << item.number << ": no comment above its tests names " << source;
    }
  }
}

}  // namespace
}  // namespace memqos
