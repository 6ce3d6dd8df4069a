import CUploads
import Foundation
import NIOCore
import Reel
import ReelTesting
import Synchronization
import Testing

@testable import ReelServer

/// A folder of uploads for one test, with a clock that the test sets.
final class TestUploads: Sendable {
  private final class SetClock: WallClock {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    func now() -> Date { time.withLock { $0 } }
  }
  let folder: String
  private let clock = SetClock()
  private let disk = DiskThreads(count: 2)

  init() { folder = FileManager.default.temporaryDirectory.appendingPathComponent("uploads-\(UUID())").path }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Waits as long as it takes for a lock that a child of another test has between its fork and its exec.
  func open(
    lockPatience: Duration = .seconds(600),
    room: @escaping @Sendable (String) throws(Problem) -> Int64 = { path throws(Problem) in
      try Disk.room(at: path)
    }
  ) throws -> UploadStore {
    try UploadStore(
      folder: folder, disk: disk, lifetime: 100, clock: clock, lockPatience: lockPatience, room: room)
  }

  /// Moves the clock. Files have the machine's time, so an upload's age counts from the later of its creation and its
  /// last byte.
  func pass(_ seconds: Double) { clock.time.withLock { $0 += seconds } }

  func state(_ length: Int64?, isResumable: Bool = true) -> UploadState {
    UploadState(
      length: length, words: PostMetadata(authorID: "ada", caption: "Hi"), isResumable: isResumable,
      createdAt: clock.now())
  }

  /// Creates an upload that holds `bytes`.
  func upload(_ bytes: String, of length: Int64, in store: UploadStore) async throws -> UploadID {
    let id = UploadID()
    _ = try await store.make(id, state(length))
    try await store.holding(id) { () throws(Problem) in try await append(bytes, to: id, in: store) }
    return id
  }

  func append(_ bytes: String, to id: UploadID, in store: UploadStore) async throws(Problem) {
    do {
      let writer = try await UploadWriter.open(try await store.find(id), in: store) { _ in }
      try await writer.append(ByteBuffer(string: bytes))
      _ = try await writer.finish(isWhole: true)
    } catch {
      throw error as? Problem ?? .badRequest("\(error)")
    }
  }
}

@Suite struct UploadStoreTests {
  private let uploads = TestUploads()

  /// A descriptor that does not support the call is not a failure. Every error of the disk is one, since the disk
  /// reports it only once.
  @Test func whatTheDiskSaysIsHeard() throws {
    var pipe: [Int32] = [0, 0]
    try #require(Glibc.pipe(&pipe) == 0)
    defer { for end in pipe { close(end) } }
    #expect(uploads_wait_for_writing(pipe[1], 0, 10) == 0)
    #expect(uploads_wait_for_writing(-1, 0, 10) == -1 && errno == EBADF)
  }

