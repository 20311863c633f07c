// Replacing files.
#include "base/file_io.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {
namespace {

class ReplaceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory_);
    old_mask_ = ::umask(022);
  }
  void TearDown() override {
    ::umask(old_mask_);
    std::filesystem::remove_all(directory_);
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777u : 0u;
  }
  void expect(const char* contents, unsigned mode) const {
    EXPECT_EQ(read_file(file_, 100).value_or("unreadable"), contents);
    EXPECT_EQ(mode_of(file_), mode);
    EXPECT_FALSE(std::filesystem::exists(file_ + ".tmp"));
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(::testing::TempDir()) / ("replace-file-" + std::to_string(::getpid()));
  const std::string file_ = (directory_ / "file").string();
  mode_t old_mask_ = 0;
};

TEST_F(ReplaceFile, IsForAllToReadUnlessToldOtherwise) {
  ASSERT_TRUE(replace_file(file_, "one"));
  expect("one", 0644);
}

TEST_F(ReplaceFile, HasTheModeThatWasAskedFor) {
  ASSERT_TRUE(replace_file(file_, "secret", 0600));
  expect("secret", 0600);
  ASSERT_TRUE(replace_file(file_, "no more", 0644));
  expect("no more", 0644);
  ASSERT_TRUE(replace_file(file_, "again", 0600));
  expect("again", 0600);
}

// Opened by another before it is replaced, it would show the secret.
TEST_F(ReplaceFile, WhatACrashLeftIsNotWrittenInto) {
  std::ofstream(file_ + ".tmp") << "left";
  ASSERT_EQ(::chmod((file_ + ".tmp").c_str(), 0644), 0);
  std::ifstream reader(file_ + ".tmp");
  ASSERT_TRUE(replace_file(file_, "secret", 0600));
  expect("secret", 0600);
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "left");
}

}  // namespace
}  // namespace trawl
