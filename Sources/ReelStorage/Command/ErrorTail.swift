/// The last of what an adapter wrote to its standard error.
struct ErrorTail: Sendable {
  private static let most = 4096
  private var bytes: [UInt8] = []
  private var isCut = false

  mutating func add(_ chunk: [UInt8]) {
    bytes += chunk
    guard bytes.count > Self.most else { return }
    bytes.removeFirst(bytes.count - Self.most)
    isCut = true
  }

  /// The last line that says something; of one that is cut off at its beginning nothing, as what is missing may be
  /// the half of a secret.
  var lastLine: String? {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return (isCut ? lines.dropFirst() : lines[...])
      .last { line in line.contains { $0 > 0x20 } }
      .map { String(decoding: $0, as: UTF8.self) }
  }
}
