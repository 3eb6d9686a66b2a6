// SPDX-License-Identifier: Apache-2.0
#include "reports/page/page.h"

#include "core/errors.h"
#include "core/printable.h"
#include "reports/page/html_page.h"
#include "reports/page/text_chart.h"
#include "reports/paragraph.h"

namespace draftline {

void finish_stream(std::ostream& out) {
  out.flush();
  if (!out) throw OutputError("standard output can't be written");
}

void Page::verdict(const std::string& answer, const std::vector<std::string>& more,
                   const std::vector<std::string>& doubts) {
  say(answer);
  for (const std::string& line : more) say(line);
  for (const std::string& line : doubts) say(line);
}

void Page::command(const std::string& title, const std::string& line) { say(title + ": " + line); }

namespace {

class TextPage : public Page {
 public:
  explicit TextPage(const Output& to) : to_(to) {}
  void heading(const std::string& text) override { put((begun_ ? "\n" : "") + shown(text)); }
  void subheading(const std::string& text) override { heading(text); }
  void say(const std::string& text) override {
    if (!text.empty()) put(shown(text));
  }
  void show(const Table& t) override { put(t.to_text(to_.width)); }
  void show(const Chart&) override {}
  void plot(const Chart& c) override { put((begun_ ? "\n" : "") + draftline::to_text(c, to_.width)); }
  void finish() override { finish_stream(to_.stream); }

 private:
  std::string shown(const std::string& text) const { return paragraph(printable_lines(text), to_.width); }
  void put(const std::string& text) {
    to_.stream << text;
    begun_ = true;
  }
  const Output& to_;
  bool begun_ = false;
};

class MarkdownPage : public Page {
 public:
  MarkdownPage(const Output& to, const std::string& title) : to_(to) { write("## " + title); }
  void heading(const std::string& text) override { write("### " + text); }
  void subheading(const std::string& text) override { write("#### " + text); }
  void say(const std::string& text) override {
    if (!text.empty()) write(text);
  }
  void show(const Table& t) override { to_.stream << t.to_markdown() << "\n"; }
  void show(const Chart&) override {}
  void finish() override { finish_stream(to_.stream); }

 private:
  void write(const std::string& text) { to_.stream << printable_lines(text) << "\n\n"; }
  const Output& to_;
};

}  // namespace

std::unique_ptr<Page> new_page(const Output& to, const std::string& title, const InputFiles& files) {
  switch (to.format) {
    case Format::html: return std::make_unique<HtmlPage>(to, title, files);
    case Format::markdown: return std::make_unique<MarkdownPage>(to, title);
    default: return std::make_unique<TextPage>(to);
  }
}

}  // namespace draftline
