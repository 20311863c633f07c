// Srcset: parses a srcset attribute.
#pragma once

#include <optional>
#include <string_view>

namespace trawl {

// Parses the decoded `value` by the HTML Standard's rules
// (https://html.spec.whatwg.org/multipage/images.html#parse-a-srcset-attribute): candidates with
// invalid descriptors are left out, as in browsers. Takes linear time.
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
