import Foundation
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

/// The queue as an operator sees it: `reel queue`, and the wishes of `reel enqueue`.
@Suite(.besidePostgres, .shortTime) struct SteeringCommandTests {
  private struct Fleet {
    let database: TestDatabase
    let bench: Workbench

    init(_ count: Int) async throws {
      database = try await TestDatabase()
      bench = try Workbench(reader: .fake)
      try bench.addDistinct(count)
    }

    func reel(_ arguments: String..., in folder: URL? = nil) async throws -> ReelBinary.Outcome {
      try await ReelBinary.start(
        arguments + ["--catalog", database.url()], in: folder ?? bench.folder,
        environment: bench.environment
      ).outcome()
    }

    func work(to store: String = "store", _ more: String...) async throws -> ReelBinary.Outcome {
      let words = ["work", "--to", bench.folder.appendingPathComponent(store).path, "--jobs", "2"] + more
      return try await ReelBinary.start(
        words + ["--catalog", database.url()], in: bench.folder, environment: bench.environment
      ).outcome()
    }

    func count(_ query: String) throws -> Int? {
      try database.connect().value(query, as: Int.self)
    }

    func policy(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: bench.folder.appendingPathComponent(name))
    }
  }

  @Test func aFileIsOneItemByWhateverPathItIsNamed() async throws {
    let fleet = try await Fleet(2)
    let clips = fleet.bench.clips
    let files = FileManager.default
    try files.createSymbolicLink(
      at: fleet.bench.folder.appendingPathComponent("link"), withDestinationURL: clips)
    for named in [
      "clips", "./clips", "clips/", "../\(fleet.bench.folder.lastPathComponent)/clips", "clips/../clips//.",
      clips.path, "link/../clips", "clips/clip-00000.mp4", "./clips/./clip-00001.mp4",
    ] {
      let run = try await fleet.reel("enqueue", named)
      #expect(run.status == 0, "\(named): \(run.errors)")
      #expect(try fleet.count("SELECT count(*) FROM reel.item") == 2, "\(named)")
    }
    let inside = try await fleet.reel("enqueue", ".", "../clips", in: clips)
    #expect(inside.output.contains("0 files enqueued, 2 already"), "\(inside)")
    // An item is found by the names that enqueue it.
    for named in ["clips/clip-00000.mp4", "./clips/../link/../clips/clip-00000.mp4"] {
      #expect(
        try await fleet.reel("queue", "show", named).output.contains("/clips/clip-00000.mp4"), "\(named)")
    }
    #expect(
      try await fleet.reel("queue", "cancel", "--path", "./clips", "--dry-run").output.contains(
        "2 items would"))
    // A link keeps its name, because it may lead elsewhere on other machines.
    let linked = try await fleet.reel("enqueue", "link", "--follow-links")
    #expect(linked.output.contains("2 files enqueued"), "\(linked)")
  }

  @Test func aWorkerWithAWrongPolicySpoilsNothing() async throws {
    let fleet = try await Fleet(3)
    try fleet.policy("wrong.yaml", "rules: {bytes.max: 1}")
    try fleet.policy("right.yaml", "extends: below.yaml")
    try fleet.policy("below.yaml", "rules: {bytes.max: 1GB}")
    #expect(try await fleet.reel("enqueue", "clips/clip-00000.mp4").status == 0)
    #expect(try await fleet.reel("enqueue", "clips", "--policy", "right.yaml").status == 0)
    // The items now wait for a worker with the policy that they ask for.
    let wrong = try await fleet.work(to: "store", "--policy", "wrong.yaml")
    #expect(wrong.status == 0, "\(wrong)")
    #expect(try fleet.count("SELECT count(*) FROM reel.work WHERE state = 0") == 3)
    // The worker does not have the policy's file.
    for name in ["right.yaml", "below.yaml"] {
      try FileManager.default.removeItem(at: fleet.bench.folder.appendingPathComponent(name))
    }
    #expect(try await fleet.work().status == 0)
    #expect(try fleet.count("SELECT count(*) FROM reel.work WHERE state = 3 AND policy LIKE 'right@%'") == 3)

    // Without a policy of its own, an item is judged by its worker's policy, which is reported. Enqueued with another
    // one, it is judged again.
    try fleet.bench.addDistinct(1, from: 3)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    #expect(try await fleet.work(to: "store", "--policy", "wrong.yaml").status == 4)
    let shown = try await fleet.reel("show", "clips/clip-00003.mp4")
    #expect(shown.status == 1 && shown.errors.contains("is refused by policy wrong@"), "\(shown)")
    let item = try await fleet.reel("queue", "show", "clips/clip-00003.mp4", "--json")
    let shownItem = try #require((try item.object()["items"] as? [[String: Any]])?.first)
    let history = try #require(shownItem["history"] as? [[String: Any]])
    #expect(history.count == 1 && history[0]["state"] as? String == "refused")
    #expect(try await fleet.reel("queue", "show", "clips/clip-00003.mp4").output.contains("decided by"))
    let listed = try await fleet.reel("queue", "list", "--state", "refused")
    #expect(listed.output.contains("clip-00003.mp4") && listed.output.contains("[policy]"), "\(listed)")
    #expect(try await fleet.reel("queue", "retry").output.contains("0 items to be retried"))
    let dry = try await fleet.reel("queue", "retry", "--code", "policy", "--dry-run", "--json")
    #expect(try dry.object()["items"] as? Int == 1)
    let others = try await fleet.reel(
      "queue", "retry", "--code", "policy", "--decided-by", "none.yaml:0000", "--dry-run", "--json")
    #expect(try others.object()["items"] as? Int == 0)
    #expect(
      try await fleet.reel("queue", "retry", "--code", "policy").output.contains("1 item to be retried"))
    #expect(try await fleet.work().status == 0)
    #expect(try fleet.count("SELECT count(*) FROM reel.post") == 4)
  }

  @Test("temporary failures are retried as often as the worker says, and items keep their priority")
  func retriesAndPriority() async throws {
    let fleet = try await Fleet(3)
    #expect(try await fleet.reel("enqueue", "clips/clip-00001.mp4", "--priority", "5").status == 0)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    #expect(try fleet.count("SELECT count(*) FROM reel.work WHERE priority = 5") == 1)
    try FileManager.default.removeItem(at: fleet.bench.clips)
    func attempts() async throws -> [Int] {
      let items = try await fleet.reel("queue", "list", "--json").object()["items"] as? [[String: Any]]
      #expect(items?.allSatisfy { $0["state"] as? String == "failed" } == true, "\(items ?? [])")
      return (items ?? []).compactMap { $0["attempts"] as? Int }
    }
    _ = try await fleet.work(to: "store", "--retries", "0")
    #expect(try await attempts() == [1, 1, 1])
    // Whoever enqueued them waits for them, so it must be reported that they are missing.
    #expect(try await fleet.reel("status", "--json").object()["failureCount"] as? Int == 3)
    _ = try await fleet.reel("queue", "retry", "--state", "failed")
    _ = try await fleet.work(to: "store", "--retries", "1", "--retry-delay", "0.01")
    #expect(try await attempts() == [3, 3, 3])
  }

  @Test func anItemIsStoredWhereItAsksToBe() async throws {
    let fleet = try await Fleet(4)
    #expect(
      try await fleet.reel("enqueue", "clips/clip-00000.mp4", "--to", "a", "--author", "ada").status == 0)
    #expect(
      try await fleet.reel("enqueue", "clips/clip-00001.mp4", "--to", "b", "--label", "acme").status == 0)
    #expect(try await fleet.reel("enqueue", "clips/clip-00002.mp4", "--at", "2h").status == 0)
    // A worker does not wait for items that it may not take.
    #expect(try await fleet.work(to: "a", "--only-label", "acme").status == 0)
    #expect(try fleet.count("SELECT count(*) FROM reel.post") == 0)
    #expect(try await fleet.work(to: "a").status == 0)
    #expect(try fleet.count("SELECT count(*) FROM reel.post") == 1)
    let feed = try await fleet.reel("feed", "--json")
    #expect(feed.output.contains("\"ada\""), "\(feed)")
    #expect(try await fleet.work(to: "b").status == 0)
    #expect(
      try fleet.count(
        "SELECT count(*) FROM reel.intent JOIN reel.destination ON destination.id = destination WHERE destination.name LIKE '%/b'"
      )
        == 1)
    #expect(try await fleet.reel("status").output.contains("1 for later, 2 done"))
  }

  @Test func whatComesOfACommandIsTold() async throws {
    let fleet = try await Fleet(2)
    #expect(try await fleet.reel("enqueue", "clips", "--label", "acme").status == 0)
    #expect(
      try await fleet.reel("queue", "priority", "-1", "--label", "acme").output.contains("2 items given"))
    #expect(try fleet.count("SELECT count(*) FROM reel.work WHERE priority = -1") == 2)
    #expect(
      try await fleet.reel("queue", "priority", "-2", "clips/clip-00000.mp4").output.contains("1 item given"))
    let paused = try await fleet.reel("queue", "pause", "acme")
    #expect(paused.output == "acme is paused: 2 items wait\n", "\(paused)")
    #expect(
      try await fleet.reel("queue", "limit", "3", "acmee").output.contains("limited to 3 at once: 0 items"))
    #expect(try await fleet.reel("queue", "resume", "acme").output.contains("no longer paused: 2 items wait"))
    #expect(try await fleet.reel("queue", "limit", "none", "acmee").output.contains("not limited"))
    #expect(try await fleet.reel("queue", "pause").status == 0)
    let still = try await fleet.reel("queue", "limit", "3", "acme")
    #expect(
      still.output == "acme is limited to 3 at once: 2 items wait\nstill paused: everything\n", "\(still)")
    let throttled = try await fleet.reel("queue", "pause", "acme", "--json").object()
    #expect(
      throttled["label"] as? String == "acme" && throttled["pausedSince"] != nil
        && throttled["most"] as? Int == 3)
    #expect(
      throttled["waiting"] as? Int == 2 && (throttled["throttles"] as? [Any])?.count == 2, "\(throttled)")
    let all = try await fleet.reel("queue", "resume", "--json").object()
    #expect(
      all["label"] == nil && all["pausedSince"] == nil && (all["throttles"] as? [Any])?.count == 1, "\(all)")
    #expect(try await fleet.reel("queue", "limit", "none", "acme", "--json").status == 0)
    #expect(
      try await fleet.reel("queue", "resume", "acme").output.contains("no longer paused: 2 items wait\n"))

    // A command that a message names can be pasted.
    let gone = try await fleet.reel("queue", "retry", "1", "999")
    #expect(gone.status == 1 && gone.errors.contains("there is no item 999"), "\(gone)")
    #expect(gone.errors.contains("reel queue list --catalog '\(fleet.database.url())'"), "\(gone)")
    #expect(
      gone.errors.contains("\nitem 1 of the queue is waiting; ")
        || gone.errors.hasPrefix("item 1 of the queue is waiting; "), "\(gone)")
    #expect(try await fleet.reel("queue", "cancel", "1", "clips").status == 64)
    #expect(try await fleet.reel("queue", "cancel", "--path", "nowhere").output.contains("0 items cancelled"))

    // A file that is gone may still be an item.
    try FileManager.default.removeItem(at: fleet.bench.clips.appendingPathComponent("clip-00001.mp4"))
    let shown = try await fleet.reel("show", "clips/clip-00001.mp4")
    #expect(shown.status == 1 && shown.errors.contains("of the queue is waiting"), "\(shown)")
    #expect(shown.errors.contains("reel queue show --catalog"), "\(shown)")

    // Times have the same form as everywhere.
    let answer = try await fleet.reel("queue", "show", "1", "--json").object()
    let item = try #require((answer["items"] as? [[String: Any]])?.first)
    for answer in [
      try await fleet.reel("queue", "list", "--json"), try await fleet.reel("enqueue", "clips", "--json"),
      try await fleet.reel("queue", "retry", "--code", "none", "--json"),
    ] {
      let answer = try answer.object()
      #expect(
        answer["v"] as? Int == 1 && answer["ok"] as? Bool == true && answer["problems"] != nil, "\(answer)")
    }
    let time = /20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z/
    for key in ["enqueuedAt", "changedAt"] {
      #expect(try time.wholeMatch(in: item[key] as? String ?? "") != nil, "\(item)")
    }

    // Every missing item among several is reported, also in the JSON document.
    let mixed = try await fleet.reel("queue", "priority", "3", "1", "998", "999", "--json")
    let told = try mixed.object()
    #expect(mixed.status == 1 && told["ok"] as? Bool == false && told["items"] != nil, "\(mixed)")
    #expect(
      (told["problems"] as? [[String: Any]])?.compactMap { $0["subject"] as? String } == ["998", "999"])
    #expect(mixed.errors.contains("no item 998") && mixed.errors.contains("no item 999"), "\(mixed)")

    // Items that no worker may take.
    #expect(try await fleet.reel("enqueue", "clips/clip-00000.mp4", "--to", "elsewhere").status == 0)
    let idle = try await fleet.work(to: "store", "--only-label", "other")
    #expect(
      idle.status == 0 && (idle.output + idle.errors).contains("nothing waits that this worker may take"),
      "\(idle)")
  }

  @Test func pausesLimitsAndPrunes() async throws {
    let fleet = try await Fleet(3)
    #expect(try await fleet.reel("queue", "list").status == 1)
    #expect(try await fleet.reel("queue", "pause").status == 0)
    #expect(try await fleet.reel("queue", "limit", "1", "acme").status == 0)
    #expect(try await fleet.reel("enqueue", "clips", "--label", "acme").status == 0)
    let status = try await fleet.reel("status")
    #expect(
      status.output.contains("everything, since ") && status.output.contains("at most 1 at once"), "\(status)"
    )
    #expect(status.output.contains("acme: 3 waiting"))
    let metrics = try await fleet.reel("status", "--metrics").output
    for line in [
      #"reel_queue_items{label="acme",state="waiting"} 3"#,
      #"reel_queue_items{label="acme",state="failed"} 0"#,
      #"reel_queue_paused{label="*"} 1"#, #"reel_queue_limit_items{label="acme"} 1"#,
      #"reel_queue_workers{state="live"} 0"#, "reel_queue_undelivered_events 0",
    ] { #expect(metrics.contains(line + "\n"), "\(line): \(metrics)") }
    let sample = /reel_queue_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9]+/
    let comment = /# (HELP reel_queue_[a-z_]+ .+|TYPE reel_queue_[a-z_]+ gauge)/
    for line in metrics.split(separator: "\n") {
      let isOne = try sample.wholeMatch(in: line) != nil || comment.wholeMatch(in: line) != nil
      #expect(isOne, "\(line)")
    }
    // The metrics used by the alerts and the dashboard exist.
    let examples = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Examples/fleet")
    for name in ["alerts.yaml", "alerts_test.yaml", "dashboard.json"] {
      let text = try String(contentsOf: examples.appendingPathComponent(name), encoding: .utf8)
      let named = Set(text.matches(of: /reel_queue_[a-z_]+/).map { String($0.output) })
      #expect(named.count > 4)
      for metric in named { #expect(metrics.contains("# TYPE \(metric) gauge"), "\(name): \(metric)") }
    }
    #expect(try await fleet.reel("queue", "resume").status == 0)
    #expect(try await fleet.work().status == 0)
    let young = try await fleet.reel("queue", "prune", "--older-than", "1d")
    #expect(
      try /0 items forgotten: none of the selected items ended that long ago; the first ended 2[\dT:-]{18}Z\n/
        .wholeMatch(in: young.output) != nil, "\(young)")
    let none = try await fleet.reel(
      "queue", "prune", "--older-than", "99999w", "--state", "failed", "--dry-run")
    #expect(
      none.output.hasSuffix("would be forgotten: none of the selected items ended that long ago\n"), "\(none)"
    )
    let gone = try await fleet.reel("queue", "prune", "--older-than", "1d", "1", "999")
    #expect(gone.status == 1 && gone.errors.contains("there is no item 999"), "\(gone)")
    #expect(gone.errors.contains("item 1 of the queue is done; "), "\(gone)")
    #expect(try await fleet.reel("queue", "prune", "--older-than", "1d", "--state", "waiting").status == 64)
    try fleet.database.connect().execute("UPDATE reel.work SET changed_at = 0")
    #expect(
      try await fleet.reel("queue", "prune", "--older-than", "1d", "--dry-run").output.contains(
        "3 items would be forgotten"))
    #expect(try await fleet.reel("queue", "prune", "--older-than", "1d").output.contains("3 items forgotten"))
    for wrong in [
      ["cancel"], ["priority", "1"], ["pause", "*"], ["limit", "-1"], ["list", "--state", "gone"],
    ] {
      let run = try await ReelBinary.start(
        ["queue"] + wrong + ["--catalog", fleet.database.url()], in: fleet.bench.folder,
        environment: fleet.bench.environment
      ).outcome()
      #expect(run.status == 64, "\(wrong): \(run)")
    }
  }
}
