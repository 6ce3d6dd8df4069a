import Glibc
import ReelCore

/// Where relative paths begin.
package enum WorkingFolder {
  /// Its path, whose bytes need not be UTF-8; nil when it was removed, or can't be told.
  package static func path() -> SourcePath? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return SourcePath(bytes: UnsafeRawBufferPointer(start: path, count: strlen(path)))
  }

  /// The one path by which the queue knows what `path` names: absolute, and without `.`, `..` and double slashes. Links are
  /// left as they are, because on other machines they may lead elsewhere; only what `..` goes back from is followed. An
  /// address stays as it is.
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
