import Foundation
import ReelCore
import ReelHTTPFakes
import ReelIngest
import ReelLibrary
import ReelRemoteStorage

/// A store behind a proxy, empty but for what one scenario puts there.
package protocol StoreBehindProxy: Sendable {
  /// The store's own port.
  var port: Int { get }
  /// Tokens, keys and the like, which must not appear in messages or reach anybody else.
  var secrets: [String] { get }
  /// The uploader under test, through the proxy, and the recorder of the store's posts; nil for a store that keeps
  /// none.
  func services(through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog) async throws
    -> (any Uploader, (any PostRecorder)?)
  /// What the store holds, read directly.
  func contents() async throws -> StoreContents
  func stop() async
}

/// Publishes one video through one fault after the other, each time once more without it, and checks what is left
/// against the promises.
package struct FaultCampaign: Sendable {
  /// Such as `S3, in parts`.
  package let name: String
  /// The size of the video in bytes.
  package let size: Int
  package let kinds: [FaultKind]
  /// The number of scenarios at a time.
  let lanes: Int
  /// Whether the post is to have a poster.
  let hasPoster: Bool
  /// The short form draws one kind in this many, and one scenario of each kind that it draws. More than one is for a
  /// store that is tested beside another, whose campaign covers every kind.
  let share: Int
  /// Whether to leave out a kind at requests of that shape.
  let spares: @Sendable (FaultKind, String) -> Bool
  /// Whether an unfinished upload may stay behind after a fault at a request of that shape, because the store itself
  /// keeps it.
  let mayLeave: @Sendable (Fault, String) -> Bool
  let makeStore: @Sendable () async throws -> any StoreBehindProxy

  package init(
    _ name: String, size: Int, kinds: [FaultKind], lanes: Int = 12, hasPoster: Bool = false,
    oneKindIn share: Int = 1,
    sparing spares: @escaping @Sendable (FaultKind, String) -> Bool = { _, _ in false },
    leaving mayLeave: @escaping @Sendable (Fault, String) -> Bool = { _, _ in false },
    makeStore: @escaping @Sendable () async throws -> any StoreBehindProxy
  ) {
    (self.name, self.size, self.kinds, self.lanes, self.share) = (name, size, kinds, lanes, share)
    self.hasPoster = hasPoster
    (self.spares, self.mayLeave) = (spares, mayLeave)
    self.makeStore = makeStore
  }

  /// - Throws: `BrokenPromises` when a promise does not hold.
  package func run(_ setting: CampaignSetting = CampaignSetting()) async throws {
    let requests = try await undisturbed(seed: setting.seed)
    let faults = setting.choose(from: kinds, requests, oneKindIn: share, sparing: spares)
    var tally = CampaignTally()
    try await withThrowingTaskGroup(of: ScenarioOutcome.self) { group in
      var waiting = faults.makeIterator()
      for _ in 0..<lanes {
        if let fault = waiting.next() { group.addTask { try await outcome(of: fault, setting.seed) } }
      }
      while let ended = try await group.next() {
        tally.add(ended)
        if let fault = waiting.next() { group.addTask { try await outcome(of: fault, setting.seed) } }
      }
    }
    print(
      "faults, \(name): \(faults.count) scenarios, \(kinds.count) kinds, over \(requests.count) requests "
        + "(\(requests.joined(separator: ", "))): \(tally); REEL_SEED=\(setting.seed)")
    try tally.check("\(name), REEL_SEED=\(setting.seed)")
  }

  /// The requests of a publish that nothing disturbs.
  private func undisturbed(seed: UInt64) async throws -> [String] {
    let stage = try await Stage(self, seed: seed)
    let result = try await stage.publish()
    let broken = try await stage.broken(after: result)
    let requests = stage.proxy.requests
    await stage.stop()
    guard case .published = result, broken.isEmpty else { throw Disturbed(result: result, broken: broken) }
    return requests
  }

  private struct Disturbed: Error {
    let result: PublishResult
    let broken: [String]
  }

  private func outcome(of fault: Fault, _ seed: UInt64) async throws -> ScenarioOutcome {
    let stage = try await Stage(self, seed: seed)
    stage.proxy.plan(fault, sparing: { spares(fault.kind, $0) })
    // With so short a timeout, a busy machine may make the client give up, too, so after a stall only the final state
    // counts.
    let first = try await stage.publish(fault.kind.isStall ? .milliseconds(500) : Stage.patience)
    var outcome = ScenarioOutcome(fault: fault.description, result: first, struck: stage.proxy.struck)
    let struck = stage.proxy.requests.dropFirst(fault.request - 1).first
    let mayLeave = struck.map { self.mayLeave(fault, $0) } ?? false
    outcome.broken = try await stage.broken(after: first, mayLeave: mayLeave)
    if !fault.kind.isStall, fault.reach == .once, stage.proxy.requests.count >= fault.request,
      fault.kind.passes(on: stage.proxy.requests[fault.request - 1]), case .failed(let failure) = first
    {
      outcome.broken.append("the run did not recover from the fault: \(failure.code), \(failure.message)")
    }
    stage.proxy.plan(nil)
    let second = try await stage.publish()
    if case .failed(let failure) = second {
      outcome.broken.append("the next run, without the fault, failed: \(failure.code), \(failure.message)")
    }
    outcome.broken += try await stage.broken(after: second, mayLeave: mayLeave).map {
      "after the second run: " + $0
    }
    let heard = stage.elsewhere.requests
    if !heard.isEmpty, !fault.kind.mayLead {
      outcome.broken.append("another server received requests: \(heard.map(\.target))")
    }
    for request in heard where request.headers.contains(where: { stage.isSecret($0.name, $0.value) }) {
      outcome.broken.append("another server received a secret: \(request.method) \(request.target)")
    }
    await stage.stop()
    return outcome
  }
}

