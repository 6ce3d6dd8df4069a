import Glibc

/// A folder's one absolute path, without links, `.` and `..`, as far as it exists.
package struct CanonicalPath: Hashable, Sendable {
  /// Begins with a slash, ends with none (but for the root).
  package let text: String

  /// Resolves `path` against the working folder. What does not exist yet is taken as it is written.
  package init(resolving path: String) {
    text = Self.resolve(path.hasPrefix("/") ? path : Self.workingFolder + "/" + path)
  }

  /// The path with everything percent-encoded but the unreserved characters (RFC 3986, 2.3) and the slash.
  package var percentEncoded: String {
    let digits = Array("0123456789ABCDEF".utf8)
    let encoded = text.utf8.flatMap { byte in
      Self.isPlain(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// This folder as a file URL, without a slash at its end.
  package var fileURL: String { "file://" + (text == "/" ? "" : percentEncoded) }

  private static var workingFolder: String {
    guard let buffer = getcwd(nil, 0) else { return "." }
    defer { free(buffer) }
    return String(cString: buffer)
  }

  private static func resolve(_ path: String) -> String {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(cString: resolved)
    }
    guard errno == ENOENT else { return path }
    let components = path.split(separator: "/")
    guard let last = components.last else { return "/" }
    let parent = resolve("/" + components.dropLast().joined(separator: "/"))
    if last == "." { return parent }
    if last == ".." { return "/" + parent.split(separator: "/").dropLast().joined(separator: "/") }
    return parent == "/" ? parent + last : parent + "/" + last
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
      UInt8(ascii: "~"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
