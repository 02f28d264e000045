#ifndef PHYLLO_MODEL_OPS_SIMD_MATH_H_
#define PHYLLO_MODEL_OPS_SIMD_MATH_H_

// Elementary functions on sixteen lanes, for kernel sources (see simd_vector_v3.h).

#include PHYLLO_SIMD_VECTOR_HEADER

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {

// e^x within 2 units in the last place, subnormal results included; 0 for -inf, inf for inf, NaN
// for NaN. x = n ln 2 + r with |r| <= ln 2 / 2 (ln 2 in two parts: Cody and Waite 1980), e^r by its
// Taylor series to r^7 (remainder < 0.1 ulp).
inline Vec Exp(Vec x) {
  x = Max(Set(-105.0f), Min(Set(89.0f), x));  // in this order a NaN stays
  const Vec n = RoundToInteger(Mul(x, Set(1.44269504088896341f)));
  Vec r = NegMulAdd(n, Set(0.693359375f), x);
  r = NegMulAdd(n, Set(-2.12194440e-4f), r);
  Vec p = Set(1.0f / 5040.0f);
  p = MulAdd(p, r, Set(1.0f / 720.0f));
  p = MulAdd(p, r, Set(1.0f / 120.0f));
  p = MulAdd(p, r, Set(1.0f / 24.0f));
  p = MulAdd(p, r, Set(1.0f / 6.0f));
  p = MulAdd(p, r, Set(0.5f));
  p = MulAdd(p, r, Set(1.0f));
  p = MulAdd(p, r, Set(1.0f));
  return ScaleByPowerOfTwo(p, n);
}

// 1 / (1 + e^-x).
inline Vec Sigmoid(Vec x) { return Div(Set(1.0f), Add(Set(1.0f), Exp(Sub(Zero(), x)))); }

// Within 2 units in the last place. Below 0.625 x + x^3 P(x^2), P interpolating at Chebyshev points
// (error 6e-10); above (1 - e) / (1 + e) with e = e^(-2|x|), as 1 - 2 e / (1 + e).
inline Vec Tanh(Vec x) {
  const Vec u = Mul(x, x);
  Vec p = Set(0.0022927447495334043f);
  p = MulAdd(p, u, Set(-0.008343945439339728f));
  p = MulAdd(p, u, Set(0.02176891861843464f));
  p = MulAdd(p, u, Set(-0.05395925957093631f));
  p = MulAdd(p, u, Set(0.13333303556864082f));
  p = MulAdd(p, u, Set(-0.33333333172139085f));
  const Vec small = MulAdd(Mul(p, u), x, x);
  const Vec z = Abs(x);
  const Vec e = Exp(Mul(Set(-2.0f), z));
  const Vec large = Sub(Set(1.0f), Div(Add(e, e), Add(Set(1.0f), e)));
  const Vec magnitude = SelectLess(z, Set(0.625f), Abs(small), large);
  return SelectLess(x, Zero(), Sub(Zero(), magnitude), magnitude);
}

// cap * tanh(x / cap): x where it is small against cap, never beyond cap. Requires cap > 0.
inline Vec SoftCap(Vec x, Vec cap) { return Mul(cap, Tanh(Div(x, cap))); }

// The distribution function of the normal law, (1 + erf(x / sqrt 2)) / 2. With z = |x| / sqrt 2:
// erf z = z P(z^2) for z < 1, and erfc z = e^(-z^2) t R(t), t = 1 / (1 + z / 2), above; P and R
// interpolate at Chebyshev points (errors 1.4e-9 and 4.1e-9).
inline Vec NormalDistribution(Vec x) {
  const Vec z =
      Min(Set(10.0f), Abs(Mul(x, Set(0.70710678118654752f))));  // in this order a NaN stays
  const Vec u = Mul(z, z);
  Vec p = Set(7.875875050430342e-05f);
  p = MulAdd(p, u, Set(-0.0008016864283299621f));
  p = MulAdd(p, u, Set(0.0051890874229765785f));
  p = MulAdd(p, u, Set(-0.02685421201037881f));
  p = MulAdd(p, u, Set(0.11283594715154313f));
  p = MulAdd(p, u, Set(-0.3761262666671985f));
  p = MulAdd(p, u, Set(1.1283791658483509f));
  const Vec half_erf = Mul(Mul(Set(0.5f), z), p);
  const Vec t = Div(Set(1.0f), MulAdd(Set(0.5f), z, Set(1.0f)));
  Vec q = Set(-0.04202261602661836f);
  q = MulAdd(q, t, Set(0.23218919624535878f));
  q = MulAdd(q, t, Set(-0.4212049760489704f));
  q = MulAdd(q, t, Set(0.23452355545729792f));
  q = MulAdd(q, t, Set(-0.010840917195327779f));
  q = MulAdd(q, t, Set(0.19978967556649702f));
  q = MulAdd(q, t, Set(0.24325700124451013f));
  q = MulAdd(q, t, Set(0.28239988627029167f));
  q = MulAdd(q, t, Set(0.2820836464610307f));
  const Vec half_erfc = Mul(Mul(Mul(Set(0.5f), t), q), Exp(Sub(Zero(), u)));
  const Vec lower = SelectLess(z, Set(1.0f), Sub(Set(0.5f), half_erf), half_erfc);
  const Vec upper = SelectLess(z, Set(1.0f), Add(Set(0.5f), half_erf), Sub(Set(1.0f), half_erfc));
  return SelectLess(x, Zero(), lower, upper);
}

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_SIMD_MATH_H_
