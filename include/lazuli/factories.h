#pragma once

/// @file
/// Tensors made of nothing. They record and allocate nothing: `zeros` of a terabyte is fine until
/// somebody reads it.

#include <optional>

#include "lazuli/tensor.h"

namespace lazuli {

/// Where and as what a new tensor is made; what is left out takes the default.
struct Make {
    std::optional<DType> dtype = {};    ///< Else the default of the function.
    std::optional<Device> device = {};  ///< Else the default device.
    /// The defaults.
    Make() = default;
    /// This element type on the default device.
    Make(DType dtype) : dtype(dtype) {}
    /// This element type on this device.
    Make(DType dtype, Device device) : dtype(dtype), device(device) {}
    /// The default element type on this device.
    Make(Device device) : device(device) {}
};

/// All elements have one value; the type is the value's default.
Tensor full(Shape shape, Scalar value, Make make = {});
/// All elements 0; f32.
Tensor zeros(Shape shape, Make make = {});
/// All elements 1; f32.
Tensor ones(Shape shape, Make make = {});
/// Elements of any value (on every backend so far: 0); f32.
Tensor empty(Shape shape, Make make = {});
/// Ones on the k-th diagonal, zeros elsewhere; f32. `columns` of -1 means as many as rows.
Tensor eye(Dim rows, Dim columns = -1, std::int64_t k = 0, Make make = {});
/// Ones up to the k-th diagonal, zeros above; f32. `columns` of -1 means as many as rows.
Tensor tri(Dim rows, Dim columns = -1, std::int64_t k = 0, Make make = {});
/// start, start + step, ... below stop; i64 where all three are integers, else f32.
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, Make make = {});
/// 0, 1, ... below stop.
Tensor arange(Scalar stop, Make make = {});
/// `count` evenly spaced numbers from start to stop, both included; f32.
Tensor linspace(double start, double stop, std::int64_t count, Make make = {});
/// base to the power of `count` evenly spaced numbers from start to stop; f32.
Tensor logspace(double start, double stop, std::int64_t count, double base = 10, Make make = {});
/// A number that is always passed to programs as a parameter: changing it never plans anew.
Tensor scalar(Scalar value, Make make = {});
/// As `full`, with the type and shape of another tensor.
Tensor full_like(const Tensor& like, Scalar value);
/// As `zeros`, with the type and shape of another tensor.
Tensor zeros_like(const Tensor& like);
/// As `ones`, with the type and shape of another tensor.
Tensor ones_like(const Tensor& like);
/// As `empty`, with the type and shape of another tensor.
Tensor empty_like(const Tensor& like);
/// A tensor of nested lists with a given element type.
inline Tensor tensor(const Tensor& values, DType dtype) {
    return dtype == values.dtype() ? values : values.cast(dtype);
}
/// A tensor of nested lists of double, with a given element type and without rounding to f32 first.
Tensor tensor(std::initializer_list<double> values, DType dtype);

/// A key for random tensors: equal seeds give equal numbers, on every backend.
Tensor key(std::uint64_t seed);
/// Sets the seed of the random tensors made without a key. Each such call then draws a key of its
/// own.
void manual_seed(std::uint64_t seed);
/// A key that no other call is given: what random tensors without a key draw.
Tensor next_key();
/// While it lives, what this thread draws without a key comes from this seed, from its first number
/// on: what was random is repeated by another scope of the same seed.
class SeedScope {
   public:
    /// Begins it.
    explicit SeedScope(std::uint64_t seed);
    ~SeedScope();
    SeedScope(const SeedScope&) = delete;
    SeedScope& operator=(const SeedScope&) = delete;

   private:
    std::uint64_t seed_;
    std::uint64_t drawn_ = 0;
    SeedScope* outer_;
    friend std::uint64_t draw_number();
};
/// Uniform in [0, 1); f32.
Tensor rand(Shape shape, Make make = {});
/// Uniform in [0, 1), from a key.
Tensor rand(const Tensor& key, Shape shape, Make make = {});
/// Normal; f32.
Tensor randn(Shape shape, Make make = {});
/// Normal, from a key.
Tensor randn(const Tensor& key, Shape shape, Make make = {});
/// Integers from low to below high; i64.
Tensor randint(std::int64_t low, std::int64_t high, Shape shape, Make make = {});
/// Integers from low to below high, from a key.
Tensor randint(const Tensor& key, std::int64_t low, std::int64_t high, Shape shape, Make make = {});

}  // namespace lazuli
