import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelSource

/// On a simulated disk: concurrent copies never run out of space halfway.
@Suite("space for private copies", .shortTime)
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

  @Test("eight copies, two of which fit at a time, wait for each other, and none fails")
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
            // There is space for a second copy beside the first.
            while copies.most.withLock({ $0 < 2 }) { usleep(1000) }
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

  @Test("a single copy without enough space fails before a byte of it is written")
  func fails() throws {
    #expect(throws: SystemError(code: ENOSPC, call: "fallocate")) {
      try CopyRoom().take(1 << 30, for: -1, isCancelled: { false }) { _, _ in ENOSPC }
    }
  }

  @Test(
    "a thread's next copy waits until its last one, now used by others, is released, however long that takes")
  func next() throws {
    let (room, size) = (CopyRoom(), Int64(1) << 30)
    let disk = Disk(size)
    var place = try room.take(size, for: -1, isCancelled: { false }) { disk.reserve($1) }
    let tries = Mutex(0)
    let next = try room.take(size, for: -1, isCancelled: { false }) {
      if tries.withLock({
        $0 += 1; return $0
      }) == 5 {
        disk.free.withLock { $0 += size }
        place = nil
      }
      return disk.reserve($1)
    }
    #expect(next != nil && place == nil && tries.withLock { $0 } == 5)
  }

  @Test("a copy that finds no space while another is just reserving it waits for that one")
  func taking() async throws {
    let (room, size) = (CopyRoom(), Int64(1) << 30)
    let disk = Disk(size)
    let isTaking = DispatchSemaphore(value: 0)
    async let first = DispatchQueue(label: "first").failing {
      let place = try room.take(size, for: -1, isCancelled: { false }) {
        // Like fallocate(2) on a slow disk.
        let error = disk.reserve($1)
        isTaking.signal()
        usleep(100_000)
        return error
      }
      usleep(100_000)
      withExtendedLifetime(place) { disk.free.withLock { $0 += size } }
    }
    async let second = DispatchQueue(label: "second").failing {
      isTaking.wait()
      let place = try room.take(size, for: -1, isCancelled: { false }) { disk.reserve($1) }
      #expect(place != nil)
    }
    #expect(await [first, second] == [false, false])
  }

  @Test("small copies, and disks that can't reserve space, are exempt")
  func none() throws {
    #expect(try CopyRoom().take(1 << 20, for: -1, isCancelled: { false }) { _, _ in ENOSPC } == nil)
    #expect(try CopyRoom().take(1 << 30, for: -1, isCancelled: { false }) { _, _ in EOPNOTSUPP } == nil)
    #expect(try CopyRoom().take(1 << 30, for: -1, isCancelled: { true }) { _, _ in ENOSPC } == nil)
  }
}

extension DispatchQueue {
  /// Whether `body` throws, run on this queue.
  fileprivate func failing(_ body: @escaping @Sendable () throws -> Void) async -> Bool {
    await withCheckedContinuation { continuation in
      async { continuation.resume(returning: (try? body()) == nil) }
    }
  }
}
