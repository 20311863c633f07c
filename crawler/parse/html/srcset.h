// Srcset: the images that a srcset attribute offers.
#pragma once

#include <optional>
#include <string_view>

namespace trawl {

// Reads `value` (decoded) by the HTML Standard's rules
// (https://html.spec.whatwg.org/multipage/images.html#parse-a-srcset-attribute): candidates with
// descriptors that make no sense are left out, as browsers do. Takes linear time.
class Srcset {
 public:
  explicit Srcset(std::string_view value) noexcept : rest_(value) {}

  // The URL of the next candidate, a view of the value; nothing at the end.
  std::optional<std::string_view> next() noexcept;

 private:
  bool take_descriptors() noexcept;

  std::string_view rest_;
};

}  // namespace trawl
