import Glibc
import ReelCore
import ReelIngest
import ReelPostgres
import ReelSource

/// Failures in a row that may be the fault of this machine: a folder that is not mounted, a store that it may not write.
/// Each is kept back until something else ends well, which makes it the item's own failure, or until there are so many
/// that it is to be found out whose fault they are. Files can't accuse a machine: whoever uploads decides what they are.
struct MachineDoubts {
  private var failures: [(item: TakenItem, failure: FileFailure)] = []
  /// Why this machine should take no more; nil where nothing is wrong with it.
  private(set) var sentence: String?

  /// As many in a row are no accident.
  static let most = 10

  /// Whether it is time for ``settle(_:)``.
  var isToBeSettled: Bool { sentence == nil && failures.count >= Self.most }

  /// What is to be written down from now on, with `result` of `item`.
  mutating func note(_ result: PublishResult, of item: TakenItem) -> [ItemOutcome] {
    let ending = result.ending(of: item)
    if case .givenBack = ending { return [ItemOutcome(item.id, ending)] }
    guard case .failed(let failure) = result, failure.mayBeOfThisMachine(item.address)
    else { return take() + [ItemOutcome(item.id, ending)] }
    // It has been taken before, and may have accused that worker: it clears this machine of nothing, and accuses it of
    // nothing.
    if item.attempts > 1 { return [ItemOutcome(item.id, ending)] }
    failures.append((item, failure))
    return sentence == nil ? [] : putOff()
  }

  /// What is to be written down, by what the machine itself can find out. Blocks for as long as that takes.
  mutating func settle(_ check: MachineCheck) -> [ItemOutcome] {
    guard isToBeSettled else { return [] }
    if let problem = check.problem() {
      sentence =
        "a video of Reel's own could not be read on this machine either (\(problem)): put that right, and start the worker "
        + "again; the last \(failures.count) files were given back, for other machines"
      return putOff()
    }
    if areOfTheMachine {
      sentence = Self.sentence(failures)
      return putOff()
    }
    // Where others may have taken the folder away, the files have another try, elsewhere perhaps.
    if areMissing { return putOff() }
    guard check.reachesNone(of: failures.map(\.item.address)) else { return take() }
    // Where the store answers, it is not the network here.
    if !check.reachesTheStore { sentence = Self.sentence(failures) }
    return putOff()
  }

  /// What was kept back, as failures of the items.
  mutating func take() -> [ItemOutcome] {
    defer { failures = [] }
    return failures.map { ItemOutcome($0.item.id, PublishResult.failed($0.failure).ending(of: $0.item)) }
  }

  private mutating func putOff() -> [ItemOutcome] {
    defer { failures = [] }
    return failures.map { one in
      ItemOutcome(one.item.id, .putOff(code: one.failure.code.rawValue, message: one.failure.message))
    }
  }

  /// Whether the failures are such as nobody can bring about who has but files of his own: the store takes nothing, the
  /// folder itself is not there, or files of several owners in several places can't be read.
  private var areOfTheMachine: Bool {
    if failures.allSatisfy({ if case .upload = $0.failure.code { true } else { false } }) { return true }
    if areMissing { return failures.allSatisfy { $0.item.address.isLostByTheMachine } }
    let places = failures.map { Origin($0.item.address) }
    return Set(places.map(\.folder)).count > 1 && Set(places.compactMap(\.owner)).count > 1
  }

  private var areMissing: Bool { Self.areMissing(failures) }

  /// Where a file lies, and whose it is, as far as that can be seen.
  private struct Origin {
    let folder: [UInt8]
    /// Nil for what is not there: it is nobody's.
    let owner: String?

