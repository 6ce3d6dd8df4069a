import ReelCore

/// Commands that make Git bring a file back. They run in its folder: from another one below the root, `git stash` does
/// not find a pathspec that is marked as literal.
enum GitCommand {
  /// Stashes the present file, as it may exist nowhere else.
  static func restoring(_ path: SourcePath) -> String {
    "\(git(path)) stash push -- \(pathspec(path))"
  }

  /// - Parameter place: relative to the root of the work tree, where patterns begin. A character that is special in a
  ///   pattern becomes `?`, which also matches that character.
  static func fetching(_ path: SourcePath, at place: SourcePath) -> String {
    let pattern = place.bytes.map { ",*?[]{}\\!".utf8.contains($0) ? UInt8(ascii: "?") : $0 }
    return git(path) + " lfs pull --include " + ShellWord.quoted(pattern)
  }

  /// To be appended to what is wrong with a file.
  static func committed(_ path: SourcePath) -> String {
    "; it was committed like this: `\(git(path)) log -1 -- \(pathspec(path))` says by whom"
  }

  private static func pathspec(_ path: SourcePath) -> String {
    let name = path.lastComponent.bytes
    let isPattern = name.first == UInt8(ascii: ":") || name.contains { "*?[\\".utf8.contains($0) }
    return ShellWord.quoted((isPattern ? Array(":(literal)".utf8) : []) + name)
  }

  private static func git(_ path: SourcePath) -> String {
    let folder = path.bytes.dropLast(path.lastComponent.bytes.count)
    return folder.isEmpty || folder.elementsEqual("./".utf8)
      ? "git" : "git -C " + ShellWord.quoted(Array(folder.count > 1 ? folder.dropLast() : folder))
  }
}