  /// The mount point of a lost disk is an empty folder.
  @Test(arguments: [false, true])
  func aFolderOutOfReachIsNoUploadThatIsGone(isReplaced: Bool) async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("a", of: 2, in: store)
    try FileManager.default.moveItem(atPath: uploads.folder, toPath: uploads.folder + ".away")
    if isReplaced {
      try FileManager.default.createDirectory(atPath: uploads.folder, withIntermediateDirectories: false)
      // Another server has left this file there.
      try #require(FileManager.default.createFile(atPath: uploads.folder + "/.lock", contents: nil))
    }
    func is503(_ error: any Error) -> Bool { (error as? Problem)?.status == 503 }
    await #expect { _ = try await store.find(id) } throws: { is503($0) }
    await #expect { _ = try await store.make(UploadID(), uploads.state(2)) } throws: { is503($0) }
    await #expect { try await store.settle(id, .published(.sample())) } throws: { is503($0) }
    #expect { try store.checkRoom(for: 0) } throws: { is503($0) }
    if isReplaced { try FileManager.default.removeItem(atPath: uploads.folder) }
    try FileManager.default.moveItem(atPath: uploads.folder + ".away", toPath: uploads.folder)
    #expect(try await store.find(id).offset == 1)
    await #expect(throws: Problem.noSuchUpload) { _ = try await store.find(UploadID()) }
  }

  @Test func theFolderMayBeALink() async throws {
    let target = uploads.folder + ".target"
    defer { try? FileManager.default.removeItem(atPath: target) }
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(atPath: uploads.folder, withDestinationPath: target)
    let store = try uploads.open()
    let id = try await uploads.upload("hello world", of: 11, in: store)
    #expect(try await store.seal(store.find(id)).path.text == "\(target)/\(id)/whole")
    let events = try EventOutbox(folder: uploads.folder, clock: SystemWallClock())
    #expect(events.folder == target)
  }

  /// Bytes that can't be synced just now are kept, unless the disk has lost them.
  @Test func whatTheDiskCannotSyncStays() async throws {
    var store = Optional(try uploads.open())
    let first = try #require(store)
    let id = try await uploads.upload("hello ", of: 11, in: first)
    let path = first.files(id).path
    store = nil
    _ = consume first
    let second = try uploads.open()
    let upload = try await second.find(id)
    // A pipe can't be synced.
    try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
    #expect(mkfifo(path, 0o600) == 0)
    await #expect(throws: Problem.self) { _ = try await second.hash(of: upload) }
    #expect(unlink(path) == 0)
    try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
    #expect(try await second.hash(of: upload).count == 6)
    #expect(try await second.find(id).offset == 6)
  }

  @Test func goesOnWhereItStood() async throws {
    var store = Optional(try uploads.open())
    let first = try #require(store)
    let id = try await uploads.upload("hello ", of: 11, in: first)
    #expect(try await first.find(id).offset == 6)
    #expect(throws: Problem.self) { _ = try uploads.open(lockPatience: .zero) }
    store = nil
    _ = consume first
    let second = try uploads.open()
    #expect(try await second.find(id).offset == 6)
    try await uploads.append("world", to: id, in: second)
    let upload = try await second.find(id)
    #expect(upload.isComplete)
    #expect(upload.state.words.caption == "Hi")
    #expect(try String(contentsOfFile: second.files(id).path, encoding: .utf8) == "hello world")
  }

  @Test func oneAtATime() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("a", of: 2, in: store)
    try await store.holding(id) { () throws(Problem) in
      #expect(store.busyCount == 1)
      do throws(Problem) {
        try await store.holding(id) { () throws(Problem) in }
        Issue.record("two hold it")
      } catch {
        #expect(error == .busy)
      }
    }
    try await store.holding(id) { () throws(Problem) in }
  }

  private final class Order: Sendable {
    let names = Mutex<[String]>([])
  }

  /// The latest request gets the upload next, except from a judge, which is not interrupted.
  @Test func theLaterTakesOver() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("a", of: 2, in: store)
    let order = Order()
    func taker(_ name: String) -> Task<Void, any Error> {
      Task {
        try await store.takingOver(id) { stop throws(Problem) in
          order.names.withLock { $0.append(name) }
          #expect(await stop.isAsked())
        }
      }
    }
    let first = taker("first")
    while order.names.withLock({ $0.isEmpty }) { await Task.yield() }
    // A waiting request is asked to stop as soon as it has its turn, because another has come since.
    let later = [taker("second"), taker("third")]
    try await first.value
    while order.names.withLock({ $0.count }) < 3 {
      _ = try await store.findAtRest(id)
      await Task.yield()
    }
    _ = try await store.findAtRest(id)
    for taker in later { try await taker.value }
    #expect(store.busyCount == 0)
    try await store.holding(id) { () throws(Problem) in
      await #expect(throws: Problem.busy) { try await store.takingOver(id) { _ throws(Problem) in } }
      #expect(try await store.findAtRest(id).offset == 1)
    }
  }

  @Test func bytesWithoutTheirChecksumGo() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("hello ", of: 11, in: store)
    let checksum = try PartChecksum(parsing: "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
    let writer = try await UploadWriter.open(try await store.find(id), in: store, checksum: checksum) { _ in }
    try await writer.append(ByteBuffer(string: "wurld"))
    // If the process died here, none of these bytes would count.
    #expect(try await store.find(id).offset == 6)
    await #expect { _ = try await writer.finish(isWhole: true) } throws: { ($0 as? Problem)?.status == 460 }
    #expect(try await store.find(id).offset == 6)
  }

  @Test func whatItsBytesHashToIsKnownAsTheyCome() async throws {
    var store = Optional(try uploads.open())
    let first = try #require(store)
    let id = try await uploads.upload("hello ", of: 11, in: first)
    // They are not read again, except for bytes that another process has written.
    let file = try #require(FileHandle(forWritingAtPath: first.files(id).path))
    try file.write(contentsOf: Data("HELLO ".utf8))
    try await uploads.append("world", to: id, in: first)
    #expect(try await first.hash(of: first.find(id)).digest().hex == Self.helloWorld)
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Data("hello ".utf8))
    try file.close()
    store = nil
    _ = consume first
    let second = try uploads.open()
    #expect(try await second.hash(of: second.find(id)).digest().hex == Self.helloWorld)
  }

  @Test func anotherProcessGoesOnWithTheHash() async throws {
    var store = Optional(try uploads.open())
    let first = try #require(store)
    let id = try await uploads.upload("hello ", of: 11, in: first)
    store = nil
    _ = consume first
    let second = try uploads.open()
    try await uploads.append("world", to: id, in: second)
    #expect(try await second.seal(second.find(id)).digest.hex == Self.helloWorld)
  }

  @Test func whatDoesNotCountIsNotHashed() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("hello ", of: 11, in: store)
    let checksum = try PartChecksum(parsing: "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
    for (text, isWhole) in [("wurld", true), ("wor", false)] {
      let writer = try await UploadWriter.open(try await store.find(id), in: store, checksum: checksum) { _ in
      }
      try await writer.append(ByteBuffer(string: text))
      _ = try? await writer.finish(isWhole: isWhole)
    }
    try await uploads.append("world", to: id, in: store)
    #expect(try await store.hash(of: store.find(id)).digest().hex == Self.helloWorld)
  }

  private static let helloWorld = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"

  @Test func whatIsWholeIsOutOfReach() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("hello world", of: 11, in: store)
    let upload = try await store.find(id)
    for _ in 0..<2 {
      let file = try await store.seal(upload)
      #expect(file.digest.hex == Self.helloWorld && file.size == 11)
      #expect(file.path.text == store.files(id).wholePath)
    }
    #expect(try await store.find(id).isComplete)
    #expect(try await store.sweep().complete == [id])
    await #expect(throws: Problem.noSuchUpload) {
      _ = try await UploadWriter.open(upload, in: store) { _ in }
    }
    try await store.settle(id, .published(.sample()))
    #expect(!store.files(id).hasBytes)
  }

  @Test func nothingIsWrittenOnceItIsFinished() async throws {
    let store = try uploads.open()
    let id = UploadID()
    _ = try await store.make(id, uploads.state(11))
    let writer = try await UploadWriter.open(try await store.find(id), in: store) { _ in }
    try await writer.append(ByteBuffer(string: "hello "))
    #expect(try await writer.finish(isWhole: false) == 6)
    await #expect(throws: Problem.self) { try await writer.append(ByteBuffer(string: "world")) }
    #expect(try await store.find(id).offset == 6)
  }

  @Test func whatIsLeftOfOneIsNotWrittenTo() async throws {
    let store = try uploads.open()
    let (id, object) = (UploadID(), "\(uploads.folder)/.object")
    let folder = "\(uploads.folder)/\(id)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Data("a video".utf8).write(to: URL(filePath: object))
    for name in ["bytes", "whole"] {
      try FileManager.default.linkItem(atPath: object, toPath: "\(folder)/\(name)")
    }
    #expect(try await store.make(id, uploads.state(2)) == nil)
    try await uploads.append("ab", to: id, in: store)
    #expect(try String(contentsOfFile: object, encoding: .utf8) == "a video")
    #expect(try await store.find(id).isComplete)
  }

  @Test func partsThatWereCutAreKeptUnlessTheyHaveAChecksum() async throws {
    let store = try uploads.open()
    for (checksum, offset) in [(nil, 3), ("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", 0)] as [(String?, Int64)] {
      let id = UploadID()
      _ = try await store.make(id, uploads.state(11))
      let writer = try await UploadWriter.open(
        try await store.find(id), in: store, checksum: try checksum.map { try PartChecksum(parsing: $0) }
      ) { _ in }
      try await writer.append(ByteBuffer(string: "hel"))
      #expect(try await writer.finish(isWhole: false) == offset)
      #expect(try await store.find(id).offset == offset)
    }
  }

  @Test func whatIsWrittenWhileMoreComesIsInOrder() async throws {
    let store = try uploads.open()
    let (id, size) = (UploadID(), 5_000_000)
    _ = try await store.make(id, uploads.state(Int64(size)))
    let sent = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
    let writer = try await UploadWriter.open(try await store.find(id), in: store) { _ in }
    var (from, pieces) = (0, (1...).lazy.map { 1 + $0 * 7_919 % 300_000 }.makeIterator())
    while from < size, let piece = pieces.next() {
      let end = min(size, from + piece)
      try await writer.append(ByteBuffer(bytes: sent[from..<end]))
      from = end
      #expect(writer.offset == Int64(end))
    }
    #expect(try await writer.finish(isWhole: true) == Int64(size))
    #expect(try Data(contentsOf: URL(fileURLWithPath: store.files(id).path)) == Data(sent))
  }

  @Test func looksAtTheFirstBytesOnceAndEarly() async throws {
    let store = try uploads.open()
    let id = UploadID()
    _ = try await store.make(id, uploads.state(1 << 20))
    let looks = Mutex(0)
    let writer = try await UploadWriter.open(try await store.find(id), in: store) { file throws(ProbeError) in
      looks.withLock { $0 += 1 }
      #expect(file.size == 1 << 20)
      throw ProbeError(.notMedia, "no")
    }
    try await writer.append(ByteBuffer(repeating: 7, count: 65_000))
    #expect(looks.withLock { $0 } == 0)
    await #expect(throws: ProbeError.self) { try await writer.append(ByteBuffer(repeating: 7, count: 600)) }
    await #expect(throws: ProbeError.self) { try await writer.append(ByteBuffer(repeating: 7, count: 600)) }
    #expect(looks.withLock { $0 } == 1)
  }

  @Test func tellsOnceThatAnUploadWillSoonBeWhole() async throws {
    let store = try uploads.open()
    for (length, told) in [(33 << 20, [0, 1, 1]), (100, [1, 1, 1]), (nil, [1, 1, 1])] as [(Int64?, [Int])] {
      let id = UploadID()
      let count = Atomic(0)
      _ = try await store.make(id, uploads.state(length))
      let writer = try await UploadWriter.open(
        try await store.find(id), in: store, nearEnd: { count.add(1, ordering: .relaxed) },
        firstLook: { _ in })
      for (size, told) in zip([10, 1 << 20, 10], told) {
        try await writer.append(ByteBuffer(repeating: 7, count: size))
        // The first call comes while the bytes are being written.
        while count.load(ordering: .relaxed) < told { await Task.yield() }
        #expect(count.load(ordering: .relaxed) == told)
      }
    }
  }

  @Test func whatWasJudgedIsRememberedWithoutItsBytes() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("hello world", of: 11, in: store)
    try await store.settle(id, .published(.sample()))
    let upload = try await store.find(id)
    #expect(upload.offset == 11 && upload.isComplete)
    #expect(upload.state.verdict == .published(.sample()))
    #expect(!FileManager.default.fileExists(atPath: store.files(id).path))
  }

  @Test func nothingStaysOfWhatNobodyCanAskFor() async throws {
    let store = try uploads.open()
    let id = UploadID()
    _ = try await store.make(id, uploads.state(2, isResumable: false))
    try await uploads.append("ab", to: id, in: store)
    try await store.keep(try await store.find(id))
    try await store.settle(id, .published(.sample()))
    #expect(try FileManager.default.contentsOfDirectory(atPath: uploads.folder) == [".lock"])
  }

  @Test func sweepsWhatIsOver() async throws {
    var store = Optional(try uploads.open())
    let first = try #require(store)
    let (whole, part, plain) = (
      try await uploads.upload("ab", of: 2, in: first), try await uploads.upload("a", of: 2, in: first),
      UploadID()
    )
    _ = try await first.make(plain, uploads.state(nil, isResumable: false))
    try FileManager.default.createDirectory(
      atPath: "\(uploads.folder)/\(UploadID())", withIntermediateDirectories: false)
    #expect(try await first.sweep().complete == [whole])
    _ = try await first.find(plain)
    store = nil
    _ = consume first
    uploads.pass(1)
    let second = try uploads.open()
    #expect(try await second.sweep().complete == [whole])
    // Nobody can resume this upload anymore.
    await #expect(throws: Problem.noSuchUpload) { _ = try await second.find(plain) }
    // The bytes were written at the machine's time.
    uploads.pass(max(0, Date.now.timeIntervalSince(second.now)) + 101)
    await #expect { _ = try await second.find(part) } throws: { ($0 as? Problem)?.status == 410 }
    // An upload that arrived whole was promised a verdict.
    #expect(try await second.sweep().complete == [whole])
    #expect(try await second.find(whole).isComplete)
    try await second.settle(whole, .published(.sample()))
    uploads.pass(max(0, Date.now.timeIntervalSince(second.now)) + 101)
    #expect(try await second.sweep().complete.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: uploads.folder) == [".lock"])
  }

  /// An upload whose state was not on the disk when the power failed, and one whose state was overwritten.
  @Test func whatIsEmptyGoesAndWhatIsUnreadableIsTold() async throws {
    let store = try uploads.open()
    let (empty, broken) = (
      try await uploads.upload("a", of: 2, in: store), try await uploads.upload("a", of: 2, in: store)
    )
    for (id, text) in [(empty, ""), (broken, "{")] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(uploads.folder)/\(id)/state.json"))
    }
    let swept = try await store.sweep()
    #expect(swept.complete.isEmpty && swept.unreadable == [broken])
    await #expect(throws: Problem.noSuchUpload) { _ = try await store.find(empty) }
    #expect(!FileManager.default.fileExists(atPath: "\(uploads.folder)/\(empty)"))
    #expect(try await store.make(empty, uploads.state(3)) == nil)
  }

  /// Otherwise its sender would be directed to an upload that is gone.
  @Test func oneWhoseTimeIsOverMakesPlace() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("a", of: 2, in: store)
    uploads.pass(max(0, Date.now.timeIntervalSince(store.now)) + 101)
    #expect(try await store.make(id, uploads.state(3)) == nil)
    #expect(try await store.find(id).state.length == 3)
    #expect(try await store.find(id).offset == 0)
  }

  @Test func sweepsWithoutHoldingWhatGoesOn() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("ab", of: 2, in: store)
    // If the sweep had to hold the upload, it would skip it here, since it is already held.
    let whole = try await store.holding(id) { () throws(Problem) in try await store.sweep() }
    #expect(whole.complete == [id])
    try await store.settle(id, .published(.sample()))
    #expect(try await store.sweep().complete.isEmpty)
  }

  @Test func whatCameWholeByAnAddressIsJudgedAfterACrash() async throws {
    var store = Optional(try uploads.open())
    let first = try #require(store)
    var state = uploads.state(2, isResumable: false)
    state.rememberedUntil = first.now + 1_000
    let (whole, part) = (UploadID(), UploadID())
    for (id, bytes) in [(whole, "ab"), (part, "a")] {
      _ = try await first.make(id, state)
      try await uploads.append(bytes, to: id, in: first)
    }
    store = nil
    _ = consume first
    uploads.pass(1)
    let second = try uploads.open()
    #expect(try await second.sweep().complete == [whole])
    await #expect(throws: Problem.noSuchUpload) { _ = try await second.find(part) }
  }

  @Test func isBegunAnewUnlessItCameWhole() async throws {
    let store = try uploads.open()
    let (part, whole) = (
      try await uploads.upload("a", of: 2, in: store), try await uploads.upload("ab", of: 2, in: store)
    )
    #expect(try await store.begin(part, uploads.state(3)) == nil)
    #expect(try await store.find(part).offset == 0)
    #expect(try await store.begin(whole, uploads.state(3))?.state.length == 2)
    #expect(try await store.find(whole).isComplete)
  }

  @Test func discardsItsOwnAlone() async throws {
    let store = try uploads.open()
    let (own, judged) = (
      try await uploads.upload("ab", of: 2, in: store), try await uploads.upload("ab", of: 2, in: store)
    )
    let made = try await store.find(own).state.createdAt
    try await store.settle(judged, .published(.sample()))
    try await store.discard(judged, madeAt: made)
    try await store.discard(own, madeAt: made - 1)
    try await store.holding(own) { () throws(Problem) in
      _ = await #expect(throws: Problem.busy) { try await store.discard(own, madeAt: made) }
    }
    _ = try await (store.find(own), store.find(judged))
    try await store.discard(own, madeAt: made)
    await #expect(throws: Problem.noSuchUpload) { _ = try await store.find(own) }
  }

  @Test func aLockThatIsJustGivenUpIsWaitedFor() throws {
    _ = try uploads.open()
    // The child of a killed server holds the lock until it executes another program.
    let child = open(uploads.folder + "/.lock", O_RDWR | O_CLOEXEC)
    #expect(flock(child, LOCK_EX) == 0)
    // A thread of its own, because `open` may block the last one that a task could run on.
    Thread {
      usleep(200_000)
      close(child)
    }.start()
    _ = try uploads.open()
  }

  @Test func whatCannotFitIsNotBegun() async throws {
    let store = try uploads.open()
    let known = try await uploads.upload("a", of: 2, in: store)
    #expect(try await store.make(known, uploads.state(.max))?.offset == 1)
    await #expect(throws: Problem.diskFull) { _ = try await store.make(UploadID(), uploads.state(.max)) }
  }
}
