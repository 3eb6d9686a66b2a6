// SPDX-License-Identifier: Apache-2.0
// A report as an HTML file (reports/page/page).
#pragma once
#include <string>
#include <vector>

#include "reports/page/page.h"

namespace draftline {

class HtmlPage : public Page {
 public:
  HtmlPage(const Output&, const std::string& title, const InputFiles&);
  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void say(const std::string& text) override;  // one that begins with "warning: " looks like one
  void show(const Table&) override;            // its first rows, and where all are in a format of the verb
  void show(const Chart&) override;
  void verdict(const std::string& answer, const std::vector<std::string>& more,
               const std::vector<std::string>& doubts) override;
  void command(const std::string& title, const std::string& line) override;
  void show(const Bars&) override;
  void show(const HeatMap&) override;
  void explorer(const std::string& grid) override;
  void is_replaced_by_explorer(bool) override;
  void finish() override;

 private:
  void put(const std::string& element);  // below what there is
  void put_figure(const std::string&);   // beside the figure before it, if there is room
  void put_heading(const std::string& element, const std::string& text);
  std::string contents() const;  // links to the headings of a long page; "" of a short one
  std::string provenance() const;

  const Output& to_;
  const std::string title_;
  const InputFiles& files_;
  SeriesStyles styles_, parts_;  // of charts; of bars
  std::string body_;
  bool in_figures_ = false, replaced_ = false, explores_ = false;
  struct Heading {
    std::string element, text;
  };
  std::vector<Heading> headings_;
};

}  // namespace draftline