    init(_ address: SourcePath) {
      folder = Array(address.bytes[..<(address.bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
      owner =
        address.isAddress
        ? AddressPlace(address.text)?.owner : address.ownStatus.map { "\($0.st_uid)" }
    }
  }

  private static func areMissing(_ failures: [(item: TakenItem, failure: FileFailure)]) -> Bool {
    failures.allSatisfy { $0.failure.code == .source(.notFound) }
  }

  private static func sentence(_ failures: [(item: TakenItem, failure: FileFailure)]) -> String? {
    guard let last = failures.last else { return nil }
    let all = "the last \(failures.count) files"
    if areMissing(failures) {
      return "\(all) of the queue are not on this machine, and neither is their folder (the last is "
        + "\(last.item.address.text)): mount it where it was when they were enqueued, and start the worker again; they were "
        + "given back, for other machines"
    }
    return
      "\(all) failed for reasons that may be this machine's, the last of them, \(last.item.address.text), because "
      + "\(last.failure.message): put that right, and start the worker again; they were given back, for other machines"
  }
}

/// Why a machine takes nothing more from the queue: what it has is given back, for others.
package struct MachineFault: ReelError {
  package let message: String
}

extension PublishResult {
  /// What it means for `item`; what says nothing of the file gives it back.
  func ending(of item: TakenItem) -> ItemOutcome.Ending {
    switch self {
    case .published, .duplicate, .removed: return .done
    case .planned, .cancelled: return .givenBack
    case .refused(let refusal): return .refused(code: refusal.code.rawValue, message: refusal.message)
    case .failed(let failure):
      // The state that was enqueued does not come back: the one that is there now is another item.
      let isGone = item.address.isAddress && failure.isSourceChanged
      if isGone {
        return .failed(
          code: failure.code.rawValue,
          message:
            "it was overwritten or removed since it was enqueued; list it again, to enqueue what is there now"
        )
      }
      switch failure.chance(of: item.address) {
      case .none: return .failed(code: failure.code.rawValue, message: failure.message)
      case .later: return .failedForNow(code: failure.code.rawValue, message: failure.message)
      case .elsewhere: return .givenBack
      }
    }
  }
}

extension FileFailure {
  /// Whether another try may succeed.
  enum Chance {
    case none, later
    /// It says nothing of the file: the run ends.
    case elsewhere
  }

  /// - Parameter address: the file's.
  func chance(of address: SourcePath) -> Chance {
    if mayBeOfThisMachine(address) { return .later }
    switch code {
    case .source(.sourceChanged), .probe(.sourceChanged), .poster(.sourceChanged): return .later
    case .source: return .none
    case .probe(let code): return code.isInstallation ? .elsewhere : .none
    case .poster(let code): return code.isInstallation ? .elsewhere : .none
    case .upload(let code):
      if code.endsTheRun { return .elsewhere }
      // Only what Reel itself found is the file's fault, never that a store refuses it.
      return (cause as? UploadError)?.isOfTheFile == true ? .none : .later
    case .catalog(let code): return code == .leaseLost ? .later : .elsewhere
    case .cancelled: return .elsewhere
    case .other: return .none
    }
  }

  /// Whether reading it may succeed when the machine has less to do.
  var mayBeOfABusyMachine: Bool {
    switch code {
    case .probe(let code): [.timeout, .memoryLimit].contains(code)
    case .poster(let code): [.timeout, .memoryLimit].contains(code)
    default: false
    }
  }

  /// Whether other files would fail here, too, and this one perhaps nowhere else.
  fileprivate func mayBeOfThisMachine(_ address: SourcePath) -> Bool {
    switch code {
    case .source(.notFound): !address.isAddress && !address.hasNeighbours
    case .source(let code): [.denied, .unreadable, .tooManyOpenFiles].contains(code)
    case .probe(let code): [.unreadable, .tooManyOpenFiles, .noReader].contains(code)
    case .poster(let code): [.unreadable, .tooManyOpenFiles, .noReader].contains(code)
    case .upload(let code):
      [.denied, .storeFull, .unavailable, .interrupted, .sourceUnreadable].contains(code)
    // No room for a mended copy.
    case .other(let code): code == MendError.Code.notWritten.rawValue
    case .catalog, .cancelled: false
    }
  }
}

extension SourcePath {
  fileprivate var hasNeighbours: Bool {
    let end = bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0
    return SourcePath(bytes: Array(bytes[..<max(1, end)])).isFolderWithEntries
  }

  /// Whether nobody else can have taken it away: no folder on the way to it, as far as that leads, may be changed by
  /// others than root and this process's own user.
  fileprivate var isLostByTheMachine: Bool {
    guard bytes.first == UInt8(ascii: "/") else { return false }
    var step: [UInt8] = []
    var wasShared = false
    for name in [[]] + bytes.split(separator: UInt8(ascii: "/")).dropLast() {
      step += name.isEmpty ? [] : [UInt8(ascii: "/")] + name
      guard let facts = SourcePath(bytes: step.isEmpty ? [UInt8(ascii: "/")] : step).ownStatus else {
        // Whoever may write to the folder where the way ends may have ended it.
        return !wasShared
      }
      guard facts.st_uid == 0 || facts.st_uid == geteuid() else { return false }
      let isLink = facts.st_mode & S_IFMT == S_IFLNK
      let isShared = !isLink && facts.st_mode & 0o022 != 0
      // Where each may only remove what is its own (`/tmp`), what is ours was not removed by others.
      if isShared, facts.st_mode & mode_t(S_ISVTX) == 0 { return false }
      wasShared = isShared
    }
    return !wasShared
  }
}
