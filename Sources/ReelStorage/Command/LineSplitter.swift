/// Cuts what a pipe gives into lines, within limits.
struct LineSplitter: Sendable {
  /// Bytes of one line, at most.
  static let longestLine = 64 << 10

  private let most: Int64
  private var total: Int64 = 0
  private var rest: [UInt8] = []

  /// - Parameter most: bytes in all.
  init(most: Int64) {
    self.most = most
  }

  /// The lines that `chunk` ends, without their newlines; empty ones are left out.
  /// - Throws: ``AdapterViolation`` when it is more than anybody needs to say.
  mutating func lines(in chunk: some Collection<UInt8>) throws(AdapterViolation) -> [[UInt8]] {
    total += Int64(chunk.count)
    guard total <= most else {
      throw AdapterViolation("it wrote more than \(most) bytes to its standard output")
    }
    rest += chunk
    var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    rest = lines.popLast() ?? []
    guard rest.count <= Self.longestLine, lines.allSatisfy({ $0.count <= Self.longestLine }) else {
      throw AdapterViolation("it wrote a line of more than \(Self.longestLine) bytes")
    }
    return lines.filter { !$0.isEmpty }
  }

  /// What stands after the last newline: an adapter that ended in the middle of a line, or forgot the newline.
  var unfinished: [UInt8] { rest }
}
