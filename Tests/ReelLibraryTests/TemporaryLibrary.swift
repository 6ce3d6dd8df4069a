import Foundation
import ReelCore
import Synchronization

@testable import ReelLibrary

/// A test's own library folder, removed when the test releases it.
final class TemporaryLibrary: Sendable {
  let folder: URL
  let library: LibraryFolder

  init() async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-catalog-\(UUID().uuidString)")
    library = try await LibraryFolder.prepare(at: folder.appendingPathComponent("library").path)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }
}

/// A clock that a test sets.
final class SettableClock: WallClock {
  private let moment: Mutex<Date>

  init(_ moment: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
    self.moment = Mutex(moment)
  }

  func now() -> Date { moment.withLock { $0 } }

  func advance(by seconds: Double) { moment.withLock { $0 += seconds } }
}
