// The packed cache through the real services: a second start finds what the first one kept, and
// answers alike.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/launcher/service_binaries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PackedCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(::testing::TempDir(), "/", test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/model");
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string demo, FindDemoModel());
    // Links, not copies: the digest of files that have just changed is not kept.
    for (const fs::directory_entry& entry : fs::directory_iterator(demo)) {
      if (entry.is_regular_file())
        fs::create_symlink(fs::canonical(entry.path()),
                           folder_ + "/model/" + entry.path().filename().string());
    }
  }

  // Starts the services with the linked model. `choice` as of --packed_cache.
  std::unique_ptr<RunningServices> Start(const std::string& choice,
                                         const std::vector<std::string>& transformer_flags = {}) {
    ServiceFlags flags;
    for (const ServiceKind kind : {ServiceKind::kEmbedding, ServiceKind::kTransformer})
      flags[static_cast<int>(kind)] = {"--packed_cache=" + choice};
    auto& transformer = flags[static_cast<int>(ServiceKind::kTransformer)];
    transformer.insert(transformer.end(), transformer_flags.begin(), transformer_flags.end());
    auto services = RunningServices::Start(flags, folder_ + "/model");
    EXPECT_THAT(services, IsOk());
    return services.ok() ? *std::move(services) : nullptr;
  }

  static std::string Log(const RunningServices& services) {
    return services.LastLogLines(ServiceKind::kTransformer, 1000);
  }

  static std::vector<int32_t> Answer(RunningServices& services) {
    return services.Generate(GreedyRequest({1, 5, 9}, 30)).token_ids;
  }

  // Starts, and stops when the packed weights of `models` are on the disk. The answer, or nothing.
  std::vector<int32_t> FillCache(const std::vector<std::string>& transformer_flags = {},
                                 const std::vector<std::string>& models = {"model"}) {
    const std::unique_ptr<RunningServices> services = Start(cache(), transformer_flags);
    if (services == nullptr) return {};
    const std::vector<int32_t> answer = Answer(*services);
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    for (const std::string& model : models) {
      // The digest is read from the file where the embedding service has written that before.
      EXPECT_THAT(Log(*services), HasSubstr(absl::StrCat("of=", model, " from=checkpoint")));
      const std::string kept =
          absl::StrCat("event=\"packed weights kept for the next start\" of=", model, " ");
      // Serving goes on while the image is written.
      while (!absl::StrContains(Log(*services), kept) && absl::Now() < deadline)
        EXPECT_EQ(Answer(*services), answer);
      EXPECT_THAT(Log(*services), HasSubstr(kept));
    }
    return answer;
  }

  std::string cache() const { return folder_ + "/cache"; }
  std::string Image() const {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(cache()))
      if (entry.path().extension() == ".packed") return entry.path().string();
    return "";
  }

  std::string folder_;
};

TEST_F(PackedCacheTest, ASecondStartReadsWhatTheFirstOnePacked) {
  const std::vector<int32_t> first = FillCache();
  ASSERT_FALSE(first.empty());
  for (const char* const flag :
       {"--share_weights=off", "--share_weights=on", "--share_weights=auto"}) {
    const std::unique_ptr<RunningServices> services = Start(cache(), {flag});
    ASSERT_NE(services, nullptr);
    EXPECT_THAT(Log(*services),
                AllOf(HasSubstr("from=packed_cache"), HasSubstr("digest_from_file=true")));
    EXPECT_THAT(services->LastLogLines(ServiceKind::kEmbedding, 1000), HasSubstr("from_file=true"));
    EXPECT_EQ(Answer(*services), first);
  }
}

TEST_F(PackedCacheTest, ASecondStartReadsTheDraftModelToo) {
  fs::copy(folder_ + "/model", folder_ + "/draft");
  const std::string flag = absl::StrCat("--draft_model=", folder_, "/draft");
  const std::vector<int32_t> first = FillCache({flag}, {"model", "draft_model"});
  ASSERT_FALSE(first.empty());
  const std::unique_ptr<RunningServices> services = Start(cache(), {flag});
  ASSERT_NE(services, nullptr);
  EXPECT_THAT(Log(*services), AllOf(HasSubstr("of=model from=packed_cache"),
                                    HasSubstr("of=draft_model from=packed_cache")));
  EXPECT_EQ(Answer(*services), first);
}

TEST_F(PackedCacheTest, ADamagedImageIsPackedAnewAndSaidSo) {
  const std::vector<int32_t> first = FillCache();
  ASSERT_FALSE(first.empty());
  fs::resize_file(Image(), fs::file_size(Image()) - 1);
  const std::unique_ptr<RunningServices> services = Start(cache(), {"--verify_weights"});
  ASSERT_NE(services, nullptr);
  EXPECT_THAT(Log(*services),
              AllOf(HasSubstr("the packed image is not used"), HasSubstr("from=checkpoint"),
                    HasSubstr("digest_from_file=false")));
  EXPECT_EQ(Answer(*services), first);
}

TEST_F(PackedCacheTest, NothingIsWrittenForASmallModelUnlessAsked) {
  const std::unique_ptr<RunningServices> services = Start("auto");
  ASSERT_NE(services, nullptr);
  EXPECT_FALSE(Answer(*services).empty());
  EXPECT_FALSE(fs::exists(folder_ + "/model/.phyllo"));
  EXPECT_THAT(Log(*services), Not(HasSubstr("packed weights kept")));
}

TEST_F(PackedCacheTest, AFolderThatCannotBeWrittenIsAWarning) {
  const std::unique_ptr<RunningServices> services = Start("/proc/phyllo");
  ASSERT_NE(services, nullptr);
  EXPECT_FALSE(Answer(*services).empty());
  EXPECT_THAT(services->LastLogLines(ServiceKind::kTransformer, 1000),
              HasSubstr("trouble with the digest file"));
}

}  // namespace
}  // namespace phyllo
