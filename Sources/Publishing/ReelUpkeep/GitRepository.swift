import Glibc
import ReelCore
import ReelCrypto
import ReelSource
import ReelValidation

/// What Git knows of a file. It is asked only about the last commit, and runs nothing that a repository's settings
/// name.
enum GitRepository {
  /// Returns nil outside a work tree, and if Git does not answer.
  static func facts(of path: SourcePath) -> GitFacts? {
    guard isInWorkTree(path) else { return nil }
    let name = path.lastComponent.bytes
    let folder = Array(path.bytes.dropLast(name.count))
    func ask(_ command: String, _ word: [UInt8]?, _ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
      // In a hook, these variables name a repository, which `-C` does not override.
      let git =
        "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR; GIT_ALLOW_PROTOCOL= GIT_NO_LAZY_FETCH=1 git -c core.fsmonitor=false -C "
      let place = quoted(folder.isEmpty ? Array(".".utf8) : folder)
      let words = Array(" \(command) ".utf8) + (word.map(quoted) ?? [])
      return output(of: Array(git.utf8) + place + words + " 2>/dev/null".utf8, take)
    }
    var prefix: [UInt8] = []
    guard ask("rev-parse --show-prefix", nil, { prefix += $0 }) else { return nil }
    var filter: [UInt8] = []
    _ = ask("check-attr filter --", name) { filter += $0 }
    let isLFS = filter.suffix(6).elementsEqual(": lfs\n".utf8)
    var (digest, head) = (SHA256(), [UInt8]())
    let isCommitted = ask("cat-file blob", Array("HEAD:./".utf8) + name) {
      digest.update(bufferPointer: $0)
      if head.count < LFSPointer.most { head += $0.prefix(LFSPointer.most) }
    }
    return GitFacts(
      committed: isCommitted ? LFSPointer.target(head) ?? ContentDigest(digest: digest.finalize()) : nil,
      lfsPlace: isLFS ? SourcePath(bytes: prefix.dropLast() + name) : nil)
  }

  /// Whether any folder above the file to which `path` resolves is the top of a work tree.
  private static func isInWorkTree(_ path: SourcePath) -> Bool {
    guard var folder = path.resolved?.bytes else { return false }
    while let end = folder.lastIndex(of: UInt8(ascii: "/")) {
      folder = Array(folder[..<end])
      if SourcePath(bytes: folder + "/.git".utf8).withCString({ access($0, F_OK) }) == 0 { return true }
    }
    return false
  }

  /// Quotes any bytes as one word for a shell.
  private static func quoted(_ word: [UInt8]) -> [UInt8] {
    let quote = UInt8(ascii: "'")
    return [quote] + word.flatMap { $0 == quote ? Array(#"'\''"#.utf8) : [$0] } + [quote]
  }

  /// Runs `command`, and passes its output to `take`. Returns whether it succeeded.
  private static func output(of command: [UInt8], _ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
    guard let pipe = SourcePath(bytes: command).withCString({ popen($0, "re") }) else { return false }
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
      while true {
        let count = fread(buffer.baseAddress, 1, buffer.count, pipe)
        guard count > 0 else { return }
        take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      }
    }
    return pclose(pipe) == 0
  }
}

/// Knows which folders are the tops of work trees, by their paths alone: symbolic links are not resolved.
final class WorkTreeTops {
  private var known: [SourcePath: Bool] = [:]

  /// Returns `path` relative to the top of its work tree; unchanged outside a work tree.
  func place(of path: SourcePath) -> SourcePath {
    if path.isAddress { return path }
    let slash = UInt8(ascii: "/")
    let steps = WorkingFolder.canonical(path).bytes.split(separator: slash)
    for count in steps.indices.reversed() {
      let folder = SourcePath(bytes: [slash] + steps[..<count].joined(separator: [slash]))
      if isTop(folder) { return SourcePath(bytes: Array(steps[count...].joined(separator: [slash]))) }
    }
    return path
  }

  private func isTop(_ folder: SourcePath) -> Bool {
    if let isTop = known[folder] { return isTop }
    let isTop = folder.appending(Array(".git".utf8)).fileStatus != nil
    known[folder] = isTop
    return isTop
  }
}

extension LFSPointer {
  /// The largest size in bytes, by its specification.
  static let most = 1024

  /// Returns the digest of the file that the pointer `bytes` stands for; nil if they are not a pointer.
  static func target(_ bytes: [UInt8]) -> ContentDigest? {
    guard bytes.count <= most, let text = String(validating: bytes, as: UTF8.self),
      beginnings.contains(where: text.hasPrefix)
    else { return nil }
    let lines = text.split(separator: "\n")
    return lines.first { $0.hasPrefix("oid sha256:") }.flatMap { ContentDigest(hex: String($0.dropFirst(4))) }
  }
}
