import Glibc
import ReelCore
import ReelSource

/// Where mended files go.
struct MendTarget: Sendable {
  /// Nil for a single file.
  let folder: SourcePath?
  /// Whether files that are there are replaced.
  let replaces: Bool
  private let file: SourcePath?

  /// - Throws: ``CommandFailure`` for a file that is a folder, and for a folder that is none.
  init(output: SourcePath?, folder: SourcePath?, replaces: Bool) throws {
    (file, self.folder, self.replaces) = (output, folder, replaces)
    if let output, PictureTarget.kind(of: output) == S_IFDIR || output.bytes.last == UInt8(ascii: "/") {
      throw CommandFailure(.usage, "-o \(output.text) is a folder; name a file, or use --to")
    }
    if let folder, let kind = PictureTarget.kind(of: folder), kind != S_IFDIR {
      throw CommandFailure(.usage, "--to \(folder.text) is not a folder")
    }
  }

  var isOneFile: Bool { file != nil }

  /// Where the mended `source` goes.
  /// - Parameter container: what its extension is to say; nil to leave it as it is.
  /// - Throws: `notWritten` where the file was named, and its name says something else.
  func path(
    for source: SourcePath, below inputs: [SourceInput], extension container: MediaContainer?
  ) throws(MendError) -> SourcePath {
    if let file {
      if let container, file.claimedExtension.map({ container.contradicts(claimedExtension: $0) }) ?? false {
        throw MendError(
          .notWritten,
          "it is \(container.rawValue), and the name \(file.text) says something else; name a .\(container.fileExtension)"
        )
      }
      return file
    }
    let place = inputs.place(of: source)
    // What leads out of the folder is only a name in it.
    let parts = place.bytes.split(separator: UInt8(ascii: "/"))
    let isInside = !parts.contains { $0.elementsEqual("..".utf8) || $0.elementsEqual(".".utf8) }
    var path = (folder ?? SourcePath(".")).appending(isInside ? place.bytes : place.lastComponent.bytes)
    if let container {
      let claimed = path.claimedExtension.map { $0.utf8.count } ?? -1
      path = SourcePath(bytes: path.bytes.dropLast(claimed + 1) + Array(".\(container.fileExtension)".utf8))
    }
    return path
  }
}

extension [SourceInput] {
  /// The path from the longest input that holds it; of an input itself, its name.
  func place(of path: SourcePath) -> SourcePath {
    let slash = UInt8(ascii: "/")
    let folders = map { $0.path.bytes.last == slash ? $0.path.bytes : $0.path.bytes + [slash] }
    let holding = folders.filter { path.bytes.starts(with: $0) }.max { $0.count < $1.count }
    return holding.map { SourcePath(bytes: path.bytes.dropFirst($0.count)) } ?? path.lastComponent
  }
}
