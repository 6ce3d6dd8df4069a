extension UploaderContractTest {
  /// Returns what is broken, or nil. A check that does not end within the deadline is broken too; if cancelling does
  /// not end it within another 10 s, it is abandoned.
  package func problem(of store: StoreUnderTest, within deadline: Duration) async -> String? {
    let (outcomes, outcome) = AsyncStream<String?>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let checking = Task {
      do throws(ContractViolation) {
        try await check(store)
        outcome.yield(nil)
      } catch {
        outcome.yield(error.detail)
      }
    }
    // The first outcome counts. It is awaited in a task that is not cancelled with this one.
    let first = Task { await outcomes.first { _ in true } ?? nil }
    let seconds = deadline.components.seconds
    let limit = Task {
      guard (try? await Task.sleep(for: deadline)) != nil else { return }
      checking.cancel()
      guard (try? await Task.sleep(for: .seconds(10))) != nil else { return }
      outcome.yield("it did not end within \(seconds) s, nor after it was cancelled")
    }
    let problem = await withTaskCancellationHandler {
      await first.value
    } onCancel: {
      checking.cancel()
    }
    limit.cancel()
    return problem
  }
}
