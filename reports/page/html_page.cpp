// SPDX-License-Identifier: Apache-2.0
#include "reports/page/html_page.h"

#include "core/build_info.h"
#include "core/fingerprint.h"
#include "reports/page/assets.h"
#include "reports/page/html.h"

namespace draftline {

namespace {

// The browser loads nothing for a page, whatever a scenario's names are.
constexpr std::string_view kNothingFromElsewhere =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'\">\n";

// The option with which a verb writes all rows of its table; "" if none does. Only some verbs have CSV.
std::string_view format_of_all_rows(std::string_view verb) {
  if (verb == "calibrate" || verb == "validate") return "";
  return verb == "advise" || verb == "check" ? "--json" : "--csv";
}

std::string element(const std::string& name, const std::string& text, const std::string& css = "") {
  return "<" + name + (css.empty() ? "" : " class=\"" + css + "\"") + ">" + html_text(text) + "</" + name + ">\n";
}

}  // namespace

HtmlPage::HtmlPage(const Output& to, const std::string& title, const InputFiles& files)
    : to_(to), title_(title), files_(files) {}

void HtmlPage::put(const std::string& element) {
  if (in_figures_) body_ += "</div>\n";
  in_figures_ = false;
  body_ += element;
}

void HtmlPage::put_figure(const std::string& figure) {
  if (figure.empty()) return;
  if (!in_figures_) body_ += replaced_ ? "<div class=\"charts replaced\">\n" : "<div class=\"charts\">\n";
  in_figures_ = true;
  body_ += figure;
}

void HtmlPage::put_heading(const std::string& name, const std::string& text) {
  headings_.push_back({name, text});
  put("<" + name + " id=\"part-" + std::to_string(headings_.size()) + "\">" + html_text(text) + "</" + name + ">\n");
}

void HtmlPage::heading(const std::string& text) { put_heading("h2", text); }
void HtmlPage::subheading(const std::string& text) { put_heading("h3", text); }

void HtmlPage::say(const std::string& text) {
  if (!text.empty()) put(element("p", text, text.starts_with("warning: ") ? "warning" : ""));
}

void HtmlPage::show(const Table& t) {
  constexpr std::size_t kMostRows = 1000;
  put("<div class=\"wide\" tabindex=\"0\">\n" + t.to_html(kMostRows) + "</div>\n");
  if (t.rows() <= kMostRows) return;
  const std::string_view all = format_of_all_rows(to_.asked.verb);
  say("The table has the first " + std::to_string(kMostRows) + " of " + std::to_string(t.rows()) + " rows" +
      (all.empty() ? "." : "; " + std::string(all) + " writes all."));
}

void HtmlPage::show(const Chart& c) { put_figure(to_html(c, styles_)); }
void HtmlPage::show(const Bars& b) { put_figure(to_html(b, parts_)); }
void HtmlPage::show(const HeatMap& m) { put_figure(to_html(m)); }

void HtmlPage::verdict(const std::string& answer, const std::vector<std::string>& more,
                       const std::vector<std::string>& doubts) {
  std::string text = "<div class=\"verdict\">\n<div>\n" + element("p", answer, "answer");
  for (const std::string& line : more) text += element("p", line);
  text += "</div>\n<div class=\"doubts\">\n";
  for (const std::string& line : doubts) text += element("p", line);
  put(text + "</div>\n</div>\n");
}

void HtmlPage::command(const std::string& title, const std::string& line) {
  put(element("p", title + ":") + "<div class=\"command\">" + element("code", line) + "</div>\n");
}

void HtmlPage::explorer(const std::string& grid) {
  explores_ = true;
  put("<section id=\"explorer\" class=\"explorer\" hidden></section>\n<script type=\"application/json\" id=\"grid\">" +
      grid + "</script>\n");
}

void HtmlPage::is_replaced_by_explorer(bool is) {
  if (is != replaced_) put("");
  replaced_ = is;
}

std::string HtmlPage::contents() const {
  constexpr std::size_t kLong = 5;  // headings
  if (headings_.size() < kLong) return "";
  std::string text = "<nav class=\"contents\" aria-label=\"contents\">\n";
  for (std::size_t i = 0; i < headings_.size(); ++i)
    text += "<a href=\"#part-" + std::to_string(i + 1) + "\"" +
            (headings_[i].element == "h2" ? "" : " class=\"part\"") + ">" + html_text(headings_[i].text) + "</a>\n";
  return text + "</nav>\n";
}

std::string HtmlPage::provenance() const {
  std::string text = element("p", "draftline " + to_.asked.verb + ", version " + std::string(build_version()) +
                                      ", commit " + std::string(build_commit()));
  if (files_.empty()) return "<footer>\n" + text + "</footer>\n";
  text += "<details>\n" + element("summary", "input files and their fingerprints") + "<ul>\n";
  for (const auto& [file, fingerprint] : files_)
    text += element("li", input_name(file, to_.asked.data) + " " + to_hex(fingerprint));
  return "<footer>\n" + text + "</ul>\n</details>\n</footer>\n";
}

void HtmlPage::finish() {
  put("");
  to_.stream << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             << kNothingFromElsewhere << element("title", title_.empty() ? "draftline " + to_.asked.verb : title_)
             << "<style>" << page_style() << "</style>\n</head>\n<body>\n"
             << (title_.empty() ? "" : element("h1", title_)) << contents() << body_ << provenance() << "<script>"
             << page_script() << (explores_ ? explorer_script() : "") << "</script>\n</body>\n</html>\n";
  finish_stream(to_.stream);
}

}  // namespace draftline
