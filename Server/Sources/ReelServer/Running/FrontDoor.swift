import CUploads
import FoundationEssentials
import Glibc
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Reel
import ServiceLifecycle

/// A server, from its start to its end.
public enum FrontDoor {
  /// The version of Reel, which is built together with the server.
  public static var version: String { ReelVersion.current }

  /// Runs the server until SIGTERM or SIGINT. Then it accepts no more connections; uploads that can be resumed later
  /// are left as they are, and those that are being judged get their verdicts.
  /// - Parameter registry: counts the metrics that `/metrics` reports.
  /// - Throws: a sentence for users, when the server can't be started.
  public static func run(
    _ configuration: ServerConfiguration, logger: Logger, registry: MetricsRegistry
  ) async throws {
    try configuration.check()
    uploads_keep_memory()
    let connections = configuration.connections(withDescriptors: raiseFileLimit())
    let library = try await ServerLibrary.open(configuration, logger: logger, ServerMetrics(registry))
    let counts = ConnectionCounts(
      most: configuration.connectionsOfAddress, metrics: library.metrics, logger: logger)
    let application = Application(
      responder: library.door(configuration),
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [
            AddressGuard(counts),
            ConnectionGuard(
              headPatience: .seconds(configuration.patience * 2),
              // nginx and Amazon's balancers keep a connection for a minute, Caddy for two, Google's balancers for ten.
              nextPatience: .minutes(11), restPatience: .seconds(10),
              readerPatience: .seconds(configuration.patience), endPatience: .minutes(4)),
          ])),
      configuration: .init(
        address: .hostname(configuration.address.host, port: configuration.address.port), serverName: nil,
        availableConnectionsDelegate: .maximum(connections, logger: logger)),
      onServerRunning: { channel in
        if connections < configuration.connections {
          logger.notice(
            "few descriptors: more connections wait (ulimit -n, LimitNOFILE=)",
            metadata: ["connections": "\(connections)"])
        }
        let address = channel.localAddress
        logger.notice(
          "listening",
          metadata: ["address": "\(address?.ipAddress ?? "")", "port": "\(address?.port ?? 0)"])
      },
      logger: logger)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        // The library closes last, because what has begun needs it.
        services: [.init(service: library), .init(service: application)]
          + library.deliveries.map { .init(service: $0) },
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    do {
      try await group.run()
    } catch let error as IOError {
      if let failure = configuration.address.failure(error.errnoCode) { throw failure }
      throw error
    } catch is SocketAddressError.UnknownHost {
      throw StartFailure(configuration.address.isNotHere)
    }
  }

  /// - Returns: the number of descriptors that are allowed now.
  private static func raiseFileLimit() -> Int {
    var limit = rlimit()
    let which = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(which, &limit) == 0 else { return .max }
    let before = limit.rlim_cur
    limit.rlim_cur = limit.rlim_max
    return Int(clamping: setrlimit(which, &limit) == 0 ? limit.rlim_cur : before)
  }
}

/// What a server works with, for as long as it runs.
struct ServerLibrary: Service {
  private let prober: SandboxedProber
  private let catalog: any PostCatalog
  private let store: UploadStore
  private let judge: Judge
  private let addresses: SharedAddresses?
  let metrics: ServerMetrics
  private let logger: Logger
  /// One where there is a webhook, otherwise none.
  let deliveries: [WebhookDelivery]

