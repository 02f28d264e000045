#include "model/transformer/transformer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/config/rope.h"
#include "model/onednn/linear_kernels.h"
#include "model/ops/attention.h"
#include "model/ops/simd_kernels.h"
#include "model/tensor/huge_page_arena.h"
#include "model/transformer/activations.h"
#include "model/transformer/decoder_layer.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/head/logits_head.h"
#include "model/transformer/layer_groups_of.h"
#include "model/transformer/row_blocks.h"

// Invariants: everything a step writes was sized by Load, so Forward and ComputeLogits allocate
// nothing; a step is checked whole before its first write, so a refused step leaves hidden_states
// and the pages as they were.

namespace phyllo {

struct Transformer::Impl {
  DecoderDescription description;
  TransformerOptions options;  // last_layer resolved, progress dropped
  ThreadPool* pool = nullptr;  // not null
  SimdKernels kernels = SimdKernels::ForThisCpu();
  DecoderWeights weights;
  std::vector<RopeFrequencies> ropes;  // of description.ropes
  std::unique_ptr<KvCache> kv_cache;

  HugePageArena arena;  // of all that follows
  Activations activations;
  std::optional<LogitsHead> logits_head;  // set if the weights have an LM head
  std::optional<LinearScratch> linear_scratch;
  std::optional<AttentionScratch> attention_scratch;
  std::vector<std::vector<SequenceSlice>> slices;  // [groups][max_rows], of the current step
  std::vector<float> length_frequencies;  // [widest rotary_dim / 2], of a sequence's length

  // The length up to which no rotation depends on the length of its sequence.
  int64_t rope_length_limit() const {
    int64_t limit = std::numeric_limits<int64_t>::max();
    for (const RopeFrequencies& rope : ropes) limit = std::min(limit, rope.length_limit());
    return limit;
  }
  int64_t max_positions() const {
    const bool unlimited = std::any_of(description.ropes.begin(), description.ropes.end(),
                                       [](const RopeDescription& rope) {
                                         return rope.parameters.rope_type == RopeType::kDynamic;
                                       });
    return unlimited ? std::numeric_limits<int32_t>::max() : description.max_position_embeddings;
  }
  absl::Status AllocateBuffers();
  absl::Status CheckStep(absl::Span<const StepSlice> step_slices,
                         MatrixView<const float> hidden_states) const;
  absl::Status CheckSlice(const StepSlice& slice, int64_t expected_row) const;
  absl::Status CheckGroups(const StepSlice& slice) const;
  absl::Status CheckRows(absl::Span<const int64_t> rows,
                         MatrixView<const float> hidden_states) const;
  void FillRotations(const StepSlice& slice, const RopeFrequencies& rope, const RopeRows& out);
  StepContext MakeContext(absl::Span<const SequenceSlice> step_slices,
                          const Activations& step_activations) {
    return {.kernels = kernels,
            .pool = *pool,
            .linear_scratch = *linear_scratch,
            .attention_scratch = *attention_scratch,
            .ropes = description.ropes,
            .slices = step_slices,
            .activations = step_activations};
  }
};

namespace {

absl::Status CheckOption(absl::string_view name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("transformer option ", name, " is ", value,
                                                 ", must be in [", low, ", ", high, "]"));
}

absl::Status CheckOptions(const TransformerOptions& options,
                          const DecoderDescription& description) {
  constexpr int64_t kMaxRows = int64_t{1} << 20;
  const int64_t num_hidden_layers = description.num_hidden_layers();
  PHYLLO_RETURN_IF_ERROR(CheckOption("last_layer", options.last_layer, 1, num_hidden_layers));
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("first_layer", options.first_layer, 0, options.last_layer - 1));
  PHYLLO_RETURN_IF_ERROR(CheckOption("max_rows", options.max_rows, 1, kMaxRows));
  PHYLLO_RETURN_IF_ERROR(CheckOption("max_logits_rows", options.max_logits_rows, 1, kMaxRows));
  constexpr int64_t kMaxPages = std::numeric_limits<int32_t>::max();
  for (const int64_t page_count : options.kv_page_counts)
    PHYLLO_RETURN_IF_ERROR(CheckOption("kv_page_counts", page_count, 1, kMaxPages));
  return CheckOption("kv_page_count", options.kv_page_count, 1, kMaxPages);
}

