/// Messages about a file do not name it, and often speak of it as "it".
enum Sentence {
  /// "it is an HLS playlist" becomes "notes.mp4 is an HLS playlist"; others follow the name and a colon.
  static func naming(_ name: String, _ message: String) -> String {
    if message.hasPrefix("it ") { return name + message.dropFirst(2) }
    return message.hasPrefix(name) ? message : "\(name): \(message)"
  }
}
