// Sizes for people.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_BYTE_COUNT_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_BYTE_COUNT_H_

#include <cstdint>
#include <string>

namespace phyllo {

// "512 B", "1.5 KiB", "2.0 GiB"; `bytes` is at least 0.
std::string FormatByteCount(int64_t bytes);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_BYTE_COUNT_H_
