#include "backend/cpu/dnn_product.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/dnn_library.h"
#include "runtime/pool.h"

namespace lazuli::cpu {

namespace {

// Pieces of the result: b is laid out a piece of columns at a time, and each is then multiplied by
// pieces of rows.
constexpr std::int64_t kColumnPieces = 4;
constexpr std::int64_t kColumns = 64;  // of a piece, at least
constexpr std::int64_t kRows = 128;

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

struct DnnProduct::Impl {
    struct Piece {
        void* product = nullptr;
        LazuliDnnNeeds needs{};
        std::int64_t row = 0, column = 0;
        std::size_t columns = 0;  // which piece of columns it belongs to
    };
    std::vector<Piece> pieces;
    std::vector<std::size_t> first;    // piece of each piece of columns
    std::vector<std::size_t> offsets;  // of each piece of columns in what is laid out
    std::size_t laid_out_bytes = 0;
    std::size_t scratch_bytes = 0;
    std::int64_t operand_size = 4;  // of an element
    std::int64_t result_size = 4;
    std::int64_t n = 0;
    std::int64_t a_row = 0, b_column = 0;  // elements from one to the next

    ~Impl() {
        for (const Piece& piece : pieces) dnn_library()->drop_product(piece.product);
    }
};

DnnProduct::~DnnProduct() = default;

std::unique_ptr<DnnProduct> DnnProduct::make(const plan::Contraction& c, DType dtype) {
    if (c.windows || dnn_library() == nullptr) return nullptr;
    const auto types = dnn_types(c.left, c.right, dtype, c.depth.size);
    if (!types) return nullptr;
    std::unique_ptr<DnnProduct> out(new DnnProduct);
    out->impl_ = std::make_unique<Impl>();
    Impl& impl = *out->impl_;
    impl.operand_size = static_cast<std::int64_t>(size_of(c.left.dtype));
    impl.result_size = static_cast<std::int64_t>(size_of(dtype));
    impl.n = c.columns.size;
    impl.a_row = c.rows.left;
    impl.b_column = c.columns.right;
    const std::int64_t m = c.rows.size;
    const std::int64_t width =
        std::max(kColumns, (impl.n / kColumnPieces + kColumns - 1) / kColumns * kColumns);
    for (std::int64_t column = 0; column < impl.n; column += width) {
        impl.first.push_back(impl.pieces.size());
        for (std::int64_t row = 0; row < m; row += kRows) {
            const LazuliDnnProduct wanted{
                .m = std::min(kRows, m - row),
                .n = std::min(width, impl.n - column),
                .k = c.depth.size,
                .a_strides = {c.rows.left, c.depth.left},
                .b_strides = {c.depth.right, c.columns.right},
                .result_stride = impl.n,
                .a_type = types->left,
                .b_type = types->right,
                .result_type = types->result,
            };
            Impl::Piece piece{.row = row, .column = column, .columns = impl.first.size() - 1};
            const void* like = row == 0 ? nullptr : impl.pieces[impl.first.back()].product;
            piece.product = dnn_library()->product(&wanted, like, &piece.needs);
            if (piece.product == nullptr) return nullptr;
            impl.scratch_bytes = std::max(impl.scratch_bytes, piece.needs.scratch_bytes);
            impl.pieces.push_back(piece);
        }
        impl.offsets.push_back(impl.laid_out_bytes);
        impl.laid_out_bytes += rounded(impl.pieces[impl.first.back()].needs.weight_bytes);
    }
    return out;
}

void DnnProduct::run(const void* left, const void* right, void* result) const {
    const BufferPtr laid_out =
        allocate_host(Device(), std::max<std::size_t>(impl_->laid_out_bytes, 64));
    struct Call {
        const Impl& impl;
        const char* left;
        const char* right;
        char* result;
        char* laid_out;

        LazuliDnnMemory memory(const Impl::Piece& piece) const {
            LazuliDnnMemory m{};
            m.x = left + piece.row * impl.a_row * impl.operand_size;
            m.w = right + piece.column * impl.b_column * impl.operand_size;
            m.y = result + (piece.row * impl.n + piece.column) * impl.result_size;
            m.weights = laid_out + impl.offsets[piece.columns];
            return m;
        }
    } call{*impl_, static_cast<const char*>(left), static_cast<const char*>(right),
           static_cast<char*>(result), static_cast<char*>(laid_out->host_mutable())};
    runtime::share_out(
        static_cast<std::int64_t>(impl_->first.size()), 1,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Call& c = *static_cast<Call*>(data);
            for (std::int64_t i = begin; i < end; ++i) {
                const Impl::Piece& piece = c.impl.pieces[c.impl.first[static_cast<std::size_t>(i)]];
                const LazuliDnnMemory m = c.memory(piece);
                dnn_library()->lay_out_b(piece.product, &m);
            }
        },
        &call);
    runtime::share_out(
        static_cast<std::int64_t>(impl_->pieces.size()), 1,
        [](void* data, std::int64_t begin, std::int64_t end) {
            const Call& c = *static_cast<Call*>(data);
            const BufferPtr scratch =
                allocate_host(Device(), std::max<std::size_t>(c.impl.scratch_bytes, 64));
            for (std::int64_t i = begin; i < end; ++i) {
                const Impl::Piece& piece = c.impl.pieces[static_cast<std::size_t>(i)];
                LazuliDnnMemory m = c.memory(piece);
                m.scratch = scratch->host_mutable();
                dnn_library()->multiply(piece.product, &m);
            }
        },
        &call);
}

}  // namespace lazuli::cpu
