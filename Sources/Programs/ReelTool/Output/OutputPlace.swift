import Glibc
import ReelCore
import ReelTerminal

/// What `-o` names, for a command that makes files from files.
enum OutputPlace {
  case file(SourcePath)
  case folder(SourcePath)
  case standardOutput

  /// - Parameters:
  ///   - path: as given; `-` for standard output. An existing folder, or a name that ends in a slash, is a folder.
  ///   - isOne: whether at most one file is made.
  ///   - what: the noun for what is made.
  /// - Throws: ``CommandFailure`` if several would go into one file.
  init(_ path: SourcePath, isOne: Bool, _ what: String) throws {
    let isOutput = OutputStream.isStandardOutput(path)
    let isFolder = !isOutput && (path.bytes.last == UInt8(ascii: "/") || path.fileKind == S_IFDIR)
    guard isFolder || isOne else {
      // An existing file can't become a folder, so its name is not suggested.
      let folder =
        isOutput || path.fileKind != nil ? "FOLDER/" : ShellWord.quoted(path.bytes + [UInt8(ascii: "/")])
      throw CommandFailure(
        .usage, "-o \(path.text) takes one \(what), and there may be several; name a folder: -o \(folder)")
    }
    self = isOutput ? .standardOutput : isFolder ? .folder(path) : .file(path)
  }
}
