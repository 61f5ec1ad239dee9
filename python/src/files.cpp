// Tensors in files.

#include <fmt/format.h>

#include <map>

#include "convert.h"
#include "function.h"

namespace lazuli::python {

namespace {

/// A text, bytes or an os.PathLike.
std::string to_path(PyObject* object) {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(object, &bytes) == 0) throw nb::python_error();
    const nb::object held = nb::steal(bytes);
    return {PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes))};
}

nb::str text_object(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::dict texts_object(const std::map<std::string, std::string>& texts) {
    nb::dict out;
    for (const auto& [key, value] : texts) out[text_object(key)] = text_object(value);
    return out;
}

nb::dict to_dict(const Asker& asker, PyObject* object) {
    if (PyDict_Check(object) == 0) refuse(asker, "a dict", object);
    return nb::borrow<nb::dict>(object);
}

SafetensorsFile open_file(PyObject* path) {
    const std::string where = to_path(path);
    const nb::gil_scoped_release released;
    return SafetensorsFile::open(where);
}

nb::dict tensors_object(const SafetensorsFile& file) {
    nb::dict out;
    for (auto& [name, tensor] : file.tensors())
        out[text_object(name)] = nb::steal(wrap(std::move(tensor)));
    return out;
}

PyObject* save(const Function& self, PyObject* const* o) {
    const std::string path = to_path(o[0]);
    NamedTensors tensors;
    for (const auto [name, value] : to_dict({self.name, "tensors"}, o[1])) {
        tensors.emplace_back(to_text({self.name, "tensors"}, name.ptr()),
                             to_tensor({self.name, "tensors"}, value.ptr()));
    }
    std::map<std::string, std::string> metadata;
    if (o[2] != Py_None) {
        const Asker asker{self.name, "metadata"};
        for (const auto [key, value] : to_dict(asker, o[2]))
            metadata.emplace(to_text(asker, key.ptr()), to_text(asker, value.ptr()));
    }
    {
        const nb::gil_scoped_release released;
        save_safetensors(path, tensors, metadata);
    }
    Py_RETURN_NONE;
}

}  // namespace

void bind_files(nb::module_& m) {
    define(m, Place::module, "save_safetensors(path, tensors, metadata=None)",
           "Evaluates a dict of tensors and writes it to a safetensors file, with texts in a dict "
           "`metadata`. The path has the old file until the new one is complete and on the disk.",
           save);
    define(m, Place::module, "load_safetensors(path)",
           "The tensors of a safetensors file, as a dict. Elements come from the disk when "
           "something needs them.",
           [](const Function&, PyObject* const* o) {
               return tensors_object(open_file(o[0])).release().ptr();
           });
    nb::class_<SafetensorsFile>(
        m, "SafetensorsFile",
        "A safetensors file that is open for reading. Its header is checked; elements come from "
        "the disk when something needs them. `file[name]` is a tensor.")
        .def(
            "__init__",
            [](SafetensorsFile* self, nb::object path) {
                new (self) SafetensorsFile(open_file(path.ptr()));
            },
            nb::arg("path"))
        .def_prop_ro("path", [](const SafetensorsFile& f) { return text_object(f.path()); })
        .def_prop_ro("names",
                     [](const SafetensorsFile& f) {
                         nb::list out;
                         for (const std::string& name : f.names()) out.append(text_object(name));
                         return out;
                     })
        .def_prop_ro("metadata",
                     [](const SafetensorsFile& f) { return texts_object(f.metadata()); })
        .def("shape",
             [](const SafetensorsFile& f, nb::str name) {
                 return tuple_of(f.spec(to_text({"shape", "name"}, name.ptr())).shape);
             })
        .def("dtype",
             [](const SafetensorsFile& f, nb::str name) {
                 return dtype_object(f.spec(to_text({"dtype", "name"}, name.ptr())).dtype);
             })
        .def("tensors", &tensors_object)
        .def("__len__", [](const SafetensorsFile& f) { return f.names().size(); })
        .def("__contains__",
             [](const SafetensorsFile& f, nb::handle name) {
                 return PyUnicode_Check(name.ptr()) &&
                        f.contains(to_text({"in", "name"}, name.ptr()));
             })
        .def("__iter__", [](nb::handle self) { return nb::iter(self.attr("names")); })
        .def("__getitem__", [](const SafetensorsFile& f, nb::str name) {
            const std::string wanted = to_text({"[]", "name"}, name.ptr());
            if (!f.contains(wanted)) throw nb::key_error(wanted.c_str());
            return nb::steal(wrap(f.tensor(wanted)));
        });
}

}  // namespace lazuli::python
