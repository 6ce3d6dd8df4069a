import ReelCore

// The errors of the layers, as the command line tells them.

/// - Parameter subject: what `body` reads: an error does not name it.
func orCommandFailure<Value>(
  reading subject: String, _ body: () throws(SourceError) -> Value
) throws -> Value {
  do throws(SourceError) {
    return try body()
  } catch {
    throw CommandFailure(.couldNotRun, "\(subject) can't be used: \(error.message)")
  }
}

func orCommandFailure<Value>(_ body: () throws(UploadError) -> Value) throws -> Value {
  do throws(UploadError) { return try body() } catch { throw CommandFailure(error) }
}

func orCommandFailure<Value>(_ body: () throws(ProbeError) -> Value) throws -> Value {
  do throws(ProbeError) { return try body() } catch { throw CommandFailure(error) }
}

func orCommandFailure<Value>(_ body: () async throws(CatalogError) -> Value) async throws -> Value {
  do throws(CatalogError) { return try await body() } catch { throw CommandFailure(error) }
}

func orCommandFailure<Value>(_ body: () async throws(UploadError) -> Value) async throws -> Value {
  do throws(UploadError) { return try await body() } catch { throw CommandFailure(error) }
}
