import ReelCore

/// A request to a fresh worker about mending; the descriptor of the file comes with the frame. It is the only
/// request that the worker ever receives.
package enum MendRequest: Hashable, Sendable {
  /// Write a mended file; ``MendOutputRequest`` brings the descriptor of the new file.
  case mend(ReadRequest, MendOptions)
  /// Compute digests of the file's streams.
  case digest(ReadRequest, StreamDigest.Options)

  /// The maximum number of streams in a file.
  static let mostStreams = 256

  private enum Kind: CaseIterable {
    case mend, digest
  }

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.mendRequest) { writer throws(WireError) in
      switch self {
      case .mend(let file, let options):
        writer.code(Kind.mend)
        writer.readRequest(file)
        try writer.list(options.mends.sorted { $0.rawValue < $1.rawValue }, limit: Mend.allCases.count) {
          $0.code($1)
        }
        writer.optional(options.rotation)
        writer.optional(options.sampleAspectRatio?.ratio) {
          $0.number(Int64($1.numerator))
          $0.number(Int64($1.denominator))
        }
      case .digest(let file, let options):
        writer.code(Kind.digest)
        writer.readRequest(file)
        writer.code(options.exclusion)
        writer.flag(options.most != nil)
        try writer.list(options.most ?? [], limit: Self.mostStreams) { $0.number($1) }
        writer.flag(options.mediaTimeOnly)
        writer.flag(options.shapeCounts)
        writer.flag(options.metadataCounts)
        writer.number(options.seed)
      }
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .mendRequest) { reader throws(WireError) in
      switch try reader.code(Kind.self, "kind") {
      case .mend: .mend(try reader.readRequest(), try reader.mendOptions())
      case .digest: .digest(try reader.readRequest(), try reader.digestOptions())
      }
    }
  }
}

/// Brings the descriptor of the empty file to which the mended file is written.
package struct MendOutputRequest: Hashable, Sendable {
  /// Creates the request, which has no fields.
  package init() {}

  /// Encodes the request as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.mendOutput) { _ throws(WireError) in }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .mendOutput) { _ throws(WireError) in MendOutputRequest() }
  }
}

/// A worker's answer to a ``MendRequest``.
package enum MendReply: Hashable, Sendable {
  /// There is something to mend, and the worker begins to write; sent once, before ``mended(_:size:)``.
  case writing
  /// What was mended, and how many bytes were written; nothing if there was nothing to mend.
  case mended(Set<Mend>, size: Int64)
  case digests([StreamDigest])
  case failure(MendError)

  private enum Kind: CaseIterable {
    case writing, mended, digests, failure
  }

  /// Encodes the reply as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.mendReply) { writer throws(WireError) in
      switch self {
      case .writing: writer.code(Kind.writing)
      case .mended(let done, let size):
        writer.code(Kind.mended)
        try writer.list(done.sorted { $0.rawValue < $1.rawValue }, limit: Mend.allCases.count) { $0.code($1) }
        writer.number(size)
      case .digests(let digests):
        writer.code(Kind.digests)
        try writer.list(digests, limit: MendRequest.mostStreams) { writer, digest in
          writer.code(digest.kind)
          writer.number(digest.packets)
          writer.bytes.append(contentsOf: digest.digest.prefix(StreamDigest.length))
          writer.optional(digest.start)
          writer.optional(digest.end)
        }
      case .failure(let error):
        writer.code(Kind.failure)
        writer.code(error.code)
        writer.text(error.message, limit: .sentence)
        writer.optional(error.remedy) { $0.code($1) }
      }
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .mendReply) { reader throws(WireError) in
      switch try reader.code(Kind.self, "kind") {
      case .writing: return .writing
      case .mended:
        return .mended(try reader.mends(), size: try reader.number(in: 0...Int64.max, "size"))
      case .digests:
        return .digests(
          try reader.list(limit: MendRequest.mostStreams, "digests") { reader throws(WireError) in
            StreamDigest(
              kind: try reader.code(StreamDigest.Kind.self, "kind"),
              packets: try reader.number(in: 0...Int64.max, "packets"),
              digest: Array(try reader.take(StreamDigest.length)),
              start: try reader.optionalTime("start"), end: try reader.optionalTime("end"))
          })
      case .failure:
        let code = try reader.code(MendError.Code.self, "code")
        guard code.isForAWorkerToSay else { throw .field("code") }
        return .failure(
          MendError(
            code, try reader.text(limit: .sentence, "message"),
            remedy: try reader.optional("remedy") { reader throws(WireError) in
              try reader.code(Mend.self, "remedy")
            }))
      }
    }
  }
}

extension MendError.Code {
  /// Whether a worker may report it, as for a ``ProbeError/Code``.
  fileprivate var isForAWorkerToSay: Bool {
    switch self {
    case .notMendable, .notWritten: true
    default: ProbeError.Code(rawValue: rawValue)?.isForAWorkerToSay ?? false
    }
  }
}

extension WireReader {
  fileprivate mutating func optionalTime(_ field: String) throws(WireError) -> Int64? {
    try optional(field) { reader throws(WireError) in try reader.number(Int64.self) }
  }

  fileprivate mutating func mends() throws(WireError) -> Set<Mend> {
    let mends = try list(limit: Mend.allCases.count, "mends") { reader throws(WireError) in
      try reader.code(Mend.self, "mends")
    }
    guard mends == mends.sorted(by: { $0.rawValue < $1.rawValue }), Set(mends).count == mends.count else {
      throw .field("mends")
    }
    return Set(mends)
  }

  fileprivate mutating func mendOptions() throws(WireError) -> MendOptions {
    var options = MendOptions(try mends())
    options.rotation = try optionalInt(in: 0...270, "rotation")
    options.sampleAspectRatio = try optional("sampleAspectRatio") { reader throws(WireError) in
      let range: ClosedRange<Int64> = 1...(1 << 16)
      let (across, down) = (try reader.number(in: range, "sar"), try reader.number(in: range, "sar"))
      guard let ratio = Rational(Int(across), Int(down)) else { throw .field("sar") }
      return SampleAspectRatio(ratio)
    }
    return options
  }

  fileprivate mutating func digestOptions() throws(WireError) -> StreamDigest.Options {
    let exclusion = try code(StreamDigest.Options.Exclusion.self, "exclusion")
    let isLimited = try flag("most")
    let most = try list(limit: MendRequest.mostStreams, "most") { reader throws(WireError) in
      try reader.number(in: 0...Int64.max, "most")
    }
    guard isLimited || most.isEmpty else { throw .field("most") }
    return StreamDigest.Options(
      exclusion: exclusion, most: isLimited ? most : nil, mediaTimeOnly: try flag("mediaTimeOnly"),
      shapeCounts: try flag("shapeCounts"), metadataCounts: try flag("metadataCounts"),
      seed: try number(UInt64.self))
  }
}
