#pragma once

/// @file
/// The errors Lazuli throws. `Error` is a mistake of the caller or of the world around the program,
/// one class a kind, each with the fields a program needs to react. `InternalError` is a mistake of
/// ours.

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lazuli {

/// The root of every error that is the caller's mistake or the world's.
class Error : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

/// Shapes that do not fit together, or a shape that is not the one required. Both are kept as
/// printed text.
class ShapeError : public Error {
   public:
    /// `message` is the whole sentence; `expected` and `actual` are the two shapes in it.
    ShapeError(const std::string& message, std::string expected, std::string actual)
        : Error(message), expected(std::move(expected)), actual(std::move(actual)) {}
    std::string expected;  ///< The shape that would have been right, or the first operand's.
    std::string actual;    ///< The shape that was given, or the second operand's.
};

/// An element type that the operation does not take, or two that have no common type.
class DTypeError : public Error {
   public:
    using Error::Error;
};

/// An index or axis outside its range.
class IndexError : public Error {
   public:
    using Error::Error;
};

/// An argument that is wrong in another way: an unknown name, a negative count, a value out of
/// range.
class ArgumentError : public Error {
   public:
    using Error::Error;
};

/// A device that is not there, or operands that live on different devices.
class DeviceError : public Error {
   public:
    using Error::Error;
};

/// A device whose context died. Its tensors are gone; the process and the other devices live on.
class DeviceLost : public DeviceError {
   public:
    using DeviceError::DeviceError;
};

/// Memory that could not be had. The work that asked for it is lazy again and can be retried.
class OutOfMemory : public Error {
   public:
    /// `largest` lists the biggest buffers of the work that failed, in bytes.
    OutOfMemory(const std::string& message, std::uint64_t demand, std::uint64_t limit,
                std::vector<std::uint64_t> largest = {})
        : Error(message), demand(demand), limit(limit), largest(std::move(largest)) {}
    std::uint64_t demand;                ///< Bytes asked for.
    std::uint64_t limit;                 ///< Bytes there are.
    std::vector<std::uint64_t> largest;  ///< The biggest buffers involved, in bytes, biggest first.
};

/// A wait that ended before the work did. The work goes on and can be waited for again.
class Timeout : public Error {
   public:
    using Error::Error;
};

/// A failure while an operation ran. It is kept on the tensors that depend on it and thrown where a
/// value is asked for.
class ExecutionError : public Error {
   public:
    /// The message is "op: reason".
    ExecutionError(const std::string& op, const std::string& reason)
        : Error(op + ": " + reason), op(op), reason(reason) {}
    std::string op;      ///< The operation that failed.
    std::string reason;  ///< Why, in its own words.
};

/// A definition that depends on itself.
class CycleError : public Error {
   public:
    using Error::Error;
};

/// Text that does not follow the grammar. Lines and columns count from 1.
class ParseError : public Error {
   public:
    /// The message is "line L, column C: what".
    ParseError(const std::string& what, int line, int column)
        : Error("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
                what),
          reason(what),
          line(line),
          column(column) {}
    std::string reason;  ///< The message without the place.
    int line;            ///< Line of the offending character, from 1.
    int column;          ///< Column of the offending character, from 1.
};

/// A file that is missing, unreadable, truncated or of the wrong format.
class FileError : public Error {
   public:
    /// The message is "path: what".
    FileError(const std::string& path, const std::string& what)
        : Error(path + ": " + what), path(path) {}
    std::string path;  ///< The file.
};

/// A broken promise inside Lazuli. Please report it: the message carries the place in the source.
class InternalError : public std::logic_error {
   public:
    /// Remembers where it was thrown.
    explicit InternalError(const std::string& what,
                           std::source_location where = std::source_location::current());
};

}  // namespace lazuli
