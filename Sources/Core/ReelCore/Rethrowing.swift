/// Returns the result of `body`. An error that `body` throws is converted by `convert` and rethrown, so that a
/// layer can state the errors of lower layers in its own words.
@inlinable
package func rethrowing<Value: ~Copyable, Cause, Failure>(
  as convert: (Cause) -> Failure, _ body: () throws(Cause) -> Value
) throws(Failure) -> Value {
  do throws(Cause) {
    return try body()
  } catch {
    throw convert(error)
  }
}

/// The same for an asynchronous `body`, which runs in the caller's isolation.
@inlinable
nonisolated(nonsending) package func rethrowing<Value: ~Copyable, Cause, Failure>(
  as convert: (Cause) -> Failure, _ body: nonisolated(nonsending) () async throws(Cause) -> Value
) async throws(Failure) -> Value {
  do throws(Cause) {
    return try await body()
  } catch {
    throw convert(error)
  }
}
