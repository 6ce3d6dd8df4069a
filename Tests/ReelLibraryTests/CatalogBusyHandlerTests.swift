import Synchronization
import Testing

@testable import ReelLibrary

@Suite struct BusyWaitTests {
  @Test(arguments: [0, 0.05, 0.25, 1, 10])
  func waitsAsLongAsItMayAndNoLonger(seconds: Double) {
    #expect(abs(wait(CatalogBusyHandler(longest: seconds)).seconds - seconds) <= 0.004)
  }

  @Test func whoIsSeenToHoldItIsWaitedForAndToldOnce() {
    let hold = LockHolder(path: "/l/catalog.sqlite", pid: 7, isStopped: true)
    let found = wait(CatalogBusyHandler(longest: 10, longestBeside: 60, holder: { hold }))
    #expect(abs(found.seconds - 60) <= 0.004)
    #expect(found.told == [hold])
  }

  @Test func aShortWaitIsNotWorthAWord() {
    let hold = LockHolder(path: "/l/catalog.sqlite", pid: 7, isStopped: false)
    #expect(wait(CatalogBusyHandler(longest: 1, longestBeside: 1.5, holder: { hold })).told.isEmpty)
  }

  private func wait(_ wait: CatalogBusyHandler) -> (seconds: Double, told: [LockHolder]) {
    let told = ToldHolds()
    var telling = wait
    telling.onWait = { told.add($0) }
    var progress = CatalogBusyHandler.Progress()
    var (seconds, tries) = (0.0, 0)
    while let pause = telling.pause(after: tries, &progress) {
      seconds += pause
      tries += 1
    }
    return (seconds, told.all)
  }

  @Test func theTableOfLocksTellsWhoWritesAndNotWhoWaits() {
    let table = """
      1: POSIX  ADVISORY  WRITE 9876 fe:00:5367821 120 120
      1: -> POSIX  ADVISORY  WRITE 9877 fe:00:5367821 120 120
      2: POSIX  ADVISORY  READ 11 fe:00:5367821 124 124
      3: FLOCK  ADVISORY  WRITE 12 fe:00:5367821 0 EOF
      4: POSIX  ADVISORY  WRITE 13 fe:00:53678 120 120
      5: POSIX  ADVISORY  WRITE 0 fe:00:5367821 123 123
      torn line
      """
    #expect(LockTable.holders(in: table, kind: "POSIX", inode: 5_367_821) == [9876])
    #expect(LockTable.holders(in: table, kind: "FLOCK", inode: 5_367_821) == [12])
  }

  @Test(
    "the table is read again if it shows no holder, as lines may be missing",
    arguments: [(standsIn: 1, readings: 1, isFound: true), (3, 3, true), (9, 4, false)])
  func readAgain(standsIn first: Int, readings expected: Int, isFound: Bool) {
    var readings = 0
    let read = {
      readings += 1
      return readings >= first ? "x" : ""
    }
    let found: Bool? = LockTable.first(in: read) { $0 == "x" ? true : nil }
    #expect(found == (isFound ? true : nil))
    #expect(readings == expected)
  }
}

private final class ToldHolds: Sendable {
  private let holds = Mutex<[LockHolder]>([])
  var all: [LockHolder] { holds.withLock { $0 } }
  func add(_ hold: LockHolder) { holds.withLock { $0.append(hold) } }
}
