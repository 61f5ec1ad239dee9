// The Python module `lazuli._lazuli`, which `lazuli` shows as its own.

#include <mutex>
#include <vector>

#include "common.h"

namespace lazuli::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* dim_type = nullptr;
thread_local int eager_depth = 0;

void evaluate(const Tensor& tensor) {
    if (tensor.is_materialized()) return;
    const Tensor mine(tensor);  // the Python object may go while the lock is not ours
    const nb::gil_scoped_release released;
    mine.eval();
}

namespace {

struct Releases {
    std::mutex mutex;
    std::vector<std::pair<void (*)(void*), void*>> waiting;
};

Releases& releases() {
    static Releases& r = *new Releases;
    return r;
}

}  // namespace

void release_now() {
    std::vector<std::pair<void (*)(void*), void*>> taken;
    {
        const std::scoped_lock lock(releases().mutex);
        taken.swap(releases().waiting);
    }
    for (const auto& [release, data] : taken) release(data);
}

void release_later(void (*release)(void*), void* data) noexcept {
    {
        const std::scoped_lock lock(releases().mutex);
        releases().waiting.emplace_back(release, data);
    }
    if (Py_IsInitialized() == 0) return;
    // Where the queue is full, the next loan comes by.
    (void)Py_AddPendingCall(
        [](void*) {
            release_now();
            return 0;
        },
        nullptr);
}

}  // namespace lazuli::python

NB_MODULE(_lazuli, m) {
    using namespace lazuli::python;
    nb::set_leak_warnings(false);  // tensors of other threads may outlive the interpreter
    m.doc() = "Lazuli, a lazy tensor engine.";
    m.attr("__version__") = LAZULI_VERSION;
    bind_errors(m);
    bind_tensor(m);
    bind_dims(m);
    bind_dtypes(m);
    bind_arrays(m);
    bind_ops(m);
    bind_forms(m);  // after the ops, whose place some take
    bind_linalg(m);
    bind_data_forms(m);
    bind_control(m);
    bind_records(m);
    bind_factories(m);
    bind_engine(m);
    bind_compiled(m);
    bind_gradients(m);
    bind_regions(m);
    bind_vmap(m);
    bind_streams(m);
    bind_inspect(m);
    bind_files(m);
}
