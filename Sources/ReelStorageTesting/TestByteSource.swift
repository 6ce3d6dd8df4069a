import ReelCore

/// A source that behaves, or misbehaves in one way.
struct TestByteSource: ByteSource {
  let bytes: [UInt8]
  /// The same bytes as a file, for uploaders that hand a private copy on.
  let file: NamelessFile?
  let isPrivate: Bool
  /// What ``checkUnchanged()`` is to say.
  let hasChanged: Bool
  /// From here on reading fails.
  let failsAt: Int64?
  let midway: Midway?

  var descriptor: Int32? { file?.descriptor }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    if offset * 2 >= Int64(bytes.count) { midway?.reach() }
    if let failsAt, offset >= failsAt { throw SourceError(.unreadable, "the disk gave an error (a test)") }
    guard offset < Int64(bytes.count) else { return 0 }
    // One that somebody watches comes in small pieces, so that no reader misses its middle.
    let most = failsAt.map { Int($0 - offset) } ?? (midway == nil ? buffer.count : 1 << 16)
    let part = bytes[Int(offset)...].prefix(min(buffer.count, most))
    buffer.copyBytes(from: part)
    return part.count
  }

  func checkUnchanged() throws(SourceError) {
    if hasChanged { throw SourceError(.sourceChanged, "the file changed (a test)") }
  }
}

/// What a source does to its reader.
enum Behaviour: Sendable {
  case honest
  /// Other bytes than the digest's; whoever asks is told.
  case changedVisibly
  /// Other bytes than the digest's, and nothing shows it but hashing.
  case changedSilently
  case shrunk
  case grown
  case failing
}

extension ContractTestContext {
  /// A source that claims to be `content`.
  func source(
    _ content: TestContent, _ behaviour: Behaviour = .honest, midway: Midway? = nil
  ) throws -> UploadSource {
    let actual =
      switch behaviour {
      case .honest, .failing: content
      case .changedVisibly, .changedSilently: content.changed()
      case .shrunk: content.shrunk()
      case .grown: content.grown()
      }
    let file = behaviour == .failing ? nil : try file(actual)
    let isPrivate = behaviour == .changedVisibly || (behaviour != .changedSilently && file != nil)
    let bytes = TestByteSource(
      bytes: actual.bytes, file: file, isPrivate: isPrivate,
      hasChanged: isPrivate && behaviour != .honest,
      failsAt: behaviour == .failing ? content.size / 2 : nil,
      midway: midway)
    return UploadSource(size: content.size, digest: content.digest, contentType: "video/mp4", bytes: bytes)
  }

  private func file(_ content: TestContent) throws -> NamelessFile? {
    guard case .files(let folder) = store.sources else { return nil }
    return try NamelessFile(content.bytes, in: folder)
  }
}
