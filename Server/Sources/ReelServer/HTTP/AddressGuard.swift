import Logging
import NIOCore
import Synchronization

/// The number of connections that each address has, and may have.
final class ConnectionCounts: Sendable {
  private struct State {
    var counts: [String: Int] = [:]
    var toldAt: ContinuousClock.Instant?
  }
  private let most: Int
  private let metrics: ServerMetrics
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameter most: the limit for one address; 0 for none.
  init(most: Int, metrics: ServerMetrics, logger: Logger) {
    (self.most, self.metrics, self.logger) = (most, metrics, logger)
  }

  /// - Returns: false if it would be one too many.
  func take(_ address: String) -> Bool {
    let (isTaken, isToTell) = state.withLock { state in
      let count = state.counts[address, default: 0]
      if most == 0 || count < most {
        state.counts[address] = count + 1
        return (true, false)
      }
      // A flood of connections must not flood the log.
      let isToTell = state.toldAt.map { .now - $0 > .seconds(60) } ?? true
      if isToTell { state.toldAt = .now }
      return (false, isToTell)
    }
    if !isTaken { metrics.countClosedConnection() }
    if isToTell {
      logger.warning(
        "connections were closed: an address has more than --per-address allows",
        metadata: ["address": "\(address)", "most": "\(most)"])
    }
    return isTaken
  }

  func giveBack(_ address: String) {
    state.withLock { state in
      guard let count = state.counts[address] else { return }
      state.counts[address] = count > 1 ? count - 1 : nil
    }
  }

  /// What counts as one address: in IPv6 the 64 bits of a network, as whoever has one of its addresses has them all.
  /// Nil for this machine, as a proxy on it stands for everybody.
  static func address(of socket: SocketAddress?, at local: SocketAddress?) -> String? {
    guard let socket, let text = socket.ipAddress, text != local?.ipAddress, !text.hasPrefix("127."),
      text != "::1", !text.hasPrefix("::ffff:127.")
    else { return nil }
    guard case .v6(let address) = socket, !text.hasPrefix("::ffff:") else { return text }
    return withUnsafeBytes(of: address.address.sin6_addr) { Array($0.prefix(8)) }.description
  }
}

/// Closes a connection if its address has too many.
final class AddressGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any

  private let counts: ConnectionCounts
  private var taken: String?

  init(_ counts: ConnectionCounts) { self.counts = counts }

  func handlerAdded(context: ChannelHandlerContext) {
    guard let address = ConnectionCounts.address(of: context.remoteAddress, at: context.localAddress) else {
      return
    }
    guard counts.take(address) else { return context.close(promise: nil) }
    taken = address
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    if let taken { counts.giveBack(taken) }
    taken = nil
  }
}

@available(*, unavailable)
extension AddressGuard: Sendable {}
