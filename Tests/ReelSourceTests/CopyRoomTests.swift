import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelSource

/// A disk that is made up: copies that are made side by side never find out half-way that there is no room.
@Suite("Room for private copies", .shortTime)
struct CopyRoomTests {
  private final class Disk: Sendable {
    let free: Mutex<Int64>
    init(_ free: Int64) { self.free = Mutex(free) }

    func reserve(_ size: Int64) -> Int32 {
      free.withLock { free in
        guard free >= size else { return ENOSPC }
        free -= size
        return 0
      }
    }
  }

  private final class Copies: Sendable {
    let most = Mutex(0)
    let now = Mutex(0)
  }

  @Test("eight copies of which two fit at a time are made one after the other, and none fails")
  func waits() async throws {
    let (room, size) = (CopyRoom(), Int64(1) << 30)
    let disk = Disk(2 * size + size / 2)
    let copies = Copies()
    let failures = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<8 {
        group.addTask {
          await DispatchQueue(label: "copy \(number)").failing {
            var place = try room.take(size, for: -1, isCancelled: { false }) { disk.reserve($1) }
            let count = copies.now.withLock {
              $0 += 1
              return $0
            }
            copies.most.withLock { $0 = max($0, count) }
            usleep(20_000)
            copies.now.withLock { $0 -= 1 }
            disk.free.withLock { $0 += size }
            #expect(place != nil)
            place = nil
          }
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(failures == 0 && copies.most.withLock { $0 } == 2)
  }

  @Test(
    "alone, a copy for which there is no room fails before a byte of it is written; so does the second of one thread"
  )
  func fails() throws {
    let (room, size) = (CopyRoom(), Int64(1) << 30)
    let disk = Disk(size)
    let place = try room.take(size, for: -1, isCancelled: { false }) { disk.reserve($1) }
    #expect(throws: SystemError(code: ENOSPC, call: "fallocate")) {
      try room.take(size, for: -1, isCancelled: { false }) { disk.reserve($1) }
    }
    withExtendedLifetime(place) {}
    #expect(throws: SystemError.self) {
      try CopyRoom().take(size, for: -1, isCancelled: { false }) { _, _ in ENOSPC }
    }
  }

  @Test("small copies, and disks that can't say, have no part in it")
  func none() throws {
    #expect(try CopyRoom().take(1 << 20, for: -1, isCancelled: { false }) { _, _ in ENOSPC } == nil)
    #expect(try CopyRoom().take(1 << 30, for: -1, isCancelled: { false }) { _, _ in EOPNOTSUPP } == nil)
    #expect(try CopyRoom().take(1 << 30, for: -1, isCancelled: { true }) { _, _ in ENOSPC } == nil)
  }
}

extension DispatchQueue {
  /// Whether `body` throws, on a thread of its own.
  fileprivate func failing(_ body: @escaping @Sendable () throws -> Void) async -> Bool {
    await withCheckedContinuation { continuation in
      async { continuation.resume(returning: (try? body()) == nil) }
    }
  }
}
