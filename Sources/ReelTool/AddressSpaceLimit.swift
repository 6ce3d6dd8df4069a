import CProcess

/// How much address space this process may use (`ulimit -v`).
enum AddressSpaceLimit {
  /// With less, the programs and their libraries do not fit, and whatever asks for memory first ends the process.
  private static let least: Int64 = 256 << 20

  /// Makes do with little where there is a limit.
  /// - Throws: ``CommandFailure`` when it is too little.
  static func ensure() throws {
    let limit = reel_heap_keeps_to_limit()
    guard limit >= 0, limit < least else { return }
    throw CommandFailure(
      .couldNotRun,
      "this process may use only \(limit >> 20) MiB of address space, and Reel needs \(least >> 20) at least; "
        + "raise the limit (`ulimit -v \(least >> 10)`)")
  }
}
