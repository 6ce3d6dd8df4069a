import CProcess
import Glibc
import ReelModel

/// The command line's bytes. Swift's strings replace what is no UTF-8, so that a path would no longer be the path;
/// here a repaired argument finds its bytes again.
struct RawArguments {
  private var bytesByText: [String: [[UInt8]]] = [:]

  /// The arguments of this process, the program's name first.
  private static var all: [[UInt8]] {
    (0..<reel_arguments_count()).compactMap { reel_argument($0) }.map { argument in
      UnsafeBufferPointer(start: argument, count: strlen(argument)).map(UInt8.init(bitPattern:))
    }
  }

  /// The arguments of this process, as text, the program's name first: `CommandLine` has none without `/proc`.
  static var texts: [String] { all.map { String(decoding: $0, as: UTF8.self) } }

  /// The arguments of this process.
  init() {
    self.init(Self.all)
  }

  init(_ arguments: [[UInt8]]) {
    for bytes in arguments {
      bytesByText[String(decoding: bytes, as: UTF8.self), default: []].append(bytes)
    }
  }

  /// The path that the parser gave as `text`. Two different arguments that read the same come in their order.
  mutating func path(_ text: String) -> SourcePath {
    guard text.unicodeScalars.contains("\u{FFFD}"), let bytes = bytesByText[text]?.first else {
      return SourcePath(text)
    }
    bytesByText[text]?.removeFirst()
    return SourcePath(bytes: bytes)
  }

  /// The path that the parser gave as `text`.
  static func path(_ text: String) -> SourcePath {
    var arguments = RawArguments()
    return arguments.path(text)
  }

  /// The paths that the parser gave as `texts`.
  static func paths(_ texts: [String]) -> [SourcePath] {
    var arguments = RawArguments()
    return texts.map { arguments.path($0) }
  }
}
