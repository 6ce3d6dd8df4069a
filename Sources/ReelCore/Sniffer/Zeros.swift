/// A file that was given its size and never its content: an unfinished download.
enum Zeros {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.count > 0, head.elements.allSatisfy({ $0 == 0 }) else { return nil }
    return Refusal.notMedia("a file that begins with nothing but zeros (an unfinished download?)").verdict
  }
}
