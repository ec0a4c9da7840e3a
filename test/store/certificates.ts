import assert from 'node:assert/strict'
import type { Certificate } from '../../server/store/tables/certificates.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { certificateRow, domainRow, plain, siteRow } from './rows.ts'

/** Promises about certificates and the state of the ACME client. */
export function storeCertificates(promises: Promises): void {
  promises('certificates are due in the order of their expiry, those without a chain first', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const [name, change] of Object.entries({
        late: { dueAt: 10, notAfter: 900, renewAt: 500 },
        soon: { dueAt: 20, notAfter: 800, renewAt: 500 },
        sooner: { dueAt: 15, notAfter: 800, renewAt: 15 },
        ordered: { dueAt: 15, notAfter: 850, renewAt: 500, orderUrl: 'order/1' },
        none: { dueAt: 20 },
        older: { dueAt: 5 },
        future: { dueAt: 21 },
        unused: { unusedSince: 3, notAfter: 100 },
      }))
        await tx.rows.insert('certificates', certificateRow(name, change))
    })
    const due = async (limit: number, withOrders: boolean) =>
      (await read.certificates.due(20, limit, { withOrders })).map(({ name }) => name)
    assert.deepEqual(await due(9, true), ['older', 'none', 'sooner', 'soon', 'ordered', 'late'])
    assert.deepEqual(await due(3, true), ['older', 'none', 'sooner'])
    assert.deepEqual(await due(9, false), ['soon', 'late'])
    const requested = pluck(await read.certificates.requested(), 'name')
    assert.deepEqual(requested, ['future', 'none', 'older', 'soon', 'sooner', 'ordered', 'late'])
  })

  promises('the first certificate to expire is one that is renewed, also an expired one', async (open) => {
    const { read, write } = await open()
    assert.equal(await read.certificates.nextToExpire(), undefined)
    const add = (name: string, change: Partial<Certificate>) =>
      write('durable', {}, (tx) =>
        tx.rows.insert('certificates', certificateRow(name, { notBefore: 1, ...change })),
      )
    await add('abandoned', { notAfter: 100, failures: 11 })
    await add('pending', { dueAt: 5, notBefore: null })
    await add('unused', { notAfter: 200, dueAt: 5, unusedSince: 3 })
    assert.equal(await read.certificates.nextToExpire(), undefined)
    await add('later', { notAfter: 400, dueAt: 5 })
    await add('expired', { notAfter: 300, dueAt: 5, failures: 11 })
    assert.deepEqual(await read.certificates.nextToExpire(), { notBefore: 1, notAfter: 300 })
  })

  promises('requested certificates are counted by their state', async (open) => {
    const { read, write } = await open()
    assert.deepEqual(await read.certificates.countByState(500), {
      valid: 0,
      failing: 0,
      pending: 0,
      expired: 0,
    })
    const problem = 'The certificate authority cannot be reached.'
    await write('durable', {}, async (tx) => {
      for (const [name, change] of Object.entries({
        one: { notAfter: 900 },
        two: { notAfter: 501 },
        failing: { notAfter: 800, failures: 2, problem },
        unreachable: { notAfter: 800, problem },
        expired: { notAfter: 500, failures: 3, problem },
        pending: { failures: 1, problem },
        waiting: {},
        'own.test': { problem },
        unused: { notAfter: 100, unusedSince: 3 },
      }))
        await tx.rows.insert('certificates', certificateRow(name, change))
      await tx.domains.insert(domainRow('pending'))
    })
    assert.deepEqual(await read.certificates.countByState(500), {
      valid: 2,
      failing: 3,
      pending: 2,
      expired: 1,
    })
  })

  for (const [what, change, changes] of [
    ['of the same chain', {}, true],
    ['that was replaced', { certificateId: 'b' }, false],
    ['with a pending order', { orderUrl: 'order/1' }, false],
    ['that is no longer requested', { unusedSince: 5 }, false],
  ] as [string, Partial<Certificate>, boolean][]) {
    promises(`the schedule of a certificate ${what} is ${changes ? 'changed' : 'kept'}`, async (open) => {
      const { read, write } = await open()
      const schedule = { renewAt: 30, informationAt: 20, dueAt: 20, hasRenewalInfo: true }
      const stored = certificateRow('a.test', { certificateId: 'a', ...change })
      await write('durable', {}, async (tx) => {
        await tx.rows.insert('certificates', stored)
        await tx.certificates.reschedule('a.test', 'a', schedule)
        await tx.certificates.reschedule('none', 'a', schedule)
      })
      const expected = changes ? { ...stored, ...schedule } : stored
      assert.deepEqual(plain(await read.certificates.find('a.test')), expected)
    })
  }

  promises('certificates are missing for active domains, and unneeded without one', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const domain of ['new.test', 'again.test', 'kept.test'])
        await tx.domains.insert(domainRow(domain, { status: 'active' }))
      await tx.domains.insert(domainRow('pending.test'))
      // A plan may compute slugs only where there are sites.
      await tx.sites.insert(siteRow('bakery'))
      for (const [name, unusedSince] of [
        ['again.test', 5],
        ['kept.test', null],
        ['pending.test', null],
        ['own.test', null],
        ['unused.test', 6],
      ] as const)
        await tx.rows.insert('certificates', certificateRow(name, { unusedSince }))
    })
    const { certificates } = read
    assert.deepEqual(await certificates.missing('', 9), {
      names: ['again.test', 'new.test'],
      next: undefined,
    })
    assert.deepEqual(await certificates.missing('', 2), { names: ['again.test'], next: 'kept.test' })
    assert.deepEqual(await certificates.missing('kept.test', 2), { names: ['new.test'], next: undefined })
    const others = ['own.test']
    assert.deepEqual(await certificates.unneeded('', 9, { others }), {
      names: ['pending.test'],
      next: undefined,
    })
    const siteDomain = 'a.domain.longer.than.any.name.test'
    assert.deepEqual((await certificates.unneeded('', 9, { others, siteDomain })).names, ['pending.test'])
    assert.deepEqual(await certificates.unneeded('', 2, { others: [] }), {
      names: ['own.test'],
      next: 'own.test',
    })
    assert.equal(await write('durable', {}, (tx) => tx.rows.removeBefore('certificates', 6, 9)), 1)
    assert.equal(await read.certificates.find('again.test'), undefined)
    assert.notEqual(await read.certificates.find('unused.test'), undefined)
  })

  promises('there is one account at a directory, also when several processes create it', async (open) => {
    const stores = [await open(), await open()]
    const created = await Promise.all(
      stores.map(({ write }, index) =>
        write('durable', {}, ({ acme }) =>
          acme.getOrCreateAccount({ directory: 'ca', key: `key ${index}`, url: null, createdAt: 7 }),
        ),
      ),
    )
    assert.deepEqual(plain(created[0]), plain(created[1]))
    await stores[0]!.write('durable', {}, ({ acme }) => acme.updateAccount('ca', { url: 'account/1' }))
    assert.deepEqual(plain(await stores[0]!.read.acme.account('ca')), { ...created[0], url: 'account/1' })
    assert.equal(await stores[0]!.read.acme.account('other'), undefined)
  })

  promises('challenges are read by type until they expire, the last to expire first', async (open) => {
    const { read, write } = await open()
    const first = {
      type: 'http-01',
      name: 'a.test',
      token: 't',
      keyAuthorization: 't.a',
      expiresAt: 10,
    } as const
    const replaced = { ...first, keyAuthorization: 't.b', expiresAt: 20 }
    const later = { ...first, token: 'u', expiresAt: 30 }
    await write('durable', {}, async ({ rows }) => {
      for (const challenge of [first, replaced, later, { ...first, type: 'tls-alpn-01' as const }])
        await rows.put('acme_challenges', challenge)
    })
    assert.deepEqual(plain(await read.acme.challenges('http-01', 19)), [later, replaced])
    assert.deepEqual(plain(await read.acme.challenges('http-01', 20)), [later])
    assert.equal(await write('durable', {}, ({ rows }) => rows.removeBefore('acme_challenges', 21, 9)), 2)
    await write('durable', {}, ({ acme }) => acme.deleteChallenges('a.test'))
    assert.deepEqual(await read.acme.challenges('http-01', 0), [])
  })
}
