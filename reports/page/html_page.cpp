// SPDX-License-Identifier: Apache-2.0
#include "reports/page/html_page.h"

#include "core/build_info.h"
#include "core/fingerprint.h"
#include "reports/page/html.h"

namespace draftline {

namespace {

// The eight colours of series are those of Okabe and Ito, which colour-blind readers tell apart; black is grey here.
constexpr std::string_view kStyle = R"(
:root { --paper: #fff; --ink: #1f2328; --faint: #d8dee4; --soft: #59636e; --warning: #9a3412;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9;
  --c6: #7a7f85; --c7: #b8a500; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e6e9ec; --faint: #333a42; --soft: #9aa4ae; --warning: #f0a070; --c0: #4aa8e0; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 76em;
  margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.5em; }
h2 { font-size: 1.15em; margin-top: 1.6em; }
p { max-width: 60em; }
.warning { color: var(--warning); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th { text-align: left; border-bottom: 1px solid var(--soft); }
th, td { padding: .2em .8em .2em 0; vertical-align: top; }
.number { text-align: right; }
td:not(:last-child), td.number { white-space: nowrap; }
td:last-child { min-width: 14em; }
@media print { .wide { overflow-x: visible; } td:not(:last-child) { white-space: normal; } }
.rule td { border-top: 1px solid var(--faint); }
figure { margin: 1.8em 0; max-width: 732px; }
figcaption { font-weight: 600; margin-bottom: .3em; }
svg { display: block; width: 100%; }
.names { list-style: none; margin: 0; padding: 0 0 0 68px; column-width: 17em; font-size: 13px; }
.names li { break-inside: avoid; padding-left: 30px; text-indent: -30px; }
.names svg { display: inline-block; width: 22px; margin-right: 8px; }
svg text { fill: var(--ink); font-size: 13px; }
svg .name { font-size: 12px; stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
svg .grid { stroke: var(--faint); }
svg .level { stroke: var(--soft); stroke-dasharray: 5 4; }
svg polyline, line.key, svg .bar { fill: none; stroke: var(--c); stroke-width: 2; }
svg .bar { stroke-width: 1; }
svg polygon { fill: var(--c); opacity: .15; stroke: none; }
svg circle { fill: var(--c); }
svg circle:hover { stroke: var(--ink); stroke-width: 2; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
.d1 polyline, .d1 line.key { stroke-dasharray: 7 3; } .d2 polyline, .d2 line.key { stroke-dasharray: 2 3; }
.d1 circle, .d2 circle { fill: var(--paper); stroke: var(--c); stroke-width: 2; } .d2 circle { stroke-dasharray: 2 2; }
footer { color: var(--soft); font-size: .85em; border-top: 1px solid var(--faint); margin-top: 2em; }
)";

std::string element(const std::string& name, const std::string& text, const std::string& css = "") {
  return "<" + name + (css.empty() ? "" : " class=\"" + css + "\"") + ">" + html_text(text) + "</" + name + ">\n";
}

}  // namespace

HtmlPage::HtmlPage(const Output& to, const std::string& title, const InputFiles& files) : to_(to), files_(files) {
  to_.stream << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             << element("title", title.empty() ? "draftline " + to_.asked.verb : title) << "<style>" << kStyle
             << "</style>\n</head>\n<body>\n"
             << (title.empty() ? "" : element("h1", title));
}

void HtmlPage::heading(const std::string& text) { to_.stream << element("h2", text); }

void HtmlPage::subheading(const std::string& text) { to_.stream << element("h3", text); }

void HtmlPage::say(const std::string& text) {
  if (!text.empty()) to_.stream << element("p", text, text.starts_with("warning: ") ? "warning" : "");
}

void HtmlPage::show(const Table& t) { to_.stream << "<div class=\"wide\">\n" << t.to_html() << "</div>\n"; }

void HtmlPage::show(const Chart& c) { to_.stream << to_html(c, styles_); }

std::string HtmlPage::provenance() const {
  std::string text = element("p", "draftline " + to_.asked.verb + ", version " + std::string(build_version()) +
                                      ", commit " + std::string(build_commit()));
  text += "<details>\n" + element("summary", "input files and their fingerprints") + "<ul>\n";
  for (const auto& [file, fingerprint] : files_)
    text += element("li", input_name(file, to_.asked.data) + " " + to_hex(fingerprint));
  return "<footer>\n" + text + "</ul>\n</details>\n</footer>\n";
}

void HtmlPage::finish() {
  to_.stream << provenance() << "</body>\n</html>\n";
  finish_stream(to_.stream);
}

}  // namespace draftline
