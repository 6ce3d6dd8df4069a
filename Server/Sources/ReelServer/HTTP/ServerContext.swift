import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTPTypes

/// What a request comes with besides itself.
struct ServerContext: InitializableFromSource, Sendable {
  let channel: any Channel
  let logger: Logger

  init(source: ApplicationRequestContextSource) {
    (channel, logger) = (source.channel, source.logger)
  }

  /// An answer before the answer (1xx). Whether it gets there does not matter.
  func inform(_ head: HTTPResponse) async {
    try? await channel.writeAndFlush(HTTPResponsePart.head(head))
  }
}
