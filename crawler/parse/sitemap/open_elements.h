// OpenElements: a stack of the names of open elements.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

class OpenElements {
 public:
  void push(std::string_view name) {
    starts_.push_back(names_.size());
    names_ += name;
  }
  void pop() {
    names_.resize(starts_.back());
    starts_.pop_back();
  }
  std::string_view top() const { return std::string_view(names_).substr(starts_.back()); }

  // How many elements are open within the innermost one named `name`. Examines only a few, so that
  // end tags that close nothing take bounded time.
  std::optional<std::size_t> within(std::string_view name) const {
    constexpr std::size_t kLookedAt = 32;
    std::size_t end = names_.size();
    for (std::size_t inner = 0; inner < starts_.size() && inner < kLookedAt; ++inner) {
      const std::size_t start = starts_[starts_.size() - 1 - inner];
      if (std::string_view(names_).substr(start, end - start) == name) return inner;
      end = start;
    }
    return std::nullopt;
  }

 private:
  std::string names_;  // concatenated
  std::vector<std::size_t> starts_;
};

}  // namespace trawl
