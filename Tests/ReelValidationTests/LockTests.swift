import ReelCore
import ReelTestSupport
import ReelValidation
import Testing

@Suite("locks") struct LockTests {
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
    _ now: LockEntry, findings: [Finding] = [], to lock: LockEntry, pointsTo: ContentDigest? = nil,
    git: GitFacts? = nil
  ) -> [Finding] {
    var facts = Facts.fixture("clips/it's.mp4")
    facts.pointsTo = pointsTo
    return LockComparison(LockFile(entries: [path: lock]), acceptance: "reel lock clips --force") { _ in git }
      .findings(path, now, findings: findings, facts)
  }

  @Test("a lock can be read from its text, whatever the names")
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

  @Test("an unchanged file passes, even if it broke rules when it was locked")
  func same() {
    #expect(held(entry(digest), to: entry(digest)) == [])
    let finding = Finding(
      rule: "file.truncated", severity: .error, state: .broken, sentence: "it is", fix: "reel mend a")
    let accepted = held(
      entry(digest, broken: ["file.truncated"]), findings: [finding],
      to: entry(digest, broken: ["file.truncated"]))
    #expect(accepted.map(\.state) == [.locked] && accepted.map(\.fix) == [nil])
    let more = held(entry(digest, broken: ["file.truncated"]), findings: [finding], to: entry(digest))
    #expect(more.map(\.state) == [.broken])
  }

  @Test("another file, a different reading, a new file and a missing one are four different findings")
  func differences() {
    #expect(held(entry(other), to: entry(digest)).map(\.rule) == [LockRules.changed])
    let read = held(entry(digest) { $0.video?.rotation = 90 }, to: entry(digest))
    #expect(read.map(\.rule) == [LockRules.reading])
    #expect(read.first?.sentence.contains("video.rotation was 0 and is 90") == true)
    let comparison = LockComparison(LockFile(entries: [path: entry(digest)]), acceptance: "reel lock") { _ in
      nil
    }
    let new = comparison.findings(
      SourcePath("b.mp4"), entry(digest), findings: [], Facts.fixture("b.mp4"))
    #expect(new.map(\.rule) == [LockRules.new] && new.map(\.fix) == ["reel lock"])
    #expect(comparison.gone(found: []) { _ in true }.map(\.1.rule) == [LockRules.gone])
    #expect(comparison.gone(found: []) { _ in false }.isEmpty)
    #expect(comparison.gone(found: [path]) { _ in true }.isEmpty)
  }

  @Test("a changed file is restored from where it is, and nothing else is advised for it")
  func broughtBack() {
    let mendable = Finding(
      rule: "mp4.notFastStart", severity: .error, state: .broken, sentence: "it is", fix: "reel mend a",
      hasRemedy: true)
    func found(_ git: GitFacts?) -> [Finding] {
      held(entry(other), findings: [mendable], to: entry(digest), git: git)
    }
    let stash = #"git -C clips stash push -- 'it'\''s.mp4'"#
    #expect(found(GitFacts(committed: digest)).map(\.fix) == [stash, stash])
    let committed = found(GitFacts(committed: other))
    #expect(committed.map(\.fix) == [nil, nil])
    #expect(committed.last?.sentence.contains(#"`git -C clips log -1 -- 'it'\''s.mp4'`"#) == true)
    for git in [nil, GitFacts()] {
      #expect(found(git).map(\.fix) == [nil, nil])
      #expect(found(git).last?.sentence.contains("git") == false)
    }
  }

  @Test("a file that was not fetched does not count as changed", arguments: [Severity.error, .warn])
  func notFetched(severity: Severity) {
    let pointer = Finding(rule: RuleIDs.lfsPointer, severity: severity, state: .broken, sentence: "it is")
    let found = held(
      entry(other), findings: [pointer], to: entry(digest), pointsTo: digest,
      git: GitFacts(committed: digest, lfsPlace: SourcePath("x/clips/it's.mp4")))
    if severity == .error { return #expect(found == [pointer]) }
    #expect(found.map(\.rule) == [RuleIDs.lfsPointer, LockRules.changed])
    #expect(found.last?.fix == #"git -C clips lfs pull --include 'x/clips/it'\''s.mp4'"#)
    #expect(
      held(entry(other), findings: [pointer], to: entry(digest), pointsTo: other).last?.sentence.contains(
        "was locked")
        == true)
  }

  @Test("a new file that can be mended or breaks a rule should not be locked as it is")
  func newAndBroken() {
    let comparison = LockComparison(LockFile(), acceptance: "reel lock clips --force") { _ in nil }
    for (severity, fix, isLocked) in [
      (Severity.error, nil, false), (.warn, "mend", false), (.warn, nil, true),
    ] as [(Severity, String?, Bool)] {
      let finding = Finding(rule: "size.min", severity: severity, state: .broken, sentence: "it is", fix: fix)
      let found = comparison.findings(path, entry(digest), findings: [finding], Facts.fixture())
      #expect((found.last?.fix != nil) == isLocked)
    }
  }

  @Test("the most important changes come first, and a removed value is called gone")
  func weighty() {
    let sentence = held(
      entry(other) {
        ($0.bitRate, $0.duration, $0.fastStart) = (1, 20, false)
        ($0.audio, $0.artist, $0.container) = ([], "x", .mov)
      }, to: entry(digest)
    ).first?.sentence
    #expect(
      sentence?.hasPrefix(
        "it is not the file that was locked: container was mp4 and is mov, duration was 10 and is 20, "
          + "audio.0.codec was aac and is gone, ") == true, "\(sentence ?? "")")
  }

  @Test("the same bytes that no longer break a rule are a different reading")
  func mended() {
    let found = held(entry(digest), to: entry(digest, broken: ["file.truncated"]))
    #expect(found.map(\.rule) == [LockRules.reading])
    #expect(
      found.first?.sentence.hasSuffix(": it broke file.truncated and no longer does") == true, "\(found)")
    let titled = held(entry(digest) { $0.title = "x" }, to: entry(digest))
    #expect(titled.first?.sentence.hasSuffix(": there was no title and now it is x") == true, "\(titled)")
    #expect(titled.map(\.expected) == ["no title"] && titled.map(\.found) == ["title x"])
  }

  @Test("a user who mends or renames a locked file is told to lock it again")
  func lockedAnew() {
    for (rule, fix, isTold) in [
      ("ext.mismatch", "mv -n -- a b", true), ("name.unsafe", nil, true), ("size.min", nil, false),
    ] as [(String, String?, Bool)] {
      let finding = Finding(rule: rule, severity: .warn, state: .broken, sentence: "it is", fix: fix)
      let found = held(entry(digest), findings: [finding], to: entry(digest))
      #expect(found.first?.sentence.hasSuffix("lock it anew afterwards") == isTold, "\(found)")
    }
  }

  @Test("rounding is no difference; anything more is")
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

  @Test("an update keeps unchanged entries, reports changed ones, and leaves out-of-scope ones alone")
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
    let refusing = LockUpdate(
      old: lock, current: [path: entry(other), SourcePath("new.mp4"): entry(other)],
      refused: [path, SourcePath("new.mp4")], isCovered: { $0 != SourcePath("gone.mp4") })
    #expect(
      refusing.lock.entries[path] == entry(digest) && refusing.lock.entries[SourcePath("new.mp4")] == nil)
    let quiet = LockUpdate(old: change.lock, current: change.lock.entries) { _ in true }
    #expect(quiet.lines == [] && quiet.lock == change.lock)
  }

  @Test("a lock truncated anywhere is invalid, even at a line's end; one of an older Reel has no end marker")
  func cutOff() throws {
    let lock = LockFile(entries: [path: entry(digest), SourcePath("z"): entry(digest)])
    let text = LockText.text(lock)
    for count in 0..<(text.utf8.count - 1) {
      #expect(throws: LockError.self, "\(count)") { try LockFile(text: Array(text.utf8.prefix(count))) }
    }
    // The last newline is not needed.
    #expect(try LockFile(text: Array(text.utf8.dropLast())) == lock)
    let old = text.replacing("reel-lock 2", with: "reel-lock 1").replacing("\nend\n", with: "")
    #expect(try LockFile(text: Array(old.utf8)) == lock)
  }

  @Test("any bytes are a lock or an error, without a crash", arguments: 0..<20)
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
    "an invalid lock says what is wrong",
    arguments: [
      ("", "not a lock file"), ("hello", "not a lock file"), ("reel-lock 3\n", "another version"),
      ("reel-lock 1\n<<<<<<< HEAD\n", "merge"), ("reel-lock 1\nfile a\n", "has no sha256"),
      ("reel-lock 1\nnonsense\n", "key = value"), ("reel-lock 1\nspeed = 5\n", "there is no \"speed\""),
      ("reel-lock 1\ntolerance.foo = 1\n", "there is no \"tolerance.foo\""),
      (
        "reel-lock 1\ntolerance.duration = lots\n",
        "\"lots\" is not a valid tolerance.duration, such as 0.05s"
      ),
      ("reel-lock 1\ntolerance.rate = 5s\n", "\"5s\" is not a valid tolerance.rate, such as 0.01%"),
      ("reel-lock 1\n=======\n", "git checkout --ours LOCK"), ("reel-lock 2\n", "cut off"),
      ("reel-lock 2\nend\nfile a\n", "nothing may follow"),
    ])
  func noLock(text: String, hint: String) {
    do throws(LockError) {
      _ = try LockFile(text: Array(text.utf8))
      Issue.record("no error")
    } catch {
      #expect(error.message.contains(hint))
    }
  }

  @Test("a video named by mistake is not to be deleted, and a byte order mark is accepted")
  func bytesOfOthers() throws {
    let error = #expect(throws: LockError.self) { try LockFile(text: [0, 0, 0, 0x20, 0x66, 0xFF]) }
    #expect(error?.message.contains("not a lock file; name another") == true)
    #expect(try LockFile(text: [0xEF, 0xBB, 0xBF] + Array("reel-lock 2\nend\n".utf8)).entries.isEmpty)
  }
}
