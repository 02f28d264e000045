// Columns of text for a terminal.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_TEXT_TABLE_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace phyllo {

// The first row is the header. Columns are as wide as their longest cell, two blanks apart,
// left-aligned; lines have no blanks at their end and each ends with a newline. Rows may be shorter
// than the header.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_TEXT_TABLE_H_
