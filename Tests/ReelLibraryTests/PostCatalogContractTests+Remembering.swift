import Foundation
import ReelCore
import Testing

extension PostCatalogContractTests {
  /// A file whose status changed `age` seconds ago.
  private static func file(
    _ stage: any CatalogStage, age: Double = 60, inode: UInt64 = 7, size: Int64 = 100
  ) -> FileIdentity {
    let changed = Int64((stage.clock.now().timeIntervalSince1970 - age) * 1_000_000_000)
    return FileIdentity(device: .max, inode: inode, size: size, modifiedAt: -5, changedAt: changed)
  }

  private static let reader = ReaderVersion(reel: "0.1.0", ffmpeg: "59.27.100")

  static let remembering = [
    CatalogContractTest("a file is known only in exactly the state that was remembered") { stage in
      let catalog = try await stage.open()
      let digest = Sketch().digest()
      let known = file(stage, inode: .max)
      #expect(try catalog.knownFile(known) == nil)
      await catalog.remember(digest, of: known)
      _ = try await catalog.cacheStatus()
      #expect(try catalog.knownFile(known) == digest)
      let others = [
        FileIdentity(device: 1, inode: .max, size: 100, modifiedAt: -5, changedAt: known.changedAt),
        FileIdentity(device: .max, inode: 8, size: 100, modifiedAt: -5, changedAt: known.changedAt),
        FileIdentity(device: .max, inode: .max, size: 101, modifiedAt: -5, changedAt: known.changedAt),
        FileIdentity(device: .max, inode: .max, size: 100, modifiedAt: -4, changedAt: known.changedAt),
        FileIdentity(device: .max, inode: .max, size: 100, modifiedAt: -5, changedAt: known.changedAt + 1),
      ]
      for other in others { #expect(try catalog.knownFile(other) == nil) }
    },
    CatalogContractTest("a file that changed less than 2 s ago, or in the future, is not remembered") {
      stage in
      let catalog = try await stage.open()
      for (inode, age, isKept) in [(1, 0.0, false), (2, 1.99, false), (3, 2.01, true), (4, -9, false)] {
        let identity = file(stage, age: age, inode: UInt64(inode))
        await catalog.remember(Sketch().digest(), of: identity)
        _ = try await catalog.cacheStatus()
        #expect(try (catalog.knownFile(identity) != nil) == isKept, "\(age) s old")
      }
    },
    CatalogContractTest("only the last state of an inode is remembered") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let (old, new) = (file(stage, age: 90), file(stage, age: 60))
      let digest = sketch.digest()
      await catalog.remember(sketch.digest(), of: old)
      await catalog.remember(digest, of: new)
      #expect(try await catalog.cacheStatus().files == 1)
      #expect(try catalog.knownFile(old) == nil)
      #expect(try catalog.knownFile(new) == digest)
    },
    CatalogContractTest("a reading is found only for its reader's version, and unchanged") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let digest = sketch.digest()
      var report = ProbeReport(media: sketch.draft().media, provenance: sketch.draft().provenance)
      report.media.createdAt = Date(timeIntervalSince1970: 1_600_000_000.123_456_7)
      report.media.video?.rotation = 90
      report.media.title = "\u{0}\u{7f}\u{202e}'\"\\"
      await catalog.remember(.media(report), of: digest, by: reader)
      _ = try await catalog.cacheStatus()
      #expect(try catalog.probeOutcome(of: digest, by: reader) == .media(report))
      for other in [
        ReaderVersion(reel: "0.1.1", ffmpeg: "59.27.100"), ReaderVersion(reel: "0.1.0", ffmpeg: "60"),
      ] {
        #expect(try catalog.probeOutcome(of: digest, by: other) == nil)
      }
      #expect(try catalog.probeOutcome(of: sketch.digest(), by: reader) == nil)
    },
    CatalogContractTest("only failures that are about the bytes are remembered") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      for code in ProbeError.Code.allCases {
        let digest = sketch.digest()
        let outcome = ProbeOutcome.failure(ProbeError(code, "because", found: "an HLS playlist"))
        await catalog.remember(outcome, of: digest, by: reader)
        _ = try await catalog.cacheStatus()
        let found = try catalog.probeOutcome(of: digest, by: reader)
        #expect(found == (code.isAboutTheBytes ? outcome : nil), "\(code)")
      }
    },
    CatalogContractTest("a path's last failure is kept until it is cleared") { stage in
      let catalog = try await stage.open()
      func failure(_ code: String, _ seconds: Double, refused: Bool = false) -> FailureRecord {
        FailureRecord(
          code: code, message: "m", refused: refused, at: Date(timeIntervalSince1970: seconds))
      }
      let odd = SourcePath(bytes: [0x2f, 0xff, 0x0a, 0x27])
      await catalog.remember(failure("a", 1), at: odd)
      await catalog.remember(failure("b", 2, refused: true), at: odd)
      await catalog.remember(failure("c", 3), at: SourcePath("/c"))
      await catalog.remember(failure("d", 1), at: SourcePath("/d"))
      await catalog.remember(nil, at: SourcePath("/d"))
      await catalog.remember(nil, at: SourcePath("/never"))
      let status = try await catalog.status()
      #expect(status.failureCount == 2)
      #expect(status.failures.map(\.path) == [SourcePath("/c"), odd])
      #expect(status.failures.map(\.failure) == [failure("c", 3), failure("b", 2, refused: true)])
    },
    CatalogContractTest("the newest 1000 failures are listed, and all are counted") { stage in
      let catalog = try await stage.open()
      for index in 0..<1500 {
        let at = Date(timeIntervalSince1970: Double(index))
        await catalog.remember(
          FailureRecord(code: "notMedia", message: "text", refused: false, at: at),
          at: SourcePath("/\(index)"))
      }
      let status = try await catalog.status()
      #expect(status.failureCount == 1500)
      #expect(status.failures.count == 1000)
      #expect(status.failures.first?.path == SourcePath("/1499"))
      #expect(status.failures.last?.path == SourcePath("/500"))
    },
    CatalogContractTest("clearing the cache forgets files and readings, and nothing else") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      let post = try #require(try await catalog.publish(request, with: sketch))
      let begun = sketch.request(sketch.publication())
      _ = try await catalog.claim(begun)
      let failed = FailureRecord(code: "c", message: "m", refused: false, at: stage.clock.now())
      await catalog.remember(failed, at: SourcePath("/f"))
      #expect(try await catalog.cacheStatus() == CacheStatus(files: 0, readings: 0, bytes: 0))
      for inode in 1...300 {
        let digest = sketch.digest()
        await catalog.remember(digest, of: file(stage, inode: UInt64(inode)))
        let report = ProbeReport(media: sketch.draft().media, provenance: sketch.draft().provenance)
        if inode % 3 == 0 { await catalog.remember(.media(report), of: digest, by: reader) }
      }
      let before = try await catalog.cacheStatus()
      #expect(before.files == 300)
      #expect(before.readings == 100)
      #expect(before.bytes > 300 * 32 + 100 * 500)
      let cleared = try await catalog.clearCache()
      #expect(cleared.files == 300)
      #expect(cleared.readings == 100)
      #expect(cleared.bytes > 0)
      #expect(try await catalog.cacheStatus() == CacheStatus(files: 0, readings: 0, bytes: 0))
      #expect(try catalog.knownFile(file(stage, inode: 1)) == nil)
      #expect(try catalog.published(request.publication)?.post == post)
      #expect(try await catalog.claim(begun).isHeld)
      #expect(try await catalog.status().failures.map(\.failure) == [failed])
    },
  ]
}
