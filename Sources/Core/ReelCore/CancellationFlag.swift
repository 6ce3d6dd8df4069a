import Synchronization

/// Tells code that blocks on a thread that its result is no longer wanted.
///
/// One flag may stand for a whole run. A child is set when its parent is, and can also be set alone.
public final class CancellationFlag: Sendable {
  /// A registered action, as ``onSet(_:)`` returns it for ``clear(_:)``.
  public final class Registration: Sendable {
    fileprivate let action: @Sendable () -> Void

    fileprivate init(_ action: @escaping @Sendable () -> Void) {
      self.action = action
    }
  }

  private let parent: CancellationFlag?
  /// Read without the lock, so that an action, which runs under the lock, may read it, too.
  private let isSetHere = Atomic(false)
  private let registrations = Mutex<[Registration]>([])

  /// Creates a flag that is not set.
  /// - Parameter parent: A flag whose setting also sets this one.
  public init(parent: CancellationFlag? = nil) {
    self.parent = parent
  }

  /// Whether this flag or its parent has been set. It cannot be reset.
  public var isSet: Bool { isSetHere.load(ordering: .acquiring) || parent?.isSet == true }

  /// Sets the flag, and calls every registered action.
  public func set() {
    registrations.withLock { registrations in
      isSetHere.store(true, ordering: .releasing)
      for registration in registrations { registration.action() }
    }
  }

  /// Registers `action` to be called when the flag is set, or at once if it is already set.
  ///
  /// The action may be called more than once and on any thread. It must be short: the flag is locked meanwhile, so
  /// the action may do nothing with this flag except read ``isSet``.
  public func onSet(_ action: @escaping @Sendable () -> Void) -> Registration {
    let registration = Registration(action)
    register(registration)
    return registration
  }

  /// Unregisters an action. When this returns, the action is not running and will not be called again.
  public func clear(_ registration: Registration) {
    registrations.withLock { registrations in registrations.removeAll { $0 === registration } }
    parent?.clear(registration)
  }

  /// Runs `body`. Cancelling the surrounding task sets the flag.
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
