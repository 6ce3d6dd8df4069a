import Glibc
import ReelCore
import ReelRemoteStorage
import ReelSandbox
import ReelSource
import ReelStorage

/// Where what the user names becomes a source: a path of this machine, or an address. Buckets and servers share their
/// connections.
actor Sources {
  /// Files that are downloaded at once where nobody says how many.
  static let downloads = 16

  private let settings: Settings
  private var buckets: [S3Address: S3Source] = [:]
  private var web: CurlTransport?

  init(_ settings: Settings) { self.settings = settings }

  /// - Throws: ``CommandFailure`` when an address is none, or a setting can't be used with it.
  static func inputs(_ paths: [SourcePath], _ settings: Settings) async throws -> [SourceInput] {
    let sources = Sources(settings)
    var inputs: [SourceInput] = []
    for path in paths { inputs.append(try await sources.input(path)) }
    return inputs
  }

  /// - Parameter listed: the size and the state that are meant of the file that an address names; nil for those that it has.
  /// - Throws: ``CommandFailure``.
  func input(
    _ path: SourcePath, listed: (size: Int64, state: RemoteState)? = nil
  ) async throws -> SourceInput {
    guard let remote = try await remote(path) else {
      try Self.checkSlashes(path)
      return SourceInput(path: path)
    }
    return SourceInput(remote, listed: listed.map { remote.file(size: $0.size, in: $0.state) })
  }

  /// `s3:/bucket/name` is more likely an address than a file, unless there is one.
  private static func checkSlashes(_ path: SourcePath) throws {
    let text = path.text.lowercased()
    guard let scheme = ["s3", "http", "https"].first(where: { text.hasPrefix($0 + ":") }),
      path.withCString({ access($0, F_OK) }) != 0
    else { return }
    let example = scheme == "s3" ? "s3://bucket/name" : "\(scheme)://host/name"
    throw CommandFailure(
      .usage, "there is no file \(path.text); an address has two slashes behind the colon: \(example)")
  }

  private func remote(_ path: SourcePath) async throws -> (any RemoteSource)? {
    guard let scheme = path.scheme else { return nil }
    let address = try orCommandFailure(.usage) { () throws(SourceAddressError) in
      try SourceAddress(parsing: path)
    } told: {
      "the source \(scheme)://… can't be used: \($0.reason)"
    }
    switch address {
    case .s3(let bucket, let name): return try await source(bucket).named(name)
    case .web(let address): return try source(address)
    }
  }

  private func source(_ address: S3Address) async throws -> S3Source {
    if let known = buckets[address] { return known }
    // The command's settings, but for what they say of objects that are stored.
    let access = try await destinations.bucket(address)
    let source = S3Source(
      access.store, name: "", transport: access.transport, credentials: access.credentials, limits: limits)
    buckets[address] = source
    return source
  }

  private func source(_ address: WebAddress) throws -> WebSource {
    let rules = try destinations.httpRules()
    let transport =
      try web ?? connecting(to: address.shown) { () throws(HTTPFailure) in try CurlTransport(rules) }
    web = transport
    return WebSource(address, transport: transport, limits: limits, staging: TemporaryStaging())
  }

  private var destinations: Destinations {
    Destinations(settings: settings, library: "", checkpoints: MemoryCheckpoints())
  }

  /// What waits for a network is no time of a reader's, and has its own limit: six times as long.
  private var limits: RemoteLimits {
    var limits = RemoteLimits()
    if let bytes = settings.maxRead?.bytes { limits.bytes = bytes }
    let deadline: Duration = settings.deadline.map { .seconds($0) } ?? SandboxedProber.defaultDeadline
    limits.patience = deadline * 6
    return limits
  }
}
