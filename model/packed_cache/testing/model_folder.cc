#include "model/packed_cache/testing/model_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

std::string WeightsPath(const std::string& folder) { return folder + "/model.safetensors"; }

// What stands before the bytes of the tensor.
std::string Header(int64_t size) {
  const std::string json =
      absl::StrCat(R"({"w":{"dtype":"U8","shape":[)", size, R"(],"data_offsets":[0,)", size, "]}}");
  const uint64_t json_size = json.size();
  return std::string(reinterpret_cast<const char*>(&json_size), sizeof(json_size)) + json;
}

}  // namespace

std::string NewTestFolder(absl::string_view name) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(), ".",
                                          test->name(), "/", name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void WriteWeights(const std::string& folder, int64_t size, char value) {
  WriteAll(WeightsPath(folder), Header(size) + std::string(static_cast<size_t>(size), value));
}

void WriteEmptyWeights(const std::string& folder, int64_t size) {
  WriteAll(WeightsPath(folder), Header(size));
  std::filesystem::resize_file(WeightsPath(folder), Header(size).size() + size);
}

void FlipBit(const std::string& path, int64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(offset);
  const char byte = static_cast<char>(file.get() ^ 1 << offset % 8);
  file.seekp(offset);
  file.put(byte);
}

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void WriteAll(const std::string& path, absl::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace phyllo
