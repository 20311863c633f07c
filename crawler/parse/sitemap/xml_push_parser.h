// XmlPushParser: parses XML in pieces with libxml2, and reports elements and texts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct _xmlError;
struct _xmlParserCtxt;

namespace trawl {

// The name of an element or attribute: "xhtml:link" is {"xhtml", "link"}.
struct XmlName {
  std::string_view prefix;
  std::string_view local;
};
XmlName split_xml_name(std::string_view name);

struct XmlAttribute {
  std::string_view name;  // including the prefix
  std::string_view value;
};

// Receives the parser's events. Views are valid until the call returns.
class XmlHandler {
 public:
  virtual ~XmlHandler() = default;
  virtual void start_element(const XmlName& name, const std::vector<XmlAttribute>& attributes) = 0;
  virtual void end_element(const XmlName& name) = 0;
  // A text may be passed in several pieces.
  virtual void text(std::string_view text) = 0;
};

// Parses the UTF-8 output of XmlRepairer, and continues after errors if libxml2 can. Loads
// nothing, expands no entities, prints nothing. Names are passed as written: prefixes are not
// resolved, since their declarations are often wrong.
class XmlPushParser {
 public:
  // `handler` must outlive the parser.
  explicit XmlPushParser(XmlHandler& handler);
  ~XmlPushParser();
  XmlPushParser(const XmlPushParser&) = delete;
  XmlPushParser& operator=(const XmlPushParser&) = delete;

  // Returns false once nothing more can be read.
  bool feed(std::string_view xml);
  void finish();

  bool root_closed() const noexcept { return elements_ > 0 && depth_ == 0; }
  // True after an error from which it could not continue.
  bool stopped() const noexcept { return stopped_; }
  const std::string& first_error() const noexcept { return first_error_; }

 private:
  struct Callbacks;

  void note_error(std::string_view message);

  XmlHandler& handler_;
  std::unique_ptr<_xmlParserCtxt, void (*)(_xmlParserCtxt*)> context_;
  std::vector<XmlAttribute> attributes_;
  std::string first_error_;  // "line 7: Opening and ending tag mismatch: ..."
  std::size_t errors_ = 0;
  std::size_t elements_ = 0;
  std::size_t depth_ = 0;
  bool stopped_ = false;
  bool finishing_ = false;
};

}  // namespace trawl
