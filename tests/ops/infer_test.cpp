// Types, shapes and refusals, op by op. Each refusal is checked to the letter: the message is what
// a user sees.

#include <gtest/gtest.h>

#include "lazuli/error.h"
#include "lazuli/op.h"

namespace lazuli {
namespace {

using Specs = std::vector<TensorSpec>;
using Attributes = std::vector<Attribute>;

std::string result(std::string_view op, const Specs& inputs, const Attributes& attrs = {},
                   const TensorSpec* wanted = nullptr) {
    try {
        return infer(op, inputs, attrs, wanted).str();
    } catch (const Error& e) {
        return e.what();
    }
}

TEST(Infer, Elementwise) {
    EXPECT_EQ(result("add", {{f32, {2, 1}}, {f32, {3}}}), "f32[2, 3]");
    EXPECT_EQ(result("add", {{f32, {2}}, {f16, {2}}}),
              "add: operands have different types: f32[2] and f16[2]");
    EXPECT_EQ(result("add", {{DType::boolean, {2}}, {DType::boolean, {2}}}),
              "add: does not take bool[2], bool[2] (takes i8, i16, i32, i64, u8, u16, u32, u64, "
              "f16, bf16, f32, f64, c64, c128)");
    EXPECT_EQ(result("add", {{f32, {2}}}), "add: takes 2 operands, 1 given");
    EXPECT_EQ(result("abs", {{c64, {2}}}), "f32[2]");
    EXPECT_EQ(result("abs", {{c128, {2}}}), "f64[2]");
    EXPECT_EQ(result("lt", {{i8, {2}}, {i8, {2}}}), "bool[2]");
    EXPECT_EQ(result("lt", {{c64, {2}}, {c64, {2}}}),
              "lt: does not take c64[2], c64[2] (takes bool, i8, i16, i32, i64, u8, u16, u32, u64, "
              "f16, bf16, f32, f64)");
    EXPECT_EQ(result("select", {{DType::boolean, {2, 1}}, {i8, {3}}, {i8, {}}}), "i8[2, 3]");
    EXPECT_EQ(result("select", {{f32, {2}}, {i8, {2}}, {i8, {2}}}),
              "select: the condition is f32[2], not bool");
    const TensorSpec wanted{i8, {2}};
    EXPECT_EQ(result("cast", {{f32, {2}}}, {}, &wanted), "i8[2]");
    EXPECT_EQ(result("cast", {{f32, {3}}}, {}, &wanted),
              "cast: f32[3] cannot become i8[2]: the shape differs");
    EXPECT_EQ(result("cast", {{f32, {3}}}), "cast: the result's type and shape must be given");
}

TEST(Infer, Reduction) {
    EXPECT_EQ(result("sum", {{i8, {2, 3}}}, {Ints{1}, false}), "i64[2]");
    EXPECT_EQ(result("sum", {{u8, {2, 3}}}, {Ints{0, 1}, true}), "u64[1, 1]");
    EXPECT_EQ(result("sum", {{DType::boolean, {2}}}, {Ints{0}, false}), "i64[]");
    EXPECT_EQ(result("max", {{f32, {0, 3}}}, {Ints{0}, false}),
              "max: no value over an empty axis: f32[0, 3], axes [0]");
    EXPECT_EQ(result("max", {{f32, {0, 3}}}, {Ints{1}, false}), "f32[0]");
    EXPECT_EQ(result("sum", {{f32, {2}}}, {Ints{1}, false}),
              "sum: axis 1 is out of range for [2] (rank 1)");
    EXPECT_EQ(result("sum", {{f32, {2, 3}}}, {Ints{1, 0}, false}),
              "sum: axes [1, 0] are not ascending");
    EXPECT_EQ(result("argmax", {{f32, {2, 3}}}, {Ints{1}, false}), "i64[2]");
    EXPECT_EQ(result("mean", {{i32, {2}}}, {Ints{0}, false}),
              "mean: does not take i32[2] (takes f16, bf16, f32, f64, c64, c128)");
}

TEST(Infer, MoreReductions) {
    EXPECT_EQ(result("min", {{f32, {0, 3}}}, {Ints{0}, false}),
              "min: no value over an empty axis: f32[0, 3], axes [0]");
    EXPECT_EQ(result("argmin", {{u8, {2, 3}}}, {Ints{0, 1}, true}), "i64[1, 1]");
    EXPECT_EQ(result("prod", {{i8, {2, 3}}}, {Ints{1}, false}), "i64[2]");
    EXPECT_EQ(result("prod", {{u16, {2, 3}}}, {Ints{1}, false}), "u64[2]");
    EXPECT_EQ(result("any", {{c64, {2, 3}}}, {Ints{1}, false}), "bool[2]");
    EXPECT_EQ(result("all", {{f32, {0, 3}}}, {Ints{0}, false}), "bool[3]");
    EXPECT_EQ(result("var", {{c64, {2, 3}}}, {Ints{1}, false, 0.0}), "f32[2]");
    EXPECT_EQ(result("std", {{i8, {2}}}, {Ints{0}, false, 0.0}),
              "std: does not take i8[2] (takes f16, bf16, f32, f64, c64, c128)");
    EXPECT_EQ(result("logsumexp", {{c64, {2}}}, {Ints{0}, false}),
              "logsumexp: does not take c64[2] (takes f16, bf16, f32, f64)");
    EXPECT_EQ(result("count_nonzero", {{f16, {2, 3}}}, {Ints{0}, true}), "i64[1, 3]");
}

TEST(Infer, MoreElementwise) {
    EXPECT_EQ(result("popcount", {{i64, {2}}}), "u8[2]");
    EXPECT_EQ(result("popcount", {{f32, {2}}}),
              "popcount: does not take f32[2] (takes i8, i16, i32, i64, u8, u16, u32, u64)");
    EXPECT_EQ(result("real", {{c128, {2}}}), "f64[2]");
    EXPECT_EQ(result("imag", {{DType::boolean, {2}}}), "bool[2]");
    EXPECT_EQ(result("conj", {{c64, {2}}}), "c64[2]");
    EXPECT_EQ(result("clamp", {{i8, {2, 1}}, {i8, {3}}, {i8, {}}}), "i8[2, 3]");
    EXPECT_EQ(result("clamp", {{c64, {2}}, {c64, {}}, {c64, {}}}),
              "clamp: does not take c64[2], c64[], c64[] (takes i8, i16, i32, i64, u8, u16, u32, "
              "u64, f16, bf16, f32, f64)");
    EXPECT_EQ(result("fmod", {{i32, {2}}, {i32, {2}}}), "i32[2]");
}

TEST(Infer, Distributions) {
    const TensorSpec key{u64, {}};
    TensorSpec wanted{DType::boolean, {2, 3}};
    EXPECT_EQ(result("random_bernoulli", {key}, {0.5}, &wanted), "bool[2, 3]");
    EXPECT_EQ(result("random_bernoulli", {key}, {-0.5}, &wanted),
              "random_bernoulli: -0.5 is not a probability, from 0 to 1");
    EXPECT_EQ(result("random_bernoulli", {{u64, {2}}}, {0.5}, &wanted),
              "random_bernoulli: a key is one number, u64[], not u64[2]");
    EXPECT_EQ(result("random_gumbel", {key}, {}, &wanted),
              "random_gumbel: does not make bool[2, 3]");
    EXPECT_EQ(result("random_categorical", {key, {f32, {2, 3}}}, {std::int64_t{0}}), "i64[3]");
    EXPECT_EQ(result("random_categorical", {key, {f32, {2, 0}}}, {std::int64_t{1}}),
              "random_categorical: nothing to choose from along axis 1 of f32[2, 0]");
    EXPECT_EQ(result("random_permutation", {key}, {std::int64_t{5}}), "i64[5]");
    EXPECT_EQ(result("random_permutation", {key}, {std::int64_t{-5}}),
              "random_permutation: -5 is not a number of elements");
}

TEST(Infer, Movement) {
    TensorSpec wanted{f32, {3, -1}};
    EXPECT_EQ(result("reshape", {{f32, {2, 6}}}, {}, &wanted), "f32[3, 4]");
    wanted.shape = {5, -1};
    EXPECT_EQ(result("reshape", {{f32, {2, 6}}}, {}, &wanted),
              "reshape: [2, 6] does not fit [5, -1]: 12 elements do not divide into 5");
    wanted.shape = {5, 2};
    EXPECT_EQ(result("reshape", {{f32, {2, 6}}}, {}, &wanted),
              "reshape: [2, 6] does not fit [5, 2]: 12 elements against 10");
    wanted.shape = {-1, -1};
    EXPECT_EQ(
        result("reshape", {{f32, {2, 6}}}, {}, &wanted),
        "reshape: [2, 6] does not fit [-1, -1]: only one size may be -1 and none may be less");
    wanted.shape = {2, 3};
    EXPECT_EQ(result("broadcast_to", {{f32, {2}}}, {}, &wanted),
              "broadcast_to: [2] does not broadcast to [2, 3]");
    EXPECT_EQ(result("broadcast_to", {{f32, {2, 1}}}, {}, &wanted), "f32[2, 3]");
    EXPECT_EQ(result("permute", {{f32, {2, 3}}}, {Ints{1, 1}}),
              "permute: [1, 1] is not an order of the axes of [2, 3]");
    EXPECT_EQ(result("permute", {{f32, {2, 3}}}, {Ints{0}}),
              "permute: [0] is not an order of the axes of [2, 3]");
    EXPECT_EQ(result("slice", {{f32, {5}}}, {Ints{4}, Ints{3}, Ints{-2}}), "f32[3]");
    EXPECT_EQ(result("slice", {{f32, {5}}}, {Ints{4}, Ints{4}, Ints{-2}}),
              "slice: starts [4], sizes [4], steps [-2] of [5]: dimension 0 is left");
    EXPECT_EQ(result("slice", {{f32, {5}}}, {Ints{0}, Ints{2}, Ints{0}}),
              "slice: step 0 in dimension 0 of [5] (steps [0])");
    EXPECT_EQ(
        result("slice", {{f32, {5}}}, {Ints{0}, Ints{2}, Ints{INT64_MAX}}),
        "slice: starts [0], sizes [2], steps [9223372036854775807] of [5]: dimension 0 is left");
    EXPECT_EQ(result("concat", {{f32, {2, 3}}, {f32, {2, 1}}}, {std::int64_t{1}}), "f32[2, 4]");
    EXPECT_EQ(
        result("concat", {{f32, {2, 3}}, {f32, {1, 3}}}, {std::int64_t{1}}),
        "concat: f32[2, 3] and f32[1, 3] differ in dimension 0 (2 vs 1), which is not axis 1");
    EXPECT_EQ(result("concat", {{f32, {2, 3}}, {f32, {2}}}, {std::int64_t{0}}),
              "concat: f32[2, 3] and f32[2] differ in rank (2 vs 1)");
    EXPECT_EQ(result("concat", {{f32, {}}}, {std::int64_t{0}}),
              "concat: axis 0 is out of range for [] (rank 0)");
}

TEST(Infer, Contraction) {
    const Attributes plain{Ints{1}, Ints{0}, Ints{}, Ints{}};
    EXPECT_EQ(result("dot_general", {{f32, {2, 3}}, {f32, {3, 4}}}, plain), "f32[2, 4]");
    EXPECT_EQ(result("dot_general", {{f32, {2, 3}}, {f32, {5, 4}}}, plain),
              "dot_general: contracted dimensions differ: [2, 3] and [5, 4] (3 vs 5)");
    EXPECT_EQ(result("dot_general", {{f32, {2, 3}}, {f32, {3, 4}}},
                     {Ints{1, 1}, Ints{0, 1}, Ints{}, Ints{}}),
              "dot_general: axis 1 of [2, 3] stands twice");
    EXPECT_EQ(
        result("dot_general", {{f32, {2, 3}}, {f32, {3, 4}}}, {Ints{1}, Ints{}, Ints{}, Ints{}}),
        "dot_general: axes come in pairs: contract [1] x [], batch [] x []");
    const Attributes none{std::string("none")};
    EXPECT_EQ(result("matmul", {{f32, {2, 3}}, {f32, {4, 5}}}, none),
              "matmul: inner dimensions differ: [2, 3] @ [4, 5] (3 vs 4)");
    EXPECT_EQ(result("matmul", {{f32, {3}}, {f32, {3}}}, none), "f32[]");
    EXPECT_EQ(result("matmul", {{f32, {2, 1, 4, 3}}, {f32, {5, 3, 2}}}, none), "f32[2, 5, 4, 2]");
    EXPECT_EQ(result("matmul", {{f32, {2, 4, 3}}, {f32, {5, 3, 2}}}, none),
              "matmul: batches do not broadcast: [2, 4, 3], [5, 3, 2] ([2] and [5])");
    EXPECT_EQ(result("matmul", {{f32, {}}, {f32, {3}}}, none),
              "matmul: needs at least one dimension each: [] @ [3]");
    EXPECT_EQ(result("matmul", {{f32, {3}}, {f32, {3}}}, {std::string("swish")}),
              "matmul: activation is one of none, relu, sigmoid, tanh, gelu, not 'swish'");
    EXPECT_EQ(result("matmul", {{i32, {3}}, {i32, {3}}}, {std::string("gelu")}),
              "matmul: the activation gelu does not take i32[3]");
    EXPECT_EQ(result("matmul_bias", {{f32, {2, 3}}, {f32, {3, 4}}, {f32, {5}}}, none),
              "matmul_bias: the bias [5] does not broadcast to the product [2, 4] of [2, 3] @ [3, "
              "4]");
    EXPECT_EQ(result("matmul_bias", {{f32, {2, 3}}, {f32, {3, 4}}, {f32, {7, 2, 4}}}, none),
              "matmul_bias: the bias [7, 2, 4] does not broadcast to the product [2, 4] of [2, 3] "
              "@ [3, 4]");
    EXPECT_EQ(result("layer_norm", {{f32, {2, 3}}, {f32, {3}}, {f32, {2}}}, {1e-5}),
              "layer_norm: the bias has the size of the last axis, [3]; given [2] for [2, 3]");
    EXPECT_EQ(result("lora", {{f32, {2, 6}}, {f32, {6, 4}}, {f32, {6, 2}}, {f32, {3, 4}}}, {1.0}),
              "lora: needs x of [..., k], w of [k, n], a of [k, rank] and b of [rank, n]: f32[2, "
              "6], f32[6, 4], f32[6, 2], f32[3, 4]");
}

TEST(Infer, IndexAndRandom) {
    EXPECT_EQ(result("gather", {{f16, {4, 3}}, {i32, {2, 2}}}, {std::int64_t{0}}), "f16[2, 2, 3]");
    EXPECT_EQ(result("gather", {{f16, {4, 3}}, {f32, {2}}}, {std::int64_t{0}}),
              "gather: does not take f32[2] (takes i8, i16, i32, i64, u8, u16, u32, u64)");
    EXPECT_EQ(result("gather", {{f16, {4, 3}}, {i32, {2}}}, {std::int64_t{2}}),
              "gather: axis 2 is out of range for [4, 3] (rank 2)");
    TensorSpec wanted{f32, {2}};
    EXPECT_EQ(result("random_uniform", {{u64, {}}}, {}, &wanted), "f32[2]");
    EXPECT_EQ(result("random_uniform", {{u64, {2}}}, {}, &wanted),
              "random_uniform: a key is one number, u64[], not u64[2]");
    EXPECT_EQ(result("random_uniform", {{i64, {}}}, {}, &wanted),
              "random_uniform: does not take i64[] (takes u64)");
    wanted.dtype = i32;
    EXPECT_EQ(result("random_uniform", {{u64, {}}}, {}, &wanted),
              "random_uniform: does not make i32[2]");
    EXPECT_EQ(result("custom_call", {}, {std::string("nobody")}, &wanted),
              "custom_call: no function named 'nobody' is registered");
    wanted.shape = {INT64_MAX, 2};
    EXPECT_EQ(result("random_bits", {{u64, {}}}, {}, &wanted),
              "[9223372036854775807, 2] has more than 2^63 - 1 elements");
}

}  // namespace
}  // namespace lazuli
