#include "clients/cli/terminal/line_reader.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

class LineReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(input_), 0);
    ASSERT_EQ(pipe(interrupt_), 0);
  }
  void TearDown() override {
    for (const int fd : {input_[0], input_[1], interrupt_[0], interrupt_[1]}) {
      if (fd >= 0) close(fd);
    }
  }
  static void Write(int fd, const std::string& text) {
    ASSERT_EQ(write(fd, text.data(), text.size()), text.size());
  }
  void EndInput() {
    close(input_[1]);
    input_[1] = -1;
  }

  int input_[2];
  int interrupt_[2];
};

TEST_F(LineReaderTest, ReadsLinesThatCameTogether) {
  Write(input_[1], "one\ntwo\n");
  LineReader reader(input_[0], interrupt_[0]);
  std::string line;
  ASSERT_EQ(reader.ReadLine(line), LineReader::Result::kLine);
  EXPECT_EQ(line, "one");
  ASSERT_EQ(reader.ReadLine(line), LineReader::Result::kLine);
  EXPECT_EQ(line, "two");
}

TEST_F(LineReaderTest, LastLineMayLackItsNewline) {
  Write(input_[1], "one\ntwo");
  EndInput();
  LineReader reader(input_[0], interrupt_[0]);
  std::string line;
  ASSERT_EQ(reader.ReadLine(line), LineReader::Result::kLine);
  ASSERT_EQ(reader.ReadLine(line), LineReader::Result::kLine);
  EXPECT_EQ(line, "two");
  EXPECT_EQ(reader.ReadLine(line), LineReader::Result::kEnd);
}

TEST_F(LineReaderTest, InterruptDropsWhatWasTyped) {
  Write(input_[1], "half");
  Write(interrupt_[1], "!");
  LineReader reader(input_[0], interrupt_[0]);
  std::string line = "old";
  EXPECT_EQ(reader.ReadLine(line), LineReader::Result::kInterrupted);
  EXPECT_EQ(line, "");
}

}  // namespace
}  // namespace phyllo
