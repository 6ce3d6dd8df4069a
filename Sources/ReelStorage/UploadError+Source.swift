import ReelCore

extension UploadError {
  /// A failure of the source, seen while it was stored.
  public init(_ error: SourceError) {
    self.init(error.code == .sourceChanged ? .sourceChanged : .sourceUnreadable, error.message)
  }

  /// The bytes are no longer those of the digest.
  /// - Parameter how: what was seen, such as "it grew".
  public static func changed(_ source: UploadSource, _ how: String) -> UploadError {
    UploadError(
      .sourceChanged,
      "the file changed while it was stored (\(how), from \(source.size) bytes): let whatever writes it "
        + "finish, then run the same command again")
  }
}
