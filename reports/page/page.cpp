// SPDX-License-Identifier: Apache-2.0
#include "reports/page/page.h"

#include "core/errors.h"
#include "reports/page/html_page.h"
#include "reports/paragraph.h"

namespace draftline {

namespace {

class TextPage : public Page {
 public:
  explicit TextPage(const Output& to) : to_(to) {}
  void say(const std::string& text) override {
    if (!text.empty()) to_.stream << paragraph(text, to_.width);
  }
  void show(const Table& t) override { to_.stream << t.to_text(to_.width); }
  void show(const Chart&) override {}
  void finish() override {
    to_.stream.flush();
    if (!to_.stream) throw OutputError("standard output can't be written");
  }

 private:
  const Output& to_;
};

}  // namespace

std::unique_ptr<Page> new_page(const Output& to, const std::string& title, const InputFiles& files) {
  if (to.format == Format::html) return std::make_unique<HtmlPage>(to, title, files);
  return std::make_unique<TextPage>(to);
}

}  // namespace draftline
