#include "clients/launcher/service_binaries.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class ServiceBinariesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(folder_, TemporaryFolder::Create());
    setenv("PHYLLO_SERVICES_DIR", folder_->path().c_str(), 1);
  }
  void TearDown() override { unsetenv("PHYLLO_SERVICES_DIR"); }

  void MakeProgram(ServiceKind kind) {
    const std::string path = folder_->path() + "/" + std::string(ServiceName(kind));
    std::ofstream(path) << "#!/bin/sh\n";
    chmod(path.c_str(), 0700);
  }

  std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(ServiceBinariesTest, TakesTheConfiguredFolder) {
  for (const ServiceKind kind : kAllServiceKinds) MakeProgram(kind);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ServiceBinaries binaries, FindServiceBinaries());
  EXPECT_EQ(binaries[static_cast<int>(ServiceKind::kEmbedding)], folder_->path() + "/embedding");
}

TEST_F(ServiceBinariesTest, NamesAProgramMissingFromTheConfiguredFolder) {
  MakeProgram(ServiceKind::kTokenizer);
  EXPECT_THAT(FindServiceBinaries(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(folder_->path() + "/embedding")));
}

TEST_F(ServiceBinariesTest, FindsTheDemoModelAmongRunfiles) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string path, FindDemoModel());
  EXPECT_THAT(path, EndsWith("model/demo"));
}

}  // namespace
}  // namespace phyllo
