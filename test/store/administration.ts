import assert from 'node:assert/strict'
import { Administrators } from '../../server/accounts/administrators.ts'
import { countFigures } from '../../server/operations/administration/figures.ts'
import { COMMAND_LINE } from '../../server/store/contract/audit.ts'
import type { Store } from '../../server/store/store.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { accountRow, siteRow } from './rows.ts'
import { withMethods } from './with-methods.ts'

/** Lists, figures and logs of administrators. */
export function storeAdministration(promises: Promises): void {
  promises('counting all sites lets other work run after each page', async (open) => {
    const store = await open()
    await store.write('relaxed', {}, async (tx) => {
      for (let number = 0; number < 120; number++) await tx.sites.insert(siteRow(`site-${number}`))
    })
    assert.equal(await countFigures(store), 120)
    // The second time nothing is written, which takes turns too.
    let turns = 0
    let next = setImmediate(function count() {
      turns++
      next = setImmediate(count)
    })
    assert.equal(await countFigures(store), 0)
    clearImmediate(next)
    assert.ok(turns >= 3, `${turns}`)
  })

  promises('the audit log is read from its end, by pages and by target', async (open) => {
    const { read, write } = await open()
    const actor = { accountId: 'ann', name: 'ann@example.test', network: '192.0.2.0/24' }
    await write('durable', {}, async (tx) => {
      for (const at of [1, 2, 2, 3])
        await tx.audit.add({ at, actor, action: 'site.suspend', target: `t${at}`, details: { reason: 'x' } })
      await tx.audit.add({ at: 4, actor: COMMAND_LINE, action: 'site.resume', target: 't3' })
    })
    const first = await read.audit.list({ limit: 3 })
    const rest = await read.audit.list({ limit: 3, after: first.at(-1)! })
    assert.deepEqual(pluck([...first, ...rest], 'at'), [4, 3, 2, 2, 1])
    const { id: _, ...entry } = first[1]!
    assert.deepEqual(entry, { at: 3, actor, action: 'site.suspend', target: 't3', details: { reason: 'x' } })
    assert.deepEqual(pluck(await read.audit.list({ limit: 9, target: 't3' }), 'action'), [
      'site.resume',
      'site.suspend',
    ])
    assert.equal(await write('relaxed', {}, (tx) => tx.audit.deleteBefore(3, 2)), 2)
    assert.equal((await read.audit.list({ limit: 9 })).length, 3)
  })

  promises(
    'of the last two administrators who remove each other at the same time one stays',
    async (open) => {
      const stores = [await open(), await open()] as const
      const names = ['ann', 'bob'] as const
      await stores[0].write('durable', {}, async (tx) => {
        for (const name of names) await tx.accounts.insert(accountRow(name, { administratorSince: 1 }))
      })
      let readers = 0
      /** Has read the administrators, and waits for the other one as long as that may take without a lock. */
      const isRead = async (store: Store) => {
        readers++
        for (let round = 0; readers < 2 && round < 100; round++) await store.check()
      }
      const removals = stores.map(async (store, at) => {
        const slow: Store = {
          ...store,
          write: (durability, scope, work) =>
            store.write(durability, scope, (tx) => {
              const administrators = async () => {
                const found = await tx.accounts.administrators()
                await isRead(store)
                return found
              }
              return work({ ...tx, accounts: withMethods(tx.accounts, { administrators }) })
            }),
        }
        const account = accountRow(names[at]!)
        const caller = { account, address: '192.0.2.1', signedInWith: 'dashboard' as const }
        await new Administrators({ store: slow, clock: Date.now }).set(caller, names[1 - at]!, false)
      })
      const outcomes = await Promise.allSettled(removals)
      assert.deepEqual(
        outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code).sort(),
        ['LAST_ADMINISTRATOR', false],
      )
      assert.equal((await stores[0].read.accounts.administrators()).length, 1)
    },
  )
}
