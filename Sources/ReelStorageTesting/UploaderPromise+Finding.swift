import ReelCore

extension UploaderPromise {
  /// What is there is found, what is not is not, and only what is named is removed.
  static let finding: [UploaderPromise] = [
    UploaderPromise("destination.settled", "two uploaders of one store give it the same name") { scene in
      let other = try await scene.store.makeUploader()
      try scene.expect(!scene.uploader.destination.name.isEmpty, "its destination has no name")
      try scene.expect(
        other.destination == scene.uploader.destination,
        "one says \(scene.uploader.destination), another one \(other.destination)")
      try await other.prepare()
      try scene.expect(
        other.destination == scene.uploader.destination, "preparing turns it into \(other.destination)")
    },
    UploaderPromise("find.nothing", "what was never stored is nil to find and readBack, and no error") {
      scene in
      try await scene.expectNothing(under: try scene.newKey(), after: "nothing")
    },
    UploaderPromise("find.others", "what one uploader stored another one of the same store finds") { scene in
      let key = try scene.newKey()
      let content = try scene.small()
      try await scene.upload(content, to: key)
      let other = try await scene.anotherUploader()
      try scene.expect(try await other.find(key)?.size == content.size, "another one does not find it")
      try scene.expect(try await other.readBack(key) == content.digest, "another one reads other bytes")
    },
    UploaderPromise("remove.nothing", "removing what is not there is no error") { scene in
      try await scene.uploader.remove(try scene.newKey())
    },
    UploaderPromise("remove.gone", "what was removed is gone, and its name is free") { scene in
      let key = try scene.newKey()
      try await scene.upload(try scene.small(seed: 1), to: key)
      try await scene.uploader.remove(key)
      try await scene.expectNothing(under: key, after: "removing it")
      let second = try scene.small(seed: 2)
      try await scene.upload(second, to: key)
      try await scene.expectWhole(second, under: key)
    },
    UploaderPromise("remove.onlyThat", "removing one object leaves all others alone") { scene in
      let key = try scene.newKey()
      let neighbours = try [
        scene.newKey { _ in key.rawValue + "x" }, scene.newKey { _ in "x" + key.rawValue },
      ]
      let content = try scene.small()
      for each in [key] + neighbours { try await scene.upload(content, to: each) }
      try await scene.uploader.remove(key)
      for neighbour in neighbours { try await scene.expectWhole(content, under: neighbour) }
    },
  ]
}
