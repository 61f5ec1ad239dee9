#include "onednn/library.h"

#include <cpuid.h>
#include <omp.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

namespace {

using dnnl::memory;

/// Where a processor has tile registers but does not say how large they are, as in some virtual
/// machines, the library's code for them is broken: then it does without.
void leave_out_broken_tiles() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & (1U << 24)) == 0) return;
    const bool described = __get_cpuid_count(0x1d, 1, &a, &b, &c, &d) != 0 && b != 0;
    if (!described) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
}

dnnl::engine& engine() {
    static dnnl::engine& made = *[] {
        leave_out_broken_tiles();
        return new dnnl::engine(dnnl::engine::kind::cpu, 0);
    }();
    return made;
}

/// The calling thread works alone while this lives: threads are the caller's business, and what it
/// told OpenMP before holds again behind it.
class Alone {
   public:
    Alone() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
    ~Alone() { omp_set_num_threads(before_); }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    int before_;
};

dnnl::stream& stream() {
    static thread_local dnnl::stream made(engine());
    return made;
}

memory::data_type type_of(LazuliDnnType type) {
    switch (type) {
        case LAZULI_DNN_BF16: return memory::data_type::bf16;
        case LAZULI_DNN_I8: return memory::data_type::s8;
        case LAZULI_DNN_U8: return memory::data_type::u8;
        case LAZULI_DNN_I32: return memory::data_type::s32;
        default: return memory::data_type::f32;
    }
}

memory::desc described(const LazuliDnnArray& array) {
    return {memory::dims(array.sizes, array.sizes + array.rank), type_of(array.type),
            memory::dims(array.strides, array.strides + array.rank)};
}
memory::desc any(const LazuliDnnArray& array) {
    return {memory::dims(array.sizes, array.sizes + array.rank), type_of(array.type),
            memory::format_tag::any};
}

/// From one layout to another, or nothing where they are the same.
struct Layout {
    memory::desc given, wanted;
    dnnl::reorder::primitive_desc plan;
    dnnl::reorder change;
    bool changes = false;

    Layout() = default;
    Layout(const memory::desc& from, const memory::desc& to) : given(from), wanted(to) {
        changes = given != wanted;
        if (!changes) return;
        plan = dnnl::reorder::primitive_desc(engine(), from, engine(), to);
        change = dnnl::reorder(plan);
    }
    void run(void* from, void* to) {
        if (!changes) return;
        const Alone alone;
        memory a(given, engine(), from);
        memory b(wanted, engine(), to);
        change.execute(stream(), a, b);
        stream().wait();
    }
};

struct Convolution {
    dnnl::convolution_forward::primitive_desc plan;
    dnnl::convolution_forward primitive;
    Layout image, weights, result;
};

struct Product {
    dnnl::matmul::primitive_desc plan;
    dnnl::matmul primitive;
    Layout b;
};

}  // namespace

void* lazuli_dnn_convolution(const LazuliDnnConvolution* wanted, LazuliDnnNeeds* needs) {
    try {
        const auto list = [&](const std::int64_t* from) {
            return memory::dims(from, from + wanted->dims);
        };
        memory::dims dilation = list(wanted->dilation);
        for (auto& d : dilation) --d;  // the library counts what is left out
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::convolution_forward::desc desc(
            dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any(wanted->x),
            any(wanted->w), any(wanted->y), list(wanted->strides), dilation, list(wanted->before),
            list(wanted->after));
        const Alone alone;
        auto out = std::make_unique<Convolution>();
        out->plan = dnnl::convolution_forward::primitive_desc(desc, attr, engine());
        out->primitive = dnnl::convolution_forward(out->plan);
        out->image = Layout(described(wanted->x), out->plan.src_desc());
        out->weights = Layout(described(wanted->w), out->plan.weights_desc());
        out->result = Layout(out->plan.dst_desc(), described(wanted->y));
        const auto bytes = [](const Layout& layout, const memory::desc& whole) {
            return layout.changes ? whole.get_size() : 0;
        };
        *needs = {bytes(out->image, out->plan.src_desc()),
                  bytes(out->weights, out->plan.weights_desc()),
                  bytes(out->result, out->plan.dst_desc()), out->plan.scratchpad_desc().get_size()};
        return out.release();
    } catch (const dnnl::error&) {
        return nullptr;  // the library has none for this
    }
}

