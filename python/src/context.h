#pragma once

// Scopes of C++ as context managers: `with lazuli.nan_check():`.

#include <memory>
#include <vector>

#include "common.h"

namespace lazuli::python {

/// May be entered more than once; the last entry is left first.
template <class Scope>
class Context {
   public:
    Context() = default;
    virtual ~Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    void enter() { scopes_.push_back(begin()); }
    void exit() {
        if (scopes_.empty()) throw ArgumentError("a scope is left without being entered");
        scopes_.pop_back();
    }

   protected:
    virtual std::unique_ptr<Scope> begin() const = 0;

   private:
    std::vector<std::unique_ptr<Scope>> scopes_;
};

/// Makes a class that is a Context usable in `with`.
template <class Class>
void add_context(nb::class_<Class>& cls) {
    cls.def("__enter__",
            [](nb::object self) {
                nb::cast<Class&>(self).enter();
                return self;
            })
        .def("__exit__", [](Class& self, const nb::args&) { self.exit(); });
}

}  // namespace lazuli::python
