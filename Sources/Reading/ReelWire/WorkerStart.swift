/// The parent's first frame, which tells a worker how to confine itself and which resources it may use.
package struct WorkerStart: Hashable, Sendable {
  /// The role of the process.
  package enum Role: CaseIterable, Sendable {
    /// Reads files without confinement.
    case unconfined
    /// Reads files, confined as strictly as the kernel allows.
    case confined
    /// Reads nothing itself, but forks workers that do, confined as strictly as the kernel allows.
    case forkServer
    /// A fork server some of whose workers write a file.
    case mendingForkServer
  }
  /// The role of the process.
  package let role: Role
  /// Address space in bytes, beyond what the program and its libraries occupy.
  package let memory: Int64
  /// The processor time for one file, in seconds.
  package let processorSeconds: Int

  /// - Parameters: See the properties; memory from 1 MiB to 1 TiB, seconds from 1 to a day.
  package init(role: Role, memory: Int64, processorSeconds: Int) {
    self.role = role
    self.memory = memory
    self.processorSeconds = processorSeconds
  }

  /// Encodes the message as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.start) { writer throws(WireError) in
      writer.code(role)
      writer.number(memory)
      writer.number(Int64(processorSeconds))
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .start) { reader throws(WireError) in
      WorkerStart(
        role: try reader.code(Role.self, "role"),
        memory: try reader.number(in: 1 << 20...1 << 40, "memory"),
        processorSeconds: Int(try reader.number(in: 1...86_400, "processorSeconds")))
    }
  }
}