// What the description may say and this class does not compute.
absl::Status CheckSupported(const DecoderDescription& description) {
  if (static_cast<int64_t>(description.ropes.size()) > Activations::kMaxRopes) {
    return absl::UnimplementedError(absl::StrCat(description.ropes.size(), " ropes, at most ",
                                                 Activations::kMaxRopes, " are supported"));
  }
  const AttentionDescription& first = description.layers[0].attention;
  for (const LayerDescription& layer : description.layers) {
    if (layer.feed_forward.experts.has_value() && layer.residual == ResidualForm::kParallel)
      return absl::UnimplementedError("experts of parallel layers are not supported");
    if (layer.attention.num_key_value_heads != first.num_key_value_heads ||
        layer.attention.head_dim != first.head_dim)
      return absl::UnimplementedError("layers whose keys differ in size are not supported");
    if (layer.residual == ResidualForm::kParallel &&
        (layer.attention_output_norm || layer.feed_forward_output_norm))
      return absl::UnimplementedError("output norms of parallel layers are not supported");
  }
  return absl::OkStatus();
}

KvLayout LayoutOf(const DecoderDescription& description, const TransformerOptions& options) {
  const AttentionDescription& attention = description.layers[0].attention;
  return {.num_key_value_heads = attention.num_key_value_heads,
          .head_dim = attention.head_dim,
          .page_size = options.page_size,
          .precision = options.precision.kv_cache};
}

}  // namespace

absl::Status Transformer::Impl::AllocateBuffers() {
  const int num_workers = pool->num_threads();
  PHYLLO_ASSIGN_OR_RETURN(
      activations, Activations::Create(description, options.precision, options.max_rows, arena));
  PHYLLO_ASSIGN_OR_RETURN(linear_scratch, LinearScratch::Create(num_workers, arena));
  PHYLLO_ASSIGN_OR_RETURN(
      attention_scratch,
      AttentionScratch::Create(kv_cache->layout(), num_workers, options.max_rows, arena));
  if (weights.head.has_value() && weights.head->lm_head.has_value()) {
    PHYLLO_ASSIGN_OR_RETURN(logits_head, LogitsHead::Create(description,
                                                            {.precision = options.precision.lm_head,
                                                             .max_rows = options.max_logits_rows,
                                                             .num_workers = num_workers},
                                                            arena));
  }
  slices.assign(kv_cache->page_groups().size(), std::vector<SequenceSlice>(options.max_rows));
  for (const RopeFrequencies& rope : ropes) {
    length_frequencies.resize(
        std::max<size_t>(length_frequencies.size(), rope.inverse_frequencies().size()));
  }
  return absl::OkStatus();
}

absl::Status Transformer::Impl::CheckSlice(const StepSlice& slice, int64_t expected_row) const {
  if (slice.row_begin != expected_row || slice.row_count < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("slice of ", slice.row_count, " rows begins at row ", slice.row_begin,
                     ", must have at least one and begin at row ", expected_row));
  }
  if (slice.first_position < 0 || slice.prompt_length < 1) {
    return absl::InvalidArgumentError(absl::StrCat("first_position ", slice.first_position,
                                                   " must be at least 0 and ", "prompt_length ",
                                                   slice.prompt_length, " at least 1"));
  }
  const int64_t end = slice.first_position + slice.row_count;
  if (end > max_positions()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "position ", end - 1, " is beyond the model's last one, ", max_positions() - 1));
  }
  if (slice.pages == nullptr || slice.pages->page_size() != options.page_size ||
      slice.pages->token_capacity() < end) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the page table has room for ", slice.pages == nullptr ? 0 : slice.pages->token_capacity(),
        " tokens in pages of ", slice.pages == nullptr ? 0 : slice.pages->page_size(),
        ", needed are ", end, " in pages of ", options.page_size));
  }
  return CheckGroups(slice);
}

absl::Status Transformer::Impl::CheckGroups(const StepSlice& slice) const {
  const absl::Span<const KvPageGroup> groups = kv_cache->page_groups();
  if (slice.pages->group_count() != static_cast<int64_t>(groups.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the pages are of ", slice.pages->group_count(),
                                                   " groups of layers, the model has ",
                                                   groups.size()));
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t first =
        FirstVisiblePage(groups[i].window, slice.first_position, options.page_size);
    if (slice.pages->table(i).released_count() <= first) continue;
    return absl::InvalidArgumentError(absl::StrCat("page ", first, " was given back, position ",
                                                   slice.first_position, " still reads it"));
  }
  return absl::OkStatus();
}

absl::Status Transformer::Impl::CheckStep(absl::Span<const StepSlice> step_slices,
                                          MatrixView<const float> hidden_states) const {
  if (hidden_states.rows < 1 || hidden_states.rows > options.max_rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a step of ", hidden_states.rows, " rows, must be in [1, ", options.max_rows, "]"));
  }
  if (hidden_states.cols != description.hidden_size) {
    return absl::InvalidArgumentError(absl::StrCat("hidden_states has ", hidden_states.cols,
                                                   " columns, hidden_size is ",
                                                   description.hidden_size));
  }
  int64_t covered_rows = 0;
  for (const StepSlice& slice : step_slices) {
    PHYLLO_RETURN_IF_ERROR(CheckSlice(slice, covered_rows));
    covered_rows += slice.row_count;
  }
  if (covered_rows != hidden_states.rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the slices cover ", covered_rows, " rows, hidden_states has ", hidden_states.rows));
  }
  return absl::OkStatus();
}

