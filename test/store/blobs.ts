import assert from 'node:assert/strict'
import type { BlobEncodings } from '../../server/store/contract/blobs.ts'
import type { WriteTransaction } from '../../server/store/store.ts'
import type { Promises } from './contract.ts'
import { blob, siteRow, storedBlob, versionRow } from './rows.ts'

/** Promises about blobs, their references, received files and discarded objects. */
export function storeBlobs(promises: Promises): void {
  promises(
    'the object that holds a content first stays; that of a later upload is not needed',
    async (open) => {
      const { read, write } = await open()
      const [first, second, other] = [storedBlob('x', 1), storedBlob('x', 2), storedBlob('y', 3)]
      const held = await write('durable', {}, async (tx) => [
        await tx.blobs.add('one', [first]),
        await tx.blobs.add('two', [second, other]),
        await tx.blobs.add('one', [second]),
      ])
      assert.deepEqual(held, [
        new Set([first.object]),
        new Set([first.object, other.object]),
        new Set([first.object]),
      ])
      assert.deepEqual(await read.blobs.find(first.hash), { ...first, offset: 0 })
      assert.equal(await read.blobs.find(blob('unknown')), undefined)
    },
  )

  promises('a blob is collected once no site has referenced it for the grace period', async (open) => {
    const { read, write } = await open()
    const [own, shared] = [storedBlob('own'), storedBlob('shared')]
    const hashes = [own.hash, shared.hash]
    await write('durable', {}, async (tx) => {
      await tx.blobs.add('one', [own, shared])
      await tx.blobs.add('two', [shared])
      await tx.blobs.removeReferences('one', hashes, 1000)
    })
    const collect = (before: number) => write('durable', {}, (tx) => tx.blobs.collect(before, 10))
    assert.deepEqual(await collect(999), { examined: 0, deleted: 0 })
    assert.deepEqual(await collect(1000), { examined: 2, deleted: 1 })
    assert.deepEqual(await collect(1000), { examined: 0, deleted: 0 })
    assert.deepEqual(await read.blobs.listDiscarded(0, 10), [own.object])
    assert.equal(await read.blobs.find(own.hash), undefined)
    await write('durable', {}, (tx) => tx.blobs.removeReferences('two', hashes, 2000))
    assert.deepEqual(await collect(2000), { examined: 1, deleted: 1 })
    assert.deepEqual((await read.blobs.listDiscarded(0, 10)).sort(), [own.object, shared.object].sort())
  })

  promises('a new reference ends the grace period; its removal starts a new one', async (open) => {
    const { read, write } = await open()
    const x = storedBlob('x')
    const remove = (tx: WriteTransaction, now: number) => tx.blobs.removeReferences('one', [x.hash], now)
    await write('durable', {}, async (tx) => {
      await tx.blobs.add('one', [x])
      await remove(tx, 1000)
      await tx.blobs.addReferences('one', [x.hash])
      assert.deepEqual(await tx.blobs.collect(9000, 10), { examined: 0, deleted: 0 })
      await remove(tx, 5000)
      assert.deepEqual(await tx.blobs.collect(4999, 10), { examined: 0, deleted: 0 })
    })
    assert.ok(await read.blobs.find(x.hash))
    await write('durable', {}, (tx) => tx.blobs.collect(5000, 10))
    assert.equal(await read.blobs.find(x.hash), undefined)
  })

  promises('a renamed site keeps the references of its files', async (open) => {
    const { read, write } = await open()
    const [first, second] = [storedBlob('first'), storedBlob('second')]
    const files = [first, second].map(({ hash, size }) => ({ path: hash, size, contentType: 'a/b', hash }))
    const injectedDocumentHash = blob('injected')
    await write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('old-name'))
      await tx.versions.insert(versionRow('v1', 'old-name', { files, injectedDocumentHash }))
      await tx.blobs.add('another', [second])
      await tx.blobs.add('old-name', [first, second])
      await tx.blobs.addReferences('old-name', [injectedDocumentHash])
      await tx.sites.rename('old-name', 'new-name', 1)
      await tx.blobs.removeReferences('old-name', [first.hash, second.hash, injectedDocumentHash], 1000)
      await tx.blobs.removeReferences('another', [second.hash], 1000)
      assert.deepEqual(await tx.blobs.collect(1000, 10), { examined: 1, deleted: 0 })
      const { hashes, injectedDocumentHash: document } = await tx.versions.remove('v1')
      await tx.blobs.removeReferences('new-name', [...hashes, document!], 2000)
      assert.deepEqual(await tx.blobs.collect(2000, 10), { examined: 3, deleted: 3 })
    })
    assert.equal((await read.blobs.listDiscarded(0, 10)).length, 2)
  })

  promises('the encodings that are recorded first stay, and go with their blob', async (open) => {
    const { read, write } = await open()
    const x = storedBlob('x')
    const files = [{ path: 'x', size: 7, contentType: 'a/b', hash: x.hash }]
    await write('durable', {}, async (tx) => {
      await tx.versions.insert(versionRow('v1', 'one', { files }))
      await tx.blobs.add('one', [x])
    })
    assert.deepEqual(await read.blobs.ofVersions(['v1']), [
      { hash: x.hash, location: { ...x, offset: 0 }, encodings: null, isBlocked: false },
    ])
    const [first, second] = [encodingsOf('x', 'e1'), encodingsOf('x', 'e2')]
    const none = { hash: blob('y'), br: null, zstd: null, gzip: null }
    await write('durable', {}, (tx) => tx.blobs.recordEncodings([first, none]))
    await write('durable', {}, (tx) => tx.blobs.recordEncodings([second]))
    assert.deepEqual(await read.blobs.listDiscarded(0, 10), ['e2'])
    const [record] = await read.blobs.ofVersions(['v1', 'unknown'])
    const { hash, ...locations } = first
    assert.deepEqual([record!.hash, record!.encodings], [hash, locations])
    assert.deepEqual(await read.blobs.withoutRow(['e1', 'e2', 'e3']), ['e3'])
    await write('durable', {}, async (tx) => {
      await tx.blobs.removeReferences('one', [x.hash], 1000)
      await tx.blobs.collect(1000, 10)
    })
    assert.deepEqual((await read.blobs.listDiscarded(0, 10)).sort(), ['e1', 'e2', x.object])
  })

  promises('a discarded object that is in use is kept; the deletion of others is postponed', async (open) => {
    const { read, write } = await open()
    const upload = { ...storedBlob('upload'), versionId: 'v1', fileNumber: 0 }
    const kept = storedBlob('kept')
    const objects = [upload.object, kept.object, 'encodings', 'unused']
    await write('durable', {}, async (tx) => {
      await tx.blobs.discard(objects)
      await tx.versions.recordArrivals([upload])
      await tx.blobs.add('one', [kept])
      await tx.blobs.recordEncodings([encodingsOf('kept', 'encodings')])
    })
    const unused = await write('durable', {}, (tx) => tx.blobs.postponeDiscarded(objects, 5000))
    assert.deepEqual(unused, ['unused'])
    assert.deepEqual(await read.blobs.listDiscarded(4999, 10), [])
    assert.deepEqual(await read.blobs.listDiscarded(5000, 10), ['unused'])
  })
}

/** Encodings in one object. */
function encodingsOf(name: string, object: string): BlobEncodings {
  const at = (offset: number, size: number) => {
    const hash = blob(`${object} ${offset}`)
    return { hash, size, object, offset, piecesHash: offset === 0 ? blob('pieces') : null }
  }
  return { hash: blob(name), br: at(0, 5), zstd: null, gzip: at(5, 6) }
}
