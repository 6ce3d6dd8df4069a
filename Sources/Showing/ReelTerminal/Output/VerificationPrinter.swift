import ReelCore
import ReelLibrary

/// Prints a verification as it proceeds. If the reader is slow, the verification waits.
package actor VerificationPrinter {
  private var view: VerificationView
  private let queue = BlockingQueue(label: "reel.output", width: 1)
  private var problem: (any Error)?
  private var onClose: @Sendable () -> Void = {}

  private let wording: @Sendable (ErrorMessage) -> String

  /// - Parameter wording: words messages with the names that the user knows for settings.
  package init(_ view: VerificationView, wording: @escaping @Sendable (ErrorMessage) -> String) {
    (self.view, self.wording) = (view, wording)
  }

  /// Calls `body` if the output can't be written any more, because continuing is then pointless.
  package func whenClosed(_ body: @escaping @Sendable () -> Void) {
    onClose = body
    if problem != nil { body() }
  }

  package func tell(_ event: VerificationEvent) async {
    guard problem == nil else { return }
    do {
      let text = try view.text(event.worded(wording))
      if !text.isEmpty { try await write(text) }
    } catch {
      problem = error
      onClose()
    }
  }

  package func giveUp() async throws {
    if view.isBegun { try await write(try view.end(isWhole: false)) }
  }

  package func end(isWhole: Bool) async throws -> VerificationCount {
    if let problem { throw problem }
    try await write(try view.end(isWhole: isWhole))
    return view.count
  }

  private func write(_ text: String) async throws {
    try await queue.run { try OutputStream.standardOutput.write(text) }
  }
}
