import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { Accounts } from '../../server/accounts/account.ts'
import { Sessions } from '../../server/accounts/session.ts'
import { ConcurrencyLimiter } from '../../server/lib/concurrency-limiter.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { freshSqlite } from '../store/test-database.ts'
import { PATIENT } from '../support/patient.ts'

test('a client that exhausts its share is refused, and others continue', async () => {
  const shares = new ConcurrencyLimiter({ total: 3, perKey: 2 })
  const slow = Promise.withResolvers<string>()
  const held = [shares.run('slow', () => slow.promise), shares.run('slow', () => slow.promise)]
  await assert.rejects(
    shares.run('slow', async () => 'third'),
    isBusy,
  )
  assert.equal(await shares.run('other', async () => 'served'), 'served')

  const last = shares.run('other', () => slow.promise)
  await assert.rejects(
    shares.run('third', async () => 'one too many for all'),
    isBusy,
  )
  slow.resolve('done')
  assert.deepEqual(await Promise.all([...held, last]), ['done', 'done', 'done'])
  assert.equal(await shares.run('slow', async () => 'served again'), 'served again')
})

test('failed work releases its slot', async () => {
  const shares = new ConcurrencyLimiter({ total: 1, perKey: 1 })
  await assert.rejects(
    shares.run('a', () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await shares.run('a', async () => 'served'), 'served')
})

function isBusy(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'UNAVAILABLE' && error.retryAfterSeconds === 1
}

test('a network with many codes queued at a slow mail server leaves capacity for others', async () => {
  await using place = await freshSqlite()
  const clock = () => Date.UTC(2030, 0, 1)
  await using store = await sqliteStore({ file: place.file, clock, deadlines: PATIENT })
  const [sixteen, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let sending = 0
  const send = () => {
    if (++sending === 16) sixteen.resolve()
    return slow.promise
  }
  const secret = 'a secret of thirty-two characters'
  const sessions = new Sessions({ store, clock })
  const accounts = new Accounts({
    branding: DEFAULT_BRANDING,
    store,
    mail: { delivery: 'email', send },
    signUp: { kind: 'open' },
    sessions,
    baseUrl: 'http://localhost',
    secret,
    clock,
  })
  const ask = (number: number, address: string) =>
    accounts.requestCode(`a${number}@example.test`, { address, browserTokens: [] })
  const asked = Array.from({ length: 16 }, (_, number) => ask(number, `2001:db8::${number}`))
  await sixteen.promise
  await assert.rejects(ask(16, '2001:db8::ffff'), { code: 'UNAVAILABLE' })
  asked.push(ask(17, '192.0.2.1'))
  slow.resolve()
  assert.equal((await Promise.all(asked)).length, 17)
  await ask(16, '2001:db8::ffff')
  assert.equal(sending, 18)
})
