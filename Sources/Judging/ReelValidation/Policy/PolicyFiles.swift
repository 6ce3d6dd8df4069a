import Glibc
import ReelCore

extension PolicyLibrary {
  /// Policies on this machine: presets and files. Blocks.
  package static let local = PolicyLibrary(load: file)

  /// Reads a policy file. A name in `extends` is relative to the file that contains it. Blocks.
  package static func file(_ name: String, from: String?) throws(PolicyError) -> (
    bytes: [UInt8], source: String
  ) {
    let folder = name.hasPrefix("/") ? nil : from.map(folder(of:))
    let path = folder.map { $0.isEmpty ? name : $0 + "/" + name } ?? name
    let bytes = try rethrowing(
      as: { PolicyError([PolicyProblem(source: path, message: "it can't be read: \($0.reason)")]) }
    ) { () throws(SystemError) in
      try Descriptor(opening: path, O_RDONLY | O_NOCTTY).readToEnd(limit: largest + 1)
    }
    return (bytes, path)
  }

  /// The folder of `path` without a trailing slash; empty for the working folder.
  private static func folder(of path: String) -> String {
    (path.hasPrefix("/") ? "/" : "") + path.split(separator: "/").dropLast().joined(separator: "/")
  }

  /// In bytes. One byte more is read, enough to reject the file as too long.
  private static let largest = 1 << 20
}
