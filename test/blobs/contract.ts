import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { type Blobs, createObjectName, type PutConstraints } from '../../server/blobs/blobs.ts'
import { pluck } from '../support/pluck.ts'
import {
  cutOff,
  deterministicBytes,
  keep,
  listObjects,
  readAll,
  received,
  toBody,
  toLocation,
} from './bytes.ts'

/** The storage of one test; each `open` is another process, of another run of the service if named so. */
export interface BlobStorage extends AsyncDisposable {
  open(run?: string): Blobs
}

type Promises = (sentence: string, check: (blobs: Blobs, place: BlobStorage) => Promise<void>) => void

/** The contract of server/blobs/blobs.ts; every engine passes it. The clock of the engines returns `NOW`. */
export function blobsContract(
  engine: string,
  fresh: () => Promise<BlobStorage>,
  options: { skip?: string; isDurableAtPut?: true } = {},
): void {
  const { skip, isDurableAtPut } = options
  const promises: Promises = (sentence, check) =>
    test(`${engine}: ${sentence}`, skip === undefined ? {} : { skip }, async () => {
      await using place = await fresh()
      await check(place.open(), place)
    })
  receiving(promises)
  refusing(promises)
  if (!isDurableAtPut) reportingAbsent(promises)
  committing(promises)
  storingTogether(promises)
  removing(promises)
  verifying(promises)
}

export const NOW = Date.UTC(2026, 0, 1)

/** Around the sizes at which an engine may switch its method. */
const SIZES = [0, 1, 2, 4095, 65_536, 65_537, 262_143, 262_144, 262_145, 1_048_576, 1_048_583]

function receiving(promises: Promises): void {
  promises('a committed blob is read back unchanged, whatever its size', async (blobs) => {
    for (const size of SIZES) {
      const bytes = deterministicBytes('sizes', size)
      for (const expected of [{ size }, { limit: size }, { size, hash: received(bytes).hash }, {}]) {
        const blob = await blobs.put(toBody(bytes), expected)
        assert.deepEqual({ hash: blob.hash, size: blob.size }, received(bytes))
        assert.deepEqual(await blobs.commit([blob]), [])
        assert.ok((await blobs.bytes(toLocation(blob)))?.equals(bytes))
        assert.ok((await readAll(blobs, toLocation(blob)))?.equals(bytes))
      }
    }
  })

  promises('any range of a blob can be read', async (blobs) => {
    const bytes = deterministicBytes('ranges', 2_200_000)
    const location = await keep(blobs, bytes)
    for (const [start, end] of [
      [0, 0],
      [0, 2_199_999],
      [1, 2],
      [65_535, 65_536],
      [1_048_575, 1_048_576],
      [1_000_000, 2_150_000],
      [2_199_999, 2_199_999],
    ] as const) {
      const part = bytes.subarray(start, end + 1)
      assert.ok((await readAll(blobs, location, { start, end }))?.equals(part), `${start}-${end}`)
    }
  })

  promises('every upload is an object of its own, named by the time of its creation', async (blobs) => {
    for (const size of [1000, 300_000]) {
      const bytes = deterministicBytes('again', size)
      const stored = await Promise.all(
        Array.from({ length: 8 }, (_, index) => blobs.put(toBody(bytes, 997 + index), { size })),
      )
      assert.deepEqual(pluck(stored, 'hash'), Array(8).fill(received(bytes).hash))
      assert.equal(new Set(stored.map(({ object }) => object)).size, 8)
      const times = stored.map(({ object }) => blobs.createdAt(object))
      assert.deepEqual(times, Array(8).fill(NOW))
      assert.deepEqual(await blobs.commit(stored), [])
      for (const blob of stored) assert.ok((await blobs.bytes(toLocation(blob)))?.equals(bytes))
    }
  })
}

const SMALL = deterministicBytes('refused', 50)
const LARGE = deterministicBytes('refused', 300_000)

