import FoundationEssentials
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@Suite struct OwnerLockTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func isAlive(_ name: String) throws -> Bool {
    try OwnerLock.isAlive(directory: folder.path, name: name)
  }

  /// Whether `name` is dead within moments. A child process of another test holds every descriptor between its fork
  /// and its exec.
  private func dies(_ name: String) async throws -> Bool { try await eventually { try !isAlive(name) } }

  @Test func anOwnerLivesAsLongAsItsLock() async throws {
    #expect(try isAlive("a") == false)
    var lock: OwnerLock? = try OwnerLock(directory: folder.path, name: "a")
    #expect(lock?.name == "a")
    #expect(try isAlive("a"))
    #expect(try folder.names() == ["a.owner"])
    lock = nil
    #expect(try await dies("a"))
    // The file of a dead owner stays until a sweep removes it.
    #expect(try folder.names() == ["a.owner"])
  }

  @Test func retiringRemovesTheFile() throws {
    let lock = try OwnerLock(directory: folder.path, name: "a")
    lock.retire()
    #expect(try folder.names().isEmpty)
    #expect(try isAlive("a") == false)
  }

  @Test func exitingRemovesTheFile() async throws {
    await #expect(processExitsWith: .exitCode(7)) { [path = folder.path as String] in
      let lock = try OwnerLock(directory: path, name: "a")
      #expect(try OwnerLock.isAlive(directory: path, name: "a"))
      // Some thread never lets go of it.
      _ = Unmanaged.passRetained(lock)
      exit(7)
    }
    #expect(try folder.names().isEmpty)
  }

  @Test func theFileIsOursAlone() throws {
    let lock = try OwnerLock(directory: folder.path, name: "a")
    var status = stat()
    #expect(stat(folder.path + "/a.owner", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    withExtendedLifetime(lock) {}
  }

  @Test func onlyWhatTheDeadLeftIsRemoved() throws {
    let living = try OwnerLock(directory: folder.path, name: "living")
    try folder.write([], to: "dead.owner")
    try folder.write([], to: "born-dead.owner.new")
    #expect(try OwnerLock.removeIfDead(directory: folder.path, name: "living") == false)
    #expect(try OwnerLock.removeIfDead(directory: folder.path, name: "dead"))
    #expect(try OwnerLock.removeIfDead(directory: folder.path, name: "born-dead"))
    #expect(try OwnerLock.removeIfDead(directory: folder.path, name: "nobody") == false)
    #expect(try folder.names() == ["living.owner"])
    withExtendedLifetime(living) {}
  }

  @Test func aFolderThatIsNotThereIsAnError() {
    #expect(throws: SystemError(code: ENOENT, call: "open")) {
      _ = try OwnerLock(directory: folder.path + "/nowhere", name: "a")
    }
  }

  @Test func aLinkIsNoLock() throws {
    try folder.write([], to: "target")
    symlink(folder.path + "/target", folder.path + "/a.owner")
    #expect(throws: SystemError(code: ELOOP, call: "open")) { try isAlive("a") }
  }

  @Test func thoseWhoAskDoNotTakeEachOtherForTheOwner() async throws {
    try folder.write([], to: "dead.owner")
    let path = folder.path
    let answers = try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          try (0..<500).contains { _ in try OwnerLock.isAlive(directory: path, name: "dead") }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(!answers.contains(true))
  }

  @Test func whoIsBornAmongSweepersLives() async throws {
    try await bear(among: 4) { path, name in try OwnerLock.removeIfDead(directory: path, name: name) }
  }

  /// Makes locks while `count` tasks sweep.
  private func bear(
    among count: Int, sweeping: @escaping @Sendable (_ path: String, _ name: String) throws -> Void
  ) async throws {
    let path = folder.path
    try await withThrowingTaskGroup { group in
      for _ in 0..<count {
        group.addTask {
          while !Task.isCancelled {
            for number in 0..<300 {
              try sweeping(path, "\(number)")
              await Task.yield()
            }
          }
        }
      }
      for number in 0..<300 {
        let lock = try OwnerLock(directory: path, name: "\(number)")
        #expect(try OwnerLock.isAlive(directory: path, name: "\(number)"))
        lock.retire()
        if number.isMultiple(of: 10) { await Task.yield() }
      }
      group.cancelAll()
    }
  }

  @Test(.enabled(if: access("/usr/bin/flock", X_OK) == 0, "needs flock(1)"))
  func aProcessThatIsKilledIsDead() async throws {
    let path = folder.path + "/a.owner"
    try folder.write([], to: "a.owner")
    let child = try #require(Child("/usr/bin/flock", "--exclusive", "--no-fork", path, "sleep", "1000"))
    #expect(try await eventually { try isAlive("a") })
    child.kill()
    #expect(try await dies("a"))
  }

  @Test func aChildDoesNotKeepItsParentsLock() async throws {
    var lock: OwnerLock? = try OwnerLock(directory: folder.path, name: "a")
    let child = try #require(Child("sleep", "60"))
    #expect(try lock != nil && isAlive("a"))
    lock = nil
    #expect(try await dies("a"))
    child.kill()
  }

  // MARK: Other kernels

  /// Creates a file as another machine might have left it, with that age.
  private func make(_ name: String, host: String, secondsAgo: Int) throws {
    try Data((host + "\n").utf8).write(to: URL(filePath: folder.path + "/" + name))
    var times = [timespec(), timespec()]
    times[1].tv_sec = time(nil) - secondsAgo
    try #require(utimensat(AT_FDCWD, folder.path + "/" + name, times, 0) == 0)
  }

  @Test func theFileNamesItsKernel() throws {
    let lock = try OwnerLock(directory: folder.path, name: "a")
    let content = try String(contentsOf: URL(filePath: folder.path + "/a.owner"), encoding: .utf8)
    #expect(content == HostIdentity.current() + "\n")
    withExtendedLifetime(lock) {}
  }

  @Test(
    "an owner that may be under another kernel lives until its lease expires",
    arguments: [
      "another-boot machine", "another-boot \(HostIdentity.current().split(separator: " ").last ?? "")", "",
    ])
  func elsewhere(host: String) throws {
    for (secondsAgo, isAlive) in [(0, true), (3000, true), (3601, false)] {
      try make("a.owner", host: host, secondsAgo: secondsAgo)
      #expect(
        try OwnerLock.isAlive(directory: folder.path, name: "a", foreignLease: .seconds(3600)) == isAlive)
      // If all owners are under this kernel, the lock decides.
      #expect(try OwnerLock.isAlive(directory: folder.path, name: "a") == false)
      let isRemoved = try OwnerLock.removeIfDead(
        directory: folder.path, name: "a", foreignLease: .seconds(3600))
      #expect(isRemoved == !isAlive)
    }
    #expect(try folder.names().isEmpty)
  }

  /// A child process holds every descriptor between its fork and its exec.
  @Test func whoHasLookedHoldsNoLockInAChild() throws {
    try make("a.owner", host: "another-boot machine", secondsAgo: 0)
    let children = Task.detached { while !Task.isCancelled { Child("true")?.kill() } }
    defer { children.cancel() }
    for _ in 0..<5000 {
      try #require(
        try OwnerLock.removeIfDead(directory: folder.path, name: "a", foreignLease: .seconds(3600)) == false)
      try #require(try !isAlive("a"))
    }
  }

  @Test func underThisKernelTheLockTellsWhateverTheLease() throws {
    try make("dead.owner", host: HostIdentity.current(), secondsAgo: 0)
    #expect(
      try OwnerLock.isAlive(directory: folder.path, name: "dead", foreignLease: .seconds(3600)) == false)
    let living = try OwnerLock(directory: folder.path, name: "living")
    try make("living.owner", host: "another-boot machine", secondsAgo: 7200)
    #expect(try OwnerLock.isAlive(directory: folder.path, name: "living", foreignLease: .seconds(3600)))
    withExtendedLifetime(living) {}
  }

  @Test func aRenewedFileIsOfNowAndOneThatWasRemovedIsMadeAnew() throws {
    let lock = try OwnerLock(directory: folder.path, name: "a", host: "another-boot machine")
    try make("a.owner", host: "another-boot machine", secondsAgo: 3600)
    try lock.renew()
    var status = stat()
    try #require(stat(folder.path + "/a.owner", &status) == 0)
    #expect(status.st_mtim.tv_sec > time(nil) - 1800)
    unlink(folder.path + "/a.owner")
    try lock.renew()
    #expect(try isAlive("a"))
    #expect(try OwnerLock.removeIfDead(directory: folder.path, name: "a") == false)
    lock.retire()
    try lock.renew()
    #expect(try folder.names().isEmpty)
  }

  @Test func whoIsBornAmongSweepersThatSeeNoLockLives() async throws {
    try await bear(among: 2) { path, name in unlink("\(path)/\(name).owner.new") }
  }
}
