import Dispatch
import Glibc
import ReelModel
import ReelSystem
import Synchronization
import Testing

@testable import ReelUploading

@Suite struct GroupPlacingTests {
  let folder: TemporaryFolder
  let store: OpenStore
  let failure: FolderFailure

  init() throws {
    folder = try TemporaryFolder()
    failure = FolderFailure(store: folder.path)
    for name in ["root", "tmp"] { try #require(mkdir(folder.path(of: name), 0o700) == 0) }
    store = OpenStore(
      root: try StoreFolder.open(folder.path(of: "root")), path: folder.path(of: "root"),
      temporaries: try StoreFolder.open(folder.path(of: "tmp")),
      lock: try OwnerLock(directory: folder.path(of: "tmp"), name: TemporaryName.newOwner()),
      leftovers: LeftoverSweep(folder: folder.path(of: "tmp")))
  }

  private func copy(_ name: String) throws -> CopiedObject {
    try ObjectCopying(store: store, key: key(name), mode: 0o600, failure: failure)
      .run(.filled(1000), CancellationFlag()) { _ in }
  }

  private func names() throws -> [String] { try folder.names(in: "root") }

  private func parts() throws -> [String] { try folder.names(in: "tmp").filter { $0.hasSuffix(".part") } }

  @Test func aCopyHasNoNameUntilItIsPlaced() async throws {
    let copied = try copy("a.mp4")
    #expect(try names().isEmpty && parts().count == 1)
    try await GroupPlacing(root: store.root, path: folder.path(of: "root")).place(copied, failure)
    #expect(try names() == ["a.mp4"] && parts().isEmpty)
  }

  @Test(arguments: ["moved", "replaced", "removed"])
  func aFolderThatIsNoLongerThereHoldsNoObject(what: String) async throws {
    let copied = try copy("a.mp4")
    let (root, moved) = (folder.path(of: "root"), folder.path(of: "moved"))
    try #require(what == "removed" ? rmdir(root) == 0 : rename(root, moved) == 0)
    if what == "replaced" { try #require(mkdir(root, 0o700) == 0) }
    let placing = GroupPlacing(root: store.root, path: root)
    #expect(await uploadCode { try await placing.place(copied, failure) } == .storeUnusable)
    if what != "removed" { #expect(try folder.names(in: "moved").isEmpty) }
    if what == "replaced" { #expect(try names().isEmpty) }
  }

  @Test func aCopyThatIsLetGoOfLeavesNothing() throws {
    _ = try copy("a.mp4")
    #expect(try names().isEmpty && parts().isEmpty)
  }

  @Test func whatComesWhileAGroupIsUnderWayWaitsForTheNext() async throws {
    let gate = Gate()
    let placing = GroupPlacing(root: store.root, path: folder.path(of: "root")) { _ in gate.pass() }
    let first = Task { try await placing.place(try copy("first.mp4"), failure) }
    await gate.isReached()
    let others = try (0..<100).map { try copy("\($0).mp4") }
    let rest = Task {
      try await withThrowingTaskGroup { group in
        for other in others { group.addTask { try await placing.place(other, failure) } }
        try await group.waitForAll()
      }
    }
    while placing.waitingCount < 100 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(try names() == ["first.mp4"], "a name before its own sync")
    gate.open()
    try await first.value
    try await rest.value
    #expect(try names().count == 101)
    #expect(gate.count == 2)
  }

  @Test func aFolderThatCannotBeSyncedTakesItsNamesBack() async throws {
    let placing = GroupPlacing(root: store.root, path: folder.path(of: "root")) { _ throws(SystemError) in
      throw SystemError(code: EIO, call: "fsync")
    }
    let copied = try copy("a.mp4")
    #expect(await uploadCode { try await placing.place(copied, failure) } == .interrupted)
    #expect(try names().isEmpty)
  }

  @Test func aNameThatIsTakenIsOnlyItsOwnMatter() async throws {
    let placing = GroupPlacing(root: store.root, path: folder.path(of: "root"))
    let copies = try ["a.mp4", "b.mp4", "c.mp4"].map { try copy($0) }
    try folder.write([9], to: "root/b.mp4")
    let codes = await withTaskGroup(of: UploadError.Code?.self) { group in
      for copied in copies {
        group.addTask { await uploadCode { try await placing.place(copied, failure) } }
      }
      return await group.reduce(into: [UploadError.Code?]()) { $0.append($1) }
    }
    #expect(codes.compactMap { $0 } == [.alreadyExists])
    #expect(try names() == ["a.mp4", "b.mp4", "c.mp4"])
    #expect(try folder.names(in: "root").count == 3)
  }

  @Test func whoIsCancelledWhileWaitingGetsNoName() async throws {
    let gate = Gate()
    let placing = GroupPlacing(root: store.root, path: folder.path(of: "root")) { _ in gate.pass() }
    let first = Task { try await placing.place(try copy("first.mp4"), failure) }
    await gate.isReached()
    let second = Task { await uploadCode { try await placing.place(try copy("second.mp4"), failure) } }
    try await Task.sleep(for: .milliseconds(50))
    second.cancel()
    gate.open()
    #expect(await second.value == .cancelled)
    try await first.value
    #expect(try names() == ["first.mp4"])
  }
}

/// Something of which the first waits until it may go on.
private final class Gate: Sendable {
  private let passed = Atomic<Int>(0)
  private let reached = AsyncStream<Void>.makeStream()
  private let lock = DispatchSemaphore(value: 0)

  var count: Int { passed.load(ordering: .relaxed) }

  func pass() {
    if passed.add(1, ordering: .relaxed).newValue == 1 {
      reached.continuation.finish()
      lock.wait()
    }
  }

  func isReached() async { for await _ in reached.stream {} }
  func open() { lock.signal() }
}
