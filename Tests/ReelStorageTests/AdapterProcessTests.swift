import Foundation
import Glibc
import ReelCore
import ReelCrypto
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelStorage

/// Misbehaving adapters, run as real processes.
@Suite struct AdapterProcessTests {
  private func source(_ size: Int = 1000) throws -> UploadSource {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: bytes)))
    return UploadSource(
      size: Int64(size), digest: digest, contentType: "video/mp4", bytes: MemoryBytes(bytes: bytes))
  }

  private func key() throws -> ObjectKey { try #require(ObjectKey("k.mp4")) }

  /// The error of an upload by an adapter whose script is `body`.
  private func failure(
    of body: String, environment: [String: String] = [:], allowing: [String] = [],
    silence: Duration = .seconds(60)
  ) async throws -> UploadError {
    let folder = try AdapterFolder()
    let uploader = try folder.uploader(
      try folder.adapter(body), environment: environment, allowing: allowing, silence: silence)
    let (source, key) = (try source(), try key())
    return try #require(
      await #expect(throws: UploadError.self) { try await uploader.upload(source, to: key) { _ in } })
  }

  @Test(
    "each kind of failure has its code",
    arguments: [
      ("exit 1", UploadError.Code.interrupted), ("exit 0", .interrupted), ("no-such-command", .storeUnusable),
      ("kill -9 $$", .interrupted), ("echo nonsense", .storeUnusable), ("yes", .storeUnusable),
      ("head -c 99999 /dev/zero", .storeUnusable),
      ("printf '{\"type\":\"result\",\"size\":1000}'", .storeUnusable),
      (
        "echo '{\"type\":\"staged\"}'; read a; echo '{\"type\":\"result\",\"size\":999}'", .verificationFailed
      ),
      (
        "echo '{\"type\":\"staged\"}'; read a; echo '{\"type\":\"result\",\"size\":1000}'; exit 3",
        .interrupted
      ),
      ("echo '{\"type\":\"error\",\"code\":\"tooLarge\",\"message\":\"m\"}'; exit 9", .tooLarge),
      ("echo '{\"type\":\"error\",\"code\":\"denied\"}'; echo x", .storeUnusable),
    ])
  func codes(_ body: String, _ code: UploadError.Code) async throws {
    let error = try await failure(of: body)
    #expect(error.code == code, "\(error.message)")
    #expect(error.message.contains("adapter"))
  }

  @Test func whatCannotBeStartedSaysSo() async throws {
    let folder = try AdapterFolder()
    for (program, hint) in [
      (folder.path(of: "missing"), "no such file"),
      (try folder.file("plain", "#!/bin/sh\n", mode: 0o644), "chmod +x"),
      (try folder.file("text", "hello\n"), "#!/bin/sh"),
      (try folder.file("lost", "#!/no/such/interpreter\n"), "first line"),
    ] {
      let uploader = try folder.uploader(program)
      let error = try #require(await #expect(throws: UploadError.self) { try await uploader.prepare() })
      #expect(error.code == .storeUnusable && error.message.contains(hint), "\(error.message)")
    }
  }

  @Test func oneThatIsJustBeingPutInPlaceIsWaitedFor() {
    for end in [0, -ENOENT] {
      var answers = [-ETXTBSY, -ETXTBSY, end]
      let answer = AdapterProcess.waitingForItsWriter { answers.removeFirst() }
      #expect(answer == end && answers.isEmpty)
    }
  }

  @Test func oneThatSomebodyGoesOnWritingIsGivenUp() async throws {
    let folder = try AdapterFolder()
    let program = try folder.adapter("echo '{\"type\":\"result\",\"protocol\":1}'")
    let writer = try #require(FileHandle(forWritingAtPath: program))
    let uploader = try folder.uploader(program)
    let begun = ContinuousClock.now
    let error = try #require(await #expect(throws: UploadError.self) { try await uploader.prepare() })
    #expect(error.code == .storeUnusable && error.message.contains("can't be started"), "\(error.message)")
    #expect(begun.duration(to: .now) >= .seconds(2))
    try writer.close()
    try await uploader.prepare()
  }

  /// A program that embeds Reel may call wait for any of its children.
  @Test func oneThatSomebodyElseCollectedHasEnded() async throws {
    let folder = try AdapterFolder()
    let path = try folder.adapter("echo \"$$\"; read -r more")
    let program = try #require(AdapterProgram(path: path))
    let process = try AdapterProcess(program, [:], object: nil)
    process.say(Array("request\n".utf8))
    let said = String(decoding: AdapterConversation.read(process.output, 100), as: UTF8.self)
    let number = try #require(Int32(said.dropLast()))
    #expect(!process.hasEnded)
    process.closeInput()
    #expect(waitpid(number, nil, 0) == number)
    #expect(process.hasEnded)
    #expect(process.end() == .unknown)
    let wording = AdapterWording(program: program, environment: AdapterEnvironment(of: [:]))
    guard case .result(let result) = try AdapterLine(parsing: Array("{\"type\":\"result\"}".utf8)) else {
      Issue.record("no result")
      return
    }
    let error = #expect(throws: UploadError.self) {
      try wording.verdict(.result(result), .unknown, nil, errors: nil)
    }
    #expect(error?.code == .storeUnusable && error?.message.contains("exit status was lost") == true)
  }

  /// Where the kernel reaps children by itself, an adapter's exit status is lost, so none is started.
  @Test func noneIsStartedWhereChildrenAreIgnored() async throws {
    let folder = try AdapterFolder()
    let program = try folder.adapter("echo '{\"type\":\"result\",\"protocol\":1}'")
    await #expect(processExitsWith: .success) { [program = program as String] in
      signal(SIGCHLD, SIG_IGN)
      let uploader = CommandUploader(
        try #require(AdapterProgram(path: program)), environment: AdapterEnvironment(of: [:]))
      let error = await #expect(throws: UploadError.self) { try await uploader.prepare() }
      #expect(error?.code == .storeUnusable && error?.message.contains("SIGCHLD") == true)
      signal(SIGCHLD, SIG_DFL)
      try await uploader.prepare()
    }
  }

  @Test func anAdapterOfAnotherProtocolIsRefused() async throws {
    let folder = try AdapterFolder()
    for (answer, hint) in [("", "no version"), (",\"protocol\":2", "version 2")] {
      let uploader = try folder.uploader(try folder.adapter("echo '{\"type\":\"result\"\(answer)}'"))
      let error = try #require(await #expect(throws: UploadError.self) { try await uploader.prepare() })
      #expect(error.code == .storeUnusable && error.message.contains(hint))
    }
  }

  @Test func oneThatRemovesNothingIsNotAskedTo() async throws {
    let folder = try AdapterFolder()
    let uploader = try folder.uploader(
      try folder.adapter("echo '{\"type\":\"result\",\"protocol\":1,\"removes\":false}'"))
    try await uploader.prepare()
    #expect(!uploader.traits.removes)
    let error = try #require(await #expect(throws: UploadError.self) { try await uploader.remove(try key()) })
    #expect(error.code == .rejected && error.message.contains("removes nothing, so k.mp4 stays"))
  }

  @Test(
    "what the store keeps is reported in the adapter's own words, without control characters or secrets",
    arguments: ["", ",\"remains\":\"v\\u001b7 of %s\""])
  func remains(_ words: String) async throws {
    let folder = try AdapterFolder()
    let uploader = try folder.uploader(
      try folder.adapter("printf '{\"type\":\"result\"\(words)}\\n' \"$REEL_ADAPTER_TOKEN\""),
      environment: ["REEL_ADAPTER_TOKEN": "s3cr3t-token"])
    let removal = try await uploader.remove(try key())
    #expect(uploader.traits.removes && removal.isGone == words.isEmpty)
    if !words.isEmpty {
      #expect(
        removal.remains?.hasSuffix("has removed k.mp4, and says: v 7 of ‹REEL_ADAPTER_TOKEN›") == true,
        "\(removal)")
    }
  }

  @Test func itsWordsAreToldWithoutWhatWasPassedToIt() async throws {
    let error = try await failure(
      of: "printf 'old\\nHTTP 401 for %s \\033[31m\\n' \"$REEL_ADAPTER_TOKEN\" >&2; exit 1",
      environment: ["REEL_ADAPTER_TOKEN": "s3cr3t-token"])
    #expect(error.message.contains("HTTP 401 for ‹REEL_ADAPTER_TOKEN› [31m"))
    let said = try await failure(
      of: "printf '{\"type\":\"error\",\"code\":\"denied\",\"message\":\"%s is wrong\"}\\n' \"$MINE\"",
      environment: ["MINE": "s3cr3t-token"], allowing: ["MINE"])
    #expect(said.code == .denied && said.message.hasSuffix("‹MINE› is wrong"))
  }

  /// Wherever the adapter's words are quoted, and however long they are: a secret that was truncated first could not
  /// be found any more.
  @Test(arguments: [
    "printf '%s\\n' \"$REEL_ADAPTER_TOKEN\"", "printf '{\"type\":\"%s\"}\\n' \"$REEL_ADAPTER_TOKEN\"",
    "printf '{\"type\":\"error\",\"code\":\"%s\"}\\n' \"$REEL_ADAPTER_TOKEN\"",
    "printf '%s' \"$REEL_ADAPTER_TOKEN\" >&2; exit 1",
  ])
  func aLongSecretIsNotHalfTold(_ script: String) async throws {
    let secret = (0..<60).map { "part-\($0)-" }.joined()
    let error = try await failure(of: script, environment: ["REEL_ADAPTER_TOKEN": secret])
    #expect(!error.message.contains("part-"), "\(error.message)")
    #expect(error.message.contains("‹REEL_ADAPTER_TOKEN›"), "\(error.message)")
  }

  @Test func itGetsNoOtherDescriptorAndNoOtherVariable() async throws {
    let folder = try AdapterFolder()
    let seen = folder.path(of: "seen")
    let uploader = try folder.uploader(
      try folder.adapter(
        """
        (cd /proc/self/fd && echo * ) >"\(seen)"
        tr '\\0' '\\n' </proc/$$/environ | sed 's/=.*//' | sort | tr '\\n' ' ' >>"\(seen)"
        cat <&3 >"\(seen).bytes"
        if printf x >&3; then echo writable >>"\(seen)"; fi 2>/dev/null
        echo '{"type":"staged"}'; read -r answer; echo "$answer" >>"\(seen)"
        echo '{"type":"result","size":1000}'
        """), environment: ["SECRET": "x"])
    let object = try await uploader.upload(try source(), to: try key()) { _ in }
    #expect(object.url == "https://media.example/k.mp4")
    let words = try String(contentsOfFile: seen, encoding: .utf8)
    // 4 is the directory listing's own, 10 the shell's.
    let numbers = words.split(separator: "\n").first?.split(separator: " ").compactMap { Int($0) } ?? []
    #expect(numbers.starts(with: [0, 1]) && Set(numbers).subtracting([0, 1, 2, 3, 4, 10]) == [], "\(words)")
    #expect(words.contains("PATH REEL_ADAPTER_FOLDER {\"commit\":true}"), "\(words)")
    #expect(!words.contains("SECRET") && !words.contains("writable"))
    #expect(FileManager.default.contents(atPath: seen + ".bytes")?.count == 1000)
  }

  @Test func oneThatFallsSilentIsEndedWithAllThatItStarted() async throws {
    let (source, key) = (try source(), try key())
    // On a busy machine the adapter may not have started all of them before the deadline: then it gets more time.
    for silence in [3, 30, 120] {
      let folder = try AdapterFolder()
      let list = folder.path(of: "processes")
      let uploader = try folder.uploader(
        try folder.adapter(
          """
          trap '' TERM
          sleep 1000 & echo $! >"\(list)"
          (trap '' TERM; sleep 1000) & echo $! >>"\(list)"
          echo $$ >>"\(list)"
          wait; sleep 1000
          """), silence: .seconds(silence))
      let error = try #require(
        await #expect(throws: UploadError.self) { try await uploader.upload(source, to: key) { _ in } })
      #expect(error.code == .interrupted && error.message.contains("`adapterDeadline`"))
      if silence < 120, listed(in: list).count < 3 { continue }
      return try await expectGone(list, count: 3)
    }
  }

  /// A busy machine may need more time until the adapter has seen the end of its input.
  @Test func cancellingEndsItAndNothingIsCommitted() async throws {
    for grace in [5, 30, 120] where try await cancelling(after: .seconds(grace)) { return }
    Issue.record("the end of its input was never seen")
  }

  /// - Returns: whether the adapter has seen the end of its input before it was killed.
  private func cancelling(after grace: Duration) async throws -> Bool {
    let folder = try AdapterFolder()
    let list = folder.path(of: "processes")
    let (ready, answer) = (folder.path(of: "ready"), folder.path(of: "answer"))
    let uploader = try folder.uploader(
      try folder.adapter(
        """
        trap '' TERM
        sleep 1000 & echo $! >"\(list)"; echo $$ >>"\(list)"
        echo '{"type":"progress","sent":500}'
        echo '{"type":"progress","sent":999}'
        : >"\(ready)"
        read -r answer || echo nothing >"\(answer)"
        sleep 1000
        """), grace: grace)
    let (source, key) = (try source(3 << 20), try key())
    let task = Task { try await uploader.upload(source, to: key) { _ in } }
    while !FileManager.default.fileExists(atPath: ready) { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    let result = await task.result
    #expect(throws: UploadError.self) { try result.get() }
    if case .failure(let error as UploadError) = result { #expect(error.code == .cancelled) }
    try await expectGone(list, count: 2)
    return (try? String(contentsOfFile: answer, encoding: .utf8)) == "nothing\n"
  }

  /// Bytes that keep arriving do not extend the deadline of an adapter that was told to stop.
  @Test func cancellingEndsOneThatIsReadBackAndGoesOnWriting() async throws {
    let folder = try AdapterFolder()
    let ready = folder.path(of: "ready")
    let uploader = try folder.uploader(
      try folder.adapter("trap '' TERM; : >\"\(ready)\"; while :; do echo bytes >&3; done"),
      grace: .seconds(1))
    let key = try key()
    let task = Task { try await uploader.readBack(key) }
    while !FileManager.default.fileExists(atPath: ready) { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    guard case .failure(let error as UploadError) = await task.result else {
      Issue.record("it was read back")
      return
    }
    #expect(error.code == .cancelled)
  }

  /// The run is cancelled between the commit and the adapter's claim.
  @Test func whatItClaimsWronglyIsRemovedInACancelledRun() async throws {
    let folder = try AdapterFolder()
    let (committed, goOn, removed) = (
      folder.path(of: "committed"), folder.path(of: "go-on"), folder.path(of: "removed")
    )
    let uploader = try folder.uploader(
      try folder.adapter(
        """
        case "$request" in
        *remove*) : >"\(removed)"; echo '{"type":"result"}'; exit ;;
        esac
        echo '{"type":"staged"}'; read -r answer
        : >"\(committed)"
        while [ ! -e "\(goOn)" ]; do sleep 0.01; done
        echo '{"type":"result","size":999}'
        """))
    let (source, key) = (try source(), try key())
    let task = Task { await uploadCode { try await uploader.upload(source, to: key) } }
    while !FileManager.default.fileExists(atPath: committed) { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    try Data().write(to: URL(filePath: goOn))
    #expect(await task.value == .verificationFailed)
    #expect(FileManager.default.fileExists(atPath: removed))
  }

  @Test func aSourceThatChangedIsNotCommitted() async throws {
    let folder = try AdapterFolder()
    let answer = folder.path(of: "answer")
    let uploader = try folder.uploader(
      try folder.adapter(
        "echo '{\"type\":\"staged\"}'; read -r answer && echo \"$answer\" >\"\(answer)\"; echo end >>\"\(answer)\""
      ), grace: .seconds(120))
    let file = try ChangingFile(folder.path(of: "file"), size: 1000)
    let source = UploadSource(
      size: 1000, digest: try source().digest, contentType: "video/mp4", bytes: file)
    let key = try key()
    let error = try #require(
      await #expect(throws: UploadError.self) { try await uploader.upload(source, to: key) { _ in } })
    #expect(error.code == .sourceChanged)
    #expect(try String(contentsOfFile: answer, encoding: .utf8) == "end\n")
  }

  @Test func bytesThatAreReadBackAreHashedHere() async throws {
    let folder = try AdapterFolder()
    let (source, key) = (try source(), try key())
    let honest = try folder.uploader(
      try folder.adapter("printf abc >&3; echo '{\"type\":\"result\",\"found\":true,\"size\":3}'"))
    #expect(try await honest.readBack(key) == ContentDigest(sha256: SHA256.hash(data: Data("abc".utf8))))
    let lying = try folder.uploader(
      try folder.adapter(
        "printf abc >&3; echo '{\"type\":\"result\",\"found\":true,\"size\":4,\"digest\":\"\(source.digest)\"}'"
      ))
    let error = await #expect(throws: UploadError.self) { try await lying.readBack(key) }
    #expect(error?.code == .interrupted)
  }

  /// The process IDs in the file at `list`; empty if there is no such file.
  private func listed(in list: String) -> [Int32] {
    let text = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { Int32($0) }
  }

  /// Expects that every process listed in the file at `list` ends soon.
  private func expectGone(_ list: String, count: Int) async throws {
    let numbers = listed(in: list)
    #expect(numbers.count == count)
    for number in numbers {
      let isGone = try await eventually { kill(number, 0) != 0 || Self.isZombie(number) }
      #expect(isGone, "process \(number) is still there")
    }
  }

  /// Whether the process is dead, but not yet reaped by the process that adopts orphans here.
  private static func isZombie(_ number: Int32) -> Bool {
    let text = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
    return text.split(separator: ")").last?.hasPrefix(" Z") ?? false
  }
}

/// A file whose change shows only at the last check.
private final class ChangingFile: ByteSource {
  private let file: FileHandle
  var descriptor: Int32? { file.fileDescriptor }
  var isPrivate: Bool { true }

  init(_ path: String, size: Int) throws {
    try Data(count: size).write(to: URL(filePath: path))
    file = try #require(FileHandle(forReadingAtPath: path))
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int { 0 }

  func checkUnchanged() throws(SourceError) { throw SourceError(.sourceChanged, "it changed") }
}
