import Glibc
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelStorage

@Suite struct ObjectBatchTests {
  let folder: TemporaryFolder
  let store: OpenStore
  let failure: FolderFailure

  init() throws {
    folder = try TemporaryFolder()
    failure = FolderFailure(store: folder.path)
    for name in ["root", "tmp"] { try #require(mkdir(folder.path(of: name), 0o700) == 0) }
    store = OpenStore(
      root: try StoreFolder.open(folder.path(of: "root")),
      temporaries: try StoreFolder.open(folder.path(of: "tmp")),
      lock: try OwnerLock(directory: folder.path(of: "tmp"), name: TemporaryName.newOwner()),
      leftovers: LeftoverSweep(folder: folder.path(of: "tmp")))
  }

  private func batch(
    flush: @escaping (Descriptor) throws(SystemError) -> Void = { folder throws(SystemError) in
      try folder.syncFolder()
    }
  ) -> ObjectBatch {
    ObjectBatch(root: store.root, path: folder.path(of: "root"), failure: failure, flush: flush)
  }

  private func copy(_ name: String) throws -> CopiedObject {
    try ObjectCopying(store: store, key: key(name), mode: 0o600, failure: failure)
      .run(.filled(1000), CancellationFlag()) { _ in }
  }

  private func codes(_ outcomes: [ObjectBatch.Outcome]) -> [UploadError.Code?] {
    outcomes.map { outcome in
      do throws(UploadError) {
        try outcome.get()
        return nil
      } catch {
        return error.code
      }
    }
  }

  private func names() throws -> [String] { try folder.names(in: "root").sorted() }

  private func parts() throws -> [String] { try folder.names(in: "tmp").filter { $0.hasSuffix(".part") } }

  @Test func aCopyHasNoNameUntilItIsPlaced() throws {
    let copied = try copy("a.mp4")
    #expect(try names().isEmpty && parts().count == 1)
    #expect(codes(batch().place([copied], CancellationFlag())) == [nil])
    #expect(try names() == ["a.mp4"] && parts().isEmpty)
  }

  @Test("the folder is synced once, after all names are given and before any result is returned")
  func oneSync() throws {
    let copies = try (0..<100).map { try copy("\($0).mp4") }
    let named = Mutex<[Int]>([])
    let batch = batch { [folder] _ in
      let count = (try? folder.names(in: "root").count) ?? -1
      named.withLock { $0.append(count) }
    }
    #expect(codes(batch.place(copies, CancellationFlag())) == Array(repeating: nil, count: 100))
    #expect(named.withLock { $0 } == [100])
  }

  @Test(arguments: ["moved", "replaced", "removed"])
  func aFolderThatIsNoLongerThereHoldsNoObject(what: String) throws {
    let copied = try copy("a.mp4")
    let (root, moved) = (folder.path(of: "root"), folder.path(of: "moved"))
    try #require(what == "removed" ? rmdir(root) == 0 : rename(root, moved) == 0)
    if what == "replaced" { try #require(mkdir(root, 0o700) == 0) }
    #expect(codes(batch().place([copied], CancellationFlag())) == [.storeUnusable])
    if what != "removed" { #expect(try folder.names(in: "moved").isEmpty) }
    if what == "replaced" { #expect(try names().isEmpty) }
  }

  @Test func aCopyThatIsLetGoOfLeavesNothing() throws {
    _ = try copy("a.mp4")
    #expect(try names().isEmpty && parts().isEmpty)
  }

  @Test func aFolderThatCannotBeSyncedTakesItsNamesBack() throws {
    let copies = try ["a.mp4", "b.mp4"].map { try copy($0) }
    let batch = batch { _ throws(SystemError) in throw SystemError(code: EIO, call: "fsync") }
    #expect(codes(batch.place(copies, CancellationFlag())) == [.interrupted, .interrupted])
    #expect(try names().isEmpty)
  }

  @Test func aNameThatIsTakenIsOnlyItsOwnMatter() throws {
    let copies = try ["a.mp4", "b.mp4", "c.mp4"].map { try copy($0) }
    try folder.write([9], to: "root/b.mp4")
    #expect(codes(batch().place(copies, CancellationFlag())) == [nil, .alreadyExists, nil])
    #expect(try names() == ["a.mp4", "b.mp4", "c.mp4"])
  }

  private func codes(_ removals: [Result<ObjectRemoval, UploadError>]) -> [UploadError.Code?] {
    codes(removals.map { removal in removal.map { _ in } })
  }

  @Test("many names are removed with one sync, with a result for each, and nothing else is touched")
  func removing() throws {
    for index in 0..<100 { try folder.write([1], to: "root/\(index).mp4") }
    try #require(mkdir(folder.path(of: "root/folder"), 0o700) == 0)
    try folder.write([1], to: "root/other.mp4")
    let left = Mutex<[Int]>([])
    let batch = batch { [folder] _ in
      let count = (try? folder.names(in: "root").count) ?? -1
      left.withLock { $0.append(count) }
    }
    let keys = try (0..<100).map { try key("\($0).mp4") } + [key("never.mp4"), key("folder"), key("0.mp4")]
    #expect(codes(batch.remove(keys)) == Array(repeating: nil, count: 101) + [.conflict, nil])
    #expect(left.withLock { $0 } == [2])
    #expect(try names() == ["folder", "other.mp4"])
  }

  @Test(
    "a removal that a power failure could undo, or that happened in another folder, does not count as done")
  func removingUndurably() throws {
    try folder.write([1], to: "root/a.mp4")
    let failing = batch { _ throws(SystemError) in throw SystemError(code: EIO, call: "fsync") }
    let keys = [try key("a.mp4"), try key("gone.mp4")]
    #expect(codes(failing.remove(keys)) == [.interrupted, .interrupted])
    // The second removal makes it durable, even though no name is left to remove.
    #expect(codes(batch().remove(keys)) == [nil, nil])
    try #require(rename(folder.path(of: "root"), folder.path(of: "moved")) == 0)
    try #require(mkdir(folder.path(of: "root"), 0o700) == 0)
    #expect(codes(batch().remove(keys)) == [.storeUnusable, .storeUnusable])
  }

  @Test func whatIsCancelledBeforehandGetsNoName() throws {
    let cancellation = CancellationFlag()
    let copied = try copy("a.mp4")
    cancellation.set()
    #expect(codes(batch().place([copied], cancellation)) == [.cancelled])
    #expect(try names().isEmpty)
  }
}
