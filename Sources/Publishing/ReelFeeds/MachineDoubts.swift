import Glibc
import ReelCore
import ReelIngest
import ReelPostgres
import ReelSource

/// Successive failures that may be this machine's fault, such as a folder that is not mounted or a store that it may
/// not write to. Each is held back until another item ends in a way that clears the machine, which makes the failures
/// those of their items, or until there are so many that the machine must be checked. Files alone can't accuse a
/// machine, because their contents are chosen by whoever uploads them.
struct MachineDoubts {
  private var failures: [(item: TakenItem, failure: FileFailure)] = []
  /// Why this machine should take no more items; nil if nothing is wrong with it.
  private(set) var sentence: String?

  /// That many failures in a row are no coincidence.
  static let most = 10

  /// Whether it is time for ``settle(_:)``.
  var isToBeSettled: Bool { sentence == nil && failures.count >= Self.most }

  /// Returns the outcomes to record now that `item` has ended with `result`.
  mutating func note(_ result: PublishResult, of item: TakenItem) -> [ItemOutcome] {
    let ending = result.ending(of: item)
    if case .givenBack = ending { return [ItemOutcome(item.id, ending)] }
    guard case .failed(let failure) = result, failure.mayBeOfThisMachine(item.address)
    else { return take() + [ItemOutcome(item.id, ending)] }
    // The item was taken before and may have accused that worker. It neither clears nor accuses this machine.
    if item.attempts > 1 { return [ItemOutcome(item.id, ending)] }
    failures.append((item, failure))
    return sentence == nil ? [] : putOff()
  }

  /// Checks the machine and returns the outcomes to record. Blocks while it checks.
  mutating func settle(_ check: MachineCheck) -> [ItemOutcome] {
    guard isToBeSettled else { return [] }
    if let problem = check.problem() {
      sentence =
        "Reel's own test video could not be read on this machine either (\(problem)): fix that, and start the worker again; "
        + "the last \(failures.count) files were given back, for other machines"
      return putOff()
    }
    if areOfTheMachine {
      sentence = Self.sentence(failures)
      return putOff()
    }
    // Someone else may have removed the folder, so the files get another try, perhaps elsewhere.
    if areMissing { return putOff() }
    guard check.reachesNone(of: failures.map(\.item.address)) else { return take() }
    // If the store answers, this machine's network works.
    if !check.reachesTheStore { sentence = Self.sentence(failures) }
    return putOff()
  }

  /// Returns what was held back, as failures of the items.
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

  /// Whether no one could cause such failures with only their own files: the store accepts nothing, the folder itself
  /// does not exist, or files of several owners in several places can't be read.
  private var areOfTheMachine: Bool {
    if failures.allSatisfy({ if case .upload = $0.failure.code { true } else { false } }) { return true }
    if areMissing { return failures.allSatisfy { $0.item.address.isLostByTheMachine } }
    let places = failures.map { Origin($0.item.address) }
    return Set(places.map(\.folder)).count > 1 && Set(places.compactMap(\.owner)).count > 1
  }

  private var areMissing: Bool { Self.areMissing(failures) }

  /// Where a file is, and who owns it, as far as that can be seen.
  private struct Origin {
    let folder: [UInt8]
    /// Nil for a missing file, which has no owner.
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
      "\(all) failed for reasons that may lie with this machine (the last, \(last.item.address.text): "
      + "\(last.failure.message)): fix that, and start the worker again; they were given back, for other machines"
  }
}

/// Why a machine takes no more items from the queue. Those it holds are given back for other machines.
package struct MachineFault: ReelError {
  package let message: String
}

extension PublishResult {
  /// What the result means for `item`. It is given back if the result says nothing about the file.
  func ending(of item: TakenItem) -> ItemOutcome.Ending {
    switch self {
    case .published, .duplicate, .removed: return .done
    case .planned, .cancelled: return .givenBack
    case .refused(let refusal): return .refused(code: refusal.code.rawValue, message: refusal.message)
    case .failed(let failure):
      // The enqueued state will not return; what is there now is another item.
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
    /// The failure says nothing about the file; the run ends.
    case elsewhere
  }

  /// - Parameter address: the address of the file.
  func chance(of address: SourcePath) -> Chance {
    if mayBeOfThisMachine(address) { return .later }
    switch code {
    case .source(.sourceChanged), .probe(.sourceChanged), .poster(.sourceChanged): return .later
    case .source: return .none
    case .probe(let code): return code.isInstallation ? .elsewhere : .none
    case .poster(let code): return code.isInstallation ? .elsewhere : .none
    case .upload(let code):
      if code.endsTheRun { return .elsewhere }
      // Only what Reel itself found counts as the file's fault, never a refusal by a store.
      return (cause as? UploadError)?.isOfTheFile == true ? .none : .later
    case .catalog(let code): return code == .leaseLost ? .later : .elsewhere
    case .cancelled: return .elsewhere
    case .other: return .none
    }
  }

  /// Whether reading the file may succeed when the machine is less busy.
  var mayBeOfABusyMachine: Bool {
    switch code {
    case .probe(let code): [.timeout, .memoryLimit].contains(code)
    case .poster(let code): [.timeout, .memoryLimit].contains(code)
    default: false
    }
  }

  /// Whether other files would fail on this machine, too, and this file perhaps on no other machine.
  fileprivate func mayBeOfThisMachine(_ address: SourcePath) -> Bool {
    switch code {
    case .source(.notFound): !address.isAddress && !address.hasNeighbours
    case .source(let code): [.denied, .unreadable, .tooManyOpenFiles].contains(code)
    case .probe(let code): [.unreadable, .tooManyOpenFiles, .noReader].contains(code)
    case .poster(let code): [.unreadable, .tooManyOpenFiles, .noReader].contains(code)
    case .upload(let code):
      [.denied, .storeFull, .unavailable, .interrupted, .sourceUnreadable].contains(code)
    // There was no room for a mended copy.
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

  /// Whether no other user can have removed the path: along its existing part, no folder may be changed by anyone but
  /// root and this process's own user.
  fileprivate var isLostByTheMachine: Bool {
    guard bytes.first == UInt8(ascii: "/") else { return false }
    var step: [UInt8] = []
    var wasShared = false
    for name in [[]] + bytes.split(separator: UInt8(ascii: "/")).dropLast() {
      step += name.isEmpty ? [] : [UInt8(ascii: "/")] + name
      guard let facts = SourcePath(bytes: step.isEmpty ? [UInt8(ascii: "/")] : step).ownStatus else {
        // This component is missing. Anyone who may write to its parent may have removed it.
        return !wasShared
      }
      guard facts.st_uid == 0 || facts.st_uid == geteuid() else { return false }
      let isLink = facts.st_mode & S_IFMT == S_IFLNK
      let isShared = !isLink && facts.st_mode & 0o022 != 0
      // In a sticky folder such as `/tmp`, others can't have removed what this user owns.
      if isShared, facts.st_mode & mode_t(S_ISVTX) == 0 { return false }
      wasShared = isShared
    }
    return !wasShared
  }
}
