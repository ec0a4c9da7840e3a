import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { Blobs, PutConstraints, StoredBlob } from '../../server/blobs/blobs.ts'
import { cutOff, deterministicBytes, keep, readAll, received, toBody } from './bytes.ts'
import { encodingsContract } from './encodings-contract.ts'

/** The storage of one test; each `open` is another process. */
export interface BlobStorage extends AsyncDisposable {
  open(run?: string): Blobs
  /** Names of files or objects of the engine that are not committed. */
  uncommitted(): Promise<string[]>
}

export type Promises = (sentence: string, check: (blobs: Blobs, place: BlobStorage) => Promise<void>) => void

/** The contract of server/blobs/blobs.ts; every engine passes it. */
export function blobsContract(engine: string, fresh: () => Promise<BlobStorage>): void {
  const promises: Promises = (sentence, check) =>
    test(`${engine}: ${sentence}`, async () => {
      await using place = await fresh()
      await check(place.open(), place)
    })
  receiving(promises)
  refusing(promises)
  committing(promises)
  keeping(promises)
  encodingsContract(promises)
}

/** Around the sizes at which an engine may switch its method. */
const SIZES = [0, 1, 2, 4095, 65_536, 65_537, 262_143, 262_144, 262_145, 1_048_583]

function receiving(promises: Promises): void {
  promises('a committed blob is read back unchanged, whatever its size', async (blobs) => {
    for (const size of SIZES) {
      const bytes = deterministicBytes('sizes', size)
      for (const expected of [{ size }, { limit: size }, { size, hash: received(bytes).hash }, {}]) {
        const area = `area-${size}-${Object.keys(expected).join('-')}`
        assert.deepEqual(await blobs.put(area, toBody(bytes), expected), received(bytes))
        assert.deepEqual(await blobs.commit(area, [received(bytes)]), [])
      }
      assert.ok((await blobs.bytes(received(bytes).hash))?.equals(bytes))
      assert.ok((await readAll(blobs, received(bytes).hash))?.equals(bytes))
    }
  })

  promises('any range of a blob and of its encodings can be read', async (blobs) => {
    const bytes = deterministicBytes('ranges', 200_000)
    const hash = await keep(blobs, bytes)
    await blobs.putEncoding(hash, 'br', bytes)
    for (const [start, end] of [
      [0, 0],
      [0, 199_999],
      [1, 2],
      [65_535, 65_536],
      [199_999, 199_999],
    ] as const) {
      const part = bytes.subarray(start, end + 1)
      for (const encoding of [{}, { encoding: 'br' as const }])
        assert.ok((await readAll(blobs, hash, { ...encoding, range: { start, end } }))?.equals(part))
    }
  })

  promises('a blob cannot be read before it is committed', async (blobs) => {
    const bytes = deterministicBytes('uncommitted', 1000)
    const { hash } = await blobs.put('an-area', toBody(bytes), { size: 1000 })
    assert.equal(await blobs.bytes(hash), undefined)
    assert.equal(await blobs.read(hash), undefined)
    assert.deepEqual(await Array.fromAsync(blobs.list()), [])
  })

  promises('the same bytes can be uploaded repeatedly, also at the same time', async (blobs) => {
    for (const size of [1000, 300_000]) {
      const bytes = deterministicBytes('again', size)
      const stored = await Promise.all(
        Array.from({ length: 8 }, (_, index) => blobs.put('an-area', toBody(bytes, 997 + index), { size })),
      )
      assert.deepEqual(stored, Array(8).fill(received(bytes)))
      await blobs.put('an-area', toBody(bytes), {})
      assert.deepEqual(await blobs.commit('an-area', stored), [])
      assert.ok((await blobs.bytes(received(bytes).hash))?.equals(bytes))
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
    promises(`refused without keeping any of its bytes: ${what}`, async (blobs, place) => {
      await assert.rejects(blobs.put('an-area', body(), expected), { code })
      await assertNothingStored(blobs, place, [received(SMALL), received(LARGE)])
    })
  }

  for (const [path, bytes, expected, step] of [
    ['small', SMALL, { size: 50, hash: received(SMALL).hash }, 1],
    ['of unknown length', SMALL, { limit: 50 }, 1],
    ['large', LARGE, { size: 300_000 }, 9973],
  ] as const) {
    promises(`a body that is cut off at any byte leaves nothing: ${path}`, async (blobs, place) => {
      for (let after = 0; after < bytes.length; after += step) {
        const broken = cutOff(bytes, after, 7 + (after % 40_000))
        await assert.rejects(blobs.put('an-area', broken, expected), { code: 'ECONNRESET' })
      }
      await assertNothingStored(blobs, place, [received(bytes)])
      await keep(blobs, bytes)
    })
  }

  promises('a refused upload leaves an earlier one as it was', async (blobs) => {
    const blob = await blobs.put('an-area', toBody(SMALL), { size: 50 })
    await assert.rejects(blobs.put('an-area', toBody(SMALL), { size: 49 }))
    await assert.rejects(blobs.put('an-area', cutOff(SMALL, 49), { size: 50 }))
    assert.deepEqual(await blobs.commit('an-area', [blob]), [])
    assert.ok((await blobs.bytes(blob.hash))?.equals(SMALL))
  })
}

async function assertNothingStored(blobs: Blobs, place: BlobStorage, wanted: StoredBlob[]): Promise<void> {
  assert.deepEqual(await place.uncommitted(), [])
  assert.deepEqual(await blobs.commit('an-area', wanted), wanted)
  assert.deepEqual(await Array.fromAsync(blobs.list()), [])
}

function committing(promises: Promises): void {
  promises('commit returns the blobs that were never received, and keeps the others', async (blobs) => {
    const [one, two, three] = ['one', 'two', 'three'].map((name) => received(deterministicBytes(name, 100)))
    await blobs.put('an-area', toBody(deterministicBytes('one', 100)), {})
    await blobs.put('an-area', toBody(deterministicBytes('three', 100)), {})
    await blobs.put('another', toBody(deterministicBytes('two', 100)), {})
    assert.deepEqual(await blobs.commit('an-area', [one!, two!, three!]), [two])
    assert.deepEqual((await Array.fromAsync(blobs.list())).sort(), [one!.hash, three!.hash].sort())
    assert.deepEqual(await blobs.commit('unknown', [two!]), [two])
    assert.deepEqual(await blobs.commit('an-area', []), [])
  })

  promises('commit is idempotent, also concurrently and with a blob named many times', async (blobs) => {
    const contents = [1, 2, 3, 4, 5].map((name) => deterministicBytes(name, 5000))
    for (const bytes of contents) await blobs.put('an-area', toBody(bytes), {})
    const many = [...contents, ...contents, ...contents].map(received)
    const times = Array.from({ length: 5 }, () => blobs.commit('an-area', many))
    assert.deepEqual(await Promise.all(times), [[], [], [], [], []])
    assert.deepEqual(await blobs.commit('an-area', many), [])
    for (const bytes of contents) assert.ok((await blobs.bytes(received(bytes).hash))?.equals(bytes))
    assert.equal((await Array.fromAsync(blobs.list())).length, 5)
  })

  promises('a blob of another staging area can be committed with and without an upload', async (blobs) => {
    const bytes = deterministicBytes('shared', 5000)
    await keep(blobs, bytes, 'first')
    await blobs.put('second', toBody(bytes), {})
    assert.deepEqual(await blobs.commit('second', [received(bytes)]), [])
    assert.deepEqual(await blobs.commit('third', [received(bytes)]), [])
    assert.ok((await blobs.bytes(received(bytes).hash))?.equals(bytes))
  })

  promises(
    'staging areas of several processes can commit the same bytes at the same time',
    async (_, { open }) => {
      const processes = [open(), open(), open('another-run')]
      const contents = Array.from({ length: 6 }, (_, name) =>
        deterministicBytes(name, name % 2 ? 400 : 300_000),
      )
      await Promise.all(
        Array.from({ length: 18 }, async (_, number) => {
          const blobs = processes[number % 3]!
          const area = `area-${number}`
          const stored = await Promise.all(
            contents.map((bytes) => blobs.put(area, toBody(bytes), { size: bytes.length })),
          )
          assert.deepEqual(await blobs.commit(area, stored), [])
          for (const bytes of contents) assert.ok((await blobs.bytes(received(bytes).hash))?.equals(bytes))
        }),
      )
      assert.equal((await Array.fromAsync(processes[0]!.list())).length, contents.length)
    },
  )

  promises('uploads to an earlier run of the service are committed by a later one', async (blobs, place) => {
    const contents = [deterministicBytes('small', 700), deterministicBytes('large', 300_000)]
    for (const bytes of contents) await blobs.put('an-area', toBody(bytes), {})
    const later = place.open('a-later-run')
    await later.put('an-area', toBody(deterministicBytes('own', 10)), {})
    const all = [...contents, deterministicBytes('own', 10)]
    assert.deepEqual(await later.commit('an-area', all.map(received)), [])
    for (const bytes of all) assert.ok((await later.bytes(received(bytes).hash))?.equals(bytes))
  })
}

function keeping(promises: Promises): void {
  promises('a discarded staging area is deleted; its committed blobs and other areas stay', async (blobs) => {
    const [committed, uncommitted, other] = ['a', 'b', 'c'].map((name) => deterministicBytes(name, 100))
    await keep(blobs, committed!)
    await blobs.put('an-area', toBody(uncommitted!), {})
    await blobs.put('another', toBody(other!), {})
    await blobs.discard('an-area')
    await blobs.discard('an-area')
    await blobs.discard('unknown')
    assert.deepEqual(await blobs.commit('an-area', [received(uncommitted!), received(committed!)]), [
      received(uncommitted!),
    ])
    assert.deepEqual(await blobs.commit('another', [received(other!)]), [])
    await keep(blobs, uncommitted!)
  })

  promises(
    'a staging area accepts uploads again after another process discarded it',
    async (blobs, { open }) => {
      const other = open()
      const bytes = deterministicBytes('after', 100)
      await blobs.put('an-area', toBody(deterministicBytes('before', 100)), {})
      await other.discard('an-area')
      for (const size of [100, undefined]) {
        await blobs.put('an-area', toBody(bytes), size === undefined ? {} : { size })
      }
      assert.deepEqual(await other.commit('an-area', [received(bytes)]), [])
    },
  )

  promises(
    'staging areas with uploads are listed with their last change until they are discarded',
    async (blobs) => {
      const before = Date.now()
      await blobs.put('one', toBody(SMALL), {})
      await blobs.put('two', toBody(SMALL), {})
      const areas = await Array.fromAsync(blobs.stagingAreas())
      assert.deepEqual(areas.map(({ area }) => area).sort(), ['one', 'two'])
      // File systems have a coarse clock of their own that ticks every few milliseconds.
      for (const { changedAt } of areas) assert.ok(changedAt >= before - 50 && changedAt <= Date.now() + 50)
      await blobs.discard('one')
      assert.deepEqual(
        (await Array.fromAsync(blobs.stagingAreas())).map(({ area }) => area),
        ['two'],
      )
    },
  )

  promises('a removed blob cannot be read until it is uploaded again', async (blobs) => {
    const hash = await keep(blobs, SMALL)
    await keep(blobs, LARGE)
    await blobs.remove(hash)
    await blobs.remove(hash)
    assert.equal(await blobs.bytes(hash), undefined)
    assert.equal(await blobs.read(hash), undefined)
    assert.deepEqual(await blobs.commit('an-area', [received(SMALL)]), [received(SMALL)])
    assert.deepEqual(await Array.fromAsync(blobs.list()), [received(LARGE).hash])
    assert.equal(await keep(blobs, SMALL), hash)
    assert.ok((await blobs.bytes(hash))?.equals(SMALL))
  })

  promises('every committed blob is listed once, and nothing else', async (blobs) => {
    const contents = Array.from({ length: 300 }, (_, name) => deterministicBytes(name, 20))
    for (const bytes of contents) await blobs.put('an-area', toBody(bytes), {})
    assert.deepEqual(await blobs.commit('an-area', contents.map(received)), [])
    await blobs.put('an-area', toBody(SMALL), {})
    const listed = await Array.fromAsync(blobs.list())
    assert.deepEqual(listed.sort(), contents.map((bytes) => received(bytes).hash).sort())
  })

  promises('a healthy engine passes its check', (blobs) => blobs.check())
}