/// One scenario's store, proxy and library.
private struct Stage: Sendable {
  let store: any StoreBehindProxy
  let proxy: FaultProxy
  let elsewhere: LoopbackServer
  let scene: PublishScene

  /// Only a stall takes this long, however busy the machine is.
  static let patience = Duration.seconds(600)

  init(_ campaign: FaultCampaign, seed: UInt64) async throws {
    store = try await campaign.makeStore()
    elsewhere = try await LoopbackServer.start { _ in .reply(404) }
    proxy = try await FaultProxy.start(to: store.port, elsewhere: elsewhere.port)
    scene = try PublishScene(size: campaign.size, hasPoster: campaign.hasPoster, seed: seed)
  }

  /// - Parameter idle: how long the client waits for a byte.
  func publish(_ idle: Duration = patience) async throws -> PublishResult {
    let rules = HTTPRules(timeouts: HTTPTimeouts(connect: Self.patience, idle: idle, answer: Self.patience))
    let transport = PromptTransport(wrapped: try CurlTransport(rules))
    return try await scene.publish { [store, proxy] catalog in
      try await store.services(through: proxy.port, transport, catalog)
    }
  }

  /// - Parameter mayLeave: whether unfinished uploads may still be there.
  func broken(after result: PublishResult, mayLeave: Bool = false) async throws -> [String] {
    // What the client abandoned may still be on its way to the store, or hold an upload there.
    try await proxy.settle()
    var contents = try await store.contents()
    if mayLeave { contents.unfinished = [] }
    return OnceVerdict(of: scene.digest, secrets: store.secrets).broken(
      after: result, contents, try CatalogLook(library: scene.library))
  }

  /// Whether a field holds a secret; signatures count, too.
  func isSecret(_ name: String, _ value: String) -> Bool {
    name.lowercased() == "authorization" || store.secrets.contains { value.contains($0) }
  }

  func stop() async {
    await proxy.stop()
    await elsewhere.stop()
    await store.stop()
  }
}

/// A transport that allows all requests the same time: the fakes answer at once, or never.
private struct PromptTransport: HTTPTransport {
  let wrapped: CurlTransport

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    try await wrapped.send(prompt(call))
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    try await wrapped.fetch(prompt(call), into: initial, update)
  }

  private func prompt(_ call: HTTPCall) -> HTTPCall {
    var call = call
    call.thinking = .zero
    return call
  }
}