absl::Status Transformer::Impl::CheckRows(absl::Span<const int64_t> rows,
                                          MatrixView<const float> hidden_states) const {
  if (hidden_states.cols != description.hidden_size) {
    return absl::InvalidArgumentError(absl::StrCat("hidden_states has ", hidden_states.cols,
                                                   " columns, hidden_size is ",
                                                   description.hidden_size));
  }
  for (const int64_t row : rows) {
    if (row < 0 || row >= hidden_states.rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, " must be in [0, ", hidden_states.rows, ")"));
    }
  }
  return absl::OkStatus();
}

void Transformer::Impl::FillRotations(const StepSlice& slice, const RopeFrequencies& rope,
                                      const RopeRows& out) {
  const auto fill_row = [&](int64_t i, absl::Span<const float> frequencies) {
    const int64_t row = slice.row_begin + i;
    ComputeRopeRow(frequencies, slice.first_position + i, rope.attention_factor(),
                   absl::MakeSpan(out.cos.Row(row), frequencies.size()),
                   absl::MakeSpan(out.sin.Row(row), frequencies.size()));
  };
  const auto length_of = [&](int64_t i) {
    return RopeFrequencies::RotationLength(slice.first_position + i, slice.prompt_length);
  };
  if (length_of(slice.row_count - 1) <= rope.length_limit()) {
    // A sine costs about as much as 16 multiplications, hence the weight of a column.
    ForEachRowBlock(*pool, slice.row_count, 16 * out.cos.cols, [&](int64_t begin, int64_t count) {
      for (int64_t i = begin; i < begin + count; ++i) fill_row(i, rope.inverse_frequencies());
    });
    return;
  }
  const absl::Span<float> frequencies =
      absl::MakeSpan(length_frequencies).first(rope.inverse_frequencies().size());
  for (int64_t i = 0; i < slice.row_count; ++i) {
    if (i == 0 || length_of(i) != length_of(i - 1)) rope.ForLength(length_of(i), frequencies);
    fill_row(i, frequencies);
  }
}

absl::StatusOr<std::unique_ptr<Transformer>> Transformer::Load(const ModelConfig& config,
                                                               const Checkpoint& checkpoint,
                                                               ThreadPool& thread_pool,
                                                               const TransformerOptions& options) {
  auto impl = std::make_unique<Impl>();
  PHYLLO_ASSIGN_OR_RETURN(impl->description, DescribeDecoder(config));
  const DecoderDescription& description = impl->description;
  impl->options = options;
  impl->options.progress = impl->options.image_progress = nullptr;
  impl->options.image = nullptr;
  if (options.last_layer == -1) impl->options.last_layer = description.num_hidden_layers();
  PHYLLO_RETURN_IF_ERROR(CheckOptions(impl->options, description));
  PHYLLO_RETURN_IF_ERROR(CheckSupported(description));
  impl->pool = &thread_pool;

  PHYLLO_ASSIGN_OR_RETURN(
      const KvLayerGroups groups,
      LayerGroupsOf(description, impl->options.first_layer, impl->options.last_layer));
  std::vector<int64_t> page_counts = options.kv_page_counts;
  if (page_counts.empty()) page_counts.assign(groups.group_count(), options.kv_page_count);
  PHYLLO_ASSIGN_OR_RETURN(impl->kv_cache,
                          KvCache::Create(LayoutOf(description, options), groups, page_counts));
  for (const RopeDescription& rope : description.ropes) {
    PHYLLO_ASSIGN_OR_RETURN(RopeFrequencies frequencies,
                            RopeFrequencies::Create(rope.parameters, rope.rotary_dim,
                                                    description.max_position_embeddings));
    impl->ropes.push_back(std::move(frequencies));
  }
  const DecoderWeightsOptions weights_options = {
      .precision = options.precision,
      .first_layer = impl->options.first_layer,
      .last_layer = impl->options.last_layer,
      .head = impl->options.last_layer == description.num_hidden_layers(),
      .progress = options.progress,
      .image = options.image,
      .image_progress = options.image_progress};
  PHYLLO_ASSIGN_OR_RETURN(
      impl->weights, DecoderWeights::Load(description, checkpoint, weights_options, thread_pool));
  PHYLLO_RETURN_IF_ERROR(impl->AllocateBuffers());
  return std::unique_ptr<Transformer>(new Transformer(std::move(impl)));
}

