#include "config/folder.h"

#include <fstream>

namespace memqos::config {
namespace {

namespace fs = std::filesystem;

TEST(Folder, ListsAConfigMapsMount) {
  std::string name = (fs::temp_directory_path() / "memqos-folder-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const fs::path dir = name;
  // As the kubelet projects it: files are links through ..data to a dated folder.
  fs::create_directory(dir / "..2026_01");
  std::ofstream(dir / "..2026_01" / "b.yaml") << "x";
  std::ofstream(dir / "..2026_01" / "a.json") << "x";
  fs::create_directory_symlink("..2026_01", dir / "..data");
  fs::create_symlink("..data/b.yaml", dir / "b.yaml");
  fs::create_symlink("..data/a.json", dir / "a.json");
  std::ofstream(dir / "c.yaml.bak") << "x";
  std::ofstream(dir / ".yaml") << "x";
  fs::create_symlink("nowhere", dir / "broken.yaml");

  const auto files = listFolder(dir, {".yaml", ".json"});
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, testing::ElementsAre((dir / "a.json").string(), (dir / "b.yaml").string(),
                                           (dir / "broken.yaml").string()));
  EXPECT_TRUE(stillThere(dir / "broken.yaml"));
  EXPECT_FALSE(stillThere(dir / "removed.yaml"));
  fs::remove_all(dir);
  EXPECT_EQ(listFolder(dir, {".yaml"}).error().code, Code::gone);
}

}  // namespace
}  // namespace memqos::config
