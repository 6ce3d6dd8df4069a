import ReelCore
import Synchronization

/// A store whose first calls fail in one of the ways in which real stores fail.
final class FlakyUploader: Uploader {
  enum Fault: CaseIterable, Sendable {
    /// The request never arrives.
    case refused
    /// The connection breaks in the middle of the bytes.
    case brokenMidway
    /// The store does its work, but the reply is lost.
    case lostReply
  }
  let base: any Uploader
  private let fault: Fault
  private let failures: Int
  private let error: UploadError
  private let asked = Mutex<[String: Int]>([:])

  /// Creates a store that fails the first `failures` calls for each key and kind of call.
  init(
    over base: any Uploader, _ fault: Fault, failures: Int = 1,
    error: UploadError = UploadError(.interrupted, "the connection broke (a test)")
  ) {
    self.base = base
    self.fault = fault
    self.failures = failures
    self.error = error
  }

  var traits: UploadTraits { base.traits }
  var destination: Destination { base.destination }

  /// How often `call` was made, for all keys together.
  func count(of call: String) -> Int {
    asked.withLock { $0.filter { $0.key.hasPrefix(call + " ") }.values.reduce(0, +) }
  }

  func prepare() async throws(UploadError) {
    if isToFail("prepare", nil) { throw error }
    try await base.prepare()
  }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    guard isToFail("upload", key) else { return try await base.upload(source, to: key, reporting: reporting) }
    switch fault {
    case .refused: break
    case .brokenMidway:
      let broken = UploadSource(
        size: source.size, digest: source.digest, contentType: source.contentType,
        bytes: BrokenBytes(base: source.bytes, end: source.size / 2))
      _ = try? await base.upload(broken, to: key, reporting: reporting)
    case .lostReply:
      _ = try await base.upload(source, to: key, reporting: reporting)
    }
    if Task.isCancelled { throw UploadError(.cancelled, "cancelled (a test)") }
    throw error
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    if isToFail("find", key) { throw error }
    return try await base.find(key)
  }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    if fault == .lostReply { try await base.remove(key) }
    if isToFail("remove", key) { throw error }
    return try await base.remove(key)
  }

  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    if isToFail("readBack", key) { throw error }
    return try await base.readBack(key)
  }

  private func isToFail(_ call: String, _ key: ObjectKey?) -> Bool {
    asked.withLock { asked in
      let name = call + " " + (key?.rawValue ?? "")
      asked[name, default: 0] += 1
      return asked[name, default: 0] <= failures
    }
  }
}

/// Bytes that can't be read beyond `end`.
private struct BrokenBytes: ByteSource {
  let base: any ByteSource
  let end: Int64
  let descriptor: Int32? = nil
  let isPrivate = false

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    guard offset < end else { throw SourceError(.unreadable, "broken (a test)") }
    let part = UnsafeMutableRawBufferPointer(
      rebasing: buffer.prefix(Int(min(end - offset, Int64(buffer.count)))))
    return try base.read(into: part, at: offset)
  }

  func checkUnchanged() throws(SourceError) { try base.checkUnchanged() }
}
