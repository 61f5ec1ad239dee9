// Loops and conditions, whose bodies are Python functions that are called once, while the loop is
// recorded.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

using Objects = PyObject* const*;
using Tensors = std::vector<Tensor>;

Asker asker(const Function& self, std::size_t i) { return {self.name, self.params[i].name}; }

/// One tensor, or a sequence of them.
Tensors tensors_of(const Asker& asker, nb::handle object) {
    Tensors out;
    if (!is_tensor(object.ptr()) &&
        (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))) {
        for (nb::handle item : object) out.push_back(to_tensor(asker, item.ptr()));
    } else {
        out.push_back(to_tensor(asker, object.ptr()));
    }
    return out;
}

nb::object list_of(const Tensors& tensors) {
    nb::list out;
    for (const Tensor& t : tensors) out.append(nb::steal(wrap(Tensor(t))));
    return out;
}

/// What a body returned: what is carried, or a tuple of that and of what is stacked, each a list.
Looped looped_of(const Asker& asker, const nb::object& made) {
    if (nb::isinstance<nb::tuple>(made) && nb::len(made) == 2 && !is_tensor(made[0].ptr()) &&
        !is_tensor(nb::object(made[1]).ptr())) {
        return {tensors_of(asker, nb::object(made[0])), tensors_of(asker, nb::object(made[1]))};
    }
    return {tensors_of(asker, made)};
}

PyObject* pair_of(const Looped& made) {
    return nb::make_tuple(list_of(made.carried), list_of(made.stacked)).release().ptr();
}

/// Who asks for what a function gives back.
struct Results {
    std::string param;
    Asker asker;
    Results(const Function& self, std::size_t i)
        : param(self.params[i].name + "()"), asker{self.name, param} {}
    Results(const Results&) = delete;
    Results& operator=(const Results&) = delete;
};

/// A number of trips that is a tensor, or that can be made one.
Tensor trips_of(const Asker& asker, PyObject* object) {
    const auto number = find_number(object);
    if (number && number->kind() != Kind::integer)
        refuse(asker, "an integer, or a tensor of one", object);
    return to_tensor(asker, object);
}

PyObject* call_loop(const Function& self, Objects o) {
    const Tensors carried = tensors_of(asker(self, 1), o[1]);
    const nb::object body = to_function(asker(self, 2), o[2]);
    const Results made_by(self, 2);
    const auto run = [&](const Tensor& step, const Tensors& now) {
        return looped_of(made_by.asker, body(nb::steal(wrap(Tensor(step))), list_of(now)));
    };
    if (PyLong_Check(o[0])) return pair_of(loop(to_integer(asker(self, 0), o[0]), carried, run));
    const auto carries = [&](const Tensor& step, const Tensors& now) {
        Looped made = run(step, now);
        if (!made.stacked.empty()) {
            throw ArgumentError(
                "loop: results that are stacked need a known number of trips, an int");
        }
        return made.carried;
    };
    return pair_of({loop(trips_of(asker(self, 0), o[0]), carried, carries)});
}

PyObject* call_scan(const Function& self, Objects o) {
    const nb::object body = to_function(asker(self, 2), o[2]);
    const Results made_by(self, 2);
    return pair_of(scan_loop(
        tensors_of(asker(self, 0), o[0]), tensors_of(asker(self, 1), o[1]),
        [&](const Tensors& now, const Tensors& entry) {
            return looped_of(made_by.asker, body(list_of(now), list_of(entry)));
        },
        to_bool(asker(self, 3), o[3])));
}

PyObject* call_cond(const Function& self, Objects o) {
    const auto branch = [&](std::size_t i) {
        const nb::object body = to_function(asker(self, i), o[i]);
        return [&self, body, i] { return tensors_of(Results(self, i).asker, body()); };
    };
    return list_of(cond(to_tensor(asker(self, 0), o[0]), branch(1), branch(2))).release().ptr();
}

PyObject* call_while(const Function& self, Objects o) {
    const nb::object test = to_function(asker(self, 1), o[1]);
    const nb::object body = to_function(asker(self, 2), o[2]);
    const Results tested_by(self, 1);
    const Results made_by(self, 2);
    return list_of(while_loop(
                       tensors_of(asker(self, 0), o[0]),
                       [&](const Tensors& now) {
                           return to_tensor(tested_by.asker, test(list_of(now)).ptr());
                       },
                       [&](const Tensors& now) {
                           return tensors_of(made_by.asker, body(list_of(now)));
                       }))
        .release()
        .ptr();
}

}  // namespace

void bind_control(nb::module_& m) {
    define(m, Place::module, "loop(trips, carried, body)",
           "Runs body(step, carried) a number of times and returns (carried, stacked). The body is "
           "called once, to record it; it returns the list that is carried on, or that and a list "
           "of what is stacked. trips is an int, or an integer tensor: then nothing is stacked.",
           call_loop);
    define(m, Place::module, "scan_loop(carried, scanned, body, reverse=False)",
           "Runs body(carried, entry) on every entry along the first axis of what is scanned, and "
           "returns (carried, stacked).",
           call_scan);
    define(m, Place::module, "cond(condition, then, otherwise)",
           "What then() returns where the condition holds, else what otherwise() does, as a list; "
           "only one of them runs.",
           call_cond);
    define(m, Place::module, "while_loop(carried, test, body)",
           "Runs body(carried) as long as test(carried) holds, and returns the list carried.",
           call_while);
}

}  // namespace lazuli::python
