// All supported families. A new one is a file here, and a line in each of the two lists.
#ifndef PHYLLO_MODEL_CONFIG_FAMILIES_FAMILIES_H_
#define PHYLLO_MODEL_CONFIG_FAMILIES_FAMILIES_H_

#include "model/config/families/family.h"

namespace phyllo {

extern const Family kCohere;
extern const Family kGemma;
extern const Family kGemma2;
extern const Family kGemma3Text;
extern const Family kGpt2;
extern const Family kGptNeox;
extern const Family kGranite;
extern const Family kLlama;
extern const Family kMinimind;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kOlmo2;
extern const Family kPhi3;
extern const Family kQwen2;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kSmolLm3;
extern const Family kStableLm;

inline constexpr const Family* kFamilies[] = {
    &kCohere,  &kGemma, &kGemma2,   &kGemma3Text, &kGpt2,    &kGptNeox,
    &kGranite, &kLlama, &kMinimind, &kMistral,    &kMixtral, &kOlmo2,
    &kPhi3,    &kQwen2, &kQwen3,    &kQwen3Moe,   &kSmolLm3, &kStableLm,
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_FAMILIES_FAMILIES_H_