  static func open(
    _ configuration: ServerConfiguration, logger: Logger, _ metrics: ServerMetrics
  ) async throws -> ServerLibrary {
    let policy = try configuration.policy.map { try PolicyIntake(named: $0) }
    let webhook = try configuration.webhook.map {
      try Webhook(
        $0.address, secret: $0.secret,
        extraCertificates: ProcessInfo.processInfo.environment["SSL_CERT_FILE"])
    }
    let folder = try await LibraryFolder.prepare(at: configuration.library)
    let prober = SandboxedProber(
      worker: .installed, workers: configuration.judgedAtOnce,
      // Otherwise a client would wait for the next one to start.
      idleTime: .seconds(60), makesPosters: configuration.posters)
    try prober.checkInstallation()
    let disk = DiskThreads(count: 16)
    let store: UploadStore
    do {
      store = try UploadStore(folder: folder.path + "/uploads", disk: disk, lifetime: configuration.lifetime)
    } catch {
      throw StartFailure(error.message)
    }
    let catalog: any PostCatalog =
      if let address = configuration.catalog {
        try await SharedCatalog.open(at: address, allowsPassword: false) { logger.warning("\($0)") }
      } else {
        try await SQLiteCatalog.open(library: folder)
      }
    let uploader: PreparedUploader
    let outbox: EventOutbox?
    do {
      uploader = PreparedUploader(
        try await ServerStore.open(
          configuration.to, folder, catalog, publicBaseURL: configuration.mediaURL
        ) { logger.warning("\($0)") })
      try await uploader.prepare()
      outbox = try webhook.map { _ in try EventOutbox(library: folder.path) }
    } catch {
      try? await catalog.close()
      throw error
    }
    let addresses = configuration.catalog.flatMap { _ in
      (catalog as? any UploadCheckpoints).map { SharedAddresses($0, uploader.destination) }
    }
    let services = IngestServices(
      prober: prober, posters: configuration.posters ? prober : nil,
      uploader: VerifyingUploader(base: RetryingUploader(base: uploader)), catalog: catalog,
      policy: policy ?? DefaultIntakePolicy())
    try? outbox?.tidy()
    let judge = Judge(
      services, store, maxSize: configuration.maxSize, posters: configuration.posters ? .wanted : .none,
      atOnce: configuration.judgedAtOnce, outbox: outbox, addresses: addresses, metrics: metrics,
      logger: logger)
    let delivery = webhook.flatMap { webhook in
      outbox.map { WebhookDelivery($0, to: webhook, disk: disk, metrics: metrics, logger: logger) }
    }
    return ServerLibrary(
      prober: prober, catalog: catalog, store: store, judge: judge, addresses: addresses,
      metrics: metrics, logger: logger,
      deliveries: delivery.map { [$0] } ?? [])
  }

  func door(_ configuration: ServerConfiguration) -> Door {
    let receiver = Receiver(
      store: store, judge: judge,
      reader: BodyReader(
        pace: SenderPace(least: configuration.leastRate, patience: .seconds(configuration.patience)),
        metrics: metrics),
      prober: prober, maxSize: configuration.maxSize)
    return Door(
      access: Access(
        key: configuration.key, origins: Set(configuration.origins.compactMap(ServerConfiguration.origin))),
      plain: PlainDoor(receiver: receiver, publicURL: configuration.publicURL),
      tus: TusDoor(receiver: receiver, publicURL: configuration.publicURL),
      draft: DraftDoor(receiver: receiver, publicURL: configuration.publicURL), catalog: catalog,
      metrics: metrics,
      publicURL: configuration.publicURL)
  }

  /// Removes uploads whose time is over, and judges those that an earlier server left or that could not be judged for a
  /// while.
  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        await judge.concludeUnwritten()
        await sweep()
        // What can't be forgotten now is forgotten next time.
        try? await addresses?.tidy(store.now)
        try? await Task.sleep(for: .seconds(60))
      }
    }
    await judge.drain()
    await prober.close()
    do throws(CatalogError) {
      try await catalog.close()
    } catch {
      // What it holds lapses by itself.
      logger.error("the catalog could not be closed", metadata: ["message": "\(error.message)"])
    }
    await store.disk.close()
  }

  private func sweep() async {
    do throws(Problem) {
      let (complete, unreadable) = try await store.sweep()
      for id in unreadable {
        logger.error("an upload can't be read, and stays", metadata: ["folder": "\(store.folder)/\(id)"])
      }
      for id in complete {
        // The upload may be gone meanwhile; the others are still there.
        guard let upload = try? await store.find(id) else { continue }
        Task { await judge.judgement(of: upload) }
      }
    } catch {
      logger.error("uploads could not be looked through", metadata: ["message": "\(error.message)"])
    }
  }
}
