import Foundation
import ReelTestSupport
import Testing

/// `reel watch` in difficult conditions: a missing store, a kernel without notifications, a writer that closes its file
/// and then continues.
@Suite("watch, in trouble", .shortTime, .notQuick)
struct WatchTroubleTests {
  private func size(of scene: WatchScene) throws -> [Int64] {
    try LibraryInspection(library: scene.bench.library).published.map(\.size)
  }

  // MARK: Writers

  @Test(
    "a file that changes while it is ingested settles again, and nothing fails",
    .needsFailpoints)
  func changes() async throws {
    let scene = try WatchScene(reader: .real)
    let watch = try scene.start(["--settle", "0.3"], environment: ["REEL_FAILPOINT": "bytesWritten=stop"])
    try await watch.until { scene.bench.hasCatalog }
    let whole = try WatchScene.video(1)
    try whole.write(to: scene.bench.clips.appendingPathComponent("a.mp4"))
    try await watch.untilStopped()
    let path = scene.bench.clips.appendingPathComponent("a.mp4").path
    let writer = try #require(FileHandle(forWritingAtPath: path))
    try writer.seekToEnd()
    try writer.write(contentsOf: Data([0, 0, 0, 8]) + Data("free".utf8))
    try writer.close()
    watch.send(SIGCONT)
    try await watch.until { try scene.posts() == 1 }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0 && !outcome.errors.contains("failed"), "\(outcome)")
    #expect(try size(of: scene) == [Int64(whole.count + 8)])
    // On a busy machine, the file may also be postponed because it takes long to read, or looked at once more when the
    // run ends.
    let postponed = scene.events("file.postponed")
      .filter { !$0.contains("timeout") && !$0.contains("cancelled") }
    #expect(postponed.count == 1 && postponed[0].contains("sourceChanged"), "\(postponed)")
    #expect(scene.events("file.failed").isEmpty && scene.notices().isEmpty)
  }

  /// A file that has not changed for thirty seconds is taken for complete.
  @Test("a writer that closes its file after each piece makes one post, and nothing fails", .ownThread)
  func pieces() async throws {
    let scene = try WatchScene(reader: .real)
    let watch = try scene.start(["--settle", "3"])
    try await watch.until { scene.bench.hasCatalog }
    let (path, whole) = (scene.bench.clips.appendingPathComponent("a.mp4").path, try WatchScene.video(1))
    let step = whole.count / 40 + 1
    for start in stride(from: 0, to: whole.count, by: step) {
      let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      let piece = Array(whole[start..<min(start + step, whole.count)])
      #expect(write(file, piece, piece.count) == piece.count)
      close(file)
      try await rest(milliseconds: 15)
    }
    try await watch.until { try scene.posts() == 1 }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0 && !outcome.errors.contains("failed"), "\(outcome)")
    #expect(try size(of: scene) == [Int64(whole.count)])
    #expect(scene.events("file.failed").isEmpty && scene.events("file.refused").isEmpty)
  }

  @Test(
    "a file with reserved size is complete once its writer closes it, however long that stalls",
    arguments: ["delete", "move:done"])
  func reserved(_ after: String) async throws {
    let scene = try WatchScene(reader: .real)
    let whole = try WatchScene.video(0)
    let begin = { (name: String) in
      let writer = try scene.writing(name)
      try writer.write(contentsOf: whole.prefix(20_000))
      try writer.truncate(atOffset: UInt64(whole.count))
      return writer
    }
    let before = try begin("before.mp4")
    let watch = try scene.start(["--settle", "0.1", "--after", after, "--reject", "move:no"])
    try await watch.until { scene.bench.hasCatalog }
    let since = try begin("since.mp4")
    // Many times the period after which a file that nobody has open counts as settled.
    for number in 1...20 {
      try WatchScene.video(number).write(to: scene.bench.clips.appendingPathComponent("\(number).mp4"))
      try await watch.until { try scene.posts() == number }
      try await Task.sleep(for: .milliseconds(100))
    }
    try await watch.until { scene.files("clips") == ["before.mp4", "since.mp4"] }
    #expect(scene.events("file.started").count { $0.contains("since.mp4") || $0.contains("before.mp4") } == 0)
    for (writer, number) in [(before, 21), (since, 22)] {
      try writer.seek(toOffset: 0)
      try writer.write(contentsOf: try WatchScene.video(number))
      try writer.close()
    }
    try await watch.until { try scene.posts() == 22 && scene.files("clips").isEmpty }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    expectNothing(try LibraryInspection(library: scene.bench.library).brokenAfterCompletion())
    let digests = try LibraryInspection(library: scene.bench.library).published.map(\.digest)
    #expect(Set(digests).count == 22)
    #expect(scene.files("no").isEmpty && scene.events("file.failed").isEmpty)
  }

  @Test("a file with parts that were never written is not deleted, whoever closed it")
  func holes() async throws {
    let scene = try WatchScene(reader: .real)
    let whole = try WatchScene.video(1)
    let writer = try scene.writing("half.mp4")
    try writer.write(contentsOf: whole + Data([0, 1, 0, 0]) + Data("free".utf8))
    try writer.truncate(atOffset: UInt64(whole.count + 65536))
    try writer.close()
    let watch = try scene.start(["--settle", "0.1", "--after", "delete"])
    try await watch.until { scene.notices().contains { $0.contains("notDisposed") } }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(try scene.posts() == 1 && scene.files("clips") == ["half.mp4"])
  }

  @Test(
    "if the system can't say who has a file open, a file that was not seen being closed stays",
    .needsOtherUser)
  func otherUser() async throws {
    let scene = try WatchScene(reader: .real)
    for path in [scene.bench.folder.path, scene.bench.clips.path] { try #require(chmod(path, 0o777) == 0) }
    // A file of the user's own is moved even if nobody was seen closing it. Once it is gone, the folder is being
    // watched.
    try WatchScene.video(0).write(to: scene.bench.clips.appendingPathComponent("own.mp4"))
    try #require(
      chown(scene.bench.clips.appendingPathComponent("own.mp4").path, OtherUser.id, OtherUser.id) == 0)
    let watch = try scene.start(
      ["--settle", "0.2", "--after", "move:done", "--reject", "move:no"],
      environment: ["HOME": scene.bench.folder.path],
      launcher: OtherUser.launcher)
    try await watch.until { scene.files("done") == ["own.mp4"] }
    let stalled = try scene.writing("stalled.mp4")
    try stalled.write(contentsOf: try WatchScene.video(1))
    // Created empty and closed, then opened again, as many programs do: the closed file was not the present one.
    let touched = try (0..<20).map { number in
      try scene.writing("touched\(number).mp4").close()
      let path = scene.bench.clips.appendingPathComponent("touched\(number).mp4").path
      let file = try #require(FileHandle(forWritingAtPath: path))
      try file.write(contentsOf: try WatchScene.video(10 + number))
      return file
    }
    let half = try scene.writing("half.mp4")
    try half.write(contentsOf: try WatchScene.video(2).prefix(20_000))
    try WatchScene.video(3).write(to: scene.bench.clips.appendingPathComponent("closed.mp4"))
    try await watch.until { scene.files("done") == ["own.mp4", "closed.mp4"] }
    // The file is published after a long rest.
    let open = Set(["stalled.mp4", "half.mp4"] + touched.indices.map { "touched\($0).mp4" })
    try await watch.until { try scene.posts() == 3 + touched.count }
    #expect(scene.files("clips") == open, "\(scene.files("clips"))")
    // The kernel merges two unread notifications of an opening into one. If one of them was a reader's, the other may
    // be a writer's.
    let read = try scene.writing("read.mp4")
    try read.write(contentsOf: try WatchScene.video(50))
    try read.close()
    let reader = FileHandle(forReadingAtPath: scene.bench.clips.appendingPathComponent("read.mp4").path)
    try reader?.close()
    for file in touched { try file.close() }
    try stalled.close()
    try half.write(contentsOf: try WatchScene.video(2).dropFirst(20_000))
    try half.close()
    // `read.mp4` stays, unless it was disposed of before it was opened.
    let settled = open.union(["own.mp4", "closed.mp4"])
    try await watch.until {
      let posts = try scene.posts()
      return posts == 5 + touched.count && scene.files("done").isSuperset(of: settled)
    }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(scene.files("done").union(scene.files("clips")) == settled.union(["read.mp4"]))
    #expect(scene.files("clips").isSubset(of: ["read.mp4"]))
    #expect(try scene.posts() == 5 + touched.count && scene.files("no").isEmpty)
  }

  @Test(
    "on a shared file system files stay, unless the user says that they count as closed",
    .needsSystemShim, arguments: [false, true])
  func sharedDisposal(presumes: Bool) async throws {
    let scene = try WatchScene()
    let shim = try await SystemShim.environment(
      root: scene.bench.clips, ["REEL_SHIM_FILE_SYSTEM": "0x6969"])
    let watch = try scene.start(
      ["--settle", "0.1", "--every", "1s", "--after", "delete", "--reject", "move:no"]
        + (presumes ? ["--presume-closed", "1s"] : []), environment: shim)
    try scene.bench.addDistinct(1)
    try scene.bench.write("no video", to: "no.mp4")
    if presumes {
      try await watch.until { scene.files("clips").isEmpty }
    } else {
      try await watch.until { scene.notices().count { $0.contains("notDisposed") } == 2 }
    }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(try scene.posts() == 1 && scene.files("clips").count == (presumes ? 0 : 2))
    #expect(scene.files("no").count == (presumes ? 2 : 0))
  }

  // MARK: Slow files

  @Test("a good file does not wait for earlier ones that take long to read", arguments: ["1", "4"])
  func slowFiles(jobs: String) async throws {
    let count = TestForm.isLong ? 1000 : 60
    let scene = try WatchScene(reader: .real)
    // The files have the beginning of a video. A reader searches for the rest as long as it may.
    let beginning = try Data(contentsOf: Workbench.sample("clips/program.mpg")).prefix(20_000)
    for number in 0..<count {
      let path = scene.bench.clips.appendingPathComponent(String(format: "%04d.mpg", number)).path
      try (beginning + Data("\(number)".utf8)).write(to: URL(filePath: path))
      try #require(truncate(path, 8 << 30) == 0)
    }
    try scene.bench.add("clips/faststart.mp4", as: "zz good.mp4")
    let watch = try scene.start(["--jobs", jobs, "--settle", "0", "--reject", "move:no"])
    try await watch.until {
      try scene.posts() > 0 && scene.events("post.published").contains { $0.contains("zz good") }
    }
    let ended = ["file.failed", "file.refused", "post.published"].reduce(-1) { $0 + scene.events($1).count }
    #expect(ended < 10, "\(ended) files that take long were read to their ends before the good one")
    try WatchScene.video(1).write(to: scene.bench.clips.appendingPathComponent("later.mp4"))
    try await watch.until { scene.events("post.published").contains { $0.contains("later.mp4") } }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
  }

  // MARK: Files known by their status only

  @Test("a duplicate is read before it is deleted, whatever its file status says", .needsSharedMemory)
  func changedWithoutTrace() async throws {
    let scene = try WatchScene(reader: .real)
    // Only in memory can a page that was written to be written to again without a trace.
    let folder = "\(SharedMemory.path)/reel-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (path, bytes) = (folder + "/a.mp4", try WatchScene.video(1))
    try bytes.write(to: URL(filePath: path))
    let file = open(path, O_RDWR | O_CLOEXEC)
    let map = try #require(mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
    let last = map.assumingMemoryBound(to: UInt8.self).advanced(by: bytes.count - 1)
    last.pointee = UInt8(ascii: "x")
    try await Task.sleep(for: .milliseconds(2300))
    let ingest = ["ingest", folder, "--library", scene.bench.library.path]
    #expect(try await ReelBinary.run(ingest, in: scene.bench.folder).status == 0)
    var (before, after) = (stat(), stat())
    stat(path, &before)
    last.pointee = UInt8(ascii: "y")
    munmap(map, bytes.count)
    close(file)
    stat(path, &after)
    try #require(
      before.st_mtim.tv_nsec == after.st_mtim.tv_nsec && before.st_ctim.tv_nsec == after.st_ctim.tv_nsec)
    let watch = try ReelBinary.start(
      ["watch", folder, "--after", "delete", "--library", scene.bench.library.path], in: scene.bench.folder)
    try await watch.until { access(path, F_OK) != 0 }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(try scene.posts() == 2)
    expectNothing(try LibraryInspection(library: scene.bench.library).brokenAfterCompletion())
  }

  // MARK: The target folder

  @Test("a link that replaces the target folder is not followed")
  func linkInPlace() async throws {
    let scene = try WatchScene()
    let watch = try scene.start(["--after", "move:done"])
    try scene.bench.addDistinct(1)
    try await watch.until { scene.files("done").count == 1 }
    let (folder, files) = (scene.bench.folder.path, FileManager.default)
    try files.createDirectory(atPath: folder + "/elsewhere", withIntermediateDirectories: true)
    try files.moveItem(atPath: folder + "/done", toPath: folder + "/aside")
    try files.createSymbolicLink(atPath: folder + "/done", withDestinationPath: "elsewhere")
    try scene.bench.addDistinct(1, from: 1)
    try await watch.until { scene.notices().contains { $0.contains("notDisposed") } }
    // Nor is it after the settings are read again.
    watch.send(SIGHUP)
    try await watch.until { scene.notices().contains { $0.contains("reloaded") } }
    try await watch.until { scene.notices().count { $0.contains("notDisposed") } > 1 }
    #expect(scene.files("elsewhere").isEmpty && scene.files("clips").count == 1)
    try files.removeItem(atPath: folder + "/done")
    try files.moveItem(atPath: folder + "/aside", toPath: folder + "/done")
    try await watch.until { scene.files("done").count == 2 }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
  }

  // MARK: The store

  @Test(
    "while the store is away files stay, with one notice, and they become posts once it is back",
    arguments: ["unavailable", "storeUnusable"])
  func storeAway(_ code: String) async throws {
    let scene = try WatchScene(reader: .real)
    let (folder, down) = (scene.bench.folder, scene.bench.folder.appendingPathComponent("down"))
    let adapter = folder.appendingPathComponent("adapter.sh")
    let real = ReelBinary.project.appendingPathComponent("Samples/adapters/folder.sh").path
    try Script.write(
      """
      #!/bin/sh
      if [ -e '\(down.path)' ]; then
        printf '{"type":"error","code":"\(code)","message":"it is away"}\\n'
        exit 0
      fi
      exec sh '\(real)'

      """, to: adapter)
    let watch = try scene.start(
      ["--to", "command:" + adapter.path, "--after", "move:done"],
      environment: ["REEL_ADAPTER_FOLDER": folder.appendingPathComponent("store").path])
    try await watch.until { !scene.events("run.started").isEmpty }
    // The store was present first, so that its later absence is not taken for a wrong setting.
    try WatchScene.video(0).write(to: scene.bench.clips.appendingPathComponent("0.mp4"))
    try await watch.until { scene.files("done") == ["0.mp4"] }
    try Data().write(to: down)
    for number in 1...3 {
      try WatchScene.video(number).write(to: scene.bench.clips.appendingPathComponent("\(number).mp4"))
    }
    let names: Set = ["1.mp4", "2.mp4", "3.mp4"]
    if code == "unavailable" {
      try await watch.until { scene.events("file.postponed").count >= 3 }
    } else {
      #expect(try await watch.says("; retrying"))
    }
    #expect(scene.files("clips") == names)
    try FileManager.default.removeItem(at: down)
    try await watch.until { scene.files("done").isSuperset(of: names) }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    // Once for an upload, and once at the beginning of a run. A try that began before the store was back may end after
    // another's success, and is then reported again.
    let log = try EventLog(folder.appendingPathComponent("events.jsonl"))
    let successes = log.types.indices.filter { log.types[$0] == "post.published" }
    let late = log.types[try #require(successes.dropFirst().first)...].count { $0 == "file.postponed" }
    let lines = outcome.errors.split(separator: "\n").count { $0.contains("it is away") }
    let most = code == "unavailable" ? (lines: 1 + late, notices: 1 + late) : (lines: 2, notices: 1)
    #expect((1...most.lines).contains(lines), "\(outcome.errors)")
    #expect(outcome.output.contains("published 4 videos"), "\(outcome.output)")
    let told = scene.notices().filter { $0.contains(code == "unavailable" ? "postponed" : "restarted") }
    #expect((1...most.notices).contains(told.count), "\(scene.notices())")
    #expect(scene.events("file.failed").isEmpty)
  }

  // MARK: An update

  @Test("a watch whose worker was updated ends, so that the new Reel is started")
  func updated() async throws {
    let scene = try WatchScene(reader: .real)
    let worker = scene.bench.folder.appendingPathComponent("worker")
    let real = ReelBinary.folder.appendingPathComponent("reel-probe-worker").path
    try Script.write("#!/bin/sh\nexec \(real)\n", to: worker)
    let watch = try scene.start(["--settle", "0.1"], environment: ["REEL_WORKER": worker.path])
    try scene.bench.addDistinct(1)
    try await watch.until { try scene.posts() == 1 }
    // The new worker has another version of the wire format.
    try Script.write("#!/bin/sh\nprintf 'REEL\\377' >&3; exec /bin/sleep 1000\n", to: worker)
    // The old worker, which reads files until then, ends when it has been idle for a while.
    var count = 1
    while watch.process.isRunning {
      try await rest(milliseconds: 3000)
      try scene.bench.addDistinct(1, from: count)
      count += 1
      while watch.process.isRunning, try scene.posts() < count { try await rest(milliseconds: 10) }
    }
    let outcome = try await watch.outcome()
    #expect(outcome.status == 1, "\(outcome)")
    #expect(outcome.errors.contains("if Reel was updated while this ran, start it again"), "\(outcome)")
    #expect(!outcome.errors.contains("; retrying"), "\(outcome)")
  }

  // MARK: The kernel

  /// Whether a user namespace, which has limits of its own, can be made.
  private static let hasNamespaces: Bool = {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/unshare")
    process.arguments = ["-Ur", "sh", "-c", "echo 9 > /proc/sys/user/max_inotify_watches"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  @Test(
    "if the system can watch no more folders, they are polled, with a notice",
    .enabled(if: hasNamespaces, "no user namespaces"),
    arguments: [("max_inotify_watches", 1), ("max_inotify_instances", 0)])
  func limits(_ limit: String, _ most: Int) async throws {
    let scene = try WatchScene(reader: .real)
    let below = scene.bench.clips.appendingPathComponent("below")
    try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
    let watch = try scene.start(
      ["--settle", "0.2", "--every", "1s"],
      launcher: [
        "/usr/bin/unshare", "-Ur", "sh", "-c", "echo \(most) > /proc/sys/user/\(limit) && exec \"$@\"", "sh",
      ])
    try await watch.until { scene.notices().contains { $0.contains("polled") } }
    try WatchScene.video(1).write(to: below.appendingPathComponent("a.mp4"))
    try await watch.until { try scene.posts() == 1 }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0 && outcome.errors.contains("polled"), "\(outcome)")
    #expect(scene.notices().count == 1, "\(scene.notices())")
  }

  private static let mostEvents =
    (try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8))
    .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? .max

  @Test(
    "events lost to an overflow of the system's queue are made up for by a new scan, with a notice",
    .enabled(if: mostEvents <= 200_000, "the queue is too long to be filled"))
  func overflow() async throws {
    let scene = try WatchScene(reader: .real)
    let watch = try scene.start(["--settle", "0.2"])
    try WatchScene.video(0).write(to: scene.bench.clips.appendingPathComponent("0.mp4"))
    try await watch.until { try scene.posts() == 1 }
    watch.send(SIGSTOP)
    try await watch.untilStopped()
    // The two files alternate, since an event equal to the last one is not repeated. Each closing causes at least one
    // event.
    let parts = ["a.part", "b.part"].map { scene.bench.clips.appendingPathComponent($0).path }
    for number in 0...Self.mostEvents {
      let file = open(parts[number % 2], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      close(file)
    }
    let below = scene.bench.clips.appendingPathComponent("below")
    try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
    try WatchScene.video(1).write(to: scene.bench.clips.appendingPathComponent("1.mp4"))
    try WatchScene.video(2).write(to: below.appendingPathComponent("2.mp4"))
    watch.send(SIGCONT)
    try await watch.until { try scene.posts() == 3 }
    // The folder whose event was lost is watched as well.
    try WatchScene.video(3).write(to: below.appendingPathComponent("3.mp4"))
    try await watch.until { try scene.posts() == 4 }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    #expect(scene.notices().count == 1 && scene.notices()[0].contains("overflowed"), "\(scene.notices())")
  }

  @Test(
    "a shared file system is polled without being asked", .needsSystemShim,
    arguments: [("NFS", "0x6969"), ("SMB", "0xfe534d42"), ("CIFS", "0xff534d42"), ("FUSE", "0x65735546")])
  func shared(_ name: String, _ type: String) async throws {
    let scene = try WatchScene()
    try scene.bench.addDistinct(1)
    let shim = try await SystemShim.environment(root: scene.bench.clips, ["REEL_SHIM_FILE_SYSTEM": type])
    let watch = try scene.start(["--settle", "0.2", "--every", "1s"], environment: shim)
    try await watch.until { try scene.posts() == 1 }
    try scene.bench.addDistinct(2)
    try await watch.until { try scene.posts() == 2 }
    watch.send(SIGTERM)
    #expect(try await watch.outcome().status == 0)
    #expect(scene.notices().count { $0.contains("polled") } == 1, "\(name)")
  }

  private static let rclone: String? = {
    let all = ["/usr/bin/rclone", "/usr/bin/fusermount3", "/dev/fuse"]
    return all.allSatisfy { access($0, F_OK) == 0 } && geteuid() == 0 ? all[0] : nil
  }()

  @Test(
    "on a real FUSE file system, others' files are noticed; those that can't be moved safely stay",
    .enabled(if: rclone != nil, "no rclone, fusermount3 or /dev/fuse"))
  func mounted() async throws {
    let scene = try WatchScene(reader: .real)
    let beneath = scene.bench.folder.appendingPathComponent("beneath")
    try FileManager.default.createDirectory(at: beneath, withIntermediateDirectories: true)
    let mount = try ReelBinary.start(
      [
        "mount", beneath.path, scene.bench.clips.path, "--vfs-cache-mode", "writes", "--dir-cache-time", "1s",
      ],
      in: scene.bench.folder, program: URL(filePath: try #require(Self.rclone)))
    defer { if mount.process.isRunning { mount.send(SIGTERM) } }
    func isMounted() -> Bool {
      let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
      return mounts.contains(scene.bench.clips.path + " fuse")
    }
    try await mount.until { isMounted() }
    let watch = try scene.start(["--settle", "7", "--every", "1s", "--after", "move:done"])
    try await watch.until { scene.notices().contains { $0.contains("polled") } }
    try WatchScene.video(1).write(to: beneath.appendingPathComponent("another machine's.mp4"))
    try WatchScene.video(2).write(to: scene.bench.clips.appendingPathComponent("this one's.mp4"))
    // rclone can neither rename without replacing nor make hard links, so files can't be moved safely. It passes on what
    // is written to it after five seconds or more, and the file may then be looked at once more.
    let names: Set = ["another machine's.mp4", "this one's.mp4"]
    try await watch.until {
      try scene.posts() == 2 && scene.files("beneath") == names
        && names.allSatisfy { name in
          scene.notices().contains { $0.contains("notDisposed") && $0.contains(name) }
        }
    }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    #expect(scene.files("beneath") == names && scene.files("done").isEmpty)
    mount.send(SIGTERM)
    _ = try await mount.outcome()
    #expect(!isMounted())
  }
}
