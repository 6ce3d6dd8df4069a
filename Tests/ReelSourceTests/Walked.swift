import ReelCore
import ReelSource
import ReelTestSupport

/// The results of a walk by kind, with paths relative to the test's folder.
struct Walked {
  var candidates: [String] = []
  var ignored: [String] = []
  var leftAlone: [String] = []
  var orphans: [String] = []
  var failed: [String: SourceError.Code] = [:]
  var files: [FoundFile] = []
  /// Every result in order.
  var order: [String] = []

  init(_ walk: SourceWalk, in folder: TemporaryFolder, batch: Int = 7) {
    while case let items = walk.next(upTo: batch), !items.isEmpty {
      for item in items { add(item, folder) }
    }
  }

  init(_ names: [String], in folder: TemporaryFolder, _ options: WalkOptions = WalkOptions()) {
    self.init(
      SourceWalk(inputs: names.map { SourceInput(path: folder.source($0)) }, options: options), in: folder)
  }

  init(all folder: TemporaryFolder, _ options: WalkOptions = WalkOptions()) {
    self.init(SourceWalk(inputs: [SourceInput(path: folder.source)], options: options), in: folder)
  }

  private mutating func add(_ item: WalkItem, _ folder: TemporaryFolder) {
    switch item {
    case .candidate(let file):
      candidates.append(name(file.path, folder))
      files.append(file)
    case .ignored(let path): ignored.append(name(path, folder))
    case .leftAlone(let path): leftAlone.append(name(path, folder))
    case .orphanSidecar(let path): orphans.append(name(path, folder))
    case .failed(let path, let error): failed[name(path, folder)] = error.code
    }
  }

  private func name(_ path: SourcePath, _ folder: TemporaryFolder) -> String {
    let prefix = folder.source.bytes + [UInt8(ascii: "/")]
    return path.bytes.starts(with: prefix)
      ? SourcePath(bytes: path.bytes.dropFirst(prefix.count)).text : path.text
  }
}