/** What is received, what was announced, and the code of the error. */
const REFUSALS: [what: string, body: () => Readable, expected: PutConstraints, code: string][] = [
  ['one byte more than announced', () => toBody(SMALL), { size: 49 }, 'SIZE_MISMATCH'],
  ['one byte less than announced', () => toBody(SMALL), { size: 51 }, 'SIZE_MISMATCH'],
  ['no bytes where some were announced', () => toBody(Buffer.alloc(0)), { size: 1 }, 'SIZE_MISMATCH'],
  ['another hash than announced', () => toBody(SMALL), expect(SMALL, LARGE), 'HASH_MISMATCH'],
  ['one byte more than announced, large', () => toBody(LARGE), { size: 299_999 }, 'SIZE_MISMATCH'],
  ['one byte less than announced, large', () => toBody(LARGE), { size: 300_001 }, 'SIZE_MISMATCH'],
  ['another hash than announced, large', () => toBody(LARGE), expect(LARGE, SMALL), 'HASH_MISMATCH'],
  ['one byte more than the limit', () => toBody(SMALL), { limit: 49 }, 'PAYLOAD_TOO_LARGE'],
  ['an endless body with an announced size', endless, { size: 100 }, 'SIZE_MISMATCH'],
  ['an endless body beyond the limit', endless, { limit: 1_000_000 }, 'PAYLOAD_TOO_LARGE'],
]

/** The size of one and the hash of the other. */
function expect(sized: Buffer, hashed: Buffer): PutConstraints {
  return { size: sized.length, hash: received(hashed).hash }
}

function endless(): Readable {
  return Readable.from(
    (function* () {
      for (;;) yield LARGE
    })(),
    { objectMode: false },
  )
}

function refusing(promises: Promises): void {
  for (const [what, body, expected, code] of REFUSALS) {
    promises(`refused without keeping any of its bytes: ${what}`, async (blobs) => {
      await assert.rejects(blobs.put(body(), expected), { code })
      assert.deepEqual(await listObjects(blobs), [])
    })
  }

  for (const [path, bytes, expected, step] of [
    ['small', SMALL, { size: 50, hash: received(SMALL).hash }, 1],
    ['of unknown length', SMALL, { limit: 50 }, 1],
    ['large', LARGE, { size: 300_000 }, 9973],
  ] as const) {
    promises(`a body that is cut off at any byte leaves nothing: ${path}`, async (blobs) => {
      for (let after = 0; after < bytes.length; after += step) {
        const broken = cutOff(bytes, after, 7 + (after % 40_000))
        await assert.rejects(blobs.put(broken, expected), { code: 'ECONNRESET' })
      }
      assert.deepEqual(await listObjects(blobs), [])
      await keep(blobs, bytes)
    })
  }

  promises('bytes that arrive after an upload was stopped are rejected with the reason', async (blobs) => {
    const controller = new AbortController()
    const stopped = Readable.from(
      (async function* () {
        yield LARGE
        controller.abort(new Error('replaced'))
        yield LARGE
      })(),
      { objectMode: false },
    )
    await assert.rejects(blobs.put(stopped, { size: 600_000, signal: controller.signal }), /replaced/)
    assert.deepEqual(await listObjects(blobs), [])
  })
}

function reportingAbsent(promises: Promises): void {
  promises('commit returns the blobs that are absent, and keeps the others', async (blobs) => {
    const [one, two, three] = await Promise.all(
      ['one', 'two', 'three'].map((name) => blobs.put(toBody(deterministicBytes(name, 100)), {})),
    )
    const never = { ...two!, object: createObjectName(NOW) }
    await blobs.remove([three!.object])
    assert.deepEqual(new Set(await blobs.commit([one!, never, two!, three!])), new Set([never, three]))
    assert.deepEqual(await listObjects(blobs), [one!.object, two!.object].sort())
    assert.deepEqual(await blobs.commit([]), [])
  })
}

function committing(promises: Promises): void {
  promises('commit is idempotent, also concurrently and with a blob named many times', async (blobs) => {
    const contents = [1, 2, 3, 4, 5].map((name) => deterministicBytes(name, 5000))
    const stored = await Promise.all(contents.map((bytes) => blobs.put(toBody(bytes), {})))
    const many = [...stored, ...stored, ...stored]
    const times = Array.from({ length: 5 }, () => blobs.commit(many))
    assert.deepEqual(await Promise.all(times), [[], [], [], [], []])
    assert.deepEqual(await blobs.commit(many), [])
    for (const [index, blob] of stored.entries())
      assert.ok((await blobs.bytes(toLocation(blob)))?.equals(contents[index]!))
  })

  promises('several processes can store and commit the same bytes at the same time', async (_, { open }) => {
    const processes = [open(), open(), open('another-run')]
    const contents = Array.from({ length: 6 }, (_, name) =>
      deterministicBytes(name, name % 2 ? 400 : 300_000),
    )
    await Promise.all(
      Array.from({ length: 18 }, async (_, number) => {
        const blobs = processes[number % 3]!
        const stored = await Promise.all(
          contents.map((bytes) => blobs.put(toBody(bytes), { size: bytes.length })),
        )
        assert.deepEqual(await processes[(number + 1) % 3]!.commit(stored), [])
        for (const [index, blob] of stored.entries())
          assert.ok((await blobs.bytes(toLocation(blob)))?.equals(contents[index]!))
      }),
    )
  })

  promises('uploads to an earlier run of the service are committed by a later one', async (blobs, place) => {
    const contents = [deterministicBytes('small', 700), deterministicBytes('large', 300_000)]
    const stored = [await blobs.put(toBody(contents[0]!), {}), await blobs.put(toBody(contents[1]!), {})]
    const later = place.open('a-later-run')
    assert.deepEqual(await later.commit(stored), [])
    for (const [index, blob] of stored.entries())
      assert.ok((await later.bytes(toLocation(blob)))?.equals(contents[index]!))
  })
}

