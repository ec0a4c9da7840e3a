import assert from 'node:assert/strict'
import type { Session } from '../../server/store/contract/sign-ins.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { accountRow, blob, plain, siteRow, versionRow } from './rows.ts'

const sessionRow = (tokenHash: string, change: Partial<Session> = {}): Session => ({
  tokenHash,
  accountId: 'ann',
  createdAt: 0,
  expiresAt: 1000,
  browser: null,
  ...change,
})

const fileOf = (path: string) => ({ path, size: 1, contentType: 'text/html', hash: blob(path) })

const names = (rows: readonly Session[]) => rows.map((row) => row.tokenHash)

/** Promises about sessions and about the deletion of accounts. */
export function storeAccounts(promises: Promises): void {
  promises('the sessions of an account are listed newest first, without expired ones', async (open) => {
    const { read, write } = await open()
    const rows = [
      sessionRow('old', { createdAt: 1, browser: 'Firefox' }),
      sessionRow('new', { createdAt: 3 }),
      sessionRow('over', { createdAt: 2, expiresAt: 500 }),
      sessionRow('of another', { accountId: 'bob' }),
    ]
    await write('durable', async (tx) => {
      for (const row of rows) await tx.signIns.addSession(row)
    })
    assert.deepEqual(plain(await read.signIns.listSessions('ann', 500)), [rows[1], rows[0]])
    assert.deepEqual(names(await read.signIns.listSessions('ann', 499)), ['new', 'over', 'old'])
    assert.deepEqual(await read.signIns.listSessions('unknown', 0), [])
  })

  promises('an account keeps a limited number of its newest sessions', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      for (const createdAt of [3, 1, 4, 2])
        await tx.signIns.addSession(sessionRow(`${createdAt}`, { createdAt }))
      await tx.signIns.addSession(sessionRow('of another', { accountId: 'bob' }))
      await tx.signIns.trimSessions('ann', 4)
      assert.equal((await tx.signIns.listSessions('ann', 0)).length, 4)
      await tx.signIns.trimSessions('ann', 2)
    })
    assert.deepEqual(names(await read.signIns.listSessions('ann', 0)), ['4', '3'])
    assert.equal((await read.signIns.listSessions('bob', 0)).length, 1)
  })

  promises(
    'deleting the sessions of an account returns the number of valid ones, and can keep one',
    async (open) => {
      const { read, write } = await open()
      const values = await write('durable', async (tx) => {
        for (const name of ['one', 'two', 'three']) await tx.signIns.addSession(sessionRow(name))
        await tx.signIns.addSession(sessionRow('over', { expiresAt: 500 }))
        await tx.signIns.addSession(sessionRow('of another', { accountId: 'bob' }))
        return tx.signIns.deleteSessions('ann', { now: 500, besides: 'two' })
      })
      assert.equal(values, 2)
      assert.deepEqual(names(await read.signIns.listSessions('ann', 0)), ['two'])
      assert.equal(await write('durable', (tx) => tx.signIns.deleteSessions('ann')), 1)
      assert.deepEqual(names(await read.signIns.listSessions('bob', 0)), ['of another'])
    },
  )

  promises('an account being deleted has no key, keeps the start time and is listed', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      for (const name of ['ann', 'bob', 'eve']) await tx.accounts.insert(accountRow(name, { keyHash: name }))
      await tx.accounts.markBeingDeleted('bob', 2000)
      await tx.accounts.markBeingDeleted('ann', 1000)
      await tx.accounts.markBeingDeleted('bob', 3000)
      await tx.accounts.markBeingDeleted('unknown', 1)
    })
    const leaving = (limit: number) => read.accounts.beingDeleted(limit)
    assert.deepEqual(plain(await leaving(10)), [
      accountRow('ann', { deletionStartedAt: 1000 }),
      accountRow('bob', { deletionStartedAt: 2000 }),
    ])
    assert.equal((await leaving(1)).length, 1)
    assert.equal(await read.accounts.byKeyHash('bob'), undefined)
    await write('durable', (tx) => tx.accounts.remove('ann'))
    assert.equal(await read.accounts.byId('ann'), undefined)
    assert.deepEqual(pluck(await leaving(10), 'id'), ['bob'])
  })

  promises('named keys find their account, end one by one, and all with the account', async (open) => {
    const { read, write } = await open()
    const key = (accountId: string, name: string) => {
      return { keyHash: `${accountId} ${name}`, accountId, name, createdAt: 0 }
    }
    await write('durable', async (tx) => {
      for (const name of ['ann', 'bob']) await tx.accounts.insert(accountRow(name, { keyHash: name }))
      for (const name of ['ci', 'laptop', 'desk']) await tx.accounts.addNamedKey(key('ann', name))
      await tx.accounts.addNamedKey(key('bob', 'ci'))
    })
    const owners = async () => {
      const hashes = ['ann', 'bob', 'ann ci', 'ann laptop', 'ann desk', 'bob ci', 'none']
      const found = await Promise.all(hashes.map((hash) => read.accounts.byKeyHash(hash)))
      const valid = hashes.filter((_, index) => found[index])
      assert.deepEqual((await read.accounts.validKeys(hashes)).sort(), [...valid].sort())
      assert.ok(found.every((account, index) => !account || hashes[index]!.startsWith(account.id)))
      return valid
    }
    assert.deepEqual(await owners(), ['ann', 'bob', 'ann ci', 'ann laptop', 'ann desk', 'bob ci'])
    assert.deepEqual(await read.accounts.validKeys([]), [])
    await write('durable', async (tx) => {
      await tx.accounts.deleteKey('ann laptop')
      await tx.accounts.deleteKey('bob')
      await tx.accounts.deleteNamedKey('ann', 'desk')
      await tx.accounts.deleteNamedKey('bob', 'desk')
      assert.equal(await tx.accounts.countNamedKeys('ann'), 1)
    })
    assert.deepEqual(await owners(), ['ann', 'ann ci', 'bob ci'])
    await write('durable', (tx) => tx.accounts.markBeingDeleted('ann', 1000))
    assert.deepEqual(await owners(), ['bob ci'])
  })

  promises('reserved domains and counters of an account are released, and no others', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      for (const accountId of ['ann', 'bob']) {
        await tx.domains.reserve({
          domain: `${accountId}.test`,
          accountId,
          verificationToken: 'p',
          until: 100,
        })
        for (const window of [0, 3600]) await tx.counters.add(accountId, window)
      }
      await tx.domains.releaseReservations('ann')
      await tx.counters.delete('ann')
    })
    assert.deepEqual(
      [await read.domains.countReservations('ann', 0), await read.domains.countReservations('bob', 0)],
      [0, 1],
    )
    const counted = ['ann', 'bob'].map((name) => read.counters.value(name, 3600))
    assert.deepEqual(await Promise.all(counted), [0, 1])
  })

  promises('the newest finalized version before another is found', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      await tx.sites.insert(siteRow('one'))
      for (const [id, slug, state] of [
        ['v1', 'one', 'ready'],
        ['v2', 'one', 'ready'],
        ['v3', 'one', 'pending'],
        ['v4', 'two', 'ready'],
        ['v5', 'one', 'ready'],
      ] as const)
        await tx.versions.insert(versionRow(id, slug, { state, files: [fileOf(id)] }))
    })
    const before = async (id: string) => (await read.versions.findPrevious('one', id))?.id
    assert.deepEqual([await before('v5'), await before('v2'), await before('v1')], ['v2', 'v1', undefined])
    assert.deepEqual(await read.versions.findFiles('v2'), [fileOf('v2')])
    assert.equal(await read.versions.findFiles('none'), undefined)
  })
}
