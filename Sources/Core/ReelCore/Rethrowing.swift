/// What `body` gives. What it throws is thrown as what `convert` makes of it: a layer says in its own words what those
/// below have said in theirs.
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

/// The same of what waits; it runs where its caller does.
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
