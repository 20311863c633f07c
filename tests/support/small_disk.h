// SmallDisk: a file system that is soon full.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <sys/mount.h>

#include "tests/support/temporary_directory.h"

namespace trawl::test {

// Made of memory; not to be had without the right to mount: then mounted() is false and the test
// must skip.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t bytes) {
    const std::string size = "size=" + std::to_string(bytes);
    mounted_ = ::mount("trawl-test", path().c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string operator/(const std::string& name) const { return directory_ / name; }

  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(path()))
      ++count;
    return count;
  }

 private:
  const std::filesystem::path& path() const { return directory_.path(); }
  TemporaryDirectory directory_;
  bool mounted_ = false;
};

}  // namespace trawl::test
