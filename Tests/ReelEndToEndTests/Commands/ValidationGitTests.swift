import Foundation
import ReelTestSupport
import Testing

/// The suggested commands for files that Git could restore, and their results.
@Suite(
  "What validate suggests in a work tree", .shortTime,
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/git"), "needs git"))
struct ValidationGitTests {
  private let bench: Workbench
  private let names = ["a.mp4", "it's [1] *.mp4", ":top.mp4"]

  init() async throws {
    bench = try Workbench()
    for (number, name) in names.enumerated() {
      try bench.addDistinct(1, from: number)
      try FileManager.default.moveItem(
        at: file(String(format: "clip-%05d.mp4", number)), to: file(name))
    }
    try await shell("git init -q . && git add . && git commit -qm fixtures")
    #expect(try await reel("lock", "clips").status == 0)
  }

  private func file(_ name: String) -> URL { bench.clips.appendingPathComponent(name) }

  private func reel(_ arguments: String...) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments, in: bench.folder)
  }

  @discardableResult
  private func shell(
    _ command: String, in folder: URL? = nil, environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    let folders = "\(bench.folder.path)/tools:\(ReelBinary.url.deletingLastPathComponent().path)"
    let run = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", command], in: folder ?? bench.folder,
      environment: [
        "PATH": folders + ":/usr/bin:/bin", "HOME": bench.folder.path, "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@example.org", "GIT_COMMITTER_NAME": "x",
        "GIT_COMMITTER_EMAIL": "x@example.org",
      ].merging(environment) { $1 })
    #expect(run.status == 0, "\(command): \(run)")
    return run
  }

  /// Returns the findings for `name`.
  private func found(_ name: String, _ arguments: [String], in folder: URL) async throws -> [[String: Any]] {
    let run = try await ReelBinary.run(["validate"] + arguments + ["--json"], in: folder)
    let files = try run.object()["files"] as? [[String: Any]] ?? []
    let one = files.first { ($0["path"] as? String)?.hasSuffix(name) == true }
    return try #require(one?["findings"] as? [[String: Any]], "\(run)")
  }

  private func fixes(_ findings: [[String: Any]]) -> Set<String> {
    Set(findings.compactMap { $0["fix"] as? String })
  }

  @Test("Git is also asked about a file whose name is not UTF-8")
  func strangeName() async throws {
    let name = "\"clips/$(printf 'b\\377.mp4')\""
    try await shell("cp clips/a.mp4 \(name) && git add . && git commit -qm more")
    #expect(try await reel("lock", "clips", "--force").status == 0)
    try await shell("printf changed >> \(name)")
    let run = try await ReelBinary.run(["validate", "clips", "--json"], in: bench.folder)
    let files = try run.object()["files"] as? [[String: Any]] ?? []
    let one = files.first { ($0["path"] as? String)?.contains("/b") == true }
    let findings = try #require(one?["findings"] as? [[String: Any]], "\(run)")
    #expect(fixes(findings).first?.hasPrefix("git -C clips stash") == true, "\(findings)")
  }

  @Test(
    "a changed file is restored by one command, from wherever it was validated", arguments: [false, true])
  func changed(fromItsFolder: Bool) async throws {
    let (folder, arguments) =
      fromItsFolder
      ? (bench.clips, [".", "--lock", "reel.lock"])
      : (bench.folder, ["./clips", "--lock", "clips/reel.lock"])
    for (number, name) in names.enumerated() {
      // One file is empty, and the others have the same bytes. There is still one command for each.
      try number == 0
        ? Data().write(to: file(name))
        : Data(contentsOf: Workbench.sample("clips/cover.mp4")).write(to: file(name))
    }
    for (number, name) in names.enumerated() {
      let findings = try await found(name, arguments, in: folder)
      let command = try #require(fixes(findings).first, "\(findings)")
      #expect(fixes(findings).count == 1 && findings.count > 1 - number, "\(findings)")
      try await shell(command, in: folder)
      #expect(try await shell("git stash list").output.split(separator: "\n").count == number + 1)
    }
    #expect(try await reel("validate", "clips", "--lock", "clips/reel.lock").status == 0)
  }

  @Test("a hook's variables do not name another repository")
  func inAHook() async throws {
    try Data(contentsOf: Workbench.sample("clips/cover.mp4")).write(to: file(names[0]))
    let run = try await ReelBinary.run(
      ["validate", "clips", "--lock", "clips/reel.lock"], in: bench.folder,
      environment: ["GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index", "GIT_PREFIX": ""])
    #expect(run.output.contains("git -C clips stash push -- a.mp4"), "\(run)")
  }

  @Test("if the file was committed like this, that is reported, and no useless command is suggested")
  func committed() async throws {
    try Data(contentsOf: Workbench.sample("clips/cover.mp4")).write(to: file(names[1]))
    try Data().write(to: file(names[2]))
    try await shell("git commit -qam other")
    for name in names.dropFirst() {
      let findings = try await found(name, ["clips", "--lock", "clips/reel.lock"], in: bench.folder)
      #expect(fixes(findings).isEmpty, "\(findings)")
      let told = try #require(
        findings.compactMap { $0["message"] as? String }.first { $0.contains("committed like this: `") })
      let command = try #require(told.split(separator: "`").dropFirst().first)
      #expect(try await shell(String(command)).output.contains("other"))
    }
    let empty = try await found(names[2], ["clips"], in: bench.folder)
    #expect(fixes(empty).isEmpty && "\(empty)".contains("committed like this"))
  }

  @Test("new files, missing ones and other readings are locked by the suggested command")
  func accepted() async throws {
    try FileManager.default.removeItem(at: file(names[0]))
    try bench.add("clips/faststart.mp4", as: "new.mp4")
    let arguments = ["clips", "--lock", "clips/reel.lock", "--exclude", "it's*"]
    let commands = try await ["a.mp4", "new.mp4"].asyncMap {
      fixes(try await found($0, arguments, in: bench.folder))
    }
    #expect(Set(commands).count == 1 && commands[0].count == 1, "\(commands)")
    let command = try #require(commands[0].first)
    try await shell(command)
    #expect(try await ReelBinary.run(["validate"] + arguments, in: bench.folder).status == 0)
    #expect(try String(contentsOf: file("reel.lock"), encoding: .utf8).contains("file it's"))
    let people = try await reel("validate", "clips", "--lock", "clips/reel.lock")
    #expect(people.status == 0, "\(people)")
  }

  @Test("a Git LFS pointer is not locked instead of its file, and the suggested command fetches the file")
  func pointers() async throws {
    let video = try Data(contentsOf: file("a.mp4"))
    let store = bench.folder.appendingPathComponent("store")
    try video.write(to: store)
    let sum = try #require(
      try await shell("sha256sum store").output.split(separator: " ").first.map(String.init))
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:\(sum)\nsize \(video.count)\n"
    try Data(pointer.utf8).write(to: file("a.mp4"))
    try bench.write(pointer, to: "on purpose.mp4")
    try bench.write("a.mp4 filter=lfs diff=lfs merge=lfs -text\n", to: ".gitattributes")
    try await shell("git add . && git commit -qm pointers")
    // Stands in for git-lfs: patterns are relative to the root of the work tree.
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("tools"), withIntermediateDirectories: true)
    let tool = bench.folder.appendingPathComponent("tools/git-lfs")
    try Script.write(
      "#!/bin/sh\ncd \"$(git rev-parse --show-toplevel)\" && test \"$1 $2\" = 'pull --include' && cp store \"$3\"\n",
      to: tool)

    let findings = try await found("a.mp4", ["clips", "--lock", "clips/reel.lock"], in: bench.folder)
    #expect(findings.map { $0["rule"] as? String } == ["file.lfsPointer"], "\(findings)")
    let before = try String(contentsOf: file("reel.lock"), encoding: .utf8)
    let run = try await reel("lock", "clips", "--force", "--json")
    #expect(run.status == 4 && run.output.contains("not locked"), "\(run)")
    let after = try String(contentsOf: file("reel.lock"), encoding: .utf8)
    #expect(
      after.hasPrefix(before.prefix(400)) && after.contains(sum) && after.contains("file on purpose.mp4"))
    let fresh = try await reel("lock", "clips", "-o", "other.lock")
    #expect(
      fresh.status == 4 && fresh.output.contains("git -C clips lfs pull --include clips/a.mp4"), "\(fresh)")
    #expect(
      try !String(contentsOfFile: bench.folder.path + "/other.lock", encoding: .utf8).contains("file a.mp4"))

    // An archive of the tree has no `.git`, and the same lock.
    let archive = try Workbench()
    try FileManager.default.removeItem(at: archive.clips)
    try FileManager.default.copyItem(at: bench.clips, to: archive.clips)
    // A file that was locked as a pointer may become another pointer, but not one that was locked as a video.
    for changed in [nil, "a.mp4"] {
      if let changed {
        let other = pointer.replacing(sum, with: String(sum.reversed()))
        try Data(other.utf8).write(to: archive.clips.appendingPathComponent(changed))
      }
      let archived = try await ReelBinary.run(["lock", "clips", "--force"], in: archive.folder)
      #expect(archived.status == 4 && archived.output.contains("not locked"), "\(archived)")
    }
    #expect(
      try String(contentsOf: archive.clips.appendingPathComponent("reel.lock"), encoding: .utf8) == after)

    for (folder, arguments) in [
      (bench.clips, ["./a.mp4"]), (bench.folder, ["clips"]), (URL(filePath: "/"), [bench.clips.path]),
    ] {
      try Data(pointer.utf8).write(to: file("a.mp4"))
      let command = try #require(fixes(try await found("a.mp4", arguments, in: folder)).first)
      try await shell(command, in: folder)
      #expect(try Data(contentsOf: file("a.mp4")) == video, "\(command)")
    }
    #expect(fixes(try await found("on purpose.mp4", ["clips"], in: bench.folder)).isEmpty)
  }
}

extension Sequence {
  fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
