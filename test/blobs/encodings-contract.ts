import assert from 'node:assert/strict'
import { ENCODINGS } from '../../server/blobs/encoding.ts'
import { deterministicBytes, keep, readAll, received, toBody } from './bytes.ts'
import type { Promises } from './contract.ts'

/** The part of the contract about stored encodings of a blob. */
export function encodingsContract(promises: Promises): void {
  promises('encodings and their blob are read back unchanged, whatever their size', async (blobs, place) => {
    for (const size of [1, 4096, 300_000]) {
      const bytes = deterministicBytes('a blob', size)
      const hash = await keep(blobs, bytes)
      await blobs.discard('an-area')
      for (const encoding of ENCODINGS)
        await blobs.putEncoding(hash, encoding, deterministicBytes(encoding, size))
      assert.deepEqual([await place.uncommitted(), await Array.fromAsync(blobs.stagingAreas())], [[], []])
      for (const encoding of ENCODINGS) {
        assert.ok((await blobs.bytes(hash, encoding))?.equals(deterministicBytes(encoding, size)))
        assert.ok((await readAll(blobs, hash, { encoding }))?.equals(deterministicBytes(encoding, size)))
      }
      assert.ok((await blobs.bytes(hash))?.equals(bytes))
      assert.ok((await readAll(blobs, hash))?.equals(bytes))
    }
  })

  promises('an encoding that was not stored cannot be read', async (blobs) => {
    const hash = await keep(blobs, deterministicBytes('a blob', 1000))
    await blobs.putEncoding(hash, 'gzip', deterministicBytes('gzip', 10))
    assert.equal(await blobs.bytes(hash, 'br'), undefined)
    assert.equal(await blobs.read(hash, { encoding: 'zstd' }), undefined)
    assert.equal(await blobs.bytes(received(deterministicBytes('unknown', 10)).hash, 'gzip'), undefined)
  })

  promises(
    'the same encoding can be stored repeatedly, also by several processes at the same time',
    async (_, { open }) => {
      const processes = [open(), open(), open('another-run')]
      const hash = await keep(processes[0]!, deterministicBytes('a blob', 1000))
      const bytes = deterministicBytes('br', 300_000)
      await Promise.all(
        Array.from({ length: 12 }, async (_, number) => {
          const blobs = processes[number % 3]!
          await blobs.putEncoding(hash, 'br', bytes)
          assert.ok((await blobs.bytes(hash, 'br'))?.equals(bytes))
        }),
      )
      assert.deepEqual(await Array.fromAsync(processes[0]!.list()), [hash])
      const shorter = deterministicBytes('shorter', 300)
      await processes[1]!.putEncoding(hash, 'br', shorter)
      assert.ok((await processes[0]!.bytes(hash, 'br'))?.equals(shorter), 'the last one replaces the others')
    },
  )

  promises('encodings go with their blob, and do not come back with it', async (blobs) => {
    const bytes = deterministicBytes('a blob', 1000)
    const [hash, other] = [await keep(blobs, bytes), await keep(blobs, deterministicBytes('other', 10))]
    for (const encoding of ENCODINGS) {
      for (const one of [hash, other])
        await blobs.putEncoding(one, encoding, deterministicBytes(encoding, 10))
    }
    await blobs.remove(hash)
    await keep(blobs, bytes)
    for (const encoding of ENCODINGS) {
      assert.equal(await blobs.bytes(hash, encoding), undefined)
      assert.ok((await blobs.bytes(other, encoding))?.equals(deterministicBytes(encoding, 10)))
    }
  })

  promises('a blob with encodings is listed once, and so are encodings without their blob', async (blobs) => {
    const hash = await keep(blobs, deterministicBytes('a blob', 1000))
    const orphan = received(deterministicBytes('never kept', 10)).hash
    for (const encoding of ENCODINGS) {
      for (const one of [hash, orphan])
        await blobs.putEncoding(one, encoding, deterministicBytes(encoding, 10))
    }
    assert.deepEqual((await Array.fromAsync(blobs.list())).sort(), [hash, orphan].sort())
    await blobs.remove(orphan)
    assert.deepEqual(await Array.fromAsync(blobs.list()), [hash])
  })

  promises('a stored encoding does not make a blob committed that was never received', async (blobs) => {
    const bytes = deterministicBytes('a blob', 1000)
    await blobs.putEncoding(received(bytes).hash, 'br', deterministicBytes('br', 10))
    assert.deepEqual(await blobs.commit('an-area', [received(bytes)]), [received(bytes)])
    assert.equal(await blobs.bytes(received(bytes).hash), undefined)
    await blobs.put('an-area', toBody(bytes), {})
    assert.deepEqual(await blobs.commit('an-area', [received(bytes)]), [])
  })
}
