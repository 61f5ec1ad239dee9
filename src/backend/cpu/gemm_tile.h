#pragma once

// The kernels that products of matrices are made of: a tile of sums in registers, and the panels
// that it reads.

#include <cstdint>

namespace lazuli::cpu {

/// A kernel and the tile that it computes: result (+)= a b, where a is a panel of `rows` rows, b
/// one of `columns` columns, both packed so that what belongs to one place of the sum lies
/// together.
template <class T>
struct Tile {
    int rows;
    int columns;
    void (*multiply)(std::int64_t k, const T* a, const T* b, T* result, std::int64_t stride,
                     bool adds);
};

/// The tile for this processor.
Tile<float> choose_tile();

/// Packs `count` rows or columns, `width` to a panel, `depth` elements each; what is missing of the
/// last panel is 0. `across` is the step from one row or column to the next, `along` within it.
template <class T, class From>
void pack(const From* from, std::int64_t across, std::int64_t along, std::int64_t count,
          std::int64_t depth, int width, T* to);

/// Bits of the vectors that tiles are made of: 512, 256 or 128.
int tile_width();

}  // namespace lazuli::cpu
