import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startForAllTests } from '../support/started-fixture.ts'
import { MIB } from '../support/units.ts'
import { EdgeFixture, noise } from './fixture.ts'

// A node learns of the changes of others within a second. Until then its cached sites may name objects that were deleted.

const HOME = 'home'

/** What another node does without the knowledge of the visited one, and what that serves afterwards. */
const CHANGES: {
  title: string
  change(node: EdgeFixture, slug: string, bytes: Buffer): Promise<unknown>
  expected(bytes: Buffer): [status: number, body?: Buffer]
}[] = [
  {
    title: 'deleted and published again',
    async change(node, slug, bytes) {
      await node.createVersion(slug, { 'index.html': HOME, 'file.bin': 'between' })
      await collect(node, slug)
      await node.createVersion(slug, { 'index.html': HOME, 'file.bin': bytes })
    },
    expected: (bytes) => [200, bytes],
  },
  {
    title: 'replaced by another version',
    change: (node, slug) => node.createVersion(slug, { 'index.html': HOME, 'file.bin': 'later' }),
    expected: () => [200, Buffer.from('later')],
  },
  {
    title: 'deleted with its site',
    change: (node, slug) => node.deleteSite(slug, 'deleted'),
    expected: () => [404],
  },
]

describe('a file of a cached site', () => {
  const visited = EdgeFixture.shared()
  const other = startForAllTests(() => EdgeFixture.start({ folder: visited.folder }))

  for (const { title, change, expected } of CHANGES)
    for (const size of [100, MIB])
      test(`that another node has ${title} is served as it is now: ${size} bytes`, async () => {
        const bytes = noise(size)
        const slug = await visited.createSite()
        await visited.createVersion(slug, { 'index.html': HOME, 'file.bin': bytes })
        assert.equal((await visited.get(slug)).text, HOME)
        await change(other, slug, bytes)
        await collect(other, slug)
        const { status, body } = await visited.get(slug, '/file.bin')
        const [expectedStatus, expectedBody = body] = expected(bytes)
        assert.equal(status, expectedStatus)
        assert.ok(body.equals(expectedBody))
        assert.deepEqual(visited.logged, [])
      })
})

/** Deletes the versions of the site that are not live, and the objects that nothing refers to, without a grace period. */
async function collect(node: EdgeFixture, slug: string): Promise<void> {
  const { real } = node.store
  const { liveVersionId = null } = (await real.read.sites.find(slug)) ?? {}
  for (const { id } of await real.read.versions.bySlug(slug))
    if (id !== liveVersionId) await node.deleteVersion(slug, id)
  await real.write('durable', {}, (tx) => tx.blobs.collect(node.clock.now, 100))
  await node.blobs.remove(await real.read.blobs.listDiscarded(node.clock.now, 100))
}
