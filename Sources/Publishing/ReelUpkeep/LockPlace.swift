import ReelCore
import ReelSource
import ReelValidation

/// A lock file on disk, and how its paths and those of a run are matched: as text
/// alone, starting from the lock's folder.
package struct LockPlace: Sendable {
  package let path: String
  private let workingFolder: SourcePath?
  private let folder: [ArraySlice<UInt8>]
  /// The lock's names with accents, which may be encoded in two ways, by their text: equal texts are equal `String`s.
  private var names: [String: [SourcePath]] = [:]

  /// - Parameter workingFolder: where relative paths begin; nil if that is unknown.
  package init(path: String, workingFolder: SourcePath?) {
    (self.path, self.workingFolder) = (path, workingFolder)
    folder = Self.components(SourcePath(path), in: workingFolder).dropLast()
  }

  /// Notes the names in the lock.
  package mutating func note(_ lock: LockFile) {
    for name in lock.entries.keys where name.bytes.contains(where: { $0 > 0x7F }) {
      if let text = String(validating: name.bytes, as: UTF8.self) { names[text, default: []].append(name) }
    }
  }

  /// Returns the lock's name for `file`. That may be the file's name with its accents encoded in the other way (macOS),
  /// if no file has it as it was locked.
  package func name(of file: SourcePath) -> SourcePath {
    let name = ownName(of: file)
    guard !names.isEmpty, let text = String(validating: name.bytes, as: UTF8.self), let alike = names[text],
      alike.count == 1, let other = alike.first, other != name, self.file(named: other).fileStatus == nil
    else { return name }
    return other
  }

  private func ownName(of file: SourcePath) -> SourcePath {
    let components = self.components(file)
    let shared = zip(folder, components).prefix { $0 == $1 }.count
    let up = [ArraySlice<UInt8>](repeating: Array("..".utf8)[...], count: folder.count - shared)
    return SourcePath(bytes: (up + components.dropFirst(shared)).joined(separator: "/".utf8))
  }

  /// Returns the path of the file that the lock names, relative to the working folder if it is below that.
  package func file(named name: SourcePath) -> SourcePath {
    let components = Self.normal(folder + name.bytes.split(separator: UInt8(ascii: "/")))
    let here = self.components(SourcePath("."))
    guard components.starts(with: here) else {
      return SourcePath(bytes: Array("/".utf8) + components.joined(separator: "/".utf8))
    }
    return SourcePath(bytes: components.dropFirst(here.count).joined(separator: "/".utf8))
  }

  /// Whether a walk of `inputs` comes across the file that the lock names.
  package func covers(_ name: SourcePath, _ inputs: [SourceInput], _ filter: FixtureFilter) -> Bool {
    let components = Self.normal(folder + name.bytes.split(separator: UInt8(ascii: "/")))
    return inputs.contains { input in
      let root = self.components(input.path)
      guard components.starts(with: root) else { return false }
      return components.count == root.count || filter.takes(Array(components.dropFirst(root.count)))
    }
  }

  /// Returns the reason why this lock can't be used, with its name and its folder in the commands.
  package func told(_ error: LockError) -> String {
    let name = SourcePath(path).lastComponent.bytes
    let folder = Array(SourcePath(path).bytes.dropLast(name.count))
    let text = error.description.replacing(
      "--ours LOCK`", with: "--ours \(ShellWord.quoted(Array(path.utf8)))`")
    // A lock with another name may be the lock of another folder.
    guard name.elementsEqual("reel.lock".utf8) else { return text }
    let shown = folder.isEmpty ? "." : ShellWord.quoted(folder.count > 1 ? folder.dropLast() : folder)
    return text.replacing("`reel lock DIR", with: "`reel lock \(shown)")
  }

  private func components(_ path: SourcePath) -> [ArraySlice<UInt8>] {
    Self.components(path, in: workingFolder)
  }

  private static func components(
    _ path: SourcePath, in workingFolder: SourcePath?
  ) -> [ArraySlice<UInt8>] {
    let slash = UInt8(ascii: "/")
    let here = path.bytes.first == slash ? [] : workingFolder?.bytes ?? []
    return normal((here + [slash] + path.bytes).split(separator: slash))
  }

  private static func normal(_ components: [ArraySlice<UInt8>]) -> [ArraySlice<UInt8>] {
    components.reduce(into: []) { normal, component in
      if component.elementsEqual("..".utf8) {
        _ = normal.popLast()
      } else if !component.elementsEqual(".".utf8) {
        normal.append(component)
      }
    }
  }
}

/// `--include` and `--exclude`, for the walk and for the lock's names.
package struct FixtureFilter: Sendable {
  private let including: [GlobPattern]
  private let excluding: [GlobPattern]

  package init(including: [GlobPattern], excluding: [GlobPattern]) {
    self.including = including
    self.excluding = excluding
  }

  package var names: NameFilter { NameFilter(including: including, excluding: excluding) }

  /// Whether the walk takes a file of this path, relative to the folder that the user named.
  package func takes(_ components: [ArraySlice<UInt8>]) -> Bool {
    for end in components.indices {
      let path = Array(components[...end].joined(separator: "/".utf8))
      let isFolder = end + 1 < components.count
      if excluding.contains(where: { $0.matches(path, isFolder: isFolder) }) { return false }
    }
    let path = Array(components.joined(separator: "/".utf8))
    return including.isEmpty || including.contains { $0.matches(path, isFolder: false) }
  }
}
