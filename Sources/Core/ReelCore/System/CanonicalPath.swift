import Glibc

/// The one absolute path of a folder, without links, `.` and `..`, as far as the folder exists.
package struct CanonicalPath: Hashable, Sendable {
  /// The path, which begins with a slash and does not end with one (except for the root).
  package let text: String
  /// Why ``text`` is not the actual path, so that nothing may be done there; nil if it is.
  package let problem: String?

  /// Resolves `path` against the working directory. Components that do not exist yet are taken literally.
  package init(resolving path: String) {
    let folder = path.hasPrefix("/") ? [] : Self.workingFolder.map { $0 + Array("/".utf8) }
    let resolved = Self.resolve((folder ?? []) + Array(path.utf8))
    text = String(decoding: resolved, as: UTF8.self)
    if folder == nil {
      problem = "it is relative to the working folder, which is gone: name it by its absolute path"
    } else if String(validating: resolved, as: UTF8.self) == nil {
      problem = "its real path is not UTF-8: name a folder whose path is"
    } else {
      problem = nil
    }
  }

  /// This folder as a file URL, without a trailing slash.
  package var fileURL: String { "file://" + (text == "/" ? "" : PercentEncoding.path(text.utf8)) }

  private static var workingFolder: [UInt8]? {
    guard let buffer = getcwd(nil, 0) else { return nil }
    defer { free(buffer) }
    return bytes(of: buffer)
  }

  private static func resolve(_ path: [UInt8]) -> [UInt8] {
    if let resolved = realpath(path.map { CChar(bitPattern: $0) } + [0], nil) {
      defer { free(resolved) }
      return bytes(of: resolved)
    }
    guard errno == ENOENT else { return path }
    let slash = UInt8(ascii: "/")
    let components = path.split(separator: slash)
    guard let last = components.last else { return [slash] }
    let parent = resolve([slash] + components.dropLast().joined(separator: [slash]))
    if last.elementsEqual(".".utf8) { return parent }
    if last.elementsEqual("..".utf8) {
      return [slash] + parent.split(separator: slash).dropLast().joined(separator: [slash])
    }
    return parent == [slash] ? parent + last : parent + [slash] + last
  }

  private static func bytes(of text: UnsafePointer<CChar>) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }
}
