import assert from 'node:assert/strict'
import { DAY_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import type { Promises } from './contract.ts'
import { accountRow, codeRow, sessionRow } from './rows.ts'

/** Promises about codes, sessions and sign-in sources. */
export function storeSignIns(promises: Promises): void {
  promises('the newest sources that signed in are kept, and so are locks', async (open) => {
    const { read, write } = await open()
    const all = ['a', 'b', 'c', 'failing']
    await write('relaxed', {}, async (tx) => {
      await tx.signIns.countFailure('a@b.test', 'failing', 1)
      await tx.signIns.countFailure('a@b.test', 'c', 1)
      await tx.signIns.lockSource('a@b.test', 'c', 5000)
      for (const [index, source] of ['a', 'b', 'c'].entries())
        await tx.signIns.recordSignIn('a@b.test', [source], { now: 10 + index, max: 2 })
    })
    const rows = await read.signIns.sources('a@b.test', all)
    assert.deepEqual(rows.map((row) => [row.source, row.signedInAt, row.lockedUntil].join(' ')).sort(), [
      'b 11 ',
      'c 12 5000',
      'failing  ',
    ])
  })

  promises('expired rows are deleted, and no others', async (open) => {
    const store = await open()
    await store.write('durable', {}, async (tx) => {
      await tx.rows.insert('accounts', accountRow('ann'))
      for (const [name, expiresAt] of Object.entries({ over: 1000, 'over too': 999, valid: 1001 })) {
        await tx.rows.insert('sign_in_codes', codeRow(name, { email: name, expiresAt }))
        await tx.rows.insert('sessions', sessionRow(name, { expiresAt }))
        await tx.signIns.countFailure(name, '', expiresAt - DAY_MS)
        await tx.signIns.lockSource(name, '', expiresAt)
        await tx.counters.add(name, expiresAt)
      }
      await tx.signIns.countFailure('of today', '', 1001 - DAY_MS)
      await tx.signIns.recordSignIn('known', ['x'], { now: 1001 - 180 * DAY_MS, max: 1 })
      await tx.signIns.recordSignIn('known long ago', ['x'], { now: 1000 - 180 * DAY_MS, max: 1 })
    })
    // Wrong tries and a source that has not signed in for long, a code, a session, a counter; then the others.
    for (const expired of [
      [2, 1, 1, 1],
      [1, 1, 1, 1],
      [0, 0, 0, 0],
    ])
      await store.write('durable', {}, async (tx) => {
        const removed = [await tx.signIns.deleteExpiredSources(1000, 1)]
        for (const table of ['sign_in_codes', 'sessions', 'counters'] as const)
          removed.push(await tx.rows.removeBefore(table, 1001, 1))
        assert.deepEqual(removed, expired)
      })
    assert.deepEqual(await listRemaining(store), [
      'valid code',
      'valid session',
      'valid lock',
      'valid counter',
    ])
    const sources = (email: string, names: string[]) => store.read.signIns.sources(email, names)
    assert.equal((await sources('of today', [''])).length, 1)
    assert.equal((await sources('known', ['x'])).length, 1)
    assert.equal((await sources('known long ago', ['x'])).length, 0)
  })
}

async function listRemaining({ read }: Store): Promise<string[]> {
  const left: string[] = []
  for (const name of ['over', 'valid']) {
    if ((await read.signIns.codes(name)).length > 0) left.push(`${name} code`)
    if (await read.signIns.session(name, 0)) left.push(`${name} session`)
    if ((await read.signIns.sources(name, [''])).length > 0) left.push(`${name} lock`)
    if (await read.counters.value(name, name === 'over' ? 1000 : 1001)) left.push(`${name} counter`)
  }
  return left
}
