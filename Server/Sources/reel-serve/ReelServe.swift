import ArgumentParser
import CoreMetrics
import FoundationEssentials
import Instrumentation
import Logging
import ReelServer

@main
struct ReelServe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reel-serve",
    abstract: "Accept uploads, and answer each with its outcome.", version: FrontDoor.version,
    subcommands: [Run.self, UploadURL.self, NewKey.self, NewWebhookSecret.self, Events.self],
    defaultSubcommand: Run.self)
}

/// `reel-serve`
struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Serve (the default).")

  @Option(help: ArgumentHelp("Where to listen.", valueName: "host:port"), transform: address)
  var listen = ListenAddress.standard

  @Option(help: ArgumentHelp("The library; made where it is missing.", valueName: "folder"))
  var library: String
  @Option(help: ArgumentHelp("Where videos go: a folder, s3://bucket/prefix.", valueName: "store"))
  var to: String?
  @Option(
    help: ArgumentHelp(
      "The catalog that several servers share: postgres://user@host/database. Uploads are kept in --library all the same.",
      valueName: "address"))
  var catalog: String?
  @Option(help: ArgumentHelp("Which videos are wanted: a preset of reel's, or a file.", valueName: "policy"))
  var policy: String?
  @Option(help: ArgumentHelp("The webhook to notify of posts: https://app.example/hook.", valueName: "url"))
  var webhook: String?
  @Option(
    help: ArgumentHelp(
      "What the webhook's events are signed with (see new-webhook-secret).", valueName: "file"))
  var webhookSecretFile: String?
  @Option(help: ArgumentHelp("The server's key (see new-key).", valueName: "file"))
  var keyFile: String?
  @Option(help: ArgumentHelp("What clients call this server: https://upload.example.", valueName: "url"))
  var url: String?
  @Option(help: ArgumentHelp("What viewers put before the name of a video.", valueName: "url"))
  var publicBaseURL: String?
  @Option(help: ArgumentHelp("The largest video.", valueName: "size"), transform: size)
  var maxSize: Int64 = 4_000_000_000
  @Option(
    help: ArgumentHelp("How long an unfinished upload is kept after its last byte.", valueName: "time"),
    transform: seconds)
  var keep: Int64 = 86_400
  @Option(
    help: ArgumentHelp("Bytes a second that a sender must bring, on average.", valueName: "size"),
    transform: size)
  var minRate: Int64 = 500
  @Option(help: ArgumentHelp("How long a sender may pause.", valueName: "time"), transform: seconds)
  var patience: Int64 = 30
  @Option(help: ArgumentHelp("Pages of this origin may use the server (any number).", valueName: "origin"))
  var allowOrigin: [String] = []
  @Option(
    help: ArgumentHelp(
      "Connections that one address may have at once; 0 for any number, where a proxy on another machine is in front.",
      valueName: "n"))
  var perAddress = 128
  @Flag(help: "Make a poster for each post.")
  var posters = false
  @Option(help: "What is logged: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
  var logLevel: Logger.Level = .info

  func validate() throws {
    guard (webhook == nil) == (webhookSecretFile == nil) else {
      throw ValidationError(
        "a webhook needs a secret, and a secret a webhook: --webhook and --webhook-secret-file")
    }
    guard perAddress >= 0 else { throw ValidationError("--per-address is a number, 0 for no limit") }
  }

  func run() async throws {
    LoggingSystem.bootstrap(
      { label, provider in StreamLogHandler.standardError(label: label, metadataProvider: provider) },
      metadataProvider: TraceContext.metadata)
    InstrumentationSystem.bootstrap(TraceContext())
    let registry = MetricsRegistry()
    MetricsSystem.bootstrap(registry)
    var logger = Logger(label: "reel-serve")
    logger.logLevel = logLevel
    var configuration = ServerConfiguration(library: library, address: listen)
    (configuration.to, configuration.catalog, configuration.policy) = (to, catalog, policy)
    if let webhook, let webhookSecretFile {
      configuration.webhook = (webhook, try WebhookSecret.read(webhookSecretFile))
    }
    configuration.key = try keyFile.map { try AccessKey.read($0) }
    configuration.origins = Set(allowOrigin)
    configuration.publicURL = try url.map { try ServerConfiguration.publicURL($0) } ?? ""
    configuration.mediaURL = publicBaseURL
    (configuration.maxSize, configuration.lifetime) = (maxSize, keep)
    (configuration.leastRate, configuration.patience) = (minRate, patience)
    configuration.posters = posters
    configuration.connectionsOfAddress = perAddress
    try await FrontDoor.run(configuration, logger: logger, registry: registry)
  }
}

