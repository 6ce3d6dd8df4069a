import ReelCore
import ReelTestSupport
import ReelValidation
import Testing

@Suite("Locks") struct LockTests {
  private let digest = ContentDigest(sha256: [UInt8](repeating: 7, count: 32))
  private let other = ContentDigest(sha256: [UInt8](repeating: 8, count: 32))
  private let path = SourcePath("a.mp4")

  private func entry(
    _ digest: ContentDigest?, broken: [String] = [], _ change: (inout MediaInfo) -> Void = { _ in }
  ) -> LockEntry {
    var facts = Facts.fixture("a.mp4", change)
    facts.digest = digest
    let findings = broken.map { Finding(rule: $0, severity: .error, state: .broken, sentence: "it is") }
    return LockEntry(facts, findings: findings, reader: Facts.reader)
  }

  private func held(
    _ now: LockEntry, findings: [Finding] = [], to lock: LockEntry, isInRepository: Bool = true
  ) -> [Finding] {
    LockComparison(LockFile(entries: [path: lock]), isInRepository: isInRepository).findings(
      path, now, findings: findings, reportedAs: SourcePath("clips/it's.mp4"))
  }

  @Test("the text gives the lock back, whatever the names are")
  func roundTrip() throws {
    var lock = LockFile(tolerances: LockTolerances(duration: 0.25, rate: 0.02))
    for name: [UInt8] in [
      Array("a.mp4".utf8), Array(" x ".utf8), Array("new\nline\r\\.mp4".utf8), [0xFF, 0xFE],
      Array("é/日本.mp4".utf8),
      Array("file = x".utf8), Array("#no".utf8), Array("\u{202E}x".utf8), Array("##[error]###x::::".utf8),
      [0xFF] + Array("##vso[a]\\::".utf8),
    ] {
      lock.entries[SourcePath(bytes: name)] = entry(digest, broken: ["file.truncated"]) {
        $0.title = "\u{1B}[31m\nfile evil\n\\"
        $0.artist = "##[command]::x"
      }
    }
    let text = LockText.text(lock)
    #expect(try LockFile(text: Array(text.utf8)) == lock)
    #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
    #expect(!text.contains("##") && !text.contains("::"))
    #expect(LockText.text(try LockFile(text: Array(text.utf8))) == text)
  }

  @Test("the same file passes, also with what it broke when it was locked")
  func same() {
    #expect(held(entry(digest), to: entry(digest)) == [])
    let finding = Finding(rule: "file.truncated", severity: .error, state: .broken, sentence: "it is")
    let accepted = held(
      entry(digest, broken: ["file.truncated"]), findings: [finding],
      to: entry(digest, broken: ["file.truncated"]))
    #expect(accepted.map(\.state) == [.locked])
    let more = held(entry(digest, broken: ["file.truncated"]), findings: [finding], to: entry(digest))
    #expect(more.map(\.state) == [.broken])
  }

  @Test("another file, another reading, a new one and one that is gone are four different findings")
  func differences() {
    #expect(held(entry(other), to: entry(digest)).map(\.rule) == [LockRules.changed])
    #expect(
      held(entry(other), to: entry(digest)).map(\.fix) == [
        #"git --literal-pathspecs stash push -- 'clips/it'\''s.mp4'"#
      ])
    #expect(held(entry(other), to: entry(digest), isInRepository: false).map(\.fix) == [nil])
    let read = held(entry(digest) { $0.video?.rotation = 90 }, to: entry(digest))
    #expect(read.map(\.rule) == [LockRules.reading])
    #expect(read.first?.sentence.contains("video.rotation was 0 and is 90") == true)
    let comparison = LockComparison(LockFile(entries: [path: entry(digest)]), isInRepository: true)
    #expect(
      comparison.findings(
        SourcePath("b.mp4"), entry(digest), findings: [], reportedAs: SourcePath("b.mp4")
      ).map(\.rule) == [LockRules.new])
    #expect(comparison.gone(found: []) { _ in true }.map(\.1.rule) == [LockRules.gone])
    #expect(comparison.gone(found: []) { _ in false }.isEmpty)
    #expect(comparison.gone(found: [path]) { _ in true }.isEmpty)
  }

  @Test("a rule that is not broken any more, by the same bytes, is another reading")
  func mended() {
    #expect(
      held(entry(digest), to: entry(digest, broken: ["file.truncated"])).map(\.rule) == [LockRules.reading])
  }

  @Test("rounding is no difference; more than that is one")
  func tolerances() {
    #expect(held(entry(digest) { $0.duration = 10.04 }, to: entry(digest)) == [])
    #expect(held(entry(digest) { $0.duration = 10.06 }, to: entry(digest)) != [])
    let ntsc = Rational(30000, 1001).map { FrameRate($0) }
    let almost = Rational(2997, 100).map { FrameRate($0) }
    #expect(
      held(entry(digest) { $0.video?.frameRate = ntsc }, to: entry(digest) { $0.video?.frameRate = almost })
        == [])
    #expect(held(entry(digest) { $0.video?.frameRate = ntsc }, to: entry(digest)) != [])
    let film = Rational(24, 1).map { FrameRate($0) }
    #expect(held(entry(digest) { $0.video?.frameRate = film }, to: entry(digest)) != [])
  }

  @Test("an update keeps what is the same, tells what is not, and leaves what it did not look at")
  func update() {
    var lock = LockFile(entries: [path: entry(digest), SourcePath("elsewhere.mp4"): entry(digest)])
    lock.entries[SourcePath("gone.mp4")] = entry(digest)
    var now = entry(digest)
    now.reader = ReaderVersion(reel: "9", ffmpeg: "61")
    let change = LockUpdate(
      old: lock, current: [path: now, SourcePath("new.mp4"): entry(other)],
      isCovered: { $0 != SourcePath("elsewhere.mp4") })
    #expect(change.lock.entries[path]?.reader == Facts.reader)
    #expect(Set(change.lock.entries.keys.map(\.text)) == ["a.mp4", "elsewhere.mp4", "new.mp4"])
    #expect(change.lines == ["gone     gone.mp4", "new      new.mp4  pass"])
    let quiet = LockUpdate(old: change.lock, current: change.lock.entries) { _ in true }
    #expect(quiet.lines == [] && quiet.lock == change.lock)
  }

  @Test("any bytes are a lock or an error, and no crash", arguments: 0..<20)
  func anyBytes(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let good = Array(LockText.text(LockFile(entries: [path: entry(digest)])).utf8)
    for _ in 0..<40 {
      var bytes = good
      for _ in 0..<(1 + random.next() % 6) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      _ = try? LockFile(text: Array(bytes.prefix(Int(random.next() % UInt64(bytes.count + 1)))))
    }
  }

  @Test(
    "what is not a lock says so",
    arguments: [
      ("", "not a lock file"), ("hello", "not a lock file"), ("reel-lock 2\n", "another version"),
      ("reel-lock 1\n<<<<<<< HEAD\n", "merge"), ("reel-lock 1\nfile a\n", "has no sha256"),
      ("reel-lock 1\nnonsense\n", "key = value"), ("reel-lock 1\nspeed = 5\n", "tolerances"),
    ])
  func noLock(text: String, hint: String) {
    do throws(LockError) {
      _ = try LockFile(text: Array(text.utf8))
      Issue.record("no error")
    } catch {
      #expect(error.message.contains(hint))
    }
  }
}
