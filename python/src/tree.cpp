#include "tree.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "convert.h"

namespace lazuli::python {

namespace {

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::repr(object)); }

std::string at_index(const std::string& path, std::size_t i) {
    return fmt::format("{}[{}]", path, i);
}

std::string at_key(const std::string& path, nb::handle key) {
    return fmt::format("{}[{}]", path, text_of(key));
}

std::string type_of(nb::handle object) {
    return is_tensor(object.ptr()) ? "Tensor" : Py_TYPE(object.ptr())->tp_name;
}

}  // namespace

Tree Tree::of(nb::handle object, std::vector<Tensor>& tensors, Others others,
              const std::string& path) {
    Tree out;
    PyObject* const raw = object.ptr();
    if (is_tensor(raw)) {
        out.kind_ = Kind::tensor;
        out.place_ = tensors.size();
        tensors.push_back(tensor_of(raw));
    } else if (PyList_Check(raw) || PyTuple_Check(raw)) {
        out.kind_ = PyList_Check(raw) ? Kind::list : Kind::tuple;
        if (PyTuple_Check(raw) && nb::hasattr(object, "_fields"))
            out.object_ = nb::borrow(object.type());
        std::size_t i = 0;
        for (nb::handle item : object)
            out.children_.push_back(of(item, tensors, others, at_index(path, i++)));
    } else if (PyDict_Check(raw)) {
        out.kind_ = Kind::dict;
        for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
            out.keys_.push_back(nb::borrow(key));
            out.children_.push_back(of(value, tensors, others, at_key(path, key)));
        }
    } else if (others == Others::kept || object.is_none()) {
        out.object_ = nb::borrow(object);
    } else if (others == Others::made) {
        if (!is_operand(raw)) {
            throw nb::type_error(fmt::format("{} is a {}; tensors and numbers, and lists, tuples "
                                             "and dicts of them, are expected",
                                             path, type_of(object))
                                     .c_str());
        }
        out.kind_ = Kind::tensor;
        out.place_ = tensors.size();
        tensors.push_back(to_tensor({"call", path}, raw));
    } else {
        throw nb::type_error(fmt::format("{} is a {}; tensors without a value (placeholder), and "
                                         "lists, tuples and dicts of them, are expected",
                                         path, type_of(object))
                                 .c_str());
    }
    return out;
}

Tree Tree::along(nb::handle prefix, std::string_view prefix_name, nb::handle object,
                 std::vector<Tensor>& tensors, std::vector<nb::object>& said,
                 const std::string& path) {
    std::vector<Tensor> none;
    const Tree wanted = of(prefix, none, Others::kept, path);
    if (wanted.kind_ == Kind::kept) {
        const Others others = prefix.is_none() ? Others::kept : Others::made;
        Tree out = of(object, tensors, others, path);
        said.resize(tensors.size(), nb::borrow(prefix));
        return out;
    }
    // Of the same form at this level, with keys in the object's order.
    Tree out = of(object, none, Others::kept, path);
    const auto differs = [&] {
        const std::string given = out.kind_ == Kind::kept ? "a " + type_of(object) : out.str();
        throw ArgumentError(
            fmt::format("{} is {}, and {} has {} there", path, given, prefix_name, wanted.str()));
    };
    if (out.kind_ != wanted.kind_ || out.children_.size() != wanted.children_.size()) differs();
    for (std::size_t i = 0; i < out.children_.size(); ++i) {
        const bool dict = out.kind_ == Kind::dict;
        const nb::object key = dict ? out.keys_[i] : nb::object(nb::int_(i));
        if (dict && !nb::borrow<nb::dict>(prefix).contains(key)) differs();
        out.children_[i] = along(nb::object(prefix[key]), prefix_name, nb::object(object[key]),
                                 tensors, said, dict ? at_key(path, key) : at_index(path, i));
    }
    return out;
}