function storingTogether(promises: Promises): void {
  promises('contents that are stored together are one object, and read back one by one', async (blobs) => {
    const contents = [1, 4096, 300_000, 1_200_000].map((size) => deterministicBytes('together', size))
    const locations = await blobs.putTogether(contents)
    const receipts = locations.map(({ hash, size }) => ({ hash, size }))
    assert.deepEqual(receipts, contents.map(received))
    assert.equal(new Set(locations.map(({ object }) => object)).size, 1)
    assert.deepEqual(await listObjects(blobs), [locations[0]!.object])
    for (const [index, location] of locations.entries()) {
      assert.ok((await blobs.bytes(location))?.equals(contents[index]!))
      assert.ok((await readAll(blobs, location))?.equals(contents[index]!))
    }
    const range = { start: 1_048_570, end: 1_048_580 }
    assert.ok(
      (await readAll(blobs, locations[3]!, range))?.equals(contents[3]!.subarray(1_048_570, 1_048_581)),
    )
  })
}

function verifying(promises: Promises): void {
  promises('bytes with another hash than they were stored with are found, and not read', async (blobs) => {
    const contents = [0, 300, 300_000, 2_200_000].map((size) => deterministicBytes('verified', size))
    const stored = await Promise.all(contents.map((bytes) => keep(blobs, bytes)))
    const together = await blobs.putTogether(contents.slice(1))
    for (const location of [...stored, ...together]) {
      assert.equal(await blobs.verify(location), 'intact')
      const hash = received(SMALL).hash
      const other = { ...location, hash, piecesHash: location.piecesHash && hash }
      if (location.size === 0) continue
      assert.equal(await blobs.verify(other), 'damaged')
      await assert.rejects(blobs.bytes(other), { code: 'UNAVAILABLE' })
      if (location.size > 300) continue
      await assert.rejects(readAll(blobs, other, { start: 5, end: 7 }), { code: 'UNAVAILABLE' })
    }
    await assert.rejects(blobs.verify(stored[3]!, AbortSignal.abort()))
    await blobs.remove([stored[1]!.object])
    assert.equal(await blobs.verify(stored[1]!), 'missing')
  })
}

function removing(promises: Promises): void {
  promises('a removed object cannot be read, and an upload of its bytes is another one', async (blobs) => {
    const location = await keep(blobs, SMALL)
    const other = await keep(blobs, LARGE)
    await blobs.remove([location.object])
    await blobs.remove([location.object, createObjectName(NOW)])
    await blobs.remove([])
    assert.equal(await blobs.bytes(location), undefined)
    assert.equal(await blobs.read(location), undefined)
    assert.deepEqual(await listObjects(blobs), [other.object])
    const again = await keep(blobs, SMALL)
    await blobs.remove([location.object])
    assert.ok((await blobs.bytes(again))?.equals(SMALL), 'a late deletion hits nothing else')
  })

  promises('every object is listed once, in the order of the names, from any place on', async (blobs) => {
    const contents = Array.from({ length: 300 }, (_, name) => deterministicBytes(name, 20))
    const stored = await Promise.all(contents.map((bytes) => blobs.put(toBody(bytes), {})))
    const objects = stored.map(({ object }) => object).sort()
    assert.deepEqual(await listObjects(blobs), objects)
    for (const index of [0, 1, 150, 298])
      assert.equal((await blobs.list(objects[index]!))[0], objects[index + 1])
    assert.deepEqual(await blobs.list(objects[299]!), [])
    const next = objects.find((name) => name > '8')
    assert.equal((await blobs.list('8'))[0], next)
  })

  promises('a healthy engine passes its check, and has space', async (blobs) => {
    await blobs.check()
    await blobs.assertSpace(1)
  })
}