void lazuli_dnn_lay_out_image(void* convolution, const LazuliDnnMemory* m) {
    static_cast<Convolution*>(convolution)->image.run(const_cast<void*>(m->x), m->image);
}

void lazuli_dnn_lay_out_weights(void* convolution, const LazuliDnnMemory* m) {
    static_cast<Convolution*>(convolution)->weights.run(const_cast<void*>(m->w), m->weights);
}

void lazuli_dnn_convolve(void* convolution, const LazuliDnnMemory* m) {
    auto& c = *static_cast<Convolution*>(convolution);
    const Alone alone;
    void* x = c.image.changes ? m->image : const_cast<void*>(m->x);
    void* w = c.weights.changes ? m->weights : const_cast<void*>(m->w);
    void* y = c.result.changes ? m->result : m->y;
    c.primitive.execute(
        stream(), {{DNNL_ARG_SRC, memory(c.plan.src_desc(), engine(), x)},
                   {DNNL_ARG_WEIGHTS, memory(c.plan.weights_desc(), engine(), w)},
                   {DNNL_ARG_DST, memory(c.plan.dst_desc(), engine(), y)},
                   {DNNL_ARG_SCRATCHPAD, memory(c.plan.scratchpad_desc(), engine(), m->scratch)}});
    stream().wait();
    c.result.run(m->result, m->y);
}

int lazuli_dnn_same_image(const void* a, const void* b) {
    return static_cast<const Convolution*>(a)->image.wanted ==
                   static_cast<const Convolution*>(b)->image.wanted
               ? 1
               : 0;
}

void lazuli_dnn_drop(void* convolution) { delete static_cast<Convolution*>(convolution); }

void* lazuli_dnn_product(const LazuliDnnProduct* wanted, const void* like, LazuliDnnNeeds* needs) {
    try {
        const auto b_type = type_of(wanted->b_type);
        const memory::desc a({wanted->m, wanted->k}, type_of(wanted->a_type),
                             memory::dims(wanted->a_strides, wanted->a_strides + 2));
        const memory::desc given({wanted->k, wanted->n}, b_type,
                                 memory::dims(wanted->b_strides, wanted->b_strides + 2));
        const memory::desc any({wanted->k, wanted->n}, b_type, memory::format_tag::any);
        const memory::desc result({wanted->m, wanted->n}, type_of(wanted->result_type),
                                  memory::dims{wanted->result_stride, 1});
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const auto* other = static_cast<const Product*>(like);
        const Alone alone;
        auto out = std::make_unique<Product>();
        out->plan = dnnl::matmul::primitive_desc(
            dnnl::matmul::desc(a, other != nullptr ? other->plan.weights_desc() : any, result),
            attr, engine());
        out->primitive = dnnl::matmul(out->plan);
        out->b = Layout(given, out->plan.weights_desc());
        *needs = {0, out->b.changes ? out->plan.weights_desc().get_size() : 0, 0,
                  out->plan.scratchpad_desc().get_size()};
        return out.release();
    } catch (const dnnl::error&) {
        return nullptr;
    }
}

void lazuli_dnn_lay_out_b(void* product, const LazuliDnnMemory* m) {
    static_cast<Product*>(product)->b.run(const_cast<void*>(m->w), m->weights);
}

void lazuli_dnn_multiply(void* product, const LazuliDnnMemory* m) {
    auto& p = *static_cast<Product*>(product);
    const Alone alone;
    void* b = p.b.changes ? m->weights : const_cast<void*>(m->w);
    p.primitive.execute(
        stream(), {{DNNL_ARG_SRC, memory(p.plan.src_desc(), engine(), const_cast<void*>(m->x))},
                   {DNNL_ARG_WEIGHTS, memory(p.plan.weights_desc(), engine(), b)},
                   {DNNL_ARG_DST, memory(p.plan.dst_desc(), engine(), m->y)},
                   {DNNL_ARG_SCRATCHPAD, memory(p.plan.scratchpad_desc(), engine(), m->scratch)}});
    stream().wait();
}

void lazuli_dnn_drop_product(void* product) { delete static_cast<Product*>(product); }
