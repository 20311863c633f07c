// TagFilter: which tags a scan needs, by first letter and length of the name, which are known
// before names are compared.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trawl {

// May pass tags that were not added, never the other way round.
class TagFilter {
 public:
  constexpr TagFilter() = default;
  // Passes every tag.
  static constexpr TagFilter all() noexcept {
    TagFilter filter;
    filter.add_all_starts();
    filter.ends_ = filter.starts_;
    return filter;
  }

  constexpr void add_all_starts() noexcept { starts_.fill(~std::uint32_t{0}); }
  // `name`: not empty.
  constexpr void add_start(std::string_view name) noexcept { add(starts_, name); }
  constexpr void add_end(std::string_view name) noexcept { add(ends_, name); }

  // Whether the tag whose name, of `length` bytes, begins with the ASCII letter `first` passes.
  constexpr bool passes(bool is_end, char first, std::size_t length) const noexcept {
    const Lengths& lengths = is_end ? ends_ : starts_;
    return (lengths[letter(first)] >> std::min(length, kLongest) & 1) != 0;
  }

  friend constexpr bool operator==(const TagFilter&, const TagFilter&) = default;

 private:
  static constexpr std::size_t kLongest = 31;  // longer names count as this long

  using Lengths = std::array<std::uint32_t, 32>;  // for each letter a bit for each length

  static constexpr std::size_t letter(char first) noexcept {
    return static_cast<unsigned char>(first) & 31u;
  }
  static constexpr void add(Lengths& lengths, std::string_view name) noexcept {
    lengths[letter(name.front())] |= std::uint32_t{1} << std::min(name.size(), kLongest);
  }

  Lengths starts_{};
  Lengths ends_{};
};

}  // namespace trawl
