import assert from 'node:assert/strict'
import { FULL_GRANT } from '../../server/accounts/authorization.ts'
import { mintKey } from '../../server/accounts/named-keys.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import type { NamedKey } from '../../server/store/tables/keys.ts'
import type { Promises } from './contract.ts'
import { accountRow, keyRow, plain } from './rows.ts'

/** Promises about keys, and about sign-ins of devices. */
export function storeKeys(promises: Promises): void {
  const add = ({ write }: Store, ...keys: NamedKey[]) =>
    write('durable', {}, async (tx) => {
      await tx.rows.insert('accounts', accountRow('ann', { keyHash: 'own' }))
      for (const key of keys) await tx.rows.insert('named_keys', key)
    })

  promises('a key is found by one of its hashes, with its account and what it permits', async (open) => {
    const store = await open()
    const limited = keyRow('limited', {
      scope: 'read',
      sites: ['bakery'],
      expiresAt: 100,
      issuedBy: 'a program',
    })
    await add(store, limited, keyRow('plain'))
    const find = async (keyHash: string) => plain(await store.read.keys.find(keyHash))
    const account = accountRow('ann', { keyHash: 'own' })
    assert.deepEqual(await find('own'), { account, key: null })
    assert.deepEqual(await find('limited'), { account, key: limited })
    assert.deepEqual(await find('plain'), { account, key: keyRow('plain') })
    assert.equal(await find('x'), undefined)
    assert.deepEqual((await store.read.keys.valid(['own', 'limited', 'plain', 'x'], 99)).sort(), [
      ...['limited', 'own', 'plain'],
    ])
    assert.deepEqual((await store.read.keys.valid(['own', 'limited', 'plain'], 100)).sort(), ['own', 'plain'])
  })

  promises(
    'the last use of a key is recorded, and expired keys are deleted when their time has come',
    async (open) => {
      const store = await open()
      const { read, write } = store
      await add(store, keyRow('used'), keyRow('old', { expiresAt: 10 }), keyRow('recent', { expiresAt: 50 }))
      await write('durable', {}, (tx) =>
        tx.rows.insert('named_keys', keyRow('issued', { expiresAt: 50, issuedBy: 'a program' })),
      )
      for (const [now, before] of [
        [100, 50],
        [120, 70],
        [200, 150],
      ] as const)
        await write('relaxed', {}, (tx) => tx.keys.recordUse('used', now, before))
      assert.equal((await read.keys.find('used'))?.key?.lastUsedAt, 200)
      const sweep = (limit: number) =>
        write('relaxed', {}, (tx) => tx.keys.deleteExpired({ now: 50, before: 20, limit }))
      assert.deepEqual([await sweep(1), await sweep(1), await sweep(1)], [1, 1, 0])
      assert.deepEqual((await read.keys.list('ann')).map(({ name }) => name).sort(), ['recent', 'used'])
    },
  )

  promises('issued keys are neither listed nor limited with named ones, and end together', async (open) => {
    const { read, write } = await open()
    const issued = {
      accountId: 'ann',
      name: 'job',
      grant: { ...FULL_GRANT, expiresAt: DAY_MS },
      issuedBy: 'trust',
    }
    await write('durable', {}, async (tx) => {
      await tx.rows.insert('accounts', accountRow('ann'))
      for (let number = 0; number < 500; number++) await mintKey(tx, issued, 1)
    })
    assert.deepEqual([await read.keys.countIssued('ann'), await read.keys.list('ann')], [500, []])
    const beyond = write('durable', {}, (tx) => mintKey(tx, { ...issued, issuedBy: 'another' }, 1))
    await assert.rejects(beyond, { code: 'KEY_LIMIT_REACHED' })
    await write('durable', {}, (tx) => tx.keys.deleteIssued('ann', 'trust'))
    assert.equal(await read.keys.countIssued('ann'), 0)
  })
}
