// PrometheusText: the text format of metrics that Prometheus reads:
// https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace trawl {

class PrometheusText {
 public:
  enum class Type { kCounter, kGauge, kHistogram };
  using Label = std::pair<std::string_view, std::string_view>;

  // Begins a metric; its samples follow.
  PrometheusText& metric(std::string_view name, Type type, std::string_view help);
  PrometheusText& sample(double value, std::initializer_list<Label> labels = {});
  PrometheusText& sample(std::uint64_t value, std::initializer_list<Label> labels = {});
  // Samples of a histogram. `bounds`: upper bounds in seconds, in order; `counts`: the values in
  // each, with those above the last bound at the end.
  PrometheusText& histogram(std::span<const double> bounds, std::span<const std::uint64_t> counts,
                            double sum);

  // A metric with one sample.
  template <class Number>
  void counter(std::string_view name, std::string_view help, Number value) {
    metric(name, Type::kCounter, help).sample(value);
  }
  template <class Number>
  void gauge(std::string_view name, std::string_view help, Number value) {
    metric(name, Type::kGauge, help).sample(value);
  }

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, std::string_view value, std::span<const Label> labels);

  std::string text_;
  std::string name_;
};

}  // namespace trawl
