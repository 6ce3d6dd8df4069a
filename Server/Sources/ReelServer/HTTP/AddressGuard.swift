import NIOCore
import Synchronization

/// How many connections each address has, and may have.
final class ConnectionCounts: Sendable {
  private let most: Int
  private let counts = Mutex<[String: Int]>([:])

  /// - Parameter most: for one address; 0 for as many as it likes.
  init(most: Int) { self.most = most }

  /// - Returns: false for one too many.
  func take(_ address: String) -> Bool {
    counts.withLock { counts in
      let count = counts[address, default: 0]
      guard most == 0 || count < most else { return false }
      counts[address] = count + 1
      return true
    }
  }

  func giveBack(_ address: String) {
    counts.withLock { counts in
      guard let count = counts[address] else { return }
      counts[address] = count > 1 ? count - 1 : nil
    }
  }

  /// What counts as one address: of IPv6 the 64 bits of a network, as whoever has one has them all. Nil for this machine, as a
  /// proxy on it stands for everybody.
  static func address(of socket: SocketAddress?) -> String? {
    guard let socket, let text = socket.ipAddress, !text.hasPrefix("127."), text != "::1",
      !text.hasPrefix("::ffff:127.")
    else { return nil }
    guard case .v6(let address) = socket, !text.hasPrefix("::ffff:") else { return text }
    return withUnsafeBytes(of: address.address.sin6_addr) { Array($0.prefix(8)) }.description
  }
}

/// Closes a connection of an address that has too many.
final class AddressGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any

  private let counts: ConnectionCounts
  private var taken: String?

  init(_ counts: ConnectionCounts) { self.counts = counts }

  func handlerAdded(context: ChannelHandlerContext) {
    guard let address = ConnectionCounts.address(of: context.remoteAddress) else { return }
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
