// Memory is taken before it is used, and keeps its contents.
#include "base/take_pages.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/zeroed_array.h"
#include "base/zeroed_pages.h"

namespace trawl {
namespace {

constexpr std::size_t kPage = 4096;

// How many of the pages that begin at `memory` are there.
template <class T>
std::size_t resident_pages(T& memory, std::size_t pages) {
  std::vector<unsigned char> resident(pages);
  EXPECT_EQ(::mincore(&memory, pages * kPage, resident.data()), 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; }));
}

// Whether the kernel takes pages when it is asked to, and only then.
bool is_supported() {
  const ZeroedPages<char> bytes(2 * kPage);
  return resident_pages(bytes[0], 2) == 0 && take_pages(&bytes[0], kPage) &&
         resident_pages(bytes[0], 2) == 1;
}

TEST(TakePages, AllAreThereAndKeepTheirContents) {
  if (!is_supported()) GTEST_SKIP() << "not by this kernel";
  constexpr std::size_t kPages = 100;
  const ZeroedPages<std::uint64_t> values(kPages * kPage / 8);
  values[1000] = 7;
  EXPECT_EQ(resident_pages(values[0], kPages), 1u) << "what was written";
  EXPECT_TRUE(take_pages(&values[0], values.bytes()));
  EXPECT_EQ(resident_pages(values[0], kPages), kPages);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], i == 1000 ? 7u : 0u);
}

TEST(TakePages, OnlyThoseThatAreWholeInTheRange) {
  if (!is_supported()) GTEST_SKIP() << "not by this kernel";
  constexpr std::size_t kPages = 8;
  const ZeroedPages<char> bytes(kPages * kPage);
  EXPECT_TRUE(take_pages(&bytes[1], kPage)) << "none is";
  EXPECT_EQ(resident_pages(bytes[0], kPages), 0u);
  EXPECT_TRUE(take_pages(&bytes[kPage - 1], kPage + 2));
  EXPECT_EQ(resident_pages(bytes[0], kPages), 1u);
  EXPECT_EQ(resident_pages(bytes[kPage], 1), 1u);
}

TEST(ZeroedArray, IsZeroAndKeepsWhatIsWritten) {
  struct Entry {
    std::uint64_t one = 0;
    std::uint32_t two = 0;
    std::uint32_t three = 0;
  };
  for (const std::size_t size : {1, 4095, 4096, 4097, 30'001}) {
    ZeroedArray<Entry> array(size);
    ASSERT_EQ(array.size(), size);
    for (std::size_t i = 0; i < size; i += 7) {
      ASSERT_EQ(array[i].one + array[i].three, 0u) << i;
      array[i].two = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < size; ++i)
      ASSERT_EQ(array[i].two, i % 7 == 0 ? i : 0u);
    array[size - 1].one = 1;
    ASSERT_EQ(array[size - 1].one, 1u);
  }
}

// The pages of a piece are there once one of its values was asked for.
TEST(ZeroedArray, TakesMemoryInPieces) {
  if (!is_supported()) GTEST_SKIP() << "not by this kernel";
  constexpr std::size_t kPiece = 64u << 10;
  ZeroedArray<char> array(16 * kPiece);
  char& value = array[5 * kPiece];
  EXPECT_EQ(value, 0);
  EXPECT_EQ(resident_pages(value, kPiece / kPage), kPiece / kPage);
  EXPECT_EQ(resident_pages(*(&value + kPiece), kPiece / kPage), 0u);
}

}  // namespace
}  // namespace trawl
