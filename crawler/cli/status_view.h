// StatusView: what a running crawl says of itself, laid out for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace trawl::cli {

// Lays out the answer of GET /api/v1/status, and of others, in lines of at most `width` columns.
// What is missing in the JSON is left out.
class StatusView {
 public:
  StatusView(std::size_t width, bool colour) : width_(width), colour_(colour) {}

  StatusView& status(const nlohmann::json& status);
  // The pages per second of GET /api/v1/history, as a line of bars.
  StatusView& history(const nlohmann::json& history);
  // At most `rows` hosts of GET /api/v1/hosts, and errors of GET /api/v1/errors.
  StatusView& hosts(const nlohmann::json& hosts, std::size_t rows);
  StatusView& errors(const nlohmann::json& errors, std::size_t rows);
  StatusView& line(std::string_view text);

  // Safe for a terminal. Colours are not counted in the width.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void entry(std::string_view label, const std::vector<std::string>& parts);
  void heading(std::string_view text);

  const std::size_t width_;
  const bool colour_;
  std::vector<std::string> lines_;
};

}  // namespace trawl::cli
