import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelStorage

/// A canary, an object with nothing wrong with it, tells whether a store refuses one object or all of them.
@Suite struct RefusalCheckingTests {
  /// Refuses objects larger than `most` bytes with `error`.
  private final class Picky: UploaderDecorator {
    let base: any Uploader = MemoryUploader()
    let most: Int64
    let error: UploadError
    let removes: Bool
    let namesKey: Bool
    /// Whether the store keeps what it claims to refuse, as if the reply had come from a proxy.
    let keepsRefused: Bool
    private let log = Mutex<(uploads: [Int64], removals: Int)>(([], 0))
    var uploads: [Int64] { log.withLock { $0.uploads } }
    var removals: Int { log.withLock { $0.removals } }

    init(
      most: Int64, _ error: UploadError, removes: Bool = true, namesKey: Bool = false,
      keepsRefused: Bool = false
    ) {
      (self.most, self.error, self.removes, self.namesKey) = (most, error, removes, namesKey)
      self.keepsRefused = keepsRefused
    }

    func upload(
      _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(UploadError) -> StoredObject {
      log.withLock { $0.uploads.append(source.size) }
      if source.size > most {
        if keepsRefused { _ = try await base.upload(source, to: key, reporting: reporting) }
        throw namesKey ? UploadError(error.code, "\(error.text), not \(key)") : error
      }
      return try await base.upload(source, to: key, reporting: reporting)
    }

    func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
      guard removes else { throw UploadError(.rejected, "removes nothing") }
      log.withLock { $0.removals += 1 }
      return try await base.remove(key)
    }
  }

  private func source(_ size: Int) throws -> UploadSource { try .filled(size) }

  private func failure(_ uploader: RefusalCheckingUploader, _ size: Int = 1000) async throws -> UploadError? {
    let key = ObjectKey(random: SystemRandomness(), container: .mp4)
    let source = try source(size)
    return await #expect(throws: UploadError.self) {
      _ = try await uploader.upload(source, to: key) { _ in }
    }
  }

  @Test(
    "a store that refuses everything ends the run, in its own words",
    arguments: [UploadError.Code.rejected, .tooLarge, .denied])
  func all(_ code: UploadError.Code) async throws {
    let picky = Picky(most: -1, UploadError(code, "no, says the store"), namesKey: true)
    let uploader = RefusalCheckingUploader(base: picky, canary: try source(9))
    let error = try await failure(uploader)
    #expect(
      error?.code == .storeUnusable && error?.message.contains("no, says the store, not an object;") == true)
    #expect(picky.uploads == [1000, 9])
  }

  @Test("a store that accepts the canary has refused only that file, and the canary is removed")
  func one() async throws {
    let picky = Picky(most: 100, UploadError(.rejected, "no"))
    let time = Mutex(ContinuousClock.now)
    let uploader = RefusalCheckingUploader(base: picky, canary: try source(9), now: { time.withLock { $0 } })
    for _ in 0..<5 { #expect(try await failure(uploader)?.code == .rejected) }
    // The result is reused for a while.
    #expect(picky.uploads.filter { $0 == 9 }.count == 1 && picky.removals == 1)
    time.withLock { $0 += .seconds(61) }
    #expect(try await failure(uploader)?.code == .rejected)
    #expect(picky.uploads.filter { $0 == 9 }.count == 2 && picky.removals == 2)
    _ = try await uploader.upload(try source(50), to: ObjectKey(random: SystemRandomness(), container: .mp4))
    { _ in }
  }

  @Test("where nothing can be removed, the canary is sent only once")
  func leaving() async throws {
    let picky = Picky(most: 100, UploadError(.rejected, "no"), removes: false)
    let time = Mutex(ContinuousClock.now)
    let uploader = RefusalCheckingUploader(base: picky, canary: try source(9), now: { time.withLock { $0 } })
    for _ in 0..<3 {
      #expect(try await failure(uploader)?.code == .rejected)
      time.withLock { $0 += .seconds(3600) }
    }
    #expect(picky.uploads.filter { $0 == 9 }.count == 1)
  }

  @Test("a canary that was stored despite the refusal is removed", arguments: [false, true])
  func refusedAndKept(_ keeps: Bool) async throws {
    let picky = Picky(most: -1, UploadError(.rejected, "speaks no HTTP"), keepsRefused: keeps)
    let error = try await failure(RefusalCheckingUploader(base: picky, canary: try source(9)))
    #expect(error?.code == .storeUnusable && picky.removals == (keeps ? 1 : 0))
  }

  @Test("a transient error, or one caused by the file, needs no canary")
  func others() async throws {
    for error in [
      UploadError(.interrupted, "x"), UploadError(.unavailable, "x"), UploadError(.sourceChanged, "x"),
      UploadError(.storeFull, "x"), UploadError(.storeUnusable, "x"), UploadError(ofTheFile: .tooLarge, "x"),
    ] {
      let picky = Picky(most: -1, error)
      let told = try await failure(RefusalCheckingUploader(base: picky, canary: try source(9)))
      #expect(told == error && picky.uploads == [1000])
    }
  }

  @Test("whether the file is to blame survives a rewording of the message")
  func worded() {
    let error = UploadError(ofTheFile: .tooLarge, "x").worded { $0.description + "!" }
    #expect(error.isOfTheFile && error.message == "x!")
    #expect(!UploadError(.tooLarge, "x").worded { $0.description + "!" }.isOfTheFile)
  }
}
