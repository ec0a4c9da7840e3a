import assert from 'node:assert/strict'
import type { Certificate } from '../../server/store/contract/certificates.ts'
import type { Promises } from './contract.ts'
import { certificateRow, domainRow } from './rows.ts'

/** Promises about certificates and the state of the ACME client. */
export function storeCertificates(promises: Promises): void {
  promises(
    'the schedule of a certificate is changed while it is requested, and only for its chain',
    async (open) => {
      const { read, write } = await open()
      const schedule = { renewAt: 30, informationAt: 20, dueAt: 20, hasRenewalInfo: true }
      const kept: Record<string, Partial<Certificate>> = {
        'replaced.test': { certificateId: 'b' },
        'ordered.test': { orderUrl: 'order/1' },
        'unused.test': { unusedSince: 5 },
      }
      for (const [name, change] of Object.entries({ 'same.test': {}, ...kept })) {
        const stored = certificateRow(name, { certificateId: 'a', ...change })
        await write('durable', {}, async (tx) => {
          await tx.certificates.insert(stored)
          await tx.certificates.reschedule(name, 'a', schedule)
        })
        assert.deepEqual(
          await read.certificates.find(name),
          name in kept ? stored : { ...stored, ...schedule },
        )
      }
    },
  )

  promises('certificates are missing for active domains, and unneeded without one', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const domain of ['new.test', 'again.test', 'kept.test'])
        await tx.domains.insert(domainRow(domain, { status: 'active' }))
      await tx.domains.insert(domainRow('pending.test'))
      for (const [name, unusedSince] of [
        ['again.test', 5],
        ['kept.test', null],
        ['pending.test', null],
        ['own.test', null],
        ['unused.test', 6],
      ] as const)
        await tx.certificates.insert(certificateRow(name, { unusedSince }))
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
    assert.equal(await write('durable', {}, (tx) => tx.certificates.deleteUnused(6)), 1)
    assert.equal(await read.certificates.find('again.test'), undefined)
    assert.notEqual(await read.certificates.find('unused.test'), undefined)
  })
}