Transformer::Transformer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Transformer::~Transformer() = default;

absl::Status Transformer::Forward(absl::Span<const StepSlice> slices,
                                  MatrixView<float> hidden_states, const LayerObserver* observer) {
  PHYLLO_RETURN_IF_ERROR(impl_->CheckStep(slices, hidden_states));
  const Activations activations = impl_->activations.FirstRows(hidden_states.rows);
  for (size_t group = 0; group < impl_->slices.size(); ++group) {
    for (size_t i = 0; i < slices.size(); ++i) {
      impl_->slices[group][i] = {.row_begin = slices[i].row_begin,
                                 .row_count = slices[i].row_count,
                                 .first_position = slices[i].first_position,
                                 .page_table = slices[i].pages->table(group).page_ids()};
    }
  }
  for (const StepSlice& slice : slices) {
    for (size_t r = 0; r < impl_->ropes.size(); ++r)
      impl_->FillRotations(slice, impl_->ropes[r], activations.ropes[r]);
  }
  StepContext step = impl_->MakeContext({}, activations);
  for (size_t i = 0; i < impl_->weights.layers.size(); ++i) {
    step.slices =
        absl::MakeSpan(impl_->slices[impl_->kv_cache->group_of_layer(i)]).first(slices.size());
    RunDecoderLayer(step, impl_->weights.layers[i], impl_->kv_cache->layer(i), hidden_states);
    if (observer != nullptr) (*observer)(impl_->options.first_layer + i, hidden_states);
  }
  return absl::OkStatus();
}

absl::Status Transformer::ComputeLogits(absl::Span<const int64_t> rows,
                                        MatrixView<const float> hidden_states,
                                        absl::Span<LargestLogit> largest,
                                        MatrixView<float> logits) {
  if (!impl_->weights.head.has_value())
    return absl::FailedPreconditionError("the last layer is not loaded: no LM head");
  if (!impl_->logits_head.has_value())
    return absl::FailedPreconditionError("the model has no LM head");
  const int64_t row_count = static_cast<int64_t>(rows.size());
  if (row_count < 1 || row_count > impl_->options.max_logits_rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "logits of ", row_count, " rows, must be in [1, ", impl_->options.max_logits_rows, "]"));
  }
  const int64_t logits_rows = row_count - static_cast<int64_t>(largest.size());
  if (logits.rows != logits_rows || (logits_rows > 0 && logits.cols != description().vocab_size)) {
    return absl::InvalidArgumentError(absl::StrCat("logits [", logits.rows, ", ", logits.cols,
                                                   "] must be [", logits_rows, ", ",
                                                   description().vocab_size, "]"));
  }
  PHYLLO_RETURN_IF_ERROR(impl_->CheckRows(rows, hidden_states));
  impl_->logits_head->Compute(impl_->MakeContext({}, impl_->activations), *impl_->weights.head,
                              rows, hidden_states, largest, logits);
  return absl::OkStatus();
}

absl::Status Transformer::ApplyFinalNorm(absl::Span<const int64_t> rows,
                                         MatrixView<const float> hidden_states,
                                         MatrixView<float> out) {
  if (!impl_->weights.head.has_value())
    return absl::FailedPreconditionError("the last layer is not loaded: no final norm");
  const int64_t row_count = static_cast<int64_t>(rows.size());
  if (out.rows != row_count || out.cols != description().hidden_size) {
    return absl::InvalidArgumentError(absl::StrCat("final hidden states [", out.rows, ", ",
                                                   out.cols, "] must be [", row_count, ", ",
                                                   description().hidden_size, "]"));
  }
  PHYLLO_RETURN_IF_ERROR(impl_->CheckRows(rows, hidden_states));
  const StepContext step = impl_->MakeContext({}, impl_->activations);
  for (int64_t i = 0; i < row_count; ++i) {
    ApplyNorm(step, impl_->weights.head->final_norm, hidden_states.SubRows(rows[i], 1),
              out.SubRows(i, 1));
  }
  return absl::OkStatus();
}

int64_t Transformer::max_positions() const { return impl_->max_positions(); }

int64_t Transformer::ReusablePositions(int64_t prompt_length) const {
  const int64_t limit = impl_->rope_length_limit();
  return prompt_length <= limit ? std::min(limit, max_positions()) : 0;
}

int64_t Transformer::weight_bytes() const { return impl_->weights.arena.bytes(); }
const DecoderWeights& Transformer::weights() const { return impl_->weights; }
const DecoderDescription& Transformer::description() const { return impl_->description; }
KvCache& Transformer::kv_cache() { return *impl_->kv_cache; }

}  // namespace phyllo
