// A GGUF file through the command line and the real services.
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"
#include "tests/integration/phyllo_program.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(120);

// stories260K, converted and quantised to Q8_0 by llama.cpp's tools.
constexpr char kModel[] = "tests/golden/data/gguf/stories260K.Q8_0.gguf";

struct Ended {
  std::string how;
  std::string out;
  std::string err;
};

Ended RunToTheEnd(const std::vector<std::string>& arguments) {
  auto program = PhylloProgram::Start(arguments);
  EXPECT_THAT(program, IsOk());
  if (!program.ok()) return {};
  const std::string how = (*program)->WaitForEnd(kLong);
  return {how, (*program)->out(), (*program)->err()};
}

// What llama.cpp (Debian's 0.7.0, llama-completion --temp 0) and transformers (5.12.1) write after
// the same prompt from the same file.
TEST(GgufRunTest, GreedyTextEqualsThatOfLlamaCpp) {
  const Ended run = RunToTheEnd({"run", kModel, "Once upon a time", "--temperature", "0",
                                 "--max-new-tokens", "100", "--precision", "f32"});
  EXPECT_EQ(run.how, "exit code 0") << run.err;
  EXPECT_EQ(run.out,
            ", there was a little girl named Lily. She loved to play outside in the park. One day, "
            "she saw a big, red ball. She wanted to play with it, but it was too high.\n"
            "Lily's mom said, \"Lily, let's go to the park.\" Lily was sad and didn't know what to "
            "do\n");
}

TEST(GgufInspectTest, ShowsTypesOfTheFile) {
  const Ended inspect = RunToTheEnd({"inspect", kModel, "--json"});
  EXPECT_EQ(inspect.how, "exit code 0") << inspect.err;
  const nlohmann::json summary = nlohmann::json::parse(inspect.out, nullptr, false);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["modules"][0]["name"], "embed_tokens");
  EXPECT_EQ(summary["modules"][0]["weight_type"], "Q8_0");
  EXPECT_EQ(summary["modules"][0]["weight_bytes"], 512 * 64 / 32 * 34);
  EXPECT_EQ(summary["modules"][1]["weight_type"], "F32");
}

TEST(GgufRunTest, AFileThatIsNoModelIsAModelError) {
  const Ended run = RunToTheEnd({"run", "tests/golden/data/gguf/block_types.safetensors", "x"});
  EXPECT_EQ(run.how, "exit code 4");
  EXPECT_THAT(run.err, HasSubstr("neither a model folder nor a GGUF file"));
}

}  // namespace
}  // namespace phyllo
