import Glibc
import ReelCore
import ReelTerminal

/// What `-o` of a command names that makes files of files.
enum OutputPlace {
  case file(SourcePath)
  case folder(SourcePath)
  case standardOutput

  /// - Parameters:
  ///   - path: as given; `-` for standard output. A folder that is there, or a name that ends in a slash, is a folder.
  ///   - isOne: whether no more than one is made.
  ///   - what: is made.
  /// - Throws: ``CommandFailure`` for several in one file.
  init(_ path: SourcePath, isOne: Bool, _ what: String) throws {
    let isOutput = OutputStream.isStandardOutput(path)
    let isFolder = !isOutput && (path.bytes.last == UInt8(ascii: "/") || path.fileKind == S_IFDIR)
    guard isFolder || isOne else {
      // Of a file nobody makes a folder.
      let folder =
        isOutput || path.fileKind != nil ? "FOLDER/" : ShellWord.quoted(path.bytes + [UInt8(ascii: "/")])
      throw CommandFailure(
        .usage, "-o \(path.text) takes one \(what), and there may be several; name a folder: -o \(folder)")
    }
    self = isOutput ? .standardOutput : isFolder ? .folder(path) : .file(path)
  }
}
