import Synchronization

/// Tells code that blocks on a thread that its result is no longer wanted.
///
/// One flag may stand for a whole run: a child is set with its parent, and can be set alone.
public final class CancellationFlag: Sendable {
  /// What ``onSet(_:)`` gives back, for ``clear(_:)``.
  public final class Registration: Sendable {
    fileprivate let action: @Sendable () -> Void

    fileprivate init(_ action: @escaping @Sendable () -> Void) {
      self.action = action
    }
  }

  private let parent: CancellationFlag?
  /// Read without the lock, so that an action, which has it, may ask too.
  private let isSetHere = Atomic(false)
  private let registrations = Mutex<[Registration]>([])

  /// A flag that is not set.
  /// - Parameter parent: a flag with which this one is set as well.
  public init(parent: CancellationFlag? = nil) {
    self.parent = parent
  }

  /// Whether this flag or its parent was set. It stays so.
  public var isSet: Bool { isSetHere.load(ordering: .acquiring) || parent?.isSet == true }

  /// Sets the flag, and calls every action that is registered.
  public func set() {
    registrations.withLock { registrations in
      isSetHere.store(true, ordering: .releasing)
      for registration in registrations { registration.action() }
    }
  }

  /// Has `action` called when the flag is set; at once when it is set already.
  ///
  /// It may be called more than once, on any thread, and must be short: the flag is locked meanwhile, so that all it may
  /// do with this flag is to read ``isSet``.
  public func onSet(_ action: @escaping @Sendable () -> Void) -> Registration {
    let registration = Registration(action)
    register(registration)
    return registration
  }

  /// Its action is not called any more: when this returns, no call is under way either.
  public func clear(_ registration: Registration) {
    registrations.withLock { registrations in registrations.removeAll { $0 === registration } }
    parent?.clear(registration)
  }

  /// Runs `body`; the flag is set as soon as the surrounding task is cancelled.
  public func whileRunning<Value: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withTaskCancellationHandler {
      do throws(Failure) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      set()
    }
    return try result.get()
  }

  private func register(_ registration: Registration) {
    registrations.withLock { registrations in
      registrations.append(registration)
      if isSetHere.load(ordering: .acquiring) { registration.action() }
    }
    parent?.register(registration)
  }
}
