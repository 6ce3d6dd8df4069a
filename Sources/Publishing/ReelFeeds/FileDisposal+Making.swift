import Glibc
import ReelCore
import ReelSource

/// Why files can't be moved to a folder.
package struct DisposalProblem: ReelError {
  package let text: ErrorMessage
  package var message: String { text.description }

  fileprivate init(_ path: SourcePath, _ reason: ErrorMessage) {
    text = ErrorMessage("files can't be moved to \(path): ") + reason
  }
}

extension FileDisposal.Folders {
  /// Opens the folder `path` once and keeps it open, creating it if it is missing. A folder that replaces it later is
  /// not the one that was named.
  package func openOrMake(_ path: SourcePath) throws {
    guard identity(of: path) == nil else { return }
    try Self.make(path)
    do throws(SourceError) {
      try open(path)
    } catch {
      throw DisposalProblem(path, error.text)
    }
  }

  private static func make(_ path: SourcePath) throws {
    guard DirectoryIdentity(at: path) != nil || mkdir(path.text, 0o777) == 0 || errno == EEXIST else {
      throw DisposalProblem(path, ErrorMessage("\(SystemError.last("mkdir").reason); make that folder"))
    }
    // Sync the parent: if the power failed before the folder's name is on the disk, the files moved into it would be
    // lost.
    let parts = path.text.split(separator: "/").dropLast()
    let parent = (path.text.hasPrefix("/") ? "/" : "./") + parts.joined(separator: "/")
    try? Descriptor(opening: parent, O_RDONLY | O_DIRECTORY).sync()
  }
}
