import assert from 'node:assert/strict'
import type { Block } from '../../server/store/tables/moderation.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { blob, plain, reportedSite } from './rows.ts'

/** Promises about suspensions, blocks, reports and accepted contents. */
export function storeModeration(promises: Promises): void {
  promises('blocks are listed in pages, replaced, and removed', async (open) => {
    const { read, write } = await open()
    const block = (value: string, change: Partial<Block> = {}): Block => {
      return { kind: 'hash', value, reason: 'malware', createdAt: 1, expiresAt: null, ...change }
    }
    const [old, temporary, network] = [
      block('old'),
      block('temporary', { createdAt: 2, expiresAt: 10 }),
      block('192.0.2.0/24', { kind: 'network', expiresAt: 20 }),
    ]
    await write('durable', {}, async (tx) => {
      for (const one of [block('old', { reason: 'a typo' }), temporary, network, old])
        await tx.rows.put('blocks', one)
    })
    const first = { kind: 'hash', value: '' } as const
    assert.deepEqual(plain(await read.blocks.page(first, 2)), [old, temporary])
    assert.deepEqual(plain(await read.blocks.page(old, 2)), [temporary, network])
    assert.deepEqual(await read.blocks.page(network, 2), [])
    const found = await read.blocks.among([network.value, 'old', 'unknown'])
    assert.deepEqual(pluck(found, 'value').sort(), [network.value, 'old'])
    assert.equal(await read.blocks.countOthers('hash', 'old'), 1)
    assert.deepEqual(plain(await read.blocks.expired(10, 5)), [temporary])
    assert.deepEqual(plain(await read.blocks.expired(20, 1)), [temporary])
    const remove = (...given: [Block['kind'], string, number?]) =>
      write('durable', {}, (tx) => tx.blocks.remove(...given))
    assert.deepEqual(
      [
        await remove('network', 'old'),
        await remove('hash', 'old'),
        await remove('hash', 'old'),
        await remove('hash', 'temporary', 9),
        await remove('hash', 'temporary', 10),
      ],
      [false, true, false, false, true],
    )
  })

  promises('reports are one row for each site, listed by their state, the last one first', async (open) => {
    const { read, write } = await open()
    const report = {
      at: 5,
      reason: 'phishing',
      url: 'https://a.test/',
      text: 'A copy of a bank',
      email: null,
    }
    const rows = [
      reportedSite('a', { lastAt: 5, latest: [report] }),
      reportedSite('b', { lastAt: 7, mailedCount: 1, mailedAt: 7 }),
      reportedSite('c', { lastAt: 7, count: 3, mailedCount: 1, mailedAt: 7 }),
      reportedSite('d', { lastAt: 9, state: 'dismissed', decidedAt: 10 }),
    ]
    await write('durable', {}, async (tx) => {
      await tx.rows.put('reports', reportedSite('a'))
      for (const row of rows) await tx.rows.put('reports', row)
    })
    assert.deepEqual(plain(await read.reports.find('a')), rows[0])
    assert.equal(await read.reports.find('x'), undefined)
    const list = async (...given: Parameters<typeof read.reports.list>) =>
      pluck(await read.reports.list(...given), 'site')
    assert.deepEqual(await list('open', { limit: 2 }), ['c', 'b'])
    assert.deepEqual(await list('open', { limit: 2, before: { lastAt: 7, site: 'b' } }), ['a'])
    assert.deepEqual(await list('dismissed', { limit: 2 }), ['d'])
    const unmailed = async (before: number) => pluck(await read.reports.unmailed(before, 10), 'site')
    assert.deepEqual([await unmailed(6), await unmailed(7)], [['a'], ['c', 'a']])
    const clean = (limit: number) => write('relaxed', {}, (tx) => tx.rows.removeBefore('reports', 8, limit))
    assert.deepEqual([await clean(2), await clean(2), await clean(2)], [2, 1, 0])
    assert.deepEqual(await list('dismissed', { limit: 2 }), ['d'])
  })

  promises('an accepted content counts for its scanner, for a time', async (open) => {
    const { read, write } = await open()
    const hashes = Array.from({ length: 1200 }, (_, number) => blob(number))
    const accept = (scanner: string, some: readonly string[], now: number) =>
      write('relaxed', {}, (tx) => tx.scans.accept(scanner, some, now))
    await accept('one', hashes, 10)
    await accept('one', hashes.slice(0, 2), 20)
    await accept('two', hashes.slice(0, 1), 10)
    const count = async (scanner: string, since: number) =>
      (await read.scans.acceptedAmong(scanner, hashes, since)).size
    assert.deepEqual(
      [await count('one', 10), await count('one', 11), await count('two', 0), await count('three', 0)],
      [1200, 2, 1, 0],
    )
    const clean = (limit: number) =>
      write('relaxed', {}, (tx) => tx.rows.removeBefore('accepted_scans', 20, limit))
    assert.deepEqual([await clean(1000), await clean(1000), await clean(1000)], [1000, 199, 0])
    assert.equal(await count('one', 0), 2)
  })
}
