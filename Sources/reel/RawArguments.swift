import Glibc
import ReelModel

/// The command line's bytes. Swift's strings replace what is no UTF-8, so that a path would no longer be the path;
/// here a repaired argument finds its bytes again.
struct RawArguments {
  private var bytesByText: [String: [[UInt8]]] = [:]

  /// The arguments of this process.
  init() {
    var all: [[UInt8]] = []
    for index in 0..<Int(CommandLine.argc) {
      guard let argument = CommandLine.unsafeArgv[index] else { continue }
      all.append(
        Array(UnsafeBufferPointer(start: argument, count: strlen(argument))).map(UInt8.init(bitPattern:)))
    }
    self.init(all)
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
