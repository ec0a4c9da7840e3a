import assert from 'node:assert/strict'
import type { Promises } from './contract.ts'
import { domainRow, plain } from './rows.ts'

/** Promises about domains and reservations. */
export function storeDomains(promises: Promises): void {
  promises('a domain can be pending for many accounts and active for one', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      for (const accountId of ['ann', 'bob']) await tx.domains.insert(domainRow('a.test', { accountId }))
      await tx.domains.insert(domainRow('b.test', { accountId: 'ann', status: 'active', slug: 'b-site' }))
      await tx.domains.insert(domainRow('b.test', { accountId: 'bob', slug: 'b-site' }))
    })
    assert.equal(await read.domains.active('a.test'), undefined)
    assert.equal((await read.domains.active('b.test'))?.accountId, 'ann')
    assert.equal(await read.domains.count('ann'), 2)
    assert.equal(await write('durable', (tx) => tx.domains.remove('ann', 'a.test')), true)
    await write('durable', (tx) => tx.domains.removeOfSite('b-site'))
    assert.deepEqual([await read.domains.count('ann'), await read.domains.count('bob')], [0, 1])
  })

  promises('domains are due by time, counted by pair and updated individually', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      for (const [domain, nextCheckAt] of Object.entries({
        'c.test': 30,
        'b.test': 20,
        'a.test': 20,
        'n.test': null,
      }))
        await tx.domains.insert(domainRow(domain, { accountId: 'ann', nextCheckAt }))
      await tx.domains.insert(domainRow('www.a.test', { accountId: 'ann', primaryDomain: 'a.test' }))
      await tx.domains.insert(domainRow('a.test', { accountId: 'bob' }))
    })
    const due = async (now: number, limit: number) =>
      (await read.domains.due(now, { limit, slow: false })).map((row) => row.domain)
    assert.deepEqual(
      [await due(19, 9), await due(20, 9), await due(99, 2)],
      [[], ['a.test', 'b.test'], ['a.test', 'b.test']],
    )
    assert.equal(await read.domains.count('ann'), 4)
    assert.equal((await read.domains.secondary('ann', 'a.test'))?.domain, 'www.a.test')
    assert.equal(await read.domains.secondary('bob', 'a.test'), undefined)
    await write('durable', (tx) => tx.domains.update({ accountId: 'ann', domain: 'a.test' }, { reason: 'x' }))
    assert.deepEqual(
      [
        (await read.domains.find('ann', 'a.test'))?.reason,
        (await read.domains.find('bob', 'a.test'))?.reason,
      ],
      ['x', null],
    )
    assert.deepEqual(
      (await read.domains.bySite('a-site')).map((row) => row.domain),
      ['a.test', 'a.test', 'b.test', 'c.test', 'n.test', 'www.a.test'],
    )
  })

  promises('a domain is reserved for one account at a time, until a time', async (open) => {
    const { read, write } = await open()
    const held = { domain: 'a.test', accountId: 'ann', verificationToken: 'one', until: 100 }
    await write('durable', (tx) => tx.domains.reserve(held))
    assert.deepEqual(plain(await read.domains.reservation('a.test', 99)), held)
    assert.equal(await read.domains.reservation('a.test', 100), undefined)
    await write('durable', (tx) => tx.domains.reserve({ ...held, accountId: 'bob', until: 200 }))
    assert.equal((await read.domains.reservation('a.test', 150))?.accountId, 'bob')
    const heldBy = (now: number) =>
      Promise.all(['ann', 'bob'].map((one) => read.domains.countReservations(one, now)))
    assert.deepEqual(
      [await heldBy(199), await heldBy(200)],
      [
        [0, 1],
        [0, 0],
      ],
    )
    assert.equal(await write('relaxed', (tx) => tx.domains.deleteExpiredReservations(199)), 0)
    assert.equal(await write('relaxed', (tx) => tx.domains.deleteExpiredReservations(200)), 1)
    await write('durable', (tx) => tx.domains.reserve(held))
    await write('durable', (tx) => tx.domains.releaseReservation('a.test'))
    assert.equal(await read.domains.reservation('a.test', 0), undefined)
  })
}
