#include "cli/context.h"

#include <ostream>

#include "report/table.h"

namespace memqos::cli {

int complain(Context& context, int status, std::string_view sentence) {
  context.streams.err << "memqos-agent: " << report::printable(sentence) << '\n';
  return status;
}

int print(Context& context, Output output, const document::Node& body, const std::function<std::string()>& text,
          int status) {
  std::ostream& out = context.streams.out;
  switch (output) {
    case Output::table:
      out << text();
      break;
    case Output::json:
      out << document::dumpJson(body, 2) << '\n';
      break;
    case Output::yaml:
      out << document::dumpYaml(body);
      break;
  }
  if (!out.flush()) return complain(context, kUserError, "standard output cannot be written");
  return status;
}

}  // namespace memqos::cli
