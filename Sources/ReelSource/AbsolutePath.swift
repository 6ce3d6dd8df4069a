import Glibc
import ReelCore

/// A path from the root of the file system without `.`, `..` and doubled slashes, so that two ways of writing
/// the same place are equal. It goes by the names alone: a `..` after a link leads back to before the link.
struct AbsolutePath: Hashable, Sendable {
  let components: [[UInt8]]

  /// - Parameter base: where a path begins that does not begin with a slash.
  init(_ path: [UInt8], from base: AbsolutePath) {
    var components = path.first == UInt8(ascii: "/") ? [] : base.components
    for component in path.split(separator: UInt8(ascii: "/")) where !component.elementsEqual(".".utf8) {
      if component.elementsEqual("..".utf8) {
        _ = components.popLast()
      } else {
        components.append(Array(component))
      }
    }
    self.components = components
  }

  private init(components: [[UInt8]]) {
    self.components = components
  }

  /// `/`.
  static let root = AbsolutePath(components: [])

  /// The folder that it lies in.
  var parent: AbsolutePath { AbsolutePath(components: components.dropLast()) }

  /// Where relative paths begin now; the root when that can't be told. Blocks.
  static func workingDirectory() -> AbsolutePath {
    guard let path = getcwd(nil, 0) else { return .root }
    defer { free(path) }
    let bytes = UnsafeRawBufferPointer(start: path, count: strlen(path))
    return AbsolutePath(Array(bytes), from: .root)
  }
}
