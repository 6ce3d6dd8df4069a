import ReelCore

/// Runs `body` to its end even when the surrounding task is cancelled meanwhile: for a step after which an object is
/// visible. To break off in the middle of it would be to say "nothing is stored" without knowing.
///
/// - Throws: what `body` throws.
package func shielded<Value: Sendable>(
  _ body: @escaping @Sendable () async throws(UploadError) -> Value
) async throws(UploadError) -> Value {
  let task = Task { () async -> Result<Value, UploadError> in
    do throws(UploadError) {
      return .success(try await body())
    } catch {
      return .failure(error)
    }
  }
  return try await task.value.get()
}
