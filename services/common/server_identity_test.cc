#include "services/common/server_identity.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

common::v1::ServerInfo InfoWithWeights(const std::string& digest) {
  common::v1::ServerInfo info;
  info.set_proto_version_major(1);
  info.mutable_fingerprint()->set_weights_sha256(digest);
  return info;
}

TEST(ServerIdentityTest, AcceptsPairWhenCommonFieldsAgree) {
  common::v1::ServerInfo embedding = InfoWithWeights("w");
  common::v1::ServerInfo transformer = InfoWithWeights("w");
  transformer.mutable_fingerprint()->set_tokenizer_sha256("t");
  PHYLLO_EXPECT_OK(CheckSameModel("embedding", embedding, "transformer", transformer));
}

TEST(ServerIdentityTest, NamesBothSidesAndFieldWhenDigestsDiffer) {
  const absl::Status status = CheckSameModel("embedding at a:1", InfoWithWeights("w"),
                                             "transformer at b:2", InfoWithWeights("v"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("embedding at a:1"), HasSubstr("transformer at b:2"),
                                     HasSubstr("weights_sha256"))));
  EXPECT_EQ(GetReason(status)->reason, "FINGERPRINT_MISMATCH");
}

TEST(ServerIdentityTest, RejectsPairWhenMajorProtoVersionsDiffer) {
  common::v1::ServerInfo newer = InfoWithWeights("w");
  newer.set_proto_version_major(2);
  EXPECT_THAT(CheckSameModel("a", InfoWithWeights("w"), "b", newer),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("proto_version_major")));
}

TEST(ServerIdentityTest, FingerprintsFilesThatExist) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/config.json") << "abc";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const common::v1::ModelFingerprint fingerprint,
                              FingerprintFolder(folder));
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(fingerprint.config_sha256(),
            DigestBytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  EXPECT_FALSE(fingerprint.has_tokenizer_sha256());
}

TEST(ServerIdentityTest, ReturnsNotFoundWithoutConfig) {
  EXPECT_THAT(FingerprintFolder("/nonexistent"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(ServerIdentityTest, TakesModelNameFromFolderWhenUnset) {
  EXPECT_EQ(ModelName("", "/models/tiny/"), "tiny");
  EXPECT_EQ(ModelName("mine", "/models/tiny/"), "mine");
}

TEST(ServerIdentityTest, RejectsTextThatIsNoDigest) {
  EXPECT_EQ(DigestBytes("abc"), "");
  EXPECT_EQ(DigestBytes(std::string(64, 'g')), "");
}

}  // namespace
}  // namespace phyllo
