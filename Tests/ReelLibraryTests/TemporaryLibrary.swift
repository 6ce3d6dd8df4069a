import Foundation
import ReelCore
import Synchronization

@testable import ReelLibrary

/// A library folder of a test's own, removed when the test lets go of it.
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

/// A generator that gives the same numbers for the same seed (SplitMix64).
final class SeededRandomness: Randomness {
  private let state: Mutex<UInt64>

  init(seed: UInt64) { state = Mutex(seed) }

  func number(below bound: UInt64) -> UInt64 {
    state.withLock { state in
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return (mixed ^ (mixed >> 31)) % bound
    }
  }
}
