import assert from 'node:assert/strict'
import type { OAuthRecord } from '../../server/store/tables/keys.ts'
import type { Promises } from './contract.ts'
import { accountRow, oauthRow, plain } from './rows.ts'

/** Promises about the records of OAuth. */
export function storeOAuth(promises: Promises): void {
  const record = (idHash: string, more: Partial<OAuthRecord> = {}) =>
    oauthRow(idHash, { kind: 'RefreshToken', grantHash: 'grant', ...more })

  promises(
    'a record of OAuth is used once, ends with its grant, and is absent when it has expired',
    async (open) => {
      const [one, other] = [await open(), await open()]
      const { oauth } = one.read
      await one.write('relaxed', {}, async (tx) => {
        await tx.rows.insert('accounts', accountRow('ann'))
        await tx.oauth.save(record('token'))
        await tx.oauth.save(record('token', { payload: { a: 1 }, expiresAt: 200 }))
        await tx.oauth.save(record('grant', { kind: 'Grant', createdAt: 2 }))
        await tx.oauth.save(record('other', { kind: 'Grant', grantHash: 'other', expiresAt: 120 }))
        await tx.oauth.save(record('of the other', { grantHash: 'other', expiresAt: 200 }))
        await tx.oauth.save(record('of no account', { grantHash: null, accountId: null }))
      })
      const used = await Promise.all(
        [one, other, one, other].map((store) =>
          store.execute('durable', (tx) => tx.oauth.consume('token', 5, 150)),
        ),
      )
      assert.equal(used.filter(Boolean).length, 1)
      const saved = record('token', { payload: { a: 1 }, expiresAt: 150, consumedAt: 5 })
      assert.deepEqual(plain([await oauth.find('token', 149)]), [saved])
      assert.equal(await one.execute('durable', (tx) => tx.oauth.consume('of no account', 5, 150)), true)
      assert.deepEqual(
        [await oauth.find('of no account', 100), await oauth.find('token', 150), await oauth.find('no', 1)],
        [undefined, undefined, undefined],
      )
      assert.equal((await oauth.findWithAccount('token', 1))!.account.id, 'ann')
      assert.equal(await oauth.findWithAccount('of no account', 1), undefined)
      assert.equal((await oauth.findWithAccount('of the other', 119))!.account.id, 'ann')
      assert.equal(await oauth.findWithAccount('of the other', 120), undefined)
      const hashes = (records: OAuthRecord[]) => records.map(({ idHash }) => idHash)
      assert.deepEqual(hashes(await oauth.list('ann', 'Grant', 1)), ['grant', 'other'])
      assert.deepEqual(hashes(await oauth.findAll(['token', 'no'], 1)), ['token'])
      const end = () => one.write('durable', {}, (tx) => tx.oauth.deleteOfGrant('grant', 1))
      assert.deepEqual([await end(), await end(), await end()], [1, 1, 0])
      assert.deepEqual(await oauth.findAll(['token', 'grant'], 1), [])
      await one.execute('relaxed', (tx) => tx.oauth.save(record('saved late')))
      assert.equal(await oauth.findWithAccount('saved late', 1), undefined)
      await one.write('relaxed', {}, (tx) => tx.accounts.markBeingDeleted('ann', 1))
      assert.equal(await oauth.findWithAccount('of the other', 1), undefined)
      const leave = () => one.write('relaxed', {}, (tx) => tx.oauth.deleteOfAccount('ann', 2))
      assert.deepEqual([await leave(), await leave(), await leave()], [2, 1, 0])
      assert.equal(await oauth.find('other', 1), undefined)
      const sweep = (now: number) => one.write('relaxed', {}, (tx) => tx.oauth.deleteExpired(now, 1))
      assert.deepEqual([await sweep(99), await sweep(100), await sweep(100)], [0, 1, 0])
    },
  )
}
