import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization

extension ScriptedProber {
  /// Facts of a video that has a title of its own.
  static func video(_ file: SourceFile) -> MediaInfo {
    var media = MediaInfo.sample(size: file.size)
    media.title = "from the file"
    return media
  }
}

extension ScriptedCatalog {
  /// Returns a catalog whose disk is full at the first call for which `isMeant` is true.
  static func fullOnce(
    _ base: any PostCatalog, at isMeant: @escaping @Sendable (Call) -> Bool
  ) -> ScriptedCatalog {
    let isFirst = Atomic(true)
    return ScriptedCatalog(base: base) { call throws(CatalogError) in
      guard isMeant(call), isFirst.exchange(false, ordering: .relaxed) else { return }
      throw CatalogError(.diskFull, "no space left")
    }
  }

  /// Returns a catalog whose owner counts as dead. Just before an intent is completed, another process takes it over
  /// and dies.
  static func losingLeases(_ base: MemoryCatalog) -> ScriptedCatalog {
    let mine = base.another()
    mine.die()
    return ScriptedCatalog(base: mine) { call throws(CatalogError) in
      guard case .complete(let intents) = call else { return }
      let other = base.another()
      let randomness = SystemRandomness()
      for intent in intents {
        let request = ClaimRequest(
          publication: intent.publication, duplicates: .skip, size: 1,
          newID: PostID(at: Date(), random: randomness), newKey: intent.key)
        _ = try other.claim([request], noting: [])
      }
      other.die()
    }
  }
}

extension ScriptedCatalog.Call {
  var isCompletion: Bool { if case .complete = self { true } else { false } }
}

/// Bytes in memory as an upload source.
extension MemoryBytes {
  static func source(_ text: String) throws(UploadError) -> UploadSource {
    let content = Array(text.utf8)
    guard let digest = ContentDigest(sha256: SHA256.hash(data: content)) else {
      throw UploadError(.rejected, "SHA-256 has 32 bytes")
    }
    return UploadSource(
      size: Int64(content.count), digest: digest, contentType: "video/mp4",
      bytes: MemoryBytes(bytes: content))
  }
}

/// A folder of files for one test, deleted with this object.
final class ClipFolder {
  let path: String

  init(_ names: [String] = []) {
    path = FreshFolder.make()
    for name in names { add(name, "bytes of \(name)") }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func add(_ name: String, _ text: String) {
    try? Data(text.utf8).write(to: URL(filePath: path + "/" + name))
  }

  var input: SourceInput { SourceInput(path: SourcePath(path)) }

  func file(_ name: String) -> SourceInput { SourceInput(path: SourcePath(path + "/" + name)) }
}

private enum FreshFolder {
  static func make() -> String {
    let folder = FileManager.default.temporaryDirectory.path + "/reel-ingest-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }
}

/// A clock one minute ahead, so that every file counts as settled.
struct LaterClock: WallClock {
  func now() -> Date { Date().addingTimeInterval(60) }
}
