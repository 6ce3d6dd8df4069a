import ReelCore

/// `--files0-from`: names with a NUL after each (after the last one it may be missing), as `find -print0`
/// writes them.
public enum FileList {
  /// 256 MB of names are kept in memory; a longer list is split.
  private static let largest = 256 << 20

  /// Bytes. Paths beyond `PATH_MAX` are walked step by step, so they count as well; but a list whose names end with
  /// something else than a NUL is one long name.
  private static let longestName = 64 << 10

  /// The names in the file at `path`; in standard input when it is `-`. Blocks.
  ///
  /// - Throws: `invalidName` when a name is empty, or longer than any path; `sidecarInvalid` when the list is too large; `notFound`
  ///   and the like when it can't be read.
  public static func inputs(from path: SourcePath) throws(SourceError) -> [SourceInput] {
    let isStandardInput = path.bytes == [UInt8(ascii: "-")]
    return try inputs(
      in: isStandardInput
        ? try NamedInput.readStandardInput(upTo: largest) : try NamedInput.read(path, upTo: largest))
  }

  static func inputs(in bytes: [UInt8]) throws(SourceError) -> [SourceInput] {
    let names = bytes.split(separator: 0, omittingEmptySubsequences: false)
    let given = names.last?.isEmpty == true ? names.dropLast() : names[...]
    var inputs: [SourceInput] = []
    for (index, name) in given.enumerated() {
      guard !name.isEmpty else {
        throw SourceError(
          .invalidName,
          "name \(index + 1) of the list is empty; make it with `find … -print0`, a NUL after each name")
      }
      guard name.count <= longestName else {
        throw SourceError(
          .invalidName,
          "name \(index + 1) of the list has \(name.count) bytes, and a path has \(longestName) at most; make it with "
            + "`find … -print0`, a NUL after each name")
      }
      inputs.append(SourceInput(path: SourcePath(bytes: name)))
    }
    return inputs
  }
}
