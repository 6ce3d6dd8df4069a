import Glibc
import ReelCore

/// The current working directory.
package enum WorkingFolder {
  /// Its path, whose bytes need not be UTF-8; nil if it was removed, or can't be determined.
  package static func path() -> SourcePath? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return SourcePath(bytes: UnsafeRawBufferPointer(start: path, count: strlen(path)))
  }

  /// Returns the one path by which the queue knows what `path` names: absolute, and without `.`, `..` and repeated
  /// slashes. Links are left as they are, because they may lead elsewhere on other machines; only a link before a `..`
  /// is resolved. An address is returned unchanged.
  package static func canonical(_ path: SourcePath) -> SourcePath {
    if path.isAddress { return path }
    let slash = UInt8(ascii: "/")
    let isAbsolute = path.bytes.first == slash
    guard let whole = isAbsolute ? path : self.path()?.appending(path.bytes) else { return path }
    var steps: [UInt8] = []
    for step in whole.bytes.split(separator: slash) {
      if step.elementsEqual(".".utf8) { continue }
      if step.elementsEqual("..".utf8) {
        var facts = stat()
        let name = steps.map { CChar(bitPattern: $0) } + [0]
        if lstat(name, &facts) == 0, facts.st_mode & S_IFMT == S_IFLNK, let real = realpath(name, nil) {
          steps = Array(UnsafeRawBufferPointer(start: real, count: strlen(real)))
          free(real)
        }
        steps = Array(steps[..<(steps.lastIndex(of: slash) ?? 0)])
      } else {
        steps += [slash] + step
      }
    }
    return SourcePath(bytes: steps.isEmpty ? [slash] : steps)
  }
}