/// `reel-serve upload-url`
struct UploadURL: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload-url", abstract: "Print an address for one upload, for somebody who has no key.")

  @Option(help: ArgumentHelp("The server's key.", valueName: "file"))
  var keyFile: String
  @Option(help: ArgumentHelp("What clients call the server.", valueName: "url"))
  var url: String?
  @Option(help: ArgumentHelp("The id of the post's author.", valueName: "id"))
  var author: String?
  @Option(help: ArgumentHelp("The largest video.", valueName: "size"), transform: size)
  var maxSize: Int64?
  @Option(help: ArgumentHelp("How long it may be used.", valueName: "time"), transform: seconds)
  var expires: Int64 = 3_600

  func validate() throws {
    guard (author?.utf8.count ?? 0) <= UploadTicket.longestAuthor else {
      throw ValidationError("--author is longer than \(UploadTicket.longestAuthor) bytes")
    }
  }

  func run() throws {
    let ticket = UploadTicket(
      author: author, maxSize: maxSize, expires: Date(timeIntervalSinceNow: Double(expires)))
    let base = try url.map { try ServerConfiguration.publicURL($0) } ?? ""
    print(base + ticket.path(signedWith: try AccessKey.read(keyFile)))
  }
}

/// `reel-serve new-key`
struct NewKey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new-key", abstract: "Make a key for a server, in a file that nobody else can read.")

  @Argument(help: ArgumentHelp("A file that is not there yet.", valueName: "file"))
  var file: String

  func run() throws { try AccessKey.make(at: file) }
}

/// `reel-serve new-webhook-secret`
struct NewWebhookSecret: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new-webhook-secret",
    abstract: "Make a secret that events are signed with, in a file that nobody else can read.",
    discussion:
      "The webhook's receiver gets the same one: whsec_…, as libraries for Standard Webhooks take it.")

  @Argument(help: ArgumentHelp("A file that is not there yet.", valueName: "file"))
  var file: String

  func run() throws { try WebhookSecret.make(at: file) }
}

/// `reel-serve events`
struct Events: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the events that the webhook has not taken, deliver them once more, or add others.",
    discussion: "A line for each: state, time, type and post, with tabs between them.")

  @Option(help: ArgumentHelp("The server's library.", valueName: "folder"))
  var library: String
  @Flag(help: "Deliver those that were set aside once more.")
  var replay = false
  @Flag(help: "Add the events on stdin: reel remove ID --events - | reel-serve events --library FOLDER --add")
  var add = false

  func validate() throws {
    if replay, add { throw ValidationError("use either --replay or --add, not both") }
  }

  func run() throws {
    let outbox = try EventOutbox.existing(inLibrary: library)
    if add {
      let count = try outbox.add(lines: AnySequence { AnyIterator { readLine() } })
      print("\(count) added")
    } else if replay {
      print("\(try outbox.replay()) to be delivered once more")
    } else {
      for line in try outbox.report() { print(line) }
    }
  }
}

private func size(_ text: String) throws -> Int64 {
  guard let bytes = SizeText.bytes(text) else {
    throw ValidationError("a size is a number with a unit, such as 500MB")
  }
  return bytes
}

private func seconds(_ text: String) throws -> Int64 {
  guard let seconds = TimeText.seconds(text) else {
    throw ValidationError("a time is written like 90, 30s, 5m, 1h or 7d, and is at least a second")
  }
  return seconds
}

private func address(_ text: String) throws -> ListenAddress {
  guard let address = ListenAddress(text) else {
    throw ValidationError(
      "an address is a host and a port, such as 127.0.0.1:8080, or [::]:8080 for all addresses of this machine"
    )
  }
  return address
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
