import ReelCore

extension Descriptor {
  /// Calls `body` with the number, which stays open until `body` is done: Swift may let go of an object after
  /// its last use, and that would be when the number is read.
  func holding<Value, Failure: Error>(
    _ body: (Int32) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try withExtendedLifetime(self) { () throws(Failure) -> Value in try body(rawValue) }
  }
}
