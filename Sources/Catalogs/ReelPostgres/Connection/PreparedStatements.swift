/// The statements that a connection's session has prepared: only those that it was given before, so that a statement
/// that is used once costs no second round trip.
struct PreparedStatements {
  private struct Statement: Hashable {
    let text: String
    let types: [UInt32]
  }

  enum Use: Equatable {
    /// Sent unprepared.
    case plain
    /// Prepared at the server under this name.
    case prepared(String)
    /// To be prepared under this name, and kept.
    case toPrepare(String)
  }

  /// Nil for a statement that was used once.
  private var names: [Statement: String?] = [:]
  private var count = 0
  /// The most statements of a session; beyond that nothing is prepared. Reel has some dozens.
  private static let most = 200

  mutating func use(of text: String, _ types: [UInt32]) -> Use {
    let statement = Statement(text: text, types: types)
    switch names[statement] {
    case .some(.some(let name)): return .prepared(name)
    case .some(.none): return .toPrepare("reel_\(count)")
    case .none:
      if names.count < Self.most { names[statement] = .some(nil) }
      return .plain
    }
  }

  mutating func keep(_ name: String, for text: String, _ types: [UInt32]) {
    names[Statement(text: text, types: types)] = name
    count += 1
  }
}
