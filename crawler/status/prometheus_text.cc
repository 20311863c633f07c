#include "crawler/status/prometheus_text.h"

#include <iterator>

#include <fmt/format.h>

#include "base/safe_text.h"

namespace trawl {

namespace {

// Label values may be any UTF-8; backslashes, quotes and line ends are escaped.
void append_label(std::string_view value, std::string& out) {
  for (const char c : replace_unsafe(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

}  // namespace

PrometheusText& PrometheusText::metric(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  const std::string_view kind = type == Type::kCounter ? "counter"
                                : type == Type::kGauge ? "gauge"
                                                       : "histogram";
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
  return *this;
}

void PrometheusText::line(std::string_view suffix, std::string_view value,
                          std::span<const Label> labels) {
  text_ += name_;
  text_ += suffix;
  char separator = '{';
  for (const auto& [name, label] : labels) {
    text_ += separator;
    separator = ',';
    text_ += name;
    text_ += "=\"";
    append_label(label, text_);
    text_ += '"';
  }
  if (!labels.empty()) text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

PrometheusText& PrometheusText::sample(double value, std::initializer_list<Label> labels) {
  line("", fmt::format("{}", value), labels);
  return *this;
}

PrometheusText& PrometheusText::sample(std::uint64_t value, std::initializer_list<Label> labels) {
  line("", fmt::format("{}", value), labels);
  return *this;
}

PrometheusText& PrometheusText::histogram(std::span<const double> bounds,
                                          std::span<const std::uint64_t> counts, double sum) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string bound = i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf";
    const Label label[] = {{"le", bound}};
    line("_bucket", fmt::format("{}", total), label);
  }
  line("_sum", fmt::format("{}", sum), {});
  line("_count", fmt::format("{}", total), {});
  return *this;
}

}  // namespace trawl