nb::object Tree::build(std::span<const Tensor> tensors) const {
    switch (kind_) {
        case Kind::tensor:
            if (!tensors[place_].defined()) return nb::none();
            return nb::steal(wrap(Tensor(tensors[place_])));
        case Kind::kept: return object_;
        case Kind::dict: {
            nb::dict out;
            for (std::size_t i = 0; i < keys_.size(); ++i)
                out[keys_[i]] = children_[i].build(tensors);
            return out;
        }
        case Kind::list:
        case Kind::tuple: break;
    }
    nb::list items;
    for (const Tree& child : children_) items.append(child.build(tensors));
    if (kind_ == Kind::list) return items;
    const nb::tuple tuple(items);
    return object_.is_valid() ? object_(*tuple) : nb::object(tuple);
}

std::string Tree::str() const {
    switch (kind_) {
        case Kind::tensor: return "a tensor";
        case Kind::kept: return text_of(object_);
        case Kind::list: return fmt::format("a list of {}", children_.size());
        case Kind::tuple: return fmt::format("a tuple of {}", children_.size());
        case Kind::dict: {
            std::string keys;
            for (const nb::object& key : keys_) keys += (keys.empty() ? "" : ", ") + text_of(key);
            return fmt::format("a dict of {{{}}}", keys);
        }
    }
    __builtin_unreachable();
}

void Tree::collect(nb::handle object, const std::string& path, std::vector<Tensor>& tensors,
                   Missing missing, std::span<const Tensor> like) const {
    PyObject* const raw = object.ptr();
    const auto differs = [&](const std::string& given) {
        throw ArgumentError(fmt::format("{}: {} is expected, not {}", path, str(), given));
    };
    const auto sequence = [&](const char* name) {
        const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(raw));
        if (size != children_.size()) differs(fmt::format("a {} of {}", name, size));
        for (std::size_t i = 0; i < size; ++i)
            children_[i].collect(PySequence_Fast_GET_ITEM(raw, static_cast<Py_ssize_t>(i)),
                                 at_index(path, i), tensors, missing, like);
    };
    const bool left_out = object.is_none() && missing == Missing::empty;
    switch (kind_) {
        case Kind::tensor:
            if (left_out) {
                tensors.emplace_back();
                break;
            }
            if (PyDict_Check(raw) || object.is_none()) differs("a " + type_of(object));
            tensors.push_back(to_tensor(
                {"call", path}, raw,
                {.dtype = !like.empty() && find_number(raw) ? std::optional(like[place_].dtype())
                                                            : std::nullopt}));
            break;
        case Kind::kept:
            if (!object.is(object_) && !left_out) differs("a " + type_of(object));
            break;
        case Kind::list:
            if (!PyList_Check(raw)) differs("a " + type_of(object));
            sequence("list");
            break;
        case Kind::tuple:
            if (!PyTuple_Check(raw)) differs("a " + type_of(object));
            sequence("tuple");
            break;
        case Kind::dict: {
            if (!PyDict_Check(raw)) differs("a " + type_of(object));
            const nb::dict given = nb::borrow<nb::dict>(object);
            for (std::size_t i = 0; i < keys_.size(); ++i) {
                if (!given.contains(keys_[i]))
                    differs(fmt::format("one without {}", text_of(keys_[i])));
                children_[i].collect(nb::object(given[keys_[i]]), at_key(path, keys_[i]), tensors,
                                     missing, like);
            }
            if (given.size() == keys_.size()) break;
            for (const auto& [key, value] : given) {
                const bool known = std::ranges::any_of(
                    keys_, [&](const nb::object& mine) { return mine.equal(key); });
                if (!known) differs(fmt::format("one with {}", text_of(key)));
            }
        }
    }
}

void Tree::paths(const std::string& path, std::vector<std::string>& out) const {
    if (kind_ == Kind::tensor) out.push_back(path);
    for (std::size_t i = 0; i < children_.size(); ++i)
        children_[i].paths(kind_ == Kind::dict ? at_key(path, keys_[i]) : at_index(path, i), out);
}

}  // namespace lazuli::python
