// SPDX-License-Identifier: Apache-2.0
// A report as an HTML file (reports/page/page).
#pragma once
#include "reports/page/page.h"

namespace draftline {

class HtmlPage : public Page {
 public:
  HtmlPage(const Output&, const std::string& title, const InputFiles&);
  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void say(const std::string& text) override;  // one that begins with "warning: " looks like one
  void show(const Table&) override;
  void show(const Chart&) override;
  void finish() override;

 private:
  std::string provenance() const;

  const Output& to_;
  const InputFiles& files_;
  SeriesStyles styles_;
};

}  // namespace draftline
