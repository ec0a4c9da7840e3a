import assert from 'node:assert/strict'
import { createObjectName, type StoredBlob } from '../../server/blobs/blobs.ts'
import type { WriteTransaction } from '../../server/store/store.ts'
import type { BlobEncodings } from '../../server/store/tables/blobs.ts'
import { recordsOf } from '../blobs/bytes.ts'
import { pluck } from '../support/pluck.ts'
import { anySeed, Random } from '../support/random.ts'
import type { Promises } from './contract.ts'
import { blob, siteRow, storedBlob, versionRow } from './rows.ts'

const NOW = Date.UTC(2026, 0, 1)

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
      assert.deepEqual(pluck(held, 'objects'), [
        new Set([first.object]),
        new Set([first.object, other.object]),
        new Set([first.object]),
      ])
      assert.deepEqual(await read.blobs.find(first.hash), { ...first, offset: 0 })
      assert.equal(await read.blobs.find(blob('unknown')), undefined)
    },
  )

  promises(
    'a damaged object is replaced by the next upload of its content, and by no other',
    async (open) => {
      const { read, write } = await open()
      for (const isNamedByHash of [true, false]) {
        const content = `damaged ${isNamedByHash}`
        const { hash } = storedBlob(content)
        const [old, next, later] = [1, 2, 3].map((number) => ({
          ...storedBlob(content, `${content} ${number}`),
          object: createObjectName(NOW + number, { ...(isNamedByHash && { hash }) }),
          piecesHash: `of ${number}`,
        })) as [StoredBlob, StoredBlob, StoredBlob]
        const add = (slug: string, one: StoredBlob) => write('durable', {}, (tx) => tx.blobs.add(slug, [one]))
        const mark = ({ object }: StoredBlob) => write('relaxed', {}, (tx) => tx.blobs.markDamaged(object))
        const others = Array.from({ length: 501 }, (_, number) => blob(`unknown ${number}`))
        const listDamaged = () => read.blobs.damagedAmong([...others, hash])
        await add('one', old)
        await mark(next)
        assert.deepEqual(await listDamaged(), new Set())
        for (let times = 0; times < 2; times++) await mark(old)
        assert.deepEqual(await listDamaged(), new Set([hash]))
        assert.equal((await read.blobs.find(hash))?.object, old.object, 'who reads it may find it repaired')
        await write('durable', {}, (tx) => tx.blobs.addReferences('two', [hash]))
        assert.deepEqual(await listDamaged(), new Set([hash]))
        const added = await Promise.all([add('three', next), add('two', later)])
        assert.deepEqual(
          added.flatMap(({ replaced }) => replaced),
          [hash],
        )
        const { object } = (await read.blobs.find(hash))!
        for (const { objects } of added) assert.deepEqual(objects, new Set([object]))
        assert.deepEqual(await read.blobs.find(hash), {
          ...(object === next.object ? next : later),
          offset: 0,
        })
        assert.deepEqual(await listDamaged(), new Set())
        assert.deepEqual(await read.blobs.listDiscarded(0, 10), [old.object])
        assert.deepEqual(await read.blobs.referencingSites([hash], '', 10), ['one', 'three', 'two'])
        await write('relaxed', {}, (tx) => tx.blobs.forgetDiscarded([old.object]))
        await mark(old)
        assert.deepEqual((await add('four', old)).replaced, [])
        assert.deepEqual(await read.blobs.listDiscarded(0, 10), [])
      }
    },
  )

  promises('blobs are listed in the order of their hashes, with their encodings', async (open) => {
    const { read, write } = await open()
    const stored = Array.from({ length: 5 }, (_, number) => storedBlob(`listed ${number}`))
    const encoded = storedBlob('a document of which only encodings are stored')
    const encodings = { br: { ...storedBlob('br'), offset: 7 }, zstd: null, gzip: null }
    await write('durable', {}, async (tx) => {
      await tx.blobs.add('one', stored)
      await tx.blobs.addReferences('one', [encoded.hash])
      await tx.blobs.recordEncodings([{ ...encodings, hash: encoded.hash }])
    })
    const hashes = [...stored, encoded].map(({ hash }) => hash).sort()
    const listed = await read.blobs.list('', 10)
    assert.deepEqual(pluck(listed, 'hash'), hashes)
    const { location, encodings: found } = listed.find(({ hash }) => hash === encoded.hash)!
    assert.deepEqual([location, found], [null, encodings])
    const page = await read.blobs.list(hashes[1]!, 2)
    assert.deepEqual(pluck(page, 'hash'), hashes.slice(2, 4))
  })

  promises('two uploads of the same content in one version need one object', async (open) => {
    const { write } = await open()
    const blobs = [storedBlob('x', 1), storedBlob('x', 2)]
    assert.equal((await write('durable', {}, (tx) => tx.blobs.add('one', blobs))).objects.size, 1)
  })

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

  promises(
    'a content that a site adds again when the first site with it is deleted counts once',
    async (open) => {
      const { write } = await open()
      const x = storedBlob('x')
      const [counted, removed] = await write('durable', {}, async (tx) => {
        for (const slug of ['one', 'two']) await tx.blobs.add(slug, [x])
        await tx.blobs.removeReferences('one', [x.hash], 1000)
        await tx.blobs.add('two', [x])
        return [
          await tx.references.sum('two', null),
          await tx.blobs.removeReferences('two', [x.hash], 2000),
        ] as const
      })
      assert.equal(counted.bytes, x.size)
      assert.deepEqual(pluck(removed, 'size'), [x.size])
    },
  )

  promises('the references of several sites are independent of their order', async (open) => {
    const { write } = await open()
    const x = storedBlob('x')
    const remaining = await write('durable', {}, async (tx) => {
      const steps: number[] = []
      const drop = async (slug: string, now: number) => {
        await tx.blobs.removeReferences(slug, [x.hash], now)
        steps.push((await tx.blobs.collect(now, 10)).deleted)
      }
      await tx.blobs.add('one', [x])
      await tx.blobs.addReferences('two', [x.hash])
      await tx.blobs.addReferences('three', [x.hash, x.hash])
      await drop('one', 1)
      await tx.blobs.addReferences('two', [x.hash])
      await drop('two', 2)
      await drop('two', 3)
      await tx.blobs.add('one', [storedBlob('x', 'again')])
      await drop('three', 4)
      await drop('one', 5)
      return steps
    })
    assert.deepEqual(remaining, [0, 0, 0, 0, 1])
  })

  promises(
    'the last owners of a blob lose it while another site publishes the same bytes: it stays',
    async (open) => {
      const [one, two, third, collector] = await Promise.all([open(), open(), open(), open()])
      const seed = anySeed()
      const random = new Random(seed)
      for (let round = 0; round < 10; round++) {
        const x = storedBlob(round, `${round}-shared`)
        const later = storedBlob(round, `${round}-later`)
        const collect = () => collector.write('durable', {}, (tx) => tx.blobs.collect(round, 10))
        await one.write('durable', { site: ['one', 'two'] }, async (tx) => {
          await tx.blobs.add('one', [x])
          await tx.blobs.add('two', [x])
        })
        const calls = [
          () =>
            one.write('durable', { site: 'one' }, (tx) => tx.blobs.removeReferences('one', [x.hash], round)),
          () =>
            two.write('durable', { site: 'two' }, (tx) => tx.blobs.removeReferences('two', [x.hash], round)),
          () => third.write('durable', { site: 'third' }, (tx) => tx.blobs.add('third', [later])),
          collect,
          collect,
        ]
        await Promise.all(random.shuffle(calls).map((call) => call()))
        await collect()
        const where = `round ${round} of seed ${seed}`
        const { object } = (await third.read.blobs.find(x.hash)) ?? assert.fail(`no blob in ${where}`)
        const isAddedAnew = object === later.object
        assert.deepEqual(await third.read.blobs.listDiscarded(0, 10), isAddedAnew ? [x.object] : [], where)
        await third.write('durable', {}, async (tx) => {
          await tx.blobs.removeReferences('third', [x.hash], round)
          await tx.blobs.forgetDiscarded([x.object])
        })
        assert.equal((await collect()).deleted, 1, where)
        await third.write('durable', {}, (tx) => tx.blobs.forgetDiscarded([object]))
      }
    },
  )

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
    const { write } = await open()
    const [first, second, third] = ['first', 'second', 'third'].map((name) => storedBlob(name))
    const hashes = [first!, second!, third!].map(({ hash }) => hash)
    const ownerId = 'anna'
    await write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow('old-name', { ownerId }))
      await tx.sites.insert(siteRow('another', { ownerId }), versionRow('v1', 'another'))
      await tx.blobs.add('another', [second!])
      await tx.blobs.add('old-name', [first!, second!])
      await tx.sites.rename('old-name', 'new-name', 1)
      await tx.rows.insert('versions', versionRow('v2', 'new-name', { state: 'pending' }))
      await tx.blobs.add('old-name', [third!])
      await tx.versions.recordArrivals(
        [first!, second!, storedBlob('new')].map((one, fileNumber) => ({
          ...one,
          versionId: 'v2',
          fileNumber,
        })),
      )
      const taken = await tx.versions.takeArrivals('v2')
      assert.deepEqual(
        taken.sort((one, other) => one.fileNumber - other.fileNumber).map(({ isReferenced }) => isReferenced),
        [true, true, false],
      )
      assert.deepEqual(await tx.references.heldBeside('another', ownerId, hashes), new Set(hashes))
      assert.deepEqual(await tx.references.heldBeside('old-name', ownerId, hashes), new Set([second!.hash]))
      const keys = await tx.blobs.referencingSites(hashes, '', 10)
      assert.deepEqual([...(await tx.sites.currentSlugs(keys)).values()].sort(), ['another', 'new-name'])
      await tx.blobs.removeReferences('another', [second!.hash], 1000)
      assert.deepEqual(await tx.blobs.collect(1000, 10), { examined: 1, deleted: 0 })
    })
  })

  promises('the encodings that are recorded first stay, and go with their blob', async (open) => {
    const { read, write } = await open()
    const x = storedBlob('x')
    const files = [{ path: 'x', size: 7, contentType: 'a/b', hash: x.hash }]
    await write('durable', {}, async (tx) => {
      await tx.rows.insert('versions', versionRow('v1', 'one', { files }))
      await tx.blobs.add('one', [x])
    })
    assert.deepEqual(await recordsOf(read, ['v1']), [
      { hash: x.hash, location: { ...x, offset: 0 }, encodings: null, blockedUntil: 0 },
    ])
    const [first, second] = [encodingsOf('x', 'e1'), encodingsOf('x', 'e2')]
    const none = Array.from({ length: 501 }, (_, number) => {
      return { hash: blob(`y ${number}`), br: null, zstd: null, gzip: null }
    })
    await write('durable', {}, (tx) => tx.blobs.recordEncodings([...none, first]))
    await write('durable', {}, (tx) => tx.blobs.recordEncodings([second]))
    assert.deepEqual(await read.blobs.listDiscarded(0, 10), ['e2'])
    const [record] = await recordsOf(read, ['v1', 'unknown'])
    const { hash, ...locations } = first
    assert.deepEqual([record!.hash, record!.encodings], [hash, locations])
    assert.deepEqual(await read.blobs.withoutRow(['e1', 'e2', 'e3']), ['e3'])
    await write('durable', {}, async (tx) => {
      await tx.blobs.removeReferences('one', [x.hash], 1000)
      await tx.blobs.collect(1000, 10)
    })
    assert.deepEqual((await read.blobs.listDiscarded(0, 10)).sort(), ['e1', 'e2', x.object])
  })

  promises(
    'a content of which only encodings are stored has no location until it is uploaded',
    async (open) => {
      const { read, write } = await open()
      const x = storedBlob('x')
      await write('durable', {}, (tx) => tx.blobs.addReferences('one', [x.hash]))
      assert.equal(await read.blobs.find(x.hash), undefined)
      await write('durable', {}, (tx) => tx.blobs.add('two', [x]))
      assert.deepEqual(await read.blobs.find(x.hash), { ...x, offset: 0 })
    },
  )

  promises('a later upload of a file replaces an earlier one, unless it has the same bytes', async (open) => {
    const { read, write } = await open()
    const arrival = (name: string, object: string, fileNumber = 0) => ({
      ...storedBlob(name, object),
      versionId: 'v1',
      fileNumber,
    })
    const record = (...arrivals: ReturnType<typeof arrival>[]) =>
      write('relaxed', {}, (tx) => tx.versions.recordArrivals(arrivals))
    assert.deepEqual(await record(arrival('x', 'a'), arrival('y', 'b', 1)), [])
    assert.deepEqual(await record(arrival('x', 'c')), ['object-c'])
    assert.deepEqual(await record(arrival('z', 'd'), arrival('z', 'e')), ['object-d', 'object-a'])
    const listed = await read.versions.listArrivals('v1')
    assert.deepEqual(listed.map(({ object }) => object).sort(), ['object-b', 'object-e'])
    assert.deepEqual((await read.blobs.listDiscarded(0, 10)).sort(), ['object-a', 'object-c', 'object-d'])
    const others = Array.from({ length: 501 }, (_, number) => `object-x${number}`)
    const taken = await write('relaxed', {}, (tx) => tx.versions.takeArrivals('v1', [...others, 'object-b']))
    assert.deepEqual(taken, [{ ...arrival('y', 'b', 1), isReferenced: false }])
    await write('relaxed', {}, (tx) => tx.versions.remove('v1'))
    assert.deepEqual(await read.versions.listArrivals('v1'), [])
    assert.ok((await read.blobs.listDiscarded(0, 10)).includes('object-e'))
  })

  promises(
    'received files of versions that are not pending are discarded when they are old',
    async (open) => {
      const { read, write } = await open()
      await write('durable', {}, async (tx) => {
        await tx.rows.insert('versions', versionRow('b-version', 'one', { state: 'pending' }))
        await tx.rows.insert('versions', versionRow('a-ready', 'one'))
        for (const versionId of ['a-ready', 'a-stray', 'b-version', 'c-stray'])
          await tx.versions.recordArrivals([{ ...storedBlob(versionId), versionId, fileNumber: 0 }])
        assert.equal(await tx.versions.discardStrayArrivals('c'), 2)
      })
      assert.deepEqual((await read.blobs.listDiscarded(0, 10)).sort(), ['object-a-ready', 'object-a-stray'])
    },
  )

  promises(
    'an object has a row while an upload, a blob, an encoding or a deletion names it',
    async (open) => {
      const { read, write } = await open()
      const upload = { ...storedBlob('upload'), versionId: 'v1', fileNumber: 0 }
      const kept = storedBlob('kept')
      const [own = '', stray = ''] = [1, 2].map(() => createObjectName(NOW, { hash: blob('named') }))
      const named = { ...storedBlob('named'), object: `${own}.12345678` }
      await write('durable', {}, async (tx) => {
        await tx.versions.recordArrivals([upload])
        await tx.blobs.add('one', [kept, named])
        await tx.blobs.recordEncodings([encodingsOf('kept', 'encodings')])
        await tx.blobs.discard(['discarded', 'discarded'], 5000)
      })
      const objects = [upload.object, kept.object, named.object, 'encodings', 'discarded']
      const strays = ['stray', stray, own]
      assert.deepEqual(await read.blobs.withoutRow([...objects, ...strays]), strays)
      assert.deepEqual(await read.blobs.listDiscarded(4999, 10), [])
      assert.deepEqual(await read.blobs.withoutRow([]), [])
    },
  )

  promises('a discarded object that is in use is kept; the deletion of others is postponed', async (open) => {
    const { read, write } = await open()
    const upload = { ...storedBlob('upload'), versionId: 'v1', fileNumber: 0 }
    const kept = storedBlob('kept')
    const unused = Array.from({ length: 501 }, (_, number) => `unused ${1000 + number}`)
    const objects = [...unused, upload.object, kept.object, 'encodings']
    await write('durable', {}, async (tx) => {
      await tx.blobs.discard(objects)
      await tx.versions.recordArrivals([upload])
      await tx.blobs.add('one', [kept])
      await tx.blobs.recordEncodings([encodingsOf('kept', 'encodings')])
    })
    const postponed = await write('durable', {}, (tx) => tx.blobs.postponeDiscarded(objects, 5000))
    assert.deepEqual(postponed, unused)
    assert.deepEqual(await read.blobs.listDiscarded(4999, 1000), [])
    assert.deepEqual((await read.blobs.listDiscarded(5000, 1000)).toSorted(), unused)
  })

  promises('a job continues at the place that it has stored', async (open) => {
    const { read, write } = await open()
    const set = (position: string | undefined) =>
      write('relaxed', {}, (tx) => tx.jobCursors.set('a-job', position))
    assert.equal(await read.jobCursors.find('a-job'), undefined)
    for (const position of ['a', 'b', undefined, undefined, 'c']) {
      await set(position)
      assert.equal(await read.jobCursors.find('a-job'), position)
    }
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
