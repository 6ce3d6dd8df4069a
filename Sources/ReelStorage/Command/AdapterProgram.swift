import Glibc
import ReelCore

/// The program behind `command:`, and what it is told with every request.
public struct AdapterProgram: Hashable, Sendable {
  /// The program's absolute path, links resolved as far as it exists.
  public let path: String
  /// What follows `#` in the address: which of the program's stores is meant; nil when nothing does.
  public let store: String?

  /// - Parameters:
  ///   - path: absolute, or relative to the working folder of now. It is never looked for in `PATH`.
  ///   - store: letters, digits and `-_./`, at most 200 of them.
  ///
  /// Nil where one of these is broken, and where the absolute path is not UTF-8: it would be that of another program.
  public init?(path: String, store: String? = nil) {
    guard !path.isEmpty, !path.utf8.contains(0), store.map(Self.isStoreName) ?? true,
      let path = Self.settled(path)
    else { return nil }
    self.path = path
    self.store = store
  }

  /// `command:` and the path, percent-encoded, with the store behind `#`.
  public var destination: Destination {
    Destination("command:" + Self.percentEncoded(path) + (store.map { "#" + $0 } ?? ""))
  }

  /// How messages name it.
  var name: String { path + (store.map { "#" + $0 } ?? "") }

  /// Whether `text` can be a store's name: such a name needs no quoting, in no language.
  public static func isStoreName(_ text: String) -> Bool {
    (1...200).contains(text.utf8.count)
      && text.utf8.allSatisfy { isPlain($0) || $0 == UInt8(ascii: "/") }
  }

  private static func settled(_ path: String) -> String? {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(validatingCString: resolved)
    }
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(validatingCString: folder).map { $0 + "/" + path }
  }

  private static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte in
      isPlain(byte) || byte == UInt8(ascii: "/")
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
