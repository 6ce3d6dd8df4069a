import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

/// No test waits: the times are simulated.
@Suite("settling files")
struct SettlingFilesTests {
  private let path = SourcePath("drop/a.mp4")

  private func state(_ size: Int64, _ number: UInt64 = 1) -> FileIdentity {
    FileIdentity(device: 1, inode: number, size: size, modifiedAt: size, changedAt: size)
  }

  @Test("a closed file is settled at once, any other after it has not changed for a while")
  func settles() {
    var files = SettlingFiles(SettlingFiles.Waits(settle: .seconds(2), secondLook: .seconds(30)))
    #expect(files.saw(path, state(1), age: .zero, isClosed: true, at: .seconds(1)) == .settled(.zero))
    let other = SourcePath("drop/b.mp4")
    files.noticed(other, at: .seconds(10))
    #expect(files.due(upTo: 9, at: .seconds(11)) == [])
    #expect(files.due(upTo: 9, at: .seconds(12)) == [other])
    #expect(files.saw(other, state(1), age: .zero, isClosed: false, at: .seconds(12)) == .waits)
    #expect(files.saw(other, state(2), age: .zero, isClosed: false, at: .seconds(13)) == .waits)
    #expect(files.due(upTo: 9, at: .seconds(14)) == [])
    #expect(files.due(upTo: 9, at: .seconds(15)) == [other])
    #expect(
      files.saw(other, state(2), age: .zero, isClosed: false, at: .seconds(15)) == .settled(.seconds(2)))
    #expect(files.count == 0)
  }

  @Test("a file that existed before is settled by its own times")
  func old() {
    var files = SettlingFiles()
    #expect(files.saw(path, state(1), age: .seconds(1), isClosed: false, at: .zero) == .waits)
    #expect(
      files.saw(SourcePath("b"), state(1), age: .seconds(90), isClosed: false, at: .zero)
        == .settled(.seconds(90)))
  }

  @Test(
    "a settled file is not settled again unless it has changed, was forgotten or is to be retried")
  func known() {
    var files = SettlingFiles()
    _ = files.saw(path, state(1), age: .zero, isClosed: true, at: .zero)
    #expect(files.saw(path, state(1), age: .zero, isClosed: true, at: .seconds(9)) == .known)
    #expect(files.saw(path, state(2), age: .zero, isClosed: true, at: .seconds(9)) == .settled(.zero))
    files.forget(path)
    #expect(files.saw(path, state(2), age: .zero, isClosed: true, at: .seconds(9)) == .settled(.zero))
    files.retry(path, state(2), after: .seconds(60), at: .seconds(10))
    #expect(files.saw(path, state(2), age: .seconds(999), isClosed: true, at: .seconds(69)) == .waits)
    #expect(files.due(upTo: 9, at: .seconds(69)) == [])
    #expect(files.due(upTo: 9, at: .seconds(70)) == [path])
    #expect(
      files.saw(path, state(2), age: .seconds(999), isClosed: false, at: .seconds(70))
        == .settled(.seconds(60)))
  }

  @Test("a file that looks cut off is settled again after a longer rest, but not a third time")
  func cutOff() {
    var files = SettlingFiles(SettlingFiles.Waits(settle: .seconds(2), secondLook: .seconds(30)))
    _ = files.saw(path, state(1), age: .zero, isClosed: true, at: .seconds(100))
    #expect(files.looksCutOff(path, state(1), after: .zero, at: .seconds(100)) == true)
    #expect(files.saw(path, state(1), age: .zero, isClosed: true, at: .seconds(110)) == .waits)
    #expect(files.due(upTo: 9, at: .seconds(129)) == [])
    #expect(files.due(upTo: 9, at: .seconds(130)) == [path])
    #expect(
      files.saw(path, state(1), age: .zero, isClosed: false, at: .seconds(130)) == .settled(.seconds(30)))
    #expect(files.looksCutOff(path, state(1), after: .seconds(30), at: .seconds(130)) == false)
    // The writer continues, so everything starts over.
    _ = files.saw(path, state(2), age: .zero, isClosed: true, at: .seconds(131))
    #expect(files.looksCutOff(path, state(2), after: .zero, at: .seconds(131)) == true)
    #expect(files.saw(path, state(3), age: .zero, isClosed: true, at: .seconds(132)) == .settled(.zero))
  }

  @Test("a file that changed while it was handled has to rest, however often its writer closes it")
  func changed() {
    var files = SettlingFiles(SettlingFiles.Waits(settle: .seconds(2), secondLook: .seconds(30)))
    #expect(files.saw(path, state(1), age: .zero, isClosed: true, at: .zero) == .settled(.zero))
    files.changed(path, at: .seconds(1))
    #expect(files.saw(path, state(2), age: .zero, isClosed: true, at: .seconds(1)) == .waits)
    #expect(files.saw(path, state(3), age: .zero, isClosed: true, at: .seconds(2)) == .waits)
    #expect(files.due(upTo: 9, at: .seconds(3)) == [])
    #expect(files.due(upTo: 9, at: .seconds(4)) == [path])
    #expect(files.saw(path, state(3), age: .zero, isClosed: false, at: .seconds(4)) == .settled(.seconds(2)))
    // Afterwards it is treated like any other.
    #expect(files.saw(path, state(4), age: .zero, isClosed: true, at: .seconds(9)) == .settled(.zero))
  }

  @Test("a file that can't be opened is reported once")
  func unreachable() {
    var files = SettlingFiles()
    #expect(files.isUnreachable(path) == true)
    #expect(files.isUnreachable(path) == false)
    #expect(files.saw(path, state(1), age: .zero, isClosed: true, at: .zero) == .settled(.zero))
  }

  @Test("a file missing from a listing is forgotten")
  func listings() {
    var files = SettlingFiles()
    let other = SourcePath("b")
    for one in [path, other] { _ = files.saw(one, state(1), age: .zero, isClosed: true, at: .zero) }
    files.keep([path.hashValue])
    #expect(files.saw(path, state(1), age: .zero, isClosed: true, at: .zero) == .known)
    #expect(files.saw(other, state(1), age: .zero, isClosed: true, at: .zero) == .settled(.zero))
  }

  /// A writer of one file, with the seconds at which it writes, and whether it closes the file.
  private struct Writer {
    let path: SourcePath
    var writes: ArraySlice<Int>
    let closes: Bool
    var size: Int64 = 0
  }

  @Test("in a simulated week each file is settled once after its last change, and nothing is left waiting")
  func week() throws {
    let seed = TestSeed.drawn()
    var draws = SplitMix64(seed: seed)
    let week = 7 * 24 * 3600
    var writers = (0..<5000).map { number in
      let begin = Int(draws.next() % UInt64(week - 4000))
      // Pauses are shorter than the settling time, so that no file is settled too early.
      let pauses = (0..<Int(draws.next() % 40)).map { _ in Int(draws.next() % 90) }
      let times = pauses.reduce(into: [begin]) { $0.append(($0.last ?? 0) + 1 + $1) }
      return Writer(path: SourcePath("drop/\(number).mp4"), writes: times[...], closes: draws.next() % 2 == 0)
    }
    var files = SettlingFiles(SettlingFiles.Waits(settle: .seconds(120), secondLook: .seconds(300)))
    var steps = writers.indices.flatMap { index in writers[index].writes.map { ($0, index) } }
    steps.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    var settled: [SourcePath: (count: Int, at: Int)] = [:]
    var most = 0
    var next = steps[...]
    for second in 0..<week + 1000 {
      while let (time, index) = next.first, time == second {
        next.removeFirst()
        writers[index].writes.removeFirst()
        writers[index].size += 1
        let path = writers[index].path
        if writers[index].writes.isEmpty, writers[index].closes {
          let verdict = files.saw(
            path, state(writers[index].size), age: .zero, isClosed: true, at: .seconds(second))
          #expect(verdict == .settled(.zero) || verdict != .known)
          if case .settled = verdict { settled[path] = ((settled[path]?.count ?? 0) + 1, second) }
        } else {
          files.noticed(path, at: .seconds(second))
        }
      }
      for path in files.due(upTo: 100, at: .seconds(second)) {
        let index = try #require(Int(path.text.dropFirst(5).dropLast(4)))
        let verdict = files.saw(
          path, state(writers[index].size), age: .zero, isClosed: false, at: .seconds(second))
        if case .settled = verdict { settled[path] = ((settled[path]?.count ?? 0) + 1, second) }
      }
      most = max(most, files.count)
    }
    for writer in writers {
      let end = settled[writer.path]
      #expect(end?.count == 1 && writer.writes.isEmpty, "\(writer.path), seed \(seed)")
    }
    #expect(files.count == 0 && files.nextDue == nil, "seed \(seed)")
    #expect(most < 200, "what waits is what is being written, seed \(seed)")
  }
}
