/// How much the reading of one file may cost.
public struct ProbeLimits: Hashable, Sendable {
  /// Bytes of address space beyond what the reader and its libraries take.
  public var memory: Int64
  /// Bytes that may be read from the file, each reading of the same byte counted.
  public var bytes: Int64
  /// Seconds of processor time.
  public var processorSeconds: Int

  /// - Parameters: as the properties.
  public init(memory: Int64 = 512 << 20, bytes: Int64 = 512 << 20, processorSeconds: Int = 10) {
    self.memory = memory
    self.bytes = bytes
    self.processorSeconds = processorSeconds
  }
}
